//! `ptx`: prints a kernel's PTX.

use anyhow::Result;
use clap::Args;
use cuda_builder::NvvmArch;
use xtask::cargo;
use xtask::layout::Layout;

use crate::kernels;
use crate::lines::{self, Shown};

/// Arguments of `ptx`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The kernel's name
    #[arg(required_unless_present = "all")]
    kernel: Option<String>,
    /// The architecture to compile for [default: compute_90, or the one that the kernel names]
    #[arg(long, value_parser = kernels::parse_arch)]
    arch: Option<NvvmArch>,
    /// Print the whole module: all kernels
    #[arg(long, conflicts_with = "kernel")]
    all: bool,
    /// Show above each run of instructions the source line that it comes from, and in brackets what was inlined there
    #[arg(long)]
    lines: bool,
    /// Print the text as drivers get it, with the directives that tie instructions to source lines and what they refer to
    #[arg(long, conflicts_with = "lines")]
    raw: bool,
}

/// Compiles the kernels and prints what was asked for.
pub(crate) fn main(arguments: &Arguments) -> Result<()> {
    let layout = Layout::find()?;
    let root = layout.root("ptx")?;
    let built = kernels::build_one(root, &cargo::target(root)?, arguments.arch, arguments.kernel.as_deref())?;
    let text = match &arguments.kernel {
        Some(kernel) => built.extract(kernel)?,
        None => built.text,
    };
    xtask::print(&match arguments {
        Arguments { raw: true, .. } => text,
        Arguments { lines: true, .. } => lines::of_ptx(&text, &Shown::new(root))?,
        _ => lines::without(&text),
    })
}
