//! The residence of a row's data, and the note on its figure.

use crate::experiments::{Buffer, Place, Placement, Point};
use record::{Language, Method, Residence, counters::LaunchCounters};

/// The residence of a point's data: by the counters of its loads, else by footprint and L2.
pub(super) fn residence(point: &Point, counted: Option<(&LaunchCounters, u64)>, l2_bytes: u64) -> Residence {
    if is_with_host(point) {
        return Residence::Host;
    }
    if point.buffers.iter().any(|buffer| matches!(buffer.place, Place::Peer(_))) {
        return Residence::Peer;
    }
    if let Some(cache) = counted.and_then(|(launch, read)| on_chip(launch, read)) {
        return cache;
    }
    match point.before_each {
        // Its data has been elsewhere since the launch before.
        Some(_) => Residence::Dram,
        None => Residence::of(point.bytes.footprint, l2_bytes),
    }
}

/// Whether a launch gets its data, or a part of it, from the host.
fn is_with_host(point: &Point) -> bool {
    let factor = point.parameters.more.get("factor").and_then(serde_json::Value::as_f64);
    let is_with_host = |buffer: &Buffer| match buffer.place {
        Place::Device | Place::Peer(_) | Place::Managed(Placement::Prefetched) => false,
        Place::Pinned
        | Place::PinnedOn(_)
        | Place::WriteCombined
        | Place::Pageable
        | Place::Managed(Placement::OnDemand | Placement::ZeroCopy | Placement::ZeroCopyHints) => true,
        // What does not fit on the card.
        Place::Managed(Placement::Partition | Placement::PartitionPrefetch) => factor > Some(1.0),
    };
    point.buffers.iter().any(is_with_host)
}

/// The cache on the multiprocessor that serves at least nine tenths of what lanes read, if one does.
fn on_chip(launch: &LaunchCounters, read: u64) -> Option<Residence> {
    const SECTOR: u64 = 32;
    let reached = launch.l2_sectors_read.saturating_mul(SECTOR);
    if read == 0 || reached.saturating_mul(10) > read {
        return None;
    }
    match (launch.total.loads.requests, launch.total.constant.requests) {
        (0, 0) => None,
        (0, _) => Some(Residence::Constant),
        _ => Some(Residence::L1),
    }
}

/// The limits that a row exceeds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Above {
    /// Of the peak.
    pub peak: bool,
    /// Of the driver's copy.
    pub copy: bool,
}

/// A row that is right, as far as remarks on its bandwidth depend on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct About {
    pub above: Above,
    pub language: Language,
    pub residence: Residence,
    pub method: Method,
    /// Whether the launch reads its bytes more than twice.
    pub rereads: bool,
}

impl About {
    /// A note for the reader.
    pub(super) fn remark(self) -> Option<String> {
        let of_method = (self.method == Method::LaunchesWithoutGraph)
            .then(|| "the driver records no graphs: the time holds launch overhead".to_string());
        let remarks: Vec<String> = self.of_bandwidth().into_iter().chain(of_method).collect();
        (!remarks.is_empty()).then(|| remarks.join("; "))
    }

    fn of_bandwidth(self) -> Option<String> {
        let About { above, language, residence, method, rereads } = self;
        let text = match (residence, above) {
            (Residence::Dram, Above { peak: true, .. } | Above { copy: true, .. }) if rereads => {
                "each byte is read several times, and caches serve it again: this is not DRAM bandwidth"
            }
            (Residence::Dram, Above { peak: true, .. }) => {
                let clock = match method {
                    Method::Modelled => "the card's description",
                    _ => "the driver's clock",
                };
                return Some(format!(
                    "more than the DRAM peak at a footprint of several times L2: suspect the byte count or {clock}"
                ));
            }
            (Residence::Dram, Above { copy: true, .. }) => match language {
                Language::Driver => {
                    "faster than the same copy at the start of the run, which is what 100% stands for"
                }
                _ => "faster than the driver's own copy, which is what 100% stands for",
            },
            (Residence::Dram, _) => return None,
            (Residence::Constant, _) => "the constant cache serves it: this is not DRAM bandwidth",
            (Residence::L1, _) => "L1 serves it: this is not DRAM bandwidth",
            (Residence::Host, _) => {
                "the host's memory serves it, wholly or in part: this is not DRAM bandwidth"
            }
            (Residence::Peer, _) => {
                "another card's memory serves it, wholly or in part: this is not DRAM bandwidth"
            }
            (_, Above { peak: true, .. }) => "more than the DRAM peak: L2 served it, wholly or in part",
            (Residence::L2, Above { copy: true, .. }) => {
                "faster than the driver's copy from DRAM, since it lives in L2"
            }
            (Residence::Mixed, Above { copy: true, .. }) => {
                "faster than the driver's copy from DRAM, since part of the data is still in L2 from one launch to the next"
            }
            (Residence::L2, _) => "lives in L2: this is not DRAM bandwidth",
            (Residence::Mixed, _) => "part of the data is still in L2 from one launch to the next",
        };
        Some(text.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_above_100_per_cent_says_why() {
        let of = |peak: bool, copy: bool, residence| {
            let above = Above { peak, copy };
            let about =
                About { above, language: Language::Rust, residence, method: Method::Graph, rereads: false };
            let again = About { rereads: true, ..about }.remark();
            assert!(
                residence != Residence::Dram
                    || again.is_none_or(|again| again.contains("caches serve it again"))
            );
            about.remark().unwrap_or_default()
        };
        assert_eq!(of(false, false, Residence::Dram), "");
        assert_eq!(
            of(false, true, Residence::Dram),
            "faster than the driver's own copy, which is what 100% stands for"
        );
        for residence in [Residence::L2, Residence::Mixed] {
            for (peak, copy) in [(false, true), (true, true), (true, false)] {
                assert!(of(peak, copy, residence).contains("L2"), "{peak} {copy} {residence}");
            }
        }
        assert!(of(false, true, Residence::L2).starts_with("faster than the driver's copy"));
        assert!(of(true, true, Residence::Dram).contains("suspect the byte count"));
        for (residence, name) in [
            (Residence::Constant, "the constant cache"),
            (Residence::L1, "L1"),
            (Residence::Host, "the host's memory"),
            (Residence::Peer, "another card's memory"),
        ] {
            assert!(of(true, true, residence).starts_with(&format!("{name} serves it")), "{residence}");
        }
        let about = About {
            above: Above { peak: false, copy: true },
            language: Language::Driver,
            residence: Residence::Dram,
            method: Method::LaunchesWithoutGraph,
            rereads: false,
        };
        assert_eq!(
            about.remark().as_deref(),
            Some(
                "faster than the same copy at the start of the run, which is what 100% stands for; the driver records \
                 no graphs: the time holds launch overhead"
            )
        );
    }

    #[test]
    fn a_cache_on_chip_is_named_where_little_reaches_l2() {
        let mut launch = LaunchCounters { l2_sectors_read: 100, ..LaunchCounters::default() };
        launch.total.constant.requests = 1000;
        assert_eq!(on_chip(&launch, 32_000), Some(Residence::Constant));
        launch.total.loads.requests = 1000;
        assert_eq!(on_chip(&launch, 32_000), Some(Residence::L1));
        assert_eq!(on_chip(&launch, 31_999), None);
        assert_eq!(on_chip(&LaunchCounters::default(), 0), None);
    }
}
