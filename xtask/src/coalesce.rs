//! The program itself: built when this is a checkout, beside us when this is a folder made by `dist`.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::cargo;
use crate::layout::Layout;

/// The path of an up-to-date `coalesce`.
pub(crate) fn program(layout: &Layout) -> Result<PathBuf> {
    match layout {
        Layout::Checkout { root } => {
            let built = build(root, &["host"])?;
            built.into_iter().next().context("cargo built package `host` but reports no program of it")
        }
        Layout::Folder { folder } => Ok(folder.join("coalesce")),
    }
}

/// Builds packages in release and returns their programs, in the order of the programs' names.
///
/// The first build is long and shows cargo's own progress; later ones are quiet.
pub(crate) fn build(root: &Path, packages: &[&str]) -> Result<Vec<PathBuf>> {
    let first = !cargo::target(root)?.join("release").join("coalesce").is_file();
    let mut command = cargo::command(root);
    let _ = command.args(["build", "--release"]);
    for package in packages {
        let _ = command.args(["--package", package]);
    }
    if first {
        eprintln!(
            "Building coalesce. The first build also compiles Rust's core library and the kernels for the GPU: \
             one to three minutes; later ones take seconds."
        );
    } else {
        let _ = command.arg("--quiet");
    }
    Ok(cargo::programs(&mut command)?.into_iter().map(|(_, path)| path).collect())
}

/// Becomes `coalesce VERB ARGUMENTS..`: its exit status and how it takes Ctrl-C are then this program's own. Returns only
/// if that fails.
pub(crate) fn pass_on(verb: &str, arguments: &[OsString]) -> Result<u8> {
    let program = program(&Layout::find()?)?;
    let error = Command::new(&program).arg(verb).args(arguments).exec();
    Err(error).with_context(|| format!("cannot start {}", program.display()))
}
