//! The kernels that the program carries as PTX, and the choice of the artefact that suits card and driver.
//!
//! Most kernels are in one PTX text for each of a few architectures, of which a device is given the best. Kernels that name
//! their architecture, such as those for tensor cores, are in a text of [their own](own), which no other device is given.

pub(crate) mod edited;
mod loaded;
pub(crate) mod own;

pub(crate) use loaded::Kernels;

use crate::{
    device::{Backend, DeviceInfo, Driver, Version},
    experiments::{self, KernelInfo},
};
use anyhow::{Context, Result, anyhow, bail};
use cuda_driver::PtxVersion;
use cuda_launch::Signatures;
use cust::module::Module;
use gpu_kernels::fill::{fill_f32, fill_f64};
use simt::ptx::outline::Header;

/// The PTX texts that the build script made of `gpu-kernels`, one for each architecture.
const EMBEDDED: &[&str] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// One PTX text and what its head says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Artefact<'a> {
    /// The text.
    pub ptx: &'a str,
    /// The compute capability that it is compiled for: 90 for compute_90.
    pub arch: u32,
    /// The `a` of compute_90a, whose PTX runs on that capability alone; empty for what newer devices run too.
    pub variant: &'a str,
    /// The version of the PTX language that it is written in.
    pub language: PtxVersion,
}

impl<'a> Artefact<'a> {
    /// Reads the head of a PTX text.
    ///
    /// # Errors
    /// The text has no `.version` or no `.target` line.
    pub(crate) fn read(ptx: &'a str) -> Result<Artefact<'a>> {
        let target = Header::of(ptx).target.and_then(|target| {
            let name = target.strip_prefix("sm_")?;
            let (digits, variant) = name.split_at(name.trim_end_matches(char::is_alphabetic).len());
            Some((digits.parse().ok()?, variant))
        });
        match (PtxVersion::of(ptx), target) {
            (Some(language), Some((arch, variant))) => Ok(Artefact { ptx, arch, variant, language }),
            _ => bail!("the PTX has no .version or no .target line at its head"),
        }
    }

    /// The architecture's name: `compute_90a`.
    pub(crate) fn name(&self) -> String {
        format!("compute_{}{}", self.arch, self.variant)
    }

    /// Whether a real card like this one could not load it, which a simulated one does.
    pub(crate) fn is_beyond(&self, device: &DeviceInfo) -> bool {
        self.arch > device.compute()
    }

    /// The oldest CUDA version whose driver reads this text.
    pub(crate) fn needs(&self) -> Version {
        self.language.oldest_driver().into()
    }
}

/// Reads the PTX that the program carries, or that of the [edited] kernels where there are any.
///
/// # Errors
/// The build left a text without a proper head.
pub(crate) fn embedded() -> Result<Vec<Artefact<'static>>> {
    match edited::artefact() {
        Some(artefact) => Ok(vec![artefact?]),
        None => EMBEDDED.iter().map(|ptx| Artefact::read(ptx)).collect(),
    }
}

/// The artefacts that pages show: the newest of those that every device runs, and those of kernels that name theirs.
///
/// # Errors
/// As [`embedded`].
pub(crate) fn shown() -> Result<Vec<Artefact<'static>>> {
    let newest = embedded()?.into_iter().max_by_key(|artefact| artefact.arch);
    Ok(newest.into_iter().chain(own::artefacts()?).collect())
}

/// The artefact for the highest architecture that both the card and the driver take. A simulated card that is older than
/// all of them gets the lowest: the simulator runs any PTX.
///
/// # Errors
/// None fits: the error names the versions on both sides.
pub(crate) fn choose<'a>(
    artefacts: &[Artefact<'a>],
    device: &DeviceInfo,
    driver: &Driver,
) -> Result<Artefact<'a>> {
    if let Some(best) = suited(artefacts, device, driver.version) {
        return Ok(best);
    }
    let for_card: Vec<_> = artefacts.iter().filter(|artefact| artefact.arch <= device.compute()).collect();
    if for_card.is_empty() {
        let carried: Vec<String> = artefacts.iter().map(Artefact::name).collect();
        bail!(
            "{} has compute capability {}, and this program carries PTX for {}: the card is too old for it. Add its \
             architecture to ARCHITECTURES in host/build.rs, if the toolchain still compiles for it, and build again",
            device.name,
            device.compute_capability,
            carried.join(", "),
        );
    }
    let Some(oldest) = for_card.iter().min_by_key(|artefact| artefact.language) else { unreachable!() };
    bail!(
        "{driver} supports CUDA {}, and the kernels are PTX {}, which needs a driver for CUDA {} or newer. Update the \
         NVIDIA driver; no toolkit is needed",
        driver.version,
        oldest.language,
        oldest.needs(),
    )
}

