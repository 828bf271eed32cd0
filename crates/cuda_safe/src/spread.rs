//! Tiles of any number of cells: as counters that all threads change atomically, and as bytes that each thread has to
//! itself.
//!
//! A [`Spread`] tile is filled by [`Block::write`](crate::Block::write) like any other, each thread its own cells. Then
//! [`Block::open`] waits at a barrier and makes it [`Open`]: every thread may change every cell, atomically. The next
//! [`Block::sync`](crate::Block::sync) makes it [`Full`], to be read.

use core::marker::PhantomData;

use cuda_std::atomic::in_space::InSpace;
use cuda_std::thread;

use crate::atomic::{Atomic, Shared};
use crate::bits::Bits;
use crate::block::Block;
use crate::sealed::{Key, Sealed};
use crate::shape::{Linear, Shape, Warps};
use crate::thread::Thread;
use crate::tile::{CanRead, Cells, Dynamic, Full, Layout, Tile, Turn, Written};

/// May be changed by all threads, atomically.
#[derive(Debug)]
pub enum Open {}

/// `COUNT` cells. Those of a thread are every `block.x`-th, from the one with its number on.
#[derive(Debug)]
pub enum Spread<const COUNT: usize> {}

/// `COUNT` bytes for each thread of a block of 128. The four bytes of a word belong to one lane of the four warps, so that no
/// bank serves two lanes of a warp.
#[derive(Debug)]
pub enum Bytes<const COUNT: usize> {}

/// Threads of a block with a [`Bytes`] tile.
const THREADS: usize = 128;

macro_rules! layouts {
    ($($name:ident, $cells:expr;)*) => {$(
        impl<const COUNT: usize> Sealed for $name<COUNT> {}

        impl<const COUNT: usize> Layout for $name<COUNT> {
            const CELLS: usize = $cells;
        }

        impl<L, const COUNT: usize> Dynamic<L> for $name<COUNT> {
            #[inline(always)]
            fn cells(_: &L, _: [u32; 3]) -> usize {
                0
            }

            #[cfg(not(target_arch = "nvptx64"))]
            fn formula() -> alloc::string::String {
                alloc::string::String::new()
            }
        }
    )*};
}

layouts! {
    Spread, {
        assert!(COUNT > 0, "a tile has cells");
        COUNT
    };
    Bytes, {
        assert!(COUNT > 0, "a tile has cells");
        COUNT * THREADS
    };
}

/// The cells of a thread in a tile of `count`.
#[inline(always)]
fn own<S: Linear>(thread: &Thread<S>, count: usize) -> impl Iterator<Item = usize> + use<S> {
    (thread.x() as usize..count).step_by(thread::block_dim_x() as usize)
}

impl<T: Bits, const COUNT: usize> Cells<'_, T, Spread<COUNT>> {
    /// Writes all of the thread's cells.
    #[inline(always)]
    pub fn fill<S: Linear>(&self, thread: &Thread<S>, value: T) {
        for index in own(thread, COUNT) {
            // SAFETY: the tile has the cell, and it is this thread's own.
            unsafe { self.pointer().add(index).write(value) }
        }
    }
}

impl<S: Shape> Block<S> {
    /// Waits until all threads of the block arrive. All of them may then change all cells of the tile, atomically.
    #[inline(always)]
    pub fn open<T: Bits, const COUNT: usize>(
        &mut self,
        tile: Tile<T, Spread<COUNT>, Written>,
    ) -> Tile<T, Spread<COUNT>, Open> {
        thread::sync_threads();
        tile.into_state()
    }
}

impl<T: Bits + InSpace, const COUNT: usize> Tile<T, Spread<COUNT>, Open> {
    /// The cell with this number, if the tile has it.
    #[inline(always)]
    #[must_use]
    pub fn at(&self, index: usize) -> Option<Atomic<'_, T, Shared>> {
        // SAFETY: the tile is in shared memory, has the cell, and in this state is changed by atomic operations alone.
        (index < COUNT).then(|| unsafe { Atomic::new(self.pointer(), index) })
    }
}

