//! One line of a file of records, as far as a fleet is judged by it: borrowed from the text, everything else skipped.

use crate::{
    component::{Component, Traits, component},
    error::LineError,
};
use record::{Backend, BytesMoved, Language, Limit, Measure, Operation, Operations, Residence, SCHEMA};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A record, without the fields that do not matter here.
#[derive(Debug, Deserialize)]
pub(crate) struct Line<'a> {
    #[serde(borrow)]
    schema: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) experiment: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) kernel: Cow<'a, str>,
    pub(crate) language: Language,
    pub(crate) backend: Backend,
    #[serde(borrow)]
    pub(crate) device: Device<'a>,
    #[serde(borrow)]
    pub(crate) parameters: &'a RawValue,
    bytes: BytesMoved,
    residence: Residence,
    time_ms: Option<Time>,
    #[serde(default)]
    gflop_per_s: Option<f64>,
    #[serde(default)]
    operations: Option<Operations>,
    pub(crate) verified: bool,
    #[serde(default)]
    peak: Option<Peak>,
    #[serde(default)]
    conditions: Option<Conditions>,
    #[serde(default, borrow)]
    pub(crate) origin: Option<Origin<'a>>,
}

/// A device, without what does not tell kinds of cards apart.
#[derive(Debug, Deserialize)]
pub(crate) struct Device<'a> {
    pub(crate) ordinal: u32,
    #[serde(borrow)]
    pub(crate) name: Cow<'a, str>,
    pub(crate) multiprocessors: u32,
}

/// [`record::Origin`], borrowed.
#[derive(Debug, Deserialize)]
pub(crate) struct Origin<'a> {
    #[serde(borrow)]
    pub(crate) run: Cow<'a, str>,
    #[serde(default)]
    pub(crate) rank: Option<u32>,
    #[serde(default)]
    pub(crate) ranks: Option<u32>,
    #[serde(borrow)]
    pub(crate) host: Cow<'a, str>,
    #[serde(default, borrow)]
    pub(crate) uuid: Option<Cow<'a, str>>,
    pub(crate) pass: u32,
    #[serde(borrow)]
    pub(crate) version: Cow<'a, str>,
}

impl Origin<'_> {
    /// The same with its texts.
    pub(crate) fn to_record(&self) -> record::Origin {
        record::Origin {
            run: self.run.to_string(),
            rank: self.rank,
            ranks: self.ranks,
            host: self.host.to_string(),
            uuid: self.uuid.as_deref().map(str::to_string),
            pass: self.pass,
            passes: 0,
            version: self.version.to_string(),
        }
    }

    /// Whether it is the same, apart from the number of passes.
    pub(crate) fn is(&self, other: &record::Origin) -> bool {
        self.pass == other.pass
            && self.rank == other.rank
            && self.uuid.as_deref() == other.uuid.as_deref()
            && self.host == other.host
            && self.run == other.run
            && self.version == other.version
            && self.ranks == other.ranks
    }
}

#[derive(Debug, Deserialize)]
struct Time {
    median: f64,
}

#[derive(Debug, Deserialize)]
struct Peak {
    gb_per_s: f64,
}

#[derive(Debug, Deserialize)]
struct Conditions {
    #[serde(default)]
    sm_clock_mhz: Option<Time>,
    #[serde(default)]
    limited_by: Vec<Limit>,
}

impl<'a> Line<'a> {
    /// Parses a line.
    pub(crate) fn parse(text: &'a [u8]) -> Result<Line<'a>, LineError> {
        let line: Line<'_> = serde_json::from_slice(text)?;
        if line.schema == SCHEMA { Ok(line) } else { Err(LineError::Schema(line.schema.into_owned())) }
    }

    /// Milliseconds of a launch; `None` where the row has none.
    pub(crate) fn milliseconds(&self) -> Option<f64> {
        self.time_ms.as_ref().map(|time| time.median).filter(|median| *median > 0.0 && median.is_finite())
    }

    /// The card's peak bandwidth by its own clock and bus.
    pub(crate) fn peak(&self) -> Option<f64> {
        self.peak.as_ref().map(|peak| peak.gb_per_s)
    }

    /// The clock of the SMs during the row.
    pub(crate) fn sm_clock_mhz(&self) -> Option<f64> {
        self.conditions.as_ref()?.sm_clock_mhz.as_ref().map(|clock| clock.median)
    }

    /// Whether somebody set the card's clocks.
    pub(crate) fn has_set_clocks(&self) -> bool {
        self.conditions
            .as_ref()
            .is_some_and(|conditions| conditions.limited_by.contains(&Limit::ClockSetting))
    }

    /// Writes what tells this row from others of the card into `key`.
    pub(crate) fn key(&self, key: &mut String) {
        key.clear();
        for part in [&*self.experiment, &*self.kernel, language(self.language), self.parameters.get()] {
            key.push_str(part);
            key.push('\0');
        }
    }

    /// The component that bounds the row.
    pub(crate) fn component(&self) -> Option<Component> {
        component(Traits {
            experiment: &self.experiment,
            kernel: &self.kernel,
            parameters: self.parameters.get(),
            bytes: self.bytes.read,
            residence: self.residence,
            operation: self.operations.map(|operations| operations.kind),
            rates_arithmetic: self.gflop_per_s.is_some(),
        })
    }

    /// The figure that people compare such rows by.
    pub(crate) fn figure(&self) -> Figure {
        let measure = match (self.operations, self.gflop_per_s) {
            (Some(operations), _) => Measure::Operations(operations.kind),
            (None, Some(_)) => Measure::Arithmetic,
            (None, None) => Measure::Bandwidth,
        };
        let factor = match (measure, self.operations) {
            (Measure::Operations(Operation::Launch), Some(of)) => 1e3 / of.count as f64,
            (Measure::Operations(_), Some(of)) if measure.is_time() => 1e6 / of.count as f64,
            (Measure::Operations(_), Some(of)) => of.count as f64 / 1e6,
            (Measure::Arithmetic, _) => self.gflop_per_s.unwrap_or(0.0) * self.milliseconds().unwrap_or(0.0),
            _ => (self.bytes.read + self.bytes.written) as f64 / 1e6,
        };
        Figure { factor, is_time: measure.is_time(), unit: measure.unit() }
    }
}

/// From times to the figure of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Figure {
    factor: f64,
    pub(crate) is_time: bool,
    pub(crate) unit: &'static str,
}

impl Figure {
    /// The figure of a launch that takes as many milliseconds.
    pub(crate) fn of(self, milliseconds: f64) -> f64 {
        if self.is_time { self.factor * milliseconds } else { self.factor / milliseconds }
    }
}

/// The language as JSON has it.
pub(crate) fn language(language: Language) -> &'static str {
    match language {
        Language::Rust => "rust",
        Language::CudaCpp => "cuda-c++",
        Language::Driver => "driver",
        Language::Library => "library",
    }
}
