//! The counters of a launch on which its modelled time depends.

/// Amounts of device memory moved. Each unit counts once for each time that a cache fetches it or writes it back. On
/// 1.x, which has no cache, `granules` are the bytes of all transactions over 32.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Touched {
    /// Granules: units of the card's `dram_granule_bytes`.
    pub granules: f64,
    /// Lines of 128 bytes.
    pub lines: f64,
    /// Pages of the card's `dram_page_bytes`. A page counts again once L2's size in other data has come in since. On
    /// 1.x it counts once per window of resident blocks; there the sum over half-warps of the pages beyond the first
    /// counts instead where it is greater, since other requests come between the transactions of a request that lie in
    /// many pages.
    pub pages: f64,
}

/// Counters of a launch. They are floating-point numbers because they may be scaled up from a sample of the blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counters {
    /// Blocks of the launch; 0 if unknown, and then starting them takes no time.
    pub blocks: f64,
    /// Warps of the launch.
    pub warps: f64,
    /// Instructions of the busiest multiprocessor over the mean of all; 0 if unknown, and then all blocks count alike.
    pub imbalance: f64,
    /// Instructions of the warp that has most to do, with those of the warps for which it waits at barriers, over those of a mean
    /// warp; 0 if unknown, and then all count alike.
    pub longest_warp: f64,
    /// Instructions of the warps for which others wait at barriers, each up to the next one, over those of a mean warp: of a block
    /// whose warps take turns while the others wait, as many as it has warps. 0 if unknown, and then they are taken to be alike.
    pub pace: f64,
    /// Nanoseconds of the busiest multiprocessor by [simulation](crate::multiprocessor); 0 if unknown, and then the formula's levels are
    /// combined.
    pub busy_ns: f64,
    /// Warps resident on a multiprocessor, from its [occupancy](crate::cards::Occupancy).
    pub resident_warps: f64,
    /// Dependent loads of a warp: 1 when all its loads are issued before the first is used. Four loads in flight make
    /// one round trip, so more bytes in flight shorten the latency term. Where ptxas unrolls a loop, so do the loads of
    /// [several iterations](crate::exec::SiteInfo::turns_together).
    pub round_trips: f64,
    /// Of the loads of a warp those from global memory that follow a chain: their address is the result of a load before.
    pub chained_loads: f64,
    /// The same of loads from shared and constant memory, which are no round trips.
    pub chained_on_chip: f64,
    /// Share of the sectors that loads request from L2 which come from another card's memory.
    pub peer_share: f64,
    /// Share of the sectors of atomic operations which are in another card's memory.
    pub peer_atomic_share: f64,
    /// Machine instructions that warps issue.
    pub instructions: f64,
    /// Integer additions, comparisons, logic and shifts among these.
    pub integer: f64,
    /// Integer multiplications among these.
    pub multiply: f64,
    /// Special functions among these.
    pub special: f64,
    /// Instructions of double precision among these.
    pub double: f64,
    /// Shuffles among these.
    pub shuffles: f64,
    /// Clocks that a warp takes for dependent instructions, waits for global memory left out.
    pub dependency_clocks: f64,
    /// Requests to global memory, loads and stores.
    pub requests: f64,
    /// Requests that [straddle](crate::coalescing::Traffic::straddles) lines, among these.
    pub straddling: f64,
    /// L1 cycles of these requests.
    pub l1_turns: f64,
    /// Share of the loads' requests that hit in L1 with all their sectors.
    pub l1_hit_share: f64,
    /// Lines per request of a load.
    pub lines_a_load: f64,
    /// Requests of loads.
    pub loads: f64,
    /// Those of them that pass L1 for the one sector that most of them want.
    pub hottest_loads: f64,
    /// Requests of asynchronous copies among these, which take no registers.
    pub copies: f64,
    /// Requests that warps issue with no lane, which take a turn in L1 and shared memory.
    pub idle_requests: f64,
    /// Requests of stores.
    pub stores: f64,
    /// Parts of lines that stores change in sectors that the same block has already written, without those that merge on the way.
    pub rewritten: f64,
    /// Parts of lines that loads fetch from L2: the lines beyond those that their sectors would fill.
    pub gathered: f64,
    /// Parts of lines that stores change: the lines that they touch beyond those that their sectors would fill. Sectors that
    /// the block writes again are [`rewritten`](Self::rewritten) and not among these.
    pub scattered: f64,
    /// Share of the loads' parts of lines whose address depends on a value from memory.
    pub indexed_loads: f64,
    /// The same of the stores'.
    pub indexed_stores: f64,
    /// Sectors that reach L2 from stores and that these do not cover.
    pub stored_in_part: f64,
    /// Sectors that stores change in part and that L2 did not hold: it fetches the rest from device memory.
    pub filled: f64,
    /// Lines per sector of stores: from a quarter for whole lines to 1 for sectors that lie apart.
    pub lines_a_sector: f64,
    /// Rounds of L2 for atomics, in each of which every word of a sector is changed once at most.
    pub atomic_rounds: f64,
    /// Share of a sector that a round changes: from an eighth for a word to 1.
    pub atomic_share: f64,
    /// Those in the 256 bytes with the most.
    pub hottest_rounds: f64,
    /// Those in the slice of L2 with the most.
    pub slice_rounds: f64,
    /// Pieces of 256 bytes that are as hot as the one with the most.
    pub alike: f64,
    /// Atomic operations on the word with the most, or requests to the sector with the most.
    pub hottest_operations: f64,
    /// Share of the requests of atomics that add floats.
    pub float_share: f64,
    /// Shared-memory wavefronts of atomics.
    pub shared_atomics: f64,
    /// Those of atomics that are loops of machine code.
    pub looped_wavefronts: f64,
    /// Operations of these on the busiest word of 32 bits of each block, summed over blocks.
    pub looped_operations: f64,
    /// The same of words of 64 bits.
    pub looped_wide_operations: f64,
    /// Values that `match.any` tells apart, summed over warps.
    pub matched_values: f64,
    /// Bytes that warps ask for in the shared memory of other blocks of their cluster.
    pub cluster_bytes: f64,
    /// Share of the requests to shared memory that do.
    pub cluster_share: f64,
    /// Distinct constant-memory addresses, summed over requests.
    pub constant_turns: f64,
    /// Sectors of loads that reach L2: misses of L1, or all of them where there is none. Of those that all blocks load, one for each
    /// multiprocessor's resident blocks.
    pub l2_sectors_read: f64,
    /// Sectors of stores that reach L2, without those that merge on the way.
    pub l2_sectors_written: f64,
    /// Of these, those of atomics whose old value nothing reads.
    pub reduced_sectors: f64,
    /// Sectors of the other atomics, which give an old value back.
    pub returned_sectors: f64,
    /// Data read from device memory.
    pub dram_read: Touched,
    /// Data written to device memory.
    pub dram_written: Touched,
    /// Imbalance of reads over memory partitions, 1 if balanced; see [`PartitionTraffic`](super::PartitionTraffic).
    pub camping_read: f64,
    /// Imbalance of writes, in the same unit.
    pub camping_written: f64,
    /// Shared-memory wavefronts.
    pub shared_wavefronts: f64,
    /// True when a barrier stands between a block's loads from global memory and its stores.
    pub phased: bool,
}

