//! Modules: PTX that is loaded, its kernels and its variables.
//!
//! Any `.target` is accepted, whatever the simulated card's compute capability: the same PTX can be run on the models of
//! old and new cards.

use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_uint};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use simt::check::Positions;
use simt::decode::DecodeError;
use simt::exec::{LoadError, Program};
use simt::ptx;

use super::codes::{INVALID_HANDLE, INVALID_VALUE, NOT_FOUND, OUT_OF_MEMORY, Outcome};
use super::contexts::{self, Current};
use super::driver::{Driver, State};
use super::entry::{In, Out};
use super::functions::Function;
use super::images::{self, Logs};
use super::registry::Handle;
use super::{capture, timeline};
use crate::Code;

/// A loaded module.
pub(super) struct Module {
    pub context: Handle,
    /// The device's number.
    pub device: usize,
    pub loaded: Arc<Loaded>,
    /// Its kernels that have been asked for, by name.
    pub functions: HashMap<String, Handle>,
}

/// What is in it, for as long as anybody needs it.
pub(super) struct Loaded {
    /// Counts the modules of the process, from 1.
    pub number: u64,
    pub program: Program,
    /// Where its instructions come from.
    pub positions: Positions,
    /// `.version`, as ten times the major and the minor number.
    pub ptx_version: c_int,
    /// `.target`'s number.
    pub target: c_int,
}

impl std::fmt::Debug for Loaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loaded")
            .field("ptx_version", &self.ptx_version)
            .field("target", &self.target)
            .finish()
    }
}

/// 90 of `sm_90a`.
fn target_number(module: &ptx::Module) -> c_int {
    let target = module.target.first().map_or("", |target| &**target);
    let digits: String = target.chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

/// Loads PTX into the current context.
pub(super) fn load(current: &Current, text: &[u8], logs: &Logs) -> Outcome<Handle> {
    capture::forbid_unsafe(&mut current.driver.state())?;
    let module = images::parse(text, logs)?;
    let (major, minor) = module.version;
    let ptx_version = (major * 10 + minor) as c_int;
    let (target, positions) = (target_number(&module), Positions::new(&module));
    let program = Program::load(module, &current.device.memory).map_err(|error| {
        let words = format!("ptx {error}");
        logs.error(&words);
        super::say(format_args!("the PTX was refused: {words}"));
        match error {
            LoadError::Instruction { error: DecodeError::Unsupported(_), .. } => Code::NOT_SUPPORTED,
            LoadError::Memory { .. } => OUT_OF_MEMORY,
            _ => Code::INVALID_PTX,
        }
    })?;
    logs.info(&summary(&program));
    static LOADED: AtomicU64 = AtomicU64::new(0);
    let number = LOADED.fetch_add(1, Ordering::Relaxed) + 1;
    let loaded = Arc::new(Loaded { number, program, positions, ptx_version, target });
    let module =
        Module { context: current.handle, device: current.device.ordinal, loaded, functions: HashMap::new() };
    Ok(current.driver.state().modules.insert(module))
}

/// What the compiler has to say of a module that it accepted, in the manner of ptxas.
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

/// Takes a module out, with its kernels and its variables.
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

/// The handle of a kernel, the same each time.
fn function(state: &mut State, module_handle: Handle, name: &str) -> Outcome<Handle> {
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

fn load_into(out: Out<Handle>, logs: &Logs, text: impl FnOnce() -> Outcome<Vec<u8>>) -> Outcome {
    let current = contexts::current()?;
    out.wanted()?;
    let handle = load(&current, &text()?, logs)?;
    out.set(handle)
}

entry_points! {
    fn cuModuleLoad(out: Out<Handle>, path: In<c_char>) {
        let path = path.text()?;
        load_into(out, &Logs::none(), || images::text_in(Path::new(&path)))
    }

    fn cuModuleLoadData(out: Out<Handle>, image: In<u8>) {
        load_into(out, &Logs::none(), || images::text(image))
    }

    fn cuModuleLoadDataEx(
        out: Out<Handle>, image: In<u8>, count: c_uint, options: In<c_int>, values: Out<usize>,
    ) {
        let logs = Logs::of(count, options, values)?;
        load_into(out, &logs, || images::text(image))
    }

    fn cuModuleLoadFatBinary(out: Out<Handle>, image: In<u8>) {
        load_into(out, &Logs::none(), || images::text(image))
    }

    fn cuModuleUnload(module: Handle) {
        let current = contexts::current()?;
        timeline::synchronise_context(&mut current.driver.state(), current.handle)?;
        unload(current.driver, module)
    }

    fn cuModuleGetLoadingMode(out: Out<c_int>) {
        const EAGER: c_int = 1;
        super::driver::driver()?;
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

    fn cuModuleGetGlobal_v2(out: Out<u64>, bytes: Out<usize>, module: Handle, name: In<c_char>) {
        let current = contexts::current()?;
        let name = name.text()?;
        let state = current.driver.state();
        let variable = state.modules.get(module)?.loaded.program.variable(&name).ok_or(NOT_FOUND)?;
        if out.is_null() && bytes.is_null() {
            return Err(INVALID_VALUE);
        }
        out.set_if_wanted(variable.address);
        bytes.set_if_wanted(variable.bytes as usize);
        Ok(())
    }

    fn cuFuncGetModule(out: Out<Handle>, function: Handle) {
        let current = contexts::current()?;
        out.wanted()?;
        let module = current.driver.state().functions.get(function).map_err(|_| INVALID_HANDLE)?.module;
        out.set(module)
    }

    fn cuFuncGetName(out: Out<*const c_char>, function: Handle) {
        let current = contexts::current()?;
        out.wanted()?;
        let state = current.driver.state();
        out.set(state.functions.get(function)?.c_name.as_ptr())
    }

    fn cuModuleGetTexRef(out: Out<Handle>, module: Handle, _name: In<c_char>) {
        out.wanted()?;
        // PTX with texture references is refused when it is loaded, so there is none of any name.
        contexts::current()?.driver.state().modules.get(module).and(Err(NOT_FOUND))
    }

    fn cuModuleGetSurfRef(out: Out<Handle>, module: Handle, _name: In<c_char>) {
        out.wanted()?;
        contexts::current()?.driver.state().modules.get(module).and(Err(NOT_FOUND))
    }
}
