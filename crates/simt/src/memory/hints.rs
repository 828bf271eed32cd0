//! Decodes cache hints and fences: prefetches, policies, `fence` and `membar`.

use std::sync::atomic::{Ordering, fence};

use super::access::{AddressSpace, Environment};
use super::instruction::{Decoded, Operation as Decode};
use super::opcode;
use crate::decode::{Columns, DecodeError, Level};
use crate::observe::Observer;
use crate::ptx::{Instruction, ScalarType};

/// Result of `createpolicy`: an arbitrary number, since no policy has an effect here.
pub(super) const POLICY: u64 = 0x1000_0000_0000_0000;

/// Decodes `prefetch`, `prefetchu`, `applypriority` and `discard`, which only check their operands. `discard` may leave
/// memory as it was.
pub(super) fn decode_advice(
    instruction: &Instruction,
    columns: &mut dyn Columns,
    level: Level,
) -> Result<Decoded, DecodeError> {
    let mut space = AddressSpace::Generic;
    for modifier in instruction.opcode.modifiers() {
        match modifier {
            "L1" | "L2" | "tensormap" | "param" | "const" => {}
            "L2::evict_last" | "L2::evict_normal" => {}
            "global" => space = AddressSpace::Global,
            "local" => space = AddressSpace::Local,
            _ => return Err(DecodeError::unsupported(instruction)),
        }
    }
    opcode::count(instruction, 1, 2)?;
    let address = opcode::address_operand(instruction, 0, space, columns, level)?;
    Ok(Decoded::new(Decode::Nothing).address(address.slot()))
}

/// Decodes `createpolicy`.
pub(super) fn decode_policy(
    instruction: &Instruction,
    columns: &mut dyn Columns,
) -> Result<Decoded, DecodeError> {
    let known = instruction.opcode.modifiers().all(|modifier| {
        matches!(
            modifier,
            "fractional"
                | "range"
                | "cvt"
                | "global"
                | "L2"
                | "b64"
                | "L2::evict_last"
                | "L2::evict_normal"
                | "L2::evict_first"
                | "L2::evict_unchanged"
        )
    });
    if !known {
        return Err(DecodeError::unsupported(instruction));
    }
    opcode::count(instruction, 1, 4)?;
    let result = opcode::result(instruction, opcode::operand(instruction, 0)?, ScalarType::B64, columns)?;
    Ok(Decoded::new(Decode::Policy(result)).results(&[result]))
}

/// Decodes `fence` and `membar`.
pub(super) fn decode_fence(instruction: &Instruction) -> Result<Decoded, DecodeError> {
    let mut beyond_block = false;
    for modifier in instruction.opcode.modifiers() {
        match modifier {
            "cta" => {}
            "cluster" | "gpu" | "gl" | "sys" => beyond_block = true,
            "sc" | "acq_rel" | "acquire" | "release" | "mbarrier_init" => {}
            // A proxy fence orders different ways to access memory, of which there is one here.
            "proxy"
            | "alias"
            | "async"
            | "async::global"
            | "async::shared::cta"
            | "async::shared::cluster"
            | "async::generic"
            | "async.global"
            | "global"
            | "shared::cta"
            | "shared::cluster"
            | "tensormap::generic"
            | "sync_restrict::shared::cta"
            | "sync_restrict::shared::cluster" => {}
            _ => return Err(DecodeError::unsupported(instruction)),
        }
    }
    Ok(Decoded::new(Decode::Fence { beyond_block }))
}

/// Executes a fence: a thread that sees what follows it sees what precedes it.
pub(super) fn execute_fence<O: Observer>(
    mask: u32,
    beyond_block: bool,
    environment: &mut Environment<'_, O>,
) {
    fence(Ordering::SeqCst);
    tell(mask, beyond_block, environment);
}

/// Tells the observer of a fence, or of an instruction that implies one.
pub(super) fn tell<O: Observer>(mask: u32, beyond_block: bool, environment: &mut Environment<'_, O>) {
    if O::SYNCHRONISATION {
        environment.observer.fence(environment.at, mask, beyond_block);
    }
}
