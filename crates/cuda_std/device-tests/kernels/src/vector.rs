//! Vectors: components in, components out.
use cuda_std::kernel;
use cuda_std::vector::{F32x2, F32x4, F64x2, I32x2, I32x4, I64x2, U32x2, U32x4, U64x2};
use pastey::paste;

macro_rules! two {
    ($($vector:ident $element:ident;)*) => {paste! {$(
        /// `[swapped, the first raised by 1, swapped by array, the first in both]`
        #[kernel]
        pub unsafe fn [<vector_ $vector:lower>](source: &[$vector], results: *mut [$vector; 4]) {
            let vector = source[crate::place()];
            let mut raised = vector;
            raised.x += 1 as $element;
            let [x, y] = vector.to_array();
            *results.add(crate::place()) =
                [$vector::new(vector.y, vector.x), raised, [y, x].into(), $vector::splat(vector.x)];
        }
    )*}};
}

two! {
    F32x2 f32;
    U32x2 u32;
    I32x2 i32;
    F64x2 f64;
    U64x2 u64;
    I64x2 i64;
}

macro_rules! four {
    ($($vector:ident $element:ident;)*) => {paste! {$(
        /// `[backwards, the third raised by 1, backwards by array, the last in all]`
        #[kernel]
        pub unsafe fn [<vector_ $vector:lower>](source: &[$vector], results: *mut [$vector; 4]) {
            let vector = source[crate::place()];
            let mut raised = vector;
            raised.z += 1 as $element;
            let [x, y, z, w] = vector.to_array();
            *results.add(crate::place()) = [
                $vector::new(vector.w, vector.z, vector.y, vector.x),
                raised,
                $vector::from_array([w, z, y, x]),
                $vector::splat(vector.w),
            ];
        }
    )*}};
}

four! {
    F32x4 f32;
    U32x4 u32;
    I32x4 i32;
}
