//! State of a launch that its workers share.

use super::error::{ClusterMisfit, LaunchFailure};
use super::function::KernelCode;
use super::patience::Progress;
use super::program::Program;
use super::request::Launch;
use super::special::Special;
use crate::memory::{Kind, Memory};

/// A launch that has been validated.
pub(super) struct Context<'a> {
    pub(super) program: &'a Program,
    pub(super) memory: &'a Memory,
    pub(super) launch: &'a Launch<'a>,
    pub(super) code: &'a KernelCode,
    /// Address of the parameters in memory, for kernels that take it.
    pub(super) parameter_address: u64,
    /// Coordinates of a block's threads, by warp, axis and lane.
    pub(super) threads: Vec<[[u32; 32]; 3]>,
    /// Lanes of the last warp that are threads, a bit each.
    pub(super) last_warp: u32,
    pub(super) blocks: u64,
    /// Blocks of a cluster, in x, y and z, and in all.
    pub(super) cluster: [u32; 3],
    pub(super) cluster_size: u32,
    pub(super) shared_bytes: u64,
    /// Local memory per thread in bytes, the stack included.
    pub(super) local_bytes: u64,
    pub(super) progress: Progress,
    /// Address of a cooperative launch's grid barrier; 0 in other launches.
    pub(super) grid_barrier: u64,
}

/// Most threads of a block, on every card since Fermi.
const MOST_THREADS: u32 = 1024;

impl<'a> Context<'a> {
    /// # Errors
    /// Fails if the launch is impossible.
    pub(super) fn new(
        program: &'a Program,
        memory: &'a Memory,
        launch: &'a Launch<'a>,
    ) -> Result<Self, LaunchFailure> {
        let Launch { kernel, grid, block, .. } = *launch;
        let Some(code) = program.code(kernel) else {
            return Err(LaunchFailure::OtherProgram { kernel: kernel.name.to_string() });
        };
        let threads = block.iter().fold(1u64, |product, length| product.saturating_mul(u64::from(*length)));
        let most = kernel.max_threads.unwrap_or(MOST_THREADS).min(MOST_THREADS);
        if threads == 0 || threads > u64::from(most) || block[2] > 64 {
            return Err(LaunchFailure::Block { block, most });
        }
        if let Some(required) = kernel.required_block.filter(|required| *required != block) {
            return Err(LaunchFailure::RequiredBlock { block, required });
        }
        if grid.contains(&0) || grid[0] > i32::MAX as u32 || grid[1] > 65535 || grid[2] > 65535 {
            return Err(LaunchFailure::Grid { grid });
        }
        let cluster = launch.explicit_cluster().unwrap_or([1; 3]);
        if let Some(why) = ClusterMisfit::of(kernel, grid, cluster, &launch.machine) {
            return Err(LaunchFailure::Cluster { cluster, why });
        }
        if launch.parameters.len() != kernel.parameter_bytes as usize {
            let given = launch.parameters.len();
            return Err(LaunchFailure::Parameters { given, wanted: kernel.parameter_bytes });
        }
        let dynamic = launch.dynamic_shared_bytes;
        // Without dynamic shared memory its arrays are absent, and so is the padding before them.
        let start = if dynamic == 0 { kernel.static_shared_bytes } else { code.dynamic_start };
        let shared_bytes = u64::from(start) + u64::from(dynamic);
        let limit = launch.machine.shared_bytes_per_block;
        if shared_bytes > u64::from(limit) {
            return Err(LaunchFailure::SharedMemory { bytes: shared_bytes, dynamic, limit });
        }
        let local_bytes = match code.stack {
            Some(bytes) => u64::from(bytes),
            None => u64::from(kernel.local_bytes) + u64::from(launch.stack_bytes),
        };
        let bytes = launch.parameters.len().max(1) as u64;
        let failed = |why: String| LaunchFailure::Memory { what: "the kernel's parameters", why };
        // In constant memory, as on the hardware; loads of parameters by address read it there.
        let parameter_address = if program.takes_parameter_address(kernel) {
            let address =
                memory.allocate(bytes, Kind::Constant).map_err(|error| failed(error.to_string()))?;
            memory.write(address, launch.parameters).map_err(|error| failed(error.to_string()))?;
            address
        } else {
            0
        };
        let grid_barrier = if launch.cooperative { grid_barrier(memory)? } else { 0 };
        let threads = threads as u32;
        let warps = threads.div_ceil(32);
        let coordinates =
            |thread: u32| [thread % block[0], thread / block[0] % block[1], thread / block[0] / block[1]];
        let columns = (0..warps).map(|warp| {
            let mut columns = [[0; 32]; 3];
            for lane in 0..32 {
                let thread = coordinates(warp * 32 + lane);
                (0..3).for_each(|axis| columns[axis][lane as usize] = thread[axis]);
            }
            columns
        });
        Ok(Self {
            program,
            memory,
            launch,
            code,
            parameter_address,
            threads: columns.collect(),
            last_warp: if threads.is_multiple_of(32) { u32::MAX } else { (1 << (threads % 32)) - 1 },
            blocks: grid.iter().map(|length| u64::from(*length)).product(),
            cluster,
            cluster_size: launch.cluster_size() as u32,
            shared_bytes,
            local_bytes,
            progress: Progress::default(),
            grid_barrier,
        })
    }

