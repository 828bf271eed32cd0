//! The counters of a launch.

use super::counts::Counts;
use crate::cards::Card;
use crate::exec::SiteInfo;
use crate::model::{Counters, LaunchTime, Touched};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Pieces of device memory that were moved one way: see [`Touched`].
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
    /// Bytes moved: `dram__bytes_read.sum`, `dram__bytes_write.sum`.
    pub fn bytes(&self, card: &Card) -> u64 {
        self.granules * u64::from(card.dram_granule_bytes)
    }
}

impl From<DramCounts> for Touched {
    fn from(counts: DramCounts) -> Self {
        Self { granules: counts.granules as f64, lines: counts.lines as f64, pages: counts.pages as f64 }
    }
}

/// What went over the host link because it lies in the host's memory: sectors of 32 bytes, each once a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkCounts {
    /// From the host.
    pub sectors_read: u64,
    /// To the host.
    pub sectors_written: u64,
    /// Loads of it that [straddle](crate::coalescing::Traffic::straddles) lines.
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
}

/// The counters of one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteCounts {
    /// The [`Site`](crate::observe::Site)'s number.
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
    /// Windows of blocks that are resident on the card at once, the last perhaps smaller.
    pub windows: u64,
    /// Waits for loads, a warp: see [`Counters::round_trips`].
    pub round_trips: f64,
    /// Machine instructions, estimated from those of PTX.
    #[serde(default)]
    pub issue_slots: u64,
    /// Of these, those of the integer units.
    #[serde(default)]
    pub integer_slots: u64,
    /// See [`Counters::phased`]; said of most blocks that store.
    pub phased: bool,
    /// Sums over all instructions.
    pub total: Counts,
    /// Sectors of loads that reach L2: `lts__t_sectors_srcunit_tex_op_read.sum`.
    pub l2_sectors_read: u64,
    /// Sectors of stores and atomics that reach L2: `lts__t_sectors_srcunit_tex_op_write.sum`.
    pub l2_sectors_written: u64,
    /// Read from device memory.
    pub dram_read: DramCounts,
    /// Written to device memory, or dirty in L2 and not written yet.
    pub dram_written: DramCounts,
    /// Unevenness of reads on partitions, 1 for evenly.
    pub camping_read: f64,
    /// The same for writes.
    pub camping_written: f64,
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
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl LaunchCounters {
    /// What the [model](crate::model) takes.
    pub fn model(&self) -> Counters {
        let total = &self.total;
        let memory = total.global() + total.local_loads + total.local_stores;
        let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        Counters {
            blocks: self.blocks as f64,
            warps: self.warps as f64,
            resident_warps: f64::from(self.resident_warps),
            round_trips: self.round_trips,
            barriers: share(total.barriers, self.blocks),
            // Counters that were written down before there were slots have none.
            instructions: if self.issue_slots == 0 { total.instructions } else { self.issue_slots } as f64,
            integer: self.integer_slots as f64,
            requests: memory.requests as f64,
            straddling: memory.straddling as f64,
            l1_turns: memory.turns as f64,
            l1_hit_share: share(total.loads.requests_in_l1, total.loads.requests),
            lines_a_load: share(total.loads.lines, total.loads.requests),
            stores: total.stores.requests as f64,
            rewritten: total.stores.rewritten as f64,
            constant_turns: (total.constant.requests + total.constant.replays) as f64,
            l2_sectors_read: self.l2_sectors_read as f64,
            l2_sectors_written: self.l2_sectors_written as f64,
            dram_read: self.dram_read.into(),
            dram_written: self.dram_written.into(),
            camping_read: self.camping_read,
            camping_written: self.camping_written,
            shared_wavefronts: total.shared().wavefronts as f64,
            phased: self.phased,
        }
    }

    /// The modelled time on the card that was counted for.
    pub fn time(&self, card: &Card) -> LaunchTime {
        LaunchTime::new(&self.model(), card)
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

    /// The share of the bytes that loads asked of L2 which L2 had, 0 where DRAM's granules make it negative or where
    /// there is nothing to ask.
    pub fn l2_hit_share(&self, card: &Card) -> f64 {
        if self.l2_sectors_read == 0 || card.l2_bytes == 0 {
            return 0.0;
        }
        (1.0 - self.dram_read.bytes(card) as f64 / (self.l2_sectors_read * 32) as f64).max(0.0)
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

    /// Sums by line of the user's source, file and line; `None` has what no line is known of.
    pub fn by_line(&self, sites: &[SiteInfo]) -> BTreeMap<Option<(Arc<str>, u32)>, Counts> {
        self.grouped(|site| {
            let place = sites.get(site as usize)?.user_line()?;
            Some((place.file.clone(), place.line))
        })
    }
}
