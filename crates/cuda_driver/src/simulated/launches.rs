//! Launches: their arguments, their validation, and their form for the executor.

use std::ffi::c_uint;
use std::sync::{Arc, OnceLock};

use simt::exec::{self, ClusterMisfit, Kernel, LaunchFailure, Machine};

use super::attributes;
use super::codes::{
    COOPERATIVE_LAUNCH_TOO_LARGE, INVALID_CLUSTER_SIZE, INVALID_HANDLE, INVALID_VALUE,
    LAUNCH_OUT_OF_RESOURCES, OUT_OF_MEMORY, Outcome,
};
use super::contexts::{self, Current};
use super::driver::{Device, Driver};
use super::entry::In;
use super::execution;
use super::functions::{self, Function};
use super::libraries;
use super::modules::Loaded;
use super::operations::{Operation, submit};
use super::registry::Handle;
use super::timeline::Work;
use crate::Code;

/// A launch with all its arguments.
#[derive(Debug)]
pub(super) struct Launch {
    pub function: Handle,
    pub loaded: Arc<Loaded>,
    name: Arc<str>,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Blocks of a cluster, if the launch states them.
    pub cluster: Option<[u32; 3]>,
    /// Most blocks of a cluster of the kernel.
    blocks_per_cluster: u32,
    pub dynamic_shared_bytes: u32,
    /// Most dynamic shared memory of the kernel, in bytes.
    most_dynamic: u32,
    pub cooperative: bool,
    pub parameters: Vec<u8>,
    pub stack_bytes: u32,
    /// A pointer to each parameter, for queries of a graph's node.
    pointers: OnceLock<Vec<usize>>,
}

/// The parameters of a launch, as the program passes them.
#[derive(Clone, Copy)]
pub(super) struct Arguments {
    /// A pointer to each parameter.
    pub each: In<In<u8>>,
    /// Or names and values that give a buffer with all parameters.
    pub extra: In<usize>,
}

impl Launch {
    /// Returns the kernel's name.
    pub(super) fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub(super) fn kernel(&self) -> Outcome<&Kernel> {
        self.loaded.program.kernel(&self.name).map_err(|_| INVALID_HANDLE)
    }

    /// Returns a pointer to each parameter's bytes, valid as long as the launch.
    pub(super) fn pointers(&self) -> Outcome<&[usize]> {
        let kernel = self.kernel()?;
        let base = self.parameters.as_ptr().expose_provenance();
        let each = || kernel.parameters.iter().map(|parameter| base + parameter.offset as usize).collect();
        Ok(self.pointers.get_or_init(each))
    }

    /// Creates a launch from the program's arguments, with its parameters copied.
    pub(super) fn new(
        current: &Current,
        handle: Handle,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_shared_bytes: u32,
        arguments: Arguments,
    ) -> Outcome<Self> {
        let handle = libraries::function(current, handle)?;
        let state = current.driver.state();
        let function: &Function = state.functions.get(handle)?;
        if function.context != current.handle {
            return Err(INVALID_HANDLE);
        }
        let stack_bytes = state.contexts.get(current.handle)?.limits.stack as u32;
        Ok(Self {
            function: handle,
            loaded: function.loaded.clone(),
            name: function.name.clone(),
            grid,
            block,
            cluster: None,
            blocks_per_cluster: function.blocks_per_cluster(current.device),
            dynamic_shared_bytes,
            most_dynamic: function.most_dynamic(current.device)?,
            cooperative: false,
            parameters: gathered(function.kernel()?, arguments)?,
            stack_bytes,
            pointers: OnceLock::new(),
        })
    }

