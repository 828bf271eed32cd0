//! Generic addresses: the windows of shared and local memory.
//!
//! Shared memory and local memory appear in the generic address space as one window each. The windows lie above 48-bit
//! addresses, where no operating system puts a process's memory unless asked to, and below 2^49, where a GPU's generic
//! addresses end. All other addresses are the host's.

/// Generic address of a block's shared memory.
pub const SHARED_WINDOW: u64 = 0x0001_0000_0000_0000;
/// Generic address of a thread's local memory.
pub const LOCAL_WINDOW: u64 = 0x0001_0001_0000_0000;
/// Size of each window in bytes: more than any block's shared or any thread's local memory.
pub const WINDOW_BYTES: u64 = 16 << 20;

/// Returns true if a generic address is in the window of shared memory.
#[inline(always)]
pub fn in_shared_window(address: u64) -> bool {
    address.wrapping_sub(SHARED_WINDOW) < WINDOW_BYTES
}

/// Returns true if a generic address is in the window of local memory.
#[inline(always)]
pub fn in_local_window(address: u64) -> bool {
    address.wrapping_sub(LOCAL_WINDOW) < WINDOW_BYTES
}
