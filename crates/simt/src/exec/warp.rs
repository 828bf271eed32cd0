//! The scheduler of a warp: divergence of its lanes, and reconvergence at the immediate post-dominator.
//!
//! The 32 lanes of a warp share one instruction stream. Each instruction executes for the lanes of an *active mask*. A
//! branch whose condition differs between lanes makes the warp *diverge*: both sides execute, one after the other, each
//! with a part of the mask. Diverged lanes cost issue slots until they *reconverge*. Where they should is a question of
//! the control flow graph. The *post-dominators* of a branch are the instructions that every path from it to the
//! function's end passes, and the first of them, the *immediate post-dominator*, is the earliest point at which all of
//! its lanes are sure to meet. `ptx::cfg` computes it once for each branch.
//!
//! # Fragments and joins
//!
//! A [`Fragment`] is a set of lanes with one program counter (pc) in one [`Activation`], which is one call of a
//! function; its lanes are the active mask. A warp executes one fragment at a time. Its other lanes are *ready* on a
//! stack, wait for a barrier or a collective, or have arrived at a join. A branch that diverges opens a [`Join`] at its
//! immediate post-dominator, which expects the branch's lanes. A fragment that reaches the join's pc arrives there, and
//! once all expected lanes have, they go on as one fragment within the join's parent: joins nest as branches do. For
//! example, lanes 0 and 1 of four take the branch at 10:
//!
//! ```text
//! pc  instruction   active mask
//! 10  @%p bra 13    {0,1,2,3}   opens a join at 14 that expects {0,1,2,3}; {0,1} become ready at 13
//! 11  add           {2,3}
//! 12  bra 14        {2,3}       arrive at the join, {0,1} are missing: the next ready fragment runs
//! 13  sub           {0,1}       falls through to 14 and arrives: the join is complete and closes
//! 14  st            {0,1,2,3}
//! ```
//!
//! A loop is the same: its backward branch opens one join behind the loop ([`Warp::join_at`] reuses the join if the
//! branch diverges again), where lanes that leave early wait for the last. For example, lane n of four iterates n + 1
//! times: the masks are `{0,1,2,3}`, `{1,2,3}`, `{2,3}` and `{3}`, and the warp issues as much as its longest lane does.
//!
//! # How this differs from a reconvergence stack
//!
//! The usual model is a stack of (pc, reconvergence pc, active mask), as in Fung, Sham, Yuan and Aamodt, "Dynamic Warp
//! Formation and Scheduling for Efficient GPU Control Flow" (MICRO 2007), which takes the immediate post-dominator as
//! reconvergence point too. Only its top can execute. So it deadlocks where one side of a branch waits for the other,
//! as when one lane of a warp holds a lock for which another one spins. Since Volta, NVIDIA's GPUs schedule lanes
//! independently: every lane makes progress. Here joins are records that lanes refer to rather than a stack. A join can
//! release the lanes that it has before the others arrive ([`Warp::release_joins`]); these then execute the code behind
//! it as a fragment of their own. [`run`](super::run) decides when: if all other lanes wait, or if they have spun for
//! long enough in a loop that only an arrived lane can end.
//!
//! Lanes that exit are no longer expected by any join ([`Warp::forget`]), and lanes that return no longer by those of
//! the function that they leave ([`Warp::leave_joins`]). In a loop with several entries (an *irreducible* one) fragments
//! may pass each other without a join. There the fragment with the lowest pc executes first ([`Warp::furthest_behind`]),
//! so that the ones behind catch up and merge.

use super::frame::Frame;
use super::native::Left;
use super::step::{AT_RETURN, NOWHERE};

/// Lanes of a warp at one pc of one activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fragment {
    pub(super) pc: u32,
    pub(super) lanes: u32,
    /// Index of the lanes' activation among the warp's.
    pub(super) activation: u32,
    /// Index of the join where the lanes reconverge; [`NO_JOIN`] if there is none.
    pub(super) join: u32,
}

pub(super) const NO_JOIN: u32 = u32::MAX;

