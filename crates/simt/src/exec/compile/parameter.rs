//! Compiles `ld.param` and `st.param`.

use super::super::layout::Bytes;
use super::super::step::{Action, Load, ParameterLoad, Rare};
use super::super::uses::Use;
use super::{Unit, elements};
use crate::decode::{Columns, DecodeError};
use crate::ptx::op::memory::Access;
use crate::ptx::{Address, AddressBase, Instruction, Operand, RegisterId, ScalarType};
use crate::registers::{Slot, Width};

impl Unit<'_, '_> {
    /// Returns None for an address in a register, which is an ordinary memory access.
    pub(super) fn load_parameter(
        &mut self,
        instruction: &Instruction,
        access: &Access,
        uses: &mut Use,
    ) -> Result<Option<Action>, DecodeError> {
        let [results, Operand::Address(Address { base, offset, more })] = instruction.operands.as_slice()
        else {
            return Err(DecodeError::operands(instruction, "expected a register and an address"));
        };
        let AddressBase::Symbol(symbol) = base else { return Ok(None) };
        let (elements, bytes, signed) = self.elements(instruction, access, results, more)?;
        if let Some(start) = self.layout.entry_parameter(symbol) {
            let total = self.layout.parameter_bytes;
            let mut loads = Vec::new();
            for (element, index) in elements.iter().zip(0..) {
                let (slot, load) = self.loaded(element, bytes, signed)?;
                let at = i64::from(start) + offset + index * i64::from(bytes);
                if at < 0 || at + i64::from(bytes) > i64::from(total) {
                    return Err(DecodeError::operands(instruction, "beyond the kernel's parameters"));
                }
                uses.results.push(slot);
                loads.push(ParameterLoad { offset: at as u32, result: slot, load });
            }
            return Ok(Some(match loads.as_slice() {
                [load] => Action::Parameter(*load),
                _ => self.rare(Rare::Parameters(loads.into())),
            }));
        }
        let place = self.layout.parameter(symbol)?;
        uses.sources.push(place.column());
        let mut loads = Vec::new();
        for (element, index) in elements.iter().zip(0..) {
            let (slot, load) = self.loaded(element, bytes, signed)?;
            uses.results.push(slot);
            loads.push((
                place,
                inside(instruction, place, offset + index * i64::from(bytes), bytes)?,
                slot,
                load,
            ));
        }
        Ok(Some(self.rare(Rare::LoadBytes(loads.into()))))
    }

    pub(super) fn store_parameter(
        &mut self,
        instruction: &Instruction,
        access: &Access,
        uses: &mut Use,
    ) -> Result<Rare, DecodeError> {
        let [Operand::Address(Address { base: AddressBase::Symbol(symbol), offset, more }), values] =
            instruction.operands.as_slice()
        else {
            return Err(DecodeError::operands(instruction, "expected a parameter's name and a value"));
        };
        let (elements, bytes, _) = self.elements(instruction, access, values, more)?;
        let scalar = access.scalar;
        let place = self.layout.parameter(symbol)?;
        uses.results.push(place.column());
        let mut stores = Vec::new();
        for (element, index) in elements.iter().zip(0..) {
            let slot = self.layout.source(element, scalar)?;
            if width_bytes(slot.width) < u32::from(bytes) {
                return Err(self.misfit("a register that is narrower than what is stored of it"));
            }
            uses.sources.push(slot);
            let load = Load { bytes, signed: false, register: bytes };
            stores.push((
                place,
                inside(instruction, place, offset + index * i64::from(bytes), bytes)?,
                slot,
                load,
            ));
        }
        Ok(Rare::StoreBytes(stores.into()))
    }

    /// Returns the elements of a vector or the one value, the bytes of each, and whether they are signed.
    fn elements(
        &self,
        instruction: &Instruction,
        access: &Access,
        values: &Operand,
        more: &[Operand],
    ) -> Result<(Vec<Operand>, u8, bool), DecodeError> {
        let scalar = access.scalar;
        let values = match values {
            Operand::Vector(values) => values.clone(),
            Operand::Register(register)
                if let Some(count) = self.body.family(*register).and_then(|family| family.vector) =>
            {
                match elements(*register, count) {
                    Operand::Vector(elements) => elements,
                    element => vec![element],
                }
            }
            value => vec![value.clone()],
        };
        if values.len() != access.elements as usize || !more.is_empty() {
            return Err(DecodeError::operands(instruction, "not as many registers as values"));
        }
        let Some(bytes) = scalar.size() else { return Err(DecodeError::unsupported(instruction)) };
        Ok((values, bytes as u8, scalar.word().starts_with('s')))
    }

    fn loaded(&mut self, operand: &Operand, bytes: u8, signed: bool) -> Result<(Slot, Load), DecodeError> {
        let scalar = |register: &RegisterId| self.body.register_type(*register).and_then(ScalarType::size);
        let register = match operand {
            Operand::Register(register) | Operand::Element(register, _) => scalar(register),
            Operand::Sink => Some(u32::from(bytes)),
            _ => None,
        };
        let Some(register) = register.filter(|register| *register >= u32::from(bytes)) else {
            return Err(self.misfit("a register that is narrower than what is loaded"));
        };
        let wide = match register {
            1..=4 => ScalarType::B32,
            8 => ScalarType::B64,
            _ => ScalarType::B128,
        };
        let slot = self.layout.result(operand, wide)?;
        Ok((slot, Load { bytes, signed, register: register as u8 }))
    }
}

/// Returns the offset of an access in a parameter, in bytes.
fn inside(instruction: &Instruction, place: Bytes, offset: i64, bytes: u8) -> Result<u32, DecodeError> {
    if offset < 0 || offset + i64::from(bytes) > i64::from(place.size) {
        let what = format!("{bytes} bytes at {offset} of a parameter of {} bytes", place.size);
        return Err(DecodeError::operands(instruction, what));
    }
    Ok(offset as u32)
}

fn width_bytes(width: Width) -> u32 {
    match width {
        Width::Predicate => 0,
        Width::Word => 4,
        Width::Double => 8,
        Width::Quad => 16,
    }
}
