//! The part of a card or machine that bounds a row, by which slow rows point to a fault.

use record::{Operation, Residence};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A part of a card or of its machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Component {
    /// Device memory.
    Hbm,
    /// The second-level cache.
    L2,
    /// The link to the host or to another card.
    Link,
    /// The clock of the multiprocessors.
    Clocks,
    /// The host that launches.
    Host,
}

impl Component {
    /// All of them, in the order in which a report names them.
    pub const ALL: [Component; 5] =
        [Component::Hbm, Component::L2, Component::Link, Component::Clocks, Component::Host];

    /// Its number in [`ALL`](Self::ALL).
    pub(crate) fn number(self) -> usize {
        self as usize
    }

    /// Its name in a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Component::Hbm => "device memory",
            Component::L2 => "L2",
            Component::Link => "the link",
            Component::Clocks => "clocks",
            Component::Host => "the host",
        }
    }

    /// The rows that it bounds, as a sentence has them.
    pub fn rows(self) -> &'static str {
        match self {
            Component::Hbm => "rows bound by device memory",
            Component::L2 => "rows whose data stay in L2",
            Component::Link => "copies over the link",
            Component::Clocks => "rows bound by the SMs' clock",
            Component::Host => "launches by the host's calls",
        }
    }

    /// The advice that goes with a finding, in the imperative.
    pub fn advice(self) -> &'static str {
        match self {
            Component::Hbm => {
                "read `nvidia-smi -q -d ROW_REMAPPER,ECC,PERFORMANCE` for remapped rows and memory heat"
            }
            Component::L2 => {
                "read `nvidia-smi -q -d ECC` for errors of SRAM, and compare the L2 size that the driver reports"
            }
            Component::Link => {
                "compare `nvidia-smi -q -d PCIE` (current and maximal width and generation) and `nvidia-smi nvlink -s`"
            }
            Component::Clocks => "read `nvidia-smi -q -d CLOCK,PERFORMANCE,TEMPERATURE,POWER` while it runs",
            Component::Host => {
                "look at the machine's governor, load and NUMA binding; all of its cards are slow alike"
            }
        }
    }
}

impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Component::Hbm => "HBM",
            Component::L2 => "L2",
            Component::Link => "link",
            Component::Clocks => "clocks",
            Component::Host => "host",
        })
    }
}

/// The fields of a record that decide its component.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traits<'a> {
    pub(crate) experiment: &'a str,
    pub(crate) kernel: &'a str,
    /// The parameters as the record has them.
    pub(crate) parameters: &'a str,
    pub(crate) bytes: u64,
    pub(crate) residence: Residence,
    pub(crate) operation: Option<Operation>,
    pub(crate) rates_arithmetic: bool,
}

/// Bytes from which a copy over the link is bound by its bandwidth: below, by the call.
const LARGE_COPY: u64 = 1 << 20;

/// The component that bounds a row; `None` for rows that several bound alike, which have a distribution but no say in a
/// verdict.
///
/// | rows | component |
/// | --- | --- |
/// | `link`; `transfer` of at least 1 MiB from or to pinned memory; data in the host's memory | link |
/// | `launch`, one call per launch | host |
/// | arithmetic (`matmul`), `instructions`, `banks`, atomics and chains of loads in shared memory; data in L1 or constant memory | clocks |
/// | data in L2: bandwidth, atomics, chains of loads | L2 |
/// | data in device memory: bandwidth | HBM |
pub(crate) fn component(row: Traits<'_>) -> Option<Component> {
    let is = |name: &str, value: &str| row.parameters.contains(&format!("\"{name}\":\"{value}\""));
    Some(match (row.experiment, row.operation, row.residence) {
        ("launch", ..) => return is("handed", "calls").then_some(Component::Host),
        ("unified", ..) => return None,
        ("link", ..) => Component::Link,
        ("transfer", ..) => {
            let pinned = is("memory", "pinned") || is("memory", "write-combined");
            return (pinned && row.bytes >= LARGE_COPY && row.kernel == "transfer_driver")
                .then_some(Component::Link);
        }
        (.., Residence::Host | Residence::Peer) => Component::Link,
        ("banks" | "instructions", ..) | (.., Residence::L1 | Residence::Constant) => Component::Clocks,
        _ if row.kernel.starts_with("atomics_shared") => Component::Clocks,
        ("latency", ..) if matches!(row.kernel, "chase_shared" | "chase_constant") => Component::Clocks,
        _ if row.rates_arithmetic => Component::Clocks,
        (.., Residence::L2) => Component::L2,
        (_, Some(Operation::Load), Residence::Dram) | (.., Residence::Mixed) => return None,
        (.., Residence::Dram) => Component::Hbm,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Traits<'_> = Traits {
        experiment: "copy",
        kernel: "copy_vector",
        parameters: "{}",
        bytes: 1 << 28,
        residence: Residence::Dram,
        operation: None,
        rates_arithmetic: false,
    };

    #[test]
    fn rows_belong_to_what_bounds_them() {
        assert_eq!(component(PLAIN), Some(Component::Hbm));
        assert_eq!(component(Traits { residence: Residence::L2, ..PLAIN }), Some(Component::L2));
        assert_eq!(component(Traits { residence: Residence::Mixed, ..PLAIN }), None);
        let matmul =
            Traits { experiment: "matmul", residence: Residence::L2, rates_arithmetic: true, ..PLAIN };
        assert_eq!(component(matmul), Some(Component::Clocks));
        let of = |experiment, kernel, residence, operation| {
            component(Traits { experiment, kernel, residence, operation: Some(operation), ..PLAIN })
        };
        assert_eq!(of("latency", "chase_shared", Residence::L2, Operation::Load), Some(Component::Clocks));
        assert_eq!(of("latency", "chase_l2", Residence::L2, Operation::Load), Some(Component::L2));
        assert_eq!(of("latency", "chase_l2", Residence::Dram, Operation::Load), None);
        assert_eq!(of("banks", "banks_4", Residence::L2, Operation::Access), Some(Component::Clocks));
        let chain = of("instructions", "chain_fma_f32", Residence::L2, Operation::Dependent);
        assert_eq!(chain, Some(Component::Clocks));
        let atomics = of("atomics", "atomics_shared_add_u32", Residence::L2, Operation::Atomic);
        assert_eq!(atomics, Some(Component::Clocks));
    }

    #[test]
    fn copies_and_launches_count_where_the_link_or_the_host_bounds_them() {
        let transfer = Traits {
            experiment: "transfer",
            kernel: "transfer_driver",
            parameters: r#"{"memory":"pinned"}"#,
            residence: Residence::Host,
            ..PLAIN
        };
        assert_eq!(component(transfer), Some(Component::Link));
        assert_eq!(component(Traits { bytes: 4096, ..transfer }), None);
        assert_eq!(component(Traits { parameters: r#"{"memory":"pageable"}"#, ..transfer }), None);
        let launch = Traits { experiment: "launch", parameters: r#"{"handed":"calls"}"#, ..PLAIN };
        assert_eq!(component(launch), Some(Component::Host));
        assert_eq!(component(Traits { parameters: r#"{"handed":"graph"}"#, ..launch }), None);
    }
}
