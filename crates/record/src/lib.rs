//! Records of the rows of a result, as types that are written and read as JSON and CSV.
//!
//! Measuring makes a [`Record`] for each row; tables, pages and comparisons are made from records alone. `docs/records.md`
//! describes the fields.
//!
//! ```
//! let line = r#"{"schema":"coalesce.record/1","experiment":"offset","kernel":"offset_f32","language":"rust",
//!     "backend":"measured","device":{"ordinal":0,"name":"NVIDIA H200","compute_capability":"9.0","driver":"13.0",
//!     "memory_bytes":150754820096,"l2_bytes":62914560,"multiprocessors":132,"max_threads_per_block":1024,
//!     "max_grid":2147483647,"max_grid_y":65535,"max_shared_per_block":232448,"memory_clock_khz":3201000,
//!     "memory_bus_bits":6144},"ptx":"compute_90","parameters":{"precision":"f32","bytes":4194304,"elements":1048576,
//!     "block":256,"grid":4096,"swept":"offset","offset":3},"bytes":{"read":4194304,"written":4194304,
//!     "footprint":4194336},"residence":"L2","time_ms":{"median":0.004,"min":0.0039,"max":0.0041,"samples":11},
//!     "gb_per_s":2097.152,"verified":true,"timing":{"method":"graph","launches_per_sample":500}}"#;
//! let records = record::read(&line.replace('\n', ""))?;
//! assert_eq!(records[0].parameters.swept.as_ref().map(|swept| swept.value), Some(3));
//! assert_eq!(records[0].device.selector(), "cuda:0");
//! # Ok::<_, record::ReadError>(())
//! ```

mod conditions;
mod counted;
mod csv;
mod device;
#[cfg(test)]
mod documented;
pub mod doubt;
mod errors;
mod files;
mod filling;
mod flat;
mod json;
mod kept;
mod launch;
mod operations;
mod origin;
mod parameters;
#[cfg(feature = "parquet")]
mod parquet;
mod run;
mod sizes;
mod times;

pub use self::csv::{WriteError, csv};
#[cfg(feature = "parquet")]
pub use self::parquet::{ParquetError, parquet};
pub use conditions::{Conditions, Energy, Limit, Readings, Sensors};
pub use counted::{Bound, Counted, Estimates, Line, Parts};
pub use counters;
pub use device::{Backend, DeviceInfo};
pub use errors::Errors;
pub use files::{LoadError, RECORDS_FILE, RUN_FILE, load};
pub use filling::Unfilled;
pub use json::{ReadError, line, read, read_lines, sorted_line};
pub use kept::{Hardware, Kept, Spread};
pub use launch::{Modelled, ProfiledLaunch};
pub use operations::{CYCLES, Measure, Operation, Operations, PER_CLOCK};
pub use origin::Origin;
pub use parameters::{BytesMoved, Extent, Parameters, Precision, SIZES, Swept, shown};
pub use run::{RUN_SCHEMA, Run};
pub use sizes::Bytes;
pub use times::{Load, Method, Times, Timing, median};

use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt};

/// The name and version of the form. Fields may be added within a version; a change of meaning makes a new one.
pub const SCHEMA: &str = "coalesce.record/1";

