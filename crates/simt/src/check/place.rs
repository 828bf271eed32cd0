//! Source positions of instructions, as their author looks for them.
//!
//! PTX compiled with line information names, for each instruction, a line and the chain of calls that were inlined there. The
//! innermost line is often in a library, which is not where the mistake is. So the line to show first is the first
//! one of the chain that is the author's own; where the compiler has lost the chain, nearby instructions of the same inlined
//! code lead to it.
//!
//! For example, `values[i]` out of bounds panics in `core::slice::index`. The chain is `core/src/slice/index.rs:18`, inlined
//! into `src/lib.rs:42`: shown is `src/lib.rs:42`, and the library's line follows as the place to which it leads.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::exec::{self, SiteInfo};
use crate::ptx::Module;
use crate::ptx::lines::{self, Origin, in_library, origins};

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct SourceLine {
    /// File, as the compiler names it.
    pub file: String,
    /// Line from 1.
    pub line: u32,
    /// Column from 1; 0 if unknown.
    pub column: u32,
    /// Linker name of the inlined function that contains the line, if the PTX gives it.
    pub function: Option<String>,
}

impl SourceLine {
    /// Returns true if the line is in a library: Rust's own, the kernels' device library, or a dependency that cargo
    /// fetched.
    pub(crate) fn in_library(&self) -> bool {
        in_library(&self.file)
    }
}

impl From<&lines::SourceLine> for SourceLine {
    fn from(line: &lines::SourceLine) -> Self {
        Self {
            file: line.file.to_string(),
            line: line.line,
            column: line.column,
            function: line.function.as_deref().map(str::to_owned),
        }
    }
}

impl fmt::Display for SourceLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.file, self.line)?;
        if self.column != 0 {
            write!(formatter, ":{}", self.column)?;
        }
        Ok(())
    }
}

/// Position of an instruction in the PTX and in the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Place {
    /// Kernel or function that contains it.
    pub function: String,
    /// Line in the PTX, from 1.
    pub ptx_line: u32,
    /// Opcode.
    pub instruction: String,
    /// Lines of the source, innermost first, then the inlined calls if the PTX gives them. Empty without line
    /// information.
    pub source: Vec<SourceLine>,
    /// If all of `source` is in libraries: the line of the kernel's own source that leads there, as far as nearby
    /// instructions tell.
    pub leads_there: Option<SourceLine>,
}

impl Place {
    /// Returns the line to show first: the first that is not in a library, or else the innermost.
    pub fn line(&self) -> Option<&SourceLine> {
        let own = self.source.iter().find(|line| !line.in_library());
        own.or(self.leads_there.as_ref()).or(self.source.first())
    }

    /// Returns the inlined lines between [`Place::line`] and the instruction, outermost first.
    pub(crate) fn inlined(&self) -> impl Iterator<Item = &SourceLine> {
        self.source[..self.shown()].iter().rev()
    }

    /// Returns the calls into which [`Place::line`] was inlined, innermost first.
    pub(crate) fn callers(&self) -> impl Iterator<Item = &SourceLine> {
        self.source.get(self.shown() + 1..).unwrap_or_default().iter()
    }

    fn shown(&self) -> usize {
        let shown = self.line();
        self.source.iter().position(|line| Some(line) == shown).unwrap_or(self.source.len())
    }
}

/// Converts what a program knows by itself, without the code around the instruction.
impl From<&SiteInfo> for Place {
    fn from(site: &SiteInfo) -> Self {
        let line = |line: &exec::SourceLine| SourceLine {
            file: line.file.to_string(),
            line: line.line,
            column: line.column,
            function: line.function.as_deref().map(str::to_owned),
        };
        Self {
            function: site.function.to_string(),
            ptx_line: site.line,
            instruction: site.opcode.to_string(),
            source: site.source.iter().map(line).collect(),
            leads_there: None,
        }
    }
}

impl fmt::Display for Place {
    /// Writes `copy+line 57 of the PTX in src/copy.rs:12:5`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}+line {} of the PTX", self.function, self.ptx_line)?;
        match self.line() {
            Some(line) => write!(formatter, " in {line}"),
            None => Ok(()),
        }
    }
}

impl From<Origin> for Place {
    fn from(origin: Origin) -> Self {
        Self {
            function: origin.function.to_string(),
            ptx_line: origin.ptx_line,
            instruction: origin.opcode,
            source: origin.chain.iter().map(SourceLine::from).collect(),
            leads_there: origin.leads_there.as_ref().map(SourceLine::from),
        }
    }
}

/// The places of a module's instructions, by their lines in the PTX: see [`lines`].
#[derive(Clone, Debug, Default)]
pub struct Positions {
    places: BTreeMap<u32, Place>,
}

impl Positions {
    /// Finds the places of a whole module.
    pub fn new(module: &Module) -> Self {
        let mut places = BTreeMap::new();
        for origin in origins(module) {
            places.entry(origin.ptx_line).or_insert_with(|| origin.into());
        }
        Self { places }
    }

    /// Returns the instruction at a line of the PTX; of several, the first.
    pub fn at_line(&self, line: u32) -> Option<&Place> {
        self.places.get(&line)
    }

    /// Returns the place of an instruction of the program that was made of the module.
    pub fn place(&self, site: &SiteInfo) -> Place {
        match self.at_line(site.line) {
            Some(place) => Place { instruction: site.opcode.to_string(), ..place.clone() },
            None => site.into(),
        }
    }
}
