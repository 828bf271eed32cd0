//! The counters of a launch.

use crate::{Access, Counts, Residency, SampledLoads};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Pieces of device memory that were moved one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DramCounts {
    /// Of the card's `dram_granule_bytes`.
    pub granules: u64,
    /// Of 128 bytes.
    pub lines: u64,
    /// Of the card's `dram_page_bytes`.
    pub pages: u64,
}

impl DramCounts {
    /// Bytes moved, by granules of `granule_bytes`: `dram__bytes_read.sum`, `dram__bytes_write.sum`.
    pub fn bytes(&self, granule_bytes: u32) -> u64 {
        self.granules * u64::from(granule_bytes)
    }
}

/// Traffic over links to data in the host's memory, and in that of other cards. The unit is a sector of 32 bytes, counted once per block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkCounts {
    /// From the host.
    pub sectors_read: u64,
    /// To the host.
    pub sectors_written: u64,
    /// Loads of it that [straddle](crate::MemoryCounts::straddling) lines.
    #[serde(default, skip_serializing_if = "is_default")]
    pub split_loads: u64,
    /// Stores to it that do.
    #[serde(default, skip_serializing_if = "is_default")]
    pub split_stores: u64,
    /// Requests to pinned memory in another page of 2 MiB than the last of the same warp.
    #[serde(default, skip_serializing_if = "is_default")]
    pub page_changes: u64,
    /// Such pages that the warps that are resident together want at once.
    #[serde(default, skip_serializing_if = "is_default")]
    pub pages_at_once: u64,
    /// From other cards' memory.
    #[serde(default, skip_serializing_if = "is_default")]
    pub peer_sectors_read: u64,
    /// To other cards' memory.
    #[serde(default, skip_serializing_if = "is_default")]
    pub peer_sectors_written: u64,
    /// Packets of neighbouring sectors of a line that those read make.
    #[serde(default, skip_serializing_if = "is_default")]
    pub peer_packets_read: u64,
    /// Sectors of the stores and atomics of each warp to other cards' memory: those that two warps share count twice.
    #[serde(default, skip_serializing_if = "is_default")]
    pub peer_sectors_stored: u64,
    /// Those of atomics among them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub peer_sectors_updated: u64,
    /// Packets that the sectors of both make.
    #[serde(default, skip_serializing_if = "is_default")]
    pub peer_packets_stored: u64,
    /// Those of them of stores that do not fill their sectors.
    #[serde(default, skip_serializing_if = "is_default")]
    pub peer_packets_masked: u64,
}

/// What atomics of a launch hit most in global memory. Exact for counters within 256 KiB (addresses) and 2 MiB (sectors),
/// else an upper bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HottestAtomics {
    /// Operations of lanes on the address of 4 bytes with the most. Lanes that ptxas combines count as one.
    pub operations: u64,
    /// Requests of warps to the sector with the most.
    pub requests: u64,
    /// Rounds of L2 in the 256 bytes with the most: in a round each word of a sector is changed once.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rounds: u64,
    /// Rounds of L2 in the busiest slice, over which pieces of 256 bytes are spread as an H200 does.
    #[serde(default, skip_serializing_if = "is_default")]
    pub slice: u64,
    /// Number of pieces as hot as the hottest: the sum of the squares of all pieces' rounds over the square of the most.
    #[serde(default, skip_serializing_if = "is_default")]
    pub alike: u64,
    /// Rounds of L2 in all.
    #[serde(default, skip_serializing_if = "is_default")]
    pub all_rounds: u64,
}

/// Atomics in shared memory that are loops of machine code: additions of floats, and all on 64 bits but exchanges and
/// compare-and-swaps. A loop goes on until no other thread has changed the word in between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoopedAtomics {
    /// Wavefronts.
    pub wavefronts: u64,
    /// Operations of lanes on the word of each block with the most, summed over blocks.
    pub operations: u64,
    /// The same of words of 64 bits.
    pub wide_operations: u64,
}

/// The counters of one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteCounts {
    /// The instruction's number in its module.
    pub site: u32,
    /// Its counters.
    #[serde(flatten)]
    pub counts: Counts,
}

