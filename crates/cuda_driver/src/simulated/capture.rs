//! Stream capture: what is put into a stream becomes a graph instead of being done.

use std::cell::Cell;
use std::ffi::c_int;
use std::thread::ThreadId;

use super::codes::{
    INVALID_VALUE, Outcome, STREAM_CAPTURE_IMPLICIT, STREAM_CAPTURE_INVALIDATED, STREAM_CAPTURE_ISOLATION,
    STREAM_CAPTURE_MERGE, STREAM_CAPTURE_UNJOINED, STREAM_CAPTURE_UNMATCHED, STREAM_CAPTURE_UNSUPPORTED,
    STREAM_CAPTURE_WRONG_THREAD,
};
use super::driver::State;
use super::events::Mark;
use super::graphs::Graph;
use super::operations::Operation;
use super::registry::Handle;
use super::streams::Kind;
use crate::Code;

const ILLEGAL_STATE: Code = Code(401);

const GLOBAL: c_int = 0;
const RELAXED: c_int = 2;

thread_local! {
    /// How strictly captures keep this thread from unsafe calls.
    static MODE: Cell<c_int> = const { Cell::new(GLOBAL) };
}

/// A stream's part in a capture.
#[derive(Clone, Debug)]
pub(super) struct Capture {
    /// The graph that grows.
    pub graph: Handle,
    /// What the stream's next work comes after.
    pub ends: Vec<Handle>,
    /// Whether the capture was begun in this stream; others joined it by waiting for an event.
    pub origin: bool,
    pub mode: c_int,
    /// Who began it.
    pub thread: ThreadId,
}

impl Capture {
    /// A number of the capture's own.
    pub(super) fn id(&self) -> u64 {
        self.graph as u64
    }
}

/// Sets this thread's mode; the old one.
pub(super) fn exchange_mode(mode: c_int) -> c_int {
    MODE.replace(mode)
}

/// Whether nothing has invalidated it.
pub(super) fn is_sound(state: &State, capture: &Capture) -> bool {
    state.graphs.get(capture.graph).is_ok_and(|graph| !graph.invalidated)
}

/// Whatever else is recorded, the capture will have failed.
pub(super) fn invalidate(state: &mut State, graph: Handle) {
    if let Ok(graph) = state.graphs.get_mut(graph) {
        graph.invalidated = true;
    }
}

/// Graphs of the captures for which this is true of one of their streams.
fn captures(state: &State, wanted: impl Fn(&Capture, &super::streams::Stream) -> bool) -> Vec<Handle> {
    let streams = state.streams.iter();
    let found =
        streams.filter_map(|(_, stream)| stream.capture.as_ref().filter(|capture| wanted(capture, stream)));
    found.map(|capture| capture.graph).collect()
}

fn invalidate_all(state: &mut State, graphs: Vec<Handle>, code: Code) -> Outcome {
    if graphs.is_empty() {
        return Ok(());
    }
    for graph in graphs {
        invalidate(state, graph);
    }
    Err(code)
}

/// Refuses a call that a captured stream does not allow, which ends the capture too.
pub(super) fn forbid(state: &mut State, stream: Handle) -> Outcome {
    let this = state.streams.get(stream)?;
    if let Some(capture) = &this.capture {
        let graph = capture.graph;
        return invalidate_all(state, vec![graph], STREAM_CAPTURE_UNSUPPORTED);
    }
    implicit(state, stream)
}

/// Refuses work in the default stream while one that it waits for is captured.
fn implicit(state: &mut State, stream: Handle) -> Outcome {
    let this = state.streams.get(stream)?;
    if this.kind != Kind::Legacy {
        return Ok(());
    }
    let context = this.context;
    let graphs = captures(state, |_, stream| stream.context == context && stream.is_blocking());
    invalidate_all(state, graphs, STREAM_CAPTURE_IMPLICIT)
}

/// Refuses a call that waits for a whole context in which a stream is captured.
pub(super) fn forbid_in_context(state: &mut State, context: Handle) -> Outcome {
    let graphs = captures(state, |_, stream| stream.context == context);
    invalidate_all(state, graphs, STREAM_CAPTURE_UNSUPPORTED)
}

/// Refuses calls that might disturb a capture, such as allocating, as far as the captures' modes and the thread's ask
/// for it.
pub(super) fn forbid_unsafe(state: &mut State) -> Outcome {
    let (mode, thread) = (MODE.get(), std::thread::current().id());
    let graphs = captures(state, |capture, _| {
        let own = capture.thread == thread && capture.mode != RELAXED;
        mode != RELAXED && (own || (mode == GLOBAL && capture.mode == GLOBAL))
    });
    invalidate_all(state, graphs, STREAM_CAPTURE_UNSUPPORTED)
}

/// A captured stream may not wait for what is not of its capture.
pub(super) fn isolation(state: &mut State, stream: Handle) -> Outcome {
    let graph = state.streams.get(stream)?.capture.as_ref().map(|capture| capture.graph);
    invalidate_all(state, graph.into_iter().collect(), STREAM_CAPTURE_ISOLATION)
}

