//! The one simulated driver of the process.

use std::collections::{BTreeMap, HashMap};
use std::ffi::c_int;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use simt::cards::{Card, Limits};
use simt::check::Checks;
use simt::count::L2State;
use simt::memory::{Allocation, Memory};

use super::allocations::Owned;
use super::codes::{INVALID_CONTEXT, INVALID_DEVICE, INVALID_HANDLE, INVALID_VALUE, Outcome};
use super::contexts::Context;
use super::events::Event;
use super::fork;
use super::functions::Function;
use super::graphs::{Executable, Graph};
use super::libraries::{Library, LibraryKernel};
use super::link::Linker;
use super::managed::Pages;
use super::modules::Module;
use super::pools::Pool;
use super::primaries::Primary;
use super::profile::Profile;
use super::registry::{Handle, Registry, new_handle};
use super::settings::{DEFAULT_TIMEOUT, Settings, SimulatedError};
use super::streams::Stream;
use super::user_objects::UserObject;
use super::visible::{self, VISIBLE_VARIABLE};
use crate::{Code, DriverVersion};

/// The CUDA version that the simulated driver claims: that of the newest PTX ISA that NVIDIA has published, 9.4.
/// Instructions that the simulator does not execute are refused one by one, whatever version has them.
pub(super) const DRIVER_VERSION: DriverVersion = DriverVersion(13_040);

static DRIVER: OnceLock<Driver> = OnceLock::new();
static STARTING: Mutex<()> = Mutex::new(());

/// Devices, and everything that the program made.
pub(super) struct Driver {
    pub devices: Vec<Device>,
    /// Threads that execute a launch.
    pub workers: usize,
    pub checks: Option<Checks>,
    /// The report shows each finding instead of groups.
    pub each_finding: bool,
    /// A launch that gets no further for so long is ended; none: never.
    pub timeout: Option<Duration>,
    pub profile: Option<Profile>,
    state: Mutex<State>,
}

/// A simulated card.
pub(super) struct Device {
    /// The number by which the program knows it.
    pub ordinal: usize,
    /// Its place among all, those included that are hidden from the program.
    pub slot: usize,
    pub card: Card,
    pub limits: Limits,
    /// Device memory, in bytes.
    pub bytes: u64,
    pub memory: Memory,
    /// What its L2 holds; who has it launches.
    l2: Mutex<L2State>,
}

/// Everything that changes.
pub(super) struct State {
    pub contexts: Registry<Context>,
    /// By device.
    pub primaries: Vec<Primary>,
    pub modules: Registry<Module>,
    pub functions: Registry<Function>,
    pub libraries: Registry<Library>,
    pub kernels: Registry<LibraryKernel>,
    pub linkers: Registry<Linker>,
    pub streams: Registry<Stream>,
    pub events: Registry<Event>,
    pub graphs: Registry<Graph>,
    /// Of graphs that are clones: their nodes by those of the original.
    pub clones: HashMap<Handle, HashMap<Handle, Handle>>,
    pub executables: Registry<Arc<Executable>>,
    pub user_objects: Registry<UserObject>,
    pub pools: Registry<Pool>,
    /// By device.
    pub default_pools: Vec<Handle>,
    pub current_pools: Vec<Handle>,
    /// By address.
    pub allocations: HashMap<u64, Owned>,
    pub managed: BTreeMap<u64, Pages>,
    /// By device: so much managed memory is on it at most, if there is a limit.
    pub managed_budgets: Vec<Option<u64>>,
    /// Counts up whenever managed memory comes to a device.
    pub tick: u64,
    /// By device: what came to it until this tick, its launches have touched.
    pub touched: Vec<u64>,
}

/// An allocation and where it is.
#[derive(Clone, Copy)]
pub(super) struct Located {
    pub device: &'static Device,
    pub allocation: Allocation,
}

/// The driver; `CUDA_ERROR_NOT_INITIALIZED` before there is one, and in a process that was forked from one that has it:
/// locks may be held there by threads that are gone, and as with NVIDIA's driver a child has to be a new program.
pub(super) fn driver() -> Outcome<&'static Driver> {
    if fork::is_child() {
        return Err(Code::NOT_INITIALIZED);
    }
    DRIVER.get().ok_or(Code::NOT_INITIALIZED)
}

/// Makes the driver with these settings, if there is none yet; whether it was made. `shown` is the list of
/// `CUDA_VISIBLE_DEVICES`, where there is one.
pub(super) fn start(settings: &Settings, shown: Option<&str>) -> Result<bool, SimulatedError> {
    let _one_at_a_time = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    if DRIVER.get().is_some() {
        return Ok(false);
    }
    let driver = Driver::new(settings, shown)?;
    fork::watch();
    Ok(DRIVER.set(driver).is_ok())
}

/// `cuInit`: in a program that knows nothing of the simulator, this makes the driver from the environment.
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
            // What a GPU lets pass is memcheck's to find.
            if !checks.is_some_and(|checks| checks.memcheck) {
                memory.round_up_bounds();
            }
            let l2 = Mutex::new(L2State::new(card.clone()));
            devices.push(Device { ordinal, slot, limits: card.limits(), bytes, memory, l2, card });
        }
        let cores = || std::thread::available_parallelism().map_or(1, NonZero::get);
        let workers = settings.workers.unwrap_or_else(cores).max(1);
        let state = Mutex::new(State::new(devices.len()));
        let timeout = Some(settings.timeout.unwrap_or(DEFAULT_TIMEOUT)).filter(|timeout| !timeout.is_zero());
        let open = |path: &PathBuf| {
            Profile::new(path).map_err(|cause| SimulatedError::Profile { path: path.clone(), cause })
        };
        let profile = settings.profile.as_ref().map(open).transpose()?;
        let each_finding = settings.each_finding;
        Ok(Self { devices, workers, checks, each_finding, timeout, profile, state })
    }

    /// Everything that changes. Held for moments: never while a kernel or the program's own code runs.
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // A panic within an entry point ends there and is reported; the next call sees what it left.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A device by its number.
    pub(super) fn device(&'static self, ordinal: c_int) -> Outcome<&'static Device> {
        usize::try_from(ordinal).ok().and_then(|ordinal| self.devices.get(ordinal)).ok_or(INVALID_DEVICE)
    }

    /// The allocation that an address is in, on the device that it was made on.
    pub(super) fn locate(&'static self, address: u64) -> Option<Located> {
        let found = self
            .devices
            .iter()
            .filter_map(|device| Some(Located { device, allocation: device.memory.find(address)? }));
        let mut found: Vec<Located> = found.collect();
        if found.len() > 1 {
            // Memory of the host's is known to all devices, and owned by one.
            let owner = self.state().allocations.get(&found[0].allocation.address).map(|owned| owned.device);
            found.sort_by_key(|located| Some(located.device.ordinal) != owner);
        }
        let mut found = found.into_iter();
        let first = found.next()?;
        Some(first)
    }
}

impl Device {
    /// "NVIDIA H200 (modelled)".
    pub(super) fn name(&self) -> String {
        format!("{} (modelled)", self.card.name)
    }

    /// Leave to launch, and what the L2 holds.
    pub(super) fn execution(&self) -> MutexGuard<'_, L2State> {
        self.l2.lock().unwrap_or_else(PoisonError::into_inner)
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
            managed: BTreeMap::new(),
            managed_budgets: vec![None; devices],
            tick: 0,
            touched: vec![0; devices],
        }
    }
}
