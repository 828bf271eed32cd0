//! Measuring: prepare, warm up, take samples, verify. One module, and the only one that times anything.
//!
//! A point is measured for one *contender*, or for several, interleaved: a sample of each, then the next sample of each,
//! on the same buffers, so that whatever drifts (clocks, temperature) drifts for all of them.

mod statistics;
#[cfg(test)]
mod tests;
mod timer;

pub(crate) use record::{Method, Times};
pub(crate) use statistics::ratio_range;

use crate::{
    device::{Backend, DeviceInfo},
    experiments::{Buffers, BytesMoved, Handing, Moment, Point, Work},
    interrupt::Interrupt,
    memory::Memory,
    sensors::{Log, Sensors},
    simulated::{self, LaunchRecord},
    symbols,
};
use anyhow::{Context, Result, bail};
use cuda_driver::{
    Code,
    ext::{self, GraphExec},
};
use cust::{error::CudaError, function::Function, stream::Stream};
use pattern::MOST_LAUNCHES;
use record::{Load, Residence};
use std::{cell::Cell, collections::BTreeMap, thread, time::Duration};
use timer::{Batch, SAMPLE_MS, Timer};

/// The device is kept busy for so long, in milliseconds, before a launch's time is believed.
const WARM_UP_MS: f64 = 10.0;

/// So many launches at most warm up.
const MOST_WARM_UP: u32 = 1024;

/// The result of a point's samples.
#[derive(Clone, Debug)]
pub(crate) struct Measurement {
    /// Milliseconds per launch, sample by sample in the order in which they were taken; empty where nothing is timed.
    pub samples: Vec<f64>,
    /// How the launches were handed to the device.
    pub method: Method,
    /// How many launches each sample timed.
    pub launches_per_sample: u32,
    /// The fault of the result; `None` for a result that is right.
    pub fault: Option<String>,
    /// The simulator's counters of the last timed launch; `None` on a GPU, and for the driver's own work.
    pub launch: Option<Box<LaunchRecord>>,
    /// The point's observation around the last launch.
    pub observed: BTreeMap<String, serde_json::Value>,
    /// How long the card was kept busy; `None` where nothing is measured.
    pub load: Option<Load>,
    /// What the card's sensors said, sample by sample; empty where there are none.
    pub logs: Vec<Log>,
}

impl Measurement {
    /// The samples summed up; `None` where nothing is timed.
    pub(crate) fn times(&self) -> Option<Times> {
        Times::of(&self.samples)
    }
}

/// One way to do a point's work, of several on the same buffers.
#[derive(Clone, Copy)]
pub(crate) struct Contender<'a> {
    /// The work. Of several contenders, the first of those with the most buffers lends them all, and says what must come out;
    /// the others have the first of them, or none of their own.
    pub point: &'a Point,
    /// The kernel; `None` where the driver or a library does the work.
    pub function: Option<&'a Function<'a>>,
}

/// How often a point is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// As often as the device and the point call for.
    Usual,
    /// The repetitions for a number of samples.
    Samples(usize),
    /// Once, without a time.
    Once,
}

impl Effort {
    /// The samples to take of a point; `None` where nothing is timed.
    fn samples(self, point: &Point, backend: Backend) -> Option<usize> {
        match (self, backend) {
            (Effort::Once, _) => None,
            (Effort::Samples(samples), _) => Some(samples),
            // The model gives each launch the same time.
            (Effort::Usual, Backend::Modelled) => Some(1),
            (Effort::Usual, Backend::Measured) if point.before_each.is_some() => Some(PREPARED_SAMPLES),
            (Effort::Usual, Backend::Measured) => Some(SAMPLES),
        }
    }
}

/// Samples of a row on a GPU.
const SAMPLES: usize = 11;

/// The same of a row whose every launch is prepared, which may take longer than the launch.
const PREPARED_SAMPLES: usize = 5;

/// Bytes of dynamic shared memory from which on a kernel has to be told beforehand.
const MOST_SHARED_UNASKED: u32 = 48 << 10;

/// Blocks of a cluster from which on likewise.
const MOST_CLUSTER_UNASKED: u32 = 8;

