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
use super::tile::{SwizzledTile, TransposedTile};
use crate::gpu_only;
use crate::unroll;
use crate::warp::lane_id;

/// What tiles hold. A row of a tile is 128 bytes, and four instructions multiply 32 bytes of K each.
pub trait Element: Copy {
    /// Bytes of an element.
    const BYTES: u32;
    /// Elements in a row of a tile.
    const DEPTH: u32 = 128 / Self::BYTES;
}

macro_rules! elements {
    ($($(#[$attribute:meta])* $name:ident $bytes:literal)*) => {$(
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug)]
        pub enum $name {}

        impl Element for $name {
            const BYTES: u32 = $bytes;
        }
    )*};
}

elements! {
    /// `bf16`: the upper half of an `f32`.
    Bf16 2
    /// FP8 with 4 bits of exponent and 3 of fraction, up to 448.
    ///
    /// Within one accumulation tensor cores of compute capability 9.0 keep about 14 bits of the sums of FP8 products; long
    /// sums are exact to `f32` only if every few products are added up apart (see
    /// [`start`](Multiply::start)).
    E4m3 1
    /// FP8 with 5 bits of exponent and 2 of fraction, up to 57344. As for [`E4m3`], of long sums.
    E5m2 1
    /// `f32` of which 10 bits of the fraction count. The lower 13 bits are to be 0.
    Tf32 4
}

/// An accumulator that multiplies these elements, with a right tile of this layout: [`SwizzledTile`] where rows of B, each
/// a column of the result, run along K; [`TransposedTile`] where they run along the columns.
pub trait Multiply<E: Element, B>: Sized {
    /// Adds the product of 64 rows of A and the columns of B, 128 bytes along K, and leaves at most `PENDING` of these
    /// additions unfinished, newest last.
    ///
    /// `wgmma.fence`, four `wgmma.mma_async`, `wgmma.commit_group`, `wgmma.wait_group PENDING` (sm_90a).
    ///
    /// # Safety
    /// All threads of a warpgroup (four warps, the first of which has a number divisible by four) call this
    /// together, with the same tiles. The tiles were written by the copy engine, or by threads that have since
    /// called [`fence_async_proxy`](crate::async_copy::fence_async_proxy) and met. Nothing writes them
    /// until as many later calls as `PENDING` of *their* call have returned, or `finish` has.
    unsafe fn multiply<const PENDING: u32>(&mut self, a: SwizzledTile<64>, b: B);

    /// The first such product, added to nothing and not waited for.
    ///
    /// # Safety
    /// As for [`multiply`](Self::multiply).
    unsafe fn start(a: SwizzledTile<64>, b: B) -> Self;
}

/// Multiplication by an instruction, for sums in so many registers.
macro_rules! multiply {
    (
        $accumulator:ident, $element:ty, $tile:ty, $instruction:expr, $tail:literal, $registers:literal,
        [$first:literal $($index:literal)*]
    ) => {
        impl Multiply<$element, $tile> for $accumulator {
            #[gpu_only]
            #[inline(always)]
            unsafe fn multiply<const PENDING: u32>(&mut self, a: SwizzledTile<64>, b: $tile) {
                let ([a0, a1, a2, a3], [b0, b1, b2, b3], sums) = (a.descriptors(), b.descriptors(), &mut self.sums);
                // SAFETY: promised by the caller; the sums are the registers that the instruction works on.
                unsafe {
                    asm!(
                        "{{ .reg .pred %add; setp.eq.u32 %add, 0, 0;",
                        "wgmma.fence.sync.aligned;",
                        concat!($instruction, " {{{", $first, "}", $(", {", $index, "}",)* "}}, {a0}, {b0}, %add", $tail, ";"),
                        concat!($instruction, " {{{", $first, "}", $(", {", $index, "}",)* "}}, {a1}, {b1}, %add", $tail, ";"),
                        concat!($instruction, " {{{", $first, "}", $(", {", $index, "}",)* "}}, {a2}, {b2}, %add", $tail, ";"),
                        concat!($instruction, " {{{", $first, "}", $(", {", $index, "}",)* "}}, {a3}, {b3}, %add", $tail, ";"),
                        "wgmma.commit_group.sync.aligned;",
                        "wgmma.wait_group.sync.aligned {pending}; }}",
                        inout(reg32) sums[$first], $(inout(reg32) sums[$index],)*
                        a0 = in(reg64) a0, a1 = in(reg64) a1, a2 = in(reg64) a2, a3 = in(reg64) a3,
                        b0 = in(reg64) b0, b1 = in(reg64) b1, b2 = in(reg64) b2, b3 = in(reg64) b3,
                        pending = const PENDING,
                        options(nostack, preserves_flags)
                    );
                }
            }

            #[gpu_only]
            #[inline(always)]
            unsafe fn start(a: SwizzledTile<64>, b: $tile) -> Self {
                let ([a0, a1, a2, a3], [b0, b1, b2, b3]) = (a.descriptors(), b.descriptors());
                let mut sums = Self::zero().sums;
                // SAFETY: promised by the caller; the first instruction writes the sums without reading them.
                unsafe {
                    asm!(
                        "{{ .reg .pred %add; .reg .pred %first; setp.eq.u32 %add, 0, 0; setp.ne.u32 %first, 0, 0;",
                        "wgmma.fence.sync.aligned;",
                        concat!($instruction, " {{{", $first, "}", $(", {", $index, "}",)* "}}, {a0}, {b0}, %first", $tail, ";"),
                        concat!($instruction, " {{{", $first, "}", $(", {", $index, "}",)* "}}, {a1}, {b1}, %add", $tail, ";"),
                        concat!($instruction, " {{{", $first, "}", $(", {", $index, "}",)* "}}, {a2}, {b2}, %add", $tail, ";"),
                        concat!($instruction, " {{{", $first, "}", $(", {", $index, "}",)* "}}, {a3}, {b3}, %add", $tail, ";"),
                        "wgmma.commit_group.sync.aligned; }}",
                        out(reg32) sums[$first], $(out(reg32) sums[$index],)*
                        a0 = in(reg64) a0, a1 = in(reg64) a1, a2 = in(reg64) a2, a3 = in(reg64) a3,
                        b0 = in(reg64) b0, b1 = in(reg64) b1, b2 = in(reg64) b2, b3 = in(reg64) b3,
                        options(nostack, preserves_flags)
                    );
                }
                Self { sums }
            }
        }
    };
}

