//! `sass`: prints a kernel's machine code and what it uses.

use std::process::Command;

use anyhow::{Context, Result};
use clap::Args;
use cuda_builder::NvvmArch;
use ptx::lines::in_library;
use xtask::layout::Layout;
use xtask::tools::{self, Program};
use xtask::{cargo, process};

use crate::kernels;
use crate::lines::{Headings, Shown};
use crate::ptxas::{self, Usage};

/// What `sass` takes.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The kernel's name
    kernel: String,
    /// The architecture to assemble for
    #[arg(long, value_parser = kernels::parse_arch, default_value = "compute_90")]
    arch: NvvmArch,
    /// Show above each run of instructions the source line that it comes from, and in brackets what was inlined there
    #[arg(long)]
    lines: bool,
}

/// Compiles the kernel, has ptxas assemble it and nvdisasm print it.
pub(crate) fn main(arguments: &Arguments) -> Result<()> {
    let layout = Layout::find()?;
    let root = layout.root("sass")?;
    let target = cargo::target(root)?;
    let built = kernels::build_one(root, &target, arguments.arch)?;
    let alone = built.extract(&arguments.kernel)?;

    let scratch = target.join("cuda-tools/scratch");
    let ptxas = tools::find_or_fetch(Program::Ptxas, &target, |ptxas| {
        ptxas::accepts(ptxas, arguments.arch, &built.isa, &scratch)
    })?;
    let ptx = scratch.join(format!("{}.{}.ptx", arguments.kernel, arguments.arch));
    let cubin = ptx.with_extension("cubin");
    std::fs::write(&ptx, alone).with_context(|| format!("cannot write {}", ptx.display()))?;
    let usages = ptxas::assemble(&ptxas.path, arguments.arch, &ptx, &cubin, arguments.lines)?;
    let usage = usages.first().context("ptxas reports no kernel")?;

    let nvdisasm = tools::find_or_fetch(Program::Nvdisasm, &target, |_| Ok(()))?;
    let mut command = Command::new(&nvdisasm.path);
    let _ = command.arg("--print-code");
    let _ = if arguments.lines { command.arg("--print-line-info-inline") } else { &mut command };
    let code = process::succeed(command.arg(&cubin))?;
    let shown = Shown::new(root);
    let code = if arguments.lines { with_lines(&code, &shown) } else { instructions(&code) };
    xtask::print(&format!("{}\n{code}\n", headline(arguments.arch, usage)))
}

/// `// copy_vector for sm_90: 10 registers, 0 bytes shared, 0 barriers, 0 bytes stack, 0 + 0 bytes spilled`.
fn headline(arch: NvvmArch, usage: &Usage) -> String {
    format!(
        "// {} for {}: {} registers, {} bytes of shared memory, {} barriers, {} bytes of stack, {} bytes of spills",
        usage.kernel,
        ptxas::sm(arch),
        usage.registers,
        usage.shared,
        usage.barriers,
        usage.stack,
        usage.spills()
    )
}

/// The instructions and labels alone, without the file's sections and the padding behind the last instruction.
fn instructions(disassembly: &str) -> String {
    let lines = disassembly.lines().filter(|line| is_instruction(line) || is_label(line)).collect();
    without_padding(lines).join("\n")
}

fn is_instruction(line: &str) -> bool {
    line.trim_start().starts_with("/*")
}

fn is_label(line: &str) -> bool {
    line.starts_with(".L") && line.ends_with(':')
}

/// Lines without the `NOP`s behind the last instruction, their labels and what is said of their source.
fn without_padding(mut lines: Vec<&str>) -> Vec<&str> {
    let is_padding = |line: &&str| {
        line.ends_with("NOP;") || line.ends_with("NOP ;") || is_label(line) || source_of(line).is_some()
    };
    while lines.last().is_some_and(is_padding) {
        let _ = lines.pop();
    }
    lines
}

/// The instructions and labels, with headings in the place of nvdisasm's lines on where they come from.
///
/// Of those there is one for each inlined call, innermost first, and they hold until there are others.
fn with_lines(disassembly: &str, shown: &Shown<'_>) -> String {
    let lines = disassembly.lines();
    let lines = lines.filter(|line| is_instruction(line) || is_label(line) || source_of(line).is_some());
    let mut headings = Headings::new(shown);
    let mut chain: Vec<(&str, u32)> = Vec::new();
    let mut begun = false;
    let mut text = String::new();
    for line in without_padding(lines.collect()) {
        if let Some(source) = source_of(line) {
            // The first line of another chain.
            if std::mem::take(&mut begun) {
                chain.clear();
            }
            chain.push(source);
            continue;
        }
        if is_instruction(line) {
            begun = true;
            let own = chain.iter().position(|(file, _)| !in_library(file)).unwrap_or(0);
            let inlined = own.checked_sub(1).map(|inlined| chain[inlined]);
            text += &headings.above(chain.get(own).copied(), inlined);
        }
        text += line;
        text.push('\n');
    }
    text.trim_end().to_owned()
}

