//! What a run will measure: the options, brought together with the experiments and the device.

use crate::{
    cli::Options,
    device::DeviceInfo,
    experiments::{self, Experiment, Point, Request},
    memory,
    sizes::Bytes,
    sweep::Sweep,
};
use anyhow::{Result, bail};

/// The smallest default size.
const SMALLEST_DEFAULT: u64 = 64 << 20;

/// The sizes between which the copy ceiling is measured: large enough to be DRAM, small enough to be quick.
const CEILING: (u64, u64) = (256 << 20, 1 << 30);

/// The points of the experiments and kernels that the options name, in order.
///
/// # Errors
/// An experiment cannot be run as the options ask.
pub(crate) fn points(options: &Options, device: &DeviceInfo) -> Result<Vec<Point>> {
    let selected = within_range(options, selected(options));
    if options.range.is_some() && selected.iter().all(|experiment| experiment.swept().is_none()) {
        bail!("--range has nothing to act on: {} sweeps no parameter", names(&selected));
    }
    if let Some(bytes) = options.bytes {
        return points_of(options, &selected, bytes, device);
    }
    // A default has to fit; a size that the user gave is refused further on if it does not.
    let available = memory::available()?;
    let wished = default_bytes(device.l2_bytes, options.block);
    let mut bytes = wished;
    loop {
        let points = points_of(options, &selected, bytes, device)?;
        let need: u64 = memory::needed(points.iter().chain([&ceiling(&points, available)])).iter().sum();
        if need <= available || bytes <= default_bytes(0, options.block) {
            if bytes < wished {
                eprintln!(
                    "note: {} a kernel instead of {}, which is what four times L2 asks for and does not fit in memory",
                    Bytes(bytes),
                    Bytes(wished),
                );
            }
            return Ok(points);
        }
        bytes = smaller(bytes, options.block);
    }
}

