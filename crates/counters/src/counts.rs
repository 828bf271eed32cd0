//! Counters that are sums over instructions: of one site, of a source line, of a launch.

use serde::{Deserialize, Serialize};

/// Bytes of a sector, the unit in which L1 asks L2.
const SECTOR_BYTES: u64 = 32;

fn is_zero(value: &u64) -> bool {
    *value == 0
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// From one list of fields: the struct, its sums.
macro_rules! sums {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty, $skip:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $($(#[$field_doc])* #[serde(skip_serializing_if = $skip)] pub $field: $type,)*
        }

        impl std::ops::AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                $(self.$field += other.$field;)*
            }
        }

        impl std::ops::Add for $name {
            type Output = Self;

            fn add(mut self, other: Self) -> Self {
                self += other;
                self
            }
        }

        impl std::iter::Sum for $name {
            fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
                all.fold(Self::default(), |sum, one| sum + one)
            }
        }
    };
}

sums! {
    /// Accesses of one kind to global or local memory.
    ///
    /// The names of Nsight Compute's metrics are given for global loads; stores have `op_st`, atomics `op_atom` and
    /// `op_red`, local memory `mem_local`.
    MemoryCounts {
        /// Warp instructions: `smsp__inst_executed_op_global_ld.sum`.
        instructions: u64, "is_zero";
        /// Requests: `l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum`. On 1.x half-warps; on 2.x and 3.x an instruction
        /// of 8 bytes per lane is two, of 16 four; nvprof's `gld_request` counts instructions.
        requests: u64, "is_zero";
        /// Transfers between the multiprocessor and what lies behind it, of the size that the capability gives: nvprof's
        /// `gld_transactions`. From 5.0 on, the sectors.
        transactions: u64, "is_zero";
        /// The same in units of 32 bytes, hits in L1 included: `l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum`.
        sectors: u64, "is_zero";
        /// Lines of 128 bytes, each counted for every request that touches it: look-ups of L1's tags.
        lines: u64, "is_zero";
        /// Misaligned requests: they touch more lines than their bytes fill.
        straddling: u64, "is_zero";
        /// Bytes that lanes asked for: `smsp__sass_data_bytes_mem_global_op_ld.sum`.
        bytes_requested: u64, "is_zero";
        /// L1 cycles: a fourth of the lines, or the most words in one of 32 banks, where lanes of 128 bytes go at once.
        /// Counted from 5.0 on; before, estimated from the lines.
        turns: u64, "is_zero";
        /// Requests of loads with all data in L1.
        requests_in_l1: u64, "is_zero";
        /// Sectors of stores that the block has written before: writes that L2 has to put together.
        rewritten: u64, "is_zero";
        /// Bytes of all transactions.
        bytes_moved: u64, "is_zero";
        /// Sectors that reach L2, or, where there is none, memory: `lts__t_sectors_srcunit_tex_op_read.sum` as modelled.
        /// 0 for local memory where L1 keeps it.
        l2_sectors: u64, "is_zero";
    }
}

impl MemoryCounts {
    /// Sectors per request, as Nsight Compute shows them. For 4 bytes per lane, 4 is best from 2.0 on, and 32 is worst.
    /// 0 without requests.
    pub fn sectors_per_request(&self) -> f64 {
        ratio(self.sectors, self.requests, 0.0)
    }

    /// Bytes asked for over bytes moved: nvprof's `gld_efficiency`. It passes 1 where lanes share addresses, and is 1
    /// where nothing was moved.
    pub fn efficiency(&self) -> f64 {
        ratio(self.bytes_requested, self.bytes_moved, 1.0)
    }

    /// Sectors that the bytes asked for would fill, over sectors moved: how near the pattern is to the best one.
    pub fn ideal_sectors(&self) -> u64 {
        self.bytes_requested.div_ceil(SECTOR_BYTES)
    }
}

sums! {
    /// Accesses of one kind to shared memory.
    SharedCounts {
        /// Requests: `smsp__inst_executed_op_shared_ld.sum`, instructions of warps.
        requests: u64, "is_zero";
        /// Wavefronts taken: `l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum`.
        wavefronts: u64, "is_zero";
        /// Wavefronts that would be taken without conflicts: `smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld`
        /// has it as `ideal`.
        ideal: u64, "is_zero";
    }
}

