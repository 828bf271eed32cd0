//! Makes the record of a point from what was measured of it.

mod remarks;

use crate::{
    counted::counted,
    experiments::{CardsLaunch, Point, Work},
    kernels::Kernels,
    measure::Measurement,
    sensors::{self, Sensors},
    simulated::Card,
};
use record::{
    Backend, Bound, CYCLES, Ceiling, Conditions, Counted, DeviceInfo, Language, Measure, Operation,
    Operations, PER_CLOCK, Peak, Precision, RUN_SCHEMA, Record, Residence, Run, SCHEMA, Times, Timing,
    Unfilled, doubt::Residuals,
};
use remarks::{About, Above, residence};
use report::explanation;
use simt::model::Unknown;
use std::{env, fmt, time::SystemTime};

/// The fields that all records of a run share.
pub(crate) struct Recorder<'a> {
    /// The device.
    pub device: &'a DeviceInfo,
    /// The kernels that it was given.
    pub kernels: &'a Kernels,
    /// The copy ceiling; `None` where nothing is timed.
    pub copy: Option<Ceiling>,
    /// The card that is simulated, if one is.
    pub card: Option<&'a Card>,
    /// The simulated rows that explain rows of a GPU, if asked for.
    pub simulated: Option<&'a Simulated>,
    /// The card's sensors, or the reason why there are none; `None` for a simulated card, and where nothing is timed.
    pub sensors: Option<&'a Result<Sensors, String>>,
}

