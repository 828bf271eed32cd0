//! Models the time of a launch from its counters.
//!
//! A kernel is bound by whichever of its resources is busy longest: it is *bandwidth-bound* by device memory, L2 or
//! shared memory, *issue-bound* by the schedulers, or *latency-bound* if too few warps are in flight to keep any of
//! these busy. [`LaunchTime::new`] computes for each the time that it alone would take. Resources work side by side, so
//! the launch takes about the longest of these times, and a little more where a second one comes close. The terms are
//! combined by a p-norm ([`smooth_maximum`]): with sharpness 3, terms of 10 us and 5 us give 10.4 us, and two terms
//! of 10 us give 12.6 us. [`super`] has the formula and the origin of each constant.
//!
//! Memory and the waits for it are combined first, and less sharply: the busier memory is, the longer a warp waits for it, as
//! in any queue.
//!
//! This is a roofline with more than two roofs. Models of the kind, which count the work of warps analytically instead
//! of simulating cycles, begin with Hong and Kim, "An Analytical Model for a GPU Architecture with Memory-level and
//! Thread-level Parallelism Awareness" (ISCA 2009). Our counts come from executing the kernel.
//!
//! # Latency
//!
//! Little's law says that the mean number of requests in flight is their rate times their latency. Volkov's thesis,
//! "Understanding Latency Hiding on GPUs" (Berkeley, 2016), applies it to warps: a multiprocessor that holds W resident
//! warps, each of which takes L seconds, completes at most W / L warps per second. So a launch of `warps` warps takes
//! `warps / (multiprocessors * resident_warps)` waves of L, at least one. L is what a warp takes alone: its round trips
//! to memory one after another, as the scoreboard of [`exec`](crate::exec) found them (two loads whose results are
//! first used together are one round trip), and its dependent instructions.
//!
//! A warp that follows a chain of addresses through memory has each load's latency by itself: [`chain`] has the card's
//! clocks for it, by the level that the loads hit.
//!
//! For example, take 132 multiprocessors with 64 resident warps each and 16896 warps of one 16-byte load per lane, 8.65
//! MB in all, on a card that moves 4 TB/s:
//!
//! ```text
//! latency    16896 / (132 * 64) = 2 waves; a round trip of 600 ns each     1.2 us
//! bandwidth  8.65 MB / 4 TB/s                                              2.2 us: the kernel is bound by memory
//! with 8 resident warps per multiprocessor, 16 waves:                      9.6 us: it is latency-bound
//! in flight  132 * 8 warps * 512 bytes = 0.54 MB, but 4 TB/s * 600 ns = 2.4 MB are needed
//! ```

use super::counters::{Counters, Touched};
use super::peer::{ATOMIC_TIMES, ATOMIC_WORD_TIMES};
use crate::cards::Card;
use crate::coalescing::{LINE_BYTES, SECTOR_BYTES};
use crate::count::{SHARED_CLOCKS, SLICES};

/// Of 1, 2, 4, .. 64 adjacent pieces of 256 bytes, those that lie in the busiest slice of an H200's L2: the mean of three places of
/// a table to whose words a probe added at random.
const IN_BUSIEST_SLICE: [f64; 7] = [1.0, 1.0, 1.7, 2.0, 1.8, 2.7, 3.3];

/// Further ones with each doubling of their number.
const MORE_IN_SLICE: f64 = 0.4;

/// Clocks of a multiprocessor for each wavefront of an atomic in shared memory that is a [loop](counters::LoopedAtomics): on an H200,
/// 8 blocks of 256 threads that add floats to 256 words take 3.4 clocks a request, whose one wavefront then limits
/// (`coalesce run atomics`).
const LOOP_CLOCKS: f64 = 3.1;

/// An atomic in shared memory that is a loop: each turn loads the word, computes, and swaps if the word is still the same.
struct Loop {
    /// Clocks of a turn in a warp alone, which has as many turns as lanes want one word or one bank.
    turn: f64,
    /// Clocks from one success on a word to the next, by the warps of the block, of 1, 2, 4, .. 32 of them. Of more warps one is
    /// sooner about to swap, but no success follows another before it has loaded what that wrote.
    between: [f64; 6],
    /// The same for each warp that shares the multiprocessor, where there are many: their turns share the pipe.
    crowded: f64,
}

