//! Compiles a kernel crate from the command line: `compile FOLDER [ARCHITECTURE]...`. For instance: `cargo run -p
//! cuda_builder --example compile -- kernels compute_75 compute_90a`.

use std::process::ExitCode;

use cuda_builder::{CudaBuilder, NvvmArch};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(folder) = arguments.next() else {
        eprintln!("usage: compile FOLDER [ARCHITECTURE]...");
        return ExitCode::FAILURE;
    };
    let arches = arguments.map(|name| name.parse()).collect::<Result<Vec<NvvmArch>, _>>();
    let arches = match arches {
        Ok(arches) => arches,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    match CudaBuilder::new(folder).arches(arches).build_all() {
        Ok(build) => {
            for artifact in build.artifacts {
                println!("{}", artifact.ptx.display());
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
