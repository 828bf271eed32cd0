//! Virtual time: when things would have happened on the card.
//!
//! Work is executed when it is asked for; its time is the model's. Each stream has a clock, at which its last work ended. A
//! context has three engines, which each do one thing after another: the multiprocessors (kernels, fills, copies within the
//! device), and a copy engine for each direction of the host link. Work begins when all of these are past: the stream's
//! clock, its engine's, and the host's, which stands at the last thing that the host waited for in this context. So kernels
//! of two streams never share the multiprocessors, and copies run beside them. Contexts know nothing of each other's time:
//! each has the card to itself.
//!
//! The default stream waits for the blocking streams of its context, and they for it. What the host itself does takes no
//! time, so a launch costs what a single one costs: launches in a row are not sped up by being queued.

use super::codes::Outcome;
use super::driver::State;
use super::registry::Handle;
use super::streams::Kind;

/// What does the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Engine {
    /// The multiprocessors.
    Compute = 0,
    /// Copies from the host.
    FromHost = 1,
    /// Copies to the host.
    ToHost = 2,
}

/// The time of a context, in seconds since its beginning.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clocks {
    /// When each engine is free.
    engines: [f64; 3],
    /// Up to where the host has waited.
    host: f64,
}

/// How long something takes, and what does it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Work {
    /// `None`: it keeps no engine busy.
    pub engine: Option<Engine>,
    pub seconds: f64,
}

impl Work {
    /// Over as soon as it begins.
    pub(super) const NOTHING: Self = Self { engine: None, seconds: 0.0 };
}

/// When the next work of a stream can begin, as far as streams and the host are concerned.
pub(super) fn ready(state: &State, stream: Handle) -> Outcome<f64> {
    let this = state.streams.get(stream)?;
    let context = state.contexts.get(this.context)?;
    let mut at = this.clock.max(context.clocks.host);
    match this.kind {
        Kind::Legacy => {
            for (_, other) in state.streams.iter() {
                if other.context == this.context && other.is_blocking() {
                    at = at.max(other.clock);
                }
            }
        }
        _ if this.is_blocking() => {
            at = at.max(state.streams.get(context.legacy)?.clock);
        }
        _ => {}
    }
    Ok(at)
}

/// Puts work on an engine of a context, not before a time; when it ends.
pub(super) fn place(state: &mut State, context: Handle, not_before: f64, work: Work) -> Outcome<f64> {
    let Some(engine) = work.engine else { return Ok(not_before + work.seconds) };
    let free = &mut state.contexts.get_mut(context)?.clocks.engines[engine as usize];
    *free = free.max(not_before) + work.seconds;
    Ok(*free)
}

/// Puts work into a stream; when it ends.
pub(super) fn advance(state: &mut State, stream: Handle, work: Work) -> Outcome<f64> {
    let not_before = ready(state, stream)?;
    let context = state.streams.get(stream)?.context;
    let end = place(state, context, not_before, work)?;
    state.streams.get_mut(stream)?.clock = end;
    Ok(end)
}

/// The host has waited for what ends at this time.
pub(super) fn host_saw(state: &mut State, context: Handle, end: f64) -> Outcome {
    let host = &mut state.contexts.get_mut(context)?.clocks.host;
    *host = host.max(end);
    Ok(())
}

/// The host waits for what is in a stream.
pub(super) fn synchronise(state: &mut State, stream: Handle) -> Outcome {
    let end = ready(state, stream)?;
    let context = state.streams.get(stream)?.context;
    host_saw(state, context, end)
}

/// The host waits for all streams of a context.
pub(super) fn synchronise_context(state: &mut State, context: Handle) -> Outcome {
    super::capture::forbid_in_context(state, context)?;
    let ends = state.streams.iter().filter(|(_, stream)| stream.context == context);
    let end = ends.map(|(_, stream)| stream.clock).fold(0.0, f64::max);
    host_saw(state, context, end)
}
