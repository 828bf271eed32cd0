//! Devices, as records have them.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The end of the names that the simulated driver gives its devices, for programs that know nothing of it.
const MODELLED: &str = " (modelled)";

/// Properties of a device as the driver reports them, as far as measuring depends on them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// Its number, as `--device cuda:N` takes it; 0 for a simulated one.
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
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// The maximum number of threads per block.
    pub max_threads_per_block: u32,
    /// The most blocks a grid may have in x.
    pub max_grid: u32,
    /// The most blocks a grid may have in y.
    pub max_grid_y: u32,
    /// The most shared memory that a block may have, in bytes; above 48 KiB it is dynamic.
    pub max_shared_per_block: u32,
    /// The memory clock in kHz, 0 where the driver does not say.
    pub memory_clock_khz: u32,
    /// The width of the memory bus in bits, 0 where the driver does not say.
    pub memory_bus_bits: u32,
    /// The key of the card that a simulated device is made from, as in h200; absent for a GPU. [`Run`](crate::Run) has the whole
    /// card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<String>,
}

impl DeviceInfo {
    /// The source of this device's times.
    pub fn backend(&self) -> Backend {
        if self.card.is_some() { Backend::Modelled } else { Backend::Measured }
    }

    /// Its name, where it is said anyway that a simulated one is simulated.
    pub fn plain_name(&self) -> &str {
        self.name.strip_suffix(MODELLED).unwrap_or(&self.name)
    }

    /// The value of `--device` that selects it.
    pub fn selector(&self) -> String {
        match &self.card {
            Some(card) => format!("sim:{card}"),
            None => format!("cuda:{}", self.ordinal),
        }
    }

    /// The compute capability as one number, as architectures are named: 90 for 9.0.
    pub fn compute(&self) -> u32 {
        let (major, minor) =
            self.compute_capability.split_once('.').unwrap_or((&self.compute_capability, "0"));
        major.parse::<u32>().unwrap_or(0) * 10 + minor.parse::<u32>().unwrap_or(0)
    }

    /// The peak bandwidth in GB/s by memory clock and bus width, two transfers per clock. `None` where the driver does
    /// not tell both, as for a simulated card, whose description has it.
    pub fn peak_gb_per_s(&self) -> Option<f64> {
        let bits_per_second = 2.0 * f64::from(self.memory_clock_khz) * 1e3 * f64::from(self.memory_bus_bits);
        (bits_per_second > 0.0).then_some(bits_per_second / 8.0 / 1e9)
    }
}

/// The source of a time. Measured and modelled times are never mixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// Events on a GPU.
    Measured,
    /// A model of one.
    Modelled,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Backend::Measured => "measured",
            Backend::Modelled => "modelled",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn h200() -> DeviceInfo {
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

    fn c870() -> DeviceInfo {
        DeviceInfo {
            name: "Tesla C870 (modelled)".to_string(),
            memory_clock_khz: 0,
            card: Some("c870".to_string()),
            ..h200()
        }
    }

    #[test]
    fn a_simulated_device_is_told_apart() {
        assert_eq!((h200().backend(), h200().selector()), (Backend::Measured, "cuda:0".to_string()));
        assert_eq!((c870().backend(), c870().selector()), (Backend::Modelled, "sim:c870".to_string()));
        assert_eq!(c870().peak_gb_per_s(), None);
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
