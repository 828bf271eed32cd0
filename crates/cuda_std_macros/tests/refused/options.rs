use cuda_std::kernel;

#[kernel(launch_bound(256))] //~ ERROR unknown option `launch_bound` of #[kernel], expected one of: launch_bounds(threads), launch_bounds(threads, min_blocks), requires(clause, ..), shared = bytes, arch = "90a", cluster(x), cluster(x, y, z), name = <type, ..>, grid_dim = 1d|2d|3d, block_dim = 1d|2d|3d
pub unsafe fn unknown() {}

#[kernel(launch_bounds(2048))] //~ ERROR the threads of a block: expected a whole number in 1..=1024
pub unsafe fn too_many() {}

#[kernel(arch = "9.0")] //~ ERROR `9.0` is not a compute capability: write it without its dot, with the letter of its variant if it has one, as in arch = "90a"
pub unsafe fn dotted() {}

#[kernel(cluster(4, 4, 1))] //~ ERROR a cluster has at most 8 blocks, and this one 16
pub unsafe fn crowded() {}

#[kernel(arch = "80", cluster(2))] //~ ERROR clusters begin with compute capability 9.0, and this kernel is for compute_80 on: write arch = "90" or later
pub unsafe fn early() {}

fn main() {}
