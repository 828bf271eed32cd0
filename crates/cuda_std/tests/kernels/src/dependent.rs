//! Launches that overlap with the kernel ahead of them (sm_90).
use cuda_std::{dependent, kernel, thread};

#[kernel(arch = "90")]
pub unsafe fn overlapping(factor: &f32, x: *const f32, y: *mut f32) {
    let index = thread::thread_idx_x() as usize;
    let factor = *factor;
    dependent::wait_for_predecessor();
    unsafe {
        *y.add(index) = factor * *x.add(index);
        dependent::launch_dependents();
        *y.add(index + 32) = factor;
    }
}
