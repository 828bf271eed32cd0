//! Distributes a launch's blocks over workers, which are threads of the host.
//!
//! A worker takes a *run* of consecutive blocks and executes it block after block. Usually a block runs to its end. A
//! block that waits for another one, as in a grid barrier, does not end by itself: [`Runner::turn`] reports that its
//! warps spin. The worker then starts another block beside it and executes its resident blocks in turn, as many as
//! would be resident on the card. For example, with runs of 16 blocks and one worker, block 0 spins until block 1 sets
//! a flag: the run 0..16 is split into 0..1 and 1..16, each with an observer of its own, and both make progress.
//!
//! Runs end in any order, but their observers and output are handed back in the order of their blocks, so that results
//! do not depend on the number of workers. After a fault, later runs are cancelled and earlier ones complete, so that
//! the first block's fault is the one reported.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::block::Block;
use super::context::Context;
use super::error::LaunchFailure;
use super::native::{Key, State, Variant, Whole};
use super::request::Executed;
use super::run::{Counts, Pause, Pools, Runner, Stop};
use crate::fault::Fault;
use crate::memory::LookupCache;
use crate::observe::{Observation, Observer};

/// State that the workers of a launch share.
struct Office<'a, 'o, O: Observation> {
    context: &'a Context<'a>,
    observation: &'o O,
    /// First block that no worker has taken.
    next: AtomicU64,
    /// First block of the earliest run that failed; later runs are cancelled.
    failed: AtomicU64,
    ended: Mutex<Ended<O::Observer>>,
    /// Notified whenever a run has been handed back.
    handed_back: Condvar,
    run_of_blocks: u64,
    /// The kernel's compiled form, unless the launch is interpreted throughout.
    variant: Option<(Key, Arc<Variant>)>,
    /// Most blocks that a worker may execute in turn.
    most_residents: usize,
    /// A worker compiles the kernel, while others go on: no block waits for another one.
    compiles_here: bool,
}

/// Ended runs that wait for earlier ones before they are handed back.
struct Ended<T> {
    runs: BTreeMap<u64, EndedRun<T>>,
    /// First block that has not been handed back.
    next: u64,
    /// True while a worker hands runs back.
    is_handing: bool,
    printed: Vec<u8>,
    counts: Counts,
    fault: Option<(u64, Box<Fault>)>,
}

struct EndedRun<T> {
    /// The block after the run's last.
    end: u64,
    observer: T,
    printed: Vec<u8>,
    failed: bool,
}

/// A run of blocks in execution, with its current block.
struct Resident<T> {
    first: u64,
    /// First block of the run that has not begun.
    next: u64,
    end: u64,
    observer: T,
    block: Block,
    /// Instructions of the current block.
    instructions: u64,
    printed: Vec<u8>,
}

/// Executes all blocks of a launch.
pub(super) fn execute<O: Observation + Send + Sync>(
    context: &Context<'_>,
    observation: &mut O,
) -> Result<Executed, LaunchFailure> {
    let run_of_blocks = observation.run_of_blocks().max(1);
    let runs = context.blocks.div_ceil(run_of_blocks);
    let workers = if observation.in_order() { 1 } else { context.launch.workers.max(1) };
    let workers = workers.min(usize::try_from(runs).unwrap_or(usize::MAX));
    let residents = context.launch.machine.resident_blocks.max(1).div_ceil(workers as u64);
    // Compiled code reports issues and branches as sums.
    let variant = O::Observer::BATCHES.then(|| {
        let launch = context.launch;
        let key = Key {
            function: launch.kernel.function,
            block: launch.block,
            observes: O::Observer::ACCESSES,
            tracks: O::Observer::REGISTERS,
            synchronises: O::Observer::WARP_BARRIERS,
        };
        context.program.tiers.variant(context.program, key).map(|variant| (key, variant))
    });
    let office = Office {
        context,
        observation,
        next: AtomicU64::new(0),
        failed: AtomicU64::new(u64::MAX),
        ended: Mutex::new(Ended {
            runs: BTreeMap::new(),
            next: 0,
            is_handing: false,
            printed: Vec::new(),
            counts: Counts::default(),
            fault: None,
        }),
        handed_back: Condvar::new(),
        run_of_blocks,
        variant: variant.flatten(),
        most_residents: usize::try_from(residents).unwrap_or(usize::MAX),
        compiles_here: workers > 1 && !context.program.may_wait(context.launch.kernel.function),
    };
    std::thread::scope(|scope| {
        for _ in 1..workers {
            scope.spawn(|| office.work());
        }
        office.work();
    });
    super::native::finish_compilations();
    let ended = office.ended.into_inner().unwrap_or_else(PoisonError::into_inner);
    match ended.fault {
        Some((_, fault)) => Err(LaunchFailure::Fault { fault, printed: ended.printed }),
        None => Ok(Executed {
            warp_instructions: ended.counts.warp_instructions,
            thread_instructions: ended.counts.thread_instructions,
            printed: ended.printed,
        }),
    }
}

