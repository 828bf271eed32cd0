//! Counters under the names of Nsight Compute's metrics.
//!
//! What a metric counts on hardware and here is the same event; where it is estimated here rather than counted, it is
//! among [`LaunchCounters::modelled_metrics`]. Instructions are those of the PTX, where hardware counts its own.

use crate::{Counts, LaunchCounters, MemoryCounts, SharedCounts};

/// A metric's name and its value.
pub type Metric = (&'static str, f64);

/// Of one kind of access: requests, sectors, bytes asked for, sectors a request.
type MemoryNames = [&'static str; 4];

const GLOBAL_LOADS: MemoryNames = [
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "smsp__sass_data_bytes_mem_global_op_ld.sum",
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",
];
const GLOBAL_STORES: MemoryNames = [
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "smsp__sass_data_bytes_mem_global_op_st.sum",
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio",
];
/// Reductions, `op_red` on hardware, are counted with atomics.
const GLOBAL_ATOMICS: MemoryNames = [
    "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
    "smsp__sass_data_bytes_mem_global_op_atom.sum",
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_atom.ratio",
];
const LOCAL_LOADS: MemoryNames = [
    "l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
    "smsp__sass_data_bytes_mem_local_op_ld.sum",
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_local_op_ld.ratio",
];
const LOCAL_STORES: MemoryNames = [
    "l1tex__t_requests_pipe_lsu_mem_local_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum",
    "smsp__sass_data_bytes_mem_local_op_st.sum",
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_local_op_st.ratio",
];

/// Of one kind of access to shared memory: instructions, wavefronts, wavefronts lost to bank conflicts.
type SharedNames = [&'static str; 3];

const SHARED_LOADS: SharedNames = [
    "smsp__inst_executed_op_shared_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
];
const SHARED_STORES: SharedNames = [
    "smsp__inst_executed_op_shared_st.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
];
const SHARED_ATOMICS: SharedNames = [
    "smsp__inst_executed_op_shared_atom.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_atom.sum",
];

impl Counts {
    /// The counts of an instruction, a source line or a launch. Kinds of access that did not happen are left out.
    pub fn metrics(&self) -> Vec<Metric> {
        let mut metrics = vec![
            ("smsp__inst_executed.sum", self.instructions as f64),
            ("smsp__thread_inst_executed_pred_on.sum", self.thread_instructions as f64),
        ];
        let memory = [
            (&self.loads, GLOBAL_LOADS),
            (&self.stores, GLOBAL_STORES),
            (&self.atomics, GLOBAL_ATOMICS),
            (&self.local_loads, LOCAL_LOADS),
            (&self.local_stores, LOCAL_STORES),
        ];
        for (counts, names) in memory {
            if *counts != MemoryCounts::default() {
                let bytes = counts.bytes_requested as f64;
                let values =
                    [counts.requests as f64, counts.sectors as f64, bytes, counts.sectors_per_request()];
                metrics.extend(names.into_iter().zip(values));
            }
        }
        let shared = [
            (&self.shared_loads, SHARED_LOADS),
            (&self.shared_stores, SHARED_STORES),
            (&self.shared_atomics, SHARED_ATOMICS),
        ];
        for (counts, names) in shared {
            if *counts != SharedCounts::default() {
                let values = [counts.requests, counts.wavefronts, counts.excess()];
                metrics.extend(names.into_iter().zip(values.map(|value| value as f64)));
            }
        }
        if self.branches != 0 {
            metrics.push(("smsp__sass_branch_targets.sum", self.branches as f64));
            let divergent = self.divergent_branches as f64;
            metrics.push(("smsp__sass_branch_targets_threads_divergent.sum", divergent));
        }
        metrics
    }
}

impl LaunchCounters {
    /// The counts of the launch as a whole.
    pub fn metrics(&self) -> Vec<Metric> {
        let mut metrics = vec![("smsp__warps_launched.sum", self.warps as f64)];
        metrics.extend(self.total.metrics());
        metrics
    }

    /// Estimates for the levels behind L1. DRAM moves granules of `granule_bytes`.
    pub fn modelled_metrics(&self, granule_bytes: u32) -> Vec<Metric> {
        vec![
            ("lts__t_sectors_srcunit_tex_op_read.sum", self.l2_sectors_read as f64),
            ("lts__t_sectors_srcunit_tex_op_write.sum", self.l2_sectors_written as f64),
            ("dram__bytes_read.sum", self.dram_read.bytes(granule_bytes) as f64),
            ("dram__bytes_write.sum", self.dram_written.bytes(granule_bytes) as f64),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_have_the_counters_values() {
        let loads =
            MemoryCounts { requests: 8, sectors: 128, bytes_requested: 1024, ..MemoryCounts::default() };
        let shared_stores = SharedCounts { requests: 2, wavefronts: 64, ideal: 2 };
        let counts = Counts { instructions: 40, loads, shared_stores, ..Counts::default() };
        let metrics = counts.metrics();
        let value = |name: &str| metrics.iter().find(|(found, _)| *found == name).map(|(_, value)| *value);
        assert_eq!(value("smsp__inst_executed.sum"), Some(40.0));
        assert_eq!(value("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"), Some(128.0));
        let ratio = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio";
        assert_eq!(value(ratio), Some(16.0));
        assert_eq!(value("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"), Some(62.0));
        assert_eq!(value("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"), None, "there was no store");
    }
}
