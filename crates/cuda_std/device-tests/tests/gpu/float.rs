//! Tests float functions bit by bit against the host: `std` for the hardware's, and `libm` for those of `libm`.
//! Functions written in `cuda_std` over these are compared with the same code on the host. Any NaN equals another.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Debug;

use cuda_std::FloatExt;

use crate::device::{Kernels, Part, filled, gpu, read, results};
use crate::float_inputs::{double_pairs, doubles, single_pairs, singles};

/// Each function's differences: how many, and the first.
#[derive(Default)]
struct Differences(RefCell<BTreeMap<String, (usize, String)>>);

impl Differences {
    fn note(&self, function: &str, what: String) {
        self.0.borrow_mut().entry(function.to_owned()).or_insert((0, what)).0 += 1;
    }

    #[track_caller]
    fn expect_none(self) {
        let lines = self.0.into_inner().into_iter();
        let lines: Vec<String> =
            lines.map(|(function, (count, first))| format!("{count} of {function}: {first}")).collect();
        assert!(lines.is_empty(), "differences:\n{}", lines.join("\n"));
    }
}

/// The grid for one thread an element.
fn shape(length: usize) -> (u32, u32, u32) {
    (length.div_ceil(256) as u32, 256, 0)
}

macro_rules! tests {
    ($test:ident $float:ident, $inputs:ident $pairs:ident,
     [$($name:ident $reference:path;)*], [$($two:ident $reference_of_two:path;)*],
     $jn:path, $yn:path, $ldexp:path, $scalbn:path, $frexp:path, $ilogb:path, $sin:path, $cos:path) => {
        #[test]
        #[ignore = "needs a GPU"]
        fn $test() {
            let different = Differences::default();
            let same = |found: $float, expected: $float, what: &str, input: &dyn Debug| {
                if found.to_bits() != expected.to_bits() && !(found.is_nan() && expected.is_nan()) {
                    different.note(what, format!("{input:?} is {found:e}, expected {expected:e}"));
                }
            };
            let prefix = stringify!($float);
            let inputs = $inputs();
            let input = filled(&inputs);
            let (lefts, rights) = $pairs();
            let (left, right) = (filled(&lefts), filled(&rights));
            let wholes = [-2000, -1022, -149, -64, -7, -2, -1, 0, 1, 2, 3, 5, 17, 64, 127, 1023, 2000, i32::MAX, i32::MIN];
            let orders = [-17, -3, -2, -1, 0, 1, 2, 3, 5, 17];
            let with = |list: &[i32]| -> (Vec<$float>, Vec<i32>) {
                inputs.iter().enumerate().map(|(place, &input)| (input, list[place % list.len()])).unzip()
            };
            let floats = |length| results::<$float>(77.0, length);
            let check_one = |kernels: &Kernels, name: &str, reference: fn($float) -> $float| {
                let found = floats(inputs.len());
                run!(kernels, &format!("{prefix}_{name}"), shape(inputs.len()), [
                    input.as_device_ptr(), inputs.len(), found.as_device_ptr(),
                ]);
                for (&input, found) in inputs.iter().zip(read(&found)) {
                    same(found, reference(input), name, &input);
                }
            };
            let check_two = |kernels: &Kernels, name: &str, reference: fn($float, $float) -> $float| {
                let found = floats(lefts.len());
                run!(kernels, &format!("{prefix}_{name}"), shape(lefts.len()), [
                    left.as_device_ptr(), lefts.len(), right.as_device_ptr(), rights.len(), found.as_device_ptr(),
                ]);
                for ((&left, &right), found) in lefts.iter().zip(&rights).zip(read(&found)) {
                    same(found, reference(left, right), name, &(left, right));
                }
            };
            let check_whole = |kernels: &Kernels, name: &str, list: &[i32], reference: &dyn Fn($float, i32) -> $float| {
                let (bases, wholes) = with(list);
                let (base, whole, found) = (filled(&bases), filled(&wholes), floats(bases.len()));
                run!(kernels, &format!("{prefix}_{name}"), shape(bases.len()), [
                    base.as_device_ptr(), bases.len(), whole.as_device_ptr(), wholes.len(), found.as_device_ptr(),
                ]);
                for ((&base, &whole), found) in bases.iter().zip(&wholes).zip(read(&found)) {
                    same(found, reference(base, whole), name, &(base, whole));
                }
            };
            let check_pair = |kernels: &Kernels, name: &str, reference: &dyn Fn($float) -> ($float, $float)| {
                let found = results([77.0 as $float; 2], inputs.len());
                run!(kernels, &format!("{prefix}_{name}"), shape(inputs.len()), [
                    input.as_device_ptr(), inputs.len(), found.as_device_ptr(),
                ]);
                for (&input, [first, second]) in inputs.iter().zip(read(&found)) {
                    same(first, reference(input).0, name, &input);
                    same(second, reference(input).1, name, &input);
                }
            };
            for kernels in gpu().kernels(Part::Floats) {
                $(check_one(kernels, stringify!($name), $reference);)*
                $(check_two(kernels, stringify!($two), $reference_of_two);)*
                check_whole(kernels, "powi", &wholes, &|base, exponent| {
                    // By repeated squaring, from the lowest bit of the exponent.
                    let squares = std::iter::successors(Some(base), |square| Some(square * square));
                    let bits = (0..32).map(|bit| exponent.unsigned_abs() >> bit & 1 != 0);
                    let used = squares.zip(bits).filter_map(|(square, used)| used.then_some(square));
                    let power = used.fold(1.0, |power, square| power * square);
                    if exponent < 0 { 1.0 / power } else { power }
                });
                check_whole(kernels, "jn", &orders, &|x, order| $jn(order, x));
                check_whole(kernels, "yn", &orders, &|x, order| $yn(order, x));
                check_whole(kernels, "ldexp", &wholes, &|x, exponent| $ldexp(x, exponent));
                check_whole(kernels, "scale_by_n", &wholes, &|x, exponent| $scalbn(x, exponent));
                check_pair(kernels, "sin_cos", &|x| ($sin(x), $cos(x)));
                check_pair(kernels, "sincospi", &|x| x.sincospi());

                let (addends, found) = (filled(&rights.iter().rev().copied().collect::<Vec<_>>()), floats(lefts.len()));
                run!(kernels, &format!("{prefix}_mul_add"), shape(lefts.len()), [
                    left.as_device_ptr(), lefts.len(), right.as_device_ptr(), rights.len(), addends.as_device_ptr(),
                    rights.len(), found.as_device_ptr(),
                ]);
                for (place, found) in read(&found).into_iter().enumerate() {
                    let (a, b, c) = (lefts[place], rights[place], rights[rights.len() - 1 - place]);
                    same(found, $float::mul_add(a, b, c), "mul_add", &(a, b, c));
                }

                let found = results([77_i64; 8], inputs.len());
                run!(kernels, &format!("{prefix}_casts"), shape(inputs.len()), [
                    input.as_device_ptr(), inputs.len(), found.as_device_ptr(),
                ]);
                for (&x, found) in inputs.iter().zip(read(&found)) {
                    let expected: [i64; 8] = [
                        (x as i8).into(), (x as u8).into(), (x as i16).into(), (x as u16).into(), (x as i32).into(),
                        (x as u32).into(), x as i64, (x as u64).cast_signed(),
                    ];
                    if found != expected {
                        different.note("casts", format!("{x:e} is {found:?}, expected {expected:?}"));
                    }
                }

                let found = results([77.0 as $float; 5], lefts.len());
                run!(kernels, &format!("{prefix}_arithmetic"), shape(lefts.len()), [
                    left.as_device_ptr(), lefts.len(), right.as_device_ptr(), rights.len(), found.as_device_ptr(),
                ]);
                for ((&left, &right), found) in lefts.iter().zip(&rights).zip(read(&found)) {
                    let expected = [left + right, left - right, left * right, left / right, left * right + left];
                    for (place, found) in found.into_iter().enumerate() {
                        same(found, expected[place], "arithmetic", &(place, left, right));
                    }
                }

                let (fractions, exponents) = (floats(inputs.len()), results(77_i32, inputs.len()));
                run!(kernels, &format!("{prefix}_frexp"), shape(inputs.len()), [
                    input.as_device_ptr(), inputs.len(), fractions.as_device_ptr(), exponents.as_device_ptr(),
                ]);
                for ((&input, fraction), exponent) in inputs.iter().zip(read(&fractions)).zip(read(&exponents)) {
                    let (expected, expected_exponent) = $frexp(input);
                    same(fraction, expected, "frexp", &input);
                    if exponent != expected_exponent {
                        different.note("frexp", format!("{input:e} has exponent {exponent}"));
                    }
                    if input.is_finite() && input != 0.0 {
                        assert!((0.5..1.0).contains(&fraction.abs()), "{fraction} of {input:e}");
                    }
                }
                run!(kernels, &format!("{prefix}_unbiased_exp"), shape(inputs.len()), [
                    input.as_device_ptr(), inputs.len(), exponents.as_device_ptr(),
                ]);
                for (&input, exponent) in inputs.iter().zip(read(&exponents)) {
                    if exponent != $ilogb(input) {
                        different.note("unbiased_exp", format!("{input:e} is {exponent}"));
                    }
                }
            }
            different.expect_none();
        }
    };
}

