//! Finds where warps wait for memory: at the first use of a value loaded from global memory.
//!
//! This approximates the scoreboard of the hardware, for the [model](crate::model)'s latency term. Loads are issued
//! without waiting; the first instruction that reads an outstanding result waits, and by then the other outstanding
//! loads have arrived too. For example, two round trips:
//!
//! ```text
//! ld.global a, [p]      outstanding: a
//! ld.global b, [q]      outstanding: a, b
//! add c, a, 1           waits for both: round trip 1
//! ld.global d, [c]      outstanding: d, an address that depends on a
//! add e, d, b           waits: round trip 2; b has arrived
//! ```
//!
//! An instruction of a loop that reads what was loaded before the loop waits in the first iteration alone, so that its waits are no
//! more than the executions of those loads:
//!
//! ```text
//! ld.global a, [p]
//! loop:
//!   ld.shared b, [s]
//!   fma c, a, b, c        waits for a once, however often it is executed
//!   ...
//! ```
//!
//! ptxas moves loads up within a basic block, as far as their addresses allow, and stores, barriers and divisions between, which
//! branch to their rare cases. So the order is not that of the text: [`scheduled`] puts first what depends on no load of the block, then what depends on one, and so on.
//! A short body of a branch becomes [conditional instructions](super::predicated), so that what is before the branch, in the body and
//! behind it is one basic block to ptxas: loads under a condition do not wait for those before it.

use super::loops;
use super::predicated::Guarded;
use super::read;
use super::unrolled::Unrolled;
use super::uses::Uses;
use crate::count::Slots;
use crate::ptx::cfg::{Block, BlockId, Cfg};
use crate::ptx::op::copies::Copying;
use crate::ptx::op::memory::Memory;
use crate::ptx::op::words::AddressSpace;
use crate::ptx::op::{Awaits, Op};
use crate::ptx::{Body, Instruction};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Waits of a function.
pub(super) struct Waits {
    /// Instructions before which a warp waits, ascending.
    pub(super) sites: Vec<WaitSite>,
    /// Most waits on a path through the function that passes no basic block twice.
    pub(super) round_trips: u32,
    /// True if a store to global memory can follow a barrier that follows a load.
    pub(super) phased: bool,
}

/// An instruction before which a warp waits.
pub(super) struct WaitSite {
    pub(super) site: u32,
    /// Loop iterations whose loads it waits for together.
    pub(super) turns: u32,
    /// The loads that it waits for, one of each basic block, where all are before the loop that it is in: it waits no more often
    /// than they are executed. Empty where it may wait each time.
    pub(super) earlier: Vec<u32>,
}

/// Finds the loads that follow a chain: those whose address depends on what a load of the same memories found in the same basic
/// block, or in the iteration before it. The memories are global memory, or those on the multiprocessor: shared and constant.
///
/// ```text
/// ld.shared a, [p]
/// ld.shared p, [a]      chained to the load before it, and that one to this, where both are a loop
/// ```
pub(super) fn chained(body: &Body, cfg: &Cfg, uses: &Uses, first: u32, on_chip: bool) -> Vec<u32> {
    let is_load = |place: usize| {
        let op = body.instructions[place - first as usize].opcode.op();
        op.is_ok_and(|op| match on_chip {
            false => kind(&op) == Kind::Load,
            true => {
                let on_chip = |space: AddressSpace| space.is_shared() || space == AddressSpace::Constant;
                op.loads() && op.space().is_some_and(on_chip)
            }
        })
    };
    let mut chained = Vec::new();
    for block in &cfg.blocks {
        let places = (first + block.instructions.start) as usize..(first + block.instructions.end) as usize;
        if places.clone().any(is_load) {
            let found = uses.depending(places.clone(), is_load);
            let loads = places.filter(|place| is_load(*place) && uses.reads(*place, &found));
            chained.extend(loads.map(|place| place as u32));
        }
    }
    chained
}

/// Finds the accesses to global memory whose address depends on what a load from global memory found, such as `x[index[i]]`.
pub(super) fn indexed(body: &Body, uses: &Uses, first: u32) -> Vec<u32> {
    let places = first as usize..first as usize + body.instructions.len();
    let kind = |place: usize| {
        body.instructions[place - first as usize].opcode.op().map_or(Kind::Other, |op| kind(&op))
    };
    let found = uses.depending(places.clone(), |place| kind(place) == Kind::Load);
    let is_indexed = |place: &usize| {
        matches!(kind(*place), Kind::Load | Kind::Store)
            && uses.address(*place).is_some_and(|slot| found.contains(&slot.cell))
    };
    places.filter(is_indexed).map(|place| place as u32).collect()
}

