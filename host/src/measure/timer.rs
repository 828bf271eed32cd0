//! The time of a batch of launches between two events, with launch overhead kept out.
//!
//! Before the first event goes a *lead-in*: the same work, untimed. While the device is busy with it, the host queues
//! everything that is timed, so the device never waits for the host between the two events. Long launches are queued
//! one by one. Short ones, which the host could not queue as fast as the device runs them, are recorded once as a
//! graph, which the host hands over in one call.
//!
//! A simulated card tells the same time for the same launch, whatever the host does meanwhile: there a sample is one
//! launch, without a lead-in.

use super::Calls;
use crate::{
    experiments::Handing,
    sensors::{Log, Sensors},
};
use anyhow::{Context, Result};
use cuda_driver::ext::GraphExec;
use cust::{
    event::{Event, EventFlags},
    stream::Stream,
};
use record::Method;
use std::time::Instant;

/// Launches shorter than this, in milliseconds, go into a graph.
const SHORT_MS: f64 = 0.020;

/// The least time that a sample of a burst lasts, in milliseconds: 4000 times the resolution of an event.
pub(super) const SAMPLE_MS: f64 = 2.0;

/// The least time that the lead-in keeps the device busy, in milliseconds.
const LEAD_IN_MS: f64 = 0.1;

/// Most launches that are recorded as one graph, and that make up a sample of a burst.
const MOST_LAUNCHES: u32 = 4096;

/// Rounds in which the host's calls are timed.
const HOST_ROUNDS: usize = 5;

/// Launches of such a round: so few that the driver's queue has room for all.
const MOST_QUEUED: u32 = 256;

/// Two events.
#[derive(Debug)]
pub(crate) struct Timer {
    start: Event,
    stop: Event,
}

impl Timer {
    /// Creates the events.
    ///
    /// # Errors
    /// The driver fails.
    pub(crate) fn new() -> Result<Timer> {
        let event = || Event::new(EventFlags::DEFAULT).context("cannot create an event");
        Ok(Timer { start: event()?, stop: event()? })
    }

    /// How long the device takes for what `work` queues, in milliseconds.
    ///
    /// # Errors
    /// The driver fails, while queueing or running the work.
    pub(crate) fn time(&self, stream: &Stream, work: impl FnOnce() -> Result<()>) -> Result<f64> {
        self.start.record(stream).context("cannot record an event")?;
        work()?;
        self.stop.record(stream).context("cannot record an event")?;
        self.stop.synchronize().context("the device failed while running the work")?;
        Ok(f64::from(self.stop.elapsed_time_f32(&self.start).context("the driver does not tell the time")?))
    }
}

/// The work of one sample.
pub(crate) struct Batch {
    /// Launches that are handed over together.
    launches: u32,
    /// How often a sample hands them over.
    times: u32,
    lead_in: u32,
    graph: Option<GraphExec>,
    method: Method,
}

impl Batch {
    /// Sizes the batch for a launch that takes about `launch_ms` and a sample that takes at least `sample_ms`.
    ///
    /// # Errors
    /// The driver fails, other than by not supporting the recording of this work.
    pub(crate) fn plan(launch_ms: f64, sample_ms: f64, calls: &Calls<'_>, stream: &Stream) -> Result<Batch> {
        let launches = count(sample_ms, launch_ms);
        let times = match sample_ms > SAMPLE_MS {
            true => (sample_ms / (launch_ms * f64::from(launches))).ceil().max(1.0) as u32,
            false => 1,
        };
        let lead_in = count(LEAD_IN_MS, launch_ms);
        let plain = Batch { launches, times, lead_in, graph: None, method: Method::Launches };
        let records = match calls.point.handing {
            Handing::Usual => launch_ms < SHORT_MS,
            Handing::Calls => false,
            Handing::Graph => true,
        };
        if !records {
            return Ok(plain);
        }
        match calls.record(launches, stream)? {
            Some(graph) => {
                Ok(Batch { lead_in: launches, graph: Some(graph), method: Method::Graph, ..plain })
            }
            None => Ok(Batch { method: Method::LaunchesWithoutGraph, ..plain }),
        }
    }

    /// One launch by itself.
    pub(crate) fn prepared() -> Batch {
        Batch { launches: 1, times: 1, lead_in: 0, graph: None, method: Method::Prepared }
    }

    /// One launch of a simulated card.
    pub(crate) fn modelled() -> Batch {
        Batch { launches: 1, times: 1, lead_in: 0, graph: None, method: Method::Modelled }
    }

    /// How many launches a sample times.
    pub(crate) fn launches(&self) -> u32 {
        self.launches.saturating_mul(self.times)
    }

    /// How the launches are handed over.
    pub(crate) fn method(&self) -> Method {
        self.method
    }

    /// Takes one sample: milliseconds per launch, and what the sensors said meanwhile.
    ///
    /// # Errors
    /// The driver fails.
    pub(crate) fn sample(
        &self,
        timer: &Timer,
        calls: &Calls<'_>,
        stream: &Stream,
        sensors: Option<&Sensors>,
    ) -> Result<(f64, Log)> {
        let once = || match &self.graph {
            Some(graph) => calls.launch_graph(graph, self.launches, stream),
            None => calls.queue(self.launches, stream),
        };
        match &self.graph {
            Some(graph) => calls.launch_graph(graph, self.launches, stream)?,
            None => calls.queue(self.lead_in, stream)?,
        }
        let timed = || timer.time(stream, || (0..self.times).try_for_each(|_| once()));
        let (total, log) = match sensors {
            Some(sensors) => sensors.during(timed),
            None => (timed(), Log::default()),
        };
        Ok((total? / f64::from(self.launches()), log))
    }

    /// How long the host's calls take per launch, in microseconds by the host's clock: the median of some rounds, each into an
    /// empty queue, so that no call waits for the device to make room.
    ///
    /// # Errors
    /// The driver fails.
    pub(crate) fn host_us(&self, calls: &Calls<'_>, stream: &Stream) -> Result<f64> {
        let mut rounds = Vec::with_capacity(HOST_ROUNDS);
        for _ in 0..HOST_ROUNDS {
            stream.synchronize().context("the device failed before the host's calls were timed")?;
            let start = Instant::now();
            let launches = match &self.graph {
                Some(graph) => {
                    calls.launch_graph(graph, self.launches, stream)?;
                    self.launches
                }
                None => {
                    let launches = self.launches.min(MOST_QUEUED);
                    calls.queue(launches, stream)?;
                    launches
                }
            };
            rounds.push(1e6 * start.elapsed().as_secs_f64() / f64::from(launches));
        }
        stream.synchronize().context("the device failed while the host's calls were timed")?;
        rounds.sort_by(f64::total_cmp);
        Ok(rounds[HOST_ROUNDS / 2])
    }
}

/// How many launches of `launch_ms` fill `wanted_ms`.
fn count(wanted_ms: f64, launch_ms: f64) -> u32 {
    let launches = (wanted_ms / launch_ms).ceil();
    // A launch below the clock's resolution reads as 0, and the quotient as infinite or NaN.
    if launches < f64::from(MOST_LAUNCHES) { (launches as u32).max(1) } else { MOST_LAUNCHES }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_launches_are_many_and_long_ones_few() {
        assert_eq!(count(2.0, 0.2), 10);
        assert_eq!(count(2.0, 0.3), 7);
        assert_eq!(count(2.0, 50.0), 1);
        assert_eq!(count(2.0, 0.000_001), MOST_LAUNCHES);
        assert_eq!(count(2.0, 0.0), MOST_LAUNCHES);
    }
}
