//! A module and what stands in it: functions, variables, source files.

use super::body::Body;
use super::names::Name;
use super::source::{Location, SourceFile};
use super::types::{Linkage, ScalarType, Space};

/// Where something stands in the PTX text.
///
/// Positions say where, not what: all of them compare equal, so that two readings of one program in different
/// layouts are equal. Compare their fields to tell them apart.
#[derive(Clone, Copy, Debug, Default)]
pub struct Position {
    /// From 1.
    pub line: u32,
    /// From 1, in bytes.
    pub column: u32,
}

impl PartialEq for Position {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Position {}

/// One PTX file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Module {
    /// `.version`: major and minor number of the language.
    pub version: (u32, u32),
    /// `.target`: the architecture, then options.
    pub target: Vec<Name>,
    /// `.address_size`: 32 or 64 bits.
    pub address_size: u32,
    /// In the order of the file.
    pub items: Vec<Item>,
    /// `.file`, in the order of the file.
    pub files: Vec<SourceFile>,
    /// All positions that `.loc` names; instructions point into it.
    pub locations: Vec<Location>,
    /// `.section`, in the order of the file.
    pub sections: Vec<Section>,
}

impl Module {
    /// All functions, entries too, declarations and definitions, in the order of the file.
    pub fn functions(&self) -> impl DoubleEndedIterator<Item = &Function> {
        self.items.iter().filter_map(|item| match item {
            Item::Function(function) => Some(function),
            _ => None,
        })
    }

    /// All module variables, in the order of the file.
    pub fn variables(&self) -> impl DoubleEndedIterator<Item = &Variable> {
        self.items.iter().filter_map(|item| match item {
            Item::Variable(variable) => Some(variable),
            _ => None,
        })
    }

    /// What a name stands for: its definition, or its first declaration where there is none.
    pub fn function(&self, name: &str) -> Option<&Function> {
        let mut named = self.functions().filter(|function| function.name == *name);
        let first = named.next()?;
        if first.body.is_some() {
            Some(first)
        } else {
            named.find(|other| other.body.is_some()).or(Some(first))
        }
    }

    /// What a name stands for: its definition, or its first declaration where there is none.
    pub fn variable(&self, name: &str) -> Option<&Variable> {
        let mut named = self.variables().filter(|variable| variable.name == *name);
        let first = named.next()?;
        let is_extern = |variable: &Variable| variable.linkage == Some(Linkage::Extern);
        if is_extern(first) { named.find(|other| !is_extern(other)).or(Some(first)) } else { Some(first) }
    }

    /// The kernel of that name.
    pub fn entry(&self, name: &str) -> Result<&Function, NoSuchEntry> {
        let found = self.function(name).filter(|function| function.kind == FunctionKind::Entry);
        found.filter(|function| function.body.is_some()).ok_or_else(|| NoSuchEntry {
            name: name.to_owned(),
            entries: self.entries().map(|entry| entry.name.to_string()).collect(),
        })
    }

    /// All kernels, in the order of the file.
    pub fn entries(&self) -> impl Iterator<Item = &Function> {
        self.functions().filter(|function| function.kind == FunctionKind::Entry && function.body.is_some())
    }
}

/// A kernel was asked for that the module does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the module has no entry `{name}`; {}", match entries.as_slice() {
    [] => "it has none at all".to_owned(),
    entries => format!("it has {}", entries.join(", ")),
})]
pub struct NoSuchEntry {
    /// What was asked for.
    pub name: String,
    /// What there is.
    pub entries: Vec<String>,
}

/// What stands at the top level of a file.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "there are few of them, and most are the large one")]
pub enum Item {
    /// `.func` or `.entry`.
    Function(Function),
    /// `.global`, `.shared`, `.const`, ...
    Variable(Variable),
    /// `.alias`: another name of a function.
    Alias {
        /// Where the directive stands.
        position: Position,
        /// The other name.
        name: Name,
        /// The function's.
        function: Name,
    },
    /// `.pragma`: hints, as they stand between the quotes.
    Pragma(Vec<Name>),
}

/// Whether the host or the device calls a function.
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
    /// Where its name stands.
    pub position: Position,
    /// None: seen by its module only.
    pub linkage: Option<Linkage>,
    /// Who calls it.
    pub kind: FunctionKind,
    /// As the file writes it.
    pub name: Name,
    /// What it gives back: none or one.
    pub returns: Vec<Parameter>,
    /// What it takes.
    pub parameters: Vec<Parameter>,
    /// `.noreturn`.
    pub never_returns: bool,
    /// `.attribute`.
    pub attributes: Vec<Attribute>,
    /// `.maxntid` and the like.
    pub directives: Vec<FunctionDirective>,
    /// None: a declaration.
    pub body: Option<Body>,
}

impl Function {
    /// The values of a directive such as `maxntid`, if the function has it.
    pub fn directive(&self, name: &str) -> Option<&[u32]> {
        self.directives.iter().find_map(|directive| match directive {
            FunctionDirective::Numbers { name: other, values } if *other == name => Some(values.as_slice()),
            _ => None,
        })
    }
}

