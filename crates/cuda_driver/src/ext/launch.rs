//! Launches with attributes: clusters of blocks, cooperative grids, overlap with the preceding kernel.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

use super::raw::{self, CUfunction, CUlaunchAttribute, CUlaunchAttributeValue, CUlaunchConfig, CUstream};
use super::{Check, Result};

/// Configuration of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks of the grid, in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block, in x, y and z.
    pub block: [u32; 3],
    /// Dynamic shared memory per block, in bytes.
    pub shared_bytes: u32,
    /// The stream.
    pub stream: CUstream,
    /// Blocks of a cluster, in x, y and z; the grid must be a multiple of it.
    pub cluster: Option<[u32; 3]>,
    /// True if all blocks must be resident at the same time, so that the grid can synchronise.
    pub cooperative: bool,
    /// True if the kernel may start before the preceding one in the stream has ended, and waits for it itself
    /// (`griddepcontrol`).
    pub overlaps_predecessor: bool,
    /// The launch's priority in place of its stream's: lower numbers go first.
    pub priority: Option<i32>,
}

impl LaunchConfig {
    /// Creates a launch without attributes.
    pub fn new(grid: [u32; 3], block: [u32; 3], shared_bytes: u32, stream: CUstream) -> Self {
        LaunchConfig {
            grid,
            block,
            shared_bytes,
            stream,
            cluster: None,
            cooperative: false,
            overlaps_predecessor: false,
            priority: None,
        }
    }

    /// Calls `call` with the driver's form of the configuration.
    fn with_raw<T>(&self, call: impl FnOnce(*const CUlaunchConfig) -> T) -> T {
        const COOPERATIVE: c_uint = 2;
        const CLUSTER_DIMENSION: c_uint = 4;
        const PROGRAMMATIC_STREAM_SERIALIZATION: c_uint = 6;
        const PRIORITY: c_uint = 8;

        let mut attributes = Vec::with_capacity(4);
        let mut push = |id, first_words: &[c_uint]| {
            let mut words = [0; 16];
            words[..first_words.len()].copy_from_slice(first_words);
            attributes.push(CUlaunchAttribute { id, padding: 0, value: CUlaunchAttributeValue { words } });
        };
        if let Some(cluster) = self.cluster {
            push(CLUSTER_DIMENSION, &cluster);
        }
        if self.cooperative {
            push(COOPERATIVE, &[1]);
        }
        if self.overlaps_predecessor {
            push(PROGRAMMATIC_STREAM_SERIALIZATION, &[1]);
        }
        if let Some(priority) = self.priority {
            push(PRIORITY, &[priority.cast_unsigned()]);
        }
        let config = CUlaunchConfig {
            gridDimX: self.grid[0],
            gridDimY: self.grid[1],
            gridDimZ: self.grid[2],
            blockDimX: self.block[0],
            blockDimY: self.block[1],
            blockDimZ: self.block[2],
            sharedMemBytes: self.shared_bytes,
            hStream: self.stream,
            attrs: attributes.as_mut_ptr(),
            numAttrs: attributes.len() as c_uint,
        };
        call(&raw const config)
    }
}

/// Launches a kernel. `parameters` are pointers to the kernel's parameters, in order.
///
/// # Errors
///
/// `CUDA_ERROR_INVALID_CLUSTER_SIZE` (912) for a cluster that the device cannot have, `CUDA_ERROR_NOT_SUPPORTED` for a
/// driver before CUDA 11.8, and the errors of any launch.
///
/// # Safety
///
/// The kernel's module must be loaded, the stream alive, the parameters must have the number and types that the kernel
/// declares, and the memory that they refer to must be valid until the kernel has run.
pub unsafe fn launch(
    function: CUfunction,
    config: &LaunchConfig,
    parameters: &mut [*mut c_void],
) -> Result<()> {
    config
        .with_raw(|config| {
            // SAFETY: the configuration lives during the call; the caller vouches for the rest.
            unsafe { raw::cuLaunchKernelEx(config, function, parameters.as_mut_ptr(), ptr::null_mut()) }
        })
        .of("cuLaunchKernelEx")
}

/// Returns how many clusters of this launch are resident on the device at the same time.
///
/// # Errors
///
/// `CUDA_ERROR_INVALID_CLUSTER_SIZE` (912) for a cluster that the device cannot have.
///
/// # Safety
///
/// The kernel's module must be loaded.
pub unsafe fn max_active_clusters(function: CUfunction, config: &LaunchConfig) -> Result<i32> {
    let mut count: c_int = 0;
    config
        .with_raw(|config| {
            // SAFETY: pointer and configuration live during the call; the caller vouches for the kernel.
            unsafe { raw::cuOccupancyMaxActiveClusters(&raw mut count, function, config) }
        })
        .of("cuOccupancyMaxActiveClusters")?;
    Ok(count)
}

/// Returns the most blocks that a cluster of this kernel can have.
///
/// # Errors
///
/// The driver's.
///
/// # Safety
///
/// The kernel's module must be loaded.
pub unsafe fn max_potential_cluster_size(function: CUfunction, config: &LaunchConfig) -> Result<i32> {
    let mut size: c_int = 0;
    config
        .with_raw(|config| {
            // SAFETY: pointer and configuration live during the call; the caller vouches for the kernel.
            unsafe { raw::cuOccupancyMaxPotentialClusterSize(&raw mut size, function, config) }
        })
        .of("cuOccupancyMaxPotentialClusterSize")?;
    Ok(size)
}
