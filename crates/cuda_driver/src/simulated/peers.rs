//! Access between devices, which is not supported: the kernels of a device cannot access another's memory. Copies go by
//! way of the host.

use std::ffi::{c_int, c_uint};

use super::codes::{INVALID_DEVICE, INVALID_VALUE, PEER_ACCESS_NOT_ENABLED, PEER_ACCESS_UNSUPPORTED};
use super::contexts::current;
use super::driver::driver;
use super::entry::Out;
use super::registry::Handle;

entry_points! {
    fn cuDeviceCanAccessPeer(out: Out<c_int>, device: c_int, peer: c_int) {
        let driver = driver()?;
        driver.device(device)?;
        driver.device(peer)?;
        out.set(0)
    }

    fn cuDeviceGetP2PAttribute(out: Out<c_int>, attribute: c_int, source: c_int, destination: c_int) {
        let driver = driver()?;
        let (source, destination) = (driver.device(source)?, driver.device(destination)?);
        if source.ordinal == destination.ordinal {
            return Err(INVALID_DEVICE);
        }
        if !(1..=5).contains(&attribute) {
            return Err(INVALID_VALUE);
        }
        out.set(0)
    }

    fn cuCtxEnablePeerAccess(peer: Handle, flags: c_uint) {
        let current = current()?;
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        let state = current.driver.state();
        let peer = state.contexts.get(peer)?;
        Err(if peer.device == current.device.ordinal { INVALID_DEVICE } else { PEER_ACCESS_UNSUPPORTED })
    }

    fn cuCtxDisablePeerAccess(peer: Handle) {
        let current = current()?;
        current.driver.state().contexts.get(peer)?;
        Err(PEER_ACCESS_NOT_ENABLED)
    }
}
