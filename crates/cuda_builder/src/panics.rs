//! Gives panics in finished PTX a way on, so that the lanes of a warp meet again behind a check.
//!
//! LLVM ends a panic with `trap; exit;` in a block of its own, to which checks branch. ptxas of CUDA 12.4 and later takes
//! a `trap` for an end of the kernel, and a bare `ret` under a condition for none, since that becomes an exit with a
//! guard. Where a kernel has no other `ret`, a panic is the only end, so that no other block is on all paths to the end:
//! lanes that an `if` in a loop has parted never meet again, and from there on execute one after the other. A
//! breadth-first search with a check for division by zero took five times as long on an H200.
//!
//! In such a kernel, a check within a region of divergent lanes leads to a panic that goes on, for all that ptxas knows,
//! where these lanes meet:
//!
//! ```text
//!     @%p4 bra $L__panic0;       was @%p4 bra $L__BB0_8
//!     ...
//! $L__panic0:
//!     brkpt;                     the same machine instruction as trap
//!     mov.u32 %threads, %ntid.x;
//!     setp.ne.u32 %stops, %threads, 0;
//!     @%stops exit;              always
//!     bra.uni $L__BB0_6;         never
//! ```
//!
//! Without a debugger `brkpt` ends the launch with the error of a `trap`.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::ops::Range;

use ptx::cfg::{BlockId, Cfg};
use ptx::op::Op;
use ptx::outline::{Kind, Statement, statements};
use ptx::{Body, Index, LabelMeaning};

/// Rewrites all checks of which that is true. A text that cannot be parsed stays as it is.
pub(crate) fn let_lanes_meet(text: &str) -> String {
    let Some(module) = text.contains("trap;").then(|| ptx::parse(text).ok()).flatten() else {
        return text.to_owned();
    };
    let index = Index::new(&module);
    let statements: Vec<_> = statements(text).collect();
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for part in statements.chunk_by(|_, next| !matches!(next.kind, Kind::Function { .. })) {
        let Kind::Function { name, has_body: true, .. } = part[0].kind else { continue };
        if let Some(body) = index.function(name).and_then(|function| function.body.as_ref()) {
            edits.extend(Function::new(text, part, body).edits(&Cfg::new(&index, body)));
        }
    }
    let mut rewritten = String::with_capacity(text.len());
    let mut copied = 0;
    for (span, new) in edits {
        rewritten += &text[copied..span.start];
        rewritten += &new;
        copied = span.end;
    }
    rewritten + &text[copied..]
}

/// A function as text and as a list of instructions.
struct Function<'a> {
    text: &'a str,
    body: &'a Body,
    /// Each instruction's statement, and the `.loc` that holds for it.
    code: Vec<(&'a Statement<'a>, Option<&'a str>)>,
    /// Offset of the closing brace.
    end: usize,
}