impl SharedCounts {
    /// Wavefronts lost to conflicts: `l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum`.
    pub fn excess(&self) -> u64 {
        self.wavefronts - self.ideal
    }

    /// Wavefronts over ideal ones: the mean ways of conflict, 1 without any or without accesses.
    pub fn ways(&self) -> f64 {
        ratio(self.wavefronts, self.ideal, 1.0)
    }
}

sums! {
    /// Loads from constant memory.
    ConstantCounts {
        /// Instructions of warps.
        requests: u64, "is_zero";
        /// Issues beyond the first of each, for lanes that want other addresses.
        replays: u64, "is_zero";
    }
}

sums! {
    /// Contention between atomics in global memory.
    AtomicCounts {
        /// Distinct addresses, summed over requests.
        addresses: u64, "is_zero";
        /// Lanes at the most wanted address, summed over requests: rounds of updates that follow one another.
        rounds: u64, "is_zero";
    }
}

sums! {
    /// Loads of the blocks that a simulated multiprocessor executed, and their hits in the L1 that these blocks share.
    SampledLoads {
        /// Requests of loads from global memory.
        requests: u64, "is_zero";
        /// Those of them that found all their sectors in L1.
        hits: u64, "is_zero";
        /// Those that passed L1 for the one sector that most of them wanted, if half of the blocks wanted it or more.
        hottest: u64, "is_zero";
    }
}

sums! {
    /// All that is counted of an instruction, a source line or a launch. Fields that are 0 are left out where it is
    /// written.
    Counts {
        /// Instructions that warps issued, guarded off or not: `smsp__inst_executed.sum`, of PTX where hardware counts
        /// its own.
        instructions: u64, "is_zero";
        /// The same by lanes that took part: `smsp__thread_inst_executed_pred_on.sum`.
        thread_instructions: u64, "is_zero";
        /// Loads from global memory.
        loads: MemoryCounts, "is_default";
        /// Stores to it.
        stores: MemoryCounts, "is_default";
        /// Atomics and reductions in it.
        atomics: MemoryCounts, "is_default";
        /// Conflicts of these.
        conflicts: AtomicCounts, "is_default";
        /// Loads from local memory.
        local_loads: MemoryCounts, "is_default";
        /// Stores to it.
        local_stores: MemoryCounts, "is_default";
        /// Loads from shared memory.
        shared_loads: SharedCounts, "is_default";
        /// Stores to it.
        shared_stores: SharedCounts, "is_default";
        /// Atomics and reductions in it.
        shared_atomics: SharedCounts, "is_default";
        /// Loads from constant memory.
        constant: ConstantCounts, "is_default";
        /// Conditional branches: `smsp__sass_branch_targets.sum`, as far as conditional.
        branches: u64, "is_zero";
        /// Of these, those whose lanes went both ways: `smsp__sass_branch_targets_threads_divergent.sum`.
        divergent_branches: u64, "is_zero";
        /// Barriers of blocks that were passed, each once per block.
        barriers: u64, "is_zero";
    }
}

impl Counts {
    /// All of global memory: loads, stores and atomics.
    pub fn global(&self) -> MemoryCounts {
        self.loads + self.stores + self.atomics
    }

    /// All of shared memory.
    pub fn shared(&self) -> SharedCounts {
        self.shared_loads + self.shared_stores + self.shared_atomics
    }

    /// Sectors a request of global memory.
    pub fn sectors_per_request(&self) -> f64 {
        self.global().sectors_per_request()
    }

    /// Bytes asked of global memory over bytes moved.
    pub fn efficiency(&self) -> f64 {
        self.global().efficiency()
    }

    /// Branches whose lanes went both ways over all conditional ones; 0 without any.
    pub fn divergence(&self) -> f64 {
        ratio(self.divergent_branches, self.branches, 0.0)
    }

    /// Lanes that took part over lanes that could have, 1 without instructions: Nsight Compute's "Avg. Not Predicated Off
    /// Threads Per Warp" over 32.
    pub fn lane_share(&self) -> f64 {
        ratio(self.thread_instructions, self.instructions * 32, 1.0)
    }

    /// Wavefronts of shared memory lost to conflicts.
    pub fn excess_wavefronts(&self) -> u64 {
        self.shared().excess()
    }
}

fn ratio(part: u64, whole: u64, without: f64) -> f64 {
    if whole == 0 { without } else { part as f64 / whole as f64 }
}
