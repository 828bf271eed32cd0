//! Values of 8 and 16 bytes that move between registers and memory as one access.
//!
//! A warp that reads 16 bytes per thread asks for 512 bytes with one instruction; the same read by four bytes per thread takes
//! four. A type has that access (`ld.global.v4.b32`) only if it is aligned to its size, so a slice of `F32x4` needs a
//! buffer aligned to 16 bytes, which every CUDA allocation is.
//!
//! Components are fields: `value.x`, `value.y`, `value.z`, `value.w`. Through a raw pointer move the value as a whole, which is
//! the point of it, and change the copy: `let mut value = *pointer; value.x += 1.0; *pointer = value;`.

use core::fmt;
use core::ops::{Deref, DerefMut};

/// The components of a two-component vector, as its fields.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Components2<T> {
    /// The first component, at the lowest address.
    pub x: T,
    /// The second component.
    pub y: T,
}

/// The components of a four-component vector, as its fields.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Components4<T> {
    /// The first component, at the lowest address.
    pub x: T,
    /// The second component.
    pub y: T,
    /// The third component.
    pub z: T,
    /// The fourth component.
    pub w: T,
}

macro_rules! vector {
    ($(
        $(#[$documentation:meta])*
        $name:ident, $storage:ident, $fields:ident, $components:ident {$($field:ident)*}, [$element:ty; $count:literal], align $align:literal;
    )*) => {$(
        // On the GPU the storage is a SIMD vector, because LLVM moves only that as a whole: a struct of the same bytes is
        // copied as 64-bit integers. A SIMD vector has no fields in Rust, so these are reached through `Deref`.
        #[derive(Clone, Copy)]
        #[cfg_attr(target_arch = "nvptx64", repr(simd))]
        #[cfg_attr(not(target_arch = "nvptx64"), repr(C, align($align)))]
        struct $storage([$element; $count]);

        $(#[$documentation])*
        #[derive(Clone, Copy)]
        #[repr(transparent)]
        pub struct $name($storage);

        /// The fields of the vector type of that name, aligned as it is.
        #[doc(hidden)]
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[repr(C, align($align))]
        pub struct $fields($components<$element>);

        impl $name {
            /// The vector with these components.
            #[inline(always)]
            #[must_use]
            pub const fn new($($field: $element),*) -> Self {
                Self::from_array([$($field),*])
            }

            /// The vector with all components the same.
            #[inline(always)]
            #[must_use]
            pub const fn splat(value: $element) -> Self {
                Self::from_array([value; $count])
            }

            /// The vector with an array's components.
            #[inline(always)]
            #[must_use]
            pub const fn from_array(components: [$element; $count]) -> Self {
                Self($storage(components))
            }

            /// The components as an array.
            #[inline(always)]
            #[must_use]
            pub const fn to_array(self) -> [$element; $count] {
                // SAFETY: the vector is exactly these bytes.
                unsafe { core::mem::transmute::<Self, [$element; $count]>(self) }
            }
        }

        const _: () = assert!(
            size_of::<$name>() == $align && align_of::<$name>() == $align
                && size_of::<$fields>() == $align && align_of::<$fields>() == $align
        );

        impl Deref for $name {
            type Target = $components<$element>;

            #[inline(always)]
            fn deref(&self) -> &Self::Target {
                // SAFETY: size and alignment are the same (asserted above), and so are the bytes' types and order. The
                // detour over the aligned type tells LLVM that the components may be loaded together.
                unsafe { &(*core::ptr::from_ref(self).cast::<$fields>()).0 }
            }
        }

        impl DerefMut for $name {
            #[inline(always)]
            fn deref_mut(&mut self) -> &mut Self::Target {
                // SAFETY: as for `deref`.
                unsafe { &mut (*core::ptr::from_mut(self).cast::<$fields>()).0 }
            }
        }

        impl From<[$element; $count]> for $name {
            #[inline(always)]
            fn from(components: [$element; $count]) -> Self {
                Self::from_array(components)
            }
        }

        impl From<$name> for [$element; $count] {
            #[inline(always)]
            fn from(vector: $name) -> Self {
                vector.to_array()
            }
        }

        impl Default for $name {
            #[inline(always)]
            fn default() -> Self {
                Self::splat(Default::default())
            }
        }

        impl PartialEq for $name {
            #[inline(always)]
            fn eq(&self, other: &Self) -> bool {
                self.to_array() == other.to_array()
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.debug_tuple(stringify!($name)).field(&self.to_array()).finish()
            }
        }
    )*};
}
vector! {
    /// Two `f32`, 8 bytes: `v2.b32`.
    F32x2, F32x2Storage, F32x2Fields, Components2 {x y}, [f32; 2], align 8;
    /// Four `f32`, 16 bytes: `v4.b32`.
    F32x4, F32x4Storage, F32x4Fields, Components4 {x y z w}, [f32; 4], align 16;
    /// Two `f64`, 16 bytes: `v2.b64`.
    F64x2, F64x2Storage, F64x2Fields, Components2 {x y}, [f64; 2], align 16;
    /// Two `u32`, 8 bytes: `v2.b32`.
    U32x2, U32x2Storage, U32x2Fields, Components2 {x y}, [u32; 2], align 8;
    /// Four `u32`, 16 bytes: `v4.b32`.
    U32x4, U32x4Storage, U32x4Fields, Components4 {x y z w}, [u32; 4], align 16;
    /// Two `u64`, 16 bytes: `v2.b64`.
    U64x2, U64x2Storage, U64x2Fields, Components2 {x y}, [u64; 2], align 16;
    /// Two `i32`, 8 bytes: `v2.b32`.
    I32x2, I32x2Storage, I32x2Fields, Components2 {x y}, [i32; 2], align 8;
    /// Four `i32`, 16 bytes: `v4.b32`.
    I32x4, I32x4Storage, I32x4Fields, Components4 {x y z w}, [i32; 4], align 16;
    /// Two `i64`, 16 bytes: `v2.b64`.
    I64x2, I64x2Storage, I64x2Fields, Components2 {x y}, [i64; 2], align 16;
}

#[cfg(test)]
mod tests {
    use super::{F32x4, U64x2};

    #[test]
    fn components_are_fields_in_memory_order() {
        let mut vector = F32x4::new(1.0, 2.0, 3.0, 4.0);
        vector.z += 10.0;
        assert_eq!([vector.x, vector.y, vector.z, vector.w], [1.0, 2.0, 13.0, 4.0]);
        assert_eq!(vector.to_array(), [1.0, 2.0, 13.0, 4.0]);
        assert_eq!(F32x4::from([1.0, 2.0, 13.0, 4.0]), vector);
    }

    #[test]
    fn a_vector_is_aligned_to_its_size() {
        assert_eq!((size_of::<U64x2>(), align_of::<U64x2>()), (16, 16));
    }
}
