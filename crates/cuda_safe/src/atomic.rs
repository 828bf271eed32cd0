//! Memory that all threads may change, each access being atomic: [`Atomics`] in global memory, and a
//! [`Tile`](crate::Tile) in the state [`Open`](crate::spread::Open) in shared memory.
//!
//! Atomic accesses do not race, whichever threads make them. All are relaxed: they order nothing but themselves. What an
//! operation returns differs between threads, so it takes the thread as a proof that the block's code does not see it.

use core::marker::PhantomData;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

pub use cuda_std::atomic::in_space::InSpace;
use cuda_std::ptr::{AddressSpace, convert_generic_to_specific_address_space};

use crate::bits::Bits;
use crate::sealed::Sealed;
use crate::thread::Thread;

/// An array that any thread may change by atomic operations.
#[derive(Debug)]
pub struct Atomics<T, N> {
    first: *mut T,
    length: usize,
    name: PhantomData<fn() -> N>,
}

impl<T, N> Clone for Atomics<T, N> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, N> Copy for Atomics<T, N> {}

impl<T: Bits, N> Atomics<T, N> {
    /// # Safety
    /// `length` elements are there from `first` on, and nothing else touches them during the launch.
    #[inline(always)]
    pub(crate) unsafe fn new(first: *mut T, length: usize) -> Self {
        Self { first, length, name: PhantomData }
    }
}

impl<T: Bits + InSpace, N> Atomics<T, N> {
    /// The element with this index, if the array has it.
    #[inline(always)]
    #[must_use]
    pub fn at(self, index: usize) -> Option<Atomic<'static, T, Global>> {
        // SAFETY: the array is in global memory, and nothing but atomic operations touches it. The index was just compared.
        (index < self.length).then(|| unsafe { Atomic::new(self.first, index) })
    }
}

impl<N> Atomics<f32, N> {
    /// Stores to the element with this index, if the array has it. Of several stores one stays, and no order is promised.
    #[inline(always)]
    pub fn store(self, index: usize, value: f32) {
        if index < self.length {
            // SAFETY: the array has the element, which is touched by atomic stores alone.
            unsafe { AtomicU32::from_ptr(self.first.add(index).cast()) }.store(value.to_bits(), Relaxed);
        }
    }
}

/// Device memory, where the atomic operations of all threads meet in L2.
#[derive(Debug)]
pub enum Global {}

/// The block's own memory.
#[derive(Debug)]
pub enum Shared {}

/// The memory that an [`Atomic`] is in.
pub trait Memory: Sealed {
    #[doc(hidden)]
    const SPACE: AddressSpace;
}

impl Sealed for Global {}
impl Sealed for Shared {}

impl Memory for Global {
    const SPACE: AddressSpace = AddressSpace::Global;
}

impl Memory for Shared {
    const SPACE: AddressSpace = AddressSpace::Shared;
}

/// One number that all threads may change.
#[derive(Debug)]
pub struct Atomic<'a, T, M> {
    /// Within the memory's own addresses.
    address: *mut T,
    memory: PhantomData<(&'a T, M)>,
}

impl<T, M> Clone for Atomic<'_, T, M> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, M> Copy for Atomic<'_, T, M> {}

impl<T: InSpace, M: Memory> Atomic<'_, T, M> {
    /// The element with this index of an array.
    ///
    /// # Safety
    /// The array has the element, is in the memory `M`, and for `'a` nothing but atomic operations touches it.
    #[inline(always)]
    pub(crate) unsafe fn new(first: *mut T, index: usize) -> Self {
        // The conversion is of the array's address, which is the same for all threads.
        // SAFETY: promised by the caller.
        let first = unsafe { convert_generic_to_specific_address_space(first, M::SPACE) };
        Self { address: first.wrapping_add(index).cast_mut(), memory: PhantomData }
    }

    /// Adds, and gives nothing back (`red.add`). Integers wrap.
    #[inline(always)]
    pub fn add(self, operand: T) {
        // SAFETY: the number is there, in this memory, and nothing but atomic operations touches it.
        unsafe {
            match M::SPACE {
                AddressSpace::Shared => T::add_shared(self.address, operand),
                _ => T::add_global(self.address, operand),
            }
        }
    }

    /// Adds, and returns the old value (`atom.add`). Integers wrap.
    #[inline(always)]
    pub fn fetch_add<S>(self, _: &Thread<S>, operand: T) -> T {
        // SAFETY: as for `add`.
        unsafe {
            match M::SPACE {
                AddressSpace::Shared => T::fetch_add_shared(self.address, operand),
                _ => T::fetch_add_global(self.address, operand),
            }
        }
    }

    /// Stores `new` if the bits are those of `current`; returns the old value (`atom.cas`).
    #[inline(always)]
    pub fn swap_if<S>(self, _: &Thread<S>, current: T, new: T) -> T {
        // SAFETY: as for `add`.
        unsafe {
            match M::SPACE {
                AddressSpace::Shared => T::swap_if_shared(self.address, current, new),
                _ => T::swap_if_global(self.address, current, new),
            }
        }
    }

    /// The value (`ld.relaxed`).
    #[inline(always)]
    #[must_use]
    pub fn load<S>(self, _: &Thread<S>) -> T {
        // SAFETY: as for `add`.
        unsafe {
            match M::SPACE {
                AddressSpace::Shared => T::load_shared(self.address),
                _ => T::load_global(self.address),
            }
        }
    }

    /// Stores a value (`st.relaxed`). Of several stores one stays, and no order is promised.
    #[inline(always)]
    pub fn store(self, operand: T) {
        // SAFETY: as for `add`.
        unsafe {
            match M::SPACE {
                AddressSpace::Shared => T::store_shared(self.address, operand),
                _ => T::store_global(self.address, operand),
            }
        }
    }
}
