//! The record: everything that is known of one row. `docs/records.md` describes it; tables and CSV are rendered from
//! records alone.

use crate::{
    counters::Counters,
    device::{Backend, DeviceInfo},
    experiments::{BytesMoved, Extent, Point, Precision},
    explanation,
    kernels::Artefact,
    measure::{Measurement, Method, Times},
    simulated::Card,
};
use serde::{Deserialize, Serialize, Serializer};
use std::{collections::BTreeMap, fmt};

/// The name and version of the form. Fields may be added within a version; a change of meaning makes a new one.
pub(crate) const SCHEMA: &str = "coalesce.record/1";

/// One row of a result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Record {
    /// [`SCHEMA`].
    pub schema: String,
    /// The experiment's name.
    pub experiment: String,
    /// The kernel's name.
    pub kernel: String,
    /// What the kernel is written in.
    pub language: Language,
    /// Where the figures come from.
    pub backend: Backend,
    /// The device that ran it.
    pub device: DeviceInfo,
    /// The PTX architecture that was given to the driver, as in compute_90; `None` where the driver did the work, and for
    /// twins.
    pub ptx: Option<String>,
    /// What tells this row from the others of the experiment.
    pub parameters: Parameters,
    /// Bytes of one launch.
    pub bytes: BytesMoved,
    /// Where the data lived, judged by footprint and L2.
    pub residence: Residence,
    /// Milliseconds of one launch; `None` in a row that did not verify.
    pub time_ms: Option<Times>,
    /// Bytes read and written over the median time, in 10^9 bytes a second; `None` in a row that did not verify.
    pub gb_per_s: Option<f64>,
    /// `gb_per_s` in per cent of `peak`.
    pub percent_of_peak: Option<f64>,
    /// `gb_per_s` in per cent of `copy`.
    pub percent_of_copy: Option<f64>,
    /// Floating-point operations over the median time, in 10^9 a second; `None` where the experiment is not about them, and
    /// in a row that did not verify.
    pub gflop_per_s: Option<f64>,
    /// Floating-point operations for each byte read or written; `None` where the experiment is not about them.
    pub arithmetic_intensity: Option<f64>,
    /// Whether every element of every buffer held what it must.
    pub verified: bool,
    /// What a reader should know: what went wrong, or why a figure looks odd.
    pub note: Option<String>,
    /// What makes the row what it is, in a sentence.
    pub explanation: Option<String>,
    /// What the experiment saw of its buffers around the last launch.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub observed: BTreeMap<String, serde_json::Value>,
    /// How the time was taken.
    pub timing: Timing,
    /// The device's peak bandwidth; `None` where the driver does not tell.
    pub peak: Option<Peak>,
    /// The copy ceiling of the run: the driver's device-to-device copy; `None` in a run that times nothing.
    pub copy: Option<Ceiling>,
    /// The median time divided by that of the C++ twin measured by turns with it; `None` without one.
    pub ratio_to_reference: Option<f64>,
    /// Between which bounds that ratio lies with a probability of 95%; `None` without a twin, or with few samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio_range: Option<[f64; 2]>,
    /// What the simulator counted of one launch; `None` on a GPU, where the driver did the work, and in a row that did not
    /// verify.
    pub counters: Option<Box<Counters>>,
}

/// What a kernel is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Language {
    /// Rust, compiled by `cuda_builder`.
    #[serde(rename = "rust")]
    Rust,
    /// CUDA C++, compiled by nvcc.
    #[serde(rename = "cuda-c++")]
    CudaCpp,
    /// No kernel: the driver did the work itself.
    #[serde(rename = "driver")]
    Driver,
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Language::Rust => "rust",
            Language::CudaCpp => "cuda-c++",
            Language::Driver => "driver",
        })
    }
}

/// Where the data of repeated launches lived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Residence {
    /// The footprint is at most half of L2: the next launch finds its data there.
    L2,
    /// In between: part of the data is still in L2 when the next launch comes for it.
    #[serde(rename = "mixed")]
    Mixed,
    /// The footprint is at least four times L2: hardly anything is left in L2 for the next launch.
    #[serde(rename = "DRAM")]
    Dram,
}

