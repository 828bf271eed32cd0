//! Executes `.sync` instructions: lanes of a warp wait for the members of a mask.
//!
//! Each waiting lane names the lanes that it waits for in its *member mask*. A group executes once all live members wait
//! with the same mask, at one instruction or at different ones that do the same ([`Runner::meet`]), as Volta's rules
//! allow: the PTX ISA (9.0, "shfl.sync") asks for the same qualifiers and the same mask, not for the same instruction. For
//! example, lanes 0 to 15 are on one side of a branch and lanes 16 to 31 on the other:
//!
//! ```text
//! pc  instruction                                active mask
//! 5   shfl.sync.bfly.b32 %r1, %r2, 16, 31, -1    lanes 0..16    wait: members 16..32 are missing
//! 9   shfl.sync.bfly.b32 %r3, %r4, 16, 31, -1    lanes 16..32   all members wait: the 32 lanes exchange, lanes 0..16
//!                                                               with %r2 and %r1, the others with %r4 and %r3
//! ```
//!
//! Afterwards both fragments are ready, at 6 and at 10. With the masks 0xffff and 0xffff0000 neither would have waited.
//! Members that have exited are not waited for, but reported as misuse, and so are callers that their own mask leaves
//! out.

use super::frame::{lanes_of, read_lane, write_lane};
use super::run::{Next, Runner, Stop};
use super::step::Rare;
use super::warp::{Fragment, Wait, Waiting};
use crate::alu::Collective;
use crate::observe::{At, Misuse, Observer};
use crate::ptx::op::Op;
use crate::registers::{Cell, Slot};

