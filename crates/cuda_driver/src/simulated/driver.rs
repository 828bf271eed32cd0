//! The simulated driver of the process and its state.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::c_int;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use simt::cards::{Card, Limits};
use simt::check::Checks;
use simt::memory::{Allocation, Memory};

use super::allocations::Owned;
use super::codes::{INVALID_CONTEXT, INVALID_DEVICE, INVALID_HANDLE, INVALID_VALUE, Outcome};
use super::contexts::Context;
use super::events::Event;
use super::execution::Execution;
use super::fork;
use super::functions::Function;
use super::graphs::{Executable, Graph};
use super::libraries::{Library, LibraryKernel};
use super::link::Linker;
use super::managed::Pages;
use super::modules::Module;
use super::peers::PeerAccess;
use super::pools::Pool;
use super::primaries::Primary;
use super::profile::Profile;
use super::registry::{Handle, Registry, new_handle};
use super::settings::{DEFAULT_TIMEOUT, Settings, SimulatedError};
use super::streams::Stream;
use super::user_objects::UserObject;
use super::visible::{self, VISIBLE_VARIABLE};
use crate::{Code, DriverVersion};

/// The CUDA version that the simulated driver claims: that of the newest published PTX ISA, 9.4. Instructions that the
/// simulator does not execute are refused individually, whatever their version.
pub(super) const DRIVER_VERSION: DriverVersion = DriverVersion(13_040);

static DRIVER: OnceLock<Driver> = OnceLock::new();
static STARTING: Mutex<()> = Mutex::new(());

/// The simulated driver: its devices and the program's objects.
pub(super) struct Driver {
    pub devices: Vec<Device>,
    /// Host threads that execute a launch.
    pub workers: usize,
    pub checks: Option<Checks>,
    /// True if the report shows each finding instead of groups.
    pub each_finding: bool,
    /// Exit status of a program in which the checks find an error.
    pub exit_code: Option<u8>,
    /// Time without progress after which a launch ends; None for no limit.
    pub timeout: Option<Duration>,
    /// True if times come from a simulation, too.
    pub simulates: bool,
    pub keeps_traces: bool,
    pub profile: Option<Profile>,
    state: Mutex<State>,
}

/// A simulated card.
pub(super) struct Device {
    /// Number by which the program knows it.
    pub ordinal: usize,
    /// Index among all devices, hidden ones included.
    pub slot: usize,
    pub card: Card,
    pub limits: Limits,
    /// Device memory, in bytes.
    pub bytes: u64,
    pub memory: Memory,
    /// The state that each launch leaves to the next, and the lock that it holds.
    execution: Mutex<Execution>,
}

/// The state that changes.
pub(super) struct State {
    pub contexts: Registry<Context>,
    /// Primary contexts, by device.
    pub primaries: Vec<Primary>,
    pub modules: Registry<Module>,
    pub functions: Registry<Function>,
    pub libraries: Registry<Library>,
    pub kernels: Registry<LibraryKernel>,
    pub linkers: Registry<Linker>,
    pub streams: Registry<Stream>,
    pub events: Registry<Event>,
    pub graphs: Registry<Graph>,
    /// For graphs that are clones, their nodes by the original's.
    pub clones: HashMap<Handle, HashMap<Handle, Handle>>,
    pub executables: Registry<Arc<Executable>>,
    pub user_objects: Registry<UserObject>,
    pub pools: Registry<Pool>,
    /// Default memory pools, by device.
    pub default_pools: Vec<Handle>,
    pub current_pools: Vec<Handle>,
    /// Allocations, by address.
    pub allocations: HashMap<u64, Owned>,
    pub peers: BTreeSet<PeerAccess>,
    pub managed: BTreeMap<u64, Pages>,
    /// Most managed memory on each device in bytes, if limited.
    pub managed_budgets: Vec<Option<u64>>,
    /// Counter that advances whenever managed memory migrates to a device.
    pub tick: u64,
    /// For each device, the tick up to which its launches have touched the memory that migrated to it.
    pub touched: Vec<u64>,
}

/// An allocation and the device that holds it.
#[derive(Clone, Copy)]
pub(super) struct Located {
    pub device: &'static Device,
    pub allocation: Allocation,
}

/// Returns the driver. `CUDA_ERROR_NOT_INITIALIZED` before there is one, and in a child forked from a process that has
/// one: locks may be held by threads that the child lacks. With NVIDIA's driver too, a child has to execute a new
/// program.
pub(super) fn driver() -> Outcome<&'static Driver> {
    if fork::is_child() {
        return Err(Code::NOT_INITIALIZED);
    }
    DRIVER.get().ok_or(Code::NOT_INITIALIZED)
}

/// Creates the driver with these settings, unless there is one. Returns true if it did. `shown` is the list of
/// `CUDA_VISIBLE_DEVICES`, if set.
pub(super) fn start(settings: &Settings, shown: Option<&str>) -> Result<bool, SimulatedError> {
    let _one_at_a_time = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    if DRIVER.get().is_some() {
        return Ok(false);
    }
    let driver = Driver::new(settings, shown)?;
    fork::watch();
    Ok(DRIVER.set(driver).is_ok())
}

