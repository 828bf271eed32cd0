//! Memory pools: allocations and frees in stream order.
//!
//! Work is executed at once, so an allocation exists at once, and a pool keeps no memory for later. A pool is therefore
//! a handle, its attributes, and a count of the memory in use.

use std::collections::BTreeSet;
use std::ffi::{c_int, c_uint};

use simt::memory::Kind;

use super::codes::{INVALID_DEVICE, INVALID_VALUE, Outcome};
use super::contexts::{self, Current};
use super::driver::{Driver, State, driver};
use super::entry::{In, Out};
use super::operations::{Operation, submit};
use super::registry::Handle;
use super::{allocations, capture, peers, streams};

/// A memory pool.
#[derive(Debug)]
pub(super) struct Pool {
    pub device: usize,
    /// True for the device's own pool, which cannot be destroyed.
    pub default: bool,
    /// How it may reuse freed memory: three switches, all on at first, and the bytes that it keeps.
    pub reuse: [c_int; 3],
    pub release_threshold: u64,
    /// Most memory in use so far, in bytes.
    pub high: u64,
    /// Other devices that can read and write its memory.
    pub readers: BTreeSet<usize>,
}

impl Pool {
    pub(super) fn new(device: usize, default: bool) -> Self {
        Self { device, default, reuse: [1; 3], release_threshold: 0, high: 0, readers: BTreeSet::new() }
    }
}

/// `CUmemPoolProps`, as far as it is read.
#[derive(Clone, Copy)]
#[repr(C)]
struct Properties {
    allocation: c_int,
    handles: c_int,
    location: c_int,
    device: c_int,
    rest: [u64; 9],
}

const _: () = assert!(size_of::<Properties>() == 88);

/// Kinds of places that have memory: `CUmemLocationType`, as far as it is read.
mod location {
    use std::ffi::c_uint;

    pub(super) const DEVICE: c_uint = 1;
}

/// Access of a device to a pool: `CUmemAccess_flags`.
mod access {
    use std::ffi::c_uint;

    pub(super) const NONE: c_uint = 0;
    pub(super) const READ: c_uint = 1;
    pub(super) const READ_WRITE: c_uint = 3;
}

fn in_use(state: &State, driver: &Driver, pool: Handle) -> u64 {
    let owned = state.allocations.iter().filter(|(_, owned)| owned.pool == Some(pool));
    owned
        .filter_map(|(address, owned)| driver.devices[owned.device].memory.find(*address))
        .map(|found| found.bytes)
        .sum()
}

fn allocate(
    out: Out<u64>,
    bytes: usize,
    pool: Option<Handle>,
    stream: Handle,
    made_by: &'static str,
) -> Outcome {
    out.wanted()?;
    let current = contexts::current()?;
    let Current { driver, device, .. } = current;
    let pool = {
        let mut state = driver.state();
        let stream = streams::resolve(&mut state, &current, stream)?;
        // Allocations that are part of a graph are not simulated.
        capture::forbid(&mut state, stream)?;
        pool.unwrap_or(state.current_pools[device.ordinal])
    };
    if driver.state().pools.get(pool)?.device != device.ordinal {
        return Err(INVALID_VALUE);
    }
    if bytes == 0 {
        return out.set(0);
    }
    let address = allocations::allocate(&current, bytes, Kind::Device, made_by, 0, Some(pool))?;
    let mut state = driver.state();
    let used = in_use(&state, driver, pool);
    let pool = state.pools.get_mut(pool)?;
    pool.high = pool.high.max(used);
    out.set(address)
}

/// Returns the device of a `CUmemLocation` that has pools for allocations of a kind.
fn pooled(driver: &'static Driver, location: In<[c_int; 2]>, kind: c_int) -> Outcome<usize> {
    const PINNED: c_int = 1;
    const MANAGED: c_int = 2;
    const DEVICE: c_int = 1;
    const HOST_NUMA: c_int = 3;
    let [place, number] = location.get()?;
    match (place, kind) {
        (DEVICE, PINNED) => Ok(driver.device(number)?.ordinal),
        // Pools of the host's and of managed memory.
        (0..=HOST_NUMA, PINNED | MANAGED) => Err(crate::Code::NOT_SUPPORTED),
        _ => Err(INVALID_VALUE),
    }
}

