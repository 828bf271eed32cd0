//! Puts a warp's instructions into the order of the machine code.
//!
//! ptxas makes one of several iterations of some loops, and conditional instructions of short bodies of branches. Of what is then one
//! basic block, a *region*, it moves loads up as far as their addresses, stores, barriers and divisions allow: between two instructions
//! that loads do not cross, those come first that depend on no load from there, then those that depend on one, and so on. For
//! example, of two iterations that are one in the machine code:
//!
//! ```text
//! executed               in order                waits
//! ld a, [p]              ld a, [p]
//! add s, s, a            ld a', [p+4]
//! add p, p, 4            (add p, p, 8)
//! ld a, [p]              add s, s, a             for both loads
//! add s, s, a            add s, s, a'
//! add p, p, 4
//! ```
//!
//! Among these, instructions that need not wait go before those that must (list scheduling), within a window as wide as registers may
//! allow. Each value that a region computes has a register of its own there, as in the machine code.

use super::code::{Code, Kind};
use super::trace::WarpTrace;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// An instruction in its place in a region.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    /// Index of the instruction.
    pub(super) instruction: u32,
    pub(super) reads: Vec<u32>,
    pub(super) writes: Vec<u32>,
    /// The one among those that it reads which holds its address.
    pub(super) address: Option<u32>,
    /// Its place in the region as it was executed.
    at: u32,
    /// True if no machine instruction is left of it here.
    pub(super) is_gone: bool,
    /// True if no lane takes part: the machine code has it as a conditional instruction.
    pub(super) is_idle: bool,
}

/// An instruction of a warp.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ordered {
    /// Index of the instruction in its place.
    pub(super) placed: u32,
    /// Its access, as in the trace.
    pub(super) access: Option<u32>,
}

/// Puts regions into order, each sequence of instructions once.
pub(super) struct Orderer<'a> {
    code: &'a Code,
    known: FxHashMap<Vec<u32>, Range<u32>>,
    pub(super) placed: Vec<Placed>,
    /// Registers that they use.
    pub(super) registers: usize,
}

/// Most instructions of a region.
const MOST: usize = 400;

/// Instructions from the first that has not been issued on, among which one is chosen.
const WINDOW: usize = 32;

/// A basic block that a warp has executed.
struct Executed {
    block: u32,
    from: usize,
    to: usize,
}

/// An instruction of a region: its index, where the warp executed it, and whether it is gone or idle.
#[derive(Clone, Copy)]
struct Member {
    instruction: u32,
    access: Option<u32>,
    is_gone: bool,
    is_idle: bool,
}

impl<'a> Orderer<'a> {
    pub(super) fn new(code: &'a Code) -> Self {
        Self { code, known: FxHashMap::default(), placed: Vec::new(), registers: code.registers }
    }

    /// Returns a warp's instructions as the machine code has them.
    pub(super) fn ordered(&mut self, warp: &WarpTrace) -> Vec<Ordered> {
        let code = self.code;
        let sites: Vec<u32> = warp.issues.iter().map(|issue| code.at(issue.site)).collect();
        let blocks = executed(code, &sites);
        let mut order = Vec::with_capacity(sites.len());
        let mut region = Vec::new();
        let mut next = 0;
        while next < blocks.len() {
            region.clear();
            next += gather(code, warp, &sites, &blocks[next..], &mut region);
            let members: Vec<u32> = region
                .iter()
                .map(|member| {
                    member.instruction << 2 | u32::from(member.is_gone) << 1 | u32::from(member.is_idle)
                })
                .collect();
            let range = match self.known.get(&members) {
                Some(range) => range.clone(),
                None => {
                    let first = self.placed.len() as u32;
                    self.arrange(&region);
                    let range = first..self.placed.len() as u32;
                    self.known.insert(members, range.clone());
                    range
                }
            };
            order.extend(range.map(|placed| {
                let access = region[self.placed[placed as usize].at as usize].access;
                Ordered { placed, access }
            }));
        }
        order
    }