/// Measures points, one after another, in the same memory.
pub(crate) struct Measurer<'m> {
    stream: Stream,
    timer: Timer,
    memory: Memory<'m>,
    effort: Effort,
    backend: Backend,
    l2_bytes: u64,
    interrupt: Interrupt,
    sensors: Option<&'m Sensors>,
    /// For how many seconds a row keeps the card busy, where the user asked for it.
    sustained: Option<f64>,
    /// Whether the card rests before each sample.
    rested: bool,
}

/// How long it rests.
const REST: Duration = Duration::from_millis(20);

impl<'m> Measurer<'m> {
    /// Launches each point as often as `effort` says, by each contender.
    ///
    /// # Errors
    /// The driver fails.
    pub(crate) fn new(
        stream: Stream,
        mut memory: Memory<'m>,
        effort: Effort,
        device: &DeviceInfo,
        interrupt: Interrupt,
    ) -> Result<Measurer<'m>> {
        if effort == Effort::Once {
            memory.be_exact();
        }
        let (backend, l2_bytes) = (device.backend(), device.l2_bytes);
        let timer = Timer::new()?;
        let (sensors, sustained, rested) = (None, None, false);
        Ok(Measurer {
            stream,
            timer,
            memory,
            effort,
            backend,
            l2_bytes,
            interrupt,
            sensors,
            sustained,
            rested,
        })
    }

    /// Reads these sensors during samples.
    pub(crate) fn watch(self, sensors: Option<&'m Sensors>) -> Measurer<'m> {
        Measurer { sensors, ..self }
    }

    /// Keeps the card busy with each row for so many seconds, if it is told how many.
    pub(crate) fn sustain(self, sustained: Option<f64>) -> Measurer<'m> {
        Measurer { sustained, ..self }
    }

    /// Lets the card rest before each sample, if it is told so.
    pub(crate) fn rest(self, rested: bool) -> Measurer<'m> {
        Measurer { rested, ..self }
    }

    /// Measures each contender, in their order.
    ///
    /// `None` means that the user interrupted.
    ///
    /// # Errors
    /// The driver fails, while queueing or running the work.
    pub(crate) fn measure<'a>(&mut self, contenders: &[Contender<'a>]) -> Result<Option<Vec<Measurement>>> {
        let most = |best: &'a Point, other: &'a Point| {
            if other.buffers.len() > best.buffers.len() { other } else { best }
        };
        let Some(point) = contenders.iter().map(|contender| contender.point).reduce(most) else {
            return Ok(Some(Vec::new()));
        };
        self.measure_here(point, contenders).with_context(|| format!("{} {}", point.kernel, point.parameters))
    }

    fn measure_here(
        &mut self,
        point: &Point,
        contenders: &[Contender<'_>],
    ) -> Result<Option<Vec<Measurement>>> {
        let pointers = self.memory.place(point)?;
        // SAFETY: the memory places the buffers, the first of which are the same for all contenders, and keeps them until the next points,
        // and all work on them is queued on this measurer's stream, which is waited for before.
        let placed = |point: &Point| unsafe { Buffers::placed(point, &pointers) };
        // A library's point has none of its own.
        let own = |of: &Point| placed(if of.buffers.is_empty() { point } else { of });
        let buffers: Vec<Buffers> =
            contenders.iter().map(|contender| own(contender.point)).collect::<Result<_>>()?;
        for Contender { point, function } in contenders {
            if let Some(function) = function {
                allow(function, point)?;
            }
        }
        let calls: Vec<Calls<'_>> = contenders
            .iter()
            .zip(&buffers)
            .map(|(&Contender { point, function }, buffers)| Calls {
                point,
                function,
                buffers,
                made: Cell::new(0),
            })
            .collect();
        let Some(samples_each) = self.effort.samples(point, self.backend) else {
            return self.once(point, &calls);
        };
        let sustained_ms = self.sustained.map(|seconds| 1e3 * seconds / samples_each as f64);
        let sample_ms = sustained_ms.unwrap_or(SAMPLE_MS).max(SAMPLE_MS);
        let mut faults = vec![None; calls.len()];

        // Each contender has to be right by itself: together, one could put right what another left out.
        let mut batches = Vec::new();
        for (calls, fault) in calls.iter().zip(&mut faults) {
            self.prepare(point, &[calls])?;
            if let Some(before_all) = &calls.point.before_all {
                before_all(&self.stream, calls.buffers)?;
                self.prepare(point, &[calls])?;
            }
            batches.push(match self.backend {
                Backend::Measured if point.before_each.is_some() => {
                    calls.prelude(&self.stream)?;
                    self.timer.time(&self.stream, || calls.queue(1, &self.stream))?;
                    Batch::prepared()
                }
                Backend::Measured => Batch::plan(self.warm_up(calls)?, sample_ms, calls, &self.stream)?,
                // There is nothing to warm up; but of several contenders each is verified by itself.
                Backend::Modelled if contenders.len() == 1 && self.finds_nothing_in_l2(point) => {
                    Batch::modelled()
                }
                Backend::Modelled => {
                    // Brings L2 to where it is between launches of this kernel, for its times to be those of a row of
                    // them, as on a GPU.
                    calls.prelude(&self.stream)?;
                    self.timer.time(&self.stream, || calls.queue(1, &self.stream))?;
                    Batch::modelled()
                }
            });
            if contenders.len() > 1 {
                *fault = self.verify(point, &[calls])?;
            }
            if self.interrupt.requested() {
                return Ok(None);
            }
        }
        if contenders.len() > 1 {
            self.prepare(point, &calls.iter().collect::<Vec<_>>())?;
        }
        if self.sustained.is_some() {
            // The card has cooled down meanwhile: the first round only heats it.
            for (batch, calls) in batches.iter().zip(&calls) {
                batch.sample(&self.timer, calls, &self.stream, None)?;
                if self.interrupt.requested() {
                    return Ok(None);
                }
            }
        }

        let mut samples = vec![Vec::with_capacity(samples_each); calls.len()];
        let mut observed = vec![BTreeMap::new(); calls.len()];
        let mut launches = vec![None; calls.len()];
        let mut logs = vec![Vec::new(); calls.len()];
        let mut turns: Vec<usize> = (0..calls.len()).collect();
        for sample in 1..=samples_each {
            for &turn in &turns {
                let last = sample == samples_each;
                calls[turn].prelude(&self.stream)?;
                if last {
                    observed[turn] = self.observe(&calls[turn], Moment::Before)?;
                }
                simulated::forget_launches();
                if self.rested {
                    self.stream.synchronize().context("the device failed before a sample")?;
                    thread::sleep(REST);
                }
                let (sample, log) =
                    batches[turn].sample(&self.timer, &calls[turn], &self.stream, self.sensors)?;
                samples[turn].push(sample);
                logs[turn].extend(self.sensors.map(|_| log));
                launches[turn] = calls[turn].last_launch();
                if last {
                    observed[turn].extend(self.observe(&calls[turn], Moment::After)?);
                }
                if self.interrupt.requested() {
                    return Ok(None);
                }
            }
            // The last is first in the next round, so that none always follows the same one.
            turns.reverse();
        }
        if self.backend == Backend::Measured && point.handing != Handing::Usual {
            for ((calls, batch), observed) in calls.iter().zip(&batches).zip(&mut observed) {
                let host_us = batch.host_us(calls, &self.stream)?;
                observed.insert("host_us_per_launch".to_string(), host_us.into());
            }
        }
        let fault = self.verify(point, &calls.iter().collect::<Vec<_>>())?;
        let load = match (self.backend, self.sustained) {
            (Backend::Modelled, _) => None,
            (Backend::Measured, Some(_)) => Some(Load::Sustained),
            (Backend::Measured, None) if self.rested => Some(Load::Rested),
            (Backend::Measured, None) => Some(Load::Burst),
        };
        let taken = samples.into_iter().zip(&batches).zip(faults).zip(launches).zip(observed).zip(logs);
        let measurements = taken.map(|(((((samples, batch), own), launch), observed), logs)| Measurement {
            samples,
            method: batch.method(),
            launches_per_sample: batch.launches(),
            fault: own.or_else(|| fault.clone()),
            launch,
            observed,
            load,
            logs,
        });
        Ok(Some(measurements.collect()))
    }

    /// Whether what a launch left in L2 makes no difference to the next one: its data has been elsewhere since, or fills L2
    /// several times over, or is so little beside what is read that fetching it again is less than a hundredth.
    fn finds_nothing_in_l2(&self, point: &Point) -> bool {
        let BytesMoved { read, written, footprint } = point.bytes;
        point.before_each.is_some()
            || Residence::of(footprint, self.l2_bytes) == Residence::Dram
            || footprint.saturating_mul(100) <= read.saturating_add(written)
    }

    /// Launches each contender once, untimed.
    fn once(&mut self, point: &Point, calls: &[Calls<'_>]) -> Result<Option<Vec<Measurement>>> {
        let mut measurements = Vec::new();
        for calls in calls {
            self.prepare(point, &[calls])?;
            if let Some(before_all) = &calls.point.before_all {
                before_all(&self.stream, calls.buffers)?;
                self.prepare(point, &[calls])?;
            }
            calls.prelude(&self.stream)?;
            let mut observed = self.observe(calls, Moment::Before)?;
            simulated::forget_launches();
            calls.queue(1, &self.stream)?;
            self.stream.synchronize().context("the device failed while running the work")?;
            let launch = calls.last_launch();
            observed.extend(self.observe(calls, Moment::After)?);
            measurements.push(Measurement {
                samples: Vec::new(),
                method: Method::Once,
                launches_per_sample: 1,
                fault: self.verify(point, &[calls])?,
                launch,
                observed,
                load: None,
                logs: Vec::new(),
            });
            if self.interrupt.requested() {
                return Ok(None);
            }
        }
        Ok(Some(measurements))
    }

    /// Fills the point's buffers, and writes the variables of each contender's module.
    fn prepare(&mut self, point: &Point, calls: &[&Calls<'_>]) -> Result<()> {
        self.memory.prepare(point, &self.stream)?;
        for calls in calls {
            calls.made.set(0);
            if let Some(function) = calls.function {
                symbols::write(function, &calls.point.symbols)?;
            }
        }
        Ok(())
    }

    fn observe(&self, calls: &Calls<'_>, moment: Moment) -> Result<BTreeMap<String, serde_json::Value>> {
        let Some(observe) = &calls.point.observe else { return Ok(BTreeMap::new()) };
        self.stream.synchronize().context("the device failed before its memory was looked at")?;
        observe(moment, calls.buffers)
    }

    /// Launches until the device has been busy for a while; returns the milliseconds that a launch took at the end.
    fn warm_up(&self, calls: &Calls<'_>) -> Result<f64> {
        // The very first launch of a kernel loads its code.
        self.timer.time(&self.stream, || calls.queue(1, &self.stream))?;
        let mut launches = 1;
        loop {
            let total = self.timer.time(&self.stream, || calls.queue(launches, &self.stream))?;
            if total >= WARM_UP_MS || launches >= MOST_WARM_UP {
                return Ok(total / f64::from(launches));
            }
            launches *= 2;
        }
    }

    /// Checks the buffers after the launches of all these calls, and the variables of each one's module after its own.
    fn verify(&mut self, point: &Point, calls: &[&Calls<'_>]) -> Result<Option<String>> {
        let launches = calls.iter().map(|calls| calls.made.get()).sum();
        if launches > MOST_LAUNCHES {
            bail!(
                "{launches} launches are more than can be checked exactly ({MOST_LAUNCHES}); use fewer --samples, or a \
                 shorter --sustained"
            );
        }
        for calls in calls {
            if let Some(function) = calls.function
                && let Some(fault) = wrong_symbol(calls.point, function, calls.made.get())?
            {
                return Ok(Some(fault));
            }
        }
        self.memory.verify(point, launches, &self.stream)
    }
}

/// Lets a kernel be launched as a point asks: with much dynamic shared memory per block, or in clusters of many blocks.
///
/// # Errors
/// The device has no such blocks or clusters.
pub(crate) fn allow(function: &Function<'_>, point: &Point) -> Result<()> {
    let handle = function.to_raw().cast();
    let (bytes, cluster) = (point.shape.shared, point.work.cluster());
    if bytes > MOST_SHARED_UNASKED {
        // SAFETY: the function is one of the driver's and alive.
        unsafe { ext::set_max_dynamic_shared_memory(handle, bytes) }.with_context(|| {
            format!("the device does not give a block {bytes} bytes of dynamic shared memory")
        })?;
    }
    if cluster > MOST_CLUSTER_UNASKED {
        let larger = ext::FunctionAttribute::NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
        // SAFETY: as above.
        unsafe { ext::set_function_attribute(handle, larger, 1) }
            .with_context(|| format!("the device has no clusters of {cluster} blocks"))?;
    }
    Ok(())
}

/// The fault of the variables in the module of `function` after these launches.
///
/// # Errors
/// The module has no such variable, or the driver fails.
pub(crate) fn wrong_symbol(point: &Point, function: &Function<'_>, launches: u64) -> Result<Option<String>> {
    for (name, after) in &point.symbols_after {
        let bytes = symbols::read(function, name)?;
        if let Some(findings) = after.check_in_parallel(0, launches, &bytes) {
            return Ok(Some(format!("variable {name}: {findings}")));
        }
    }
    Ok(None)
}

/// Launches of one point by one contender, counted, since what must come out depends on how often a kernel ran.
pub(crate) struct Calls<'a> {
    point: &'a Point,
    function: Option<&'a Function<'a>>,
    buffers: &'a Buffers,
    made: Cell<u64>,
}

impl Calls<'_> {
    /// The simulator's counters of the last launch. None stands for the launches of several cards.
    fn last_launch(&self) -> Option<Box<LaunchRecord>> {
        if matches!(self.point.work, Work::Cards(..)) { None } else { simulated::last_launch() }
    }

    fn once(&self, stream: &Stream) -> Result<()> {
        // SAFETY: the buffers are placed, this is the measurer's stream, and the parameters of the module's kernels were
        // compared with the program's when it was loaded.
        unsafe { self.point.work.queue(self.function, self.point.shape, stream, self.buffers) }
    }

    /// Queues what the point wants before each launch, and waits for it.
    fn prelude(&self, stream: &Stream) -> Result<()> {
        if let Some(before) = &self.point.before_each {
            before(stream, self.buffers)?;
            stream.synchronize().context("the device failed before the launch")?;
        }
        Ok(())
    }

    /// Queues some launches.
    fn queue(&self, launches: u32, stream: &Stream) -> Result<()> {
        for _ in 0..launches {
            self.once(stream)?;
        }
        self.made.set(self.made.get() + u64::from(launches));
        Ok(())
    }

    /// Records some launches without running them; `None` where the driver cannot record this work.
    fn record(&self, launches: u32, stream: &Stream) -> Result<Option<GraphExec>> {
        let queue = || -> Result<()> {
            for _ in 0..launches {
                self.once(stream)?;
            }
            Ok(())
        };
        // SAFETY: the stream lives, and so do the buffers for as long as the graph, which `measure` drops first.
        let recorded = unsafe { ext::capture(stream.as_inner(), ext::CaptureMode::ThreadLocal, queue) };
        match recorded.and_then(|graph| Ok(graph.instantiate()?)) {
            Ok(graph) => Ok(Some(graph)),
            Err(error) if cannot_record(&error) => Ok(None),
            Err(error) => Err(error.context("recording launches as a graph failed")),
        }
    }

    /// Queues a recorded graph of `launches` launches.
    fn launch_graph(&self, graph: &GraphExec, launches: u32, stream: &Stream) -> Result<()> {
        // SAFETY: the stream and the buffers live until the samples are taken.
        unsafe { graph.launch(stream.as_inner()) }.context("the driver refuses the graph")?;
        self.made.set(self.made.get() + u64::from(launches));
        Ok(())
    }
}

/// Whether an error says that graphs, or this work in one, are beyond the driver, rather than that something broke.
fn cannot_record(error: &anyhow::Error) -> bool {
    /// The driver's codes for what a capture does not allow.
    const CAPTURE_CODES: std::ops::RangeInclusive<i32> = 900..=908;
    let of_capture = error.downcast_ref::<ext::Error>().map(|error| error.code);
    of_capture.is_some_and(|code| code == Code::NOT_SUPPORTED || CAPTURE_CODES.contains(&code.0))
        || error.downcast_ref::<CudaError>() == Some(&CudaError::NotSupported)
}
