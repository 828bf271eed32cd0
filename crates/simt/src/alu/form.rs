//! An instruction during decoding: the columns of its operands.

use crate::decode::{Columns, DecodeError, Level};
use crate::ptx::{Instruction, Operand, ScalarType};
use crate::registers::{Slot, Width};

use super::decoded::{Arithmetic, Collective, Run, Shape, Slots};
use super::lanes::{Code, invert_source};

/// The result of a decoding step.
pub(super) type Decoded<T = Arithmetic> = Result<T, DecodeError>;

/// An instruction and the frame that it is decoded for.
pub(super) struct Form<'a> {
    pub(super) instruction: &'a Instruction,
    pub(super) columns: &'a mut dyn Columns,
    pub(super) level: Level,
}

impl<'a> Form<'a> {
    pub(super) fn new(instruction: &'a Instruction, columns: &'a mut dyn Columns, level: Level) -> Self {
        Self { instruction, columns, level }
    }

    pub(super) fn operands(&self) -> &'a [Operand] {
        &self.instruction.operands
    }

    pub(super) fn unsupported<T>(&self) -> Decoded<T> {
        Err(DecodeError::unsupported(self.instruction))
    }

    pub(super) fn wrong<T>(&self, what: impl Into<String>) -> Decoded<T> {
        Err(DecodeError::operands(self.instruction, what))
    }

    /// Checks the number of operands.
    pub(super) fn expect_operands(&self, wanted: usize) -> Decoded<()> {
        match self.operands().len() {
            found if found == wanted => Ok(()),
            found => self.wrong(format!("takes {wanted} operands, has {found}")),
        }
    }

    /// Returns the column of a source, whatever its width, and true if its lanes must be inverted.
    pub(super) fn any_source(&mut self, operand: &Operand, scalar: ScalarType) -> Decoded<(Slot, bool)> {
        match operand {
            Operand::Not(register) if scalar == ScalarType::Pred => {
                Ok((self.columns.source(&Operand::Register(*register), scalar)?, true))
            }
            Operand::Not(_) => self.wrong("`!` before an operand that is not a predicate"),
            _ => Ok((self.columns.source(operand, scalar)?, false)),
        }
    }

    pub(super) fn source(
        &mut self,
        operand: &Operand,
        scalar: ScalarType,
        width: Width,
    ) -> Decoded<(Slot, bool)> {
        let (slot, inverted) = self.any_source(operand, scalar)?;
        self.expect_width(slot, width, scalar)?;
        Ok((slot, inverted))
    }

    pub(super) fn result(&mut self, operand: &Operand, scalar: ScalarType, width: Width) -> Decoded<Slot> {
        let slot = self.columns.result(operand, scalar)?;
        self.expect_width(slot, width, scalar)?;
        Ok(slot)
    }

    fn expect_width(&self, slot: Slot, width: Width, scalar: ScalarType) -> Decoded<()> {
        if slot.width == width {
            return Ok(());
        }
        let name = |width| match width {
            Width::Predicate => "a predicate",
            Width::Word => "a register of up to 32 bits",
            Width::Double => "a 64-bit register",
            Width::Quad => "a 128-bit register",
        };
        self.wrong(format!("{scalar} needs {}, but the operand is {}", name(width), name(slot.width)))
    }

    /// Decodes the usual form: one result, then the sources.
    pub(super) fn plain(&mut self, code: Code, config: u32) -> Decoded {
        let (result, sources) = self.result_and_sources(code.sources())?;
        self.assemble(code, &[result], &sources.iter().collect::<Vec<_>>(), config)
    }

    /// Returns the first operand and the `sources` others.
    pub(super) fn result_and_sources(&self, sources: usize) -> Decoded<(&'a Operand, &'a [Operand])> {
        self.expect_operands(1 + sources)?;
        match self.operands().split_first() {
            Some(parts) => Ok(parts),
            None => self.unsupported(),
        }
    }

    /// Decodes the mask of lanes that must meet.
    pub(super) fn member_mask(&mut self, operand: &Operand) -> Decoded<Slot> {
        Ok(self.source(operand, ScalarType::B32, Width::Word)?.0)
    }

    /// Decodes the results of `d|p` or of `d` alone.
    pub(super) fn result_or_two(&mut self, parts: &mut Parts, operand: &Operand) -> Decoded<()> {
        let (first, second) = match operand {
            Operand::Pair(pair) => (&pair[0], Some(&pair[1])),
            first => (first, None),
        };
        let slot = self.result(first, ScalarType::B32, Width::Word)?;
        parts.result(0, slot);
        if let Some(second) = second {
            let slot = self.result(second, ScalarType::Pred, Width::Predicate)?;
            parts.result(1, slot);
            parts.config |= SECOND;
        }
        Ok(())
    }

    /// Assigns columns to the operands.
    pub(super) fn assemble(
        &mut self,
        code: Code,
        results: &[&Operand],
        sources: &[&Operand],
        config: u32,
    ) -> Decoded {
        let mut parts = Parts { config, ..Parts::default() };
        for (index, operand) in sources.iter().enumerate() {
            let (Some(scalar), Some(width)) = (code.source_types[index], code.source_widths[index]) else {
                return self.wrong("has too many sources");
            };
            let (slot, inverted) = self.source(operand, scalar, width)?;
            parts.source(index, slot, inverted);
        }
        for (index, operand) in results.iter().enumerate() {
            let (Some(scalar), Some(width)) = (code.result_types[index], code.result_widths[index]) else {
                return self.wrong("has too many results");
            };
            let slot = self.result(operand, scalar, width)?;
            parts.result(index, slot);
        }
        Ok(parts.finish(code.at(self.level)))
    }
}

/// Bit of a collective's configuration: it has a second result.
pub(super) const SECOND: u32 = 1 << 16;

/// An [`Arithmetic`] or a [`Collective`] under construction.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) config: u32,
    slots: Slots,
    shape: Shape,
}

impl Parts {
    pub(super) fn source(&mut self, index: usize, slot: Slot, inverted: bool) {
        self.slots.sources[index] = slot.cell;
        self.shape.set(2 + index as u32, slot.width, false);
        if inverted {
            self.config |= invert_source(index);
        }
    }

    pub(super) fn result(&mut self, index: usize, slot: Slot) {
        self.slots.results[index] = slot.cell;
        self.shape.set(index as u32, slot.width, true);
    }

    /// Adds a result beyond the second, in the slot of a source.
    pub(super) fn further_result(&mut self, index: usize, slot: Slot) {
        self.slots.sources[index] = slot.cell;
        self.shape.set(2 + index as u32, slot.width, true);
    }

    /// Stores an immediate in the slot of a source.
    pub(super) fn immediate(&mut self, index: usize, value: u32) {
        self.slots.sources[index] = value;
    }

    pub(super) fn finish(self, run: Run) -> Arithmetic {
        Arithmetic { run, slots: Slots { config: self.config, ..self.slots }, shape: self.shape }
    }

    pub(super) fn collective(self, run: Run, member_mask: Option<Slot>) -> Collective {
        let slots = Slots { config: self.config, ..self.slots };
        Collective { run, slots, member_mask, shape: self.shape }
    }
}
