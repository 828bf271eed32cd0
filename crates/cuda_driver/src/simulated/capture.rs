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
    /// The graph that grows.
    pub graph: Handle,
    /// Whether the program knows the graph already and keeps it if the capture fails.
    pub into_existing: bool,
    /// Names the capture.
    pub id: Handle,
    /// What the stream's next work comes after.
    pub ends: Vec<Handle>,
    /// The data of the edges from there, handed out to the program.
    pub edges: Vec<EdgeData>,
    /// Whether the capture was begun in this stream; others joined it by waiting for an event.
    pub origin: bool,
    pub mode: c_int,
    /// Who began it.
    pub thread: ThreadId,
}

/// What a program is told of a capture.
pub(super) struct Described {
    pub id: u64,
    pub graph: Handle,
    /// The nodes that the stream's next work comes after: as long as the stream is left as it is.
    pub ends: *const Handle,
    /// Their edges' data.
    pub edges: *const EdgeData,
    pub count: usize,
}

/// Describes the sound capture of a stream.
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

/// Changes what the next work of a captured stream comes after: more nodes, or these and no others.
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

/// Begins a capture, into a graph of its own or behind nodes of one that there is.
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

/// Drops the graph of a failed capture. One that the program made stays, with what was captured into it.
fn discard(state: &mut State, capture: &Capture) {
    if capture.into_existing {
        if let Ok(graph) = state.graphs.get_mut(capture.graph) {
            graph.invalidated = false;
        }
    } else {
        // It is there: the capture held it. The program does not know it.
        let _ = state.graphs.remove(capture.graph);
    }
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

/// Takes a stream that is destroyed out of its capture, which ends with the stream that it was begun in. What another stream
/// was given remains, and has to be waited for like that of streams that live on.
pub(super) fn abandon(state: &mut State, capture: &Capture) {
    if capture.origin {
        leave(state, capture);
        discard(state, capture);
    } else if let Ok(graph) = state.graphs.get_mut(capture.graph) {
        graph.loose.extend(&capture.ends);
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