macro_rules! accumulators {
    (
        $accumulator:ident, $sums:ident, $packed:ident, $columns:literal, $registers:literal, $words:literal, $shape:literal,
        [$first:literal $($index:literal)*], [$($word:literal)*]
    ) => {
        #[doc = concat!("Sums of 64 rows by ", $columns, " columns in a warpgroup's registers, which may be in the making: ")]
        #[doc = concat!("`f32`, ", $registers, " registers a thread. [`Multiply`] adds to them.")]
        #[derive(Debug)]
        #[must_use = "sums are read after `finish`"]
        pub struct $accumulator {
            sums: [f32; $registers],
        }

        #[doc = concat!("A thread's part of 64 by ", $columns, " finished sums; see the order of registers at [`Sums256`].")]
        #[derive(Clone, Copy, Debug)]
        #[repr(transparent)]
        pub struct $sums(pub [f32; $registers]);

        #[doc = concat!("A thread's part of 64 by ", $columns, " results as bf16: word `w` is registers `2 w` (low half) and `2 w + 1`.")]
        #[derive(Clone, Copy, Debug)]
        #[repr(transparent)]
        pub struct $packed(pub [u32; $words]);

        multiply!($accumulator, Bf16, SwizzledTile<$columns>, concat!("wgmma.mma_async.sync.aligned.", $shape, "k16.f32.bf16.bf16"), ", 1, 1, 0, 0", $registers, [$first $($index)*]);
        multiply!($accumulator, Bf16, TransposedTile<$columns>, concat!("wgmma.mma_async.sync.aligned.", $shape, "k16.f32.bf16.bf16"), ", 1, 1, 0, 1", $registers, [$first $($index)*]);
        multiply!($accumulator, E4m3, SwizzledTile<$columns>, concat!("wgmma.mma_async.sync.aligned.", $shape, "k32.f32.e4m3.e4m3"), ", 1, 1", $registers, [$first $($index)*]);
        multiply!($accumulator, E5m2, SwizzledTile<$columns>, concat!("wgmma.mma_async.sync.aligned.", $shape, "k32.f32.e5m2.e5m2"), ", 1, 1", $registers, [$first $($index)*]);
        multiply!($accumulator, Tf32, SwizzledTile<$columns>, concat!("wgmma.mma_async.sync.aligned.", $shape, "k8.f32.tf32.tf32"), ", 1, 1", $registers, [$first $($index)*]);

        impl $accumulator {
            /// Sums of nothing.
            #[inline(always)]
            pub const fn zero() -> Self {
                // SAFETY: zeros are f32s. (Not `[0.0; N]`: LLVM leaves the loop that fills it until it is too late to keep the
                // array in registers.)
                unsafe { core::mem::zeroed() }
            }

            /// Waits for all additions (`wgmma.wait_group 0`, sm_90a): the sums.
            ///
            /// # Safety
            /// All threads of the warpgroup call this together.
            #[gpu_only]
            #[inline(always)]
            #[must_use]
            pub unsafe fn finish(self) -> $sums {
                // SAFETY: promised by the caller.
                unsafe { self.finish_before::<0>() }
            }

            /// Waits for all additions but the newest groups, `PENDING` at most (`wgmma.wait_group PENDING`, sm_90a): the sums.
            ///
            /// # Safety
            /// As for [`finish`](Self::finish); the newest `PENDING` calls of [`multiply`](Multiply::multiply) are on other
            /// accumulators.
            #[gpu_only]
            #[inline(always)]
            #[must_use]
            pub unsafe fn finish_before<const PENDING: u32>(mut self) -> $sums {
                let sums = &mut self.sums;
                // SAFETY: promised by the caller. The sums are operands, because nothing else keeps LLVM from reading them
                // before.
                unsafe {
                    asm!(
                        concat!("// {", $first, "}", $(" {", $index, "}",)*),
                        "wgmma.wait_group.sync.aligned {pending};",
                        inout(reg32) sums[$first], $(inout(reg32) sums[$index],)*
                        pending = const PENDING,
                        options(nostack, preserves_flags)
                    );
                }
                $sums(self.sums)
            }
        }

        impl $sums {
            /// Sums of nothing.
            #[inline(always)]
            #[must_use]
            pub const fn zero() -> Self {
                // SAFETY: zeros are f32s.
                unsafe { core::mem::zeroed() }
            }

            /// The sums, each changed by `change`.
            #[gpu_only]
            #[inline(always)]
            #[must_use]
            pub fn map(mut self, mut change: impl FnMut(f32) -> f32) -> Self {
                unroll!(register in [$first $($index)*] { self.0[register] = change(self.0[register]); });
                self
            }

            /// Adds other sums, rounding each to nearest.
            #[gpu_only]
            #[inline(always)]
            pub fn add(&mut self, other: &Self) {
                unroll!(register in [$first $($index)*] { self.0[register] += other.0[register]; });
            }

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

            /// Writes 64 columns of the results, or as many as are left, from column `64 * PART` on, into a tile (`stmatrix`, sm_90).
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
                    if word < $words {
                        let to = to.unit(row, pair as u32 * 2 + lane / 16);
                        let words = [self.0[word], self.0[word + 1], self.0[word + 2], self.0[word + 3]];
                        // SAFETY: promised by the caller: the address is within the tile.
                        unsafe { store_matrices(to, words) };
                    }
                });
            }
        }
    };
}