/// The same, for a driver of this version; `None` where none fits.
fn suited<'a>(artefacts: &[Artefact<'a>], device: &DeviceInfo, driver: Version) -> Option<Artefact<'a>> {
    let for_card = || artefacts.iter().filter(|artefact| artefact.arch <= device.compute());
    if device.backend() == Backend::Modelled && for_card().next().is_none() {
        return artefacts.iter().min_by_key(|artefact| artefact.arch).copied();
    }
    for_card().filter(|artefact| artefact.needs() <= driver).max_by_key(|artefact| artefact.arch).copied()
}

/// The artefact that [`Kernels::load`] loads for the device, by what is known of its driver.
///
/// # Errors
/// None fits, which [`Kernels::load`] explains.
pub(crate) fn for_device(device: &DeviceInfo) -> Result<Artefact<'static>> {
    let version = driver_of(device)?;
    suited(&embedded().context("the embedded kernels are damaged")?, device, version)
        .with_context(|| format!("no PTX in this program suits {} with CUDA {version}", device.name))
}

/// The CUDA version of a device's driver.
fn driver_of(device: &DeviceInfo) -> Result<Version> {
    let version = device
        .driver
        .split_once('.')
        .and_then(|(major, minor)| Some(Version { major: major.parse().ok()?, minor: minor.parse().ok()? }));
    version.with_context(|| format!("'{}' is no version of CUDA", device.driver))
}

/// Has the driver compile a PTX text for the current device.
///
/// # Errors
/// The driver's compiler refuses it: the error holds what it said. `origin` names the text in that error.
pub(crate) fn load(ptx: &str, origin: &str) -> Result<Module> {
    Module::from_ptx(ptx, &[]).map_err(|error| match cuda_driver::ext::explain_ptx(ptx) {
        // The compiler's log has a line for each complaint; an error here is one paragraph.
        Err(explanation) => {
            let lines: Vec<String> =
                explanation.to_string().lines().map(|line| line.trim().to_string()).collect();
            anyhow!("{origin}: {}", lines.join(" "))
        }
        Ok(()) => anyhow!("the driver does not load {origin}: {error}"),
    })
}

/// Every kernel of the program: those of the experiments, and those that fill buffers.
fn all() -> impl Iterator<Item = KernelInfo> {
    let of_experiments = experiments::ALL.iter().flat_map(|experiment| experiment.kernels());
    of_experiments.chain([KernelInfo::of::<fill_f32>(), KernelInfo::of::<fill_f64>()])
}

/// Holds the kernels of a PTX text to the parameters of the program's kernels of the same names. It need not have them all.
///
/// # Errors
/// One has other parameters: the error names it.
pub(crate) fn check_those_of(found: &Signatures, origin: &str) -> Result<()> {
    check(found, origin, all().filter(|kernel| found.has(kernel.name)))
}

/// The kernels that are in every artefact.
fn common() -> impl Iterator<Item = KernelInfo> {
    all().filter(|kernel| kernel.arch.is_none())
}

