//! What the sensors said during one sample, and the conditions of a row, which has several.
//!
//! Power is metered by the card's energy counter, because what NVML calls power is a mean over up to a second, of whatever
//! the card did in it. The counter is exact at its updates, which come every 20 to 100 ms and are of what happened shortly
//! before. So the energy of a sample is the difference of its last update and the first one that is of this sample alone, and
//! the time is the time between these two:
//!
//! ```text
//! sample      |===============================================|
//! updates  .      .      .      .      .      .      .      .
//!             |- lag -|  ^ first                      ^ last
//! ```

use record::{Conditions, Energy, Limit, Readings};
use std::{collections::BTreeSet, time::Duration};

/// The energy counter's updates are of what the card did at most so long before.
const LAG: Duration = Duration::from_millis(100);

/// The least time between two updates that is metered: several times what the moment of an update is uncertain by.
const LEAST: Duration = Duration::from_millis(50);

/// Readings in one window.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Log {
    /// Clocks of the multiprocessors.
    pub sm_clock_mhz: Vec<f64>,
    /// Clocks of device memory.
    pub memory_clock_mhz: Vec<f64>,
    /// Temperatures.
    pub temperature_c: Vec<f64>,
    /// What held the clock down.
    pub limits: BTreeSet<Limit>,
    /// The energy counter as it was last read.
    energy_mj: Option<u64>,
    /// Updates of it: when they were seen, from the beginning of the window, and what it was then.
    updates: Vec<(Duration, u64)>,
}

impl Log {
    /// Takes a reading of the energy counter, in millijoules, which ended so long after the window's beginning.
    pub(super) fn meter(&mut self, at: Duration, energy_mj: Option<u64>) {
        let is_update = |before: u64| energy_mj.is_some_and(|now| now != before);
        if self.energy_mj.is_some_and(is_update) {
            self.updates.extend(energy_mj.map(|now| (at, now)));
        }
        self.energy_mj = energy_mj;
    }

    /// Joules and the seconds in which they were spent; `None` where that was too short.
    fn metered(&self) -> Option<(f64, f64)> {
        let (first, from) = *self.updates.iter().find(|(at, _)| *at >= LAG)?;
        let (last, to) = *self.updates.last()?;
        let time = last.checked_sub(first).filter(|&time| time >= LEAST)?;
        Some((to.checked_sub(from)? as f64 / 1e3, time.as_secs_f64()))
    }
}

/// The conditions of a row whose samples have these logs, and whose launches have this time and this number of operations.
pub(crate) fn conditions(
    logs: &[Log],
    power_limit_w: Option<f64>,
    launch_ms: f64,
    flops: Option<u64>,
) -> Conditions {
    let readings =
        |of: &dyn Fn(&Log) -> &[f64]| Readings::of(&logs.iter().flat_map(of).copied().collect::<Vec<_>>());
    let sum = |(joules, seconds): (f64, f64), (more, time): (f64, f64)| (joules + more, seconds + time);
    let metered = logs.iter().filter_map(Log::metered).reduce(sum);
    let limits: BTreeSet<Limit> = logs.iter().flat_map(|log| log.limits.iter().copied()).collect();
    Conditions {
        sm_clock_mhz: readings(&|log| &log.sm_clock_mhz),
        memory_clock_mhz: readings(&|log| &log.memory_clock_mhz),
        temperature_c: readings(&|log| &log.temperature_c),
        limited_by: limits.into_iter().collect(),
        power_limit_w,
        energy: metered.map(|(joules, seconds)| Energy::of(joules, seconds, launch_ms, flops)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window in which the counter was read every ten milliseconds; at each `update` it has 14 J more: 700 W at 20 ms.
    fn metered(milliseconds: u64, update: u64) -> Log {
        let mut log = Log::default();
        for at in (0..milliseconds).step_by(10) {
            log.meter(Duration::from_millis(at), Some(5_000_000 + at / update * 14_000));
        }
        log
    }

    #[test]
    fn energy_is_of_the_time_between_updates_behind_the_lag() {
        // Updates at 20, 40, .. 480 ms; from the one at 100 ms on they count.
        let (joules, seconds) = metered(500, 20).metered().expect("it is long enough");
        assert_eq!(joules, 14.0 * 19.0);
        assert!((seconds - 0.38).abs() < 1e-9, "{seconds}");
        // A burst is shorter than the lag; two updates are not enough if they are too close.
        assert_eq!(metered(3, 20).metered(), None);
        assert_eq!(metered(130, 20).metered(), None, "100 and 120 ms");
        assert_eq!(metered(300, 100).metered(), Some((14.0, 0.1)), "100 and 200 ms");
        assert_eq!(Log::default().metered(), None);
    }

    #[test]
    fn the_first_reading_of_a_window_is_no_update() {
        let mut log = Log::default();
        log.meter(Duration::from_millis(150), Some(7));
        log.meter(Duration::from_millis(250), None);
        log.meter(Duration::from_millis(300), Some(9));
        assert_eq!(log.updates, [], "it changed at a time that nobody knows");
        log.meter(Duration::from_millis(310), Some(11));
        assert_eq!(log.updates, [(Duration::from_millis(310), 11)]);
    }

    #[test]
    fn a_row_has_the_readings_of_all_its_samples() {
        let clocks = |clocks: &[f64], log: Log| Log { sm_clock_mhz: clocks.to_vec(), ..log };
        let mut logs = [clocks(&[1980.0, 1755.0], metered(500, 20)), clocks(&[1800.0], metered(300, 20))];
        logs[1].limits.insert(Limit::PowerCap);
        let row = conditions(&logs, Some(700.0), 2.0, Some(1_400_000_000_000));
        let clock = row.sm_clock_mhz.expect("three readings");
        assert_eq!((clock.median, clock.min, clock.max, clock.count), (1800.0, 1755.0, 1980.0, 3));
        assert_eq!(
            (row.memory_clock_mhz, row.limited_by, row.power_limit_w),
            (None, vec![Limit::PowerCap], Some(700.0))
        );
        let energy = row.energy.expect("both are long enough");
        assert!(
            (energy.power_w - 700.0).abs() < 1e-6 && (energy.metered_s - 0.56).abs() < 1e-9,
            "{energy:?}"
        );
        assert!((energy.picojoules_per_flop.expect("it has operations") - 1.0).abs() < 1e-9, "{energy:?}");
        assert_eq!(conditions(&[Log::default()], None, 2.0, None), Conditions::default());
    }
}
