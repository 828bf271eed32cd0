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
use crate::ptx::cfg::Cfg;
use crate::ptx::op::Op;
use crate::ptx::op::words::AddressSpace;

/// Most machine instructions of a body whose branch ptxas replaces: that of the kernel above has 14.
const MOST: u32 = 16;

/// Returns the accesses to memory in such bodies, each with the branch around it.
pub(super) fn find(body: &Body, cfg: &Cfg, slots: &[Slots], first: u32) -> Vec<(u32, u32)> {
    let op = |at: &u32| read::op(&body.instructions[*at as usize]);
    let predecessors = cfg.predecessors();
    let mut found = Vec::new();
    for (block, before) in cfg.blocks.iter().zip(&predecessors) {
        let ([before], [join]) = (before.as_slice(), block.successors.as_slice()) else { continue };
        let before = cfg.block(*before);
        let Some(branch) = before.instructions.clone().next_back() else { continue };
        let is_over = before.successors.len() == 2 && before.successors.contains(join);
        let places = block.instructions.clone();
        let issued: u32 = places.clone().map(|at| u32::from(slots[at as usize].issued)).sum();
        if is_over && issued <= MOST && places.clone().all(|at| can_be_guarded(&op(&at))) {
            let accesses = places.filter(|at| is_access(&op(at)));
            found.extend(accesses.map(|at| (first + at, first + branch)));
        }
    }
    found
}

/// Returns true for an instruction that a guard suffices for: it leads nowhere else, and waits for no other thread.
fn can_be_guarded(op: &Op) -> bool {
    let leads = matches!(op, Op::Brx | Op::Call | Op::Ret | Op::Exit | Op::Trap | Op::Other { .. });
    !leads && op.awaits().is_none() && !op.is_aligned()
}

fn is_access(op: &Op) -> bool {
    (op.loads() || op.stores()) && !op.space().is_some_and(AddressSpace::is_parameter)
}