impl<T, const COUNT: usize> Turn for Tile<T, Spread<COUNT>, Open> {
    type Next = Tile<T, Spread<COUNT>, Full>;

    #[inline(always)]
    fn turn(self, _: Key) -> Self::Next {
        self.into_state()
    }
}

impl<T: Bits, const COUNT: usize, State> Tile<T, Spread<COUNT>, State> {
    /// The cell with this number, if the tile has it.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, index: usize) -> Option<T>
    where
        State: CanRead,
    {
        // SAFETY: the tile has the cell, and nobody writes it in this state.
        (index < COUNT).then(|| unsafe { *self.pointer().add(index) })
    }

    /// The numbers and values of the cells that the thread has filled.
    #[inline(always)]
    pub fn own<S: Linear>(&self, thread: &Thread<S>) -> impl Iterator<Item = (usize, T)>
    where
        State: CanRead,
    {
        // SAFETY: as for `get`.
        own(thread, COUNT).map(|index| (index, unsafe { *self.pointer().add(index) }))
    }
}

/// A thread's own bytes of a [`Bytes`] tile, while it writes them.
#[derive(Debug)]
pub struct OwnBytes<'a, const COUNT: usize> {
    first: *mut u8,
    tile: PhantomData<&'a mut u8>,
}

impl<const COUNT: usize> Cells<'_, u8, Bytes<COUNT>> {
    /// The thread's own bytes; `None` for threads beyond the 128 that have some.
    #[inline(always)]
    #[must_use]
    pub fn own(&self, thread: &Thread<Warps>) -> Option<OwnBytes<'_, COUNT>> {
        let (lane, warp) = (thread.x() as usize % 32, thread.x() as usize / 32);
        (warp < THREADS / 32).then(|| {
            // SAFETY: the tile has 32 words for each of the `COUNT`.
            let first = unsafe { self.pointer().add(4 * lane + warp) };
            OwnBytes { first, tile: PhantomData }
        })
    }
}

impl<const COUNT: usize> OwnBytes<'_, COUNT> {
    /// Sets all bytes.
    #[inline(always)]
    pub fn fill(&mut self, value: u8) {
        for index in 0..COUNT {
            // SAFETY: the tile has the byte, and it is this thread's own.
            unsafe { self.first.add(index * THREADS).write(value) }
        }
    }

    /// Adds one to a byte, which wraps, if the thread has it.
    #[inline(always)]
    pub fn count(&mut self, index: usize) {
        if index < COUNT {
            // SAFETY: the tile has the byte, and it is this thread's own.
            unsafe {
                let byte = self.first.add(index * THREADS);
                byte.write((*byte).wrapping_add(1));
            }
        }
    }
}

impl<const COUNT: usize, State> Tile<u8, Bytes<COUNT>, State> {
    /// The sum of a byte over all threads of the block, if they have it.
    ///
    /// Lanes begin at different words, so that no bank serves two of them.
    #[inline(always)]
    #[must_use]
    pub fn total(&self, thread: &Thread<Warps>, index: usize) -> Option<u32>
    where
        State: CanRead,
    {
        if index >= COUNT {
            return None;
        }
        let mut sums = 0_u32;
        for turn in 0..THREADS / 4 {
            let word = (turn + thread.x() as usize) % (THREADS / 4);
            // SAFETY: the tile has the word, whose first byte is at a multiple of four: tiles of bytes are aligned to 16. Nobody
            // writes it in this state.
            let word = unsafe { *self.pointer().add(index * THREADS + 4 * word).cast::<u32>() };
            // Two sums of up to 64 * 255 side by side.
            sums += (word & 0x00ff_00ff) + (word >> 8 & 0x00ff_00ff);
        }
        Some((sums & 0xffff) + (sums >> 16))
    }
}
