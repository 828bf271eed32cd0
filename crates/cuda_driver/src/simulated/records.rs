//! What the simulated driver knows of the launches that it has executed, for whoever the driver API's own calls do not
//! tell enough.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use simt::cards::{Card, Occupancy};
use simt::coalescing::SECTOR_BYTES;
use simt::count::{LaunchCounters, LinkCounts};
use simt::exec::SiteInfo;
use simt::model::{self, HostAccess, LaunchTime};

use super::modules::Loaded;
use super::residence::Migration;

/// So many launches are remembered at most; older ones are forgotten.
pub const REMEMBERED_LAUNCHES: usize = 1 << 14;

static LAUNCHES: Mutex<VecDeque<LaunchRecord>> = Mutex::new(VecDeque::new());

/// A launch that ended well.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LaunchRecord {
    /// The number of the device.
    pub device: usize,
    /// The kernel's name in the PTX.
    pub kernel: String,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Shared memory that the kernel declares, a block, in bytes.
    pub static_shared_bytes: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub dynamic_shared_bytes: u32,
    /// Instructions that warps issued.
    pub warp_instructions: u64,
    /// The same, counted for each thread that took part.
    pub thread_instructions: u64,
    /// What it did to memory.
    pub counters: LaunchCounters,
    /// How many of its blocks and warps a multiprocessor holds at once.
    pub occupancy: Occupancy,
    /// Modelled, on the stream's clock: what events around the launch measure. That of `time`, longer where the host link
    /// takes longer, and what `migration` takes before.
    pub seconds: f64,
    /// What the card itself would take, level by level.
    pub time: LaunchTime,
    /// What the host link takes for accesses to the host's memory, while the kernel runs.
    pub link_seconds: f64,
    /// What managed memory that was not on the card took.
    pub migration: Migration,
    pub(super) loaded: Arc<Loaded>,
}

impl LaunchRecord {
    /// The instructions of the kernel's module, which the counters' [`sites`](LaunchCounters::sites) number.
    pub fn sites(&self) -> &[SiteInfo] {
        self.loaded.program.sites()
    }
}

/// The host link's time for what went over it while a kernel ran, and what it takes to find the pages.
pub(super) fn link_seconds(link: &LinkCounts, card: &Card) -> f64 {
    let read = HostAccess { bytes: link.sectors_read * SECTOR_BYTES, split: link.split_loads };
    let written = HostAccess { bytes: link.sectors_written * SECTOR_BYTES, split: link.split_stores };
    model::host_access_seconds(card, read, written)
        + model::look_up_seconds(link.page_changes, link.pages_at_once)
}

/// A launch's time, with the link as one more level beside those of the model: as slow as the slowest, and a little slower
/// where two are close, in the model's own way.
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

/// The launches since the last call of this or of [`forget`], in the order of their execution: at most
/// [`REMEMBERED_LAUNCHES`].
pub fn take_launches() -> Vec<LaunchRecord> {
    launches().drain(..).collect()
}

/// The last launch that ended well, if it was not taken or forgotten since.
pub fn last_launch() -> Option<LaunchRecord> {
    launches().back().cloned()
}

/// Forgets launches and findings.
pub fn forget() {
    forget_launches();
    super::findings::forget();
}

/// Forgets launches alone.
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
        // Pages that the card knows cost nothing to find; of twice as many, half are unknown.
        let known = LinkCounts { page_changes: 1_000_000, pages_at_once: 256, ..link };
        assert_eq!(link_seconds(&known, &card), seconds);
        let unknown = LinkCounts { pages_at_once: 512, ..known };
        assert!((link_seconds(&unknown, &card) - seconds - 6.5e-3).abs() < 1e-9);
    }
}
