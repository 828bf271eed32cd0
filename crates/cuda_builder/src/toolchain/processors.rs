//! Lists the processors that a compiler's LLVM can generate code for.
//!
//! LLVM itself only warns about a processor or PTX version that it does not know, and goes on with a default.

use std::process::Command;

use super::Toolchain;
use crate::{CudaBuilderError, NvvmArch, environment};

/// Names that `rustc --print` lists for the GPU target: `sm_90a`, `ptx80`.
#[derive(Clone, Debug)]
pub(crate) struct Processors {
    compiler: String,
    processors: Vec<String>,
    ptx_versions: Vec<u32>,
}

impl Processors {
    /// Asks the compiler.
    pub(crate) fn ask(toolchain: &Toolchain) -> Result<Self, CudaBuilderError> {
        let mut command = Command::new(&toolchain.rustc);
        environment::clean(&mut command);
        if let Ok(joined) = std::env::join_paths(&toolchain.library_path)
            && !toolchain.library_path.is_empty()
        {
            command.env("LD_LIBRARY_PATH", joined);
        }
        command.args([
            "--target",
            "nvptx64-nvidia-cuda",
            "--print",
            "target-cpus",
            "--print",
            "target-features",
        ]);
        let output = command.output().map_err(|source| CudaBuilderError::CompilerNotRun {
            program: toolchain.rustc.clone(),
            variable: "RUSTC",
            source,
        })?;
        Ok(Self::parse(&toolchain.version, &String::from_utf8_lossy(&output.stdout)))
    }

    fn parse(compiler: &str, text: &str) -> Self {
        let names = || text.lines().filter_map(|line| line.split_whitespace().next());
        let mut processors: Vec<String> =
            names().filter(|name| name.starts_with("sm_")).map(String::from).collect();
        processors.dedup();
        let ptx_versions = names().filter_map(|name| name.strip_prefix("ptx")?.parse().ok()).collect();
        Self { compiler: compiler.to_owned(), processors, ptx_versions }
    }

    /// Checks an architecture, and the PTX version that the user wants for it, if any. Returns the PTX version to write.
    pub(crate) fn check(&self, arch: NvvmArch, wanted: Option<(u32, u32)>) -> Result<u32, CudaBuilderError> {
        if !self.processors.contains(&arch.processor()) {
            let mut known: Vec<&str> = NvvmArch::ALL
                .iter()
                .filter(|other| self.processors.contains(&other.processor()))
                .map(|other| other.name())
                .collect();
            known.dedup();
            return Err(CudaBuilderError::ArchitectureUnknown {
                arch,
                compiler: self.compiler.clone(),
                known: known.join(", "),
            });
        }
        let Some((major, minor)) = wanted else {
            return Ok(arch.default_ptx_version());
        };
        let refuse =
            |reason| Err(CudaBuilderError::PtxVersion { asked: format!("{major}.{minor}"), arch, reason });
        let version = major.saturating_mul(10).saturating_add(minor);
        if minor > 9 || !self.ptx_versions.contains(&version) {
            let newest = self.ptx_versions.iter().max().copied().unwrap_or(0);
            return refuse(format!(
                "{} does not know this version; its newest is {}.{}",
                self.compiler,
                newest / 10,
                newest % 10
            ));
        }
        let oldest = arch.oldest_ptx_version();
        if version < oldest {
            return refuse(format!(
                "the first version with this architecture is {}.{}",
                oldest / 10,
                oldest % 10
            ));
        }
        Ok(version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use NvvmArch::*;

    fn processors() -> Processors {
        Processors::parse(
            "rustc 1.95.0",
            "Available CPUs for this target:\n    sm_30   - This is the default.\n    sm_75\n    sm_90\n    sm_90a\n\
             Features supported by rustc for this target:\n    ptx74  - Use PTX version 74.\n    ptx78 - x\n    ptx80 - x\n\
             \n    sm_75 - Target SM 75.\n",
        )
    }

    #[test]
    fn the_version_is_the_users_or_the_default() {
        assert_eq!(processors().check(Compute75, None).unwrap(), 74);
        assert_eq!(processors().check(Compute75, Some((8, 0))).unwrap(), 80);
        assert_eq!(processors().check(Compute90a, None).unwrap(), 83);
    }

    #[test]
    fn an_unknown_architecture_is_refused_with_the_known_ones() {
        let error = processors().check(Compute120, None).unwrap_err().to_string();
        assert!(
            error.starts_with(
                "rustc 1.95.0 cannot make code for compute_120: its LLVM has no processor `sm_120`"
            ),
            "{error}"
        );
        assert!(error.contains("It has: compute_75, compute_90, compute_90a."), "{error}");
    }

    #[test]
    fn a_ptx_version_has_to_exist_and_hold_the_architecture() {
        let error = processors().check(Compute75, Some((9, 9))).unwrap_err().to_string();
        assert!(error.contains("PTX version 9.9") && error.contains("its newest is 8.0"), "{error}");
        let error = processors().check(Compute90a, Some((7, 8))).unwrap_err().to_string();
        assert!(error.contains("the first version with this architecture is 8.0"), "{error}");
    }
}