fn check(found: &Signatures, origin: &str, mut wanted: impl Iterator<Item = KernelInfo>) -> Result<()> {
    wanted.try_for_each(|kernel| kernel.check(found)).with_context(|| format!("cannot load {origin}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{
        Origin,
        tests::{c870, h200},
    };

    fn head(version: &str, arch: &str) -> String {
        format!(
            "//\n// Generated by LLVM NVPTX Back-End\n//\n\n.version {version}\n.target {arch}\n.address_size 64\n"
        )
    }

    fn driver(major: u32, minor: u32) -> Driver {
        Driver { origin: Origin::Nvidia { path: "libcuda.so.1".into() }, version: Version { major, minor } }
    }

    #[test]
    fn the_head_tells_architecture_and_language() {
        let text = head("7.8", "sm_90");
        let artefact = Artefact::read(&text).expect("a proper head");
        assert_eq!((artefact.arch, artefact.variant), (90, ""));
        assert_eq!(artefact.language, PtxVersion { major: 7, minor: 8 });
        let text = head("8.6", "sm_100a, debug");
        assert_eq!(Artefact::read(&text).expect("a proper head").name(), "compute_100a");
        assert!(Artefact::read(".version 7.8\n").is_err());
    }

    #[test]
    fn the_highest_architecture_that_fits_card_and_driver_is_chosen() {
        let texts = [head("6.3", "sm_75"), head("7.0", "sm_80"), head("7.8", "sm_90")];
        let artefacts: Vec<_> =
            texts.iter().map(|text| Artefact::read(text).expect("a proper head")).collect();
        let chosen = |compute: &str, driver: &Driver| {
            let device = DeviceInfo { compute_capability: compute.to_string(), ..h200() };
            choose(&artefacts, &device, driver).map(|artefact| artefact.arch)
        };
        assert_eq!(chosen("9.0", &driver(13, 0)).ok(), Some(90));
        assert_eq!(chosen("12.0", &driver(13, 0)).ok(), Some(90));
        assert_eq!(chosen("8.9", &driver(13, 0)).ok(), Some(80));
        assert_eq!(chosen("9.0", &driver(11, 4)).ok(), Some(80));
        assert_eq!(chosen("7.5", &driver(10, 2)).ok(), Some(75));

        let error = chosen("7.0", &driver(13, 0)).expect_err("no artefact for Volta").to_string();
        assert!(
            error.contains("capability 7.0") && error.contains("compute_75, compute_80, compute_90"),
            "{error}"
        );
        let error = chosen("9.0", &driver(9, 2)).expect_err("the driver is too old").to_string();
        assert!(
            error.contains("CUDA 9.2") && error.contains("PTX 6.3") && error.contains("CUDA 10.0"),
            "{error}"
        );
    }

    #[test]
    fn a_simulated_card_older_than_all_artefacts_gets_the_lowest() {
        let texts = [head("7.0", "sm_80"), head("6.3", "sm_75")];
        let artefacts: Vec<_> =
            texts.iter().map(|text| Artefact::read(text).expect("a proper head")).collect();
        let chosen = choose(&artefacts, &c870(), &driver(13, 0)).expect("the simulator runs any PTX");
        assert_eq!((chosen.arch, chosen.is_beyond(&c870())), (75, true));
        let simulated = DeviceInfo { compute_capability: "8.6".to_string(), ..c870() };
        let chosen = choose(&artefacts, &simulated, &driver(13, 0)).expect("one fits");
        assert_eq!((chosen.arch, chosen.is_beyond(&simulated)), (80, false));
    }

    #[test]
    fn the_artefact_for_a_device_follows_from_its_record() {
        let arch = |device: DeviceInfo| for_device(&device).map(|artefact| artefact.arch).ok();
        assert_eq!(arch(h200()), Some(90));
        assert_eq!(arch(DeviceInfo { compute_capability: "8.6".to_string(), ..h200() }), Some(80));
        assert_eq!(arch(DeviceInfo { driver: "11.4".to_string(), ..h200() }), Some(80));
        assert_eq!(arch(c870()), Some(75));
        assert_eq!(arch(DeviceInfo { driver: "9.2".to_string(), ..h200() }), None);
    }

    #[test]
    fn every_artefact_has_every_kernel_as_the_program_launches_it() {
        let artefacts = embedded().expect("the build left proper texts");
        assert_eq!(artefacts.iter().map(|artefact| artefact.arch).collect::<Vec<_>>(), [75, 80, 90]);
        for artefact in artefacts {
            check(&Signatures::of(artefact.ptx), "it", common()).unwrap_or_else(|error| panic!("{error:#}"));
        }
    }

    #[test]
    fn a_stale_or_foreign_module_is_refused_by_its_kernel() {
        let refusal = |ptx: &str| {
            let found = Signatures::of(ptx);
            let of = |outcome: Result<()>| outcome.err().map(|error| format!("{error:#}"));
            (of(check_those_of(&found, "old.ptx")), of(check(&found, "old.ptx", all())))
        };
        let (stale, _) = refusal(".visible .entry offset_f32(.param .u64 a, .param .u64 s) { ret; }");
        let stale = stale.expect("its second parameter has 32 bits");
        assert!(
            stale.starts_with("cannot load old.ptx: the module's kernel `offset_f32` takes (b64, b64)"),
            "{stale}"
        );
        assert!(stale.contains("(b64, b32)") && stale.contains("s: Extent<S>"), "{stale}");
        let (some, all) = refusal(".visible .entry offset_f32(.param .u64 a, .param .u32 s) { ret; }");
        assert_eq!(some, None, "a text need not have all kernels");
        let missing = all.expect("the program needs the others");
        assert!(missing.contains("has no kernel `copy_scalar`"), "{missing}");
    }
}
