//! Counters for rows of a GPU, from the same kernels on a simulated card of its kind, at a small size. A process has
//! one driver, so a second process of this program simulates.

use crate::recording::Simulated;
use crate::{
    cli::Options,
    device::DeviceInfo,
    experiments::{Place, Point, Work},
    kernels::own,
    simulated::{self, Card},
};
use anyhow::{Context, Result, bail};
use std::{env, process::Command};

/// The rows of these points' kernels, simulated at a small size.
///
/// # Errors
/// It fails, and the user asked for it by `--explain`: without that the rows are explained by their bytes, and a note says why.
pub(crate) fn simulated(
    options: &Options,
    points: &[Point],
    device: &DeviceInfo,
) -> Result<Option<Simulated>> {
    match simulate(options, points, device) {
        Ok(simulated) => Ok(Some(simulated)),
        Err(error) if options.explain => Err(error),
        Err(error) => {
            eprintln!("note: rows are explained by their bytes alone: {error:#}");
            Ok(None)
        }
    }
}

/// Simulates the kernels of these points, in the small: all but those that no simulated card runs, and those on memory of
/// another card, of which there is one.
fn simulate(options: &Options, points: &[Point], device: &DeviceInfo) -> Result<Simulated> {
    let card = alike(device)?;
    let mut kernels: Vec<&str> = points
        .iter()
        .filter(|point| !point.buffers.iter().any(|buffer| matches!(buffer.place, Place::Peer(_))))
        .filter(|point| matches!(&point.work, Work::Kernel(launch) if own::is_simulated(launch.info.name)))
        .map(|point| point.kernel)
        .collect();
    kernels.sort_unstable();
    kernels.dedup();
    let simulated = Simulated { rows: Vec::new(), card: card.key };
    if kernels.is_empty() {
        return Ok(simulated);
    }
    let program =
        env::current_exe().context("the program does not find itself, to simulate what it explains")?;
    let mut command = Command::new(program);
    command.args(["run", "--small", "--format", "json", "--device", &format!("sim:{}", simulated.card)]);
    command.args(&options.experiments).args(["--kernel", &kernels.join(",")]);
    // The parameters that identify a row, at the sizes of a check.
    command.args(options.given.without_sizes());
    let output = command.output().context("the program cannot be started, to simulate what it explains")?;
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        bail!(
            "what explains a GPU's rows comes from a simulated one, which failed. It said: {}",
            error.lines().last().unwrap_or_default(),
        );
    }
    let rows = record::read(&String::from_utf8_lossy(&output.stdout))
        .context("the simulation printed something that is no record")?;
    Ok(Simulated { rows, ..simulated })
}

/// The card with the device's sector rules: the one of the same compute capability, or of the next lower one.
pub(super) fn alike(device: &DeviceInfo) -> Result<Card> {
    let capability = |card: &Card| {
        let capability = card.compute_capability;
        let number = u32::from(capability.major) * 10 + u32::from(capability.minor);
        (number <= device.compute()).then_some(number)
    };
    let mut cards: Vec<(u32, Card)> =
        simulated::all().into_iter().filter_map(|card| Some((capability(&card)?, card))).collect();
    // Of several cards of the same capability, the device's own, else the last one.
    cards.sort_by_key(|(number, card)| {
        (*number, device.name.contains(card.name.trim_start_matches("NVIDIA ")))
    });
    let last = cards.pop().map(|(_, card)| card);
    last.with_context(|| format!("no card is simulated that is as old as {}", device.plain_name()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::tests::h200;

    #[test]
    fn the_card_alike_has_the_capability_or_the_next_lower() {
        let key = |name: &str, capability: &str| {
            let device =
                DeviceInfo { name: name.to_string(), compute_capability: capability.to_string(), ..h200() };
            alike(&device).map(|card| card.key).ok()
        };
        assert_eq!(key("NVIDIA H200", "9.0").as_deref(), Some("h200"));
        assert_eq!(key("NVIDIA H100 80GB HBM3", "9.0").as_deref(), Some("h100"));
        assert_eq!(key("Tesla V100-SXM2-16GB", "7.0").as_deref(), Some("v100"));
        assert_eq!(key("NVIDIA L4", "8.9").as_deref(), Some("l4"));
        assert_eq!(key("NVIDIA GeForce RTX 4090", "8.9").as_deref(), Some("rtx4090"));
        assert_eq!(key("NVIDIA B300 SXM6 AC", "10.3").as_deref(), Some("b200"));
        assert_eq!(key("Orin", "8.7").as_deref(), Some("rtx3090"));
        assert_eq!(key("none", "0.9"), None);
    }
}
