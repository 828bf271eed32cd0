//! Primary contexts: one per device, shared by all users that retain it.

use std::ffi::{c_int, c_uint};

use super::codes::INVALID_CONTEXT;
use super::contexts::{MAP_HOST, valid_flags};
use super::destroy;
use super::driver::driver;
use super::entry::Out;
use super::registry::Handle;

/// A device's primary context.
#[derive(Debug)]
pub(super) struct Primary {
    /// Handle, the same each time the context is created.
    pub handle: Handle,
    /// Number of users that retain it; the context exists while there is one.
    pub retained: u32,
    pub flags: c_uint,
}

entry_points! {
    fn cuDevicePrimaryCtxRetain(out: Out<Handle>, device: c_int) {
        let driver = driver()?;
        let device = driver.device(device)?;
        out.wanted()?;
        let mut state = driver.state();
        let primary = &mut state.primaries[device.ordinal];
        primary.retained += 1;
        let (handle, flags) = (primary.handle, primary.flags);
        if !state.contexts.contains(handle) {
            state.create_context(device.ordinal, flags | MAP_HOST, Some(handle));
        }
        out.set(handle)
    }

    fn cuDevicePrimaryCtxRelease_v2(device: c_int) {
        let driver = driver()?;
        let device = driver.device(device)?;
        let mut state = driver.state();
        let primary = &mut state.primaries[device.ordinal];
        primary.retained = primary.retained.checked_sub(1).ok_or(INVALID_CONTEXT)?;
        if primary.retained > 0 {
            return Ok(());
        }
        let handle = primary.handle;
        drop(state);
        destroy::context(driver, handle);
        Ok(())
    }

    fn cuDevicePrimaryCtxReset_v2(device: c_int) {
        let driver = driver()?;
        let device = driver.device(device)?;
        let (handle, alive) = {
            let mut state = driver.state();
            let handle = state.primaries[device.ordinal].handle;
            state.primaries[device.ordinal].retained = 0;
            (handle, state.contexts.contains(handle))
        };
        if alive {
            destroy::context(driver, handle);
        }
        Ok(())
    }

    fn cuDevicePrimaryCtxSetFlags_v2(device: c_int, flags: c_uint) {
        let driver = driver()?;
        let device = driver.device(device)?;
        valid_flags(flags)?;
        let mut state = driver.state();
        state.primaries[device.ordinal].flags = flags;
        let handle = state.primaries[device.ordinal].handle;
        if let Ok(context) = state.contexts.get_mut(handle) {
            context.flags = flags | MAP_HOST;
        }
        Ok(())
    }

    fn cuDevicePrimaryCtxGetState(device: c_int, flags: Out<c_uint>, active: Out<c_int>) {
        let driver = driver()?;
        let device = driver.device(device)?;
        let state = driver.state();
        let primary = &state.primaries[device.ordinal];
        flags.wanted()?;
        active.set(c_int::from(state.contexts.contains(primary.handle)))?;
        flags.set(primary.flags)
    }
}
