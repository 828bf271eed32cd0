//! The device that the program runs on, a GPU or a simulated card, and its properties from the driver.

use crate::{
    mistakes::refused,
    ranks::Place,
    simulated::{self, Card},
};
use anyhow::{Context as _, Result, anyhow, bail};
use cuda_driver::{BindError, DriverVersion, ext};
use cust::{
    CudaFlags,
    context::Context,
    device::{Device, DeviceAttribute},
};
pub(crate) use record::{Backend, DeviceInfo};
use std::{env, fmt, path::PathBuf, str::FromStr};

/// The suggestion for a machine without a GPU.
const WITHOUT_A_GPU: &str = "Without a GPU, `--device sim:h200` runs everything on a simulated one, with modelled \
                             times; `coalesce devices` lists the cards.";

/// The user's choice of device.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum DeviceChoice {
    /// The first GPU, and a simulated one where there is none; of a rank the GPU that is its own.
    Auto,
    /// The same, where a GPU has to be there.
    AnyCuda,
    /// The GPU with this number, as `coalesce devices` counts them.
    Cuda(u32),
    /// A simulated card.
    Simulated(Box<Card>),
    /// Several.
    Several(Several),
}

/// Several devices of one machine.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Several {
    /// All GPUs.
    AllCuda,
    /// The GPUs with these numbers.
    Cuda(Vec<u32>),
    /// Simulated cards of one kind.
    Simulated(Box<Card>, u32),
}

/// Most simulated cards of a run.
const MOST_SIMULATED: u32 = 64;

impl DeviceChoice {
    /// Refuses several devices, for commands that take one.
    ///
    /// # Errors
    /// The choice is of several.
    pub(crate) fn single(&self, command: &str) -> Result<()> {
        match self {
            DeviceChoice::Several(_) => Err(refused(anyhow!(
                "--device names several devices, and `coalesce {command}` takes one: name it, as in --device cuda:0; \
                 `coalesce run` measures several"
            ))),
            _ => Ok(()),
        }
    }
}

/// The numbers in `0,1,5`.
fn numbers(text: &str) -> Result<Vec<u32>, String> {
    let mut numbers: Vec<u32> = Vec::new();
    for number in text.split(',') {
        let number = number
            .parse()
            .map_err(|_| format!("'{number}' is not a device number; write cuda:0, cuda:0,1 or cuda:all"))?;
        if numbers.contains(&number) {
            return Err(format!("cuda:{text} names device {number} twice; name each once"));
        }
        numbers.push(number);
    }
    Ok(numbers)
}

/// Simulated cards: `h200`, or with a number behind it, as in `h200x2`.
fn simulated_cards(text: &str) -> Result<DeviceChoice, String> {
    let (name, number) = text.rsplit_once('x').unwrap_or((text, ""));
    match number.parse::<u32>() {
        Ok(number) if !name.is_empty() => match (simulated::chosen(name), number) {
            (Err(_), _) => simulated::chosen(text).map(DeviceChoice::Simulated),
            (Ok(card), 1) => Ok(DeviceChoice::Simulated(card)),
            (Ok(card), 2..=MOST_SIMULATED) => Ok(DeviceChoice::Several(Several::Simulated(card, number))),
            (Ok(_), _) => {
                Err(format!("sim:{text} is {number} cards; 1 to {MOST_SIMULATED} can be simulated at once"))
            }
        },
        _ => simulated::chosen(text).map(DeviceChoice::Simulated),
    }
}

impl FromStr for DeviceChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<DeviceChoice, String> {
        match text.split_once(':') {
            None if text == "auto" => Ok(DeviceChoice::Auto),
            None if text == "cuda" => Ok(DeviceChoice::AnyCuda),
            Some(("cuda", "all")) => Ok(DeviceChoice::Several(Several::AllCuda)),
            Some(("cuda", list)) => Ok(match numbers(list)?[..] {
                [number] => DeviceChoice::Cuda(number),
                ref several => DeviceChoice::Several(Several::Cuda(several.to_vec())),
            }),
            Some(("sim", card)) => simulated_cards(card),
            None if text == "sim" => simulated::chosen("").map(DeviceChoice::Simulated),
            _ => Err(simulated::no_such_device(text)),
        }
    }
}

/// A version of CUDA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version {
    /// The 12 of 12.8.
    pub major: u32,
    /// The 8 of 12.8.
    pub minor: u32,
}