impl<O: Observer> Runner<'_, O> {
    /// Tells the observer how many values a `match.any` has found among the lanes of a mask.
    pub(super) fn tell_matches(&mut self, at: At, collective: &Collective, cells: *mut Cell, mask: u32) {
        if !O::ACCESSES
            || !matches!(self.context.program.sites()[at.site().0 as usize].op, Op::Match { all: false, .. })
        {
            return;
        }
        let Some(result) = collective.results().next() else { return };
        // SAFETY: the column is one of the frame that the instruction has just written.
        let words = unsafe { &*result.words(cells) };
        // A value's first lane finds none before it.
        let values = lanes_of(mask).filter(|lane| words[*lane] & ((1 << lane) - 1) == 0).count();
        self.observer.matched(at, values as u32);
    }

    /// Executes a value exchange, such as `shfl.sync`, for the lanes of a mask that is not empty.
    pub(super) fn collective(
        &mut self,
        index: usize,
        fragment: &mut Fragment,
        rare: u32,
        collective: &Collective,
        constant: Option<u32>,
        mask: u32,
    ) -> Result<Next, Stop> {
        let pc = fragment.pc;
        let cells = self.block.warps[index].activation(fragment.activation).frame.cells();
        let Some(members) = collective.member_mask else {
            // SAFETY: the frame is of the function that the instruction was decoded for.
            unsafe { (collective.run)(cells, &collective.slots, mask) };
            self.tell_matches(self.at(index, pc), collective, cells, mask);
            if O::REGISTERS {
                self.after(index, fragment.activation, pc, mask);
            }
            fragment.pc += 1;
            return Ok(Next::Go);
        };
        if let Some(members) = uniform(cells, members, constant, mask)
            && members & self.block.warps[index].live & !mask == 0
        {
            self.check_members(index, pc, members, mask);
            // SAFETY: as above.
            unsafe { (collective.run)(cells, &collective.slots, mask) };
            self.tell_matches(self.at(index, pc), collective, cells, mask);
            if O::WARP_BARRIERS {
                self.observer.warp_barrier(self.at(index, pc), mask);
            }
            if O::REGISTERS {
                self.after(index, fragment.activation, pc, mask);
            }
            fragment.pc += 1;
            return Ok(Next::Go);
        }
        self.wait_for_members(index, fragment, mask, members, constant, |mask| Wait::Collective {
            mask,
            rare,
        })?;
        Ok(Next::Other)
    }

    /// Executes `bar.warp.sync` for the lanes of a mask that is not empty.
    pub(super) fn warp_barrier(
        &mut self,
        index: usize,
        fragment: &mut Fragment,
        members: Slot,
        constant: Option<u32>,
        mask: u32,
    ) -> Result<Next, Stop> {
        let cells = self.block.warps[index].activation(fragment.activation).frame.cells();
        if let Some(members) = uniform(cells, members, constant, mask)
            && members & self.block.warps[index].live & !mask == 0
        {
            self.check_members(index, fragment.pc, members, mask);
            if O::WARP_BARRIERS {
                self.observer.warp_barrier(self.at(index, fragment.pc), mask);
            }
            fragment.pc += 1;
            return Ok(Next::Go);
        }
        self.wait_for_members(index, fragment, mask, members, constant, |mask| Wait::WarpBarrier { mask })?;
        Ok(Next::Other)
    }

    /// Reports misuse of a member mask: callers that are not in it, and members that have exited.
    fn check_members(&mut self, index: usize, pc: u32, members: u32, callers: u32) {
        let outside = callers & !members;
        let warp = &self.block.warps[index];
        let missing = members & warp.lanes & !warp.live;
        if outside != 0 {
            self.observer.misuse(self.at(index, pc), Misuse::NotInMask { mask: members, callers: outside });
        }
        if missing != 0 {
            self.observer.misuse(self.at(index, pc), Misuse::NeverArrive { mask: members, missing });
        }
    }

    /// Sets lanes aside by their member masks, then executes the groups that are complete.
    fn wait_for_members(
        &mut self,
        index: usize,
        fragment: &Fragment,
        mask: u32,
        members: Slot,
        constant: Option<u32>,
        wait: impl Fn(u32) -> Wait,
    ) -> Result<(), Stop> {
        let cells = self.block.warps[index].activation(fragment.activation).frame.cells();
        let of = |lane: usize| {
            // SAFETY: the column is one of the function that the lanes are in.
            constant.unwrap_or_else(|| unsafe { read_lane(cells, members, lane) } as u32)
        };
        let mut groups: Vec<(u32, u32)> = Vec::new();
        for lane in lanes_of(mask) {
            match groups.iter_mut().find(|(members, _)| *members == of(lane)) {
                Some((_, lanes)) => *lanes |= 1 << lane,
                None => groups.push((of(lane), 1 << lane)),
            }
        }
        let warp = &mut self.block.warps[index];
        let others = fragment.lanes & !mask;
        // Lanes that go on first wait for the others behind the instruction.
        let join = if groups.len() > 1 || others != 0 {
            warp.join_at(fragment, fragment.pc + 1)
        } else {
            fragment.join
        };
        if others != 0 {
            warp.later(Fragment { pc: fragment.pc + 1, lanes: others, join, ..*fragment });
        }
        for (members, lanes) in groups {
            let fragment = Fragment { lanes, join, ..*fragment };
            warp.waiting.push(Waiting { fragment, wait: wait(members) });
        }
        self.settle(index)
    }

    /// Executes all groups whose members all wait.
    pub(super) fn settle(&mut self, index: usize) -> Result<(), Stop> {
        let mut from = 0;
        while let Some(first) = self.block.warps[index].waiting.get(from).copied() {
            let (Wait::Collective { mask: members, .. } | Wait::WarpBarrier { mask: members }) = first.wait
            else {
                from += 1;
                continue;
            };
            let warp = &self.block.warps[index];
            let waiting = warp.waiting.iter().filter(|other| self.meet(&first, other));
            let lanes = waiting.fold(0, |lanes, other| lanes | other.fragment.lanes);
            if members & warp.live & !lanes != 0 {
                from += 1;
                continue;
            }
            let mut together = Vec::new();
            let all = std::mem::take(&mut self.block.warps[index].waiting);
            for other in all {
                if self.meet(&first, &other) {
                    together.push(other.fragment);
                } else {
                    self.block.warps[index].waiting.push(other);
                }
            }
            self.check_members(index, first.fragment.pc, members, lanes);
            if let Wait::Collective { rare, .. } = first.wait
                && let Rare::Collective(collective, _) = &self.context.program.rare[rare as usize]
            {
                self.exchange(index, collective, &together);
            }
            if O::WARP_BARRIERS {
                self.observer.warp_barrier(self.at(index, first.fragment.pc), lanes);
            }
            for fragment in together {
                if O::REGISTERS && matches!(first.wait, Wait::Collective { .. }) {
                    self.after(index, fragment.activation, fragment.pc, fragment.lanes);
                }
                self.block.warps[index].wake(Fragment { pc: fragment.pc + 1, ..fragment });
            }
            from = 0;
        }
        Ok(())
    }

    /// Returns true if two groups meet: they have the same mask, and both are at warp barriers, wherever, or at
    /// equivalent collectives.
    fn meet(&self, one: &Waiting, other: &Waiting) -> bool {
        match (one.wait, other.wait) {
            (Wait::WarpBarrier { mask }, Wait::WarpBarrier { mask: others }) => mask == others,
            (Wait::Collective { mask, rare }, Wait::Collective { mask: others, rare: other_rare }) => {
                let same_place = rare == other_rare || self.are_alike(rare, other_rare);
                mask == others && same_place && one.fragment.activation == other.fragment.activation
            }
            _ => false,
        }
    }

    fn are_alike(&self, one: u32, other: u32) -> bool {
        let rare = &self.context.program.rare;
        let (Rare::Collective(one, _), Rare::Collective(other, _)) =
            (&rare[one as usize], &rare[other as usize])
        else {
            return false;
        };
        let widths = |slots: &mut dyn Iterator<Item = Slot>| slots.map(|slot| slot.width).collect::<Vec<_>>();
        std::ptr::fn_addr_eq(one.run, other.run)
            && one.slots.config == other.slots.config
            && widths(&mut one.sources()) == widths(&mut other.sources())
            && widths(&mut one.results()) == widths(&mut other.results())
    }

    /// Executes a collective for fragments of one activation that are at it or at equivalent ones.
    fn exchange(&mut self, index: usize, collective: &Collective, fragments: &[Fragment]) {
        let Some(first) = fragments.first() else { return };
        let cells = self.block.warps[index].activation(first.activation).frame.cells();
        let own: Vec<Slot> = collective.sources().chain(collective.results()).collect();
        let mut saved = Vec::new();
        let mut results = Vec::new();
        // Fragments at another instruction copy their operands to the first one's columns and take their results from
        // there.
        for fragment in fragments {
            let Some(theirs) = self.collective_at(fragment.pc) else { continue };
            let slots: Vec<Slot> = theirs.sources().chain(theirs.results()).collect();
            if slots == own {
                continue;
            }
            for lane in lanes_of(fragment.lanes) {
                // SAFETY: all columns are of the function that the frame is of.
                unsafe {
                    saved.extend(own.iter().map(|slot| (*slot, lane, read_lane(cells, *slot, lane))));
                    let operands: Vec<u128> =
                        theirs.sources().map(|slot| read_lane(cells, slot, lane)).collect();
                    let targets = collective.sources();
                    targets.zip(operands).for_each(|(slot, bits)| write_lane(cells, slot, lane, bits));
                }
            }
            results.push((collective.results().zip(theirs.results()).collect::<Vec<_>>(), fragment.lanes));
        }
        let lanes = fragments.iter().fold(0, |lanes, fragment| lanes | fragment.lanes);
        // SAFETY: as above.
        unsafe {
            (collective.run)(cells, &collective.slots, lanes);
            let given: Vec<(Slot, usize, u128)> = results
                .iter()
                .flat_map(|(pairs, lanes)| {
                    lanes_of(*lanes).flat_map(move |lane| {
                        pairs.iter().map(move |(from, to)| (*to, lane, read_lane(cells, *from, lane)))
                    })
                })
                .collect();
            // A column may have been saved twice, as source and as result, with the same bits.
            saved.into_iter().for_each(|(slot, lane, bits)| write_lane(cells, slot, lane, bits));
            given.into_iter().for_each(|(slot, lane, bits)| write_lane(cells, slot, lane, bits));
        }
    }

    fn collective_at(&self, pc: u32) -> Option<&Collective> {
        let program = self.context.program;
        match &program.steps[pc as usize].action {
            super::step::Action::Rare(rare) => match &program.rare[*rare as usize] {
                Rare::Collective(collective, _) => Some(collective),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Returns the member mask if all lanes of `mask` have the same one.
fn uniform(cells: *mut Cell, members: Slot, constant: Option<u32>, mask: u32) -> Option<u32> {
    if constant.is_some() {
        return constant;
    }
    // SAFETY: the caller's column is one of the function that the frame is of.
    let of = |lane| unsafe { read_lane(cells, members, lane) } as u32;
    let first = of(mask.trailing_zeros() as usize);
    lanes_of(mask).all(|lane| of(lane) == first).then_some(first)
}
