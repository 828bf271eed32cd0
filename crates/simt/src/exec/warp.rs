//! A warp: its lanes in fragments, each with its place in the code, and where fragments meet again.
//!
//! Lanes that part at a branch share a join: the place where their ways come together. Who comes there waits until all
//! lanes of the join that have not left are there, and all go on as one fragment. When the others do not come, for they
//! wait themselves or go round a loop that only those who have arrived can end, the join lets go whom it has.

use super::frame::Frame;
use super::step::{AT_RETURN, NOWHERE};

/// Lanes of a warp at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fragment {
    pub(super) pc: u32,
    pub(super) lanes: u32,
    /// Which of the warp's activations they are in.
    pub(super) activation: u32,
    /// Where they meet others; [`NO_JOIN`]: nobody.
    pub(super) join: u32,
}

pub(super) const NO_JOIN: u32 = u32::MAX;

/// A place where lanes meet that have parted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Join {
    pub(super) pc: u32,
    pub(super) activation: u32,
    /// Who parted and has not left since. None: the join is free.
    pub(super) expected: u32,
    pub(super) arrived: u32,
    /// The join of those who parted.
    pub(super) parent: u32,
}

/// A function that lanes of the warp are in.
pub(super) struct Activation {
    pub(super) frame: Frame,
    pub(super) function: u32,
    /// Calls between the kernel and it.
    pub(super) depth: u32,
    /// None: the activation has ended.
    pub(super) lanes: u32,
}

/// Lanes that wait for others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) fragment: Fragment,
    pub(super) wait: Wait,
}

/// What lanes wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// Lanes of this mask at an instruction of the same kind: an index among the rare ones.
    Collective { mask: u32, rare: u32 },
    /// Lanes of this mask at a `bar.warp.sync`.
    WarpBarrier { mask: u32 },
    /// The block's barrier of this number.
    Barrier { number: u32, rare: u32 },
    /// The end of this phase of the cluster's barrier.
    Cluster { phase: u64 },
}

/// The lanes of a warp.
#[derive(Default)]
pub(super) struct Warp {
    pub(super) has_begun: bool,
    /// Lanes that have not left.
    pub(super) live: u32,
    /// Lanes that it began with.
    pub(super) lanes: u32,
    /// Who can go on, the last one first.
    pub(super) ready: Vec<Fragment>,
    pub(super) waiting: Vec<Waiting>,
    joins: Vec<Join>,
    /// By index; ended ones are used again.
    pub(super) activations: Vec<Option<Activation>>,
    /// The phase of the cluster's barrier in which its lanes last arrived, after the first.
    pub(super) cluster_phase: u64,
}

impl Warp {
    /// All its lanes begin at once.
    pub(super) fn begin(&mut self, lanes: u32, pc: u32, entry: Activation) {
        self.has_begun = true;
        self.live = lanes;
        self.lanes = lanes;
        self.ready.clear();
        self.waiting.clear();
        self.joins.clear();
        self.activations.clear();
        self.cluster_phase = 0;
        self.ready.push(Fragment { pc, lanes, activation: 0, join: NO_JOIN });
        self.activations.push(Some(entry));
    }

    /// The place of a fragment's join, if it is in the function that the fragment is in.
    pub(super) fn meeting_place(&self, fragment: &Fragment) -> u32 {
        match self.joins.get(fragment.join as usize) {
            Some(join) if join.activation == fragment.activation => join.pc,
            _ => NOWHERE,
        }
    }

    fn open_join(&mut self, join: Join) -> u32 {
        match self.joins.iter().position(|join| join.expected == 0) {
            Some(free) => {
                self.joins[free] = join;
                free as u32
            }
            None => {
                self.joins.push(join);
                self.joins.len() as u32 - 1
            }
        }
    }

    /// The join for lanes of a fragment that part here and meet at `meets`.
    pub(super) fn join_at(&mut self, fragment: &Fragment, meets: u32) -> u32 {
        if meets == NOWHERE || self.meeting_place(fragment) == meets {
            return fragment.join;
        }
        self.open_join(Join {
            pc: meets,
            activation: fragment.activation,
            expected: fragment.lanes,
            arrived: 0,
            parent: fragment.join,
        })
    }

    /// Lanes of a fragment go on elsewhere, later.
    pub(super) fn later(&mut self, fragment: Fragment) {
        if fragment.pc != NOWHERE && self.meeting_place(&fragment) == fragment.pc {
            self.joins[fragment.join as usize].arrived |= fragment.lanes;
        } else {
            self.ready.push(fragment);
        }
    }