tests! {
    single_precision_is_the_hosts f32, singles single_pairs,
    [
        floor f32::floor;
        ceil f32::ceil;
        round f32::round;
        round_ties_even f32::round_ties_even;
        trunc f32::trunc;
        fract f32::fract;
        abs f32::abs;
        signum f32::signum;
        sqrt f32::sqrt;
        ln libm::logf;
        log2 libm::log2f;
        log10 libm::log10f;
        cbrt libm::cbrtf;
        sin libm::sinf;
        cos libm::cosf;
        tan libm::tanf;
        asin libm::asinf;
        acos libm::acosf;
        atan libm::atanf;
        exp_m1 libm::expm1f;
        ln_1p libm::log1pf;
        sinh libm::sinhf;
        cosh libm::coshf;
        asinh libm::asinhf;
        acosh libm::acoshf;
        atanh libm::atanhf;
        error_function libm::erff;
        complementary_error_function libm::erfcf;
        j0 libm::j0f;
        j1 libm::j1f;
        y0 libm::y0f;
        y1 libm::y1f;
        log_gamma libm::lgammaf;
        gamma libm::tgammaf;
        log1p libm::log1pf;
        saturate saturated_f32;
        cospi f32::cospi;
        sinpi f32::sinpi;
        inv_error_function f32::inv_error_function;
        inv_complementary_error_function f32::inv_complementary_error_function;
        scaled_complementary_error_function f32::scaled_complementary_error_function;
        norm_cdf f32::norm_cdf;
        inv_norm_cdf f32::inv_norm_cdf;
        rcbrt f32::rcbrt;
    ],
    [
        copysign f32::copysign;
        div_euclid f32::div_euclid;
        rem_euclid f32::rem_euclid;
        powf libm::powf;
        log log_f32;
        hypot libm::hypotf;
        atan2 libm::atan2f;
    ],
    libm::jnf, libm::ynf, libm::ldexpf, libm::scalbnf, libm::frexpf, libm::ilogbf, libm::sinf, libm::cosf
}

