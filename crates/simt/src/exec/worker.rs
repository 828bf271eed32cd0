//! Distributes a launch's blocks over workers, which are threads of the host.
//!
//! A worker takes a *run* of consecutive blocks and executes it block after block. Usually a block runs to its end. A
//! block that waits for another one, as in a grid barrier, does not end by itself: [`Runner::turn`] reports that its
//! warps spin. The worker then starts another block beside it and executes its resident blocks in turn, as many as
//! would be resident on the card. For example, with runs of 16 blocks and one worker, block 0 spins until block 1 sets
//! a flag: the run 0..16 is split into 0..1 and 1..16, each with an observer of its own, and both make progress.
//!
//! The blocks of a cluster are a [`Group`]: each is a run of one block, and the worker executes them in turn until all have
//! ended, so that none waits for a block that another worker has. A block's turn ends when all its warps wait or spin.
//!
//! Runs end in any order, but their observers and output are handed back in the order of their blocks, so that results
//! do not depend on the number of workers. After a fault, later runs are cancelled and earlier ones complete, so that
//! the first block's fault is the one reported.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::block::Block;
use super::cluster::Cluster;
use super::context::Context;
use super::error::LaunchFailure;
use super::frame::lanes_of;
use super::native::{Key, Native, State, Variant, Whole};
use super::request::Executed;
use super::run::{Counts, Pause, Pools, Runner, Stop};
use crate::fault::Fault;
use crate::memory::LookupCache;
use crate::observe::{Observation, Observer};

/// State that the workers of a launch share.
struct Office<'a, 'o, O: Observation> {
    context: &'a Context<'a>,
    observation: &'o O,
    /// First block that no worker has taken, where the blocks of a cluster count one after another.
    next: AtomicU64,
    /// First block of the earliest group that failed; later groups are cancelled.
    failed: AtomicU64,
    ended: Mutex<Ended<O::Observer>>,
    /// Notified when a run has been handed back that a worker waits for.
    handed_back: Condvar,
    /// Blocks of a run, or of a cluster of several.
    run_of_blocks: u64,
    /// The kernel's compiled form, unless the launch is interpreted throughout.
    variant: Option<(Key, Arc<Variant>)>,
    /// Most groups that a worker may execute in turn.
    most_groups: usize,
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
    /// Workers that wait for that.
    waiting: u32,
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

/// Runs that a worker executes together: one, or those of a cluster's blocks, by rank.
struct Group<T> {
    /// Its first block.
    first: u64,
    cluster: Cluster,
    members: Vec<Resident<T>>,
    /// Rank of the block that was last executed.
    last: usize,
}

/// Outcome of a block's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// All its warps have ended.
    Ended,
    /// Its warps spin, or have used up their time slices.
    Spins,
    /// All its warps wait, some of them for other blocks of the cluster.
    Waits,
}

