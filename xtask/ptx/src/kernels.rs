//! The kernel crate as PTX.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cuda_builder::{Artifact, CudaBuilder, NvvmArch};
use ptx::outline::Outline;
use xtask::misuse::Misuse;

/// The architectures that the tests build for: the oldest that CUDA 13 knows, then one per generation. 90a is there
/// too, since features of `a` variants are spelled differently.
pub(crate) const ARCHITECTURES: [NvvmArch; 8] = [
    NvvmArch::Compute75,
    NvvmArch::Compute80,
    NvvmArch::Compute86,
    NvvmArch::Compute89,
    NvvmArch::Compute90,
    NvvmArch::Compute90a,
    NvvmArch::Compute100,
    NvvmArch::Compute120,
];

/// The first PTX version that has the last of them: a ptxas that does not know it is too old.
pub(crate) const NEWEST_ISA: &str = "8.7";

/// The PTX of all kernels for one architecture.
#[derive(Clone, Debug)]
pub(crate) struct Built {
    pub(crate) arch: NvvmArch,
    /// The file it is in.
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    /// The version of PTX it is written in: 7 and 8.
    pub(crate) isa: (u32, u32),
    /// The kernels' names, sorted.
    pub(crate) kernels: Vec<String>,
}

impl Built {
    /// Takes PTX apart far enough to know what is in it.
    pub(crate) fn read(arch: NvvmArch, path: &Path, text: String) -> Result<Self> {
        let module = Outline::of(&text);
        let version = module.header.version;
        let isa = version.with_context(|| format!("{} has no .version line", path.display()))?;
        let mut kernels: Vec<String> = module.entries().map(str::to_owned).collect();
        kernels.sort();
        Ok(Built { arch, path: path.to_owned(), text, isa, kernels })
    }

    /// One kernel with all that it needs to stand alone: the module's head, its variables, and the kernel.
    pub(crate) fn extract(&self, kernel: &str) -> Result<String> {
        self.extract_from(&Outline::of(&self.text), kernel)
    }

    /// The same of every kernel, with its name.
    pub(crate) fn extract_all(&self) -> Result<Vec<(&str, String)>> {
        let module = Outline::of(&self.text);
        self.kernels.iter().map(|kernel| Ok((kernel.as_str(), self.extract_from(&module, kernel)?))).collect()
    }

    fn extract_from(&self, module: &Outline<'_>, kernel: &str) -> Result<String> {
        module.extract(kernel).ok_or_else(|| {
            let hint = nearest::hint_or(kernel, &self.kernels, "`cargo xtask list` names them all");
            Misuse::error(format!("there is no kernel `{kernel}`{hint}"))
        })
    }
}

/// Compiles the kernel crate once and emits PTX for each architecture.
pub(crate) fn build(root: &Path, target: &Path, architectures: &[NvvmArch]) -> Result<Vec<Built>> {
    let folder = target.join("xtask-ptx");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let build = CudaBuilder::new(root.join("gpu-kernels"))
        .arches(architectures.iter().copied())
        .copy_to(folder.join("kernels.ptx"))
        // Where the host's build script keeps it too: `core` is compiled once for both.
        .target_dir(target.join("cuda-builder"))
        .build_all()
        .context("gpu-kernels cannot be compiled to PTX")?;
    let read = |artifact: &Artifact| {
        let text = std::fs::read_to_string(&artifact.ptx)
            .with_context(|| format!("cannot read {}", artifact.ptx.display()))?;
        Built::read(artifact.arch, &artifact.ptx, text)
    };
    build.artifacts.iter().map(read).collect()
}

/// The architecture of kernels that name theirs, which are in no other PTX.
const OWN: NvvmArch = NvvmArch::Compute90a;

/// The architecture that is shown unless one is asked for.
const USUAL: NvvmArch = NvvmArch::Compute90;

/// Compiles the kernel crate for one architecture: that asked for, else the usual one, or that which the kernel names.
pub(crate) fn build_one(
    root: &Path,
    target: &Path,
    asked: Option<NvvmArch>,
    kernel: Option<&str>,
) -> Result<Built> {
    let one = |arch| build(root, target, &[arch])?.pop().context("the build left no PTX");
    let wanted = one(asked.unwrap_or(USUAL))?;
    let lacks = |built: &Built| kernel.is_some_and(|kernel| !built.kernels.iter().any(|name| name == kernel));
    if !lacks(&wanted) || wanted.arch == OWN {
        return Ok(wanted);
    }
    let own = one(OWN)?;
    match asked {
        // It has every other kernel too, for a hint at the nearest name.
        None => Ok(own),
        Some(_) if lacks(&own) => Ok(wanted),
        Some(arch) => Err(Misuse::error(format!(
            "the kernel `{}` is for {OWN} alone, and {arch} lacks its instructions; leave out --arch",
            kernel.unwrap_or_default()
        ))),
    }
}

/// The highest PTX version among them: what a ptxas has to know.
pub(crate) fn highest_isa(built: &[Built]) -> Result<String> {
    let (major, minor) = built.iter().map(|one| one.isa).max().context("no PTX was built")?;
    Ok(format!("{major}.{minor}"))
}

/// Reads an architecture's name, as `--arch` takes it: `compute_90`, `sm_90` and `90` are the same.
pub(crate) fn parse_arch(text: &str) -> Result<NvvmArch, String> {
    let number = text.trim_start_matches("compute_").trim_start_matches("sm_");
    format!("compute_{number}").parse().map_err(|_| {
        let names: Vec<String> = NvvmArch::ALL.iter().map(ToString::to_string).collect();
        let [first, .., last] = names.as_slice() else { return "there is no architecture at all".to_owned() };
        let hint = nearest::hint_or(text, &names, &format!("`{first}` is the first and `{last}` the last"));
        format!("there is no such architecture{hint}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures_by_any_of_their_names() {
        for text in ["compute_90a", "sm_90a", "90a"] {
            assert_eq!(parse_arch(text), Ok(NvvmArch::Compute90a));
        }
        assert_eq!(
            parse_arch("compute_91").unwrap_err(),
            "there is no such architecture; did you mean compute_90, compute_61 or compute_90a? `compute_50` is the first and \
             `compute_121a` the last"
        );
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        let built = |isa: &str| {
            Built::read(NvvmArch::Compute75, Path::new("k.ptx"), format!(".version {isa}\n")).unwrap()
        };
        assert_eq!(highest_isa(&[built("8.7"), built("8.10"), built("7.9")]).unwrap(), "8.10");
        assert!(highest_isa(&[]).is_err());
    }
}
