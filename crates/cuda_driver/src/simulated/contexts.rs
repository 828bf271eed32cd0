//! Contexts: owners of objects, the current context of a thread, and the effect of a fault.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{c_int, c_uint};
use std::thread::ThreadId;

use super::codes::{
    CONTEXT_IS_DESTROYED, INVALID_CONTEXT, INVALID_VALUE, Outcome, UNSUPPORTED_EXEC_AFFINITY,
    UNSUPPORTED_LIMIT,
};
use super::driver::{Device, Driver, State, driver};
use super::entry::{In, Out};
use super::registry::Handle;
use super::timeline::{self, Clocks};
use super::{destroy, streams};
use crate::Code;

/// The driver API's version of a context.
const API_VERSION: c_uint = 3020;

/// All flags that `cuCtxCreate` knows: scheduling, host mapping, larger local memory, core dumps, synchronous copies.
const FLAGS: c_uint = 0xff;
const SCHEDULING: c_uint = 0x07;
pub(super) const MAP_HOST: c_uint = 0x08;

thread_local! {
    /// The thread's stack of contexts; the last is the current one.
    static STACK: RefCell<Vec<Handle>> = const { RefCell::new(Vec::new()) };
}

/// A context.
#[derive(Debug)]
pub(super) struct Context {
    /// Number of the device.
    pub device: usize,
    pub flags: c_uint,
    pub limits: Limits,
    pub cache: c_int,
    pub banks: c_int,
    /// Code that every call returns after a kernel has faulted.
    pub broken: Option<Code>,
    pub clocks: Clocks,
    /// The default stream that waits for the others.
    pub legacy: Handle,
    /// Per-thread default streams, for threads that asked for theirs.
    pub per_thread: HashMap<ThreadId, Handle>,
}

/// Limits of `cuCtxSetLimit`, in bytes or counts, with their initial values.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Stack of a thread: local memory and call frames.
    pub stack: usize,
    pub printf: usize,
    pub heap: usize,
    pub fetch_granularity: usize,
    pub persisting_l2: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { stack: 1 << 10, printf: 8_650_752, heap: 8 << 20, fetch_granularity: 64, persisting_l2: 0 }
    }
}

impl Limits {
    fn of(&mut self, limit: c_int) -> Outcome<&mut usize> {
        match limit {
            0 => Ok(&mut self.stack),
            1 => Ok(&mut self.printf),
            2 => Ok(&mut self.heap),
            5 => Ok(&mut self.fetch_granularity),
            6 => Ok(&mut self.persisting_l2),
            3 | 4 => Err(UNSUPPORTED_LIMIT), // For launches from the device, which are not simulated.
            _ => Err(INVALID_VALUE),
        }
    }
}

/// The calling thread's current context.
#[derive(Clone, Copy)]
pub(super) struct Current {
    pub handle: Handle,
    pub driver: &'static Driver,
    pub device: &'static Device,
}

/// Returns the calling thread's context, also after a fault.
fn current_handle() -> Outcome<Handle> {
    STACK.with_borrow(|stack| stack.last().copied()).ok_or(INVALID_CONTEXT)
}

/// Returns the calling thread's context.
///
/// `CUDA_ERROR_INVALID_CONTEXT` without one, `CUDA_ERROR_CONTEXT_IS_DESTROYED` after its end, and after a kernel's
/// fault the fault's code.
pub(super) fn current() -> Outcome<Current> {
    let driver = driver()?;
    let handle = current_handle()?;
    at(driver, handle, CONTEXT_IS_DESTROYED)
}

/// Returns the calling thread's context, or without one that of the object at hand: NVIDIA's driver frees, unloads and
/// destroys without a current context.
pub(super) fn current_or_owner(owner: impl FnOnce(&State) -> Outcome<Handle>) -> Outcome<Current> {
    match current() {
        Err(INVALID_CONTEXT) => {
            let driver = driver()?;
            let owner = owner(&driver.state())?;
            at(driver, owner, CONTEXT_IS_DESTROYED)
        }
        found => found,
    }
}

/// Returns a context by its handle, unless it has faulted.
pub(super) fn at(driver: &'static Driver, handle: Handle, unknown: Code) -> Outcome<Current> {
    let state = driver.state();
    let context = state.contexts.get(handle).map_err(|_| unknown)?;
    match context.broken {
        Some(code) => Err(code),
        None => Ok(Current { handle, driver, device: &driver.devices[context.device] }),
    }
}

