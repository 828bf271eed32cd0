//! A distribution's compiler, with the source that belongs to it.
//!
//! An installed one is used if it has its source. Otherwise, where there is apt, Debian's packages are fetched and unpacked
//! into a folder: `apt-get download` and `dpkg-deb -x` need no root, and apt checks signatures as always. Debian keeps
//! `rustc-web` current in its stable releases, because its browsers need it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Compiler, library};

/// The packages; what they need and the machine lacks is fetched along.
const PACKAGES: [&str; 4] = ["rustc-web", "libstd-rust-web-dev", "rust-web-src", "libllvm22"];

/// The folder for unpacked packages, below the build's folder.
pub(super) const FOLDER: &str = "distribution";

/// The path at which distributions install their compiler.
const INSTALLED: &str = "/usr/bin/rustc";

/// A compiler and the source of its library, if the machine has them already.
pub(super) fn present(cargo: &Path, scratch: &Path) -> Result<(Compiler, PathBuf), String> {
    installed(cargo).or_else(|reason| unpacked(cargo, &scratch.join(FOLDER)).map_err(|_| reason))
}

/// A compiler and the source of its library. `scratch` is where packages may be unpacked; `cargo` stays the one in use.
pub(super) fn find(cargo: &Path, scratch: &Path) -> Result<(Compiler, PathBuf), String> {
    let not_installed = match present(cargo, scratch) {
        Ok(found) => return Ok(found),
        Err(reason) => reason,
    };
    let root = scratch.join(FOLDER);
    fetch(&root).map_err(|reason| format!("{not_installed}; fetching Debian's packages: {reason}"))?;
    unpacked(cargo, &root)
}

/// The one that the distribution's packages installed.
pub(super) fn installed(cargo: &Path) -> Result<(Compiler, PathBuf), String> {
    if !Path::new(INSTALLED).is_file() {
        return Err(format!("there is no {INSTALLED}"));
    }
    complete(cargo, PathBuf::from(INSTALLED), Vec::new())
}

/// The one unpacked at `root`.
pub(super) fn unpacked(cargo: &Path, root: &Path) -> Result<(Compiler, PathBuf), String> {
    let rustc = root.join("usr/bin/rustc");
    if !rustc.is_file() {
        return Err(format!("there is no {}", rustc.display()));
    }
    complete(cargo, rustc, library_folders(root))
}

fn complete(cargo: &Path, rustc: PathBuf, library_path: Vec<PathBuf>) -> Result<(Compiler, PathBuf), String> {
    let compiler = Compiler::ask(rustc, cargo.to_owned(), library_path, Path::new("/"))
        .map_err(|error| error.to_string())?;
    let source = library::installed(&compiler.sysroot)?;
    Ok((compiler, source))
}

/// `usr/lib/x86_64-linux-gnu` and its like, below which the packages have their libraries.
fn library_folders(root: &Path) -> Vec<PathBuf> {
    let entries =
        ["usr/lib", "lib"].into_iter().filter_map(|folder| std::fs::read_dir(root.join(folder)).ok());
    let folders = entries.flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let mut folders: Vec<PathBuf> =
        folders.filter(|path| path.to_string_lossy().ends_with("-linux-gnu") && path.is_dir()).collect();
    folders.sort();
    folders
}

/// Fetches and unpacks the packages.
fn fetch(root: &Path) -> Result<(), String> {
    let archives = root.join("packages");
    std::fs::create_dir_all(&archives).map_err(|error| format!("{}: {error}", archives.display()))?;
    let packages = wanted(depends, is_installed)?;
    eprintln!(
        "cuda_builder: fetching the distribution's compiler into {} ({})",
        root.display(),
        packages.iter().cloned().collect::<Vec<_>>().join(", ")
    );
    let mut download = Command::new("apt-get");
    // Run by root, apt would fetch as a user who may not be able to write here.
    download.args(["-q", "-o", "APT::Sandbox::User=root", "download"]).args(&packages).current_dir(&archives);
    run(&mut download)?;
    let files = std::fs::read_dir(&archives).map_err(|error| error.to_string())?;
    for file in files.filter_map(|file| Some(file.ok()?.path())) {
        if file.extension().is_some_and(|extension| extension == "deb") {
            run(Command::new("dpkg-deb").arg("-x").arg(&file).arg(root))?;
            // Once unpacked, the package only takes space.
            let _ = std::fs::remove_file(&file);
        }
    }
    Ok(())
}

