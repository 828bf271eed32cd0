//! Tensor cores and what feeds them: tiles by tensor maps, rings of stages, `wgmma` and `mma`, clusters.
//!
//! # How a product on Hopper works
//! A tensor core multiplies tiles that lie in shared memory and adds to sums that lie in registers. It is so fast that the
//! threads cannot also fetch: moving the tiles is left to the copy engine, and the block is divided by warps.
//!
//! 1. *Loading.* The host describes a matrix by a [`TensorMap`]. One thread asks for a box of it with
//!    [`Filling::load`]; the copy engine computes the addresses, fills what lies outside the matrix with zeros, writes the
//!    box to shared memory and counts its bytes at an `mbarrier`.
//! 2. *Layout.* Rows of a tile are 128 bytes long, as wide as all 32 banks, so a column of a plain tile would lie in one
//!    bank. The engine therefore *swizzles*: the 16-byte unit `u` of row `r` is put where unit `u ^ (r % 8)` would be.
//!    [`SwizzledTile`] knows this layout, and its [`Descriptor`] tells it to the tensor core.
//! 3. *Handing over.* A [`Ring`] of stages stands between the loading thread and the warps that multiply. A stage is
//!    either being filled (the [`Producer`] has it) or may be read (a [`Consumer`] has it); two barriers a stage pass it
//!    from one to the other.
//! 4. *Multiplying.* Four warps, a *warpgroup*, issue `wgmma` together ([`Accumulator256`]). The instruction returns before it
//!    has computed: sums cannot be read before [`finish`](Accumulator256::finish) has waited for them, which is what the type
//!    says.
//! 5. *Storing.* [`Packed256`] writes sums as bf16 into a tile in shared memory with `stmatrix`, and [`Map::store`] has the
//!    copy engine write the tile to the matrix, without what lies outside.
//!
//! Each of these is asynchronous, and two kinds of access to shared memory are ordered by nothing but a fence: those of
//! threads and those of the engine and the tensor cores (the *asynchronous proxy*). Barriers of a ring order the engine's
//! writes before reads. Between a thread's own write and the engine's read stands
//! [`fence_async_proxy`](crate::async_copy::fence_async_proxy).
//!
//! # Architectures
//! `wgmma` and `setmaxnreg` exist on compute capability 9.0 alone: a kernel with them is marked `#[kernel(arch = "90a")]`.
//! Tensor maps and clusters are there from 9.0 on; [`mma_m16n8k16`] and [`load_matrices`] from 8.0 (7.5) on.
//!
//! # Convergence
//! Functions with `.aligned` in their instruction are called by all threads of a warp together. They are inline assembly,
//! which `cuda_builder` marks as convergent, so that LLVM does not copy them into branches. Where one thread of many acts, its
//! functions take `elected` and test it inside the assembly: a branch around them would divide the warp just before the
//! next instruction that needs it whole.

#![cfg_attr(
    not(target_arch = "nvptx64"),
    allow(dead_code, unused_imports, unused_macros, reason = "on the host these functions have no bodies")
)]

mod cluster;
mod map;
mod matrix;
mod ring;
mod tile;
mod warpgroup;
mod wgmma;

pub use cluster::{
    cluster_rank, cluster_size, cluster_start, cluster_sync, load_vector_of_cluster, load_word_of_cluster,
    map_to_rank,
};
pub use map::{Corner, Map, TensorMap};
pub use matrix::{load_matrices, load_matrices_transposed, mma_m16n8k16, pack_bf16, store_matrices};
pub use ring::{Consumer, Filling, Producer, Ring, Stage};
pub use tile::{Descriptor, SwizzledTile, TransposedTile, aligned_dynamic_shared};
pub use warpgroup::{decrease_registers, elect, increase_registers, sync_warpgroup};
pub use wgmma::{
    Accumulator64, Accumulator128, Accumulator144, Accumulator160, Accumulator192, Accumulator256, Bf16,
    E4m3, E5m2, Element, Multiply, Packed64, Packed128, Packed144, Packed160, Packed192, Packed256, Sums64,
    Sums128, Sums144, Sums160, Sums192, Sums256, Tf32,
};

/// Repeats a block for each number, which it has as a constant: `unroll!(i in [0 1 2 3] { .. })`.
///
/// An array stays in registers only where every index is a constant, and LLVM does not unroll every loop of constant length
/// before it decides where an array lives. This repeats the source instead.
#[macro_export]
macro_rules! unroll {
    ($index:ident in [$($number:literal)*] $body:block) => {
        $({
            #[allow(non_upper_case_globals, reason = "the index has the name that the caller gives it")]
            const $index: usize = $number;
            $body
        })*
    };
}
