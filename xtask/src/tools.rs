//! Finds NVIDIA's `ptxas` and `nvdisasm`, or fetches them once from the Python package registry.
//!
//! Neither needs a GPU or a driver. Looked for in this order: the environment variable (`PTXAS`, `NVDISASM`), PATH, the
//! usual places of a CUDA toolkit, the copy fetched before, and then the registry: pip downloads the wheel that NVIDIA
//! publishes, and the one program is taken out of it.

use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, bail};

use crate::process;

/// A program of the CUDA toolkit.
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
}

impl Program {
    /// The file's name.
    pub fn name(self) -> &'static str {
        match self {
            Program::Ptxas => "ptxas",
            Program::Nvdisasm => "nvdisasm",
            Program::Nvcc => "nvcc",
            Program::ComputeSanitizer => "compute-sanitizer",
        }
    }

    /// The environment variable that names it.
    pub fn variable(self) -> &'static str {
        match self {
            Program::Ptxas => "PTXAS",
            Program::Nvdisasm => "NVDISASM",
            Program::Nvcc => "NVCC",
            Program::ComputeSanitizer => "COMPUTE_SANITIZER",
        }
    }

    /// The wheel it comes in. Pinned to a major version: the next one may drop an architecture that is checked here.
    fn wheel(self) -> Option<&'static str> {
        match self {
            Program::Ptxas => Some("nvidia-cuda-nvcc>=13,<14"),
            Program::Nvdisasm => Some("nvidia-cuda-nvdisasm>=13,<14"),
            Program::Nvcc | Program::ComputeSanitizer => None,
        }
    }
}

/// A program that was found.
#[derive(Clone, Debug)]
pub struct Tool {
    /// Where it is.
    pub path: PathBuf,
    /// As it calls itself: `13.5.37`.
    pub version: String,
    /// How it was found, in words.
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
            Err(error) => passed_over.push(format!("{} will not do: {error:#}", path.display())),
        }
    }
    let found = if passed_over.is_empty() { String::new() } else { format!(" ({})", passed_over.join("; ")) };
    Err(anyhow!("no {} in {variable}, on PATH or in /usr/local/cuda/bin{found}", program.name()))
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
        "Provide it: {}=/path/to/{name}, or the bin folder of CUDA 13 on PATH, or Python with pip and the network once",
        program.variable()
    );
    let wheel = program.wheel().with_context(|| format!("{missing:#}. {provide}."))?;
    eprintln!("Fetching {name} from the Python registry ({wheel}), once, to {} ..", kept.display());
    fetch(program, wheel, &kept)
        .with_context(|| format!("{missing:#}, and it could not be fetched. {provide}. What failed"))?;
    let tool = describe(program, &kept, "fetched from the Python registry".into())?;
    suits(&kept).with_context(|| format!("the fetched {} will not do. {provide}", kept.display()))?;
    Ok(tool)
}

/// Where a fetched program is kept.
pub fn fetched_path(program: Program, target: &Path) -> PathBuf {
    target.join("cuda-tools").join(program.name())
}

fn candidates(program: Program, fetched: Option<&Path>) -> Vec<(PathBuf, String)> {
    let name = program.name();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut candidates: Vec<(PathBuf, String)> =
        std::env::split_paths(&path).map(|folder| (folder.join(name), "on PATH".to_owned())).collect();
    for variable in ["CUDA_HOME", "CUDA_PATH"] {
        if let Some(home) = std::env::var_os(variable) {
            candidates.push((Path::new(&home).join("bin").join(name), format!("in {variable}")));
        }
    }
    for home in ["/usr/local/cuda", "/opt/cuda"] {
        candidates.push((Path::new(home).join("bin").join(name), "of the CUDA toolkit".to_owned()));
    }
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

/// `13.5.37` from `Cuda compilation tools, release 13.5, V13.5.37`, or `2025.3.1.0` from `Version 2025.3.1.0`.
fn parse_version(text: &str) -> Option<String> {
    text.split_whitespace().find_map(|word| {
        let digits = word.strip_prefix('V').unwrap_or(word).trim_end_matches(',');
        let dots = digits.matches('.').count();
        let numeric =
            digits.split('.').all(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit()));
        (dots >= 2 && numeric).then(|| digits.to_owned())
    })
}

/// Downloads the wheel, takes the program out of it and puts it in place in one move.
fn fetch(program: Program, wheel: &str, kept: &Path) -> Result<()> {
    let folder = kept.parent().context("no folder to fetch into")?;
    // A name of its own, so that two runs at a time don't meet.
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
        // pip reports every retry; what stopped it is at the end.
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
    find_file(&contents, program.name())?
        .with_context(|| format!("the wheel {} holds no bin/{}", downloaded.display(), program.name()))
}

/// A file `bin/NAME` anywhere under a folder.
fn find_file(folder: &Path, name: &str) -> Result<Option<PathBuf>> {
    for path in entries(folder)? {
        if path.is_dir() {
            if let Some(found) = find_file(&path, name)? {
                return Ok(Some(found));
            }
        } else if path.ends_with(Path::new("bin").join(name)) {
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
    fn versions_of_the_toolkit_s_programs() {
        let ptxas = "ptxas: NVIDIA (R) Ptx optimizing assembler\nBuilt on Mon_Oct_12_19:25:48_PDT_2026\n\
                     Cuda compilation tools, release 13.5, V13.5.37\nBuild cuda_13.5.r13.5/compiler.39125733_0\n";
        assert_eq!(parse_version(ptxas).as_deref(), Some("13.5.37"));
        let sanitizer = "NVIDIA (R) Compute Sanitizer\nCopyright (c) 2020-2025 NVIDIA Corporation\nVersion 2025.3.1.0 (build 1)";
        assert_eq!(parse_version(sanitizer).as_deref(), Some("2025.3.1.0"));
        assert_eq!(parse_version("usage: ptxas 1.2"), None);
    }

    #[test]
    fn the_program_is_taken_from_a_bin_folder() {
        let folder = std::env::temp_dir().join(format!("xtask-tools-{}", std::process::id()));
        let bin = folder.join("nvidia/cu13/bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::write(folder.join("nvidia/ptxas"), "not this").unwrap();
        std::fs::write(bin.join("ptxas"), "this").unwrap();
        assert_eq!(find_file(&folder, "ptxas").unwrap(), Some(bin.join("ptxas")));
        assert_eq!(find_file(&folder, "nvcc").unwrap(), None);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
