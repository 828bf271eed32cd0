//! Executes traces on one multiprocessor, event by event.
//!
//! Each scheduler has its warps, and issues the instruction that can issue first; of several that of the oldest warp. An
//! instruction can issue when the one before it has, its operands are there, and its unit is free. The scheduler whose instruction
//! comes first goes first, so that requests reach memory in the order of time.

use super::code::{Code, Instruction, Kind};
use super::memory::{Memory, Rates, Sectors};
use super::order::{Ordered, Placed};
use super::trace::{Request, Traces, WarpTrace};
use crate::cards::Card;
use crate::exec::{ADDRESSES, GUARDS};
use counters::SampledLoads;

/// Clocks from a wavefront of shared memory to its result.
const AFTER_WAVEFRONT: f64 = 1.0;

/// The instructions of all sampled warps, in order.
pub(super) struct Order {
    pub(super) placed: Vec<Placed>,
    /// Those of each warp of each block.
    pub(super) blocks: Vec<Vec<Vec<Ordered>>>,
    pub(super) registers: usize,
}

/// A warp in execution.
struct Warp<'a> {
    trace: &'a WarpTrace,
    order: &'a [Ordered],
    next: usize,
    block: usize,
    age: usize,
    /// When its next instruction can issue, as far as the warp knows.
    ready: f64,
    /// When the instruction before it allows that.
    after: f64,
    waits_at_barrier: bool,
    /// When each register's value is there.
    values: Vec<f64>,
    /// Loads in flight since something last waited for one: when each is there, what it takes of what can be in flight, and where it
    /// goes.
    in_flight: Vec<(f64, f32, u32)>,
    /// When all asynchronous copies so far are there.
    copies: f64,
}

/// A block in execution.
struct Block {
    alive: usize,
    at_barrier: usize,
    /// When the last warp came to the barrier.
    came: f64,
}

/// A scheduler with its warps.
#[derive(Default)]
struct Scheduler {
    warps: Vec<usize>,
    free: f64,
    /// When each unit is free: integers, multiplication, special functions, double precision.
    units: [f64; 4],
    /// The instruction that issues next: when, and the warp. None until it is looked for.
    found: Option<Option<(f64, usize)>>,
}

/// What came of some blocks.
pub(super) struct Outcome {
    pub(super) clocks: f64,
    pub(super) sectors: Sectors,
    pub(super) loads: SampledLoads,
}

/// One multiprocessor.
pub(super) struct Multiprocessor<'a> {
    code: &'a Code,
    traces: &'a Traces,
    order: &'a Order,
    card: &'a Card,
    memory: Memory<'a>,
    schedulers: Vec<Scheduler>,
    warps: Vec<Warp<'a>>,
    blocks: Vec<Block>,
    last_start: f64,
    /// When the unit that counts arrivals at barriers is free.
    barriers: f64,
    end: f64,
}