/// Implements `cuInit`. In a program that does not know the simulator, it creates the driver from the environment.
pub(super) fn initialise() -> Outcome {
    if DRIVER.get().is_some() {
        return driver().map(drop);
    }
    let shown = std::env::var(VISIBLE_VARIABLE).ok();
    let started = Settings::from_environment().and_then(|settings| start(&settings, shown.as_deref()));
    started.map(drop).map_err(|error| {
        super::say(format_args!("cuInit returns CUDA_ERROR_NO_DEVICE: {error}"));
        Code::NO_DEVICE
    })
}

impl Driver {
    fn new(settings: &Settings, shown: Option<&str>) -> Result<Self, SimulatedError> {
        let cards = settings.cards_or_default()?;
        let keys: Vec<&str> = cards.iter().map(|card| card.key.as_str()).collect();
        let slots = shown.map_or_else(|| (0..cards.len()).collect(), |list| visible::visible(list, &keys));
        if slots.is_empty() {
            return Err(SimulatedError::Hidden {
                list: shown.unwrap_or_default().to_owned(),
                devices: cards.len(),
            });
        }
        let checks = settings.checks.filter(|checks| !checks.is_empty());
        let mut devices = Vec::with_capacity(cards.len());
        for (ordinal, slot) in slots.into_iter().enumerate() {
            let card = cards[slot].clone();
            card.check().map_err(|cause| SimulatedError::Impossible { key: card.key.clone(), cause })?;
            let bytes = settings.memory_bytes.unwrap_or(card.memory_bytes);
            let memory = Memory::new(bytes).map_err(|cause| SimulatedError::Memory {
                card: card.key.clone(),
                cause: cause.to_string(),
            })?;
            memory.track_initialisation(checks.is_some_and(|checks| checks.initcheck));
            // A GPU ignores overruns within a granule; only memcheck finds them.
            if !checks.is_some_and(|checks| checks.memcheck) {
                memory.round_up_bounds();
            }
            let execution = Mutex::new(Execution::new(&card));
            devices.push(Device { ordinal, slot, limits: card.limits(), bytes, memory, execution, card });
        }
        let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
        let workers = settings.workers.unwrap_or_else(cores).max(1);
        let state = Mutex::new(State::new(devices.len()));
        let timeout = Some(settings.timeout.unwrap_or(DEFAULT_TIMEOUT)).filter(|timeout| !timeout.is_zero());
        let open = |path: &PathBuf| {
            Profile::new(path).map_err(|cause| SimulatedError::Profile { path: path.clone(), cause })
        };
        let profile = settings.profile.as_ref().map(open).transpose()?;
        let Settings { each_finding, exit_code, simulates, keeps_traces, .. } = *settings;
        Ok(Self {
            devices,
            workers,
            checks,
            each_finding,
            exit_code,
            timeout,
            simulates,
            keeps_traces,
            profile,
            state,
        })
    }

    /// Locks the state. Locks are short: never while a kernel or the program's own code runs.
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // A panic within an entry point is caught and reported there; the next call finds the state that it left.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a device by its number.
    pub(super) fn device(&'static self, ordinal: c_int) -> Outcome<&'static Device> {
        usize::try_from(ordinal).ok().and_then(|ordinal| self.devices.get(ordinal)).ok_or(INVALID_DEVICE)
    }

    /// Returns the allocation that contains an address, on the device where it was made.
    pub(super) fn locate(&'static self, address: u64) -> Option<Located> {
        let found = self
            .devices
            .iter()
            .filter_map(|device| Some(Located { device, allocation: device.memory.find(address)? }));
        let mut found: Vec<Located> = found.collect();
        if found.len() > 1 {
            // All devices know the host's memory, and one owns it.
            let owner = self.state().allocations.get(&found[0].allocation.address).map(|owned| owned.device);
            found.sort_by_key(|located| Some(located.device.ordinal) != owner);
        }
        let mut found = found.into_iter();
        let first = found.next()?;
        Some(first)
    }
}

impl Device {
    /// Returns the name, such as "NVIDIA H200 (modelled)".
    pub(super) fn name(&self) -> String {
        format!("{} (modelled)", self.card.name)
    }

    /// Locks the device for a launch.
    pub(super) fn execution(&self) -> MutexGuard<'_, Execution> {
        self.execution.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn new(devices: usize) -> Self {
        let primary = || Primary { handle: new_handle(), retained: 0, flags: 0 };
        let mut pools = Registry::new(INVALID_HANDLE);
        let default_pools: Vec<Handle> =
            (0..devices).map(|device| pools.insert(Pool::new(device, true))).collect();
        Self {
            contexts: Registry::new(INVALID_CONTEXT),
            primaries: (0..devices).map(|_| primary()).collect(),
            modules: Registry::new(INVALID_HANDLE),
            functions: Registry::new(INVALID_HANDLE),
            libraries: Registry::new(INVALID_HANDLE),
            kernels: Registry::new(INVALID_HANDLE),
            linkers: Registry::new(INVALID_HANDLE),
            streams: Registry::new(INVALID_HANDLE),
            events: Registry::new(INVALID_HANDLE),
            graphs: Registry::new(INVALID_HANDLE),
            clones: HashMap::new(),
            executables: Registry::new(INVALID_HANDLE),
            user_objects: Registry::new(INVALID_VALUE),
            pools,
            current_pools: default_pools.clone(),
            default_pools,
            allocations: HashMap::new(),
            peers: BTreeSet::new(),
            managed: BTreeMap::new(),
            managed_budgets: vec![None; devices],
            tick: 0,
            touched: vec![0; devices],
        }
    }
}
