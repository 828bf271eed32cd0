//! `libdevice`'s names: conversions are the host's, and directed roundings enclose the exact result as closely as can be.

use std::fmt::Debug;

use cuda_std::{glam, intrinsics};
use cust::memory::DeviceCopy;

use crate::device::{Kernels, Part, Random, assert_same, filled, gpu, read, results};
use crate::float_inputs::{double_pairs, doubles, single_pairs, singles};

/// The results of the kernel of that name for the inputs.
fn launched<T: DeviceCopy, R: DeviceCopy + Default>(
    kernels: &Kernels,
    name: &str,
    inputs: &[T],
    unwritten: R,
) -> Vec<R> {
    let (input, found) = (filled(inputs), results(unwritten, inputs.len()));
    run!(
        kernels,
        &format!("intrinsic_{name}"),
        (inputs.len().div_ceil(256) as u32, 256, 0),
        [input.as_device_ptr(), inputs.len(), found.as_device_ptr(),]
    );
    read(&found)
}

/// Fails unless each function does on the device what it does here; any NaN is as good as another.
macro_rules! same_as_here {
    ($kernels:expr, $inputs:expr, $unwritten:expr, [$($function:ident)*]) => {$(
        for (input, found) in $inputs.iter().zip(launched($kernels, stringify!($function), $inputs, $unwritten)) {
            let expected = intrinsics::$function(*input);
            let both_nan = found != found && expected != expected;
            assert!(found == expected || both_nan, "{} of {input:?} is {found:?}, expected {expected:?}", stringify!($function));
        }
    )*};
}

#[test]
#[ignore = "needs a GPU"]
#[allow(clippy::eq_op, reason = "that is how a NaN shows among integers and floats alike")]
fn conversions_and_functions_are_the_hosts() {
    let mut random = Random(11);
    let mut longs =
        vec![0, 1, -1, i64::MAX, i64::MIN, i64::MIN + 1, (1 << 53) + 1, -(1 << 53) - 1, (1 << 24) + 1];
    longs.extend((0..1000).map(|_| random.word().cast_signed() >> (random.half() % 64)));
    let ints: Vec<i32> = longs.iter().map(|&long| long as i32).collect();
    let (doubles, singles) = (&doubles()[..], &singles()[..]);
    let brains: Vec<i16> = (i16::MIN..=i16::MAX).collect();
    let pairs: Vec<[f32; 2]> =
        singles.iter().zip(singles.iter().rev()).map(|(&low, &high)| [low, high]).collect();
    for kernels in gpu().kernels(Part::Floats) {
        same_as_here!(kernels, doubles, 77.0_f32, [double2float_rd double2float_ru double2float_rz double2float_rn]);
        same_as_here!(kernels, &ints, 77.0_f32, [
            int2float_rd int2float_ru int2float_rz uint2float_rd uint2float_ru uint2float_rz
        ]);
        same_as_here!(kernels, &longs, 77.0_f64, [
            ll2double_rd ll2double_ru ll2double_rz ull2double_rd ull2double_ru ull2double_rz
        ]);
        same_as_here!(kernels, &longs, 77.0_f32, [
            ll2float_rd ll2float_ru ll2float_rz ull2float_rd ull2float_ru ull2float_rz
        ]);
        same_as_here!(kernels, doubles, 77_i32, [
            double2int_rd double2int_ru double2int_rz double2int_rn double2uint_rz ilogb
        ]);
        same_as_here!(kernels, doubles, 77_i64, [double2ll_rn double2ull_rz llrint llround]);
        same_as_here!(kernels, singles, 77_i32, [
            float2int_rd float2int_ru float2int_rz float2int_rn float2uint_rd float2uint_ru float2uint_rz float2uint_rn
        ]);
        same_as_here!(kernels, singles, 77_i64, [float2ll_rn float2ll_rz float2ull_rd float2ull_rz]);
        same_as_here!(kernels, singles, 77_i16, [float2bfloat16_rn]);
        same_as_here!(kernels, &brains, 77.0_f32, [bfloat162float]);
        let expected: Vec<i32> =
            pairs.iter().map(|&[low, high]| intrinsics::floats2bfloat162_rn(low, high)).collect();
        assert_same(
            &launched(kernels, "floats2bfloat162_rn", &pairs, 77_i32),
            &expected,
            "floats2bfloat162_rn",
        );
        same_as_here!(kernels, singles, 77.0_f32, [rintf logbf tgammaf]);
        same_as_here!(kernels, doubles, 77.0_f64, [rint logb erfcx]);
    }
}