impl Default for Counters {
    /// Counters of an empty launch with balanced partitions.
    fn default() -> Self {
        Self {
            blocks: 0.0,
            warps: 0.0,
            imbalance: 0.0,
            longest_warp: 0.0,
            pace: 0.0,
            busy_ns: 0.0,
            resident_warps: 1.0,
            round_trips: 0.0,
            chained_loads: 0.0,
            chained_on_chip: 0.0,
            peer_share: 0.0,
            peer_atomic_share: 0.0,
            instructions: 0.0,
            integer: 0.0,
            multiply: 0.0,
            special: 0.0,
            double: 0.0,
            shuffles: 0.0,
            dependency_clocks: 0.0,
            requests: 0.0,
            straddling: 0.0,
            l1_turns: 0.0,
            l1_hit_share: 0.0,
            lines_a_load: 1.0,
            loads: 0.0,
            hottest_loads: 0.0,
            copies: 0.0,
            idle_requests: 0.0,
            stores: 0.0,
            rewritten: 0.0,
            gathered: 0.0,
            scattered: 0.0,
            indexed_loads: 0.0,
            indexed_stores: 0.0,
            stored_in_part: 0.0,
            filled: 0.0,
            lines_a_sector: 0.25,
            atomic_rounds: 0.0,
            atomic_share: 1.0,
            hottest_rounds: 0.0,
            slice_rounds: 0.0,
            alike: 0.0,
            hottest_operations: 0.0,
            float_share: 0.0,
            shared_atomics: 0.0,
            looped_wavefronts: 0.0,
            looped_operations: 0.0,
            looped_wide_operations: 0.0,
            matched_values: 0.0,
            cluster_bytes: 0.0,
            cluster_share: 0.0,
            constant_turns: 0.0,
            l2_sectors_read: 0.0,
            l2_sectors_written: 0.0,
            reduced_sectors: 0.0,
            returned_sectors: 0.0,
            dram_read: Touched::default(),
            dram_written: Touched::default(),
            camping_read: 1.0,
            camping_written: 1.0,
            shared_wavefronts: 0.0,
            phased: false,
        }
    }
}
