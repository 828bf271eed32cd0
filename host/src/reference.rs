//! The CUDA C++ twins that `compare` runs beside the Rust kernels: found, compiled to PTX by nvcc, loaded.
//!
//! A source is compiled for the device. One that defines twins of kernels of [an architecture of their own](own), such as
//! compute_90a, is compiled for that, and only if such a kernel is selected: a device that cannot run the kernels is not given
//! their twins either.

use crate::{
    device::{DeviceInfo, Driver},
    kernels::{self, Artefact, own},
};
use anyhow::{Context, Result, bail};
use cuda_launch::Signatures;
use cust::{function::Function, module::Module};
use std::{
    collections::BTreeSet,
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
    /// Compiles and loads the twins in the folder: all of kernels that every device runs, and those of an architecture that one
    /// of the `selected` kernels names, if the device runs it.
    ///
    /// # Errors
    /// The folder has none, nvcc is not found or refuses one, the driver does, or one has other parameters than its kernel.
    pub(crate) fn load(
        folder: &Path,
        selected: &[&str],
        device: &DeviceInfo,
        driver: &Driver,
    ) -> Result<Twins> {
        let sources = files(folder, "cu")?;
        let compiled = files(folder, "ptx")?;
        if sources.is_empty() && compiled.is_empty() {
            bail!("the reference folder {} holds no .cu and no .ptx file to compare with", folder.display());
        }
        let is_wanted = |arch: &str| own::any_runs(arch, selected, device);
        let common = format!("compute_{}", device.compute());
        let (texts, origin) = match nvcc() {
            Some(nvcc) if !sources.is_empty() => {
                let (mut texts, mut archs) = (Vec::new(), Vec::new());
                for path in &sources {
                    let arch = match own_arch(path)? {
                        Some(arch) if !is_wanted(arch) => continue,
                        own => own.unwrap_or(&common),
                    };
                    texts.push(compile(&nvcc, path, arch)?);
                    if !archs.contains(&arch) {
                        archs.push(arch);
                    }
                }
                let origin = match &archs[..] {
                    [] => format!("{}, of whose sources none is for these kernels", folder.display()),
                    archs => format!("nvcc {} -O3, {}", version(&nvcc), archs.join(" and ")),
                };
                (texts, origin)
            }
            _ if !compiled.is_empty() => {
                let mut texts = compiled.iter().map(|path| read(path)).collect::<Result<Vec<_>>>()?;
                texts.retain(|ptx| match Artefact::read(ptx) {
                    Ok(artefact) => artefact.variant.is_empty() || is_wanted(&artefact.name()),
                    // Refused below.
                    Err(_) => true,
                });
                (texts, format!("the PTX files in {}", folder.display()))
            }
            _ => bail!(
                "nvcc is needed to compile the twins in {} and was found neither in PATH nor in CUDA_HOME/bin nor in \
                 /usr/local/cuda/bin. Install the CUDA toolkit, set CUDA_HOME, or put their PTX beside them, made \
                 elsewhere by `nvcc -O3 -ptx -arch={common}`",
                folder.display(),
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

/// Compiles one source file to PTX for an architecture.
fn compile(nvcc: &Path, source: &Path, arch: &str) -> Result<String> {
    let folder = tempfile::tempdir().context("cannot create a folder for nvcc's output")?;
    let target = folder.path().join("twins.ptx");
    let output = Command::new(nvcc)
        .args(["-O3", "-ptx", "-lineinfo"])
        .arg(format!("-arch={arch}"))
        .arg("-o")
        .arg(&target)
        .arg(source)
        .output()
        .with_context(|| format!("cannot run {}", nvcc.display()))?;
    if !output.status.success() {
        bail!(
            "{} does not compile {} for {arch}: {}",
            nvcc.display(),
            source.display(),
            String::from_utf8_lossy(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" "),
        );
    }
    fs::read_to_string(&target).with_context(|| format!("nvcc left no PTX of {}", source.display()))
}

/// The architecture that the kernels name whose twins a source file defines; `None` where it defines no such twin.
///
/// # Errors
/// The file cannot be read, or its twins are for several architectures.
fn own_arch(source: &Path) -> Result<Option<&'static str>> {
    let archs: BTreeSet<_> = declared(&read(source)?).filter_map(own::arch).collect();
    if archs.len() > 1 {
        bail!(
            "{} has twins of kernels for {}, and a file is compiled for one architecture. Put the twins for each into a file of \
             their own",
            source.display(),
            Vec::from_iter(archs).join(" and "),
        );
    }
    Ok(archs.first().copied())
}

/// The words of the declarations behind `__global__`, which the names of the kernels are among.
fn declared(source: &str) -> impl Iterator<Item = &str> {
    let declarations =
        source.split("__global__").skip(1).filter_map(|following| following.split(['{', ';']).next());
    declarations.flat_map(|text| text.split(|letter: char| !letter.is_alphanumeric() && letter != '_'))
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments;

    #[test]
    fn a_source_is_for_the_architecture_of_the_kernels_that_it_declares() {
        let archs = |source: &str| Vec::from_iter(declared(source).filter_map(own::arch));
        let own = "template <int N> __global__ void other() {}\nextern \"C\" __global__ void __launch_bounds__(384, 1)\n\
                   matmul_overlapped(const Map *a) {}";
        assert_eq!(archs(own), ["compute_90a"]);
        let common = "// matmul_mma is in tensor.cu\nextern \"C\" __global__ void matmul_naive(float *c) { matmul_overlapped(c); }";
        assert_eq!(archs(common), [""; 0]);
    }

    /// The kernels that have no twin, of those for one architecture.
    const WITHOUT: [&str; 6] = [
        "matmul_e4m3",
        "matmul_e5m2",
        "matmul_e4m3_promoted",
        "matmul_e5m2_promoted",
        "matmul_3xtf32",
        "matmul_batched",
    ];

    #[test]
    fn every_kernel_for_one_architecture_has_its_twin_in_a_file_for_that() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../reference");
        let kernels: Vec<_> = experiments::ALL.iter().flat_map(|experiment| experiment.kernels()).collect();
        let mut twins = BTreeSet::new();
        for path in files(&folder, "cu").expect("the twins are there") {
            let (text, arch) = (read(&path).expect("readable"), own_arch(&path).expect("one architecture"));
            let words: BTreeSet<_> = declared(&text).collect();
            for kernel in kernels.iter().filter(|kernel| words.contains(kernel.name)) {
                assert_eq!(kernel.arch, arch, "{} in {}", kernel.name, path.display());
                twins.extend(arch.map(|_| kernel.name));
            }
        }
        let named = kernels.iter().filter(|kernel| kernel.arch.is_some()).map(|kernel| kernel.name);
        assert_eq!(twins, named.filter(|name| !WITHOUT.contains(name)).collect());
    }
}
