//! Libraries: code that is loaded once per process, and becomes a module in each context that uses it.
//!
//! A `CUkernel` is a kernel of a library, independent of contexts. A program may pass it instead of a `CUfunction`: it
//! stands for the function of that name in the current context, and loads the library's module there at its first use.
//! If a context is current when the library is loaded, its module is loaded there at once, so that `cuLibraryLoadData`
//! returns errors in the PTX. Otherwise PTX is parsed then, and compiled at the first use.

use std::collections::HashMap;
use std::ffi::{CString, c_char, c_int, c_uint};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use simt::exec::{Kernel, VariableKind};

use super::codes::{INVALID_HANDLE, INVALID_VALUE, NOT_FOUND, Outcome};
use super::contexts::{self, Current};
use super::driver::{Device, Driver, State, driver};
use super::entry::{In, Out};
use super::functions::{self, Function};
use super::images::{self, Image, Options};
use super::modules::{self, Loaded};
use super::registry::Handle;
use super::timeline;

/// A loaded library.
pub(super) struct Library {
    image: Arc<Image>,
    options: Options,
    /// Names of its kernels, in the order of the file.
    names: Vec<Arc<str>>,
    /// Kernels that have been requested, by name.
    kernels: HashMap<Arc<str>, Handle>,
    /// Its module in each context that used it; some may be gone with their contexts.
    modules: HashMap<Handle, Handle>,
    /// Held while its module is loaded, so that a context gets only one.
    loading: Arc<Mutex<()>>,
}

/// A kernel of a library.
pub(super) struct LibraryKernel {
    library: Handle,
    name: Arc<str>,
    c_name: CString,
    /// Attributes set for a device, by the numbers of device and attribute.
    settings: HashMap<(usize, c_int), c_int>,
    cache: HashMap<usize, c_int>,
}

/// Returns the function of a handle in the current context: a `CUfunction` itself, or that of a `CUkernel`.
pub(super) fn function(current: &Current, handle: Handle) -> Outcome<Handle> {
    let (library, name) = {
        let state = current.driver.state();
        if state.functions.contains(handle) {
            return Ok(handle);
        }
        let kernel = state.kernels.get(handle)?;
        (kernel.library, kernel.name.clone())
    };
    let module = module(current, library)?;
    let mut state = current.driver.state();
    let known = state.modules.get(module)?.functions.contains_key(&*name);
    let function = modules::function(&mut state, module, &name)?;
    if !known {
        let State { functions, kernels, .. } = &mut *state;
        let (function, kernel) = (functions.get_mut(function)?, kernels.get(handle)?);
        apply(function, kernel, current.device)?;
    }
    Ok(function)
}

/// Sets the attributes of a kernel on its function.
fn apply(function: &mut Function, kernel: &LibraryKernel, device: &Device) -> Outcome {
    for ((ordinal, attribute), value) in &kernel.settings {
        if *ordinal == device.ordinal {
            function.set(device, *attribute, *value)?;
        }
    }
    if let Some(cache) = kernel.cache.get(&device.ordinal) {
        function.cache = *cache;
    }
    Ok(())
}

/// Returns the library's module in the current context, loaded at the first use.
fn module(current: &Current, library: Handle) -> Outcome<Handle> {
    let loaded = |state: &State| -> Outcome<Option<Handle>> {
        let module = state.libraries.get(library)?.modules.get(&current.handle).copied();
        Ok(module.filter(|module| state.modules.contains(*module)))
    };
    let (image, options, loading) = {
        let state = current.driver.state();
        if let Some(module) = loaded(&state)? {
            return Ok(module);
        }
        let library = state.libraries.get(library)?;
        (library.image.clone(), library.options, library.loading.clone())
    };
    let _one_at_a_time = loading.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(module) = loaded(&current.driver.state())? {
        return Ok(module);
    }
    let module = modules::load(current, &image, &options)?;
    let mut state = current.driver.state();
    state.libraries.get_mut(library)?.modules.insert(current.handle, module);
    Ok(module)
}

/// Loads a library, and its module if a context is current.
fn load(out: Out<Handle>, options: &Options, image: impl FnOnce() -> Outcome<Image>) -> Outcome {
    let driver = driver()?;
    out.wanted()?;
    let image = Arc::new(image()?);
    let (names, modules) = match contexts::current() {
        Ok(current) => {
            let module = modules::load(&current, &image, options)?;
            let state = driver.state();
            let kernels = state.modules.get(module)?.loaded.program.kernels();
            let names = kernels.iter().map(|kernel| kernel.name.clone()).collect();
            (names, HashMap::from([(current.handle, module)]))
        }
        // No context is current, or it has faulted, which does not concern the library.
        Err(_) => {
            let capability = driver.device(0)?.card.compute_capability;
            let parsed = images::parse(image.text_for(capability), options)?;
            (parsed.entries().map(|entry| Arc::from(&*entry.name)).collect(), HashMap::new())
        }
    };
    let library = Library {
        image,
        options: options.silent(),
        names,
        kernels: HashMap::new(),
        modules,
        loading: Arc::default(),
    };
    let handle = driver.state().libraries.insert(library);
    out.set(handle)
}