tests! {
    double_precision_is_the_hosts f64, doubles double_pairs,
    [
        floor f64::floor;
        ceil f64::ceil;
        round f64::round;
        round_ties_even f64::round_ties_even;
        trunc f64::trunc;
        fract f64::fract;
        abs f64::abs;
        signum f64::signum;
        sqrt f64::sqrt;
        exp libm::exp;
        exp2 libm::exp2;
        ln libm::log;
        log2 libm::log2;
        log10 libm::log10;
        cbrt libm::cbrt;
        sin libm::sin;
        cos libm::cos;
        tan libm::tan;
        asin libm::asin;
        acos libm::acos;
        atan libm::atan;
        exp_m1 libm::expm1;
        ln_1p libm::log1p;
        sinh libm::sinh;
        cosh libm::cosh;
        tanh libm::tanh;
        asinh libm::asinh;
        acosh libm::acosh;
        atanh libm::atanh;
        error_function libm::erf;
        complementary_error_function libm::erfc;
        j0 libm::j0;
        j1 libm::j1;
        y0 libm::y0;
        y1 libm::y1;
        log_gamma libm::lgamma;
        gamma libm::tgamma;
        log1p libm::log1p;
        saturate saturated_f64;
        cospi f64::cospi;
        sinpi f64::sinpi;
        inv_error_function f64::inv_error_function;
        inv_complementary_error_function f64::inv_complementary_error_function;
        scaled_complementary_error_function f64::scaled_complementary_error_function;
        norm_cdf f64::norm_cdf;
        inv_norm_cdf f64::inv_norm_cdf;
        rcbrt f64::rcbrt;
    ],
    [
        copysign f64::copysign;
        div_euclid f64::div_euclid;
        rem_euclid f64::rem_euclid;
        powf libm::pow;
        log log_f64;
        hypot libm::hypot;
        atan2 libm::atan2;
    ],
    libm::jn, libm::yn, libm::ldexp, libm::scalbn, libm::frexp, libm::ilogb, libm::sin, libm::cos
}

