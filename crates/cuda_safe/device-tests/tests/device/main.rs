//! Safe kernels on a simulated device, and those that must not become PTX.

mod any_launch;
mod audit;
