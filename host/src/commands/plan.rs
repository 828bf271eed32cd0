//! The plan of a run: its points, from the options, the experiments and the device.

use crate::{
    cli::{CheckOptions, ExplainOptions, Given, Options, Precisions},
    device::{Backend, DeviceInfo},
    experiments::{self, Block, Choices, Experiment, Point, Precision, Request, Scale, Work},
    memory,
    mistakes::refused,
    sizes::Bytes,
    sweep::Sweep,
};
use anyhow::{Result, bail};
use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

/// The smallest default size on a GPU.
const SMALLEST_DEFAULT: u64 = 64 << 20;

/// The default size of a kernel that is explained: it fills a card, and is soon simulated.
const EXPLAINED_DEFAULT: u64 = 4 << 20;

/// The default size of a check: some dozens of blocks.
const CHECK_DEFAULT: u64 = 64 << 10;

/// The sizes between which the copy ceiling is measured: large enough to be DRAM, small enough to be quick.
const CEILING: (u64, u64) = (256 << 20, 1 << 30);

/// The same for a simulated card. There a copy has the bandwidth of DRAM at any size, except for the latency at its
/// start.
const MODELLED_CEILING: (u64, u64) = (64 << 20, 128 << 20);

/// The user's selection of points.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    experiments: Vec<String>,
    kernels: Vec<String>,
    /// Those of the kernels that the user named one by one.
    named: Vec<String>,
    precisions: Vec<Precision>,
    bytes: Option<u64>,
    /// The size that stands in for one that the user did not give.
    default_bytes: Option<u64>,
    range: Option<Sweep>,
    scale: Scale,
    choices: Choices,
    /// The options that the user gave.
    given: Given,
}

/// Threads a block where the user does not say, of experiments whose blocks have one dimension.
const BLOCK: u32 = 256;

impl From<&Options> for Selection {
    fn from(options: &Options) -> Selection {
        Selection {
            experiments: options.experiments.clone(),
            kernels: options.kernels.clone(),
            named: options.kernels.clone(),
            precisions: options.precision.chosen(),
            bytes: options.bytes,
            default_bytes: options.small.then(|| check_bytes(&options.choices)),
            range: options.range.clone(),
            scale: match (options.small, options.full) {
                (true, _) => Scale::Small,
                (_, true) => Scale::Full,
                _ => Scale::Quick,
            },
            choices: options.choices.clone(),
            given: options.given.clone(),
        }
    }
}

impl From<&CheckOptions> for Selection {
    /// An experiment among the names stands for its kernels.
    fn from(options: &CheckOptions) -> Selection {
        let kernels = options.names.iter().flat_map(|name| match experiments::by_name(name) {
            Some(experiment) => experiment.names().into_iter().map(str::to_string).collect(),
            None => vec![name.clone()],
        });
        Selection {
            experiments: Vec::new(),
            kernels: kernels.collect(),
            named: options.names.clone(),
            precisions: options.precision.chosen(),
            bytes: options.bytes,
            default_bytes: Some(check_bytes(&options.choices)),
            range: options.range.clone(),
            scale: Scale::Small,
            choices: options.choices.clone(),
            given: options.given.clone(),
        }
    }
}

/// The points of a health check: a few for each component that a fault can be in.
const PROBES: [Probe; 11] = [
    probe("copy", "copy_driver", &[]),
    probe("copy", "copy_streaming", &[]),
    probe("l2", "l2_store", &[("stored", "32 of 32 bytes")]),
    probe("mountain", "mountain", &[("stride", "1")]),
    probe("transfer", "transfer_driver", &[("memory", "pinned"), ("direction", "to-device")]),
    probe("transfer", "transfer_driver", &[("memory", "pinned"), ("direction", "to-host")]),
    probe("banks", "banks_4", &[("stride", "1")]),
    probe("banks", "banks_8", &[("stride", "1")]),
    probe("latency", "chase_shared", &[]),
    probe("launch", "launch_empty", &[("handed", "calls")]),
    probe("launch", "launch_parameters_64", &[("handed", "calls")]),
];

/// A point of a health check, by its experiment, its kernel and the parameters that tell it from others.
struct Probe {
    experiment: &'static str,
    kernel: &'static str,
    parameters: &'static [(&'static str, &'static str)],
}

const fn probe(
    experiment: &'static str,
    kernel: &'static str,
    parameters: &'static [(&'static str, &'static str)],
) -> Probe {
    Probe { experiment, kernel, parameters }
}

