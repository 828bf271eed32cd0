//! Copies cargo's build of this checkout to another build of the same sources, which then compiles only what differs.
//!
//! cargo takes a compiled crate for up to date if its hash is the same and its sources are not newer. The hash is made of
//! the crate's name, version and features, its profile, the flags, and the same of its dependencies. For crates from a
//! registry it is the same wherever they are built; for members of a workspace it has their path from the workspace's
//! root. So a copy has to keep the times of files, and its build has to choose features as the first one did: what
//! `cargo test --workspace` has compiled, only a `--workspace` finds again. Where any of this fails, cargo compiles the
//! crate, and nothing but time is lost.
//!
//! Files are copied and not linked: cargo rewrites some of them in place, and the first build's must stay as they are.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Copies the libraries and build-script outputs of a profile's folder, such as `target/debug`, except for some
/// packages. A missing build is no error.
pub(crate) fn libraries(from: &Path, to: &Path, except: &[String]) -> Result<()> {
    let crates: Vec<String> = except.iter().map(|package| package.replace('-', "_")).collect();
    for folder in [".fingerprint", "build", "deps"] {
        let Ok(entries) = fs::read_dir(from.join(folder)) else { continue };
        for entry in entries {
            let name = entry.with_context(|| format!("cannot list {}", from.display()))?.file_name();
            let Some(file) = name.to_str() else { continue };
            let package = if folder == "deps" {
                // Programs have no extension, and no crate depends on one.
                library(file)
            } else {
                file.rsplit_once('-').map(|(package, _)| package)
            };
            let Some(package) = package else { continue };
            if !crates.contains(&package.replace('-', "_")) {
                copy(&from.join(folder).join(file), &to.join(folder).join(file))?;
            }
        }
    }
    Ok(())
}

/// Copies what `cuda_builder` keeps in a target folder: `core` for the GPU, and the kernels' dependencies.
pub(crate) fn device_libraries(from: &Path, to: &Path) -> Result<()> {
    for folder in ["release", "nvptx64-nvidia-cuda/release"] {
        let folder = Path::new("cuda-builder").join(folder);
        libraries(&from.join(&folder), &to.join(&folder), &[])?;
    }
    Ok(())
}

/// The crate's name, if the file is a library: `libanyhow-1a2b.rlib` is of `anyhow`.
fn library(file: &str) -> Option<&str> {
    let (stem, extension) = file.rsplit_once('.')?;
    let name = stem.strip_prefix("lib")?.rsplit_once('-')?.0;
    ["rlib", "rmeta", "so"].contains(&extension).then_some(name)
}

/// Copies a file, or a folder with all that is in it, with the files' times.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    let metadata = fs::metadata(from).with_context(|| format!("cannot read {}", from.display()))?;
    if metadata.is_dir() {
        fs::create_dir_all(to).with_context(|| format!("cannot make {}", to.display()))?;
        for entry in fs::read_dir(from).with_context(|| format!("cannot list {}", from.display()))? {
            let name = entry.with_context(|| format!("cannot list {}", from.display()))?.file_name();
            copy(&from.join(&name), &to.join(&name))?;
        }
        return Ok(());
    }
    let time = metadata.modified().with_context(|| format!("no time of {}", from.display()))?;
    let is_there = |there: fs::Metadata| {
        there.len() == metadata.len() && there.modified().is_ok_and(|modified| modified == time)
    };
    if fs::metadata(to).is_ok_and(is_there) {
        return Ok(());
    }
    let written = || {
        // A program that is running cannot be written to, only replaced.
        if to.exists() {
            fs::remove_file(to)?;
        }
        let _ = fs::copy(from, to)?;
        fs::File::options().write(true).open(to)?.set_modified(time)
    };
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    written().with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_and_their_fingerprints_come_along_with_their_times() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
        let wanted = [
            ".fingerprint/half-2/lib-half",
            "build/libc-1/out/generated.rs",
            "deps/libhalf-2.rlib",
            "deps/libserde_derive-3.so",
        ];
        let unwanted = [
            ".fingerprint/gpu-kernels-1/lib-gpu_kernels",
            "build/host-1/output",
            "deps/coalesce-1",
            "deps/half-2.d",
            "deps/libgpu_kernels-1.rmeta",
            "incremental/half-2/s",
        ];
        for path in wanted.iter().chain(&unwanted) {
            fs::create_dir_all(from.join(path).parent().unwrap()).unwrap();
            fs::write(from.join(path), path).unwrap();
            fs::File::options().write(true).open(from.join(path)).unwrap().set_modified(old).unwrap();
        }
        libraries(&from, &to, &["host".into(), "gpu-kernels".into()]).unwrap();
        for path in wanted {
            assert_eq!(fs::read_to_string(to.join(path)).unwrap(), path);
            assert_eq!(fs::metadata(to.join(path)).unwrap().modified().unwrap(), old, "{path}");
        }
        for path in unwanted {
            assert!(!to.join(path).exists(), "{path}");
        }
        libraries(&folder.path().join("never built"), &to, &[]).unwrap();
    }

    #[test]
    fn what_changed_is_copied_again() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("below/to"));
        fs::write(&from, "one").unwrap();
        copy(&from, &to).unwrap();
        fs::write(&from, "three").unwrap();
        copy(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(&to).unwrap(), "three");
    }
}
