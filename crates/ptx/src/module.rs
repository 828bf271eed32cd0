//! A module and its items: functions, variables, source files.

use super::body::Body;
use super::names::Name;
use super::source::{Location, SourceFile};
use super::types::{Linkage, ScalarType, Space};

/// A position in the PTX text.
///
/// All positions compare equal, so that two parses of one program in different layouts are equal. Compare the fields to
/// distinguish positions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Position {
    /// Line from 1.
    pub line: u32,
    /// Column from 1, in bytes.
    pub column: u32,
}

impl PartialEq for Position {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Position {}

/// A PTX file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Module {
    /// `.version`: major and minor number of the language.
    pub version: (u32, u32),
    /// `.target`: the architecture, then options.
    pub target: Vec<Name>,
    /// `.address_size`: 32 or 64 bits.
    pub address_size: u32,
    /// Items, in the order of the file.
    pub items: Vec<Item>,
    /// `.file` directives, in the order of the file.
    pub files: Vec<SourceFile>,
    /// All `.loc` positions; instructions refer to them by index.
    pub locations: Vec<Location>,
    /// `.section` directives, in the order of the file.
    pub sections: Vec<Section>,
}

impl Module {
    /// Returns all functions, kernels included, declarations and definitions, in the order of the file.
    pub fn functions(&self) -> impl DoubleEndedIterator<Item = &Function> {
        self.items.iter().filter_map(|item| match item {
            Item::Function(function) => Some(function),
            _ => None,
        })
    }

    /// Returns all variables of the module, in the order of the file.
    pub fn variables(&self) -> impl DoubleEndedIterator<Item = &Variable> {
        self.items.iter().filter_map(|item| match item {
            Item::Variable(variable) => Some(variable),
            _ => None,
        })
    }

    /// Returns the function of this name: its definition, or its first declaration if there is none.
    pub fn function(&self, name: &str) -> Option<&Function> {
        let mut named = self.functions().filter(|function| function.name == *name);
        let first = named.next()?;
        if first.body.is_some() {
            Some(first)
        } else {
            named.find(|other| other.body.is_some()).or(Some(first))
        }
    }

    /// Returns the variable of this name: its definition, or its first declaration if there is none.
    pub fn variable(&self, name: &str) -> Option<&Variable> {
        let mut named = self.variables().filter(|variable| variable.name == *name);
        let first = named.next()?;
        let is_extern = |variable: &Variable| variable.linkage == Some(Linkage::Extern);
        if is_extern(first) { named.find(|other| !is_extern(other)).or(Some(first)) } else { Some(first) }
    }

    /// Returns the kernel of this name.
    ///
    /// # Errors
    /// [`NoSuchEntry`] with the kernels that there are.
    pub fn entry(&self, name: &str) -> Result<&Function, NoSuchEntry> {
        let found = self.function(name).filter(|function| function.kind == FunctionKind::Entry);
        found.filter(|function| function.body.is_some()).ok_or_else(|| NoSuchEntry {
            name: name.to_owned(),
            entries: self.entries().map(|entry| entry.name.to_string()).collect(),
        })
    }

    /// Returns all kernels, in the order of the file.
    pub fn entries(&self) -> impl Iterator<Item = &Function> {
        self.functions().filter(|function| function.kind == FunctionKind::Entry && function.body.is_some())
    }
}

/// The error that a module has no kernel of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the module has no entry `{name}`; {}", match entries.as_slice() {
    [] => "it has none at all".to_owned(),
    entries => format!("it has {}", entries.join(", ")),
})]
pub struct NoSuchEntry {
    /// The name requested.
    pub name: String,
    /// The kernels of the module.
    pub entries: Vec<String>,
}

/// An item at the top level of a file.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "there are few of them, and most are the large one")]
pub enum Item {
    /// `.func` or `.entry`.
    Function(Function),
    /// `.global`, `.shared`, `.const`, ...
    Variable(Variable),
    /// `.alias`: another name of a function.
    Alias {
        /// Position of the directive.
        position: Position,
        /// The other name.
        name: Name,
        /// Name of the function.
        function: Name,
    },
    /// `.pragma`: hints, without their quotes.
    Pragma(Vec<Name>),
}

/// Kind of a function: the host or the device calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    /// `.entry`: a kernel.
    Entry,
    /// `.func`.
    Function,
}

/// A function's declaration or definition.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Position of its name.
    pub position: Position,
    /// Linkage; None if it is local to its module.
    pub linkage: Option<Linkage>,
    /// Kernel or device function.
    pub kind: FunctionKind,
    /// Name as written.
    pub name: Name,
    /// Results: none or one.
    pub returns: Vec<Parameter>,
    /// Parameters.
    pub parameters: Vec<Parameter>,
    /// `.noreturn`.
    pub never_returns: bool,
    /// `.attribute`.
    pub attributes: Vec<Attribute>,
    /// `.maxntid` and others.
    pub directives: Vec<FunctionDirective>,
    /// Body; None for a declaration.
    pub body: Option<Body>,
}

impl Function {
    /// Returns the values of a directive such as `maxntid`; None if the function does not have it.
    pub fn directive(&self, name: &str) -> Option<&[u32]> {
        self.directives.iter().find_map(|directive| match directive {
            FunctionDirective::Numbers { name: other, values } if *other == name => Some(values.as_slice()),
            _ => None,
        })
    }
}

/// A directive of a function to its launch or to the assembler.
#[derive(Clone, Debug, PartialEq)]
pub enum FunctionDirective {
    /// One of [`FUNCTION_DIRECTIVES`] with its numbers.
    Numbers {
        /// Name without its dot.
        name: &'static str,
        /// Values, at most as many as the directive takes.
        values: Vec<u32>,
    },
    /// `.pragma`.
    Pragma(Vec<Name>),
}

/// The directives between a function's parameters and its body, each with the most numbers that it takes.
pub const FUNCTION_DIRECTIVES: [(&str, usize); 11] = [
    ("maxntid", 3),
    ("reqntid", 3),
    ("minnctapersm", 1),
    ("maxnctapersm", 1),
    ("maxnreg", 1),
    ("reqnctapercluster", 3),
    ("explicitcluster", 0),
    ("maxclusterrank", 1),
    ("blocksareclusters", 0),
    ("abi_preserve", 1),
    ("abi_preserve_control", 1),
];

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

/// `.section`: debug information.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// Position of the directive.
    pub position: Position,
    /// Name with its dot: `.debug_str`.
    pub name: Name,
    /// Text between the braces, trimmed.
    pub text: Box<str>,
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
