//! What decoding an instruction needs to know of the function it stands in, and what can go wrong.

use crate::ptx::{Address, Instruction, Operand, ScalarType};
use crate::registers::{Slot, Width};

/// Gives operands their columns. Implemented by whoever lays out a function's frame.
pub trait Columns {
    /// The column to read an operand from: a register, a special register, an immediate as `scalar` has it (in every
    /// lane), the address of a symbol. Not for `!p`: whoever decodes takes that apart.
    ///
    /// # Errors
    /// The operand is nothing that has a value.
    fn source(&mut self, operand: &Operand, scalar: ScalarType) -> Result<Slot, DecodeError>;

    /// The column to write a result to; `_` has one that nobody reads.
    ///
    /// # Errors
    /// The operand is no register.
    fn result(&mut self, operand: &Operand, scalar: ScalarType) -> Result<Slot, DecodeError>;

    /// The column of `[base+offset]`, and what to add to each lane of it. A symbol's is its address in its own space:
    /// in the shared or local window from 0, elsewhere as the host sees it.
    ///
    /// # Errors
    /// The base has no address.
    fn address(&mut self, address: &Address) -> Result<(Slot, i64), DecodeError>;

    /// How many bits the register of a result has, which may be fewer than its column's: 16 for a `.b16`. None: not a
    /// register. Loads that extend a sign ask, for the column of a `.b16` and that of a `.b32` look the same.
    fn register_bits(&mut self, operand: &Operand) -> Option<u32> {
        let _ = operand;
        None
    }

    /// A column that this instruction alone uses.
    fn scratch(&mut self, width: Width) -> Slot;

    /// The carry flag of extended-precision arithmetic, a predicate.
    fn carry(&mut self) -> Slot;
}

/// Why an instruction cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The simulator does not know it.
    #[error("unsupported instruction {0}")]
    Unsupported(String),
    /// The simulator knows it, but not with such operands.
    #[error("{opcode}: {what}")]
    Operands {
        /// The whole opcode.
        opcode: String,
        /// What is wrong with them.
        what: String,
    },
}

impl DecodeError {
    /// The simulator does not know this instruction.
    pub fn unsupported(instruction: &Instruction) -> Self {
        Self::Unsupported(instruction.opcode.as_str().to_owned())
    }

    /// The operands are not what the instruction takes.
    pub fn operands(instruction: &Instruction, what: impl Into<String>) -> Self {
        Self::Operands { opcode: instruction.opcode.as_str().to_owned(), what: what.into() }
    }
}

/// Which machine instructions the simulator may use on this computer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// What every computer of the architecture has.
    Portable,
    /// AVX2, FMA, BMI1 and 2, F16C, LZCNT and POPCNT.
    Avx2,
}

impl Level {
    /// The best that this computer has.
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
