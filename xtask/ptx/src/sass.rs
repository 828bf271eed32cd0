//! `sass`: prints a kernel's machine code and what it uses.

use anyhow::{Context, Result};
use clap::Args;
use cuda_builder::NvvmArch;
use ptx::lines::in_library;
use tools::ptxas::{self, Usage};
use tools::sass::{self, Line};
use tools::{Program, find_or_fetch};
use xtask::cargo;
use xtask::layout::Layout;

use crate::kernels;
use crate::lines::{Headings, Shown};

/// Arguments of `sass`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The kernel's name
    kernel: String,
    /// The architecture to assemble for [default: compute_90, or the one that the kernel names]
    #[arg(long, value_parser = kernels::parse_arch)]
    arch: Option<NvvmArch>,
    /// Show above each run of instructions the source line that it comes from, and in brackets what was inlined there
    #[arg(long)]
    lines: bool,
}

/// Compiles the kernel, has ptxas assemble it and nvdisasm print it.
pub(crate) fn main(arguments: &Arguments) -> Result<()> {
    let layout = Layout::find()?;
    let root = layout.root("sass")?;
    let target = cargo::target(root)?;
    let built = kernels::build_one(root, &target, arguments.arch, Some(&arguments.kernel))?;
    let alone = built.extract(&arguments.kernel)?;

    let arch = built.arch.to_string();
    let scratch = target.join("cuda-tools/scratch");
    let isa = kernels::highest_isa(std::slice::from_ref(&built))?;
    let ptxas = find_or_fetch(Program::Ptxas, &target, |ptxas| ptxas::accepts(ptxas, &arch, &isa, &scratch))?;
    let ptx = scratch.join(format!("{}.{arch}.ptx", arguments.kernel));
    let cubin = ptx.with_extension("cubin");
    std::fs::write(&ptx, alone).with_context(|| format!("cannot write {}", ptx.display()))?;
    let usages = ptxas::assemble(&ptxas.path, &arch, &ptx, &cubin, arguments.lines)?;
    let usage = usages.first().context("ptxas reports no kernel")?;

    let nvdisasm = find_or_fetch(Program::Nvdisasm, &target, |_| Ok(()))?;
    let mut kernels = sass::read(&sass::disassemble(&nvdisasm.path, &cubin)?);
    let lines = kernels.remove(&usage.kernel).context("nvdisasm prints no code of the kernel")?;
    let code = text(&lines, arguments.lines.then_some(&Shown::new(root)));
    xtask::print(&format!("{}\n{code}", headline(&arch, usage)))
}

/// `// copy_vector for sm_90: 10 registers, 0 bytes shared, 0 barriers, 0 bytes stack, 0 + 0 bytes spilled`.
fn headline(arch: &str, usage: &Usage) -> String {
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

/// The instructions and labels, below the source lines that they come from where these are to be shown.
fn text(lines: &[Line], shown: Option<&Shown<'_>>) -> String {
    let mut headings = shown.map(Headings::new);
    let mut text = String::new();
    for line in lines {
        if let (Some(headings), [_, ..]) = (&mut headings, &line.chain[..]) {
            let place = |at: usize| line.chain.get(at).map(|(file, line)| (file.as_str(), *line));
            let own = line.chain.iter().position(|(file, _)| !in_library(file)).unwrap_or(0);
            text += &headings.above(place(own), own.checked_sub(1).and_then(place));
        }
        text += &line.text;
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::tests::Checkout;

    #[test]
    fn instructions_stand_below_the_lines_that_they_come_from() {
        // What nvdisasm 13.5 prints of `offset_f32`.
        let disassembly = include_str!("../fixtures/offset_f32.sass");
        let checkout = Checkout::new("sass");
        let code = sass::read(&checkout.placed(disassembly));
        let lines = &code["offset_f32"];
        let with_lines = text(lines, Some(&Shown::new(&checkout.0)));
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
        /*0120*/                   BRA `(.L_x_0);
";
        assert_eq!(with_lines, expected);
        // Without lines it is the same code.
        let bare = with_lines.lines().filter(|line| !line.starts_with("//"));
        assert_eq!(text(lines, None), bare.map(|line| format!("{line}\n")).collect::<String>());
    }

    #[test]
    fn the_headline_names_what_the_kernel_uses() {
        let usage =
            Usage { kernel: "tile".into(), registers: 40, shared: 4224, barriers: 1, ..Usage::default() };
        assert_eq!(
            headline("compute_90a", &usage),
            "// tile for sm_90a: 40 registers, 4224 bytes of shared memory, 1 barriers, 0 bytes of stack, 0 bytes of spills"
        );
    }
}