#[test]
#[ignore = "needs a GPU"]
fn integers_are_the_hosts() {
    let mut random = Random(12);
    let pairs: Vec<[i64; 2]> =
        (0..1000).map(|_| [random.word().cast_signed(), random.word().cast_signed()]).collect();
    let halves: Vec<[i32; 2]> = pairs.iter().map(|[left, right]| [*left as i32, *right as i32]).collect();
    for kernels in gpu().kernels(Part::Floats) {
        macro_rules! same {
            ($pairs:ident, $unwritten:expr, [$($function:ident)*]) => {$(
                let expected: Vec<_> = $pairs.iter().map(|&[left, right]| intrinsics::$function(left, right)).collect();
                assert_same(&launched(kernels, stringify!($function), &$pairs, $unwritten), &expected, stringify!($function));
            )*};
        }
        same!(halves, 77_i32, [mulhi umulhi hadd urhadd]);
        same!(pairs, 77_i64, [mul64hi umul64hi]);
    }
}

/// Checks directed rounding: down and up must be neighbours around the exact result, or both equal it. Towards zero
/// must be the one of smaller magnitude. `residual` has the sign of the exact result less the nearest float, and is 0
/// if that is exact.
fn enclosed<T: Debug>(
    what: &str,
    input: T,
    [down, up, zero]: [f64; 3],
    nearest: f64,
    residual: f64,
    next: [f64; 2],
) {
    let expected = match residual {
        residual if residual > 0.0 => [nearest, next[1]],
        residual if residual < 0.0 => [next[0], nearest],
        _ => [nearest, nearest],
    };
    assert_eq!([down, up], expected, "{what} of {input:?}");
    let towards_zero = if down >= 0.0 { down } else { up };
    assert_eq!(zero, towards_zero, "{what} towards zero of {input:?}");
}

