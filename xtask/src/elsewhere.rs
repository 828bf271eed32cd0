//! Checks that a project made by `new-project` builds, runs and passes its tests outside this workspace. Our crates are
//! path dependencies in one run, and git dependencies at the present commit in the other.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::verbs::new_project::{self, Source};
use crate::{cargo, process, reuse};

/// The output of the project's program.
const PRINTED: &str = "100000 elements, all right; the last is 199998.5\n";

/// Settings that both are compiled with.
const PROFILE: [&str; 4] = [
    // Saves a minute of compiling; 100,000 elements are soon executed.
    "profile.dev.package.simt.opt-level=0",
    // As in this workspace, so that other people's crates are compiled once for all.
    "profile.dev.debug=\"line-tables-only\"",
    "profile.dev.package.\"*\".debug=false",
    "profile.dev.incremental=false",
];

/// Generates both projects and runs them on a simulated card.
pub(crate) fn check(root: &Path) -> Result<String> {
    let ours = cargo::target(root)?;
    let folder = ours.join("new-project");
    // The last run's build stays: both projects share it. Other people's crates are those that this checkout has
    // compiled; ours are what is tested, and compiled from where each project has them.
    let target = folder.join("target");
    reuse::libraries(&ours.join("debug"), &target.join("debug"), &cargo::members(root)?)?;
    reuse::device_libraries(&ours, &target)?;
    let cargo_in = |project: &Path, words: &[&str]| {
        let mut command = cargo::command(project);
        let _ = command
            .args(words)
            .args(["--quiet"])
            .args(PROFILE.iter().flat_map(|setting| ["--config", setting]))
            .env("CARGO_TARGET_DIR", &target)
            .env("COALESCE_SIMULATE", "h200")
            .env_remove("COALESCE_DRIVER");
        command
    };
    let make = |name: &str, source: &Source| -> Result<_> {
        let project = folder.join(name);
        if project.exists() {
            fs::remove_dir_all(&project).with_context(|| format!("cannot remove {}", project.display()))?;
        }
        new_project::generate(&project, source)?;
        // The versions that this workspace builds with, so that nothing new is downloaded.
        let _ = fs::copy(root.join("Cargo.lock"), project.join("Cargo.lock"))
            .context("cannot copy Cargo.lock")?;
        Ok(project)
    };

    let by_path = make("by-path", &Source::Path(root.join("crates")))?;
    let _ = process::succeed(&mut cargo_in(&by_path, &["test"]))?;

    let source = Source::of_checkout(root, Some(&format!("file://{}", root.display())))?;
    let by_git = make("by-git", &source)?;
    let printed = process::data(&mut cargo_in(&by_git, &["run"]))?;
    if printed != PRINTED {
        bail!("the project in {} printed {printed:?} instead of {PRINTED:?}", by_git.display());
    }
    let Source::Git { commit, .. } = source else { bail!("a checkout's source is a commit") };
    Ok(format!("tested by path; run by git, at {}", &commit[..12.min(commit.len())]))
}