/// Executes all blocks of a launch.
pub(super) fn execute<O: Observation + Send + Sync>(
    context: &Context<'_>,
    observation: &mut O,
) -> Result<Executed, LaunchFailure> {
    let clusters = u64::from(context.cluster_size);
    let run_of_blocks = if clusters > 1 { clusters } else { observation.run_of_blocks().max(1) };
    let runs = context.blocks.div_ceil(run_of_blocks);
    let workers = match context.code.of_block.load(Ordering::Relaxed) {
        _ if observation.in_order() => 1,
        of_block if of_block > 0 && of_block.saturating_mul(context.blocks) < FEW => 1,
        _ => context.launch.workers.max(1),
    };
    let workers = workers.min(usize::try_from(runs).unwrap_or(usize::MAX));
    let groups = (context.launch.machine.resident_blocks / clusters).max(1).div_ceil(workers as u64);
    // Compiled code reports issues and branches as sums, and executes a block by itself.
    let variant = (O::Observer::BATCHES && clusters == 1).then(|| {
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
            waiting: 0,
            printed: Vec::new(),
            counts: Counts::default(),
            fault: None,
        }),
        handed_back: Condvar::new(),
        run_of_blocks,
        variant: variant.flatten(),
        most_groups: usize::try_from(groups).unwrap_or(usize::MAX),
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
    let of_block = ended.counts.warp_instructions.div_ceil(context.blocks.max(1));
    context.code.of_block.store(of_block, Ordering::Relaxed);
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
            clusters: Vec::new(),
            native: State::default(),
            interpreted: Interpreted::default(),
        };
        let mut groups: Vec<Group<O::Observer>> = Vec::new();
        let mut turn = 0;
        loop {
            if groups.is_empty() {
                let Some(group) = self.take(&mut worker) else { break };
                groups.push(group);
                turn = 0;
            }
            turn %= groups.len();
            match self.go_on(&mut worker, &mut groups[turn]) {
                Ok(true) => {
                    let ended = groups.swap_remove(turn);
                    self.end_group(&mut worker, ended, false);
                }
                Ok(false) => {
                    turn += 1;
                    // All groups wait: start another one beside them.
                    if turn == groups.len() && groups.len() < self.most_groups {
                        let more = self.another(&mut worker, &mut groups);
                        groups.extend(more);
                    }
                }
                Err(stop) => {
                    let stopped = groups.swap_remove(turn);
                    let is_fault = matches!(stop, Stop::Fault(_));
                    if let Stop::Fault(fault) = stop {
                        self.fail(stopped.first, fault);
                    }
                    self.end_group(&mut worker, stopped, is_fault);
                }
            }
        }
        let mut ended = self.ended();
        ended.counts.warp_instructions += worker.counts.warp_instructions;
        ended.counts.thread_instructions += worker.counts.thread_instructions;
    }

    /// Takes the next run or cluster, unless none is left or an earlier one failed.
    fn take(&self, worker: &mut Worker) -> Option<Group<O::Observer>> {
        let number = self.next.fetch_add(self.run_of_blocks, Ordering::Relaxed);
        if number >= self.context.blocks {
            return None;
        }
        let size = self.context.cluster_size;
        let blocks: Vec<u64> = match size {
            1 => vec![number],
            _ => {
                let block = |rank| self.context.block_of_cluster(number / u64::from(size), rank);
                (0..size).map(block).collect()
            }
        };
        if blocks[0] > self.failed.load(Ordering::Relaxed) {
            return None;
        }
        let length = if size > 1 { 1 } else { self.run_of_blocks };
        let end = |first: u64| first.saturating_add(length).min(self.context.blocks);
        let members = blocks.into_iter().map(|first| self.begin(worker, first, end(first))).collect();
        Some(self.group(worker, members))
    }

    fn begin(&self, worker: &mut Worker, first: u64, end: u64) -> Resident<O::Observer> {
        let observer = self.observation.begin(first);
        let block = worker.spare.pop().unwrap_or_else(|| Block::new(self.context.threads.len()));
        let mut resident =
            Resident { first, next: first, end, observer, block, instructions: 0, printed: Vec::new() };
        resident.block.alive = 0;
        resident
    }

    /// Groups runs. The blocks of a cluster of several begin together.
    fn group(&self, worker: &mut Worker, mut members: Vec<Resident<O::Observer>>) -> Group<O::Observer> {
        let mut cluster = worker.clusters.pop().unwrap_or_else(|| Cluster::new(self.context.cluster_size));
        cluster.begin();
        if members.len() > 1 {
            for (resident, rank) in members.iter_mut().zip(0..) {
                self.begin_block(resident);
                cluster.memory.begin(rank, &mut resident.block.shared);
            }
        }
        Group { first: members[0].first, cluster, members, last: 0 }
    }

    /// Begins the next block of a run.
    fn begin_block(&self, resident: &mut Resident<O::Observer>) {
        resident.block.begin(resident.next, self.context.shared_bytes);
        resident.instructions = 0;
        resident.observer.block_begins(resident.next, self.context.threads.len() as u32);
        resident.next += 1;
    }

    /// Starts one more group: the rest of a run whose current block waits, else one that no worker has taken.
    fn another(&self, worker: &mut Worker, groups: &mut [Group<O::Observer>]) -> Option<Group<O::Observer>> {
        let runs = groups.iter_mut().flat_map(|group| &mut group.members);
        let waiting = runs.filter(|resident| resident.next < resident.end);
        match waiting.min_by_key(|resident| resident.next) {
            Some(resident) => {
                let (first, end) = (resident.next, resident.end);
                resident.end = first;
                let rest = self.begin(worker, first, end);
                Some(self.group(worker, vec![rest]))
            }
            None => self.take(worker),
        }
    }

    /// Executes a group until it ends (true) or waits for blocks of another one (false).
    fn go_on(&self, worker: &mut Worker, group: &mut Group<O::Observer>) -> Result<bool, Stop> {
        if group.members.len() > 1 {
            self.go_on_as_cluster(worker, group)
        } else {
            self.go_on_alone(worker, group)
        }
    }

    /// Executes a run, block after block.
    fn go_on_alone(&self, worker: &mut Worker, group: &mut Group<O::Observer>) -> Result<bool, Stop> {
        loop {
            let resident = &mut group.members[0];
            if resident.block.alive == 0 {
                if resident.next == resident.end {
                    return Ok(true);
                }
                if self.failed.load(Ordering::Relaxed) < group.first {
                    return Err(Stop::Cancelled);
                }
                self.begin_block(resident);
                group.cluster.begin();
            }
            if self.turn(worker, group, 0)? != Turn::Ended {
                return Ok(false);
            }
        }
    }

    /// Executes the blocks of a cluster in turn.
    fn go_on_as_cluster(&self, worker: &mut Worker, group: &mut Group<O::Observer>) -> Result<bool, Stop> {
        for _ in 0..ROUNDS {
            let before = worker.counts.warp_instructions;
            for rank in 0..group.members.len() {
                let resident = &mut group.members[rank];
                if resident.block.alive == 0 {
                    continue;
                }
                let written = group.cluster.memory.turn_to(rank as u32);
                if group.last != rank {
                    resident.observer.block_resumes(resident.block.index, &written);
                }
                group.last = rank;
                if self.turn(worker, group, rank)? == Turn::Ended {
                    group.cluster.memory.end(rank as u32);
                }
            }
            if group.members.iter().all(|resident| resident.block.alive == 0) {
                return Ok(true);
            }
            // Blocks that spin issue instructions, and so does one whose barrier has completed.
            if worker.counts.warp_instructions == before {
                return Err(self.stuck(worker, group));
            }
        }
        Ok(false)
    }

    /// Returns the fault of a cluster of which no block can go on: that of the first block which has not reached the barrier
    /// of the cluster.
    fn stuck(&self, worker: &mut Worker, group: &mut Group<O::Observer>) -> Stop {
        let rank = lanes_of(group.cluster.missing()).next().unwrap_or(0);
        let is_cancelled = || false;
        group.cluster.memory.turn_to(rank as u32);
        self.runner(worker, group, (rank, None), &is_cancelled).deadlock()
    }

    /// Returns the kernel's machine code, once it is there.
    fn code(&self) -> Option<&Native> {
        self.variant.as_ref().and_then(|(_, variant)| variant.native())
    }

    /// Returns what executes the current block of a group's run.
    fn runner<'w>(
        &'w self,
        worker: &'w mut Worker,
        group: &'w mut Group<O::Observer>,
        (member, code): (usize, Option<&'w Native>),
        is_cancelled: &'w dyn Fn() -> bool,
    ) -> Runner<'w, O::Observer> {
        let resident = &mut group.members[member];
        Runner {
            context: self.context,
            pools: &mut worker.pools,
            cache: &mut worker.cache,
            counts: &mut worker.counts,
            block: &mut resident.block,
            cluster: &mut group.cluster,
            observer: &mut resident.observer,
            code,
            native: &mut worker.native,
            is_cancelled,
        }
    }

    /// Executes the current block of a group's run until it ends or its turn does.
    fn turn(&self, worker: &mut Worker, group: &mut Group<O::Observer>, member: usize) -> Result<Turn, Stop> {
        let context = self.context;
        let first = group.first;
        let is_cancelled = || self.failed.load(Ordering::Relaxed) < first;
        let is_last = group.members[member].next == group.members[member].end;
        let code = self.code();
        let executed = code.filter(|_| !group.members[member].observer.wants_steps());
        let mut runner = self.runner(worker, group, (member, executed), &is_cancelled);
        let before = runner.counts.warp_instructions;
        let outcome = runner.turn();
        let issued = runner.counts.warp_instructions - before;
        // Counts go to the observer of their run.
        if let Some(code) = code
            && (is_last || !matches!(outcome, Ok(Turn::Ended)))
        {
            runner.flush_compiled(code);
        }
        let resident = &mut group.members[member];
        resident.instructions += issued;
        resident.printed.append(&mut resident.block.printed);
        let outcome = outcome?;
        if outcome == Turn::Ended {
            let counts = &mut worker.counts;
            context.progress.block_ended(&mut counts.reported, counts.warp_instructions);
            let distance = resident.block.pace.end(resident.instructions, context.threads.len());
            resident.observer.block_issued(distance);
            resident.observer.block_ends(resident.block.index);
            if code.is_none() {
                self.note_interpreted(worker);
            }
        }
        Ok(outcome)
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

    /// Records the fault of the group with this first block, and cancels later ones.
    fn fail(&self, first: u64, fault: Box<Fault>) {
        self.failed.fetch_min(first, Ordering::Relaxed);
        let mut ended = self.ended();
        if ended.fault.as_ref().is_none_or(|(earlier, _)| first < *earlier) {
            ended.fault = Some((first, fault));
        }
    }

    /// Ends the runs of a group. Of a group that failed, nothing behind its last run is handed back.
    fn end_group(&self, worker: &mut Worker, group: Group<O::Observer>, failed: bool) {
        let Group { cluster, members, .. } = group;
        let last = members.len() - 1;
        for (member, resident) in members.into_iter().enumerate() {
            self.end(worker, resident, failed && member == last);
        }
        worker.clusters.push(cluster);
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
            ended.waiting += 1;
            ended = self.handed_back.wait(ended).unwrap_or_else(PoisonError::into_inner);
            ended.waiting -= 1;
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

    /// Notifies workers that wait for runs to be handed back. That takes a system call, also where none waits.
    fn notify(&self, ended: MutexGuard<'_, Ended<O::Observer>>) {
        let is_awaited = ended.waiting > 0;
        drop(ended);
        if is_awaited {
            self.handed_back.notify_all();
        }
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
        self.office.notify(ended);
        self.office.observation.end(run.observer);
        true
    }
}

impl<O: Observation> Drop for Handing<'_, '_, '_, O> {
    fn drop(&mut self) {
        let office = self.office;
        let mut ended = self.ended.take().unwrap_or_else(|| office.ended());
        ended.is_handing = false;
        office.notify(ended);
    }
}

