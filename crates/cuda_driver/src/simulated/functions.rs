//! Kernels: their resources, their attributes, and their occupancy.

use std::ffi::{CString, c_int, c_uint};
use std::sync::Arc;

use simt::cards::{BlockShape, Occupancy, OccupancyError};
use simt::exec::Kernel;

use super::attributes;
use super::codes::{INVALID_CLUSTER_SIZE, INVALID_VALUE, Outcome};
use super::contexts::{self, Current};
use super::driver::{Device, State};
use super::entry::{In, Out};
use super::launches::Configuration;
use super::libraries;
use super::modules::Loaded;
use super::registry::Handle;

/// A kernel of a loaded module.
#[derive(Debug)]
pub(super) struct Function {
    pub module: Handle,
    pub context: Handle,
    pub loaded: Arc<Loaded>,
    pub name: Arc<str>,
    pub c_name: CString,
    /// Most dynamic shared memory of a launch in bytes, if set.
    pub most_dynamic: Option<u32>,
    pub carveout: c_int,
    pub large_clusters: c_int,
    pub cache: c_int,
    pub banks: c_int,
}

impl Function {
    pub(super) fn new(module: Handle, context: Handle, loaded: Arc<Loaded>, kernel: &Kernel) -> Self {
        let name = kernel.name.clone();
        // PTX names contain no NUL.
        let c_name = CString::new(&*name).unwrap_or_default();
        Self {
            module,
            context,
            name,
            c_name,
            most_dynamic: None,
            carveout: -1,
            large_clusters: 0,
            cache: 0,
            banks: 0,
            loaded,
        }
    }

    pub(super) fn kernel(&self) -> Outcome<&Kernel> {
        // The kernel was found when the handle was made, so this cannot fail.
        self.loaded.program.kernel(&self.name).map_err(|_| super::codes::INVALID_HANDLE)
    }

    /// Sets an attribute, as `cuFuncSetAttribute` does.
    pub(super) fn set(&mut self, device: &Device, attribute: c_int, value: c_int) -> Outcome {
        match attribute {
            8 => {
                let fixed = self.kernel()?.static_shared_bytes;
                let most = device.limits.shared_bytes_per_block.saturating_sub(fixed);
                let wanted = u32::try_from(value).ok().filter(|wanted| *wanted <= most);
                self.most_dynamic = Some(wanted.ok_or(INVALID_VALUE)?);
            }
            9 if (-1..=100).contains(&value) => self.carveout = value,
            14 if (0..=1).contains(&value) => self.large_clusters = value,
            _ => return Err(INVALID_VALUE),
        }
        Ok(())
    }

    /// Returns the most blocks of a cluster: CUDA's portable size, or the largest if the kernel allows it.
    pub(super) fn blocks_per_cluster(&self, device: &Device) -> u32 {
        match (device.card.compute_capability.at_least(9, 0), self.large_clusters) {
            (false, _) => 1,
            (true, 0) => 8,
            (true, _) => 16,
        }
    }

    /// Returns the most dynamic shared memory that a launch may request, in bytes.
    pub(super) fn most_dynamic(&self, device: &Device) -> Outcome<u32> {
        let fixed = self.kernel()?.static_shared_bytes;
        let most = attributes::shared_without_optin(&device.card).saturating_sub(fixed);
        Ok(self.most_dynamic.unwrap_or(most))
    }
}

/// Returns the most threads of a block of the kernel.
pub(super) fn most_threads(kernel: &Kernel, device: &Device) -> u32 {
    let limits = &device.limits;
    let wanted = kernel.required_block.map(|block| block.iter().product()).or(kernel.max_threads);
    let most = wanted.unwrap_or(limits.threads_per_block).min(limits.threads_per_block);
    // The largest block that fits.
    let fits = |threads: u32| occupancy(kernel, device, threads, 0).is_some();
    (1..=most.div_ceil(32))
        .rev()
        .map(|warps| (warps * 32).min(most))
        .find(|threads| fits(*threads))
        .unwrap_or(0)
}

/// Returns the blocks of this size that are resident on a multiprocessor; none if not even one fits.
///
/// The number of registers is an estimate, which alone refuses no launch: if a block of this size has fewer, the kernel
/// is assumed to need only those.
pub(super) fn occupancy(
    kernel: &Kernel,
    device: &Device,
    threads: u32,
    dynamic_bytes: u32,
) -> Option<Occupancy> {
    let shared_bytes = kernel.static_shared_bytes.checked_add(dynamic_bytes)?;
    let most = kernel.registers.min(device.limits.registers_per_thread);
    let with = |registers| Occupancy::new(&device.limits, BlockShape { threads, registers, shared_bytes });
    let fits = |registers: &u32| !matches!(with(*registers), Err(OccupancyError::Registers(_)));
    with((1..=most).rev().find(fits)?).ok()
}