/// The simulator's counters of kernels that a GPU runs.
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
        let alike = self.alike(point);
        let seen = match (&counters, alike) {
            (Some(counters), _) => Some((&counters.launch, point.bytes.read)),
            (None, Some(row)) => row.counters.as_ref().map(|counters| (&counters.launch, row.bytes.read)),
            (None, None) => None,
        };
        let residence = residence(point, seen, self.device.l2_bytes);
        let peak = self.peak().map(|peak| peak.gb_per_s);
        let verified = measurement.fault.is_none();
        let unknown = self.unknown(point, measurement);
        let times = measurement.times().filter(|_| verified && unknown.is_none());
        let times = times.map(|times| Times {
            interval: self.interval(point, language, counters.as_deref(), times.median),
            ..times
        });
        // One sample says no more than the median.
        let samples = if times.is_some() && measurement.samples.len() > 1 {
            measurement.samples.clone()
        } else {
            Vec::new()
        };
        let moved = point.bytes.read + point.bytes.written;
        let gb_per_s = times.map(|times| Times::gb_per_s(moved, times.median));
        let rates = times.and_then(|times| Rates::of(point, times.median));
        let owned = |(name, value): (&String, &serde_json::Value)| (name.clone(), value.clone());
        let percent_of = |whole: Option<f64>| Some(100.0 * gb_per_s? / whole?);
        let percent_of_peak = percent_of(peak);
        let percent_of_copy = percent_of(self.copy.map(|copy| copy.gb_per_s));
        // By what the table shows, in tenths.
        let above = Above { peak: percent_of_peak > Some(100.0), copy: percent_of_copy >= Some(100.05) };
        let gflop_per_s = times.zip(point.flops).map(|(times, flops)| Times::gb_per_s(flops, times.median));
        let figure_of = |of: fn(Operations, f64) -> f64| Some(of(point.operations?, times?.median));
        let arithmetic_intensity = point.flops.filter(|_| moved > 0).map(|flops| flops as f64 / moved as f64);
        let rereads = point.bytes.read > 2 * point.bytes.footprint;
        let about = About { above, language, residence, method: measurement.method, rereads };
        let unfilled = Unfilled::of(point.parameters.grid, self.device.multiprocessors);
        let unfilled = unfilled.map(|unfilled| format!("{unfilled}: the card is not filled"));
        // The time of single operations is about neither bandwidth nor a full card, nor is the rate of instructions.
        let has_bandwidth = point.operations.is_none_or(|of| Measure::Operations(of.kind).has_bandwidth());
        let remarks = about.remark().into_iter().chain(unfilled).filter(|_| times.is_some() && has_bandwidth);
        let remarks: Vec<String> =
            unknown.into_iter().chain(remarks).chain(self.differences(point, language)).collect();
        let note = measurement.fault.clone().or_else(|| (!remarks.is_empty()).then(|| remarks.join("; ")));
        Record {
            schema: SCHEMA.to_string(),
            experiment: point.experiment.to_string(),
            kernel: point.kernel.to_string(),
            language,
            backend: self.device.backend(),
            device: self.device.clone(),
            ptx: (language == Language::Rust).then(|| self.kernels.artefact(point.kernel).name()),
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
            operations: point.operations,
            ns_per_operation: figure_of(Operations::ns_each),
            gop_per_s: figure_of(Operations::gop_per_s),
            verified,
            note,
            explanation: verified.then(|| {
                let of_cards = rates.map(|rates| rates.to_string()).into_iter();
                let moves = of_cards.chain(explanation::of_moves(&measurement.observed));
                let whole = times.or_else(|| self.untimed(point, counters.as_deref()?));
                let rest = self.explanation(point, counters.as_deref(), alike, residence, whole.as_ref());
                moves.chain([rest]).collect::<Vec<_>>().join("; ")
            }),
            observed: measurement
                .observed
                .iter()
                .map(owned)
                .chain(rates.iter().flat_map(Rates::observed))
                .chain(counters.as_deref().and_then(|counters| self.modelled_clocks(point, counters)))
                .collect(),
            timing: Timing {
                method: measurement.method,
                launches_per_sample: measurement.launches_per_sample,
                load: measurement.load,
            },
            peak: self.peak(),
            copy: self.copy,
            ratio_to_reference: None,
            ratio_range: None,
            reference: None,
            conditions: self.conditions(point, measurement, times),
            counters: counters.filter(|_| verified),
            origin: None,
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
            ptx: Some(self.kernels.common().name()),
            peak: self.peak(),
            copy: self.copy,
            sensors: self.sensors.map(|sensors| match sensors {
                Ok(sensors) => record::Sensors::Nvml(sensors.driver.clone()),
                Err(reason) => record::Sensors::Missing(reason.clone()),
            }),
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

    /// Returns the reason why the model has no time of a point, which the row states in place of one: the point is about what the model
    /// lacks, or its kernel was not measured and uses what the model does not know.
    fn unknown(&self, point: &Point, measurement: &Measurement) -> Option<String> {
        let card = self.card?;
        if let Some(reason) = point.unmodelled {
            return Some(format!("no modelled time: {reason}"));
        }
        let launch = measurement.launch.as_deref()?;
        if Residuals::built_in().know(&card.key, point.kernel) {
            return None;
        }
        Unknown::of(&launch.counters, launch.sites(), &launch.time, card).map(|unknown| unknown.to_string())
    }

    /// The interval of a modelled time, by how kernels of its kind fared; `None` of a measured time.
    fn interval(
        &self,
        point: &Point,
        language: Language,
        counters: Option<&Counted>,
        milliseconds: f64,
    ) -> Option<[f64; 2]> {
        // The driver's own copies have no counters.
        let bound = counters.map_or(Bound::Dram, |counters| counters.bound);
        let kernel = (language != Language::Driver).then_some(point.kernel);
        Residuals::built_in().interval(&self.card?.key, kernel, bound, milliseconds)
    }

    /// The doubt of a launch that was counted and not timed; `None` on a GPU.
    fn untimed(&self, point: &Point, counters: &Counted) -> Option<Times> {
        Some(Residuals::built_in().of_untimed(&self.card?.key, Some(point.kernel), counters.bound))
    }

    /// The state of the card during the samples of a row; `None` without sensors, and without times.
    fn conditions(
        &self,
        point: &Point,
        measurement: &Measurement,
        times: Option<Times>,
    ) -> Option<Conditions> {
        let limit = self.sensors?.as_ref().ok()?.power_limit_w;
        let launch_ms = times.filter(|_| !measurement.logs.is_empty())?.median;
        Some(sensors::conditions(&measurement.logs, limit, launch_ms, point.flops))
    }

    /// The simulated row that explains a point of a GPU.
    fn alike(&self, point: &Point) -> Option<&Record> {
        explanation::most_alike(&self.simulated?.rows, point.kernel, &point.parameters)
    }

    /// The explanation of a row.
    fn explanation(
        &self,
        point: &Point,
        counters: Option<&Counted>,
        alike: Option<&Record>,
        residence: Residence,
        times: Option<&Times>,
    ) -> String {
        let simulated = || {
            let total = &alike?.counters.as_ref()?.launch.total;
            Some(explanation::of_simulated(total, &alike?.device, &point.bytes, residence))
        };
        let what = match counters {
            Some(counters) => explanation::of_counters(counters, self.device, times),
            None => simulated().unwrap_or_else(|| explanation::of_bytes(&point.bytes, residence)),
        };
        explanation::of_variable(&point.parameters).into_iter().chain([what]).collect::<Vec<_>>().join("; ")
    }

    /// The clock cycles that the model has for an instruction, among what is observed; `None` of other operations.
    ///
    /// A dependent one takes those of its result, and one of many its share of issue or of the unit that limits.
    fn modelled_clocks(&self, point: &Point, counters: &Counted) -> Option<(String, serde_json::Value)> {
        let (operations, card) = (point.operations?, self.card?);
        let count = operations.count as f64;
        let (name, clocks) = match operations.kind {
            Operation::Dependent => (CYCLES, counters.launch.dependency_clocks / count),
            Operation::Instruction => {
                let busy_us = counters.modelled_us.issue.max(counters.modelled_us.on_chip);
                let clocks = busy_us * card.clock_mhz * f64::from(card.multiprocessors);
                (PER_CLOCK, count / clocks)
            }
            _ => return None,
        };
        Some((name.to_string(), clocks.into()))
    }

    fn counters(&self, measurement: &Measurement) -> Option<Box<Counted>> {
        let (launch, card) = (measurement.launch.as_deref()?, self.card?);
        Some(Box::new(counted(launch, card)))
    }
}

