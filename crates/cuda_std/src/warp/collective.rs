//! Votes, matches and reductions: one answer from all lanes of a mask.

use crate::gpu_only;
#[cfg(target_arch = "nvptx64")]
use crate::intrinsic;

/// True if the predicate is true in all lanes of the mask (`vote.sync.all.pred`).
///
/// # Safety
/// All lanes of `mask` make this call together with the same mask, and the calling lane is one of them.
#[gpu_only]
#[inline(always)]
#[must_use]
pub unsafe fn warp_vote_all(mask: u32, predicate: bool) -> bool {
    // SAFETY: promised by the caller.
    unsafe { intrinsic::vote_all(mask, predicate) }
}

/// True if the predicate is true in any lane of the mask (`vote.sync.any.pred`).
///
/// # Safety
/// As for [`warp_vote_all`].
#[gpu_only]
#[inline(always)]
#[must_use]
pub unsafe fn warp_vote_any(mask: u32, predicate: bool) -> bool {
    // SAFETY: promised by the caller.
    unsafe { intrinsic::vote_any(mask, predicate) }
}

/// The lanes of the mask in which the predicate is true, bit `n` for lane `n` (`vote.sync.ballot.b32`).
///
/// # Safety
/// As for [`warp_vote_all`].
#[gpu_only]
#[inline(always)]
#[must_use]
pub unsafe fn warp_vote_ballot(mask: u32, predicate: bool) -> u32 {
    // SAFETY: promised by the caller.
    unsafe { intrinsic::vote_ballot(mask, predicate) }
}

/// A value that lanes can compare: 32 or 64 bits here, and what a kernel crate implements over these.
///
/// Floats are compared by their bits, so that `0.0` and `-0.0` differ and a NaN equals itself.
pub trait WarpMatchValue: Sized {
    /// Implements [`warp_match_any`].
    ///
    /// # Safety
    /// As for [`warp_vote_all`].
    #[must_use]
    unsafe fn match_any(mask: u32, value: Self) -> u32;

    /// Implements [`warp_match_all`].
    ///
    /// # Safety
    /// As for [`warp_vote_all`].
    #[must_use]
    unsafe fn match_all(mask: u32, value: Self) -> Option<u32>;
}

macro_rules! match_value {
    ($($type:ty, $any:ident, $all:ident, |$value:ident| $bits:expr;)*) => {$(
        impl WarpMatchValue for $type {
            #[gpu_only]
            #[inline(always)]
            unsafe fn match_any(mask: u32, $value: Self) -> u32 {
                // SAFETY: promised by the caller.
                unsafe { intrinsic::$any(mask, $bits) }
            }

            #[gpu_only]
            #[inline(always)]
            unsafe fn match_all(mask: u32, $value: Self) -> Option<u32> {
                // SAFETY: promised by the caller.
                let (mask, all) = unsafe { intrinsic::$all(mask, $bits) };
                all.then_some(mask)
            }
        }
    )*};
}

match_value! {
    u32, match_any_32, match_all_32, |value| value;
    i32, match_any_32, match_all_32, |value| value.cast_unsigned();
    f32, match_any_32, match_all_32, |value| value.to_bits();
    u64, match_any_64, match_all_64, |value| value;
    i64, match_any_64, match_all_64, |value| value.cast_unsigned();
    f64, match_any_64, match_all_64, |value| value.to_bits();
}

/// The lanes of the mask whose value is the calling lane's (`match.any.sync`, sm_70).
///
/// # Safety
/// As for [`warp_vote_all`].
#[inline(always)]
#[must_use]
pub unsafe fn warp_match_any<T: WarpMatchValue>(mask: u32, value: T) -> u32 {
    // SAFETY: promised by the caller.
    unsafe { T::match_any(mask, value) }
}

/// The mask if all its lanes have the same value, else `None` (`match.all.sync`, sm_70).
///
/// # Safety
/// As for [`warp_vote_all`].
#[inline(always)]
#[must_use]
pub unsafe fn warp_match_all<T: WarpMatchValue>(mask: u32, value: T) -> Option<u32> {
    // SAFETY: promised by the caller.
    unsafe { T::match_all(mask, value) }
}

/// The operation of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarpReductionOp {
    /// The sum, wrapping.
    Add,
    /// The smaller one.
    Min,
    /// The larger one.
    Max,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
}

