//! Variables and parameters: their types, and the numbers with which variables begin.

use super::names::Name;
use super::position::Position;
use super::types::{Linkage, ScalarType, Space};

/// A parameter or result of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Position of its name.
    pub position: Position,
    /// True for `.reg`; then it is among the registers of the body too.
    pub in_register: bool,
    /// Type of one element.
    pub scalar: ScalarType,
    /// `.ptr`: the memory that the pointer refers to.
    pub pointer: Option<Pointer>,
    /// `.align`, in bytes.
    pub align: Option<u32>,
    /// Name; `_` if a prototype leaves it out.
    pub name: Name,
    /// Length of an array; None for a single value, Some(None) for `[]`.
    pub array: Option<Option<u64>>,
}

impl Parameter {
    /// Returns the size in bytes; None for an array without a length.
    pub fn size(&self) -> Option<u64> {
        let element = u64::from(self.scalar.size()?);
        match self.array {
            None => Some(element),
            Some(length) => element.checked_mul(length?),
        }
    }

    /// Returns the alignment in bytes: as stated, else that of the type.
    pub fn alignment(&self) -> u32 {
        self.align.or(self.scalar.size()).unwrap_or(1)
    }
}

/// `.ptr .global .align 4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// State space; None for generic addresses.
    pub space: Option<Space>,
    /// Alignment of the memory in bytes.
    pub align: Option<u32>,
}

/// A variable of a module or of a function's body.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Position of its name.
    pub position: Position,
    /// Linkage; None if it is local to its module or block.
    pub linkage: Option<Linkage>,
    /// State space.
    pub space: Space,
    /// `.attribute`.
    pub attributes: Vec<Attribute>,
    /// `.align`, in bytes.
    pub align: Option<u32>,
    /// `.v2` or `.v4`: scalars per element.
    pub vector: Option<u8>,
    /// Type of one scalar.
    pub scalar: ScalarType,
    /// Name as written.
    pub name: Name,
    /// Lengths of an array, outermost first; the first may be open.
    pub dimensions: Vec<Option<u64>>,
    /// Initial value.
    pub initializer: Option<Initializer>,
}

impl Variable {
    /// Returns the size in bytes. An open length is that of the initializer, and 0 without one (`.extern .shared a[]`).
    /// None if the size exceeds 64 bits.
    pub fn size(&self) -> Option<u64> {
        let element = u64::from(self.scalar.size()?) * u64::from(self.vector.unwrap_or(1));
        let open = match &self.initializer {
            Some(Initializer::List(list)) => list.len() as u64,
            Some(_) => 1,
            None => 0,
        };
        self.dimensions.iter().try_fold(element, |size, length| size.checked_mul(length.unwrap_or(open)))
    }

    /// Returns the alignment in bytes: as stated, else that of the type.
    pub fn alignment(&self) -> u32 {
        let element = self.scalar.size().unwrap_or(1) * u32::from(self.vector.unwrap_or(1));
        self.align.unwrap_or(element)
    }
}

/// `.attribute(...)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// `.managed`: host and device share the memory.
    Managed,
    /// `.unified`: one address in all modules with this identity.
    Unified(u64, u64),
}

/// Initial value of a variable.
#[derive(Clone, Debug, PartialEq)]
pub enum Initializer {
    /// A number.
    Number(Immediate),
    /// An address.
    Address {
        /// Position of the name.
        position: Position,
        /// A variable or function of the module.
        name: Name,
        /// Offset in bytes.
        offset: i64,
        /// True for `generic(name)`: the generic address, not that in its own space.
        generic: bool,
        /// `0xFF00(name)`: only these bits, shifted down to the lowest byte.
        mask: Option<u64>,
    },
    /// Elements in braces; missing ones are 0.
    List(Vec<Self>),
}

/// A number in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Immediate {
    /// A 64-bit integer; signed unless the text says `U` or the number needs the highest bit.
    Integer {
        /// Bits in two's complement.
        bits: u64,
        /// True if the highest bit is not a sign.
        unsigned: bool,
    },
    /// `0f3F800000`: the bits of an `f32`.
    Single(u32),
    /// `0d3FF0000000000000`, or a decimal number such as `1.5`: the bits of an `f64`.
    Double(u64),
}

impl Immediate {
    /// Returns the bits of an integer; None for floats.
    pub fn integer(self) -> Option<u64> {
        match self {
            Self::Integer { bits, .. } => Some(bits),
            _ => None,
        }
    }
}
