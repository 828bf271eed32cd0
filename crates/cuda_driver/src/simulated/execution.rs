//! Executes a launch: runs the kernel, models its time from its counters, and reports its findings.

use std::io::Write;
use std::sync::Arc;

use simt::cards::Card;
use simt::check::{self, Place};
use simt::coalescing::BankMode;
use simt::count::{self, CounterObservation, L2State, LaunchShape, Modelled};
use simt::exec::{Kernel, LaunchFailure};
use simt::fault::{Fault, FaultKind};
use simt::model::LaunchTime;
use simt::multiprocessor::Simulated;
use simt::observe::Site;

use super::codes::{
    ASSERT, HARDWARE_STACK_ERROR, ILLEGAL_ADDRESS, ILLEGAL_INSTRUCTION, LAUNCH_FAILED,
    LAUNCH_OUT_OF_RESOURCES, LAUNCH_TIMEOUT, MISALIGNED_ADDRESS, Outcome,
};
use super::driver::{Device, Driver};
use super::launches::{Launch, refusal};
use super::modules::Loaded;
use super::records::{self, LaunchRecord};
use super::registry::Handle;
use super::side_by_side::{self, Part};
use super::timeline::{Occupied, Work};
use super::{findings, functions, residence};
use crate::Code;

/// The state that each launch of a device leaves to the next.
pub(super) struct Execution {
    /// The state of its L2.
    pub l2: L2State,
    /// The last launch of which a multiprocessor was simulated.
    last: Option<Last>,
}

/// A launch and the outcome of its simulation.
struct Last {
    loaded: Arc<Loaded>,
    name: String,
    grid: [u32; 3],
    block: [u32; 3],
    formula: LaunchTime,
    simulated: Option<Simulated>,
}

impl Execution {
    /// The state of a device that has executed nothing.
    pub(super) fn new(card: &Card) -> Execution {
        Execution { l2: L2State::new(card.clone()), last: None }
    }

    /// Simulates a launch, or returns the outcome of the launch before it where both are alike: the same kernel, and by the formula the
    /// same time of each level, as in a row of launches on parts of the data.
    fn simulated(
        &mut self,
        launch: &Launch,
        formula: LaunchTime,
        simulate: impl FnOnce() -> Option<Simulated>,
    ) -> Option<Simulated> {
        let is_alike = |last: &&Last| {
            Arc::ptr_eq(&last.loaded, &launch.loaded)
                && (last.name.as_str(), last.grid, last.block) == (launch.name(), launch.grid, launch.block)
                && last.formula == formula
        };
        if let Some(last) = self.last.as_ref().filter(is_alike) {
            return last.simulated;
        }
        let simulated = simulate();
        self.last = Some(Last {
            loaded: launch.loaded.clone(),
            name: launch.name().to_string(),
            grid: launch.grid,
            block: launch.block,
            formula,
            simulated,
        });
        simulated
    }
}

