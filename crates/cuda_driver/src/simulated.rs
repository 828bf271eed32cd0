//! A CUDA driver without a GPU: `cu*` entry points over [`simt`].
//!
//! [`simt`] executes PTX on the host's cores, counts its memory transactions, and models the time that a card would
//! take. [`bind_simulated`] binds this driver to the process's `cu*` functions. The program then runs as on a GPU:
//! contexts, modules, memory, launches, streams, events. The differences are:
//!
//! * **Execution.** A call executes its work at once, on the calling thread and one more per further core, or on the calling thread alone
//!   where the kernel's last launch was short. Waiting returns at once.
//! * **Time.** Time is virtual: events carry the model's time, each stream has a clock, and the host's work takes none.
//!   Each of several launches in a row costs what a single one costs. Copies overlap with kernels, and kernels of several
//!   streams run side by side as far as there is room.
//! * **Code.** A module or a library is PTX text of any `.target`, plain or in a fat binary; machine code is refused.
//! * **Memory.** Each device has its own memory, and accesses another's where the program enables that. All devices access pinned,
//!   registered and managed memory.
//! * **Not simulated.** Textures and arrays, tensor maps of convolutions, virtual memory management, and sharing between processes: the
//!   device's attributes say so, and the calls return `CUDA_ERROR_NOT_SUPPORTED` and name themselves once on stderr.
//! * **Faults.** When a kernel faults, stderr says what, where and in which thread. As on a GPU, the context returns
//!   the error to every later call. Other contexts, and a primary context after its reset, stay usable; on a GPU the
//!   process is lost.
//!
//! [`take_launches`] and [`findings`] return what no call of the driver API does: the counters of each launch, and the
//! findings of the checks.

#[macro_use]
mod entry;

mod allocations;
mod attributes;
mod batches;
mod capture;
mod codes;
mod contexts;
mod copies;
mod copy_shapes;
mod destroy;
mod devices;
mod driver;
mod errors;
mod events;
mod execution;
mod fat;
mod fills;
mod findings;
mod fork;
mod functions;
mod graph_edits;
mod graph_nodes;
mod graph_params;
mod graphs;
mod images;
mod in_place;
mod launches;
mod libraries;
mod link;
mod linking;
mod managed;
mod modules;
mod objects;
mod operations;
mod paging;
mod peers;
mod pointers;
mod pools;
mod primaries;
mod proc_address;
mod profile;
mod records;
mod registry;
mod residence;
mod settings;
mod side_by_side;
mod streams;
mod tensor_maps;
mod timeline;
mod user_objects;
mod versions;
mod visible;

pub use destroy::finish;
pub use findings::{findings, report};
pub use in_place::{read_in_place, write_in_place};
pub use records::{LaunchRecord, REMEMBERED_LAUNCHES, forget, forget_launches, last_launch, take_launches};
pub use residence::{Migration, Residence, limit_managed_memory, residence};
pub(crate) use settings::is_asked_for;
pub use settings::{
    CARDS_VARIABLE, CHECKS_VARIABLE, DEFAULT_CARD, DEFAULT_TIMEOUT, PROFILE_VARIABLE, Settings, Simulated,
    SimulatedError, TIMEOUT_VARIABLE, cards_named,
};

/// Returns what compiles long-running kernels to machine code, or why all kernels are interpreted.
#[doc(inline)]
pub use simt::exec::compiler;

use std::collections::HashSet;
use std::ffi::c_void;
use std::fmt;
use std::io::Write;
use std::ptr::NonNull;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::TableError;

/// Suffixes of functions whose default stream is the calling thread's: of those that wait, and of those that take a
/// stream.
const PER_THREAD_SUFFIXES: [&str; 2] = ["_ptds", "_ptsz"];

/// Returns the function whose per-thread form a name refers to.
fn per_thread_base(name: &str) -> Option<&str> {
    PER_THREAD_SUFFIXES.iter().find_map(|suffix| name.strip_suffix(suffix))
}

/// A module's search for an entry point, and for its per-thread form.
type Finders = (fn(&str) -> Option<*const ()>, fn(&str) -> Option<*const ()>);

