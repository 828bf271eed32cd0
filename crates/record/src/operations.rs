//! The figure of a row: bandwidth, a rate of arithmetic, or the time or rate of counted operations.

use crate::{Record, times::overlap};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Operations of one launch, whose time or rate is the figure of its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operations {
    /// What is counted.
    pub kind: Operation,
    /// Number in one launch: of loads and dependent instructions those of one chain, of accesses those that one SM serves.
    pub count: u64,
}

impl Operations {
    /// Nanoseconds per operation if all of them take `milliseconds`.
    ///
    /// ```
    /// let loads = record::Operations { kind: record::Operation::Load, count: 1000 };
    /// assert_eq!(loads.ns_each(0.6), 600.0);
    /// ```
    pub fn ns_each(self, milliseconds: f64) -> f64 {
        milliseconds * 1e6 / self.count as f64
    }

    /// 10^9 operations per second if all of them take `milliseconds`.
    pub fn gop_per_s(self, milliseconds: f64) -> f64 {
        self.count as f64 / 1e6 / milliseconds
    }
}

/// A kind of counted operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// A load whose address is the result of the load before it: the figure is the time of each.
    Load,
    /// A warp's access to shared memory, many of which are in flight: the figure is the time between two of an SM.
    Access,
    /// A launch: the figure is the time of each.
    Launch,
    /// An atomic operation of one thread: the figure is the rate of the card.
    Atomic,
    /// An element that is found by an index: the figure is the rate of the card.
    Lookup,
    /// An instruction whose operand is the result of the one before it: the figure is the time of each.
    Dependent,
    /// A barrier of a block or a warp, right behind another one: the figure is the time of each.
    Barrier,
    /// An instruction of one thread, many of which are in flight: the figure is the rate of the card.
    Instruction,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Operation::Load => "load",
            Operation::Access => "access",
            Operation::Launch => "launch",
            Operation::Atomic => "atomic",
            Operation::Lookup => "lookup",
            Operation::Dependent => "dependent",
            Operation::Barrier => "barrier",
            Operation::Instruction => "instruction",
        })
    }
}

/// The quantity that rows are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measure {
    /// Bytes read and written per second.
    Bandwidth,
    /// Floating-point operations per second.
    Arithmetic,
    /// The time of each operation of a kind, or their rate.
    Operations(Operation),
}

impl Measure {
    /// The unit, as in `GB/s` or `ns/load`.
    pub fn unit(self) -> &'static str {
        match self {
            Measure::Bandwidth => "GB/s",
            Measure::Arithmetic => "GFLOP/s",
            Measure::Operations(Operation::Load) => "ns/load",
            Measure::Operations(Operation::Access) => "ns/access",
            Measure::Operations(Operation::Launch) => "us/launch",
            Measure::Operations(Operation::Atomic) => "Gatomic/s",
            Measure::Operations(Operation::Lookup) => "Glookup/s",
            Measure::Operations(Operation::Dependent) => "ns/instr",
            Measure::Operations(Operation::Barrier) => "ns/barrier",
            Measure::Operations(Operation::Instruction) => "Ginstr/s",
        }
    }

    /// The name of the quantity, as a picture's title begins.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Bandwidth => "Effective bandwidth",
            Measure::Arithmetic => "Rate of arithmetic",
            Measure::Operations(Operation::Load) => "Latency of loads",
            Measure::Operations(Operation::Access) => "Time of accesses",
            Measure::Operations(Operation::Launch) => "Time of launches",
            Measure::Operations(Operation::Atomic) => "Rate of atomic operations",
            Measure::Operations(Operation::Lookup) => "Rate of lookups",
            Measure::Operations(Operation::Dependent) => "Latency of instructions",
            Measure::Operations(Operation::Barrier) => "Time of barriers",
            Measure::Operations(Operation::Instruction) => "Rate of instructions",
        }
    }

    /// Whether it is the time of each operation, of which less is better; else it is a rate.
    pub fn is_time(self) -> bool {
        use Operation::{Access, Barrier, Dependent, Launch, Load};
        matches!(self, Measure::Operations(Load | Access | Launch | Dependent | Barrier))
    }

    /// Whether bandwidth tells anything beside it: neither times of single operations nor instructions are about bytes.
    pub fn has_bandwidth(self) -> bool {
        !self.is_time() && self != Measure::Operations(Operation::Instruction)
    }

    /// The figure of a row in [`unit`](Self::unit); `None` where the row has none.
    pub fn of(self, row: &Record) -> Option<f64> {
        let kind = row.operations.map(|operations| operations.kind);
        match self {
            Measure::Bandwidth => row.gb_per_s,
            Measure::Arithmetic => row.gflop_per_s,
            Measure::Operations(wanted) if kind != Some(wanted) => None,
            Measure::Operations(Operation::Launch) => row.ns_per_operation.map(|ns| ns / 1e3),
            Measure::Operations(_) if self.is_time() => row.ns_per_operation,
            Measure::Operations(_) => row.gop_per_s,
        }
    }

    /// The least and the greatest figure of a row's samples; `None` with fewer than two.
    pub fn range(self, row: &Record) -> Option<[f64; 2]> {
        let times = row.time_ms.filter(|times| times.samples > 1)?;
        self.between(row, [times.min, times.max])
    }

    /// The figures between which [such a kernel](crate::doubt) is measured with a probability of
    /// [`COVERAGE`](crate::doubt::COVERAGE); `None` of a measured row.
    pub fn interval(self, row: &Record) -> Option<[f64; 2]> {
        self.between(row, row.time_ms?.interval?)
    }

    /// Whether the intervals of two modelled rows overlap, so that either may have the better figure when measured; false where one
    /// has none.
    pub fn is_open(self, one: &Record, other: &Record) -> bool {
        self.interval(one).zip(self.interval(other)).is_some_and(|(one, other)| overlap(one, other))
    }

    /// The figures of the shortest and the longest time, in ascending order.
    fn between(self, row: &Record, [shortest, longest]: [f64; 2]) -> Option<[f64; 2]> {
        let (median, figure) = (row.time_ms?.median, self.of(row)?);
        Some(match self.is_time() {
            true => [shortest, longest].map(|time| figure * time / median),
            false => [longest, shortest].map(|time| figure * median / time),
        })
    }
}

