//! Asks cargo: where it builds to, and for programs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use cargo_metadata::{Message, Metadata, MetadataCommand};

use crate::process;

/// The cargo that started this program, or the one on PATH, in the workspace's root.
pub(crate) fn command(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let _ = command.current_dir(root);
    command
}

/// The folder that cargo builds into.
pub(crate) fn target(root: &Path) -> Result<PathBuf> {
    Ok(metadata(root)?.target_directory.into_std_path_buf())
}

/// Packages with an integration test called `gpu`: those need a GPU, and are ignored where nobody asks for them.
pub(crate) fn packages_with_gpu_tests(root: &Path) -> Result<Vec<String>> {
    let mut names: Vec<String> = metadata(root)?
        .packages
        .into_iter()
        .filter(|package| package.targets.iter().any(|target| target.is_test() && target.name == "gpu"))
        .map(|package| package.name.to_string())
        .collect();
    names.sort();
    Ok(names)
}

/// Runs a cargo command that builds, with its messages on this terminal, and returns the programs it built, by name.
pub(crate) fn programs(command: &mut Command) -> Result<Vec<(String, PathBuf)>> {
    let _ = command.arg("--message-format=json-render-diagnostics").stdout(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot start `{}`", process::line(command)))?;
    let output = child.stdout.take().context("cargo's output is not connected")?;
    let mut programs = Vec::new();
    for message in Message::parse_stream(std::io::BufReader::new(output)) {
        if let Message::CompilerArtifact(artifact) = message.context("cannot read cargo's messages")?
            && let Some(path) = artifact.executable
        {
            programs.push((artifact.target.name, path.into_std_path_buf()));
        }
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

fn metadata(root: &Path) -> Result<Metadata> {
    MetadataCommand::new()
        .manifest_path(root.join("Cargo.toml"))
        .no_deps()
        .exec()
        .context("cannot ask cargo about the workspace")
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
}
