//! The time of a launch.

use super::counters::{Counters, Touched};
use crate::cards::Card;
use crate::coalescing::{LINE_BYTES, SECTOR_BYTES};

/// Wavefronts of L1 that a line costs when a request touches many: 0.30 on an H200 (gpu-benches, cycles of a warp's
/// load by stride; 0.27 on an A100).
const WAVEFRONTS_A_LINE: f64 = 0.30;

/// How sharply the slowest level dominates: 4 rounds the knee of bandwidth over occupancy about as measured.
const SHARPNESS: f64 = 4.0;

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
    /// Waiting, with too little in flight.
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
    /// Waiting.
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
        let dram = straddling
            * phases
            * (dram_seconds(&counters.dram_read, card) * counters.camping_read
                + dram_seconds(&counters.dram_written, card) * counters.camping_written);

        let sectors = counters.l2_sectors_read + counters.l2_sectors_written;
        let l2 =
            if card.l2_bytes == 0 { 0.0 } else { sectors * SECTOR_BYTES as f64 / (card.l2_gb_per_s * 1e9) };

        let wavefronts =
            counters.shared_wavefronts + counters.requests.max(WAVEFRONTS_A_LINE * counters.lines);
        let on_chip = wavefronts / (clocks * card.wavefronts_per_clock);
        let issue = counters.instructions / (clocks * card.issue_per_clock);

        let rounds = per(counters.warps, multiprocessors * counters.resident_warps);
        let rounds = if rounds > 0.0 { rounds.max(1.0) } else { 0.0 };
        let a_round = counters.round_trips * load_latency_ns(counters, card) + card.warp_overhead_ns;
        let latency = straddling * rounds * a_round * 1e-9;

        let launch = card.launch_us * 1e-6;
        let seconds = launch + smooth_maximum([dram, l2, on_chip, issue, latency]);
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

/// The mean latency of a load, between L2's and memory's by the share that memory has to serve.
fn load_latency_ns(counters: &Counters, card: &Card) -> f64 {
    if card.l2_bytes == 0 || counters.l2_sectors_read == 0.0 {
        return card.dram_latency_ns;
    }
    let missed = counters.dram_read.granules * f64::from(card.dram_granule_bytes)
        / (counters.l2_sectors_read * SECTOR_BYTES as f64);
    card.l2_latency_ns + (card.dram_latency_ns - card.l2_latency_ns) * missed.min(1.0)
}

fn smooth_maximum(terms: [f64; 5]) -> f64 {
    let greatest = terms.into_iter().fold(0.0, f64::max);
    if greatest == 0.0 {
        return 0.0;
    }
    // Relative to the greatest, so that no power of a small number vanishes.
    let sum: f64 = terms.into_iter().map(|term| (term / greatest).powf(SHARPNESS)).sum();
    greatest * sum.powf(1.0 / SHARPNESS)
}