/// The quotient of the logarithms.
fn log_f32(x: f32, base: f32) -> f32 {
    libm::logf(x) / libm::logf(base)
}

fn log_f64(x: f64, base: f64) -> f64 {
    libm::log(x) / libm::log(base)
}

/// 0 for NaN and for both zeros.
fn saturated_f32(x: f32) -> f32 {
    if x > 0.0 { x.min(1.0) } else { 0.0 }
}

fn saturated_f64(x: f64) -> f64 {
    if x > 0.0 { x.min(1.0) } else { 0.0 }
}

/// A function's name, its bound in ulp, and what it computes.
type Reference<'f> = (&'static str, f64, &'f dyn Fn(f32) -> f64);

/// `f64` computes what `f32` rounds: the functions that `cuda_std` writes itself are as near to it as documented.
#[test]
#[ignore = "needs a GPU"]
fn functions_of_our_own_are_accurate() {
    let inputs = singles();
    let input = filled(&inputs);
    let of_pi = |x: f32, function: fn(f64) -> f64| function((f64::from(x) % 2.0) * std::f64::consts::PI);
    // Each function's bound in ulp, with what the special function unit may add.
    let references: [Reference<'_>; 7] = [
        ("exp", 1.04 + 1.5, &|x| f64::from(x).exp()),
        ("exp2", 2.5, &|x| f64::from(x).exp2()),
        ("tanh", 1.5 + 2.0, &|x| f64::from(x).tanh()),
        ("sinpi", 2.0, &|x| of_pi(x, f64::sin)),
        ("cospi", 2.0, &|x| of_pi(x, f64::cos)),
        ("norm_cdf", 2.0, &|x| 0.5 * libm::erfc(-f64::from(x) / std::f64::consts::SQRT_2)),
        ("rcbrt", 2.0, &|x| 1.0 / f64::from(x).cbrt()),
    ];
    let different = Differences::default();
    for kernels in gpu().kernels(Part::Floats) {
        for (name, ulps, reference) in &references {
            let found = results(77_f32, inputs.len());
            run!(
                kernels,
                &format!("f32_{name}"),
                shape(inputs.len()),
                [input.as_device_ptr(), inputs.len(), found.as_device_ptr(),]
            );
            for (&input, found) in inputs.iter().zip(read(&found)) {
                let expected = reference(input);
                let rounded = expected as f32;
                // Where the sine of pi is 0, `f64`'s is not quite.
                let bound = ulps * f64::from(rounded.abs().next_up() - rounded.abs()) + 1e-15;
                let near = found == rounded
                    || found.is_nan() && rounded.is_nan()
                    || (f64::from(found) - expected).abs() <= bound;
                if !near {
                    different.note(name, format!("{input:e} is {found:e}, expected {expected:e}"));
                }
            }
        }
    }
    different.expect_none();
}