#[test]
#[ignore = "needs a GPU"]
fn directed_roundings_enclose_the_exact_result() {
    let (lefts, rights) = double_pairs();
    // Where products and quotients keep all their bits.
    let moderate = |x: &f64| (1e-100..1e100).contains(&x.abs());
    let pairs: Vec<[f64; 2]> = lefts
        .iter()
        .zip(&rights)
        .map(|(&left, &right)| [left, right])
        .filter(|pair| pair.iter().all(moderate))
        .collect();
    let (lefts, rights) = single_pairs();
    let moderate = |x: &f32| (1e-15..1e15).contains(&x.abs());
    let singles: Vec<[f32; 2]> = lefts
        .iter()
        .zip(&rights)
        .map(|(&left, &right)| [left, right])
        .filter(|pair| pair.iter().all(moderate))
        .collect();
    assert!(pairs.len() > 100 && singles.len() > 100, "{} and {} pairs", pairs.len(), singles.len());
    for kernels in gpu().kernels(Part::Floats) {
        let three = |name: &str| {
            ["rd", "ru", "rz"].map(|way| launched(kernels, &format!("{name}_{way}"), &pairs, 77.0_f64))
        };
        for (name, exact) in [
            ("dadd", sum as fn(f64, f64) -> (f64, f64)),
            ("dmul", |x, y| {
                let product = x * y;
                (product, x.mul_add(y, -product))
            }),
            ("ddiv", quotient),
        ] {
            let [down, up, zero] = three(name);
            for (place, &[x, y]) in pairs.iter().enumerate() {
                let (nearest, residual) = exact(x, y);
                enclosed(
                    name,
                    (x, y),
                    [down[place], up[place], zero[place]],
                    nearest,
                    residual,
                    [nearest.next_down(), nearest.next_up()],
                );
            }
        }
        let positive: Vec<f64> = pairs.iter().map(|pair| pair[0].abs()).collect();
        for (name, exact) in [
            (
                "drcp",
                (|x| {
                    let quotient = 1.0 / x;
                    (quotient, (-quotient).mul_add(x, 1.0))
                }) as fn(f64) -> (f64, f64),
            ),
            ("dsqrt", |x| {
                let root = x.sqrt();
                (root, (-root).mul_add(root, x))
            }),
        ] {
            let [down, up, zero] = ["rd", "ru", "rz"]
                .map(|way| launched(kernels, &format!("{name}_{way}"), &positive, 77.0_f64));
            for (place, &x) in positive.iter().enumerate() {
                let (nearest, residual) = exact(x);
                enclosed(
                    name,
                    x,
                    [down[place], up[place], zero[place]],
                    nearest,
                    residual,
                    [nearest.next_down(), nearest.next_up()],
                );
            }
        }
        // In `f64` products of `f32` are exact; sums and quotients leave a residual there too.
        for (name, exact) in [
            ("fadd", sum as fn(f64, f64) -> (f64, f64)),
            ("fsub", |x, y| sum(x, -y)),
            ("fmul", |x, y| (x * y, 0.0)),
            ("fdiv", quotient),
        ] {
            let [down, up, zero] =
                ["rd", "ru", "rz"].map(|way| launched(kernels, &format!("{name}_{way}"), &singles, 77.0_f32));
            for (place, &[x, y]) in singles.iter().enumerate() {
                let (result, beyond) = exact(f64::from(x), f64::from(y));
                let nearest = result as f32;
                let found = [down[place], up[place], zero[place]].map(f64::from);
                let next = [nearest.next_down(), nearest.next_up()].map(f64::from);
                let residual = result - f64::from(nearest);
                let residual = if residual == 0.0 { beyond } else { residual };
                enclosed(name, (x, y), found, f64::from(nearest), residual, next);
            }
        }
    }
}

/// The sum as rounded, and what it lacks of the exact one.
fn sum(x: f64, y: f64) -> (f64, f64) {
    let sum = x + y;
    let part = sum - x;
    (sum, (x - (sum - part)) + (y - part))
}

/// The quotient as rounded, and a number with the sign of what it lacks of the exact one.
fn quotient(x: f64, y: f64) -> (f64, f64) {
    let quotient = x / y;
    (quotient, (-quotient).mul_add(y, x) * y.signum())
}

#[test]
#[ignore = "needs a GPU"]
fn glam_types_lie_as_on_the_host() {
    macro_rules! layouts {
        ($($type:ident)*) => {
            vec![$((stringify!($type), [size_of::<glam::$type>() as u32, align_of::<glam::$type>() as u32])),*]
        };
    }
    let expected = layouts!(
        Vec2 Vec3 Vec3A Vec4 Quat Mat2 Mat3 Mat3A Mat4 Affine2 Affine3A DVec2 DVec3 DVec4 DQuat DMat2 DMat3 DMat4
        IVec2 IVec3 IVec4 UVec2 UVec3 UVec4 I64Vec2 U64Vec4 I16Vec3 U16Vec2 I8Vec4 U8Vec3 USizeVec2 BVec3 BVec4A
    );
    for kernels in gpu().kernels(Part::Floats) {
        let found = results([77_u32; 2], expected.len());
        run!(kernels, "glam_layouts", (1, 1, 0), [found.as_device_ptr()]);
        let found: Vec<_> =
            expected.iter().zip(read(&found)).map(|((name, _), layout)| (*name, layout)).collect();
        assert_same(&found, &expected, "size and alignment");
    }
}
