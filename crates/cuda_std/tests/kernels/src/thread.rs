//! Indices, barriers and fences.
use cuda_std::{kernel, thread};

#[kernel]
pub unsafe fn indices(output: *mut u32) {
    unsafe {
        for (place, value) in
            [thread::thread_idx(), thread::block_idx(), thread::block_dim(), thread::grid_dim()]
                .into_iter()
                .flat_map(|vector| [vector.x, vector.y, vector.z])
                .enumerate()
        {
            *output.add(place) = value;
        }
        *output.add(12) = thread::index();
        *output.add(13) = thread::index_2d().y;
        *output.add(14) = thread::index_3d().z;
        *output.add(15) = u32::from(thread::first()) + thread::warp_size();
    }
}

#[kernel]
pub unsafe fn index_1d(output: *mut u32) {
    unsafe { *output.add(thread::index_1d() as usize) = thread::index_1d() }
}

#[kernel]
pub unsafe fn barriers(output: *mut u32) {
    unsafe {
        let value = *output;
        thread::sync_threads();
        *output.add(1) = thread::sync_threads_count(value);
        *output.add(2) = thread::sync_threads_and(value);
        *output.add(3) = thread::sync_threads_or(value);
    }
}

#[kernel]
pub unsafe fn fences(output: *mut u32) {
    unsafe {
        *output = 1;
        thread::grid_fence();
        *output = 2;
        thread::device_fence();
        *output = 3;
        thread::system_fence();
        thread::nanosleep(100);
        *output = 4;
    }
}

/// Not inlined by itself, so that the barrier's convergence has to hold across a call.
fn meet(value: u32) -> u32 {
    thread::sync_threads();
    value + 1
}

#[kernel]
pub unsafe fn barrier_in_both_branches(output: *mut u32) {
    unsafe {
        let value = *output;
        *output.add(1) = if value > 7 { meet(value) } else { meet(value * 3) };
    }
}