/// The counters of a launch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LaunchCounters {
    /// Blocks that ran.
    pub blocks: u64,
    /// Their warps: `smsp__warps_launched.sum`.
    pub warps: u64,
    /// Blocks resident on a multiprocessor.
    pub resident_blocks: u32,
    /// Their warps.
    pub resident_warps: u32,
    /// The resources of a multiprocessor, and the one that limits residency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub residency: Option<Residency>,
    /// Windows of blocks that are resident on the card at once, the last perhaps smaller.
    pub windows: u64,
    /// Waits for loads per warp, one after another.
    pub round_trips: f64,
    /// Requests of asynchronous copies, among the loads.
    #[serde(default, skip_serializing_if = "is_default")]
    pub copy_requests: u64,
    /// Lines beyond those that their sectors would fill, of loads whose address depends on a value from memory.
    #[serde(default, skip_serializing_if = "is_default")]
    pub indexed_loads: u64,
    /// The same of stores.
    #[serde(default, skip_serializing_if = "is_default")]
    pub indexed_stores: u64,
    /// Of the loads of a warp those from global memory whose address is the result of a load before it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub chained_loads: f64,
    /// The same of loads from shared and constant memory.
    #[serde(default, skip_serializing_if = "is_default")]
    pub chained_on_chip: f64,
    /// Machine instructions, estimated from those of PTX.
    #[serde(default)]
    pub issue_slots: u64,
    /// Of these, those of the integer units.
    #[serde(default)]
    pub integer_slots: u64,
    /// Of these, those of the units for integer multiplication.
    #[serde(default, skip_serializing_if = "is_default")]
    pub multiply_slots: u64,
    /// Of these, those of the units for special functions.
    #[serde(default, skip_serializing_if = "is_default")]
    pub special_slots: u64,
    /// Of these, those of the units for double precision.
    #[serde(default, skip_serializing_if = "is_default")]
    pub double_slots: u64,
    /// Of these, shuffles.
    #[serde(default, skip_serializing_if = "is_default")]
    pub shuffle_slots: u64,
    /// Requests to memory that warps issue with no lane: of short bodies of branches, which ptxas makes conditional instructions.
    #[serde(default, skip_serializing_if = "is_default")]
    pub idle_requests: u64,
    /// Clocks of dependent instructions per warp, waits for global memory left out.
    #[serde(default, skip_serializing_if = "is_default")]
    pub dependency_clocks: f64,
    /// Instructions of the multiprocessor that issues most of them over the mean of all; 0 if unknown.
    #[serde(default, skip_serializing_if = "is_default")]
    pub imbalance: f64,
    /// Instructions of the warp that has most to do, with those of the warps for which it waits at barriers, over those of a mean
    /// warp; 0 if unknown.
    #[serde(default, skip_serializing_if = "is_default")]
    pub longest_warp: f64,
    /// Instructions of the warps for which others wait at barriers, each up to the next one, over those of a mean warp; 0 if unknown.
    #[serde(default, skip_serializing_if = "is_default")]
    pub pace: f64,
    /// True if a barrier separates loads from stores in most blocks that store.
    pub phased: bool,
    /// Sums over all instructions.
    pub total: Counts,
    /// Sectors of loads that reach L2: `lts__t_sectors_srcunit_tex_op_read.sum`.
    pub l2_sectors_read: u64,
    /// Sectors of stores and atomics that reach L2: `lts__t_sectors_srcunit_tex_op_write.sum`.
    pub l2_sectors_written: u64,
    /// Of the sectors of stores, those that are taken to merge with the store before on their way to L2: an estimate.
    #[serde(default, skip_serializing_if = "is_default")]
    pub l2_sectors_merged: u64,
    /// Sectors that became dirty in L2 without having been read there: where stores fill only a part of them, the rest is fetched.
    #[serde(default, skip_serializing_if = "is_default")]
    pub l2_sectors_unread: u64,
    /// Of the sectors that loads request from L2, those that L1 has for another block of the same multiprocessor: an estimate.
    #[serde(default, skip_serializing_if = "is_default")]
    pub l2_sectors_shared: u64,
    /// Sectors of loads that L1 has for a block by itself, and not beside what the block's other warps load and store: an estimate, not in
    /// `l2_sectors_read`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub l2_sectors_spilled: u64,
    /// Of all these, those that a block requests again because L1 has lost them, and that L2 has lost as well: an estimate, not in
    /// `dram_read`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub l2_sectors_again: u64,
    /// Counts the loads of a simulated multiprocessor and their hits in its L1; 0 without a simulation.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sampled_loads: SampledLoads,
    /// Requests of atomics in global memory that add floats.
    #[serde(default, skip_serializing_if = "is_default")]
    pub float_atomics: u64,
    /// Of `l2_sectors_written`, those of reductions: atomics in global memory whose old value nothing reads.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reduced_sectors: u64,
    /// Read from device memory.
    pub dram_read: DramCounts,
    /// Written to device memory, or dirty in L2 and not written yet.
    pub dram_written: DramCounts,
    /// Unevenness of reads on partitions, 1 for evenly.
    pub camping_read: f64,
    /// The same for writes.
    pub camping_written: f64,
    /// What atomics hit most.
    #[serde(default, skip_serializing_if = "is_default")]
    pub hottest: HottestAtomics,
    /// Atomics in shared memory that are loops.
    #[serde(default, skip_serializing_if = "is_default")]
    pub looped: LoopedAtomics,
    /// Compare-and-swaps of lanes in shared memory on the word of each block with the most, summed over blocks.
    #[serde(default, skip_serializing_if = "is_default")]
    pub shared_swaps: u64,
    /// Values that `match.any` has told apart, summed over warps.
    #[serde(default, skip_serializing_if = "is_default")]
    pub matched_values: u64,
    /// Requests to the shared memory of other blocks of a cluster, which count as shared requests too.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cluster_requests: u64,
    /// Bytes that lanes ask for in these.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cluster_bytes: u64,
    /// Over the host link.
    #[serde(default, skip_serializing_if = "is_default")]
    pub link: LinkCounts,
    /// Pages of 64 KiB of managed memory touched, each once a window.
    #[serde(default, skip_serializing_if = "is_default")]
    pub managed_pages: u64,
    /// Blocks of 2 MiB of managed memory touched, each once a window.
    #[serde(default, skip_serializing_if = "is_default")]
    pub managed_blocks: u64,
    /// The same as `total` by instruction, those that counted nothing left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<SiteCounts>,
    /// The worst request of each instruction that accesses memory, where they were kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub worst: Vec<Access>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl LaunchCounters {
    /// Bytes that device memory moved, read and written, by granules of `granule_bytes`.
    pub fn dram_bytes(&self, granule_bytes: u32) -> u64 {
        self.dram_read.bytes(granule_bytes) + self.dram_written.bytes(granule_bytes)
    }

    /// Sectors a request of global memory.
    pub fn sectors_per_request(&self) -> f64 {
        self.total.sectors_per_request()
    }

    /// Bytes asked of global memory over bytes moved.
    pub fn efficiency(&self) -> f64 {
        self.total.efficiency()
    }

    /// The share of loads' sectors that L1 served: Nsight Compute's L1 hit rate of loads. 0 without loads.
    pub fn l1_hit_share(&self) -> f64 {
        let loads = &self.total.loads;
        if loads.sectors == 0 { 0.0 } else { 1.0 - loads.l2_sectors as f64 / loads.sectors as f64 }
    }

    /// The counters of one instruction.
    pub fn site(&self, site: u32) -> Counts {
        let found = self.sites.binary_search_by_key(&site, |counted| counted.site);
        found.map_or_else(|_| Counts::default(), |at| self.sites[at].counts)
    }

    /// Sums over instructions that share a key.
    pub fn grouped<K: Ord>(&self, key: impl Fn(u32) -> K) -> BTreeMap<K, Counts> {
        let mut groups = BTreeMap::<K, Counts>::new();
        for counted in &self.sites {
            *groups.entry(key(counted.site)).or_default() += counted.counts;
        }
        groups
    }
}
