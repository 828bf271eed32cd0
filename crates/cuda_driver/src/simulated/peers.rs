//! Access between devices: which contexts may access another's memory, and over which link.
//!
//! Two devices are peers if their cards describe the same link. A context that enables access to a peer's context can
//! access all of its device memory, present and to come, but not the other way round. Modules' variables are not shared,
//! nor is memory of a pool: the pool itself admits devices, by `cuMemPoolSetAccess`. The memory is mapped into the device
//! at its address: other contexts of that device reach it too, and initcheck, which does not see what peers write, takes
//! it for written. Once access between two devices is enabled in either direction, copies between them go over the link,
//! and before that by way of the host; so do copies of memory whose pool admits the other device.

use std::ffi::{c_int, c_uint};

use simt::memory::Kind;
use simt::model::PeerLink;

use super::allocations::Owned;
use super::codes::{
    INVALID_CONTEXT, INVALID_DEVICE, INVALID_VALUE, Outcome, PEER_ACCESS_ALREADY_ENABLED,
    PEER_ACCESS_NOT_ENABLED, PEER_ACCESS_UNSUPPORTED,
};
use super::contexts::current;
use super::driver::{Device, Driver, Located, State, driver};
use super::entry::Out;
use super::registry::Handle;
use super::timeline::Route;

/// The right of a context to access another's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PeerAccess {
    context: Handle,
    /// Context whose memory it may access.
    peer: Handle,
}

/// Attributes of `cuDeviceGetP2PAttribute`.
mod attribute {
    use std::ffi::c_int;

    /// 0 for the fastest link. All are alike here.
    pub(super) const PERFORMANCE_RANK: c_int = 1;
    pub(super) const ACCESS_SUPPORTED: c_int = 2;
    pub(super) const NATIVE_ATOMIC_SUPPORTED: c_int = 3;
    /// Arrays are not simulated.
    pub(super) const CUDA_ARRAY_ACCESS_SUPPORTED: c_int = 4;
    /// All atomics or none.
    pub(super) const ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED: c_int = 5;
}

/// Returns the link between two devices, whether access is enabled or not.
pub(super) fn possible(one: &Device, other: &Device) -> Option<PeerLink> {
    (one.ordinal != other.ordinal).then(|| PeerLink::between(&one.card, &other.card)).flatten()
}

/// Returns the link by which a copy between two devices goes, and its ends. `None` if neither can access the other's
/// memory yet: the copy then goes by way of the host.
///
/// At the device where the copy is queued its end is the context `queued`, at another that of the memory.
pub(super) fn route(
    driver: &Driver,
    from: Located,
    to: Located,
    queued: (usize, Handle),
) -> Option<(PeerLink, Route)> {
    let state = driver.state();
    let device = |context| state.contexts.get(context).ok().map(|context| context.device);
    let pair = [from.device.ordinal, to.device.ordinal];
    let enabled = state.peers.iter().any(|access| {
        let ends = (device(access.context), device(access.peer));
        ends == (Some(pair[0]), Some(pair[1])) || ends == (Some(pair[1]), Some(pair[0]))
    });
    let owned = [from, to].map(|end| state.allocations.get(&end.allocation.address));
    let lent = |owned: Option<&Owned>, other| {
        let pool = owned.and_then(|owned| state.pools.get(owned.pool?).ok());
        pool.is_some_and(|pool| pool.readers.contains(&other))
    };
    if !enabled && !lent(owned[0], pair[1]) && !lent(owned[1], pair[0]) {
        return None;
    }
    let link = possible(from.device, to.device)?;
    let end = |number: usize| {
        if pair[number] == queued.0 { Some(queued.1) } else { owned[number].map(|owned| owned.context) }
    };
    // A module's variable belongs to no allocation: the copy is then the queue's alone.
    let [from, to] = [0, 1].map(|number| end(number).unwrap_or(queued.1));
    Some((link, Route { from, to, contention: link.contention() }))
}

/// Returns true if contexts with access can access an allocation.
fn is_shared(owned: &Owned) -> bool {
    owned.kind == Kind::Device && owned.pool.is_none()
}

/// Maps an allocation into the devices that may access it: those of contexts with access, and of a pool's memory those
/// that the pool admits.
pub(super) fn share(driver: &Driver, state: &State, address: u64, owned: &Owned) {
    if let Some(pool) = owned.pool.and_then(|pool| state.pools.get(pool).ok()) {
        pool.readers.iter().for_each(|reader| map(driver, &driver.devices[*reader], address, owned));
    }
    if !is_shared(owned) {
        return;
    }
    for access in state.peers.iter().filter(|access| access.peer == owned.context) {
        if let Ok(context) = state.contexts.get(access.context) {
            map(driver, &driver.devices[context.device], address, owned);
        }
    }
}

