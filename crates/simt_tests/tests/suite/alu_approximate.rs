//! The approximate functions: their tables of special values, and their errors.

use crate::alu_support::{Kind, Lanes, Machine, levels, rows};

const INFINITY: f32 = f32::INFINITY;
const SUBNORMAL: f32 = f32::from_bits(0x0040_0000);

fn of(level: simt::internals::decode::Level, text: &str, operands: &[f32]) -> f32 {
    let mut machine = Machine::new(text, level);
    for (index, operand) in operands.iter().enumerate() {
        machine.set(&format!("%r{}", index + 1), &[operand.to_bits().into(); 32]);
    }
    machine.run(1 << 9);
    f32::from_bits(machine.get("%r0")[9] as u32)
}

/// Bit by bit, so that zeros have signs; all NaN are the canonical one.
#[test]
fn special_values() {
    let cases: &[(&str, &[(f32, f32)])] = &[
        (
            "ex2.approx.f32",
            &[
                (-INFINITY, 0.0),
                (INFINITY, INFINITY),
                (0.0, 1.0),
                (-0.0, 1.0),
                (f32::NAN, f32::NAN),
                (5.0, 32.0),
            ],
        ),
        ("ex2.approx.ftz.f32", &[(SUBNORMAL, 1.0), (-127.0, 0.0), (-126.0, f32::MIN_POSITIVE)]),
        ("ex2.approx.f32", &[(-127.0, SUBNORMAL), (-200.0, 0.0), (128.0, INFINITY)]),
        (
            "lg2.approx.f32",
            &[
                (-INFINITY, f32::NAN),
                (-1.0, f32::NAN),
                (0.0, -INFINITY),
                (-0.0, -INFINITY),
                (INFINITY, INFINITY),
                (8.0, 3.0),
                (SUBNORMAL, -127.0),
            ],
        ),
        ("lg2.approx.ftz.f32", &[(SUBNORMAL, -INFINITY), (-SUBNORMAL, -INFINITY)]),
        ("sin.approx.f32", &[(INFINITY, f32::NAN), (-INFINITY, f32::NAN), (0.0, 0.0), (-0.0, -0.0)]),
        ("sin.approx.ftz.f32", &[(SUBNORMAL, 0.0), (-SUBNORMAL, -0.0)]),
        ("cos.approx.f32", &[(INFINITY, f32::NAN), (0.0, 1.0), (-0.0, 1.0), (SUBNORMAL, 1.0)]),
        (
            "tanh.approx.f32",
            &[(INFINITY, 1.0), (-INFINITY, -1.0), (0.0, 0.0), (-0.0, -0.0), (f32::NAN, f32::NAN)],
        ),
        (
            "rcp.approx.f32",
            &[
                (-INFINITY, -0.0),
                (INFINITY, 0.0),
                (-0.0, -INFINITY),
                (0.0, INFINITY),
                (4.0, 0.25),
                (f32::NAN, f32::NAN),
            ],
        ),
        ("rcp.approx.ftz.f32", &[(-SUBNORMAL, -INFINITY), (SUBNORMAL, INFINITY), (2e38, 0.0)]),
        (
            "sqrt.approx.f32",
            &[
                (-INFINITY, f32::NAN),
                (-1.0, f32::NAN),
                (-0.0, -0.0),
                (0.0, 0.0),
                (INFINITY, INFINITY),
                (9.0, 3.0),
            ],
        ),
        ("sqrt.approx.ftz.f32", &[(-SUBNORMAL, -0.0), (SUBNORMAL, 0.0)]),
        (
            "rsqrt.approx.f32",
            &[
                (-INFINITY, f32::NAN),
                (-1.0, f32::NAN),
                (-0.0, -INFINITY),
                (0.0, INFINITY),
                (INFINITY, 0.0),
                (16.0, 0.25),
            ],
        ),
        ("rsqrt.approx.ftz.f32", &[(-SUBNORMAL, -INFINITY), (SUBNORMAL, INFINITY)]),
    ];
    for level in levels() {
        for (opcode, pairs) in cases {
            for (operand, wanted) in *pairs {
                let found = of(level, &format!("{opcode} %r0, %r1;"), &[*operand]);
                let wanted = if wanted.is_nan() { 0x7FFF_FFFF } else { wanted.to_bits() };
                assert_eq!(found.to_bits(), wanted, "{opcode} of {operand} at {level:?} is {found}");
            }
        }
        let large = f32::from_bits(0x7E80_0001);
        for (opcode, a, b, wanted) in [
            ("div.approx.f32", 6.0, 2.0, 3.0),
            ("div.approx.f32", 1e30, large, 0.0),
            ("div.approx.f32", INFINITY, -large, f32::NAN),
            ("div.full.f32", large, large, 1.0),
            ("div.full.ftz.f32", 1.0, SUBNORMAL, INFINITY),
            ("div.approx.f32", 0.0, 0.0, f32::NAN),
        ] {
            let found = of(level, &format!("{opcode} %r0, %r1, %r2;"), &[a, b]);
            assert!(found == wanted || found.is_nan() && wanted.is_nan(), "{opcode} of {a}, {b}: {found}");
        }
    }
}