impl Record {
    /// The quantity that this row is compared by with others of its experiment.
    pub fn measure(&self) -> Measure {
        match (self.operations, self.arithmetic_intensity.or(self.gflop_per_s)) {
            (Some(operations), _) => Measure::Operations(operations.kind),
            (None, Some(_)) => Measure::Arithmetic,
            (None, None) => Measure::Bandwidth,
        }
    }

    /// The row's figure in the unit of its [measure](Self::measure); `None` in an unverified row and in one that was not timed.
    pub fn figure(&self) -> Option<f64> {
        self.measure().of(self)
    }

    /// Clock cycles per operation, which the kernel itself measured by `clock64`, or which the model has for an instruction;
    /// `None` elsewhere.
    pub fn cycles(&self) -> Option<f64> {
        self.observed.get(CYCLES)?.as_f64()
    }

    /// Operations per clock cycle and multiprocessor, known as [`cycles`](Self::cycles) are.
    pub fn per_clock(&self) -> Option<f64> {
        self.observed.get(PER_CLOCK)?.as_f64()
    }
}

/// The field of `observed` with the clock cycles per operation.
pub const CYCLES: &str = "cycles";

/// The field of `observed` with the operations per clock cycle and multiprocessor.
pub const PER_CLOCK: &str = "per_clock";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Times, documented};

    #[test]
    fn a_row_is_compared_by_its_operations() {
        let times = Times { median: 0.6, min: 0.5, max: 0.9, samples: 3, interval: Some([0.3, 1.2]) };
        let of = |kind, count| {
            let operations = Operations { kind, count };
            Record {
                operations: Some(operations),
                ns_per_operation: Some(operations.ns_each(times.median)),
                gop_per_s: Some(operations.gop_per_s(times.median)),
                time_ms: Some(times),
                ..documented::record()
            }
        };
        let figure = |row: &Record| {
            let [low, high] = row.measure().range(row).expect("there are three samples");
            [low, row.figure().expect("it is timed"), high].map(|figure| (figure * 1e6).round() / 1e6)
        };
        // 0.5, 0.6 and 0.9 ms for 1000 loads; for 3 million atomics the longest time has the least rate.
        assert_eq!(figure(&of(Operation::Load, 1000)), [500.0, 600.0, 900.0]);
        assert_eq!(figure(&of(Operation::Launch, 100)), [5.0, 6.0, 9.0]);
        assert_eq!(figure(&of(Operation::Atomic, 3_000_000)), [3.333_333, 5.0, 6.0]);
        let row = of(Operation::Load, 1000);
        assert_eq!(
            row.measure().interval(&row).map(|interval| interval.map(f64::round)),
            Some([300.0, 1200.0])
        );
        let atomics = of(Operation::Atomic, 3_000_000);
        let interval = atomics.measure().interval(&atomics).expect("it is modelled");
        assert_eq!(interval.map(|figure| (figure * 1e6).round() / 1e6), [2.5, 10.0]);
        let slower = |factor: f64| {
            let interval = times.interval.map(|bounds| bounds.map(|bound| factor * bound));
            let times = Times { median: factor * times.median, interval, ..times };
            let ns = Some(factor * 600.0);
            Record { time_ms: Some(times), ns_per_operation: ns, ..row.clone() }
        };
        // 300 to 1200 ns against 1170 to 4680, and against 1230 to 4920.
        assert!(row.measure().is_open(&row, &slower(3.9)) && row.measure().is_open(&slower(3.9), &row));
        assert!(!row.measure().is_open(&row, &slower(4.1)) && !row.measure().is_open(&slower(4.1), &row));
        let measured = Record { time_ms: Some(Times { interval: None, ..times }), ..row.clone() };
        assert!(!row.measure().is_open(&row, &measured));
        assert_eq!(row.measure().unit(), "ns/load");
        assert_eq!(Measure::Operations(Operation::Atomic).of(&row), None);
        assert_eq!(figure(&of(Operation::Dependent, 1000)), [500.0, 600.0, 900.0]);
        assert_eq!(figure(&of(Operation::Instruction, 3_000_000)), [3.333_333, 5.0, 6.0]);
        let about_bytes = |kind| of(kind, 1).measure().has_bandwidth();
        let kinds = [Operation::Load, Operation::Atomic, Operation::Barrier, Operation::Instruction];
        assert_eq!(kinds.map(about_bytes), [false, true, false, false]);
        let bytes = Record { operations: None, arithmetic_intensity: None, gflop_per_s: None, ..row };
        assert_eq!(bytes.measure(), Measure::Bandwidth);
        assert_eq!(documented::record().measure(), Measure::Operations(Operation::Load));
    }
}