/// The packages and, of what they depend on, the libraries that the machine lacks.
fn wanted(
    depends: impl Fn(&str) -> Result<Vec<String>, String>,
    is_installed: impl Fn(&str) -> bool,
) -> Result<BTreeSet<String>, String> {
    let mut wanted: BTreeSet<String> = PACKAGES.iter().map(ToString::to_string).collect();
    let mut open: Vec<String> = wanted.iter().cloned().collect();
    while let Some(package) = open.pop() {
        for dependency in depends(&package)? {
            // Only libraries are needed: a machine that builds with cargo has a linker and its C compiler.
            let needed =
                dependency.starts_with("lib") && dependency != "libc-dev" && !is_installed(&dependency);
            if needed && wanted.insert(dependency.clone()) {
                open.push(dependency);
            }
        }
    }
    Ok(wanted)
}

fn depends(package: &str) -> Result<Vec<String>, String> {
    let text = run(Command::new("apt-cache").args([
        "depends",
        "--no-recommends",
        "--no-suggests",
        "--no-conflicts",
        "--no-breaks",
        "--no-replaces",
        "--no-enhances",
        package,
    ]));
    let text =
        text.map_err(|reason| format!("{reason} (if apt does not know the package, run `apt-get update`)"))?;
    Ok(parse_depends(&text))
}

/// Lines such as `  Depends: libc6`; alternatives begin with a bar, virtual packages stand in angle brackets.
fn parse_depends(text: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|line| line.trim_start_matches([' ', '|']).strip_prefix("Depends: "));
    lines.filter(|name| !name.starts_with('<')).map(String::from).collect()
}

fn is_installed(package: &str) -> bool {
    run(Command::new("dpkg-query").args(["-W", "-f=${db:Status-Status}", package]))
        .is_ok_and(|status| status.trim() == "installed")
}

/// Runs a command; the error is its name and the last line of what it said.
fn run(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("`{name}` could not be run: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("`{name}` failed: {}", said.trim().lines().last().unwrap_or("it said nothing")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_read() {
        let text = "rustc-web\n  Depends: libc6\n |Depends: gcc\n  Depends: <libc-dev>\n    libc6-dev\n  Depends: libstd-rust-web-dev\n";
        assert_eq!(parse_depends(text), ["libc6", "gcc", "libstd-rust-web-dev"]);
    }

    #[test]
    fn libraries_that_are_missing_come_along_and_nothing_else() {
        let depends = |package: &str| {
            let names: &[&str] = match package {
                "rustc-web" => &["libc6", "libstd-rust-web-dev", "gcc", "libc-dev"],
                "libstd-rust-web-dev" => &["libstd-rust-web-1.96"],
                "libstd-rust-web-1.96" => &["libc6", "libllvm22"],
                "libllvm22" => &["libz3-4", "libxml2"],
                _ => &[],
            };
            Ok(names.iter().map(ToString::to_string).collect())
        };
        let packages = wanted(depends, |package| ["libc6", "libxml2"].contains(&package)).unwrap();
        let expected = [
            "libllvm22",
            "libstd-rust-web-1.96",
            "libstd-rust-web-dev",
            "libz3-4",
            "rust-web-src",
            "rustc-web",
        ];
        assert!(packages.iter().eq(expected), "{packages:?}");
    }

    #[test]
    fn a_machine_without_the_packages_is_told() {
        let refused = wanted(|package| Err(format!("no package {package}")), |_| false).unwrap_err();
        assert!(refused.starts_with("no package "), "{refused}");
        let root = tempfile::tempdir().unwrap();
        let refused = unpacked(Path::new("cargo"), root.path()).unwrap_err();
        assert!(refused.ends_with("usr/bin/rustc"), "{refused}");
    }

    #[test]
    fn library_folders_are_those_of_debian() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["usr/lib/x86_64-linux-gnu", "usr/lib/rustlib", "lib/x86_64-linux-gnu"] {
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        let expected =
            [root.path().join("lib/x86_64-linux-gnu"), root.path().join("usr/lib/x86_64-linux-gnu")];
        assert_eq!(library_folders(root.path()), expected);
    }
}
