//! Values that can be passed for a kernel's parameter.

use std::ops::Range;

use cuda_driver::ext;
use cuda_std::launch::{Pointer, PointerMut, Slice, SliceMut};
use cuda_std::tensor::TensorMap;

use cust::memory::{DeviceBox, DeviceBuffer, DeviceCopy, DevicePointer, UnifiedBuffer};

use crate::scope::{Buffer, Lent, Shared};

/// Something that can be passed where a kernel takes an `A`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed where the kernel takes `{A}`",
    label = "not what the kernel takes here",
    note = "a slice that the kernel reads is `&buffer`, one that it writes `&mut buffer`; a part of either is \
            `buffer.part(range)` or `buffer.part_mut(range)`, with `cuda_launch::Parts`"
)]
pub trait IntoArgument<A> {
    /// The argument.
    fn into_argument(self) -> A;
}

/// A value, and whatever a kernel's own types are.
impl<T> IntoArgument<T> for T {
    fn into_argument(self) -> T {
        self
    }
}

macro_rules! buffers {
    ($($buffer:ident, |$this:ident| $address:expr, $length:expr;)*) => {$(
        impl<'a, T: DeviceCopy> IntoArgument<Slice<'a, T>> for &'a $buffer<T> {
            fn into_argument(self) -> Slice<'a, T> {
                let $this = self;
                // SAFETY: the buffer has as many elements there, and is borrowed for `'a`.
                unsafe { Slice::new($address, $length) }
            }
        }

        impl<'a, T: DeviceCopy> IntoArgument<SliceMut<'a, T>> for &'a mut $buffer<T> {
            fn into_argument(self) -> SliceMut<'a, T> {
                let $this = &*self;
                // SAFETY: the buffer has as many elements there, and is borrowed for `'a` by nobody else.
                unsafe { SliceMut::new($address, $length) }
            }
        }

        impl<'a, T: DeviceCopy> IntoArgument<Pointer<'a, T>> for &'a $buffer<T> {
            fn into_argument(self) -> Pointer<'a, T> {
                let $this = self;
                Pointer::new($address)
            }
        }

        impl<'a, T: DeviceCopy> IntoArgument<PointerMut<'a, T>> for &'a mut $buffer<T> {
            fn into_argument(self) -> PointerMut<'a, T> {
                let $this = &*self;
                PointerMut::new($address)
            }
        }
    )*};
}

buffers! {
    DeviceBuffer, |this| this.as_device_ptr().as_raw(), this.len();
    UnifiedBuffer, |this| this.as_ptr() as u64, this.len();
    DeviceBox, |this| this.as_device_ptr().as_raw(), 1;
}

impl<'a, T: DeviceCopy> IntoArgument<Pointer<'a, T>> for DevicePointer<T> {
    fn into_argument(self) -> Pointer<'a, T> {
        Pointer::new(self.as_raw())
    }
}

impl<'a, T: DeviceCopy> IntoArgument<PointerMut<'a, T>> for DevicePointer<T> {
    fn into_argument(self) -> PointerMut<'a, T> {
        PointerMut::new(self.as_raw())
    }
}

/// A tensor map for a kernel that takes a `GridConstant<TensorMap>`.
impl IntoArgument<TensorMap> for ext::TensorMap {
    fn into_argument(self) -> TensorMap {
        TensorMap::from_words(self.0.opaque)
    }
}

/// Parts of a buffer as arguments, borrowed as the whole would be.
///
/// `cust`'s own `DeviceSlice` is no argument: it can be copied and borrows nothing, so that two of one buffer could be read
/// and written by one launch, or be used after the buffer is gone.
pub trait Parts<T: DeviceCopy>: Buffer<T> {
    /// The elements of a range, for a kernel to read.
    ///
    /// # Panics
    /// The buffer does not have them.
    fn part(&self, range: Range<usize>) -> Slice<'_, T> {
        let (address, length) = within(self.place(), &range, size_of::<T>());
        // SAFETY: the buffer has as many elements there, and is borrowed.
        unsafe { Slice::new(address, length) }
    }

    /// The elements of a range, for a kernel to write.
    ///
    /// # Panics
    /// The buffer does not have them.
    fn part_mut(&mut self, range: Range<usize>) -> SliceMut<'_, T> {
        let (address, length) = within(self.place(), &range, size_of::<T>());
        // SAFETY: the buffer has as many elements there, and is borrowed by nobody else.
        unsafe { SliceMut::new(address, length) }
    }

    /// The elements before `middle` and those from there on, for a kernel to write.
    ///
    /// # Panics
    /// The buffer has fewer.
    fn split_mut(&mut self, middle: usize) -> (SliceMut<'_, T>, SliceMut<'_, T>) {
        let (address, length) = self.place();
        let (behind, rest) = within((address, length), &(middle..length), size_of::<T>());
        // SAFETY: the buffer has these elements, none of them in both, and is borrowed by nobody else.
        unsafe { (SliceMut::new(address, middle), SliceMut::new(behind, rest)) }
    }
}

