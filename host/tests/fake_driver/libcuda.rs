//! A CUDA driver for tests: a library with the entry points that the program calls, backed by host memory. It runs no
//! PTX; what a kernel does is emulated by its name, and time passes as bytes move, so that every figure in a test's
//! output is the same on each machine.
//!
//! `tests/support` compiles this file with rustc and has `COALESCE_DRIVER` point to the result, so that the program
//! under test finds it the way it finds NVIDIA's. All of its `unsafe` has one reason: the caller is the program under
//! test, which hands over what the driver API documents, and addresses that this library gave it.
//!
//! Environment variables make it misbehave:
//!
//! | variable | effect |
//! | --- | --- |
//! | `FAKE_VERSION` | the CUDA version, as in 13000 |
//! | `FAKE_DEVICES` | how many devices there are |
//! | `FAKE_NAME` | what they are called |
//! | `FAKE_COMPUTE` | the compute capability, as in 90 |
//! | `FAKE_MEMORY` | bytes of device memory |
//! | `FAKE_SHARED` | bytes of shared memory of a block |
//! | `FAKE_WRONG` | the kernel, or the library's function, that computes something wrong |
//! | `FAKE_STRAY` | the kernel that writes one element past its buffer |
//! | `FAKE_FAULT` | the kernel whose launch fails on the device |
//! | `FAKE_NO_GRAPHS` | streams cannot be recorded |
//! | `FAKE_JIT_ERROR` | PTX is refused, with this text |
//! | `FAKE_INTERRUPT` | after so many launches the process sends itself SIGINT |

#![allow(non_snake_case, clippy::missing_safety_doc, reason = "named, and with the contracts, of the real library")]

mod emulate;
mod environment;

use emulate::{Operation, Product};
use environment::{number, text};
use std::{
    collections::BTreeMap,
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    sync::{LazyLock, Mutex, MutexGuard, PoisonError},
};

const SUCCESS: c_int = 0;
const INVALID_VALUE: c_int = 1;
const OUT_OF_MEMORY: c_int = 2;
const NO_DEVICE: c_int = 100;
const INVALID_DEVICE: c_int = 101;
const INVALID_PTX: c_int = 218;
const NOT_FOUND: c_int = 500;
const LAUNCH_FAILED: c_int = 719;
const CAPTURE_UNSUPPORTED: c_int = 900;

type Handle = usize;

/// Everything that the driver knows. One stream at a time runs, in order and at once.
#[derive(Default)]
struct State {
    /// Allocations by address, with their length; the memory is a leaked `Vec<u64>`.
    memory: BTreeMap<u64, usize>,
    used: u64,
    /// Nanoseconds that the device has worked.
    clock: f64,
    events: Vec<f64>,
    /// Entry names by function handle minus one.
    functions: Vec<String>,
    /// Texts by module handle minus one.
    modules: Vec<String>,
    recording: Option<Vec<Operation>>,
    graphs: Vec<Vec<Operation>>,
    launches: u64,
    failed: bool,
}

static STATE: LazyLock<Mutex<State>> = LazyLock::new(Mutex::default);

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn total_memory() -> u64 {
    number("FAKE_MEMORY", 144 << 20)
}

impl State {
    /// Runs an operation now, or records it.
    fn submit(&mut self, operation: Operation) -> c_int {
        if self.failed {
            return LAUNCH_FAILED;
        }
        if let Some(recorded) = &mut self.recording {
            recorded.push(operation);
            return SUCCESS;
        }
        self.execute(&operation);
        SUCCESS
    }

