//! Access to simulated device memory where the simulator keeps it, for programs that fill or compare much of it.
//!
//! A copy through the driver reads and writes every byte once more than that, and takes time of the host link, which an
//! access in place does not.

use super::driver::{Located, driver};
use super::residence;
use std::iter;

/// Returns the memory that contains an address, if the simulated driver runs.
fn located(address: u64) -> Option<Located> {
    driver().ok()?.locate(address)
}

/// Lends a range of simulated device memory to `read`. `None` with NVIDIA's driver, and if the range is not within one
/// allocation.
///
/// # Safety
/// Until `read` returns, nothing writes to the range, kernels included, and nothing frees it.
pub unsafe fn read_in_place<R>(address: u64, bytes: u64, read: impl FnOnce(&[u8]) -> R) -> Option<R> {
    // SAFETY: the caller's promise.
    unsafe { located(address)?.device.memory.read_in_place(address, bytes, read) }.ok()
}

/// Lends a range of simulated device memory to `write`, as all of which it counts as written. Writing more than L2 holds evicts the range
/// from L2; less leaves L2 as it is. `None` as for [`read_in_place`].
///
/// # Safety
/// Until `write` returns, nothing else accesses the range, kernels included, and nothing frees it.
pub unsafe fn write_in_place<R>(address: u64, bytes: u64, write: impl FnOnce(&mut [u8]) -> R) -> Option<R> {
    let device = located(address)?.device;
    // SAFETY: the caller's promise.
    let written = unsafe { device.memory.write_in_place(address, bytes, write) }.ok()?;
    if bytes > device.card.l2_bytes {
        residence::forget(device, iter::once(address..address + bytes));
    }
    Some(written)
}
