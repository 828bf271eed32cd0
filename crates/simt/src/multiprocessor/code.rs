//! The instructions of a trace as the simulation needs them: what they read and write, which units they take, what stops loads.

use super::trace::Traces;
use crate::count::Slots;
use crate::exec::{ITERATIONS, SiteInfo};
use crate::observe::Site;
use crate::ptx::op::copies::Copying;
use crate::ptx::op::memory::Memory;
use crate::ptx::op::words::AddressSpace;
use crate::ptx::op::{Awaits, Op};
use std::collections::HashMap;

/// What an instruction does, as far as its place among others and its time depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Arithmetic,
    Branch,
    /// Loads from global or local memory.
    Load,
    /// Stores and atomics there.
    Store,
    /// Begins an asynchronous copy.
    CopyBegins,
    /// Waits for asynchronous copies.
    CopyAwaited,
    /// Loads from shared or constant memory.
    OnChipLoad,
    /// Stores and atomics in shared memory.
    OnChipStore,
    /// Waits for the block's other warps.
    Barrier,
    Fence,
}

/// An instruction of the traces.
#[derive(Clone, Debug)]
pub(super) struct Instruction {
    pub(super) kind: Kind,
    pub(super) slots: Slots,
    /// Registers that it reads and writes, by numbers from 0.
    pub(super) reads: Vec<u32>,
    pub(super) writes: Vec<u32>,
    /// The one among those that it reads which holds its address.
    pub(super) address: Option<u32>,
    /// Of a load from global memory, what it takes of what a warp can have in flight.
    pub(super) weight: f32,
    /// Number of the first site of its basic block.
    pub(super) block: u32,
    /// Loop iterations that ptxas makes one of; 1 elsewhere.
    pub(super) iterations: u32,
    /// True if the machine code has it once for all of these.
    pub(super) is_once: bool,
    /// True for an access to shared memory that is part of another one.
    pub(super) is_merged: bool,
    /// True in a basic block that ptxas makes conditional instructions.
    pub(super) is_predicated: bool,
    /// Of a branch around such a block, the accesses to memory that are issued also where no lane takes it: indices.
    pub(super) guards: Vec<u32>,
    pub(super) site: u32,
}

/// The instructions of traces.
pub(super) struct Code {
    pub(super) instructions: Vec<Instruction>,
    /// Registers that they use.
    pub(super) registers: usize,
    /// The index of each site's instruction; [`NOT_USED`] for one that no warp issued.
    index: Vec<u32>,
}

/// The index of an instruction that no warp issued.
const NOT_USED: u32 = u32::MAX;

impl Code {
    /// Returns the instructions of these traces; None if a warp does what the simulation does not know.
    pub(super) fn of(traces: &Traces, sites: &[SiteInfo]) -> Option<Self> {
        let mut used: Vec<Site> = Vec::new();
        let mut index = vec![NOT_USED; sites.len()];
        for issue in traces.blocks.iter().flat_map(|block| &block.warps).flat_map(|warp| &warp.issues) {
            let index = index.get_mut(issue.site.0 as usize)?;
            if *index == NOT_USED {
                *index = used.len() as u32;
                used.push(issue.site);
            }
        }
        let mut registers: HashMap<u32, u32> = HashMap::new();
        let mut instructions = Vec::with_capacity(used.len());
        let mut iterations: HashMap<u32, u32> = HashMap::new();
        for site in &used {
            let info = &sites[site.0 as usize];
            let mut number = |cell: &u32| {
                let next = registers.len() as u32;
                *registers.entry(*cell).or_insert(next)
            };
            let reads = info.reads.iter().map(&mut number).collect();
            let writes = info.writes.iter().map(&mut number).collect();
            let turns = info.turns_together.max(if info.once_a_turn.is_some() { ITERATIONS } else { 1 });
            let most = iterations.entry(info.block).or_insert(1);
            *most = turns.max(*most);
            instructions.push(Instruction {
                kind: kind(info)?,
                slots: info.slots,
                reads,
                writes,
                address: info.address.map(|cell| number(&cell)),
                weight: info.load_weight,
                block: info.block,
                iterations: 1,
                is_once: info.once_a_turn.is_some(),
                is_merged: info.merged.is_some_and(|merged| merged.bytes == 0),
                is_predicated: false,
                guards: Vec::new(),
                site: site.0,
            });
        }
        let mut predicated: Vec<u32> = Vec::new();
        for (number, site) in (0..).zip(&used) {
            let info = &sites[site.0 as usize];
            let branch = info.guarded_by.map(|branch| index[branch as usize]);
            if let Some(branch) = branch.filter(|branch| *branch != NOT_USED) {
                instructions[branch as usize].guards.push(number);
                predicated.push(info.block);
            }
        }
        for instruction in &mut instructions {
            instruction.iterations = iterations[&instruction.block];
            instruction.is_predicated = predicated.contains(&instruction.block);
        }
        Some(Self { instructions, registers: registers.len(), index })
    }

    /// Returns the index of an instruction of the traces.
    pub(super) fn at(&self, site: Site) -> u32 {
        self.index[site.0 as usize]
    }
}

/// Returns what an instruction does; None for what the simulation does not know: objects that warps wait for one by one, the order in which
/// blocks take work from a counter, and the clocks of `match.any`.
fn kind(SiteInfo { op, takes_work, .. }: &SiteInfo) -> Option<Kind> {
    let on_chip = op.space().is_some_and(|space| space.is_shared() || space == AddressSpace::Constant);
    Some(match op {
        Op::Memory(Memory::Mbarrier(_)) | Op::Copy(Copying::Arrive { .. }) | Op::ClusterBarrier { .. } => {
            return None;
        }
        Op::Match { all: false, .. } => return None,
        _ if *takes_work => return None,
        Op::Bra | Op::Brx | Op::Call | Op::Ret => Kind::Branch,
        Op::Memory(Memory::Ld(access)) if access.is_parameter() => Kind::Arithmetic,
        Op::Memory(Memory::Fence(_)) => Kind::Fence,
        _ if op.is_atomic() && on_chip => Kind::OnChipStore,
        _ if op.is_atomic() => Kind::Store,
        _ if op.awaits() == Some(Awaits::Threads) => Kind::Barrier,
        _ if op.awaits() == Some(Awaits::Copies) => Kind::CopyAwaited,
        _ if op.starts_copy() => Kind::CopyBegins,
        _ if op.loads() && on_chip => Kind::OnChipLoad,
        _ if op.loads() => Kind::Load,
        _ if op.stores() && on_chip => Kind::OnChipStore,
        _ if op.stores() => Kind::Store,
        _ => Kind::Arithmetic,
    })
}