/// Returns the handle of a library's kernel, the same each time.
fn kernel(state: &mut State, library_handle: Handle, name: &str) -> Outcome<Handle> {
    let library = state.libraries.get(library_handle)?;
    if let Some(handle) = library.kernels.get(name) {
        return Ok(*handle);
    }
    let Some(name) = library.names.iter().find(|other| &***other == name).cloned() else {
        let names: Vec<&str> = library.names.iter().map(|name| &**name).collect();
        super::say(format_args!(
            "cuLibraryGetKernel returns CUDA_ERROR_NOT_FOUND: no kernel {name}; the library has {}",
            names.join(", ")
        ));
        return Err(NOT_FOUND);
    };
    // PTX names contain no NUL.
    let c_name = CString::new(&*name).unwrap_or_default();
    let kernel = LibraryKernel {
        library: library_handle,
        name: name.clone(),
        c_name,
        settings: HashMap::new(),
        cache: HashMap::new(),
    };
    let handle = state.kernels.insert(kernel);
    state.libraries.get_mut(library_handle)?.kernels.insert(name, handle);
    Ok(handle)
}

/// Calls `ask` with a kernel as it is on a device, even if it is in no context.
fn with<T>(
    handle: Handle,
    device: &'static Device,
    ask: impl FnOnce(&Function, &Kernel) -> Outcome<T>,
) -> Outcome<T> {
    let driver = driver()?;
    let (loaded, name, image, options) = {
        let state = driver.state();
        let LibraryKernel { library, name, .. } = state.kernels.get(handle)?;
        let library = state.libraries.get(*library)?;
        let mut modules = library.modules.values().filter_map(|module| state.modules.get(*module).ok());
        let module = modules.find(|module| module.device == device.ordinal);
        (module.map(|module| module.loaded.clone()), name.clone(), library.image.clone(), library.options)
    };
    let (loaded, in_passing) = match loaded {
        Some(loaded) => (loaded, false),
        None => (Arc::new(modules::load_onto(device, &image, &options)?), true),
    };
    let answer = answer(driver, handle, device, &loaded, &name, ask);
    if in_passing {
        loaded.program.unload(&device.memory);
    }
    answer
}

fn answer<T>(
    driver: &'static Driver,
    handle: Handle,
    device: &Device,
    loaded: &Arc<Loaded>,
    name: &str,
    ask: impl FnOnce(&Function, &Kernel) -> Outcome<T>,
) -> Outcome<T> {
    let kernel = loaded.program.kernel(name).map_err(|_| INVALID_HANDLE)?;
    let mut function = Function::new(0, 0, loaded.clone(), kernel);
    apply(&mut function, driver.state().kernels.get(handle)?, device)?;
    ask(&function, kernel)
}

/// Changes a kernel's function in each context of a device that has it.
fn change(
    state: &mut State,
    handle: Handle,
    device: &Device,
    mut change: impl FnMut(&mut Function) -> Outcome,
) -> Outcome {
    let State { kernels, libraries, modules, functions, .. } = state;
    let LibraryKernel { library, name, .. } = kernels.get(handle)?;
    for module in libraries.get(*library)?.modules.values() {
        let Ok(module) = modules.get(*module) else { continue };
        let function = module.functions.get(&**name).filter(|_| module.device == device.ordinal);
        if let Some(function) = function {
            change(functions.get_mut(*function)?)?;
        }
    }
    Ok(())
}