/// The rates of a sum over cards, as NCCL's tests define them: doc/PERFORMANCE.md of NVIDIA/nccl-tests.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rates {
    cards: u32,
    /// The bytes of a card's array over the time.
    algorithm_gb_per_s: f64,
    /// `2 (n - 1) / n` times as much, for `n` cards: what each link carries in each direction.
    bus_gb_per_s: f64,
}

impl Rates {
    /// The rates of a point that takes so many milliseconds; `None` of work on one card.
    fn of(point: &Point, milliseconds: f64) -> Option<Rates> {
        let Work::Cards(CardsLaunch { cards, .. }) = point.work else { return None };
        let algorithm_gb_per_s = Times::gb_per_s(point.parameters.bytes, milliseconds);
        let bus_gb_per_s = algorithm_gb_per_s * 2.0 * f64::from(cards - 1) / f64::from(cards);
        Some(Rates { cards, algorithm_gb_per_s, bus_gb_per_s })
    }

    /// The same as values of a record.
    fn observed(&self) -> [(String, serde_json::Value); 2] {
        [("algorithm_gb_per_s", self.algorithm_gb_per_s), ("bus_gb_per_s", self.bus_gb_per_s)]
            .map(|(name, rate)| (name.to_string(), rate.into()))
    }
}

impl fmt::Display for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rates { cards, algorithm_gb_per_s, bus_gb_per_s } = self;
        write!(
            f,
            "a sum over {cards} cards with {algorithm_gb_per_s:.1} GB/s of algorithm bandwidth and {bus_gb_per_s:.1} of bus \
             bandwidth"
        )
    }
}

impl Recorder<'_> {
    /// Notes on differences between the simulated card and a real one of its kind.
    fn differences(&self, point: &Point, language: Language) -> Vec<String> {
        /// The first compute capability with double precision.
        const DOUBLE_PRECISION: u32 = 13;
        let mut differences = Vec::new();
        if self.device.backend() == Backend::Measured || language == Language::Driver {
            return differences;
        }
        let capability = &self.device.compute_capability;
        let artefact = self.kernels.artefact(point.kernel);
        if language == Language::Rust && artefact.is_beyond(self.device) {
            differences.push(format!(
                "a real card of capability {capability} could not load PTX for {} (the simulator runs any)",
                artefact.name()
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
