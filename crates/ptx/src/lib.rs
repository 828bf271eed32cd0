//! Parses PTX, NVIDIA's virtual instruction set, from text to a tree that can be executed.
//!
//! [`parse`] reads a file in one pass and returns an owned [`Module`]: names are resolved, and each instruction has its
//! line in the file and, if the file has `.loc` directives, in the source ([`Index::source`]). Printing a module gives
//! text that parses to an equal module. [`op`](mod@op) has what an opcode says, with its modifiers parsed; it is decoded
//! once for each distinct opcode of a module ([`Opcode::op`]). [`cfg`](mod@cfg) finds the basic blocks of a function and
//! the points at which divergent lanes reconverge. [`lines`] traces each instruction to the line of its author's source,
//! and [`Sources`] reads the text of those lines. [`outline`] has the statements and items of a text as slices of it.
//!
//! ```
//! let module = ptx::parse(".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry nothing() { ret; }")?;
//! assert_eq!(module.version, (8, 7));
//! let kernel = module.entry("nothing").expect("the module has it");
//! assert_eq!(kernel.body.as_ref().map(|body| body.instructions.len()), Some(1));
//! # Ok::<(), ptx::ParseError>(())
//! ```
//!
//! The language is that of the PTX ISA manual, version 9, as far as compilers emit it for ordinary kernels. Not
//! supported are arithmetic in constant expressions, and DWARF beyond keeping its text.

mod body;
pub mod cfg;
mod check;
mod error;
mod index;
mod lexer;
pub mod lines;
mod module;
mod names;
pub mod op;
pub mod outline;
mod parser;
mod position;
mod print;
mod source;
mod sources;
mod types;
mod variable;

pub use body::{
    Address, AddressBase, Body, Call, Guard, Instruction, Label, LabelId, LabelMeaning, Operand, Prototype,
    RegisterFamily, RegisterId, Statement, Symbol, SymbolMeaning,
};
pub use error::{ParseError, Problem};
pub use index::{Index, SourcePosition};
pub use module::{
    FUNCTION_DIRECTIVES, Function, FunctionDirective, FunctionKind, Item, Module, NoSuchEntry, Section,
};
pub use names::{Name, Opcode};
pub use position::Position;
pub use source::{Inlined, Location, LocationId, SourceFile};
pub use sources::Sources;
pub use types::{Component, Linkage, SPECIAL_REGISTERS, ScalarType, Space, SpecialRegister};
pub use variable::{Attribute, Immediate, Initializer, Parameter, Pointer, Variable};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Parses a PTX file.
///
/// # Errors
/// [`ParseError`] with the position, the problem and the line.
pub fn parse(text: &str) -> Result<Module, ParseError> {
    parser::Parser::parse(text).map_err(|(position, problem)| ParseError::new(text, position, problem))
}

/// Parses the head of a function that a semicolon ends.
fn parse_declaration(text: &str) -> Result<Function, ParseError> {
    parser::Parser::declaration(text).map_err(|(position, problem)| ParseError::new(text, position, problem))
}
