//! # Shared memory: banks and wavefronts
//!
//! Shared memory has 32 banks of four bytes. In each clock cycle it serves one *wavefront*: any number of words, but of each
//! bank only one. A warp's access takes as many wavefronts as the busiest bank has different words. Lanes that read the same
//! word share it.
//!
//! - At a stride of `s` words of four bytes, lane `l` reads bank `l s mod 32`. Each bank that is hit at all is hit by
//!   `gcd(s, 32)` lanes, so that is the number of wavefronts: odd strides have no conflicts, a stride of 32 serialises.
//! - 8 bytes per lane are two words: the warp is served in two halves of 16 lanes, each by itself.
//! - 16 bytes per lane are served in four quarters of 8 lanes. Neighbouring lanes have no conflicts at any width: 128 bytes per
//!   wavefront are the most that there is.
//!
//! Each kernel reads vectors of one width from a tile, at `stride` vectors from lane to lane. Its warps fill the pipe of one SM,
//! so the time between two accesses is the time that one of them occupies the banks.
//!
//! # Launch
//! One block of [`THREADS`] threads: `destination` and `cycles` have an element for each. The tile has as many vectors, of which
//! thread `i` writes words `w (i + 1)` to vector `i`, `w` being the word's number from 1. Access `a` of `accesses`, a multiple of
//! [`UNROLLED`], reads vector `(l * stride mod 1024) xor 32 (a mod UNROLLED xor n)`, with `l` the lane and `n` the iterations that are
//! left: the banks are those of `l * stride`. The rows change with each iteration, or the assembler would load once for all of them. A
//! thread writes the sum of all words, which wraps, and the clock cycles that its accesses took.

use cuda_safe::shape::OneBlock;
use cuda_safe::tile::EachOf;
use cuda_safe::unroll::repeat;
use cuda_safe::vector::{U32x2, U32x4};
use cuda_safe::{Bits, Block, EachThread, Out, Tile, kernel};
use cuda_std::misc::clock;

/// Threads of the block, and vectors of the tile.
pub const THREADS: u32 = 1024;

/// Accesses per iteration of the loop.
pub const UNROLLED: u32 = 16;

/// A vector of one to four words.
pub trait Vector: Bits {
    /// The vector with word `w`, counted from 1, equal to `w * unit`.
    fn of(unit: u32) -> Self;

    /// The sum of its words.
    fn sum(self) -> u32;
}

impl Vector for u32 {
    #[inline(always)]
    fn of(unit: u32) -> u32 {
        unit
    }

    #[inline(always)]
    fn sum(self) -> u32 {
        self
    }
}

impl Vector for U32x2 {
    #[inline(always)]
    fn of(unit: u32) -> U32x2 {
        U32x2::new(unit, 2 * unit)
    }

    #[inline(always)]
    fn sum(self) -> u32 {
        self.x.wrapping_add(self.y)
    }
}

impl Vector for U32x4 {
    #[inline(always)]
    fn of(unit: u32) -> U32x4 {
        U32x4::new(unit, 2 * unit, 3 * unit, 4 * unit)
    }

    #[inline(always)]
    fn sum(self) -> u32 {
        self.x.wrapping_add(self.y).wrapping_add(self.z.wrapping_add(self.w))
    }
}

/// Reads vectors from shared memory at a stride.
// PTX banks_4: contains 16x ld.shared.b32
// PTX banks_8: contains 16x ld.shared.v2.b32 or ld.shared.b64
// PTX banks_16: contains 16x ld.shared.v4.b32 or ld.shared.v2.b64
// PTX banks_4, banks_8, banks_16: contains %clock64
#[kernel(launch_bounds(THREADS), banks_4 = <u32>, banks_8 = <U32x2>, banks_16 = <U32x4>)]
pub fn banks<T: Vector>(
    mut block: Block<OneBlock<THREADS>>,
    tile: Tile<T, EachOf<THREADS>>,
    destination: Out<u32, EachThread>,
    cycles: Out<u32, EachThread>,
    stride: u32,
    accesses: u32,
) {
    let tile = block.write(tile, |thread, cells| cells.set(thread, T::of(thread.x() + 1)));
    let tile = block.sync(tile);
    block.each(|thread| {
        let lane = thread.lane() * stride;
        let begin = clock();
        let (mut sum, mut left) = (0_u32, accesses);
        while left >= UNROLLED {
            let first = lane ^ (32 * (left / UNROLLED));
            sum = repeat::<UNROLLED, _>(sum, |sum, nth| {
                sum.wrapping_add(tile.at(((first ^ (32 * nth)) % THREADS) as usize).sum())
            });
            left -= UNROLLED;
        }
        cycles.put(thread.own(), (clock() - begin) as u32);
        destination.put(thread.own(), sum);
    });
}
