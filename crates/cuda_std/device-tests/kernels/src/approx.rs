//! The special function unit.
use cuda_std::{approx, kernel};
use pastey::paste;

macro_rules! approximations {
    ($($function:ident)*) => {paste! {$(
        #[kernel]
        pub unsafe fn [<approx_ $function>](inputs: &[f32], results: *mut f32) {
            if let Some(&input) = inputs.get(crate::place()) {
                *results.add(crate::place()) = approx::$function(input);
            }
        }
    )*}};
}

approximations! { sin cos exp2 exp log2 ln sqrt reciprocal_sqrt reciprocal tanh }

#[kernel]
pub unsafe fn approx_divide(left: &[f32], right: &[f32], results: *mut f32) {
    if let (Some(&left), Some(&right)) = (left.get(crate::place()), right.get(crate::place())) {
        *results.add(crate::place()) = approx::divide(left, right);
    }
}
