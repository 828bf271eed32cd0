use cuda_std::kernel;

#[kernel(launch_bound(256))] //~ ERROR unknown option `launch_bound` of #[kernel], expected one of: launch_bounds(threads), launch_bounds(threads, min_blocks), requires(clause, ..), shared = bytes, name = <type, ..>, grid_dim = 1d|2d|3d, block_dim = 1d|2d|3d
pub unsafe fn unknown() {}

#[kernel(launch_bounds(2048))] //~ ERROR the threads of a block: expected a whole number in 1..=1024
pub unsafe fn too_many() {}

fn main() {}
