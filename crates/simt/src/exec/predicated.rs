//! Finds accesses to memory that ptxas makes conditional.
//!
//! A branch over a few instructions becomes a guard on each of them. Then every warp issues them; one in which no lane has to
//! execute them takes an issue slot all the same, and for each access to memory a turn at its pipe. For example, of a sum up a
//! tree in shared memory:
//!
//! ```text
//! @p bra JOIN;              p: thread >= 4
//! ld.shared a, [x];         machine code:   @!p LDS a, [x]
//! ld.shared b, [y];                         @!p LDS b, [y]
//! add.f32 c, a, b;                          @!p FADD c, a, b
//! st.shared [x], c;                         @!p STS [x], c
//! JOIN: bar.sync 0;
//! ```
//!
//! Of a block of 8 warps seven have no lane for the sum, and make 21 idle requests. On an H200 such a kernel (`scan_blelloch` of
//! the program `fidelity`) executes 71 accesses to shared memory per warp, of which 20 have a lane. It executes 178 instructions;
//! those with a lane are estimated at 136, and the idle requests at 54. So the accesses alone count as issued idly: what computes
//! their addresses is moved out of the bodies, or takes the uniform datapath.

use super::read;
use crate::count::Slots;
use crate::ptx::Body;
use crate::ptx::cfg::{BlockId, Cfg};
use crate::ptx::op::Op;
use crate::ptx::op::memory::Memory;
use crate::ptx::op::words::AddressSpace;

/// Most machine instructions of a body whose branch ptxas replaces: that of the kernel above has 14.
const MOST: u32 = 16;

/// A body that ptxas makes conditional instructions, by basic blocks: the one that branches, itself, and the one behind it.
pub(super) struct Guarded {
    pub(super) before: usize,
    pub(super) block: usize,
    pub(super) join: usize,
    /// True if nothing else leads to the block behind it.
    pub(super) is_only_way: bool,
}

/// Finds such bodies, ascending.
pub(super) fn bodies(body: &Body, cfg: &Cfg, slots: &[Slots]) -> Vec<Guarded> {
    let op = |at: u32| read::op(&body.instructions[at as usize]);
    let predecessors = cfg.predecessors();
    // A way round the body may lead over a block that only jumps.
    let behind_jump = |id: BlockId| match (&cfg.block(id).successors[..], predecessors[id.0 as usize].len()) {
        (&[next], 1) if cfg.block(id).instructions.clone().all(|at| op(at) == Op::Bra) => next,
        _ => id,
    };
    let guarded = |(index, before): (usize, &Vec<BlockId>)| {
        let block = &cfg.blocks[index];
        let (&[before], &[join]) = (&before[..], &block.successors[..]) else { return None };
        let ways = &cfg.block(before).successors;
        let is_over = ways.len() == 2 && ways.iter().any(|way| behind_jump(*way) == join);
        let issued: u32 = block.instructions.clone().map(|at| u32::from(slots[at as usize].issued)).sum();
        let is_short = issued <= MOST && block.instructions.clone().all(|at| can_be_guarded(&op(at)));
        let is_jump = behind_jump(BlockId(index as u32)).0 as usize != index;
        (is_over && is_short && !is_jump).then_some(Guarded {
            before: before.0 as usize,
            block: index,
            join: join.0 as usize,
            is_only_way: predecessors[join.0 as usize].len() == 2,
        })
    };
    predecessors.iter().enumerate().filter_map(guarded).collect()
}

/// Returns the accesses to memory in these bodies, each with the branch around it.
pub(super) fn accesses(body: &Body, cfg: &Cfg, bodies: &[Guarded], first: u32) -> Vec<(u32, u32)> {
    let is_access = |at: &u32| is_access(&read::op(&body.instructions[*at as usize]));
    let accesses = |&Guarded { before, block, .. }: &Guarded| {
        let branch = cfg.blocks[before].instructions.end - 1;
        let places = cfg.blocks[block].instructions.clone().filter(is_access);
        places.map(move |at| (first + at, first + branch)).collect::<Vec<_>>()
    };
    bodies.iter().flat_map(accesses).collect()
}

/// Returns true for an instruction that a guard suffices for: it leads nowhere else, waits for no other thread, and is no atomic
/// operation. ptxas gives guards to 16 of 271 atomics in the kernels of the program `fidelity`, and branches around the others.
fn can_be_guarded(op: &Op) -> bool {
    let leads = matches!(op, Op::Brx | Op::Call | Op::Ret | Op::Exit | Op::Trap | Op::Other { .. });
    let is_atomic = matches!(op, Op::Memory(Memory::Atomic(_)));
    !leads && !is_atomic && op.awaits().is_none() && !op.is_aligned()
}

fn is_access(op: &Op) -> bool {
    (op.loads() || op.stores()) && !op.space().is_some_and(AddressSpace::is_parameter)
}
