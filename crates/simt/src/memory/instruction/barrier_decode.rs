//! Decodes `mbarrier` and `cp.async.mbarrier.arrive`.

use crate::decode::{Columns, DecodeError, Level};
use crate::memory::barrier::{Action, Barrier, Object, Phase};
use crate::memory::decoded::Decoded;
use crate::memory::opcode;
use crate::observe::Operation;
use crate::ptx::op::memory::{Mbarrier, MbarrierVerb};
use crate::ptx::op::words::AddressSpace as Named;
use crate::ptx::{Instruction, ScalarType};
use crate::registers::Slot;

/// Decodes `mbarrier`.
pub(super) fn decode(
    instruction: &Instruction,
    op: &Mbarrier,
    columns: &mut dyn Columns,
    level: Level,
) -> Result<Decoded<Barrier>, DecodeError> {
    let Mbarrier { verb, parity, expects, incomplete, .. } = *op;
    let space = opcode::shared_space(instruction, op.space)?;
    let may_complete = !incomplete;
    let mut sources = Vec::new();
    let mut results = Vec::new();
    let mut source = |index: usize, scalar, columns: &mut dyn Columns| {
        let slot = opcode::source(instruction, opcode::operand(instruction, index)?, scalar, columns)?;
        sources.push(slot);
        Ok::<_, DecodeError>(slot)
    };
    let mut result = |scalar, columns: &mut dyn Columns| {
        let slot = opcode::result(instruction, opcode::operand(instruction, 0)?, scalar, columns)?;
        results.push(slot);
        Ok::<_, DecodeError>(slot)
    };
    let word = ScalarType::U32;
    let mut operation = Operation::Atomic;
    let (object, action) = match verb {
        MbarrierVerb::Init => {
            opcode::count(instruction, 2, 2)?;
            operation = Operation::Store;
            (0, Action::Init { count: source(1, word, columns)? })
        }
        MbarrierVerb::Invalidate => {
            opcode::count(instruction, 1, 1)?;
            operation = Operation::Store;
            (0, Action::Invalidate)
        }
        MbarrierVerb::ExpectTransactions => {
            opcode::count(instruction, 2, 2)?;
            (0, Action::Expect { bytes: source(1, word, columns)? })
        }
        MbarrierVerb::CompleteTransactions => {
            opcode::count(instruction, 2, 2)?;
            (0, Action::Complete { bytes: source(1, word, columns)? })
        }
        MbarrierVerb::Arrive | MbarrierVerb::ArriveDrop => {
            let third = expects || !may_complete;
            opcode::count(instruction, if third { 3 } else { 2 }, 3)?;
            let last = if instruction.operands.len() == 3 { Some(source(2, word, columns)?) } else { None };
            let (count, bytes) = if expects { (None, last) } else { (last, None) };
            let state = Some(result(ScalarType::B64, columns)?);
            (1, Action::Arrive { state, count, bytes, drop: verb == MbarrierVerb::ArriveDrop, may_complete })
        }
        MbarrierVerb::TestWait | MbarrierVerb::TryWait => {
            opcode::count(instruction, 3, if verb == MbarrierVerb::TryWait { 4 } else { 3 })?;
            let done = result(ScalarType::Pred, columns)?;
            let (scalar, phase): (_, fn(Slot) -> Phase) =
                if parity { (word, Phase::OfParity) } else { (ScalarType::B64, Phase::OfState) };
            let of = source(2, scalar, columns)?;
            let object = Object::new(instruction, 1, space, operation, columns, level)?;
            let decoded = Decoded::new(Barrier::Wait { object, phase: phase(of), done });
            return Ok(decoded.results(&[done]).sources(&[of]).address(object.slot()));
        }
        MbarrierVerb::PendingCount => {
            opcode::count(instruction, 2, 2)?;
            let (count, state) = (result(word, columns)?, source(1, ScalarType::B64, columns)?);
            let decoded = Decoded::new(Barrier::PendingCount { count, state });
            return Ok(decoded.results(&[count]).sources(&[state]));
        }
    };
    let object = Object::new(instruction, object, space, operation, columns, level)?;
    let decoded = Decoded::new(Barrier::Object(object, action));
    Ok(decoded.results(&results).sources(&sources).address(object.slot()))
}

/// Decodes `cp.async.mbarrier.arrive`.
pub(super) fn decode_copied(
    instruction: &Instruction,
    counted: bool,
    space: Option<Named>,
    columns: &mut dyn Columns,
    level: Level,
) -> Result<Decoded<Barrier>, DecodeError> {
    opcode::count(instruction, 1, 1)?;
    let space = opcode::shared_space(instruction, space)?;
    let object = Object::new(instruction, 0, space, Operation::Atomic, columns, level)?;
    Ok(Decoded::new(Barrier::Object(object, Action::Copied { counted })).address(object.slot()))
}
