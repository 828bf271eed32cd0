//! Arithmetic on `f32` and `f64`, in all directions, against exact results.

use crate::alu_support::exact::{self, DOUBLE, Format, MODES, Mode, SINGLE};
use crate::alu_support::{Kind, check};

/// What is not a number, and infinities: by the rules of IEEE 754. None: an ordinary case.
fn special(format: Format, operation: &str, operands: &[u64]) -> Option<u64> {
    let values: Vec<f64> = operands.iter().map(|bits| format.value(*bits)).collect();
    let is_ordinary = values.iter().all(|value| value.is_finite());
    let value = match (operation, values.as_slice()) {
        ("add", [a, b]) => a + b,
        ("sub", [a, b]) => a - b,
        ("mul", [a, b]) => a * b,
        ("div", [a, b]) => a / b,
        ("rcp", [a]) => 1.0 / a,
        ("sqrt", [a]) => a.sqrt(),
        ("fma", [a, b, c]) => a * b + c,
        _ => panic!("{operation}"),
    };
    let makes_special = match (operation, values.as_slice()) {
        ("div", [a, b]) => *a == 0.0 || *b == 0.0,
        ("rcp", [a]) => *a == 0.0,
        ("sqrt", [a]) => *a <= 0.0,
        _ => false,
    };
    if is_ordinary && !makes_special {
        return None;
    }
    // An infinite addend wins over a product that only `f64` finds too large.
    let value = match (operation, values.as_slice()) {
        ("fma", [a, b, c]) if c.is_infinite() && a.is_finite() && b.is_finite() => *c,
        _ => value,
    };
    Some(if value.is_nan() {
        if format.bits == 32 { 0x7FFF_FFFF } else { double_nan(operation, operands) }
    } else if format.bits == 32 {
        (value as f32).to_bits().into()
    } else {
        value.to_bits()
    })
}

/// The operand that is no number, made quiet; of several, as an H200 chooses.
fn double_nan(operation: &str, operands: &[u64]) -> u64 {
    let order: &[usize] = match (operation, operands.len()) {
        ("div", _) => &[0, 1],
        (_, 3) => &[1, 2, 0],
        (_, 2) => &[1, 0],
        _ => &[0],
    };
    let nan = order.iter().map(|index| operands[*index]).find(|bits| DOUBLE.is_nan(*bits));
    nan.map_or(0xFFF8_0000_0000_0000, |bits| bits | 1 << 51)
}

fn expected(format: Format, operation: &str, operands: &[u64], mode: Mode) -> u64 {
    if let Some(bits) = special(format, operation, operands) {
        return bits;
    }
    let one = if format.bits == 32 { 1f32.to_bits().into() } else { 1f64.to_bits() };
    match (operation, operands) {
        ("add", [a, b]) => exact::fma(format, format, [*a, one, *b], mode),
        ("sub", [a, b]) => exact::fma(format, format, [*a, one, b ^ format.sign()], mode),
        // A zero added must not change the product's sign.
        ("mul", [a, b]) => {
            let negative = (a ^ b) & format.sign();
            exact::fma(format, format, [*a, *b, negative], mode)
        }
        ("fma", [a, b, c]) => exact::fma(format, format, [*a, *b, *c], mode),
        ("div", [a, b]) => exact::div(format, *a, *b, mode),
        ("rcp", [a]) => exact::div(format, one, *a, mode),
        ("sqrt", [a]) => exact::sqrt(format, *a, mode),
        _ => panic!("{operation}"),
    }
}

fn bits(operands: &[u128]) -> Vec<u64> {
    operands.iter().map(|bits| *bits as u64).collect()
}

const OPERANDS: [(&str, usize); 7] =
    [("add", 2), ("sub", 2), ("mul", 2), ("div", 2), ("fma", 3), ("rcp", 1), ("sqrt", 1)];

fn in_all_directions(format: Format, kind: Kind, register: &str, scalar: &str) {
    for (operation, count) in OPERANDS {
        for (word, mode) in MODES {
            let operands: Vec<String> = (0..=count).map(|index| format!("%{register}{index}")).collect();
            let text = format!("{operation}.{word}.{scalar} {};", operands.join(", "));
            check(&text, &vec![kind; count], |row| [expected(format, operation, &bits(row), mode).into()]);
        }
    }
}

#[test]
fn singles_are_rounded_once_in_all_directions() {
    in_all_directions(SINGLE, Kind::Single, "r", "f32");
}

#[test]
fn doubles_are_rounded_once_in_all_directions() {
    in_all_directions(DOUBLE, Kind::Double, "d", "f64");
}

