//! A module and its items: functions, source files, sections.

use super::body::Body;
use super::names::Name;
use super::position::Position;
use super::source::{Location, SourceFile};
use super::types::Linkage;
use super::variable::{Attribute, Parameter, Variable};

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
