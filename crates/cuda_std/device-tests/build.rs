//! Compiles `kernels` to PTX, part by part, and lists the results in a source file that the tests include.

use std::{env, error::Error, fmt::Write as _, fs, path::PathBuf};

use cuda_builder::{CudaBuilder, NvvmArch};

/// Below sm_80 some functions are other instructions, and others are not there.
const ARCHITECTURES: [NvvmArch; 2] = [NvvmArch::Compute75, NvvmArch::Compute90];

/// The kernel crate's features, one module each.
const PARTS: [&str; 3] = ["devices", "floats", "texts"];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR for build scripts")?);
    let mut list = String::from("[\n");
    for part in PARTS {
        let build = CudaBuilder::new("kernels")
            .arches(ARCHITECTURES)
            .build_args(&["--features", part])
            .generate_line_info(false)
            .copy_to(folder.join(format!("{part}.ptx")))
            .build_all()
            .unwrap_or_else(|error| {
                eprintln!("the kernels ({part}) did not become PTX: {error}");
                std::process::exit(1)
            });
        list.push_str("    &[\n");
        for artifact in &build.artifacts {
            writeln!(
                list,
                "        ({}, include_str!({:?})),",
                artifact.arch.capability_value(),
                artifact.ptx
            )?;
        }
        list.push_str("    ],\n");
    }
    list.push_str("]\n");
    fs::write(folder.join("embedded.rs"), list)?;
    Ok(())
}