/// Returns the address of the simulated driver's function of this name.
fn find(name: &str) -> Option<*const ()> {
    let modules: [Finders; 26] = [
        (errors::find, errors::find_per_thread),
        (devices::find, devices::find_per_thread),
        (contexts::find, contexts::find_per_thread),
        (primaries::find, primaries::find_per_thread),
        (peers::find, peers::find_per_thread),
        (modules::find, modules::find_per_thread),
        (libraries::find, libraries::find_per_thread),
        (link::find, link::find_per_thread),
        (functions::find, functions::find_per_thread),
        (launches::find, launches::find_per_thread),
        (allocations::find, allocations::find_per_thread),
        (copies::find, copies::find_per_thread),
        (batches::find, batches::find_per_thread),
        (fills::find, fills::find_per_thread),
        (managed::find, managed::find_per_thread),
        (pointers::find, pointers::find_per_thread),
        (pools::find, pools::find_per_thread),
        (streams::find, streams::find_per_thread),
        (events::find, events::find_per_thread),
        (graphs::find, graphs::find_per_thread),
        (graph_nodes::find, graph_nodes::find_per_thread),
        (graph_edits::find, graph_edits::find_per_thread),
        (graph_params::find, graph_params::find_per_thread),
        (user_objects::find, user_objects::find_per_thread),
        (tensor_maps::find, tensor_maps::find_per_thread),
        (proc_address::find, proc_address::find_per_thread),
    ];
    match per_thread_base(name) {
        Some(base) => modules.iter().find_map(|(_, find_per_thread)| find_per_thread(base)),
        None => modules.iter().find_map(|(find, _)| find(name)),
    }
}

fn bind() -> Result<(), TableError> {
    let resolve = |name: &str| NonNull::new(find(name)?.cast_mut().cast::<c_void>());
    // SAFETY: each function has the driver API's signature for its name, and is part of this program.
    unsafe { crate::bind(&resolve, "the simulated driver") }.map(drop)
}

static SIMULATED: OnceLock<Simulated> = OnceLock::new();

/// Binds every `cu*` function of this process to the simulated driver.
///
/// A second call returns what the first one bound, whatever its settings.
///
/// # Errors
///
/// [`SimulatedError`]: an impossible card, too little address space, or another driver is bound.
pub fn bind_simulated(settings: Settings) -> Result<Simulated, SimulatedError> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one_at_a_time = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(simulated) = SIMULATED.get() {
        return Ok(simulated.clone());
    }
    driver::start(&settings, None)?;
    bind()?;
    let cards = driver::driver().map_or_else(
        |_| Vec::new(),
        |driver| driver.devices.iter().map(|device| device.card.clone()).collect(),
    );
    Ok(SIMULATED.get_or_init(|| Simulated { cards, driver_version: driver::DRIVER_VERSION }).clone())
}

/// Binds the simulated driver if [`CARDS_VARIABLE`] asks for it, with the cards and checks that the environment names.
/// For tests and programs that otherwise bind NVIDIA's. `None` if the variable is not set, and then nothing is bound.
///
/// # Errors
///
/// As of [`bind_simulated`] and [`Settings::from_environment`].
pub fn bind_if_asked() -> Result<Option<Simulated>, SimulatedError> {
    let settings = Settings::from_environment()?;
    if settings.cards.is_empty() { Ok(None) } else { bind_simulated(settings).map(Some) }
}

/// Binds every `cu*` function of this process to the simulated driver, which `cuInit` starts with the settings of the
/// environment: see [`CARDS_VARIABLE`] and [`CHECKS_VARIABLE`]. For the shared library with the driver's own name.
///
/// # Errors
///
/// [`TableError`] if another driver is bound.
pub fn bind_at_load() -> Result<(), TableError> {
    bind()
}

/// Writes the end of a program's output to stderr: the profile's table and the report of the checks, leaks included. Ends the process if
/// the checks have found an error and [`CHECKS_VARIABLE`] has an `exitcode`.
pub fn report_end() {
    finish();
    // A closed stderr must not turn a report into an abort.
    if let Some(table) = profile::table() {
        let _ = write!(std::io::stderr(), "{table}");
    }
    if let Some(report) = report() {
        let _ = write!(std::io::stderr(), "{report}");
    }
    if let Some(code) = findings::exit_code() {
        end_process(code);
    }
}

/// Ends the process from within its end, where `exit` may not be called again.
fn end_process(code: u8) -> ! {
    unsafe extern "C" {
        fn fflush(stream: *mut c_void) -> i32;
        fn _exit(code: i32) -> !;
    }
    // SAFETY: a null pointer stands for all streams, which the end of the process flushes, too; and a process may end anywhere.
    unsafe {
        fflush(std::ptr::null_mut());
        _exit(code.into())
    }
}

/// Prints a message on stderr.
fn say(what: fmt::Arguments<'_>) {
    // A closed stderr must not turn a message into an abort.
    let _ = writeln!(std::io::stderr(), "simulated driver: {what}");
}

/// Prints a message on stderr the first time.
fn say_once(what: fmt::Arguments<'_>) {
    static SAID: Mutex<Option<HashSet<String>>> = Mutex::new(None);
    let text = what.to_string();
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if said.get_or_insert_with(HashSet::new).insert(text) {
        say(what);
    }
}
