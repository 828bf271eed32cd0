//! Graphs: work recorded from a stream once and launched many times with one call, which keeps the host's
//! launch overhead out of measurements of short kernels.

use std::ffi::c_int;
use std::ptr;

use super::raw::{self, CUgraph, CUgraphExec, CUstream};
use super::{Check, Error, Result};

/// What other threads may do while a stream is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CaptureMode {
    /// No thread may make calls that could disturb a capture, such as allocating.
    Global = 0,
    /// This thread may not.
    #[default]
    ThreadLocal = 1,
    /// Nobody is restrained.
    Relaxed = 2,
}

/// Recorded work.
#[derive(Debug)]
pub struct Graph {
    raw: CUgraph,
}

/// Records what `record` puts into the stream; nothing of it runs.
///
/// # Errors
///
/// `record`'s own error, or the driver's: `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED` where `record` made a call
/// that a capture does not allow (synchronising, allocating, the legacy default stream). The capture has
/// ended in each case, also if `record` panics.
///
/// # Safety
///
/// The stream must be alive. What is recorded keeps its pointers: they must be valid whenever the graph is
/// launched.
pub unsafe fn capture<E: From<Error>>(
    stream: CUstream,
    mode: CaptureMode,
    record: impl FnOnce() -> Result<(), E>,
) -> Result<Graph, E> {
    // SAFETY: the caller vouches for the stream.
    unsafe { raw::cuStreamBeginCapture_v2(stream, mode as c_int) }.of("cuStreamBeginCapture_v2")?;
    let capture = Capture { stream };
    record()?;
    Ok(capture.end()?)
}

/// A stream that is being recorded.
struct Capture {
    stream: CUstream,
}

impl Capture {
    fn end(self) -> Result<Graph> {
        let mut graph = ptr::null_mut();
        let stream = std::mem::ManuallyDrop::new(self).stream;
        // SAFETY: `capture`'s caller vouches for the stream, and the pointer can be written.
        unsafe { raw::cuStreamEndCapture(stream, &raw mut graph) }.of("cuStreamEndCapture")?;
        Ok(Graph { raw: graph })
    }
}

impl Drop for Capture {
    /// Takes the stream out of its capture after an error or a panic.
    fn drop(&mut self) {
        let unfinished = Capture { stream: self.stream };
        // The reason for dropping is what the caller hears of.
        drop(unfinished.end());
    }
}

impl Graph {
    /// How many operations were recorded.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn node_count(&self) -> Result<usize> {
        let mut count = 0;
        // SAFETY: the graph is ours, and without a list the driver writes the count alone.
        unsafe { raw::cuGraphGetNodes(self.raw, ptr::null_mut(), &raw mut count) }.of("cuGraphGetNodes")?;
        Ok(count)
    }

    /// Makes the graph ready to be launched. It can be dropped then.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub fn instantiate(&self) -> Result<GraphExec> {
        let mut exec = ptr::null_mut();
        // SAFETY: the graph is ours, and the pointer can be written.
        unsafe { raw::cuGraphInstantiateWithFlags(&raw mut exec, self.raw, 0) }
            .of("cuGraphInstantiateWithFlags")?;
        Ok(GraphExec { raw: exec })
    }

    /// The driver's handle, which stays this value's.
    pub fn as_raw(&self) -> CUgraph {
        self.raw
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: the graph is ours and not used again. An error cannot be handed on from here.
        unsafe { raw::cuGraphDestroy(self.raw) };
    }
}

/// A graph that can be launched.
#[derive(Debug)]
pub struct GraphExec {
    raw: CUgraphExec,
}

impl GraphExec {
    /// Sends what the device needs for launching ahead, so that the first launch costs what the others do.
    ///
    /// # Errors
    ///
    /// The driver's.
    ///
    /// # Safety
    ///
    /// The stream must be alive.
    pub unsafe fn upload(&self, stream: CUstream) -> Result<()> {
        // SAFETY: the graph is ours; the caller vouches for the stream.
        unsafe { raw::cuGraphUpload(self.raw, stream) }.of("cuGraphUpload")
    }

    /// Puts the whole graph into a stream, as one operation.
    ///
    /// # Errors
    ///
    /// The driver's.
    ///
    /// # Safety
    ///
    /// The stream must be alive, and everything that the recorded operations point to must be until they have
    /// run.
    pub unsafe fn launch(&self, stream: CUstream) -> Result<()> {
        // SAFETY: the graph is ours; the caller vouches for the rest.
        unsafe { raw::cuGraphLaunch(self.raw, stream) }.of("cuGraphLaunch")
    }

    /// The driver's handle, which stays this value's.
    pub fn as_raw(&self) -> CUgraphExec {
        self.raw
    }
}

impl Drop for GraphExec {
    fn drop(&mut self) {
        // SAFETY: the graph is ours and not used again; the driver keeps what is still running. An error
        // cannot be handed on from here.
        unsafe { raw::cuGraphExecDestroy(self.raw) };
    }
}
