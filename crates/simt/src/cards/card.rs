//! A card's description, and what no card can be.

use super::limits::Limits;
use crate::coalescing::ComputeCapability;
use serde::{Deserialize, Serialize};
use toml::Spanned;

/// From one list of fields: the struct, the same with every field optional (what a file may say), how the second
/// changes the first, and the list of names.
macro_rules! card {
    ($($(#[$doc:meta])* $field:ident: $type:ty,)*) => {
        /// A card, as far as its memory behaviour and its occupancy need it.
        ///
        /// The fields are the keys of a card file. Where the figures of a built-in card come from stands in its
        /// `source` and `calibration`, and figure by figure where the card is written down.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        pub struct Card {
            /// Short name on the command line, such as `h200`.
            pub key: String,
            /// Full name, as the driver would say it.
            pub name: String,
            /// Compute capability.
            pub compute_capability: ComputeCapability,
            /// Where the data-sheet figures are from.
            pub source: String,
            /// What the calibration constants were fitted to, or that they are assumed.
            pub calibration: String,
            $($(#[$doc])* pub $field: $type,)*
        }

        /// What a card file may say.
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
            /// Numbers that are not stated, by name.
            pub(super) fn missing(&self) -> Vec<&'static str> {
                let mut missing = Vec::new();
                $(if self.$field.is_none() { missing.push(stringify!($field)); })*
                missing
            }

            /// Puts the stated numbers into the card.
            pub(super) fn change(&self, card: &mut Card) {
                $(if let Some(value) = &self.$field { card.$field = *value.get_ref(); })*
            }

            /// Where in the file a field is stated.
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
            /// A card without numbers, to be filled in.
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

            /// The card as a card file, from which [`from_toml`](super::from_toml) makes it again.
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
    /// Multiprocessors.
    multiprocessors: u32,
    /// Threads in a warp: 32.
    warp_threads: u32,
    /// Highest clock of the multiprocessors in MHz; on 1.x and 2.x that of the shaders.
    clock_mhz: f64,
    /// Warp instructions that a multiprocessor issues a clock.
    issue_per_clock: f64,
    /// Of these, integer additions, comparisons, logic and shifts that it executes a clock.
    integer_per_clock: f64,
    /// Shared-memory wavefronts that a multiprocessor serves a clock.
    wavefronts_per_clock: f64,
    /// Device memory in bytes.
    memory_bytes: u64,
    /// Peak bandwidth of device memory in GB/s.
    dram_gb_per_s: f64,
    /// Width of the memory bus in bits.
    dram_bus_bits: u32,
    /// Memory partitions of 256 bytes that addresses go round; 0 where addresses are hashed, which is from 2.0 on.
    dram_partitions: u32,
    /// Bytes of L2; 0 without one.
    l2_bytes: u64,
    /// Bandwidth of L2 in GB/s, reads and writes together; 0 without one.
    l2_gb_per_s: f64,
    /// What the host link gives a large copy from pinned memory, in GB/s, one direction.
    host_link_gb_per_s: f64,
    /// Fixed time of a copy over the host link, in microseconds.
    host_link_latency_us: f64,
    /// Calibration: the share of it that is left when a kernel reads or writes the host's memory itself.
    host_access_share: f64,
    /// Calibration: what the driver on the host takes for a page of 64 KiB of managed memory that is faulted in, in
    /// microseconds, beside [the batch and the link](crate::model::unified).
    fault_page_us: f64,
    /// Calibration: the same for each piece of memory that comes together.
    fault_piece_us: f64,
    /// Fixed time of a launch, in microseconds.
    launch_us: f64,
    /// From a load that misses all caches to its data, in nanoseconds.
    dram_latency_ns: f64,
    /// From a load that hits in L2 to its data, in nanoseconds; 0 without an L2.
    l2_latency_ns: f64,
    /// From a load that hits in L1 to its data, in clocks.
    l1_clocks: f64,
    /// Calibration: clocks that an integer instruction takes of its warp, where no other warp's hides it.
    integer_clocks: f64,
    /// Calibration: how much later the last of several loads comes with every doubling of their number, in nanoseconds.
    straggler_ns: f64,
    /// Calibration: clocks between the starts of two blocks on a multiprocessor.
    block_clocks: f64,
    /// Calibration: clocks that constant memory takes for each address of a request.
    constant_clocks: f64,
    /// Calibration: how many sectors' time L2 takes more for one that a block writes again.
    rewrite_sectors: f64,
    /// Calibration: time that a warp's slot takes beside the latencies, in nanoseconds: block start, arithmetic, exit.
    warp_overhead_ns: f64,
    /// Calibration: the share of the peak that reads without gaps reach, and, less
    /// [`dram_turnaround`](Self::dram_turnaround), a copy.
    dram_share: f64,
    /// Bytes that DRAM moves at least, a power of two from 32 to 128.
    dram_granule_bytes: u32,
    /// Bytes that DRAM opens at once, as far as the model is concerned, a power of two.
    dram_page_bytes: u32,
    /// Calibration: the part of the time of a sequential access that goes by lines of 128 bytes.
    dram_line_weight: f64,
    /// Calibration: the part that goes by pages. The rest goes by granules.
    dram_page_weight: f64,
    /// Calibration: what is lost, of the time of both, when as much is written as is read.
    dram_turnaround: f64,
    /// Calibration: what is lost when every request looks up a line that a neighbour has too.
    straddle_penalty: f64,
    /// Calibration: how sharply the slowest level dominates, 1 for a sum of all, more for nearly the slowest alone.
    sharpness: f64,
    /// Calibration: the share of bandwidth that is left when a barrier stands between a block's loads and its stores.
    phase_share: f64,
}

/// Why a description is of no card that can be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {reason}", fields[0])]
pub struct Impossible {
    /// The fields that say so, the one to blame first.
    pub fields: Vec<&'static str>,
    /// What is wrong.
    pub reason: String,
}

impl Card {
    /// Limits of a multiprocessor, by compute capability.
    pub fn limits(&self) -> Limits {
        Limits::of(self.compute_capability)
    }

    /// Refuses what cannot be.
    ///
    /// # Errors
    /// The first field found to be impossible, and why.
    pub fn check(&self) -> Result<(), Impossible> {
        let refuse =
            |fields: &[&'static str], reason: String| Err(Impossible { fields: fields.to_vec(), reason });
        if self.key.is_empty() || self.key.contains(char::is_whitespace) {
            return refuse(&["key"], format!("\"{}\" is no key: one word is wanted", self.key));
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
            ("integer_per_clock", self.integer_per_clock),
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
            ("fault_page_us", self.fault_page_us),
            ("fault_piece_us", self.fault_piece_us),
            ("launch_us", self.launch_us),
            ("l2_latency_ns", self.l2_latency_ns),
            ("l1_clocks", self.l1_clocks),
            ("integer_clocks", self.integer_clocks),
            ("straggler_ns", self.straggler_ns),
            ("block_clocks", self.block_clocks),
            ("constant_clocks", self.constant_clocks),
            ("rewrite_sectors", self.rewrite_sectors),
            ("dram_turnaround", self.dram_turnaround),
            ("warp_overhead_ns", self.warp_overhead_ns),
            ("straddle_penalty", self.straddle_penalty),
        ];
        for (field, value) in not_negative {
            if !(value.is_finite() && value >= 0.0) {
                return refuse(&[field], format!("{value} is not 0 or more"));
            }
        }
        let shares = [
            ("dram_share", self.dram_share),
            ("phase_share", self.phase_share),
            ("host_access_share", self.host_access_share),
        ];
        for (field, value) in shares {
            if !(value > 0.0 && value <= 1.0) {
                return refuse(&[field], format!("{value} is no share above 0 and up to 1"));
            }
        }
        if !(1.0..=16.0).contains(&self.sharpness) {
            return refuse(&["sharpness"], format!("{} is not between 1 and 16", self.sharpness));
        }
        for (field, value) in
            [("dram_line_weight", self.dram_line_weight), ("dram_page_weight", self.dram_page_weight)]
        {
            if !(0.0..=1.0).contains(&value) {
                return refuse(&[field], format!("{value} is no weight between 0 and 1"));
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
                format!("{} is none of 32, 64 and 128", self.dram_granule_bytes),
            );
        }
        if !self.dram_page_bytes.is_power_of_two() || self.dram_page_bytes < 128 {
            return refuse(
                &["dram_page_bytes"],
                format!("{} is no power of two from 128 on", self.dram_page_bytes),
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
