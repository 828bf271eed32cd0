//! Float functions: one input or pair of inputs a thread. A kernel's name is the type's and the function's.
use cuda_std::{FloatExt, GpuFloat, kernel};
use pastey::paste;

macro_rules! of_one {
    ($($type:ident $trait:ident [$($function:ident)*];)*) => {paste! {$($(
        #[kernel]
        pub unsafe fn [<$type _ $function>](inputs: &[$type], results: *mut $type) {
            if let Some(&input) = inputs.get(crate::place()) {
                *results.add(crate::place()) = <$type as $trait>::$function(input);
            }
        }
    )*)*}};
}

macro_rules! of_two {
    ($($type:ident [$($function:ident)*];)*) => {paste! {$($(
        #[kernel]
        pub unsafe fn [<$type _ $function>](left: &[$type], right: &[$type], results: *mut $type) {
            if let (Some(&left), Some(&right)) = (left.get(crate::place()), right.get(crate::place())) {
                *results.add(crate::place()) = <$type as GpuFloat>::$function(left, right);
            }
        }
    )*)*}};
}

macro_rules! of_whole {
    ($($type:ident $trait:ident [$($function:ident)*];)*) => {paste! {$($(
        #[kernel]
        pub unsafe fn [<$type _ $function>](inputs: &[$type], whole: &[i32], results: *mut $type) {
            if let (Some(&input), Some(&whole)) = (inputs.get(crate::place()), whole.get(crate::place())) {
                *results.add(crate::place()) = <$type as $trait>::$function(input, whole);
            }
        }
    )*)*}};
}

macro_rules! of_pair {
    ($($type:ident $trait:ident [$($function:ident)*];)*) => {paste! {$($(
        #[kernel]
        pub unsafe fn [<$type _ $function>](inputs: &[$type], results: *mut [$type; 2]) {
            if let Some(&input) = inputs.get(crate::place()) {
                let (first, second) = <$type as $trait>::$function(input);
                *results.add(crate::place()) = [first, second];
            }
        }
    )*)*}};
}

macro_rules! both {
    ($($type:ident)*) => {
        of_one! {$(
            $type GpuFloat [
                floor ceil round round_ties_even trunc fract abs signum sqrt exp exp2 ln log2 log10 cbrt sin cos tan asin acos atan exp_m1
                ln_1p sinh cosh tanh asinh acosh atanh
            ];
            $type FloatExt [
                cospi error_function complementary_error_function inv_error_function inv_complementary_error_function
                scaled_complementary_error_function j0 j1 log_gamma log1p norm_cdf inv_norm_cdf rcbrt saturate sinpi gamma
                y0 y1
            ];
        )*}
        of_two! {$(
            $type [copysign div_euclid rem_euclid powf log hypot atan2];
        )*}
        of_whole! {$(
            $type GpuFloat [powi];
            $type FloatExt [jn ldexp scale_by_n yn];
        )*}
        of_pair! {$(
            $type GpuFloat [sin_cos];
            $type FloatExt [sincospi];
        )*}
        paste! {$(
            #[kernel]
            pub unsafe fn [<$type _mul_add>](a: &[$type], b: &[$type], c: &[$type], results: *mut $type) {
                let place = crate::place();
                if place < a.len() && place < b.len() && place < c.len() {
                    *results.add(place) = GpuFloat::mul_add(a[place], b[place], c[place]);
                }
            }

            #[kernel]
            pub unsafe fn [<$type _frexp>](inputs: &[$type], fractions: *mut $type, exponents: *mut i32) {
                if let Some(&input) = inputs.get(crate::place()) {
                    let (fraction, exponent) = FloatExt::frexp(input);
                    *fractions.add(crate::place()) = fraction;
                    *exponents.add(crate::place()) = exponent;
                }
            }

            #[kernel]
            pub unsafe fn [<$type _unbiased_exp>](inputs: &[$type], exponents: *mut i32) {
                if let Some(&input) = inputs.get(crate::place()) {
                    *exponents.add(crate::place()) = input.unbiased_exp();
                }
            }

            /// Rust's casts to integers, each as 64 bits.
            #[kernel]
            pub unsafe fn [<$type _casts>](inputs: &[$type], results: *mut [i64; 8]) {
                if let Some(&x) = inputs.get(crate::place()) {
                    *results.add(crate::place()) = [
                        (x as i8).into(), (x as u8).into(), (x as i16).into(), (x as u16).into(), (x as i32).into(),
                        (x as u32).into(), x as i64, (x as u64).cast_signed(),
                    ];
                }
            }

            /// The language's own operations: the sum, difference, product, quotient, and the product and sum rounded twice.
            #[kernel]
            pub unsafe fn [<$type _arithmetic>](left: &[$type], right: &[$type], results: *mut [$type; 5]) {
                if let (Some(&left), Some(&right)) = (left.get(crate::place()), right.get(crate::place())) {
                    *results.add(crate::place()) =
                        [left + right, left - right, left * right, left / right, left * right + left];
                }
            }
        )*}
    };
}

both! { f32 f64 }