/// Loops on 32 and on 64 bits, measured on an H200. Blocks of as many warps, one a multiprocessor and two, all of whose threads add to one
/// word; clocks of an operation:
///
/// ```text
/// warps of the block      1     2     4     8    16    32
/// add.f32, one block     96    88    78    53    46    43      1 to 32 words alike, by the operations on each
/// add.f32, two blocks    95    88    80    54    49    90
/// add.u64, one block    111   104   105    56    55    64
/// add.u64, two blocks   111   105   102    59    69   125
/// ```
///
/// By `coalesce run atomics`, 8 blocks of 8 warps: 108 and 168. A warp alone that adds to random ones of 32 to 1024 words takes 370
/// clocks a request, of which 3.5 lanes meet in one bank.
const LOOPS: [Loop; 2] = [
    Loop { turn: 95.0, between: [95.0, 88.0, 78.0, 53.0, 46.0, 43.0], crowded: 1.55 },
    Loop { turn: 111.0, between: [111.0, 104.0, 104.0, 56.0, 55.0, 55.0], crowded: 2.3 },
];

impl Loop {
    /// Clocks from one success on a word to the next: `block` is the warps of a block, `resident` those of a multiprocessor.
    fn between(&self, block: f64, resident: f64) -> f64 {
        let last = self.between.len() - 1;
        let doublings = block.max(1.0).log2().min(last as f64);
        let at = (doublings as usize).min(last - 1);
        let [low, high] = [self.between[at], self.between[at + 1]];
        (low + (high - low) * (doublings - at as f64)).max(self.crowded * resident)
    }
}

/// Clocks of a multiprocessor for each value that `match.any` tells apart: on an H200, 65 for the 32 of a warp.
const MATCH_CLOCKS: f64 = 2.0;

/// Bytes that a multiprocessor reads or writes each clock in the shared memory of other blocks of a cluster.
///
/// On an H200, each multiprocessor has a port to the network between them, whatever the size of the cluster and the distance in it:
/// where 64 blocks on 64 multiprocessors do nothing else, each loads 17.1 bytes a clock and stores 20.4. The network has a little
/// less for all together. With one block on each of 112 multiprocessors, the slowest of them load, in bytes a clock:
///
/// ```text
/// blocks of a cluster      2       4       8      16
/// words of 32 bits      16.2    13.9    14.2    14.1
/// vectors of 16 bytes   16.1    10.7    12.4    12.5
/// ```
const CLUSTER_BYTES_PER_CLOCK: f64 = 13.0;

/// Clocks that a load from another block takes beyond one from the own block by the same instruction (`coalesce run cluster`).
const CLUSTER_FAR_CLOCKS: f64 = 181.0;

/// Most by which the simulation's time counts as longer or shorter than the formula's in the mean of both.
///
/// Of kernels that this repository does not have (the 530 open rows of docs/fidelity.md), the mean is off by 6.6% in the median, and 42 rows are
/// off by more than a quarter; without this limit 45 are, and by the formula alone, which has a median of 7.9%, 55.
const MOST_APART: f64 = 1.3;

/// The level at which a launch spends its time.
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
    /// Waiting: warps for outstanding loads, with too few in flight, and multiprocessors for their blocks to start.
    Latency,
    /// Starting the kernel.
    Launch,
}

/// The modelled time of a launch, in seconds, and what each level alone would take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaunchTime {
    /// The whole launch.
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
    /// Waits of warps, and of multiprocessors for blocks to start.
    pub latency: f64,
}

