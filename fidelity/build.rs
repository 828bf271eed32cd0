//! Compiles the kernels to PTX, which `src/lib.rs` embeds.

use std::path::PathBuf;

use cuda_builder::{CudaBuilder, NvvmArch};

fn main() {
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    let built =
        CudaBuilder::new("kernels").arch(NvvmArch::Compute90).copy_to(folder.join("kernels.ptx")).build();
    if let Err(error) = built {
        // The compiler's own messages are above.
        eprintln!("the kernels did not become PTX: {error}");
        std::process::exit(1);
    }
}
