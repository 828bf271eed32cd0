//! Arrays that a kernel writes, each element by the one thread that the space assigns, and a sum that all add to.

use core::sync::atomic::{AtomicI32, Ordering::Relaxed};

use cuda_std::access::{Access, store_streaming};

use crate::bits::Bits;
use crate::input::Counted;
use crate::space::{RunSpace, Space};

/// An array of which each element belongs to at most one thread, as the space `S` says. No thread reaches another's.
#[derive(Debug)]
pub struct Out<T, S> {
    first: *mut T,
    space: S,
}

impl<T, S: Space> Clone for Out<T, S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, S: Space> Copy for Out<T, S> {}

impl<T: Bits, S: Space> Out<T, S> {
    /// # Safety
    /// As many elements as the host admits for `space` are there from `first` on, and nothing else touches them during the
    /// launch.
    #[inline(always)]
    pub(crate) unsafe fn new(first: *mut T, space: S) -> Self {
        Self { first, space }
    }

    #[inline(always)]
    pub(crate) fn first(self) -> *mut T {
        self.first
    }

    #[inline(always)]
    pub(crate) fn space(self) -> S {
        self.space
    }

    #[inline(always)]
    fn address(self, place: S::Place) -> *mut T {
        // SAFETY: the space has an element for the place, and the array has it.
        unsafe { self.space.address(self.first, place) }.cast_mut()
    }

    /// Writes the element that belongs to a place.
    #[inline(always)]
    pub fn put(self, place: S::Place, value: T) {
        // SAFETY: the array has the element, and it is this thread's alone.
        unsafe { self.address(place).write(value) }
    }

    /// The element that belongs to a place.
    #[inline(always)]
    #[must_use]
    pub fn get(self, place: S::Place) -> T {
        // SAFETY: the array has the element, and it is this thread's alone.
        unsafe { *self.address(place) }
    }

    /// Replaces the element that belongs to a place by what `change` makes of it.
    #[inline(always)]
    pub fn update(self, place: S::Place, change: impl FnOnce(T) -> T) {
        let address = self.address(place);
        // SAFETY: the array has the element, and it is this thread's alone; it is copied out while `change` runs.
        unsafe { address.write(change(*address)) }
    }

    /// Writes the element that belongs to a place so that caches drop it first (`st.global.cs`).
    #[inline(always)]
    pub fn stream(self, place: S::Place, value: T)
    where
        T: Access,
    {
        // SAFETY: the array has the element, and it is this thread's alone.
        unsafe { store_streaming(self.address(place), value) }
    }

    /// Writes the elements that belong to a run of places.
    #[inline(always)]
    pub fn put_run<R, const COUNT: usize>(self, run: R, values: [T; COUNT])
    where
        S: RunSpace<R>,
        R: Counted<COUNT>,
    {
        let (first, apart) = self.space.run(run);
        for (nth, value) in values.into_iter().enumerate() {
            // SAFETY: the array has all elements of the run, and they are this thread's alone.
            unsafe { self.first.add(first + nth * apart).write(value) }
        }
    }
}

impl<T: Bits, S: Space> Out<T, S> {
    /// Writes the elements that belong to a run of places, `value(nth)` to the `nth`, one after the other.
    #[inline(always)]
    pub fn put_each<R, const COUNT: usize>(self, run: R, value: impl Fn(usize) -> T)
    where
        S: RunSpace<R>,
        R: Counted<COUNT>,
    {
        let (first, apart) = self.space.run(run);
        for nth in 0..COUNT {
            // SAFETY: the array has all elements of the run, and they are this thread's alone.
            unsafe { self.first.add(first + nth * apart).write(value(nth)) }
        }
    }
}

/// An [`Out`] whose length the kernel itself compares with each index, as Rust's slices do.
#[derive(Debug)]
pub struct Checked<T, S> {
    first: *mut T,
    length: usize,
    space: S,
}

impl<T, S: Space> Clone for Checked<T, S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, S: Space> Copy for Checked<T, S> {}

impl<T: Bits, S: Space> Checked<T, S> {
    /// # Safety
    /// `length` elements are there from `first` on, and nothing else touches them during the launch.
    #[inline(always)]
    pub(crate) unsafe fn new(first: *mut T, length: usize, space: S) -> Self {
        Self { first, length, space }
    }

    /// Elements.
    #[inline(always)]
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "kernels compare indices with it")]
    pub fn len(self) -> usize {
        self.length
    }

    /// Writes the element that belongs to a place.
    ///
    /// # Panics
    /// The array does not have it.
    #[inline(always)]
    pub fn put(self, place: S::Place, value: T) {
        let index = self.space.element(place);
        assert!(index < self.length);
        // SAFETY: the array has the element, and it is this thread's alone.
        unsafe { self.first.add(index).write(value) }
    }

    /// Writes the element that belongs to a place, if the array has it.
    #[inline(always)]
    pub fn try_put(self, place: S::Place, value: T) {
        let index = self.space.element(place);
        if index < self.length {
            // SAFETY: the array has the element, and it is this thread's alone.
            unsafe { self.first.add(index).write(value) }
        }
    }
}

/// A sum that a launch adds to.
#[derive(Debug)]
pub struct Sum<T>(*mut T);

impl<T> Clone for Sum<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Sum<T> {}

impl<T> Sum<T> {
    /// # Safety
    /// The sum is there, and nothing but atomic additions touches it during the launch.
    #[inline(always)]
    pub(crate) unsafe fn new(sum: *mut T) -> Self {
        Self(sum)
    }
}

impl Sum<i32> {
    /// Adds to the sum, which wraps. One atomic addition.
    #[inline(always)]
    pub fn add(self, value: i32) {
        // SAFETY: the sum is there, and nothing but atomic additions touches it.
        let _ = unsafe { AtomicI32::from_ptr(self.0) }.fetch_add(value, Relaxed);
    }
}
