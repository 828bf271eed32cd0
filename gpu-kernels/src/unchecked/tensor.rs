//! # Products on tensor cores
//!
//! A tensor core multiplies two small matrices in one instruction. An SM of an H200 does 4096 operations in bf16 each clock
//! with its tensor cores, sixteen times what its CUDA cores do in f32. Nothing else of the machine grew by as much, so the
//! lesson of [`register`](super::register) starts again: what feeds such a unit? Ten kernels, each a step further, compute
//! `C = A * B^T` for A of `m` rows of `k`, B of `n` rows of `k` and C of `m` rows of `n`, all bf16 with sums in f32:
//!
//! 1. [`matmul_mma`](mma): warps of 32 threads multiply fragments that each lane loads into registers itself (`ldmatrix`), from
//!    tiles that each thread copies itself (`cp.async`). Threads spend their instructions on moving operands.
//! 2. [`matmul_wgmma`](warpgroup): four warps multiply 64 x 256 at a time, both operands straight from shared memory, and one
//!    thread has the copy engine load boxes there, a few ahead. Addresses, edges and the layout against bank conflicts are in
//!    the tensor map. But the warps that multiply also load, and while they store nobody multiplies.
//! 3. [`matmul_ring`](ring): the block is divided. One thread only loads; two warpgroups only multiply, 128 x 256 together.
//! 4. [`matmul_persistent`](persistent): a block stays on its multiprocessor and goes from tile to tile, so the next tile is loaded
//!    while the results of this one are written.
//! 5. [`matmul_stored`](stored): the copy engine writes the results, whole rows at a time.
//! 6. [`matmul_overlapped`](overlapped): a tile's results stay in registers, to be stored while the next tile is multiplied. The
//!    tensor cores never wait but for the last wave.
//! 7. [`matmul_multicast`](multicast): two blocks share what they load. What limits now is power, and bytes cost energy.
//! 8. [`matmul_wide`](wide): tiles of 256 x 192, which load less for each result. For the largest products.
//! 9. [`matmul_staggered`](staggered): tiles of 256 x 160 in two halves, one of which is stored while the other is multiplied. For
//!    products that such tiles divide into fuller waves.
//! 10. [`matmul_even`](even): `matmul_overlapped` with as much work for each multiprocessor. Blocks share the tiles that do not
//!     come out even, and hand sums over in memory.
//!
//! These are for products of several waves of tiles. Where all tiles run at once, what happens once in a block counts:
//! [`matmul_small`](small) for tiles of 128 x 64, `matmul_between` beside it for tiles of 128 x 144, [`matmul_medium`](medium) for
//! tiles of 256 x 128.
//!
//! The sixth step has further uses: B as rows of K and many matrices at once ([`overlapped`]), factors, FP8 and results in f32
//! ([`scaled`]), and sums that keep their precision, in FP8 and for f32 ([`promoted`]). What they share is in [`pipeline`], and
//! [`prepare`] makes operands of what a program has.
//!
//! # Which tile when
//! A block of tiles that run at the same time reads rows of A and rows of B. 132 tiles in one row of C share A and read all of
//! B; in a compact patch they read little of both, which then stays in L2. So tiles are counted in bands of `group` rows,
//! column by column within the band, to the right and back ([`tiles`]). `matmul_mma`, on a plain grid, shows what is lost without.
//!
//! # Launch
//! `m` is any; `k` and `n` are multiples of 8, because rows must begin at a multiple of 16 bytes (`k` of 16 for FP8).
//! `repitch` in [`prepare`] makes such a matrix of any other.
//!
//! | kernel | block | grid | dynamic shared bytes | boxes of the maps of A, B, C, rows x columns |
//! | --- | --- | --- | --- | --- |
//! | `matmul_mma` | 128 | `ceil(n / 128)` by `ceil(m / 128)` | [`mma::SHARED`] | none |
//! | `matmul_wgmma` | 128 | `ceil(m / 64) * ceil(n / 256)` | [`warpgroup::SHARED`] | 64 x 64, 256 x 64, none |
//! | `matmul_ring` | 384 | `ceil(m / 128) * ceil(n / 256)` | [`pipeline::SHARED`] | 128 x 64, 128 x 64, none |
//! | `matmul_persistent`, `matmul_to_f32` | 384 | as many as multiprocessors | [`pipeline::SHARED`] | 128 x 64, 128 x 64, none |
//! | `matmul_stored`, `matmul_overlapped`, `matmul_batched`, `matmul_scaled` | 384 | as many as multiprocessors | [`stored::SHARED`] | 128 x 64, 128 x 64, 64 x 64 |
//! | `matmul_even` | 384 | the same, at most one for each tile | [`stored::SHARED`] | 128 x 64, 128 x 64, 64 x 64 |
//! | `matmul_multicast` | 384 | the same, an even number | [`stored::SHARED`] | 128 x 64, 128 x 64, 64 x 64 |
//! | `matmul_wide` | 384 | the same, an even number | [`wide::SHARED`] | 128 x 64, 192 x 64, 64 x 64 |
//! | `matmul_staggered` | 384 | the same, an even number | [`staggered::SHARED`] | 128 x 64, 160 x 64, none |
//! | `matmul_rows_of_b` | 384 | the same | [`stored::SHARED`] | 128 x 64, 64 x 64, 64 x 64 |
//! | `matmul_e4m3`, `matmul_e5m2`, and the same `_promoted` | 384 | the same | [`stored::SHARED`] | 128 x 128, 128 x 128, 64 x 64 |
//! | `matmul_3xtf32` | 384 | the same | [`promoted::TF32_SHARED`] | 128 x 32, 128 x 32, none |
//! | `matmul_small` | 288 | `ceil(n / 64)` by `ceil(m / 128)` | [`small::SHARED`] | 128 x 64, 64 x 64, none |
//! | `matmul_between` | 288 | `ceil(n / 144)` by the same | [`small::SHARED_BETWEEN`] | 128 x 64, 144 x 64, none |
//! | `matmul_medium` | 288 | `ceil(n / 128)` by `ceil(m / 256)` | [`medium::SHARED`] | 256 x 64, 128 x 64, none |
//!
//! All maps swizzle by 128 bytes. They are parameters of the launch: the kernel needs no fence, and asks the copy engine to fetch
//! them before its first copy. Maps in device memory cost 0.2 to 1% more, most in launches of less than 100 us.
//!
//! The kernels are marked for compute capability 9.0, which `matmul_mma` does not need (8.0 would do).

pub mod even;
pub mod medium;
pub mod mma;
pub mod multicast;
pub mod overlapped;
pub mod persistent;
pub mod pipeline;
pub mod prepare;
pub mod promoted;
mod results;
pub mod ring;
mod rows;
pub mod scaled;
mod shares;
pub mod small;
pub mod staggered;
pub mod stored;
pub mod tiles;
pub mod warpgroup;
pub mod wide;
