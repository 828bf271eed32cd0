//! Steps of `cargo xtask`'s other verbs, which read the output.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use clap::Subcommand;
use cuda_builder::toolchain;
use serde_json::json;
use tools::{Program, process, ptxas};
use xtask::cargo;
use xtask::layout::Layout;

use crate::expectations::Expectations;
use crate::gate;
use crate::kernels::{self, Built};

/// One step.
#[derive(Subcommand)]
pub(crate) enum Step {
    /// Compile the kernels for all architectures; prints `ARCHITECTURE PTX-VERSION` a line
    Build {
        /// Copy the PTX to this folder, a file `kernels.ARCHITECTURE.ptx` each
        #[arg(long, value_name = "DIR")]
        into: Option<PathBuf>,
    },
    /// Hold the PTX to the promises in the kernels' sources
    Promises,
    /// Have ptxas assemble the PTX
    Assemble,
    /// Report the tools that turn kernels into PTX and assemble it; one JSON object per line: `name`, `state`, `text`
    Toolchain,
}

/// Performs a step.
pub(crate) fn main(step: &Step) -> Result<()> {
    let layout = Layout::find()?;
    let root = layout.root("test")?;
    let target = cargo::target(root)?;
    let built = || kernels::build(root, &target, &kernels::ARCHITECTURES);
    let text = match step {
        Step::Build { into } => {
            let built = built()?;
            if let Some(folder) = into {
                copy(&built, folder)?;
            }
            let line = |one: &Built| format!("{} {}.{}\n", one.arch, one.isa.0, one.isa.1);
            built.iter().map(line).collect()
        }
        Step::Promises => gate::check_promises(&built()?, &expectations(root)?)?,
        Step::Assemble => assemble(&built()?, &expectations(root)?, &target)?,
        Step::Toolchain => toolchain_report(root, &target),
    };
    xtask::print(&text)
}

fn expectations(root: &Path) -> Result<Expectations> {
    Expectations::read(&root.join("gpu-kernels/src"))
}

fn copy(built: &[Built], folder: &Path) -> Result<()> {
    for one in built {
        let to = folder.join(format!("kernels.{}.ptx", one.arch));
        let _ = std::fs::copy(&one.path, &to)
            .with_context(|| format!("cannot copy {} to {}", one.path.display(), to.display()))?;
    }
    Ok(())
}

fn assemble(built: &[Built], expectations: &Expectations, target: &Path) -> Result<String> {
    let isa = kernels::highest_isa(built)?;
    let scratch = target.join("cuda-tools/scratch");
    let ptxas = tools::find_or_fetch(Program::Ptxas, target, |ptxas| {
        kernels::ARCHITECTURES
            .iter()
            .try_for_each(|&arch| ptxas::accepts(ptxas, &arch.to_string(), &isa, &scratch))
    })?;
    let lines = gate::check_assembly(&ptxas.path, built, expectations, &scratch)?;
    Ok(format!("ptxas {} ({}, {})\n{lines}", ptxas.version, ptxas.path.display(), ptxas.origin))
}

/// The items of `doctor` that only the compiler of kernels can tell.
fn toolchain_report(root: &Path, target: &Path) -> String {
    let report = toolchain::report(&root.join("gpu-kernels"), &target.join("cuda-builder"));
    let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let compiler =
        report.version.as_ref().zip(path(&report.rustc)).map(|(version, path)| format!("{version}\n{path}"));
    let source = path(&report.library_source).map(|path| match report.route {
        Some(route) => format!("{path} (route: {route})"),
        None => path,
    });
    let llvm = report.llvm.as_ref().map(|llvm| format!("{}\n{}", llvm.version, llvm.path.display()));
    let mut lines = String::new();
    let mut item = |name: &str, state: &str, text: &str| {
        lines += &format!("{}\n", json!({ "name": name, "state": state, "text": text }));
    };
    for (name, text) in [("compiler", compiler), ("library source", source), ("libLLVM", llvm)] {
        if let Some(text) = text {
            item(name, "found", &text);
        }
    }
    // With a route and a libLLVM, a build fetches whatever else is missing.
    let possible = report.route.is_some() && report.llvm.is_some();
    for text in &report.missing {
        item("kernels to PTX", if possible { "absent" } else { "missing" }, text);
    }
    let (state, text) = ptxas_state(target);
    item("ptxas", state, &text);
    lines
}

/// ptxas, or what fetches it.
fn ptxas_state(target: &Path) -> (&'static str, String) {
    let kept = tools::fetched_path(Program::Ptxas, target);
    let scratch = target.join("cuda-tools").join("scratch");
    let newest = kernels::ARCHITECTURES[kernels::ARCHITECTURES.len() - 1];
    let suits = |path: &Path| ptxas::accepts(path, &newest.to_string(), kernels::NEWEST_ISA, &scratch);
    match tools::find(Program::Ptxas, Some(&kept), suits) {
        Ok(tool) => ("found", tool.to_string()),
        Err(_) if can_fetch() => {
            ("absent", "not here yet; `test` and `sass` fetch it once with pip".to_owned())
        }
        Err(error) => (
            "missing",
            format!(
                "`test` needs it: {error:#}, and python3 has no pip to fetch it with. Set PTXAS, put the bin folder of \
                 CUDA 13 on PATH, or install pip"
            ),
        ),
    }
}

fn can_fetch() -> bool {
    process::succeed(Command::new("python3").args(["-m", "pip", "--version"])).is_ok()
}