/// One row of a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`SCHEMA`].
    pub schema: String,
    /// The experiment's name.
    pub experiment: String,
    /// The kernel's name.
    pub kernel: String,
    /// The language of the kernel.
    pub language: Language,
    /// The source of the figures.
    pub backend: Backend,
    /// The device that ran it.
    pub device: DeviceInfo,
    /// The PTX architecture that was given to the driver, as in compute_90. `None` where the driver did the work, and
    /// for twins.
    pub ptx: Option<String>,
    /// The parameters, which tell this row from the others of the experiment.
    pub parameters: Parameters,
    /// Bytes of one launch.
    pub bytes: BytesMoved,
    /// The memory level that held the data, judged by footprint and L2.
    pub residence: Residence,
    /// Milliseconds of one launch; `None` in a row that did not verify.
    pub time_ms: Option<Times>,
    /// Milliseconds per launch, one value per sample in the order of measurement; empty with fewer than two samples.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples_ms: Vec<f64>,
    /// Bytes read and written over the median time, in 10^9 bytes per second; `None` in an unverified row.
    pub gb_per_s: Option<f64>,
    /// `gb_per_s` in per cent of `peak`.
    pub percent_of_peak: Option<f64>,
    /// `gb_per_s` in per cent of `copy`.
    pub percent_of_copy: Option<f64>,
    /// Floating-point operations over the median time, in 10^9 per second. `None` where the experiment is not about
    /// them, and in an unverified row.
    pub gflop_per_s: Option<f64>,
    /// Floating-point operations for each byte read or written; `None` where the experiment is not about them.
    pub arithmetic_intensity: Option<f64>,
    /// The counted operations of one launch; `None` where the row is about bytes or arithmetic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<Operations>,
    /// The median time over `operations`, in nanoseconds; `None` where there are none, and in an unverified row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ns_per_operation: Option<f64>,
    /// `operations` over the median time, in 10^9 per second; `None` where there are none, and in an unverified row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gop_per_s: Option<f64>,
    /// True if every element of every buffer had its expected value.
    pub verified: bool,
    /// A remark for the reader: an error, or the reason for an odd figure.
    pub note: Option<String>,
    /// The mechanism behind the row's figures, in one sentence.
    pub explanation: Option<String>,
    /// Observations of the experiment on its buffers around the last launch.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub observed: BTreeMap<String, serde_json::Value>,
    /// The method of timing.
    pub timing: Timing,
    /// The device's peak bandwidth; `None` where the driver does not tell.
    pub peak: Option<Peak>,
    /// The copy ceiling of the run: the driver's device-to-device copy; `None` in a run that times nothing.
    pub copy: Option<Ceiling>,
    /// The median time divided by that of the reference whose samples are interleaved with it, a C++ twin or a library's row;
    /// `None` without one.
    pub ratio_to_reference: Option<f64>,
    /// Bounds of that ratio at 95% confidence; `None` without a reference, or with few samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio_range: Option<[f64; 2]>,
    /// The `kernel` of the library's row that is the reference; `None` where that is a C++ twin, and without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The state of the card during the samples; `None` where nothing is timed, on a simulated card, and without sensors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Conditions>,
    /// The counters of one launch on a simulated card. `None` on a GPU, and in a row that did not verify.
    pub counters: Option<Box<Counted>>,
    /// The card's place among many; `None` in a run of one card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Box<Origin>>,
}

impl Record {
    /// The kernel and its element type, which share a column of figures.
    pub fn contestant(&self) -> (&str, Option<Precision>) {
        (&self.kernel, self.parameters.precision)
    }

    /// Bytes that one launch reads and writes.
    pub fn moved(&self) -> u64 {
        self.bytes.read + self.bytes.written
    }

    /// Whether another record is of the same kernel in the same language with the same parameters.
    pub fn is_same_row(&self, other: &Record) -> bool {
        self.experiment == other.experiment
            && self.kernel == other.kernel
            && self.language == other.language
            && self.parameters == other.parameters
    }
}

/// A language of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Language {
    /// Rust, compiled by `cuda_builder`.
    #[serde(rename = "rust")]
    Rust,
    /// CUDA C++, compiled by nvcc.
    #[serde(rename = "cuda-c++")]
    CudaCpp,
    /// No kernel: the driver did the work itself.
    #[serde(rename = "driver")]
    Driver,
    /// A library of NVIDIA's, with kernels of its own.
    #[serde(rename = "library")]
    Library,
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Language::Rust => "rust",
            Language::CudaCpp => "cuda-c++",
            Language::Driver => "driver",
            Language::Library => "library",
        })
    }
}

/// The memory level that held the data of repeated launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Residence {
    /// The footprint is at most half of L2: the next launch finds its data there.
    L2,
    /// In between: part of the data is still in L2 when the next launch comes for it.
    #[serde(rename = "mixed")]
    Mixed,
    /// The footprint is at least four times L2: hardly anything is left in L2 for the next launch.
    #[serde(rename = "DRAM")]
    Dram,
    /// In the host's memory, at least the part that bounds the time: read over the host link, or migrated.
    #[serde(rename = "host")]
    Host,
    /// In another card's memory, or a part of it: read or written over the link between the cards.
    #[serde(rename = "peer")]
    Peer,
    /// In L1: less than a tenth of what lanes ask for reaches L2.
    L1,
    /// In the cache of constant memory, by the same measure.
    #[serde(rename = "constant")]
    Constant,
}

impl Residence {
    /// Judges by footprint and size of L2. A device without L2 has everything in DRAM.
    pub fn of(footprint: u64, l2_bytes: u64) -> Residence {
        if footprint >= l2_bytes.saturating_mul(4) {
            Residence::Dram
        } else if footprint <= l2_bytes / 2 {
            Residence::L2
        } else {
            Residence::Mixed
        }
    }
}

impl fmt::Display for Residence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Residence::L2 => "L2",
            Residence::Mixed => "mixed",
            Residence::Dram => "DRAM",
            Residence::Host => "host",
            Residence::Peer => "peer",
            Residence::L1 => "L1",
            Residence::Constant => "constant",
        })
    }
}

/// The bandwidth that the device could have at most.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Peak {
    /// 10^9 bytes per second.
    pub gb_per_s: f64,
    /// The origin of the figure.
    pub source: String,
}

/// The bandwidth of the driver's own copy, in the same run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// Bytes read and written, in 10^9 a second.
    pub gb_per_s: f64,
    /// Bytes copied.
    pub bytes: u64,
}
