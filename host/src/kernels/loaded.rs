//! The kernels of a run, as functions that the device's driver has compiled.

use super::{Artefact, all, check, choose, common, edited, embedded, load, own};
use crate::device::{Backend, DeviceInfo, Driver};
use anyhow::{Context, Result, bail};
use cuda_launch::Signatures;
use cust::{function::Function, module::Module};
use std::cell::OnceCell;

/// The kernels on a device: those of the artefact that suits it, and, from the first of them on that is asked for, those of
/// its own architecture.
pub(crate) struct Kernels {
    module: Module,
    artefact: Artefact<'static>,
    own: OnceCell<Module>,
    device: DeviceInfo,
}

impl Kernels {
    /// Loads the artefact that suits the device, if it has every kernel of the program with the program's parameters.
    /// [Edited](edited) kernels are those of a run, so they need not be all.
    ///
    /// # Errors
    /// As [`choose`] and [`load`]; or a kernel is missing or stale, which the error names.
    pub(crate) fn load(device: &DeviceInfo, driver: &Driver) -> Result<Kernels> {
        let artefact = choose(&embedded().context("the embedded kernels are damaged")?, device, driver)?;
        let origin = origin(&artefact);
        let found = Signatures::of(artefact.ptx);
        check(&found, &origin, common().filter(|kernel| !edited::any() || found.has(kernel.name)))?;
        Ok(Kernels {
            module: load(artefact.ptx, &origin)?,
            artefact,
            own: OnceCell::new(),
            device: device.clone(),
        })
    }

    /// The module of the kernels that all devices run.
    pub(crate) fn module(&self) -> &Module {
        &self.module
    }

    /// The artefact that a kernel is from.
    pub(crate) fn artefact(&self, kernel: &str) -> Artefact<'static> {
        own::artefact_of(kernel).unwrap_or(self.artefact)
    }

    /// The artefact of the kernels that all devices run.
    pub(crate) fn common(&self) -> Artefact<'static> {
        self.artefact
    }

    /// A kernel. The first one for the device's own architecture has the driver compile all of these.
    ///
    /// # Errors
    /// There is no such kernel, the device [cannot run](own::why_not) it, or the driver's compiler refuses those of the
    /// architecture.
    pub(crate) fn function(&self, kernel: &str) -> Result<Function<'_>> {
        if let Some(reason) = own::why_not(kernel, &self.device) {
            bail!("{kernel} cannot be launched: {reason}");
        }
        let module = match own::artefact_of(kernel) {
            Some(artefact) => self.own(&artefact)?,
            None => &self.module,
        };
        module
            .get_function(kernel)
            .with_context(|| format!("the embedded PTX has no kernel {kernel}; build the program again"))
    }

    /// The module of the kernels of the device's own architecture.
    fn own(&self, artefact: &Artefact<'static>) -> Result<&Module> {
        if let Some(module) = self.own.get() {
            return Ok(module);
        }
        let origin = origin(artefact);
        let is_modelled = self.device.backend() == Backend::Modelled;
        let part = if is_modelled { Some(own::simulated(artefact.ptx)?) } else { None };
        let text = part.as_deref().unwrap_or(artefact.ptx);
        let found = Signatures::of(text);
        let name = artefact.name();
        let wanted = all().filter(|kernel| kernel.arch == Some(&*name));
        let wanted = wanted.filter(|kernel| !is_modelled || own::is_simulated(kernel.name));
        check(&found, &origin, wanted.filter(|kernel| !edited::any() || found.has(kernel.name)))?;
        let module = load(text, &origin)?;
        Ok(self.own.get_or_init(|| module))
    }
}

/// The words by which errors name an artefact.
fn origin(artefact: &Artefact<'_>) -> String {
    let what = if edited::any() { "edited" } else { "embedded" };
    format!("the {what} PTX for {}", artefact.name())
}