/// Warp instructions that are executed sooner than another worker has started.
const FEW: u64 = 1 << 15;

/// Time slices used up by a block's warps before the block is taken to wait for others.
const PATIENCE: u32 = 16;

/// Rounds through a cluster's blocks before the cluster is taken to wait for another one.
const ROUNDS: u32 = 64;

/// State that a worker keeps from block to block.
struct Worker {
    pools: Pools,
    cache: LookupCache,
    counts: Counts,
    /// Ended blocks for reuse, and what clusters share.
    spare: Vec<Block>,
    clusters: Vec<Cluster>,
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
    /// Executes the block's warps until all have ended or none makes progress without other blocks.
    fn turn(&mut self) -> Result<Turn, Stop> {
        self.follow_cluster();
        let mut rounds = 0;
        let mut first = 0;
        if std::mem::take(&mut self.block.is_fresh)
            && let Some(code) = self.code
            && code.starts()
            && self.context.last_warp == u32::MAX
        {
            match self.whole_block(code)? {
                Whole::Ended => return Ok(Turn::Ended),
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
                return Ok(Turn::Ended);
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
                return Ok(Turn::Spins);
            }
            if !ran {
                return if self.waits_for_cluster() { Ok(Turn::Waits) } else { Err(self.deadlock()) };
            }
        }
    }
}
