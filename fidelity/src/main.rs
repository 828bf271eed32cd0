//! Judges the time model by kernels of other people's kinds.
//!
//! `fidelity --out FILE` runs all cases on a GPU or on a simulated card, verifies each, and writes a line of JSON per case.
//! `fidelity judge MEASURED SIMULATED` compares two such files. Some kernels are never looked at while the model
//! is changed; [`Group`] says which.

#![allow(clippy::needless_range_loop, reason = "references read as the kernels do, by index")]

mod case;
mod cases;
mod data;
mod fit;
mod judge;
mod measure;
mod page;
mod row;

use anyhow::{Context, Result, bail};
use case::Case;
use cases::{Group, Plan};
use clap::{Args, Parser, Subcommand};
use cuda_driver::simulated::{self, LaunchRecord, Settings};
use cust::{
    CudaFlags,
    context::Context as CudaContext,
    device::{Device, DeviceAttribute},
    module::Module,
    stream::{Stream, StreamFlags},
};
use record::{Backend, Method, Residence};
use row::{Row, Writer};
use simt::{
    cards::{self, Card},
    model::Unknown,
};
use std::{path::PathBuf, process::ExitCode, thread, time::Instant};

/// All kernels of `fidelity/kernels`, for compute capability 9.0.
const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"));

#[derive(Parser)]
#[command(about = "Measures and simulates kernels that the time model was not made for")]
struct Options {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: Run,
}

#[derive(Subcommand)]
enum Command {
    /// Compares measured with simulated rows
    Judge(judge::Options),
    /// Fits constants of the time model to measured rows
    Fit(fit::Options),
}

#[derive(Args)]
struct Run {
    /// Where the cases run: cuda, sim:h200 or another simulated card, or auto for a GPU if there is one
    #[arg(long, default_value = "auto")]
    device: String,
    /// The file that receives a line of JSON per case
    #[arg(long)]
    out: Option<PathBuf>,
    /// Only kernels whose name contains this
    #[arg(long)]
    only: Option<String>,
    /// Only the kernels of one group
    #[arg(long)]
    set: Option<Group>,
    /// Launches each case of a GPU once, and once more where L2 keeps data of the first, as a simulated card does: for a profiler
    #[arg(long)]
    once: bool,
    /// Names the cases, and runs nothing
    #[arg(long)]
    list: bool,
}

fn main() -> Result<ExitCode> {
    let options = Options::parse();
    match options.command {
        Some(Command::Judge(options)) => judge::judge(&options).map(|()| ExitCode::SUCCESS),
        Some(Command::Fit(options)) => fit::fit(&options).map(|()| ExitCode::SUCCESS),
        None => run(&options.run),
    }
}

/// Binds the driver; returns the card that is simulated, if one is.
fn bind(device: &str) -> Result<Option<Card>> {
    let card = match device {
        "cuda" => None,
        "auto" if cuda_driver::bind_nvidia().is_ok() => {
            cust::init(CudaFlags::empty())?;
            return Ok(None);
        }
        "auto" => Some("h200"),
        _ => match device.strip_prefix("sim:") {
            Some(key) => Some(key),
            None => {
                bail!("there is no device '{device}'; write auto, cuda, or sim: and a card, as in sim:h200")
            }
        },
    };
    let card = card.map(cards::find).transpose()?;
    match &card {
        Some(card) => {
            let settings = Settings { cards: vec![card.clone()], simulates: true, ..Settings::default() };
            simulated::bind_simulated(settings)?;
        }
        None => {
            cuda_driver::bind_nvidia()?;
        }
    }
    cust::init(CudaFlags::empty())?;
    Ok(card)
}

/// Simulates these cases once on a card, and hands over each launch with what its warps did.
fn simulate(card: &str, plans: Vec<Plan>, mut keep: impl FnMut(&Plan, LaunchRecord)) -> Result<()> {
    let cards = vec![cards::find(card)?];
    simulated::bind_simulated(Settings { cards, keeps_traces: true, ..Settings::default() })?;
    cust::init(CudaFlags::empty())?;
    let device = Device::get_device(0).context("there is no device")?;
    let _context = CudaContext::new(device)?;
    let module = Module::from_ptx(PTX, &[]).context("the kernels do not load")?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let l2_bytes = device.get_attribute(DeviceAttribute::L2CacheSize)? as u64;
    for plans in plans.chunks(workers()) {
        for (plan, case) in plans.iter().zip(built(plans)) {
            let residence = Residence::of(case.footprint(), l2_bytes);
            let function = module.get_function(plan.kernel)?;
            measure::run(&case, &function, &stream, Some(Method::Modelled), residence)?;
            let launch = simulated::last_launch().context("the simulated driver kept no launch")?;
            simulated::forget();
            keep(plan, launch);
        }
    }
    Ok(())
}

