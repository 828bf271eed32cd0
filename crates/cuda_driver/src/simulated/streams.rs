//! Streams: queues of work.

use std::ffi::{c_int, c_uint, c_void};
use std::ops::RangeInclusive;

use super::capture::{self, Capture};
use super::codes::{INVALID_HANDLE, INVALID_VALUE, Outcome};
use super::contexts::{self, Current};
use super::driver::State;
use super::entry::{HostFunction, In, Out, is_per_thread};
use super::graph_edits::{EdgeData, whole_edges};
use super::operations::{Operation, submit};
use super::registry::Handle;
use super::{events, timeline};
use crate::Code;

/// Handles of the default streams.
const LEGACY: Handle = 1;
const PER_THREAD: Handle = 2;

/// Flag of a stream that does not wait for the default stream.
const NON_BLOCKING: c_uint = 1;

/// The greatest and the least priority. They have no effect, since kernels do not preempt each other here.
pub(super) const PRIORITIES: RangeInclusive<c_int> = -5..=0;

/// Kind of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Made by the program.
    Made,
    /// The context's default stream.
    Legacy,
    /// A thread's default stream.
    PerThread,
}

/// A stream.
#[derive(Debug)]
pub(super) struct Stream {
    pub context: Handle,
    pub kind: Kind,
    pub flags: c_uint,
    pub priority: c_int,
    /// End of its last work, in seconds of virtual time.
    pub clock: f64,
    /// Set while its work is captured.
    pub capture: Option<Capture>,
}

impl Stream {
    /// Returns true if it waits for the default stream, and the default stream for it.
    pub(super) fn is_blocking(&self) -> bool {
        self.kind != Kind::Legacy && self.flags & NON_BLOCKING == 0
    }
}

/// Creates a default stream of a context.
pub(super) fn create_default(state: &mut State, context: Handle, kind: Kind) -> Handle {
    state.streams.insert(Stream { context, kind, flags: 0, priority: 0, clock: 0.0, capture: None })
}

/// Returns the stream of a handle in the current context. Zero is the default stream of the entry point's form.
pub(super) fn resolve(state: &mut State, current: &Current, handle: Handle) -> Outcome<Handle> {
    match if handle == 0 && is_per_thread() { PER_THREAD } else { handle } {
        0 | LEGACY => Ok(state.contexts.get(current.handle)?.legacy),
        PER_THREAD => {
            let thread = std::thread::current().id();
            if let Some(stream) = state.contexts.get(current.handle)?.per_thread.get(&thread) {
                return Ok(*stream);
            }
            let stream = create_default(state, current.handle, Kind::PerThread);
            state.contexts.get_mut(current.handle)?.per_thread.insert(thread, stream);
            Ok(stream)
        }
        _ => {
            let context = state.streams.get(handle)?.context;
            match state.contexts.get(context)?.broken {
                Some(code) => Err(code),
                None => Ok(handle),
            }
        }
    }
}

fn create(out: Out<Handle>, flags: c_uint, priority: c_int) -> Outcome {
    let current = contexts::current()?;
    out.wanted()?;
    if flags & !NON_BLOCKING != 0 {
        return Err(INVALID_VALUE);
    }
    let priority = priority.clamp(*PRIORITIES.start(), *PRIORITIES.end());
    let stream =
        Stream { context: current.handle, kind: Kind::Made, flags, priority, clock: 0.0, capture: None };
    out.set(current.driver.state().streams.insert(stream))
}

/// Returns a property of a stream.
fn told<T: Copy>(handle: Handle, out: Out<T>, tell: impl FnOnce(&Stream) -> T) -> Outcome {
    let current = contexts::current()?;
    out.wanted()?;
    let mut state = current.driver.state();
    let stream = resolve(&mut state, &current, handle)?;
    out.set(tell(state.streams.get(stream)?))
}

/// Waits, or finds that all work is done: either way the host has seen the stream's end.
fn wait(handle: Handle) -> Outcome {
    let current = contexts::current()?;
    let mut state = current.driver.state();
    let stream = resolve(&mut state, &current, handle)?;
    capture::forbid(&mut state, stream)?;
    timeline::synchronise(&mut state, stream)
}

type Callback = Option<unsafe extern "C" fn(stream: Handle, status: Code, data: *mut c_void)>;