impl Residence {
    /// Judges by footprint and size of L2. A device without L2 has everything in DRAM.
    pub(crate) fn of(footprint: u64, l2_bytes: u64) -> Residence {
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
        })
    }
}

/// What tells a row from the others of its experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Parameters {
    /// The element type, where the experiment has a choice.
    pub precision: Option<Precision>,
    /// The size that was asked for, in bytes.
    pub bytes: u64,
    /// Elements, in the kernel's own width.
    pub elements: u64,
    /// Threads a block; `None` where no kernel runs.
    pub block: Option<Extent>,
    /// Blocks; `None` where no kernel runs.
    pub grid: Option<Extent>,
    /// The swept parameter, flattened into a field of its own name, such as `"offset": 3`.
    #[serde(flatten, serialize_with = "swept")]
    pub swept: Option<Swept>,
    /// What else there is to tell, each flattened into a field of its own name, such as `"nx": 2048`.
    #[serde(flatten)]
    pub more: BTreeMap<String, serde_json::Value>,
}

/// The swept parameter of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Swept {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: u64,
}

impl Parameters {
    /// Parameters of work that has nothing but a size.
    pub(crate) fn of_bytes(bytes: u64) -> Parameters {
        Parameters {
            precision: None,
            bytes,
            elements: bytes,
            block: None,
            grid: None,
            swept: None,
            more: BTreeMap::new(),
        }
    }

    /// With one more parameter.
    pub(crate) fn with(mut self, name: &str, value: impl Into<serde_json::Value>) -> Parameters {
        self.more.insert(name.to_string(), value.into());
        self
    }

    /// With the value of the swept parameter.
    pub(crate) fn swept(self, name: &str, value: u32) -> Parameters {
        Parameters { swept: Some(Swept { name: name.to_string(), value: u64::from(value) }), ..self }
    }
}

impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Swept { name, value }) = &self.swept {
            write!(f, "{name} {value}, ")?;
        }
        for (name, value) in &self.more {
            match value {
                serde_json::Value::String(text) => write!(f, "{name} {text}, ")?,
                value => write!(f, "{name} {value}, ")?,
            }
        }
        write!(f, "{} bytes", self.bytes)?;
        if let Some(block) = self.block {
            write!(f, ", block {block}")?;
        }
        Ok(())
    }
}

/// A swept parameter as one field under its own name.
fn swept<S: Serializer>(swept: &Option<Swept>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(swept.iter().map(|swept| (&swept.name, swept.value)))
}

/// How a time was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Timing {
    /// How the launches of a sample were handed to the device.
    pub method: Method,
    /// Launches between the two events of a sample.
    pub launches_per_sample: u32,
}

/// The bandwidth that the device could have at most.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Peak {
    /// 10^9 bytes a second.
    pub gb_per_s: f64,
    /// Where the figure comes from.
    pub source: String,
}

/// The bandwidth of the driver's own copy, in the same run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ceiling {
    /// Bytes read and written, in 10^9 a second.
    pub gb_per_s: f64,
    /// Bytes copied.
    pub bytes: u64,
}

/// What all records of a run have in common.
#[derive(Clone, Debug)]
pub(crate) struct Run<'a> {
    /// The device.
    pub device: &'a DeviceInfo,
    /// The PTX that it was given.
    pub artefact: Artefact<'a>,
    /// The copy ceiling; `None` where nothing is timed.
    pub copy: Option<Ceiling>,
    /// The card that is simulated, if one is.
    pub card: Option<&'a Card>,
    /// Whether the counters of single lines are wanted.
    pub lines: bool,
    /// What explains rows of a GPU, where that is wanted.
    pub simulated: Option<&'a Simulated>,
}

/// What the simulator counted of kernels that a GPU runs.
#[derive(Clone, Debug)]
pub(crate) struct Simulated {
    /// The records, as JSON has them.
    pub rows: Vec<serde_json::Value>,
    /// The card that was simulated, by its key.
    pub card: String,
}