/// Maps an allocation of another device into a device.
fn map(driver: &Driver, device: &Device, address: u64, owned: &Owned) {
    let owner = &driver.devices[owned.device].memory;
    let Some(found) = owner.find(address) else { return };
    owner.assume_written(address);
    let host = std::ptr::with_exposed_provenance_mut(address as usize);
    // SAFETY: the memory is in this process, and is removed from this device before its owner frees it.
    // It fails if another context of the device has mapped it.
    let _ = unsafe { device.memory.adopt(host, found.bytes) };
}

/// Withdraws a right, and unmaps the memory unless another context of the device may access it.
fn withdraw(driver: &Driver, state: &mut State, access: PeerAccess, device: usize) -> bool {
    let was_enabled = state.peers.remove(&access);
    let of_device = |context: &Handle| state.contexts.get(*context).is_ok_and(|known| known.device == device);
    let still = state.peers.iter().any(|other| other.peer == access.peer && of_device(&other.context));
    if was_enabled && !still {
        let shared = state.allocations.iter();
        let shared = shared.filter(|(_, owned)| owned.context == access.peer && is_shared(owned));
        shared.for_each(|(address, _)| unmap(&driver.devices[device], *address));
    }
    was_enabled
}

/// Withdraws all rights of a context on this device, and those to its memory.
pub(super) fn forget(driver: &Driver, state: &mut State, context: Handle, device: usize) {
    let own: Vec<PeerAccess> =
        state.peers.iter().filter(|access| access.context == context).copied().collect();
    for access in own {
        withdraw(driver, state, access, device);
    }
    state.peers.retain(|access| access.peer != context);
}

/// Admits a device with a link to a pool's device to the pool's memory, present and to come, or shuts it out.
pub(super) fn admit(
    driver: &Driver,
    state: &mut State,
    pool: Handle,
    device: &Device,
    admitted: bool,
) -> Outcome {
    let known = state.pools.get_mut(pool)?;
    let changed =
        if admitted { known.readers.insert(device.ordinal) } else { known.readers.remove(&device.ordinal) };
    let lent = state.allocations.iter().filter(|(_, owned)| changed && owned.pool == Some(pool));
    for (address, owned) in lent {
        if admitted {
            map(driver, device, *address, owned);
        } else {
            unmap(device, *address);
        }
    }
    Ok(())
}

/// Removes another device's allocation from a device.
fn unmap(device: &Device, address: u64) {
    // It was mapped when access was given or the memory allocated, so this cannot fail.
    let _ = device.memory.release(std::ptr::with_exposed_provenance(address as usize));
}

entry_points! {
    fn cuDeviceCanAccessPeer(out: Out<c_int>, device: c_int, peer: c_int) {
        let driver = driver()?;
        let (device, peer) = (driver.device(device)?, driver.device(peer)?);
        out.set(possible(device, peer).is_some().into())
    }

    fn cuDeviceGetP2PAttribute(out: Out<c_int>, attribute: c_int, source: c_int, destination: c_int) {
        let driver = driver()?;
        let (source, destination) = (driver.device(source)?, driver.device(destination)?);
        if source.ordinal == destination.ordinal {
            return Err(INVALID_DEVICE);
        }
        let link = possible(source, destination);
        out.set(match attribute {
            attribute::PERFORMANCE_RANK
            | attribute::CUDA_ARRAY_ACCESS_SUPPORTED
            | attribute::ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED => 0,
            attribute::ACCESS_SUPPORTED => link.is_some().into(),
            attribute::NATIVE_ATOMIC_SUPPORTED => link.is_some_and(|link| link.has_atomics()).into(),
            _ => return Err(INVALID_VALUE),
        })
    }

    fn cuCtxEnablePeerAccess(peer: Handle, flags: c_uint) {
        let current = current()?;
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        let driver = current.driver;
        let mut state = driver.state();
        let of_peer = &driver.devices[state.contexts.get(peer)?.device];
        if peer == current.handle {
            return Err(INVALID_CONTEXT);
        }
        if of_peer.ordinal == current.device.ordinal {
            return Err(INVALID_DEVICE);
        }
        possible(current.device, of_peer).ok_or(PEER_ACCESS_UNSUPPORTED)?;
        if !state.peers.insert(PeerAccess { context: current.handle, peer }) {
            return Err(PEER_ACCESS_ALREADY_ENABLED);
        }
        for (address, owned) in &state.allocations {
            if owned.context == peer && is_shared(owned) {
                map(driver, current.device, *address, owned);
            }
        }
        Ok(())
    }

    fn cuCtxDisablePeerAccess(peer: Handle) {
        let current = current()?;
        let mut state = current.driver.state();
        state.contexts.get(peer)?;
        let access = PeerAccess { context: current.handle, peer };
        let was_enabled = withdraw(current.driver, &mut state, access, current.device.ordinal);
        if was_enabled { Ok(()) } else { Err(PEER_ACCESS_NOT_ENABLED) }
    }
}