impl LaunchTime {
    /// The time of a launch with these counters on this card.
    #[doc(hidden)]
    pub fn new(counters: &Counters, card: &Card) -> Self {
        let multiprocessors = f64::from(card.multiprocessors);
        let clocks = multiprocessors * card.clock_mhz * 1e6;
        let per = |work: f64, rate: f64| if work == 0.0 { 0.0 } else { work / rate };

        let straddling = 1.0 + card.straddle_penalty * per(counters.straddling, counters.requests);
        let phases = if counters.phased { 1.0 / card.phase_share } else { 1.0 };
        let (fetched, written) = device_traffic(counters, card);
        let weights = GapWeights::of(&fetched, &written, card);
        let read = weights.seconds(&fetched, card) * counters.camping_read;
        let written = weights.seconds(&written, card) * counters.camping_written;
        let turns = card.dram_turnaround * 2.0 * read.min(written);
        let dram = straddling * phases * (read + written + turns);

        // A reduction takes the time in which L2 changes its words, and no other: on an H200 0.0097 ns a sector in a run of them at
        // random places of 4 and of 16 MiB, and an `atom.exch`, which gives the old value back, 0.0129. What is given back takes as long
        // as what is loaded.
        let &Counters { reduced_sectors, returned_sectors, .. } = counters;
        let stored = counters.l2_sectors_written - reduced_sectors - returned_sectors;
        let sectors = counters.l2_sectors_read + returned_sectors + card.l2_store_times * stored;
        let l2 =
            if card.l2_bytes == 0 { 0.0 } else { sectors * SECTOR_BYTES as f64 / (card.l2_gb_per_s * 1e9) };
        // Parts of lines that L2 changes take longer than those that it only reads or replaces.
        let clock = card.clock_mhz * 1e6;
        let updates = counters.scattered + counters.rewritten + counters.atomic_rounds;
        let in_part = (counters.stored_in_part - counters.scattered).max(0.0);
        let parts = updates * card.l2_update_clocks
            + in_part * card.l2_partial_clocks
            + counters.gathered * card.l2_part_clocks;
        let l2 = l2 + parts / clock;
        let contended = contended_seconds(counters, card);
        // The slice of L2 where most atomics meet has its share of all rounds before that, and of what they give back.
        let returned = returned_sectors * SECTOR_BYTES as f64 / (card.l2_gb_per_s * 1e9);
        let rounds_of_all = counters.atomic_rounds * card.l2_update_clocks / clock;
        // Data that L2 does not hold are fetched before they are changed, and written back. Atomics wait for that, although what warps load
        // streams in beside them: on an H200 `count_kmers` and `item_pairs` of the program `fidelity`, whose counters L2 does not hold,
        // take as long as their atomics and device memory one after the other.
        let of_atomics = per(reduced_sectors + returned_sectors, counters.l2_sectors_written).min(1.0);
        let exchanged = 2.0 * straddling * written * of_atomics;
        let atomics = contended + rounds_of_all + returned + exchanged;

        // With few blocks, some multiprocessors have one block more than others, or none.
        let share = counters.blocks / multiprocessors;
        let uneven = if share > 0.0 { share.ceil() / share } else { 1.0 };
        // Where blocks differ, the multiprocessor counts that has most to do.
        let unlike = (counters.imbalance / uneven).max(1.0);
        let uneven = uneven * unlike;
        let wavefronts = counters.shared_wavefronts
            + counters.shared_atomics * (card.shared_atomic_clocks - 1.0)
            + counters.looped_wavefronts * (LOOP_CLOCKS - 1.0)
            + counters.shuffles
            + counters.requests.max(counters.l1_turns)
            + counters.idle_requests;
        let on_chip = (wavefronts / card.wavefronts_per_clock)
            .max(counters.constant_turns * card.constant_clocks)
            .max(counters.matched_values * MATCH_CLOCKS)
            .max(counters.cluster_bytes / CLUSTER_BYTES_PER_CLOCK)
            / clocks
            * uneven;
        let issue = (counters.instructions / (card.issue_per_clock * card.issue_share))
            .max(counters.integer / card.integer_per_clock)
            .max(counters.multiply / card.multiply_per_clock)
            .max(counters.special / card.special_per_clock)
            .max(counters.double / card.double_per_clock)
            / clocks
            * uneven;

        let rounds = per(counters.warps, multiprocessors * counters.resident_warps);
        let rounds = if rounds > 0.0 { rounds.max(1.0) } else { 0.0 };
        // In a block, the threads that loop for its busiest word follow one another.
        let (block, resident) = (per(counters.warps, counters.blocks), resident(counters, card));
        let [words, wide] = LOOPS.map(|of| of.between(block, resident));
        let in_loops = counters.looped_operations * words + counters.looped_wide_operations * wide;
        let in_loops = rounds * per(in_loops, counters.blocks) / clock;
        // From barrier to barrier, the warps of a block wait for the one that has most to do. A multiprocessor that has room for all of
        // its blocks ends with the longest warp.
        let waits =
            (rounds * counters.pace.max(1.0)).max(counters.longest_warp) * warp_seconds(counters, card);
        let starts = share * card.block_clocks / (card.clock_mhz * 1e6);
        // Data from device memory stream through L2, so that the two overlap; but a warp that has one load at a time under way
        // waits for both.
        let memory = if is_pure_chain(counters) { dram + l2 } else { dram.max(l2) };

        let launch = card.launch_us * 1e-6;
        // Blocks of one wave begin together and do the same at a time, so that levels overlap less.
        let waves = rounds.max(1.0);
        let overlapping = |sharpness: f64, share: f64| 1.0 + (sharpness - 1.0) * (1.0 - share / waves);
        let waiting = smooth_maximum(&[memory, waits], overlapping(card.wait_sharpness, card.lockstep));
        let sharpness = overlapping(card.sharpness, card.lockstep);
        let on_chip = smooth_maximum(&[on_chip, in_loops], sharpness);
        let (busy, latency) = if counters.busy_ns > 0.0 {
            let busy = counters.busy_ns * 1e-9;
            // The time in which no level is busy.
            (busy, (busy - dram.max(l2).max(on_chip).max(issue)).max(0.0))
        } else {
            // Latency is combined as in the whole, so that the parts add up to no less than it.
            (
                smooth_maximum(&[waiting, on_chip, issue, starts], sharpness),
                smooth_maximum(&[waits, starts], sharpness),
            )
        };
        // Atomics that meet in one place come at the end of most kernels. If all blocks run at once, nothing hides them.
        let seconds = smooth_maximum(&[busy, contended], overlapping(card.wait_sharpness, 1.0)).max(atomics);
        Self { seconds: launch + seconds, launch, dram, l2: l2.max(atomics), on_chip, issue, latency }
    }

