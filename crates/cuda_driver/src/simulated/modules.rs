//! Modules: loaded PTX with its kernels and variables.
//!
//! Any `.target` is accepted, whatever the simulated card's compute capability: the same PTX can run on models of old
//! and new cards.

use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_uint};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use simt::check::Positions;
use simt::count::SiteFacts;
use simt::exec::{DecodeError, LoadError, Program, Variable};
use simt::ptx;

use super::codes::{INVALID_HANDLE, INVALID_VALUE, NOT_FOUND, OUT_OF_MEMORY, Outcome};
use super::contexts::{self, Current};
use super::driver::{Device, Driver, State, driver};
use super::entry::{In, Out};
use super::functions::Function;
use super::images::{self, Image, Options};
use super::registry::Handle;
use super::{capture, libraries, timeline};
use crate::Code;

/// A loaded module.
pub(super) struct Module {
    pub context: Handle,
    /// Number of the device.
    pub device: usize,
    pub loaded: Arc<Loaded>,
    /// Kernels that have been requested, by name.
    pub functions: HashMap<String, Handle>,
}

/// The content of a module, shared by its users.
pub(super) struct Loaded {
    /// Number of the module in the process, from 1.
    pub number: u64,
    pub program: Program,
    /// Its text, of which the positions are made.
    text: Box<str>,
    positions: OnceLock<Positions>,
    /// `.version`: ten times the major plus the minor number.
    pub ptx_version: c_int,
    /// Number of `.target`.
    pub target: c_int,
    facts: OnceLock<Arc<SiteFacts>>,
}

impl Loaded {
    /// Returns the source positions of its instructions. To find them takes as long as to load the module, and only findings and
    /// faults have places, so the first of these finds them.
    pub(super) fn positions(&self) -> &Positions {
        self.positions.get_or_init(|| {
            let module = ptx::parse(&self.text);
            module.map_or_else(|_| Positions::default(), |module| Positions::new(&module))
        })
    }

    /// Returns the lists of instructions that counting needs. The first launch makes them.
    pub(super) fn facts(&self) -> Arc<SiteFacts> {
        Arc::clone(self.facts.get_or_init(|| Arc::new(SiteFacts::of(self.program.sites()))))
    }
}

impl std::fmt::Debug for Loaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loaded")
            .field("ptx_version", &self.ptx_version)
            .field("target", &self.target)
            .finish()
    }
}