impl<T: DeviceCopy, B: Buffer<T>> Parts<T> for B {}

/// The address and length of a range of elements.
fn within((address, length): (u64, usize), range: &Range<usize>, size: usize) -> (u64, usize) {
    assert!(
        range.start <= range.end && range.end <= length,
        "the elements {range:?} of a buffer of {length} were asked for"
    );
    (address + (range.start * size) as u64, range.len())
}

impl<'a, T> IntoArgument<Slice<'a, T>> for &'a Shared<'_, T> {
    fn into_argument(self) -> Slice<'a, T> {
        // SAFETY: the scope has the buffer borrowed.
        unsafe { Slice::new(self.address(), self.len()) }
    }
}

impl<'a, T> IntoArgument<Slice<'a, T>> for &'a Lent<'_, T> {
    fn into_argument(self) -> Slice<'a, T> {
        // SAFETY: the scope has the buffer borrowed, and its launches run one after the other.
        unsafe { Slice::new(self.address(), self.len()) }
    }
}

impl<'a, T> IntoArgument<SliceMut<'a, T>> for &'a mut Lent<'_, T> {
    fn into_argument(self) -> SliceMut<'a, T> {
        // SAFETY: the scope has the buffer borrowed, and its launches run one after the other.
        unsafe { SliceMut::new(self.address(), self.len()) }
    }
}

/// A tuple that can be passed as a kernel's arguments `A`.
#[diagnostic::on_unimplemented(
    message = "the kernel does not take `{Self}`",
    label = "not the kernel's arguments",
    note = "it takes `{A}`, one for each of its parameters, in order"
)]
pub trait IntoArguments<A> {
    /// The arguments.
    fn into_arguments(self) -> A;
}

macro_rules! tuples {
    ($(($($given:ident $taken:ident),*);)*) => {$(
        impl<$($given: IntoArgument<$taken>, $taken),*> IntoArguments<($($taken,)*)> for ($($given,)*) {
            #[allow(non_snake_case, clippy::unused_unit, reason = "values have their types' names; a tuple may be empty")]
            fn into_arguments(self) -> ($($taken,)*) {
                let ($($given,)*) = self;
                ($($given.into_argument(),)*)
            }
        }
    )*};
}

tuples! {
    ();
    (G1 T1);
    (G1 T1, G2 T2);
    (G1 T1, G2 T2, G3 T3);
    (G1 T1, G2 T2, G3 T3, G4 T4);
    (G1 T1, G2 T2, G3 T3, G4 T4, G5 T5);
    (G1 T1, G2 T2, G3 T3, G4 T4, G5 T5, G6 T6);
    (G1 T1, G2 T2, G3 T3, G4 T4, G5 T5, G6 T6, G7 T7);
    (G1 T1, G2 T2, G3 T3, G4 T4, G5 T5, G6 T6, G7 T7, G8 T8);
    (G1 T1, G2 T2, G3 T3, G4 T4, G5 T5, G6 T6, G7 T7, G8 T8, G9 T9);
    (G1 T1, G2 T2, G3 T3, G4 T4, G5 T5, G6 T6, G7 T7, G8 T8, G9 T9, G10 T10);
    (G1 T1, G2 T2, G3 T3, G4 T4, G5 T5, G6 T6, G7 T7, G8 T8, G9 T9, G10 T10, G11 T11);
    (G1 T1, G2 T2, G3 T3, G4 T4, G5 T5, G6 T6, G7 T7, G8 T8, G9 T9, G10 T10, G11 T11, G12 T12);
    (G1 T1, G2 T2, G3 T3, G4 T4, G5 T5, G6 T6, G7 T7, G8 T8, G9 T9, G10 T10, G11 T11, G12 T12, G13 T13);
    (G1 T1, G2 T2, G3 T3, G4 T4, G5 T5, G6 T6, G7 T7, G8 T8, G9 T9, G10 T10, G11 T11, G12 T12, G13 T13, G14 T14);
}