    fn execute(&mut self, operation: &Operation) {
        let Some((bytes, kernel)) = emulate::run(operation) else {
            self.failed = true;
            return;
        };
        // A device of 20 GB/s that takes 10 us to begin.
        self.clock += 10_000.0 + bytes as f64 / 20.0;
        if kernel {
            self.launches += 1;
            if self.launches == number("FAKE_INTERRUPT", 0) {
                unsafe extern "C" {
                    fn raise(signal: c_int) -> c_int;
                }
                unsafe { raise(2) };
            }
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn cuInit(_flags: c_uint) -> c_int {
    if number("FAKE_DEVICES", 1) == 0 { NO_DEVICE } else { SUCCESS }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> c_int {
    unsafe { *version = number("FAKE_VERSION", 13000) as c_int };
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorString(code: c_int, out: *mut *const c_char) -> c_int {
    let text = match code {
        OUT_OF_MEMORY => c"out of memory",
        INVALID_PTX => c"a PTX JIT compilation failed",
        LAUNCH_FAILED => c"unspecified launch failure",
        _ => c"some error",
    };
    unsafe { *out = text.as_ptr() };
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> c_int {
    unsafe { *count = number("FAKE_DEVICES", 1) as c_int };
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> c_int {
    if ordinal as u64 >= number("FAKE_DEVICES", 1) {
        return INVALID_DEVICE;
    }
    unsafe { *device = ordinal };
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, length: c_int, device: c_int) -> c_int {
    let text = text("FAKE_NAME").unwrap_or_else(|| format!("Fake GPU {device}")) + "\0";
    assert!(text.len() <= length as usize);
    unsafe { name.copy_from_nonoverlapping(text.as_ptr().cast(), text.len()) };
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, _device: c_int) -> c_int {
    unsafe { *bytes = total_memory() as usize };
    SUCCESS
}

/// Dynamic shared memory, as much as a block may have.
#[unsafe(no_mangle)]
extern "C" fn cuFuncSetAttribute(_function: usize, attribute: c_int, value: c_int) -> c_int {
    let most = number("FAKE_SHARED", 48 << 10) as c_int;
    if attribute == 8 && value <= most { SUCCESS } else { INVALID_VALUE }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, _device: c_int) -> c_int {
    let compute = number("FAKE_COMPUTE", 90) as c_int;
    let answer = match attribute {
        1 => 1024,     // threads a block
        5 => i32::MAX, // blocks a grid
        6 => 65535,    // the same along y
        8 | 97 => number("FAKE_SHARED", 48 << 10) as c_int, // shared memory a block
        16 => 4,       // SMs
        33 => 0x18,    // the place on the PCI bus
        34 | 50 => 0,
        36 => 10_000,       // memory clock in kHz
        37 => 8000,         // bus width: a peak of 20 GB/s
        38 => 1 << 20,      // L2
        75 => compute / 10, // compute capability
        76 => compute % 10,
        _ => return INVALID_VALUE,
    };
    unsafe { *value = answer };
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDevicePrimaryCtxRetain(context: *mut Handle, _device: c_int) -> c_int {
    unsafe { *context = 1 };
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxRelease_v2(_device: c_int) -> c_int {
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSetCurrent(_context: Handle) -> c_int {
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> c_int {
    unsafe {
        *free = (total_memory() - state().used) as usize;
        *total = total_memory() as usize;
    }
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemAlloc_v2(address: *mut u64, bytes: usize) -> c_int {
    let mut state = state();
    if state.used + bytes as u64 > total_memory() {
        return OUT_OF_MEMORY;
    }
    let memory = vec![0u64; bytes.div_ceil(8)].leak();
    let start = memory.as_ptr() as u64;
    state.memory.insert(start, bytes);
    state.used += bytes as u64;
    unsafe { *address = start };
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFree_v2(address: u64) -> c_int {
    let mut state = state();
    let Some(bytes) = state.memory.remove(&address) else { return INVALID_VALUE };
    state.used -= bytes as u64;
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemAllocHost_v2(address: *mut *mut c_void, bytes: usize) -> c_int {
    unsafe { *address = vec![0u64; bytes.div_ceil(8)].leak().as_mut_ptr().cast() };
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn cuMemFreeHost(_address: *mut c_void) -> c_int {
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn cuMemsetD8Async(start: u64, value: u8, bytes: usize, _stream: Handle) -> c_int {
    state().submit(Operation::Set { start, value, bytes })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyDtoDAsync_v2(target: u64, source: u64, bytes: usize, _stream: Handle) -> c_int {
    state().submit(Operation::Copy { target, source, bytes })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyHtoD_v2(target: u64, source: u64, bytes: usize) -> c_int {
    state().submit(Operation::Copy { target, source, bytes })
}

/// Not of the driver API: what the fake libraries of `libcublas.rs` compute goes through the driver, as their kernels do.
#[unsafe(no_mangle)]
unsafe extern "C" fn fakeProduct(name: *const c_char, product: *const Product) -> c_int {
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
    state().submit(Operation::Product { name, product: unsafe { *product } })
}

#[unsafe(no_mangle)]
extern "C" fn cuMemcpyDtoHAsync_v2(target: u64, source: u64, bytes: usize, _stream: Handle) -> c_int {
    state().submit(Operation::Copy { target, source, bytes })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamCreateWithPriority(
    stream: *mut Handle,
    _flags: c_uint,
    _priority: c_int,
) -> c_int {
    unsafe { *stream = 1 };
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamDestroy_v2(_stream: Handle) -> c_int {
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamSynchronize(_stream: Handle) -> c_int {
    if state().failed { LAUNCH_FAILED } else { SUCCESS }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuEventCreate(event: *mut Handle, _flags: c_uint) -> c_int {
    let mut state = state();
    state.events.push(0.0);
    unsafe { *event = state.events.len() };
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn cuEventDestroy_v2(_event: Handle) -> c_int {
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn cuEventRecord(event: Handle, _stream: Handle) -> c_int {
    let mut state = state();
    let now = state.clock;
    state.events[event - 1] = now;
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn cuEventSynchronize(_event: Handle) -> c_int {
    if state().failed { LAUNCH_FAILED } else { SUCCESS }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuEventElapsedTime(milliseconds: *mut f32, start: Handle, stop: Handle) -> c_int {
    let state = state();
    unsafe { *milliseconds = ((state.events[stop - 1] - state.events[start - 1]) / 1e6) as f32 };
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleLoadDataEx(
    module: *mut Handle,
    image: *const c_char,
    count: c_uint,
    options: *const c_int,
    values: *const *mut c_char,
) -> c_int {
    const ERROR_LOG_BUFFER: c_int = 5;
    if let Some(message) = text("FAKE_JIT_ERROR") {
        for option in 0..count as usize {
            unsafe {
                if *options.add(option) == ERROR_LOG_BUFFER {
                    let message = format!("{message}\0");
                    (*values.add(option)).copy_from_nonoverlapping(message.as_ptr().cast(), message.len());
                }
            }
        }
        return INVALID_PTX;
    }
    let mut state = state();
    state.modules.push(unsafe { CStr::from_ptr(image) }.to_string_lossy().into_owned());
    unsafe { *module = state.modules.len() };
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn cuModuleUnload(_module: Handle) -> c_int {
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleGetFunction(
    function: *mut Handle,
    module: Handle,
    name: *const c_char,
) -> c_int {
    let mut state = state();
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
    if !state.modules[module - 1].contains(&format!(".entry {name}(")) {
        return NOT_FOUND;
    }
    state.functions.push(name);
    unsafe { *function = state.functions.len() };
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuLaunchKernel(
    function: Handle,
    grid_x: c_uint,
    _grid_y: c_uint,
    _grid_z: c_uint,
    block_x: c_uint,
    _block_y: c_uint,
    _block_z: c_uint,
    _shared: c_uint,
    _stream: Handle,
    parameters: *const *const c_void,
    _extra: *const c_void,
) -> c_int {
    let mut state = state();
    let kernel = state.functions[function - 1].clone();
    let threads = u64::from(grid_x) * u64::from(block_x);
    let operation = unsafe { emulate::decode(&kernel, threads, parameters) };
    state.submit(operation)
}

#[unsafe(no_mangle)]
extern "C" fn cuStreamBeginCapture_v2(_stream: Handle, _mode: c_int) -> c_int {
    if text("FAKE_NO_GRAPHS").is_some() {
        return CAPTURE_UNSUPPORTED;
    }
    state().recording = Some(Vec::new());
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuStreamEndCapture(_stream: Handle, graph: *mut Handle) -> c_int {
    let mut state = state();
    let Some(recorded) = state.recording.take() else { return INVALID_VALUE };
    state.graphs.push(recorded);
    unsafe { *graph = state.graphs.len() };
    SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGraphInstantiateWithFlags(
    executable: *mut Handle,
    graph: Handle,
    _flags: u64,
) -> c_int {
    unsafe { *executable = graph };
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphLaunch(executable: Handle, _stream: Handle) -> c_int {
    let mut state = state();
    let operations = state.graphs[executable - 1].clone();
    operations.iter().for_each(|operation| state.execute(operation));
    if state.failed { LAUNCH_FAILED } else { SUCCESS }
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphExecDestroy(_executable: Handle) -> c_int {
    SUCCESS
}

#[unsafe(no_mangle)]
extern "C" fn cuGraphDestroy(_graph: Handle) -> c_int {
    SUCCESS
}