impl<'a> Function<'a> {
    fn new(text: &'a str, part: &'a [Statement<'a>], body: &'a Body) -> Self {
        let mut code = Vec::new();
        let (mut location, mut depth, mut end) = (None, 0, 0);
        for statement in part {
            match statement.kind {
                Kind::Location { .. } => location = Some(statement.text),
                Kind::Instruction(_) => code.push((statement, location)),
                Kind::Open => depth += 1,
                Kind::Close => {
                    depth -= 1;
                    end = statement.span.start;
                    if depth == 0 {
                        break;
                    }
                }
                _ => {}
            }
        }
        Self { text, body, code, end }
    }

    /// Returns what to replace, in the order of the text, and the panics to add at the end.
    fn edits(&self, cfg: &Cfg) -> Vec<(Range<usize>, String)> {
        if self.code.len() != self.body.instructions.len() || !self.ends_in_panics_alone(cfg) {
            return Vec::new();
        }
        let regions = regions(cfg);
        let mut edits = Vec::new();
        let mut panics = String::new();
        let mut labels: HashMap<(BlockId, BlockId), String> = HashMap::new();
        for (block, here) in cfg.blocks.iter().zip((0..).map(BlockId)) {
            let Some(check) = block.instructions.clone().next_back().filter(|last| self.is_check(*last))
            else {
                continue;
            };
            let Some(panic) = block.successors.iter().copied().find(|to| self.is_panic(cfg, *to)) else {
                continue;
            };
            let join = regions
                .iter()
                .filter(|(_, region)| region.contains(&here))
                .min_by_key(|(_, region)| region.len());
            let Some((join, target)) = join.and_then(|(join, _)| Some((*join, self.label(cfg, *join)?)))
            else {
                continue;
            };
            let count = labels.len();
            let label = labels.entry((panic, join)).or_insert_with(|| {
                let location = self.code[cfg.block(panic).instructions.start as usize].1;
                let label = format!("$L__panic{count}");
                let _ = writeln!(panics, "{label}:");
                location.inspect(|location| panics += &format!("\t{location}\n"));
                panics += "\tbrkpt;\n\t{\n\t.reg .pred \t%stops;\n\t.reg .b32 \t%threads;\n\tmov.u32 \t%threads, %ntid.x;\n\
                           \tsetp.ne.u32 \t%stops, %threads, 0;\n\t@%stops exit;\n\t}\n";
                let _ = writeln!(panics, "\tbra.uni \t{target};");
                label
            });
            edits.extend(self.redirected(check, cfg.block(panic).instructions.start, label));
        }
        if !edits.is_empty() {
            edits.push((self.end..self.end, panics));
        }
        edits
    }

    /// Returns true if ptxas sees no end but panics: each `ret` stands alone, and is reached under a condition, so that
    /// it becomes an exit with a guard.
    fn ends_in_panics_alone(&self, cfg: &Cfg) -> bool {
        let predecessors = cfg.predecessors();
        let is_alone = |block: BlockId| {
            let instructions = cfg.block(block).instructions.clone();
            let op = self.body.instructions.get(instructions.start as usize).map(|first| first.opcode.op());
            instructions.len() == 1 && matches!(op, Some(Ok(Op::Ret | Op::Bra)))
        };
        let mut open: Vec<BlockId> =
            (0..cfg.blocks.len() as u32).map(BlockId).filter(|block| cfg.block(*block).leaves).collect();
        let mut seen = HashSet::new();
        // Back from each `ret`, through jumps.
        while let Some(block) = open.pop() {
            let before = &predecessors[block.0 as usize];
            if !is_alone(block) || before.is_empty() {
                return false;
            }
            let jumps = before.iter().filter(|before| cfg.block(**before).successors.len() == 1);
            open.extend(jumps.filter(|before| seen.insert(**before)));
        }
        true
    }

    /// Returns true for a guarded branch.
    fn is_check(&self, at: u32) -> bool {
        let instruction = &self.body.instructions[at as usize];
        instruction.guard.is_some() && instruction.opcode.op() == Ok(Op::Bra)
    }

    /// Returns true for a block that does nothing but `trap`.
    fn is_panic(&self, cfg: &Cfg, block: BlockId) -> bool {
        let instructions = cfg.block(block).instructions.clone();
        let mut code = self.body.instructions[instructions.start as usize..instructions.end as usize].iter();
        let first =
            code.next().is_some_and(|first| first.guard.is_none() && first.opcode.op() == Ok(Op::Trap));
        first && code.next().is_none()
    }

    /// Returns the label of a block that does more than return.
    fn label(&self, cfg: &Cfg, block: BlockId) -> Option<&'a str> {
        let start = cfg.block(block).instructions.start;
        let returns = self.body.instructions.get(start as usize)?.opcode.op() == Ok(Op::Ret);
        let mut labels = self.body.labels.iter();
        let label = labels
            .find(|label| label.meaning == LabelMeaning::Code(start) && label.name.starts_with("$L__BB"))?;
        (!returns).then_some(&*label.name)
    }

    /// The branch of a check, to another panic: `@%p bra PANIC`, or `@%p bra ON` in front of the panic.
    fn redirected(&self, check: u32, panic: u32, label: &str) -> Option<(Range<usize>, String)> {
        let span = self.code[check as usize].0.span.clone();
        let words: Vec<&str> = self.text[span.clone()].trim_end_matches(';').split_whitespace().collect();
        let [guard, bra, target] = words[..] else { return None };
        let is_target = self
            .body
            .labels
            .iter()
            .any(|other| *other.name == *target && other.meaning == LabelMeaning::Code(panic));
        let new = if is_target {
            format!("{guard} {bra} \t{label};")
        } else {
            let turned = guard
                .strip_prefix("@!")
                .map_or_else(|| guard.replace('@', "@!"), |guard| format!("@{guard}"));
            format!("{turned} {bra} \t{label};\n\tbra.uni \t{target};")
        };
        Some((span, new))
    }
}

