//! `wgmma`: a warpgroup multiplies tiles in shared memory into sums in its registers (sm_90a).
//!
//! # Which thread has which sum
//! A warpgroup's result has 64 rows: warp `w` has rows `16 w` to `16 w + 15`. Within a warp, lane `l` has, in every eight
//! columns `8 j` to `8 j + 7`, the columns `8 j + 2 (l % 4)` and the next, of two rows:
//!
//! ```text
//! register   4 j, 4 j + 1        row 16 w + l / 4
//! register   4 j + 2, 4 j + 3    row 16 w + l / 4 + 8
//! ```
//!
//! so that a result of 256 columns is 128 registers a thread. (PTX ISA, "wgmma.mma_async.m64nNk16", figure of the
//! accumulator fragment.)
//!
//! # Why the sums are a type of their own
//! The instruction is asynchronous: until `wgmma.wait_group` has waited for it, its registers are neither to be read
//! nor to be written, and the compiler knows nothing of that. So an accumulator gives no access to its sums; the only way to
//! them is `finish`, which waits. Each function takes all registers as operands that it changes, so that
//! LLVM neither copies nor spills them in between.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

use super::matrix::{pack_bf16, store_matrices};
use super::tile::SwizzledTile;
use crate::gpu_only;
use crate::unroll;
use crate::warp::lane_id;

