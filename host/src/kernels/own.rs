//! Kernels that name their architecture (`#[kernel(arch = "90a")]`), because their instructions exist there and nowhere else.
//!
//! Their PTX is a text apart. It is loaded on a GPU of exactly that compute capability, when one of them is launched first.
//! Other devices are never given it, and simulated ones of that capability only the part that the simulator knows
//! ([`simulated`]): [`why_not`] says so for a kernel and a device. An experiment leaves the kernel out with that reason; one that
//! does not is refused when it launches.

use super::{Artefact, all, driver_of, edited};
use crate::device::{Backend, DeviceInfo};
use anyhow::{Context, Result, bail};
use simt::ptx::{self, FunctionKind, Item};
use std::{collections::BTreeMap, sync::LazyLock};

/// The PTX texts of such kernels, one for each of their architectures.
const EMBEDDED: &[&str] = include!(concat!(env!("OUT_DIR"), "/own.rs"));

/// The kernels whose instructions the simulator knows.
const SIMULATED: [&str; 18] = [
    "matmul_mma",
    "async_plain",
    "async_copy",
    "async_bulk",
    "async_tensor",
    "launch_dependent",
    "cluster_chase",
    "cluster_chase_own",
    "cluster_read",
    "cluster_read_own",
    "cluster_each",
    "cluster_multicast",
    "l2_plain",
    "l2_evict_first",
    "l2_evict_last",
    "l2_fetch",
    "l2_fetch_128",
    "l2_fetch_256",
];

/// Whether simulated cards run a kernel: one that every device runs, or one of its architecture that the simulator knows.
pub(crate) fn is_simulated(kernel: &str) -> bool {
    arch(kernel).is_none() || SIMULATED.contains(&kernel)
}

/// The text of such kernels without those that the simulator does not know.
///
/// # Errors
/// It is not PTX.
pub(crate) fn simulated(text: &str) -> Result<String> {
    let mut module = ptx::parse(text).context("the PTX of kernels for one architecture is damaged")?;
    let is_unknown = |item: &Item| match item {
        Item::Function(function) => {
            function.kind == FunctionKind::Entry && !SIMULATED.contains(&&*function.name)
        }
        _ => false,
    };
    module.items.retain(|item| !is_unknown(item));
    Ok(module.to_string())
}

/// Reads these texts, with that of [edited] kernels in the place of the embedded one of its architecture.
///
/// # Errors
/// The build left a text without a proper head.
pub(crate) fn artefacts() -> Result<Vec<Artefact<'static>>> {
    let edited = edited::own_artefact().transpose()?;
    let carried = EMBEDDED.iter().map(|ptx| Artefact::read(ptx));
    let newer = |artefact: Artefact<'static>| match edited {
        Some(edited) if edited.name() == artefact.name() => edited,
        _ => artefact,
    };
    carried.map(|artefact| artefact.map(newer)).collect()
}

/// The architecture that a kernel names, by its name in the module.
pub(crate) fn arch(kernel: &str) -> Option<&'static str> {
    static NAMED: LazyLock<BTreeMap<&str, &str>> =
        LazyLock::new(|| all().filter_map(|kernel| Some((kernel.name, kernel.arch?))).collect());
    NAMED.get(kernel).copied()
}

/// The artefact of a kernel that names its architecture; `None` for any other kernel.
pub(crate) fn artefact_of(kernel: &str) -> Option<Artefact<'static>> {
    let arch = arch(kernel)?;
    artefacts().ok()?.into_iter().find(|artefact| artefact.name() == arch)
}

/// The reason why a device cannot run a kernel, as a clause about kernels of its kind. `None` if it can.
pub(crate) fn why_not(kernel: &str, device: &DeviceInfo) -> Option<String> {
    let arch = arch(kernel)?;
    let Some(artefact) = artefact_of(kernel) else {
        return Some(format!("this program carries no PTX for {arch}"));
    };
    let capability = format!("{}.{}", artefact.arch / 10, artefact.arch % 10);
    if device.backend() == Backend::Modelled && !is_simulated(kernel) {
        return Some(format!(
            "kernels for {arch} are not simulated, and run on GPUs of compute capability {capability} alone"
        ));
    }
    if device.compute() != artefact.arch {
        return Some(format!(
            "kernels for {arch} run on compute capability {capability} alone, and {} has {}",
            device.name, device.compute_capability
        ));
    }
    let driver = driver_of(device).ok()?;
    (artefact.needs() > driver).then(|| {
        format!(
            "PTX {} for {arch} needs a driver for CUDA {} or newer, and this one supports CUDA {driver}",
            artefact.language,
            artefact.needs()
        )
    })
}