impl From<DriverVersion> for Version {
    fn from(version: DriverVersion) -> Self {
        Version { major: version.major().unsigned_abs(), minor: version.minor().unsigned_abs() }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The driver that is bound and initialised.
#[derive(Clone, Debug)]
pub(crate) struct Driver {
    /// The origin: NVIDIA's, or simulated.
    pub origin: Origin,
    /// The CUDA version that it supports.
    pub version: Version,
}

/// The origin of the bound driver.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    /// NVIDIA's.
    Nvidia {
        /// The library that it was loaded from.
        path: PathBuf,
    },
    /// The simulated one.
    Simulated {
        /// Its device, or each of its devices.
        card: Box<Card>,
    },
}

impl Driver {
    /// The card that is simulated, if one is.
    pub(crate) fn card(&self) -> Option<&Card> {
        match &self.origin {
            Origin::Nvidia { .. } => None,
            Origin::Simulated { card } => Some(card),
        }
    }
}

impl fmt::Display for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Origin::Nvidia { path } => write!(f, "the driver {}", path.display()),
            Origin::Simulated { .. } => f.write_str("the simulated driver"),
        }
    }
}

/// Binds the driver that the choice asks for and initialises it. Where the choice is left to the program, and there is
/// no GPU, says on stderr what is simulated instead and why.
///
/// # Errors
/// A GPU is asked for, and there is no driver or no GPU that it can run; the library that the user named as the driver
/// is none; the card cannot be simulated on this machine.
pub(crate) fn bind(choice: &DeviceChoice) -> Result<Driver> {
    say_what_is_ignored();
    match choice {
        DeviceChoice::AnyCuda
        | DeviceChoice::Cuda(_)
        | DeviceChoice::Several(Several::AllCuda | Several::Cuda(_)) => {
            bind_nvidia()?.map_err(|error| anyhow!("{error} {WITHOUT_A_GPU}"))
        }
        DeviceChoice::Simulated(card) => bind_simulated(card, &[]),
        DeviceChoice::Several(Several::Simulated(card, number)) => bind_several_simulated(card, *number, &[]),
        DeviceChoice::Auto => match bind_nvidia()? {
            Ok(driver) => Ok(driver),
            // Who names a library means that library.
            Err(error @ (BindError::NotLoadable { .. } | BindError::NotADriver { .. })) => {
                Err(anyhow!("{error} {WITHOUT_A_GPU}"))
            }
            Err(error) => {
                let card = simulated::named(simulated::DEFAULT).map_err(|error| anyhow!(error))?;
                eprintln!(
                    "note: {}, so this runs on a simulated {}: its times are modelled. `--device cuda` insists on a \
                     GPU, `coalesce devices` lists the cards",
                    error.in_short(),
                    card.name.trim_start_matches("NVIDIA "),
                );
                bind_simulated(&card, &[])
            }
        },
    }
}

/// Says which variables are set that choose the simulated driver's work in other programs, and not here.
fn say_what_is_ignored() {
    use cuda_driver::simulated::{CARDS_VARIABLE, CHECKS_VARIABLE, PROFILE_VARIABLE};
    let instead = [
        (CARDS_VARIABLE, "--device sim:NAME chooses a simulated card"),
        (CHECKS_VARIABLE, "`coalesce check` checks kernels"),
        (PROFILE_VARIABLE, "--out keeps the records"),
    ];
    for (variable, instead) in instead {
        if env::var_os(variable).is_some_and(|value| !value.is_empty()) {
            eprintln!("note: {variable} is for other programs and has no effect here: {instead}");
        }
    }
}

/// Binds NVIDIA's driver; the inner error says that nothing was bound.
///
/// # Errors
/// The driver was bound and fails.
pub(crate) fn bind_nvidia() -> Result<Result<Driver, BindError>> {
    let nvidia = match cuda_driver::bind_nvidia() {
        Ok(nvidia) => nvidia,
        Err(error) => return Ok(Err(error)),
    };
    cust::init(CudaFlags::empty())
        .with_context(|| format!("the driver {} does not start", nvidia.path.display()))?;
    let version = nvidia.driver_version.into();
    Ok(Ok(Driver { origin: Origin::Nvidia { path: nvidia.path }, version }))
}

/// Binds the simulated driver, with this card as its only device.
///
/// # Errors
/// The card cannot be simulated on this machine.
pub(crate) fn bind_simulated(card: &Card, checks: &[simulated::Check]) -> Result<Driver> {
    bind_several_simulated(card, 1, checks)
}

