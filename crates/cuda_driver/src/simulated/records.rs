//! Records of executed launches, with what the driver API's own calls do not return.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use simt::cards::{Card, Occupancy};
use simt::coalescing::SECTOR_BYTES;
use simt::count::{LaunchCounters, LinkCounts};
use simt::exec::SiteInfo;
use simt::model::{self, HostAccess, LaunchTime, PeerAccess, PeerLink};
use simt::multiprocessor::{Simulated, Traces};

use super::modules::Loaded;
use super::residence::Migration;

/// Most launches that are remembered; older ones are forgotten.
pub const REMEMBERED_LAUNCHES: usize = 1 << 14;

static LAUNCHES: Mutex<VecDeque<LaunchRecord>> = Mutex::new(VecDeque::new());

/// The record of a launch that succeeded.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LaunchRecord {
    /// Number of the device.
    pub device: usize,
    /// Name of the kernel in the PTX.
    pub kernel: String,
    /// Blocks of the grid, in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block, in x, y and z.
    pub block: [u32; 3],
    /// Static shared memory per block, in bytes.
    pub static_shared_bytes: u32,
    /// Dynamic shared memory per block, in bytes.
    pub dynamic_shared_bytes: u32,
    /// Instructions that warps issued.
    pub warp_instructions: u64,
    /// The same, counted once for each active thread.
    pub thread_instructions: u64,
    /// Counters of memory accesses and instructions.
    pub counters: LaunchCounters,
    /// Blocks and warps resident on a multiprocessor.
    pub occupancy: Occupancy,
    /// Modelled time in seconds on the stream's clock, as events around the launch measure it: that of `time`, or more
    /// if the host link takes longer, plus that of `migration`.
    pub seconds: f64,
    /// Modelled time of the card alone, by level.
    pub time: LaunchTime,
    /// The seconds by the model's formula and by simulation of a multiprocessor, of which `time` is the geometric mean within a limit
    /// ([`LaunchTime::and_simulated`]); `None` where it is the formula's alone.
    pub estimates: Option<[f64; 2]>,
    /// Time in seconds of the busier link, for the kernel's accesses to memory of the host or of other cards.
    pub link_seconds: f64,
    /// Cost of managed memory that was not on the card.
    pub migration: Migration,
    pub(super) loaded: Arc<Loaded>,
    /// What the warps of some blocks did, if the driver's settings keep it.
    pub(super) traces: Option<Arc<Traces>>,
}

impl LaunchRecord {
    /// Returns the instructions of the kernel's module, which the counters' [`sites`](LaunchCounters::sites) index.
    pub fn sites(&self) -> &[SiteInfo] {
        self.loaded.program.sites()
    }

    /// Models the launch's time by simulating a multiprocessor of a card, if the driver's [settings](super::Settings) keep traces and
    /// the kernel has no instructions that the simulation does not know.
    pub fn simulated_time(&self, card: &Card) -> Option<Simulated> {
        let shared_bytes = self.static_shared_bytes + self.dynamic_shared_bytes;
        self.traces.as_ref()?.simulated(self.sites(), &self.counters, shared_bytes, card)
    }
}

/// Returns the time in seconds of the busier link for a kernel's accesses: the host link, TLB misses included, or that to
/// other cards.
pub(super) fn link_seconds(link: &LinkCounts, card: &Card) -> f64 {
    let access = PeerAccess {
        sectors_read: link.peer_sectors_read,
        packets_read: link.peer_packets_read,
        sectors_stored: link.peer_sectors_stored,
        packets_stored: link.peer_packets_stored,
        packets_masked: link.peer_packets_masked,
    };
    let peer = PeerLink::of(card).map_or(0.0, |peers| peers.access_seconds(access));
    host_link_seconds(link, card).max(peer)
}

fn host_link_seconds(link: &LinkCounts, card: &Card) -> f64 {
    let read = HostAccess { bytes: link.sectors_read * SECTOR_BYTES, split: link.split_loads };
    let written = HostAccess { bytes: link.sectors_written * SECTOR_BYTES, split: link.split_stores };
    model::host_access_seconds(card, read, written)
        + model::look_up_seconds(link.page_changes, link.pages_at_once)
}

/// Combines a launch's time with the link's as one more level of the model: the longer of both, and a little more if
/// they are close.
pub(super) fn seconds(time: &LaunchTime, link_seconds: f64) -> f64 {
    if link_seconds == 0.0 {
        return time.seconds;
    }
    let card = time.seconds - time.launch;
    time.launch
        + link_seconds.max(card)
            * (1.0 + (link_seconds.min(card) / link_seconds.max(card)).powi(4)).powf(0.25)
}

fn launches() -> MutexGuard<'static, VecDeque<LaunchRecord>> {
    LAUNCHES.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn add(record: LaunchRecord) {
    let mut launches = launches();
    if launches.len() == REMEMBERED_LAUNCHES {
        launches.pop_front();
    }
    launches.push_back(record);
}

/// Returns the launches since the last call of this or of [`forget`], in the order of their execution: at most
/// [`REMEMBERED_LAUNCHES`].
pub fn take_launches() -> Vec<LaunchRecord> {
    launches().drain(..).collect()
}

/// Returns the last launch that succeeded, unless it was taken or forgotten.
pub fn last_launch() -> Option<LaunchRecord> {
    launches().back().cloned()
}

/// Forgets launches and findings.
pub fn forget() {
    forget_launches();
    super::findings::forget();
}

/// Forgets launches, but not findings.
pub fn forget_launches() {
    launches().clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(launch: f64, dram: f64) -> LaunchTime {
        LaunchTime { seconds: launch + dram, launch, dram, l2: 0.0, on_chip: 0.0, issue: 0.0, latency: 0.0 }
    }

    #[test]
    fn the_link_is_a_level_like_the_others() {
        assert_eq!(seconds(&time(1.0, 4.0), 0.0), 5.0);
        assert_eq!(seconds(&time(1.0, 0.0), 4.0), 5.0);
        let both = seconds(&time(1.0, 4.0), 4.0);
        assert!((both - (1.0 + 4.0 * 2.0_f64.powf(0.25))).abs() < 1e-12, "{both}");
    }

    #[test]
    fn the_link_takes_its_busier_direction() {
        let card = simt::cards::find("h200").expect("a card");
        let link = LinkCounts { sectors_read: 1_000_000, sectors_written: 500_000, ..LinkCounts::default() };
        let seconds = link_seconds(&link, &card);
        let bandwidth = card.host_access_share * card.host_link_gb_per_s * 1e9;
        assert!((seconds * bandwidth - 32e6).abs() < 1.0, "{seconds}");
        // Pages that the TLB reaches cost nothing; of twice as many, half miss.
        let known = LinkCounts { page_changes: 1_000_000, pages_at_once: 256, ..link };
        assert_eq!(link_seconds(&known, &card), seconds);
        let unknown = LinkCounts { pages_at_once: 512, ..known };
        assert!((link_seconds(&unknown, &card) - seconds - 6.5e-3).abs() < 1e-9);
    }
}
