//! Events that any number of streams wait for.

use std::ptr;

use super::raw::{self, CUevent, CUstream};
use super::{Check, Result};

/// An event without a time, of the context that was current when it was made. `cust`'s own is used up by the first stream
/// that waits for it.
///
/// It is recorded in a stream of its own context; streams of any context, other devices' included, wait for it.
#[derive(Debug)]
pub struct Event(CUevent);

// SAFETY: the driver's calls on an event may come from any thread.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// Makes an event that has not been recorded.
    ///
    /// # Errors
    ///
    /// The error of a missing current context.
    pub fn new() -> Result<Self> {
        const DISABLE_TIMING: u32 = 2;
        let mut event = ptr::null_mut();
        // SAFETY: the pointer can be written.
        unsafe { raw::cuEventCreate(&raw mut event, DISABLE_TIMING) }.of("cuEventCreate")?;
        Ok(Self(event))
    }

    /// Records the event behind the work that is in a stream now.
    ///
    /// # Errors
    ///
    /// `CUDA_ERROR_INVALID_HANDLE` for a stream of another context.
    ///
    /// # Safety
    ///
    /// The stream must be alive.
    pub unsafe fn record(&self, stream: CUstream) -> Result<()> {
        // SAFETY: the event is alive; the caller vouches for the stream.
        unsafe { raw::cuEventRecord(self.0, stream) }.of("cuEventRecord")
    }

    /// Lets the next work in a stream wait for the last record of the event.
    ///
    /// # Errors
    ///
    /// The driver's.
    ///
    /// # Safety
    ///
    /// The stream must be alive.
    pub unsafe fn hold(&self, stream: CUstream) -> Result<()> {
        const NO_FLAGS: u32 = 0;
        // SAFETY: the event is alive; the caller vouches for the stream.
        unsafe { raw::cuStreamWaitEvent(stream, self.0, NO_FLAGS) }.of("cuStreamWaitEvent")
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the event is this value's own. An error cannot be passed on.
        let _ = unsafe { raw::cuEventDestroy_v2(self.0) };
    }
}