impl State {
    /// Creates a context, with the given handle if it is a primary one.
    pub(super) fn create_context(&mut self, device: usize, flags: c_uint, handle: Option<Handle>) -> Handle {
        let context = Context {
            device,
            flags,
            limits: Limits::default(),
            cache: 0,
            banks: 1,
            broken: None,
            clocks: Clocks::default(),
            legacy: 0,
            per_thread: HashMap::new(),
        };
        let handle = match handle {
            Some(handle) => {
                self.contexts.insert_at(handle, context);
                handle
            }
            None => self.contexts.insert(context),
        };
        let legacy = streams::create_default(self, handle, streams::Kind::Legacy);
        if let Ok(context) = self.contexts.get_mut(handle) {
            context.legacy = legacy;
        }
        handle
    }
}

pub(super) fn valid_flags(flags: c_uint) -> Outcome {
    let scheduling_is_one = matches!(flags & SCHEDULING, 0 | 1 | 2 | 4);
    if flags & !FLAGS == 0 && scheduling_is_one { Ok(()) } else { Err(INVALID_VALUE) }
}

/// `CUctxCreateParams`.
#[derive(Clone, Copy)]
#[repr(C)]
struct CreateParameters {
    affinities: usize,
    affinity_count: c_int,
    graphics: usize,
}

const _: () = assert!(size_of::<CreateParameters>() == 24);

fn create(out: Out<Handle>, flags: c_uint, device: c_int) -> Outcome {
    let driver = driver()?;
    out.wanted()?;
    valid_flags(flags)?;
    let device = driver.device(device)?;
    // Host memory is mapped in each context, as on every 64-bit system since CUDA 3.2.
    let handle = driver.state().create_context(device.ordinal, flags | MAP_HOST, None);
    STACK.with_borrow_mut(|stack| stack.push(handle));
    out.set(handle)
}

fn is_primary(state: &State, handle: Handle) -> bool {
    state.primaries.iter().any(|primary| primary.handle == handle)
}

