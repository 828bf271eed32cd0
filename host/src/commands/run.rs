//! `coalesce run` and `coalesce compare`: the whole way from options to records.

use super::{
    diff::Baseline,
    explain,
    plan::{self, Selection},
    report,
};
use crate::{
    cli::{Format, Options},
    device::{self, Backend, Gpu},
    experiments::{Point, Work},
    interrupt::{self, Interrupt},
    kernels::{self, Kernels},
    measure::{Effort, Measurement, Measurer, Times, ratio_range},
    memory::{self, Memory},
    mistakes::refused,
    output::{self, Output},
    progress,
    recording::Recorder,
    reference::Twins,
};
use ::report::{
    html::RunRecords,
    terminal::{self, layout::wrapped},
};
use anyhow::{Context, Result, anyhow, bail};
use cust::stream::{Stream, StreamFlags};
use indicatif::ProgressBar;
use record::{Ceiling, Language, Record};
use std::{io, path::Path, process::ExitCode};

/// Runs what the options name; with a folder of twins, beside them.
///
/// # Errors
/// Anything that ends a run early: each error says what, why and what to do.
pub(crate) fn run(options: &Options, reference: Option<&Path>) -> Result<ExitCode> {
    let baseline = options.baseline.as_deref().map(Baseline::load).transpose()?;
    let mut output = Output::open(options)?;
    let driver = device::bind(&options.device)?;
    let gpu = Gpu::open(&options.device, &driver)?;
    let backend = gpu.info.backend();
    if options.counters.is_some() && backend == Backend::Measured {
        return Err(refused(anyhow!(
            "--counters shows what the simulator counts, and {} is a GPU: `--device sim:h200` has counters; on a GPU \
             NVIDIA's `ncu` reads its own",
            gpu.info.selector(),
        )));
    }
    kernels::edited::compile(plan::kernels(&Selection::from(options)), &gpu.info, &driver)?;
    let kernels = Kernels::load(&gpu.info, &driver)?;
    let twins = reference.map(|folder| Twins::load(folder, &gpu.info, &driver)).transpose()?;

    let mut points = plan::points(&Selection::from(options), &gpu.info)?;
    if let Some(twins) = &twins {
        points = with_twins(points, twins)?;
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
    let stream = Stream::new(StreamFlags::DEFAULT, None).context("cannot create a stream")?;
    let interrupt = Interrupt::listen()?;
    let effort = match options.samples {
        _ if options.once => Effort::Once,
        Some(samples) => Effort::Samples(samples as usize),
        None => Effort::Usual,
    };
    let mut measurer = Measurer::new(stream, memory, effort, &gpu.info, interrupt)?;

    let progress = progress::bar(points.len() as u64 + 1);
    progress.set_message("the driver's own copy");
    let copy = match &ceiling {
        None => None,
        Some(ceiling) => match measurer.measure(ceiling, &[None])? {
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
    };
    progress.inc(1);
    let run = recorder.run();
    output.begin(run.clone());

    for point in &points {
        progress.set_message(progress::point(point));
        let records = match measure(&mut measurer, point, &recorder, twins.as_ref()) {
            Ok(Some(records)) => records,
            Ok(None) => return interrupted(&progress, &mut output, points.len()),
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
        progress.inc(1);
        if !output.wanted() {
            break;
        }
    }
    progress.finish_and_clear();
    output.finish()?;
    if let Some(twins) = twins.as_ref().filter(|_| output.wanted()) {
        let comparison = format!("{} The twins: {}.", terminal::comparison(output.records()), twins.origin());
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

/// The records of one point: its kernel, and its kernel's twin.
fn measure(
    measurer: &mut Measurer<'_>,
    point: &Point,
    recorder: &Recorder<'_>,
    twins: Option<&Twins>,
) -> Result<Option<Vec<Record>>> {
    if let Work::Driver(..) = point.work {
        let Some(measured) = measurer.measure(point, &[None])? else { return Ok(None) };
        return Ok(Some(vec![recorder.record(point, Language::Driver, &measured[0])]));
    }
    let function = recorder.kernels.function(point.kernel)?;
    let twin = match twins {
        Some(twins) => twins.of(point.kernel)?,
        None => None,
    };
    let contenders: Vec<_> = [Some(&function), twin.as_ref()].into_iter().flatten().map(Some).collect();
    let Some(measured) = measurer.measure(point, &contenders)? else { return Ok(None) };
    let languages = [Language::Rust, Language::CudaCpp];
    let mut records: Vec<Record> = languages
        .into_iter()
        .zip(&measured)
        .map(|(language, measurement)| recorder.record(point, language, measurement))
        .collect();
    if let [rust, cpp] = &mut records[..]
        && let (Some(rust_ms), Some(cpp_ms)) = (rust.time_ms, cpp.time_ms)
    {
        rust.ratio_to_reference = Some(rust_ms.median / cpp_ms.median);
        // What is modelled is the same each time.
        rust.ratio_range = match recorder.device.backend() {
            Backend::Measured => ratio_range(&measured[0].samples, &measured[1].samples),
            Backend::Modelled => None,
        };
    }
    Ok(Some(records))
}

/// The points whose kernel has a twin; says which have none.
fn with_twins(points: Vec<Point>, twins: &Twins) -> Result<Vec<Point>> {
    let mut without: Vec<&'static str> = Vec::new();
    let mut with = Vec::new();
    for point in points {
        if twins.of(point.kernel)?.is_some() {
            with.push(point);
        } else if matches!(point.work, Work::Kernel(_)) && !without.contains(&point.kernel) {
            without.push(point.kernel);
        }
    }
    if !without.is_empty() {
        eprintln!("note: without a CUDA C++ twin, so not compared: {}", without.join(", "));
    }
    if with.is_empty() {
        bail!(
            "none of the kernels has a CUDA C++ twin: a twin is a kernel with the same name in {}",
            twins.origin()
        );
    }
    Ok(with)
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
