//! `cvt`, against `i128` and exact results.

use crate::alu_support::exact::{self, BRAIN, DOUBLE, Format, HALF, MODES, Mode, SINGLE};
use crate::alu_support::{Kind, Machine, check, levels, refused};

const INTEGERS: [(&str, u32, bool, &str); 8] = [
    ("u8", 8, false, "h"),
    ("s8", 8, true, "h"),
    ("u16", 16, false, "h"),
    ("s16", 16, true, "h"),
    ("u32", 32, false, "r"),
    ("s32", 32, true, "r"),
    ("u64", 64, false, "d"),
    ("s64", 64, true, "d"),
];

const FLOATS: [(&str, Format, Kind, &str); 4] = [
    ("f16", HALF, Kind::Half, "h"),
    ("bf16", BRAIN, Kind::Brain, "h"),
    ("f32", SINGLE, Kind::Single, "r"),
    ("f64", DOUBLE, Kind::Double, "d"),
];

fn register_bits(r: &str) -> u32 {
    match r {
        "h" => 16,
        "r" => 32,
        _ => 64,
    }
}

fn value(bits: u32, signed: bool, word: u128) -> i128 {
    let up = 128 - bits;
    if signed { (word << up) as i128 >> up } else { (word << up >> up) as i128 }
}

/// A number in a type, and the type in its register.
fn stored(number: i128, bits: u32, signed: bool, r: &str) -> u128 {
    value(bits, signed, number as u128) as u128 & u128::MAX >> (128 - register_bits(r))
}

fn clamped(number: i128, bits: u32, signed: bool) -> i128 {
    if signed {
        number.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        number.clamp(0, (1 << bits) - 1)
    }
}

#[test]
fn between_integers() {
    for (to, to_bits, to_signed, to_register) in INTEGERS {
        for (from, from_bits, from_signed, from_register) in INTEGERS {
            // The registers' own width, and wider ones.
            for to_register in
                ["h", "r", "d"].into_iter().filter(|r| register_bits(r) >= register_bits(to_register))
            {
                for from_register in
                    ["h", "r", "d"].into_iter().filter(|r| register_bits(r) >= register_bits(from_register))
                {
                    let kinds = [Kind::Integer(register_bits(from_register))];
                    let number = |row: &[u128]| value(from_bits, from_signed, row[0]);
                    check(&format!("cvt.{to}.{from} %{to_register}0, %{from_register}1;"), &kinds, |row| {
                        [stored(number(row), to_bits, to_signed, to_register)]
                    });
                    check(
                        &format!("cvt.sat.{to}.{from} %{to_register}0, %{from_register}1;"),
                        &kinds,
                        |row| {
                            [stored(
                                clamped(number(row), to_bits, to_signed),
                                to_bits,
                                to_signed,
                                to_register,
                            )]
                        },
                    );
                }
            }
        }
    }
}

fn whole(value: f64, how: &str) -> f64 {
    match how {
        "rni" => {
            // Not by the function that does it: halves by their parity.
            let below = value.floor();
            match (value - below).partial_cmp(&0.5) {
                Some(std::cmp::Ordering::Less) => below,
                Some(std::cmp::Ordering::Greater) => below + 1.0,
                _ => {
                    if (below / 2.0).floor() * 2.0 == below {
                        below
                    } else {
                        below + 1.0
                    }
                }
            }
        }
        "rzi" => value.trunc(),
        "rmi" => value.floor(),
        _ => value.ceil(),
    }
}