impl Run<'_> {
    /// The record of a point that was measured for a contender.
    pub(crate) fn record(&self, point: &Point, language: Language, measurement: &Measurement) -> Record {
        let counters = self.counters(measurement);
        let residence = match point.before_each {
            // Its data has been elsewhere since the launch before.
            Some(_) => Residence::Dram,
            None => Residence::of(point.bytes.footprint, self.device.l2_bytes),
        };
        let peak = self.device.peak_gb_per_s();
        let verified = measurement.fault.is_none();
        let times = measurement.times().filter(|_| verified);
        let moved = point.bytes.read + point.bytes.written;
        let gb_per_s = times.map(|times| Times::gb_per_s(moved, times.median));
        let percent_of = |whole: Option<f64>| Some(100.0 * gb_per_s? / whole?);
        let percent_of_peak = percent_of(peak);
        let percent_of_copy = percent_of(self.copy.map(|copy| copy.gb_per_s));
        let above = Above { peak: percent_of_peak > Some(100.0), copy: percent_of_copy > Some(100.0) };
        let gflop_per_s = times.zip(point.flops).map(|(times, flops)| Times::gb_per_s(flops, times.median));
        let arithmetic_intensity = point.flops.filter(|_| moved > 0).map(|flops| flops as f64 / moved as f64);
        let about = About { above, language, residence, method: measurement.method };
        let remarks = times.and_then(|_| about.remark()).into_iter().chain(self.differences(point, language));
        let remarks: Vec<String> = remarks.collect();
        let note = measurement.fault.clone().or_else(|| (!remarks.is_empty()).then(|| remarks.join("; ")));
        Record {
            schema: SCHEMA.to_string(),
            experiment: point.experiment.to_string(),
            kernel: point.kernel.to_string(),
            language,
            backend: self.device.backend(),
            device: self.device.clone(),
            ptx: (language == Language::Rust).then(|| format!("compute_{}", self.artefact.arch)),
            parameters: point.parameters.clone(),
            bytes: point.bytes,
            residence,
            time_ms: times,
            gb_per_s,
            percent_of_peak,
            percent_of_copy,
            gflop_per_s,
            arithmetic_intensity,
            verified,
            note,
            explanation: verified.then(|| {
                let moves = explanation::of_moves(&measurement.observed).into_iter();
                let rest = self.explanation(point, counters.as_deref(), residence);
                moves.chain([rest]).collect::<Vec<_>>().join("; ")
            }),
            observed: measurement.observed.clone(),
            timing: Timing {
                method: measurement.method,
                launches_per_sample: measurement.launches_per_sample,
            },
            peak: peak.map(|gb_per_s| Peak {
                gb_per_s,
                source: match self.device.backend() {
                    Backend::Measured => "2 x memory clock x bus width, from the driver",
                    Backend::Modelled => "from the card's description",
                }
                .to_string(),
            }),
            copy: self.copy,
            ratio_to_reference: None,
            ratio_range: None,
            counters: counters.filter(|_| verified),
        }
    }

    /// What makes a row what it is.
    fn explanation(&self, point: &Point, counters: Option<&Counters>, residence: Residence) -> String {
        let what = self.of_launch(point, counters, residence);
        explanation::of_variable(&point.parameters).into_iter().chain([what]).collect::<Vec<_>>().join("; ")
    }

    /// What its launch did.
    fn of_launch(&self, point: &Point, counters: Option<&Counters>, residence: Residence) -> String {
        if let Some(counters) = counters {
            return explanation::of_counters(counters, self.device);
        }
        let counted = self.simulated.and_then(|simulated| {
            let parameters = serde_json::to_value(&point.parameters).ok()?;
            let row = explanation::most_alike(&simulated.rows, point.kernel, &parameters)?;
            let total = serde_json::from_value(row["counters"]["total"].clone()).ok()?;
            Some(explanation::of_simulated(&total, &simulated.card, &point.bytes, residence))
        });
        counted.unwrap_or_else(|| explanation::of_bytes(&point.bytes, residence))
    }

    fn counters(&self, measurement: &Measurement) -> Option<Box<Counters>> {
        let (launch, card) = (measurement.launch.as_deref()?, self.card?);
        Some(Box::new(Counters::of(launch, card, self.lines)))
    }
}

