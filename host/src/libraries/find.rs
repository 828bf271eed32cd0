//! Finds a library as the system's loader does, and then where CUDA's toolkit puts it.

use anyhow::{Result, bail};
use libloading::Library;
use std::{
    env,
    path::{Path, PathBuf},
};

/// The major versions that are looked for, newest first.
const VERSIONS: [u32; 2] = [13, 12];

/// The variables that name a toolkit's folder.
const VARIABLES: [&str; 2] = ["CUDA_PATH", "CUDA_HOME"];

/// The folder that the toolkit's installer makes.
const USUAL: &str = "/usr/local/cuda";

/// Loads `lib<stem>.so.<version>` of the newest version that is found. `depends` is the stem of a library that it needs, which is
/// found beside it.
///
/// # Errors
/// There is none: the error names what was looked for, and where.
pub(super) fn load(option: &str, stem: &str, depends: Option<&str>) -> Result<Library> {
    let folders = folders(|name| env::var_os(name).map(PathBuf::from));
    match loaded(stem, depends, &folders) {
        Ok(library) => Ok(library),
        Err(found) => bail!(not_found(option, stem, &folders, &found)),
    }
}

/// The folders with libraries of the toolkits that the variables name, and of the usual one.
fn folders(variable: impl Fn(&str) -> Option<PathBuf>) -> Vec<PathBuf> {
    let toolkits = VARIABLES.into_iter().filter_map(variable).filter(|path| !path.as_os_str().is_empty());
    let mut folders: Vec<PathBuf> = Vec::new();
    for folder in toolkits.chain([PathBuf::from(USUAL)]).map(|toolkit| toolkit.join("lib64")) {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}

/// The library, or the files that are there and cannot be loaded, with the loader's words.
fn loaded(stem: &str, depends: Option<&str>, folders: &[PathBuf]) -> Result<Library, Vec<String>> {
    let file = |stem: &str, version: u32| format!("lib{stem}.so.{version}");
    for version in VERSIONS {
        // SAFETY: loading the library runs its initialisers, which are meant for this.
        if let Ok(library) = unsafe { Library::new(file(stem, version)) } {
            return Ok(library);
        }
    }
    let mut broken = Vec::new();
    for folder in folders {
        for version in VERSIONS {
            let path = folder.join(file(stem, version));
            if !path.exists() {
                continue;
            }
            let needed = depends.map(|stem| folder.join(file(stem, version))).filter(|path| path.exists());
            match open(&path, needed.as_deref()) {
                Ok(library) => return Ok(library),
                Err(error) => broken.push(format!("{}: {error}", path.display())),
            }
        }
    }
    Err(broken)
}

/// Loads a library after the one that it needs, which stays loaded.
fn open(path: &Path, needed: Option<&Path>) -> Result<Library, libloading::Error> {
    if let Some(needed) = needed {
        // SAFETY: as above.
        std::mem::forget(unsafe { Library::new(needed)? });
    }
    // SAFETY: as above.
    unsafe { Library::new(path) }
}

fn not_found(option: &str, stem: &str, folders: &[PathBuf], broken: &[String]) -> String {
    let names: Vec<String> = VERSIONS.iter().map(|version| format!("lib{stem}.so.{version}")).collect();
    let names = names.join(" and ");
    let places: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    let places = places.join(" nor in ");
    let advice = "Install CUDA's toolkit, or name the folder that has the library in LD_LIBRARY_PATH, or the toolkit's in \
                  CUDA_PATH";
    match broken {
        [] => format!(
            "--library {option}: {names} are found neither by the system's loader (LD_LIBRARY_PATH) nor in {places}. {advice}"
        ),
        broken => format!("--library {option}: {} cannot be loaded. {advice}", broken.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn toolkits_are_those_of_the_variables_and_the_usual_one() {
        let of = |path: &'static str, home: &'static str| {
            folders(|name| match name {
                "CUDA_PATH" => Some(PathBuf::from(path)),
                _ => Some(PathBuf::from(home)),
            })
        };
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(of("/a", "/b"), paths(&["/a/lib64", "/b/lib64", "/usr/local/cuda/lib64"]));
        assert_eq!(of("/a", "/a"), paths(&["/a/lib64", "/usr/local/cuda/lib64"]));
        assert_eq!(of("", "/usr/local/cuda"), paths(&["/usr/local/cuda/lib64"]));
    }

    #[test]
    fn what_is_not_there_and_what_is_broken_are_told_apart() {
        let folder = tempfile::tempdir().expect("a folder");
        let folders = [folder.path().to_path_buf()];
        let stem = "coalesce-has-no-such-library";
        let broken = loaded(stem, None, &folders).expect_err("there is none");
        let here = folder.path().display();
        assert_eq!(
            not_found("cublas", stem, &folders, &broken),
            format!(
                "--library cublas: lib{stem}.so.13 and lib{stem}.so.12 are found neither by the system's loader \
                 (LD_LIBRARY_PATH) nor in {here}. Install CUDA's toolkit, or name the folder that has the library in \
                 LD_LIBRARY_PATH, or the toolkit's in CUDA_PATH"
            )
        );
        fs::write(folder.path().join(format!("lib{stem}.so.12")), "no library").expect("a file");
        let broken = loaded(stem, None, &folders).expect_err("it is none");
        let error = not_found("cublas", stem, &folders, &broken);
        assert!(error.starts_with(&format!("--library cublas: {here}/lib{stem}.so.12: ")), "{error}");
        assert!(error.contains("cannot be loaded. Install"), "{error}");
    }
}
