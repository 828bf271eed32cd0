//! Virtual time: when work would have run on the card.
//!
//! Work is executed at the call; its time is the model's. Each stream has a clock, the end of its last work. A context
//! has five engines, each of which does one thing at a time: the multiprocessors (kernels, fills, copies within the
//! device), and one copy engine for each direction of the host link and of the link to other devices. While both
//! directions of a link to other devices are busy, the work that was scheduled later is slowed for both. Work begins at the latest of three times: the
//! stream's clock, its engine's clock, and the host's clock, which is the end of the last work that the host waited for
//! in this context. So kernels of two streams never overlap, and copies overlap with kernels. Contexts do not share
//! time: each has the card to itself.
//!
//! For example, a copy to the device of 10 ms in stream A, then a kernel of 5 ms in stream A and one of 4 ms in stream
//! B:
//!
//! ```text
//! copy      engine FromHost   0 to 10 ms
//! kernel A  engine Compute   10 to 15 ms   after stream A's clock, 10
//! kernel B  engine Compute   15 to 19 ms   after the engine's clock, 15
//! ```
//!
//! The default stream waits for the blocking streams of its context, and they for it. The host's own work takes no
//! time, and queued launches are not overlapped: each launch costs what a single one costs.

use super::codes::Outcome;
use super::driver::State;
use super::registry::Handle;
use super::streams::Kind;

/// An engine that executes work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Engine {
    /// The multiprocessors.
    Compute = 0,
    /// Copies from the host.
    FromHost = 1,
    /// Copies to the host.
    ToHost = 2,
    /// Copies from another device.
    FromPeer = 3,
    /// Copies to another device.
    ToPeer = 4,
}

impl Engine {
    /// Returns the engine of the other direction of a link whose directions slow each other.
    fn opposite(self) -> Option<Self> {
        match self {
            Self::FromPeer => Some(Self::ToPeer),
            Self::ToPeer => Some(Self::FromPeer),
            Self::Compute | Self::FromHost | Self::ToHost => None,
        }
    }
}

/// The last time that an engine worked without a pause.
#[derive(Clone, Copy, Debug, Default)]
struct Busy {
    since: f64,
    until: f64,
}

/// The clocks of a context, in seconds since its creation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clocks {
    engines: [Busy; 5],
    /// End of the last work that the host waited for.
    host: f64,
}

/// Engine and duration of work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Work {
    /// The engine; `None` if it occupies none.
    pub engine: Option<Engine>,
    pub seconds: f64,
    /// Extra seconds for each second in which the link's other direction is busy.
    pub contention: f64,
}

impl Work {
    /// Work without duration.
    pub(super) const NOTHING: Self = Self { engine: None, seconds: 0.0, contention: 0.0 };

    /// Creates work of an engine, without contention.
    pub(super) fn on(engine: Engine, seconds: f64) -> Self {
        Self { engine: Some(engine), seconds, contention: 0.0 }
    }
}

/// Returns the earliest start of a stream's next work, by the clocks of streams and the host.
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

/// Schedules work on an engine of a context, not before a time. Returns its end.
pub(super) fn place(state: &mut State, context: Handle, not_before: f64, work: Work) -> Outcome<f64> {
    let Some(engine) = work.engine else { return Ok(not_before + work.seconds) };
    let engines = &mut state.contexts.get_mut(context)?.clocks.engines;
    let start = engines[engine as usize].until.max(not_before);
    let shared = engine.opposite().map_or(0.0, |opposite| {
        let Busy { since, until } = engines[opposite as usize];
        (until.min(start + work.seconds) - since.max(start)).max(0.0)
    });
    let busy = &mut engines[engine as usize];
    if start > busy.until {
        busy.since = start;
    }
    busy.until = start + work.seconds + shared * work.contention;
    Ok(busy.until)
}

/// Schedules work in a stream. Returns its end.
pub(super) fn advance(state: &mut State, stream: Handle, work: Work) -> Outcome<f64> {
    let not_before = ready(state, stream)?;
    let context = state.streams.get(stream)?.context;
    let end = place(state, context, not_before, work)?;
    state.streams.get_mut(stream)?.clock = end;
    Ok(end)
}

/// Records that the host has waited for work that ends at this time.
pub(super) fn host_saw(state: &mut State, context: Handle, end: f64) -> Outcome {
    let host = &mut state.contexts.get_mut(context)?.clocks.host;
    *host = host.max(end);
    Ok(())
}

/// Lets the host wait for a stream.
pub(super) fn synchronise(state: &mut State, stream: Handle) -> Outcome {
    let end = ready(state, stream)?;
    let context = state.streams.get(stream)?.context;
    host_saw(state, context, end)
}

/// Lets the host wait for all streams of a context.
pub(super) fn synchronise_context(state: &mut State, context: Handle) -> Outcome {
    super::capture::forbid_in_context(state, context)?;
    let ends = state.streams.iter().filter(|(_, stream)| stream.context == context);
    let end = ends.map(|(_, stream)| stream.clock).fold(0.0, f64::max);
    host_saw(state, context, end)
}