macro_rules! accumulators {
    (
        $accumulator:ident, $sums:ident, $packed:ident, $columns:literal, $registers:literal, $words:literal, $shape:literal,
        [$first:literal $($index:literal)*], [$($word:literal)*]
    ) => {
        #[doc = concat!("Sums of 64 rows by ", $columns, " columns in a warpgroup's registers, which may be in the making: ")]
        #[doc = concat!("`f32`, ", $registers, " registers a thread.")]
        #[derive(Debug)]
        #[must_use = "sums are read after `finish`"]
        pub struct $accumulator {
            sums: [f32; $registers],
        }

        #[doc = concat!("A thread's part of 64 by ", $columns, " finished sums; see the order of registers at [`Sums256`].")]
        #[derive(Clone, Copy, Debug)]
        pub struct $sums(pub [f32; $registers]);

        #[doc = concat!("A thread's part of 64 by ", $columns, " results as bf16: word `w` is registers `2 w` (low half) and `2 w + 1`.")]
        #[derive(Clone, Copy, Debug)]
        pub struct $packed(pub [u32; $words]);

        impl $accumulator {
            /// Sums of nothing.
            #[inline(always)]
            pub const fn zero() -> Self {
                // SAFETY: zeros are f32s. (Not `[0.0; N]`: LLVM leaves the loop that fills it until it is too late to keep the
                // array in registers.)
                unsafe { core::mem::zeroed() }
            }

            #[doc = concat!("Adds the product of 64 x 64 bf16 (rows of A) and ", $columns, " x 64 bf16 (rows of B, each a column of the ")]
            /// result), and leaves at most `PENDING` of these additions unfinished, newest last.
            ///
            #[doc = concat!("`wgmma.fence`, four `wgmma.mma_async.", $shape, "k16.f32.bf16.bf16`, `wgmma.commit_group`, ")]
            /// `wgmma.wait_group PENDING` (sm_90a).
            ///
            /// # Safety
            /// All threads of a warpgroup (four warps, the first of which has a number divisible by four) call this
            /// together, with the same tiles. The tiles were written by the copy engine, or by threads that have since
            /// called [`fence_async_proxy`](crate::async_copy::fence_async_proxy) and met. Nothing writes them
            /// until as many later calls as `PENDING` of *their* call have returned, or `finish` has.
            #[gpu_only]
            #[inline(always)]
            pub unsafe fn multiply<const PENDING: u32>(&mut self, a: SwizzledTile<64>, b: SwizzledTile<$columns>) {
                let (a, b, sums) = (a.descriptor(), b.descriptor(), &mut self.sums);
                // SAFETY: promised by the caller; the sums are the registers that the instruction works on.
                unsafe {
                    asm!(
                        "{{ .reg .pred %add; setp.eq.u32 %add, 0, 0;",
                        "wgmma.fence.sync.aligned;",
                        concat!("wgmma.mma_async.sync.aligned.", $shape, "k16.f32.bf16.bf16 {{{", $first, "}", $(", {", $index, "}",)* "}}, {a0}, {b0}, %add, 1, 1, 0, 0;"),
                        concat!("wgmma.mma_async.sync.aligned.", $shape, "k16.f32.bf16.bf16 {{{", $first, "}", $(", {", $index, "}",)* "}}, {a1}, {b1}, %add, 1, 1, 0, 0;"),
                        concat!("wgmma.mma_async.sync.aligned.", $shape, "k16.f32.bf16.bf16 {{{", $first, "}", $(", {", $index, "}",)* "}}, {a2}, {b2}, %add, 1, 1, 0, 0;"),
                        concat!("wgmma.mma_async.sync.aligned.", $shape, "k16.f32.bf16.bf16 {{{", $first, "}", $(", {", $index, "}",)* "}}, {a3}, {b3}, %add, 1, 1, 0, 0;"),
                        "wgmma.commit_group.sync.aligned;",
                        "wgmma.wait_group.sync.aligned {pending}; }}",
                        inout(reg32) sums[$first], $(inout(reg32) sums[$index],)*
                        a0 = in(reg64) a.bits(), a1 = in(reg64) a.step(1).bits(),
                        a2 = in(reg64) a.step(2).bits(), a3 = in(reg64) a.step(3).bits(),
                        b0 = in(reg64) b.bits(), b1 = in(reg64) b.step(1).bits(),
                        b2 = in(reg64) b.step(2).bits(), b3 = in(reg64) b.step(3).bits(),
                        pending = const PENDING,
                        options(nostack, preserves_flags)
                    );
                }
            }

            /// Waits for all additions (`wgmma.wait_group 0`, sm_90a): the sums.
            ///
            /// # Safety
            /// All threads of the warpgroup call this together.
            #[gpu_only]
            #[inline(always)]
            #[must_use]
            pub unsafe fn finish(mut self) -> $sums {
                let sums = &mut self.sums;
                // SAFETY: promised by the caller. The sums are operands, because nothing else keeps LLVM from reading them
                // before.
                unsafe {
                    asm!(
                        concat!("// {", $first, "}", $(" {", $index, "}",)*),
                        "wgmma.wait_group.sync.aligned 0;",
                        inout(reg32) sums[$first], $(inout(reg32) sums[$index],)*
                        options(nostack, preserves_flags)
                    );
                }
                $sums(self.sums)
            }
        }

        impl $sums {
            /// The sums rounded to bf16, which take half as many registers.
            #[gpu_only]
            #[inline(always)]
            #[must_use]
            pub fn pack(&self) -> $packed {
                let mut packed = $packed::zero();
                unroll!(word in [$($word)*] {
                    packed.0[word] = pack_bf16(self.0[2 * word], self.0[2 * word + 1]);
                });
                packed
            }
        }

        impl $packed {
            /// Zeros.
            #[inline(always)]
            #[must_use]
            pub const fn zero() -> Self {
                // SAFETY: zeros are u32s.
                unsafe { core::mem::zeroed() }
            }

            /// Writes 64 columns of the results, from column `64 * PART` on, into a tile (`stmatrix`, sm_90).
            ///
            /// # Safety
            /// All threads of a warpgroup call this together, `thread` being the calling one's number in it. Nothing else
            /// accesses the tile.
            #[gpu_only]
            #[inline(always)]
            pub unsafe fn store<const PART: usize>(&self, to: SwizzledTile<64>, thread: u32) {
                const { assert!(64 * PART < $columns, "there are no such columns") };
                let lane = lane_id();
                // Lanes 0 to 15 say where 16 rows of eight columns go, lanes 16 to 31 the same of the next eight.
                let row = thread / 32 * 16 + lane % 16;
                unroll!(pair in [0 1 2 3] {
                    let word = PART * 16 + pair * 4;
                    let to = to.unit(row, pair as u32 * 2 + lane / 16);
                    // SAFETY: promised by the caller: the address is within the tile.
                    unsafe { store_matrices(to, [self.0[word], self.0[word + 1], self.0[word + 2], self.0[word + 3]]) };
                });
            }
        }
    };
}

accumulators!(
    Accumulator128, Sums128, Packed128, 128, 64, 32, "m64n128",
    [
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
        32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
    ],
    [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31]
);
accumulators!(
    Accumulator256, Sums256, Packed256, 256, 128, 64, "m64n256",
    [
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
        32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
        64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95
        96 97 98 99 100 101 102 103 104 105 106 107 108 109 110 111 112 113 114 115 116 117 118 119 120 121 122 123
        124 125 126 127
    ],
    [
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
        32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
    ]
);