fn blocks(kernel: &Kernel, device: &Device, threads: u32, dynamic_bytes: usize, most_dynamic: u32) -> u32 {
    let bytes = u32::try_from(dynamic_bytes).ok().filter(|bytes| *bytes <= most_dynamic);
    let found = bytes.and_then(|bytes| occupancy(kernel, device, threads, bytes));
    found.map_or(0, |occupancy| occupancy.blocks)
}

/// Calls `ask` with a kernel and its function.
fn with<T>(handle: Handle, ask: impl FnOnce(&Function, &Kernel, &Current) -> Outcome<T>) -> Outcome<T> {
    let current = contexts::current()?;
    let handle = libraries::function(&current, handle)?;
    let state = current.driver.state();
    let function = state.functions.get(handle)?;
    ask(function, function.kernel()?, &current)
}

fn with_mut<T>(handle: Handle, change: impl FnOnce(&mut Function, &Current) -> Outcome<T>) -> Outcome<T> {
    let current = contexts::current()?;
    let handle = libraries::function(&current, handle)?;
    let mut state: std::sync::MutexGuard<'_, State> = current.driver.state();
    change(state.functions.get_mut(handle)?, &current)
}

pub(super) fn attribute(
    function: &Function,
    kernel: &Kernel,
    device: &Device,
    number: c_int,
) -> Outcome<c_int> {
    let capability = device.card.compute_capability;
    let cluster = kernel.required_cluster.unwrap_or([0; 3]);
    Ok(match number {
        0 => most_threads(kernel, device) as c_int,
        1 => kernel.static_shared_bytes as c_int,
        2 => kernel.constant_bytes as c_int,
        3 => kernel.local_bytes as c_int,
        4 => kernel.registers as c_int,
        // Ten times the major plus the minor number: of the PTX's target, and of the card.
        5 => function.loaded.target,
        6 => c_int::from(capability.major) * 10 + c_int::from(capability.minor),
        7 => 0,
        8 => function.most_dynamic(device)? as c_int,
        9 => function.carveout,
        10 => 0,
        11..=13 => cluster[number as usize - 11] as c_int,
        14 => function.large_clusters,
        15 => 0,
        _ => return Err(INVALID_VALUE),
    })
}

/// Returns the offset and size of a kernel's parameter.
pub(super) fn parameter(kernel: &Kernel, index: usize, offset: Out<usize>, bytes: Out<usize>) -> Outcome {
    let parameter = kernel.parameters.get(index).ok_or(INVALID_VALUE)?;
    bytes.set_if_wanted(parameter.bytes as usize);
    offset.set(parameter.offset as usize)
}

type SharedOfBlock = Option<extern "C" fn(c_int) -> usize>;

/// Returns the block size with the most resident threads, the largest of several, and the number of blocks that fill
/// the card.
fn best_block(
    handle: Handle,
    shared_of_block: SharedOfBlock,
    dynamic_bytes: usize,
    limit: c_int,
) -> Outcome<(c_int, c_int)> {
    let current = contexts::current()?;
    let handle = libraries::function(&current, handle)?;
    let (loaded, name, most_dynamic) = {
        let state = current.driver.state();
        let function = state.functions.get(handle)?;
        (function.loaded.clone(), function.name.clone(), function.most_dynamic(current.device)?)
    };
    let kernel = loaded.program.kernel(&name).map_err(|_| super::codes::INVALID_HANDLE)?;
    let device = current.device;
    let most = most_threads(kernel, device);
    let most = if limit > 0 { most.min(limit as u32) } else { most };
    let mut best = (0, 0, 0);
    for threads in (1..=most.div_ceil(32)).rev().map(|warps| (warps * 32).min(most)) {
        // This calls the program, so no lock is held.
        let dynamic = shared_of_block.map_or(dynamic_bytes, |function| function(threads as c_int));
        let resident = blocks(kernel, device, threads, dynamic, most_dynamic);
        if resident * threads > best.0 {
            best = (resident * threads, threads, resident);
        }
    }
    let (_, threads, resident) = best;
    Ok(((resident * device.card.multiprocessors) as c_int, threads as c_int))
}

fn resident(handle: Handle, threads: c_int, dynamic_bytes: usize) -> Outcome<c_int> {
    let threads = u32::try_from(threads).ok().filter(|threads| *threads > 0).ok_or(INVALID_VALUE)?;
    with(handle, |function, kernel, current| {
        let most_dynamic = function.most_dynamic(current.device)?;
        Ok(blocks(kernel, current.device, threads, dynamic_bytes, most_dynamic) as c_int)
    })
}