    /// A fragment is where its join is, in the same function. Who goes on, if all are there.
    pub(super) fn arrive(&mut self, mut fragment: Fragment) -> Option<Fragment> {
        while self.meeting_place(&fragment) == fragment.pc {
            let join = &mut self.joins[fragment.join as usize];
            join.arrived |= fragment.lanes;
            if join.arrived != join.expected {
                return None;
            }
            fragment.lanes = join.arrived;
            fragment.join = join.parent;
            join.expected = 0;
            join.arrived = 0;
        }
        Some(fragment)
    }

    /// Joins let go whom they have. Whether there was anyone.
    pub(super) fn release_joins(&mut self) -> bool {
        let mut released = false;
        for index in 0..self.joins.len() {
            let join = &mut self.joins[index];
            if join.expected == 0 || join.arrived == 0 {
                continue;
            }
            let (pc, lanes, activation, parent) = (join.pc, join.arrived, join.activation, join.parent);
            join.expected &= !join.arrived;
            join.arrived = 0;
            self.ready.push(Fragment { pc, lanes, activation, join: parent });
            released = true;
        }
        released
    }

    /// Whether lanes have arrived at some join and wait there.
    pub(super) fn has_arrivals(&self) -> bool {
        self.joins.iter().any(|join| join.expected != 0 && join.arrived != 0)
    }

    /// Lanes leave for good: nobody waits for them. Joins that waited for them only let the others go on.
    pub(super) fn forget(&mut self, lanes: u32) {
        for index in 0..self.joins.len() {
            let join = &mut self.joins[index];
            if join.expected & lanes == 0 {
                continue;
            }
            join.expected &= !lanes;
            if join.expected != 0 && join.arrived == join.expected {
                let Join { pc, activation, arrived, parent, .. } = *join;
                join.expected = 0;
                join.arrived = 0;
                self.ready.push(Fragment { pc, lanes: arrived, activation, join: parent });
            }
        }
    }

    /// A fragment returns from the function that it is in: joins within that it has not come to no longer expect it.
    /// The join that is left for it.
    pub(super) fn leave_joins(&mut self, fragment: &Fragment) -> u32 {
        let mut next = fragment.join;
        let mut open = Vec::new();
        while let Some(join) = self.joins.get_mut(next as usize)
            && join.activation == fragment.activation
            && join.pc != AT_RETURN
        {
            join.expected &= !fragment.lanes;
            open.push(next);
            next = join.parent;
        }
        for index in open {
            let join = &mut self.joins[index as usize];
            if join.expected != 0 && join.arrived == join.expected {
                let Join { pc, activation, arrived, parent, .. } = *join;
                join.expected = 0;
                join.arrived = 0;
                self.ready.push(Fragment { pc, lanes: arrived, activation, join: parent });
            }
        }
        next
    }

    /// A fragment goes on, together with any that is in the same place.
    pub(super) fn wake(&mut self, fragment: Fragment) {
        let same = |other: &&mut Fragment| {
            (other.pc, other.activation, other.join) == (fragment.pc, fragment.activation, fragment.join)
        };
        match self.ready.iter_mut().find(same) {
            Some(other) => other.lanes |= fragment.lanes,
            None => self.ready.push(fragment),
        }
    }

    /// Of this fragment and those in the same function that can go on too, the one that is furthest behind; the others
    /// wait, and those in one place become one.
    pub(super) fn furthest_behind(&mut self, mut fragment: Fragment) -> Fragment {
        let mut index = 0;
        while index < self.ready.len() {
            let other = self.ready[index];
            if (other.activation, other.join) == (fragment.activation, fragment.join) {
                if other.pc == fragment.pc {
                    fragment.lanes |= other.lanes;
                    self.ready.swap_remove(index);
                    continue;
                }
                if other.pc < fragment.pc {
                    self.ready[index] = fragment;
                    fragment = other;
                    // The new one may be where another is.
                    index = 0;
                    continue;
                }
            }
            index += 1;
        }
        fragment
    }

    /// The activation of a fragment.
    pub(super) fn activation(&mut self, index: u32) -> &mut Activation {
        self.activations[index as usize].as_mut().expect("fragments are in activations that have not ended")
    }

    /// An activation of a function, at a depth, that lanes may join; a new one from `frame` if there is none.
    pub(super) fn activate(
        &mut self,
        function: u32,
        depth: u32,
        lanes: u32,
        frame: impl FnOnce() -> Frame,
    ) -> u32 {
        let known = self.activations.iter_mut().position(|activation| {
            activation
                .as_ref()
                .is_some_and(|activation| (activation.function, activation.depth) == (function, depth))
        });
        if let Some(known) = known {
            self.activation(known as u32).lanes |= lanes;
            return known as u32;
        }
        let activation = Some(Activation { frame: frame(), function, depth, lanes });
        match self.activations.iter().position(Option::is_none) {
            Some(free) => {
                self.activations[free] = activation;
                free as u32
            }
            None => {
                self.activations.push(activation);
                self.activations.len() as u32 - 1
            }
        }
    }
}
