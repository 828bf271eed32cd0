//! `f16` and `bf16`, one and two at a time, against exact results.

use crate::alu_support::exact::{self, BRAIN, Format, HALF, MODES, Mode, SINGLE};
use crate::alu_support::{Kind, check, refused};

const NAN: u64 = 0x7FFF;

fn one(format: Format) -> u64 {
    if format.fraction == 10 { 0x3C00 } else { 0x3F80 }
}

fn expected(format: Format, operation: &str, row: &[u64]) -> u64 {
    let values: Vec<f64> = row.iter().map(|bits| format.value(*bits)).collect();
    if !values.iter().all(|value| value.is_finite()) {
        // All finite values and their products fit in an `f64`, so only infinities and NaN decide.
        let value = match operation {
            "add" => values[0] + values[1],
            "sub" => values[0] - values[1],
            "mul" => values[0] * values[1],
            _ => values[0] * values[1] + values[2],
        };
        let sign = if value < 0.0 { format.sign() } else { 0 };
        return if value.is_nan() { NAN } else { sign | format.infinity() };
    }
    let negative = |a: u64, b: u64| (a ^ b) & format.sign();
    match operation {
        "add" => exact::fma(format, format, [row[0], one(format), row[1]], Mode::Nearest),
        "sub" => exact::fma(format, format, [row[0], one(format), row[1] ^ format.sign()], Mode::Nearest),
        "mul" => exact::fma(format, format, [row[0], row[1], negative(row[0], row[1])], Mode::Nearest),
        _ => exact::fma(format, format, [row[0], row[1], row[2]], Mode::Nearest),
    }
}

fn flushed(format: Format, bits: u64) -> u64 {
    if format.is_subnormal(bits) { bits & format.sign() } else { bits }
}

fn saturated(format: Format, bits: u64) -> u64 {
    if format.is_nan(bits) || format.is_negative(bits) { 0 } else { bits.min(one(format)) }
}

fn relu(format: Format, bits: u64) -> u64 {
    if format.is_negative(bits) && !format.is_nan(bits) { 0 } else { bits }
}

/// The operation on one value and on two in a word.
fn one_and_two(opcode: &str, format: Format, count: usize, expected: impl Fn(&[u64]) -> u64) {
    let (name, one, two) = match format.fraction {
        10 => ("f16", Kind::Half, Kind::HalfPair),
        _ => ("bf16", Kind::Brain, Kind::BrainPair),
    };
    let operands = |r: &str| (0..=count).map(|index| format!("%{r}{index}")).collect::<Vec<_>>().join(", ");
    check(&format!("{opcode}.{name} {};", operands("h")), &vec![one; count], |row| {
        [expected(&row.iter().map(|bits| *bits as u64).collect::<Vec<_>>()).into()]
    });
    check(&format!("{opcode}.{name}x2 {};", operands("r")), &vec![two; count], |row| {
        let low: Vec<u64> = row.iter().map(|bits| *bits as u64 & 0xFFFF).collect();
        let high: Vec<u64> = row.iter().map(|bits| *bits as u64 >> 16).collect();
        [u128::from(expected(&low)) | u128::from(expected(&high)) << 16]
    });
}

#[test]
fn arithmetic_is_rounded_once() {
    for format in [HALF, BRAIN] {
        for (operation, count) in [("add", 2), ("sub", 2), ("mul", 2), ("fma", 3)] {
            one_and_two(&format!("{operation}.rn"), format, count, |row| expected(format, operation, row));
        }
        one_and_two("fma.rn.relu", format, 3, |row| relu(format, expected(format, "fma", row)));
        let number = |bits: u64, turned: u64| if format.is_nan(bits) { NAN } else { turned };
        one_and_two("abs", format, 1, |row| number(row[0], row[0] & 0x7FFF));
        one_and_two("neg", format, 1, |row| number(row[0], row[0] ^ 0x8000));
    }
    one_and_two("add", HALF, 2, |row| expected(HALF, "add", row));
    refused("add.rz.f16 %h0, %h1, %h2;");
    refused("add.sat.bf16 %h0, %h1, %h2;");
    refused("fma.f16 %h0, %h1, %h2, %h3;");
}

#[test]
fn flushing_and_saturation() {
    for (operation, count) in [("add", 2), ("sub", 2), ("mul", 2), ("fma", 3)] {
        let of_flushed = |row: &[u64]| {
            let row: Vec<u64> = row.iter().map(|bits| flushed(HALF, *bits)).collect();
            expected(Format { flushes: true, ..HALF }, operation, &row)
        };
        one_and_two(&format!("{operation}.rn.ftz"), HALF, count, of_flushed);
        one_and_two(&format!("{operation}.rn.ftz.sat"), HALF, count, |row| saturated(HALF, of_flushed(row)));
        one_and_two(&format!("{operation}.rn.sat"), HALF, count, |row| {
            saturated(HALF, expected(HALF, operation, row))
        });
    }
    one_and_two("fma.rn.ftz.relu", HALF, 3, |row| {
        let row: Vec<u64> = row.iter().map(|bits| flushed(HALF, *bits)).collect();
        relu(HALF, expected(Format { flushes: true, ..HALF }, "fma", &row))
    });
    one_and_two(
        "neg.ftz",
        HALF,
        1,
        |row| {
            if HALF.is_nan(row[0]) { NAN } else { flushed(HALF, row[0]) ^ 0x8000 }
        },
    );
}

