//! A card's description and its validation.

use super::limits::Limits;
use crate::coalescing::ComputeCapability;
use serde::{Deserialize, Serialize};
use toml::Spanned;

/// Generates from one list of fields: the struct, the same with every field optional (the content of a file), the
/// application of the second to the first, and the list of names.
macro_rules! card {
    ($($(#[$doc:meta])* $field:ident: $type:ty,)*) => {
        /// A card, as far as its memory behaviour and its occupancy depend on it.
        ///
        /// The fields are the keys of a card file. The sources of a built-in card's figures are in `source` and
        /// `calibration`, and above each figure in the card's file.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        pub struct Card {
            /// Short name on the command line, such as `h200`.
            pub key: String,
            /// Full name, as the driver reports it.
            pub name: String,
            /// Compute capability.
            pub compute_capability: ComputeCapability,
            /// Source of the data-sheet figures.
            pub source: String,
            /// What the calibration constants were fitted to, or that they are assumed.
            pub calibration: String,
            $($(#[$doc])* pub $field: $type,)*
        }

        /// The content of a card file.
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct Stated {
            pub(super) extends: Option<Spanned<String>>,
            pub(super) key: Option<Spanned<String>>,
            pub(super) name: Option<Spanned<String>>,
            pub(super) compute_capability: Option<Spanned<String>>,
            pub(super) source: Option<Spanned<String>>,
            pub(super) calibration: Option<Spanned<String>>,
            $(pub(super) $field: Option<Spanned<$type>>,)*
        }

        impl Stated {
            /// Returns the names of numbers that the file does not state.
            pub(super) fn missing(&self) -> Vec<&'static str> {
                let mut missing = Vec::new();
                $(if self.$field.is_none() { missing.push(stringify!($field)); })*
                missing
            }

            /// Copies the stated numbers into the card.
            pub(super) fn change(&self, card: &mut Card) {
                $(if let Some(value) = &self.$field { card.$field = *value.get_ref(); })*
            }

            /// Returns the position in the file at which a field is stated.
            pub(super) fn position(&self, field: &str) -> Option<usize> {
                match field {
                    "key" => self.key.as_ref().map(|value| value.span().start),
                    "compute_capability" => self.compute_capability.as_ref().map(|value| value.span().start),
                    $(stringify!($field) => self.$field.as_ref().map(|value| value.span().start),)*
                    _ => None,
                }
            }
        }

        impl Card {
            /// Returns a card without numbers, to be filled in.
            pub(super) fn blank(compute_capability: ComputeCapability) -> Self {
                Self {
                    key: String::new(),
                    name: String::new(),
                    compute_capability,
                    source: String::new(),
                    calibration: String::new(),
                    $($field: Default::default(),)*
                }
            }

            /// Writes the card as a card file, which [`from_toml`](super::from_toml) reads back.
            pub fn to_toml(&self) -> String {
                use std::fmt::Write;
                let mut text = String::new();
                for (field, value) in [
                    ("key", self.key.clone()),
                    ("name", self.name.clone()),
                    ("compute_capability", self.compute_capability.to_string()),
                    ("source", self.source.clone()),
                    ("calibration", self.calibration.clone()),
                ] {
                    // Writing to a string cannot fail.
                    let _ = writeln!(text, "{field} = {}", toml::Value::String(value));
                }
                $(let _ = writeln!(text, "{} = {:?}", stringify!($field), self.$field);)*
                text
            }
        }
    };
}

card! {
    /// Number of multiprocessors.
    multiprocessors: u32,
    /// Threads of a warp: 32.
    warp_threads: u32,
    /// Highest clock of the multiprocessors in MHz; on 1.x and 2.x that of the shaders.
    clock_mhz: f64,
    /// Warp instructions issued per clock and multiprocessor.
    issue_per_clock: f64,
    /// Calibration: the share of these that schedulers issue where instructions alone bound a kernel.
    issue_share: f64,
    /// Integer additions, comparisons, logic and shifts among these, per clock and multiprocessor.
    integer_per_clock: f64,
    /// Integer multiplications among these, per clock and multiprocessor.
    multiply_per_clock: f64,
    /// Special functions and conversions from floats among these, per clock and multiprocessor.
    special_per_clock: f64,
    /// Instructions of double precision among these, per clock and multiprocessor.
    double_per_clock: f64,
    /// Shared-memory wavefronts per clock and multiprocessor.
    wavefronts_per_clock: f64,
    /// Device memory in bytes.
    memory_bytes: u64,
    /// Peak bandwidth of device memory in GB/s.
    dram_gb_per_s: f64,
    /// Width of the memory bus in bits.
    dram_bus_bits: u32,
    /// Memory partitions over which addresses are interleaved in units of 256 bytes; 0 if addresses are hashed, as from
    /// 2.0 on.
    dram_partitions: u32,
    /// Size of L2 in bytes; 0 without one.
    l2_bytes: u64,
    /// Bandwidth of loads from L2 in GB/s; 0 without one.
    l2_gb_per_s: f64,
    /// Calibration: time of a sector that is stored in L2 over that of one that is loaded.
    l2_store_times: f64,
    /// Bandwidth of the host link in GB/s for a large copy from pinned memory, one direction.
    host_link_gb_per_s: f64,
    /// Fixed time of a copy over the host link, in microseconds.
    host_link_latency_us: f64,
    /// Calibration: the share of the link's bandwidth that kernels reach when they access the host's memory.
    host_access_share: f64,
    /// Links of NVLink to the peers, all cards of one machine; 0 if peers are reached over PCIe.
    nvlinks: u32,
    /// Bandwidth in GB/s of a large copy to a peer, one direction; 0 if cards cannot access each other's memory.
    peer_link_gb_per_s: f64,
    /// The same in both directions at once, together.
    peer_link_both_gb_per_s: f64,
    /// Fixed time of a copy to a peer, in microseconds.
    peer_link_latency_us: f64,
    /// Latency in nanoseconds of a load from a peer's memory; 0 without access to it.
    peer_load_ns: f64,
    /// Calibration: the driver's time on the host to fault in a page of 64 KiB of managed memory, in microseconds,
    /// beside [the batch and the link](crate::model::unified).
    fault_page_us: f64,
    /// Calibration: the same per contiguous piece of memory.
    fault_piece_us: f64,
    /// Fixed time of a launch, in microseconds.
    launch_us: f64,
    /// Latency in nanoseconds of a load that misses all caches.
    dram_latency_ns: f64,
    /// Latency in nanoseconds of a load that hits in L2; 0 without an L2.
    l2_latency_ns: f64,
    /// Calibration: clocks that a load takes longer with each doubling of the lines that it touches.
    line_clocks: f64,
    /// Latency in clocks of a load that hits in L1.
    l1_clocks: f64,
    /// Clocks of a load whose address is the result of the load before it: from shared or constant memory, with a hit in L1, with
    /// one in L2, from device memory. All 0 where they are not known; then the other latencies stand for them. A file that extends a
    /// card and states another latency of L2 or of device memory, but not these, changes them to it.
    chain_clocks: [f64; 4],
    /// Calibration: the share of the [clocks of dependent instructions](crate::exec::SiteInfo::dependency_clocks) by which they
    /// delay their warp; 0 where other constants include them.
    dependency_share: f64,
    /// Calibration: loads of a warp that wait together, at most.
    loads_in_flight: f64,
    /// Calibration: clocks between the starts of two blocks on a multiprocessor.
    block_clocks: f64,
    /// Calibration: clocks from the end of a block until the next one takes its place.
    block_refill_clocks: f64,
    /// Calibration: the rate of device memory in the [simulation of a multiprocessor](crate::multiprocessor), over that of the
    /// formula, whose levels overlap less when they take about the same time.
    queue_share: f64,
    /// Calibration: clocks of constant memory for each address of a request.
    constant_clocks: f64,
    /// Calibration: clocks of the whole L2 for a part of a line that an atomic or a scattered store changes, beside the
    /// sector's own time.
    l2_update_clocks: f64,
    /// Calibration: clocks of the whole L2 for a sector that a store changes in part, beside the sector's own time.
    l2_partial_clocks: f64,
    /// Calibration: clocks of the whole L2 for a part of a line that a load fetches, beside the sectors' own time.
    l2_part_clocks: f64,
    /// Calibration: clocks from one load of a sector of L2 to the next, of warps that load past L1 and all want that sector.
    l2_hot_load_clocks: f64,
    /// Calibration: clocks of a [round](counters::HottestAtomics) of atomics in one slice of L2.
    atomic_clocks: f64,
    /// Calibration: clocks between two atomics on one word of global memory.
    atomic_word_clocks: f64,
    /// Calibration: clocks between two additions of floats to one word of global memory.
    atomic_float_clocks: f64,
    /// Calibration: clocks of a wavefront of atomics in shared memory.
    shared_atomic_clocks: f64,
    /// Calibration: time of a warp beside its latencies, in nanoseconds: block start, arithmetic, exit.
    warp_overhead_ns: f64,
    /// Calibration: the share of the peak bandwidth that reads without gaps reach, and, less
    /// [`dram_turnaround`](Self::dram_turnaround), a copy.
    dram_share: f64,
    /// Smallest transfer of DRAM in bytes, a power of two from 32 to 128.
    dram_granule_bytes: u32,
    /// Page size of DRAM in bytes, as the model sees it, a power of two.
    dram_page_bytes: u32,
    /// Calibration: share of a sequential access's time that depends on lines of 128 bytes.
    dram_line_weight: f64,
    /// Calibration: share that depends on pages. The rest depends on granules.
    dram_page_weight: f64,
    /// Calibration: share of the weights of lines and pages that is left where memory is read alone or written alone; 1 where
    /// they were found by such accesses.
    dram_gaps_alone: f64,
    /// Calibration: share of both times that is lost if as much is written as is read.
    dram_turnaround: f64,
    /// Calibration: share that is lost if every request looks up a line that a neighbour looks up too.
    straddle_penalty: f64,
    /// Calibration: how sharply the slowest level dominates: 1 for the sum of all, more for nearly the slowest alone.
    sharpness: f64,
    /// Calibration: the same for memory and the waits for it, which grow with each other.
    wait_sharpness: f64,
    /// Calibration: the share of the sharpness beyond 1 that is lost where all blocks run in one wave; of n waves, the nth part
    /// of it is.
    lockstep: f64,
    /// Calibration: the share of bandwidth that is left if a barrier stands between a block's loads and its stores.
    phase_share: f64,
}

/// Why a description fits no possible card.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {reason}", fields[0])]
pub struct Impossible {
    /// The fields concerned, the most likely culprit first.
    pub fields: Vec<&'static str>,
    /// What is wrong.
    pub reason: String,
}

impl Card {
    /// Returns the limits of a multiprocessor, by compute capability.
    pub fn limits(&self) -> Limits {
        Limits::of(self.compute_capability)
    }

    /// Checks that the values are possible.
    ///
    /// # Errors
    /// The first field found to be impossible, and why.
    pub fn check(&self) -> Result<(), Impossible> {
        let refuse =
            |fields: &[&'static str], reason: String| Err(Impossible { fields: fields.to_vec(), reason });
        if self.key.is_empty() || self.key.contains(char::is_whitespace) {
            return refuse(&["key"], format!("\"{}\" is not a key: write one word", self.key));
        }
        if self.warp_threads != 32 {
            return refuse(
                &["warp_threads"],
                format!("{} lanes a warp: all cards have 32", self.warp_threads),
            );
        }
        let counts = [
            ("multiprocessors", self.multiprocessors, 1, 1024),
            ("dram_partitions", self.dram_partitions, 0, 64),
            ("nvlinks", self.nvlinks, 0, 64),
        ];
        for (field, value, least, most) in counts {
            if !(least..=most).contains(&value) {
                return refuse(&[field], format!("{value} is not between {least} and {most}"));
            }
        }
        if self.dram_bus_bits == 0 || !self.dram_bus_bits.is_multiple_of(8) {
            return refuse(&["dram_bus_bits"], format!("{} bits are not whole bytes", self.dram_bus_bits));
        }
        let positive = [
            ("clock_mhz", self.clock_mhz),
            ("issue_per_clock", self.issue_per_clock),
            ("l2_store_times", self.l2_store_times),
            ("integer_per_clock", self.integer_per_clock),
            ("loads_in_flight", self.loads_in_flight),
            ("multiply_per_clock", self.multiply_per_clock),
            ("special_per_clock", self.special_per_clock),
            ("double_per_clock", self.double_per_clock),
            ("wavefronts_per_clock", self.wavefronts_per_clock),
            ("dram_gb_per_s", self.dram_gb_per_s),
            ("host_link_gb_per_s", self.host_link_gb_per_s),
            ("dram_latency_ns", self.dram_latency_ns),
        ];
        for (field, value) in positive {
            if !(value.is_finite() && value > 0.0) {
                return refuse(&[field], format!("{value} is not above 0"));
            }
        }
        let not_negative = [
            ("l2_gb_per_s", self.l2_gb_per_s),
            ("host_link_latency_us", self.host_link_latency_us),
            ("peer_link_gb_per_s", self.peer_link_gb_per_s),
            ("peer_link_both_gb_per_s", self.peer_link_both_gb_per_s),
            ("peer_link_latency_us", self.peer_link_latency_us),
            ("peer_load_ns", self.peer_load_ns),
            ("fault_page_us", self.fault_page_us),
            ("fault_piece_us", self.fault_piece_us),
            ("launch_us", self.launch_us),
            ("l2_latency_ns", self.l2_latency_ns),
            ("line_clocks", self.line_clocks),
            ("l1_clocks", self.l1_clocks),
            ("dependency_share", self.dependency_share),
            ("l2_update_clocks", self.l2_update_clocks),
            ("l2_part_clocks", self.l2_part_clocks),
            ("l2_partial_clocks", self.l2_partial_clocks),
            ("l2_hot_load_clocks", self.l2_hot_load_clocks),
            ("atomic_clocks", self.atomic_clocks),
            ("atomic_word_clocks", self.atomic_word_clocks),
            ("atomic_float_clocks", self.atomic_float_clocks),
            ("shared_atomic_clocks", self.shared_atomic_clocks),
            ("block_clocks", self.block_clocks),
            ("block_refill_clocks", self.block_refill_clocks),
            ("constant_clocks", self.constant_clocks),
            ("dram_turnaround", self.dram_turnaround),
            ("warp_overhead_ns", self.warp_overhead_ns),
            ("straddle_penalty", self.straddle_penalty),
        ];
        for (field, value) in not_negative {
            if !(value.is_finite() && value >= 0.0) {
                return refuse(&[field], format!("{value} is not 0 or more"));
            }
        }
        let (one, both) = (self.peer_link_gb_per_s, self.peer_link_both_gb_per_s);
        if !(one..=2.0 * one).contains(&both) {
            return refuse(
                &["peer_link_both_gb_per_s", "peer_link_gb_per_s"],
                format!("{both} GB/s is not between once and twice the {one} GB/s of one direction"),
            );
        }
        if one > 0.0 && self.peer_load_ns == 0.0 {
            return refuse(
                &["peer_load_ns", "peer_link_gb_per_s"],
                "a link to peers needs the latency of a load over it".to_owned(),
            );
        }
        if let Some(value) = self.chain_clocks.iter().find(|value| !(value.is_finite() && **value >= 0.0)) {
            return refuse(&["chain_clocks"], format!("{value} is not 0 or more"));
        }
        let shares = [
            ("dram_share", self.dram_share),
            ("issue_share", self.issue_share),
            ("queue_share", self.queue_share),
            ("phase_share", self.phase_share),
            ("dram_gaps_alone", self.dram_gaps_alone),
            ("host_access_share", self.host_access_share),
        ];
        for (field, value) in shares {
            if !(value > 0.0 && value <= 1.0) {
                return refuse(&[field], format!("{value} is no share above 0 and up to 1"));
            }
        }
        for (field, value) in [("sharpness", self.sharpness), ("wait_sharpness", self.wait_sharpness)] {
            if !(1.0..=16.0).contains(&value) {
                return refuse(&[field], format!("{value} is not between 1 and 16"));
            }
        }
        for (field, value) in [
            ("dram_line_weight", self.dram_line_weight),
            ("dram_page_weight", self.dram_page_weight),
            ("lockstep", self.lockstep),
        ] {
            if !(0.0..=1.0).contains(&value) {
                return refuse(&[field], format!("{value} is not a weight between 0 and 1"));
            }
        }
        if self.dram_line_weight + self.dram_page_weight > 1.0 {
            return refuse(
                &["dram_page_weight", "dram_line_weight"],
                "together with dram_line_weight it passes 1, and nothing is left for granules".to_owned(),
            );
        }
        if !matches!(self.dram_granule_bytes, 32 | 64 | 128) {
            return refuse(
                &["dram_granule_bytes"],
                format!("{} is not 32, 64 or 128", self.dram_granule_bytes),
            );
        }
        if !self.dram_page_bytes.is_power_of_two() || self.dram_page_bytes < 128 {
            return refuse(
                &["dram_page_bytes"],
                format!("{} is not a power of two from 128 on", self.dram_page_bytes),
            );
        }
        if self.memory_bytes < 1 << 20 {
            return refuse(&["memory_bytes"], format!("{} bytes are less than 1 MiB", self.memory_bytes));
        }
        if self.l2_bytes >= self.memory_bytes {
            return refuse(
                &["l2_bytes", "memory_bytes"],
                format!("an L2 of {} bytes in front of a memory of {}", self.l2_bytes, self.memory_bytes),
            );
        }
        if (self.l2_bytes == 0) != (self.l2_gb_per_s == 0.0) {
            return refuse(
                &["l2_gb_per_s", "l2_bytes"],
                format!("{} GB/s from an L2 of {} bytes", self.l2_gb_per_s, self.l2_bytes),
            );
        }
        if self.compute_capability.major == 1 && self.l2_bytes > 0 {
            return refuse(&["l2_bytes", "compute_capability"], "cards of 1.x have no L2".to_owned());
        }
        if self.compute_capability.major > 1 && self.dram_partitions > 0 {
            return refuse(
                &["dram_partitions", "compute_capability"],
                "from 2.0 on addresses are hashed, which is written 0".to_owned(),
            );
        }
        Ok(())
    }
}
