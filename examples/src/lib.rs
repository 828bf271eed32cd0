//! What all examples share: the PTX of their kernels.

/// All kernels of `examples/kernels`.
pub const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"));