impl<O: Observation + Send + Sync> Office<'_, '_, O> {
    /// Executes runs until none is left.
    fn work(&self) {
        let mut worker = Worker {
            pools: Pools::default(),
            cache: LookupCache::new(),
            counts: Counts::default(),
            spare: Vec::new(),
            native: State::default(),
            interpreted: Interpreted::default(),
        };
        let mut residents: Vec<Resident<O::Observer>> = Vec::new();
        let mut turn = 0;
        loop {
            if residents.is_empty() {
                let Some(resident) = self.take_run(&mut worker) else { break };
                residents.push(resident);
                turn = 0;
            }
            turn %= residents.len();
            let resident = &mut residents[turn];
            match self.go_on(&mut worker, resident) {
                Ok(true) => {
                    let ended = residents.swap_remove(turn);
                    self.end(&mut worker, ended, false);
                }
                Ok(false) => {
                    turn += 1;
                    // All resident blocks wait: start another one beside them.
                    if turn == residents.len() && residents.len() < self.most_residents {
                        let more = self.another(&mut worker, &mut residents);
                        residents.extend(more);
                    }
                }
                Err(stop) => {
                    let stopped = residents.swap_remove(turn);
                    let is_fault = matches!(stop, Stop::Fault(_));
                    if let Stop::Fault(fault) = stop {
                        self.fail(&stopped, fault);
                    }
                    self.end(&mut worker, stopped, is_fault);
                }
            }
        }
        let mut ended = self.ended();
        ended.counts.warp_instructions += worker.counts.warp_instructions;
        ended.counts.thread_instructions += worker.counts.thread_instructions;
    }

    /// Takes the next run, unless none is left or an earlier one failed.
    fn take_run(&self, worker: &mut Worker) -> Option<Resident<O::Observer>> {
        let first = self.next.fetch_add(self.run_of_blocks, Ordering::Relaxed);
        if first >= self.context.blocks || first > self.failed.load(Ordering::Relaxed) {
            return None;
        }
        let end = first.saturating_add(self.run_of_blocks).min(self.context.blocks);
        Some(self.begin(worker, first, end))
    }

    fn begin(&self, worker: &mut Worker, first: u64, end: u64) -> Resident<O::Observer> {
        let observer = self.observation.begin(first);
        let block = worker.spare.pop().unwrap_or_else(|| Block::new(self.context.threads.len()));
        let mut resident =
            Resident { first, next: first, end, observer, block, instructions: 0, printed: Vec::new() };
        resident.block.alive = 0;
        resident
    }

    /// Starts one more run: the rest of a run whose current block waits, else one that no worker has taken.
    fn another(
        &self,
        worker: &mut Worker,
        residents: &mut [Resident<O::Observer>],
    ) -> Option<Resident<O::Observer>> {
        let waiting = residents.iter_mut().filter(|resident| resident.next < resident.end);
        match waiting.min_by_key(|resident| resident.next) {
            Some(resident) => {
                let (first, end) = (resident.next, resident.end);
                resident.end = first;
                Some(self.begin(worker, first, end))
            }
            None => self.take_run(worker),
        }
    }