/// What a function asks of its launch or of the assembler.
#[derive(Clone, Debug, PartialEq)]
pub enum FunctionDirective {
    /// One of [`FUNCTION_DIRECTIVES`] and the numbers after it.
    Numbers {
        /// Without its dot.
        name: &'static str,
        /// At most as many as the directive takes.
        values: Vec<u32>,
    },
    /// `.pragma`.
    Pragma(Vec<Name>),
}

/// The directives between a function's parameters and its body, with the most numbers that each takes.
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

/// What a function takes or gives back.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Where its name stands.
    pub position: Position,
    /// `.reg` parameters are among the registers of the body too.
    pub in_register: bool,
    /// Of one element.
    pub scalar: ScalarType,
    /// `.ptr`: what the pointer points to.
    pub pointer: Option<Pointer>,
    /// `.align`, in bytes.
    pub align: Option<u32>,
    /// `_` where a prototype leaves it out.
    pub name: Name,
    /// None: a single value. `[]` is an array of no stated length.
    pub array: Option<Option<u64>>,
}

impl Parameter {
    /// In bytes; none for an array of no stated length.
    pub fn size(&self) -> Option<u64> {
        let element = u64::from(self.scalar.size()?);
        match self.array {
            None => Some(element),
            Some(length) => element.checked_mul(length?),
        }
    }

    /// In bytes: the stated one, else the type's own.
    pub fn alignment(&self) -> u32 {
        self.align.or(self.scalar.size()).unwrap_or(1)
    }
}

/// `.ptr .global .align 4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// None: a generic address.
    pub space: Option<Space>,
    /// Of what it points to, in bytes.
    pub align: Option<u32>,
}

/// A variable of a module or of a function's body.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Where its name stands.
    pub position: Position,
    /// None: seen by its module or block only.
    pub linkage: Option<Linkage>,
    /// Where it lives.
    pub space: Space,
    /// `.attribute`.
    pub attributes: Vec<Attribute>,
    /// `.align`, in bytes.
    pub align: Option<u32>,
    /// `.v2` or `.v4`: scalars in an element.
    pub vector: Option<u8>,
    /// Of one scalar.
    pub scalar: ScalarType,
    /// As the file writes it.
    pub name: Name,
    /// Lengths of an array, outermost first; the first may be left open.
    pub dimensions: Vec<Option<u64>>,
    /// After `=`.
    pub initializer: Option<Initializer>,
}

impl Variable {
    /// In bytes. An open length is that of the initializer, and 0 where there is none (`.extern .shared a[]`).
    /// None: larger than 64 bits can say.
    pub fn size(&self) -> Option<u64> {
        let element = u64::from(self.scalar.size()?) * u64::from(self.vector.unwrap_or(1));
        let open = match &self.initializer {
            Some(Initializer::List(list)) => list.len() as u64,
            Some(_) => 1,
            None => 0,
        };
        self.dimensions.iter().try_fold(element, |size, length| size.checked_mul(length.unwrap_or(open)))
    }

    /// In bytes: the stated one, else the type's own.
    pub fn alignment(&self) -> u32 {
        let element = self.scalar.size().unwrap_or(1) * u32::from(self.vector.unwrap_or(1));
        self.align.unwrap_or(element)
    }
}

/// `.attribute(...)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// Host and device share the memory.
    Managed,
    /// One address in all modules of the same identity.
    Unified(u64, u64),
}

/// What a variable starts with.
#[derive(Clone, Debug, PartialEq)]
pub enum Initializer {
    /// A number.
    Number(Immediate),
    /// An address.
    Address {
        /// Where the name stands.
        position: Position,
        /// A variable or function of the module.
        name: Name,
        /// In bytes.
        offset: i64,
        /// `generic(name)`: the address in the generic space, not in its own.
        generic: bool,
        /// `0xFF00(name)`: only these bits, moved down to the lowest byte.
        mask: Option<u64>,
    },
    /// Elements in braces; those left out are 0.
    List(Vec<Self>),
}

/// A number in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Immediate {
    /// 64 bits; signed unless the text says `U` or the number needs the highest bit.
    Integer {
        /// In two's complement.
        bits: u64,
        /// Whether the highest bit counts as a value.
        unsigned: bool,
    },
    /// `0f3F800000`: the bits of an `f32`.
    Single(u32),
    /// `0d3FF0000000000000`, or a decimal one such as `1.5`: the bits of an `f64`.
    Double(u64),
}

/// `.section`: what debuggers read.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// Where the directive stands.
    pub position: Position,
    /// With its dot: `.debug_str`.
    pub name: Name,
    /// The text between the braces, trimmed.
    pub text: Box<str>,
}

impl Immediate {
    /// The bits of an integer.
    pub fn integer(self) -> Option<u64> {
        match self {
            Self::Integer { bits, .. } => Some(bits),
            _ => None,
        }
    }
}