    /// Appends the instructions of a region in their order.
    fn arrange(&mut self, region: &[Member]) {
        let mut members = self.renamed(region);
        let mut levels: FxHashMap<u32, u32> = FxHashMap::default();
        let mut segment: Vec<(u32, Placed)> = Vec::new();
        // Shared memory is read and written in the order of the text.
        let (mut stored, mut loaded) = (0, 0);
        let count = members.len();
        for (at, placed) in members.drain(..).enumerate() {
            let instruction = &self.code.instructions[placed.instruction as usize];
            let level = placed.reads.iter().filter_map(|register| levels.get(register)).max();
            let mut level = level.copied().unwrap_or(0);
            match instruction.kind {
                Kind::OnChipLoad => {
                    level = level.max(stored);
                    loaded = level.max(loaded);
                }
                Kind::OnChipStore => {
                    level = level.max(loaded);
                    stored = level.max(stored);
                }
                _ => {}
            }
            let is_load = matches!(instruction.kind, Kind::Load | Kind::OnChipLoad);
            levels.extend(placed.writes.iter().map(|register| (*register, level + u32::from(is_load))));
            segment.push((level, placed));
            let is_last = at + 1 == count;
            let stops = match instruction.kind {
                Kind::Arithmetic => instruction.slots.is_sequence(),
                Kind::Load | Kind::OnChipLoad | Kind::OnChipStore => false,
                Kind::Branch => is_last,
                _ => true,
            };
            if stops || is_last {
                // What ends a segment stays behind it.
                let last = segment.pop();
                segment.sort_by_key(|(level, _)| *level);
                self.schedule(segment.drain(..).map(|(_, placed)| placed).collect());
                self.placed.extend(last.map(|(_, placed)| placed));
                levels.clear();
                (stored, loaded) = (0, 0);
            }
        }
    }

    /// Gives each value of a region that is overwritten there a register of its own.
    fn renamed(&mut self, region: &[Member]) -> Vec<Placed> {
        let mut writes_left: FxHashMap<u32, u32> = FxHashMap::default();
        let written = |member: &Member| !member.is_idle;
        for member in region.iter().filter(|member| written(member)) {
            for register in &self.code.instructions[member.instruction as usize].writes {
                *writes_left.entry(*register).or_default() += 1;
            }
        }
        let mut names: FxHashMap<u32, u32> = FxHashMap::default();
        let mut fresh = self.code.registers as u32;
        let mut placed = Vec::with_capacity(region.len());
        for (at, member) in (0..).zip(region) {
            let instruction = &self.code.instructions[member.instruction as usize];
            let name = |register: &u32| names.get(register).copied().unwrap_or(*register);
            let reads = instruction.reads.iter().map(name).collect();
            let address = instruction.address.as_ref().map(name);
            let mut writes = Vec::new();
            if written(member) {
                for register in &instruction.writes {
                    let left = writes_left.get_mut(register).map_or(0, |left| {
                        *left -= 1;
                        *left
                    });
                    // The last value is what other regions read.
                    let name = if left == 0 {
                        *register
                    } else {
                        fresh += 1;
                        fresh - 1
                    };
                    names.insert(*register, name);
                    writes.push(name);
                }
            }
            let Member { instruction, is_gone, is_idle, .. } = *member;
            placed.push(Placed { instruction, reads, writes, address, at, is_gone, is_idle });
        }
        self.registers = self.registers.max(fresh as usize);
        placed
    }

