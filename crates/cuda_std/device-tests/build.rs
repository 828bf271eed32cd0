//! Compiles `kernels` to PTX and lists the results in a source file that the tests include.

use std::{env, error::Error, fmt::Write as _, fs, path::PathBuf};

use cuda_builder::{CudaBuilder, NvvmArch};

/// Below sm_80 some functions are other instructions, and others are not there.
const ARCHITECTURES: [NvvmArch; 2] = [NvvmArch::Compute75, NvvmArch::Compute90];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR for build scripts")?);
    let build = CudaBuilder::new("kernels")
        .arches(ARCHITECTURES)
        .copy_to(folder.join("kernels.ptx"))
        .build_all()
        .unwrap_or_else(|error| {
            eprintln!("the kernels did not become PTX: {error}");
            std::process::exit(1)
        });
    let mut list = String::from("&[\n");
    for artifact in &build.artifacts {
        writeln!(list, "    ({}, include_str!({:?})),", artifact.arch.capability_value(), artifact.ptx)?;
    }
    list.push_str("]\n");
    fs::write(folder.join("embedded.rs"), list)?;
    Ok(())
}
