//! Makes sure that what `new-kernel` generates is formatted, builds and passes its own test, in a copy of the sources.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::verbs::new_kernel;
use crate::{cargo, process, reuse};

/// The files that the copy needs to build.
const SOURCES: [&str; 10] = [
    "Cargo.toml",
    "Cargo.lock",
    "rust-toolchain.toml",
    "rustfmt.toml",
    "crates",
    "examples",
    "gpu-kernels",
    "host",
    "xtask",
    "reference",
];

/// Packages whose compiled state is of no use to the copy.
const OTHERS: [&str; 5] =
    ["gpu-kernels", "host", "examples", "cuda_std_device_tests", "cuda_safe_device_tests"];

/// The generated kernel's name.
const NAME: &str = "generated_lesson";

/// Generates a kernel in a copy and tests it there.
pub(crate) fn check(root: &Path) -> Result<String> {
    // The copy has a folder of its own to build in: cargo takes two checkouts of a workspace for one. For the same reason
    // what this one has compiled serves the copy, but for the crates with the new kernel and those whose build scripts
    // named files of this checkout to watch.
    let ours = cargo::target(root)?;
    let folder = ours.join("new-kernel");
    let (copy, target) = (folder.join("sources"), folder.join("target"));
    let mut wanted = Vec::new();
    for source in SOURCES {
        list(root, Path::new(source), &mut wanted)?;
    }
    for path in &wanted {
        copy_if_changed(&root.join(path), &copy.join(path))?;
    }
    // Files that are no longer sources, and those generated the last time.
    let mut present = Vec::new();
    for source in SOURCES {
        list(&copy, Path::new(source), &mut present)?;
    }
    for stale in present.iter().filter(|path| !wanted.contains(path)) {
        fs::remove_file(copy.join(stale)).with_context(|| format!("cannot remove {}", stale.display()))?;
    }
    new_kernel::generate(&copy, NAME)?;
    let except = OTHERS.map(str::to_owned);
    reuse::libraries(&ours.join("debug"), &target.join("debug"), &except)?;
    reuse::device_libraries(&ours, &target)?;
    // The whole workspace, for the sake of the features that its packages' dependencies are compiled with.
    for words in [&["fmt", "--all", "--check"][..], &["test", "--quiet", "--workspace", "--test", NAME]] {
        let _ = process::succeed(cargo::command(&copy).args(words).env("CARGO_TARGET_DIR", &target))?;
    }
    Ok(format!("{NAME}: formatted, built, tested"))
}

/// The files under a path, from the root; folders that cargo builds into are none of the sources.
fn list(root: &Path, path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let full = root.join(path);
    if full.is_file() {
        files.push(path.to_owned());
    } else if full.is_dir() && path.file_name().is_none_or(|name| name != "target") {
        let entries = fs::read_dir(&full).with_context(|| format!("cannot list {}", full.display()))?;
        for entry in entries {
            list(root, &path.join(entry?.file_name()), files)?;
        }
    }
    Ok(())
}

/// Copies a file unless the copy is the same already: cargo builds nothing again whose time has not changed.
fn copy_if_changed(from: &Path, to: &Path) -> Result<()> {
    let bytes = fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
    if fs::read(to).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    // With its time: the crates that were compiled from it are no older.
    reuse::copy(from, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_the_sources_and_not_what_was_built() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for path in ["crates/a/src/lib.rs", "crates/a/target/debug/a", "crates/a/Cargo.toml"] {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), path).unwrap();
        }
        let mut files = Vec::new();
        list(root, Path::new("crates"), &mut files).unwrap();
        files.sort();
        assert_eq!(files, ["crates/a/Cargo.toml", "crates/a/src/lib.rs"].map(PathBuf::from));
    }

    #[test]
    fn a_file_that_is_the_same_keeps_its_time() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("below/to"));
        fs::write(&from, "one").unwrap();
        copy_if_changed(&from, &to).unwrap();
        let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
        fs::File::options().write(true).open(&to).unwrap().set_modified(old).unwrap();
        copy_if_changed(&from, &to).unwrap();
        assert_eq!(fs::metadata(&to).unwrap().modified().unwrap(), old);
        fs::write(&from, "two").unwrap();
        copy_if_changed(&from, &to).unwrap();
        assert_eq!(fs::read(&to).unwrap(), b"two");
    }
}
