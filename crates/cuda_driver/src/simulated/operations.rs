//! Operations of a stream: executed at once, or recorded in a graph.

use std::ffi::c_void;
use std::sync::Arc;

use super::codes::{INVALID_HANDLE, Outcome};
use super::contexts::{self, Current};
use super::copies::Transfer;
use super::driver::{Device, Driver};
use super::fills::Fill;
use super::graphs::{self, Executable};
use super::launches::Launch;
use super::managed::Prefetch;
use super::registry::Handle;
use super::timeline::{self, Work};
use super::{allocations, capture, events, streams};

/// An operation of a stream.
#[derive(Clone, Debug)]
pub(super) enum Operation {
    /// An empty node, on which others depend.
    Nothing,
    Kernel(Arc<Launch>),
    Copy(Transfer),
    Fill(Fill),
    /// A call of the program's function.
    Host(HostCall),
    /// Records the event.
    Record(Handle),
    /// Waits for the event.
    Wait(Handle),
    Prefetch(Prefetch),
    /// Frees memory in stream order.
    Free(u64),
    /// Executes a graph.
    Graph(Arc<Executable>),
}

/// A function of the program and its argument.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostCall {
    pub function: unsafe extern "C" fn(*mut c_void),
    /// Address of the argument, exposed.
    pub data: usize,
}

impl Operation {
    pub(super) fn host(function: unsafe extern "C" fn(*mut c_void), data: *mut c_void) -> Self {
        Self::Host(HostCall { function, data: data.expose_provenance() })
    }

    /// Refuses an impossible operation, before anything is done or recorded.
    fn check(&self, driver: &'static Driver, device: &Device) -> Outcome {
        match self {
            Self::Copy(copy) => copy.check(driver),
            Self::Fill(fill) => fill.check(driver),
            Self::Kernel(launch) => launch.check(device),
            Self::Record(event) | Self::Wait(event) => driver.state().events.get(*event).map(drop),
            _ => Ok(()),
        }
    }

    /// Executes the operation, except for its effect on streams. A kernel's fault is not an error of this: it breaks
    /// the context.
    pub(super) fn run(
        &self,
        driver: &'static Driver,
        device: &'static Device,
        context: Handle,
    ) -> Outcome<Work> {
        match self {
            Self::Kernel(launch) => launch.run(driver, device, context),
            Self::Copy(copy) => copy.run(driver, device, context),
            Self::Fill(fill) => fill.run(driver, device),
            Self::Host(call) => {
                // No lock is held while the program's own code runs.
                // SAFETY: the program passed a function of this signature, and the data that it wants.
                unsafe { (call.function)(std::ptr::with_exposed_provenance_mut(call.data)) };
                Ok(Work::NOTHING)
            }
            Self::Prefetch(prefetch) => Ok(prefetch.run(driver)),
            Self::Free(address) => {
                allocations::free_device(driver, *address, "cuMemFreeAsync").map(|()| Work::NOTHING)
            }
            Self::Nothing | Self::Record(_) | Self::Wait(_) | Self::Graph(_) => Ok(Work::NOTHING),
        }
    }
}

/// Submits an operation to a stream of the current context: executes it, or records it if the stream is captured.
pub(super) fn submit(handle: Handle, operation: Operation) -> Outcome {
    let current = contexts::current()?;
    submit_in(&current, handle, operation).map(drop)
}

/// Submits to the default stream and lets the host wait, as calls without `Async` in their names do.
pub(super) fn submit_and_wait(operation: Operation) -> Outcome {
    let current = contexts::current()?;
    capture::forbid_unsafe(&mut current.driver.state())?;
    let stream = submit_in(&current, 0, operation)?;
    timeline::synchronise(&mut current.driver.state(), stream)
}

fn submit_in(current: &Current, handle: Handle, operation: Operation) -> Outcome<Handle> {
    let driver = current.driver;
    let (stream, context) = {
        let mut state = driver.state();
        let stream = streams::resolve(&mut state, current, handle)?;
        (stream, state.streams.get(stream)?.context)
    };
    if matches!(operation, Operation::Kernel(_)) && context != current.handle {
        return Err(INVALID_HANDLE);
    }
    let owner = contexts::at(driver, context, INVALID_HANDLE)?;
    operation.check(driver, owner.device)?;
    if capture::record(&mut driver.state(), stream, &operation)? {
        return Ok(stream);
    }
    match operation {
        Operation::Record(event) => events::record(&mut driver.state(), stream, event)?,
        Operation::Wait(event) => events::wait(&mut driver.state(), stream, event)?,
        Operation::Graph(executable) => graphs::execute(&executable, &owner, stream)?,
        operation => {
            let work = operation.run(driver, owner.device, context)?;
            timeline::advance(&mut driver.state(), stream, work)?;
        }
    }
    Ok(stream)
}