    /// Returns the lanes of a warp that are threads of the block.
    pub(super) fn lanes(&self, warp: u32) -> u32 {
        if warp as usize + 1 == self.threads.len() { self.last_warp } else { u32::MAX }
    }

    /// Returns a block's coordinates in the grid.
    pub(super) fn block(&self, block: u64) -> [u32; 3] {
        let [x, y, _] = self.launch.grid.map(u64::from);
        [(block % x) as u32, (block / x % y) as u32, (block / x / y) as u32]
    }

    /// Returns a block's index in the grid.
    fn index(&self, block: [u32; 3]) -> u64 {
        let [x, y, _] = self.launch.grid.map(u64::from);
        let [own_x, own_y, own_z] = block.map(u64::from);
        own_x + x * (own_y + y * own_z)
    }

    /// Returns the index of the block of a rank in a cluster. Clusters and the blocks in them are numbered with x fastest.
    pub(super) fn block_of_cluster(&self, cluster: u64, rank: u32) -> u64 {
        let [x, y, _] = self.clusters().map(u64::from);
        let cluster = [cluster % x, cluster / x % y, cluster / x / y];
        let [across, down, _] = self.cluster;
        let within = [rank % across, rank / across % down, rank / across / down];
        let axis = |axis: usize| cluster[axis] as u32 * self.cluster[axis] + within[axis];
        self.index([axis(0), axis(1), axis(2)])
    }

    /// Returns the clusters of the grid, in x, y and z.
    fn clusters(&self) -> [u32; 3] {
        std::array::from_fn(|axis| self.launch.grid[axis] / self.cluster[axis])
    }

    /// Returns a block's coordinates in its cluster.
    fn in_cluster(&self, block: u64) -> [u32; 3] {
        let block = self.block(block);
        std::array::from_fn(|axis| block[axis] % self.cluster[axis])
    }

    /// Returns a thread's coordinates in its block.
    pub(super) fn thread(&self, warp: u32, lane: u32) -> [u32; 3] {
        self.threads[warp as usize].map(|column| column[lane as usize])
    }

    /// Returns the value of a special register that is the same for all lanes of a warp.
    pub(super) fn special(&self, special: Special, block: u64, warp: u32, cycles: u64) -> u64 {
        let Launch { grid, block: shape, machine, .. } = self.launch;
        let value = match special {
            Special::Block(axis) => self.block(block)[usize::from(axis)],
            Special::BlockShape(axis) => shape[usize::from(axis)],
            Special::GridShape(axis) => grid[usize::from(axis)],
            Special::Cluster(axis) => self.block(block)[usize::from(axis)] / self.cluster[usize::from(axis)],
            Special::Clusters(axis) => self.clusters()[usize::from(axis)],
            Special::InCluster(axis) => self.in_cluster(block)[usize::from(axis)],
            Special::ClusterShape(axis) => self.cluster[usize::from(axis)],
            Special::ClusterRank => {
                let [x, y, z] = self.in_cluster(block);
                x + self.cluster[0] * (y + self.cluster[1] * z)
            }
            Special::ClusterSize => self.cluster_size,
            Special::ExplicitCluster => u32::from(self.launch.explicit_cluster().is_some()),
            Special::Warp => warp,
            Special::Warps => self.threads.len() as u32,
            Special::Multiprocessor => (block % u64::from(machine.multiprocessors.max(1))) as u32,
            Special::Multiprocessors => machine.multiprocessors,
            Special::SharedBytes => self.shared_bytes as u32,
            Special::DynamicSharedBytes => self.launch.dynamic_shared_bytes,
            Special::Grid => 1,
            Special::GridBarrier(shift) => (self.grid_barrier >> shift) as u32,
            Special::Clock(shift) => return cycles >> shift,
            Special::Timer(shift) => {
                let clock = if machine.clock_ghz > 0.0 { machine.clock_ghz } else { 1.0 };
                return ((cycles as f64 / clock) as u64) >> shift;
            }
            Special::Constant(value) => u32::from(value),
            Special::Thread(_) | Special::Lane | Special::LaneMask(_) => 0,
        };
        u64::from(value)
    }
}

impl Drop for Context<'_> {
    fn drop(&mut self) {
        if self.parameter_address != 0 {
            // This launch allocated it, and kernels cannot free it.
            let _ = self.memory.free(self.parameter_address);
        }
        if self.grid_barrier != 0 {
            // As above.
            let _ = self.memory.free(self.grid_barrier);
        }
    }
}

/// Allocates the barrier of a cooperative grid in the layout that compiled cooperative groups expect: the structure's
/// size, then the word in which blocks count.
fn grid_barrier(memory: &Memory) -> Result<u64, LaunchFailure> {
    let failed = |why: String| LaunchFailure::Memory { what: "the grid's barrier", why };
    let mut words = [0; GRID_BARRIER_BYTES];
    words[..4].copy_from_slice(&(GRID_BARRIER_BYTES as u32).to_le_bytes());
    let address =
        memory.allocate(words.len() as u64, Kind::Module).map_err(|error| failed(error.to_string()))?;
    memory.write(address, &words).map_err(|error| failed(error.to_string()))?;
    Ok(address)
}

const GRID_BARRIER_BYTES: usize = 16;
