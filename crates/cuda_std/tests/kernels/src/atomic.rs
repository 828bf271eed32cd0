//! Atomic operations.
use core::sync::atomic::{AtomicU32, Ordering};

use cuda_std::atomic::{
    AtomicF32, AtomicF64, BlockAtomicF32, SystemAtomicF32, SystemAtomicF64, intrinsics, mid,
};
use cuda_std::{kernel, shared_array};

#[kernel]
pub unsafe fn atomic_floats(
    device: &AtomicF32,
    block: &BlockAtomicF32,
    system: &SystemAtomicF64,
    output: *mut f64,
) {
    unsafe {
        *output = f64::from(device.fetch_add(1.5, Ordering::Relaxed));
        *output.add(1) = f64::from(block.fetch_sub(2.5, Ordering::AcqRel));
        *output.add(2) = system.fetch_add(3.5, Ordering::SeqCst);
        *output.add(3) = f64::from(device.fetch_and(4.5, Ordering::Acquire));
        *output.add(4) = system.fetch_or(5.5, Ordering::Release);
        *output.add(5) = f64::from(device.fetch_xor(6.5, Ordering::Relaxed));
    }
}

#[kernel]
pub unsafe fn atomic_loads(device: &AtomicF64, system: &SystemAtomicF32, output: *mut f64) {
    unsafe {
        *output = device.load(Ordering::Acquire);
        *output.add(1) = f64::from(system.load(Ordering::SeqCst));
        device.store(1.0, Ordering::Release);
        system.store(2.0, Ordering::SeqCst);
    }
}

#[kernel]
pub unsafe fn atomic_mid(data: *mut u32, signed: *mut i64) {
    unsafe {
        mid::block_thread_fence(Ordering::AcqRel);
        mid::device_thread_fence(Ordering::SeqCst);
        mid::system_thread_fence(Ordering::Acquire);
        let old = mid::atomic_fetch_min_i64_block(signed, Ordering::Relaxed, -3);
        mid::atomic_fetch_max_u32_system(data, Ordering::Release, old as u32);
        let seen = mid::atomic_compare_and_swap_u32_device(data, 5, 6, Ordering::AcqRel);
        mid::atomic_fetch_exch_u32_device(data.add(1), Ordering::Acquire, seen);
        mid::atomic_fetch_sub_u32_device(data.add(2), Ordering::Relaxed, seen);
        let loaded = mid::atomic_load_32_block(data.add(3), Ordering::Relaxed);
        mid::atomic_store_32_system(data.add(4), Ordering::Relaxed, loaded);
    }
}

#[kernel]
pub unsafe fn atomic_intrinsics(data: *mut u32) {
    unsafe {
        let old = intrinsics::atomic_fetch_inc_volatile_u32_block(data);
        intrinsics::atomic_fetch_dec_relaxed_u32_system(data.add(1));
        intrinsics::atomic_store_volatile_32_device(data.add(2), old);
        let loaded = intrinsics::atomic_load_volatile_32_system(data.add(3));
        intrinsics::atomic_fetch_cas_release_u32_block(data.add(4), loaded, old);
        intrinsics::membar_device();
        intrinsics::fence_acqrel_block();
        intrinsics::fence_sc_system();
    }
}

#[kernel]
pub unsafe fn atomic_shared(bins: *const u32, output: *mut u32) {
    unsafe {
        let counts = shared_array![u32; 64];
        let count = counts.add(*bins as usize);
        mid::atomic_store_32_block(count, Ordering::Relaxed, 0);
        mid::atomic_fetch_add_u32_block(count, Ordering::AcqRel, 1);
        *output = mid::atomic_load_32_block(count, Ordering::Acquire);
    }
}

#[kernel]
pub unsafe fn atomic_of_core(data: &AtomicU32) {
    data.fetch_add(1, Ordering::Relaxed);
}
