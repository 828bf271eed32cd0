//! The device, the loaded kernels, and what every test does with them.

use std::ffi::c_void;
use std::sync::OnceLock;

use cuda_driver::{bind_nvidia, ext, simulated};
use cust::context::{Context, CurrentContext};
use cust::device::{Device, DeviceAttribute};
use cust::error::CudaResult;
use cust::function::{BlockSize, GridSize};
use cust::memory::{DeviceBuffer, DeviceCopy};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};

/// A part of the kernels; the order is the build script's.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    /// Everything but the others.
    Devices,
    /// Float functions.
    Floats,
    /// Text and failures.
    Texts,
}

/// For each part the PTX for each architecture, with its number.
static EMBEDDED: [&[(u32, &str)]; 3] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The first device, its primary context and a stream.
pub(crate) struct Gpu {
    pub(crate) device: Device,
    pub(crate) stream: Stream,
    context: Context,
    /// The compute capability as 75 or 90.
    capability: u32,
    kernels: [OnceLock<Vec<Kernels>>; 3],
}

// SAFETY: the driver's handles may be used by all threads.
unsafe impl Send for Gpu {}
// SAFETY: the same.
unsafe impl Sync for Gpu {}

/// One part's kernels for one architecture, loaded.
pub(crate) struct Kernels {
    /// 75 or 90: what the PTX is for.
    pub(crate) architecture: u32,
    pub(crate) module: Module,
}

/// The device, current on the calling thread.
pub(crate) fn gpu() -> &'static Gpu {
    static GPU: OnceLock<Gpu> = OnceLock::new();
    let gpu = GPU.get_or_init(|| {
        // COALESCE_SIMULATE asks for the simulated driver.
        if simulated::bind_if_asked().expect("a simulated driver").is_none() {
            bind_nvidia().expect("a driver");
        }
        let context = cust::quick_init().expect("a context");
        let device = Device::get_device(0).expect("a device");
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None).expect("a stream");
        let number = |attribute| device.get_attribute(attribute).expect("an attribute").cast_unsigned();
        let capability = 10 * number(DeviceAttribute::ComputeCapabilityMajor)
            + number(DeviceAttribute::ComputeCapabilityMinor);
        Gpu { device, stream, context, capability, kernels: Default::default() }
    });
    CurrentContext::set_current(&gpu.context).expect("a current context");
    gpu
}

impl Gpu {
    /// The part's kernels, for each architecture that the device can run.
    pub(crate) fn kernels(&self, part: Part) -> &[Kernels] {
        self.kernels[part as usize].get_or_init(|| {
            let runnable = EMBEDDED[part as usize].iter().filter(|(number, _)| *number <= self.capability);
            let load = |&(architecture, ptx): &(u32, &str)| {
                let module = Module::from_ptx(ptx, &[]).unwrap_or_else(|error| {
                    panic!("compute_{architecture}: {error}; {:?}", ext::explain_ptx(ptx))
                });
                Kernels { architecture, module }
            };
            runnable.map(load).collect()
        })
    }
}

/// The kernels of most tests.
pub(crate) fn devices() -> &'static [Kernels] {
    gpu().kernels(Part::Devices)
}

impl Kernels {
    /// Launches and waits.
    ///
    /// # Safety
    /// The arguments are what the kernel of that name takes, and what it makes of them stays in their buffers.
    pub(crate) unsafe fn launch(
        &self,
        name: &str,
        (grid, block, shared): (impl Into<GridSize>, impl Into<BlockSize>, u32),
        arguments: &[*mut c_void],
    ) -> CudaResult<()> {
        let stream = &gpu().stream;
        let function = self.module.get_function(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        // SAFETY: promised by the caller.
        unsafe { stream.launch(&function, grid, block, shared, arguments) }?;
        stream.synchronize()
    }
}

/// `run!(kernels, "name", (grid, block, shared), [arguments])` launches, waits and panics with the name if that fails. A
/// slice is two arguments, a pointer and a length.
macro_rules! run {
    ($kernels:expr, $name:expr, $shape:expr, [$($argument:expr),* $(,)?]) => {{
        let name: &str = $name;
        // SAFETY: each test passes what the kernel's documentation says, buffers of the size that it computes.
        let outcome = unsafe {
            $kernels.launch(name, $shape, &[$((&raw const $crate::device::argument($argument)[0]).cast_mut().cast()),*])
        };
        outcome.unwrap_or_else(|error| panic!("{name} for compute_{}: {error}", $kernels.architecture));
    }};
}

/// An argument with an address.
pub(crate) fn argument<T: DeviceCopy>(value: T) -> Box<[T; 1]> {
    Box::new([value])
}

/// A buffer with these elements.
pub(crate) fn filled<T: DeviceCopy>(elements: &[T]) -> DeviceBuffer<T> {
    let _current = gpu();
    DeviceBuffer::from_slice(elements).expect("device memory")
}

/// A buffer for results, which holds what no kernel writes by chance.
pub(crate) fn results<T: DeviceCopy>(unwritten: T, length: usize) -> DeviceBuffer<T> {
    filled(&vec![unwritten; length])
}

/// The elements of a buffer.
pub(crate) fn read<T: DeviceCopy + Default>(buffer: &DeviceBuffer<T>) -> Vec<T> {
    buffer.as_host_vec().expect("a copy")
}

/// Fails with the place of the first of two lists' elements that differ.
#[track_caller]
pub(crate) fn assert_same<T: PartialEq + std::fmt::Debug>(found: &[T], expected: &[T], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}: lengths");
    if let Some(place) = (0..found.len()).find(|&place| found[place] != expected[place]) {
        panic!("{what}: element {place} is {:?}, expected {:?}", found[place], expected[place]);
    }
}

/// Numbers that look random and are the same in each run (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn half(&mut self) -> u32 {
        (self.word() >> 32) as u32
    }

    /// From 0 to 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn halves(&mut self, length: usize) -> Vec<u32> {
        (0..length).map(|_| self.half()).collect()
    }
}
