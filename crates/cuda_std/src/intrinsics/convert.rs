//! Conversions between numbers, with the rounding in the function's name, and between numbers and their bits.
//!
//! To an integer: what lies beyond its range becomes the nearest end of it, and NaN becomes 0.

#[cfg(not(target_arch = "nvptx64"))]
use core::cmp::Ordering;

use pastey::paste;

use crate::float::GpuFloat;

macro_rules! convert {
    ($($(#[$documentation:meta])* $name:ident($argument:ident: $type:ty) -> $result:ty = $value:expr;)*) => {$(
        $(#[$documentation])*
        #[inline(always)]
        #[must_use]
        pub fn $name($argument: $type) -> $result {
            $value
        }
    )*};
}

convert! {
    /// The upper 32 bits of the number's representation.
    double2hiint(d: f64) -> i32 = (d.to_bits() >> 32) as i32;
    /// The lower 32 bits of the number's representation.
    double2loint(d: f64) -> i32 = d.to_bits() as i32;
    /// The bits as an integer.
    double_as_longlong(x: f64) -> i64 = x.to_bits().cast_signed();
    /// The number with these bits.
    longlong_as_double(x: i64) -> f64 = f64::from_bits(x.cast_unsigned());
    /// The bits as an integer.
    float_as_int(x: f32) -> i32 = x.to_bits().cast_signed();
    /// The number with these bits.
    int_as_float(x: i32) -> f32 = f32::from_bits(x.cast_unsigned());
    /// The same number; every `i32` is an `f64`.
    int2double_rn(i: i32) -> f64 = f64::from(i);
    /// The same number, `i` taken as a `u32`; each of these is an `f64`.
    uint2double_rn(i: i32) -> f64 = f64::from(i.cast_unsigned());
}

/// The nearest half-precision number's bits.
#[cfg(feature = "half")]
#[inline(always)]
#[must_use]
pub fn float2half_rn(f: f32) -> i16 {
    half::f16::from_f32(f).to_bits().cast_signed()
}

/// The half-precision number with these bits.
#[cfg(feature = "half")]
#[inline(always)]
#[must_use]
pub fn half2float(h: i16) -> f32 {
    half::f16::from_bits(h.cast_unsigned()).to_f32()
}

/// The nearest `bfloat16`'s bits, ties to even (`cvt.rn.bf16.f32`; below compute capability 8.0 the same by integers).
///
/// NaN becomes 0x7fff.
#[inline(always)]
#[must_use]
pub fn float2bfloat16_rn(f: f32) -> i16 {
    #[cfg(target_arch = "nvptx64")]
    if crate::intrinsic::architecture() >= 800 {
        let result: i16;
        // SAFETY: arithmetic.
        unsafe {
            core::arch::asm!(
                "cvt.rn.bf16.f32 {}, {};",
                out(reg16) result, in(reg32) f, options(pure, nomem, nostack, preserves_flags)
            );
        }
        return result;
    }
    upper_half(f).cast_signed()
}

/// Two nearest `bfloat16`'s bits, those of `high` in the upper half (`cvt.rn.bf16x2.f32`), each as of [`float2bfloat16_rn`].
#[inline(always)]
#[must_use]
pub fn floats2bfloat162_rn(low: f32, high: f32) -> i32 {
    #[cfg(target_arch = "nvptx64")]
    if crate::intrinsic::architecture() >= 800 {
        let result: i32;
        // SAFETY: arithmetic.
        unsafe {
            core::arch::asm!(
                "cvt.rn.bf16x2.f32 {}, {}, {};",
                out(reg32) result, in(reg32) high, in(reg32) low, options(pure, nomem, nostack, preserves_flags)
            );
        }
        return result;
    }
    (u32::from(upper_half(high)) << 16 | u32::from(upper_half(low))).cast_signed()
}

/// The number of the `bfloat16` with these bits; each of these is an `f32`.
#[inline(always)]
#[must_use]
pub fn bfloat162float(h: i16) -> f32 {
    f32::from_bits(u32::from(h.cast_unsigned()) << 16)
}

/// The upper half of an `f32`'s bits, rounded to nearest, ties to even: a `bfloat16`. A carry goes into the exponent, as it
/// should.
#[inline(always)]
fn upper_half(f: f32) -> u16 {
    let bits = f.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    if f.is_nan() { 0x7fff } else { rounded as u16 }
}

/// The number whose representation has these upper, `x`, and lower, `y`, 32 bits.
#[inline(always)]
#[must_use]
pub fn hiloint2double(x: i32, y: i32) -> f64 {
    f64::from_bits((u64::from(x.cast_unsigned()) << 32) | u64::from(y.cast_unsigned()))
}

/// A float to an integer: rounded to a whole number first, in four ways. `cuda_builder` makes one `cvt` of both steps.
macro_rules! to_integer {
    ($($name:ident: $float:ident as $integer:ident as $result:ident;)*) => {$(paste! {
        to_integer!(@ [<$name _rd>], $float as $integer as $result, GpuFloat::floor, "down");
        to_integer!(@ [<$name _ru>], $float as $integer as $result, GpuFloat::ceil, "up");
        to_integer!(@ [<$name _rz>], $float as $integer as $result, GpuFloat::trunc, "towards zero");
        to_integer!(@ [<$name _rn>], $float as $integer as $result, GpuFloat::round_ties_even, "to nearest, ties to even");
    })*};
    (@ $name:ident, $float:ident as $integer:ident as $result:ident, $round:path, $way:literal) => {
        #[doc = concat!("The whole number, rounded ", $way, ", as the bits of the nearest `", stringify!($integer), "`.")]
        #[inline(always)]
        #[must_use]
        pub fn $name(x: $float) -> $result {
            $round(x) as $integer as $result
        }
    };
}

to_integer! {
    double2int: f64 as i32 as i32;
    double2uint: f64 as u32 as i32;
    double2ll: f64 as i64 as i64;
    double2ull: f64 as u64 as i64;
    float2int: f32 as i32 as i32;
    float2uint: f32 as u32 as i32;
    float2ll: f32 as i64 as i64;
    float2ull: f32 as u64 as i64;
}

/// A number to a float of less precision: one `cvt` on the GPU.
macro_rules! to_float {
    ($($name:ident: $given:ident as $type:ident as $float:ident, $from:ident $to:ident, $suffix:literal, $exact:ident;)*) => {$(paste! {
        to_float!(@ [<$name _rd>], $given as $type as $float, $from $to, ".rm", $suffix, $exact, Down, "down");
        to_float!(@ [<$name _ru>], $given as $type as $float, $from $to, ".rp", $suffix, $exact, Up, "up");
        to_float!(@ [<$name _rz>], $given as $type as $float, $from $to, ".rz", $suffix, $exact, Zero, "towards zero");

        #[doc = concat!("The nearest `", stringify!($float), "` to a `", stringify!($type), "`, ties to even.")]
        #[inline(always)]
        #[must_use]
        pub fn [<$name _rn>](x: $given) -> $float {
            x as $type as $float
        }
    })*};
    (@ $name:ident, $given:ident as $type:ident as $float:ident, $from:ident $to:ident, $mode:literal, $suffix:literal,
     $exact:ident, $direction:ident, $way:literal) => {
        #[doc = concat!("A `", stringify!($type), "` as `", stringify!($float), "`, rounded ", $way, " (`cvt", $mode, $suffix, "`).")]
        #[inline(always)]
        #[must_use]
        pub fn $name(x: $given) -> $float {
            #[cfg(target_arch = "nvptx64")]
            {
                let result: $float;
                // SAFETY: arithmetic.
                unsafe {
                    core::arch::asm!(
                        concat!("cvt", $mode, $suffix, " {}, {};"),
                        out($to) result, in($from) x, options(pure, nomem, nostack, preserves_flags)
                    );
                }
                result
            }
            #[cfg(not(target_arch = "nvptx64"))]
            {
                let exact = x as $type;
                let nearest = exact as $float;
                let order = (nearest as $exact).partial_cmp(&(exact as $exact));
                match Direction::$direction.step(order, exact < 0 as $type) {
                    Step::Down => nearest.next_down(),
                    Step::Up => nearest.next_up(),
                    Step::None => nearest,
                }
            }
        }
    };
}

to_float! {
    double2float: f64 as f64 as f32, reg64 reg32, ".f32.f64", f64;
    int2float: i32 as i32 as f32, reg32 reg32, ".f32.s32", i128;
    uint2float: i32 as u32 as f32, reg32 reg32, ".f32.u32", i128;
    ll2double: i64 as i64 as f64, reg64 reg64, ".f64.s64", i128;
    ll2float: i64 as i64 as f32, reg64 reg32, ".f32.s64", i128;
    ull2double: i64 as u64 as f64, reg64 reg64, ".f64.u64", i128;
    ull2float: i64 as u64 as f32, reg64 reg32, ".f32.u64", i128;
}

/// A rounding other than to nearest, on the host.
#[cfg(not(target_arch = "nvptx64"))]
#[derive(Clone, Copy)]
enum Direction {
    Down,
    Up,
    Zero,
}

/// The neighbour of the nearest number that is the rounded result.
#[cfg(not(target_arch = "nvptx64"))]
enum Step {
    Down,
    Up,
    None,
}

#[cfg(not(target_arch = "nvptx64"))]
impl Direction {
    /// `order` is how the nearest number compares with the exact one.
    fn step(self, order: Option<Ordering>, negative: bool) -> Step {
        let down = match self {
            Self::Down => true,
            Self::Up => false,
            Self::Zero => !negative,
        };
        match order {
            Some(Ordering::Greater) if down => Step::Down,
            Some(Ordering::Less) if !down => Step::Up,
            _ => Step::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_rounded_in_four_ways() {
        let all = |x| (double2int_rd(x), double2int_ru(x), double2int_rz(x), double2int_rn(x));
        assert_eq!(all(2.5), (2, 3, 2, 2));
        assert_eq!(all(-3.5), (-4, -3, -3, -4));
        assert_eq!(all(f64::NAN), (0, 0, 0, 0));
        assert_eq!((float2uint_rz(3e9).cast_unsigned(), float2uint_rz(-1.0)), (3_000_000_000, 0));
        assert_eq!((double2ll_rz(1e30), double2ull_rn(1e30), float2ull_ru(0.1)), (i64::MAX, -1, 1));
    }

    #[test]
    fn floats_are_rounded_in_four_ways() {
        let odd = (1 << 24) + 1;
        let all = |x| (int2float_rd(x), int2float_ru(x), int2float_rz(x), int2float_rn(x));
        assert_eq!(all(odd), (16_777_216.0, 16_777_218.0, 16_777_216.0, 16_777_216.0));
        assert_eq!(all(-odd), (-16_777_218.0, -16_777_216.0, -16_777_216.0, -16_777_216.0));
        assert_eq!(
            (ull2double_rz(-1), ull2double_rn(-1)),
            (18_446_744_073_709_549_568.0, 18_446_744_073_709_551_616.0)
        );
        assert_eq!(
            (ll2double_rz(i64::MIN + 1), uint2float_rd(-1)),
            (-9_223_372_036_854_774_784.0, 4_294_967_040.0)
        );
        let third = 1.0 / 3.0;
        assert_eq!((double2float_rd(third), double2float_ru(third)), (0.333_333_3, 0.333_333_34));
        assert_eq!((double2float_rz(-1e300), double2float_rd(-1e300)), (f32::MIN, f32::NEG_INFINITY));
        assert_eq!(
            (double2float_ru(1e-60), double2float_rd(f64::INFINITY)),
            (f32::from_bits(1), f32::INFINITY)
        );
        assert!(double2float_rd(f64::NAN).is_nan());
    }

    #[test]
    fn bits_stay_what_they_are() {
        let x = -1_234.567_890_123_f64;
        assert_eq!(hiloint2double(double2hiint(x), double2loint(x)), x);
        assert_eq!((longlong_as_double(double_as_longlong(x)), int_as_float(float_as_int(-0.1))), (x, -0.1));
        assert_eq!((uint2double_rn(-1), int2double_rn(-1)), (4_294_967_295.0, -1.0));
    }

    #[test]
    fn brain_floats_are_rounded_to_nearest() {
        for (float, bits) in [
            (1.0, 0x3f80),
            (-2.5, 0xc020_u16),
            // Halfway: to the even one, below and above.
            (f32::from_bits(0x3f80_8000), 0x3f80),
            (f32::from_bits(0x3f81_8000), 0x3f82),
            (f32::from_bits(0x3f80_8001), 0x3f81),
            (f32::from_bits(1), 0),
            (f32::MAX, 0x7f80),
            (f32::NEG_INFINITY, 0xff80),
            (f32::NAN, 0x7fff),
            (-f32::NAN, 0x7fff),
        ] {
            assert_eq!(float2bfloat16_rn(float).cast_unsigned(), bits, "{float:e}");
            let pair = floats2bfloat162_rn(float, 1.0).cast_unsigned();
            assert_eq!(pair, 0x3f80_0000 | u32::from(bits), "{float:e}");
        }
        assert_eq!((bfloat162float(0x4049), bfloat162float(-0x8000)), (3.140_625, -0.0));
    }

    #[cfg(feature = "half")]
    #[test]
    fn half_precision_is_by_its_bits() {
        assert_eq!((float2half_rn(1.5), half2float(0x3e00), float2half_rn(1e6)), (0x3e00, 1.5, 0x7c00));
    }
}