#[test]
fn from_floats_to_integers() {
    for (from, format, kind, from_register) in FLOATS {
        for (to, bits, signed, to_register) in INTEGERS {
            for how in ["rni", "rzi", "rmi", "rpi"] {
                let converted = |bits_in: u64| {
                    let number = format.value(bits_in);
                    if number.is_nan() {
                        let is_marked = bits == 64 || format.bits == 64;
                        let marked = if is_marked { 1i128 << (bits - 1) } else { 0 };
                        return stored(marked, bits, signed, to_register);
                    }
                    // `as i128` stops at its ends, which are far outside.
                    stored(clamped(whole(number, how) as i128, bits, signed), bits, signed, to_register)
                };
                let text = format!("cvt.{how}.{to}.{from} %{to_register}0, %{from_register}1;");
                check(&text, &[kind], |row| [converted(row[0] as u64)]);
                if from == "f32" {
                    let text = format!("cvt.{how}.ftz.sat.{to}.f32 %{to_register}0, %r1;");
                    check(&text, &[kind], |row| {
                        let bits = row[0] as u64;
                        [converted(if format.is_subnormal(bits) { bits & format.sign() } else { bits })]
                    });
                }
            }
        }
    }
    // The sign of a small integer fills a wider register.
    for (to, bits, signed, _) in INTEGERS.into_iter().filter(|(_, bits, ..)| *bits <= 16) {
        for (from, format, kind, from_register) in FLOATS {
            check(&format!("cvt.rzi.{to}.{from} %r0, %{from_register}1;"), &[kind], |row| {
                let number = format.value(row[0] as u64);
                let marked = if format.bits == 64 { 1i128 << (bits - 1) } else { 0 };
                let whole =
                    if number.is_nan() { marked } else { clamped(number.trunc() as i128, bits, signed) };
                [stored(whole, bits, signed, "r")]
            });
        }
    }
    refused("cvt.s32.f32 %r0, %r1;");
    refused("cvt.rn.s32.f32 %r0, %r1;");
}

/// The ends of the ranges, as literals: with these `cvt.rzi` is Rust's `as` from `f32` to 32 bits.
#[test]
fn a_float_is_clamped_at_the_ends_of_the_range() {
    const TO_SIGNED: [(f32, i32); 12] = [
        (f32::NAN, 0),
        (f32::INFINITY, i32::MAX),
        (f32::NEG_INFINITY, i32::MIN),
        (-1.5, -1),
        (1.999_999_9, 1),
        (-0.0, 0),
        (2_147_483_520.0, 2_147_483_520),
        (2_147_483_648.0, i32::MAX),
        (4_294_967_296.0, i32::MAX),
        (-2_147_483_520.0, -2_147_483_520),
        (-2_147_483_648.0, i32::MIN),
        (-2_147_483_904.0, i32::MIN),
    ];
    const TO_UNSIGNED: [(f32, u32); 12] = [
        (f32::NAN, 0),
        (-f32::NAN, 0),
        (f32::INFINITY, u32::MAX),
        (f32::NEG_INFINITY, 0),
        (-1.5, 0),
        (-1e-45, 0),
        (0.999_999_94, 0),
        (2_147_483_520.0, 2_147_483_520),
        (2_147_483_648.0, 2_147_483_648),
        (4_294_967_040.0, 4_294_967_040),
        (4_294_967_296.0, u32::MAX),
        (f32::MAX, u32::MAX),
    ];
    let converts = |text: &str, float: f32, expected: u32| {
        for level in levels() {
            let mut machine = Machine::new(text, level);
            machine.set("%r1", &[float.to_bits().into(); 32]);
            machine.run(!0);
            assert_eq!(machine.get("%r0"), [expected.into(); 32], "{text} of {float:e}");
        }
    };
    for (float, expected) in TO_SIGNED {
        assert_eq!(float as i32, expected);
        converts("cvt.rzi.s32.f32 %r0, %r1;", float, expected.cast_unsigned());
    }
    for (float, expected) in TO_UNSIGNED {
        assert_eq!(float as u32, expected);
        converts("cvt.rzi.u32.f32 %r0, %r1;", float, expected);
    }
}

#[test]
fn from_integers_to_floats() {
    for (to, format, _, to_register) in FLOATS {
        for (from, bits, signed, from_register) in INTEGERS {
            for (word, mode) in MODES {
                let kinds = [Kind::Integer(register_bits(from_register))];
                let text = format!("cvt.{word}.{to}.{from} %{to_register}0, %{from_register}1;");
                check(
                    &text,
                    &kinds,
                    |row| [exact::integer(format, value(bits, signed, row[0]), mode).into()],
                );
            }
        }
    }
    check("cvt.rn.sat.f32.s32 %r0, %r1;", &[Kind::Integer(32)], |row| {
        [if row[0] as i32 > 0 { 1f32.to_bits().into() } else { 0 }]
    });
    refused("cvt.f32.s32 %r0, %r1;");
}

