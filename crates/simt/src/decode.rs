//! The interface between decoding instructions and laying out a function's frame.

use crate::ptx::op::OpError;
use crate::ptx::{Address, Instruction, Operand, ScalarType};
use crate::registers::{Slot, Width};

/// Assigns columns to operands. Implemented by the layout of a function's frame.
pub trait Columns {
    /// Returns the column to read an operand from: a register, a special register, an immediate in the type `scalar`
    /// (in every lane) or the address of a symbol. Callers resolve `!p` beforehand.
    ///
    /// # Errors
    /// Fails if the operand has no value.
    fn source(&mut self, operand: &Operand, scalar: ScalarType) -> Result<Slot, DecodeError>;

    /// Returns the column to write a result to; `_` has one that is never read.
    ///
    /// # Errors
    /// Fails if the operand is not a register.
    fn result(&mut self, operand: &Operand, scalar: ScalarType) -> Result<Slot, DecodeError>;

    /// Returns the column of `[base+offset]` and the offset to add in each lane. A symbol's address is that in its own
    /// space: from 0 in shared and local memory, elsewhere as the host sees it.
    ///
    /// # Errors
    /// Fails if the base has no address.
    fn address(&mut self, address: &Address) -> Result<(Slot, i64), DecodeError>;

    /// Returns the bits of a result's register, which may be fewer than its column's: 16 for a `.b16`; None if it is
    /// not a register. Sign-extending loads need it, since a `.b16` and a `.b32` have the same kind of column.
    fn register_bits(&mut self, operand: &Operand) -> Option<u32> {
        let _ = operand;
        None
    }

    /// Allocates a column for this instruction alone.
    fn scratch(&mut self, width: Width) -> Slot;

    /// Returns the carry flag of extended-precision arithmetic, a predicate.
    fn carry(&mut self) -> Slot;
}

/// Reasons why an instruction cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The opcode is no instruction of PTX.
    #[error(transparent)]
    Opcode(#[from] OpError),
    /// The simulator does not know the instruction.
    #[error("unsupported instruction {0}")]
    Unsupported(String),
    /// The simulator knows the instruction, but not with these operands.
    #[error("{opcode}: {what}")]
    Operands {
        /// The whole opcode.
        opcode: String,
        /// What is wrong with the operands.
        what: String,
    },
}

impl From<&OpError> for DecodeError {
    fn from(error: &OpError) -> Self {
        Self::Opcode(error.clone())
    }
}

impl DecodeError {
    /// Returns the error for an instruction that the simulator does not know.
    pub(crate) fn unsupported(instruction: &Instruction) -> Self {
        Self::Unsupported(instruction.opcode.as_str().to_owned())
    }

    /// Returns the error for operands that the instruction does not take.
    pub(crate) fn operands(instruction: &Instruction, what: impl Into<String>) -> Self {
        Self::Operands { opcode: instruction.opcode.as_str().to_owned(), what: what.into() }
    }
}

/// Level of machine instructions that the simulator may use on this computer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Instructions that every computer of the architecture has.
    Portable,
    /// AVX2, FMA, BMI1 and 2, F16C, LZCNT and POPCNT.
    Avx2,
}

impl Level {
    /// Returns the highest level that this computer supports.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("f16c")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt")
        {
            return Self::Avx2;
        }
        Self::Portable
    }
}