/// Effect of an instruction on [global memory](read::is_global), from its opcode.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Load,
    Store,
    /// Start of an asynchronous copy, and the wait for it.
    CopyBegins,
    CopyAwaited,
    /// A question to the barrier that counts a copy's bytes, asked until they are there: a loop of its own.
    CopyPolled,
    Barrier,
    Other,
}

/// Index of the scoreboard entry for outstanding `cp.async` groups.
const COPIES: u32 = u32::MAX;

fn kind(op: &Op) -> Kind {
    let is_global = read::is_global(op);
    match (op, op.awaits()) {
        (Op::Memory(Memory::Mbarrier(_)), Some(Awaits::Copies)) => Kind::CopyPolled,
        (_, Some(Awaits::Copies)) => Kind::CopyAwaited,
        (_, Some(Awaits::Threads)) => Kind::Barrier,
        _ if op.starts_copy() => Kind::CopyBegins,
        // A barrier object is no data.
        (Op::Memory(Memory::Mbarrier(_)) | Op::Copy(Copying::Arrive { .. }), _) => Kind::Other,
        _ if op.loads() && is_global => Kind::Load,
        _ if op.stores() && is_global => Kind::Store,
        _ => Kind::Other,
    }
}

/// A result that is still outstanding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Outstanding {
    /// Its column.
    cell: u32,
    /// The basic block of the load, and its instruction.
    block: usize,
    load: u32,
}

/// When an instruction waits.
#[derive(Clone, Default)]
enum Wait {
    #[default]
    Never,
    /// When the loop that it is in begins: for these loads, by their basic blocks.
    AtFirst(BTreeSet<(usize, u32)>),
    Always,
}

/// Scoreboard before an instruction.
#[derive(Clone, Default, PartialEq)]
struct State {
    outstanding: Vec<Outstanding>,
    loaded: bool,
    /// True if a barrier has followed a load.
    second_phase: bool,
}

impl State {
    fn join(&mut self, other: &Self) {
        self.outstanding.extend(&other.outstanding);
        self.outstanding.sort_unstable();
        self.outstanding.dedup();
        self.loaded |= other.loaded;
        self.second_phase |= other.second_phase;
    }
}

