//! Counters of one launch on a simulated card, and the breakdown of its modelled time.

use crate::Times;
use counters::{Access, Counts, LaunchCounters};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The counters of one launch of a row. Counts follow the rules of the card's compute capability and are exact as far
/// as those are; what L2 and device memory moved, and the times, are modelled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// The counters, without those of single instructions.
    #[serde(flatten)]
    pub launch: LaunchCounters,
    /// Bytes that device memory moved, read and written.
    pub dram_bytes: u64,
    /// The breakdown of the modelled time.
    pub modelled_us: Parts,
    /// The part that is longest.
    pub bound: Bound,
    /// The two times whose geometric mean, within a limit, the modelled time of the card is; absent where it is the formula's alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimates_us: Option<Estimates>,
    /// The counters of each line of the kernel's source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<Line>,
}

/// A launch's time by two models, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimates {
    /// By the formula, which combines what the launch needs of each level.
    pub formula: f64,
    /// By simulation of a multiprocessor, instruction by instruction.
    pub simulation: f64,
}

impl Estimates {
    /// Those of these seconds, the formula's first.
    pub fn of_seconds(seconds: [f64; 2]) -> Self {
        let [formula, simulation] = seconds.map(|seconds| seconds * 1e6);
        Self { formula, simulation }
    }
}

/// The time of each level alone, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Parts {
    /// Starting the kernel.
    pub launch: f64,
    /// Device memory.
    pub dram: f64,
    /// The second-level cache.
    pub l2: f64,
    /// Shared memory and L1.
    pub on_chip: f64,
    /// Issuing instructions.
    pub issue: f64,
    /// Waiting, for data or for blocks to start.
    pub latency: f64,
    /// The host link, for what is read and written where the host has it.
    #[serde(default)]
    pub link: f64,
    /// Moving pages of managed memory, which comes on top of all others.
    #[serde(default)]
    pub migration: f64,
}

impl Parts {
    /// Each part with its time, the longest first.
    pub fn in_order(&self) -> [(Bound, f64); 8] {
        let mut parts = [
            (Bound::Dram, self.dram),
            (Bound::L2, self.l2),
            (Bound::OnChip, self.on_chip),
            (Bound::Issue, self.issue),
            (Bound::Latency, self.latency),
            (Bound::Launch, self.launch),
            (Bound::Link, self.link),
            (Bound::Migration, self.migration),
        ];
        parts.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        parts
    }

    /// The parts that may be the longest, if each may be off by as much as the whole time may: the longest, and those that take at least
    /// its time over the [factor](Times::factor). The longest alone where the time has no interval.
    pub fn contenders(&self, whole: &Times) -> Vec<Bound> {
        let parts = self.in_order();
        let (longest, time) = parts[0];
        let least = whole.factor().map_or(f64::INFINITY, |factor| time / factor);
        let others = parts[1..].iter().filter(|(_, time)| *time > 0.0 && *time >= least);
        std::iter::once(longest).chain(others.map(|(part, _)| *part)).collect()
    }

    /// The part that is longest. The parts on the card overlap; the host link and page migration bound a launch where they
    /// take longer than each of these.
    pub fn bound(&self) -> Bound {
        let on_card = [
            (self.dram, Bound::Dram),
            (self.l2, Bound::L2),
            (self.on_chip, Bound::OnChip),
            (self.issue, Bound::Issue),
            (self.latency, Bound::Latency),
            (self.launch, Bound::Launch),
        ];
        // Of equals the last.
        let longest = |best: (f64, Bound), part: (f64, Bound)| if part.0 >= best.0 { part } else { best };
        let longest = on_card.into_iter().fold((0.0, Bound::Launch), longest);
        if self.migration > longest.0.max(self.link) {
            Bound::Migration
        } else if self.link > longest.0 {
            Bound::Link
        } else {
            longest.1
        }
    }
}

/// A level that a launch may spend its time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// Device memory.
    Dram,
    /// The second-level cache.
    L2,
    /// Shared memory and L1.
    OnChip,
    /// Issuing instructions.
    Issue,
    /// Waiting.
    Latency,
    /// Starting the kernel.
    Launch,
    /// The host link.
    Link,
    /// Moving pages.
    Migration,
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Bound::Dram => "DRAM",
            Bound::L2 => "L2",
            Bound::OnChip => "on chip",
            Bound::Issue => "issue",
            Bound::Latency => "latency",
            Bound::Launch => "launch",
            Bound::Link => "host link",
            Bound::Migration => "moving pages",
        })
    }
}

/// The counters of a line of source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The file, as far as it is of use to name it.
    pub file: String,
    /// The line, from 1; 0 for what no line is known of.
    pub line: u32,
    /// Its counters.
    pub counts: Counts,
    /// The worst request of the line, where one was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst: Option<Access>,
}

impl Counted {
    /// Bytes that global memory's requests moved for each byte that lanes asked for; `None` where they asked for none.
    pub fn moved_over_asked(&self) -> Option<f64> {
        let global = self.launch.total.global();
        (global.bytes_requested > 0).then(|| global.bytes_moved as f64 / global.bytes_requested as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_within_the_doubt_of_the_whole_may_be_the_longest() {
        let parts = Parts { dram: 10.0, l2: 8.0, latency: 6.0, ..Parts::default() };
        let of = |interval| parts.contenders(&Times::modelled(1.0, interval));
        assert_eq!(of(None), [Bound::Dram]);
        // 10 / 1.1 = 9.1, 10 / 1.3 = 7.7, 10 * 0.5 = 5: what is not in the parts at all is never the longest.
        assert_eq!(of(Some([0.95, 1.1])), [Bound::Dram]);
        assert_eq!(of(Some([0.95, 1.3])), [Bound::Dram, Bound::L2]);
        assert_eq!(of(Some([0.5, 1.0])), [Bound::Dram, Bound::L2, Bound::Latency]);
        let alone = Parts { launch: 1.0, ..Parts::default() };
        assert_eq!(alone.contenders(&Times::modelled(1.0, Some([0.0, 9.0]))), [Bound::Launch]);
    }
}