entry_points! {
    fn cuMemAllocAsync(out: Out<u64>, bytes: usize, stream: Handle) {
        allocate(out, bytes, None, stream, "cuMemAllocAsync")
    }

    fn cuMemAllocFromPoolAsync(out: Out<u64>, bytes: usize, pool: Handle, stream: Handle) {
        allocate(out, bytes, Some(pool), stream, "cuMemAllocFromPoolAsync")
    }

    fn cuMemFreeAsync(address: u64, stream: Handle) {
        if address == 0 {
            return Err(INVALID_VALUE);
        }
        submit(stream, Operation::Free(address))
    }

    fn cuDeviceGetDefaultMemPool(out: Out<Handle>, device: c_int) {
        let driver = driver()?;
        let device = driver.device(device)?;
        out.set(driver.state().default_pools[device.ordinal])
    }

    fn cuDeviceGetMemPool(out: Out<Handle>, device: c_int) {
        let driver = driver()?;
        let device = driver.device(device)?;
        out.set(driver.state().current_pools[device.ordinal])
    }

    fn cuDeviceSetMemPool(device: c_int, pool: Handle) {
        let driver = driver()?;
        let device = driver.device(device)?;
        let mut state = driver.state();
        if state.pools.get(pool)?.device != device.ordinal {
            return Err(INVALID_VALUE);
        }
        state.current_pools[device.ordinal] = pool;
        Ok(())
    }

    // From CUDA 13: for locations of several kinds, of which only devices have pools here.
    fn cuMemGetDefaultMemPool(out: Out<Handle>, location: In<[c_int; 2]>, kind: c_int) {
        let driver = driver()?;
        let ordinal = pooled(driver, location, kind)?;
        out.set(driver.state().default_pools[ordinal])
    }

    fn cuMemGetMemPool(out: Out<Handle>, location: In<[c_int; 2]>, kind: c_int) {
        let driver = driver()?;
        let ordinal = pooled(driver, location, kind)?;
        out.set(driver.state().current_pools[ordinal])
    }

    fn cuMemSetMemPool(location: In<[c_int; 2]>, kind: c_int, pool: Handle) {
        let driver = driver()?;
        let ordinal = pooled(driver, location, kind)?;
        let mut state = driver.state();
        if state.pools.get(pool)?.device != ordinal {
            return Err(INVALID_VALUE);
        }
        state.current_pools[ordinal] = pool;
        Ok(())
    }

    // Nodes that allocate are not simulated, so their memory in use and reserved is always 0.
    fn cuDeviceGetGraphMemAttribute(device: c_int, attribute: c_int, value: Out<u64>) {
        driver()?.device(device)?;
        if !(0..=3).contains(&attribute) {
            return Err(INVALID_VALUE);
        }
        value.set(0)
    }

    fn cuDeviceSetGraphMemAttribute(device: c_int, attribute: c_int, value: In<u64>) {
        driver()?.device(device)?;
        // High-water marks, which can be reset.
        if matches!(attribute, 1 | 3) && value.get()? == 0 { Ok(()) } else { Err(INVALID_VALUE) }
    }

    fn cuDeviceGraphMemTrim(device: c_int) {
        driver()?.device(device).map(drop)
    }

    fn cuMemPoolCreate(out: Out<Handle>, properties: In<Properties>) {
        const PINNED: c_int = 1;
        const DEVICE: c_int = 1;
        let driver = driver()?;
        out.wanted()?;
        let Properties { allocation, handles, location, device, .. } = properties.get()?;
        let device = driver.device(device)?;
        if allocation != PINNED || location != DEVICE {
            return Err(INVALID_VALUE);
        }
        // Handles for other processes, which cannot access this one's simulated devices.
        if handles != 0 {
            return Err(crate::Code::NOT_SUPPORTED);
        }
        out.set(driver.state().pools.insert(Pool::new(device.ordinal, false)))
    }

    fn cuMemPoolDestroy(pool: Handle) {
        let driver = driver()?;
        let mut state = driver.state();
        let Pool { device, default, .. } = *state.pools.get(pool)?;
        if default {
            return Err(INVALID_VALUE);
        }
        state.pools.remove(pool)?;
        if state.current_pools[device] == pool {
            state.current_pools[device] = state.default_pools[device];
        }
        Ok(())
    }

    fn cuMemPoolTrimTo(pool: Handle, _least: usize) {
        driver()?.state().pools.get(pool).map(drop)
    }

    fn cuMemPoolGetAttribute(pool: Handle, attribute: c_int, value: Out<u8>) {
        let driver = driver()?;
        let state = driver.state();
        let used = in_use(&state, driver, pool);
        let pool = state.pools.get(pool)?;
        value.wanted()?;
        match attribute {
            1..=3 => value.cast().set(pool.reuse[attribute as usize - 1]),
            4 => value.cast().set(pool.release_threshold),
            // Reserved and in use, now and at most: nothing is reserved that is not in use.
            5 | 7 => value.cast().set(used),
            6 | 8 => value.cast().set(pool.high.max(used)),
            _ => Err(INVALID_VALUE),
        }
    }

    fn cuMemPoolSetAttribute(pool: Handle, attribute: c_int, value: In<u64>) {
        let driver = driver()?;
        let mut state = driver.state();
        let used = in_use(&state, driver, pool);
        let pool = state.pools.get_mut(pool)?;
        match attribute {
            // Switches are integers of 32 bits.
            1..=3 => pool.reuse[attribute as usize - 1] = value.cast::<c_int>().get()?,
            4 => pool.release_threshold = value.get()?,
            // High-water marks can be reset to the present value.
            6 | 8 if value.get()? == 0 => pool.high = used,
            _ => return Err(INVALID_VALUE),
        }
        Ok(())
    }

    fn cuMemPoolSetAccess(pool: Handle, descriptions: In<[c_uint; 3]>, count: usize) {
        let driver = driver()?;
        let mut state = driver.state();
        let own = state.pools.get(pool)?.device;
        let mut wanted = Vec::with_capacity(count);
        for index in 0..count {
            let [kind, device, access] = descriptions.at(index)?;
            if kind != location::DEVICE {
                return Err(INVALID_VALUE);
            }
            let device = driver.device(device as c_int)?;
            match (device.ordinal == own, access) {
                // A device's access to its own pools cannot be revoked.
                (true, access::READ_WRITE) => {}
                (true, _) => return Err(INVALID_VALUE),
                (false, access::NONE | access::READ_WRITE) => {
                    if access == access::READ_WRITE {
                        peers::possible(&driver.devices[own], device).ok_or(INVALID_DEVICE)?;
                    }
                    wanted.push((device, access == access::READ_WRITE));
                }
                (false, access::READ) => {
                    super::say_once(format_args!(
                        "cuMemPoolSetAccess returns CUDA_ERROR_NOT_SUPPORTED: access that only reads is not simulated. \
                         Ask for CU_MEM_ACCESS_FLAGS_PROT_READWRITE."
                    ));
                    return Err(crate::Code::NOT_SUPPORTED);
                }
                _ => return Err(INVALID_VALUE),
            }
        }
        // All of them can be, so none is changed by a call that fails.
        for (device, admitted) in wanted {
            peers::admit(driver, &mut state, pool, device, admitted)?;
        }
        Ok(())
    }

    fn cuMemPoolGetAccess(out: Out<c_uint>, pool: Handle, location: In<[c_uint; 2]>) {
        let driver = driver()?;
        let state = driver.state();
        let pool = state.pools.get(pool)?;
        let [kind, device] = location.get()?;
        if kind != location::DEVICE {
            return Err(INVALID_VALUE);
        }
        let device = driver.device(device as c_int)?.ordinal;
        let can = device == pool.device || pool.readers.contains(&device);
        out.set(if can { access::READ_WRITE } else { access::NONE })
    }
}
