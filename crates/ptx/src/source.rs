//! The directives `.file` and `.loc`. [`Index::source`](super::Index::source) resolves them to positions in the source.

use super::names::Name;
use super::position::Position;

/// A source file: `.file 1 "src/copy.rs"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Position of the directive.
    pub position: Position,
    /// Number by which `.loc` names it.
    pub number: u32,
    /// Name between the quotes.
    pub name: Name,
    /// Time of modification and size, if given.
    pub stamp: Option<(u64, u64)>,
}

/// A `.loc`: an index in [`Module::locations`](super::Module::locations).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocationId(pub u32);

/// A position in the source: `.loc 1 115 10`, perhaps in an inlined function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Number of a [`SourceFile`].
    pub file: u32,
    /// Line from 1; 0 if unknown.
    pub line: u32,
    /// Column from 1; 0 if unknown.
    pub column: u32,
    /// The inlined function that contains it, if any.
    pub inlined: Option<Inlined>,
}

/// An inlined function: `function_name $L__info_string0+4, inlined_at 1 12 3`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inlined {
    /// Label of the function's name in `.debug_str`, and an offset in bytes.
    pub function: Option<(Name, u64)>,
    /// Position of the call: number of its file, line and column.
    pub at: (u32, u32, u32),
    /// The last `.loc` with exactly that position, which may be in an inlined function itself.
    pub caller: Option<LocationId>,
}
