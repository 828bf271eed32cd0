//! The program itself: built when this is a checkout, beside us when this is a folder made by `dist`.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context, Result};

use crate::cargo;
use crate::edited::{self, Use};
use crate::layout::Layout;

/// The variable that names a compiler of the kernels to `coalesce`.
const BUILDER: &str = "COALESCE_KERNEL_BUILDER";

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

/// A command of an up-to-date `coalesce`. Where only bodies of kernels have changed since it was built, it is the one that is
/// there, told to compile the kernels that it launches.
fn up_to_date(layout: &Layout) -> Result<Command> {
    let there = match layout {
        Layout::Checkout { root } => built_before().map(|program| (edited::usable(root, &program), program)),
        Layout::Folder { .. } => None,
    };
    Ok(match there {
        Some((Some(Use::AsItIs), program)) => Command::new(program),
        Some((Some(Use::WithKernelsOf(builder)), program)) => {
            let mut command = Command::new(program);
            let _ = command.env(BUILDER, builder);
            command
        }
        _ => Command::new(program(layout)?),
    })
}

/// The program in the target folder that this program is in too.
fn built_before() -> Option<PathBuf> {
    let this = std::env::current_exe().ok()?;
    Some(this.parent()?.parent()?.join("release/coalesce")).filter(|program| program.is_file())
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
    let start = SystemTime::now();
    let (scripts, programs): (Vec<_>, Vec<_>) = cargo::programs_and_build_scripts(&mut command)?
        .into_iter()
        .partition(|program| program.is_build_script);
    let coalesce = programs.iter().find(|program| program.name == "coalesce");
    let script =
        coalesce.and_then(|coalesce| scripts.iter().find(|script| script.package == coalesce.package));
    if let (Some(coalesce), Some(script)) = (coalesce, script) {
        edited::keep(root, &coalesce.path, &script.path, start);
    }
    Ok(programs.into_iter().map(|program| program.path).collect())
}

/// Becomes `coalesce VERB ARGUMENTS..`: its exit status and how it takes Ctrl-C are then this program's own. `compare` is told
/// where the twins' sources are, unless the arguments name a folder or libraries. Returns only if that fails.
pub(crate) fn pass_on(verb: &str, mut arguments: Vec<OsString>) -> Result<u8> {
    let layout = Layout::find()?;
    let names = |argument: &OsString| {
        let text = argument.to_string_lossy();
        text.starts_with("--reference") || text.starts_with("--library")
    };
    let named = || arguments.iter().any(names);
    if verb == "compare" && !named() {
        let _ = arguments.splice(..0, ["--reference".into(), layout.reference().into_os_string()]);
    }
    let mut command = up_to_date(&layout)?;
    let error = command.arg(verb).args(arguments).exec();
    Err(error).with_context(|| format!("cannot start {}", command.get_program().display()))
}
