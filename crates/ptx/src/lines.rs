//! Traces each instruction to a line of its author's source.
//!
//! Almost all of a Rust kernel is inlined. The line from which an instruction was generated is mostly one of
//! `core` or of the device library, and says little. The line that its author knows is the innermost one
//! that is in no library; the inlined lines come after it. Of
//!
//! ```text
//! .loc 1 42 7                                                         // kernel.rs:42     data.put(thread.own(), 1.0)
//! .loc 2 64 26, function_name $L__info_string0, inlined_at 1 42 7     // cuda_safe: put()
//! .loc 3 90 9, function_name $L__info_string1, inlined_at 2 64 26     // core: write()
//! st.global.b32 [%rd1], %r1;
//! ```
//!
//! the chain is `core`'s line 90, `cuda_safe`'s line 64, `kernel.rs:42`, innermost first. [`Origin::user_line`] is the last of
//! these, and [`Origin::inlined`] gives the other two, outermost first.
//!
//! Some compilers write the innermost position only, without a chain. If that is in a library (a slice's iterator, the panic
//! handler), the kernel's line is taken from nearby instructions: those before it in its basic block, those after it, and then
//! those at the ends of the blocks that lead to it, nearest first.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use crate::cfg::{BlockId, Cfg};
use crate::{Body, Function, Index, Module, Name, SourcePosition};

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceLine {
    /// File, as the compiler names it.
    pub file: Arc<str>,
    /// Line from 1.
    pub line: u32,
    /// Column from 1; 0 if unknown.
    pub column: u32,
    /// Linker name of the inlined function that contains the line, if the PTX gives it.
    pub function: Option<Arc<str>>,
}

impl SourceLine {
    /// Returns true if the line is in a library: see [`in_library`].
    pub fn in_library(&self) -> bool {
        in_library(&self.file)
    }
}

impl fmt::Display for SourceLine {
    /// Writes `src/copy.rs:12:5`, without the column if it is unknown.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.file, self.line)?;
        if self.column > 0 { write!(formatter, ":{}", self.column) } else { Ok(()) }
    }
}

/// Returns true if a file belongs to a library: Rust's own, the kernels' device library (`cuda_std`, `cuda_safe`), or a
/// dependency that cargo fetched.
pub fn in_library(file: &str) -> bool {
    const FOLDERS: [&str; 8] = [
        "/rustc/",
        "library/core/src/",
        "library/alloc/src/",
        "library/std/src/",
        "cuda_std/src/",
        "cuda_safe/src/",
        "registry/src/",
        "git/checkouts/",
    ];
    let file = file.replace('\\', "/");
    FOLDERS.iter().any(|folder| file.contains(folder))
}

/// An instruction, and the source lines from which it was generated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The instruction's first line in the PTX text, from 1.
    pub ptx_line: u32,
    /// Kernel or function that contains it.
    pub function: Name,
    /// Opcode, with all modifiers.
    pub opcode: String,
    /// The line from which it was generated, then the inlined calls, innermost first. Empty without line information.
    pub chain: Vec<SourceLine>,
    /// If all of `chain` is in libraries: the line of the kernel's own source that leads there, as far as nearby
    /// instructions tell.
    pub leads_there: Option<SourceLine>,
}

impl Origin {
    /// Returns the line to show first: the innermost that is in no library, else the one that leads there, else the
    /// innermost.
    pub fn user_line(&self) -> Option<&SourceLine> {
        let own = self.chain.iter().find(|line| !line.in_library());
        own.or(self.leads_there.as_ref()).or(self.chain.first())
    }

    /// Returns the inlined lines between [`Origin::user_line`] and the instruction, outermost first. Empty if the
    /// instruction was generated from that line itself.
    pub fn inlined(&self) -> impl Iterator<Item = &SourceLine> {
        let shown = self.user_line();
        let end = self.chain.iter().position(|line| Some(line) == shown).unwrap_or(self.chain.len());
        self.chain[..end].iter().rev()
    }
}

/// Traces every instruction of a module to its source lines, in the order of the text.
pub fn origins(module: &Module) -> Vec<Origin> {
    let index = Index::new(module);
    let defined = module.functions().filter_map(|function| Some((function, function.body.as_ref()?)));
    defined.flat_map(|(function, body)| of_function(&index, function, body)).collect()
}

fn of_function(index: &Index<'_>, function: &Function, body: &Body) -> Vec<Origin> {
    let chains: Vec<Vec<SourceLine>> = body
        .instructions
        .iter()
        .map(|instruction| {
            let mut chain = index.source(instruction);
            drop_wrapper(&mut chain, &function.name);
            // Compilers write line 0 where nothing in the source corresponds.
            let lines = chain.into_iter().filter(|position| position.line != 0).filter_map(|position| {
                let SourcePosition { file, line, column, function } = position;
                Some(SourceLine { file: file?, line, column, function })
            });
            lines.collect()
        })
        .collect();
    let leading = leading(index, body, &chains);
    let leads_there = |at: usize| {
        let leading = leading[at].filter(|leading| *leading as usize != at)?;
        chains[leading as usize].iter().find(|line| !line.in_library()).cloned()
    };
    let origin = |(at, instruction): (usize, &crate::Instruction)| Origin {
        ptx_line: instruction.position.line,
        function: function.name.clone(),
        opcode: instruction.opcode.as_str().to_owned(),
        chain: chains[at].clone(),
        leads_there: leads_there(at),
    };
    body.instructions.iter().enumerate().map(origin).collect()
}

