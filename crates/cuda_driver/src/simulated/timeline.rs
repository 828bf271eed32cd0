//! Virtual time: when work would have run on the card.
//!
//! Work is executed at the call; its time is the model's. Each stream has a clock, the end of its last work. A context
//! has its multiprocessors (kernels, fills, copies within the device), on which kernels run [side by side](super::side_by_side) as
//! far as there is room, and four engines, each of which does one thing at a time: one copy engine for each direction of the host
//! link and of the link to other devices. Work begins at the latest of three times: the stream's clock, that at which its engine or a
//! share of the multiprocessors is free, and the host's clock. So copies overlap with kernels. The host's clock is the end of the last
//! work that was waited for in this context, or by the calling thread in any context.
//!
//! Contexts of one device have engines of their own, as if each had the card to itself. Time passes from one context to
//! another where a stream waits for the other's event, and where a thread waits for work in one and then submits to the
//! other.
//!
//! A copy between devices takes the engine of its direction at both ends, in whichever context it is queued: of two
//! copies to one device the second waits. While the opposite direction is busy at either end, the copy that was
//! scheduled later is slowed for both.
//!
//! For example, a copy to the device of 10 ms in stream A, then a kernel of 5 ms in stream A and one of 12 ms in stream
//! B, both of which fill the card:
//!
//! ```text
//! copy      engine FromHost      0 to 10 ms
//! kernel B  multiprocessors      0 to 12 ms
//! kernel A  multiprocessors     12 to 17 ms   after stream A's clock, 10, and the multiprocessors', 12
//! ```
//!
//! The default stream waits for the blocking streams of its context, and they for it. The host's own work takes no
//! time, and launches of one stream are not overlapped: each costs what a single one costs.

use std::cell::Cell;

use super::codes::Outcome;
use super::driver::State;
use super::registry::Handle;
use super::side_by_side::{Part, SideBySide};
use super::streams::Kind;

/// An engine that copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Engine {
    /// Copies from the host.
    FromHost = 0,
    /// Copies to the host.
    ToHost = 1,
    /// Copies from another device.
    FromPeer = 2,
    /// Copies to another device.
    ToPeer = 3,
}

thread_local! {
    /// End of the last work that the thread waited for, in seconds.
    static SEEN: Cell<f64> = const { Cell::new(0.0) };
}

/// The last time that an engine worked without a pause.
#[derive(Clone, Copy, Debug, Default)]
struct Busy {
    since: f64,
    until: f64,
}

impl Busy {
    /// Records work from a start to an end. Work before the last that is known leaves it as it is.
    fn note(&mut self, start: f64, end: f64) {
        if start > self.until {
            self.since = start;
        }
        self.until = self.until.max(end);
    }

    /// Returns for how many of these seconds, from a start, it is busy.
    fn overlap(self, start: f64, seconds: f64) -> f64 {
        (self.until.min(start + seconds) - self.since.max(start)).max(0.0)
    }
}

/// The clocks of a context, in seconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Clocks {
    multiprocessors: SideBySide,
    engines: [Busy; 4],
    /// End of the last work that the host waited for.
    host: f64,
}

/// Work to schedule: the engine or link that it occupies, and its seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Work {
    pub occupies: Occupied,
    pub seconds: f64,
}

/// The part of a device that work occupies while it runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Occupied {
    Nothing,
    /// This part of the multiprocessors of the context that it is queued in.
    Multiprocessors(Part),
    /// An engine of that context.
    Engine(Engine),
    /// The link between two devices.
    Link(Route),
}

/// A copy's way from one device to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Route {
    /// Context at the end that sends.
    pub from: Handle,
    /// Context at the end that receives.
    pub to: Handle,
    /// Extra seconds for each second in which the opposite direction is busy.
    pub contention: f64,
}

impl Work {
    /// Work without duration.
    pub(super) const NOTHING: Self = Self { occupies: Occupied::Nothing, seconds: 0.0 };

    /// Creates work that takes all of the multiprocessors.
    pub(super) fn on_all_multiprocessors(seconds: f64) -> Self {
        Self { occupies: Occupied::Multiprocessors(Part::WHOLE), seconds }
    }

    /// Creates work of an engine.
    pub(super) fn on(engine: Engine, seconds: f64) -> Self {
        Self { occupies: Occupied::Engine(engine), seconds }
    }
}

/// Returns the earliest start of a stream's next work, by the clocks of streams and the host.
pub(super) fn ready(state: &State, stream: Handle) -> Outcome<f64> {
    let this = state.streams.get(stream)?;
    let context = state.contexts.get(this.context)?;
    let mut at = this.clock.max(context.clocks.host).max(SEEN.get());
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

/// Schedules work of a context, not before a time. Returns its end.
pub(super) fn place(state: &mut State, context: Handle, not_before: f64, work: Work) -> Outcome<f64> {
    match work.occupies {
        Occupied::Nothing => Ok(not_before + work.seconds),
        Occupied::Multiprocessors(part) => {
            let clocks = &mut state.contexts.get_mut(context)?.clocks;
            clocks.multiprocessors.forget(clocks.host);
            Ok(clocks.multiprocessors.place(not_before, work.seconds, part))
        }
        Occupied::Engine(engine) => {
            let busy = &mut state.contexts.get_mut(context)?.clocks.engines[engine as usize];
            let start = busy.until.max(not_before);
            busy.note(start, start + work.seconds);
            Ok(busy.until)
        }
        Occupied::Link(route) => place_on_link(state, context, not_before, route, work.seconds),
    }
}

/// Schedules a copy between devices that is queued in a context. Returns its end.
///
/// In that context it comes behind earlier copies of the same direction. At an end in another context it waits only if
/// that is busy during the copy: clocks of contexts that never waited for each other are not compared.
fn place_on_link(
    state: &mut State,
    context: Handle,
    not_before: f64,
    route: Route,
    seconds: f64,
) -> Outcome<f64> {
    let ends = [(route.from, Engine::ToPeer, Engine::FromPeer), (route.to, Engine::FromPeer, Engine::ToPeer)];
    let mut start = not_before;
    // The second end may move the start into busy time of the first, so the first is asked twice.
    for (end, engine, _) in [ends[0], ends[1], ends[0]] {
        let busy = state.contexts.get(end)?.clocks.engines[engine as usize];
        if end == context || busy.overlap(start, seconds) > 0.0 {
            start = start.max(busy.until);
        }
    }
    let mut shared = 0.0_f64;
    for (end, _, opposite) in ends {
        let busy = state.contexts.get(end)?.clocks.engines[opposite as usize];
        shared = shared.max(busy.overlap(start, seconds));
    }
    let finish = start + seconds + shared * route.contention;
    for (end, engine, _) in ends {
        state.contexts.get_mut(end)?.clocks.engines[engine as usize].note(start, finish);
    }
    Ok(finish)
}

/// Schedules work in a stream. Returns its end.
pub(super) fn advance(state: &mut State, stream: Handle, work: Work) -> Outcome<f64> {
    let not_before = ready(state, stream)?;
    let context = state.streams.get(stream)?.context;
    let end = place(state, context, not_before, work)?;
    state.streams.get_mut(stream)?.clock = end;
    Ok(end)
}

/// Records that the calling thread has waited for work that ends at this time.
pub(super) fn host_saw(state: &mut State, context: Handle, end: f64) -> Outcome {
    let host = &mut state.contexts.get_mut(context)?.clocks.host;
    *host = host.max(end);
    SEEN.set(SEEN.get().max(end));
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