/// What a float becomes in another format, with the NaN that it has.
fn converted(from: Format, to: Format, bits: u64, mode: Mode) -> u64 {
    let sign = if from.is_negative(bits) { to.sign() } else { 0 };
    if from.is_nan(bits) {
        // The upper bits of the fraction stay, from `f64` and to it, and between `bf16` and `f32`; else there is only one.
        let is_same = (from.fraction, to.fraction) == (7, 23);
        if from.bits != 64 && to.bits != 64 && !is_same {
            return (1 << (to.bits - 1)) - 1;
        }
        let fraction = bits << (64 - from.fraction) >> (64 - to.fraction);
        let quiet = if is_same { 0 } else { 1 << (to.fraction - 1) };
        return sign | to.infinity() | fraction | quiet;
    }
    if from.is_infinite(bits) { sign | to.infinity() } else { exact::convert(from, to, bits, mode) }
}

#[test]
fn narrowing_is_rounded_once() {
    for (to, from) in [(0, 2), (1, 2), (0, 3), (1, 3), (2, 3)] {
        let ((to, to_format, _, to_register), (from, from_format, kind, from_register)) =
            (FLOATS[to], FLOATS[from]);
        for (word, mode) in MODES {
            let result = |bits: u64| converted(from_format, to_format, bits, mode);
            let text = format!("cvt.{word}.{to}.{from} %{to_register}0, %{from_register}1;");
            check(&text, &[kind], |row| [result(row[0] as u64).into()]);
            let is_nan = |bits: u64| to_format.is_nan(bits);
            if from == "f32" {
                let text = format!("cvt.{word}.relu.{to}.f32 %h0, %r1;");
                check(&text, &[kind], |row| {
                    let bits = result(row[0] as u64);
                    [if to_format.is_negative(bits) && !is_nan(bits) { 0 } else { bits.into() }]
                });
                let text = format!("cvt.{word}.satfinite.{to}.f32 %h0, %r1;");
                check(&text, &[kind], |row| {
                    let bits = result(row[0] as u64);
                    let largest = (to_format.infinity() - 1) | bits & to_format.sign();
                    [if to_format.is_infinite(bits) { largest } else { bits }.into()]
                });
            }
            if to == "f32" {
                check("cvt.rn.ftz.f32.f64 %r0, %d1;", &[kind], |row| {
                    [converted(DOUBLE, Format { flushes: true, ..SINGLE }, row[0] as u64, Mode::Nearest)
                        .into()]
                });
                let text = format!("cvt.{word}.sat.f32.f64 %r0, %d1;");
                check(&text, &[kind], |row| {
                    let bits = result(row[0] as u64);
                    let one = u64::from(1f32.to_bits());
                    [if SINGLE.is_nan(bits) || SINGLE.is_negative(bits) { 0 } else { bits.min(one) }.into()]
                });
            }
        }
    }
}

#[test]
fn widening_is_exact() {
    check("cvt.f64.f32 %d0, %r1;", &[Kind::Single], |row| {
        [converted(SINGLE, DOUBLE, row[0] as u64, Mode::Nearest).into()]
    });
    check("cvt.f64.f16 %d0, %h1;", &[Kind::Integer(14)], |row| {
        [converted(HALF, DOUBLE, row[0] as u64, Mode::Nearest).into()]
    });
    check("cvt.f32.f32 %r0, %r1;", &[Kind::Single], |row| [row[0]]);
    check("cvt.f64.f64 %d0, %d1;", &[Kind::Double], |row| [row[0]]);
    // What flushes has a NaN of `f32`, of which there is one.
    check("cvt.ftz.f64.f32 %d0, %r1;", &[Kind::Single], |row| {
        let bits = row[0] as u64;
        if SINGLE.is_nan(bits) {
            return [0x7FFF_FFFF_E000_0000];
        }
        let flushed = if SINGLE.is_subnormal(bits) { bits & SINGLE.sign() } else { bits };
        [converted(SINGLE, DOUBLE, flushed, Mode::Nearest).into()]
    });
    // Subnormal `f16` are not flushed: that is for `f32`.
    check("cvt.ftz.f32.f16 %r0, %h1;", &[Kind::Half], |row| {
        [converted(HALF, SINGLE, row[0] as u64, Mode::Nearest).into()]
    });
    check("cvt.rn.ftz.f16.f32 %h0, %r1;", &[Kind::Single], |row| {
        let bits = row[0] as u64;
        let flushed = if SINGLE.is_subnormal(bits) { bits & SINGLE.sign() } else { bits };
        [converted(SINGLE, HALF, flushed, Mode::Nearest).into()]
    });
    for (from, format, kind, r) in FLOATS {
        if format.bits == 16 {
            check(&format!("cvt.f32.{from} %r0, %{r}1;"), &[kind], |row| {
                [converted(format, SINGLE, row[0] as u64, Mode::Nearest).into()]
            });
        }
    }
}