/// Within what the manual documents: of `sin` and `cos` absolute, of the others in units of the last place or relative.
#[test]
fn errors_are_small() {
    type Function = fn(f64) -> f64;
    // The tables of the manual, as relative errors but for `lg2`, `sin` and `cos`.
    let functions: [(&str, Function, f64, f64); 8] = [
        ("ex2.approx.f32", f64::exp2, 2f64.powi(-22), 0.0),
        ("lg2.approx.f32", f64::log2, 2f64.powi(-22), 2f64.powi(-22)),
        ("sin.approx.f32", f64::sin, 0.0, 2f64.powf(-20.5)),
        ("cos.approx.f32", f64::cos, 0.0, 2f64.powf(-20.5)),
        ("tanh.approx.f32", f64::tanh, 2f64.powf(-10.987), 0.0),
        ("rcp.approx.f32", |x| 1.0 / x, 2f64.powi(-23), 0.0),
        ("sqrt.approx.f32", f64::sqrt, 2f64.powi(-23), 0.0),
        ("rsqrt.approx.f32", |x| 1.0 / x.sqrt(), 2f64.powf(-22.9), 0.0),
    ];
    for level in levels() {
        for (opcode, function, relative, absolute) in functions {
            let mut machine = Machine::new(&format!("{opcode} %r0, %r1;"), level);
            for chunk in rows(&[Kind::Single], 2000, 11).chunks(32) {
                let operands: Lanes = std::array::from_fn(|lane| chunk[lane][0]);
                machine.set("%r1", &operands);
                machine.run(u32::MAX);
                let found = machine.get("%r0");
                for (operand, found) in operands.into_iter().zip(found) {
                    let (operand, found) = (f32::from_bits(operand as u32), f32::from_bits(found as u32));
                    let wanted = function(operand.into());
                    let is_normal = (f32::MIN_POSITIVE..=f32::MAX).contains(&(wanted.abs() as f32));
                    if !is_normal
                        || opcode.starts_with(['s', 'c']) && !opcode.starts_with("sq") && operand.abs() > 3.2
                    {
                        continue;
                    }
                    let error = (f64::from(found) - wanted).abs();
                    assert!(
                        error <= (relative * wanted.abs()).max(absolute),
                        "{opcode} of {operand} is {found}"
                    );
                }
            }
        }
    }
}

#[test]
fn doubles_keep_their_upper_half() {
    for level in levels() {
        let mut machine = Machine::new("rcp.approx.ftz.f64 %d0, %d1;", level);
        let mut root = Machine::new("rsqrt.approx.f64 %d0, %d1;", level);
        for (operand, wanted) in [
            (4.0, 0.25),
            (f64::INFINITY, 0.0),
            (f64::NEG_INFINITY, -0.0),
            (-0.0, f64::NEG_INFINITY),
            (f64::from_bits(1), f64::INFINITY),
        ] {
            machine.set("%d1", &[f64::to_bits(operand).into(); 32]);
            machine.run(u32::MAX);
            assert_eq!(machine.get("%d0")[3], u128::from(f64::to_bits(wanted)), "{operand}");
        }
        machine.set("%d1", &[3f64.to_bits().into(); 32]);
        machine.run(u32::MAX);
        let third = machine.get("%d0")[0] as u64;
        assert_eq!(third & 0xFFFF_FFFF, 0);
        assert!((f64::from_bits(third) * 3.0 - 1.0).abs() < 2f64.powi(-19));
        root.set("%d1", &[2f64.to_bits().into(); 32]);
        root.run(u32::MAX);
        let found = f64::from_bits(root.get("%d0")[0] as u64);
        assert!((found * found * 2.0 - 1.0).abs() < 1e-8);
    }
}

#[test]
fn small_floats() {
    for level in levels() {
        let mut machine = Machine::new("ex2.approx.f16x2 %r0, %r1;", level);
        // 2^3 and 2^-1.
        machine.set("%r1", &[0x4200_BC00; 32]);
        machine.run(u32::MAX);
        assert_eq!(machine.get("%r0")[5], 0x4800_3800);
        let mut machine = Machine::new("tanh.approx.bf16 %h0, %h1;", level);
        for (operand, wanted) in [(0x7F80, 0x3F80), (0xFF80, 0xBF80), (0x8000, 0x8000), (0x7FC1, 0x7FFF)] {
            machine.set("%h1", &[operand; 32]);
            machine.run(u32::MAX);
            assert_eq!(machine.get("%h0")[5], wanted, "{operand:#x}");
        }
    }
}
