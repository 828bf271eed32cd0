//! Events: marks in streams, and the time between two of them.

use std::ffi::c_uint;

use super::capture;
use super::codes::{CAPTURED_EVENT, INVALID_HANDLE, INVALID_VALUE, Outcome};
use super::contexts::{self, Current};
use super::driver::State;
use super::entry::Out;
use super::operations::{Operation, submit};
use super::registry::Handle;
use super::{streams, timeline};

/// Flag of `cuEventCreate` for events without time.
const DISABLE_TIMING: c_uint = 2;
const INTERPROCESS: c_uint = 4;

/// An event.
#[derive(Debug)]
pub(super) struct Event {
    pub context: Handle,
    pub flags: c_uint,
    pub mark: Mark,
}

/// The position at which an event was recorded last.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Mark {
    /// Never recorded.
    Never,
    /// Recorded at this time, in seconds.
    At(f64),
    /// Recorded in a capture, behind these nodes of its graph.
    Captured { graph: Handle, nodes: Vec<Handle> },
}

/// Records the event at the current end of a stream.
pub(super) fn record(state: &mut State, stream: Handle, event: Handle) -> Outcome {
    let at = timeline::advance(state, stream, timeline::Work::NOTHING)?;
    state.events.get_mut(event)?.mark = Mark::At(at);
    Ok(())
}

/// Lets a stream wait for an event.
pub(super) fn wait(state: &mut State, stream: Handle, event: Handle) -> Outcome {
    match state.events.get(event)?.mark.clone() {
        // An event that was never recorded counts as complete.
        Mark::Never => Ok(()),
        Mark::Captured { graph, nodes } => capture::join(state, stream, graph, &nodes),
        Mark::At(_) if state.streams.get(stream)?.capture.is_some() => capture::isolation(state, stream),
        Mark::At(at) => {
            let stream = state.streams.get_mut(stream)?;
            stream.clock = stream.clock.max(at);
            Ok(())
        }
    }
}

fn record_entry(event: Handle, stream: Handle) -> Outcome {
    let current = contexts::current()?;
    let context = current.driver.state().events.get(event)?.context;
    let stream_context = {
        let mut state = current.driver.state();
        let stream = streams::resolve(&mut state, &current, stream)?;
        state.streams.get(stream)?.context
    };
    if context != stream_context {
        return Err(INVALID_HANDLE);
    }
    submit(stream, Operation::Record(event))
}

/// Records that the host has seen the event, by waiting or by a query.
fn seen(current: &Current, event: Handle) -> Outcome {
    let mut state = current.driver.state();
    let Event { context, ref mark, .. } = *state.events.get(event)?;
    match *mark {
        Mark::Never => Ok(()),
        Mark::Captured { graph, .. } => {
            capture::invalidate(&mut state, graph);
            Err(CAPTURED_EVENT)
        }
        Mark::At(at) => timeline::host_saw(&mut state, context, at),
    }
}

fn elapsed(out: Out<f32>, start: Handle, end: Handle) -> Outcome {
    let current = contexts::current()?;
    // NVIDIA's driver returns this code for null here, unlike everywhere else.
    out.wanted().map_err(|_| INVALID_HANDLE)?;
    let state = current.driver.state();
    let time = |event: Handle| {
        let event = state.events.get(event)?;
        match event.mark {
            Mark::At(at) if event.flags & DISABLE_TIMING == 0 => Ok(at),
            Mark::Captured { .. } => Err(CAPTURED_EVENT),
            _ => Err(INVALID_HANDLE),
        }
    };
    let milliseconds = (time(end)? - time(start)?) * 1e3;
    // Events of different devices have no common clock.
    let device = |event: Handle| Ok(state.contexts.get(state.events.get(event)?.context)?.device);
    if device(start)? != device(end)? {
        return Err(INVALID_HANDLE);
    }
    out.set(milliseconds as f32)
}

entry_points! {
    fn cuEventCreate(out: Out<Handle>, flags: c_uint) {
        let current = contexts::current()?;
        out.wanted()?;
        let interprocess_with_time = flags & INTERPROCESS != 0 && flags & DISABLE_TIMING == 0;
        if flags & !7 != 0 || interprocess_with_time {
            return Err(INVALID_VALUE);
        }
        let event = Event { context: current.handle, flags, mark: Mark::Never };
        out.set(current.driver.state().events.insert(event))
    }

    fn cuEventDestroy_v2(event: Handle) {
        let current = contexts::current_or_owner(|state| Ok(state.events.get(event)?.context))?;
        current.driver.state().events.remove(event).map(drop)
    }

    fn cuEventRecord(event: Handle, stream: Handle) {
        record_entry(event, stream)
    }

    fn cuEventRecordWithFlags(event: Handle, stream: Handle, flags: c_uint) {
        if flags > 1 {
            return Err(INVALID_VALUE);
        }
        record_entry(event, stream)
    }

    fn cuEventQuery(event: Handle) {
        seen(&contexts::current()?, event)
    }

    fn cuEventSynchronize(event: Handle) {
        seen(&contexts::current()?, event)
    }

    fn cuEventElapsedTime(out: Out<f32>, start: Handle, end: Handle) {
        elapsed(out, start, end)
    }

    // From CUDA 12.8; no visible difference from the first form here.
    fn cuEventElapsedTime_v2(out: Out<f32>, start: Handle, end: Handle) {
        elapsed(out, start, end)
    }
}
