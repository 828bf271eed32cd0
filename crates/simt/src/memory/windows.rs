//! Generic addresses: which of them mean shared and local memory.
//!
//! Shared memory and local memory appear in the generic address space as a window each. The windows lie above what a
//! 48-bit address can say, where no operating system puts a process's memory unless asked to, and below 2^49, where a
//! GPU's own generic addresses end; everything else is a host address.

/// The generic address of a block's shared memory.
pub const SHARED_WINDOW: u64 = 0x0001_0000_0000_0000;
/// The generic address of a thread's local memory.
pub const LOCAL_WINDOW: u64 = 0x0001_0001_0000_0000;
/// The size of either window: more than any block's shared or any thread's local memory.
pub const WINDOW_BYTES: u64 = 16 << 20;

/// Whether a generic address is in shared memory's window.
#[inline(always)]
pub fn in_shared_window(address: u64) -> bool {
    address.wrapping_sub(SHARED_WINDOW) < WINDOW_BYTES
}

/// Whether a generic address is in local memory's window.
#[inline(always)]
pub fn in_local_window(address: u64) -> bool {
    address.wrapping_sub(LOCAL_WINDOW) < WINDOW_BYTES
}
