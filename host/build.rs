//! Compiles `gpu-kernels` to PTX and lists the results in a source file that `src/kernels.rs` includes, so that the
//! program carries its kernels with it.

use cuda_builder::{CudaBuilder, NvvmArch};
use std::{env, error::Error, fs, path::PathBuf};

/// One artefact each; the driver compiles the highest one that the card can run. 75 is the oldest architecture that CUDA 13
/// still supports. All come from one compile of the crate, so the newer ones differ by what LLVM makes of their
/// instructions, not by what the kernels' source chooses.
const ARCHITECTURES: [NvvmArch; 3] = [NvvmArch::Compute75, NvvmArch::Compute80, NvvmArch::Compute90];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR for build scripts")?);
    let build = CudaBuilder::new("../gpu-kernels")
        .arches(ARCHITECTURES)
        .copy_to(folder.join("kernels.ptx"))
        .build_all()
        .unwrap_or_else(|error| {
            // The compiler's own messages have reached the user already; this is the last line under them.
            eprintln!("gpu-kernels did not become PTX: {error}");
            std::process::exit(1)
        });

    let entries: String =
        build.artifacts.iter().map(|artifact| format!("    include_str!({:?}),\n", artifact.ptx)).collect();
    fs::write(folder.join("embedded.rs"), format!("&[\n{entries}]\n"))?;
    Ok(())
}
