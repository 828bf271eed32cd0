//! Runs a case: verifies one launch, then times many between two events, as `coalesce` times its own kernels.
//!
//! A lead-in of untimed launches keeps the device busy while the host queues the timed ones; launches shorter than 20 us
//! are recorded as a graph, which the host hands over in one call. Eleven samples of at least 2 ms each, after 10 ms of
//! warming up; the median counts. A simulated card tells the same time for the same launch, so there one launch is
//! enough; data that fits in L2 gets one launch ahead, which leaves it there.

use crate::case::{Argument, Case};
use anyhow::{Context, Result};
use cuda_driver::ext::{self, GraphExec};
use cust::{
    event::{Event, EventFlags},
    function::Function,
    memory::{CopyDestination, DeviceBuffer},
    stream::Stream,
};
use record::{Method, Residence, Times};
use std::ffi::c_void;

const WARM_UP_MS: f64 = 10.0;
const SAMPLE_MS: f64 = 2.0;
const LEAD_IN_MS: f64 = 0.1;
const SHORT_MS: f64 = 0.020;
const SAMPLES: usize = 11;
/// Most launches of a sample, and of a graph.
const MOST_LAUNCHES: u32 = 4096;

/// What came out of a case.
pub(crate) struct Outcome {
    pub(crate) times: Times,
    pub(crate) method: Method,
    pub(crate) launches_per_sample: u32,
    pub(crate) fault: Option<String>,
}

/// A case with its buffers on the device.
struct Placed<'a> {
    case: &'a Case,
    function: &'a Function<'a>,
    stream: &'a Stream,
    buffers: Vec<DeviceBuffer<u8>>,
    /// The parameters' bits.
    words: Vec<u64>,
    events: [Event; 2],
}

impl Placed<'_> {
    fn queue(&self, launches: u32) -> Result<()> {
        let pointers: Vec<*mut c_void> =
            self.words.iter().map(|word| std::ptr::from_ref(word).cast_mut().cast()).collect();
        let ([x, y, z], [bx, by, bz]) = (self.case.grid, self.case.block);
        for _ in 0..launches {
            // SAFETY: the case states the kernel's parameters in their order, and buffers as large as it asks for; they live
            // until the stream has ended its work.
            unsafe { self.stream.launch(self.function, (x, y, z), (bx, by, bz), 0, &pointers)? };
        }
        Ok(())
    }

    /// The milliseconds between two events around this work.
    fn time(&self, work: impl FnOnce() -> Result<()>) -> Result<f64> {
        let [start, stop] = &self.events;
        start.record(self.stream)?;
        work()?;
        stop.record(self.stream)?;
        stop.synchronize().context("the device failed while running the kernel")?;
        Ok(f64::from(stop.elapsed_time_f32(start)?))
    }

    /// What is wrong with the buffers after one launch.
    fn fault(&self) -> Result<Option<String>> {
        for (index, (buffer, on_device)) in self.case.buffers.iter().zip(&self.buffers).enumerate() {
            let Some(check) = &buffer.check else { continue };
            let mut bytes = vec![0; buffer.bytes.len()];
            on_device.copy_to(&mut bytes)?;
            if let Err(fault) = check(&bytes) {
                return Ok(Some(format!("buffer {index}: {fault}")));
            }
        }
        Ok(None)
    }

    /// Launches until the device has been busy for a while; returns the milliseconds of a launch.
    fn warm_up(&self) -> Result<f64> {
        let mut launches = 1;
        loop {
            let total = self.time(|| self.queue(launches))?;
            if total >= WARM_UP_MS || launches >= MOST_LAUNCHES {
                return Ok(total / f64::from(launches));
            }
            launches *= 2;
        }
    }

    fn graph(&self, launches: u32) -> Result<GraphExec> {
        let record = || self.queue(launches);
        // SAFETY: the stream and the buffers outlive the graph, which is dropped with the samples.
        let graph = unsafe { ext::capture(self.stream.as_inner(), ext::CaptureMode::ThreadLocal, record) }?;
        Ok(graph.instantiate()?)
    }

    fn sampled(&self) -> Result<(Times, Method, u32)> {
        let launch_ms = self.warm_up()?;
        let launches = count(SAMPLE_MS, launch_ms);
        let graph = if launch_ms < SHORT_MS { Some(self.graph(launches)?) } else { None };
        let once = || match &graph {
            // SAFETY: as above.
            Some(graph) => Ok(unsafe { graph.launch(self.stream.as_inner()) }?),
            None => self.queue(launches),
        };
        let mut samples = Vec::new();
        for _ in 0..SAMPLES {
            if graph.is_some() { once() } else { self.queue(count(LEAD_IN_MS, launch_ms)) }?;
            samples.push(self.time(once)? / f64::from(launches));
        }
        let method = if graph.is_some() { Method::Graph } else { Method::Launches };
        Ok((Times::of(&samples).context("no samples")?, method, launches))
    }
}

/// How many launches of `launch_ms` fill `wanted_ms`.
fn count(wanted_ms: f64, launch_ms: f64) -> u32 {
    // A launch below the clock's resolution reads as 0.
    (wanted_ms / launch_ms).ceil().clamp(1.0, MOST_LAUNCHES.into()) as u32
}

/// Verifies the case, and times it unless its result is wrong: in samples, or by a `single` launch that is told by this method.
///
/// # Errors
/// The driver fails.
pub(crate) fn run(
    case: &Case,
    function: &Function<'_>,
    stream: &Stream,
    single: Option<Method>,
    residence: Residence,
) -> Result<Outcome> {
    let buffers = case
        .buffers
        .iter()
        .map(|buffer| DeviceBuffer::from_slice(&buffer.bytes))
        .collect::<Result<Vec<_>, _>>()?;
    let word = |argument: &Argument| match *argument {
        Argument::Address(index) => buffers[index].as_device_ptr().as_raw(),
        Argument::Value(bits) => bits,
    };
    let words = case.arguments.iter().map(word).collect();
    let events = [Event::new(EventFlags::DEFAULT)?, Event::new(EventFlags::DEFAULT)?];
    let placed = Placed { case, function, stream, buffers, words, events };
    let first_ms = placed.time(|| placed.queue(1))?;
    let fault = placed.fault()?;
    let (times, method, launches_per_sample) = match single {
        _ if fault.is_some() => (Times::of(&[first_ms]).context("no sample")?, Method::Once, 1),
        None => placed.sampled()?,
        Some(method) => {
            // Of data beyond L2 nothing is left there that the next launch would find.
            let again = residence != Residence::Dram;
            let ms = if again { placed.time(|| placed.queue(1))? } else { first_ms };
            (Times::of(&[ms]).context("no sample")?, method, 1)
        }
    };
    Ok(Outcome { times, method, launches_per_sample, fault })
}
