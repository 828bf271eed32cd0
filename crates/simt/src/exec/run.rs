//! The heart: a warp executes steps until it waits, ends, or has had its turn.

use std::time::Duration;

use super::block::Block;
use super::context::Context;
use super::frame::{Frame, load_parameter};
use super::patience::Patience;
use super::step::{AT_RETURN, Action, Branch, Rare};
use super::warp::{Activation, Fragment};
use crate::fault::{Fault, FaultKind};
use crate::memory::{Environment, LookupCache, Progress};
use crate::observe::{At, Observer, Site};

/// Frames that are not in use, by function.
#[derive(Default)]
pub(super) struct Pools {
    frames: Vec<Vec<Frame>>,
}

/// What a worker has executed.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) warp_instructions: u64,
    pub(super) thread_instructions: u64,
    /// Cycles slept.
    pub(super) slept: u64,
    /// `warp_instructions` when one of its warps last came to its end.
    last_end: u64,
    patience: Patience,
}

/// Why a warp stops for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    /// All its lanes have left.
    Ended,
    /// All its lanes wait for other warps.
    Blocked,
    /// It goes round a loop that others may have to end.
    Spinning,
    /// It has had its turn.
    Tired,
}

/// Why a block stops for good.
#[derive(Debug)]
pub(super) enum Stop {
    Fault(Box<Fault>),
    /// A block before it has failed.
    Cancelled,
}

/// How a fragment goes on after a rare instruction.
pub(super) enum Next {
    /// From its new place.
    Go,
    /// It is not there any more: the warp's next goes on.
    Other,
    /// Other warps first: it waits for something that they may do.
    Yield,
}

/// Rounds of loops that may wait for others before others get their turn.
const SPINS: u32 = 64;

/// Instructions before others get their turn in any case. So long do lanes that left a loop wait at its end for those
/// that are still in it, where nothing in the loop looks as if these waited for them.
const TURN: u64 = 1 << 24;

/// Whoever executes the warps of a block.
pub(super) struct Runner<'w, O: Observer> {
    pub(super) context: &'w Context<'w>,
    pub(super) pools: &'w mut Pools,
    pub(super) cache: &'w mut LookupCache,
    pub(super) counts: &'w mut Counts,
    pub(super) block: &'w mut Block,
    pub(super) observer: &'w mut O,
    /// Says whether to give up, when asked now and then.
    pub(super) is_cancelled: &'w dyn Fn() -> bool,
}

impl Pools {
    /// A frame for a function, with what does not change during a launch.
    pub(super) fn take(&mut self, function: u32, context: &Context<'_>) -> Frame {
        let index = function as usize;
        if self.frames.len() <= index {
            self.frames.resize_with(index + 1, Vec::new);
        }
        self.frames[index].pop().unwrap_or_else(|| {
            let code = context.program.function(function).expect("only functions with code are entered");
            Frame::new(code, context)
        })
    }

    pub(super) fn give_back(&mut self, function: u32, frame: Frame) {
        self.frames[function as usize].push(frame);
    }
}

