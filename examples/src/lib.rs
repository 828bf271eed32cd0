//! What all examples share: the PTX of their kernels.

/// All kernels of `examples/kernels`.
pub const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"));

/// The products on tensor cores of `gpu-kernels`, for devices of compute capability 9.0.
pub const TENSOR_CORES: &str = include_str!(concat!(env!("OUT_DIR"), "/tensor_cores.ptx"));