impl Run<'_> {
    /// What a simulated card does that a real one of its kind could not.
    fn differences(&self, point: &Point, language: Language) -> Vec<String> {
        /// The first compute capability with double precision.
        const DOUBLE_PRECISION: u32 = 13;
        let mut differences = Vec::new();
        if self.device.backend() == Backend::Measured || language == Language::Driver {
            return differences;
        }
        let capability = &self.device.compute_capability;
        if language == Language::Rust && self.artefact.is_beyond(self.device) {
            differences.push(format!(
                "a real card of capability {capability} could not load PTX for compute_{} (the simulator runs any)",
                self.artefact.arch
            ));
        }
        if self.device.compute() < DOUBLE_PRECISION && point.parameters.precision == Some(Precision::F64) {
            differences.push(format!(
                "a real card of capability {capability} has no double precision (the simulator has)"
            ));
        }
        differences
    }
}

/// What a row has more than 100% of.
#[derive(Clone, Copy, Debug)]
struct Above {
    peak: bool,
    copy: bool,
}

/// A row that is right, as far as remarks depend on it.
#[derive(Clone, Copy, Debug)]
struct About {
    above: Above,
    language: Language,
    residence: Residence,
    method: Method,
}

impl About {
    /// What a reader should know all the same.
    fn remark(self) -> Option<String> {
        let About { above, language, residence, method } = self;
        let clock = match method {
            Method::Modelled => "the card's description",
            _ => "the driver's clock",
        };
        let of_bandwidth = match (residence, above) {
            (Residence::Dram, Above { peak: true, .. }) => Some(format!(
                "more than the DRAM peak at a footprint of several times L2: suspect the byte count or {clock}"
            )),
            (residence, above) => of_bandwidth(residence, above, language).map(str::to_string),
        };
        let of_method = (method == Method::LaunchesWithoutGraph)
            .then(|| "the driver records no graphs: the time holds launch overhead".to_string());
        let remarks: Vec<String> = of_bandwidth.into_iter().chain(of_method).collect();
        (!remarks.is_empty()).then(|| remarks.join("; "))
    }
}

fn of_bandwidth(residence: Residence, above: Above, language: Language) -> Option<&'static str> {
    match (residence, above) {
        (_, Above { peak: true, .. }) => Some("more than the DRAM peak: L2 served it, wholly or in part"),
        (Residence::Dram, Above { copy: true, .. }) => Some(match language {
            Language::Driver => {
                "faster than the same copy at the start of the run, which is what 100% stands for"
            }
            _ => "faster than the driver's own copy, which is what 100% stands for",
        }),
        (Residence::L2, Above { copy: true, .. }) => {
            Some("faster than the driver's copy from DRAM, since it lives in L2")
        }
        (Residence::Mixed, Above { copy: true, .. }) => Some(
            "faster than the driver's copy from DRAM, since part of the data is still in L2 from one launch to the next",
        ),
        (Residence::L2, _) => Some("lives in L2: this is not DRAM bandwidth"),
        (Residence::Mixed, _) => Some("part of the data is still in L2 from one launch to the next"),
        (Residence::Dram, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_above_100_per_cent_says_why() {
        let of = |peak: bool, copy: bool, residence| {
            let above = Above { peak, copy };
            let about = About { above, language: Language::Rust, residence, method: Method::Graph };
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
        let above = Above { peak: false, copy: true };
        assert_eq!(
            About {
                above,
                language: Language::Driver,
                residence: Residence::Dram,
                method: Method::LaunchesWithoutGraph
            }
            .remark()
            .as_deref(),
            Some(
                "faster than the same copy at the start of the run, which is what 100% stands for; the driver records \
                 no graphs: the time holds launch overhead"
            )
        );
    }
}
