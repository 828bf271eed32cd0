//! Where in the source an instruction comes from, put so that its author finds it.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use serde::Serialize;

use crate::exec::{self, SiteInfo, in_library};
use crate::ptx::cfg::{BlockId, Cfg};
use crate::ptx::{Body, Function, Index, Module, SourcePosition};

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

/// The places of a module's instructions, by their lines in the PTX.
///
/// Where the PTX names the innermost line only, and that is in a library (a slice's iterator, the panic handler), the
/// line of the kernel that led there is looked for in the instructions around: those before it in its block, those
/// behind it, and then those at the ends of the blocks that lead to it, nearest first.
#[derive(Clone, Debug, Default)]
pub struct Positions {
    places: BTreeMap<u32, Place>,
}

impl Positions {
    /// Of a whole module.
    pub fn new(module: &Module) -> Self {
        let mut positions = Self::default();
        let index = Index::new(module);
        for function in module.functions() {
            if let Some(body) = &function.body {
                positions.add(&index, function, body);
            }
        }
        positions
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

    fn add(&mut self, index: &Index<'_>, function: &Function, body: &Body) {
        let lines: Vec<Vec<SourceLine>> = body
            .instructions
            .iter()
            .map(|instruction| {
                let mut chain = index.source(instruction);
                drop_wrapper(&mut chain, &function.name);
                chain
                    .into_iter()
                    .filter_map(|position| {
                        Some(SourceLine {
                            file: position.file?.to_string(),
                            line: Some(position.line).filter(|line| *line != 0)?,
                            column: position.column,
                            function: position.function.as_deref().map(str::to_owned),
                        })
                    })
                    .collect()
            })
            .collect();
        let around = Around::new(index, body, &lines);
        for (index, instruction) in body.instructions.iter().enumerate() {
            self.places.entry(instruction.position.line).or_insert_with(|| Place {
                function: function.name.to_string(),
                ptx_line: instruction.position.line,
                instruction: instruction.opcode.as_str().to_owned(),
                source: lines[index].clone(),
                leads_there: around.leads_to(index).cloned(),
            });
        }
    }
}

/// Drops the outermost call if it is that of a Rust kernel from the entry that `#[kernel]` makes of it: that is no place
/// that anybody wrote. The linker's name of the kernel ends in its length and itself.
fn drop_wrapper(chain: &mut Vec<SourcePosition>, entry: &str) {
    if let [.., kernel, wrapper] = chain.as_slice() {
        let named = format!("{}{entry}", entry.len());
        let is_kernel =
            kernel.function.as_deref().is_some_and(|name| name.starts_with("_R") && name.ends_with(&named));
        if is_kernel && wrapper.function.is_none() {
            chain.pop();
        }
    }
}

/// Which line that is not in a library leads to each instruction that has none of its own.
///
/// Found for all instructions in two walks. Within a block, the nearest line before an instruction counts, else the nearest
/// behind it. A block without any takes that of the nearest block that leads to it: blocks are visited breadth first from
/// those that have lines, along the ways that warps take.
struct Around<'a> {
    lines: &'a [Vec<SourceLine>],
    /// By instruction: the instruction whose line leads there; its own where it has one.
    leading: Vec<Option<u32>>,
}

impl<'a> Around<'a> {
    fn new(index: &Index<'_>, body: &Body, lines: &'a [Vec<SourceLine>]) -> Self {
        let has_own: Vec<bool> =
            lines.iter().map(|lines| lines.iter().any(|line| !line.in_library())).collect();
        let mut leading = vec![None; lines.len()];
        // Where nothing is missing, or nothing is there to be found, no graph is needed.
        if has_own.iter().all(|own| *own) || !has_own.contains(&true) {
            for (at, own) in has_own.iter().enumerate() {
                leading[at] = own.then_some(at as u32);
            }
            return Self { lines, leading };
        }
        let cfg = Cfg::new(index, body);
        let mut at_end: Vec<Option<u32>> = vec![None; cfg.blocks.len()];
        for (block, end) in cfg.blocks.iter().zip(&mut at_end) {
            let mut nearest = None;
            for at in block.instructions.clone() {
                nearest = if has_own[at as usize] { Some(at) } else { nearest };
                leading[at as usize] = nearest;
            }
            *end = nearest;
            for at in block.instructions.clone().rev() {
                nearest = leading[at as usize].or(nearest);
                leading[at as usize] = nearest;
            }
        }
        let at_end = from_nearest(&cfg, at_end);
        for (block, end) in cfg.blocks.iter().zip(at_end) {
            for at in block.instructions.clone() {
                leading[at as usize] = leading[at as usize].or(end);
            }
        }
        Self { lines, leading }
    }

    /// The line of another instruction that leads to this one; none: it has its own, or there is none.
    fn leads_to(&self, instruction: usize) -> Option<&'a SourceLine> {
        let leading = self.leading[instruction].filter(|leading| *leading as usize != instruction)?;
        self.lines[leading as usize].iter().find(|line| !line.in_library())
    }
}

/// Gives blocks that have nothing what the nearest block has that leads to them; of several, the first in the order in
/// which a search back from the block comes to them.
fn from_nearest(cfg: &Cfg, mut found: Vec<Option<u32>>) -> Vec<Option<u32>> {
    let predecessors = cfg.predecessors();
    let mut distance = vec![u32::MAX; cfg.blocks.len()];
    let mut next = VecDeque::new();
    for (block, found) in found.iter().enumerate() {
        if found.is_some() {
            distance[block] = 0;
            next.push_back(block);
        }
    }
    while let Some(block) = next.pop_front() {
        if found[block].is_none() {
            let nearer = |from: &&BlockId| distance[from.0 as usize].checked_add(1) == Some(distance[block]);
            found[block] = predecessors[block].iter().find(nearer).and_then(|from| found[from.0 as usize]);
        }
        for to in &cfg.blocks[block].successors {
            let to = to.0 as usize;
            if distance[to] == u32::MAX {
                distance[to] = distance[block] + 1;
                next.push_back(to);
            }
        }
    }
    found
}