    /// Executes a run until it ends (true) or its current block waits for another block (false).
    fn go_on(&self, worker: &mut Worker, resident: &mut Resident<O::Observer>) -> Result<bool, Stop> {
        let context = self.context;
        let first = resident.first;
        let is_cancelled = || self.failed.load(Ordering::Relaxed) < first;
        loop {
            if resident.block.alive == 0 {
                if resident.next == resident.end {
                    return Ok(true);
                }
                if is_cancelled() {
                    return Err(Stop::Cancelled);
                }
                resident.block.begin(resident.next, context.shared_bytes);
                resident.instructions = 0;
                resident.observer.block_begins(resident.next, context.threads.len() as u32);
                resident.next += 1;
            }
            let code = self.variant.as_ref().and_then(|(_, variant)| variant.native());
            let mut runner = Runner {
                context,
                pools: &mut worker.pools,
                cache: &mut worker.cache,
                counts: &mut worker.counts,
                block: &mut resident.block,
                observer: &mut resident.observer,
                code,
                native: &mut worker.native,
                is_cancelled: &is_cancelled,
            };
            let before = runner.counts.warp_instructions;
            let outcome = runner.turn();
            resident.instructions += runner.counts.warp_instructions - before;
            // Counts go to the observer of their run.
            if let Some(code) = code
                && (resident.next == resident.end || !matches!(outcome, Ok(true)))
            {
                runner.flush_compiled(code);
            }
            resident.printed.append(&mut resident.block.printed);
            if !outcome? {
                return Ok(false);
            }
            let counts = &mut worker.counts;
            context.progress.block_ended(&mut counts.reported, counts.warp_instructions);
            let distance = resident.block.pace.end(resident.instructions, context.threads.len());
            resident.observer.block_issued(distance);
            resident.observer.block_ends(resident.block.index);
            if code.is_none() {
                self.note_interpreted(worker);
            }
        }
    }

    /// Counts a block that was interpreted, and from time to time asks whether to compile the kernel.
    fn note_interpreted(&self, worker: &mut Worker) {
        let Some((key, variant)) = &self.variant else { return };
        worker.interpreted.blocks += 1;
        let instructions = worker.counts.warp_instructions - worker.interpreted.instructions;
        if instructions < FEWEST_TO_ASK {
            return;
        }
        let left = self.context.blocks.saturating_sub(self.next.load(Ordering::Relaxed));
        let sample = (instructions, worker.interpreted.blocks, left);
        worker.interpreted = Interpreted { blocks: 0, instructions: worker.counts.warp_instructions };
        variant.interpreted(self.context.program, *key, sample, self.compiles_here);
    }

    /// Records the fault of a run and cancels later ones.
    fn fail(&self, resident: &Resident<O::Observer>, fault: Box<Fault>) {
        self.failed.fetch_min(resident.first, Ordering::Relaxed);
        let mut ended = self.ended();
        if ended.fault.as_ref().is_none_or(|(first, _)| resident.first < *first) {
            ended.fault = Some((resident.first, fault));
        }
    }

    /// Ends a run. One worker at a time hands back, in order, all runs that are complete up to there; the others go on.
    fn end(&self, worker: &mut Worker, resident: Resident<O::Observer>, failed: bool) {
        let Resident { first, end, mut observer, mut block, printed, .. } = resident;
        for warp in &mut block.warps {
            warp.activations.drain(..).flatten().for_each(|activation| {
                worker.pools.give_back(activation.function, activation.frame);
            });
        }
        worker.spare.push(block);
        observer.run_ends();
        let mut ended = self.ended();
        ended.runs.insert(first, EndedRun { end, observer, printed, failed });
        while ended.is_handing {
            if ended.runs.len() < MOST_WAITING {
                return;
            }
            ended = self.handed_back.wait(ended).unwrap_or_else(PoisonError::into_inner);
        }
        ended.is_handing = true;
        let mut handing = Handing { office: self, ended: Some(ended) };
        while handing.hand_back() {}
    }
}

