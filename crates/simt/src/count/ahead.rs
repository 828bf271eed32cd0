//! Finds L2's states of the groups in a list ahead of their use.
//!
//! A state is a random access for the host, which waits for it if nothing else is done meanwhile. So a group is looked up while one far
//! before it in the list is touched, one group at a time: [a burst](super::prefetch) would wait. Only the first groups of a list are looked
//! up together.

use super::group::Group;
use super::prefetch;
use super::regions::{Regions, StateAt};

/// A group is looked up this many groups before its turn. 32 that are fetched into the innermost cache were 2 to 6% faster than 64 that are
/// fetched into the next, in a gather and in random walks over 256 MiB.
const AHEAD: usize = 32;

/// Finds and fetches the states of a list's next groups, one for each group that is touched.
pub(super) struct Ahead<'a> {
    pub(super) groups: &'a [Group],
    /// The place of each group by its index modulo [`AHEAD`].
    places: [StateAt; AHEAD],
}

impl<'a> Ahead<'a> {
    /// Looks up the first groups of a list, in the current tick.
    #[inline(always)]
    pub(super) fn new(groups: &'a [Group], regions: &mut Regions, now: u32) -> Self {
        let mut places = [StateAt::NONE; AHEAD];
        for (place, group) in places.iter_mut().zip(groups) {
            *place = look_up(regions, group, now);
        }
        Self { groups, places }
    }

    /// Returns the place of the group at an index, which has not been passed yet.
    #[inline(always)]
    pub(super) fn place(&self, at: usize) -> StateAt {
        self.places[at % AHEAD]
    }

    /// Passes the group at an index, and looks up a later one instead. Groups are passed in their order.
    #[inline(always)]
    pub(super) fn pass(&mut self, at: usize, regions: &mut Regions, now: u32) {
        if let Some(later) = self.groups.get(at + AHEAD) {
            self.places[at % AHEAD] = look_up(regions, later, now);
        }
    }
}

/// Finds where a group's state is, and fetches it.
#[inline(always)]
fn look_up(regions: &mut Regions, group: &Group, now: u32) -> StateAt {
    let place = regions.find(group.index, now);
    prefetch::to_l1(place.address());
    place
}
