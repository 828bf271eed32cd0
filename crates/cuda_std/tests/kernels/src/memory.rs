//! Memory spaces, the allocator, clocks.
use core::mem::MaybeUninit;

use cuda_std::ptr::{
    AddressSpace, convert_generic_to_specific_address_space, convert_specific_address_space_to_generic,
    is_in_address_space,
};
use cuda_std::{address_space, cfg, externally_visible, kernel, mem, misc, shared, shared_array, thread};

#[address_space(shared)]
static mut TILE: [[MaybeUninit<f32>; 33]; 32] = [const { [MaybeUninit::uninit(); 33] }; 32];

#[address_space(constant)]
#[unsafe(no_mangle)]
pub static mut COEFFICIENTS: [f32; 5] = [1.0; 5];

#[address_space(global)]
#[unsafe(no_mangle)]
pub static mut COUNTER: u32 = 7;

#[address_space(managed)]
#[unsafe(no_mangle)]
pub static mut MANAGED: u32 = 8;

#[externally_visible]
#[unsafe(no_mangle)]
pub static TABLE: [u32; 3] = [1, 2, 3];

#[externally_visible]
#[unsafe(no_mangle)]
pub extern "C" fn device_function(value: u32) -> u32 {
    value + 41
}

#[kernel]
pub unsafe fn shared_static(data: *mut f32) {
    let index = thread::thread_idx_x() as usize % 32;
    unsafe {
        TILE[index][0] = MaybeUninit::new(*data.add(index));
        thread::sync_threads();
        *data.add(index) = TILE[31 - index][0].assume_init() * COEFFICIENTS[index % 5];
    }
}

#[kernel]
pub unsafe fn shared_macro(data: *mut f32) {
    let tile = shared_array![f32; 256];
    let index = thread::thread_idx_x() as usize % 256;
    unsafe {
        *tile.add(index) = *data.add(index);
        thread::sync_threads();
        *data.add(index) = *tile.add(255 - index);
    }
}

#[kernel]
pub unsafe fn shared_dynamic(data: *mut f32) {
    let tile = shared::dynamic_shared_mem::<f32>();
    let index = thread::thread_idx_x() as usize;
    unsafe {
        *tile.add(index) = *data.add(index);
        thread::sync_threads();
        *data.add(index) = *tile.add(index ^ 1);
    }
}

#[kernel]
pub unsafe fn global_statics(data: *mut u32) {
    unsafe { *data = COUNTER + MANAGED }
}

#[kernel]
pub unsafe fn spaces(pointers: *const *const u32, output: *mut u64) {
    unsafe {
        // LLVM knows that a pointer parameter points to global memory.
        let pointer = *pointers;
        for (place, space) in
            [AddressSpace::Global, AddressSpace::Shared, AddressSpace::Constant, AddressSpace::Local]
                .into_iter()
                .enumerate()
        {
            *output.add(3 * place) = u64::from(is_in_address_space(pointer, space));
            *output.add(3 * place + 1) =
                convert_generic_to_specific_address_space(pointer, space).addr() as u64;
            *output.add(3 * place + 2) =
                convert_specific_address_space_to_generic(pointer, space).addr() as u64;
        }
        *output.add(12) = u64::from(shared::address(pointer));
    }
}

#[kernel]
pub unsafe fn sizes_and_clocks(output: *mut u64) {
    unsafe {
        *output = u64::from(mem::dynamic_smem_size());
        *output.add(1) = u64::from(mem::total_smem_size());
        *output.add(2) = misc::clock();
        *output.add(3) = misc::global_timer();
        misc::profiler_counter(3);
        misc::breakpoint();
        *output.add(4) = cfg::ComputeCapability::from_cuda_arch_env() as u64;
    }
}

#[kernel]
pub unsafe fn heap(output: *mut u32, count: u32) {
    use cuda_std::prelude::*;
    let numbers: Vec<u32> = (0..count).collect();
    unsafe { *output = numbers.iter().sum() }
}
