//! Estimates how many loads ptxas keeps in flight: each load takes registers from its issue until its result is used.
//!
//! ptxas aims at 32 registers a thread where a kernel does not ask for more. Of what it makes for `sm_90`, loads that are issued
//! before the first of them is waited for:
//!
//! | loads | in flight | weight |
//! | --- | --- | --- |
//! | in a loop, at constant distances from one address, as along a row | 6 to 9 | 1 |
//! | in a loop with some that have an address of two registers of their own, as down a column | 4 to 5 | 1.6 |
//! | in a loop, of 16 bytes | 4 | 2 |
//! | outside of loops | up to 16 | 0.5 |
//!
//! The weights of the loads of a warp, summed and divided by the card's `loads_in_flight`, are the batches in which it waits for
//! them, unless it has to [wait](super::waits) more often for other reasons.

use super::loops::repeats;
use super::read::{is_global, op, result, step};
use crate::ptx::cfg::Cfg;
use crate::ptx::op::Op;
use crate::ptx::op::memory::Memory;
use crate::ptx::{AddressBase, Body, Instruction, Operand, RegisterId};

/// Returns the weight of each load from global memory, by the index of the instruction.
pub(super) fn weights(body: &Body, cfg: &Cfg) -> Vec<(u32, f32)> {
    let loops = repeats(cfg);
    let mut weights = Vec::new();
    for (block, &repeats) in cfg.blocks.iter().zip(&loops) {
        let instructions = || block.instructions.clone().map(|at| (at, &body.instructions[at as usize]));
        let loads = || instructions().filter_map(|(at, instruction)| Some((at, load(instruction)?)));
        let own = loads().any(|(_, (base, _))| {
            base.is_some() && instructions().any(|(_, other)| result(other) == base && step(other).is_none())
        });
        let least = if own { 1.6 } else { 1.0_f32 };
        let weight = |words: u32| if repeats { least.max(words as f32 / 2.0) } else { 0.5 };
        weights.extend(loads().map(|(at, (_, words))| (at, weight(words))));
    }
    weights
}

/// The address register of a load from global memory, and the registers of its result.
fn load(instruction: &Instruction) -> Option<(Option<RegisterId>, u32)> {
    let op = op(instruction);
    if !op.loads() || !is_global(&op) || op.starts_copy() {
        return None;
    }
    let address = instruction.operands.iter().find_map(|operand| match operand {
        Operand::Address(address) => Some(address),
        _ => None,
    })?;
    let base = match address.base {
        AddressBase::Register(register) => Some(register),
        _ => None,
    };
    let words = match op {
        Op::Memory(Memory::Ld(access) | Memory::Ldu(access)) => {
            access.elements * access.scalar.size().unwrap_or(4).div_ceil(4)
        }
        _ => 1,
    };
    Some((base, words))
}