    /// The time by this formula and by a [simulation](crate::multiprocessor) of a multiprocessor together: their geometric mean, for
    /// which the simulation counts at most 1.3 times as long or as short, or this formula's time where the simulation has none.
    ///
    /// Both are wrong by different kernels: the formula knows how much a launch needs of each level and not in which order, the
    /// simulation knows the order of a few blocks. For example, 10 us by the formula and 9 us by simulation are 9.5 us, and with 16 us by
    /// simulation, which count as 13 us, they are 11.4 us. What each level alone would take stays as it is.
    #[must_use]
    pub fn and_simulated(self, seconds: Option<f64>) -> Self {
        let mean = |simulated: f64| {
            self.seconds * (simulated / self.seconds).clamp(1.0 / MOST_APART, MOST_APART).sqrt()
        };
        Self { seconds: seconds.map_or(self.seconds, mean), ..self }
    }

    /// Returns the level that takes most of the time.
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

/// Share of sectors that seem to lie alone, up to which requests may be no more than misaligned.
const MISALIGNED: f64 = 1.0 / 3.0;

/// Pages per granule where all granules of a page are moved.
const DENSE: f64 = 0.25;

/// Traffic of device memory: what L2 fetches, sectors that it [fills up](Counters::filled) included, and what it writes back.
fn device_traffic(counters: &Counters, card: &Card) -> (Touched, Touched) {
    if card.dram_gaps_alone == 1.0 {
        return (counters.dram_read, counters.dram_written);
    }
    let Counters { gathered, scattered, indexed_loads, indexed_stores, .. } = *counters;
    let fetched = opened(counters.dram_read, gathered, indexed_loads, counters.l2_sectors_read);
    let written = opened(counters.dram_written, scattered, indexed_stores, counters.l2_sectors_written);
    if counters.filled == 0.0 || written.granules == 0.0 {
        return (fetched, written);
    }
    // A granule for each sector where they lie apart, and for two where they fill lines. Fetched as it is written back.
    let apart = (counters.lines_a_sector - 0.25) / 0.75;
    let filled = counters.filled * (0.5 + 0.5 * apart) / written.granules;
    let add = |fetched: f64, written: f64| fetched + filled * written;
    let fetched = Touched {
        granules: add(fetched.granules, written.granules),
        lines: add(fetched.lines, written.lines),
        pages: add(fetched.pages, written.pages),
    };
    (fetched, written)
}

/// The same traffic with each line counted as often as device memory opens it.
///
/// Sectors that warps access apart from others come at a time of their own, although others of their line, and lines of their
/// page, come while L2 still holds the first. `parts` are the lines that requests touch beyond those that their sectors fill:
/// three quarters for a sector alone. For example, 12 sectors alone, all of which miss: 9 parts, 12 granules, 12 lines, even if
/// they lie in 6 lines.
///
/// A misaligned request has parts too, up to a third of what sectors alone would have: 4 sectors in 2 lines. But it comes with
/// its neighbours.
///
/// Of sectors whose place a value from memory tells, each also opens its page by itself, since the others of the page come at any
/// time; `indexed` is their share. Those at regular distances come soon one after the other. Where a page's granules are all
/// fetched, it is taken to have been opened once.
fn opened(touched: Touched, parts: f64, indexed: f64, sectors: f64) -> Touched {
    let Touched { granules, lines, pages } = touched;
    if sectors == 0.0 || lines == 0.0 {
        return touched;
    }
    let alone = (((parts / 0.75 / sectors).min(1.0) - MISALIGNED) / (1.0 - MISALIGNED)).max(0.0);
    let missed = (granules / (sectors * (alone + (1.0 - alone) / 2.0))).min(1.0);
    let times = granules.min(missed * sectors * (alone + (1.0 - alone) / 4.0));
    let apart = indexed * ((pages / granules - DENSE) / DENSE).clamp(0.0, 1.0);
    let (lines, pages) = if times > lines { (times, pages * times / lines) } else { (lines, pages) };
    let lone = (missed * sectors * alone).min(granules);
    let pages = pages.max(apart * (lone + (granules - lone) * DENSE) + (1.0 - apart) * pages);
    Touched { granules, lines: lines.max(pages), pages }
}

/// Weights of lines and of pages in the time of device memory.
///
/// A controller puts requests into an order that opens few rows. Where reads alternate with writes, it cannot: it has to finish
/// with the one before it turns to the other, and gaps cost several times as much. On an H200 a granule of 64 bytes costs, in ps:
///
/// ```text
/// granules apart by     64 bytes    128 bytes    256 bytes
/// read alone            14.6        16.3         20           l2_fetch, mountain
/// read and written      2 * 15.6    2 * 24.5     2 * 33       stride
/// ```
struct GapWeights {
    granules: f64,
    lines: f64,
    pages: f64,
}

impl GapWeights {
    fn of(fetched: &Touched, written: &Touched, card: &Card) -> Self {
        let both = fetched.granules + written.granules;
        let mixed = if both > 0.0 { 2.0 * fetched.granules.min(written.granules) / both } else { 0.0 };
        let share = card.dram_gaps_alone + (1.0 - card.dram_gaps_alone) * mixed;
        let (lines, pages) = (share * card.dram_line_weight, share * card.dram_page_weight);
        Self { granules: 1.0 - lines - pages, lines, pages }
    }

