//! Models the time that unified memory spends on faults, migrations and evictions.
//!
//! The rules are those of NVIDIA's open kernel module (595). It manages memory in blocks of 2 MiB. A fault moves at
//! least a page of 64 KiB. Once more than 51% of a subtree is resident or requested, the whole subtree is fetched, so a
//! sequential sweep of a block moves 64, 64, 128, 256 and 512 KiB and then 1 MiB. A batch has up to 256 faults.
//!
//! A batch costs 45 us, UVMSmart's figure (ISCA 2019). Zheng et al. (HPCA 2016) have 20 to 50 us; Kim et al. (ASPLOS
//! 2020) measure 223 to 553 us for full batches of irregular access. The driver's work on the host is added per page
//! and per contiguous copy. It is a constant of the card's description, although the host determines it: on this
//! repository's H200 it is most of the time, and faulting reaches 5 to 10 GB/s of a link of 55.

use crate::cards::Card;
use crate::coalescing::ComputeCapability;

/// Unit of residence and eviction, in bytes.
pub const BLOCK_BYTES: u64 = 2 << 20;

/// Smallest migration that a fault causes, in bytes.
pub const PAGE_BYTES: u64 = 64 << 10;

/// Most faults that are served together.
pub const FAULTS_A_BATCH: u64 = 256;

/// Time to handle one batch of faults, without the data, in seconds.
pub const BATCH_SECONDS: f64 = 45e-6;

/// Migrations in bytes, in order, when the tree prefetcher sweeps a block from its start.
pub const SWEEP_BYTES: [u64; 6] =
    [PAGE_BYTES, PAGE_BYTES, 2 * PAGE_BYTES, 4 * PAGE_BYTES, 8 * PAGE_BYTES, 16 * PAGE_BYTES];

/// Returns true if the card can fault on absent memory: from Pascal on. On older cards a launch first moves every
/// managed allocation to the card, whole.
pub fn faults(capability: ComputeCapability) -> bool {
    capability.major >= 6
}

/// Bandwidth of the link in GB/s for one migration of `bytes`: UVMSmart's fit for PCIe 3, `12 * 2/pi * atan(0.0729 *
/// KiB)`, scaled to the card's link.
pub fn migration_gb_per_s(card: &Card, bytes: u64) -> f64 {
    let kib = bytes as f64 / 1024.0;
    // The fit's 12 GB/s are what PCIe 3 gives a large copy; the card's own figure takes their place.
    card.host_link_gb_per_s * std::f64::consts::FRAC_2_PI * (0.0729 * kib).atan()
}

/// Time in seconds to migrate `bytes` in one copy.
pub fn migration_seconds(card: &Card, bytes: u64) -> f64 {
    if bytes == 0 { 0.0 } else { bytes as f64 / (migration_gb_per_s(card, bytes) * 1e9) }
}

/// Time in seconds to handle `faults` that arrive together.
pub fn fault_seconds(faults: u64) -> f64 {
    faults.div_ceil(FAULTS_A_BATCH) as f64 * BATCH_SECONDS
}

/// Host's part of a fault in seconds, for `pages` of 64 KiB in `pieces` contiguous copies. It excludes the handling of
/// the batch and the link.
pub fn service_seconds(card: &Card, pages: u32, pieces: u32) -> f64 {
    (f64::from(pages) * card.fault_page_us + f64::from(pieces) * card.fault_piece_us) * 1e-6
}

/// Time in seconds of the first TLB misses on `blocks` that migrated since the last launch. From launches over 0.5 and
/// 1 GiB of prefetched memory on an H200.
pub fn first_touch_seconds(blocks: u64) -> f64 {
    blocks as f64 * 0.08e-6
}

/// Time in seconds to fault in `bytes` swept in order: one batch of faults per block, then the prefetcher's migrations.
pub fn sweep_seconds(card: &Card, bytes: u64) -> f64 {
    let block: f64 = SWEEP_BYTES.iter().map(|&piece| migration_seconds(card, piece)).sum();
    bytes as f64 / BLOCK_BYTES as f64 * (BATCH_SECONDS + block)
}

/// Time in seconds to fault in `pages` scattered pages, which the prefetcher does not extend; `at_once` faults are
/// outstanding at a time.
pub fn scattered_seconds(card: &Card, pages: u64, at_once: u64) -> f64 {
    let batches = pages.div_ceil(at_once.clamp(1, FAULTS_A_BATCH));
    batches as f64 * BATCH_SECONDS + pages as f64 * migration_seconds(card, PAGE_BYTES)
}

/// Time in seconds to evict `blocks` from a full card: the dirty ones are written back over the link.
pub fn eviction_seconds(card: &Card, blocks: u64, dirty_share: f64) -> f64 {
    blocks as f64 * dirty_share.clamp(0.0, 1.0) * migration_seconds(card, BLOCK_BYTES)
}

/// Time in seconds of an explicit prefetch: no faults, whole blocks.
pub fn prefetch_seconds(card: &Card, bytes: u64) -> f64 {
    bytes.div_ceil(BLOCK_BYTES) as f64 * migration_seconds(card, BLOCK_BYTES.min(bytes))
}
