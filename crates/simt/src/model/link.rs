//! Copies that no kernel makes: over the host link, and within the card.

use super::counters::{Counters, Touched};
use super::time::LaunchTime;
use crate::cards::Card;
use crate::coalescing::{LINE_BYTES, SECTOR_BYTES};

/// A copy between pinned host memory and the card, one direction: a fixed time and the link's bandwidth. On PCIe 3 this
/// gives 1.8 GB/s at 64 KiB and 9 at 1 MiB, as gpu-benches measures it with a blocking copy.
pub fn host_copy_seconds(card: &Card, bytes: u64) -> f64 {
    card.host_link_latency_us * 1e-6 + bytes as f64 / (card.host_link_gb_per_s * 1e9)
}

/// The same as a bandwidth in GB/s.
pub fn host_copy_gb_per_s(card: &Card, bytes: u64) -> f64 {
    bytes as f64 / host_copy_seconds(card, bytes) / 1e9
}

/// Bytes of pinned memory whose addresses the card knows at a time. Half a GiB, read at random on an H200, is as fast as
/// in order; a whole one takes 3.6 times as long. Managed memory that stays with the host does not slow down.
const KNOWN_PAGES: f64 = 256.0;

/// For a request to a page whose address has to be looked up, that long.
const LOOK_UP_SECONDS: f64 = 13e-9;

/// Bytes by which a load that straddles lines costs the link more, and a store: parts of lines go one by one, and parts
/// of sectors once more. Fitted to `block_stride` and `block_stride_write` in pinned memory on an H200, half a GiB.
const SPLIT_BYTES: [f64; 2] = [19.0, 53.0];

/// What a kernel reads from the host's memory, or writes to it, over the link.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HostAccess {
    /// Bytes.
    pub bytes: u64,
    /// Requests that straddle lines.
    pub split: u64,
}

/// What the host link takes while a kernel reads and writes the host's memory: both directions go at once.
pub fn host_access_seconds(card: &Card, read: HostAccess, written: HostAccess) -> f64 {
    let [read, written] = [(read, SPLIT_BYTES[0]), (written, SPLIT_BYTES[1])]
        .map(|(access, more)| access.bytes as f64 + access.split as f64 * more);
    read.max(written) / (card.host_access_share * card.host_link_gb_per_s * 1e9)
}

/// What it takes to find pages: `changes` requests go to another page of 2 MiB than their warp's last, of which
/// `at_once` are wanted at a time.
pub fn look_up_seconds(changes: u64, at_once: u64) -> f64 {
    let unknown = 1.0 - KNOWN_PAGES / (at_once as f64).max(KNOWN_PAGES);
    changes as f64 * unknown * LOOK_UP_SECONDS
}

/// The driver's copy from one place in device memory to another: a launch that reads and writes every byte once, and that
/// nothing but L2 and memory keeps.
pub fn device_copy_seconds(card: &Card, bytes: u64) -> f64 {
    let bytes = bytes as f64;
    let moved = Touched {
        granules: bytes / f64::from(card.dram_granule_bytes),
        lines: bytes / LINE_BYTES as f64,
        pages: bytes / f64::from(card.dram_page_bytes),
    };
    let sectors = bytes / SECTOR_BYTES as f64;
    let counters = Counters {
        l2_sectors_read: sectors,
        l2_sectors_written: sectors,
        dram_read: moved,
        dram_written: moved,
        ..Counters::default()
    };
    LaunchTime::new(&counters, card).seconds
}
