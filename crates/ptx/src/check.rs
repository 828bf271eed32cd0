//! Checks that registers fit their instructions, as far as the opcode alone tells.

use super::body::{AddressBase, Body, Instruction, Operand, RegisterId};
use super::op::Op;
use super::op::arithmetic::LogicVerb;
use super::op::memory::Memory;
use super::op::words::Part;
use super::types::ScalarType;

/// A register that does not fit, and what would.
pub(super) type Misfit = (RegisterId, String);

pub(super) fn registers(body: &Body, instruction: &Instruction) -> Result<(), Misfit> {
    for operand in &instruction.operands {
        if let Operand::Address(address) = operand
            && let AddressBase::Register(register) = address.base
            && body
                .register_type(register)
                .and_then(ScalarType::size)
                .is_none_or(|size| !matches!(size, 4 | 8))
        {
            return Err((register, "an address (.b32 or .b64)".to_owned()));
        }
    }
    let Ok(op) = instruction.opcode.op() else { return Ok(()) };
    let operands = instruction.operands.as_slice();
    let all_like =
        |operands: &[Operand], scalar| operands.iter().try_for_each(|operand| like(body, operand, scalar));
    match op {
        Op::Integer(op) if !op.packed => {
            operands.iter().enumerate().try_for_each(|(index, operand)| {
                // Wide products are twice as wide as their factors.
                let is_wide = op.part == Some(Part::Wide) && (index == 0 || index == 3);
                if is_wide { Ok(()) } else { like(body, operand, op.scalar) }
            })
        }
        Op::Float(op) if !op.pairs && op.factors.is_none() => all_like(operands, op.scalar),
        Op::Logic(LogicVerb::Shl | LogicVerb::Shr, scalar) => all_like(first(operands, 2), scalar),
        Op::Logic(_, scalar) | Op::Mov(scalar) | Op::Copysign(scalar) => all_like(operands, scalar),
        Op::Selp(scalar) => {
            all_like(first(operands, 3), scalar)?;
            all_like(operands.get(3..).unwrap_or_default(), ScalarType::Pred)
        }
        Op::Compare(op) if op.number.is_none() => {
            let (results, operands) = operands.split_at(operands.len().min(1));
            let results = results.iter().flat_map(|operand| match operand {
                Operand::Pair(pair) => pair.as_slice(),
                single => std::slice::from_ref(single),
            });
            results.into_iter().try_for_each(|operand| like(body, operand, ScalarType::Pred))?;
            all_like(first(operands, 2), op.scalar)?;
            all_like(operands.get(2..).unwrap_or_default(), ScalarType::Pred)
        }
        Op::Memory(Memory::Ld(access) | Memory::Ldu(access)) => {
            operands.first().map_or(Ok(()), |operand| holds(body, operand, access.scalar))
        }
        Op::Memory(Memory::St(access)) => {
            operands.get(1).map_or(Ok(()), |operand| holds(body, operand, access.scalar))
        }
        _ => Ok(()),
    }
}

fn first(operands: &[Operand], count: usize) -> &[Operand] {
    &operands[..count.min(operands.len())]
}

/// Checks that a register has this type; types of bits match numbers of their size.
fn like(body: &Body, operand: &Operand, scalar: ScalarType) -> Result<(), Misfit> {
    let (Operand::Register(register) | Operand::Not(register) | Operand::Minus(register)) = operand else {
        return Ok(());
    };
    let Some(family) = body.family(*register) else { return Ok(()) };
    let is_float = |scalar: ScalarType| scalar.word().contains('f');
    let is_integer = |scalar: ScalarType| scalar.word().starts_with(['u', 's']);
    let mixes =
        is_float(scalar) && is_integer(family.scalar) || is_float(family.scalar) && is_integer(scalar);
    if family.scalar.size() == scalar.size() && !mixes {
        return Ok(());
    }
    let expected = match scalar.size() {
        _ if mixes => format!("{scalar} or bits of that size"),
        None => "a predicate (.pred)".to_owned(),
        Some(size) => format!("{} bits for {scalar}", size * 8),
    };
    Err((*register, expected))
}

/// Checks that an element of memory fits in the register, or in each register of a vector.
fn holds(body: &Body, operand: &Operand, scalar: ScalarType) -> Result<(), Misfit> {
    match operand {
        Operand::Vector(operands) => operands.iter().try_for_each(|operand| holds(body, operand, scalar)),
        Operand::Register(register) => {
            let Some(family) = body.family(*register) else { return Ok(()) };
            let size = family.scalar.size().map(|size| size * u32::from(family.vector.unwrap_or(1)));
            if size >= scalar.size() && size.is_some() {
                return Ok(());
            }
            let bits = scalar.size().unwrap_or(0) * 8;
            Err((*register, format!("at least {bits} bits for {scalar}")))
        }
        _ => Ok(()),
    }
}