entry_points! {
    fn cuStreamCreate(out: Out<Handle>, flags: c_uint) {
        create(out, flags, 0)
    }

    fn cuStreamCreateWithPriority(out: Out<Handle>, flags: c_uint, priority: c_int) {
        create(out, flags, priority)
    }

    fn cuStreamDestroy_v2(handle: Handle) {
        let current = contexts::current_or_owner(|state| Ok(state.streams.get(handle)?.context))?;
        let mut state = current.driver.state();
        if state.streams.get(handle)?.kind != Kind::Made {
            return Err(INVALID_HANDLE);
        }
        let stream = state.streams.remove(handle)?;
        if let Some(capture) = stream.capture {
            capture::abandon(&mut state, &capture);
        }
        Ok(())
    }

    fn cuStreamGetPriority(handle: Handle, out: Out<c_int>) {
        told(handle, out, |stream| stream.priority)
    }

    fn cuStreamGetFlags(handle: Handle, out: Out<c_uint>) {
        told(handle, out, |stream| stream.flags)
    }

    fn cuStreamGetCtx(handle: Handle, out: Out<Handle>) {
        told(handle, out, |stream| stream.context)
    }

    // The second result is for green contexts, parts of a GPU's multiprocessors, which are not supported.
    fn cuStreamGetCtx_v2(handle: Handle, out: Out<Handle>, green: Out<Handle>) {
        told(handle, out, |stream| stream.context)?;
        green.set_if_wanted(0);
        Ok(())
    }

    fn cuStreamGetDevice(handle: Handle, out: Out<c_int>) {
        let current = contexts::current()?;
        out.wanted()?;
        let mut state = current.driver.state();
        let stream = resolve(&mut state, &current, handle)?;
        let context = state.streams.get(stream)?.context;
        out.set(state.contexts.get(context)?.device as c_int)
    }

    fn cuStreamGetId(handle: Handle, out: Out<u64>) {
        let current = contexts::current()?;
        out.wanted()?;
        let stream = resolve(&mut current.driver.state(), &current, handle)?;
        out.set(stream as u64)
    }

    fn cuStreamSynchronize(handle: Handle) {
        wait(handle)
    }

    fn cuStreamQuery(handle: Handle) {
        wait(handle)
    }

    fn cuStreamWaitEvent(handle: Handle, event: Handle, flags: c_uint) {
        if flags > 1 {
            return Err(INVALID_VALUE);
        }
        let current = contexts::current()?;
        let mut state = current.driver.state();
        let stream = resolve(&mut state, &current, handle)?;
        events::wait(&mut state, stream, event)
    }

    fn cuStreamAddCallback(handle: Handle, callback: Callback, data: *mut c_void, flags: c_uint) {
        let callback = callback.ok_or(INVALID_VALUE)?;
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        let current = contexts::current()?;
        {
            let mut state = current.driver.state();
            let stream = resolve(&mut state, &current, handle)?;
            // Unlike a host function, a callback cannot be part of a graph.
            capture::forbid(&mut state, stream)?;
        }
        // All work before it is done, and well. No lock is held while the program's own code runs.
        // SAFETY: the program passes a function of this signature, and the data that it wants.
        unsafe { callback(handle, Code::SUCCESS, data) };
        Ok(())
    }

    fn cuLaunchHostFunc(handle: Handle, function: HostFunction, data: *mut c_void) {
        let function = function.ok_or(INVALID_VALUE)?;
        submit(handle, Operation::host(function, data))
    }

    fn cuStreamAttachMemAsync(handle: Handle, address: u64, bytes: usize, flags: c_uint) {
        let current = contexts::current()?;
        resolve(&mut current.driver.state(), &current, handle)?;
        if !matches!(flags, 1 | 2 | 4) {
            return Err(INVALID_VALUE);
        }
        // Host and device may both access managed memory at any time, so attaching it to a stream has no effect.
        let found = super::allocations::containing(&current, address).ok_or(INVALID_VALUE)?;
        let whole = bytes == 0 || (address == found.address && bytes as u64 == found.bytes);
        if found.kind == simt::memory::Kind::Managed && whole { Ok(()) } else { Err(INVALID_VALUE) }
    }

    fn cuStreamCopyAttributes(destination: Handle, source: Handle) {
        let current = contexts::current()?;
        let mut state = current.driver.state();
        resolve(&mut state, &current, destination)?;
        resolve(&mut state, &current, source)?;
        Ok(())
    }

    // The access policy for L2 and the host's way of waiting are accepted without effect.
    fn cuStreamSetAttribute(handle: Handle, attribute: c_int, value: In<u8>) {
        let current = contexts::current()?;
        resolve(&mut current.driver.state(), &current, handle)?;
        if value.is_null() || !matches!(attribute, 1 | 3) { Err(INVALID_VALUE) } else { Ok(()) }
    }

    fn cuStreamBeginCapture_v2(handle: Handle, mode: c_int) {
        let current = contexts::current()?;
        let mut state = current.driver.state();
        let stream = resolve(&mut state, &current, handle)?;
        capture::begin(&mut state, stream, None, mode)
    }

    fn cuStreamBeginCaptureToGraph(
        handle: Handle, graph: Handle, after: In<Handle>, data: In<EdgeData>, count: usize, mode: c_int,
    ) {
        whole_edges(data, count)?;
        let after = if count == 0 { Vec::new() } else { after.all(count)? };
        let current = contexts::current()?;
        let mut state = current.driver.state();
        let stream = resolve(&mut state, &current, handle)?;
        capture::begin(&mut state, stream, Some((graph, after)), mode)
    }

    fn cuStreamEndCapture(handle: Handle, graph: Out<Handle>) {
        let current = contexts::current()?;
        let mut state = current.driver.state();
        let stream = resolve(&mut state, &current, handle)?;
        graph.wanted()?;
        match capture::end(&mut state, stream) {
            Ok(handle) => graph.set(handle),
            Err(code) => {
                graph.set(0)?;
                Err(code)
            }
        }
    }

    fn cuStreamIsCapturing(handle: Handle, out: Out<c_int>) {
        capture_info(handle, out, Out::null(), |_| {})
    }

    fn cuStreamGetCaptureInfo(handle: Handle, out: Out<c_int>, id: Out<u64>) {
        capture_info(handle, out, id, |_| {})
    }

    fn cuStreamGetCaptureInfo_v2(
        handle: Handle, out: Out<c_int>, id: Out<u64>, graph: Out<Handle>, ends: Out<*const Handle>,
        count: Out<usize>,
    ) {
        capture_info(handle, out, id, |capture| {
            graph.set_if_wanted(capture.graph);
            ends.set_if_wanted(capture.ends);
            count.set_if_wanted(capture.count);
        })
    }

    fn cuStreamGetCaptureInfo_v3(
        handle: Handle, out: Out<c_int>, id: Out<u64>, graph: Out<Handle>, ends: Out<*const Handle>,
        edges: Out<*const EdgeData>, count: Out<usize>,
    ) {
        capture_info(handle, out, id, |capture| {
            graph.set_if_wanted(capture.graph);
            ends.set_if_wanted(capture.ends);
            edges.set_if_wanted(capture.edges);
            count.set_if_wanted(capture.count);
        })
    }

    fn cuStreamUpdateCaptureDependencies(handle: Handle, nodes: In<Handle>, count: usize, flags: c_uint) {
        update_capture(handle, nodes, count, flags)
    }

    fn cuStreamUpdateCaptureDependencies_v2(
        handle: Handle, nodes: In<Handle>, data: In<EdgeData>, count: usize, flags: c_uint,
    ) {
        whole_edges(data, count)?;
        update_capture(handle, nodes, count, flags)
    }

    fn cuThreadExchangeStreamCaptureMode(mode: Out<c_int>) {
        super::driver::driver()?;
        let wanted = mode.get()?;
        if !(0..=2).contains(&wanted) {
            return Err(INVALID_VALUE);
        }
        mode.set(capture::exchange_mode(wanted))
    }
}

