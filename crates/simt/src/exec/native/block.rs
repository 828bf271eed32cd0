//! Executes whole blocks by compiled code: warp after warp, from barrier to barrier.
//!
//! As long as all warps are whole and stop at nothing but barriers of the whole block, they need no fragments, no joins
//! and no lists of waiting lanes: a warp is ready, waits, or has ended ([`Stand`]). The order of the warps is the
//! interpreter's, which observers can see: a round goes through the warps, and one that completes a barrier goes on at
//! once. For example, with two warps and one barrier: warp 0 up to the barrier, warp 1 up to the barrier and behind it,
//! warp 0 behind it.
//!
//! When a warp stops elsewhere, all of the block is handed to the run loop, each warp in the state that the
//! interpreter would have it in.

use super::super::frame::Frame;
use super::super::run::{Runner, Stop};
use super::super::step::{Action, Rare};
use super::super::warp::Fragment;
use super::code::Native;
use super::context::stopped;
use super::enter::Left;
use crate::observe::Observer;

/// State of a warp.
#[derive(Clone, Copy)]
enum Stand {
    /// It executes this step next, an entry.
    Ready(u32),
    /// It waits at the barrier that is this step.
    Waiting(u32),
    Ended,
}

/// Outcome for a block.
pub(in super::super) enum Whole {
    /// All warps have ended.
    Ended,
    /// The run loop goes on, with the warp of this index.
    HandedOver(usize),
}

const MOST_WARPS: usize = 32;

