//! What a launch did, as far as its time depends on it.

/// Distinct pieces of device memory that were moved, each counted once for every time that a cache had to fetch it or
/// write it back. On 1.x, which has no cache, `granules` are the bytes of all transactions over 32.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Touched {
    /// Pieces of the card's `dram_granule_bytes`.
    pub granules: f64,
    /// Lines of 128 bytes.
    pub lines: f64,
    /// Pages of the card's `dram_page_bytes`, each counted once until as much has come in as L2 holds, and on 1.x once in a
    /// window of the resident blocks. There, where nothing gathers the transactions of a request that lie in many pages
    /// before other requests come between, it is the sum over half-warps of the pages beyond the first, where that is
    /// more.
    pub pages: f64,
}

/// A launch's counters. They are floating-point numbers, for they may be scaled up from a sample of the blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counters {
    /// Blocks of the launch; 0 where they are not told, which then cost nothing.
    pub blocks: f64,
    /// Warps of the launch.
    pub warps: f64,
    /// Warps resident on a multiprocessor, from its [occupancy](crate::cards::Occupancy).
    pub resident_warps: f64,
    /// Loads that a warp waits for one after another: 1 when all its loads are issued before the first is used. A
    /// thread with four loads in flight has its four in one round trip, which is how more bytes in flight shorten the
    /// latency term; where ptxas unrolls a loop, so have the loads of
    /// [several turns](crate::exec::SiteInfo::turns_together).
    pub round_trips: f64,
    /// Barriers that a block passes.
    pub barriers: f64,
    /// Warp instructions of the machine that are issued.
    pub instructions: f64,
    /// Of these, additions, comparisons, logic and shifts of integers.
    pub integer: f64,
    /// Requests to global memory, loads and stores.
    pub requests: f64,
    /// Of these, those that [straddle](crate::coalescing::Traffic::straddles) lines.
    pub straddling: f64,
    /// Turns that L1 takes for the requests.
    pub l1_turns: f64,
    /// The share of the loads' requests for which L1 has everything.
    pub l1_hit_share: f64,
    /// Lines of a load's request.
    pub lines_a_load: f64,
    /// Requests of stores.
    pub stores: f64,
    /// Sectors of stores that the same block has written before.
    pub rewritten: f64,
    /// Addresses that are asked of constant memory, each once a request.
    pub constant_turns: f64,
    /// Sectors of loads that reach L2: misses of L1, or all of them where there is none.
    pub l2_sectors_read: f64,
    /// Sectors of stores that reach L2.
    pub l2_sectors_written: f64,
    /// Read from device memory.
    pub dram_read: Touched,
    /// Written to device memory.
    pub dram_written: Touched,
    /// How unevenly reads fall on partitions, 1 for evenly; see [`PartitionTraffic`](super::PartitionTraffic).
    pub camping_read: f64,
    /// The same for writes.
    pub camping_written: f64,
    /// Shared-memory wavefronts.
    pub shared_wavefronts: f64,
    /// True when a barrier stands between a block's loads from global memory and its stores.
    pub phased: bool,
}

impl Default for Counters {
    /// Nothing done, evenly spread.
    fn default() -> Self {
        Self {
            blocks: 0.0,
            warps: 0.0,
            resident_warps: 1.0,
            round_trips: 0.0,
            barriers: 0.0,
            instructions: 0.0,
            integer: 0.0,
            requests: 0.0,
            straddling: 0.0,
            l1_turns: 0.0,
            l1_hit_share: 0.0,
            lines_a_load: 1.0,
            stores: 0.0,
            rewritten: 0.0,
            constant_turns: 0.0,
            l2_sectors_read: 0.0,
            l2_sectors_written: 0.0,
            dram_read: Touched::default(),
            dram_written: Touched::default(),
            camping_read: 1.0,
            camping_written: 1.0,
            shared_wavefronts: 0.0,
            phased: false,
        }
    }
}