impl<'a> Multiprocessor<'a> {
    pub(super) fn new(
        (code, traces, order): (&'a Code, &'a Traces, &'a Order),
        card: &'a Card,
        rates: Rates,
        shared_bytes: u64,
    ) -> Self {
        let schedulers = (card.issue_per_clock.round() as usize).max(1);
        Self {
            code,
            traces,
            order,
            card,
            memory: Memory::new(card, rates, shared_bytes),
            schedulers: (0..schedulers).map(|_| Scheduler::default()).collect(),
            warps: Vec::new(),
            blocks: Vec::new(),
            last_start: f64::NEG_INFINITY,
            barriers: 0.0,
            end: 0.0,
        }
    }

    /// Executes so many blocks, of which some are resident at a time. The traces are used in turn, from `first` on.
    pub(super) fn execute(mut self, first: usize, count: usize, resident: usize) -> Outcome {
        let mut begun = 0;
        while begun < count.min(resident) {
            self.begin(first + begun, 0.0);
            begun += 1;
        }
        while let Some((now, scheduler, warp)) = self.next_issue() {
            self.schedulers[scheduler].found = None;
            if self.warps[warp].next < self.warps[warp].order.len() {
                self.issue(now, scheduler, warp);
            } else if self.end_warp(now, scheduler, warp) && begun < count {
                self.begin(first + begun, now + self.card.block_refill_clocks);
                begun += 1;
            }
        }
        let Memory { passed: sectors, loads, .. } = self.memory;
        Outcome { clocks: self.end.max(self.memory.end()), sectors, loads }
    }

    /// Begins a block, no sooner than `at`.
    fn begin(&mut self, number: usize, at: f64) {
        let at = at.max(self.last_start + self.card.block_clocks);
        self.last_start = at;
        let sample = number % self.traces.blocks.len();
        let start = at + self.card.warp_overhead_ns * 1e-3 * self.card.clock_mhz;
        let warps = self.traces.blocks[sample].warps.iter().zip(&self.order.blocks[sample]);
        self.blocks.push(Block { alive: warps.len(), at_barrier: 0, came: 0.0 });
        for (trace, order) in warps {
            let age = self.warps.len();
            let scheduler = age % self.schedulers.len();
            self.schedulers[scheduler].warps.push(age);
            self.schedulers[scheduler].found = None;
            self.warps.push(Warp {
                trace,
                order,
                next: 0,
                block: self.blocks.len() - 1,
                age,
                ready: start,
                after: start,
                waits_at_barrier: false,
                values: vec![0.0; self.order.registers],
                in_flight: Vec::new(),
                copies: 0.0,
            });
        }
    }

    /// Returns the instruction that issues next: when, of which scheduler, and of which warp.
    fn next_issue(&mut self) -> Option<(f64, usize, usize)> {
        let mut next: Option<(f64, usize, usize)> = None;
        for (number, scheduler) in self.schedulers.iter_mut().enumerate() {
            let found = *scheduler.found.get_or_insert_with(|| {
                let waiting = scheduler.warps.iter().map(|warp| &self.warps[*warp]);
                let runnable = waiting.filter(|warp| !warp.waits_at_barrier);
                let times = runnable.map(|warp| (warp.ready.max(scheduler.free), warp.age));
                times.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))
            });
            if let Some((at, warp)) = found
                && next.is_none_or(|(earliest, ..)| at < earliest)
            {
                next = Some((at, number, warp));
            }
        }
        next
    }

    /// Ends a warp; returns true if its block has ended.
    fn end_warp(&mut self, now: f64, scheduler: usize, warp: usize) -> bool {
        self.schedulers[scheduler].warps.retain(|other| *other != warp);
        self.end = self.end.max(now);
        let block = self.warps[warp].block;
        self.warps[warp].values = Vec::new();
        self.blocks[block].alive -= 1;
        if self.blocks[block].alive == 0 {
            return true;
        }
        self.blocks[block].came = self.blocks[block].came.max(now);
        self.release(block);
        false
    }

    /// Lets the warps of a block go on if all have come to the barrier.
    fn release(&mut self, block: usize) {
        let Block { alive, at_barrier, came } = self.blocks[block];
        if at_barrier < alive || alive == 0 {
            return;
        }
        let clocks = f64::from(BARRIER_CLOCKS);
        for scheduler in &mut self.schedulers {
            scheduler.found = None;
            for &warp in &scheduler.warps {
                let warp = &mut self.warps[warp];
                if warp.block == block && warp.waits_at_barrier {
                    warp.waits_at_barrier = false;
                    warp.after = came + clocks;
                    warp.ready = ready((self.code, self.order), warp, self.card);
                }
            }
        }
        self.blocks[block] = Block { alive, at_barrier: 0, came: 0.0 };
    }

    /// Issues a warp's next instruction.
    fn issue(&mut self, now: f64, scheduler: usize, number: usize) {
        let warp = &mut self.warps[number];
        let one = warp.order[warp.next];
        let placed = &self.order.placed[one.placed as usize];
        let instruction = &self.code.instructions[placed.instruction as usize];
        let issued = issued(instruction, placed);
        if issued > 0 {
            let of_scheduler = &mut self.schedulers[scheduler];
            let takes = units(instruction, self.card);
            let free = takes.iter().zip(of_scheduler.units).filter(|(takes, _)| **takes > 0.0);
            let free = free.fold(now, |free, (_, unit)| free.max(unit));
            if free > now {
                // Others go first while its unit is busy.
                warp.ready = free;
                return;
            }
            for (unit, takes) in of_scheduler.units.iter_mut().zip(takes).filter(|(_, takes)| *takes > 0.0) {
                *unit = now + takes;
            }
            of_scheduler.free = now + f64::from(issued);
            // What reads a load's result waits for those before it, too.
            let in_flight = &warp.in_flight;
            if in_flight.iter().any(|(.., register)| placed.reads.contains(register)) {
                warp.in_flight.clear();
            }
        }
        warp.next += 1;
        let mut after = now + f64::from(issued);
        let latency = if placed.is_gone { 0.0 } else { f64::from(instruction.slots.clocks) };
        let mut value = now + latency;
        match instruction.kind {
            Kind::Barrier => {
                warp.waits_at_barrier = true;
                self.barriers = self.barriers.max(now) + ARRIVAL_CLOCKS;
                let block = &mut self.blocks[warp.block];
                block.at_barrier += 1;
                block.came = block.came.max(self.barriers);
                let block = warp.block;
                return self.release(block);
            }
            // Conditional instructions have no branch.
            Kind::Branch if issued > 0 && instruction.guards.is_empty() => after = after.max(value),
            Kind::CopyAwaited => after = after.max(warp.copies),
            Kind::Arithmetic if instruction.slots.is_sequence() => after = after.max(value),
            _ => {}
        }
        if instruction.slots.shuffle > 0 {
            let shuffles = f64::from(instruction.slots.shuffle);
            value = value.max(self.memory.occupy(now, shuffles) + latency - shuffles);
        }
        let is_access = !matches!(
            instruction.kind,
            Kind::Arithmetic | Kind::Branch | Kind::CopyAwaited | Kind::Fence | Kind::Barrier
        );
        match one.access.map(|access| &warp.trace.requests[access as usize]) {
            Some(Request::Shared { wavefronts }) if !instruction.is_merged => {
                let [on_chip, ..] = self.card.chain_clocks;
                value = self.memory.occupy(now, f64::from(*wavefronts)) + on_chip - AFTER_WAVEFRONT;
            }
            Some(Request::Constant { addresses }) => {
                let [on_chip, ..] = self.card.chain_clocks;
                value = self.memory.serve_constant(now, *addresses) + on_chip - AFTER_WAVEFRONT;
            }
            Some(Request::Global(request)) => {
                let sectors = request.sectors.start as usize..request.sectors.end as usize;
                let there = self.memory.serve(now, request, &warp.trace.sectors[sectors]);
                match instruction.kind {
                    Kind::CopyBegins => warp.copies = warp.copies.max(there),
                    Kind::Load => {
                        value = there;
                        if is_too_much(warp, instruction, self.card) {
                            warp.in_flight.clear();
                        }
                        let register = placed.writes.first().copied().unwrap_or(u32::MAX);
                        warp.in_flight.push((there, instruction.weight, register));
                    }
                    _ => value = there,
                }
            }
            // Issued, but with no lane.
            None if is_access && issued > 0 => {
                self.memory.occupy(now, 1.0);
            }
            _ => {}
        }
        if !placed.is_idle {
            if issued == 0 && instruction.kind == Kind::Arithmetic {
                // What is fused with another instruction, or is none, passes its operands on.
                let operands = placed.reads.iter().map(|register| warp.values[*register as usize]);
                value = operands.fold(0.0, f64::max);
            }
            for &register in &placed.writes {
                warp.values[register as usize] = value;
            }
        }
        warp.after = after;
        warp.ready = ready((self.code, self.order), warp, self.card);
    }
}

