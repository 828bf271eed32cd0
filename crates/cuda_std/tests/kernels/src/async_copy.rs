//! Asynchronous copies: element-wise (sm_80) and bulk (sm_90).
use cuda_std::access::CachePolicy;
use cuda_std::async_copy::{self, Barrier};
use cuda_std::cfg::architecture;
use cuda_std::vector::F32x4;
use cuda_std::{kernel, shared_array, thread};

#[kernel]
pub unsafe fn element_copies(input: *const F32x4, output: *mut F32x4, edge: u32) {
    if architecture() < 800 {
        return;
    }
    let tile = shared_array![F32x4; 256];
    let words = shared_array![f32; 256];
    let index = thread::thread_idx_x() as usize;
    unsafe {
        async_copy::copy_to_shared_past_l1(tile.add(index), input.add(index));
        async_copy::commit_group();
        async_copy::copy_to_shared(words.add(index), input.cast::<f32>().add(index));
        async_copy::copy_to_shared_or_zero(tile.add(index + 1), input.add(index + 1), index < edge as usize);
        async_copy::copy_to_shared_past_l1_or_zero(tile.add(index), input.add(index), index < edge as usize);
        async_copy::commit_group();
        async_copy::wait_group::<1>();
        async_copy::wait_all();
        thread::sync_threads();
        let mut vector = *tile.add(255 - index);
        vector.x += *words.add(255 - index);
        *output.add(index) = vector;
    }
}

#[kernel]
pub unsafe fn bulk_copies(input: *const F32x4, output: *mut F32x4, phases: *mut u64) {
    if architecture() < 900 {
        return;
    }
    let tile = shared_array![F32x4; 512];
    let barrier = shared_array![Barrier; 1];
    unsafe {
        if thread::thread_idx_x() == 0 {
            Barrier::init(barrier, 2);
            async_copy::fence_barrier_init();
        }
        thread::sync_threads();
        if thread::thread_idx_x() == 0 {
            *phases = Barrier::arrive_expect_bytes(barrier, 4096);
            Barrier::expect_bytes(barrier, 4096);
            async_copy::bulk_to_shared(tile, input, 4096, barrier);
            let policy = CachePolicy::evict_first();
            async_copy::bulk_to_shared_with_policy(tile.add(256), input.add(256), 4096, barrier, policy);
            async_copy::bulk_prefetch_l2(input.add(512), 8192);
            *phases.add(1) = Barrier::arrive(barrier);
            *phases.add(2) = u64::from(Barrier::is_complete(barrier, *phases.add(1)));
        }
        Barrier::wait_parity(barrier, 0);
        *tile.add(thread::thread_idx_x() as usize) = F32x4::splat(1.0);
        async_copy::fence_async_proxy();
        thread::sync_threads();
        if thread::thread_idx_x() == 0 {
            async_copy::bulk_to_global(output, tile, 4096);
            async_copy::bulk_to_global_with_policy(
                output.add(256),
                tile.add(256),
                4096,
                CachePolicy::evict_last(),
            );
            async_copy::bulk_commit_group();
            async_copy::bulk_wait_group_read::<0>();
            async_copy::bulk_wait_group::<0>();
            Barrier::invalidate(barrier);
        }
    }
}
