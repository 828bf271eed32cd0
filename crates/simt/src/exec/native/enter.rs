//! Runs warps by compiled code, and hands them to the interpreter and back.
//!
//! A warp of 32 threads starts in compiled code, in a frame of the pool, without a fragment or an activation: most
//! warps end there. If code stops earlier, the warp gets both, and the interpreter goes on at the step where code
//! stopped. At each [entry](super::graph::Graph::entries) that all lanes reach together, the warp goes back to code.
//!
//! For example, a warp of `if (tid < 10) y[i] = f(x[i]); z[i] = 1`, where `f` is called, goes this way:
//!
//! ```text
//! code        up to the branch, on which its lanes disagree: code stops there (LEFT), the live columns compact
//! expand      fills the columns; the branch makes two fragments, of lanes 0 to 9 and of the others
//! interpreter executes the call and the store of lanes 0 to 9, up to the immediate post-dominator
//! entry       all 32 lanes meet there, and the columns have the shapes that code relies on
//! code        goes on to the end (ENDED)
//! ```
//!
//! Without the call, code executes the guarded lanes itself ([`masked`](super::masked)). If their time slice ends in a loop,
//! the interpreter goes on with the lanes as they are apart ([`apart`](super::apart)).
//!
//! Under initcheck, code computes with defined registers alone: a warp enters it where all live registers are defined, and
//! leaves it behind a load of uninitialised bytes (UNDEFINED), for the interpreter to track where they go.
//!
//! While code and interpreter take turns at a barrier, the columns of uniform and affine registers stay compact
//! ([`Left::Barrier`]): the barrier reads none, so they are not expanded.

use super::super::frame::Frame;
use super::super::run::{Runner, Stop, TURN};
use super::super::warp::{Activation, Fragment, NO_JOIN};
use super::callbacks::settle;
use super::code::{Native, site};
use super::context::{Callbacks, Entry, MOST_OPEN, Open, Shared, stopped};
use super::sums::Sums;
use crate::memory::AccessFault;
use crate::observe::{Observer, Site, SteadyAccess, Tallies};
use crate::registers::Cell;

/// Where compiled code has left a warp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) enum Left {
    /// The interpreter executes the warp, or nobody has begun.
    #[default]
    No,
    /// Before this step; columns are compact.
    At(u32),
    /// Before the barrier ahead of this step; columns are compact.
    Barrier(u32),
    /// At the end of its time slice; columns are whole.
    Tired,
}

/// How a warp goes on after compiled code.
pub(in super::super) enum After {
    /// The interpreter executes the fragment's step.
    Interpret,
    /// All lanes have exited.
    Ended,
    /// The warp has used its time slice.
    Tired,
}

/// State of a worker for compiled code.
pub(in super::super) struct State {
    pub(super) shared: Box<Shared>,
    pub(super) counters: Vec<u64>,
    pub(super) bounds: Vec<[u64; 2]>,
    pub(super) reports: Vec<Report>,
    /// Block for which the shared state is filled.
    block: u64,
    /// Order of the block's first warp in the launch, if tallies are lent.
    first_order: u64,
    /// Frame of the warp that code executes.
    pub(super) frame: *mut Frame,
    pub(super) fault: Option<AccessFault>,
    /// Frames of the warps of a block that code executes as a whole, by warp.
    pub(super) frames: Vec<Option<Frame>>,
    /// Count of freed allocations for which the bounds hold.
    removals: u64,
    returns: Returns,
}

/// The report that the observer gets of one access of compiled code.
pub(super) struct Report {
    pub(super) site: Site,
    /// Callbacks write the addresses in place.
    pub(super) access: SteadyAccess,
    /// True if what it stores is to be recorded, for initcheck.
    pub(super) records: bool,
}

/// Times that the interpreter has handed warps back to code, and the warp instructions that code then executed.
#[derive(Default)]
struct Returns {
    times: u64,
    instructions: u64,
}

impl Returns {
    /// Returns true if code executes so little at a time that handing over costs more than it gains: a kernel that
    /// diverges in each round of a loop, for example.
    fn are_futile(&self) -> bool {
        self.times >= 64 && self.instructions < 48 * self.times
    }
}

/// Bounds without an allocation.
const NOTHING: [u64; 2] = [1, 0];