/// Binds the simulated driver, with several of this card as its devices.
///
/// # Errors
/// The card cannot be simulated on this machine.
pub(crate) fn bind_several_simulated(
    card: &Card,
    number: u32,
    checks: &[simulated::Check],
) -> Result<Driver> {
    let version = simulated::bind(card, number, checks)?;
    cust::init(CudaFlags::empty()).context("the simulated driver does not start")?;
    Ok(Driver { origin: Origin::Simulated { card: Box::new(card.clone()) }, version: version.into() })
}

/// Shared memory that a block may have if its kernel says so beforehand; 0 where there is no such thing.
fn opt_in_shared(device: Device) -> u32 {
    let attribute = ext::DeviceAttribute::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
    ext::device_attribute(device.as_raw(), attribute).map_or(0, |bytes| u32::try_from(bytes).unwrap_or(0))
}

/// A device's attributes from the driver.
fn read(device: Device, ordinal: u32, driver: &Driver) -> Result<DeviceInfo> {
    let attribute = |attribute: DeviceAttribute| -> Result<u32> {
        let value = device
            .get_attribute(attribute)
            .with_context(|| format!("the driver does not tell {attribute:?} of device {ordinal}"))?;
        Ok(u32::try_from(value).unwrap_or(0))
    };
    let major = attribute(DeviceAttribute::ComputeCapabilityMajor)?;
    let minor = attribute(DeviceAttribute::ComputeCapabilityMinor)?;
    let card = match &driver.origin {
        Origin::Nvidia { .. } => None,
        Origin::Simulated { card } => Some(card.key.clone()),
    };
    let name =
        device.name().with_context(|| format!("the driver does not tell the name of device {ordinal}"))?;
    if let (Origin::Nvidia { path }, true) = (&driver.origin, name.ends_with(" (modelled)")) {
        bail!(
            "{} is Coalesce's simulated driver and not NVIDIA's: its times are modelled, and would pass for measured \
             ones here. Take it out of LD_LIBRARY_PATH and COALESCE_DRIVER, and name the card, as in --device sim:h200",
            path.display(),
        );
    }
    Ok(DeviceInfo {
        ordinal,
        name,
        compute_capability: Version { major, minor }.to_string(),
        driver: driver.version.to_string(),
        memory_bytes: device.total_memory().context("the driver does not tell the size of the memory")?
            as u64,
        l2_bytes: u64::from(attribute(DeviceAttribute::L2CacheSize)?),
        multiprocessors: attribute(DeviceAttribute::MultiprocessorCount)?,
        max_threads_per_block: attribute(DeviceAttribute::MaxThreadsPerBlock)?,
        max_grid: attribute(DeviceAttribute::MaxGridDimX)?,
        max_grid_y: attribute(DeviceAttribute::MaxGridDimY)?,
        max_shared_per_block: attribute(DeviceAttribute::MaxSharedMemoryPerBlock)?.max(opt_in_shared(device)),
        memory_clock_khz: attribute(DeviceAttribute::MemoryClockRate).unwrap_or(0),
        memory_bus_bits: attribute(DeviceAttribute::GlobalMemoryBusWidth).unwrap_or(0),
        card,
    })
}

/// Every GPU that the driver has.
///
/// # Errors
/// The driver fails to answer.
pub(crate) fn list(driver: &Driver) -> Result<Vec<DeviceInfo>> {
    let count = Device::num_devices().context("the driver does not tell how many devices there are")?;
    (0..count).map(|ordinal| read(device(ordinal)?, ordinal, driver)).collect()
}

/// Another device of the machine, beside the one of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Neighbour {
    /// Its number.
    pub ordinal: u32,
    /// Whether each of the two devices can access the other's memory.
    pub accessible: bool,
    /// Whether the link carries the run's atomic operations to the other device.
    pub atomics: bool,
}

/// The other devices that the bound driver has; none before a driver is bound.
pub(crate) fn neighbours(own: u32) -> Vec<Neighbour> {
    if cuda_driver::bound().is_none() {
        return Vec::new();
    }
    let can = |one: u32, other: u32| ext::can_access_peer(one as i32, other as i32).unwrap_or(false);
    let count = Device::num_devices().unwrap_or(0);
    (0..count)
        .filter(|ordinal| *ordinal != own)
        .map(|ordinal| Neighbour {
            ordinal,
            accessible: can(own, ordinal) && can(ordinal, own),
            atomics: ext::has_peer_atomics(own as i32, ordinal as i32).unwrap_or(false),
        })
        .collect()
}