    /// Refuses what the card or the kernel cannot do.
    pub(super) fn check(&self, device: &Device) -> Outcome {
        let kernel = self.kernel()?;
        let within = |wanted: [u32; 3], most: [u32; 3]| {
            wanted.iter().zip(most).all(|(wanted, most)| (1..=most).contains(wanted))
        };
        let threads: u64 = self.block.iter().map(|&threads| u64::from(threads)).product();
        let fits = within(self.grid, attributes::most_blocks(&device.card))
            && within(self.block, attributes::most_threads(&device.card))
            && threads <= u64::from(device.limits.threads_per_block);
        if !fits {
            return Err(INVALID_VALUE);
        }
        if kernel.required_block.is_some_and(|required| required != self.block) {
            return Err(INVALID_VALUE);
        }
        if self.dynamic_shared_bytes > self.most_dynamic {
            return Err(INVALID_VALUE);
        }
        if kernel.max_threads.is_some_and(|most| threads > u64::from(most)) {
            return Err(INVALID_VALUE);
        }
        if let Some(cluster) = self.cluster.or(kernel.required_cluster)
            && let Some(why) = ClusterMisfit::of(kernel, self.grid, cluster, &self.machine(device, 0))
        {
            let failure = LaunchFailure::Cluster { cluster, why };
            super::say(format_args!("the launch of {} is refused: {failure}", self.name));
            return Err(refusal(&failure));
        }
        let Some(occupancy) = functions::occupancy(kernel, device, threads as u32, self.dynamic_shared_bytes)
        else {
            return Err(LAUNCH_OUT_OF_RESOURCES);
        };
        let blocks: u64 = self.grid.iter().map(|&blocks| u64::from(blocks)).product();
        let resident = u64::from(occupancy.blocks) * u64::from(device.card.multiprocessors);
        if self.cooperative && blocks > resident {
            return Err(COOPERATIVE_LAUNCH_TOO_LARGE);
        }
        Ok(())
    }

    /// Returns the properties of the card that the kernel can observe.
    pub(super) fn machine(&self, device: &Device, resident_blocks: u32) -> Machine {
        Machine {
            multiprocessors: device.card.multiprocessors,
            capability: device.card.compute_capability,
            clock_ghz: device.card.clock_mhz / 1e3,
            resident_blocks: u64::from(resident_blocks) * u64::from(device.card.multiprocessors),
            shared_bytes_per_block: device.limits.shared_bytes_per_block,
            blocks_per_cluster: self.blocks_per_cluster,
        }
    }

    /// Returns the executor's form of the launch.
    pub(super) fn request<'a>(
        &'a self,
        kernel: &'a Kernel,
        machine: Machine,
        driver: &Driver,
    ) -> exec::Launch<'a> {
        exec::Launch {
            kernel,
            grid: self.grid,
            block: self.block,
            cluster: self.cluster,
            dynamic_shared_bytes: self.dynamic_shared_bytes,
            parameters: &self.parameters,
            stack_bytes: self.stack_bytes,
            machine,
            workers: driver.workers,
            instruction_limit: None,
            patience: driver.timeout,
            cooperative: self.cooperative,
        }
    }

    pub(super) fn run(
        &self,
        driver: &'static Driver,
        device: &'static Device,
        context: Handle,
    ) -> Outcome<Work> {
        execution::execute(self, driver, device, context)
    }
}

/// Returns the code for a launch that the executor refuses and [`Launch::check`] did not. A fault is not a refusal.
pub(super) fn refusal(failure: &LaunchFailure) -> Code {
    match failure {
        LaunchFailure::Memory { .. } => OUT_OF_MEMORY,
        LaunchFailure::Cluster { why: ClusterMisfit::Capability { .. }, .. } => Code::NOT_SUPPORTED,
        LaunchFailure::Cluster { .. } => INVALID_CLUSTER_SIZE,
        LaunchFailure::SharedMemory { .. } => LAUNCH_OUT_OF_RESOURCES,
        _ => INVALID_VALUE,
    }
}

/// Collects all parameters as the kernel lays them out.
fn gathered(kernel: &Kernel, arguments: Arguments) -> Outcome<Vec<u8>> {
    let mut bytes = vec![0; kernel.parameter_bytes as usize];
    if kernel.parameters.is_empty() {
        return Ok(bytes);
    }
    if !arguments.each.is_null() {
        if !arguments.extra.is_null() {
            return Err(INVALID_VALUE);
        }
        for (index, parameter) in kernel.parameters.iter().enumerate() {
            let value = arguments.each.at(index)?.all(parameter.bytes as usize)?;
            let offset = parameter.offset as usize;
            bytes[offset..offset + value.len()].copy_from_slice(&value);
        }
        return Ok(bytes);
    }
    const END: usize = 0;
    const BUFFER: usize = 1;
    const SIZE: usize = 2;
    let (mut buffer, mut size) = (None, None);
    for index in (0..).step_by(2) {
        let value = || arguments.extra.at(index + 1);
        match arguments.extra.at(index)? {
            END => break,
            BUFFER => buffer = Some(In::<u8>::at_address(value()?)),
            SIZE => size = Some(In::<u8>::at_address(value()?).cast::<usize>().get()?),
            _ => return Err(INVALID_VALUE),
        }
    }
    let (Some(buffer), Some(size)) = (buffer, size) else { return Err(INVALID_VALUE) };
    if size < bytes.len() {
        return Err(INVALID_VALUE);
    }
    buffer.all(bytes.len())
}

