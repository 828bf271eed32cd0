//! Measures all points of a run on one device, and hands out their records as they come.

use super::{
    contest::Opponents,
    explain,
    plan::{self, Selection},
};
use crate::{
    cli::{Options, Reference},
    device::{Backend, DeviceInfo, Driver, Gpu},
    experiments::Point,
    interrupt::Interrupt,
    kernels::{self, Kernels},
    measure::{Contender, Effort, Measurement, Measurer, Times},
    memory::{self, Memory},
    mistakes::refused,
    progress,
    recording::{Recorder, Simulated},
    sensors::Sensors,
};
use anyhow::{Context, Result, anyhow, bail};
use cust::stream::{Stream, StreamFlags};
use record::{Ceiling, Record, Run};

/// What takes the records of a run.
pub(crate) trait Sink {
    /// Takes what the records to come have in common, and their device.
    ///
    /// # Errors
    /// Writing fails.
    fn begin(&mut self, run: &Run, gpu: &Gpu) -> Result<()>;

    /// Takes note of a pass that is about to begin, from 1.
    ///
    /// # Errors
    /// The pass cannot begin.
    fn pass(&mut self, _pass: u32) -> Result<()> {
        Ok(())
    }

    /// Takes a record.
    ///
    /// # Errors
    /// Writing fails.
    fn add(&mut self, record: Record) -> Result<()>;

    /// Whether anybody takes further records.
    fn wanted(&self) -> bool {
        true
    }
}

/// A run on one device.
pub(super) struct Session<'a> {
    pub(super) options: &'a Options,
    pub(super) reference: Reference<'a>,
    pub(super) driver: &'a Driver,
    /// How often all points are measured, one after the other.
    pub(super) passes: u32,
    /// Whether only the points of a health check are measured.
    pub(super) probe: bool,
}

/// The end of a run.
pub(super) enum Ended {
    /// All points were measured.
    Done(Box<Measured>),
    /// The user interrupted.
    Interrupted {
        /// The rows that were planned.
        planned: usize,
    },
}

/// What a run leaves beside its records.
pub(super) struct Measured {
    pub(super) run: Run,
    /// The simulator's rows of kernels that a GPU ran, if they were asked for.
    pub(super) simulated: Option<Simulated>,
    /// What kernels were compared with, as a sentence.
    pub(super) origin: Option<String>,
}

