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

/// The names of the workspace's own packages.
///
/// # Errors
/// As [`target`].
pub fn members(root: &Path) -> Result<Vec<String>> {
    let metadata = metadata(root)?;
    let packages = metadata["packages"].as_array().context("`cargo metadata` names no packages")?;
    Ok(packages.iter().filter_map(|package| package["name"].as_str().map(str::to_owned)).collect())
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

/// A program that cargo built.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Program {
    /// Its name, which is `build-script-build` for a build script.
    pub name: String,
    /// Whether it is the build script of its package.
    pub is_build_script: bool,
    /// Whether it runs tests, those in a program's own sources included.
    pub is_test: bool,
    /// The folder of its package's manifest.
    pub package: PathBuf,
    /// The program.
    pub path: PathBuf,
}

/// Runs a cargo command that builds, with its messages on this terminal, and returns the programs it built, by name.
///
/// # Errors
/// Cargo does not start, or the build fails.
pub fn programs(command: &mut Command) -> Result<Vec<(String, PathBuf)>> {
    let programs = programs_and_build_scripts(command)?.into_iter();
    Ok(programs
        .filter(|program| !program.is_build_script)
        .map(|program| (program.name, program.path))
        .collect())
}

/// A program of the workspace as `cargo test --workspace` builds it, for the tests that run it. Where that was run before,
/// nothing is left to be compiled.
///
/// # Errors
/// As [`programs`]; or there is no such program.
pub fn tested_program(root: &Path, name: &str) -> Result<PathBuf> {
    let mut build = command(root);
    let _ = build.args(["test", "--quiet", "--workspace", "--no-run"]);
    let programs = programs_and_build_scripts(&mut build)?;
    let found = programs.into_iter().find(|program| program.name == name && !program.is_test);
    Ok(found.with_context(|| format!("cargo reports no program `{name}`"))?.path)
}

/// As [`programs`], with the build scripts of all packages.
///
/// # Errors
/// Cargo does not start, or the build fails.
pub fn programs_and_build_scripts(command: &mut Command) -> Result<Vec<Program>> {
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
fn program(message: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(message).ok()?;
    if message["reason"] != "compiler-artifact" {
        return None;
    }
    let target = &message["target"];
    let is_build_script = target["kind"].as_array()?.iter().any(|kind| kind == "custom-build");
    let path = if is_build_script { &message["filenames"][0] } else { &message["executable"] };
    Some(Program {
        name: target["name"].as_str()?.to_owned(),
        is_build_script,
        is_test: message["profile"]["test"] == true,
        package: Path::new(message["manifest_path"].as_str()?).parent()?.to_owned(),
        path: path.as_str()?.into(),
    })
}

fn metadata(root: &Path) -> Result<Value> {
    let text = process::data(command(root).args(["metadata", "--no-deps", "--format-version", "1"]))
        .context("cannot ask cargo about the workspace")?;
    serde_json::from_str(&text).context("`cargo metadata` printed something that is not JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_the_workspaces_own() {
        let members = members(Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()).unwrap();
        assert!(
            members.contains(&"xtask".to_owned()) && !members.contains(&"clap".to_owned()),
            "{members:?}"
        );
    }

    #[test]
    fn the_driver_s_gpu_tests_are_found() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let packages = packages_with_gpu_tests(root).unwrap();
        assert!(packages.contains(&"cuda_driver".to_owned()), "{packages:?}");
        assert!(!packages.contains(&"xtask".to_owned()), "{packages:?}");
    }

    #[test]
    fn programs_are_told_from_cargos_other_messages() {
        let message = |kind: &str, name: &str, files: &str, executable: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/w/host/Cargo.toml","target":{{"kind":["{kind}"],"name":"{name}"}},"filenames":["{files}"],"executable":{executable}}}"#
            )
        };
        let built = message("bin", "coalesce", "/t/release/coalesce", "\"/t/release/coalesce\"");
        let expected = |name: &str, is_build_script, path: &str| {
            let (package, path) = ("/w/host".into(), path.into());
            Some(Program { name: name.into(), is_build_script, is_test: false, package, path })
        };
        assert_eq!(program(&built), expected("coalesce", false, "/t/release/coalesce"));
        let of_tests = built.replacen('{', r#"{"profile":{"test":true},"#, 1);
        assert!(program(&of_tests).unwrap().is_test);
        let script =
            message("custom-build", "build-script-build", "/t/build/host-1/build-script-build", "null");
        let path = "/t/build/host-1/build-script-build";
        assert_eq!(program(&script), expected("build-script-build", true, path));
        let library = &message("lib", "simt", "/t/libsimt.rlib", "null");
        for message in [library, r#"{"reason":"build-finished","success":true}"#, "a line of a build script"]
        {
            assert_eq!(program(message), None, "{message}");
        }
    }
}
