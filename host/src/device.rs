//! Which GPU the program runs on, and what the driver says about it.

use anyhow::{Context as _, Result, anyhow, bail};
use cust::{
    CudaFlags,
    context::Context,
    device::{Device, DeviceAttribute},
};
use serde::{Deserialize, Serialize};
use std::{fmt, path::PathBuf, str::FromStr};

/// What still works on a machine where nothing can be measured.
const WITHOUT_A_GPU: &str = "Without a GPU, `coalesce list` still shows the experiments, `cargo xtask ptx KERNEL` the \
                             PTX of a kernel, and `cargo xtask test` runs every test that needs none.";

/// The user's choice of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviceChoice {
    /// The first GPU.
    Auto,
    /// The GPU with this number, as `coalesce devices` counts them.
    Cuda(u32),
}

impl FromStr for DeviceChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<DeviceChoice, String> {
        match text.split_once(':') {
            None if text == "auto" => Ok(DeviceChoice::Auto),
            None if text == "cuda" => Ok(DeviceChoice::Cuda(0)),
            Some(("cuda", number)) => match number.parse() {
                Ok(number) => Ok(DeviceChoice::Cuda(number)),
                Err(_) => Err(format!("'{number}' is not a device number; write cuda:0, cuda:1, ...")),
            },
            _ => Err("the devices are auto, cuda and cuda:N".to_string()),
        }
    }
}

/// A version of CUDA, or of the PTX language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version {
    /// The 12 of 12.8.
    pub major: u32,
    /// The 8 of 12.8.
    pub minor: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The driver that is bound and initialised.
#[derive(Clone, Debug)]
pub(crate) struct Driver {
    /// The library that it was loaded from.
    pub path: PathBuf,
    /// The CUDA version that it supports.
    pub version: Version,
}

/// Binds NVIDIA's driver and initialises it.
///
/// # Errors
/// There is no driver, or it finds no GPU that it can run.
pub(crate) fn bind() -> Result<Driver> {
    let nvidia = cuda_driver::bind_nvidia().map_err(|error| anyhow!("{error} {WITHOUT_A_GPU}"))?;
    cust::init(CudaFlags::empty())
        .with_context(|| format!("the driver {} does not start", nvidia.path.display()))?;
    let version = Version {
        major: nvidia.driver_version.major().unsigned_abs(),
        minor: nvidia.driver_version.minor().unsigned_abs(),
    };
    Ok(Driver { path: nvidia.path, version })
}

/// What the driver says about a GPU, as far as measuring depends on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct DeviceInfo {
    /// Its number, as `--device cuda:N` takes it.
    pub ordinal: u32,
    /// Its name.
    pub name: String,
    /// Major and minor compute capability, as in 9.0.
    pub compute_capability: String,
    /// The CUDA version that the driver supports.
    pub driver: String,
    /// All of its memory, in bytes.
    pub memory_bytes: u64,
    /// Its L2 cache, in bytes.
    pub l2_bytes: u64,
    /// How many streaming multiprocessors it has.
    pub multiprocessors: u32,
    /// The most threads a block may have.
    pub max_threads_per_block: u32,
    /// The most blocks a grid may have in x.
    pub max_grid: u32,
    /// The memory clock in kHz, 0 where the driver does not say.
    pub memory_clock_khz: u32,
    /// The width of the memory bus in bits, 0 where the driver does not say.
    pub memory_bus_bits: u32,
}

impl DeviceInfo {
    fn read(device: Device, ordinal: u32, driver: &Driver) -> Result<DeviceInfo> {
        let attribute = |attribute: DeviceAttribute| -> Result<u32> {
            let value = device
                .get_attribute(attribute)
                .with_context(|| format!("the driver does not tell {attribute:?} of device {ordinal}"))?;
            Ok(u32::try_from(value).unwrap_or(0))
        };
        let major = attribute(DeviceAttribute::ComputeCapabilityMajor)?;
        let minor = attribute(DeviceAttribute::ComputeCapabilityMinor)?;
        Ok(DeviceInfo {
            ordinal,
            name: device
                .name()
                .with_context(|| format!("the driver does not tell the name of device {ordinal}"))?,
            compute_capability: Version { major, minor }.to_string(),
            driver: driver.version.to_string(),
            memory_bytes: device.total_memory().context("the driver does not tell the size of the memory")?
                as u64,
            l2_bytes: u64::from(attribute(DeviceAttribute::L2CacheSize)?),
            multiprocessors: attribute(DeviceAttribute::MultiprocessorCount)?,
            max_threads_per_block: attribute(DeviceAttribute::MaxThreadsPerBlock)?,
            max_grid: attribute(DeviceAttribute::MaxGridDimX)?,
            memory_clock_khz: attribute(DeviceAttribute::MemoryClockRate).unwrap_or(0),
            memory_bus_bits: attribute(DeviceAttribute::GlobalMemoryBusWidth).unwrap_or(0),
        })
    }

