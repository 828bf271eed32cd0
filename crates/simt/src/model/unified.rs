//! Unified memory: what faults, migrations and evictions take.
//!
//! From the source of NVIDIA's open kernel module (595): memory is managed in blocks of 2 MiB, a fault moves a page of
//! 64 KiB at least, and when more than 51% of a subtree is there or wanted, the subtree follows, so that a sequential
//! sweep moves 64 KiB, 64, 128, 256, 512 KiB and 1 MiB of a block in turn. A batch has up to 256 faults. What a batch
//! costs, 45 us, is UVMSmart's figure (ISCA 2019; 20 to 50 us in Zheng et al., HPCA 2016; Kim et al., ASPLOS 2020,
//! measure 223 to 553 us for full batches of irregular access). On top of it comes what the driver does on the host for each
//! page and for each piece that goes in one copy, which is a card's constant, for it is the host that takes it: on the H200
//! of this repository it is most of the time, and faulting gets 5 to 10 GB/s of a link of 55.

use crate::cards::Card;
use crate::coalescing::ComputeCapability;

/// The unit of residence and eviction.
pub const BLOCK_BYTES: u64 = 2 << 20;

/// The least that a fault moves.
pub const PAGE_BYTES: u64 = 64 << 10;

/// Faults that are served together at most.
pub const FAULTS_A_BATCH: u64 = 256;

/// Handling of one batch of faults, without the data.
pub const BATCH_SECONDS: f64 = 45e-6;

/// What is moved in turn when a block is swept from its start, by the tree prefetcher.
pub const SWEEP_BYTES: [u64; 6] =
    [PAGE_BYTES, PAGE_BYTES, 2 * PAGE_BYTES, 4 * PAGE_BYTES, 8 * PAGE_BYTES, 16 * PAGE_BYTES];

/// True when the card can fault on memory that is not there, which is from Pascal on. Before it, a launch first moves
/// every managed allocation to the card, whole.
pub fn faults(capability: ComputeCapability) -> bool {
    capability.major >= 6
}

/// The link's bandwidth in GB/s for one migration of so many bytes: UVMSmart's fit for PCIe 3, `12 * 2/pi *
/// atan(0.0729 * KiB)`, scaled to the card's link.
pub fn migration_gb_per_s(card: &Card, bytes: u64) -> f64 {
    let kib = bytes as f64 / 1024.0;
    // The fit's 12 GB/s are what PCIe 3 gives a large copy, and so is the card's figure for its own link.
    card.host_link_gb_per_s * std::f64::consts::FRAC_2_PI * (0.0729 * kib).atan()
}

/// Moving so many bytes in one piece.
pub fn migration_seconds(card: &Card, bytes: u64) -> f64 {
    if bytes == 0 { 0.0 } else { bytes as f64 / (migration_gb_per_s(card, bytes) * 1e9) }
}

/// Handling so many faults that arrive together.
pub fn fault_seconds(faults: u64) -> f64 {
    faults.div_ceil(FAULTS_A_BATCH) as f64 * BATCH_SECONDS
}

/// The host's part in bringing what was faulted on, without the handling of the batch and without the link: so many pages
/// of 64 KiB, in so many pieces that lie together.
pub fn service_seconds(card: &Card, pages: u32, pieces: u32) -> f64 {
    (f64::from(pages) * card.fault_page_us + f64::from(pieces) * card.fault_piece_us) * 1e-6
}

/// Finding out where so many blocks are that came to the card since the last launch: nothing that the card keeps of
/// addresses knows them. From launches over 0.5 and 1 GiB that had been prefetched, on an H200.
pub fn first_touch_seconds(blocks: u64) -> f64 {
    blocks as f64 * 0.08e-6
}

/// Faulting in memory that is swept in order: one batch of faults a block, and the block in the prefetcher's pieces.
pub fn sweep_seconds(card: &Card, bytes: u64) -> f64 {
    let block: f64 = SWEEP_BYTES.iter().map(|&piece| migration_seconds(card, piece)).sum();
    bytes as f64 / BLOCK_BYTES as f64 * (BATCH_SECONDS + block)
}

/// Faulting in `pages` single pages, scattered so that the prefetcher finds nothing to add, `at_once` of them waiting
/// at a time.
pub fn scattered_seconds(card: &Card, pages: u64, at_once: u64) -> f64 {
    let batches = pages.div_ceil(at_once.clamp(1, FAULTS_A_BATCH));
    batches as f64 * BATCH_SECONDS + pages as f64 * migration_seconds(card, PAGE_BYTES)
}

/// Making room for `blocks` blocks on a full card: those that were written since they came go back over the link.
pub fn eviction_seconds(card: &Card, blocks: u64, dirty_share: f64) -> f64 {
    blocks as f64 * dirty_share.clamp(0.0, 1.0) * migration_seconds(card, BLOCK_BYTES)
}

/// A prefetch asked for by the program: no faults, whole blocks.
pub fn prefetch_seconds(card: &Card, bytes: u64) -> f64 {
    bytes.div_ceil(BLOCK_BYTES) as f64 * migration_seconds(card, BLOCK_BYTES.min(bytes))
}
