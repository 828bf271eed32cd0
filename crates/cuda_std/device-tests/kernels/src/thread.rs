//! Indices, barriers, fences.
use core::sync::atomic::Ordering;

use cuda_std::atomic::{intrinsics, mid};
use cuda_std::{kernel, shared_array, thread};

/// Each thread takes a record of 32 by counting, so that where it lies depends on none of the indices. The host knows the
/// order of the fields.
#[kernel]
pub unsafe fn indices(counter: *mut u32, records: *mut [u32; 32]) {
    let mut fields = [0; 32];
    let mut filled = 0;
    let mut put = |values: &[u32]| {
        for &value in values {
            fields[filled] = value;
            filled += 1;
        }
    };
    put(&[thread::block_idx_x(), thread::block_idx_y(), thread::block_idx_z()]);
    put(&[thread::thread_idx_x(), thread::thread_idx_y(), thread::thread_idx_z()]);
    put(&[thread::block_dim_x(), thread::block_dim_y(), thread::block_dim_z()]);
    put(&[thread::grid_dim_x(), thread::grid_dim_y(), thread::grid_dim_z()]);
    put(&thread::block_idx().to_array());
    put(&thread::thread_idx().to_array());
    put(&thread::block_dim().to_array());
    put(&thread::grid_dim().to_array());
    put(&[thread::index(), thread::index_1d()]);
    put(&thread::index_2d().to_array());
    put(&thread::index_3d().to_array());
    put(&[u32::from(thread::first())]);
    let record = mid::atomic_fetch_add_u32_device(counter, Ordering::Relaxed, 1);
    *records.add(record as usize) = fields;
}

/// Results lie `[thread][count, and, or]`; the predicates are one per thread.
#[kernel]
pub unsafe fn barrier_reductions(predicates: *const u32, results: *mut u32) {
    let thread = thread::thread_idx_x() as usize;
    let predicate = *predicates.add(thread);
    *results.add(3 * thread) = thread::sync_threads_count(predicate);
    *results.add(3 * thread + 1) = thread::sync_threads_and(predicate);
    *results.add(3 * thread + 2) = thread::sync_threads_or(predicate);
}

/// Sums up to each thread's place in its block, with a barrier on both sides of each of the steps.
#[kernel(launch_bounds(1024))]
pub unsafe fn running_sums(values: *const u32, results: *mut u32) {
    let sums = shared_array![u32; 1024];
    let (thread, threads) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    *sums.add(thread) = *values.add(crate::place());
    thread::sync_threads();
    let mut distance = 1;
    while distance < threads {
        let before = if thread >= distance { *sums.add(thread - distance) } else { 0 };
        thread::sync_threads();
        *sums.add(thread) = (*sums.add(thread)).wrapping_add(before);
        thread::sync_threads();
        distance *= 2;
    }
    *results.add(crate::place()) = *sums.add(thread);
}

fn fence(kind: u32) {
    // SAFETY: fences need nothing.
    unsafe {
        match kind {
            0 => thread::grid_fence(),
            1 => thread::device_fence(),
            2 => thread::system_fence(),
            3 => mid::block_thread_fence(Ordering::AcqRel),
            4 => mid::block_thread_fence(Ordering::SeqCst),
            5 => mid::device_thread_fence(Ordering::AcqRel),
            6 => mid::device_thread_fence(Ordering::SeqCst),
            7 => mid::system_thread_fence(Ordering::AcqRel),
            8 => mid::system_thread_fence(Ordering::SeqCst),
            9 => intrinsics::membar_block(),
            10 => intrinsics::membar_device(),
            _ => intrinsics::membar_system(),
        }
    }
}

/// Each thread writes its value, then counts itself. The last to count adds up all values, which only the fence makes
/// visible to it.
#[kernel]
pub unsafe fn last_thread_sums(
    kind: u32,
    values: *const u32,
    written: *mut u32,
    counter: *mut u32,
    sum: *mut u32,
) {
    let threads = thread::grid_dim_x() * thread::block_dim_x();
    *written.add(crate::place()) = *values.add(crate::place());
    fence(kind);
    let before = mid::atomic_fetch_add_u32_system(counter, Ordering::Relaxed, 1);
    if before == threads - 1 {
        fence(kind);
        *sum = (0..threads as usize).fold(0, |sum, place| (*written.add(place)).wrapping_add(sum));
    }
}

/// Even blocks publish 1000 numbers in order; odd blocks read what the block before them has published. Each read is
/// the number announced, then the number there. After 1000 reads they stop, so that nothing waits for anything.
#[kernel]
pub unsafe fn message_passing(numbers: *mut u32, announced: *mut u32, observed: *mut [u32; 2]) {
    let pair = (thread::block_idx_x() / 2) as usize;
    let (number, announced) = (numbers.add(pair), announced.add(pair));
    for turn in 1..=1000 {
        if thread::block_idx_x().is_multiple_of(2) {
            mid::atomic_store_32_device(number, Ordering::Relaxed, turn);
            mid::atomic_store_32_device(announced, Ordering::Release, turn);
        } else {
            let at_least = mid::atomic_load_32_device(announced, Ordering::Acquire);
            let there = mid::atomic_load_32_device(number, Ordering::Relaxed);
            *observed.add(1000 * pair + turn as usize - 1) = [at_least, there];
        }
    }
}

/// Sleeps, then writes.
#[kernel]
pub unsafe fn nanosleep(results: *mut u32) {
    thread::nanosleep(2000);
    *results.add(crate::place()) = 1;
}
