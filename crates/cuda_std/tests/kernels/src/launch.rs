//! Kernels for each kind of parameter and option of `#[kernel]`.
use core::cell::Cell;

use cuda_std::kernel;
use cuda_std::vector::F32x4;

const THREADS: u32 = 128;

#[kernel(launch_bounds(256, 2), block_dim = 1d)]
pub unsafe fn launch_literal(output: *mut u32) {
    unsafe { *output = 1 }
}

#[kernel(launch_bounds(THREADS * 2))]
pub unsafe fn launch_constant(output: *mut u32) {
    unsafe { *output = 1 }
}

#[kernel]
pub unsafe fn slices<'a>(
    input: &'a [f32],
    cells: &[Cell<f32>],
    output: &mut [f32],
    factor: f32,
    one: &'a f32,
) {
    if let [first, ..] = output {
        *first = input[0] * factor + cells[0].get() + *one;
    }
}

#[kernel]
pub unsafe fn vectors(input: &[F32x4], output: *mut F32x4) {
    let index = cuda_std::thread::index_1d() as usize;
    unsafe { *output.add(index) = *input.get_unchecked(index) }
}

#[kernel]
pub unsafe fn vector_components(input: &[F32x4], output: *mut f32) {
    let mut sum = 0.0;
    for vector in input {
        sum += vector.x + vector.y + vector.z + vector.w;
    }
    unsafe { *output = sum }
}

#[kernel]
pub unsafe fn architecture(output: *mut u32) {
    unsafe {
        *output = cuda_std::cfg::architecture();
        if cuda_std::cfg::architecture() >= 900 {
            cuda_std::async_copy::fence_barrier_init();
        }
    }
}