/// The place that a line such as `//## File "a.rs", line 7 inlined at "b.rs", line 3` says that the next instructions come
/// from. Where they were inlined has a line of its own.
fn source_of(line: &str) -> Option<(&str, u32)> {
    let (file, rest) = line.trim().strip_prefix("//## File \"")?.split_once("\", line ")?;
    let digits = rest.find(|digit: char| !digit.is_ascii_digit()).unwrap_or(rest.len());
    Some((file, rest[..digits].parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::tests::Checkout;

    #[test]
    fn only_instructions_are_kept() {
        let text = "\t.target\tsm_90\n\n\t.section\t.text.k,\"ax\",@progbits\nk:\n.text.k:\n        /*0000*/  LDC R1 ;\n\
                    .L_x_2:\n        /*0010*/  NOP;\n        /*0020*/  EXIT ;\n        /*0030*/  NOP;\n.L_x_4:\n\n//--- SYMBOLS\n";
        assert_eq!(
            instructions(text),
            "        /*0000*/  LDC R1 ;\n.L_x_2:\n        /*0010*/  NOP;\n        /*0020*/  EXIT ;"
        );
    }

    #[test]
    fn instructions_stand_below_the_lines_that_they_come_from() {
        // What nvdisasm 13.5 prints of `offset_f32`.
        let disassembly = include_str!("../fixtures/offset_f32.sass");
        let checkout = Checkout::new("sass");
        let text = with_lines(&checkout.placed(disassembly), &Shown::new(&checkout.0));
        let expected = "\
// gpu-kernels/src/coalescing.rs:40  #[kernel(offset_f32 = <f32>, offset_f64 = <f64>)]
        /*0000*/                   LDC R1, c[0x0][0x28] ;
// gpu-kernels/src/coalescing.rs:42  a.update(thread.own(), |a| a + T::ONE);  [crates/cuda_safe/src/thread.rs:49]
        /*0010*/                   S2UR UR4, SR_CTAID.X ;
        /*0020*/                   S2R R5, SR_TID.X ;
        /*0030*/                   ULDC UR5, c[0x0][0x0] ;
//  [crates/cuda_safe/src/output.rs:62]
        /*0040*/                   ULDC UR8, c[0x0][0x218] ;
        /*0050*/                   ULDC.64 UR6, c[0x0][0x210] ;
        /*0060*/                   UIMAD.WIDE.U32 UR6, UR8, 0x4, UR6 ;
//  [crates/cuda_safe/src/thread.rs:49]
        /*0070*/                   UIMAD.WIDE.U32 UR4, UR4, UR5, URZ ;
//  [crates/cuda_safe/src/output.rs:62]
        /*0080*/                   ULEA UR6, UP0, UR4, UR6, 0x2 ;
        /*0090*/                   ULEA.HI.X UR4, UR4, UR7, UR5, 0x2, UP0 ;
        /*00a0*/                   MOV R2, UR6 ;
        /*00b0*/                   MOV R3, UR4 ;
        /*00c0*/                   ULDC.64 UR4, c[0x0][0x208] ;
        /*00d0*/                   IMAD.WIDE.U32 R2, R5, 0x4, R2 ;
//  [crates/cuda_safe/src/output.rs:64]
        /*00e0*/                   LDG.E R0, desc[UR4][R2.64] ;
//  [core/src/ops/arith.rs:105]
        /*00f0*/                   FADD R5, R0, 1 ;
//  [crates/cuda_safe/src/output.rs:64]
        /*0100*/                   STG.E desc[UR4][R2.64], R5 ;
.L_x_1:
// gpu-kernels/src/coalescing.rs:40  #[kernel(offset_f32 = <f32>, offset_f64 = <f64>)]
        /*0110*/                   EXIT ;
.L_x_0:
        /*0120*/                   BRA `(.L_x_0);";
        assert_eq!(text, expected);
        // Without lines it is the same code.
        let bare: Vec<&str> = text.lines().filter(|line| !line.starts_with("//")).collect();
        assert_eq!(instructions(disassembly), bare.join("\n"));
    }

    #[test]
    fn the_headline_names_what_the_kernel_uses() {
        let usage =
            Usage { kernel: "tile".into(), registers: 40, shared: 4224, barriers: 1, ..Usage::default() };
        assert_eq!(
            headline(NvvmArch::Compute90a, &usage),
            "// tile for sm_90a: 40 registers, 4224 bytes of shared memory, 1 barriers, 0 bytes of stack, 0 bytes of spills"
        );
    }
}
