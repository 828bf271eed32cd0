//! Executes the barriers of a block; that of a cluster is in [`cluster`](super::cluster).
//!
//! A block has 16 barriers. Threads *arrive* at one and, with `bar.sync` and `bar.red`, wait until it *completes*;
//! `bar.arrive` goes on at once, as the producer in a producer-consumer pair does (PTX ISA 9.0, "Parallel
//! Synchronization and Communication Instructions: bar, barrier"). A barrier completes when every live warp has
//! arrived, or as many warps as the threads that the instruction names make up. A warp has arrived when all of its live
//! lanes have, at whatever instructions, as barriers are per thread from Volta on. Lanes that wait are set aside as
//! fragments and become ready when the barrier completes. A warp that exits is no longer waited for.
//!
//! For example, two warps meet at `bar.sync 0` at pc 20. Lanes 0 to 15 of warp 1 have taken a branch, whose side has a
//! `bar.sync 0` of its own, at pc 12:
//!
//! ```text
//!                                      arrived by warp               full
//! warp 0 at pc 20, all 32 lanes        {0..32}  {}                   {0}      warp 0 waits
//! warp 1 at pc 12, lanes 0..16         {0..32}  {0..16}              {0}      these lanes wait, the others go on
//! warp 1 at pc 20, lanes 16..32        {0..32}  {0..16} + {16..32}   {0, 1}   complete: ready at 21, 13 and 21
//! ```
//!
//! The kernel goes on, but the PTX ISA leaves undefined what lanes of one warp do that come to an aligned barrier
//! (`bar.sync`) from different instructions. So observers are told of the divergent warp ([`Misuse::DivergentWarp`]).

use super::block::BARRIERS;
use super::frame::{lanes_of, read_lane, write_lane};
use super::run::{Next, Runner, Stop};
use super::step::{Barrier, BarrierKind, Rare};
use super::warp::{Fragment, Wait, Waiting};
use crate::fault::FaultKind;
use crate::observe::{Misuse, Observer};

/// Barrier number that observers see for the cluster's barrier, one past those of the block.
pub(super) const CLUSTER: u32 = BARRIERS as u32;

