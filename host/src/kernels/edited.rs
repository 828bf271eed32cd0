//! Kernels that were edited since this program was compiled.
//!
//! Where nothing but the bodies of kernels has changed, `cargo xtask run` does not compile this program again: it names
//! the compiler of the kernels in [`BUILDER`]. The kernels that a run may launch are then compiled for the architecture that
//! the device needs, which takes about a second, and that PTX takes the place of the embedded one. Kernels that name their
//! architecture are a second text, compiled where the device runs them.

use super::{Artefact, all, choose, embedded, own};
use crate::{
    device::{DeviceInfo, Driver},
    experiments::KernelInfo,
};
use anyhow::{Context, Result, bail};
use std::{
    collections::BTreeSet,
    env,
    ffi::OsStr,
    fs,
    path::Path,
    process::{Command, Stdio},
    sync::OnceLock,
};

/// The environment variable that holds the path of the compiler: this package's build script.
const BUILDER: &str = "COALESCE_KERNEL_BUILDER";

/// The kernels that fill buffers, which every run needs.
const FILLS: [&str; 2] = ["fill_f32", "fill_f64"];

/// What [`compile`] has made.
static TEXTS: OnceLock<Texts> = OnceLock::new();

/// The PTX of edited kernels.
struct Texts {
    /// Of those that every device runs.
    common: String,
    /// Of those that name the device's architecture, if the run has any.
    own: Option<String>,
}

/// Whether edited kernels take the place of the embedded ones.
pub(super) fn any() -> bool {
    TEXTS.get().is_some()
}

/// The PTX of the edited kernels, once [`compile`] has made it.
pub(super) fn artefact() -> Option<Result<Artefact<'static>>> {
    TEXTS.get().map(|texts| Artefact::read(&texts.common))
}

/// The same of those that name their architecture.
pub(super) fn own_artefact() -> Option<Result<Artefact<'static>>> {
    TEXTS.get()?.own.as_deref().map(Artefact::read)
}

/// Compiles these kernels if there is a compiler in the environment, once a process.
///
/// # Errors
/// No architecture suits the device, or the kernels do not compile: the compiler has said why on stderr.
pub(crate) fn compile(
    kernels: impl IntoIterator<Item = &'static str>,
    device: &DeviceInfo,
    driver: &Driver,
) -> Result<()> {
    let Some(builder) = env::var_os(BUILDER).filter(|_| TEXTS.get().is_none()) else { return Ok(()) };
    let arch = choose(&embedded()?, device, driver)?.name();
    let (own, common): (BTreeSet<&str>, BTreeSet<&str>) =
        kernels.into_iter().partition(|kernel| own::arch(kernel).is_some());
    let common = build(&builder, &arch, &common.into_iter().chain(FILLS).collect())?;
    // Those that the device cannot run are left out of its run too.
    let runs = |kernel: &KernelInfo| own.contains(kernel.name) && own::why_not(kernel.name, device).is_none();
    let wanted: Vec<KernelInfo> = all().filter(runs).collect();
    let own = match wanted.first().and_then(|kernel| kernel.arch) {
        Some(arch) => Some(build(&builder, arch, &wanted.iter().map(|kernel| kernel.name).collect())?),
        None => None,
    };
    let _ = TEXTS.set(Texts { common, own });
    Ok(())
}

/// Runs the compiler in a folder of its own, and reads what it wrote.
fn build(builder: &OsStr, arch: &str, kernels: &BTreeSet<&str>) -> Result<String> {
    // In the target folder, which the compiler looks for above its output; and for this process alone.
    let beside = Path::new(builder).parent().context("the compiler of the kernels is in no folder")?;
    let folder = tempfile::tempdir_in(beside)
        .with_context(|| format!("cannot create a folder in {}", beside.display()))?;
    let part = kernels.iter().fold(arch.to_string(), |part, kernel| part + " " + kernel);
    let output = Command::new(builder)
        .env_remove(BUILDER)
        .env("COALESCE_KERNELS", part)
        .env("OUT_DIR", folder.path())
        // By this cuda_builder knows that it is run as cargo runs a build script.
        .env("OPT_LEVEL", "3")
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start {}", Path::new(builder).display()))?;
    if !output.status.success() {
        bail!("the edited kernels did not compile; the messages above say why");
    }
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        if let Some(warning) = line.strip_prefix("cargo:warning=") {
            eprintln!("warning: {warning}");
        }
    }
    let ptx = folder.path().join(format!("kernels.{arch}.ptx"));
    fs::read_to_string(&ptx).with_context(|| format!("cannot read {}", ptx.display()))
}