impl<O: Observer> Runner<'_, O> {
    /// Executes a warp until it pauses.
    pub(super) fn warp(&mut self, index: usize) -> Result<Pause, Stop> {
        #[cfg(target_arch = "x86_64")]
        if self.context.program.level == crate::decode::Level::Avx2 {
            // SAFETY: the computer has what the level stands for.
            return unsafe { self.warp_avx2(index) };
        }
        self.warp_at_any_level(index)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn warp_avx2(&mut self, index: usize) -> Result<Pause, Stop> {
        self.warp_at_any_level(index)
    }

    #[inline(always)]
    fn warp_at_any_level(&mut self, index: usize) -> Result<Pause, Stop> {
        if !self.block.warps[index].has_begun {
            self.begin(index);
        }
        let program = self.context.program;
        let steps = program.steps.as_slice();
        let block = self.block.index;
        let limit = self.context.launch.instruction_limit;
        let limit = limit.map_or(u64::MAX, |limit| self.counts.last_end.saturating_add(limit));
        let turn_ends = (self.counts.warp_instructions + TURN).min(limit);
        let mut spins = 0;
        'fragments: loop {
            let Some(mut fragment) = self.next(index) else {
                return Ok(if self.block.warps[index].live == 0 { Pause::Ended } else { Pause::Blocked });
            };
            'fragment: loop {
                // Whatever is done about the fragment as a whole begins anew here.
                let warp = &mut self.block.warps[index];
                let frame = warp.activation(fragment.activation).frame.cells();
                let meeting_place = warp.meeting_place(&fragment);
                let lanes = fragment.lanes;
                let mut pc = fragment.pc;
                loop {
                    if pc == meeting_place {
                        fragment.pc = pc;
                        match self.block.warps[index].arrive(fragment) {
                            Some(together) if together.pc == AT_RETURN => {
                                let Some(back) = self.come_back(index, together) else { continue 'fragments };
                                fragment = back;
                                continue 'fragment;
                            }
                            Some(together) => {
                                // All are out of the loop that they may have gone round.
                                spins = 0;
                                fragment = together;
                                continue 'fragment;
                            }
                            None => continue 'fragments,
                        }
                    }
                    let step = &steps[pc as usize];
                    // SAFETY: guards are predicates of the function that the frame is of.
                    let guard = unsafe { *frame.add(step.guard as usize).cast::<u32>() } ^ step.flip;
                    let mask = lanes & guard;
                    self.counts.warp_instructions += 1;
                    self.counts.thread_instructions += u64::from(mask.count_ones());
                    if O::ISSUES {
                        self.observer.issue(At { block, warp: index as u32, site: Site(pc) }, mask);
                    }
                    if O::REGISTERS {
                        self.before(index, &fragment, pc, mask);
                    }
                    match &step.action {
                        Action::Arithmetic(arithmetic) => {
                            // SAFETY: the frame is of the function that the instruction was decoded for.
                            unsafe { (arithmetic.run)(frame, &arithmetic.slots, mask) };
                            if O::REGISTERS {
                                self.after(index, fragment.activation, pc, mask);
                            }
                            pc += 1;
                        }
                        Action::Parameter(load) => {
                            // SAFETY: as above; the offset was checked when it was decoded.
                            unsafe { load_parameter(frame, load, self.context.launch.parameters, mask) };
                            if O::REGISTERS {
                                self.after(index, fragment.activation, pc, mask);
                            }
                            pc += 1;
                        }
                        Action::Memory(instruction) => {
                            let instruction = &program.memory[*instruction as usize];
                            let at = At { block, warp: index as u32, site: Site(pc) };
                            let entry = self.block.warps[index].activation(0);
                            let mut environment = Environment {
                                memory: self.context.memory,
                                shared: &mut self.block.shared,
                                local: &mut entry.frame.local,
                                cache: &mut *self.cache,
                                observer: &mut *self.observer,
                                at,
                                undefined: 0,
                            };
                            // SAFETY: as above.
                            let outcome = unsafe { instruction.execute(frame, mask, &mut environment) };
                            let undefined = environment.undefined;
                            if O::REGISTERS {
                                self.loaded(index, &fragment, pc, mask, undefined);
                            }
                            match outcome {
                                Ok(Progress::Done) => pc += 1,
                                Ok(Progress::Wait) => {
                                    fragment.pc = pc + 1;
                                    if self.give_way(index, fragment, false)? {
                                        return Ok(Pause::Spinning);
                                    }
                                    continue 'fragments;
                                }
                                Err(fault) => return Err(self.fault(index, pc, fault.lane, fault.kind)),
                            }
                        }
                        Action::Branch(branch) => {
                            let mut is_new = false;
                            if !branch.is_guarded {
                                pc = branch.target;
                            } else {
                                let go_on = lanes & !mask;
                                if O::BRANCHES {
                                    let at = At { block, warp: index as u32, site: Site(pc) };
                                    self.observer.branch(at, mask, go_on);
                                }
                                if go_on == 0 {
                                    pc = branch.target;
                                } else if mask == 0 {
                                    spins = if branch.spins { 0 } else { spins };
                                    pc += 1;
                                    continue;
                                } else {
                                    fragment.pc = pc;
                                    fragment = self.part(index, fragment, branch, mask);
                                    pc = fragment.pc;
                                    is_new = true;
                                }
                            }
                            if branch.is_backward {
                                spins += u32::from(branch.spins);
                                if self.counts.warp_instructions >= turn_ends || spins >= SPINS {
                                    fragment.pc = pc;
                                    if self.counts.warp_instructions >= limit {
                                        return Err(self.endless(index, pc));
                                    }
                                    if self.give_way(index, fragment, true)? {
                                        return Ok(if spins >= SPINS {
                                            Pause::Spinning
                                        } else {
                                            Pause::Tired
                                        });
                                    }
                                    spins = 0;
                                    continue 'fragments;
                                }
                            }
                            if branch.is_tangled && !self.block.warps[index].ready.is_empty() {
                                fragment.pc = pc;
                                fragment = self.block.warps[index].furthest_behind(fragment);
                                is_new = true;
                            }
                            if is_new {
                                continue 'fragment;
                            }
                        }
                        Action::Rare(rare) => {
                            fragment.pc = pc;
                            match self.rare(index, &mut fragment, *rare, mask)? {
                                Next::Go => {}
                                Next::Other => continue 'fragments,
                                Next::Yield => return Ok(Pause::Spinning),
                            }
                            if self.counts.warp_instructions >= turn_ends {
                                if self.counts.warp_instructions >= limit {
                                    return Err(self.endless(index, pc));
                                }
                                if self.give_way(index, fragment, true)? {
                                    return Ok(Pause::Tired);
                                }
                                continue 'fragments;
                            }
                            continue 'fragment;
                        }
                    }
                }
            }
        }
    }

    fn begin(&mut self, index: usize) {
        let context = self.context;
        let function = context.launch.kernel.function;
        let code = context.program.function(function).expect("kernels have code");
        let mut frame = self.pools.take(function, context);
        frame.begin(code, context, self.block.index, index as u32);
        if O::REGISTERS {
            frame.track(code);
        }
        let lanes = context.lanes(index as u32);
        let entry = Activation { frame, function, depth: 0, lanes };
        self.block.warps[index].begin(lanes, code.first, entry);
    }

    /// The fragment that goes on; none: all lanes have left or wait for other warps.
    fn next(&mut self, index: usize) -> Option<Fragment> {
        loop {
            let warp = &mut self.block.warps[index];
            if let Some(fragment) = warp.ready.pop() {
                let fragment = match warp.arrive(fragment) {
                    Some(fragment) if fragment.pc == AT_RETURN => self.come_back(index, fragment),
                    other => other,
                };
                if fragment.is_some() {
                    return fragment;
                }
            } else if !warp.release_joins() {
                return None;
            }
        }
    }

    /// A branch that some lanes take and others do not: the fragment that goes on now.
    #[inline(never)]
    fn part(&mut self, index: usize, fragment: Fragment, branch: &Branch, jump: u32) -> Fragment {
        let warp = &mut self.block.warps[index];
        let join = warp.join_at(&fragment, branch.meets);
        let jumping = Fragment { pc: branch.target, lanes: jump, join, ..fragment };
        let going_on = Fragment { pc: fragment.pc + 1, lanes: fragment.lanes & !jump, join, ..fragment };
        // Who only leaves does so first, as on the hardware; else the text's order.
        let leaves = |pc: u32| {
            let program = self.context.program;
            let step = &program.steps[pc as usize];
            step.guard == 0
                && matches!(step.action, Action::Rare(rare) if matches!(program.rare[rare as usize], Rare::Exit))
        };
        let (now, later) = if branch.target == branch.meets {
            (going_on, jumping)
        } else if fragment.pc + 1 == branch.meets || leaves(branch.target) {
            (jumping, going_on)
        } else {
            (going_on, jumping)
        };
        warp.later(later);
        now
    }

    /// A fragment has had its turn, or does not expect to get any further. Whether other warps come first; if not,
    /// other fragments of this one do.
    pub(super) fn give_way(&mut self, index: usize, fragment: Fragment, release: bool) -> Result<bool, Stop> {
        if (self.is_cancelled)() {
            return Err(Stop::Cancelled);
        }
        self.endure(index, fragment.pc)?;
        let warp = &mut self.block.warps[index];
        if release && warp.has_arrivals() {
            warp.release_joins();
        }
        let is_alone = warp.ready.is_empty();
        // The last one is the next to go on: this one comes after all others.
        warp.ready.insert(0, fragment);
        Ok(is_alone)
    }

    /// The warp has no lanes left.
    pub(super) fn end(&mut self, index: usize) {
        let warp = &mut self.block.warps[index];
        for activation in warp.activations.drain(..).flatten() {
            self.pools.give_back(activation.function, activation.frame);
        }
        self.block.alive &= !(1 << index);
        self.counts.last_end = self.counts.warp_instructions;
        self.counts.patience.warp_ended();
    }

    pub(super) fn at(&self, index: usize, pc: u32) -> At {
        At { block: self.block.index, warp: index as u32, site: Site(pc) }
    }

    /// Something went wrong in a lane.
    #[cold]
    pub(super) fn fault(&self, index: usize, pc: u32, lane: u32, kind: FaultKind) -> Stop {
        Stop::Fault(Box::new(Fault {
            kind,
            site: Site(pc),
            block: self.context.block(self.block.index),
            thread: self.context.thread(index as u32, lane),
        }))
    }

    /// Ends the launch if nothing has got any further for as long as it allows.
    pub(super) fn endure(&mut self, index: usize, pc: u32) -> Result<(), Stop> {
        let context = self.context;
        match context.launch.patience {
            Some(allowed) if self.counts.patience.is_over(&context.progress, allowed) => {
                Err(self.without_end(index, pc, Some(allowed)))
            }
            _ => Ok(()),
        }
    }

    #[cold]
    fn endless(&self, index: usize, pc: u32) -> Stop {
        self.without_end(index, pc, None)
    }

    #[cold]
    fn without_end(&self, index: usize, pc: u32, patience: Option<Duration>) -> Stop {
        let instructions = self.counts.warp_instructions - self.counts.last_end;
        let lane = self.block.warps[index].live.trailing_zeros().min(31);
        self.fault(index, pc, lane, FaultKind::Endless { instructions, patience })
    }

    /// Cycles since the worker began.
    pub(super) fn cycles(&self) -> u64 {
        self.counts.warp_instructions + self.counts.slept
    }
}