impl<O: Observer> Runner<'_, O> {
    /// Executes a block that no warp has begun and all of whose warps are whole.
    pub(in super::super) fn whole_block(&mut self, native: &Native) -> Result<Whole, Stop> {
        self.prepare_compiled(native);
        self.lend_tallies(native);
        let count = self.block.warps.len();
        if !native.has_barriers() {
            return self.block_without_barriers(native);
        }
        for index in 0..count {
            self.take_frame(index);
        }
        let mut stands = [Stand::Ready(native.start_step()); MOST_WARPS];
        // Warps that wait, all at barriers of one number.
        let (mut waiting, mut number) = (0_u32, 0);
        let mut alive = self.block.alive;
        loop {
            for index in 0..count {
                let turn_ends = self.turn_ends();
                self.begin_pace();
                while let Stand::Ready(step) = stands[index] {
                    let is_start = step == native.start_step();
                    let entry = if is_start { Some(native.start()) } else { native.entry_at(step) };
                    let Some(entry) = entry else {
                        // The step behind a barrier is one that code leaves to the interpreter.
                        self.note_pace(index);
                        self.block.alive = alive;
                        self.hand_over(native, &stands[..count], None);
                        return Ok(Whole::HandedOver(index));
                    };
                    let frame = self.native.frames[index].as_mut().expect("taken above");
                    if is_start {
                        native.begin(frame);
                    }
                    let frame: *mut Frame = frame;
                    // SAFETY: the frame is the warp's alone, and the state is ready.
                    let (reason, pc) = unsafe { self.call_compiled(native, index, frame, entry, turn_ends) };
                    let barrier = if reason == stopped::BETWEEN { native.barrier_at(pc) } else { None };
                    match barrier {
                        _ if reason == stopped::ENDED => {
                            stands[index] = Stand::Ended;
                            alive &= !(1 << index);
                            self.counts.warp_ended();
                        }
                        Some(other) if waiting == 0 || other == number => {
                            number = other;
                            waiting |= 1 << index;
                            stands[index] = Stand::Waiting(pc);
                            self.counts.warp_instructions += 1;
                            self.counts.thread_instructions += 32;
                            if O::ISSUES {
                                self.observer.issue(self.at(index, pc), u32::MAX);
                            }
                        }
                        _ => {
                            self.block.alive = alive;
                            return self.stop_whole(native, &stands[..count], (index, reason, pc));
                        }
                    }
                    self.note_pace(index);
                    if waiting != 0 && waiting == alive {
                        self.pass_barrier(index);
                        self.report_barrier();
                        if O::SYNCHRONISATION {
                            self.observer.barrier(self.at(index, pc), number, u64::MAX);
                        }
                        for stand in &mut stands[..count] {
                            if let Stand::Waiting(pc) = *stand {
                                *stand = Stand::Ready(pc + 1);
                            }
                        }
                        waiting = 0;
                    }
                }
            }
            if alive == 0 {
                self.block.alive = 0;
                return Ok(Whole::Ended);
            }
        }
    }

    /// Does the same for code without barriers, where one frame serves all warps, one after the other.
    fn block_without_barriers(&mut self, native: &Native) -> Result<Whole, Stop> {
        let frame: *mut Frame = self.take_frame(0);
        // SAFETY: the frame is the block's alone, and the state is ready.
        let Some(stop) = (unsafe { self.call_for_all(native, frame) }) else {
            self.block.alive = 0;
            return Ok(Whole::Ended);
        };
        let mut stands = [Stand::Ready(native.start_step()); MOST_WARPS];
        stands[..stop.0].fill(Stand::Ended);
        self.block.alive &= u32::MAX << stop.0;
        self.stop_whole(native, &stands[..self.block.warps.len()], stop)
    }

    /// Returns the frame of this number, which is taken from the pool if it is not there.
    fn take_frame(&mut self, index: usize) -> &mut Frame {
        let function = self.context.launch.kernel.function;
        if self.native.frames.len() <= index {
            self.native.frames.resize_with(index + 1, || None);
        }
        let (pools, context) = (&mut *self.pools, self.context);
        self.native.frames[index].get_or_insert_with(|| pools.take(function, context))
    }

    /// Hands the block over where a warp has stopped, for a reason, before a step.
    #[cold]
    fn stop_whole(
        &mut self,
        native: &Native,
        stands: &[Stand],
        (index, reason, pc): (usize, u32, u32),
    ) -> Result<Whole, Stop> {
        self.note_pace(index);
        self.hand_over(native, stands, Some((index, reason, pc)));
        match reason {
            stopped::FAULT => Err(self.compiled_fault(index, pc)),
            _ => Ok(Whole::HandedOver(index)),
        }
    }

    /// Gives each warp the state that the interpreter would have it in. One of them may have `stopped`, for a reason, before
    /// a step.
    #[cold]
    fn hand_over(&mut self, native: &Native, stands: &[Stand], stopped: Option<(usize, u32, u32)>) {
        let single = !native.has_barriers();
        for (index, stand) in stands.iter().enumerate() {
            let (pc, left) = match *stand {
                Stand::Ended => {
                    self.block.warps[index].end_whole();
                    continue;
                }
                Stand::Ready(pc) => match stopped {
                    Some((stopped, _, stop)) if index == stopped => (stop, Left::At(stop)),
                    _ if pc == native.start_step() => continue,
                    _ => (pc, Left::Barrier(pc)),
                },
                Stand::Waiting(pc) => (pc, Left::Barrier(pc + 1)),
            };
            let frame = self.native.frames[if single { 0 } else { index }].take().expect("it is in use");
            self.activate(index, pc, frame);
            self.block.warps[index].left = left;
        }
        for (index, stand) in stands.iter().enumerate() {
            let Stand::Waiting(pc) = *stand else { continue };
            let program = self.context.program;
            let Action::Rare(rare) = program.steps[pc as usize].action else {
                unreachable!("barriers are rare instructions")
            };
            let Rare::Barrier(barrier) = &program.rare[rare as usize] else {
                unreachable!("the step is a barrier")
            };
            let mut fragment: Fragment = self.block.warps[index].ready.pop().expect("it has just begun");
            // It has been counted, and faults on no plain barrier.
            let _ = self.barrier(index, &mut fragment, rare, barrier, u32::MAX);
        }
        if let Some((index, reason, stop)) = stopped {
            self.expand_stopped(native, index, (reason, stop));
        }
    }
}
