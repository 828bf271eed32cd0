use cuda_std::kernel;

#[kernel(launch_bound(256))]
pub unsafe fn unknown() {}

#[kernel(launch_bounds(2048))]
pub unsafe fn too_many() {}

fn main() {}