/// Finds the waits of a function, of which ptxas unrolls some loops.
pub(super) fn find(
    body: &Body,
    cfg: &Cfg,
    uses: &Uses,
    (slots, unrolled, guarded): (&[Slots], &[Unrolled], &[Guarded]),
    first: u32,
) -> Waits {
    // All of the function's opcodes have been decoded.
    let kind_of = |instruction: &Instruction| instruction.opcode.op().map_or(Kind::Other, |op| kind(&op));
    let kinds: Vec<Kind> = body.instructions.iter().map(kind_of).collect();
    if !kinds.iter().any(|kind| matches!(kind, Kind::Load | Kind::CopyBegins)) {
        return Waits { sites: Vec::new(), round_trips: 0, phased: false };
    }
    let innermost = loops::innermost(cfg);
    let straights = straights(cfg, guarded);
    let mut before: Vec<State> = vec![State::default(); cfg.blocks.len()];
    let mut waits = vec![Wait::Never; body.instructions.len()];
    let mut phased = false;
    // The first pass follows the text; the second adds what loops carry round.
    for _ in 0..2 {
        for straight in &straights {
            let mut state = before[straight[0].block].clone();
            for (index, at) in scheduled(cfg, straight, (&kinds, slots), uses, first) {
                let around = &innermost[index];
                let place = (first + at) as usize;
                let kind = kinds[at as usize];
                let sources = uses.sources(place);
                let is_wanted = |one: &Outstanding| {
                    sources.iter().any(|slot| slot.cell == one.cell)
                        || matches!(kind, Kind::CopyAwaited | Kind::CopyPolled) && one.cell == COPIES
                };
                let wanted: Vec<Outstanding> = state.outstanding.iter().copied().filter(is_wanted).collect();
                if !wanted.is_empty() {
                    let earlier = |one: &Outstanding| !around.contains(&one.block);
                    let at_first = kind != Kind::CopyPolled && wanted.iter().all(earlier);
                    waits[at as usize].add(at_first.then_some(&wanted));
                    // The loop's own loads are outstanding here again when nothing waits any more.
                    state.outstanding.retain(|one| at_first && !earlier(one));
                }
                let results = uses.results(place).iter().map(|slot| slot.cell);
                state.outstanding.retain(|one| !results.clone().any(|result| result == one.cell));
                let outstanding = |cell| Outstanding { cell, block: index, load: at };
                match kind {
                    Kind::Load => {
                        state.outstanding.extend(results.map(outstanding));
                        state.loaded = true;
                    }
                    Kind::CopyBegins => {
                        state.outstanding.push(outstanding(COPIES));
                        state.loaded = true;
                    }
                    Kind::Barrier => state.second_phase |= state.loaded,
                    Kind::Store => phased |= state.second_phase,
                    Kind::CopyAwaited | Kind::CopyPolled | Kind::Other => {}
                }
            }
            let is_inside = |next: &BlockId| straight.iter().any(|part| part.block == next.0 as usize);
            let ways = straight.iter().flat_map(|part| &cfg.blocks[part.block].successors);
            for next in ways.filter(|next| !is_inside(next)) {
                before[next.0 as usize].join(&state);
            }
        }
    }
    let is_wait = |at: &u32| !matches!(waits[*at as usize], Wait::Never);
    // The longest path, forwards in the text: backward edges close loops.
    let mut longest = vec![0u32; cfg.blocks.len()];
    let mut round_trips = 0;
    for (index, block) in cfg.blocks.iter().enumerate() {
        let here = block.instructions.clone().filter(is_wait).count() as u32;
        let behind = longest[index] + here;
        round_trips = round_trips.max(behind);
        for next in block.successors.iter().map(|next| next.0 as usize).filter(|next| *next > index) {
            longest[next] = longest[next].max(behind);
        }
    }
    let mut sites = Vec::new();
    for (index, block) in cfg.blocks.iter().enumerate() {
        let unrolled = unrolled.iter().find(|unrolled| unrolled.block == index);
        let turns = unrolled.map_or(1, |unrolled| {
            if overlaps(block, (&kinds, &body.instructions), uses, first) { unrolled.iterations } else { 1 }
        });
        sites.extend(block.instructions.clone().filter(is_wait).map(|at| {
            let site = first + at;
            match &waits[at as usize] {
                Wait::AtFirst(loads) => {
                    let by_block: BTreeMap<usize, u32> = loads.iter().copied().collect();
                    let earlier = by_block.into_values().map(|load| first + load).collect();
                    WaitSite { site, turns: 1, earlier }
                }
                Wait::Never | Wait::Always => WaitSite { site, turns, earlier: Vec::new() },
            }
        }));
    }
    Waits { sites, round_trips, phased }
}

impl Wait {
    /// Adds a wait: for loads before the loop, or each time.
    fn add(&mut self, at_first: Option<&Vec<Outstanding>>) {
        *self = match (std::mem::take(self), at_first) {
            (Self::Always, _) | (_, None) => Self::Always,
            (Self::Never, Some(wanted)) => {
                Self::AtFirst(wanted.iter().map(|one| (one.block, one.load)).collect())
            }
            (Self::AtFirst(mut loads), Some(wanted)) => {
                loads.extend(wanted.iter().map(|one| (one.block, one.load)));
                Self::AtFirst(loads)
            }
        };
    }
}

/// A basic block of several that ptxas makes one.
struct Part {
    block: usize,
    /// True if it is the body of the branch before it.
    is_guarded: bool,
}

/// The basic blocks, those together that ptxas makes one: a block, a short body that it branches around, the block behind it, and so on.
fn straights(cfg: &Cfg, guarded: &[Guarded]) -> Vec<Vec<Part>> {
    let by_branch: HashMap<usize, &Guarded> = guarded.iter().map(|one| (one.before, one)).collect();
    let mut straights: Vec<Vec<Part>> = Vec::new();
    let mut taken = vec![false; cfg.blocks.len()];
    for first in 0..cfg.blocks.len() {
        if taken[first] {
            continue;
        }
        let mut straight = vec![Part { block: first, is_guarded: false }];
        while let Some(&Part { block: last, is_guarded: false }) = straight.last()
            && let Some(one) = by_branch.get(&last)
            && last < one.block
            && one.block < one.join
        {
            straight.push(Part { block: one.block, is_guarded: true });
            if !one.is_only_way {
                break;
            }
            straight.push(Part { block: one.join, is_guarded: false });
        }
        straight.iter().for_each(|part| taken[part.block] = true);
        straights.push(straight);
    }
    straights
}

