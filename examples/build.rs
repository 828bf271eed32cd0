//! Compiles the kernels to PTX, which `src/lib.rs` embeds.

use std::path::PathBuf;

use cuda_builder::{CudaBuilder, NvvmArch};

fn main() {
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    let ours = CudaBuilder::new("kernels").copy_to(folder.join("kernels.ptx")).build();
    // Of the repository's own kernels, those for tensor cores that example 10 launches.
    let tensor_cores = CudaBuilder::new("../gpu-kernels")
        .arch(NvvmArch::Compute90a)
        .only(
            NvvmArch::Compute90a,
            [
                "matmul_small",
                "matmul_between",
                "matmul_medium",
                "matmul_overlapped",
                "matmul_multicast",
                "matmul_staggered",
                "matmul_wide",
                "matmul_batched",
                "matmul_scaled",
                "matmul_e4m3",
                "matmul_e4m3_promoted",
                "matmul_3xtf32",
                "split_tf32",
                "repitch",
            ],
        )
        .copy_to(folder.join("tensor_cores.ptx"))
        .build();
    for built in [ours, tensor_cores] {
        if let Err(error) = built {
            // The compiler's own messages are above.
            eprintln!("the kernels did not become PTX: {error}");
            std::process::exit(1);
        }
    }
}