#[test]
fn extremes() {
    let chosen = |format: Format, a: u64, b: u64, maximum: bool| match (format.is_nan(a), format.is_nan(b)) {
        (true, true) => NAN,
        (true, false) => b,
        (false, true) => a,
        _ => {
            let key = |bits: u64| {
                let magnitude = (bits & 0x7FFF) as i64;
                if bits & 0x8000 != 0 { -magnitude - 1 } else { magnitude }
            };
            if (key(a) < key(b)) != maximum { a } else { b }
        }
    };
    for format in [HALF, BRAIN] {
        for (base, maximum) in [("min", false), ("max", true)] {
            one_and_two(base, format, 2, |row| chosen(format, row[0], row[1], maximum));
            one_and_two(&format!("{base}.NaN"), format, 2, |row| {
                let is_nan = format.is_nan(row[0]) || format.is_nan(row[1]);
                if is_nan { NAN } else { chosen(format, row[0], row[1], maximum) }
            });
            one_and_two(&format!("{base}.xorsign.abs"), format, 2, |row| {
                let chosen = chosen(format, row[0] & 0x7FFF, row[1] & 0x7FFF, maximum);
                if format.is_nan(chosen) { chosen } else { chosen | (row[0] ^ row[1]) & 0x8000 }
            });
        }
    }
    one_and_two("min.ftz", HALF, 2, |row| chosen(HALF, flushed(HALF, row[0]), flushed(HALF, row[1]), false));
}

#[test]
fn small_and_single_mixed() {
    for (name, format, kind) in [("f16", HALF, Kind::Half), ("bf16", BRAIN, Kind::Brain)] {
        for (word, mode) in MODES {
            let mixed = |a: u64, b: u64, c: u64| -> u128 {
                let (x, y, z) = (format.value(a), format.value(b), SINGLE.value(c));
                if !(x.is_finite() && y.is_finite() && z.is_finite()) {
                    let value = x * y + z;
                    return if value.is_nan() { 0x7FFF_FFFF } else { (value as f32).to_bits().into() };
                }
                // Exactly, as three `f32`.
                let wide = |bits| exact::convert(format, SINGLE, bits, Mode::Nearest);
                exact::fma(SINGLE, SINGLE, [wide(a), wide(b), c], mode).into()
            };
            let one = one(format);
            check(&format!("add.{word}.f32.{name} %r0, %h1, %r2;"), &[kind, Kind::Single], |row| {
                [mixed(row[0] as u64, one, row[1] as u64)]
            });
            check(
                &format!("fma.{word}.f32.{name} %r0, %h1, %h2, %r3;"),
                &[kind, kind, Kind::Single],
                |row| [mixed(row[0] as u64, row[1] as u64, row[2] as u64)],
            );
        }
    }
}

/// Every `f16` and `bf16`, to `f32` and back.
#[test]
fn all_of_them_widen_exactly() {
    for (name, format) in [("f16", HALF), ("bf16", BRAIN)] {
        for level in crate::alu_support::levels() {
            let mut widen = crate::alu_support::Machine::new(&format!("cvt.f32.{name} %r0, %h1;"), level);
            let mut narrow = crate::alu_support::Machine::new(&format!("cvt.rn.{name}.f32 %h0, %r1;"), level);
            for start in (0..0x1_0000u64).step_by(32) {
                widen.set("%h1", &std::array::from_fn(|lane| (start + lane as u64).into()));
                widen.run(u32::MAX);
                let wide = widen.get("%r0");
                narrow.set("%r1", &wide);
                narrow.run(u32::MAX);
                let back = narrow.get("%h0");
                for lane in 0..32 {
                    let bits = start + lane as u64;
                    if format.is_nan(bits) {
                        // A `bf16` is the upper half of an `f32` whatever it is.
                        let kept = if name == "f16" { 0x7FFF_FFFF } else { bits << 16 };
                        assert_eq!((wide[lane], back[lane]), (kept.into(), NAN.into()), "{name} {bits:#x}");
                    } else {
                        let value = f64::from(f32::from_bits(wide[lane] as u32));
                        let wanted = format.value(bits);
                        assert_eq!(value, wanted, "{name} {bits:#x}");
                        assert_eq!(value.is_sign_negative(), format.is_negative(bits), "{name} {bits:#x}");
                        assert_eq!(back[lane], bits.into(), "{name} {bits:#x}");
                    }
                }
            }
        }
    }
}