/// Keeps the points of a health check. Of those that differ in size alone it keeps the largest; of the memory mountain the
/// largest that stays in L2.
pub(crate) fn keep_probes(points: &mut Vec<Point>, device: &DeviceInfo) {
    let value = |point: &Point, name: &str| match (&point.parameters.swept, point.parameters.more.get(name)) {
        (Some(swept), _) if swept.name == name => Some(swept.value.to_string()),
        (_, Some(serde_json::Value::String(text))) => Some(text.clone()),
        (_, other) => other.map(ToString::to_string),
    };
    let mut kept = Vec::new();
    for Probe { experiment, kernel, parameters } in PROBES {
        let matches = |point: &&Point| {
            let in_l2 = experiment != "mountain" || point.parameters.bytes <= device.l2_bytes / 2;
            let same = parameters.iter().all(|(name, wanted)| value(point, name).as_deref() == Some(wanted));
            (point.experiment, point.kernel) == (experiment, kernel) && in_l2 && same
        };
        let largest = points.iter().filter(matches).max_by_key(|point| point.parameters.bytes);
        kept.extend(largest.and_then(|largest| points.iter().position(|point| std::ptr::eq(point, largest))));
    }
    let mut number = 0;
    points.retain(|_| {
        number += 1;
        kept.contains(&(number - 1))
    });
}

impl Selection {
    /// The experiments of a health check, from which [`keep_probes`] takes a few points.
    pub(crate) fn probe(options: &Options) -> Selection {
        let mut experiments: Vec<String> = Vec::new();
        for Probe { experiment, .. } in PROBES {
            if !experiments.iter().any(|known| known == experiment) {
                experiments.push(experiment.to_string());
            }
        }
        let kernels = PROBES.iter().map(|probe| probe.kernel.to_string()).collect();
        Selection { experiments, kernels, ..Selection::from(options) }
    }

    /// The points for explaining a kernel: small ones, to find the most telling, or those of a usual size.
    pub(crate) fn explained(options: &ExplainOptions, scale: Scale) -> Selection {
        let default = match scale {
            Scale::Small => check_bytes(&options.choices),
            Scale::Quick | Scale::Full => whole_blocks(EXPLAINED_DEFAULT, common_block(&options.choices)),
        };
        Selection {
            experiments: Vec::new(),
            kernels: vec![options.name.clone()],
            named: vec![options.name.clone()],
            precisions: Precisions::Both.chosen(),
            bytes: options.bytes,
            default_bytes: Some(default),
            range: options.range.clone(),
            scale,
            choices: options.choices.clone(),
            given: options.given.clone(),
        }
    }
}

/// The points that are wanted, in order.
///
/// # Errors
/// An experiment cannot be run as the selection asks.
pub(crate) fn points(selection: &Selection, device: &DeviceInfo) -> Result<Vec<Point>> {
    let (selected, bytes, points) = planned(selection, device)?;
    for experiment in &selected {
        experiment.notes(&request(selection, bytes), device).into_iter().for_each(say_once);
    }
    Ok(points)
}

/// Prints a note, unless the run of another card has printed the same.
fn say_once(note: String) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if !said.contains(&note) {
        eprintln!("note: {note}");
        said.insert(note);
    }
}

/// The same, without notes of what a whole run leaves out.
///
/// # Errors
/// As [`points`].
pub(crate) fn points_alone(selection: &Selection, device: &DeviceInfo) -> Result<Vec<Point>> {
    planned(selection, device).map(|(_, _, points)| points)
}

/// The experiments selected, the size of those that are about bytes, and the points.
fn planned(
    selection: &Selection,
    device: &DeviceInfo,
) -> Result<(Vec<&'static dyn Experiment>, u64, Vec<Point>)> {
    let selected = within_range(selection, selected(selection));
    understood(selection, &selected).map_err(refused)?;
    let (bytes, points) = sized_points(selection, &selected, device)?;
    Ok((selected, bytes, points))
}