entry_points! {
    fn cuFuncGetAttribute(value: Out<c_int>, number: c_int, function: Handle) {
        value.wanted()?;
        value.set(with(function, |function, kernel, current| attribute(function, kernel, current.device, number))?)
    }

    fn cuFuncSetAttribute(function: Handle, number: c_int, value: c_int) {
        with_mut(function, |function, current| function.set(current.device, number, value))
    }

    fn cuFuncSetCacheConfig(function: Handle, config: c_int) {
        if !(0..=3).contains(&config) {
            return Err(INVALID_VALUE);
        }
        with_mut(function, |function, _| {
            function.cache = config;
            Ok(())
        })
    }

    fn cuFuncSetSharedMemConfig(function: Handle, config: c_int) {
        if !(0..=2).contains(&config) {
            return Err(INVALID_VALUE);
        }
        with_mut(function, |function, _| {
            function.banks = config;
            Ok(())
        })
    }

    fn cuFuncGetParamInfo(function: Handle, index: usize, offset: Out<usize>, bytes: Out<usize>) {
        offset.wanted()?;
        with(function, |_, kernel, _| parameter(kernel, index, offset, bytes))
    }

    fn cuFuncIsLoaded(out: Out<c_int>, function: Handle) {
        out.wanted()?;
        with(function, |_, _, _| out.set(1))
    }

    fn cuFuncLoad(function: Handle) {
        with(function, |_, _, _| Ok(()))
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        out: Out<c_int>, function: Handle, threads: c_int, dynamic_bytes: usize,
    ) {
        out.wanted()?;
        out.set(resident(function, threads, dynamic_bytes)?)
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        out: Out<c_int>, function: Handle, threads: c_int, dynamic_bytes: usize, flags: c_uint,
    ) {
        out.wanted()?;
        if flags > 1 {
            return Err(INVALID_VALUE);
        }
        out.set(resident(function, threads, dynamic_bytes)?)
    }

    fn cuOccupancyMaxPotentialBlockSize(
        grid: Out<c_int>, block: Out<c_int>, function: Handle, shared_of_block: SharedOfBlock, dynamic_bytes: usize,
        limit: c_int,
    ) {
        let (blocks, threads) = best_block(function, shared_of_block, dynamic_bytes, limit)?;
        block.wanted()?;
        grid.set(blocks)?;
        block.set(threads)
    }

    fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        grid: Out<c_int>, block: Out<c_int>, function: Handle, shared_of_block: SharedOfBlock, dynamic_bytes: usize,
        limit: c_int, flags: c_uint,
    ) {
        if flags > 1 {
            return Err(INVALID_VALUE);
        }
        let (blocks, threads) = best_block(function, shared_of_block, dynamic_bytes, limit)?;
        block.wanted()?;
        grid.set(blocks)?;
        block.set(threads)
    }

    fn cuOccupancyAvailableDynamicSMemPerBlock(
        out: Out<usize>, function: Handle, blocks: c_int, threads: c_int,
    ) {
        out.wanted()?;
        let count = |value: c_int| u32::try_from(value).ok().filter(|value| *value > 0).ok_or(INVALID_VALUE);
        let (blocks, threads) = (count(blocks)?, count(threads)?);
        let bytes = with(function, |function, kernel, current| {
            let resident = |bytes| occupancy(kernel, current.device, threads, bytes).map_or(0, |found| found.blocks);
            if resident(0) < blocks {
                return Err(INVALID_VALUE);
            }
            // The block's share of the multiprocessor, less static shared memory. As in NVIDIA's driver, it excludes
            // what the system reserves per block, and is at most what a launch may request.
            let limits = &current.device.limits;
            let part = limits.shared_bytes / blocks / limits.shared_unit * limits.shared_unit;
            Ok(part.saturating_sub(kernel.static_shared_bytes).min(function.most_dynamic(current.device)?))
        })?;
        out.set(bytes as usize)
    }

    // Clusters are counted as if any multiprocessors could make up one: which ones can is not known.
    fn cuOccupancyMaxActiveClusters(out: Out<c_int>, function: Handle, configuration: In<Configuration>) {
        out.wanted()?;
        let configuration = configuration.get()?;
        let threads = configuration.block().iter().product::<u32>();
        let dynamic = configuration.dynamic_shared_bytes() as usize;
        let stated = configuration.cluster()?;
        out.set(with(function, |function, kernel, current| {
            let cluster = stated.or(kernel.required_cluster).unwrap_or([1; 3]);
            let size = cluster.iter().fold(1_u32, |size, &blocks| size.saturating_mul(blocks));
            if !(1..=function.blocks_per_cluster(current.device)).contains(&size) {
                return Err(INVALID_CLUSTER_SIZE);
            }
            let most_dynamic = function.most_dynamic(current.device)?;
            let resident = blocks(kernel, current.device, threads, dynamic, most_dynamic);
            Ok((resident * current.device.card.multiprocessors / size) as c_int)
        })?)
    }

    fn cuOccupancyMaxPotentialClusterSize(out: Out<c_int>, function: Handle, configuration: In<Configuration>) {
        out.wanted()?;
        configuration.get()?;
        with(function, |function, _, current| out.set(function.blocks_per_cluster(current.device) as c_int))
    }
}
