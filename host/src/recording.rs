//! Makes the record of a point from what was measured of it.

use crate::{counted::counted, experiments::Point, kernels::Artefact, measure::Measurement, simulated::Card};
use record::{
    Backend, Ceiling, Counted, DeviceInfo, Language, Method, Peak, Precision, RUN_SCHEMA, Record, Residence,
    Run, SCHEMA, Times, Timing,
};
use report::explanation;
use std::{env, time::SystemTime};

/// What all records of a run have in common.
#[derive(Clone, Debug)]
pub(crate) struct Recorder<'a> {
    /// The device.
    pub device: &'a DeviceInfo,
    /// The PTX that it was given.
    pub artefact: Artefact<'a>,
    /// The copy ceiling; `None` where nothing is timed.
    pub copy: Option<Ceiling>,
    /// The card that is simulated, if one is.
    pub card: Option<&'a Card>,
    /// What explains rows of a GPU, where that is wanted.
    pub simulated: Option<&'a Simulated>,
}

/// What the simulator counted of kernels that a GPU runs.
#[derive(Clone, Debug)]
pub(crate) struct Simulated {
    /// The records.
    pub rows: Vec<Record>,
    /// The card that was simulated, by its key.
    pub card: String,
}

impl Recorder<'_> {
    /// The record of a point that was measured for a contender.
    pub(crate) fn record(&self, point: &Point, language: Language, measurement: &Measurement) -> Record {
        let counters = self.counters(measurement);
        let residence = match point.before_each {
            // Its data has been elsewhere since the launch before.
            Some(_) => Residence::Dram,
            None => Residence::of(point.bytes.footprint, self.device.l2_bytes),
        };
        let peak = self.peak().map(|peak| peak.gb_per_s);
        let verified = measurement.fault.is_none();
        let times = measurement.times().filter(|_| verified);
        // One sample says no more than the median.
        let samples =
            if verified && measurement.samples.len() > 1 { measurement.samples.clone() } else { Vec::new() };
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
            samples_ms: samples,
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
            peak: self.peak(),
            copy: self.copy,
            ratio_to_reference: None,
            ratio_range: None,
            counters: counters.filter(|_| verified),
        }
    }

    /// The record of the run that is about to begin.
    pub(crate) fn run(&self) -> Run {
        let started = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let card = self.card.and_then(|card| serde_json::to_value(card).ok());
        Run {
            schema: RUN_SCHEMA.to_string(),
            command: env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
            version: env!("CARGO_PKG_VERSION").to_string(),
            started_unix: started.map_or(0, |since| since.as_secs()),
            device: self.device.clone(),
            card: card.and_then(|card| card.as_object().cloned()),
            ptx: Some(format!("compute_{}", self.artefact.arch)),
            peak: self.peak(),
            copy: self.copy,
        }
    }

    /// The peak bandwidth: of a GPU by its clock and bus, of a simulated card by its description.
    fn peak(&self) -> Option<Peak> {
        let (gb_per_s, source) = match self.card {
            Some(card) => (card.dram_gb_per_s, "from the card's description"),
            None => (self.device.peak_gb_per_s()?, "2 x memory clock x bus width, from the driver"),
        };
        Some(Peak { gb_per_s, source: source.to_string() })
    }

    /// What makes a row what it is.
    fn explanation(&self, point: &Point, counters: Option<&Counted>, residence: Residence) -> String {
        let what = self.of_launch(point, counters, residence);
        explanation::of_variable(&point.parameters).into_iter().chain([what]).collect::<Vec<_>>().join("; ")
    }

    /// What its launch did.
    fn of_launch(&self, point: &Point, counters: Option<&Counted>, residence: Residence) -> String {
        if let Some(counters) = counters {
            return explanation::of_counters(counters, self.device);
        }
        let counted = self.simulated.and_then(|simulated| {
            let row = explanation::most_alike(&simulated.rows, point.kernel, &point.parameters)?;
            let total = &row.counters.as_ref()?.launch.total;
            Some(explanation::of_simulated(total, &simulated.card, &point.bytes, residence))
        });
        counted.unwrap_or_else(|| explanation::of_bytes(&point.bytes, residence))
    }

    fn counters(&self, measurement: &Measurement) -> Option<Box<Counted>> {
        let (launch, card) = (measurement.launch.as_deref()?, self.card?);
        Some(Box::new(counted(launch, card)))
    }
}

impl Recorder<'_> {
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
