//! The special function unit within the bounds that the documentation of `cuda_std::approx` states.

use std::f64::consts::{LN_2, LOG2_E, PI};

use crate::device::{Part, Random, filled, gpu, read, results};
use crate::float_inputs::{single_pairs, singles};

/// The distance of two neighbouring `f32` at this magnitude; that of the smallest for a NaN, which has none.
fn ulp(value: f64) -> f64 {
    // Unlike `clamp`, these pass over a NaN.
    let magnitude = value.abs().max(f64::from(f32::MIN_POSITIVE)).min(f64::from(f32::MAX));
    2.0_f64.powi(libm::ilogb(magnitude) - 23)
}

/// A function's name, its exact value, the error bound for an input and its value, and the inputs where it holds.
type Bound = (&'static str, fn(f64) -> f64, fn(f64, f64) -> f64, fn(f64) -> bool);

/// Half an ulp comes to each bound, since the reference is not rounded to `f32`.
const BOUNDS: [Bound; 10] = [
    ("sin", f64::sin, |_, _| 2.0_f64.powf(-20.5), |x| x.abs() <= PI),
    ("cos", f64::cos, |_, _| 2.0_f64.powf(-20.5), |x| x.abs() <= PI),
    ("exp2", f64::exp2, |_, y| 2.5 * ulp(y), |_| true),
    // The product with log2(e) is rounded, as is that constant.
    (
        "exp",
        f64::exp,
        |x, y| 2.5 * ulp(y) + y * LN_2 * (ulp(x * LOG2_E) + (x * LOG2_E).abs() * 2.0_f64.powi(-25)),
        |_| true,
    ),
    (
        "log2",
        f64::log2,
        |x, y| if (0.5..=2.0).contains(&x) { 2.0_f64.powi(-22) } else { 2.5 * ulp(y) },
        |_| true,
    ),
    ("ln", f64::ln, |x, y| if (0.5..=2.0).contains(&x) { 2.0_f64.powi(-22) } else { 3.5 * ulp(y) }, |_| true),
    ("sqrt", f64::sqrt, |_, y| 2.0_f64.powi(-23) * y, |_| true),
    ("reciprocal_sqrt", |x| 1.0 / x.sqrt(), |_, y| 2.0_f64.powf(-22.9) * y, |_| true),
    ("reciprocal", |x| 1.0 / x, |_, y| 1.5 * ulp(y), |_| true),
    ("tanh", f64::tanh, |_, y| 2.0_f64.powi(-11) * y.abs(), |_| true),
];

/// The error of a result in units of its bound: at most 1. NaN, infinities and overflow are matched as such.
fn excess(found: f32, expected: f64, bound: f64) -> f64 {
    let (rounded, found_wide) = (expected as f32, f64::from(found));
    if found == rounded || found.is_nan() && expected.is_nan() {
        return 0.0;
    }
    // At the end of the range the bound decides whether it is still a number.
    if found.is_infinite()
        && expected.abs() + bound >= f64::from(f32::MAX)
        && found_wide.signum() == expected.signum()
    {
        return 0.0;
    }
    if expected.is_nan() || found.is_nan() || found.is_infinite() {
        f64::INFINITY
    } else {
        (found_wide - expected).abs() / bound
    }
}

#[test]
#[ignore = "needs a GPU"]
fn approximations_keep_their_bounds() {
    let mut random = Random(71);
    let mut inputs = singles();
    inputs.extend((0..20000).map(|_| ((random.unit() - 0.5) * 2.0 * PI) as f32));
    inputs.extend((0..20000).map(|_| (0.4 + 2.0 * random.unit()) as f32));
    let input = filled(&inputs);
    let mut beyond = Vec::new();
    for kernels in gpu().kernels(Part::Floats) {
        for (name, reference, bound, holds) in BOUNDS {
            let found = results(77_f32, inputs.len());
            run!(
                kernels,
                &format!("approx_{name}"),
                (inputs.len().div_ceil(256) as u32, 256, 0),
                [input.as_device_ptr(), inputs.len(), found.as_device_ptr(),]
            );
            let mut worst = (0.0, 0.0, 0.0);
            for (&input, found) in inputs.iter().zip(read(&found)) {
                let (wide, expected) = (f64::from(input), reference(f64::from(input)));
                if holds(wide) {
                    let excess = excess(found, expected, bound(wide, expected));
                    if excess > worst.0 {
                        worst = (excess, input, found);
                    }
                }
            }
            println!("compute_{} {name}: {:.3} of its bound at {:e}", kernels.architecture, worst.0, worst.1);
            if worst.0 > 1.0 {
                let expected = reference(f64::from(worst.1));
                beyond.push(format!("{name} of {:e} is {:e}, expected {expected:e}", worst.1, worst.2));
            }
        }
    }
    assert!(beyond.is_empty(), "{}", beyond.join("\n"));
}

#[test]
#[ignore = "needs a GPU"]
fn approximate_quotients_keep_their_bound() {
    let (lefts, rights) = single_pairs();
    let (left, right) = (filled(&lefts), filled(&rights));
    for kernels in gpu().kernels(Part::Floats) {
        let found = results(77_f32, lefts.len());
        run!(
            kernels,
            "approx_divide",
            (lefts.len().div_ceil(256) as u32, 256, 0),
            [left.as_device_ptr(), lefts.len(), right.as_device_ptr(), rights.len(), found.as_device_ptr(),]
        );
        let mut worst = 0.0_f64;
        for ((&left, &right), found) in lefts.iter().zip(&rights).zip(read(&found)) {
            if (2.0_f32.powi(-126)..=2.0_f32.powi(126)).contains(&right.abs()) {
                let expected = f64::from(left) / f64::from(right);
                let excess = excess(found, expected, 2.5 * ulp(expected));
                assert!(excess <= 1.0, "{left:e} / {right:e} is {found:e}, expected {expected:e}");
                worst = worst.max(excess);
            }
        }
        println!("compute_{} divide: {worst:.3} of its bound", kernels.architecture);
    }
}
