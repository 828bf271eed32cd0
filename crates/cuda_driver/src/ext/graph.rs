//! Graphs: work captured from a stream once and launched many times with one call. That keeps the host's launch
//! overhead out of measurements of short kernels.

use std::ffi::c_int;
use std::ptr;

use super::raw::{self, CUgraph, CUgraphExec, CUstream};
use super::{Check, Error, Result};

/// Restrictions on other threads while a stream is captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CaptureMode {
    /// No thread may make calls that could disturb a capture, such as allocating.
    Global = 0,
    /// This thread may not make such calls.
    #[default]
    ThreadLocal = 1,
    /// No restrictions.
    Relaxed = 2,
}

/// Captured work.
#[derive(Debug)]
pub struct Graph {
    raw: CUgraph,
}

/// Captures what `record` submits to the stream; nothing of it runs.
///
/// # Errors
///
/// `record`'s own error, or the driver's: `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED` if `record` made a call that a
/// capture does not allow (synchronising, allocating, the legacy default stream). The capture has ended in each case,
/// also if `record` panics.
///
/// # Safety
///
/// The stream must be alive. The graph keeps the pointers that it captured: they must be valid whenever it is launched.
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

/// A stream during its capture.
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
    /// Ends the stream's capture after an error or a panic.
    fn drop(&mut self) {
        let unfinished = Capture { stream: self.stream };
        // The caller gets the original error, not this one.
        drop(unfinished.end());
    }
}

impl Graph {
    /// Returns the number of captured operations.
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

    /// Instantiates the graph for launching. The graph can be dropped afterwards.
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

    /// Returns the driver's handle, which this value still owns.
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

/// An executable graph.
#[derive(Debug)]
pub struct GraphExec {
    raw: CUgraphExec,
}

impl GraphExec {
    /// Uploads what the device needs, so that the first launch costs no more than later ones.
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

    /// Submits the whole graph to a stream, as one operation.
    ///
    /// # Errors
    ///
    /// The driver's.
    ///
    /// # Safety
    ///
    /// The stream must be alive, and all memory that the captured operations access must stay valid until they have
    /// run.
    pub unsafe fn launch(&self, stream: CUstream) -> Result<()> {
        // SAFETY: the graph is ours; the caller vouches for the rest.
        unsafe { raw::cuGraphLaunch(self.raw, stream) }.of("cuGraphLaunch")
    }

    /// Returns the driver's handle, which this value still owns.
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