impl<O: Observation> Office<'_, '_, O> {
    fn ended(&self) -> MutexGuard<'_, Ended<O::Observer>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ended runs that may wait while a worker hands back those before them. With as many, a worker that ends another run waits, too.
const MOST_WAITING: usize = 64;

/// A worker's right to hand runs back, which ends with it, also where an observation panics.
struct Handing<'a, 'b, 'o, O: Observation> {
    office: &'a Office<'b, 'o, O>,
    /// The ended runs, but for the time in which one is handed back.
    ended: Option<MutexGuard<'a, Ended<O::Observer>>>,
}

impl<O: Observation + Send + Sync> Handing<'_, '_, '_, O> {
    /// Hands back the next run; false if it has not ended.
    fn hand_back(&mut self) -> bool {
        let mut ended = self.ended.take().unwrap_or_else(|| self.office.ended());
        let next = ended.next;
        let Some(run) = ended.runs.remove(&next) else {
            self.ended = Some(ended);
            return false;
        };
        ended.next = if run.failed { u64::MAX } else { run.end };
        ended.printed.extend(run.printed);
        drop(ended);
        self.office.observation.end(run.observer);
        self.office.handed_back.notify_all();
        true
    }
}

impl<O: Observation> Drop for Handing<'_, '_, '_, O> {
    fn drop(&mut self) {
        let office = self.office;
        self.ended.take().unwrap_or_else(|| office.ended()).is_handing = false;
        office.handed_back.notify_all();
    }
}

/// Time slices used up by a block's warps before the block is taken to wait for others.
const PATIENCE: u32 = 16;

/// State that a worker keeps from block to block.
struct Worker {
    pools: Pools,
    cache: LookupCache,
    counts: Counts,
    /// Ended blocks for reuse.
    spare: Vec<Block>,
    native: State,
    interpreted: Interpreted,
}

/// What a worker has interpreted since it last asked whether to compile the kernel.
#[derive(Default)]
struct Interpreted {
    blocks: u64,
    /// Warp instructions at that time.
    instructions: u64,
}

/// Warp instructions between two such questions.
const FEWEST_TO_ASK: u64 = 1 << 14;

impl<O: Observer> Runner<'_, O> {
    /// Executes the block's warps until all have ended (true) or none makes progress without other blocks (false).
    fn turn(&mut self) -> Result<bool, Stop> {
        let mut rounds = 0;
        let mut first = 0;
        if std::mem::take(&mut self.block.is_fresh)
            && let Some(code) = self.code
            && code.starts()
            && self.context.last_warp == u32::MAX
        {
            match self.whole_block(code)? {
                Whole::Ended => return Ok(true),
                Whole::HandedOver(index) => first = index,
            }
        }
        loop {
            let mut ran = false;
            let (mut spinning, mut tired) = (false, false);
            for index in std::mem::take(&mut first)..self.block.warps.len() {
                let warp = &self.block.warps[index];
                let is_runnable =
                    !warp.has_begun || self.block.alive >> index & 1 != 0 && !warp.ready.is_empty();
                if !is_runnable {
                    continue;
                }
                ran = true;
                match self.warp(index)? {
                    Pause::Spinning => spinning = true,
                    Pause::Tired => tired = true,
                    Pause::Ended | Pause::Blocked => {}
                }
            }
            if self.block.alive == 0 {
                return Ok(true);
            }
            // A block that takes this long may wait for another one in a loop that is not recognised as a spin loop.
            rounds += u32::from(tired);
            if spinning || rounds >= PATIENCE {
                // Sleeping warps have not checked the limit so far.
                let waits = self
                    .block
                    .warps
                    .iter()
                    .zip(0..)
                    .find_map(|(warp, index)| warp.ready.last().map(|fragment| (index, fragment.pc)));
                if let Some((index, pc)) = waits {
                    self.endure(index, pc)?;
                }
                return Ok(false);
            }
            if !ran {
                return Err(self.deadlock());
            }
        }
    }
}