fn points_of(
    options: &Options,
    selected: &[&'static dyn Experiment],
    bytes: u64,
    device: &DeviceInfo,
) -> Result<Vec<Point>> {
    let request = Request {
        kernels: options.kernels.clone(),
        precisions: options.precision.chosen(),
        bytes,
        block: options.block,
        range: None,
    };
    experiments::check_size(selected, &request)?;
    let mut points = Vec::new();
    for experiment in selected {
        let request = Request { range: range(options, selected, *experiment), ..request.clone() };
        points.extend(experiment.plan(&request, device)?);
    }
    if points.is_empty() {
        bail!(
            "{} has no point with the kernel {}: `coalesce list` shows the kernels of each experiment, and --precision \
             leaves some out",
            names(selected),
            options.kernels.join(", "),
        );
    }
    Ok(points)
}

/// The values that an experiment is to visit. A range that several experiments share may begin below the least value
/// of one of them, as 0..=32 does for strides, which then visits the rest of it. An experiment that has the range to
/// itself gets it as it is, and refuses what it cannot run.
fn range(
    options: &Options,
    selected: &[&'static dyn Experiment],
    experiment: &dyn Experiment,
) -> Option<Sweep> {
    let range = options.range.as_ref()?;
    let shared = selected.iter().filter(|experiment| experiment.swept().is_some()).count() > 1;
    let suited = range.at_least(experiment.least());
    Some(suited.filter(|_| shared).unwrap_or_else(|| range.clone()))
}

/// The experiments without those that none of the range's values suits, as 0 suits no stride; says which are left out.
/// What the user named is never left out, and neither is what alone could take the range: it says itself what is wrong.
fn within_range(options: &Options, selected: Vec<&'static dyn Experiment>) -> Vec<&'static dyn Experiment> {
    let Some(range) = options.range.as_ref().filter(|_| options.experiments.is_empty()) else {
        return selected;
    };
    let suits = |experiment: &&dyn Experiment| {
        experiment.swept().is_none() || range.at_least(experiment.least()).is_some()
    };
    let (suited, left_out): (Vec<_>, Vec<_>) = selected.iter().copied().partition(suits);
    if suited.iter().all(|experiment| experiment.swept().is_none()) {
        return selected;
    }
    for experiment in left_out {
        eprintln!(
            "note: {} is left out: --range {range} has no value from {} on",
            experiment.name(),
            experiment.least(),
        );
    }
    suited
}

/// The experiments that the options name, each once; without names, those that have the kernels named; else all.
fn selected(options: &Options) -> Vec<&'static dyn Experiment> {
    let named: Vec<_> = options.experiments.iter().filter_map(|name| experiments::by_name(name)).collect();
    let mut selected: Vec<&'static dyn Experiment> = Vec::new();
    let candidates = if named.is_empty() { experiments::ALL.to_vec() } else { named };
    for candidate in candidates {
        let has_kernel =
            candidate.kernels().iter().any(|kernel| options.kernels.iter().any(|name| name == kernel));
        let wanted = !options.experiments.is_empty() || options.kernels.is_empty() || has_kernel;
        if wanted && !selected.iter().any(|earlier| earlier.name() == candidate.name()) {
            selected.push(candidate);
        }
    }
    selected
}

fn names(experiments: &[&'static dyn Experiment]) -> String {
    experiments.iter().map(|experiment| experiment.name()).collect::<Vec<_>>().join(", ")
}

/// The power of two that is at least four times L2, made a whole number of blocks of the widest elements.
fn default_bytes(l2_bytes: u64, block: u32) -> u64 {
    let bytes = l2_bytes.saturating_mul(4).clamp(SMALLEST_DEFAULT, 1 << 40).next_power_of_two();
    whole_blocks(bytes, block)
}

fn smaller(bytes: u64, block: u32) -> u64 {
    whole_blocks((1u64 << bytes.max(1).ilog2() >> 1).max(SMALLEST_DEFAULT), block)
}

fn whole_blocks(bytes: u64, block: u32) -> u64 {
    // 16 bytes are the widest access of a copy.
    bytes.next_multiple_of(u64::from(block) * 16)
}

/// The driver's copy that everything is held against, as large as the points, within bounds and within the memory.
pub(crate) fn ceiling(points: &[Point], available: u64) -> Point {
    let largest = points.iter().map(|point| point.parameters.bytes).max().unwrap_or(0);
    let fitting = (available / 4).max(1 << 20);
    let bytes = largest.clamp(CEILING.0, CEILING.1).min(fitting) / 16 * 16;
    experiments::driver_copy(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_well_above_l2() {
        assert_eq!(default_bytes(60 << 20, 256), 256 << 20);
        assert_eq!(default_bytes(50 << 20, 256), 256 << 20);
        assert_eq!(default_bytes(6 << 20, 256), 64 << 20);
        assert_eq!(default_bytes(0, 256), 64 << 20);
        assert_eq!(default_bytes(72 << 20, 256), 512 << 20);
        assert_eq!(default_bytes(0, 96) % (96 * 16), 0);
    }

    #[test]
    fn a_default_that_does_not_fit_is_halved() {
        assert_eq!(smaller(256 << 20, 256), 128 << 20);
        assert_eq!(smaller(default_bytes(60 << 20, 96), 96), whole_blocks(128 << 20, 96));
        assert_eq!(smaller(64 << 20, 256), 64 << 20);
    }

    #[test]
    fn the_ceiling_is_as_large_as_the_points_within_bounds() {
        let bytes = |largest: u64, available: u64| {
            ceiling(&[experiments::driver_copy(largest)], available).parameters.bytes
        };
        assert_eq!(bytes(4 << 20, 100 << 30), 256 << 20);
        assert_eq!(bytes(512 << 20, 100 << 30), 512 << 20);
        assert_eq!(bytes(8 << 30, 100 << 30), 1 << 30);
        assert_eq!(bytes(512 << 20, 400 << 20), 100 << 20);
    }
}
