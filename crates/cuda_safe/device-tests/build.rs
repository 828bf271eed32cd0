//! Compiles `gpu-kernels` to PTX, which the test carries with it.

use std::{env, error::Error, path::PathBuf};

use cuda_builder::{CudaBuilder, NvvmArch};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR for build scripts")?);
    CudaBuilder::new("../../../gpu-kernels")
        // As the host program compiles them, and with it. Tested is the PTX for the simulated card.
        .arches([NvvmArch::Compute75, NvvmArch::Compute90])
        .copy_to(folder.join("kernels.ptx"))
        .build_all()
        .unwrap_or_else(|error| {
            // The compiler's own messages have reached the user already; this is the last line under them.
            eprintln!("gpu-kernels did not become PTX: {error}");
            std::process::exit(1)
        });
    Ok(())
}
