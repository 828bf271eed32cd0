//! Where in the source an instruction comes from, put so that its author finds it.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fmt;

use serde::Serialize;

use crate::exec::{self, SiteInfo, in_library};
use crate::ptx::cfg::{BlockId, Cfg};
use crate::ptx::{Body, Function, Module, SourcePosition};

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
        for function in module.functions() {
            if let Some(body) = &function.body {
                positions.add(module, function, body);
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

    fn add(&mut self, module: &Module, function: &Function, body: &Body) {
        let lines: Vec<Vec<SourceLine>> = body
            .instructions
            .iter()
            .map(|instruction| {
                let mut chain = module.source(instruction);
                drop_wrapper(&mut chain, &function.name);
                chain
                    .into_iter()
                    .filter_map(|position| {
                        Some(SourceLine {
                            file: position.file?.to_owned(),
                            line: Some(position.line).filter(|line| *line != 0)?,
                            column: position.column,
                            function: position.function,
                        })
                    })
                    .collect()
            })
            .collect();
        let around = Around::new(module, body, &lines);
        for (index, instruction) in body.instructions.iter().enumerate() {
            let own = lines[index].iter().any(|line| !line.in_library());
            self.places.entry(instruction.position.line).or_insert_with(|| Place {
                function: function.name.to_string(),
                ptx_line: instruction.position.line,
                instruction: instruction.opcode.as_str().to_owned(),
                source: lines[index].clone(),
                leads_there: if own { None } else { around.find(index) },
            });
        }
    }
}

/// Drops the outermost call if it is that of a Rust kernel from the entry that `#[kernel]` makes of it: that is no place
/// that anybody wrote. The linker's name of the kernel ends in its length and itself.
fn drop_wrapper(chain: &mut Vec<SourcePosition<'_>>, entry: &str) {
    if let [.., kernel, wrapper] = chain.as_slice() {
        let named = format!("{}{entry}", entry.len());
        let is_kernel =
            kernel.function.as_deref().is_some_and(|name| name.starts_with("_R") && name.ends_with(&named));
        if is_kernel && wrapper.function.is_none() {
            chain.pop();
        }
    }
}

/// Looks for lines that are not in libraries.
struct Around<'a> {
    cfg: Cfg,
    predecessors: Vec<Vec<BlockId>>,
    lines: &'a [Vec<SourceLine>],
}

impl<'a> Around<'a> {
    fn new(module: &Module, body: &Body, lines: &'a [Vec<SourceLine>]) -> Self {
        let cfg = Cfg::new(module, body);
        let mut predecessors = vec![Vec::new(); cfg.blocks.len()];
        for (index, block) in cfg.blocks.iter().enumerate() {
            for successor in &block.successors {
                predecessors[successor.0 as usize].push(BlockId(index as u32));
            }
        }
        Self { cfg, predecessors, lines }
    }

    fn own(&self, instruction: u32) -> Option<SourceLine> {
        self.lines[instruction as usize].iter().find(|line| !line.in_library()).cloned()
    }

    fn find(&self, instruction: usize) -> Option<SourceLine> {
        let instruction = instruction as u32;
        let block = self.cfg.block_of(instruction)?;
        let here = self.cfg.block(block).instructions.clone();
        let before = (here.start..instruction).rev();
        let behind = instruction + 1..here.end;
        before.chain(behind).find_map(|near| self.own(near)).or_else(|| self.find_before(block))
    }

    fn find_before(&self, block: BlockId) -> Option<SourceLine> {
        let mut seen = HashSet::from([block]);
        let mut next = VecDeque::from([block]);
        while let Some(block) = next.pop_front() {
            for predecessor in &self.predecessors[block.0 as usize] {
                if seen.insert(*predecessor) {
                    let instructions = self.cfg.block(*predecessor).instructions.clone();
                    if let Some(line) = instructions.rev().find_map(|near| self.own(near)) {
                        return Some(line);
                    }
                    next.push_back(*predecessor);
                }
            }
        }
        None
    }
}
