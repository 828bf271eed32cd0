//! The time of a launch.

use super::counters::{Counters, Touched};
use crate::cards::Card;
use crate::coalescing::{LINE_BYTES, SECTOR_BYTES};

/// Of the stores that write a sector again, those that are put together with the first on their way, where each warp has
/// one. Fitted with an H200's constants, and about what follows from the sectors that reach L2 in its naive transposes
/// (Nsight Compute: 0.69 of them with one store a warp, 0.91 with four).
const MERGED: f64 = 0.44;

/// How sharply the slower of device memory and L2 dominates: nearly alone.
const MEMORY_SHARPNESS: f64 = 8.0;

/// Where a launch spends its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Device memory.
    Dram,
    /// The second-level cache.
    L2,
    /// Shared memory and L1.
    OnChip,
    /// Instruction issue.
    Issue,
    /// Waiting: warps for what they have asked for, with too little in flight, and multiprocessors for their blocks.
    Latency,
    /// Starting the kernel.
    Launch,
}

/// The modelled time of a launch, in seconds, and what each level alone would take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaunchTime {
    /// All of it.
    pub seconds: f64,
    /// Starting the kernel.
    pub launch: f64,
    /// Device memory.
    pub dram: f64,
    /// The second-level cache.
    pub l2: f64,
    /// Shared memory and L1.
    pub on_chip: f64,
    /// Instruction issue.
    pub issue: f64,
    /// Waiting, of warps and for blocks.
    pub latency: f64,
}

impl LaunchTime {
    /// The time of a launch with these counters on this card.
    pub fn new(counters: &Counters, card: &Card) -> Self {
        let multiprocessors = f64::from(card.multiprocessors);
        let clocks = multiprocessors * card.clock_mhz * 1e6;
        let per = |work: f64, rate: f64| if work == 0.0 { 0.0 } else { work / rate };

        let straddling = 1.0 + card.straddle_penalty * per(counters.straddling, counters.requests);
        let phases = if counters.phased { 1.0 / card.phase_share } else { 1.0 };
        let read = dram_seconds(&counters.dram_read, card) * counters.camping_read;
        let written = dram_seconds(&counters.dram_written, card) * counters.camping_written;
        let turns = card.dram_turnaround * 2.0 * read.min(written);
        let dram = straddling * phases * (read + written + turns);

        // Warps that had their data at the same time, because L1 had it, store at the same time, and what they store to
        // the same sector is put together on its way. Of others' stores it is some, the fewer the more each has.
        let merged = MERGED / per(counters.stores, counters.warps).max(1.0);
        let rewritten = counters.rewritten * (1.0 - counters.l1_hit_share) * (1.0 - merged);
        let sectors =
            counters.l2_sectors_read + counters.l2_sectors_written + card.rewrite_sectors * rewritten;
        let l2 =
            if card.l2_bytes == 0 { 0.0 } else { sectors * SECTOR_BYTES as f64 / (card.l2_gb_per_s * 1e9) };

        // With few blocks some multiprocessors have one more than others, or nothing to do.
        let share = counters.blocks / multiprocessors;
        let uneven = if share > 0.0 { share.ceil() / share } else { 1.0 };
        let wavefronts = counters.shared_wavefronts + counters.requests.max(counters.l1_turns);
        let on_chip = (wavefronts / card.wavefronts_per_clock)
            .max(counters.constant_turns * card.constant_clocks)
            / clocks
            * uneven;
        let issue = (counters.instructions / card.issue_per_clock)
            .max(counters.integer / card.integer_per_clock)
            / clocks
            * uneven;

        let rounds = per(counters.warps, multiprocessors * counters.resident_warps);
        let rounds = if rounds > 0.0 { rounds.max(1.0) } else { 0.0 };
        let waits = rounds * warp_seconds(counters, card);
        let starts = share * card.block_clocks / (card.clock_mhz * 1e6);
        let latency = smooth_maximum(&[waits, starts], card.sharpness);
        // What comes from memory streams through L2.
        let memory = smooth_maximum(&[dram, l2], MEMORY_SHARPNESS);

        let launch = card.launch_us * 1e-6;
        let seconds = launch + smooth_maximum(&[memory, on_chip, issue, latency], card.sharpness);
        Self { seconds, launch, dram, l2, on_chip, issue, latency }
    }

    /// Where most of it goes.
    pub fn bound(&self) -> Level {
        [
            (self.dram, Level::Dram),
            (self.l2, Level::L2),
            (self.on_chip, Level::OnChip),
            (self.issue, Level::Issue),
            (self.latency, Level::Latency),
            (self.launch, Level::Launch),
        ]
        .into_iter()
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map_or(Level::Launch, |(_, level)| level)
    }
}

/// Device memory's time. For memory that is read or written without gaps, granules, lines and pages come to the same
/// bytes, and this is the bandwidth of a copy; with gaps, each has its weight.
fn dram_seconds(touched: &Touched, card: &Card) -> f64 {
    let by_granules = touched.granules * f64::from(card.dram_granule_bytes);
    let by_lines = touched.lines * LINE_BYTES as f64;
    let by_pages = touched.pages * f64::from(card.dram_page_bytes);
    let granule_weight = 1.0 - card.dram_line_weight - card.dram_page_weight;
    let bytes =
        granule_weight * by_granules + card.dram_line_weight * by_lines + card.dram_page_weight * by_pages;
    bytes / (card.dram_share * card.dram_gb_per_s * 1e9)
}

/// How long a warp takes when nothing but its own waits keeps it.
fn warp_seconds(counters: &Counters, card: &Card) -> f64 {
    let Counters { round_trips, barriers, warps, .. } = *counters;
    // What L1 has, it had to get: the first wait of all is for something that comes from farther away.
    let far = (round_trips * (1.0 - counters.l1_hit_share)).max(round_trips.min(1.0));
    let missed = share_of_memory(counters, card);
    let far_ns = card.l2_latency_ns + (card.dram_latency_ns - card.l2_latency_ns) * missed;
    // A request has its last line later than its first, and at a barrier all warps of a block wait for the last of
    // them: with every doubling of those that are waited for, the last comes so much later.
    let warps_of_block = if counters.blocks > 0.0 { warps / counters.blocks } else { 1.0 };
    let doublings =
        far * counters.lines_a_load.max(1.0).log2() + far.min(barriers) * warps_of_block.max(1.0).log2();
    let integer = if warps == 0.0 { 0.0 } else { counters.integer / warps };
    let clocks = (round_trips - far) * card.l1_clocks + integer * card.integer_clocks;
    let ns = card.warp_overhead_ns + far * far_ns + doublings * missed * card.straggler_ns;
    ns * 1e-9 + clocks / (card.clock_mhz * 1e6)
}

/// The share of what loads ask of L2 that memory has to serve.
fn share_of_memory(counters: &Counters, card: &Card) -> f64 {
    if card.l2_bytes == 0 || counters.l2_sectors_read == 0.0 {
        return 1.0;
    }
    let bytes = counters.dram_read.granules * f64::from(card.dram_granule_bytes);
    (bytes / (counters.l2_sectors_read * SECTOR_BYTES as f64)).min(1.0)
}

/// As long as the longest, and a little longer where others are close to it.
pub(super) fn smooth_maximum(terms: &[f64], sharpness: f64) -> f64 {
    let greatest = terms.iter().copied().fold(0.0, f64::max);
    if greatest == 0.0 {
        return 0.0;
    }
    // Relative to the greatest, so that no power of a small number vanishes.
    let sum: f64 = terms.iter().map(|term| (term / greatest).powf(sharpness)).sum();
    greatest * sum.powf(1.0 / sharpness)
}