/// The devices that form a ring with this one, in the order of their numbers, and of which each can access the memory of the
/// next and the one before. `None` if there is no such ring of all devices that this one can access, and before a driver is bound.
pub(crate) fn ring(own: u32, neighbours: &[Neighbour]) -> Option<Vec<u32>> {
    cuda_driver::bound()?;
    let can = |one: u32, other: u32| ext::can_access_peer(one as i32, other as i32).unwrap_or(false);
    ring_by(own, neighbours, can)
}

/// The same where `can` says which devices access which.
fn ring_by(own: u32, neighbours: &[Neighbour], can: impl Fn(u32, u32) -> bool) -> Option<Vec<u32>> {
    let accessible = neighbours.iter().filter(|card| card.accessible).map(|card| card.ordinal);
    let mut all: Vec<u32> = accessible.chain([own]).collect();
    all.sort_unstable();
    let mut pairs = all.iter().zip(all.iter().cycle().skip(1));
    let closed = all.len() > 1 && pairs.all(|(&one, &next)| can(one, next) && can(next, one));
    closed.then_some(all)
}

/// A device in use: what is known of it, and the context that makes it current.
#[derive(Debug)]
pub(crate) struct Gpu {
    /// Its attributes from the driver.
    pub info: DeviceInfo,
    device: Device,
    /// Keeps the device current until the program is done with it.
    _context: Context,
}

impl Gpu {
    /// Opens the device that the user chose.
    ///
    /// # Errors
    /// There is no such device, or it cannot be used.
    pub(crate) fn open(choice: &DeviceChoice, driver: &Driver) -> Result<Gpu> {
        match ordinals(choice, None)?[..] {
            [ordinal] => Gpu::open_number(ordinal, driver),
            _ => bail!(
                "--device names several devices, and one is needed here: name it, as in --device cuda:0"
            ),
        }
    }

    /// Opens the device with this number, one of the driver's.
    ///
    /// # Errors
    /// It cannot be used.
    pub(crate) fn open_number(ordinal: u32, driver: &Driver) -> Result<Gpu> {
        let device = device(ordinal)?;
        let info = read(device, ordinal, driver)?;
        let context = Context::new(device).with_context(|| match info.backend() {
            Backend::Measured => format!(
                "cannot use device cuda:{ordinal} ({}); another program may hold it exclusively",
                info.name
            ),
            Backend::Modelled => format!("the simulated {} cannot be used", info.name),
        })?;
        Ok(Gpu { info, device, _context: context })
    }

    /// Asks the driver for the device's UUID, the same in each process; `None` where it does not tell.
    pub(crate) fn uuid(&self) -> Option<String> {
        ext::device_uuid(self.device.as_raw()).ok().map(|uuid| uuid.to_string())
    }
}

/// The numbers of the devices that the user chose, of those that the bound driver has. A rank that may have any takes its
/// own of them.
///
/// # Errors
/// The driver has no such device.
pub(crate) fn ordinals(choice: &DeviceChoice, rank: Option<&Place>) -> Result<Vec<u32>> {
    let count = Device::num_devices().context("the driver does not tell how many devices there are")?;
    let any = || rank.map_or(0, |rank| rank.card(count));
    let ordinals = match choice {
        DeviceChoice::Auto | DeviceChoice::AnyCuda => vec![any()],
        DeviceChoice::Simulated(_) => vec![0],
        DeviceChoice::Cuda(ordinal) => vec![*ordinal],
        DeviceChoice::Several(Several::Cuda(ordinals)) => ordinals.clone(),
        DeviceChoice::Several(Several::AllCuda) if count == 0 => vec![0],
        DeviceChoice::Several(Several::AllCuda | Several::Simulated(..)) => (0..count).collect(),
    };
    if let Some(ordinal) = ordinals.iter().find(|ordinal| **ordinal >= count) {
        let valid = match count {
            0 => format!("the driver has none. {WITHOUT_A_GPU}"),
            1 => "there is 1, cuda:0; `coalesce devices` shows it".to_string(),
            _ => format!("there are {count}, cuda:0 to cuda:{}; `coalesce devices` shows them", count - 1),
        };
        bail!("there is no device cuda:{ordinal}: {valid}");
    }
    Ok(ordinals)
}

fn device(ordinal: u32) -> Result<Device> {
    Device::get_device(ordinal).with_context(|| format!("the driver does not open device cuda:{ordinal}"))
}

#[cfg(test)]
pub(crate) mod tests {
    use cuda_driver::Code;

    use super::*;

