//! Compiles `gpu-kernels` to PTX and lists the results in a source file that `src/kernels.rs` includes, so that the
//! program carries its kernels with it.
//!
//! The same program, run by `coalesce` with [`PART`] in the environment, compiles the kernels of one run alone. By that
//! `cargo xtask run` shows an edited kernel without compiling the host again: `xtask/src/edited.rs` says when.

use cuda_builder::{CudaBuilder, NvvmArch};
use std::{
    env,
    error::Error,
    fs, io,
    path::{Path, PathBuf},
};

/// One artefact each; the driver compiles the highest one that the card can run. 75 is the oldest architecture that CUDA 13
/// still supports. All come from one compile of the crate, so the newer ones differ by what LLVM makes of their
/// instructions, not by what the kernels' source chooses.
const ARCHITECTURES: [NvvmArch; 3] = [NvvmArch::Compute75, NvvmArch::Compute80, NvvmArch::Compute90];

/// The architectures of kernels that name theirs (`#[kernel(arch = "90a")]`): PTX of these kernels alone, apart from the others.
const OWN: [NvvmArch; 1] = [NvvmArch::Compute90a];

/// `compute_90 copy_scalar copy_vector`: the architecture and the kernels of a part.
const PART: &str = "COALESCE_KERNELS";

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR for build scripts")?);
    // Named from where this program was compiled, because a part is compiled in whatever folder the user is.
    let kernels = CudaBuilder::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../gpu-kernels"))
        .arches(ARCHITECTURES)
        .copy_to(folder.join("kernels.ptx"));
    let kernels = OWN.into_iter().fold(kernels, CudaBuilder::own_kernels);
    let part = env::var(PART).ok();
    let kernels = match &part {
        None => kernels,
        Some(part) => {
            let mut words = part.split(' ');
            kernels.only(words.next().unwrap_or_default().parse()?, words)
        }
    };
    let build = kernels.build_all().unwrap_or_else(|error| {
        // The compiler's own messages have reached the user already; this is the last line under them.
        eprintln!("gpu-kernels did not become PTX: {error}");
        std::process::exit(1)
    });
    if part.is_none() {
        for (file, own) in [("embedded.rs", false), ("own.rs", true)] {
            let artifacts = build.artifacts.iter().filter(|artifact| OWN.contains(&artifact.arch) == own);
            let entries: String =
                artifacts.map(|artifact| format!("    include_str!({:?}),\n", artifact.ptx)).collect();
            fs::write(folder.join(file), format!("&[\n{entries}]\n"))?;
        }
        fs::write(folder.join("sources.rs"), sources()?)?;
    }
    Ok(())
}

/// Every source file of gpu-kernels as a list of its path from the repository's root and its text, for reports to show.
fn sources() -> io::Result<String> {
    fn visit(folder: &Path, entries: &mut Vec<String>) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                visit(&path, entries)?;
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(ROOT).unwrap_or(&path).to_string_lossy().replace('\\', "/");
                entries.push(format!("    ({name:?}, include_str!({path:?})),\n"));
            }
        }
        Ok(())
    }
    const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../");
    let mut entries = Vec::new();
    visit(&Path::new(ROOT).join("gpu-kernels/src"), &mut entries)?;
    entries.sort();
    Ok(format!("&[\n{}]\n", entries.concat()))
}
