//! # Products on tensor cores
//!
//! A tensor core multiplies two small matrices in one instruction. An SM of an H200 does 4096 operations in bf16 each clock
//! with its tensor cores, sixteen times what its CUDA cores do in f32. Nothing else of the machine grew by as much, so the
//! lesson of [`register`](super::register) starts again: what feeds such a unit? Three kernels compute
//! `C = A * B^T` for A of `m` rows of `k`, B of `n` rows of `k` and C of `m` rows of `n`, all bf16 with sums in f32:
//!
//! - [`matmul_mma`](mma): warps of 32 threads multiply fragments that each lane loads into registers itself (`ldmatrix`), from
//!   tiles that each thread copies itself (`cp.async`). Threads spend their instructions on moving operands.
//! - [`matmul_wgmma`](warpgroup): four warps multiply 64 x 256 at a time, both operands straight from shared memory, and one
//!   thread has the copy engine load boxes there, a few ahead. Addresses, edges and the layout against bank conflicts are in
//!   the tensor map. But the warps that multiply also load, and while they store nobody multiplies.
//! - [`matmul_overlapped`](overlapped): the block is divided. One thread only loads; two warpgroups only multiply, 128 x 256
//!   together; and a block goes from tile to tile, keeping a tile's results in registers to store them while the next
//!   tile is multiplied. The tensor cores never wait but for the last wave.
//!
//! # Which tile when
//! A block of tiles that run at the same time reads rows of A and rows of B. 132 tiles in one row of C share A and read all of
//! B; in a compact patch they read little of both, which then stays in L2. So tiles are counted in bands of `group` rows,
//! column by column within the band ([`tiles`]). `matmul_mma`, on a plain grid, shows what is lost without.
//!
//! # Launch
//! `m` is any; `k` and `n` are multiples of 8, because rows must begin at a multiple of 16 bytes.
//!
//! | kernel | block | grid | dynamic shared bytes | boxes of the maps of A, B, C, rows x columns |
//! | --- | --- | --- | --- | --- |
//! | `matmul_mma` | 256 | `ceil(n / 128)` by `ceil(m / 128)` | 0 | none |
//! | `matmul_wgmma` | 128 | `ceil(m / 64) * ceil(n / 256)` | [`warpgroup::SHARED`] | 64 x 64, 256 x 64, none |
//! | `matmul_overlapped` | 384 | as many as multiprocessors | [`overlapped::SHARED`] | 128 x 64, 128 x 64, 64 x 64 |
//!
//! All maps swizzle by 128 bytes. The kernels are marked for compute capability 9.0, which `matmul_mma` does not need (8.0 would do).

pub mod mma;
pub mod overlapped;
pub mod tiles;
pub mod warpgroup;