    /// An H200 as the driver describes it.
    pub(crate) fn h200() -> DeviceInfo {
        DeviceInfo {
            ordinal: 0,
            name: "NVIDIA H200".to_string(),
            compute_capability: "9.0".to_string(),
            driver: "13.0".to_string(),
            memory_bytes: 150_754_820_096,
            l2_bytes: 60 << 20,
            multiprocessors: 132,
            max_threads_per_block: 1024,
            max_grid: i32::MAX as u32,
            max_grid_y: 65535,
            max_shared_per_block: 232_448,
            memory_clock_khz: 3_201_000,
            memory_bus_bits: 6144,
            card: None,
        }
    }

    /// A simulated C870.
    pub(crate) fn c870() -> DeviceInfo {
        let card = simulated::named("c870").expect("a built-in card");
        DeviceInfo {
            ordinal: 0,
            name: format!("{} (modelled)", card.name),
            compute_capability: "1.0".to_string(),
            memory_bytes: card.memory_bytes,
            l2_bytes: 0,
            multiprocessors: card.multiprocessors,
            max_threads_per_block: 512,
            max_grid: 65535,
            max_shared_per_block: 16384,
            card: Some(card.key.clone()),
            memory_clock_khz: 0,
            memory_bus_bits: 0,
            ..h200()
        }
    }

    #[test]
    fn why_there_is_no_gpu_fits_into_a_clause() {
        let error = BindError::StubLibrary { path: "stubs/libcuda.so.1".into() };
        assert_eq!(
            error.in_short(),
            "no NVIDIA driver (stubs/libcuda.so.1 is the toolkit's stub for linking)"
        );
        let none = |code| BindError::NotStarted { path: "libcuda.so.1".into(), version: None, code };
        assert_eq!(none(Code::NO_DEVICE).in_short(), "NVIDIA's driver libcuda.so.1 finds no GPU");
        assert!(
            none(Code(803))
                .in_short()
                .starts_with("NVIDIA's driver libcuda.so.1 does not start (cuInit gave ")
        );
    }

    #[test]
    fn a_ring_is_of_all_accessible_devices_each_beside_the_next() {
        let cards = |accessible: &[u32]| -> Vec<Neighbour> {
            let card =
                |ordinal| Neighbour { ordinal, accessible: accessible.contains(&ordinal), atomics: true };
            [0, 1, 3].map(card).into()
        };
        let all = |_, _| true;
        assert_eq!(ring_by(2, &cards(&[0, 1, 3]), all), Some(vec![0, 1, 2, 3]));
        assert_eq!(ring_by(2, &cards(&[3]), all), Some(vec![2, 3]));
        assert_eq!(ring_by(2, &cards(&[]), all), None);
        assert_eq!(ring_by(0, &[], all), None);
        // 0 and 1 cannot access each other, and neither can the last and the first.
        assert_eq!(ring_by(2, &cards(&[0, 1, 3]), |one, other| one + other != 1), None);
        assert_eq!(ring_by(2, &cards(&[0, 1, 3]), |one, other| one + other != 3), None);
    }

    #[test]
    fn device_choices() {
        assert_eq!("auto".parse(), Ok(DeviceChoice::Auto));
        assert_eq!("cuda".parse(), Ok(DeviceChoice::AnyCuda));
        assert_eq!("cuda:all".parse(), Ok(DeviceChoice::Several(Several::AllCuda)));
        assert_eq!("cuda:2,0".parse(), Ok(DeviceChoice::Several(Several::Cuda(vec![2, 0]))));
        let two = "sim:h200x2".parse();
        assert!(matches!(two, Ok(DeviceChoice::Several(Several::Simulated(card, 2))) if card.key == "h200"));
        assert!(matches!("sim:h200x1".parse(), Ok(DeviceChoice::Simulated(card)) if card.key == "h200"));
        assert_eq!("cuda:3".parse(), Ok(DeviceChoice::Cuda(3)));
        assert!(matches!("sim:C1060".parse(), Ok(DeviceChoice::Simulated(card)) if card.key == "c1060"));
        for text in [
            "cuda:",
            "cuda:-1",
            "cuda:one",
            "gpu",
            "cuda:0:1",
            "",
            "sim:",
            "sim",
            "sim:h2000",
            "simh200",
            "cuda:0,0",
            "cuda:0,",
            "sim:h200x0",
            "sim:h200x65",
            "sim:x2",
            "sim:h2000x2",
        ] {
            assert!(text.parse::<DeviceChoice>().is_err(), "{text}");
        }
    }
}