/// Clocks from the last warp's arrival at a barrier to the first instruction behind it.
const BARRIER_CLOCKS: u16 = 20;

/// Clocks of the unit that counts arrivals, for each. On an H200 with 64 resident warps that do nothing but `bar.sync`, a barrier takes 67
/// clocks in blocks of 8 warps, 83 in blocks of 32 and 102 in blocks of 2.
const ARRIVAL_CLOCKS: f64 = 1.0;

/// Machine instructions of a PTX instruction in its place.
fn issued(instruction: &Instruction, placed: &Placed) -> u32 {
    match placed {
        Placed { is_gone: true, .. } => 0,
        Placed { is_idle: true, .. } => 1,
        _ => u32::from(instruction.slots.issued),
    }
}

/// Clocks for which an instruction takes each unit of a scheduler: integers, multiplication, special functions, double precision.
fn units(instruction: &Instruction, card: &Card) -> [f64; 4] {
    let slots = &instruction.slots;
    let clocks =
        |count: u8, rate: f64| if count > 0 { f64::from(count) * card.issue_per_clock / rate } else { 0.0 };
    [
        clocks(slots.integer, card.integer_per_clock),
        clocks(slots.multiply, card.multiply_per_clock),
        clocks(slots.special, card.special_per_clock),
        clocks(slots.double, card.double_per_clock),
    ]
}

/// Returns true if a load has to wait for registers that others in flight take.
fn is_too_much(warp: &Warp<'_>, load: &Instruction, card: &Card) -> bool {
    let taken: f32 = warp.in_flight.iter().map(|(_, weight, _)| weight).sum();
    f64::from(taken + load.weight) > card.loads_in_flight
}

/// Returns when a warp's next instruction can issue.
fn ready((code, order): (&Code, &Order), warp: &Warp<'_>, card: &Card) -> f64 {
    let Some(&one) = warp.order.get(warp.next) else { return warp.after };
    let placed = &order.placed[one.placed as usize];
    let instruction = &code.instructions[placed.instruction as usize];
    let mut at = warp.after;
    if issued(instruction, placed) == 0 && instruction.kind == Kind::Arithmetic {
        return at;
    }
    for &register in &placed.reads {
        let later = match instruction.kind {
            _ if placed.address == Some(register) => ADDRESSES,
            Kind::Branch => GUARDS,
            _ => 0,
        };
        at = at.max(warp.values[register as usize] + f64::from(later));
    }
    if instruction.kind == Kind::Load && is_too_much(warp, instruction, card) {
        at = warp.in_flight.iter().fold(at, |at, (there, ..)| at.max(*there));
    }
    at
}