/// Executes a launch at once. `Err` if it was refused; a fault is not a refusal, but breaks the context.
pub(super) fn execute(
    launch: &Launch,
    driver: &'static Driver,
    device: &'static Device,
    context: Handle,
) -> Outcome<Work> {
    let kernel = launch.kernel()?;
    let threads = launch.block.iter().product();
    let occupancy = functions::occupancy(kernel, device, threads, launch.dynamic_shared_bytes);
    let occupancy = occupancy.ok_or(LAUNCH_OUT_OF_RESOURCES)?;
    let program = &launch.loaded.program;

    // One launch at a time: the device has one L2, and the host's cores are shared.
    let mut execution = device.execution();
    let ranges = residence::ranges(driver, device);
    let shared_bytes = kernel.static_shared_bytes + launch.dynamic_shared_bytes;
    let shape = LaunchShape {
        shared_bytes,
        bank_mode: bank_mode(driver, launch.function, context),
        ranges: ranges.clone(),
        records: (driver.simulates || driver.keeps_traces)
            && is_alone(launch, kernel)
            && !program.waits_for_blocks(kernel),
        ..LaunchShape::new(launch.grid, launch.block, occupancy, launch.loaded.facts())
    };
    let held = std::mem::replace(&mut execution.l2, L2State::new(device.card.clone()));
    let mut counters = CounterObservation::new(shape, held);
    let machine = launch.machine(device, occupancy.blocks);
    let asked = launch.request(kernel, machine, driver);
    let (outcome, found) = match driver.checks {
        Some(checks) => {
            let place = |site| place(&launch.loaded, site);
            let watch = check::Watch { checks, kernel: launch.name(), place: &place };
            check::launch(program, &device.memory, &asked, &mut counters, &watch)
        }
        None => (count::launch(program, &device.memory, &asked, &mut counters), Vec::new()),
    };
    let mut finished = counters.finish();
    execution.l2 = finished.l2;
    let simulated = if outcome.is_ok() && driver.simulates {
        let (sites, counters) = (program.sites(), &finished.counters);
        execution.simulated(launch, counters.time(&device.card), || {
            finished.traces.simulated(sites, counters, shared_bytes, &device.card)
        })
    } else {
        None
    };
    drop(execution);
    finished.counters.sampled_loads = simulated.map(|simulated| simulated.loads).unwrap_or_default();
    let formula = finished.counters.time(&device.card);
    let simulated = simulated.map(|simulated| simulated.time.seconds);
    findings::of_launch(driver, found);
    match outcome {
        Ok(executed) => {
            print(&executed.printed);
            let counters = finished.counters;
            let link_seconds = records::link_seconds(&counters.link, &device.card);
            let (migration, first_touch) = residence::migrate(driver, device, &ranges, &finished.managed);
            let mut time = formula.and_simulated(simulated);
            time.launch += first_touch;
            time.seconds += first_touch;
            let seconds = records::seconds(&time, link_seconds) + migration.seconds;
            let blocks = launch.grid.iter().map(|&blocks| u64::from(blocks)).product();
            // What the host link or its pages slow down is not known to leave anything to others.
            let part = match link_seconds + migration.seconds {
                0.0 => side_by_side::part(&time, blocks, occupancy.blocks, &device.card),
                _ => Part { starting: time.launch, ..Part::WHOLE },
            };
            let record = LaunchRecord {
                device: device.ordinal,
                kernel: launch.name().to_string(),
                grid: launch.grid,
                block: launch.block,
                static_shared_bytes: kernel.static_shared_bytes,
                dynamic_shared_bytes: launch.dynamic_shared_bytes,
                warp_instructions: executed.warp_instructions,
                thread_instructions: executed.thread_instructions,
                counters,
                occupancy,
                seconds,
                time,
                estimates: simulated.map(|simulated| [formula.seconds, simulated]),
                link_seconds,
                migration,
                loaded: launch.loaded.clone(),
                traces: driver.keeps_traces.then(|| finished.traces.into()),
            };
            if let Some(profile) = &driver.profile {
                profile.add(&record, &device.card);
            }
            records::add(record);
            Ok(Work { occupies: Occupied::Multiprocessors(part), seconds })
        }
        Err(LaunchFailure::Fault { fault, printed }) => {
            print(&printed);
            fail(launch, driver, context, &fault);
            Ok(Work::NOTHING)
        }
        Err(failure) => {
            super::say(format_args!("the launch of {} was refused: {failure}", launch.name()));
            Err(refusal(&failure))
        }
    }
}

/// Returns true if no two blocks are a cluster.
fn is_alone(launch: &Launch, kernel: &Kernel) -> bool {
    launch.cluster.or(kernel.required_cluster).is_none()
}

/// Returns the place of an instruction.
fn place(loaded: &Loaded, site: Site) -> Place {
    let info = loaded.program.sites().get(site.0 as usize);
    let known = info.and_then(|info| loaded.positions().at_line(info.line)).cloned();
    known.unwrap_or_else(|| Place {
        function: info.map_or_else(String::new, |info| info.function.to_string()),
        ptx_line: info.map_or(0, |info| info.line),
        instruction: info.map_or_else(String::new, |info| info.opcode.to_string()),
        source: Vec::new(),
        leads_there: None,
    })
}

/// Returns the bank width that the program has set for the kernel or the context.
fn bank_mode(driver: &Driver, function: Handle, context: Handle) -> BankMode {
    let state = driver.state();
    let of_function = state.functions.get(function).map_or(0, |function| function.banks);
    let of_context = state.contexts.get(context).map_or(0, |context| context.banks);
    let chosen = if of_function == 0 { of_context } else { of_function };
    if chosen == 2 { BankMode::EightBytes } else { BankMode::FourBytes }
}

fn print(printed: &[u8]) {
    if !printed.is_empty() {
        // A closed stdout is the program's concern, not the kernel's.
        let _ = std::io::stdout().lock().write_all(printed);
    }
}

/// Returns the code that a real driver gives for such a fault.
fn code(fault: &FaultKind) -> Code {
    match fault {
        FaultKind::OutOfBounds { .. } | FaultKind::ReadOnly { .. } => ILLEGAL_ADDRESS,
        FaultKind::Misaligned { .. } => MISALIGNED_ADDRESS,
        FaultKind::AssertFailed => ASSERT,
        FaultKind::StackOverflow { .. } => HARDWARE_STACK_ERROR,
        FaultKind::Illegal(_) => ILLEGAL_INSTRUCTION,
        FaultKind::Deadlock { .. } | FaultKind::Endless { .. } => LAUNCH_TIMEOUT,
        FaultKind::Trap | FaultKind::Breakpoint => LAUNCH_FAILED,
    }
}

/// Reports a kernel's fault once; the context returns its code from now on.
fn fail(launch: &Launch, driver: &Driver, context: Handle, fault: &Fault) {
    let code = code(&fault.kind);
    if let Ok(context) = driver.state().contexts.get_mut(context) {
        context.broken = Some(code);
    }
    findings::of_fault(driver, fault, launch.name(), place(&launch.loaded, fault.site), code);
}
