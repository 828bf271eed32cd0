//! The state of the card while a row's samples were taken, by the card's own sensors.

use crate::median;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Readings of the card's sensors while the launches of a row ran, its own launches alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// The clock of the multiprocessors, in MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sm_clock_mhz: Option<Readings>,
    /// The clock of device memory, in MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_clock_mhz: Option<Readings>,
    /// The temperature of the GPU, in degrees Celsius.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature_c: Option<Readings>,
    /// What held the clock of the multiprocessors down in at least one reading.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limited_by: Vec<Limit>,
    /// The power that the card is allowed, in watts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_limit_w: Option<f64>,
    /// The energy that the card metered; `None` where the samples were too short to meter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<Energy>,
}

/// Energy of a row's launches, from the card's own counter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Energy {
    /// The mean power, in watts.
    pub power_w: f64,
    /// Seconds that it is the mean over, between updates of the counter during the row's own launches.
    pub metered_s: f64,
    /// Joules of one launch: that power times the median time.
    pub launch_j: f64,
    /// Joules of one floating-point operation, times 10^12; `None` where the experiment does not rate operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub picojoules_per_flop: Option<f64>,
}

impl Energy {
    /// The energy of launches that take `launch_ms` each and have `flops` operations, at a mean power over `metered_s`.
    pub fn of(joules: f64, metered_s: f64, launch_ms: f64, flops: Option<u64>) -> Energy {
        let power_w = joules / metered_s;
        let launch_j = power_w * launch_ms / 1e3;
        let picojoules_per_flop =
            flops.filter(|&flops| flops > 0).map(|flops| launch_j * 1e12 / flops as f64);
        Energy { power_w, metered_s, launch_j, picojoules_per_flop }
    }
}

/// Readings of one sensor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Readings {
    /// The middle one; of an even number, the mean of the two in the middle.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
    /// The number of readings.
    pub count: usize,
}

impl Readings {
    /// Sums readings up; `None` where there are none.
    pub fn of(values: &[f64]) -> Option<Readings> {
        let min = values.iter().copied().reduce(f64::min)?;
        let max = values.iter().copied().reduce(f64::max)?;
        Some(Readings { median: median(values)?, min, max, count: values.len() })
    }
}

/// A reason for which a card lowers the clock of its multiprocessors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// The power limit.
    PowerCap,
    /// The temperature of the GPU or of its memory.
    Temperature,
    /// A slowdown by hardware, by half or more: heat, a power brake, or a peak of current.
    HardwareSlowdown,
    /// The power supply's brake signal.
    PowerBrake,
    /// Clocks that somebody set.
    ClockSetting,
    /// Another GPU of the same group, whose clock this one follows.
    SyncBoost,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Limit::PowerCap => "power-cap",
            Limit::Temperature => "temperature",
            Limit::HardwareSlowdown => "hardware-slowdown",
            Limit::PowerBrake => "power-brake",
            Limit::ClockSetting => "clock-setting",
            Limit::SyncBoost => "sync-boost",
        })
    }
}

/// The source of a run's [`Conditions`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sensors {
    /// NVML, of the driver with this version.
    Nvml(String),
    /// There is none, for this reason.
    Missing(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn energy_follows_from_power_and_time() {
        // 140 J in 0.2 s are 700 W; 2 ms of it are 1.4 J, over 2 * 10^12 operations 0.7 pJ each.
        let energy = Energy::of(140.0, 0.2, 2.0, Some(2_000_000_000_000));
        assert_eq!((energy.power_w, energy.launch_j, energy.metered_s), (700.0, 1.4, 0.2));
        assert!((energy.picojoules_per_flop.expect("it has operations") - 0.7).abs() < 1e-12);
        assert_eq!(Energy::of(140.0, 0.2, 2.0, None).picojoules_per_flop, None);
        assert_eq!(Energy::of(140.0, 0.2, 2.0, Some(0)).picojoules_per_flop, None);
    }

    #[test]
    fn readings_are_summed_up() {
        let readings = Readings::of(&[1980.0, 1755.0, 1965.0]);
        assert_eq!(readings, Some(Readings { median: 1965.0, min: 1755.0, max: 1980.0, count: 3 }));
        assert_eq!(Readings::of(&[]), None);
    }

    #[test]
    fn limits_are_written_as_they_are_shown() {
        use Limit::*;
        for limit in [PowerCap, Temperature, HardwareSlowdown, PowerBrake, ClockSetting, SyncBoost] {
            assert_eq!(serde_json::to_string(&limit).ok(), Some(format!("\"{limit}\"")));
        }
    }

    #[test]
    fn sensors_are_a_source_or_a_reason() {
        let nvml = Sensors::Nvml("580.159.04".to_string());
        assert_eq!(serde_json::to_string(&nvml).ok().as_deref(), Some(r#"{"nvml":"580.159.04"}"#));
        let missing: Result<Sensors, _> = serde_json::from_str(r#"{"missing":"no NVML"}"#);
        assert_eq!(missing.ok(), Some(Sensors::Missing("no NVML".to_string())));
    }
}