pub(super) fn begin(state: &mut State, stream: Handle, mode: c_int) -> Outcome {
    if !(GLOBAL..=RELAXED).contains(&mode) {
        return Err(INVALID_VALUE);
    }
    let this = state.streams.get(stream)?;
    if this.kind == Kind::Legacy {
        return Err(STREAM_CAPTURE_UNSUPPORTED);
    }
    if this.capture.is_some() {
        return Err(ILLEGAL_STATE);
    }
    let graph = state.graphs.insert(Graph::default());
    let thread = std::thread::current().id();
    state.streams.get_mut(stream)?.capture =
        Some(Capture { graph, ends: Vec::new(), origin: true, mode, thread });
    Ok(())
}

/// Ends the capture that was begun in this stream; its graph.
pub(super) fn end(state: &mut State, stream: Handle) -> Outcome<Handle> {
    let capture = state.streams.get(stream)?.capture.clone().ok_or(ILLEGAL_STATE)?;
    if !capture.origin {
        invalidate(state, capture.graph);
        return Err(STREAM_CAPTURE_UNMATCHED);
    }
    if capture.mode != RELAXED && capture.thread != std::thread::current().id() {
        return Err(STREAM_CAPTURE_WRONG_THREAD);
    }
    let sound = is_sound(state, &capture);
    let joined = {
        let graph = state.graphs.get(capture.graph)?;
        let before = graph.with_all_before(&capture.ends);
        let streams = state.streams.iter();
        let others = streams
            .filter_map(|(_, other)| other.capture.as_ref().filter(|other| other.graph == capture.graph));
        others.flat_map(|other| &other.ends).all(|end| before.contains(end))
    };
    leave(state, &capture);
    if sound && joined {
        return Ok(capture.graph);
    }
    graphs_remove(state, capture.graph);
    Err(if sound { STREAM_CAPTURE_UNJOINED } else { STREAM_CAPTURE_INVALIDATED })
}

fn graphs_remove(state: &mut State, graph: Handle) {
    // It is there: the capture held it. Nobody else knows it.
    let _ = state.graphs.remove(graph);
}

/// Takes all streams out of a capture, and events that were marked in it.
fn leave(state: &mut State, capture: &Capture) {
    for (_, stream) in state.streams.iter_mut() {
        if stream.capture.as_ref().is_some_and(|other| other.graph == capture.graph) {
            stream.capture = None;
        }
    }
    for (_, event) in state.events.iter_mut() {
        if matches!(event.mark, Mark::Captured { graph, .. } if graph == capture.graph) {
            event.mark = Mark::Never;
        }
    }
}

/// Gives up the capture of a stream that is destroyed.
pub(super) fn abandon(state: &mut State, capture: &Capture) {
    if capture.origin {
        leave(state, capture);
        graphs_remove(state, capture.graph);
    } else {
        invalidate(state, capture.graph);
    }
}

/// Lets a stream wait for nodes of a capture, by which it becomes part of it.
pub(super) fn join(state: &mut State, stream: Handle, graph: Handle, nodes: &[Handle]) -> Outcome {
    let this = state.streams.get(stream)?;
    if this.kind == Kind::Legacy {
        return invalidate_all(state, vec![graph], STREAM_CAPTURE_IMPLICIT);
    }
    if state.graphs.get(graph).is_ok_and(|graph| graph.invalidated) {
        return Err(INVALID_VALUE);
    }
    match &this.capture {
        Some(capture) if capture.graph == graph => {
            let Some(capture) = state.streams.get_mut(stream)?.capture.as_mut() else { return Ok(()) };
            for node in nodes {
                if !capture.ends.contains(node) {
                    capture.ends.push(*node);
                }
            }
            Ok(())
        }
        Some(capture) => {
            let both = vec![graph, capture.graph];
            invalidate_all(state, both, STREAM_CAPTURE_MERGE)
        }
        None => {
            let streams = state.streams.iter();
            let origin = streams
                .filter_map(|(_, stream)| stream.capture.as_ref())
                .find(|capture| capture.graph == graph && capture.origin);
            let origin = origin.ok_or(STREAM_CAPTURE_INVALIDATED)?;
            let joined = Capture { origin: false, ends: nodes.to_vec(), ..origin.clone() };
            state.streams.get_mut(stream)?.capture = Some(joined);
            Ok(())
        }
    }
}

/// Records an operation where the stream is captured; whether it is.
pub(super) fn record(state: &mut State, stream: Handle, operation: &Operation) -> Outcome<bool> {
    let Some(capture) = state.streams.get(stream)?.capture.clone() else {
        implicit(state, stream)?;
        return Ok(false);
    };
    if !is_sound(state, &capture) {
        return Err(STREAM_CAPTURE_INVALIDATED);
    }
    match operation {
        // A mark in a capture is no work: it says what comes before.
        Operation::Record(event) => {
            state.events.get_mut(*event)?.mark = Mark::Captured { graph: capture.graph, nodes: capture.ends };
        }
        Operation::Wait(event) => super::events::wait(state, stream, *event)?,
        operation => {
            let node = state.add_node(capture.graph, operation.clone(), capture.ends)?;
            if let Some(capture) = state.streams.get_mut(stream)?.capture.as_mut() {
                capture.ends = vec![node];
            }
        }
    }
    Ok(true)
}
