//! Stream capture: work submitted to a stream is recorded in a graph instead of executed.

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
use super::graph_edits::EdgeData;
use super::graphs::Graph;
use super::operations::Operation;
use super::registry::{Handle, new_handle};
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
    /// Graph that receives the work.
    pub graph: Handle,
    /// True if the program made the graph, and keeps it if the capture fails.
    pub into_existing: bool,
    /// Identifier of the capture.
    pub id: Handle,
    /// Nodes on which the stream's next work depends.
    pub ends: Vec<Handle>,
    /// Data of the edges from these nodes, as the program gets them.
    pub edges: Vec<EdgeData>,
    /// True if the capture began in this stream; others joined it by waiting for an event.
    pub origin: bool,
    pub mode: c_int,
    /// Thread that began the capture.
    pub thread: ThreadId,
}

/// Description of a capture, for the program.
pub(super) struct Described {
    pub id: u64,
    pub graph: Handle,
    /// Nodes on which the stream's next work depends. The pointer is valid until the stream changes.
    pub ends: *const Handle,
    /// Data of their edges.
    pub edges: *const EdgeData,
    pub count: usize,
}

/// Returns the description of a stream's capture, if it is valid.
pub(super) fn describe(state: &mut State, stream: Handle) -> Outcome<Option<Described>> {
    let Some(capture) = &mut state.streams.get_mut(stream)?.capture else { return Ok(None) };
    capture.edges = vec![EdgeData::default(); capture.ends.len()];
    Ok(Some(Described {
        id: capture.id as u64,
        graph: capture.graph,
        ends: capture.ends.as_ptr(),
        edges: capture.edges.as_ptr(),
        count: capture.ends.len(),
    }))
}

/// Changes the nodes on which a captured stream's next work depends: adds nodes, or replaces them.
pub(super) fn set_ends(state: &mut State, stream: Handle, nodes: Vec<Handle>, instead: bool) -> Outcome {
    let capture = state.streams.get(stream)?.capture.clone().ok_or(ILLEGAL_STATE)?;
    if !is_sound(state, &capture) {
        return Err(STREAM_CAPTURE_INVALIDATED);
    }
    let graph = state.graphs.get(capture.graph)?;
    if nodes.iter().any(|node| graph.node(*node).is_none()) {
        return Err(INVALID_VALUE);
    }
    let Some(capture) = state.streams.get_mut(stream)?.capture.as_mut() else { return Ok(()) };
    if instead {
        capture.ends.clear();
    }
    for node in nodes {
        if !capture.ends.contains(&node) {
            capture.ends.push(node);
        }
    }
    Ok(())
}

/// Sets this thread's mode, and returns the old one.
pub(super) fn exchange_mode(mode: c_int) -> c_int {
    MODE.replace(mode)
}

/// Returns true if nothing has invalidated the capture.
pub(super) fn is_sound(state: &State, capture: &Capture) -> bool {
    state.graphs.get(capture.graph).is_ok_and(|graph| !graph.invalidated)
}

/// Invalidates a capture: it fails at its end, whatever else is recorded.
pub(super) fn invalidate(state: &mut State, graph: Handle) {
    if let Ok(graph) = state.graphs.get_mut(graph) {
        graph.invalidated = true;
    }
}

/// Returns the graphs of captures with a stream for which `wanted` is true.
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

/// Refuses a call that a captured stream does not allow, and invalidates the capture.
pub(super) fn forbid(state: &mut State, stream: Handle) -> Outcome {
    let this = state.streams.get(stream)?;
    if let Some(capture) = &this.capture {
        let graph = capture.graph;
        return invalidate_all(state, vec![graph], STREAM_CAPTURE_UNSUPPORTED);
    }
    implicit(state, stream)
}

/// Refuses work in the default stream while a stream that it waits for is captured.
fn implicit(state: &mut State, stream: Handle) -> Outcome {
    let this = state.streams.get(stream)?;
    if this.kind != Kind::Legacy {
        return Ok(());
    }
    let context = this.context;
    let graphs = captures(state, |_, stream| stream.context == context && stream.is_blocking());
    invalidate_all(state, graphs, STREAM_CAPTURE_IMPLICIT)
}

/// Refuses a call that waits for a whole context while one of its streams is captured.
pub(super) fn forbid_in_context(state: &mut State, context: Handle) -> Outcome {
    let graphs = captures(state, |_, stream| stream.context == context);
    invalidate_all(state, graphs, STREAM_CAPTURE_UNSUPPORTED)
}