#[test]
fn whole_floats() {
    for (name, format, kind, r) in &FLOATS[2..] {
        for how in ["rni", "rzi", "rmi", "rpi"] {
            check(&format!("cvt.{how}.{name}.{name} %{r}0, %{r}1;"), &[*kind], |row| {
                let number = format.value(row[0] as u64);
                // The sign stays, also of what becomes 0.
                let rounded = whole(number, how).copysign(number);
                [match (number.is_nan(), *name) {
                    (true, "f32") => 0x7FFF_FFFF,
                    (true, _) => row[0] | 1 << 51,
                    (false, "f32") => (rounded as f32).to_bits().into(),
                    (false, _) => rounded.to_bits().into(),
                }]
            });
        }
    }
    check("cvt.sat.f32.f32 %r0, %r1;", &[Kind::Single], |row| {
        let bits = row[0] as u64;
        [if SINGLE.is_nan(bits) || SINGLE.is_negative(bits) { 0 } else { bits.min(0x3F80_0000) }.into()]
    });
}

#[test]
fn two_at_a_time() {
    for (name, format) in [("f16x2", HALF), ("bf16x2", BRAIN)] {
        for (word, mode) in [("rn", Mode::Nearest), ("rz", Mode::Zero)] {
            let half = |bits: u128| u128::from(converted(SINGLE, format, bits as u64, mode));
            check(&format!("cvt.{word}.{name}.f32 %r0, %r1, %r2;"), &[Kind::Single; 2], |row| {
                [half(row[0]) << 16 | half(row[1])]
            });
            let relu = |bits: u128| if half(bits) & 0x8000 != 0 { 0 } else { half(bits) };
            check(&format!("cvt.{word}.relu.{name}.f32 %r0, %r1, %r2;"), &[Kind::Single; 2], |row| {
                [relu(row[0]) << 16 | relu(row[1])]
            });
        }
    }
}

#[test]
fn tensor_floats_have_eleven_bits() {
    for (word, mode) in [("rn", Mode::Nearest), ("rz", Mode::Zero), ("rna", Mode::Away)] {
        check(&format!("cvt.{word}.tf32.f32 %r0, %r1;"), &[Kind::Single], |row| {
            let bits = row[0] as u64;
            if SINGLE.is_nan(bits) {
                // Away from zero, it only loses its lower bits.
                return [if mode == Mode::Away { row[0] & !0x1FFF } else { 0x7FFF_E000 }];
            }
            // All finite numbers by their bits alone: a carry goes into the exponent.
            let (kept, lost) = (bits & !0x1FFF, bits & 0x1FFF);
            let up = match mode {
                _ if SINGLE.is_infinite(bits) => false,
                Mode::Zero => false,
                Mode::Away => lost >= 0x1000,
                _ => lost > 0x1000 || lost == 0x1000 && kept & 0x2000 != 0,
            };
            [(kept + if up { 0x2000 } else { 0 }).into()]
        });
    }
}