impl Session<'_> {
    /// Measures on the device with this number.
    ///
    /// # Errors
    /// Anything that ends a run early: each error says what, why and what to do.
    pub(super) fn measure(&self, ordinal: u32, sink: &mut impl Sink) -> Result<Ended> {
        let Session { options, reference, driver, .. } = *self;
        let gpu = Gpu::open_number(ordinal, driver)?;
        let backend = gpu.info.backend();
        refuse(options, reference, &gpu.info)?;
        let selection = if self.probe { Selection::probe(options) } else { Selection::from(options) };
        let selected = plan::kernels(&selection);
        kernels::edited::compile(selected.clone(), &gpu.info, driver)?;
        let kernels = Kernels::load(&gpu.info, driver)?;
        let stream = Stream::new(StreamFlags::DEFAULT, None).context("cannot create a stream")?;

        let planned = || -> Result<Vec<Point>> {
            if !self.probe {
                return plan::points(&selection, &gpu.info);
            }
            let mut points = plan::points_alone(&selection, &gpu.info)?;
            plan::keep_probes(&mut points, &gpu.info);
            Ok(points)
        };
        let (opponents, points) = Opponents::load(reference, &selected, planned, &gpu.info, driver, &stream)?;
        if let Some(point) =
            points.iter().find(|point| point.before_each.is_some()).filter(|_| options.sustained.is_some())
        {
            return Err(refused(anyhow!(
                "--sustained cannot keep the card busy with {}, each of whose launches is prepared while the card waits; name \
                 other experiments",
                point.experiment,
            )));
        }
        let explained = backend == Backend::Measured && !options.once && options.fleet.is_none();
        let simulated = if explained { explain::simulated(options, &points, &gpu.info)? } else { None };
        // Without times there is nothing to compare with the driver's copy.
        let ceiling = (!options.once)
            .then(|| Ok::<_, anyhow::Error>(plan::ceiling(&points, backend, memory::available(backend)?)));
        let ceiling = ceiling.transpose()?;
        let slots = memory::needed(points.iter().chain(&ceiling));
        let memory = Memory::allocate(&slots, memory::needed_on_host(&points), kernels.module(), &gpu.info)?;
        let interrupt = Interrupt::listen()?;
        let effort = match options.samples {
            _ if options.once => Effort::Once,
            Some(samples) => Effort::Samples(samples as usize),
            None => Effort::Usual,
        };
        let sensors =
            (backend == Backend::Measured && !options.once).then(|| Sensors::open(gpu.info.ordinal));
        let readable = sensors.as_ref().and_then(|sensors| sensors.as_ref().ok());
        let mut measurer = Measurer::new(stream, memory, effort, &gpu.info, interrupt)?.watch(readable);

        let planned = points.len() * self.passes as usize;
        let progress = progress::bar(planned as u64 + 1);
        let _cleared = Cleared(&progress);
        progress.set_message("the driver's own copy");
        let copy = match &ceiling {
            None => None,
            Some(ceiling) => match measurer.measure(&[Contender { point: ceiling, function: None }])? {
                Some(measured) => Some(copy_ceiling(ceiling, &measured[0])?),
                None => return Ok(Ended::Interrupted { planned }),
            },
        };
        let recorder = Recorder {
            device: &gpu.info,
            kernels: &kernels,
            copy,
            card: driver.card(),
            simulated: simulated.as_ref(),
            sensors: sensors.as_ref(),
        };
        progress.inc(1);
        let mut measurer = measurer.sustain(options.sustained).rest(options.rested);
        if let (Some(Err(reason)), true) = (&sensors, options.sustained.is_some()) {
            eprintln!("note: rows have no clocks, power or temperature: {reason}");
        }
        let run = recorder.run();
        sink.begin(&run, &gpu)?;

        let groups = opponents.groups(points);
        'passes: for pass in 1..=self.passes {
            sink.pass(pass)?;
            for group in &groups {
                progress.set_message(progress::points(group));
                let Some(records) = opponents.measure(group, &mut measurer, &recorder)? else {
                    return Ok(Ended::Interrupted { planned });
                };
                for record in records {
                    progress.suspend(|| sink.add(record))?;
                }
                progress.inc(group.len() as u64);
                if !sink.wanted() {
                    break 'passes;
                }
            }
        }
        let origin = opponents.origin();
        Ok(Ended::Done(Box::new(Measured { run, origin, simulated })))
    }
}

/// Clears a bar in the end, whichever end it is.
struct Cleared<'p>(&'p indicatif::ProgressBar);

impl Drop for Cleared<'_> {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Refuses options that mean nothing on the device.
fn refuse(options: &Options, reference: Reference<'_>, device: &DeviceInfo) -> Result<()> {
    let backend = device.backend();
    if options.counters.is_some() && backend == Backend::Measured {
        return Err(refused(anyhow!(
            "--counters shows what the simulator counts, and {} is a GPU: `--device sim:h200` has counters; on a GPU \
             NVIDIA's `ncu` reads its own",
            device.selector(),
        )));
    }
    if let (Reference::Libraries(_), Backend::Modelled) = (reference, backend) {
        return Err(refused(anyhow!(
            "--library runs NVIDIA's own machine code, and {} is simulated, which runs PTX alone: compare on a GPU",
            device.selector(),
        )));
    }
    if options.rested && backend == Backend::Modelled {
        return Err(refused(anyhow!(
            "--rested lets a card's power and heat settle, and {} is simulated, without either: measure on a GPU, or leave \
             --rested out",
            device.selector(),
        )));
    }
    if options.sustained.is_some() && backend == Backend::Modelled {
        return Err(refused(anyhow!(
            "--sustained asks how a card fares at its power limit, and {} is simulated, without power or heat: measure on \
             a GPU, or leave --sustained out",
            device.selector(),
        )));
    }
    Ok(())
}

fn copy_ceiling(point: &Point, measured: &Measurement) -> Result<Ceiling> {
    if let Some(fault) = &measured.fault {
        bail!(
            "the driver's own copy came out wrong ({fault}), so nothing that this device computes can be trusted. Check \
             it with `nvidia-smi -q -d ECC` and `dmesg`"
        );
    }
    let times = measured.times().context("the driver's own copy was not timed")?;
    let moved = point.bytes.read + point.bytes.written;
    Ok(Ceiling { gb_per_s: Times::gb_per_s(moved, times.median), bytes: point.bytes.read })
}