    /// Time of device memory in seconds. Without gaps, granules, lines and pages add up to the same bytes, and this is the
    /// bandwidth of a copy; with gaps, each unit counts with its weight.
    fn seconds(&self, touched: &Touched, card: &Card) -> f64 {
        let by_granules = touched.granules * f64::from(card.dram_granule_bytes);
        let by_lines = touched.lines * LINE_BYTES as f64;
        let by_pages = touched.pages * f64::from(card.dram_page_bytes);
        let bytes = self.granules * by_granules + self.lines * by_lines + self.pages * by_pages;
        bytes / (card.dram_share * card.dram_gb_per_s * 1e9)
    }
}

/// Time in seconds of the atomics in the place where most of them meet, beyond what each place has: a word, or the slice of L2 with
/// the most rounds.
///
/// The card spreads addresses over slices by a hash that is estimated: of pieces that are hit alike, the busiest slice has as many as
/// was measured; where some are hit more than others, what lies in it is counted by a hash like an H200's. A round takes as long as
/// one on a single word, or less if it changes all words of its sector. Additions of floats to one word, or to one sector by requests
/// of their own, follow one another more slowly than those of integers.
///
/// For example, 1 048 576 reductions of 32 bits to words at random, uniform or so that half of them go to the first quarter of the
/// words (x^2) or to the first eighth (x^3). An H200 takes these us, 0.70 to 0.78 ns for each round in the busiest slice:
///
/// ```text
/// words            64     256    1024    8192   65536   1048576
/// uniform         305     273      91      32      14        13
/// x^2             321     310     190      82      40        20
/// x^3             375     347     244     139      84        44
/// ```
fn contended_seconds(counters: &Counters, card: &Card) -> f64 {
    let &Counters { hottest_rounds, slice_rounds, alike, hottest_operations, .. } = counters;
    let whole = ((counters.atomic_share - 0.125) / 0.875).clamp(0.0, 1.0);
    // What another card sends takes longer.
    let over_link = |times: f64| 1.0 + (times - 1.0) * counters.peer_atomic_share;
    let word_clocks = card.atomic_word_clocks * over_link(ATOMIC_WORD_TIMES);
    let clocks = word_clocks * (1.0 - whole) + card.atomic_clocks * over_link(ATOMIC_TIMES) * whole;
    // What all slices have is among the parts of lines that L2 changes.
    let busiest = slice_rounds.max(hottest_rounds * in_busiest_slice(alike));
    let slice = (busiest - counters.atomic_rounds / SLICES as f64).max(0.0) * clocks;
    let float = counters.float_share;
    let word = word_clocks * (1.0 - float) + card.atomic_float_clocks * over_link(ATOMIC_WORD_TIMES) * float;
    let loads = counters.hottest_loads * card.l2_hot_load_clocks;
    (slice.max(hottest_operations * word) + loads) / (card.clock_mhz * 1e6)
}

/// Returns how many of these pieces of memory, all hit alike, lie in the busiest slice of L2.
fn in_busiest_slice(pieces: f64) -> f64 {
    let doublings = pieces.max(1.0).log2();
    let [.., last] = IN_BUSIEST_SLICE;
    let (at, most) = (doublings as usize, IN_BUSIEST_SLICE.len() - 1);
    if at >= most {
        return last + MORE_IN_SLICE * (doublings - most as f64);
    }
    let [low, high] = [IN_BUSIEST_SLICE[at], IN_BUSIEST_SLICE[at + 1]];
    low + (high - low) * doublings.fract()
}

/// Time in seconds that a warp takes when only its own dependences delay it.
fn warp_seconds(counters: &Counters, card: &Card) -> f64 {
    let (chained, chain_clocks) = chain(counters, card);
    let waits = counters.round_trips;
    let round_trips = waits - chained;
    // A wait is for L1 alone where all loads that are waited for together hit. Data that L1 holds had to be fetched once: at
    // least the first wait is for L2 or device memory.
    let together = loads_a_wait(counters);
    let far = (round_trips * (1.0 - counters.l1_hit_share.powf(together))).max(round_trips.min(1.0));
    let missed = share_of_memory(counters, card);
    let far_ns = card.l2_latency_ns
        + (card.dram_latency_ns - card.l2_latency_ns) * missed
        + (card.peer_load_ns - card.l2_latency_ns) * counters.peer_share;
    // Instructions that depend on each other take their clocks, and more where loads are waited for as well.
    let far_clocks = far * far_ns * card.clock_mhz * 1e-3;
    let plain = counters.dependency_clocks - chained_on_chip(counters, card) * f64::from(SHARED_CLOCKS);
    let beside = (ALL_CLOCKS * far_clocks / plain.max(1.0)).min(1.0);
    let dependent = plain * (1.0 + (card.dependency_share - 1.0) * beside);
    // The last line of a request that touches several comes later than the first, in L1 already.
    let lines = counters.lines_a_load.max(1.0).log2() * card.line_clocks;
    let clocks = (round_trips - far) * card.l1_clocks
        + waits * lines
        + dependent
        + chain_clocks
        + turn_clocks(counters);
    let ns = card.warp_overhead_ns + far * far_ns;
    ns * 1e-9 + clocks / (card.clock_mhz * 1e6)
}

/// Warps that share a multiprocessor, of a launch that may not fill it.
fn resident(counters: &Counters, card: &Card) -> f64 {
    counters.resident_warps.min(counters.warps / f64::from(card.multiprocessors))
}

/// Clocks that a warp takes for the turns of its [loops](Loop), whether others want the same words or not.
fn turn_clocks(counters: &Counters) -> f64 {
    let operations = counters.looped_operations + counters.looped_wide_operations;
    if operations == 0.0 {
        return 0.0;
    }
    let [words, wide] = LOOPS;
    let turn =
        (counters.looped_operations * words.turn + counters.looped_wide_operations * wide.turn) / operations;
    counters.looped_wavefronts / counters.warps * turn
}

/// Loads that a warp waits for together.
fn loads_a_wait(counters: &Counters) -> f64 {
    let waits = counters.round_trips * counters.warps;
    if waits > 0.0 { ((counters.loads - counters.copies) / waits).max(1.0) } else { 1.0 }
}

/// Clocks of dependent instructions that count [more](Card::dependency_share) for each clock of waiting for memory; the others count
/// once. The share was fitted to kernels that load. `stream_chain`, which does not, took 9.6 us on an H200, and 12.5 by the formula
/// with it.
const ALL_CLOCKS: f64 = 4.0;

/// Least share of a warp's round trips that a chain makes up for its latencies to count one by one.
const CHAIN: f64 = 0.9;

/// True if each load of a warp waits for the one before it.
fn is_pure_chain(counters: &Counters) -> bool {
    counters.loads > 0.0 && counters.chained_loads * counters.warps >= CHAIN * counters.loads
}

/// Loads of a warp that follow a chain through shared memory, on a card whose clocks for that are known. The clocks of dependent
/// instructions have them as [on an H200](SHARED_CLOCKS).
fn chained_on_chip(counters: &Counters, card: &Card) -> f64 {
    if card.chain_clocks[0] > 0.0 { counters.chained_on_chip } else { 0.0 }
}

/// Round trips of a warp that are loads of a chain, and the clocks that they and [those through shared memory](chained_on_chip) take.
///
/// Nothing hides the latency of such loads, so the card's [`chain_clocks`](Card::chain_clocks) are those of the level that each
/// hits. The other waits of a warp are shorter or longer than that, as loads arrive together: their constants are fitted.
fn chain(counters: &Counters, card: &Card) -> (f64, f64) {
    let [on_chip, l1, l2, dram] = card.chain_clocks;
    let is_chain = dram > 0.0 && counters.chained_loads >= CHAIN * counters.round_trips;
    let loads = if is_chain { counters.chained_loads.min(counters.round_trips) } else { 0.0 };
    let peer = card.peer_load_ns * 1e-3 * card.clock_mhz;
    let missed = l2 + (dram - l2) * share_of_memory(counters, card) + (peer - l2) * counters.peer_share;
    let hits = counters.l1_hit_share.powf(loads_a_wait(counters));
    let each = hits * l1 + (1.0 - hits) * missed;
    let far = counters.cluster_share * CLUSTER_FAR_CLOCKS;
    (loads, loads * each + chained_on_chip(counters, card) * (on_chip + far))
}

/// Share of the sectors that loads request from L2 which device memory has to serve.
fn share_of_memory(counters: &Counters, card: &Card) -> f64 {
    if card.l2_bytes == 0 || counters.l2_sectors_read == 0.0 {
        return 1.0;
    }
    let bytes = counters.dram_read.granules * f64::from(card.dram_granule_bytes);
    (bytes / (counters.l2_sectors_read * SECTOR_BYTES as f64)).min(1.0)
}

/// Returns the p-norm of the terms, with p the sharpness: the longest, or a little more where others are close to it.
pub(super) fn smooth_maximum(terms: &[f64], sharpness: f64) -> f64 {
    let greatest = terms.iter().copied().fold(0.0, f64::max);
    if greatest == 0.0 {
        return 0.0;
    }
    // Relative to the greatest, so that powers of small terms do not underflow.
    let sum: f64 = terms.iter().map(|term| (term / greatest).powf(sharpness)).sum();
    greatest * sum.powf(1.0 / sharpness)
}
