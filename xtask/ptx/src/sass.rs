//! `sass`: prints a kernel's machine code and what it uses.

use std::process::Command;

use anyhow::{Context, Result};
use clap::Args;
use cuda_builder::NvvmArch;
use xtask::layout::Layout;
use xtask::tools::{self, Program};
use xtask::{cargo, process};

use crate::kernels;
use crate::ptxas::{self, Usage};

/// What `sass` takes.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The kernel's name
    kernel: String,
    /// The architecture to assemble for
    #[arg(long, value_parser = kernels::parse_arch, default_value = "compute_90")]
    arch: NvvmArch,
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
    let usages = ptxas::assemble(&ptxas.path, arguments.arch, &ptx, &cubin)?;
    let usage = usages.first().context("ptxas reports no kernel")?;

    let nvdisasm = tools::find_or_fetch(Program::Nvdisasm, &target, |_| Ok(()))?;
    let code = process::succeed(Command::new(&nvdisasm.path).arg("--print-code").arg(&cubin))?;
    xtask::print(&format!("{}\n{}\n", headline(arguments.arch, usage), instructions(&code)))
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
    let mut lines: Vec<&str> = disassembly
        .lines()
        .filter(|line| line.trim_start().starts_with("/*") || (line.starts_with(".L") && line.ends_with(':')))
        .collect();
    let is_padding =
        |line: &&str| line.ends_with("NOP;") || line.ends_with("NOP ;") || line.starts_with(".L");
    while lines.last().is_some_and(is_padding) {
        let _ = lines.pop();
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn the_headline_names_what_the_kernel_uses() {
        let usage =
            Usage { kernel: "tile".into(), registers: 40, shared: 4224, barriers: 1, ..Usage::default() };
        assert_eq!(
            headline(NvvmArch::Compute90a, &usage),
            "// tile for sm_90a: 40 registers, 4224 bytes of shared memory, 1 barriers, 0 bytes of stack, 0 bytes of spills"
        );
    }
}
