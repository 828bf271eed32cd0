//! Accesses at evenly spaced addresses, and their repetitions: what vectorised executors report in short.

use super::access::{Access, Operation, Space};
use crate::coalescing::{Addresses, LANES};

/// An [`Access`] whose lane `k` has the address `base + k * step`, modulo 2^64.
///
/// Vectorised executors report such accesses without computing 32 addresses. For example, a warp that loads a row of
/// `f32` has a step of 4, one that loads a column of a matrix has the row's pitch, and a broadcast has 0.
///
/// The fields' order lets an observer compare all but `base` and `strong` in three comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct SteadyAccess {
    /// Address of lane 0, whether it is active or not.
    pub base: u64,
    /// Distance between adjacent lanes, negative ones in two's complement. Without meaning if one lane is active.
    pub step: u64,
    /// Active mask, as in [`Access::active`].
    pub active: u32,
    /// Bytes per lane, as in [`Access::bytes`].
    pub bytes: u32,
    /// State space.
    pub space: Space,
    /// Operation.
    pub operation: Operation,
    /// As in [`Access::read_only`].
    pub read_only: bool,
    /// As in [`Access::past_l1`].
    pub past_l1: bool,
    /// As in [`Access::strong`].
    pub strong: bool,
}

impl SteadyAccess {
    /// Returns an access whose addresses have this base and step.
    pub(crate) fn spaced(access: &Access<'_>, base: u64, step: u64) -> Self {
        let &Access { space, operation, active, bytes, read_only, past_l1, strong, .. } = access;
        Self { space, operation, base, step, active, bytes, read_only, past_l1, strong }
    }

    /// Returns the address of a lane.
    #[inline(always)]
    pub fn address(&self, lane: u32) -> u64 {
        self.base.wrapping_add(self.step.wrapping_mul(u64::from(lane)))
    }

    /// Returns the addresses of all lanes.
    pub fn addresses(&self) -> Addresses {
        let mut lane = 0;
        [(); LANES].map(|()| {
            lane += 1;
            self.address(lane - 1)
        })
    }

    /// Returns the addresses of all lanes, within rows if there are such.
    pub(crate) fn addresses_in(&self, rows: Option<Rows>) -> Addresses {
        rows.map_or_else(|| self.addresses(), |rows| rows.addresses(self.base, self.step))
    }

    /// Returns the same access with these addresses, which are those of [`SteadyAccess::addresses`].
    #[inline(always)]
    pub fn with<'a>(&self, addresses: &'a Addresses) -> Access<'a> {
        let &Self { space, operation, active, bytes, read_only, past_l1, strong, .. } = self;
        Access { space, operation, addresses, active, bytes, read_only, past_l1, strong }
    }
}

/// The rows of an access whose lanes are evenly spaced within rows, and the rows too, as in blocks of 16 x 16 threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Log2 of the lanes in a row: from 1 to 4.
    pub log: u32,
    /// Distance between the first lanes of adjacent rows, at most 2^62 either way.
    pub pitch: u64,
}

impl Rows {
    /// Returns the addresses of all lanes, of an access with this base, and this step within rows.
    pub fn addresses(&self, base: u64, step: u64) -> Addresses {
        std::array::from_fn(|lane| {
            let (place, row) = (lane as u64 & ((1 << self.log) - 1), lane as u64 >> self.log);
            base.wrapping_add(step.wrapping_mul(place)).wrapping_add(self.pitch.wrapping_mul(row))
        })
    }
}

/// Repetitions of a steady access, or of one in rows, that an executor counts itself.
///
/// An access of all 32 lanes repeats one that was reported if it has the same step and pitch, and a base that agrees in the bits of
/// `mask`. If its warp's [order](Tallies::order) is at least `from`, one more in `repeats` is equivalent to reporting it; in global
/// memory, where its sectors matter as well, a [`Note`] is.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Tally {
    /// Distance between adjacent lanes.
    pub step: u64,
    /// Distance between rows; [`Tally::NO_ROWS`] of an access without.
    pub pitch: u64,
    /// `base & mask` of the access, or a value that no base has where each access has to be reported.
    pub phase: u64,
    /// The bits of the base that matter.
    pub mask: u64,
    /// Least order of a warp whose access need not be reported.
    pub from: u64,
    /// Repetitions.
    pub repeats: u64,
}

impl Tally {
    /// The pitch of an access whose lanes are evenly spaced throughout: no rows are as far apart.
    pub const NO_ROWS: u64 = 1 << 63;
}

/// A repetition of a reported access to global memory, as its site's [`Tally`] defines it.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Note {
    /// Address of lane 0.
    pub base: u64,
    /// The instruction's [site](crate::observe::Site).
    pub site: u32,
    /// The warp, by its index in the block.
    pub warp: u32,
}

/// Most notes that are kept before they are counted.
pub(crate) const MOST_NOTES: usize = 252;

/// Accesses that an executor notes instead of reporting them, in the order of execution.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Notes {
    /// The number of notes.
    pub count: u32,
    /// The notes, of which the first `count` mean something.
    pub notes: [Note; MOST_NOTES],
}

impl Default for Notes {
    fn default() -> Self {
        Self { count: 0, notes: [Note::default(); MOST_NOTES] }
    }
}

/// The tallies of consecutive sites.
#[derive(Clone, Copy, Debug)]
pub struct Tallies {
    /// That of the first site.
    pub first: *mut Tally,
    /// Bytes from one to the next.
    pub stride: usize,
    /// Order of the block's first warp in the launch; that of another is greater by its index.
    pub order: u64,
    /// Where repetitions in global memory are noted.
    pub notes: *mut Notes,
}
