//! Launches as `COALESCE_PROFILE` records them: one JSON object for each launch of any program on the simulated driver.

use crate::{Counted, DeviceInfo, Line, Parts, Times, doubt::Residuals};
use counters::{Access, Counts, LaunchCounters};
use serde::Deserialize;

/// One launch. docs/profile.md describes the fields; those that pages do without are left out here.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ProfiledLaunch {
    /// Its number in the process, from 1.
    pub launch: u64,
    /// The kernel's name in the PTX.
    pub kernel: String,
    /// The device's number.
    pub device: u32,
    /// The key of the simulated card, as in h200.
    pub card: String,
    /// The card's name.
    pub card_name: String,
    /// Major and minor compute capability, as in 9.0.
    pub compute_capability: String,
    /// Streaming multiprocessors of the card.
    pub multiprocessors: u32,
    /// Its L2 cache, in bytes.
    pub l2_bytes: u64,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads per block in x, y and z.
    pub block: [u32; 3],
    /// The modelled time.
    pub modelled: Modelled,
    counters: LaunchCounters,
    dram_bytes: u64,
    lines: Vec<ProfiledLine>,
}

/// The modelled time of a launch.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Modelled {
    /// The whole, in nanoseconds; `None` where the model does not know the launch well enough.
    #[serde(rename = "gpu__time_duration.sum")]
    pub nanoseconds: Option<f64>,
    /// Why there is no time.
    #[serde(default)]
    pub unknown: Option<String>,
    seconds: Seconds,
}

/// The time of each level alone.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
struct Seconds {
    launch: f64,
    dram: f64,
    l2: f64,
    on_chip: f64,
    issue: f64,
    latency: f64,
    host_link: f64,
    migration: f64,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct ProfiledLine {
    file: String,
    line: u32,
    counts: Counts,
    worst: Option<Access>,
}

impl Modelled {
    /// The time of each level alone.
    fn parts(&self) -> Parts {
        let Seconds { launch, dram, l2, on_chip, issue, latency, host_link, migration } = self.seconds;
        let [launch, dram, l2, on_chip, issue, latency, link, migration] =
            [launch, dram, l2, on_chip, issue, latency, host_link, migration].map(|seconds| seconds * 1e6);
        Parts { launch, dram, l2, on_chip, issue, latency, link, migration }
    }
}

impl ProfiledLaunch {
    /// The modelled time with its interval, if there is one. Its kernel counts as one that the model has never seen, since a name in
    /// another program does not identify one of this repository's.
    pub fn times(&self) -> Option<Times> {
        let (milliseconds, bound) = (self.modelled.nanoseconds? * 1e-6, self.modelled.parts().bound());
        let interval = Residuals::built_in().interval(&self.card, Some(""), bound, milliseconds);
        Some(Times::modelled(milliseconds, interval))
    }

    /// The card as records describe devices; 0 where a launch says nothing of a property.
    pub fn device_info(&self) -> DeviceInfo {
        DeviceInfo {
            ordinal: self.device,
            name: self.card_name.clone(),
            compute_capability: self.compute_capability.clone(),
            driver: String::new(),
            memory_bytes: 0,
            l2_bytes: self.l2_bytes,
            multiprocessors: self.multiprocessors,
            max_threads_per_block: 0,
            max_grid: 0,
            max_grid_y: 0,
            max_shared_per_block: 0,
            memory_clock_khz: 0,
            memory_bus_bits: 0,
            card: Some(self.card.clone()),
        }
    }

    /// The counters, in the form that records have.
    pub fn counted(&self) -> Counted {
        let modelled_us = self.modelled.parts();
        let lines = self.lines.iter().map(|line| Line {
            file: line.file.clone(),
            line: line.line,
            counts: line.counts,
            worst: line.worst.clone(),
        });
        Counted {
            launch: self.counters.clone(),
            dram_bytes: self.dram_bytes,
            modelled_us,
            bound: modelled_us.bound(),
            estimates_us: None,
            lines: lines.collect(),
        }
    }
}