/// The instructions of such blocks in the order in which ptxas issues them, each with its block: between two instructions that loads do
/// not cross, ascending by the number of loads that depend on each other before them.
fn scheduled(
    cfg: &Cfg,
    straight: &[Part],
    (kinds, slots): (&[Kind], &[Slots]),
    uses: &Uses,
    first: u32,
) -> Vec<(usize, u32)> {
    let mut order = Vec::new();
    let mut segment: Vec<(u32, usize, u32)> = Vec::new();
    // Loads behind which each column's value comes, in this segment.
    let mut levels: HashMap<u32, u32> = HashMap::new();
    let mut of_branch = 0;
    for &Part { block, is_guarded } in straight {
        let guard = if is_guarded { of_branch } else { 0 };
        for at in cfg.blocks[block].instructions.clone() {
            let place = (first + at) as usize;
            let level = uses.sources(place).iter().filter_map(|slot| levels.get(&slot.cell)).max();
            let level = level.copied().unwrap_or(0).max(guard);
            let is_load = kinds[at as usize] == Kind::Load;
            for slot in uses.results(place).iter() {
                let new = level + u32::from(is_load);
                // Under a condition the value of before may stay.
                let old = levels.get(&slot.cell).filter(|_| is_guarded).copied().unwrap_or(0);
                levels.insert(slot.cell, new.max(old));
            }
            of_branch = level;
            segment.push((level, block, at));
            let stops =
                slots[at as usize].is_sequence() || !matches!(kinds[at as usize], Kind::Load | Kind::Other);
            if stops {
                flush(&mut segment, &mut order);
                levels.clear();
                of_branch = 0;
            }
        }
    }
    flush(&mut segment, &mut order);
    order
}

/// Moves a segment to the order. What ends it stays behind it.
fn flush(segment: &mut Vec<(u32, usize, u32)>, order: &mut Vec<(usize, u32)>) {
    let last = segment.pop();
    segment.sort_by_key(|(level, ..)| *level);
    order.extend(segment.drain(..).chain(last).map(|(_, block, at)| (block, at)));
}

/// True if the loads of several iterations of an unrolled loop are in flight together: nothing stops a load from moving above
/// those of the iteration before.
///
/// So there are no stores, barriers or calls, no loads that synchronise, the exit depends on no loaded value, and addresses on none of
/// the iteration before.
fn overlaps(
    block: &Block,
    (kinds, instructions): (&[Kind], &[Instruction]),
    uses: &Uses,
    first: u32,
) -> bool {
    let places = (first + block.instructions.start) as usize..(first + block.instructions.end) as usize;
    let kind = |place: usize| kinds[place - first as usize];
    let is_load = |place: usize| kind(place) == Kind::Load;
    let moves = |place: usize| {
        let op = instructions[place - first as usize].opcode.op();
        let stays = |op: Op| match op {
            Op::Memory(Memory::Atomic(atomic)) => atomic.gives_back || atomic.order.is_some(),
            Op::Call | Op::Memory(Memory::Fence(_)) => true,
            op => op.is_strong(),
        };
        matches!(kind(place), Kind::Load | Kind::Other) && !op.is_ok_and(stays)
    };
    if !places.clone().all(moves) {
        return false;
    }
    // What depends on loads and goes round the loop: read before it is written.
    let loaded = uses.depending(places.clone(), is_load);
    let mut written: HashSet<u32> = HashSet::new();
    let mut carried: HashSet<u32> = HashSet::new();
    for place in places.clone() {
        let read = uses.sources(place).iter().map(|slot| slot.cell);
        carried.extend(read.filter(|cell| loaded.contains(cell) && !written.contains(cell)));
        written.extend(uses.results(place).iter().map(|slot| slot.cell));
    }
    let late = uses.depending(places.clone(), |place| uses.reads(place, &carried));
    let mut decides = places.filter(|place| is_load(*place) || uses.results(*place).is_empty());
    !decides.any(|place| {
        let is_exit = uses.results(place).is_empty();
        uses.reads(place, &carried) || uses.reads(place, &late) || is_exit && uses.reads(place, &loaded)
    })
}