/// Most cases that are built at a time: each takes up to half a GiB.
const MOST_BUILDERS: usize = 8;

/// Cases that are built at a time.
fn workers() -> usize {
    thread::available_parallelism().map_or(1, usize::from).min(MOST_BUILDERS)
}

/// Builds the data and the expected results of these cases, each on a thread of its own.
fn built(plans: &[Plan]) -> Vec<Case> {
    thread::scope(|scope| {
        let builders: Vec<_> = plans.iter().map(|plan| scope.spawn(|| (plan.build)())).collect();
        let join =
            |builder: thread::ScopedJoinHandle<'_, Case>| builder.join().expect("a case can be computed");
        builders.into_iter().map(join).collect()
    })
}

fn run(options: &Run) -> Result<ExitCode> {
    let chosen = |plan: &Plan| {
        options.only.as_ref().is_none_or(|part| plan.kernel.contains(part.as_str()))
            && options.set.is_none_or(|set| plan.group == set)
    };
    let plans: Vec<_> = cases::all().into_iter().filter(chosen).collect();
    if options.list {
        for plan in &plans {
            println!("{:6}  {:10}  {} {}", plan.group, plan.category, plan.kernel, plan.parameters);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let card = bind(&options.device)?;
    let device = Device::get_device(0).context("there is no device")?;
    let _context = CudaContext::new(device)?;
    let module = Module::from_ptx(PTX, &[]).context("the kernels do not load")?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let backend = if card.is_some() { Backend::Modelled } else { Backend::Measured };
    let l2_bytes = device.get_attribute(DeviceAttribute::L2CacheSize)? as u64;
    let single = match backend {
        Backend::Modelled => Some(Method::Modelled),
        Backend::Measured => options.once.then_some(Method::Once),
    };
    let mut writer = options.out.as_deref().map(Writer::new).transpose()?;
    let mut wrong = 0;
    let cases = plans.chunks(workers()).flat_map(|plans| plans.iter().zip(built(plans)));
    for (plan, case) in cases {
        let begun = Instant::now();
        let footprint = case.footprint();
        let residence = Residence::of(footprint, l2_bytes);
        let run = || -> Result<measure::Outcome> {
            let function = module.get_function(plan.kernel)?;
            measure::run(&case, &function, &stream, single, residence)
        };
        let outcome = run().with_context(|| format!("{} {}", plan.kernel, plan.parameters))?;
        let launch = card.as_ref().zip(simulated::last_launch());
        let counted = |(card, launch): &(&Card, LaunchRecord)| Box::new(row::counted(launch, card));
        let counted = launch.as_ref().map(counted);
        let unknown = launch
            .and_then(|(card, launch)| Unknown::of(&launch.counters, launch.sites(), &launch.time, card));
        let unknown = unknown.map(|unknown| unknown.to_string());
        simulated::forget();
        wrong += u32::from(outcome.fault.is_some());
        let verdict = outcome.fault.as_deref().map_or(String::new(), |fault| format!("  INVALID: {fault}"));
        // Times of the unseen kernels are for `judge` alone.
        let time = if plan.group.is_open() {
            format!("{:10.2} us", outcome.times.median * 1e3)
        } else {
            "    unseen   ".to_owned()
        };
        println!(
            "{:20} {:36} {time}  ({:.1} s){verdict}",
            plan.kernel,
            plan.parameters,
            begun.elapsed().as_secs_f64()
        );
        if let Some(writer) = &mut writer {
            writer.add(&Row {
                kernel: plan.kernel.to_owned(),
                set: plan.group,
                category: plan.category.to_owned(),
                parameters: plan.parameters.clone(),
                device: device.name()?,
                backend,
                footprint,
                residence,
                times: outcome.times,
                method: outcome.method,
                launches_per_sample: outcome.launches_per_sample,
                fault: outcome.fault,
                unknown,
                counted,
            })?;
        }
    }
    if wrong > 0 {
        eprintln!("{wrong} cases are wrong");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}
