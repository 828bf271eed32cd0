//! Models copies over the host link and within the card, and kernels' access to the host's memory.
//! [`PeerLink`](super::PeerLink) is the link between cards.

use super::counters::{Counters, Touched};
use super::time::LaunchTime;
use crate::cards::Card;
use crate::coalescing::{LINE_BYTES, SECTOR_BYTES};

/// Time in seconds of a copy between pinned host memory and the card, one direction: a fixed latency plus the bytes
/// over the link's bandwidth. On PCIe 3 this gives 1.8 GB/s at 64 KiB and 9 at 1 MiB, as gpu-benches measures with a
/// blocking copy.
pub fn host_copy_seconds(card: &Card, bytes: u64) -> f64 {
    card.host_link_latency_us * 1e-6 + bytes as f64 / (card.host_link_gb_per_s * 1e9)
}

/// Bandwidth of the same copy in GB/s.
pub fn host_copy_gb_per_s(card: &Card, bytes: u64) -> f64 {
    bytes as f64 / host_copy_seconds(card, bytes) / 1e9
}

/// Pages of 2 MiB of pinned memory that the TLB reaches. On an H200 half a GiB read at random is as fast as in order,
/// and one GiB takes 3.6 times as long. Managed memory that stays with the host does not slow down.
const KNOWN_PAGES: f64 = 256.0;

/// Time in seconds of a request to a page that the TLB does not reach.
const LOOK_UP_SECONDS: f64 = 13e-9;

/// Extra bytes on the link of a load that straddles lines, and of a store: partial lines are sent one by one, and
/// partial sectors once more. Fitted to `block_stride` and `block_stride_write` in half a GiB of pinned memory on an
/// H200.
const SPLIT_BYTES: [f64; 2] = [19.0, 53.0];

/// Traffic of a kernel with the host's memory, in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HostAccess {
    /// Bytes.
    pub bytes: u64,
    /// Requests that straddle lines.
    pub split: u64,
}

/// Time in seconds of the host link for a kernel's reads and writes of the host's memory: both directions overlap.
pub fn host_access_seconds(card: &Card, read: HostAccess, written: HostAccess) -> f64 {
    let [read, written] = [(read, SPLIT_BYTES[0]), (written, SPLIT_BYTES[1])]
        .map(|(access, more)| access.bytes as f64 + access.split as f64 * more);
    read.max(written) / (card.host_access_share * card.host_link_gb_per_s * 1e9)
}

/// Time in seconds of TLB misses: `changes` requests go to another page of 2 MiB than the last request of their warp,
/// and `at_once` distinct pages are in use at a time.
pub fn look_up_seconds(changes: u64, at_once: u64) -> f64 {
    let unknown = 1.0 - KNOWN_PAGES / (at_once as f64).max(KNOWN_PAGES);
    changes as f64 * unknown * LOOK_UP_SECONDS
}

/// Time in seconds of the driver's copy within device memory. It is modelled as a launch that reads and writes every
/// byte once and is bound by L2 and memory alone.
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