entry_points! {
    fn cuCtxCreate_v2(out: Out<Handle>, flags: c_uint, device: c_int) {
        create(out, flags, device)
    }

    fn cuCtxCreate_v3(out: Out<Handle>, affinity: In<u8>, count: c_int, flags: c_uint, device: c_int) {
        if count != 0 || !affinity.is_null() {
            // Affinity to some multiprocessors, which NVIDIA's multi-process service provides.
            return Err(UNSUPPORTED_EXEC_AFFINITY);
        }
        create(out, flags, device)
    }

    // From CUDA 12.5; without parameters, or with empty ones, it is the second version.
    fn cuCtxCreate_v4(out: Out<Handle>, parameters: In<CreateParameters>, flags: c_uint, device: c_int) {
        if !parameters.is_null() {
            let CreateParameters { affinities, affinity_count, graphics } = parameters.get()?;
            if affinities != 0 || affinity_count != 0 {
                return Err(UNSUPPORTED_EXEC_AFFINITY);
            }
            if graphics != 0 {
                super::say_once(format_args!(
                    "cuCtxCreate_v4 returns CUDA_ERROR_NOT_SUPPORTED: contexts shared with graphics (cigParams) are \
                     not simulated. Pass none."
                ));
                return Err(Code::NOT_SUPPORTED);
            }
        }
        create(out, flags, device)
    }

    fn cuCtxDestroy_v2(handle: Handle) {
        let driver = driver()?;
        {
            let state = driver.state();
            state.contexts.get(handle)?;
            if is_primary(&state, handle) {
                return Err(INVALID_CONTEXT);
            }
        }
        destroy::context(driver, handle);
        // If it is the calling thread's current context, it is popped; other threads find that it is destroyed.
        STACK.with_borrow_mut(|stack| {
            if stack.last() == Some(&handle) {
                stack.pop();
            }
        });
        Ok(())
    }

    fn cuCtxPushCurrent_v2(handle: Handle) {
        driver()?.state().contexts.get(handle)?;
        STACK.with_borrow_mut(|stack| stack.push(handle));
        Ok(())
    }

    fn cuCtxPopCurrent_v2(out: Out<Handle>) {
        driver()?;
        let popped = STACK.with_borrow_mut(Vec::pop).ok_or(INVALID_CONTEXT)?;
        out.set_if_wanted(popped);
        Ok(())
    }

    fn cuCtxSetCurrent(handle: Handle) {
        let driver = driver()?;
        if handle != 0 {
            driver.state().contexts.get(handle)?;
        }
        STACK.with_borrow_mut(|stack| {
            stack.pop();
            if handle != 0 {
                stack.push(handle);
            }
        });
        Ok(())
    }

    fn cuCtxGetCurrent(out: Out<Handle>) {
        driver()?;
        out.set(current_handle().unwrap_or(0))
    }

    fn cuCtxGetDevice(out: Out<c_int>) {
        let driver = driver()?;
        let handle = current_handle()?;
        let device = driver.state().contexts.get(handle).map_err(|_| CONTEXT_IS_DESTROYED)?.device;
        out.set(device as c_int)
    }

    // From CUDA 13, by `cuGetProcAddress` alone: see `proc_address`.
    fn cuCtxGetDevice_v2(out: Out<c_int>, handle: Handle) {
        let driver = driver()?;
        let handle = if handle == 0 { current_handle()? } else { handle };
        let device = driver.state().contexts.get(handle)?.device;
        out.set(device as c_int)
    }

    fn cuCtxGetFlags(out: Out<c_uint>) {
        let current = current()?;
        out.set(current.driver.state().contexts.get(current.handle)?.flags)
    }

    fn cuCtxSetFlags(flags: c_uint) {
        let current = current()?;
        valid_flags(flags)?;
        current.driver.state().contexts.get_mut(current.handle)?.flags = flags | MAP_HOST;
        Ok(())
    }

    fn cuCtxGetId(handle: Handle, out: Out<u64>) {
        let driver = driver()?;
        let handle = if handle == 0 { current_handle()? } else { handle };
        driver.state().contexts.get(handle)?;
        out.set(handle as u64)
    }

    fn cuCtxSynchronize() {
        let current = current()?;
        timeline::synchronise_context(&mut current.driver.state(), current.handle)
    }

    // As above.
    fn cuCtxSynchronize_v2(handle: Handle) {
        let driver = driver()?;
        let current = if handle == 0 { current()? } else { at(driver, handle, INVALID_CONTEXT)? };
        timeline::synchronise_context(&mut current.driver.state(), current.handle)
    }

    fn cuCtxSetLimit(limit: c_int, value: usize) {
        let current = current()?;
        let mut state = current.driver.state();
        let kept = state.contexts.get_mut(current.handle)?.limits.of(limit)?;
        *kept = match limit {
            // The driver's own limit: at most 512 KiB of stack per thread, in steps of 16 bytes.
            0 if value > 512 << 10 => return Err(INVALID_VALUE),
            0 => value.next_multiple_of(16),
            5 => value.clamp(32, 128).next_power_of_two(),
            _ => value,
        };
        Ok(())
    }

    fn cuCtxGetLimit(out: Out<usize>, limit: c_int) {
        let current = current()?;
        let value = *current.driver.state().contexts.get_mut(current.handle)?.limits.of(limit)?;
        out.set(value)
    }

    fn cuCtxGetCacheConfig(out: Out<c_int>) {
        let current = current()?;
        out.set(current.driver.state().contexts.get(current.handle)?.cache)
    }

    fn cuCtxSetCacheConfig(config: c_int) {
        let current = current()?;
        if !(0..=3).contains(&config) {
            return Err(INVALID_VALUE);
        }
        current.driver.state().contexts.get_mut(current.handle)?.cache = config;
        Ok(())
    }

    fn cuCtxGetSharedMemConfig(out: Out<c_int>) {
        let current = current()?;
        out.set(current.driver.state().contexts.get(current.handle)?.banks)
    }

    fn cuCtxSetSharedMemConfig(config: c_int) {
        let current = current()?;
        if !(0..=2).contains(&config) {
            return Err(INVALID_VALUE);
        }
        // Kepler alone had banks of 8 bytes. Other cards accept the setting without effect, and so does the model.
        current.driver.state().contexts.get_mut(current.handle)?.banks = config.max(1);
        Ok(())
    }

    fn cuCtxGetApiVersion(handle: Handle, out: Out<c_uint>) {
        let driver = driver()?;
        let handle = if handle == 0 { current_handle()? } else { handle };
        driver.state().contexts.get(handle)?;
        out.set(API_VERSION)
    }

    fn cuCtxGetStreamPriorityRange(least: Out<c_int>, greatest: Out<c_int>) {
        current()?;
        least.set_if_wanted(*streams::PRIORITIES.end());
        greatest.set_if_wanted(*streams::PRIORITIES.start());
        Ok(())
    }

    fn cuCtxResetPersistingL2Cache() {
        current().map(drop)
    }

    fn cuCtxAttach(out: Out<Handle>, flags: c_uint) {
        // For programs of CUDA 3: contexts no longer count their users.
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        let current = current()?;
        out.set(current.handle)
    }

    fn cuCtxDetach(handle: Handle) {
        driver()?.state().contexts.get(handle).map(drop)
    }
}
