//! Arguments of a launch: device memory by address and length, and values by their bytes.

use alloc::vec::Vec;
use core::any::TypeId;
use core::ffi::c_void;
use core::fmt;
use core::marker::PhantomData;

/// Device memory that a launch reads: a `&[T]` for the kernel, borrowed for `'a`.
pub struct Slice<'a, T> {
    address: u64,
    length: usize,
    borrow: PhantomData<&'a [T]>,
}

/// Device memory that a launch reads and writes: a `&mut [T]` on the host, borrowed for `'a`.
pub struct SliceMut<'a, T> {
    address: u64,
    length: usize,
    borrow: PhantomData<&'a mut [T]>,
}

/// An address that an unsafe kernel takes as `*const T` or `&T`.
pub struct Pointer<'a, T: ?Sized> {
    address: u64,
    borrow: PhantomData<&'a T>,
}

/// An address that an unsafe kernel takes as `*mut T` or `&mut T`.
pub struct PointerMut<'a, T: ?Sized> {
    address: u64,
    borrow: PhantomData<&'a mut T>,
}

macro_rules! slices {
    ($($name:ident, $access:literal;)*) => {$(
        impl<T> $name<'_, T> {
            /// The memory at an address of the device.
            ///
            /// # Safety
            #[doc = concat!("For `'a`, `length` elements from `address` on are memory that a kernel may ", $access, ".")]
            #[must_use]
            pub const unsafe fn new(address: u64, length: usize) -> Self {
                Self { address, length, borrow: PhantomData }
            }

            /// The address of the first element.
            #[must_use]
            pub fn address(&self) -> u64 {
                self.address
            }

            /// Elements.
            #[must_use]
            pub fn len(&self) -> usize {
                self.length
            }

            /// Whether there is no element.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.length == 0
            }
        }

        impl<T> fmt::Debug for $name<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{} elements at {:#x}", self.length, self.address)
            }
        }
    )*};
}

slices! {
    Slice, "read, and nothing writes them";
    SliceMut, "read and write, and nothing else touches them";
}

macro_rules! pointers {
    ($($name:ident;)*) => {$(
        impl<T: ?Sized> $name<'_, T> {
            /// An address of the device. Only an unsafe launch takes one, whose caller answers for what is there.
            #[must_use]
            pub const fn new(address: u64) -> Self {
                Self { address, borrow: PhantomData }
            }

            /// The address.
            #[must_use]
            pub fn address(&self) -> u64 {
                self.address
            }
        }

        impl<T: ?Sized> fmt::Debug for $name<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:#x}", self.address)
            }
        }
    )*};
}

pointers! { Pointer; PointerMut; }

/// One parameter of an entry point, as the module declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wire {
    /// Its size in bytes.
    pub bytes: usize,
    /// Whether it is a floating-point number.
    pub float: bool,
}

impl Wire {
    /// An address or a length.
    pub const WORD: Self = Self { bytes: 8, float: false };

    /// A value of this type.
    #[must_use]
    pub fn of<T: 'static>() -> Self {
        let id = TypeId::of::<T>();
        Self { bytes: size_of::<T>(), float: id == TypeId::of::<f32>() || id == TypeId::of::<f64>() }
    }
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name in the source.
    pub name: &'static str,
    /// Its type in the source.
    pub ty: &'static str,
    /// The entry point's parameters that it becomes: two for a slice, an address and a length.
    pub wires: Vec<Wire>,
}

/// The words of a launch's parameters, one behind the other as the driver reads them.
#[derive(Clone, Debug, Default)]
pub struct Words {
    /// The values, each aligned to 16 bytes.
    storage: Vec<u128>,
    /// The offset of each value in `storage`.
    starts: Vec<usize>,
}

impl Words {
    /// Room for `parameters` values.
    #[must_use]
    pub fn with_capacity(parameters: usize) -> Self {
        Self { storage: Vec::with_capacity(parameters), starts: Vec::with_capacity(parameters) }
    }

    /// Appends a value, whose type is aligned to 16 bytes at most.
    pub fn push<T: Copy>(&mut self, value: T) {
        const { assert!(align_of::<T>() <= 16, "kernel parameters are aligned to 16 bytes at most") };
        let start = self.storage.len();
        self.starts.push(start);
        self.storage.resize(start + size_of::<T>().div_ceil(16).max(1), 0);
        // SAFETY: the storage behind `start` is large and aligned enough for a `T`.
        unsafe { self.storage.as_mut_ptr().add(start).cast::<T>().write(value) };
    }

    /// Appends a value of any alignment, for a parameter that the kernel has by reference
    /// ([`GridConstant`](crate::GridConstant)): the driver aligns what the module declares.
    pub fn push_constant<T: Copy>(&mut self, value: T) {
        let start = self.storage.len();
        self.starts.push(start);
        self.storage.resize(start + size_of::<T>().div_ceil(16).max(1), 0);
        // SAFETY: the storage behind `start` is large enough for a `T`.
        unsafe { self.storage.as_mut_ptr().add(start).cast::<T>().write_unaligned(value) };
    }

    /// Appends a slice: its address, then its length. One without elements gets an address that a `&[T]` may have, which the
    /// null of an empty buffer is not.
    pub fn push_slice<T>(&mut self, slice: &Slice<'_, T>) {
        self.push(if slice.length == 0 { align_of::<T>() as u64 } else { slice.address });
        self.push(slice.length as u64);
    }

    /// Appends a slice that is written: its address, then its length.
    pub fn push_slice_mut<T>(&mut self, slice: &SliceMut<'_, T>) {
        self.push(slice.address);
        self.push(slice.length as u64);
    }

    /// A pointer to each value, as `cuLaunchKernel` takes them: good while `self` is neither changed nor dropped.
    #[must_use]
    pub fn pointers(&self) -> Vec<*mut c_void> {
        self.starts.iter().map(|&start| (&raw const self.storage[start]).cast_mut().cast()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy)]
    #[repr(align(64))]
    struct Wide(#[expect(dead_code, reason = "read by its bytes")] [u32; 32]);

    #[test]
    fn words_keep_values_of_any_size() {
        let mut words = Words::default();
        words.push(7_u32);
        words.push([1_u64, 2, 3]);
        words.push(1.5_f32);
        words.push_constant(Wide([5; 32]));
        words.push(8_u8);
        let pointers = words.pointers();
        assert_eq!(pointers.len(), 5);
        // SAFETY: the pointers are to values of these types.
        unsafe {
            assert_eq!(*pointers[0].cast::<u32>(), 7);
            assert_eq!(*pointers[1].cast::<[u64; 3]>(), [1, 2, 3]);
            assert_eq!(*pointers[2].cast::<f32>(), 1.5);
            assert_eq!(*pointers[3].cast::<[u32; 32]>(), [5; 32]);
            assert_eq!(*pointers[4].cast::<u8>(), 8);
        }
    }

    #[test]
    fn floats_are_told_from_integers() {
        assert_eq!(Wire::of::<f32>(), Wire { bytes: 4, float: true });
        assert_eq!(Wire::of::<u32>(), Wire { bytes: 4, float: false });
        assert_eq!(Wire::of::<[f32; 3]>(), Wire { bytes: 12, float: false });
    }
}
