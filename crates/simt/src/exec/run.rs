//! The interpreter's main loop: executes a warp until it ends, blocks, spins or has used its time slice.
//!
//! The innermost loop executes the steps of one fragment ([`warp`](super::warp) defines fragments and joins). Whatever
//! changes the fragment leaves that loop: `'fragment` continues with other lanes or another pc, and `'fragments` picks
//! the next one. Lanes that diverge become two fragments. One goes on at once and the other becomes ready; ready
//! fragments are a stack, so a branch's second side runs when the first side has arrived at the join.
//!
//! A spin loop must not starve the thread that it waits for. Two limits prevent that, which are checked at backward
//! branches, and the second at rare instructions too:
//!
//! - A loop whose end another thread may decide ([`spins`](super::spins)) yields after [`SPINS`] iterations.
//! - Any loop yields once the warp has issued [`TURN`] instructions.
//!
//! A fragment that yields goes to the bottom of the stack, and lanes that have arrived at joins are released, since one
//! of them may hold the lock. Only a warp without another ready fragment pauses for the other warps of its block. For
//! example, lane 0 takes a lock that lane 1 spins for, and the join lies behind the loop: lane 0 leaves the loop and
//! waits at the join with the lock; after 64 iterations lane 1 yields, the join releases lane 0, lane 0 unlocks, and
//! lane 1 gets the lock.

use std::time::Duration;

use super::block::Block;
use super::cluster::Cluster;
use super::context::Context;
use super::frame::{Frame, load_parameter};
use super::native::{After, Left, Native, State};
use super::patience::{Patience, Reported};
use super::step::{AT_RETURN, Action, Branch, Inside, NOT_INSIDE, Rare};
use super::warp::{Activation, Fragment, NO_JOIN};
use crate::fault::{Fault, FaultKind};
use crate::memory::{Environment, LookupCache, Progress};
use crate::observe::{At, Observer, Site};

/// Unused frames, by function.
#[derive(Default)]
pub(super) struct Pools {
    frames: Vec<Vec<Frame>>,
}

/// Counts of a worker's instructions, and its progress.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) warp_instructions: u64,
    pub(super) thread_instructions: u64,
    /// Clock cycles spent in `nanosleep`.
    pub(super) slept: u64,
    /// Value of `warp_instructions` when one of its warps last ended.
    pub(super) last_end: u64,
    pub(super) reported: Reported,
    patience: Patience,
}

/// Reason for which a warp pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    /// All its lanes have exited.
    Ended,
    /// All its lanes wait for other warps.
    Blocked,
    /// It is in a spin loop that another warp may have to end.
    Spinning,
    /// It has used its time slice.
    Tired,
}

/// Reason for which a block stops.
#[derive(Debug)]
pub(super) enum Stop {
    Fault(Box<Fault>),
    /// An earlier block has failed.
    Cancelled,
}

/// How the warp goes on after a rare instruction.
pub(super) enum Next {
    /// With the same fragment, at its new pc.
    Go,
    /// With another fragment; this one has been set aside.
    Other,
    /// After other warps have run, for which it may be waiting.
    Yield,
}

/// Iterations of spin loops before a warp yields.
const SPINS: u32 = 64;

/// Warp instructions of a time slice. Lanes that have left a loop wait this long at most for lanes still in it, if the
/// loop is not recognised as a spin loop.
pub(super) const TURN: u64 = 1 << 24;

/// Executes the warps of one block.
pub(super) struct Runner<'w, O: Observer> {
    pub(super) context: &'w Context<'w>,
    pub(super) pools: &'w mut Pools,
    pub(super) cache: &'w mut LookupCache,
    pub(super) counts: &'w mut Counts,
    pub(super) block: &'w mut Block,
    /// The block's cluster, in which it is the one that executes.
    pub(super) cluster: &'w mut Cluster,
    pub(super) observer: &'w mut O,
    /// The kernel's machine code, once it is there.
    pub(super) code: Option<&'w Native>,
    pub(super) native: &'w mut State,
    /// Returns true if the launch has been cancelled; polled at yields.
    pub(super) is_cancelled: &'w dyn Fn() -> bool,
}