/// Drops the outermost call if the entry that `#[kernel]` generates makes it: no author wrote that line. The linker's
/// name of the kernel ends in its length and name.
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

/// Finds for each instruction the one whose own line leads to it; that is itself if it has one.
///
/// Works in two passes. Within a basic block, the nearest line before an instruction counts, else the nearest behind
/// it. A block without lines takes that of the nearest block that leads to it: blocks are visited breadth first from
/// those that have lines, along the edges.
fn leading(index: &Index<'_>, body: &Body, chains: &[Vec<SourceLine>]) -> Vec<Option<u32>> {
    let has_own: Vec<bool> = chains.iter().map(|chain| chain.iter().any(|line| !line.in_library())).collect();
    let mut leading = vec![None; chains.len()];
    // If all instructions have lines, or none does, no graph is needed.
    if has_own.iter().all(|own| *own) || !has_own.contains(&true) {
        for (at, own) in has_own.iter().enumerate() {
            leading[at] = own.then_some(at as u32);
        }
        return leading;
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
    leading
}

/// Fills each block without a line from the nearest block that leads to it; of several, the first in the order of a
/// search backwards from the block.
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

#[cfg(test)]
mod tests {
    use super::{SourceLine, in_library, origins};
    use crate::parse;

    /// Debug information as our compiler writes it: the inlined calls, from the kernel inwards.
    const INLINED: &str = r#".version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
	.reg .b64 %rd<2>;
	.loc 1 40 0
	ld.param.b64 %rd1, [p];
	.loc 1 40 1
	.loc 1 42 7, function_name $L__name0, inlined_at 1 40 1
	.loc 2 64 26, function_name $L__name1, inlined_at 1 42 7
	.loc 3 90 9, function_name $L__name2, inlined_at 2 64 26
	st.global.b64 [%rd1], %rd1;
	.loc 1 40 50
	ret;
}
	.file 1 "/home/me/kernels/src/lib.rs"
	.file 2 "/home/me/crates/cuda_safe/src/view.rs"
	.file 3 "/rust/library/core/src/ptr/mod.rs"
	.section .debug_str
	{
$L__name0:
.b8 95,82,49,107,0
$L__name1:
.b8 112,117,116,0
$L__name2:
.b8 119,114,105,116,101,0
	}
"#;

    #[test]
    fn inlined_instructions_have_their_author_s_line_and_what_was_inlined_there() {
        let origins = origins(&parse(INLINED).expect("PTX"));
        let at: Vec<(u32, &str)> =
            origins.iter().map(|origin| (origin.ptx_line, origin.opcode.as_str())).collect();
        assert_eq!(at, [(8, "ld.param.b64"), (13, "st.global.b64"), (15, "ret")]);
        let shown: Vec<String> =
            origins.iter().map(|origin| origin.user_line().expect("a line").to_string()).collect();
        let file = "/home/me/kernels/src/lib.rs";
        assert_eq!(shown, [format!("{file}:40"), format!("{file}:42:7"), format!("{file}:40:50")]);
        let inlined: Vec<String> = origins[1].inlined().map(SourceLine::to_string).collect();
        assert_eq!(
            inlined,
            ["/home/me/crates/cuda_safe/src/view.rs:64:26", "/rust/library/core/src/ptr/mod.rs:90:9"]
        );
        assert_eq!(origins[1].chain[1].function.as_deref(), Some("put"));
        assert_eq!((origins[0].inlined().count(), &*origins[1].function), (0, "k"));
        // The entry's own line, which calls the kernel, is not in the chain.
        assert_eq!(origins[1].chain.len(), 3);
    }

    #[test]
    fn a_line_of_a_library_alone_is_led_to_by_the_lines_around() {
        let text = INLINED.replace(", function_name", " //");
        let origins = origins(&parse(&text).expect("PTX"));
        assert_eq!(origins[1].chain.len(), 1);
        assert_eq!(origins[1].user_line().map(|line| line.line), Some(40));
        assert_eq!(origins[1].inlined().map(|line| line.line).collect::<Vec<_>>(), [90]);
    }

    #[test]
    fn without_line_information_there_is_no_line() {
        let text = ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() {\nret;\n}\n";
        let origins = origins(&parse(text).expect("PTX"));
        assert_eq!((origins[0].ptx_line, origins[0].user_line()), (5, None));
        assert_eq!(origins[0].inlined().count(), 0);
    }

    #[test]
    fn libraries_are_known_by_their_folders() {
        for file in [
            "/r/library/core/src/num.rs",
            "crates\\cuda_std\\src\\warp.rs",
            "/h/registry/src/x/half-2/src/a.rs",
        ] {
            assert!(in_library(file), "{file}");
        }
        assert!(!in_library("/home/me/gpu-kernels/src/copy.rs"));
    }
}