impl<O: Observer> Runner<'_, O> {
    /// Executes `bar` and `barrier` for the lanes of a mask that is not empty.
    pub(super) fn barrier(
        &mut self,
        index: usize,
        fragment: &mut Fragment,
        rare: u32,
        barrier: &Barrier,
        mask: u32,
    ) -> Result<Next, Stop> {
        let pc = fragment.pc;
        let cells = self.block.warps[index].activation(fragment.activation).frame.cells();
        // SAFETY: the slots are columns of the function that the lanes are in.
        let of = |slot, lane| unsafe { read_lane(cells, slot, lane) } as u32;
        let first = mask.trailing_zeros();
        let illegal = |what: String| Err(self.fault(index, pc, first, FaultKind::Illegal(what)));
        let number = of(barrier.number, first as usize);
        if number as usize >= BARRIERS {
            return illegal(format!(
                "barrier {number} does not exist: a block has {BARRIERS}, numbered from 0"
            ));
        }
        let threads = barrier.threads.map(|slot| of(slot, first as usize));
        if let Some(threads) = threads.filter(|threads| *threads == 0 || !threads.is_multiple_of(32)) {
            return illegal(format!(
                "barrier {number} for {threads} threads: the number must be a multiple of 32, and not 0"
            ));
        }
        let differs = |lane: &usize| {
            of(barrier.number, *lane) != number || barrier.threads.map(|slot| of(slot, *lane)) != threads
        };
        if lanes_of(mask).any(|lane| differs(&lane)) {
            return illegal("lanes of one warp execute one instruction with different barriers".to_owned());
        }
        let warp = &mut self.block.warps[index];
        let state = &mut self.block.barriers[number as usize];
        self.block.in_use |= 1 << number;
        if state.arrived[index] == 0 {
            state.there[index] = warp.live;
        }
        state.arrived[index] |= mask;
        state.threads = threads;
        if let BarrierKind::Reduce { source, negated, .. } = barrier.kind {
            // SAFETY: as above.
            let truth = unsafe { *source.predicate(cells) } ^ if negated { u32::MAX } else { 0 };
            state.count += (truth & mask).count_ones();
            state.all &= truth & mask == mask;
            state.any |= truth & mask != 0;
        }
        let next = if let BarrierKind::Arrive = barrier.kind {
            fragment.pc += 1;
            Next::Go
        } else {
            let join = self.set_aside(index, fragment, mask);
            let waiting = Fragment { lanes: mask, join, ..*fragment };
            let wait = Wait::Barrier { number, rare };
            self.block.warps[index].waiting.push(Waiting { fragment: waiting, wait });
            Next::Other
        };
        self.check_barriers(index, pc);
        Ok(next)
    }

    /// Completes the barriers for which all awaited threads have arrived, after a change in this warp.
    pub(super) fn check_barriers(&mut self, index: usize, pc: u32) {
        let mut open = self.block.in_use;
        while open != 0 {
            let number = open.trailing_zeros();
            open &= open - 1;
            let live = self.block.warps[index].live;
            let state = &mut self.block.barriers[number as usize];
            if state.arrived[index] & live == live && state.arrived[index] != 0 {
                state.full |= 1 << index;
            }
            if state.is_complete(self.block.alive) {
                self.open_barrier(number, index, pc);
            }
        }
        self.check_cluster();
    }

    fn open_barrier(&mut self, number: u32, index: usize, pc: u32) {
        self.report_barrier();
        let program = self.context.program;
        let block = self.block.index;
        let state = &mut self.block.barriers[number as usize];
        let (full, is_for_all) = (state.full, state.threads.is_none());
        for (warp, index) in self.block.warps.iter_mut().zip(0..) {
            if full >> index & 1 == 0 || !warp.has_begun {
                continue;
            }
            let is_it = |wait: &Wait| matches!(wait, Wait::Barrier { number: other, .. } if *other == number);
            let here = warp.waiting.iter().filter(|waiting| is_it(&waiting.wait));
            let mut here = here.map(|waiting| waiting.fragment);
            let Some(first) = here.next() else { continue };
            // Lanes that came by another instruction, and lanes that exited after the others had arrived.
            let elsewhere =
                here.filter(|other| other.pc != first.pc).fold(0, |lanes, other| lanes | other.lanes)
                    | state.there[index as usize] & !state.arrived[index as usize];
            let mut is_aligned = false;
            let mut waiting = std::mem::take(&mut warp.waiting);
            waiting.retain(|Waiting { fragment, wait }| {
                let Wait::Barrier { rare, .. } = wait else { return true };
                if !is_it(wait) {
                    return true;
                }
                if let Rare::Barrier(barrier) = &program.rare[*rare as usize] {
                    is_aligned |= barrier.is_aligned;
                    if let BarrierKind::Reduce { combine, result, .. } = barrier.kind {
                        let bits = state.combined(combine);
                        let frame = &mut warp.activation(fragment.activation).frame;
                        for lane in lanes_of(fragment.lanes) {
                            // SAFETY: the column is one of the function that the lanes are in.
                            unsafe { write_lane(frame.cells(), result, lane, bits) };
                        }
                        if O::REGISTERS {
                            frame.undefined[result.cell as usize / 8] &= !fragment.lanes;
                        }
                    }
                }
                warp.wake(Fragment { pc: fragment.pc + 1, ..*fragment });
                false
            });
            // Back to where its room is used again.
            warp.waiting = waiting;
            if elsewhere != 0 && is_aligned {
                let at = crate::observe::At::new(block, index, crate::observe::Site(first.pc));
                self.observer.misuse(at, Misuse::DivergentWarp { elsewhere });
            }
        }
        if is_for_all {
            self.pass_barrier(index);
        }
        if O::SYNCHRONISATION {
            let warps = if is_for_all { u64::MAX } else { u64::from(full) };
            self.observer.barrier(self.at(index, pc), number, warps);
        }
        self.block.barriers[number as usize].reset();
        self.block.in_use &= !(1 << number);
    }
}
