//! Destroys contexts with all their objects.

use super::codes::Outcome;
use super::driver::{Driver, driver};
use super::registry::Handle;
use super::{allocations, capture, findings, modules, peers};

/// Destroys a context, with all that the program has not freed, unloaded or destroyed.
pub(super) fn context(driver: &'static Driver, handle: Handle) {
    let (modules, allocations) = {
        let mut state = driver.state();
        let Ok(context) = state.contexts.remove(handle) else { return };
        peers::forget(driver, &mut state, handle, context.device);
        for (_, stream) in state.streams.remove_where(|stream| stream.context == handle) {
            if let Some(capture) = stream.capture {
                capture::abandon(&mut state, &capture);
            }
        }
        state.events.remove_where(|event| event.context == handle);
        let modules = state.modules.iter().filter(|(_, module)| module.context == handle);
        let modules: Vec<Handle> = modules.map(|(module, _)| module).collect();
        let left: Vec<u64> = state
            .allocations
            .iter()
            .filter(|(_, owned)| owned.context == handle)
            .map(|(address, _)| *address)
            .collect();
        let left =
            left.into_iter().filter_map(|address| Some((address, state.allocations.remove(&address)?)));
        (modules, left.collect::<Vec<_>>())
    };
    for module in modules {
        // Another thread may have unloaded it meanwhile.
        let _ = modules::unload(driver, module);
    }
    for (address, owned) in allocations {
        let bytes = driver.devices[owned.device].memory.find(address).map_or(0, |found| found.bytes);
        findings::leak(driver, address, bytes, owned.made_by);
        allocations::release(driver, address, &owned);
    }
}

/// Reports, as leaks, all memory of living contexts that the program has not freed, without freeing it. For the end of
/// a program that does not destroy its contexts. Without leakcheck it does nothing.
pub fn finish() {
    let all = || -> Outcome {
        let driver = driver()?;
        let left: Vec<(u64, allocations::Owned)> =
            driver.state().allocations.iter().map(|(address, owned)| (*address, *owned)).collect();
        for (address, owned) in left {
            let bytes = driver.devices[owned.device].memory.find(address).map_or(0, |found| found.bytes);
            findings::leak(driver, address, bytes, owned.made_by);
        }
        Ok(())
    };
    // Without a driver there is nothing to report.
    let _ = all();
}