accumulators!(
    Accumulator64, Sums64, Packed64, 64, 32, 16, "m64n64",
    [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31],
    [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15]
);
accumulators!(
    Accumulator128, Sums128, Packed128, 128, 64, 32, "m64n128",
    [
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
        32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
    ],
    [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31]
);
accumulators!(
    Accumulator144, Sums144, Packed144, 144, 72, 36, "m64n144",
    [
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38
        39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71
    ],
    [
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35
    ]
);
accumulators!(
    Accumulator160, Sums160, Packed160, 160, 80, 40, "m64n160",
    [
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38
        39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74
        75 76 77 78 79
    ],
    [
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38
        39
    ]
);
accumulators!(
    Accumulator192, Sums192, Packed192, 192, 96, 48, "m64n192",
    [
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39
        40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75
        76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95
    ],
    [
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39
        40 41 42 43 44 45 46 47
    ]
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

impl Sums256 {
    /// The sums of the first 128 columns, and of the others.
    #[inline(always)]
    #[must_use]
    pub const fn halves(self) -> [Sums128; 2] {
        // SAFETY: both are 128 f32s in this order: the registers of each eight columns follow those of the eight before.
        unsafe { core::mem::transmute(self.0) }
    }
}

impl Packed256 {
    /// The results of the first 128 columns, and of the others.
    #[inline(always)]
    #[must_use]
    pub const fn halves(self) -> [Packed128; 2] {
        // SAFETY: both are 64 u32s in this order, as for the sums.
        unsafe { core::mem::transmute(self.0) }
    }
}

impl From<[Sums128; 2]> for Sums256 {
    #[inline(always)]
    fn from(halves: [Sums128; 2]) -> Self {
        // SAFETY: as in `halves`.
        Self(unsafe { core::mem::transmute::<[Sums128; 2], [f32; 128]>(halves) })
    }
}
