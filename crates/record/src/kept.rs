//! The rows that a repository keeps for comparison: a few fields of each record, one JSON object per line.

use crate::{Backend, Ceiling, Language, Operations, Parameters, Record, Residence};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A row as it was measured or modelled: what tells it from others, and how fast it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// The experiment.
    pub experiment: String,
    /// The kernel.
    pub kernel: String,
    /// The language of the kernel.
    pub language: Language,
    /// The source of the figures.
    pub backend: Backend,
    /// The parameters, which tell this row from others of the experiment.
    pub parameters: Parameters,
    /// Effective bandwidth in 10^9 bytes per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gb_per_s: Option<f64>,
    /// Floating-point operations in 10^9 a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gflop_per_s: Option<f64>,
    /// The counted operations of one launch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<Operations>,
    /// Their figure, in the unit of their kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figure: Option<f64>,
    /// The bandwidth in per cent of `copy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent_of_copy: Option<f64>,
    /// The memory level that held the data.
    pub residence: Residence,
    /// The median time over that of the twin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio_to_reference: Option<f64>,
    /// Bounds of that ratio at 95% confidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio_range: Option<[f64; 2]>,
    /// The copy ceiling of its run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy: Option<Ceiling>,
    /// The median time of a launch in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ms: Option<f64>,
    /// The options that make this row, where they are more than its size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Vec<String>>,
    /// True if the row is not compared with the model, since simulating it would take too long.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_measured: bool,
    /// The spread over several runs; the row's figures are then their medians.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<Spread>,
}

/// Between which figures several runs lay.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The number of runs.
    pub count: usize,
    /// The least and the greatest bandwidth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gb_per_s: Option<[f64; 2]>,
    /// The least and the greatest ratio to the twin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio_to_reference: Option<[f64; 2]>,
}

impl Kept {
    /// Keeps what is kept of a record.
    pub fn of(record: &Record) -> Kept {
        Kept {
            experiment: record.experiment.clone(),
            kernel: record.kernel.clone(),
            language: record.language,
            backend: record.backend,
            parameters: record.parameters.clone(),
            gb_per_s: record.gb_per_s,
            gflop_per_s: record.gflop_per_s,
            operations: record.operations,
            figure: record.operations.and_then(|_| record.figure()),
            percent_of_copy: record.percent_of_copy,
            residence: record.residence,
            ratio_to_reference: record.ratio_to_reference,
            ratio_range: record.ratio_range,
            copy: record.copy,
            ms: record.time_ms.map(|times| times.median),
            run: None,
            only_measured: false,
            runs: None,
        }
    }

    /// Whether another row is of the same kernel with the same parameters, in whatever language.
    pub fn is_twin(&self, other: &Kept) -> bool {
        self.kernel == other.kernel && self.parameters == other.parameters
    }

    /// Whether another row is of the same experiment and kernel in the same language with the same parameters.
    pub fn is_same_row(&self, other: &Kept) -> bool {
        self.is_twin(other) && self.language == other.language && self.experiment == other.experiment
    }
}

/// Counters of Nsight Compute for one launch of a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hardware {
    /// The experiment.
    pub experiment: String,
    /// The kernel.
    pub kernel: String,
    /// The parameters, which tell this row from others of the experiment.
    pub parameters: Parameters,
    /// The counters by their names, such as `l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum`.
    pub hardware: BTreeMap<String, u64>,
    /// The options that make this row, where they are more than its size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Vec<String>>,
}

impl Hardware {
    /// Whether another row is of the same experiment and kernel with the same parameters.
    pub fn is_same_row(&self, other: &Hardware) -> bool {
        (&self.experiment, &self.kernel, &self.parameters)
            == (&other.experiment, &other.kernel, &other.parameters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{read_lines, sorted_line};
    use std::{fs, path::Path};

    /// A kept file of this repository that is read and written again has the same lines.
    #[test]
    fn kept_files_are_read_and_written_alike() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results/h200");
        let read = |name: &str| fs::read_to_string(folder.join(name)).expect("a file of kept rows");
        let mut rows = 0;
        for name in ["kernels.jsonl", "modelled.jsonl"] {
            let text = read(name);
            for (line, row) in text.lines().zip(read_lines::<Kept>(&text).expect("kept rows")) {
                assert_eq!(sorted_line(&row).expect("it is JSON").trim_end(), sorted(line), "{name}");
                rows += 1;
            }
        }
        let text = read("counters.jsonl");
        for (line, row) in text.lines().zip(read_lines::<Hardware>(&text).expect("counted rows")) {
            assert_eq!(sorted_line(&row).expect("it is JSON").trim_end(), sorted(line));
            rows += 1;
        }
        assert!(rows > 1000, "{rows}");
    }

    fn sorted(line: &str) -> String {
        serde_json::from_str::<serde_json::Value>(line).expect("JSON").to_string()
    }
}
