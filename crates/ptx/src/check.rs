//! Checks that registers fit their instructions, as far as the opcode alone tells.

use super::body::{AddressBase, Body, Instruction, Operand, RegisterId};
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
    let Some(scalar) = instruction.opcode.only_type() else { return Ok(()) };
    let operands = instruction.operands.as_slice();
    match instruction.opcode.base() {
        "add" | "sub" | "mul" | "mad" | "fma" | "div" | "rem" | "abs" | "neg" | "min" | "max" | "and"
        | "or" | "xor" | "not" | "cnot" | "mov" | "sqrt" | "rsqrt" | "rcp" | "sin" | "cos" | "lg2"
        | "ex2" | "copysign" => {
            let wide = instruction.opcode.has("wide");
            operands.iter().enumerate().try_for_each(|(index, operand)| {
                // Wide products are twice as wide as their factors.
                let is_wide = wide && (index == 0 || index == 3);
                if is_wide { Ok(()) } else { like(body, operand, scalar) }
            })
        }
        "shl" | "shr" => operands.iter().take(2).try_for_each(|operand| like(body, operand, scalar)),
        "selp" => {
            operands.iter().take(3).try_for_each(|operand| like(body, operand, scalar))?;
            operands.get(3).map_or(Ok(()), |operand| like(body, operand, ScalarType::Pred))
        }
        "setp" => {
            let mut results = operands.iter().take(1).flat_map(|operand| match operand {
                Operand::Pair(pair) => pair.as_slice(),
                single => std::slice::from_ref(single),
            });
            results.try_for_each(|operand| like(body, operand, ScalarType::Pred))?;
            operands.iter().skip(1).take(2).try_for_each(|operand| like(body, operand, scalar))?;
            operands.iter().skip(3).try_for_each(|operand| like(body, operand, ScalarType::Pred))
        }
        "ld" | "ldu" => operands.iter().take(1).try_for_each(|operand| holds(body, operand, scalar)),
        "st" => operands.iter().skip(1).take(1).try_for_each(|operand| holds(body, operand, scalar)),
        _ => Ok(()),
    }
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
