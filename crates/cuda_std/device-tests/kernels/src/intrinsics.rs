//! `libdevice`'s names: arithmetic and conversions with their roundings, and the layouts of `glam`'s types.
use cuda_std::{glam, intrinsics, kernel};
use pastey::paste;

/// A kernel by the function's name: inputs and results of these types, one element per thread.
macro_rules! of {
    ($($given:ident -> $result:ident [$($function:ident)*];)*) => {paste! {$($(
        #[kernel]
        pub unsafe fn [<intrinsic_ $function>](inputs: &[$given], results: *mut $result) {
            if let Some(&input) = inputs.get(crate::place()) {
                *results.add(crate::place()) = intrinsics::$function(input);
            }
        }
    )*)*}};
}

of! {
    f64 -> f32 [double2float_rd double2float_ru double2float_rz double2float_rn];
    i32 -> f32 [int2float_rd int2float_ru int2float_rz uint2float_rd uint2float_ru uint2float_rz];
    i64 -> f64 [ll2double_rd ll2double_ru ll2double_rz ull2double_rd ull2double_ru ull2double_rz];
    i64 -> f32 [ll2float_rd ll2float_ru ll2float_rz ull2float_rd ull2float_ru ull2float_rz];
    f64 -> i32 [double2int_rd double2int_ru double2int_rz double2int_rn double2uint_rz ilogb];
    f64 -> i64 [double2ll_rn double2ull_rz llrint llround];
    f32 -> i32 [
        float2int_rd float2int_ru float2int_rz float2int_rn float2uint_rd float2uint_ru float2uint_rz float2uint_rn
    ];
    f32 -> i64 [float2ll_rn float2ll_rz float2ull_rd float2ull_rz];
    f32 -> i16 [float2bfloat16_rn];
    i16 -> f32 [bfloat162float];
    f32 -> f32 [rintf logbf tgammaf];
    f64 -> f64 [rint logb erfcx drcp_rd drcp_ru drcp_rz dsqrt_rd dsqrt_ru dsqrt_rz];
}

/// Both halves of a pair of `bfloat16`, from two inputs.
#[kernel]
pub unsafe fn intrinsic_floats2bfloat162_rn(inputs: &[[f32; 2]], results: *mut i32) {
    if let Some(&[low, high]) = inputs.get(crate::place()) {
        *results.add(crate::place()) = intrinsics::floats2bfloat162_rn(low, high);
    }
}

/// Two inputs, one after the other.
macro_rules! of_two {
    ($($type:ident [$($function:ident)*];)*) => {paste! {$($(
        #[kernel]
        pub unsafe fn [<intrinsic_ $function>](inputs: &[[$type; 2]], results: *mut $type) {
            if let Some(&[left, right]) = inputs.get(crate::place()) {
                *results.add(crate::place()) = intrinsics::$function(left, right);
            }
        }
    )*)*}};
}

of_two! {
    f64 [dadd_rd dadd_ru dadd_rz dmul_rd dmul_ru dmul_rz ddiv_rd ddiv_ru ddiv_rz fmax fmin];
    f32 [fadd_rd fadd_ru fadd_rz fsub_rd fsub_ru fsub_rz fmul_rd fmul_ru fmul_rz fdiv_rd fdiv_ru fdiv_rz];
    i32 [mulhi umulhi hadd urhadd];
    i64 [mul64hi umul64hi];
}

/// Sizes and alignments of the types that `tests/gpu/intrinsics.rs` lists, in its order.
#[kernel]
pub unsafe fn glam_layouts(results: *mut [u32; 2]) {
    macro_rules! layouts {
        ($($type:ident)*) => {
            [$([size_of::<glam::$type>() as u32, align_of::<glam::$type>() as u32]),*]
        };
    }
    let layouts = layouts!(
        Vec2 Vec3 Vec3A Vec4 Quat Mat2 Mat3 Mat3A Mat4 Affine2 Affine3A DVec2 DVec3 DVec4 DQuat DMat2 DMat3 DMat4
        IVec2 IVec3 IVec4 UVec2 UVec3 UVec4 I64Vec2 U64Vec4 I16Vec3 U16Vec2 I8Vec4 U8Vec3 USizeVec2 BVec3 BVec4A
    );
    for (place, layout) in layouts.into_iter().enumerate() {
        *results.add(place) = layout;
    }
}
