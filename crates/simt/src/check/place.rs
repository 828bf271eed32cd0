//! Where in the source an instruction comes from, put so that its author finds it.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::exec::{self, SiteInfo};
use crate::ptx::Module;
use crate::ptx::lines::{self, Origin, in_library, origins};

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct SourceLine {
    /// As the compiler wrote it.
    pub file: String,
    /// From 1.
    pub line: u32,
    /// From 1; 0: none in particular.
    pub column: u32,
    /// The linker's name of the inlined function that the line is in, where the PTX says so.
    pub function: Option<String>,
}

impl SourceLine {
    /// Whether it is in a library's source rather than in that of the kernels: Rust's own, what kernels are written
    /// with, and what cargo fetched.
    pub fn in_library(&self) -> bool {
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

/// An instruction, in the PTX and in the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Place {
    /// The kernel or function that it stands in.
    pub function: String,
    /// Its line in the PTX, from 1.
    pub ptx_line: u32,
    /// Its opcode.
    pub instruction: String,
    /// Innermost first; behind it the calls that were inlined, where the PTX says so. Empty without line information.
    pub source: Vec<SourceLine>,
    /// Where all of `source` is in libraries: the line of the kernel's own source that leads there, as far as the
    /// instructions around tell.
    pub leads_there: Option<SourceLine>,
}

impl Place {
    /// The line to show first: the first that is not in a library, or else the innermost.
    pub fn line(&self) -> Option<&SourceLine> {
        let own = self.source.iter().find(|line| !line.in_library());
        own.or(self.leads_there.as_ref()).or(self.source.first())
    }

    /// What was inlined in [`Place::line`] and led to the instruction, outermost first.
    pub fn inlined(&self) -> impl Iterator<Item = &SourceLine> {
        self.source[..self.shown()].iter().rev()
    }

    /// The calls that [`Place::line`] was itself inlined at, innermost first.
    pub fn callers(&self) -> impl Iterator<Item = &SourceLine> {
        self.source.get(self.shown() + 1..).unwrap_or_default().iter()
    }

    fn shown(&self) -> usize {
        let shown = self.line();
        self.source.iter().position(|line| Some(line) == shown).unwrap_or(self.source.len())
    }
}

/// As far as a program knows by itself: without looking at the code around.
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
    /// `copy+line 57 of the PTX in src/copy.rs:12:5`
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
    /// Of a whole module.
    pub fn new(module: &Module) -> Self {
        let mut places = BTreeMap::new();
        for origin in origins(module) {
            places.entry(origin.ptx_line).or_insert_with(|| origin.into());
        }
        Self { places }
    }

    /// The instruction at a line of the PTX; of several, the first.
    pub fn at_line(&self, line: u32) -> Option<&Place> {
        self.places.get(&line)
    }

    /// An instruction of the program that was made of the module.
    pub fn place(&self, site: &SiteInfo) -> Place {
        match self.at_line(site.line) {
            Some(place) => Place { instruction: site.opcode.to_string(), ..place.clone() },
            None => site.into(),
        }
    }
}
