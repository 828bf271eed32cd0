//! Communication between the 32 threads of a warp without memory: shuffles, votes, matches and reductions.
//!
//! A *lane* is a thread's place in its warp, 0 to 31. Each function takes a *mask* of the lanes that take part, bit `n` for
//! lane `n`; `0xffff_ffff` is the whole warp. All lanes of the mask must call the same function with the same mask, and
//! the calling lane must be in it; otherwise the behaviour is undefined, which is why the functions are `unsafe`.

mod collective;
mod shuffle;

pub use collective::{
    WarpMatchValue, WarpReduceValue, WarpReductionOp, warp_match_all, warp_match_any, warp_reduce,
    warp_vote_all, warp_vote_any, warp_vote_ballot,
};
pub use shuffle::{
    WarpShuffleMode, WarpShuffleResult, WarpShuffleValue, shuffle_control, warp_shuffle_down,
    warp_shuffle_idx, warp_shuffle_up, warp_shuffle_xor,
};

use crate::gpu_only;
#[cfg(target_arch = "nvptx64")]
use crate::intrinsic;

/// The calling thread's lane, 0 to 31 (`%laneid`).
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn lane_id() -> u32 {
    let lane = intrinsic::laneid();
    // SAFETY: a warp has 32 lanes.
    unsafe { core::hint::assert_unchecked(lane < 32) };
    lane
}

/// The lanes that execute this instruction together right now (`activemask.b32`).
///
/// This is what happens to be together, not what should be: use it to report, not to choose a mask for a shuffle.
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn activemask() -> u32 {
    intrinsic::activemask()
}

/// Waits until all lanes of the mask are here, and orders their memory accesses (`bar.warp.sync`).
///
/// # Safety
/// The calling lane is in the mask, and each lane of the mask that has not returned makes this call with the same mask.
#[gpu_only]
#[inline(always)]
pub unsafe fn sync_warp(mask: u32) {
    // SAFETY: promised by the caller.
    unsafe { intrinsic::bar_warp_sync(mask) }
}
