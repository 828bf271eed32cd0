//! GPU kernels as safe Rust, at no cost.
//!
//! A kernel is an ordinary safe function. Its signature says how the threads are laid out, which array each parameter is, and
//! which element of an output belongs to which thread; from that the compiler proves that no two threads write one element,
//! that no access is out of bounds and that no shared memory is read before its barrier. What remains, the shape of the launch and
//! the lengths that belong together, is the kernel's contract, which the host checks before each launch. So nothing is
//! checked on the device but what the kernel has to know anyway.
//!
//! ```
//! use cuda_safe::names::N;
//! use cuda_safe::{Each, In, Out, Thread, kernel};
//!
//! /// `y[i] += factor * x[i]`
//! #[kernel]
//! pub fn saxpy(thread: Thread, factor: f32, x: In<f32, Each<N>>, y: Out<f32, Each<N>>) {
//!     if let Some(i) = thread.index(x) {
//!         y.update(i, |y| y + factor * x.at(i));
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! `x` and `y` have the same length, by the same name `N`; the host refuses a launch in which they have not. `i` is an index that
//! is below this length and that only this thread has, so neither access is checked and no other thread writes `y` there.
//! On the host `saxpy::launch(&module, &stream, shape, (2.0, &x, &mut y))` launches it, with the crate `cuda_launch`.
//!
//! # Two kinds of kernels
//! - A kernel that takes a [`Thread`] is the code of one thread. It has no barriers.
//! - A kernel that takes a [`Block`] is the code of a whole block. Work for the threads stands in closures, and between them
//!   are barriers and shuffles; see [`block`]. Shared memory is a [`Tile`] among its parameters; see [`tile`].
//!
//! # Where the work goes
//! The [`shape`] of the first parameter deals positions out to threads, none to two of them. The [`space`] in the type
//! of an array says which element belongs to a position. Both are in the signature, where they are read first and cannot be
//! changed on the way.
//!
//! # What it relies on
//! `docs/safety.md` in the repository argues each rule and names what is assumed of the host, of `cuda_builder` and of
//! the hardware. A crate that depends on this one and not on `cuda_std` can forbid `unsafe_code`.
#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(auto_traits, negative_impls))]

#[cfg(not(target_arch = "nvptx64"))]
extern crate alloc;

mod bits;
pub mod block;
mod constant;
mod contained;
pub mod extent;
pub mod input;
pub mod output;
pub mod parameter;
pub mod place;
mod sealed;
pub mod shape;
pub mod space;
mod thread;
pub mod tile;
pub mod unroll;

pub use bits::{Bits, Number};
pub use block::{Block, Lanes, PerThread};
pub use constant::Constant;
pub use contained::Contained;
pub use cuda_std::warp::WarpShuffleValue as ShuffleValue;
pub use cuda_std::{GpuFloat, integer, kernel, vector};
pub use extent::{Below, Count, Extent, Length, Plus, Positive, Segmented, names};
pub use input::{In, InOrder, Matrix};
pub use output::{Atomics, Checked, Out, Sum};
pub use parameter::{PerBlock, Width};
pub use space::{AlongRows, DownColumns, Each, EachBlock, EachThread, EachWarp, Shifted, Strided};
pub use thread::Thread;
pub use tile::{Fresh, Full, Tile, Written};

/// What the code written by `#[kernel]` calls.
#[doc(hidden)]
pub mod __kernel {
    pub use crate::block::Block;
    pub use crate::parameter::{FromAddress, FromSlice, PerBlock, Value};
    pub use crate::shape::Shape;
    pub use crate::space::{Has, Took};
    pub use crate::thread::Thread;
    pub use crate::tile::{Dynamic, Layout, Tile};

    /// What of `cuda_std` the code names, and nothing by which safe code would learn which thread it is.
    pub mod cuda_std {
        #[cfg(not(target_arch = "nvptx64"))]
        pub use ::cuda_std::launch;
        pub use ::cuda_std::{__kernel, address_space};

        /// See `cuda_std::shared`.
        pub mod shared {
            pub use ::cuda_std::shared::Storage;
        }
    }

    #[cfg(not(target_arch = "nvptx64"))]
    pub use crate::parameter::{Argument, Pass};
    #[cfg(not(target_arch = "nvptx64"))]
    pub use crate::space::Size;
    #[cfg(not(target_arch = "nvptx64"))]
    pub use alloc::{format, string::String, vec, vec::Vec};

    /// Cells aligned to 16 bytes, so that neighbouring ones are loaded together.
    #[derive(Debug)]
    #[repr(C, align(16))]
    pub struct Aligned<T>(T);

    /// The thread of the kernel whose code this is.
    ///
    /// # Safety
    /// Only the entry point of a kernel calls it, in a launch of this shape.
    #[inline(always)]
    pub unsafe fn thread<S: Shape>() -> Thread<S> {
        // SAFETY: promised by the caller.
        unsafe { Thread::new() }
    }

    /// The block of the kernel whose code this is.
    ///
    /// # Safety
    /// As for [`thread`].
    #[inline(always)]
    pub unsafe fn block<S: Shape>() -> Block<S> {
        // SAFETY: promised by the caller.
        unsafe { Block::new() }
    }

    /// A slice that a kernel takes as `&[T]`.
    ///
    /// # Safety
    /// The host admitted it: `length` elements are there from `first` on, and nothing writes them during the launch.
    #[inline(always)]
    pub unsafe fn slice<'a, T: crate::Bits>(first: *const T, length: usize) -> &'a [T] {
        // SAFETY: promised by the caller.
        unsafe { core::slice::from_raw_parts(first, length) }
    }

    /// The bytes of dynamic shared memory that a launch with blocks of this shape needs for its tiles: `before` for those
    /// before this one. [`tile`] goes by the same numbers.
    #[cfg(not(target_arch = "nvptx64"))]
    #[must_use]
    pub fn shared_bytes<T, L: Dynamic<N>, N>(before: u64, launch: &N, block: [u32; 3]) -> u64 {
        if L::CELLS > 0 {
            return before;
        }
        let bytes = (L::cells(launch, block) as u64).checked_mul(size_of::<T>() as u64);
        let start = before.checked_next_multiple_of(align_of::<T>() as u64);
        start.and_then(|start| start.checked_add(bytes?)).unwrap_or(u64::MAX)
    }

    /// A tile of the kernel whose code this is: in its static storage or, where the layout has no size of its own, `offset`
    /// bytes into the dynamic shared memory. Moves `offset` behind it.
    ///
    /// # Safety
    /// Only the entry point of a kernel calls it, once for each storage.
    #[inline(always)]
    pub unsafe fn tile<T: crate::Bits, L: Dynamic<N>, N>(
        storage: *mut T,
        offset: &mut usize,
        launch: &N,
    ) -> Tile<T, L> {
        let cells = if L::CELLS > 0 {
            storage
        } else {
            use ::cuda_std::thread::{block_dim_x, block_dim_y, block_dim_z};
            let start = offset.next_multiple_of(align_of::<T>());
            let cells = L::cells(launch, [block_dim_x(), block_dim_y(), block_dim_z()]);
            *offset = start + cells * size_of::<T>();
            // SAFETY: the host gives the launch as many bytes as all tiles together.
            unsafe { ::cuda_std::shared::dynamic_shared_mem::<u8>().add(start) }.cast()
        };
        // SAFETY: promised by the caller.
        unsafe { Tile::new(cells) }
    }
}

/// The README's examples, which run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
