//! `coalesce run` and `coalesce compare`: the whole way from options to records.

use super::{
    contest::Opponents,
    diff::Baseline,
    explain,
    plan::{self, Selection},
    report,
};
use crate::{
    cli::{Format, Options, Reference},
    device::{self, Backend, DeviceInfo, Gpu},
    experiments::Point,
    interrupt::{self, Interrupt},
    kernels::{self, Kernels},
    measure::{Contender, Effort, Measurement, Measurer, Times},
    memory::{self, Memory},
    mistakes::refused,
    output::{self, Output},
    progress,
    recording::Recorder,
    sensors::Sensors,
};
use ::report::{
    html::RunRecords,
    terminal::{self, layout::wrapped},
};
use anyhow::{Context, Result, anyhow, bail};
use cust::stream::{Stream, StreamFlags};
use indicatif::ProgressBar;
use record::Ceiling;
use std::{io, process::ExitCode};

/// Runs what the options name, beside what they are to be compared with.
///
/// # Errors
/// Anything that ends a run early: each error says what, why and what to do.
pub(crate) fn run(options: &Options, reference: Reference<'_>) -> Result<ExitCode> {
    let baseline = options.baseline.as_deref().map(Baseline::load).transpose()?;
    let mut output = Output::open(options)?;
    let driver = device::bind(&options.device)?;
    let gpu = Gpu::open(&options.device, &driver)?;
    let backend = gpu.info.backend();
    refuse(options, reference, &gpu.info)?;
    let selected = plan::kernels(&Selection::from(options));
    kernels::edited::compile(selected.clone(), &gpu.info, &driver)?;
    let kernels = Kernels::load(&gpu.info, &driver)?;
    let stream = Stream::new(StreamFlags::DEFAULT, None).context("cannot create a stream")?;

    let planned = || plan::points(&Selection::from(options), &gpu.info);
    let (opponents, points) = Opponents::load(reference, &selected, planned, &gpu.info, &driver, &stream)?;
    if let Some(point) =
        points.iter().find(|point| point.before_each.is_some()).filter(|_| options.sustained.is_some())
    {
        return Err(refused(anyhow!(
            "--sustained cannot keep the card busy with {}, each of whose launches is prepared while the card waits; name \
             other experiments",
            point.experiment,
        )));
    }
    let simulated = if backend == Backend::Measured && !options.once {
        explain::simulated(options, &points, &gpu.info)?
    } else {
        None
    };
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
    let sensors = (backend == Backend::Measured && !options.once).then(|| Sensors::open(gpu.info.ordinal));
    let readable = sensors.as_ref().and_then(|sensors| sensors.as_ref().ok());
    let mut measurer = Measurer::new(stream, memory, effort, &gpu.info, interrupt)?.watch(readable);

    let progress = progress::bar(points.len() as u64 + 1);
    progress.set_message("the driver's own copy");
    let copy = match &ceiling {
        None => None,
        Some(ceiling) => match measurer.measure(&[Contender { point: ceiling, function: None }])? {
            Some(measured) => Some(copy_ceiling(ceiling, &measured[0])?),
            None => return interrupted(&progress, &mut output, points.len()),
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
    output.begin(run.clone());

    let planned = points.len();
    for group in opponents.groups(points) {
        progress.set_message(progress::points(&group));
        let records = match opponents.measure(&group, &mut measurer, &recorder) {
            Ok(Some(records)) => records,
            Ok(None) => return interrupted(&progress, &mut output, planned),
            Err(error) => {
                // Rows measured before the failure are shown; the failure decides the exit status.
                progress.finish_and_clear();
                if !output.records().is_empty()
                    && let Err(unwritten) = output.finish()
                {
                    eprintln!("note: {unwritten:#}");
                }
                return Err(error);
            }
        };
        for record in records {
            progress.suspend(|| output.add(record))?;
        }
        progress.inc(group.len() as u64);
        if !output.wanted() {
            break;
        }
    }
    progress.finish_and_clear();
    output.finish()?;
    if let Some(origin) = opponents.origin().filter(|_| output.wanted()) {
        let comparison = format!("{} {origin}", terminal::comparison(output.records()));
        eprintln!("{}", wrapped(&comparison, output::style(&io::stderr()).width));
    }

    // Rows without times make no pictures and no summary, and programs that read records look at neither.
    if output.wanted() && !options.once && (options.out.is_some() || options.format == Format::Table) {
        let simulated = simulated.as_ref().map(|simulated| simulated.rows.clone()).unwrap_or_default();
        if let Some(folder) = options.out.as_deref().filter(|_| !simulated.is_empty()) {
            report::keep_simulated(&simulated, folder)?;
        }
        let page = report::place(options.out.as_deref());
        let records = output.records().to_vec();
        report::write(vec![RunRecords { run: run.clone(), records, simulated }], &page)?;
        if options.format == Format::Table {
            eprint!("{}", output.summary(&page));
        }
        if options.open {
            report::open(&page)?;
        }
    }
    let slower = match &baseline {
        Some(baseline) => baseline.compare(&run, output.records(), options)?,
        None => ExitCode::SUCCESS,
    };
    let invalid = output.records().iter().filter(|record| !record.verified).count();
    if invalid > 0 {
        eprintln!(
            "error: {invalid} of {} rows are INVALID: the result in memory was wrong",
            output.records().len()
        );
        return Ok(ExitCode::FAILURE);
    }
    Ok(slower)
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

/// Ends an interrupted run: what was measured is kept and shown.
fn interrupted(progress: &ProgressBar, output: &mut Output, planned: usize) -> Result<ExitCode> {
    progress.finish_and_clear();
    let planned = format!("{planned} planned point{}", if planned == 1 { "" } else { "s" });
    match output.records().len() {
        0 => eprintln!("interrupted before there was a record of the {planned}"),
        kept => {
            output.finish()?;
            let are = if kept == 1 { "record was" } else { "records were" };
            eprintln!("interrupted: {kept} {are} taken of {planned}, and kept");
        }
    }
    Ok(ExitCode::from(interrupt::EXIT_STATUS))
}