/// A value that a warp can reduce: in hardware `u32` and `i32`, and what a kernel crate implements over these.
pub trait WarpReduceValue: Sized {
    /// Implements [`warp_reduce`].
    ///
    /// # Safety
    /// As for [`warp_vote_all`].
    #[must_use]
    unsafe fn reduce(mask: u32, value: Self, op: WarpReductionOp) -> Self;
}

/// Combines the values of two lanes.
#[cfg(any(test, target_arch = "nvptx64"))]
trait Join {
    fn join(self, other: Self, op: WarpReductionOp) -> Self;
}

macro_rules! reduce_value {
    ($($type:ty, $min:ident, $max:ident;)*) => {$(
        impl WarpReduceValue for $type {
            #[gpu_only]
            #[inline(always)]
            unsafe fn reduce(mask: u32, value: Self, op: WarpReductionOp) -> Self {
                if intrinsic::architecture() >= 800 {
                    let bits = value as u32;
                    // SAFETY: promised by the caller.
                    let reduced = unsafe {
                        match op {
                            WarpReductionOp::Add => intrinsic::redux_add(bits, mask),
                            WarpReductionOp::Min => intrinsic::$min(bits, mask),
                            WarpReductionOp::Max => intrinsic::$max(bits, mask),
                            WarpReductionOp::And => intrinsic::redux_and(bits, mask),
                            WarpReductionOp::Or => intrinsic::redux_or(bits, mask),
                            WarpReductionOp::Xor => intrinsic::redux_xor(bits, mask),
                        }
                    };
                    return reduced as Self;
                }
                // Any set of lanes may take part, so there is no tree to follow: each lane reads all of them.
                let mut reduced = None;
                let mut lanes = mask;
                while lanes != 0 {
                    let lane = lanes.trailing_zeros();
                    lanes &= lanes - 1;
                    // SAFETY: promised by the caller; the loop runs the same in all lanes of the mask.
                    let (other, _) = unsafe { super::warp_shuffle_idx(mask, value, lane, 32) };
                    reduced = Some(reduced.map_or(other, |sum: Self| sum.join(other, op)));
                }
                reduced.unwrap_or(value)
            }
        }

        #[cfg(any(test, target_arch = "nvptx64"))]
        impl Join for $type {
            #[inline(always)]
            fn join(self, other: Self, op: WarpReductionOp) -> Self {
                match op {
                    WarpReductionOp::Add => self.wrapping_add(other),
                    WarpReductionOp::Min => Ord::min(self, other),
                    WarpReductionOp::Max => Ord::max(self, other),
                    WarpReductionOp::And => self & other,
                    WarpReductionOp::Or => self | other,
                    WarpReductionOp::Xor => self ^ other,
                }
            }
        }
    )*};
}

reduce_value! {
    u32, redux_umin, redux_umax;
    i32, redux_min, redux_max;
}

/// All values of the mask's lanes joined, the same in each of these lanes (`redux.sync`, sm_80).
///
/// In the PTX for an older architecture it is a loop of shuffles with the same result.
///
/// # Safety
/// As for [`warp_vote_all`].
#[inline(always)]
#[must_use]
pub unsafe fn warp_reduce<T: WarpReduceValue>(mask: u32, value: T, op: WarpReductionOp) -> T {
    // SAFETY: promised by the caller.
    unsafe { T::reduce(mask, value, op) }
}

#[cfg(test)]
mod tests {
    use super::{Join, WarpReductionOp};

    #[test]
    fn two_lanes_join_by_the_operation() {
        let join = |op| (6_i32.join(-5, op), 6_u32.join(3, op));
        assert_eq!(join(WarpReductionOp::Add), (1, 9));
        assert_eq!(join(WarpReductionOp::Min), (-5, 3));
        assert_eq!(join(WarpReductionOp::Max), (6, 6));
        assert_eq!(join(WarpReductionOp::And), (6 & -5, 2));
        assert_eq!(join(WarpReductionOp::Or), (6 | -5, 7));
        assert_eq!(join(WarpReductionOp::Xor), (6 ^ -5, 5));
        assert_eq!(u32::MAX.join(2, WarpReductionOp::Add), 1);
    }
}
