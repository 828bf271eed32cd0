//! The rows that a simulated card has, with the times of an H200.

use crate::component::Component;
use record::{
    Backend, BytesMoved, Ceiling, Conditions, DeviceInfo, Language, Load, Method, Operation, Operations,
    Parameters, Peak, Readings, Record, Residence, SCHEMA, Times, Timing,
};
use std::collections::BTreeMap;

/// A row of a pass.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The record on the median card.
    record: Record,
    pub(super) component: Component,
}

impl Row {
    /// The record on a card that takes `factor` times as long.
    pub(super) fn at(&self, factor: f64, clock_mhz: f64) -> Record {
        let mut record = self.record.clone();
        if let Some(times) = &mut record.time_ms {
            for time in [&mut times.median, &mut times.min, &mut times.max] {
                *time *= factor;
            }
        }
        let rates = [
            &mut record.gb_per_s,
            &mut record.gop_per_s,
            &mut record.percent_of_peak,
            &mut record.percent_of_copy,
        ];
        for rate in rates.into_iter().flatten() {
            *rate /= factor;
        }
        record.ns_per_operation = record.ns_per_operation.map(|ns| ns * factor);
        record.conditions = Some(Conditions {
            sm_clock_mhz: Readings::of(&[clock_mhz.round()]),
            memory_clock_mhz: Readings::of(&[3201.0]),
            temperature_c: Readings::of(&[45.0]),
            power_limit_w: Some(700.0),
            ..Conditions::default()
        });
        record
    }
}

/// What rows of the kinds that a fleet is judged by differ in.
struct Template {
    experiment: &'static str,
    kernel: &'static str,
    component: Component,
    residence: Residence,
    ms: f64,
    bytes: [u64; 2],
    operations: Option<Operations>,
    parameters: Parameters,
}

/// The rows of `coalesce run --fleet`, with the times of an H200.
pub fn probe() -> Vec<Row> {
    let mib = 1 << 20;
    let of_bytes = Parameters::of_bytes;
    let copy = |kernel, ms| Template {
        experiment: "copy",
        kernel,
        component: Component::Hbm,
        residence: Residence::Dram,
        ms,
        bytes: [256 * mib, 256 * mib],
        operations: None,
        parameters: of_bytes(256 * mib),
    };
    let l2 = |experiment, kernel, ms, bytes, parameters| Template {
        experiment,
        kernel,
        component: Component::L2,
        residence: Residence::L2,
        ms,
        bytes: [bytes, 0],
        operations: None,
        parameters,
    };
    let link = |direction: &str, ms| Template {
        experiment: "transfer",
        kernel: "transfer_driver",
        component: Component::Link,
        residence: Residence::Host,
        ms,
        bytes: [8 * mib, 8 * mib],
        operations: None,
        parameters: of_bytes(8 * mib).with("memory", "pinned").with("direction", direction),
    };
    let clocks = |experiment, kernel, ms, kind, parameters| Template {
        experiment,
        kernel,
        component: Component::Clocks,
        residence: Residence::L2,
        ms,
        bytes: [0, 0],
        operations: Some(Operations { kind, count: 32_768 }),
        parameters,
    };
    let host = |kernel, ms| Template {
        experiment: "launch",
        kernel,
        component: Component::Host,
        residence: Residence::L2,
        ms,
        bytes: [0, 0],
        operations: Some(Operations { kind: Operation::Launch, count: 1 }),
        parameters: of_bytes(0).with("handed", "calls"),
    };
    let templates = [
        copy("copy_driver", 0.1258),
        copy("copy_streaming", 0.1272),
        l2("l2", "l2_store", 0.0031, 4 * mib, of_bytes(4 * mib).with("stored", "32 of 32 bytes")),
        l2("mountain", "mountain", 0.0305, 128 * mib, of_bytes(16 * mib).swept("stride", 1)),
        link("to-device", 0.1514),
        link("to-host", 0.1541),
        clocks("banks", "banks_4", 0.0187, Operation::Access, of_bytes(0).swept("stride", 1)),
        clocks("banks", "banks_8", 0.0247, Operation::Access, of_bytes(0).swept("stride", 1)),
        clocks("latency", "chase_shared", 0.767, Operation::Load, of_bytes(16384)),
        host("launch_empty", 0.0033),
        host("launch_parameters_64", 0.0034),
    ];
    templates.into_iter().map(Template::row).collect()
}

/// `count` rows of a pass: the probe's, repeated with other sizes.
pub fn repeated(count: usize) -> Vec<Row> {
    let probe = probe();
    let nth = |nth: usize| {
        let mut row = probe[nth % probe.len()].clone();
        row.record.parameters.elements += (nth / probe.len()) as u64;
        row
    };
    (0..count).map(nth).collect()
}

impl Template {
    fn row(self) -> Row {
        let [read, written] = self.bytes;
        let gb_per_s = Times::gb_per_s(read + written, self.ms);
        let has_bytes = self.operations.is_none();
        let (peak, copy) = (4813.7, 4268.7);
        let is_time = matches!(
            self.operations.map(|of| of.kind),
            Some(Operation::Load | Operation::Access | Operation::Launch)
        );
        let record = Record {
            schema: SCHEMA.to_string(),
            experiment: self.experiment.to_string(),
            kernel: self.kernel.to_string(),
            language: if self.kernel.ends_with("_driver") { Language::Driver } else { Language::Rust },
            backend: Backend::Measured,
            device: h200(),
            ptx: Some("compute_90".to_string()),
            parameters: self.parameters,
            bytes: BytesMoved { read, written, footprint: read + written },
            residence: self.residence,
            time_ms: Some(Times {
                median: self.ms,
                min: self.ms * 0.998,
                max: self.ms * 1.004,
                samples: 11,
                interval: None,
            }),
            samples_ms: (0..11).map(|nth| self.ms * (1.0 + 0.0005 * f64::from(nth - 5))).collect(),
            gb_per_s: Some(gb_per_s),
            percent_of_peak: has_bytes.then_some(100.0 * gb_per_s / peak),
            percent_of_copy: has_bytes.then_some(100.0 * gb_per_s / copy),
            gflop_per_s: None,
            arithmetic_intensity: None,
            operations: self.operations,
            ns_per_operation: self.operations.filter(|_| is_time).map(|of| of.ns_each(self.ms)),
            gop_per_s: self.operations.map(|of| of.gop_per_s(self.ms)),
            verified: true,
            note: None,
            explanation: None,
            observed: BTreeMap::new(),
            timing: Timing { method: Method::Launches, launches_per_sample: 16, load: Some(Load::Burst) },
            peak: Some(Peak {
                gb_per_s: peak,
                source: "2 x memory clock x bus width, from the driver".to_string(),
            }),
            copy: Some(Ceiling { gb_per_s: copy, bytes: 268_435_456 }),
            ratio_to_reference: None,
            ratio_range: None,
            reference: None,
            conditions: None,
            counters: None,
            origin: None,
        };
        Row { record, component: self.component }
    }
}

fn h200() -> DeviceInfo {
    DeviceInfo {
        ordinal: 0,
        name: "NVIDIA H200".to_string(),
        compute_capability: "9.0".to_string(),
        driver: "13.0".to_string(),
        memory_bytes: 150_109_880_320,
        l2_bytes: 62_914_560,
        multiprocessors: 132,
        max_threads_per_block: 1024,
        max_grid: i32::MAX as u32,
        max_grid_y: 65_535,
        max_shared_per_block: 232_448,
        memory_clock_khz: 3_201_000,
        memory_bus_bits: 6016,
        card: None,
    }
}