/// A reconvergence point of lanes that have diverged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Join {
    pub(super) pc: u32,
    pub(super) activation: u32,
    /// Lanes that diverged and have not left since; 0 if the join is free.
    pub(super) expected: u32,
    pub(super) arrived: u32,
    /// Join of the lanes before they diverged.
    pub(super) parent: u32,
    /// Nesting depth of the loop within which lanes reconverge; 0 for the immediate post-dominator. See [`Inside`](super::step::Inside).
    pub(super) depth: u32,
}

/// A call of a function that lanes of the warp are in.
pub(super) struct Activation {
    pub(super) frame: Frame,
    pub(super) function: u32,
    /// Call depth: 0 for the kernel.
    pub(super) depth: u32,
    /// Lanes in the activation; 0 once it has ended.
    pub(super) lanes: u32,
}

/// Lanes that wait for other threads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) fragment: Fragment,
    pub(super) wait: Wait,
}

/// Reason for which lanes wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// Lanes of this mask are to execute the same kind of collective: its index among the rare instructions.
    Collective { mask: u32, rare: u32 },
    /// Lanes of this mask are to reach a `bar.warp.sync`.
    WarpBarrier { mask: u32 },
    /// The block's barrier of this number is to complete.
    Barrier { number: u32, rare: u32 },
    /// This phase of the cluster's barrier is to complete.
    Cluster { phase: u64 },
}

/// State of one warp: its fragments, joins and activations.
#[derive(Default)]
pub(super) struct Warp {
    pub(super) has_begun: bool,
    /// Lanes that have not exited.
    pub(super) live: u32,
    /// Lanes at the start: fewer than 32 in a block's last warp.
    pub(super) lanes: u32,
    /// Fragments that can execute; the last one runs next.
    pub(super) ready: Vec<Fragment>,
    pub(super) waiting: Vec<Waiting>,
    joins: Vec<Join>,
    /// Activations by index; the entries of ended ones are reused.
    pub(super) activations: Vec<Option<Activation>>,
    /// Phase of the cluster's barrier at which its lanes last arrived, from 1.
    pub(super) cluster_phase: u64,
    /// Where compiled code has left the warp.
    pub(super) left: Left,
}

impl Warp {
    /// Starts all lanes as one fragment at `pc`.
    pub(super) fn begin(&mut self, lanes: u32, pc: u32, entry: Activation) {
        self.has_begun = true;
        self.live = lanes;
        self.lanes = lanes;
        self.ready.clear();
        self.waiting.clear();
        self.joins.clear();
        self.activations.clear();
        self.cluster_phase = 0;
        self.left = Left::No;
        self.ready.push(Fragment { pc, lanes, activation: 0, join: NO_JOIN });
        self.activations.push(Some(entry));
    }

    /// Marks a warp of 32 threads as ended that never had a fragment.
    pub(super) fn end_whole(&mut self) {
        self.has_begun = true;
        self.live = 0;
        self.lanes = u32::MAX;
        self.ready.clear();
        self.waiting.clear();
    }

    /// Returns the pc of a fragment's join if it lies in the fragment's activation, else [`NOWHERE`].
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

