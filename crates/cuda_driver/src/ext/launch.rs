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
    /// Global memory whose lines persist in L2, while others stream through.
    pub persisting: Option<AccessWindow>,
}

/// A range of global memory whose lines are to stay in the part of L2 that is set aside (an access policy window).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessWindow {
    /// Address of the first byte.
    pub address: u64,
    /// Length in bytes, at most the device's `MAX_ACCESS_POLICY_WINDOW_SIZE`.
    pub bytes: u64,
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
            persisting: None,
        }
    }

    /// Calls `call` with the driver's form of the configuration.
    fn with_raw<T>(&self, call: impl FnOnce(*const CUlaunchConfig) -> T) -> T {
        const ACCESS_POLICY_WINDOW: c_uint = 1;
        const COOPERATIVE: c_uint = 2;
        const CLUSTER_DIMENSION: c_uint = 4;
        const PROGRAMMATIC_STREAM_SERIALIZATION: c_uint = 6;
        const PRIORITY: c_uint = 8;

        let mut attributes = Vec::with_capacity(5);
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
        if let Some(AccessWindow { address, bytes }) = self.persisting {
            /// Properties of accesses.
            const STREAMING: c_uint = 1;
            const PERSISTING: c_uint = 2;
            let halves = |word: u64| [word as c_uint, (word >> 32) as c_uint];
            let ([low, high], [less, more]) = (halves(address), halves(bytes));
            // All of the window hits, and what is outside streams.
            push(ACCESS_POLICY_WINDOW, &[low, high, less, more, 1.0_f32.to_bits(), PERSISTING, STREAMING]);
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

/// Sets that many bytes of L2 aside for persisting lines, in the current context; 0 gives them back.
///
/// # Errors
///
/// `CUDA_ERROR_UNSUPPORTED_LIMIT` (215) where the device cannot; the error of a missing current context.
pub fn set_persisting_l2(bytes: usize) -> Result<()> {
    const PERSISTING_L2_CACHE_SIZE: c_int = 6;
    // SAFETY: the call takes numbers.
    unsafe { raw::cuCtxSetLimit(PERSISTING_L2_CACHE_SIZE, bytes) }.of("cuCtxSetLimit")
}

/// Makes all persisting lines of L2 normal ones.
///
/// # Errors
///
/// The driver's.
pub fn reset_persisting_l2() -> Result<()> {
    // SAFETY: the call takes nothing.
    unsafe { raw::cuCtxResetPersistingL2Cache() }.of("cuCtxResetPersistingL2Cache")
}
