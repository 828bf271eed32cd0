//! `coalesce explain`: a kernel line by line, from one launch on a simulated card, or the lesson of an experiment.

mod rows;

pub(crate) use rows::simulated;

use super::plan::{self, Selection};
use crate::{
    catalog::catalog,
    cli::ExplainOptions,
    device::{self, DeviceChoice, Driver, Gpu},
    experiments::{Point, Scale, Work},
    interrupt::{self, Interrupt},
    kernels::{self, Kernels, own},
    measure::{Contender, Effort, Measurer},
    memory::{self, Memory},
    output,
    recording::Recorder,
    simulated,
};
use anyhow::{Context, Result, anyhow, bail};
use cust::stream::{Stream, StreamFlags};
use record::{Language, Record};
use report::explain;
use std::{
    env,
    io::{self, Write},
    process::{Command, ExitCode},
};

/// Explains what the options name.
///
/// # Errors
/// The kernel cannot be simulated.
pub(crate) fn run(options: &ExplainOptions) -> Result<ExitCode> {
    let style = output::style(&io::stdout());
    if let Some(lesson) = catalog().lesson(&options.name) {
        write!(io::stdout().lock(), "{}", explain::experiment(lesson, catalog(), style))?;
        return Ok(ExitCode::SUCCESS);
    }
    let text = catalog().kernel(&options.name).with_context(|| {
        format!("the source of {} is not in gpu-kernels; build the program again", options.name)
    })?;
    if let Some(arch) = own::arch(text.name).filter(|_| !own::is_simulated(text.name)) {
        bail!(
            "{0} cannot be explained line by line: kernels for {arch} are not simulated. `cargo xtask ptx {0}` prints its PTX; its \
             lesson is at the head of {1}",
            text.name,
            text.file,
        );
    }
    options.device.single("explain")?;
    let card = match &options.device {
        DeviceChoice::Simulated(card) => card.clone(),
        choice => match device::bind_nvidia()? {
            // A process has one driver: if that is a GPU's, another process simulates.
            Ok(driver) => return elsewhere(&rows::alike(&Gpu::open(choice, &driver)?.info)?.key),
            Err(_) if *choice == DeviceChoice::Auto => {
                simulated::named(simulated::DEFAULT).map_err(|error| anyhow!(error))?
            }
            Err(error) => bail!("{error} Leave --device out, and a simulated card explains the kernel"),
        },
    };
    let driver = device::bind_simulated(&card, &[])?;
    let Some(row) = most_telling(options, &driver)? else {
        return Ok(ExitCode::from(interrupt::EXIT_STATUS));
    };
    let counted = row.counters.as_deref().with_context(|| match &row.note {
        Some(note) => format!("the launch of {} gave a wrong result: {note}", row.kernel),
        None => format!("the launch of {} has no counters", row.kernel),
    })?;
    write!(io::stdout().lock(), "{}", explain::kernel(text, &row, counted, options.ptx, style))?;
    Ok(ExitCode::SUCCESS)
}

/// The row of the kernel that tells most, at a usual size. `None` where the user interrupted.
fn most_telling(options: &ExplainOptions, driver: &Driver) -> Result<Option<Record>> {
    let gpu = Gpu::open(&DeviceChoice::Auto, driver)?;
    kernels::edited::compile(plan::kernels(&Selection::explained(options, Scale::Small)), &gpu.info, driver)?;
    let interrupt = Interrupt::listen()?;
    let points = |scale| {
        let mut points = plan::points_alone(&Selection::explained(options, scale), &gpu.info)?;
        points.retain(|point| point.kernel == options.name && matches!(point.work, Work::Kernel(_)));
        Ok::<_, anyhow::Error>(points)
    };
    let usual = points(Scale::Quick)?;
    // One launch needs no choice.
    let wanted = if let [_] = usual[..] {
        0
    } else {
        let Some(small) = launched(&points(Scale::Small)?, &gpu, driver, &interrupt)? else {
            return Ok(None);
        };
        let telling = explain::most_telling(&small);
        let alike = |row: &Record| {
            usual.iter().position(|point| {
                let (one, other) = (&point.parameters, &row.parameters);
                one.swept == other.swept && one.precision == other.precision && one.block == other.block
            })
        };
        telling.and_then(alike).unwrap_or(0)
    };
    let Some(point) = usual.get(wanted) else { bail!("{} has no launch with these options", options.name) };
    Ok(launched(std::slice::from_ref(point), &gpu, driver, &interrupt)?.and_then(|mut rows| rows.pop()))
}

/// The records of these points, each launched once. `None` where the user interrupted.
fn launched(
    points: &[Point],
    gpu: &Gpu,
    driver: &Driver,
    interrupt: &Interrupt,
) -> Result<Option<Vec<Record>>> {
    let kernels = Kernels::load(&gpu.info, driver)?;
    let (device, host) = (memory::needed(points), memory::needed_on_host(points));
    let memory = Memory::allocate(&device, host, kernels.module(), &gpu.info)?;
    let stream = Stream::new(StreamFlags::DEFAULT, None).context("cannot create a stream")?;
    let mut measurer = Measurer::new(stream, memory, Effort::Once, &gpu.info, interrupt.clone())?;
    let recorder = Recorder {
        device: &gpu.info,
        kernels: &kernels,
        copy: None,
        card: driver.card(),
        simulated: None,
        sensors: None,
    };
    let mut rows = Vec::new();
    for point in points {
        let function = kernels.function(point.kernel)?;
        let Some(measured) = measurer.measure(&[Contender { point, function: Some(&function) }])? else {
            return Ok(None);
        };
        rows.push(recorder.record(point, Language::Rust, &measured[0]));
    }
    Ok(Some(rows))
}

/// Explains the same in another process, on this simulated card.
fn elsewhere(card: &str) -> Result<ExitCode> {
    let program =
        env::current_exe().context("the program does not find itself, to simulate what it explains")?;
    let mut arguments = Vec::new();
    let mut given = env::args_os().skip(1);
    while let Some(argument) = given.next() {
        let text = argument.to_string_lossy();
        if text == "--device" {
            given.next();
        } else if !text.starts_with("--device=") {
            arguments.push(argument);
        }
    }
    let status = Command::new(program)
        .args(arguments)
        .args(["--device", &format!("sim:{card}")])
        .status()
        .context("the program cannot be started, to simulate what it explains")?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}