/// Returns 90 for `sm_90a`.
fn target_number(module: &ptx::Module) -> c_int {
    let target = module.target.first().map_or("", |target| &**target);
    let digits: String = target.chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

/// Loads PTX into the current context.
pub(super) fn load(current: &Current, image: &Image, options: &Options) -> Outcome<Handle> {
    let loaded = Arc::new(load_onto(current.device, image, options)?);
    let module =
        Module { context: current.handle, device: current.device.ordinal, loaded, functions: HashMap::new() };
    Ok(current.driver.state().modules.insert(module))
}

/// Loads PTX into a device's memory, outside of contexts.
pub(super) fn load_onto(device: &Device, image: &Image, options: &Options) -> Outcome<Loaded> {
    let text = image.text_for(device.card.compute_capability);
    let module = images::parse(text, options)?;
    let (major, minor) = module.version;
    let ptx_version = (major * 10 + minor) as c_int;
    let target = target_number(&module);
    let program = Program::load(module, &device.memory).map_err(|error| {
        let words = format!("ptx {error}");
        options.error(&words);
        super::say(format_args!("the PTX was refused: {words}"));
        match error {
            // An unknown opcode may be one of a later version of PTX.
            LoadError::Instruction {
                error: DecodeError::Unsupported(_) | DecodeError::Opcode(_), ..
            } => Code::NOT_SUPPORTED,
            LoadError::Memory { .. } => OUT_OF_MEMORY,
            _ => Code::INVALID_PTX,
        }
    })?;
    options.info(&summary(&program));
    static LOADED: AtomicU64 = AtomicU64::new(0);
    let number = LOADED.fetch_add(1, Ordering::Relaxed) + 1;
    let text = String::from_utf8_lossy(text).into();
    let (positions, facts) = (OnceLock::new(), OnceLock::new());
    Ok(Loaded { number, program, text, positions, ptx_version, target, facts })
}

/// Returns the compiler's log of a module that it accepted, in the style of ptxas.
fn summary(program: &Program) -> String {
    let lines = program.kernels().iter().map(|kernel| {
        format!(
            "simt info    : Function '{}': about {} registers, {} bytes of shared memory, {} bytes of local memory, {} \
             bytes of parameters\n",
            kernel.name, kernel.registers, kernel.static_shared_bytes, kernel.local_bytes, kernel.parameter_bytes
        )
    });
    lines.collect()
}

/// Unloads a module, with its kernels and its variables.
pub(super) fn unload(driver: &Driver, handle: Handle) -> Outcome {
    let module = {
        let mut state = driver.state();
        let module = state.modules.remove(handle)?;
        state.functions.remove_where(|function| function.module == handle);
        module
    };
    module.loaded.program.unload(&driver.devices[module.device].memory);
    Ok(())
}

/// Returns the handle of a kernel, the same each time.
pub(super) fn function(state: &mut State, module_handle: Handle, name: &str) -> Outcome<Handle> {
    let module = state.modules.get(module_handle)?;
    if let Some(handle) = module.functions.get(name) {
        return Ok(*handle);
    }
    let kernel = module.loaded.program.kernel(name).map_err(|missing| {
        super::say(format_args!("cuModuleGetFunction returns CUDA_ERROR_NOT_FOUND: {missing}"));
        NOT_FOUND
    })?;
    let function = Function::new(module_handle, module.context, module.loaded.clone(), kernel);
    let handle = state.functions.insert(function);
    state.modules.get_mut(module_handle)?.functions.insert(name.to_owned(), handle);
    Ok(handle)
}

/// Returns a variable's address and size, each if wanted.
pub(super) fn hand_out(variable: Variable, address: Out<u64>, bytes: Out<usize>) -> Outcome {
    if address.is_null() && bytes.is_null() {
        return Err(INVALID_VALUE);
    }
    address.set_if_wanted(variable.address);
    bytes.set_if_wanted(variable.bytes as usize);
    Ok(())
}

fn load_into(out: Out<Handle>, options: &Options, image: impl FnOnce() -> Outcome<Image>) -> Outcome {
    let current = contexts::current()?;
    out.wanted()?;
    capture::forbid_unsafe(&mut current.driver.state())?;
    let handle = load(&current, &image()?, options)?;
    out.set(handle)
}

entry_points! {
    fn cuModuleLoad(out: Out<Handle>, path: In<c_char>) {
        let path = path.text()?;
        load_into(out, &Options::none(), || Image::in_file(Path::new(&path)))
    }

    fn cuModuleLoadData(out: Out<Handle>, image: In<u8>) {
        load_into(out, &Options::none(), || Image::at(image))
    }

    fn cuModuleLoadDataEx(
        out: Out<Handle>, image: In<u8>, count: c_uint, options: In<c_int>, values: Out<usize>,
    ) {
        let options = Options::of(count, options, values)?;
        load_into(out, &options, || Image::at(image))
    }

    fn cuModuleLoadFatBinary(out: Out<Handle>, image: In<u8>) {
        load_into(out, &Options::none(), || Image::at(image))
    }

    fn cuModuleUnload(module: Handle) {
        let owner = |state: &State| Ok(state.modules.get(module)?.context);
        let current = contexts::current_or_owner(owner)?;
        timeline::synchronise_context(&mut current.driver.state(), current.handle)?;
        unload(current.driver, module)
    }

    fn cuModuleGetLoadingMode(out: Out<c_int>) {
        const EAGER: c_int = 1;
        driver()?;
        out.set(EAGER)
    }

    fn cuModuleGetFunction(out: Out<Handle>, module: Handle, name: In<c_char>) {
        let current = contexts::current()?;
        out.wanted()?;
        let name = name.text()?;
        out.set(function(&mut current.driver.state(), module, &name)?)
    }

    fn cuModuleGetFunctionCount(out: Out<c_uint>, module: Handle) {
        let current = contexts::current()?;
        out.set(current.driver.state().modules.get(module)?.loaded.program.kernels().len() as c_uint)
    }

    fn cuModuleEnumerateFunctions(out: Out<Handle>, count: c_uint, module: Handle) {
        let current = contexts::current()?;
        let mut state = current.driver.state();
        let kernels = state.modules.get(module)?.loaded.program.kernels().iter();
        let names: Vec<Arc<str>> = kernels.map(|kernel| kernel.name.clone()).take(count as usize).collect();
        let handles: Outcome<Vec<Handle>> = names.iter().map(|name| function(&mut state, module, name)).collect();
        out.set_all(&handles?)
    }

    fn cuModuleGetGlobal_v2(out: Out<u64>, bytes: Out<usize>, module: Handle, name: In<c_char>) {
        let current = contexts::current()?;
        let name = name.text()?;
        let state = current.driver.state();
        let variable = state.modules.get(module)?.loaded.program.variable(&name).ok_or(NOT_FOUND)?;
        hand_out(variable, out, bytes)
    }

    fn cuFuncGetModule(out: Out<Handle>, function: Handle) {
        let current = contexts::current()?;
        out.wanted()?;
        let function = libraries::function(&current, function)?;
        let module = current.driver.state().functions.get(function).map_err(|_| INVALID_HANDLE)?.module;
        out.set(module)
    }

    fn cuFuncGetName(out: Out<*const c_char>, function: Handle) {
        let current = contexts::current()?;
        out.wanted()?;
        let function = libraries::function(&current, function)?;
        let state = current.driver.state();
        out.set(state.functions.get(function)?.c_name.as_ptr())
    }

    fn cuModuleGetTexRef(out: Out<Handle>, module: Handle, _name: In<c_char>) {
        out.wanted()?;
        // PTX with texture references is refused when it is loaded, so none exists.
        contexts::current()?.driver.state().modules.get(module).and(Err(NOT_FOUND))
    }

    fn cuModuleGetSurfRef(out: Out<Handle>, module: Handle, _name: In<c_char>) {
        out.wanted()?;
        contexts::current()?.driver.state().modules.get(module).and(Err(NOT_FOUND))
    }
}
