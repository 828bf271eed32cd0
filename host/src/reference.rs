//! The CUDA C++ twins that `compare` runs beside the Rust kernels: found, compiled to PTX by nvcc, loaded.

use crate::{
    device::{DeviceInfo, Driver},
    kernels::{self, Artefact},
};
use anyhow::{Context, Result, bail};
use cuda_launch::Signatures;
use cust::{function::Function, module::Module};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The twins' modules, one for each source file.
pub(crate) struct Twins {
    modules: Vec<(Module, Signatures)>,
    origin: String,
}

impl Twins {
    /// Compiles and loads every twin in the folder.
    ///
    /// # Errors
    /// The folder has none, nvcc is not found or refuses one, the driver does, or one has other parameters than its kernel.
    pub(crate) fn load(folder: &Path, device: &DeviceInfo, driver: &Driver) -> Result<Twins> {
        let sources = files(folder, "cu")?;
        let compiled = files(folder, "ptx")?;
        if sources.is_empty() && compiled.is_empty() {
            bail!("the reference folder {} holds no .cu and no .ptx file to compare with", folder.display());
        }
        let (texts, origin) = match nvcc() {
            Some(nvcc) if !sources.is_empty() => {
                let texts =
                    sources.iter().map(|source| compile(&nvcc, source, device)).collect::<Result<_>>()?;
                (texts, format!("nvcc {} -O3, compute_{}", version(&nvcc), device.compute()))
            }
            _ if !compiled.is_empty() => {
                let read = |path: &PathBuf| {
                    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
                };
                let texts: Vec<String> = compiled.iter().map(read).collect::<Result<_>>()?;
                (texts, format!("the PTX files in {}", folder.display()))
            }
            _ => bail!(
                "nvcc is needed to compile the twins in {} and was found neither in PATH nor in CUDA_HOME/bin nor in \
                 /usr/local/cuda/bin. Install the CUDA toolkit, set CUDA_HOME, or put their PTX beside them, made \
                 elsewhere by `nvcc -O3 -ptx -arch=compute_{}`",
                folder.display(),
                device.compute(),
            ),
        };
        let modules = texts.iter().map(|ptx| load(ptx, &origin, driver)).collect::<Result<_>>()?;
        Ok(Twins { modules, origin })
    }

    /// The twin of a kernel; `None` where there is none.
    ///
    /// # Errors
    /// The driver does not give it although the module has it.
    pub(crate) fn of(&self, kernel: &str) -> Result<Option<Function<'_>>> {
        match self.modules.iter().find(|(_, signatures)| signatures.has(kernel)) {
            None => Ok(None),
            Some((module, _)) => module
                .get_function(kernel)
                .map(Some)
                .with_context(|| format!("the twin of {kernel} cannot be used")),
        }
    }

    /// The compiler of the twins.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }
}

fn load(ptx: &str, origin: &str, driver: &Driver) -> Result<(Module, Signatures)> {
    let artefact = Artefact::read(ptx).with_context(|| format!("{origin}: not what nvcc writes"))?;
    if artefact.needs() > driver.version {
        bail!(
            "{origin}: the twins are PTX {}, which needs a driver for CUDA {}, and the driver supports CUDA {}. Use an \
             older nvcc (CUDA_HOME names another toolkit) or a newer driver",
            artefact.language,
            artefact.needs(),
            driver.version,
        );
    }
    let origin = format!("the twins by {origin}");
    let signatures = Signatures::of(ptx);
    kernels::check_those_of(&signatures, &origin)?;
    Ok((kernels::load(ptx, &origin)?, signatures))
}

/// The files with this extension in the folder, by name.
fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)
        .with_context(|| format!("cannot read the reference folder {}", folder.display()))?;
    let mut found = Vec::new();
    for entry in entries {
        let path =
            entry.with_context(|| format!("cannot read the reference folder {}", folder.display()))?.path();
        if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The CUDA compiler of this machine.
fn nvcc() -> Option<PathBuf> {
    let in_path =
        env::var_os("PATH").map(|path| env::split_paths(&path).collect::<Vec<_>>()).unwrap_or_default();
    let in_toolkit = env::var_os("CUDA_HOME").map(|home| PathBuf::from(home).join("bin"));
    in_toolkit
        .into_iter()
        .chain(in_path)
        .chain([PathBuf::from("/usr/local/cuda/bin")])
        .map(|folder| folder.join("nvcc"))
        .find(|nvcc| nvcc.is_file())
}

/// The compiler's own name for its version, as in V12.8.93.
fn version(nvcc: &Path) -> String {
    let output = Command::new(nvcc).arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.split_whitespace()
        .rfind(|word| word.starts_with('V') && word[1..].starts_with(|c: char| c.is_ascii_digit()))
        .unwrap_or("of unknown version")
        .to_string()
}

/// Compiles one source file to PTX.
fn compile(nvcc: &Path, source: &Path, device: &DeviceInfo) -> Result<String> {
    let folder = tempfile::tempdir().context("cannot create a folder for nvcc's output")?;
    let target = folder.path().join("twins.ptx");
    let output = Command::new(nvcc)
        .args(["-O3", "-ptx", "-lineinfo"])
        .arg(format!("-arch=compute_{}", device.compute()))
        .arg("-o")
        .arg(&target)
        .arg(source)
        .output()
        .with_context(|| format!("cannot run {}", nvcc.display()))?;
    if !output.status.success() {
        bail!(
            "{} does not compile {} for compute_{}: {}",
            nvcc.display(),
            source.display(),
            device.compute(),
            String::from_utf8_lossy(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" "),
        );
    }
    fs::read_to_string(&target).with_context(|| format!("nvcc left no PTX of {}", source.display()))
}
