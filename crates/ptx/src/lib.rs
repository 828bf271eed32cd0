//! PTX, NVIDIA's virtual instruction set, from text to a tree that can be executed.
//!
//! [`parse`] reads a file in one pass and leaves an owned [`Module`]: names resolved to what they stand for, opcodes
//! split but not decoded, each instruction with its line in the file and, where the file has `.loc` directives, in
//! the source ([`Index::source`]). Printing a module gives text that parses to an equal module. [`cfg`](mod@cfg) finds the
//! blocks of a function and where its divided warps come together again. [`lines`] says which line of its author's source
//! each instruction comes from, and [`Sources`] has the text of those lines.
//!
//! The language is that of the PTX ISA manual, version 9, of which all is read that compilers emit for ordinary
//! kernels. Not read: arithmetic in constant expressions, and DWARF beyond keeping its text.

mod body;
pub mod cfg;
mod check;
mod error;
mod index;
mod lexer;
pub mod lines;
mod module;
mod names;
mod parser;
mod print;
mod source;
mod sources;
mod types;

pub use body::{
    Address, AddressBase, Body, Call, Guard, Instruction, Label, LabelId, LabelMeaning, Operand, Prototype,
    RegisterFamily, RegisterId, Statement, Symbol, SymbolMeaning,
};
pub use error::{ParseError, Problem};
pub use index::{Index, SourcePosition};
pub use module::{
    Attribute, FUNCTION_DIRECTIVES, Function, FunctionDirective, FunctionKind, Immediate, Initializer, Item,
    Module, NoSuchEntry, Parameter, Pointer, Position, Section, Variable,
};
pub use names::{Name, Opcode};
pub use source::{Inlined, Location, LocationId, SourceFile};
pub use sources::Sources;
pub use types::{Component, Linkage, SPECIAL_REGISTERS, ScalarType, Space, SpecialRegister};

/// Reads a PTX file.
pub fn parse(text: &str) -> Result<Module, ParseError> {
    parser::Parser::parse(text).map_err(|(position, problem)| ParseError::new(text, position, problem))
}
