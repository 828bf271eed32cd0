//! `coalesce explain`: a kernel line by line, by one of its launches on a simulated card, or the lesson of an experiment.

mod rows;

pub(crate) use rows::simulated;

use super::plan::{self, Selection};
use crate::{
    catalog::catalog,
    cli::ExplainOptions,
    device::{self, DeviceChoice, Driver, Gpu},
    experiments::{self, Point, Scale, Work},
    interrupt::{self, Interrupt},
    kernels,
    measure::{Effort, Measurer},
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
    collections::BTreeSet,
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
        format!("{} is the driver's own work, not a kernel: there is no source to explain", options.name)
    })?;
    let card = match &options.device {
        DeviceChoice::Simulated(card) => card.clone(),
        choice => match device::bind_nvidia()? {
            // A process has one driver: where it is a GPU's, it is another process that simulates.
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
        let mut points = plan::points(&Selection::explained(options, scale), &gpu.info)?;
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
    let (module, artefact) = kernels::load_embedded(&gpu.info, driver)?;
    let memory =
        Memory::allocate(&memory::needed(points), memory::needed_on_host(points), &module, &gpu.info)?;
    let stream = Stream::new(StreamFlags::DEFAULT, None).context("cannot create a stream")?;
    let mut measurer = Measurer::new(stream, memory, Effort::Once, &gpu.info, interrupt.clone())?;
    let recorder = Recorder { device: &gpu.info, artefact, copy: None, card: driver.card(), simulated: None };
    let mut rows = Vec::new();
    for point in points {
        let function = module.get_function(point.kernel).with_context(|| {
            format!("the embedded PTX has no kernel {}; build the program again", point.kernel)
        })?;
        let Some(measured) = measurer.measure(point, &[Some(&function)])? else { return Ok(None) };
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

/// What can be explained, by its name. The error has the names that are most like it.
pub(crate) fn named(name: &str) -> std::result::Result<String, String> {
    let experiments = experiments::ALL.iter().map(|experiment| experiment.name());
    let kernels = experiments::ALL.iter().flat_map(|experiment| experiment.names());
    let names: BTreeSet<&str> = experiments.chain(kernels).collect();
    if names.contains(name) {
        return Ok(name.to_string());
    }
    let alike = alike(name, &names);
    let hint = match &alike[..] {
        [] => String::new(),
        [one] => format!(" Did you mean {one}?"),
        [more @ .., last] => format!(" Did you mean {} or {last}?", more.join(", ")),
    };
    Err(format!("there is no kernel or experiment '{name}'.{hint} `coalesce list` shows them all"))
}

/// At most three names that are like a wrong one: those that differ in at most a third of their letters, and those that
/// contain it or are contained in it, nearest first.
fn alike<'n>(wrong: &str, names: &BTreeSet<&'n str>) -> Vec<&'n str> {
    let wrong = wrong.to_ascii_lowercase();
    let mut alike: Vec<(usize, &str)> = names
        .iter()
        .filter_map(|name| {
            let distance = strsim::osa_distance(&wrong, name);
            let near = 3 * distance <= wrong.chars().count().max(name.chars().count());
            let within = wrong.len() >= 3 && (name.contains(&wrong) || wrong.contains(name));
            (near || within).then_some((distance, *name))
        })
        .collect();
    alike.sort();
    alike.into_iter().map(|(_, name)| name).take(3).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_three_names_are_suggested() {
        let said = |name: &str| named(name).expect_err("a wrong name");
        assert_eq!(
            said("naive_rwo"),
            "there is no kernel or experiment 'naive_rwo'. Did you mean naive_row? `coalesce list` shows them all"
        );
        assert!(
            said("matmul_tiled").contains("Did you mean matmul_tiled_16, matmul_tiled_32 or "),
            "{}",
            said("matmul_tiled")
        );
        assert_eq!(
            said("potato"),
            "there is no kernel or experiment 'potato'. `coalesce list` shows them all"
        );
        assert_eq!(named("stride"), Ok("stride".to_string()));
        assert_eq!(named("copy_vector"), Ok("copy_vector".to_string()));
    }
}