/// Whether a device runs a kernel of an experiment, which leaves it out otherwise.
///
/// # Errors
/// The device cannot run it, and the user asked for it by name.
pub(crate) fn runs(kernel: &str, device: &DeviceInfo, is_named: bool) -> Result<bool> {
    match why_not(kernel, device) {
        Some(reason) if is_named => bail!("{kernel} cannot be launched: {reason}"),
        reason => Ok(reason.is_none()),
    }
}

/// Notes on those of the kernels that the device cannot run: those with the same reason in one.
pub(crate) fn left_out(kernels: impl Iterator<Item = &'static str>, device: &DeviceInfo) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for kernel in kernels {
        let Some(reason) = why_not(kernel, device) else { continue };
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(kernel),
            None => reasons.push((reason, vec![kernel])),
        }
    }
    let note = |(reason, names): (String, Vec<&str>)| match &names[..] {
        [rest @ .., last] if !rest.is_empty() => {
            format!("{} and {last} are left out: {reason}", rest.join(", "))
        }
        _ => format!("{} is left out: {reason}", names.concat()),
    };
    reasons.into_iter().map(note).collect()
}

/// Whether the device runs one of these kernels that names this architecture.
pub(crate) fn any_runs(arch: &str, kernels: &[&str], device: &DeviceInfo) -> bool {
    kernels.iter().any(|kernel| self::arch(kernel) == Some(arch) && why_not(kernel, device).is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::tests::{c870, h200};
    use cuda_launch::Signatures;

    fn reason(device: &DeviceInfo) -> Option<String> {
        why_not("matmul_overlapped", device)
    }

    #[test]
    fn kernels_of_an_architecture_are_in_its_text_and_in_no_other() {
        let artefacts = artefacts().expect("the build left proper texts");
        assert_eq!(artefacts.iter().map(Artefact::name).collect::<Vec<_>>(), ["compute_90a"]);
        let found = Signatures::of(artefacts[0].ptx);
        for kernel in all() {
            assert_eq!(found.has(kernel.name), kernel.arch == Some("compute_90a"), "{}", kernel.name);
            if kernel.arch.is_some() {
                kernel.check(&found).unwrap_or_else(|error| panic!("{error}"));
            }
        }
        for artefact in super::super::embedded().expect("the build left proper texts") {
            assert!(!Signatures::of(artefact.ptx).has("matmul_overlapped"), "{}", artefact.name());
        }
    }

    #[test]
    fn they_run_on_a_gpu_of_that_capability_with_a_driver_for_their_ptx() {
        assert_eq!(reason(&h200()), None);
        assert_eq!(reason(&DeviceInfo { driver: "12.3".to_string(), ..h200() }), None);
        let old = reason(&DeviceInfo { driver: "12.2".to_string(), ..h200() });
        assert_eq!(
            old.as_deref(),
            Some(
                "PTX 8.3 for compute_90a needs a driver for CUDA 12.3 or newer, and this one supports CUDA 12.2"
            )
        );
        for capability in ["8.0", "8.9", "10.0", "12.0"] {
            let device = DeviceInfo { compute_capability: capability.to_string(), ..h200() };
            let says = format!(
                "kernels for compute_90a run on compute capability 9.0 alone, and NVIDIA H200 has {capability}"
            );
            assert_eq!(reason(&device), Some(says));
        }
    }

    #[test]
    fn a_simulated_card_of_that_capability_is_given_those_that_the_simulator_knows() {
        let simulated = DeviceInfo { card: c870().card, ..h200() };
        assert_eq!(why_not("matmul_mma", &simulated), None);
        assert!(why_not("matmul_mma", &c870()).is_some_and(|reason| reason.contains("9.0 alone, and ")));
        let [artefact] = artefacts().expect("the build left proper texts")[..] else { panic!("one") };
        let text = self::simulated(artefact.ptx).expect("it is PTX");
        let found = Signatures::of(&text);
        for kernel in all().filter(|kernel| kernel.arch.is_some()) {
            assert_eq!(found.has(kernel.name), SIMULATED.contains(&kernel.name), "{}", kernel.name);
        }
        assert!(
            !text.contains("wgmma.mma_async"),
            "device functions without a kernel are none of the simulator's"
        );
    }

    #[test]
    fn no_simulated_card_is_given_the_others() {
        for device in [c870(), DeviceInfo { card: c870().card, ..h200() }] {
            let reason = reason(&device).expect("not simulated");
            assert!(reason.starts_with("kernels for compute_90a are not simulated, "), "{reason}");
        }
    }
}
