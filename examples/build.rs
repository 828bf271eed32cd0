//! Compiles the kernels to PTX, which `src/lib.rs` embeds.

use cuda_builder::CudaBuilder;

fn main() {
    let ptx =
        std::path::PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it")).join("kernels.ptx");
    if let Err(error) = CudaBuilder::new("kernels").copy_to(ptx).build() {
        // The compiler's own messages are above.
        eprintln!("the kernels did not become PTX: {error}");
        std::process::exit(1);
    }
}
