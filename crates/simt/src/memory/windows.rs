//! Spaces of addresses, and generic addresses: the windows of shared and local memory.
//!
//! Shared memory and local memory appear in the generic address space as one window each. The windows lie above 48-bit
//! addresses, where no operating system puts a process's memory unless asked to, and below 2^49, where a GPU's generic
//! addresses end. All other addresses are the host's.
//!
//! Behind the window of a block's own shared memory lie those of the blocks of its cluster, by rank. `mapa` gives
//! addresses in them, as offsets in shared memory or as generic addresses:
//!
//! ```text
//! offset in shared memory    generic address                     memory
//! 0x0000_0040                SHARED_WINDOW + 0x0000_0040         byte 64 of the own block
//! 0x0100_0040                SHARED_WINDOW + 0x0100_0040         byte 64 of the block of rank 0
//! 0x0400_0040                SHARED_WINDOW + 0x0400_0040         byte 64 of the block of rank 3
//! ```
//!
//! A cluster of one block has none of these windows: `mapa` leaves its addresses as they are.

/// The space that an instruction names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AddressSpace {
    Generic,
    Global,
    /// Shared memory of the own block.
    Shared,
    /// Shared memory of all blocks of the cluster.
    Cluster,
    Local,
    Constant,
}

/// Generic address of a block's shared memory.
pub const SHARED_WINDOW: u64 = 0x0001_0000_0000_0000;
/// Generic address of a thread's local memory.
pub const LOCAL_WINDOW: u64 = 0x0001_0001_0000_0000;
/// Size of each window in bytes: more than any block's shared or any thread's local memory.
pub const WINDOW_BYTES: u64 = 16 << 20;
/// Bytes from the window of shared memory on that are set aside for the blocks of a cluster.
const CLUSTER_BYTES: u64 = LOCAL_WINDOW - SHARED_WINDOW;

/// Returns true if a generic address is in the window of the block's own shared memory.
#[inline(always)]
pub fn in_shared_window(address: u64) -> bool {
    address.wrapping_sub(SHARED_WINDOW) < WINDOW_BYTES
}

/// Returns true if a generic address is where the windows of the blocks of a cluster are, the own one's included.
#[inline(always)]
pub(super) fn in_cluster_windows(address: u64) -> bool {
    address.wrapping_sub(SHARED_WINDOW) < CLUSTER_BYTES
}

/// Returns true if a generic address is in the window of local memory.
#[inline(always)]
pub fn in_local_window(address: u64) -> bool {
    address.wrapping_sub(LOCAL_WINDOW) < WINDOW_BYTES
}