/// All 256 of each, decoded by hand.
#[test]
fn bytes() {
    let decode = |bits: u32, fraction: u32| -> f64 {
        let bias = (1 << (6 - fraction)) - 1;
        let magnitude = bits & 0x7F;
        let (exponent, fraction_bits) = (magnitude >> fraction, magnitude & ((1 << fraction) - 1));
        let scale = f64::from(1 << fraction);
        let value = match exponent {
            0 => f64::from(fraction_bits) / scale * 2f64.powi(1 - bias),
            _ => (1.0 + f64::from(fraction_bits) / scale) * 2f64.powi(exponent as i32 - bias),
        };
        let value = match (fraction, magnitude) {
            (3, 0x7F) => f64::NAN,
            (2, 0x7C) => f64::INFINITY,
            (2, 0x7D..) => f64::NAN,
            _ => value,
        };
        if bits & 0x80 != 0 { -value } else { value }
    };
    for (name, fraction, largest) in [("e4m3x2", 3, 448.0), ("e5m2x2", 2, 57344.0)] {
        for level in levels() {
            let mut widen = Machine::new(&format!("cvt.rn.f16x2.{name} %r0, %h1;"), level);
            let mut narrow = Machine::new(&format!("cvt.rn.satfinite.{name}.f16x2 %h0, %r1;"), level);
            let mut pack = Machine::new(&format!("cvt.rn.satfinite.{name}.f32 %h0, %r1, %r2;"), level);
            for start in (0..256u32).step_by(32) {
                widen.set(
                    "%h1",
                    &std::array::from_fn(|lane| {
                        let bits = u128::from(start) + lane as u128;
                        bits | (255 - bits) << 8
                    }),
                );
                widen.run(u32::MAX);
                let halves = widen.get("%r0");
                narrow.set("%r1", &halves);
                narrow.run(u32::MAX);
                for (lane, both) in halves.into_iter().enumerate() {
                    let bits = start + lane as u32;
                    for (bits, half) in [(bits, both & 0xFFFF), (255 - bits, both >> 16)] {
                        let (wanted, found) = (decode(bits, fraction), HALF.value(half as u64));
                        assert!(
                            wanted == found || wanted.is_nan() && found.is_nan(),
                            "{name} {bits:#x}: {found}"
                        );
                    }
                    let back = narrow.get("%h0")[lane] as u32;
                    for (bits, back) in [(bits, back & 0xFF), (255 - bits, back >> 8)] {
                        let wanted = decode(bits, fraction);
                        let wanted_bits = if wanted.is_nan() {
                            0x7F
                        } else if wanted.is_infinite() {
                            bits - 1
                        } else {
                            bits
                        };
                        assert_eq!(back, wanted_bits, "{name} {bits:#x}");
                    }
                }
            }
            // Between neighbours: a quarter, a half and three quarters of the way.
            for bits in 0..0x7D {
                let (low, high) = (decode(bits, fraction), decode(bits + 1, fraction));
                if !high.is_finite() || high.is_nan() {
                    continue;
                }
                let at = |part: f64| u128::from(((low + (high - low) * part) as f32).to_bits());
                pack.set("%r1", &[at(0.75); 32]);
                pack.set("%r2", &std::array::from_fn(|lane| at(if lane % 2 == 0 { 0.25 } else { 0.5 })));
                pack.run(u32::MAX);
                let found = pack.get("%h0");
                let even = u128::from(bits + (bits & 1));
                assert_eq!(found[0], u128::from(bits + 1) << 8 | u128::from(bits), "{name} {bits:#x}");
                assert_eq!(found[1], u128::from(bits + 1) << 8 | even, "{name} {bits:#x}");
            }
            pack.set("%r1", &[u128::from((largest as f32 * 64.0).to_bits()); 32]);
            pack.set("%r2", &[u128::from(f32::NEG_INFINITY.to_bits()); 32]);
            pack.run(u32::MAX);
            let top = if fraction == 3 { 0x7E } else { 0x7B };
            assert_eq!(pack.get("%h0")[0], top << 8 | top | 0x80, "{name}");
        }
    }
    refused("cvt.rn.e4m3x2.f32 %h0, %r1, %r2;");
}

#[test]
fn integers_are_packed() {
    for (name, bits, signed) in
        [("u8", 8, false), ("s8", 8, true), ("u4", 4, false), ("s4", 4, true), ("s2", 2, true)]
    {
        let cut = |word: u128| clamped(value(32, true, word), bits, signed) as u128 & ((1 << bits) - 1);
        check(&format!("cvt.pack.sat.{name}.s32.b32 %r0, %r1, %r2, %r3;"), &[Kind::Integer(32); 3], |row| {
            [(row[2] << (2 * bits) | cut(row[0]) << bits | cut(row[1])) & 0xFFFF_FFFF]
        });
    }
    for (name, signed) in [("u16", false), ("s16", true)] {
        let cut = |word: u128| clamped(value(32, true, word), 16, signed) as u128 & 0xFFFF;
        check(&format!("cvt.pack.sat.{name}.s32 %r0, %r1, %r2;"), &[Kind::Integer(32); 2], |row| {
            [cut(row[0]) << 16 | cut(row[1])]
        });
    }
    refused("cvt.pack.u16.s32 %r0, %r1, %r2;");
}