/// Returns the regions in which lanes may be apart: the block at which they meet, and those before it. They begin at
/// branches of which both ways can return.
fn regions(cfg: &Cfg) -> Vec<(BlockId, HashSet<BlockId>)> {
    let returns = |block: &BlockId| cfg.block(*block).returns;
    let branches =
        cfg.blocks.iter().filter(|block| block.successors.iter().filter(|to| returns(to)).count() > 1);
    let regions = branches.filter_map(|block| {
        let join = block.meets?;
        let mut region = HashSet::new();
        let mut open = block.successors.clone();
        while let Some(block) = open.pop() {
            if block != join && returns(&block) && region.insert(block) {
                open.extend(&cfg.block(block).successors);
            }
        }
        Some((join, region))
    });
    regions.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(body: &str) -> String {
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n\n.visible .entry k()\n{{\n\t.reg .pred \t%p<9>;\n\
             \t.reg .b32 \t%r<9>;\n{body}\n}}\n"
        )
    }

    /// A loop around an `if` around a check.
    const SEARCH: &str = "$L__BB0_1:\n\
        \t.loc\t1 3 1\n\t@%p1 bra \t$L__BB0_3;\n\
        \t.loc\t1 4 1\n\t@%p2 bra \t$L__BB0_5;\n\
        \tadd.s32 \t%r1, %r1, 1;\n\
        $L__BB0_3:\n\t@%p3 bra \t$L__BB0_1;\n\tbra.uni \t$L__BB0_4;\n\
        $L__BB0_4:\n\tret;\n\
        $L__BB0_5:\n$L__tmp1:\n\t.loc\t1 9 1\n\ttrap; exit;";

    const PANIC: &str = "\t.loc\t1 9 1\n\tbrkpt;\n\t{\n\t.reg .pred \t%stops;\n\t.reg .b32 \t%threads;\n\
        \tmov.u32 \t%threads, %ntid.x;\n\tsetp.ne.u32 \t%stops, %threads, 0;\n\t@%stops exit;\n\t}\n";

    #[test]
    fn a_check_goes_on_where_the_lanes_around_it_meet() {
        let after = let_lanes_meet(&kernel(SEARCH));
        let body = SEARCH.replace("@%p2 bra \t$L__BB0_5;", "@%p2 bra \t$L__panic0;");
        assert_eq!(after, kernel(&format!("{body}\n$L__panic0:\n{PANIC}\tbra.uni \t$L__BB0_3;")));
        ptx::parse(&after).unwrap();
    }

    #[test]
    fn a_branch_around_a_panic_is_turned() {
        let before = "$L__BB0_1:\n\t@%p1 bra \t$L__BB0_3;\n\t@!%p2 bra \t$L__BB0_2;\n\t.loc\t1 9 1\n\ttrap;\n\texit;\n\
            $L__BB0_2:\n\tadd.s32 \t%r1, %r1, 1;\n$L__BB0_3:\n\t@%p3 bra \t$L__BB0_1;\n\tret;";
        let after = let_lanes_meet(&kernel(before));
        let turned = "@%p2 bra \t$L__panic0;\n\tbra.uni \t$L__BB0_2;";
        let body = before.replace("@!%p2 bra \t$L__BB0_2;", turned);
        assert_eq!(after, kernel(&format!("{body}\n$L__panic0:\n{PANIC}\tbra.uni \t$L__BB0_3;")));
    }

    #[test]
    fn checks_of_one_region_share_a_panic() {
        let two = "\t@%p4 bra \t$L__BB0_5;\n\tadd.s32 \t%r1, %r1, 1;\n";
        let after = let_lanes_meet(&kernel(&SEARCH.replace("\tadd.s32 \t%r1, %r1, 1;\n", two)));
        assert_eq!((after.matches("brkpt").count(), after.matches("bra \t$L__panic0;").count()), (1, 2));
    }

    #[test]
    fn other_checks_stay() {
        for body in [
            // Lanes are together, or meet at the end alone.
            "\t@%p1 bra \t$L__BB0_1;\n\tret;\n$L__BB0_1:\n\ttrap; exit;",
            "\t@%p1 bra \t$L__BB0_1;\n\t@%p2 bra \t$L__BB0_2;\n$L__BB0_1:\n\tret;\n$L__BB0_2:\n\ttrap; exit;",
            // The kernel has another end.
            &SEARCH.replace("\tret;", "\tst.global.b32 \t[0], %r1;\n\tret;"),
            // More than a panic.
            &SEARCH.replace("\ttrap;", "\tadd.s32 \t%r2, %r2, 1;\n\ttrap;"),
            &SEARCH.replace("@%p2 bra \t$L__BB0_5;", "@%p2 trap;"),
        ] {
            assert_eq!(let_lanes_meet(&kernel(body)), kernel(body));
        }
    }
}
