//! The groups of a request and their sectors, as they are looked up.
//!
//! For example, the `f32` at the byte addresses 0, 40, 2048, 2052 and 96 are in the groups 0, 2 and 0 again, as adjacent lanes of
//! one group are looked up together: sectors `0b11` of group 0, `0b1` of group 2, `0b1000` of group 0.

use super::group::GROUP_SHIFT;
use crate::coalescing::{Addresses, LANES, SECTOR_BYTES};

const SECTOR_SHIFT: u32 = SECTOR_BYTES.trailing_zeros();

/// Receives sectors. A closure would not be compiled with its surroundings' machine features.
pub(super) trait Sink {
    /// Receives some sectors of a group.
    fn take(&mut self, group: u64, sectors: u32);
}

/// The groups that lanes touch, in their order, with their sectors. No group is that of the one before.
pub(super) struct Takes {
    pub(super) groups: [u64; LANES],
    pub(super) sectors: [u32; LANES],
    pub(super) count: usize,
}

impl Takes {
    pub(super) const NONE: Self = Self { groups: [0; LANES], sectors: [0; LANES], count: 0 };

    /// Finds the groups of some lanes, at least one. Vectorises with the caller's machine features.
    #[inline(always)]
    pub(super) fn find(&mut self, addresses: &Addresses, lanes: u32) {
        for ((group, sectors), &address) in self.groups.iter_mut().zip(&mut self.sectors).zip(addresses) {
            *group = address >> GROUP_SHIFT;
            *sectors = 1 << (address as u32 >> SECTOR_SHIFT & 31);
        }
        let mut repeats = 0;
        for lane in 1..LANES {
            repeats |= u64::from(addresses[lane] >> GROUP_SHIFT == addresses[lane - 1] >> GROUP_SHIFT);
        }
        self.count = LANES;
        if repeats != 0 || lanes != u32::MAX {
            self.merge(lanes);
        }
    }

    /// Keeps these lanes alone, and puts adjacent ones of the same group together.
    #[inline(never)]
    fn merge(&mut self, mut lanes: u32) {
        let mut last = 0;
        let first = lanes.trailing_zeros() as usize % LANES;
        (self.groups[0], self.sectors[0]) = (self.groups[first], self.sectors[first]);
        lanes &= lanes - 1;
        while lanes != 0 {
            let lane = lanes.trailing_zeros() as usize;
            lanes &= lanes - 1;
            let (group, sectors) = (self.groups[lane], self.sectors[lane]);
            // Selected, not branched upon: whether adjacent lanes share a group cannot be predicted.
            let is_new = group != self.groups[last];
            let before = if is_new { 0 } else { self.sectors[last] };
            last += usize::from(is_new);
            (self.groups[last], self.sectors[last]) = (group, before | sectors);
        }
        self.count = last + 1;
    }
}

/// Returns the first of three adjacent groups, and the sectors of these that some lanes touch. None if they do not suffice.
/// Vectorises with the caller's machine features.
#[inline(always)]
pub(super) fn nearby(addresses: &Addresses, lanes: u32) -> Option<(u64, [u32; 3])> {
    let first = (addresses[(lanes.trailing_zeros() & 31) as usize] >> GROUP_SHIFT).wrapping_sub(1);
    let (mut low, mut high, mut beyond) = (0, 0, false);
    for (lane, address) in addresses.iter().enumerate() {
        let is_active = lanes >> lane & 1 == 1;
        let sector = (address >> SECTOR_SHIFT).wrapping_sub(first << (GROUP_SHIFT - SECTOR_SHIFT));
        let bit = u64::from(is_active) << (sector & 63);
        low |= if sector < 64 { bit } else { 0 };
        high |= if sector < 64 { 0 } else { bit };
        beyond |= is_active & (sector >= 96);
    }
    (!beyond).then_some((first, [low as u32, (low >> 32) as u32, high as u32]))
}
