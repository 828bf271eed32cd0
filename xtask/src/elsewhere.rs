//! Makes sure that what `new-project` makes builds, runs and passes its tests outside this workspace: once with our crates as
//! path dependencies, once as git dependencies at the present commit.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::verbs::new_project::{self, Source};
use crate::{cargo, process};

/// What the project's program prints.
const PRINTED: &str = "100000 elements, all right; the last is 199998.5\n";

/// Generates both projects and runs them on a simulated card.
pub(crate) fn check(root: &Path) -> Result<String> {
    let folder = cargo::target(root)?.join("new-project");
    // What the last time built stays: both projects share it.
    let target = folder.join("target");
    let cargo_in = |project: &Path, words: &[&str]| {
        let mut command = cargo::command(project);
        let _ = command
            .args(words)
            // Saves a minute of compiling; 100,000 elements are soon executed.
            .args(["--quiet", "--config", "profile.dev.package.simt.opt-level=0"])
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