    /// Appends instructions between two that loads do not cross: of those in the window that have their operands first, else the next.
    fn schedule(&mut self, segment: Vec<Placed>) {
        let mut ready: FxHashMap<u32, u32> = FxHashMap::default();
        let mut left: Vec<Option<Placed>> = segment.into_iter().map(Some).collect();
        let (mut first, mut clock) = (0, 0);
        while first < left.len() {
            let mut best: Option<(u32, usize)> = None;
            // Registers that instructions passed over will write: whoever reads them comes later.
            let mut pending: Vec<u32> = Vec::new();
            for (index, placed) in left.iter().enumerate().skip(first).take(WINDOW) {
                let Some(placed) = placed else { continue };
                let must_wait = placed.reads.iter().any(|register| pending.contains(register));
                if !must_wait {
                    let operands = placed.reads.iter().filter_map(|register| ready.get(register));
                    let at = operands.copied().max().unwrap_or(0).max(clock);
                    if best.is_none_or(|(earliest, _)| at < earliest) {
                        best = Some((at, index));
                    }
                    if at == clock {
                        break;
                    }
                }
                pending.extend(&placed.writes);
            }
            let Some((at, index)) = best else { break };
            let Some(placed) = left[index].take() else { break };
            let instruction = &self.code.instructions[placed.instruction as usize];
            let issued = if placed.is_gone { 0 } else { u32::from(instruction.slots.issued) };
            let clocks = if placed.is_gone { 0 } else { u32::from(instruction.slots.clocks) };
            clock = if issued > 0 { at + issued } else { clock };
            ready.extend(placed.writes.iter().map(|register| (*register, at + clocks)));
            self.placed.push(placed);
            while left.get(first).is_some_and(Option::is_none) {
                first += 1;
            }
        }
    }
}

/// Divides a warp's instructions into basic blocks, each as often as it was executed.
fn executed(code: &Code, sites: &[u32]) -> Vec<Executed> {
    let mut blocks: Vec<Executed> = Vec::new();
    let mut before = u32::MAX;
    for (at, &index) in sites.iter().enumerate() {
        let instruction = &code.instructions[index as usize];
        match blocks.last_mut() {
            Some(last) if last.block == instruction.block && instruction.site > before => last.to = at + 1,
            _ => blocks.push(Executed { block: instruction.block, from: at, to: at + 1 }),
        }
        before = instruction.site;
    }
    blocks
}

/// Collects a region, from the first of these blocks on: iterations of a loop, or blocks with conditional instructions between them.
/// Returns how many blocks it has.
fn gather(
    code: &Code,
    warp: &WarpTrace,
    sites: &[u32],
    blocks: &[Executed],
    region: &mut Vec<Member>,
) -> usize {
    let at = |place: usize| &code.instructions[sites[place] as usize];
    let member = |place: usize, is_gone: bool| {
        let access = warp.issues[place].access;
        Member { instruction: sites[place], access, is_gone, is_idle: false }
    };
    let first = &blocks[0];
    let iterations = at(first.from).iterations as usize;
    if iterations > 1 {
        let count = blocks.iter().take(iterations).take_while(|block| block.block == first.block).count();
        // The rest of a loop is a loop of its own, of which each iteration is one.
        let count = if count == iterations { count } else { 1 };
        let last = blocks[count - 1].from;
        for block in &blocks[..count] {
            let is_gone = |place: usize| count > 1 && at(place).is_once && place < last;
            region.extend((block.from..block.to).map(|place| member(place, is_gone(place))));
        }
        return count;
    }
    let mut count = 0;
    loop {
        let block = &blocks[count];
        region.extend((block.from..block.to).map(|place| member(place, false)));
        count += 1;
        let last = at(block.to - 1);
        let following = blocks.get(count);
        if last.guards.is_empty() && !at(block.from).is_predicated {
            return count;
        }
        for &guarded in &last.guards {
            if following.is_none_or(|next| next.block != code.instructions[guarded as usize].block) {
                region.push(Member { instruction: guarded, access: None, is_gone: false, is_idle: true });
            }
        }
        let goes_on = following.is_some_and(|next| {
            at(next.from).site > last.site && at(next.from).iterations == 1 && region.len() < MOST
        });
        if !goes_on {
            return count;
        }
    }
}
