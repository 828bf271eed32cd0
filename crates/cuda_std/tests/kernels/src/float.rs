//! Float functions that are hardware instructions, and approximations.
use cuda_std::{FloatExt, GpuFloat, approx, intrinsics, kernel};

macro_rules! one {
    ($($name:ident $type:ty, |$x:ident| $value:expr;)*) => {$(
        #[kernel]
        pub unsafe fn $name(data: *mut $type) {
            unsafe {
                let $x = *data;
                *data = $value;
            }
        }
    )*};
}

one! {
    floor_f32 f32, |x| GpuFloat::floor(x);
    ceil_f32 f32, |x| GpuFloat::ceil(x);
    round_ties_even_f32 f32, |x| GpuFloat::round_ties_even(x);
    trunc_f64 f64, |x| GpuFloat::trunc(x);
    cast_f32 f32, |x| f32::from_bits((x as i32).cast_unsigned());
    float2int_rn f32, |x| intrinsics::int_as_float(intrinsics::float2int_rn(x));
    float2uint_rd f32, |x| intrinsics::int_as_float(intrinsics::float2uint_rd(x));
    bfloat16 f32, |x| intrinsics::bfloat162float(intrinsics::float2bfloat16_rn(x));
    bfloat162 f32, |x| intrinsics::int_as_float(intrinsics::floats2bfloat162_rn(x, 1.0));
    double2ll_ru f64, |x| intrinsics::longlong_as_double(intrinsics::double2ll_ru(x));
    sqrt_f32 f32, |x| GpuFloat::sqrt(x);
    sqrt_f64 f64, |x| GpuFloat::sqrt(x);
    mul_add_f32 f32, |x| GpuFloat::mul_add(x, x, 3.0);
    mul_add_f64 f64, |x| GpuFloat::mul_add(x, x, 3.0);
    abs_f32 f32, |x| GpuFloat::abs(x);
    copysign_f32 f32, |x| GpuFloat::copysign(3.0, x);
    round_f32 f32, |x| GpuFloat::round(x);
    fract_f64 f64, |x| GpuFloat::fract(x);
    signum_f32 f32, |x| GpuFloat::signum(x);
    saturate_f32 f32, |x| x.saturate();
    min_f32 f32, |x| x.min(3.0);
    exp_f32 f32, |x| GpuFloat::exp(x);
    exp2_f32 f32, |x| GpuFloat::exp2(x);
    tanh_f32 f32, |x| GpuFloat::tanh(x);
    sin_f32 f32, |x| GpuFloat::sin(x);
    powf_f64 f64, |x| GpuFloat::powf(x, 1.5);
    norm_f64 f64, |x| x.norm_cdf() + x.inv_norm_cdf() + x.gamma() + x.sinpi();
    approx_sin f32, |x| approx::sin(x);
    approx_cos f32, |x| approx::cos(x);
    approx_exp2 f32, |x| approx::exp2(x);
    approx_exp f32, |x| approx::exp(x);
    approx_log2 f32, |x| approx::log2(x);
    approx_ln f32, |x| approx::ln(x);
    approx_sqrt f32, |x| approx::sqrt(x);
    approx_reciprocal_sqrt f32, |x| approx::reciprocal_sqrt(x);
    approx_reciprocal f32, |x| approx::reciprocal(x);
    approx_divide f32, |x| approx::divide(x, 3.0);
    approx_tanh f32, |x| approx::tanh(x);
}
