//! Questions that a warp answers together: which lanes have the same value, which say yes, and what all values add up to.

use cuda_std::warp::{self, WarpMatchValue, WarpReduceValue, WarpReductionOp};

use crate::block::{FULL, Lanes, PerThread, Warp};

/// Collective operations of whole warps, with a result for each thread.
pub trait Votes: Lanes {
    /// The lanes of the thread's warp that have its value, bit `n` for lane `n` (`match.any.sync`).
    #[inline(always)]
    fn match_any<T: WarpMatchValue + Copy>(&mut self, values: PerThread<T>) -> PerThread<u32> {
        // SAFETY: whole warps call this together.
        values.then(|value| unsafe { warp::warp_match_any(FULL, value) })
    }

    /// The lanes of the thread's warp that say yes, bit `n` for lane `n` (`vote.sync.ballot`).
    #[inline(always)]
    fn ballot(&mut self, says: PerThread<bool>) -> PerThread<u32> {
        // SAFETY: whole warps call this together.
        says.then(|says| unsafe { warp::warp_vote_ballot(FULL, says) })
    }

    /// The sum of the warp's values, in each of its threads (`redux.sync.add`, shuffles before sm_80). It wraps.
    #[inline(always)]
    fn sum<T: WarpReduceValue + Copy>(&mut self, values: PerThread<T>) -> PerThread<T> {
        // SAFETY: whole warps call this together.
        values.then(|value| unsafe { warp::warp_reduce(FULL, value, WarpReductionOp::Add) })
    }
}

impl<L: Lanes> Votes for L {}

impl<S> Warp<S> {
    /// True for the warp if `says` is true in any of its lanes (`vote.sync.any`).
    #[inline(always)]
    #[must_use]
    pub fn any(&mut self, says: PerThread<bool>) -> bool {
        // SAFETY: the whole warp calls this together, and the answer is the same for all of it.
        says.then(|says| unsafe { warp::warp_vote_any(FULL, says) }).uniform()
    }
}
