//! The crates' own tests that need a GPU: integration tests called `gpu`, whose every test is ignored unless asked for.
//!
//! They are programs like any other: `dist` carries them along in `tests/`, named after their package.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::layout::Layout;
use crate::{cargo, process};

/// The folder in a `dist` that holds them.
pub(crate) const FOLDER: &str = "tests";

/// A package's GPU tests, built.
pub(crate) struct GpuTests {
    pub(crate) package: String,
    pub(crate) program: PathBuf,
}

/// All of them: built in a checkout, found in a folder.
pub(crate) fn all(layout: &Layout) -> Result<Vec<GpuTests>> {
    match layout {
        Layout::Checkout { root } => build(root),
        Layout::Folder { folder } => {
            let programs = super::files(&folder.join(FOLDER))?;
            let tests = programs.into_iter().map(|program| {
                let package = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
                GpuTests { package, program }
            });
            Ok(tests.collect())
        }
    }
}

/// Builds them in release.
pub(crate) fn build(root: &Path) -> Result<Vec<GpuTests>> {
    let build = |package: String| {
        let mut command = cargo::command(root);
        let _ = command.args([
            "test",
            "--quiet",
            "--release",
            "--no-run",
            "--test",
            "gpu",
            "--package",
            &package,
        ]);
        let programs = cargo::programs(&mut command)?;
        // A package's own programs are built along with its integration tests.
        let program = programs.into_iter().find(|(name, _)| name == "gpu").map(|(_, program)| program);
        let program = program.with_context(|| format!("cargo built no GPU tests of {package}"))?;
        Ok(GpuTests { package, program })
    };
    cargo::packages_with_gpu_tests(root)?.into_iter().map(build).collect()
}

/// Runs them one after the other: there is one GPU.
pub(crate) fn check(tests: &GpuTests) -> Result<String> {
    let text =
        process::succeed(Command::new(&tests.program).args(["--include-ignored", "--test-threads=1"]))?;
    judge(&text)
}

/// The line of the test program that counts its tests; none run is a failure.
fn judge(text: &str) -> Result<String> {
    match text.lines().find(|line| line.starts_with("test result: ok.")) {
        Some(line) if !line.contains(" 0 passed") => Ok(line.to_owned()),
        _ => bail!("no test was run:\n{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_that_run_are_counted() {
        let line =
            "test result: ok. 8 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.24s";
        assert_eq!(judge(&format!("running 8 tests\n\n{line}\n")).unwrap(), line);
        assert!(judge("running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 8 ignored\n").is_err());
        assert!(judge("").is_err());
    }
}
