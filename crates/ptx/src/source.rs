//! What `.file` and `.loc` say. [`Index::source`](super::Index::source) resolves them to places in the source.

use super::module::Position;
use super::names::Name;

/// `.file 1 "src/copy.rs"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Where the directive stands.
    pub position: Position,
    /// By which `.loc` names it.
    pub number: u32,
    /// Between the quotes.
    pub name: Name,
    /// Time of change and size, where they are given.
    pub stamp: Option<(u64, u64)>,
}

/// A `.loc` by its number in the module: an index in [`Module::locations`](super::Module::locations).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocationId(pub u32);

/// `.loc 1 115 10`, perhaps within an inlined function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The number of a [`SourceFile`].
    pub file: u32,
    /// From 1; 0: none in particular.
    pub line: u32,
    /// From 1; 0: none in particular.
    pub column: u32,
    /// Set in a function that was inlined.
    pub inlined: Option<Inlined>,
}

/// `function_name $L__info_string0+4, inlined_at 1 12 3`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inlined {
    /// The label of the function's name in `.debug_str`, and bytes from there.
    pub function: Option<(Name, u64)>,
    /// Of the call: number of its file, line and column.
    pub at: (u32, u32, u32),
    /// The last `.loc` of that very place, which may be in an inlined function itself.
    pub caller: Option<LocationId>,
}
