//! Decodes what memory instructions share: spaces, addresses, registers.

use super::lanes::AddressOperand;
use super::windows::AddressSpace;
use crate::decode::{Columns, DecodeError, Level};
use crate::ptx::op::words::AddressSpace as Named;
use crate::ptx::{Address, Instruction, Operand, ScalarType};
use crate::registers::{Slot, Width};

/// Returns the space of an access to memory, which parameters are not.
pub(super) fn space(instruction: &Instruction, named: Option<Named>) -> Result<AddressSpace, DecodeError> {
    Ok(match named {
        None => AddressSpace::Generic,
        Some(Named::Global) => AddressSpace::Global,
        Some(Named::Shared | Named::SharedBlock) => AddressSpace::Shared,
        Some(Named::SharedCluster) => AddressSpace::Cluster,
        Some(Named::Local) => AddressSpace::Local,
        Some(Named::Constant) => AddressSpace::Constant,
        Some(Named::Parameter | Named::EntryParameter | Named::FunctionParameter) => {
            return Err(DecodeError::unsupported(instruction));
        }
    })
}

/// Returns the space of an instruction that accesses shared memory, by addresses of it or generic ones.
pub(super) fn shared_space(
    instruction: &Instruction,
    named: Option<Named>,
) -> Result<AddressSpace, DecodeError> {
    match space(instruction, named)? {
        space @ (AddressSpace::Generic | AddressSpace::Shared | AddressSpace::Cluster) => Ok(space),
        _ => Err(DecodeError::unsupported(instruction)),
    }
}

/// Returns the address operand of an instruction.
fn address(instruction: &Instruction, index: usize) -> Result<&Address, DecodeError> {
    match operand(instruction, index)? {
        Operand::Address(address) if address.more.is_empty() => Ok(address),
        _ => Err(DecodeError::operands(instruction, format!("operand {} is no address", index + 1))),
    }
}

/// Decodes a tensor map's generic address and the coordinates of a box, one per dimension: `[map, {x, y}]`.
pub(super) fn box_operand(
    instruction: &Instruction,
    index: usize,
    dimensions: u32,
    columns: &mut dyn Columns,
    level: Level,
) -> Result<(AddressOperand, Vec<Slot>), DecodeError> {
    let Operand::Address(Address { base, offset, more }) = operand(instruction, index)? else {
        return Err(DecodeError::operands(instruction, format!("operand {} is no address", index + 1)));
    };
    let [coordinates] = &more[..] else {
        let what = format!("operand {} has no coordinates of a box", index + 1);
        return Err(DecodeError::operands(instruction, what));
    };
    let map = Address { base: base.clone(), offset: *offset, more: Vec::new() };
    let coordinates = elements(instruction, coordinates, dimensions as usize)?;
    let mut source = |operand: &Operand| source(instruction, operand, ScalarType::S32, columns);
    let slots = coordinates.iter().map(&mut source).collect::<Result<Vec<_>, _>>()?;
    Ok((placed(instruction, &map, AddressSpace::Generic, columns, level)?, slots))
}

/// Decodes the address of an access.
pub(super) fn address_operand(
    instruction: &Instruction,
    index: usize,
    space: AddressSpace,
    columns: &mut dyn Columns,
    level: Level,
) -> Result<AddressOperand, DecodeError> {
    placed(instruction, address(instruction, index)?, space, columns, level)
}

fn placed(
    instruction: &Instruction,
    address: &Address,
    space: AddressSpace,
    columns: &mut dyn Columns,
    level: Level,
) -> Result<AddressOperand, DecodeError> {
    let narrow = matches!(space, AddressSpace::Shared | AddressSpace::Cluster | AddressSpace::Local);
    let column = columns.address(address)?;
    AddressOperand::new(column, narrow, level)
        .ok_or_else(|| DecodeError::operands(instruction, "the address is no number"))
}

/// Returns the operand of this index.
pub(super) fn operand(instruction: &Instruction, index: usize) -> Result<&Operand, DecodeError> {
    instruction.operands.get(index).ok_or_else(|| missing(instruction, index))
}

fn missing(instruction: &Instruction, index: usize) -> DecodeError {
    let there = instruction.operands.len();
    DecodeError::operands(instruction, format!("operand {} is missing; there are {there}", index + 1))
}

/// Checks that the instruction has `least` to `most` operands.
pub(super) fn count(instruction: &Instruction, least: usize, most: usize) -> Result<(), DecodeError> {
    let there = instruction.operands.len();
    if there < least {
        return Err(missing(instruction, there));
    }
    if there > most {
        return Err(DecodeError::operands(instruction, format!("{there} operands, {most} at most")));
    }
    Ok(())
}

/// Returns the elements of an operand: all of a vector, or the first ones of a vector register.
pub(super) fn elements(
    instruction: &Instruction,
    operand: &Operand,
    count: usize,
) -> Result<Vec<Operand>, DecodeError> {
    use crate::ptx::Component::{W, X, Y, Z};
    match operand {
        Operand::Vector(list) if list.len() == count => Ok(list.clone()),
        Operand::Vector(list) => {
            let there = list.len();
            Err(DecodeError::operands(instruction, format!("{count} elements are wanted, {there} given")))
        }
        Operand::Register(register) if count == 2 || count == 4 => Ok([X, Y, Z, W][..count]
            .iter()
            .map(|component| Operand::Element(*register, *component))
            .collect()),
        _ if count == 1 => Ok(vec![operand.clone()]),
        _ => Err(DecodeError::operands(instruction, format!("{count} elements in braces are wanted"))),
    }
}

/// Returns a column to read, wide enough for the type.
pub(super) fn source(
    instruction: &Instruction,
    operand: &Operand,
    scalar: ScalarType,
    columns: &mut dyn Columns,
) -> Result<Slot, DecodeError> {
    let slot = columns.source(operand, scalar)?;
    wide_enough(instruction, slot, scalar)
}

/// Returns a column to write, wide enough for the type.
pub(super) fn result(
    instruction: &Instruction,
    operand: &Operand,
    scalar: ScalarType,
    columns: &mut dyn Columns,
) -> Result<Slot, DecodeError> {
    let slot = columns.result(operand, scalar)?;
    wide_enough(instruction, slot, scalar)
}

fn wide_enough(instruction: &Instruction, slot: Slot, scalar: ScalarType) -> Result<Slot, DecodeError> {
    let fits = match Width::of(scalar) {
        Width::Predicate => slot.width == Width::Predicate,
        Width::Word => slot.width != Width::Predicate,
        Width::Double => matches!(slot.width, Width::Double | Width::Quad),
        Width::Quad => slot.width == Width::Quad,
    };
    if fits {
        return Ok(slot);
    }
    let width = slot.width;
    Err(DecodeError::operands(instruction, format!("a register is {width:?} wide, too narrow for {scalar}")))
}
