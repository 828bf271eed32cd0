//! An instruction while it is taken apart: what is left of its modifiers, and its operands' columns.

use crate::decode::{Columns, DecodeError, Level};
use crate::ptx::{Instruction, Operand, ScalarType};
use crate::registers::{Slot, Width};

use super::lanes::{Code, invert_source};
use super::{Arithmetic, Run, Shape, Slots};

/// What a step of decoding gives.
pub(super) type Decoded<T = Arithmetic> = Result<T, DecodeError>;

/// Each modifier is taken once; one that nobody takes makes the instruction unsupported.
pub(super) struct Form<'a> {
    pub(super) instruction: &'a Instruction,
    pub(super) columns: &'a mut dyn Columns,
    pub(super) level: Level,
    modifiers: Vec<&'a str>,
}

impl<'a> Form<'a> {
    pub(super) fn new(instruction: &'a Instruction, columns: &'a mut dyn Columns, level: Level) -> Self {
        Self { instruction, columns, level, modifiers: instruction.opcode.modifiers().collect() }
    }

    pub(super) fn base(&self) -> &'a str {
        self.instruction.opcode.base()
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

    pub(super) fn has_any(&self, words: &[&str]) -> bool {
        self.modifiers.iter().any(|modifier| words.contains(modifier))
    }

    /// Whether the modifier is there; it counts as understood.
    pub(super) fn take(&mut self, word: &str) -> bool {
        let found = self.modifiers.iter().position(|modifier| *modifier == word);
        found.map(|index| self.modifiers.remove(index)).is_some()
    }

    /// The first of the modifiers that `read` understands.
    pub(super) fn take_some<T>(&mut self, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        let found = self.modifiers.iter().enumerate().find_map(|(index, word)| Some((index, read(word)?)));
        found.map(|(index, value)| {
            self.modifiers.remove(index);
            value
        })
    }

    /// The first type among the modifiers.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn scalar(&mut self) -> Decoded<ScalarType> {
        match self.take_some(ScalarType::from_word) {
            Some(scalar) => Ok(scalar),
            None => self.unsupported(),
        }
    }

    /// All modifiers are understood.
    pub(super) fn done(&self) -> Decoded<()> {
        if self.modifiers.is_empty() { Ok(()) } else { self.unsupported() }
    }

    /// There are so many operands.
    pub(super) fn expect_operands(&self, wanted: usize) -> Decoded<()> {
        match self.operands().len() {
            found if found == wanted => Ok(()),
            found => self.wrong(format!("takes {wanted} operands, has {found}")),
        }
    }

    /// The column of a source, whatever its width, and whether its lanes are to be inverted.
    pub(super) fn any_source(&mut self, operand: &Operand, scalar: ScalarType) -> Decoded<(Slot, bool)> {
        match operand {
            Operand::Not(register) if scalar == ScalarType::Pred => {
                Ok((self.columns.source(&Operand::Register(*register), scalar)?, true))
            }
            Operand::Not(_) => self.wrong("`!` before what is no predicate"),
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
        self.wrong(format!("{scalar} wants {}, and the operand is {}", name(width), name(slot.width)))
    }

    /// The usual shape: one result, then the sources. Modifiers must all be taken by now.
    pub(super) fn plain(&mut self, code: Code, config: u32) -> Decoded {
        let (result, sources) = self.result_and_sources(code.sources())?;
        self.assemble(code, &[result], &sources.iter().collect::<Vec<_>>(), config)
    }

    /// The first operand, and the others, of which there are `sources`.
    pub(super) fn result_and_sources(&self, sources: usize) -> Decoded<(&'a Operand, &'a [Operand])> {
        self.expect_operands(1 + sources)?;
        match self.operands().split_first() {
            Some(parts) => Ok(parts),
            None => self.unsupported(),
        }
    }

    /// Gives the operands their columns. Modifiers must all be taken by now.
    pub(super) fn assemble(
        &mut self,
        code: Code,
        results: &[&Operand],
        sources: &[&Operand],
        config: u32,
    ) -> Decoded {
        self.done()?;
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

/// An [`Arithmetic`] while it is put together.
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

    /// A result behind the first two, in a place for sources.
    pub(super) fn further_result(&mut self, index: usize, slot: Slot) {
        self.slots.sources[index] = slot.cell;
        self.shape.set(2 + index as u32, slot.width, true);
    }

    /// What stands in a source's place and is no column.
    pub(super) fn immediate(&mut self, index: usize, value: u32) {
        self.slots.sources[index] = value;
    }

    pub(super) fn finish(self, run: Run) -> Arithmetic {
        Arithmetic { run, slots: Slots { config: self.config, ..self.slots }, shape: self.shape }
    }

    pub(super) fn slots(self) -> (Slots, Shape) {
        (Slots { config: self.config, ..self.slots }, self.shape)
    }
}
