//! The kernels' PTX, by the program that carries their compiler: `xtask-ptx`, which is built when it is first needed.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::layout::Layout;
use crate::{cargo, process};

/// One architecture that the kernels were compiled for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Built {
    /// `compute_90`.
    pub(crate) arch: String,
    /// The version of PTX it is written in: `7.8`.
    pub(crate) isa: String,
}

/// An up-to-date `xtask-ptx`, to be given arguments.
fn program(root: &Path) -> Result<Command> {
    if !cargo::target(root)?.join("xtask/xtask-ptx").is_file() {
        eprintln!(
            "Building xtask-ptx, which compiles kernels to PTX, assembles and checks them: a few seconds, once."
        );
    }
    let mut build = cargo::command(root);
    let _ = build.args(["build", "--quiet", "--profile", "xtask", "--package", "xtask_ptx"]);
    let built: Option<(String, PathBuf)> = cargo::programs(&mut build)?.into_iter().next();
    let (_, path) = built.context("cargo built package `xtask_ptx` but reports no program of it")?;
    let mut command = Command::new(path);
    // As `cargo run` would: it is how the program finds the checkout.
    let _ = command.env("CARGO_MANIFEST_DIR", root.join("xtask"));
    Ok(command)
}

/// Becomes `xtask-ptx VERB ARGUMENTS..`. Returns only if that fails.
pub(crate) fn pass_on(verb: &str, arguments: &[OsString]) -> Result<u8> {
    let layout = Layout::find()?;
    let mut command = program(layout.root(verb)?)?;
    let error = command.arg(verb).args(arguments).exec();
    Err(error).with_context(|| format!("cannot start {}", command.get_program().display()))
}

/// Runs a step of `xtask-ptx` and returns its output.
pub(crate) fn step(root: &Path, words: &[&str]) -> Result<String> {
    process::data(program(root)?.arg("step").args(words))
}

/// Compiles the kernels for all tested architectures, and copies the PTX to a folder if one is given.
pub(crate) fn build(root: &Path, into: Option<&Path>) -> Result<Vec<Built>> {
    let mut command = program(root)?;
    let _ = command.args(["step", "build"]);
    if let Some(folder) = into {
        let folder =
            std::path::absolute(folder).with_context(|| format!("cannot find {}", folder.display()))?;
        let _ = command.arg("--into").arg(folder);
    }
    parse(&process::data(&mut command)?)
}

fn parse(text: &str) -> Result<Vec<Built>> {
    let line = |line: &str| {
        let (arch, isa) =
            line.split_once(' ').with_context(|| format!("`{line}` names no architecture and PTX"))?;
        Ok(Built { arch: arch.to_owned(), isa: isa.to_owned() })
    };
    text.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures_are_read_with_their_ptx_versions() {
        let built = |arch: &str, isa: &str| Built { arch: arch.into(), isa: isa.into() };
        let text = "compute_75 7.4\ncompute_90a 8.0\n";
        assert_eq!(parse(text).unwrap(), [built("compute_75", "7.4"), built("compute_90a", "8.0")]);
        assert!(parse("compute_75\n").is_err());
    }
}