entry_points! {
    fn cuLibraryLoadData(
        out: Out<Handle>, image: In<u8>, options: In<c_int>, values: Out<usize>, count: c_uint,
        _library_options: In<c_int>, _library_values: Out<usize>, _library_count: c_uint,
    ) {
        let options = Options::of(count, options, values)?;
        load(out, &options, || Image::at(image))
    }

    fn cuLibraryLoadFromFile(
        out: Out<Handle>, path: In<c_char>, options: In<c_int>, values: Out<usize>, count: c_uint,
        _library_options: In<c_int>, _library_values: Out<usize>, _library_count: c_uint,
    ) {
        let path = path.text()?;
        let options = Options::of(count, options, values)?;
        load(out, &options, || Image::in_file(Path::new(&path)))
    }

    fn cuLibraryUnload(library: Handle) {
        let driver = driver()?;
        let modules: Vec<(Handle, Handle)> = {
            let mut state = driver.state();
            let Library { modules, .. } = state.libraries.remove(library)?;
            state.kernels.remove_where(|kernel| kernel.library == library);
            modules.into_iter().filter(|(_, module)| state.modules.contains(*module)).collect()
        };
        for (context, module) in modules {
            timeline::synchronise_context(&mut driver.state(), context)?;
            modules::unload(driver, module)?;
        }
        Ok(())
    }

    fn cuLibraryGetKernel(out: Out<Handle>, library: Handle, name: In<c_char>) {
        let driver = driver()?;
        out.wanted()?;
        let name = name.text()?;
        out.set(kernel(&mut driver.state(), library, &name)?)
    }

    fn cuLibraryGetKernelCount(out: Out<c_uint>, library: Handle) {
        out.set(driver()?.state().libraries.get(library)?.names.len() as c_uint)
    }

    fn cuLibraryEnumerateKernels(out: Out<Handle>, count: c_uint, library: Handle) {
        let driver = driver()?;
        let mut state = driver.state();
        let names: Vec<Arc<str>> = state.libraries.get(library)?.names.iter().take(count as usize).cloned().collect();
        let handles: Outcome<Vec<Handle>> = names.iter().map(|name| kernel(&mut state, library, name)).collect();
        out.set_all(&handles?)
    }

    fn cuLibraryGetModule(out: Out<Handle>, library: Handle) {
        let current = contexts::current()?;
        out.wanted()?;
        out.set(module(&current, library)?)
    }

    fn cuLibraryGetGlobal(out: Out<u64>, bytes: Out<usize>, library: Handle, name: In<c_char>) {
        let current = contexts::current()?;
        let name = name.text()?;
        let module = module(&current, library)?;
        let variable = current.driver.state().modules.get(module)?.loaded.program.variable(&name);
        modules::hand_out(variable.ok_or(NOT_FOUND)?, out, bytes)
    }

    // NVIDIA's driver has one managed variable for all contexts. Here each context's module has its own, and this
    // returns that of the current context.
    fn cuLibraryGetManaged(out: Out<u64>, bytes: Out<usize>, library: Handle, name: In<c_char>) {
        let current = contexts::current()?;
        let name = name.text()?;
        let module = module(&current, library)?;
        let variable = current.driver.state().modules.get(module)?.loaded.program.variable(&name);
        let managed = variable.filter(|variable| variable.kind == VariableKind::Managed);
        modules::hand_out(managed.ok_or(NOT_FOUND)?, out, bytes)
    }

    // Functions whose address host and device share need hardware that the cards lack.
    fn cuLibraryGetUnifiedFunction(out: Out<Handle>, library: Handle, _symbol: In<c_char>) {
        out.wanted()?;
        driver()?.state().libraries.get(library).and(Err(NOT_FOUND))
    }

    fn cuKernelGetFunction(out: Out<Handle>, kernel: Handle) {
        let current = contexts::current()?;
        out.wanted()?;
        current.driver.state().kernels.get(kernel)?;
        out.set(function(&current, kernel)?)
    }

    fn cuKernelGetLibrary(out: Out<Handle>, kernel: Handle) {
        out.set(driver()?.state().kernels.get(kernel)?.library)
    }

    fn cuKernelGetName(out: Out<*const c_char>, kernel: Handle) {
        // Also accepts the handle of a function.
        let driver = driver()?;
        let state = driver.state();
        match state.kernels.get(kernel) {
            Ok(kernel) => out.set(kernel.c_name.as_ptr()),
            Err(_) => out.set(state.functions.get(kernel)?.c_name.as_ptr()),
        }
    }

    fn cuKernelGetAttribute(value: Out<c_int>, attribute: c_int, kernel: Handle, device: c_int) {
        let device = driver()?.device(device)?;
        value.wanted()?;
        value.set(with(kernel, device, |function, kernel| functions::attribute(function, kernel, device, attribute))?)
    }

    fn cuKernelSetAttribute(attribute: c_int, value: c_int, kernel: Handle, device: c_int) {
        let driver = driver()?;
        let device = driver.device(device)?;
        // Refuses invalid attributes before anything is changed.
        with(kernel, device, |function, kernel| {
            let mut function = Function::new(0, 0, function.loaded.clone(), kernel);
            function.set(device, attribute, value)
        })?;
        let mut state = driver.state();
        state.kernels.get_mut(kernel)?.settings.insert((device.ordinal, attribute), value);
        change(&mut state, kernel, device, |function| function.set(device, attribute, value))
    }

    fn cuKernelSetCacheConfig(kernel: Handle, config: c_int, device: c_int) {
        let driver = driver()?;
        let device = driver.device(device)?;
        if !(0..=3).contains(&config) {
            return Err(INVALID_VALUE);
        }
        let mut state = driver.state();
        state.kernels.get_mut(kernel)?.cache.insert(device.ordinal, config);
        change(&mut state, kernel, device, |function| {
            function.cache = config;
            Ok(())
        })
    }

    fn cuKernelGetParamInfo(kernel: Handle, index: usize, offset: Out<usize>, bytes: Out<usize>) {
        let driver = driver()?;
        offset.wanted()?;
        let device = contexts::current().map_or_else(|_| driver.device(0), |current| Ok(current.device))?;
        with(kernel, device, |_, kernel| functions::parameter(kernel, index, offset, bytes))
    }
}
