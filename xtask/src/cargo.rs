//! Asks cargo: where it builds to, and for programs.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::process;

/// The cargo that started this program, or the one on PATH, in the workspace's root.
pub fn command(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let _ = command.current_dir(root);
    command
}

/// The folder that cargo builds into.
///
/// # Errors
/// Cargo cannot be asked, or does not read the workspace.
pub fn target(root: &Path) -> Result<PathBuf> {
    let metadata = metadata(root)?;
    let folder = metadata["target_directory"].as_str();
    folder.map(PathBuf::from).context("`cargo metadata` names no target folder")
}

/// Packages with an integration test called `gpu`: those need a GPU, and are ignored unless asked for.
///
/// # Errors
/// As [`target`].
pub fn packages_with_gpu_tests(root: &Path) -> Result<Vec<String>> {
    let metadata = metadata(root)?;
    let is_gpu_test = |target: &Value| {
        let kinds = target["kind"].as_array().into_iter().flatten();
        target["name"] == "gpu" && kinds.into_iter().any(|kind| kind == "test")
    };
    let packages = metadata["packages"].as_array().context("`cargo metadata` names no packages")?;
    let mut names: Vec<String> = packages
        .iter()
        .filter(|package| package["targets"].as_array().into_iter().flatten().any(is_gpu_test))
        .filter_map(|package| package["name"].as_str().map(str::to_owned))
        .collect();
    names.sort();
    Ok(names)
}

/// Runs a cargo command that builds, with its messages on this terminal, and returns the programs it built, by name.
///
/// # Errors
/// Cargo does not start, or the build fails.
pub fn programs(command: &mut Command) -> Result<Vec<(String, PathBuf)>> {
    let _ = command.arg("--message-format=json-render-diagnostics").stdout(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot start `{}`", process::line(command)))?;
    let output = child.stdout.take().context("cargo's output is not connected")?;
    let mut programs = Vec::new();
    for line in BufReader::new(output).lines() {
        programs.extend(program(&line.context("cannot read cargo's messages")?));
    }
    if !child.wait().context("cannot wait for cargo")?.success() {
        bail!(
            "`{}` failed; the messages above say why. `cargo xtask doctor` says whether a tool is missing.",
            process::line(command)
        );
    }
    programs.sort();
    Ok(programs)
}

/// The program that one of cargo's messages says was built. Lines that are not cargo's are build output, and name none.
fn program(message: &str) -> Option<(String, PathBuf)> {
    let message: Value = serde_json::from_str(message).ok()?;
    if message["reason"] != "compiler-artifact" {
        return None;
    }
    Some((message["target"]["name"].as_str()?.to_owned(), message["executable"].as_str()?.into()))
}

fn metadata(root: &Path) -> Result<Value> {
    let text = process::data(command(root).args(["metadata", "--no-deps", "--format-version", "1"]))
        .context("cannot ask cargo about the workspace")?;
    serde_json::from_str(&text).context("`cargo metadata` printed what is no JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_s_gpu_tests_are_found() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let packages = packages_with_gpu_tests(root).unwrap();
        assert!(packages.contains(&"cuda_driver".to_owned()), "{packages:?}");
        assert!(!packages.contains(&"xtask".to_owned()), "{packages:?}");
    }

    #[test]
    fn programs_are_told_from_cargos_other_messages() {
        let built = r#"{"reason":"compiler-artifact","target":{"name":"coalesce"},"executable":"/t/release/coalesce"}"#;
        assert_eq!(program(built), Some(("coalesce".to_owned(), "/t/release/coalesce".into())));
        let library = r#"{"reason":"compiler-artifact","target":{"name":"simt"},"executable":null}"#;
        for message in [library, r#"{"reason":"build-finished","success":true}"#, "a line of a build script"]
        {
            assert_eq!(program(message), None, "{message}");
        }
    }
}