    /// The compute capability as one number, as architectures are named: 90 for 9.0.
    pub(crate) fn compute(&self) -> u32 {
        let (major, minor) =
            self.compute_capability.split_once('.').unwrap_or((&self.compute_capability, "0"));
        major.parse::<u32>().unwrap_or(0) * 10 + minor.parse::<u32>().unwrap_or(0)
    }

    /// The bandwidth that the memory clock and the bus width allow, in GB/s: two transfers a clock. `None` where the
    /// driver does not tell both.
    pub(crate) fn peak_gb_per_s(&self) -> Option<f64> {
        let bits_per_second = 2.0 * f64::from(self.memory_clock_khz) * 1e3 * f64::from(self.memory_bus_bits);
        (bits_per_second > 0.0).then_some(bits_per_second / 8.0 / 1e9)
    }
}

/// Every GPU that the driver has.
///
/// # Errors
/// The driver fails to answer.
pub(crate) fn list(driver: &Driver) -> Result<Vec<DeviceInfo>> {
    let count = Device::num_devices().context("the driver does not tell how many devices there are")?;
    (0..count).map(|ordinal| DeviceInfo::read(device(ordinal)?, ordinal, driver)).collect()
}

/// A GPU in use: what is known of it, and the context that makes it current.
#[derive(Debug)]
pub(crate) struct Gpu {
    /// What the driver says about it.
    pub info: DeviceInfo,
    /// Keeps the device current until the program is done with it.
    _context: Context,
}

impl Gpu {
    /// Opens the device that the user chose.
    ///
    /// # Errors
    /// There is no such device, or it cannot be used.
    pub(crate) fn open(choice: DeviceChoice, driver: &Driver) -> Result<Gpu> {
        let ordinal = match choice {
            DeviceChoice::Auto => 0,
            DeviceChoice::Cuda(ordinal) => ordinal,
        };
        let count = Device::num_devices().context("the driver does not tell how many devices there are")?;
        if ordinal >= count {
            let valid = match count {
                0 => format!("the driver has none. {WITHOUT_A_GPU}"),
                1 => "there is 1, cuda:0; `coalesce devices` shows it".to_string(),
                _ => {
                    format!("there are {count}, cuda:0 to cuda:{}; `coalesce devices` shows them", count - 1)
                }
            };
            bail!("there is no device cuda:{ordinal}: {valid}");
        }
        let device = device(ordinal)?;
        let info = DeviceInfo::read(device, ordinal, driver)?;
        let context = Context::new(device).with_context(|| {
            format!(
                "cannot use device cuda:{ordinal} ({}); another program may hold it exclusively",
                info.name
            )
        })?;
        Ok(Gpu { info, _context: context })
    }
}

fn device(ordinal: u32) -> Result<Device> {
    Device::get_device(ordinal).with_context(|| format!("the driver does not open device cuda:{ordinal}"))
}

#[cfg(test)]
pub(crate) mod tests {
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
            memory_clock_khz: 3_201_000,
            memory_bus_bits: 6144,
        }
    }

    #[test]
    fn device_choices() {
        assert_eq!("auto".parse(), Ok(DeviceChoice::Auto));
        assert_eq!("cuda".parse(), Ok(DeviceChoice::Cuda(0)));
        assert_eq!("cuda:3".parse(), Ok(DeviceChoice::Cuda(3)));
        for text in ["cuda:", "cuda:-1", "cuda:one", "gpu", "cuda:0:1", ""] {
            assert!(text.parse::<DeviceChoice>().is_err(), "{text}");
        }
    }

    #[test]
    fn peak_is_two_transfers_a_clock_over_the_bus() {
        let peak = h200().peak_gb_per_s().expect("clock and width are known");
        assert!((peak - 4916.736).abs() < 1e-9, "{peak}");
        assert_eq!(DeviceInfo { memory_clock_khz: 0, ..h200() }.peak_gb_per_s(), None);
    }

    #[test]
    fn compute_capability_as_one_number() {
        assert_eq!(h200().compute(), 90);
        assert_eq!(DeviceInfo { compute_capability: "12.1".to_string(), ..h200() }.compute(), 121);
    }
}
