//! Kernels that write variables of the module; see [`crate::storage`].
//!
//! They are unsafe because all launches of the module share a `static mut`, and no signature shows who else uses it.

use crate::storage::LENGTH;
use cuda_std::{address_space, kernel, thread};

/// A variable in device memory, which the host reads and writes by its name.
#[address_space(global)]
#[unsafe(no_mangle)]
pub static mut STORAGE_GLOBAL: [f32; LENGTH] = [0.0; LENGTH];

/// A variable in managed memory, which the host accesses by its address.
#[address_space(managed)]
#[unsafe(no_mangle)]
pub static mut STORAGE_MANAGED: [f32; LENGTH] = [0.0; LENGTH];

/// Adds 2 to each element of a device global.
///
/// # Safety
/// The launch has one block of [`LENGTH`] threads, and nothing else accesses the variable meanwhile.
// PTX: contains ld.global.b32
// PTX: contains st.global.b32
#[kernel(requires(grid.count() == 1, block.x == 256, block.count() == 256))]
pub unsafe fn storage_global() {
    let index = thread::thread_idx_x() as usize;
    // SAFETY: promised by the caller; each thread has its own element.
    unsafe { *(&raw mut STORAGE_GLOBAL).cast::<f32>().add(index) += 2.0 }
}

/// Adds 2 to each element of a managed variable.
///
/// # Safety
/// As for [`storage_global()`]; the host does not access the variable meanwhile either.
// PTX: contains ld.global.b32
// PTX: contains st.global.b32
#[kernel(requires(grid.count() == 1, block.x == 256, block.count() == 256))]
pub unsafe fn storage_managed() {
    let index = thread::thread_idx_x() as usize;
    // SAFETY: promised by the caller; each thread has its own element.
    unsafe { *(&raw mut STORAGE_MANAGED).cast::<f32>().add(index) += 2.0 }
}