impl Counts {
    /// Notes that a warp has ended.
    pub(super) fn warp_ended(&mut self) {
        self.last_end = self.warp_instructions;
        self.patience.warp_ended();
    }
}

impl Pools {
    /// Returns a frame for a function, filled with the values that are constant for a launch.
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
    /// Notes that the block has passed a barrier.
    pub(super) fn report_barrier(&mut self) {
        let counts = &mut *self.counts;
        self.context.progress.barrier_passed(&mut counts.reported, counts.warp_instructions);
    }

    /// Returns the value of `warp_instructions` at which the launch is endless, unless a warp ends before.
    #[inline(always)]
    pub(super) fn limit(&self) -> u64 {
        let limit = self.context.launch.instruction_limit;
        limit.map_or(u64::MAX, |limit| self.counts.last_end.saturating_add(limit))
    }

    /// Executes a warp until it pauses.
    pub(super) fn warp(&mut self, index: usize) -> Result<Pause, Stop> {
        self.begin_pace();
        let pause = self.warp_at_level(index);
        self.note_pace(index);
        pause
    }

    fn warp_at_level(&mut self, index: usize) -> Result<Pause, Stop> {
        #[cfg(target_arch = "x86_64")]
        if self.context.program.level == crate::decode::Level::Avx2 {
            // SAFETY: the computer has the features of this level.
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
        let program = self.context.program;
        let steps = program.steps.as_slice();
        let block = self.block.index;
        let limit = self.limit();
        // Code that hands a warp over may have used its time slice.
        let turn = if self.block.warps[index].left == Left::Tired { 0 } else { TURN };
        let turn_ends = (self.counts.warp_instructions + turn).min(limit);
        if !self.block.warps[index].has_begun {
            match self.code {
                Some(code) if code.starts() && self.context.lanes(index as u32) == u32::MAX => {
                    if self.start_compiled(code, index, turn_ends)? {
                        return Ok(Pause::Ended);
                    }
                }
                _ => self.begin(index),
            }
        }
        let mut spins = 0;
        'fragments: loop {
            let Some(mut fragment) = self.next(index) else {
                return Ok(if self.block.warps[index].live == 0 { Pause::Ended } else { Pause::Blocked });
            };
            'fragment: loop {
                if let Some(code) = self.code {
                    match self.compiled(code, index, &mut fragment, turn_ends)? {
                        After::Interpret => {}
                        After::Ended => continue 'fragments,
                        After::Tired => {
                            if self.counts.warp_instructions >= limit {
                                return Err(self.endless(index, fragment.pc));
                            }
                            if self.give_way(index, fragment, true)? {
                                return Ok(Pause::Tired);
                            }
                            continue 'fragments;
                        }
                    }
                }
                // The frame's cells and the join belong to the fragment: look them up again.
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
                                // All lanes have left the loop that they may have been spinning in.
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
                        self.observer.issue(At::new(block, index as u32, Site(pc)), mask);
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
                            let at = At::new(block, index as u32, Site(pc));
                            let entry = self.block.warps[index].activation(0);
                            let mut environment = Environment {
                                memory: self.context.memory,
                                shared: &mut self.block.shared,
                                cluster: &mut self.cluster.memory,
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
                                    let at = At::new(block, index as u32, Site(pc));
                                    self.observer.branch(at, mask, go_on);
                                }
                                if go_on == 0 {
                                    pc = branch.target;
                                    is_new = self.leave_loops(index, &mut fragment, branch.inside, 0);
                                } else if mask == 0 {
                                    spins = if branch.spins { 0 } else { spins };
                                    pc += 1;
                                    if self.leave_loops(index, &mut fragment, branch.inside, 1) {
                                        fragment.pc = pc;
                                        continue 'fragment;
                                    }
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
                                fragment.pc = pc;
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

    /// Returns the fragment to execute next; None if all lanes have exited or wait for other warps.
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

    /// Splits a fragment at a divergent branch and returns the part that goes on now.
    #[inline(never)]
    fn part(&mut self, index: usize, fragment: Fragment, branch: &Branch, jump: u32) -> Fragment {
        let inside = self.context.program.inside.get(branch.inside as usize);
        let join = self.open(index, &fragment, branch.meets, inside);
        let warp = &mut self.block.warps[index];
        let mut jumping = Fragment { pc: branch.target, lanes: jump, join, ..fragment };
        let mut going_on = Fragment { pc: fragment.pc + 1, lanes: fragment.lanes & !jump, join, ..fragment };
        if let Some(inside) = inside {
            jumping = warp.leave_loops(jumping, inside.kept[0]);
            going_on = warp.leave_loops(going_on, inside.kept[1]);
        }
        // Lanes that only exit go first, as on the hardware; otherwise the lower pc does.
        let leaves = |pc: u32| {
            let program = self.context.program;
            let step = &program.steps[pc as usize];
            step.guard == 0
                && matches!(step.action, Action::Rare(rare) if matches!(program.rare[rare as usize], Rare::Exit))
        };
        let (now, later) = if warp.meeting_place(&jumping) == jumping.pc {
            (going_on, jumping)
        } else if warp.meeting_place(&going_on) == going_on.pc || leaves(branch.target) {
            (jumping, going_on)
        } else {
            (going_on, jumping)
        };
        warp.later(later);
        now
    }

    /// Returns the join of lanes of a fragment that diverge.
    pub(super) fn open(
        &mut self,
        index: usize,
        fragment: &Fragment,
        meets: u32,
        inside: Option<&Inside>,
    ) -> u32 {
        let warp = &mut self.block.warps[index];
        match inside {
            Some(inside) => warp.join_inside(fragment, &inside.meets),
            None => warp.join_at(fragment, meets),
        }
    }

    /// Takes a fragment whose lanes all take one of a branch's targets off the joins of the loops that it leaves by that. Returns
    /// true if its join is another one.
    #[inline(always)]
    fn leave_loops(&mut self, index: usize, fragment: &mut Fragment, inside: u32, target: usize) -> bool {
        if inside == NOT_INSIDE || fragment.join == NO_JOIN {
            return false;
        }
        let kept = self.context.program.inside[inside as usize].kept[target];
        let before = fragment.join;
        *fragment = self.block.warps[index].leave_loops(*fragment, kept);
        fragment.join != before
    }

    /// Moves a fragment that yields behind all other ready ones. Returns true if there are none, so that other warps
    /// should run.
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
        // The last one runs next: this one runs after all others.
        warp.ready.insert(0, fragment);
        Ok(is_alone)
    }

    /// Ends a warp without live lanes and gives its frames back.
    pub(super) fn end(&mut self, index: usize) {
        let warp = &mut self.block.warps[index];
        for activation in warp.activations.drain(..).flatten() {
            self.pools.give_back(activation.function, activation.frame);
        }
        self.block.alive &= !(1 << index);
        self.counts.warp_ended();
    }

    pub(super) fn at(&self, index: usize, pc: u32) -> At {
        At::new(self.block.index, index as u32, Site(pc))
    }

    /// Returns the fault of a lane.
    #[cold]
    pub(super) fn fault(&self, index: usize, pc: u32, lane: u32, kind: FaultKind) -> Stop {
        Stop::Fault(Box::new(Fault {
            kind,
            site: Site(pc),
            block: self.context.block(self.block.index),
            thread: self.context.thread(index as u32, lane),
        }))
    }

    /// Ends the launch with a fault if there has been no progress for as long as it allows.
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

    /// Returns the clock cycles since the worker began.
    pub(super) fn cycles(&self) -> u64 {
        self.counts.warp_instructions + self.counts.slept
    }
}
