//! Tests of safe kernels on a device: see `tests`.
