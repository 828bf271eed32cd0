use cuda_std::kernel;

#[kernel(launch_bound(256))] //~ ERROR unknown option `launch_bound` of #[kernel], expected one of: launch_bounds(threads), launch_bounds(threads, min_blocks), requires(clause, ..), shared = bytes, arch = "90a", name = <type, ..>, grid_dim = 1d|2d|3d, block_dim = 1d|2d|3d
pub unsafe fn unknown() {}

#[kernel(launch_bounds(2048))] //~ ERROR the threads of a block: expected a whole number in 1..=1024
pub unsafe fn too_many() {}

#[kernel(arch = "9.0")] //~ ERROR `9.0` is not a compute capability: write it without its dot, with the letter of its variant if it has one, as in arch = "90a"
pub unsafe fn dotted() {}

fn main() {}