    /// Returns the join for lanes of a fragment that diverge here and reconverge at `meets`.
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
            depth: 0,
        })
    }

    /// Returns the innermost join for lanes of a fragment that diverge in loops. Lanes that leave one of these go on to the place
    /// where all meet, so it and those of the outer loops have to be there before the inner ones.
    pub(super) fn join_inside(&mut self, fragment: &Fragment, meets: &[(u32, u32)]) -> u32 {
        let mut innermost = *fragment;
        for &(pc, depth) in meets {
            let has = |join: &Join| join.activation == fragment.activation && join.pc == pc;
            if !self.joins_of(fragment.join).any(|join| has(&self.joins[join as usize])) {
                innermost.join = self.join_at(&innermost, pc);
                self.joins[innermost.join as usize].depth = depth;
            }
        }
        innermost.join
    }

    /// Returns a join and those around it.
    fn joins_of(&self, innermost: u32) -> impl Iterator<Item = u32> {
        let known = |join: u32| (join != NO_JOIN).then_some(join);
        std::iter::successors(known(innermost), move |join| known(self.joins[*join as usize].parent))
    }

    /// Takes a fragment that is behind a branch in loops off the joins of those that it has left: it is in `kept` of them.
    pub(super) fn leave_loops(&mut self, fragment: Fragment, kept: u32) -> Fragment {
        let is_left = |join: &Join| join.activation == fragment.activation && join.depth > kept;
        let left: Vec<u32> =
            self.joins_of(fragment.join).take_while(|join| is_left(&self.joins[*join as usize])).collect();
        let join = left.last().map_or(fragment.join, |last| self.joins[*last as usize].parent);
        self.unexpect(&left, fragment.lanes);
        Fragment { join, ..fragment }
    }

    /// Sets a fragment aside: it arrives if it is at its join, and becomes ready otherwise.
    pub(super) fn later(&mut self, fragment: Fragment) {
        if fragment.pc != NOWHERE && self.meeting_place(&fragment) == fragment.pc {
            self.joins[fragment.join as usize].arrived |= fragment.lanes;
        } else {
            self.ready.push(fragment);
        }
    }

    /// Counts a fragment at its join as arrived. Returns the fragment to go on with once all lanes are there.
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

    /// Makes the arrived lanes of all joins ready. Returns true if there were any.
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

    /// Returns true if lanes have arrived at a join and wait there.
    pub(super) fn has_arrivals(&self) -> bool {
        self.joins.iter().any(|join| join.expected != 0 && join.arrived != 0)
    }

    /// Removes exited lanes from all joins; joins that waited only for them complete.
    pub(super) fn forget(&mut self, lanes: u32) {
        let expecting = |index: &u32| self.joins[*index as usize].expected & lanes != 0;
        let joins: Vec<u32> = (0..self.joins.len() as u32).filter(expecting).collect();
        self.unexpect(&joins, lanes);
    }

    /// Removes a returning fragment from the joins of its function that it has not reached. Returns its next join, in
    /// the caller or at the function's return.
    pub(super) fn leave_joins(&mut self, fragment: &Fragment) -> u32 {
        let mut next = fragment.join;
        let mut open = Vec::new();
        while let Some(join) = self.joins.get(next as usize)
            && join.activation == fragment.activation
            && join.pc != AT_RETURN
        {
            open.push(next);
            next = join.parent;
        }
        self.unexpect(&open, fragment.lanes);
        next
    }

    /// Takes lanes off joins; those that waited only for them complete.
    fn unexpect(&mut self, joins: &[u32], lanes: u32) {
        for index in joins {
            let join = &mut self.joins[*index as usize];
            join.expected &= !lanes;
            if join.expected != 0 && join.arrived == join.expected {
                let Join { pc, activation, arrived, parent, .. } = *join;
                join.expected = 0;
                join.arrived = 0;
                self.ready.push(Fragment { pc, lanes: arrived, activation, join: parent });
            }
        }
    }

    /// Makes a fragment ready, merged with a ready one at the same pc.
    pub(super) fn wake(&mut self, fragment: Fragment) {
        let same = |other: &&mut Fragment| {
            (other.pc, other.activation, other.join) == (fragment.pc, fragment.activation, fragment.join)
        };
        match self.ready.iter_mut().find(same) {
            Some(other) => other.lanes |= fragment.lanes,
            None => self.ready.push(fragment),
        }
    }

    /// Picks the fragment with the lowest pc from `fragment` and the ready ones of its activation and join.
    ///
    /// The others stay ready, and fragments at one pc merge. Used in functions with irreducible loops, whose fragments
    /// would not otherwise meet before the loop's end.
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
                    // The new fragment may be at the pc of one that was passed over.
                    index = 0;
                    continue;
                }
            }
            index += 1;
        }
        fragment
    }

    /// Returns the activation of this index.
    pub(super) fn activation(&mut self, index: u32) -> &mut Activation {
        self.activations[index as usize].as_mut().expect("fragments are in activations that have not ended")
    }

    /// Returns the activation of a function at a depth and adds the lanes to it; creates it from `frame` if there is
    /// none.
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