/// Returns whether a stream is captured, and the requested properties of a valid capture.
fn capture_info(
    handle: Handle,
    out: Out<c_int>,
    id: Out<u64>,
    tell: impl FnOnce(&capture::Described),
) -> Outcome {
    const NONE: c_int = 0;
    const ACTIVE: c_int = 1;
    const INVALIDATED: c_int = 2;
    let current = contexts::current()?;
    out.wanted()?;
    let mut state = current.driver.state();
    let stream = resolve(&mut state, &current, handle)?;
    let status = match &state.streams.get(stream)?.capture {
        None => NONE,
        Some(capture) if capture::is_sound(&state, capture) => ACTIVE,
        Some(_) => INVALIDATED,
    };
    if let Some(capture) = capture::describe(&mut state, stream)? {
        id.set_if_wanted(capture.id);
        if status == ACTIVE {
            tell(&capture);
        }
    }
    out.set(status)
}

/// Changes the nodes on which a captured stream's next work depends.
fn update_capture(handle: Handle, nodes: In<Handle>, count: usize, flags: c_uint) -> Outcome {
    const SET: c_uint = 1;
    if flags > SET {
        return Err(INVALID_VALUE);
    }
    let nodes = if count == 0 { Vec::new() } else { nodes.all(count)? };
    let current = contexts::current()?;
    let mut state = current.driver.state();
    let stream = resolve(&mut state, &current, handle)?;
    capture::set_ends(&mut state, stream, nodes, flags == SET)
}