#[test]
fn without_a_direction_it_is_the_nearest() {
    for (operation, count) in OPERANDS.into_iter().take(3) {
        let text = format!("{operation}.f32 %r0, %r1, %r2;");
        check(&text, &vec![Kind::Single; count], |row| {
            [expected(SINGLE, operation, &bits(row), Mode::Nearest).into()]
        });
        let text = format!("{operation}.f64 %d0, %d1, %d2;");
        check(&text, &vec![Kind::Double; count], |row| {
            [expected(DOUBLE, operation, &bits(row), Mode::Nearest).into()]
        });
    }
    check("mad.rn.f32 %r0, %r1, %r2, %r3;", &[Kind::Single; 3], |row| {
        [expected(SINGLE, "fma", &bits(row), Mode::Nearest).into()]
    });
}

fn flushed(bits: u64) -> u64 {
    if SINGLE.is_subnormal(bits) { bits & SINGLE.sign() } else { bits }
}

/// To 0..=1, NaN to 0.
fn saturated(bits: u64) -> u64 {
    if SINGLE.is_nan(bits) || SINGLE.is_negative(bits) { 0 } else { bits.min(1f32.to_bits().into()) }
}

#[test]
fn flushing_and_saturation_frame_the_operation() {
    for (operation, count) in OPERANDS {
        for (word, mode) in MODES {
            let operands: Vec<String> = (0..=count).map(|index| format!("%r{index}")).collect();
            let operands = operands.join(", ");
            let of_flushed = |row: &[u128]| {
                let operands: Vec<u64> = row.iter().map(|bits| flushed(*bits as u64)).collect();
                expected(Format { flushes: true, ..SINGLE }, operation, &operands, mode)
            };
            let text = format!("{operation}.{word}.ftz.f32 {operands};");
            check(&text, &vec![Kind::Single; count], |row| [of_flushed(row).into()]);
            if matches!(operation, "add" | "sub" | "mul" | "fma") {
                let text = format!("{operation}.{word}.sat.f32 {operands};");
                check(&text, &vec![Kind::Single; count], |row| {
                    [saturated(expected(SINGLE, operation, &bits(row), mode)).into()]
                });
                let text = format!("{operation}.{word}.ftz.sat.f32 {operands};");
                check(&text, &vec![Kind::Single; count], |row| [saturated(of_flushed(row)).into()]);
            }
        }
    }
}

#[test]
fn pairs_of_singles_are_two_singles() {
    for (operation, count) in [("add", 2), ("sub", 2), ("mul", 2), ("fma", 3)] {
        for (word, mode) in MODES {
            let operands: Vec<String> = (0..=count).map(|index| format!("%d{index}")).collect();
            let text = format!("{operation}.{word}.f32x2 {};", operands.join(", "));
            check(&text, &vec![Kind::SinglePair; count], |row| {
                let low: Vec<u64> = row.iter().map(|both| *both as u32 as u64).collect();
                let high: Vec<u64> = row.iter().map(|both| (*both >> 32) as u64).collect();
                let low = expected(SINGLE, operation, &low, mode);
                let high = expected(SINGLE, operation, &high, mode);
                [u128::from(low) | u128::from(high) << 32]
            });
        }
    }
}

/// What is no number has no sign: `f32` has one such, and `f64` keeps what it has, made quiet.
#[test]
fn signs() {
    for (base, turn) in
        [("abs", (|bits, sign| bits & !sign) as fn(u64, u64) -> u64), ("neg", |bits, sign| bits ^ sign)]
    {
        let single = |bits: u64| if SINGLE.is_nan(bits) { 0x7FFF_FFFF } else { turn(bits, SINGLE.sign()) };
        check(&format!("{base}.f32 %r0, %r1;"), &[Kind::Single], |row| [single(row[0] as u64).into()]);
        check(&format!("{base}.ftz.f32 %r0, %r1;"), &[Kind::Single], |row| {
            [single(flushed(row[0] as u64)).into()]
        });
        check(&format!("{base}.f64 %d0, %d1;"), &[Kind::Double], |row| {
            let bits = row[0] as u64;
            [if DOUBLE.is_nan(bits) { bits | 1 << 51 } else { turn(bits, DOUBLE.sign()) }.into()]
        });
    }
}