/// Refuses calls that might disturb a capture, such as allocating, if the captures' modes and the thread's forbid them.
pub(super) fn forbid_unsafe(state: &mut State) -> Outcome {
    let (mode, thread) = (MODE.get(), std::thread::current().id());
    let graphs = captures(state, |capture, _| {
        let own = capture.thread == thread && capture.mode != RELAXED;
        mode != RELAXED && (own || (mode == GLOBAL && capture.mode == GLOBAL))
    });
    invalidate_all(state, graphs, STREAM_CAPTURE_UNSUPPORTED)
}

/// Refuses that a captured stream waits for work outside of its capture.
pub(super) fn isolation(state: &mut State, stream: Handle) -> Outcome {
    let graph = state.streams.get(stream)?.capture.as_ref().map(|capture| capture.graph);
    invalidate_all(state, graph.into_iter().collect(), STREAM_CAPTURE_ISOLATION)
}

/// Begins a capture, into a new graph or behind nodes of an existing one.
pub(super) fn begin(
    state: &mut State,
    stream: Handle,
    existing: Option<(Handle, Vec<Handle>)>,
    mode: c_int,
) -> Outcome {
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
    let into_existing = existing.is_some();
    let (graph, ends) = match existing {
        Some((handle, ends)) => {
            let is_captured_into = !captures(state, |capture, _| capture.graph == handle).is_empty();
            let graph = state.graphs.get(handle)?;
            if is_captured_into || ends.iter().any(|node| graph.node(*node).is_none()) {
                return Err(INVALID_VALUE);
            }
            (handle, ends)
        }
        None => (state.graphs.insert(Graph::default()), Vec::new()),
    };
    let (id, thread, edges) = (new_handle(), std::thread::current().id(), Vec::new());
    state.streams.get_mut(stream)?.capture =
        Some(Capture { graph, into_existing, id, ends, edges, origin: true, mode, thread });
    Ok(())
}

/// Ends the capture that began in this stream, and returns its graph.
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
    let joined = state.graphs.get(capture.graph).is_ok_and(|graph| {
        let before = graph.with_all_before(&capture.ends);
        let streams = state.streams.iter();
        let others = streams
            .filter_map(|(_, other)| other.capture.as_ref().filter(|other| other.graph == capture.graph));
        others.flat_map(|other| &other.ends).chain(&graph.loose).all(|end| before.contains(end))
    });
    if let Ok(graph) = state.graphs.get_mut(capture.graph) {
        graph.loose.clear();
    }
    leave(state, &capture);
    if sound && joined {
        return Ok(capture.graph);
    }
    discard(state, &capture);
    Err(if sound { STREAM_CAPTURE_UNJOINED } else { STREAM_CAPTURE_INVALIDATED })
}

/// Drops the graph of a failed capture. One that the program made stays, with the nodes captured into it.
fn discard(state: &mut State, capture: &Capture) {
    if capture.into_existing {
        if let Ok(graph) = state.graphs.get_mut(capture.graph) {
            graph.invalidated = false;
        }
    } else {
        // The capture held the graph, so this cannot fail. The program does not know it.
        let _ = state.graphs.remove(capture.graph);
    }
}

/// Removes all streams and events from a capture.
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

/// Removes a destroyed stream from its capture, which ends with the stream in which it began. The work of another
/// stream stays in the graph, and has to be joined like that of living streams.
pub(super) fn abandon(state: &mut State, capture: &Capture) {
    if capture.origin {
        leave(state, capture);
        discard(state, capture);
    } else if let Ok(graph) = state.graphs.get_mut(capture.graph) {
        graph.loose.extend(&capture.ends);
    }
}

/// Lets a stream wait for nodes of a capture, and so join it.
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

/// Records an operation if the stream is captured. Returns true if it is.
pub(super) fn record(state: &mut State, stream: Handle, operation: &Operation) -> Outcome<bool> {
    let Some(capture) = state.streams.get(stream)?.capture.clone() else {
        implicit(state, stream)?;
        return Ok(false);
    };
    if !is_sound(state, &capture) {
        return Err(STREAM_CAPTURE_INVALIDATED);
    }
    match operation {
        // Recording an event in a capture adds no node: it marks the current dependencies.
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