impl Default for State {
    fn default() -> Self {
        Self {
            shared: Box::new(Shared {
                calls: std::ptr::null(),
                parameters: std::ptr::null(),
                shared: 0,
                shared_bytes: 0,
                bounds: std::ptr::null_mut(),
                counters: std::ptr::null_mut(),
                threads: std::ptr::null(),
                instructions: 0,
                limit: 0,
                block: [0; 3],
                multiprocessor: 0,
                warp: 0,
                pc: 0,
                active: u32::MAX,
                open_count: 0,
                open: [Open::default(); MOST_OPEN],
                tallies: 0,
                tally_stride: 0,
                order: 0,
                notes: std::ptr::null_mut(),
                undefined: 0,
                addresses: [0; 32],
                summed: 0,
                sums: Sums::default(),
                runner: std::ptr::null_mut(),
                callbacks: Callbacks::none(),
            }),
            counters: Vec::new(),
            bounds: Vec::new(),
            reports: Vec::new(),
            block: u64::MAX,
            first_order: 0,
            frame: std::ptr::null_mut(),
            fault: None,
            frames: Vec::new(),
            removals: u64::MAX,
            returns: Returns::default(),
        }
    }
}

impl<O: Observer> Runner<'_, O> {
    /// Starts a warp of 32 threads in compiled code. Returns true if it has ended.
    pub(in super::super) fn start_compiled(
        &mut self,
        native: &Native,
        index: usize,
        turn_ends: u64,
    ) -> Result<bool, Stop> {
        let context = self.context;
        let function = context.launch.kernel.function;
        let mut frame = self.pools.take(function, context);
        native.begin(&mut frame);
        self.prepare_compiled(native);
        self.lend_tallies(native);
        // SAFETY: the frame is this function's own.
        let (reason, pc) =
            unsafe { self.call_compiled(native, index, &mut frame, native.start(), turn_ends) };
        if reason == stopped::ENDED {
            frame.forget_place();
            self.pools.give_back(function, frame);
            self.block.warps[index].end_whole();
            self.end(index);
            self.check_barriers(index, pc);
            return Ok(true);
        }
        self.activate(index, pc, frame);
        if reason == stopped::FAULT {
            return Err(self.compiled_fault(index, pc));
        }
        self.block.warps[index].left = Left::At(pc);
        self.expand_stopped(native, index, (reason, pc));
        Ok(false)
    }

    /// Decides who goes on with a fragment, and executes it by compiled code while that can.
    pub(in super::super) fn compiled(
        &mut self,
        native: &Native,
        index: usize,
        fragment: &mut Fragment,
        turn_ends: u64,
    ) -> Result<After, Stop> {
        let left = self.block.warps[index].left;
        if left == Left::No && self.native.returns.are_futile() {
            return Ok(After::Interpret);
        }
        if left == Left::Tired {
            self.block.warps[index].left = Left::No;
            return Ok(After::Tired);
        }
        if left == Left::At(fragment.pc) {
            if native.barrier_at(fragment.pc).is_some() {
                self.block.warps[index].left = Left::Barrier(fragment.pc + 1);
            } else {
                self.expand(native, index, fragment.pc, false);
            }
            return Ok(After::Interpret);
        }
        let is_whole = fragment.lanes == u32::MAX && fragment.activation == 0 && fragment.join == NO_JOIN;
        let entry = native.entry_at(fragment.pc).filter(|_| is_whole);
        let cells = self.block.warps[index].activation(0).frame.cells();
        let trusted = left == Left::Barrier(fragment.pc);
        if left != Left::No && !(trusted && entry.is_some()) {
            let (Left::At(pc) | Left::Barrier(pc)) = left else { unreachable!("it is not `No`") };
            self.expand(native, index, pc, false);
        }
        let Some(entry) = entry else { return Ok(After::Interpret) };
        let frame = &mut self.block.warps[index].activation(0).frame;
        let is_defined = || !O::REGISTERS || frame.are_defined(native.live_at(fragment.pc));
        // SAFETY: the frame is one of the kernel.
        let may_enter = trusted || is_defined() && unsafe { native.agrees(cells, fragment.pc) };
        if !may_enter {
            return Ok(After::Interpret);
        }
        let frame: *mut Frame = frame;
        self.prepare_compiled(native);
        self.lend_tallies(native);
        let before = self.counts.warp_instructions;
        // SAFETY: the frame is the warp's, which no other code uses while it runs.
        let (reason, pc) = unsafe { self.call_compiled(native, index, frame, entry, turn_ends) };
        if !trusted {
            self.native.returns.times += 1;
            self.native.returns.instructions += self.counts.warp_instructions - before;
        }
        fragment.pc = pc;
        match reason {
            stopped::ENDED => {
                fragment.lanes = 0;
                self.block.warps[index].left = Left::No;
                self.leave(index, pc, u32::MAX)?;
                Ok(After::Ended)
            }
            stopped::FAULT => Err(self.compiled_fault(index, pc)),
            stopped::TIRED => {
                self.expand(native, index, pc, self.are_apart());
                if self.are_apart() {
                    *fragment = self.take_apart(index, pc);
                }
                Ok(After::Tired)
            }
            stopped::UNDEFINED => {
                self.expand_stopped(native, index, (reason, pc));
                Ok(After::Interpret)
            }
            stopped::APART => {
                self.expand(native, index, pc, true);
                *fragment = self.take_apart(index, pc);
                Ok(After::Interpret)
            }
            _ => {
                self.block.warps[index].left = Left::At(pc);
                self.compiled(native, index, fragment, turn_ends)
            }
        }
    }

    /// Makes the state that code shares ready for the block.
    pub(super) fn prepare_compiled(&mut self, native: &Native) {
        let context = self.context;
        let removals = context.memory.removals();
        let (memory_of_block, bytes) = (self.block.shared.base(), self.block.shared.bytes());
        let state = &mut *self.native;
        if state.counters.len() != native.counters() || state.bounds.len() != native.accesses.len() {
            state.counters = vec![0; native.counters()];
            state.bounds = vec![NOTHING; native.accesses.len()];
            let accesses = native.access_steps.iter().zip(&native.accesses);
            let report =
                |(step, access): (&u32, &_)| Report { site: site(*step), access: *access, records: false };
            state.reports = accesses.map(report).collect();
            state.block = u64::MAX;
        }
        if state.removals != removals {
            state.bounds.fill(NOTHING);
            state.removals = removals;
        }
        let shared = &mut *state.shared;
        if state.block != self.block.index {
            state.block = self.block.index;
            shared.block = context.block(self.block.index);
            let multiprocessors = u64::from(context.launch.machine.multiprocessors.max(1));
            shared.multiprocessor = (self.block.index % multiprocessors) as u32;
            shared.parameters = context.launch.parameters.as_ptr();
            shared.threads = context.threads.as_ptr();
            shared.bounds = state.bounds.as_mut_ptr();
            shared.counters = state.counters.as_mut_ptr();
            shared.callbacks = Callbacks::of::<O>();
        }
        shared.calls = native.calls.as_ptr();
        shared.shared = memory_of_block;
        shared.shared_bytes = bytes;
    }

    /// Lends code the observer's tallies, until the observer is told of another function's steps.
    #[inline(always)]
    pub(super) fn lend_tallies(&mut self, native: &Native) {
        let tallies =
            if native.tallied { self.observer.tallies(self.block.index, native.steps()) } else { None };
        let state = &mut *self.native;
        if let Some(Tallies { first, stride, order, notes }) = tallies {
            state.shared.tallies = first.expose_provenance() as u64;
            state.shared.tally_stride = stride as u64;
            state.first_order = order;
            state.shared.notes = notes;
        } else {
            state.shared.tallies = 0;
        }
    }

    /// Calls compiled code for a warp, and settles the counters if it stopped within a block. Returns the reason and the
    /// step.
    ///
    /// # Safety
    /// The frame is one of the kernel, and nothing else uses it meanwhile. The shared state is ready for the block, and tallies have
    /// been lent.
    #[inline(always)]
    pub(super) unsafe fn call_compiled(
        &mut self,
        native: &Native,
        index: usize,
        frame: *mut Frame,
        entry: u32,
        turn_ends: u64,
    ) -> (u32, u32) {
        // SAFETY: the caller's promise.
        let (reason, pc) = unsafe {
            let shared = self.lend_state(frame);
            let lent = (shared, (*frame).cells());
            (self.call_lent(native.entry(), lent, (index, entry, turn_ends)), (*shared).pc)
        };
        self.settle_stopped(native, reason, pc);
        (reason, pc)
    }

    /// Calls compiled code, which has no barriers, for one warp of the block after the other.
    ///
    /// Returns the number of a warp that stops before its end, the reason and the step.
    ///
    /// # Safety
    /// As for [`Self::call_compiled`].
    pub(super) unsafe fn call_for_all(
        &mut self,
        native: &Native,
        frame: *mut Frame,
    ) -> Option<(usize, u32, u32)> {
        let (function, start) = (native.entry(), native.start());
        // SAFETY: the caller's promise.
        let (shared, cells) = unsafe { (self.lend_state(frame), (*frame).cells()) };
        for index in 0..self.block.warps.len() {
            // SAFETY: as above.
            unsafe { native.begin(&mut *frame) };
            self.begin_pace();
            // SAFETY: as above; the state has been lent, and code leaves it as it is where a warp ends.
            let reason =
                unsafe { self.call_lent(function, (shared, cells), (index, start, self.turn_ends())) };
            if reason != stopped::ENDED {
                // SAFETY: code has returned.
                let pc = unsafe { (*shared).pc };
                self.settle_stopped(native, reason, pc);
                return Some((index, reason, pc));
            }
            self.note_pace(index);
            self.counts.warp_ended();
        }
        None
    }

    /// Returns the value of `warp_instructions` at which a warp that starts now has used its time slice.
    #[inline(always)]
    pub(super) fn turn_ends(&self) -> u64 {
        (self.counts.warp_instructions + TURN).min(self.limit())
    }

    /// Lends code the frame and this runner, for calls in succession.
    ///
    /// # Safety
    /// As for [`Self::call_compiled`].
    #[inline(always)]
    unsafe fn lend_state(&mut self, frame: *mut Frame) -> *mut Shared {
        let runner: *mut Self = self;
        let state = &mut *self.native;
        state.frame = frame;
        state.shared.active = u32::MAX;
        state.shared.runner = runner.cast();
        &mut *state.shared
    }

    /// Calls code for a warp from an entry, with the state that has been lent and the frame's cells. Returns why it stopped.
    ///
    /// # Safety
    /// As for [`Self::call_compiled`].
    #[inline(always)]
    unsafe fn call_lent(
        &mut self,
        function: Entry,
        (shared, cells): (*mut Shared, *mut Cell),
        (index, entry, turn_ends): (usize, u32, u64),
    ) -> u32 {
        // SAFETY: the caller's promise; code accesses no other memory than its own and what it has checked. Its
        // callbacks use the runner, which nothing else does until code has returned.
        unsafe {
            (*shared).order = self.native.first_order + index as u64;
            (*shared).instructions = self.counts.warp_instructions;
            (*shared).limit = turn_ends;
            (*shared).warp = index as u32;
            let reason = function(shared, cells, entry);
            if (*shared).summed != 0 {
                settle(shared);
            }
            self.counts.warp_instructions = (*shared).instructions;
            reason
        }
    }

    /// Settles the counters if code has stopped within a block.
    #[inline(always)]
    fn settle_stopped(&mut self, native: &Native, reason: u32, pc: u32) {
        match reason {
            stopped::LEFT | stopped::APART => self.settle_block(native, pc, false),
            stopped::FAULT => self.settle_block(native, pc, true),
            // The load is executed, and may be the last step of its block.
            stopped::UNDEFINED => self.settle_block(native, pc - 1, true),
            _ => {}
        }
    }

    /// Makes a warp's frame ready for the interpreter, where code has stopped with all lanes or while they were apart.
    pub(super) fn expand(&mut self, native: &Native, index: usize, pc: u32, are_apart: bool) {
        let context = self.context;
        let function = context.launch.kernel.function;
        let code = context.program.function(function).expect("kernels have code");
        let block = self.block.index;
        let warp = &mut self.block.warps[index];
        warp.left = Left::No;
        let frame = &mut warp.activation(0).frame;
        frame.place(code, context, block, index as u32);
        // SAFETY: the frame is one of the kernel.
        unsafe { native.expand(frame.cells(), pc, are_apart) };
        if O::REGISTERS {
            frame.define(native.live_at(pc), 0);
        }
    }

    /// Gives a warp that code has started the activation in which the interpreter goes on before a step.
    pub(super) fn activate(&mut self, index: usize, pc: u32, mut frame: Frame) {
        // Calls overwrite columns of special registers.
        frame.forget_place();
        let function = self.context.launch.kernel.function;
        if O::REGISTERS {
            frame.track(self.context.program.function(function).expect("kernels have code"));
        }
        let lanes = u32::MAX;
        self.block.warps[index].begin(lanes, pc, Activation { frame, function, depth: 0, lanes });
    }

    /// Makes a warp's frame ready for the interpreter where code has stopped for a reason that asks for it at once.
    pub(super) fn expand_stopped(&mut self, native: &Native, index: usize, (reason, pc): (u32, u32)) {
        match reason {
            stopped::TIRED => {
                self.expand(native, index, pc, self.are_apart());
                if self.are_apart() {
                    self.block.warps[index].ready.clear();
                    let fragment = self.take_apart(index, pc);
                    self.block.warps[index].ready.push(fragment);
                }
                self.block.warps[index].left = Left::Tired;
            }
            stopped::APART => {
                self.expand(native, index, pc, true);
                self.block.warps[index].ready.clear();
                let fragment = self.take_apart(index, pc);
                self.block.warps[index].ready.push(fragment);
            }
            stopped::UNDEFINED => {
                self.expand(native, index, pc, false);
                let loaded = self.context.program.uses.results(pc as usize - 1);
                let undefined = std::mem::take(&mut self.native.shared.undefined);
                self.block.warps[index].activation(0).frame.define(loaded.iter().copied(), undefined);
            }
            _ => {}
        }
    }

    #[cold]
    pub(super) fn compiled_fault(&mut self, index: usize, pc: u32) -> Stop {
        let fault = self.native.fault.take().expect("code stops with a fault only where one was found");
        self.fault(index, pc, fault.lane, fault.kind)
    }
}