/// Products and quotients around the least normal number, and what an H200 makes of them.
#[test]
fn flushed_is_what_is_too_small_once_rounded() {
    for (text, operands, wanted) in [
        ("mul.rn.ftz.f32 %r0, %r1, %r2;", [0x0080_0000, 0x3F7F_FFFF, 0], 0),
        ("mul.rn.ftz.f32 %r0, %r1, %r2;", [0x0080_0001, 0x3F7F_FFFE, 0], 0x0080_0000),
        ("mul.rp.ftz.f32 %r0, %r1, %r2;", [0x0080_0000, 0x3F7F_FFFF, 0], 0),
        ("fma.rn.ftz.f32 %r0, %r1, %r2, %r3;", [0x8080_0000, 0x3380_0000, 0x0080_0000], 0),
        ("fma.rn.ftz.f32 %r0, %r1, %r2, %r3;", [0x8080_0000, 0x3300_0000, 0x0080_0000], 0x0080_0000),
        ("fma.rp.ftz.f32 %r0, %r1, %r2, %r3;", [0x80C0_0000, 0x3380_0000, 0x0080_0000], 0),
        ("div.rn.ftz.f32 %r0, %r1, %r2;", [0x00FF_FFFF, 0x4000_0000, 0], 0),
        ("div.rm.ftz.f32 %r0, %r1, %r2;", [0x80FF_FFFE, 0x3FFF_FFFF, 0], 0x8000_0000),
        ("rcp.rp.ftz.f32 %r0, %r1;", [0x7E80_0001, 0, 0], 0),
    ] {
        for level in crate::alu_support::levels() {
            let mut machine = crate::alu_support::Machine::new(text, level);
            for (name, operand) in ["%r1", "%r2", "%r3"].into_iter().zip(operands) {
                machine.set(name, &[operand; 32]);
            }
            machine.run(u32::MAX);
            assert_eq!(machine.get("%r0")[31], wanted, "{text} of {operands:x?}");
        }
    }
}

/// By the order of the numbers, with -0 below +0.
fn extreme(format: Format, a: u64, b: u64, maximum: bool) -> u64 {
    let canonical = (1 << (format.bits - 1)) - 1;
    match (format.is_nan(a), format.is_nan(b)) {
        (true, true) if format.bits == 64 => b | 1 << 51,
        (true, true) => canonical,
        (true, false) => b,
        (false, true) => a,
        (false, false) => {
            let key = |bits: u64| {
                let magnitude = i128::from(bits & !format.sign());
                if format.is_negative(bits) { -magnitude - 1 } else { magnitude }
            };
            if (key(a) < key(b)) != maximum { a } else { b }
        }
    }
}

#[test]
fn the_number_wins_over_what_is_none() {
    for (base, maximum) in [("min", false), ("max", true)] {
        check(&format!("{base}.f32 %r0, %r1, %r2;"), &[Kind::Single; 2], |row| {
            [extreme(SINGLE, row[0] as u64, row[1] as u64, maximum).into()]
        });
        check(&format!("{base}.f64 %d0, %d1, %d2;"), &[Kind::Double; 2], |row| {
            [extreme(DOUBLE, row[0] as u64, row[1] as u64, maximum).into()]
        });
        check(&format!("{base}.ftz.f32 %r0, %r1, %r2;"), &[Kind::Single; 2], |row| {
            [extreme(SINGLE, flushed(row[0] as u64), flushed(row[1] as u64), maximum).into()]
        });
        let nan_wins = |row: &[u128]| {
            let (a, b) = (row[0] as u64, row[1] as u64);
            if SINGLE.is_nan(a) || SINGLE.is_nan(b) { 0x7FFF_FFFF } else { extreme(SINGLE, a, b, maximum) }
        };
        check(&format!("{base}.NaN.f32 %r0, %r1, %r2;"), &[Kind::Single; 2], |row| [nan_wins(row).into()]);
        check(&format!("{base}.xorsign.abs.f32 %r0, %r1, %r2;"), &[Kind::Single; 2], |row| {
            let (a, b) = (row[0] as u64, row[1] as u64);
            let chosen = extreme(SINGLE, a & 0x7FFF_FFFF, b & 0x7FFF_FFFF, maximum);
            let sign = (a ^ b) & 0x8000_0000;
            [u128::from(if SINGLE.is_nan(chosen) { chosen } else { chosen | sign })]
        });
        check(&format!("{base}.f32 %r0, %r1, %r2, %r3;"), &[Kind::Single; 3], |row| {
            let two = extreme(SINGLE, row[0] as u64, row[1] as u64, maximum);
            [extreme(SINGLE, two, row[2] as u64, maximum).into()]
        });
        check(&format!("{base}.abs.f32 %r0, %r1, %r2, %r3;"), &[Kind::Single; 3], |row| {
            let [a, b, c] = [0, 1, 2].map(|index: usize| row[index] as u64 & 0x7FFF_FFFF);
            [extreme(SINGLE, extreme(SINGLE, a, b, maximum), c, maximum).into()]
        });
    }
}