/// `CUlaunchConfig`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Configuration {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    dynamic_shared_bytes: c_uint,
    stream: Handle,
    attributes: In<Attribute>,
    attribute_count: c_uint,
}

/// `CUlaunchAttribute`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Attribute {
    number: c_uint,
    padding: c_uint,
    /// A union, whose integers come first.
    value: [c_uint; 16],
}

const _: () = assert!(size_of::<Configuration>() == 56 && size_of::<Attribute>() == 72);

impl Configuration {
    const COOPERATIVE: c_uint = 2;
    const CLUSTER: c_uint = 4;

    pub(super) fn block(&self) -> [u32; 3] {
        self.block
    }

    pub(super) fn dynamic_shared_bytes(&self) -> u32 {
        self.dynamic_shared_bytes
    }

    fn attributes(&self) -> Outcome<Vec<Attribute>> {
        if self.attribute_count == 0 {
            Ok(Vec::new())
        } else {
            self.attributes.all(self.attribute_count as usize)
        }
    }

    /// Returns the blocks of a cluster, if an attribute states them.
    pub(super) fn cluster(&self) -> Outcome<Option<[u32; 3]>> {
        let attributes = self.attributes()?;
        let found = attributes.iter().find(|attribute| attribute.number == Self::CLUSTER);
        Ok(found.map(|attribute| [attribute.value[0], attribute.value[1], attribute.value[2]]))
    }

    fn launch(&self, function: Handle, arguments: Arguments) -> Outcome {
        let current = contexts::current()?;
        let mut launch =
            Launch::new(&current, function, self.grid, self.block, self.dynamic_shared_bytes, arguments)?;
        launch.cluster = self.cluster()?;
        for attribute in self.attributes()? {
            match attribute.number {
                Self::COOPERATIVE => launch.cooperative = attribute.value[0] != 0,
                // Attributes of scheduling, caching, overlap and memory domains have no effect: each launch runs by
                // itself.
                0 | 1 | 3..=11 | 13..=17 => {}
                other => {
                    super::say_once(format_args!(
                        "cuLaunchKernelEx returns CUDA_ERROR_NOT_SUPPORTED: the simulated driver does not know the launch \
                         attribute {other}"
                    ));
                    return Err(Code::NOT_SUPPORTED);
                }
            }
        }
        submit(self.stream, Operation::Kernel(Arc::new(launch)))
    }
}

fn launch(
    function: Handle,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_shared_bytes: u32,
    stream: Handle,
    arguments: Arguments,
    cooperative: bool,
) -> Outcome {
    let current = contexts::current()?;
    let launch = Launch {
        cooperative,
        ..Launch::new(&current, function, grid, block, dynamic_shared_bytes, arguments)?
    };
    submit(stream, Operation::Kernel(Arc::new(launch)))
}

entry_points! {
    fn cuLaunchKernel(
        function: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint,
        block_z: c_uint, dynamic_shared_bytes: c_uint, stream: Handle, each: In<In<u8>>, extra: In<usize>,
    ) {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        launch(function, grid, block, dynamic_shared_bytes, stream, Arguments { each, extra }, false)
    }

    fn cuLaunchCooperativeKernel(
        function: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint,
        block_z: c_uint, dynamic_shared_bytes: c_uint, stream: Handle, each: In<In<u8>>,
    ) {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        let arguments = Arguments { each, extra: In::null() };
        launch(function, grid, block, dynamic_shared_bytes, stream, arguments, true)
    }

    fn cuLaunchKernelEx(configuration: In<Configuration>, function: Handle, each: In<In<u8>>, extra: In<usize>) {
        configuration.get()?.launch(function, Arguments { each, extra })
    }
}