/// Refuses options that none of the experiments takes.
fn understood(selection: &Selection, selected: &[&'static dyn Experiment]) -> Result<()> {
    let takes = |experiment: &&dyn Experiment, option: &str| experiment.options().contains(&option);
    for option in selection.given.names() {
        if selected.iter().any(|experiment| takes(experiment, option)) {
            continue;
        }
        let others: Vec<_> =
            experiments::ALL.iter().copied().filter(|experiment| takes(experiment, option)).collect();
        let take = |experiments: &[&dyn Experiment]| if experiments.len() == 1 { "takes" } else { "take" };
        bail!(
            "--{option} has nothing to act on: {} {} it. {}",
            names(selected),
            if selected.len() == 1 { "does not take" } else { "do not take" },
            match &others[..] {
                [] => "No experiment does".to_string(),
                others => format!("{} {} it", names(others), take(others)),
            },
        );
    }
    Ok(())
}

/// The points and the size that they have where they are about bytes.
fn sized_points(
    selection: &Selection,
    selected: &[&'static dyn Experiment],
    device: &DeviceInfo,
) -> Result<(u64, Vec<Point>)> {
    if let Some(bytes) = selection.bytes.or(selection.default_bytes) {
        return Ok((bytes, points_of(selection, selected, bytes, device).map_err(refused)?));
    }
    // A default has to fit; a size that the user gave is refused further on if it does not.
    let block = common_block(&selection.choices);
    let available = memory::available(device.backend())?;
    let (wished, least) = match device.backend() {
        Backend::Measured => (default_bytes(device.l2_bytes, block), default_bytes(0, block)),
        Backend::Modelled => {
            // One thread per element of four bytes: no more blocks than a grid may have.
            let grid = u64::from(device.max_grid) * u64::from(block) * 4;
            let wished = default_bytes(device.l2_bytes, block).min(power_of_two_up_to(grid));
            (whole_blocks(wished, block), whole_blocks(1 << 20, block))
        }
    };
    let mut bytes = wished;
    loop {
        let points = points_of(selection, selected, bytes, device).map_err(refused)?;
        let need: u64 = memory::needed(points.iter().chain([&ceiling(&points, device.backend(), available)]))
            .iter()
            .sum();
        if need <= available || bytes <= least {
            if selected.iter().any(|experiment| experiment.options().contains(&"bytes")) {
                say_default(bytes, wished);
            }
            return Ok((bytes, points));
        }
        bytes = smaller(bytes, block, least);
    }
}

/// Says on stderr where the size is not the one that measuring wants.
fn say_default(bytes: u64, wished: u64) {
    if bytes < wished {
        eprintln!(
            "note: {} a kernel instead of {}, which is what four times L2 asks for and does not fit in memory",
            Bytes(bytes),
            Bytes(wished),
        );
    }
}

fn points_of(
    selection: &Selection,
    selected: &[&'static dyn Experiment],
    bytes: u64,
    device: &DeviceInfo,
) -> Result<Vec<Point>> {
    let blocks = linear_blocks(selection, selected)?;
    let request = request(selection, bytes);
    let about_bytes: Vec<_> =
        selected.iter().copied().filter(|experiment| experiment.options().contains(&"bytes")).collect();
    if request.sized {
        for &block in &blocks {
            experiments::check_size(&about_bytes, &Request { block, ..request.clone() })?;
        }
    }
    let mut points = Vec::new();
    for experiment in selected {
        let range = range(selection, selected, *experiment);
        if experiment.two_dimensional() {
            let request = Request { range, ..request.clone() };
            points.extend(experiment.points(&request.suiting(*experiment, device), device)?);
            continue;
        }
        for (turn, &block) in blocks.iter().enumerate() {
            let mut request = Request { range: range.clone(), block, ..request.clone() };
            if !request.choices.block.is_empty() {
                request.choices.block = vec![Block::linear(block)];
            }
            let planned = experiment.points(&request.suiting(*experiment, device), device)?;
            // The driver's own copies have no block, and are not measured again.
            points.extend(
                planned.into_iter().filter(|point| turn == 0 || !matches!(point.work, Work::Driver(..))),
            );
        }
    }
    if points.is_empty() {
        if selection.kernels.is_empty() {
            let mut reasons: Vec<String> =
                selected.iter().flat_map(|experiment| experiment.notes(&request, device)).collect();
            reasons.dedup();
            let colon = if reasons.is_empty() { "" } else { ": " };
            bail!(
                "nothing of {} runs on {} with these options{colon}{}",
                names(selected),
                device.plain_name(),
                reasons.join("; "),
            );
        }
        bail!(
            "{} has no point with the kernel {}: `coalesce list` shows the kernels of each experiment, and --precision \
             leaves some out",
            names(selected),
            selection.kernels.join(", "),
        );
    }
    Ok(points)
}

/// The request to the experiments.
fn request(selection: &Selection, bytes: u64) -> Request {
    Request {
        kernels: selection.kernels.clone(),
        named: selection.named.clone(),
        precisions: selection.precisions.clone(),
        bytes,
        sized: selection.bytes.is_some(),
        block: selection.choices.block.first().map_or(BLOCK, |block| block.x),
        range: selection.range.clone(),
        scale: selection.scale,
        choices: selection.choices.clone(),
    }
}

/// Threads a block, for each time that experiments of one dimension are planned.
fn linear_blocks(selection: &Selection, selected: &[&'static dyn Experiment]) -> Result<Vec<u32>> {
    let linear: Vec<_> =
        selected.iter().copied().filter(|experiment| !experiment.two_dimensional()).collect();
    let blocks = &selection.choices.block;
    if let Some(block) = blocks.iter().find(|block| block.y > 1)
        && !linear.is_empty()
    {
        let others: Vec<_> =
            experiments::ALL.iter().copied().filter(|experiment| experiment.two_dimensional()).collect();
        bail!(
            "--block {block} has two dimensions, and the blocks of {} have one, as in --block 256. Two are for {}",
            names(&linear),
            names(&others),
        );
    }
    Ok(if blocks.is_empty() || linear.is_empty() {
        vec![BLOCK]
    } else {
        blocks.iter().map(|block| block.x).collect()
    })
}

/// The least number of threads that is whole blocks of every block that the user gave.
fn common_block(choices: &Choices) -> u32 {
    let common = choices
        .block
        .iter()
        .fold(1, |common, block| experiments::least_common_multiple(common, u64::from(block.threads())));
    // Block sizes with a huge common multiple are refused further on, with sizes that fit.
    match u32::try_from(common) {
        Ok(common) if !choices.block.is_empty() && common <= 1 << 20 => common,
        _ => BLOCK,
    }
}

/// The values that an experiment is to visit. A range that several experiments share may begin below the least value
/// of one of them, as 0..=32 does for strides, which then visits the rest of it. An experiment that has the range to
/// itself gets it as it is, and refuses what it cannot run.
fn range(
    selection: &Selection,
    selected: &[&'static dyn Experiment],
    experiment: &dyn Experiment,
) -> Option<Sweep> {
    let range = selection.range.as_ref()?;
    let shared = selected.iter().filter(|experiment| experiment.swept().is_some()).count() > 1;
    let suited = range.at_least(experiment.least());
    Some(suited.filter(|_| shared).unwrap_or_else(|| range.clone()))
}

/// Drops the experiments that suit none of the range's values, as 0 suits no stride, and says which. An experiment that
/// the user named, or the only one that takes the range, stays and reports the error itself.
fn within_range(
    selection: &Selection,
    selected: Vec<&'static dyn Experiment>,
) -> Vec<&'static dyn Experiment> {
    let Some(range) = selection.range.as_ref().filter(|_| selection.experiments.is_empty()) else {
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

/// The experiments that the selection names, each once; without names, those that have the kernels named; else all.
fn selected(selection: &Selection) -> Vec<&'static dyn Experiment> {
    let named: Vec<_> = selection.experiments.iter().filter_map(|name| experiments::by_name(name)).collect();
    let mut selected: Vec<&'static dyn Experiment> = Vec::new();
    let candidates = if named.is_empty() { experiments::ALL.to_vec() } else { named };
    for candidate in candidates {
        let has_kernel =
            candidate.names().iter().any(|kernel| selection.kernels.iter().any(|name| name == kernel));
        let wanted = !selection.experiments.is_empty() || selection.kernels.is_empty() || has_kernel;
        if wanted && !selected.iter().any(|earlier| earlier.name() == candidate.name()) {
            selected.push(candidate);
        }
    }
    selected
}

/// Every kernel that the selection may launch.
pub(crate) fn kernels(selection: &Selection) -> Vec<&'static str> {
    let all = selected(selection).into_iter().flat_map(|experiment| experiment.kernels());
    let wanted =
        |name: &&str| selection.kernels.is_empty() || selection.kernels.iter().any(|kernel| kernel == name);
    all.map(|kernel| kernel.name).filter(wanted).collect()
}

fn names(experiments: &[&'static dyn Experiment]) -> String {
    experiments.iter().map(|experiment| experiment.name()).collect::<Vec<_>>().join(", ")
}

/// The power of two that is at least four times L2, as a whole number of blocks of the widest elements.
fn default_bytes(l2_bytes: u64, block: u32) -> u64 {
    let bytes = l2_bytes.saturating_mul(4).clamp(SMALLEST_DEFAULT, 1 << 40).next_power_of_two();
    whole_blocks(bytes, block)
}

/// The next smaller power of two, made whole blocks, but no less than `least`.
fn smaller(bytes: u64, block: u32, least: u64) -> u64 {
    whole_blocks(power_of_two_up_to(bytes) >> 1, block).max(least)
}

fn power_of_two_up_to(bytes: u64) -> u64 {
    1 << bytes.max(1).ilog2()
}

/// The size of a check.
fn check_bytes(choices: &Choices) -> u64 {
    whole_blocks(CHECK_DEFAULT, common_block(choices))
}

fn whole_blocks(bytes: u64, block: u32) -> u64 {
    // 16 bytes are the widest access of a copy.
    bytes.next_multiple_of(u64::from(block) * 16)
}

/// The driver's copy that everything is held against, as large as the points, within bounds and within the memory.
pub(crate) fn ceiling(points: &[Point], backend: Backend, available: u64) -> Point {
    let (least, most) = match backend {
        Backend::Measured => CEILING,
        Backend::Modelled => MODELLED_CEILING,
    };
    let largest = points.iter().map(|point| point.parameters.bytes).max().unwrap_or(0);
    let fitting = (available / 4).max(1 << 20);
    let bytes = largest.clamp(least, most).min(fitting) / 16 * 16;
    experiments::driver_copy(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::tests::{c870, h200};

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
        let least = default_bytes(0, 256);
        assert_eq!(smaller(256 << 20, 256, least), 128 << 20);
        assert_eq!(smaller(default_bytes(60 << 20, 96), 96, least), whole_blocks(128 << 20, 96));
        assert_eq!(smaller(64 << 20, 256, least), 64 << 20);
    }

    #[test]
    fn an_experiment_without_a_row_says_why() {
        let selection = Selection {
            experiments: vec!["cluster".to_string()],
            kernels: Vec::new(),
            named: Vec::new(),
            precisions: vec![Precision::F32],
            bytes: None,
            default_bytes: None,
            range: None,
            scale: Scale::Quick,
            choices: Choices::default(),
            given: Given::default(),
        };
        let planned = points_of(&selection, &selected(&selection), 1 << 20, &c870());
        let error = planned.map(|points| points.len()).expect_err("such a card has no clusters").to_string();
        let start = "nothing of cluster runs on Tesla C870 with these options: ";
        assert!(error.starts_with(start) && error.contains(" are left out: "), "{error}");
    }

    #[test]
    fn a_default_size_is_rounded_for_each_experiment_and_a_chosen_one_is_refused() {
        let bytes = 1 << 20;
        let default = Selection {
            experiments: vec!["offset".to_string(), "copy".to_string()],
            kernels: vec!["offset_f64".to_string(), "copy_scalar".to_string()],
            named: Vec::new(),
            precisions: vec![Precision::F64],
            bytes: None,
            default_bytes: Some(bytes),
            range: "0".parse().ok(),
            scale: Scale::Quick,
            choices: Choices { block: vec![Block::linear(96)], ..Choices::default() },
            given: Given::default(),
        };
        let sizes = |selection: &Selection| {
            let points = points_of(selection, &selected(selection), bytes, &h200())?;
            Ok::<_, anyhow::Error>(points.iter().map(|point| point.parameters.bytes).collect::<Vec<_>>())
        };
        // 96 threads with an f64 each: 768 bytes.
        assert_eq!(sizes(&default).expect("each takes its own"), [bytes / 768 * 768, bytes]);
        let chosen = Selection { bytes: Some(bytes), ..default };
        let error = sizes(&chosen).expect_err("offset cannot take it").to_string();
        assert!(
            error.starts_with("`--bytes 1048576` is not a multiple of 768, which offset, copy need"),
            "{error}"
        );
    }

    #[test]
    fn the_ceiling_is_as_large_as_the_points_within_bounds() {
        let bytes = |largest: u64, available: u64| {
            let points = [experiments::driver_copy(largest)];
            ceiling(&points, Backend::Measured, available).parameters.bytes
        };
        assert_eq!(bytes(4 << 20, 100 << 30), 256 << 20);
        assert_eq!(bytes(512 << 20, 100 << 30), 512 << 20);
        assert_eq!(bytes(8 << 30, 100 << 30), 1 << 30);
        assert_eq!(bytes(512 << 20, 400 << 20), 100 << 20);
        let modelled = ceiling(&[experiments::driver_copy(4 << 20)], Backend::Modelled, 100 << 30);
        assert_eq!(modelled.parameters.bytes, 64 << 20);
    }
}
