//! Implements memory: that of the devices, mapped memory of the host, and the owner of each allocation.

use std::ffi::c_uint;

use simt::fault::Place;
use simt::memory::{Allocation, FreeError, Kind, MemoryError};

use super::codes::{
    HOST_MEMORY_ALREADY_REGISTERED, HOST_MEMORY_NOT_REGISTERED, INVALID_CONTEXT, INVALID_VALUE, NOT_FOUND,
    OUT_OF_MEMORY, Outcome,
};
use super::contexts::{self, Current};
use super::driver::{Driver, State};
use super::entry::Out;
use super::registry::Handle;
use super::{capture, findings, managed, peers, timeline};

/// The driver's record of an allocation, beside what the memory itself records.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owned {
    pub context: Handle,
    /// Device that it was allocated on.
    pub device: usize,
    pub kind: Kind,
    /// Flags of `cuMemHostAlloc` and `cuMemHostRegister`.
    pub flags: c_uint,
    /// Name of the call that made it.
    pub made_by: &'static str,
    /// Pool that it comes from, if any.
    pub pool: Option<Handle>,
}

/// Alignment of rows of pitched memory, in bytes.
const PITCH: usize = 512;

const MAPPED: c_uint = 2;
const PORTABLE_MAPPED_WRITE_COMBINED: c_uint = 7;

/// Returns the allocation that contains an address.
pub(super) fn containing(current: &Current, address: u64) -> Option<Allocation> {
    current.driver.locate(address).map(|found| found.allocation)
}

/// Allocates on the current context's device.
pub(super) fn allocate(
    current: &Current,
    bytes: usize,
    kind: Kind,
    made_by: &'static str,
    flags: c_uint,
    pool: Option<Handle>,
) -> Outcome<u64> {
    if bytes == 0 {
        return Err(INVALID_VALUE);
    }
    let Current { driver, device, .. } = *current;
    let address = device.memory.allocate(bytes as u64, kind).map_err(|cause| {
        if matches!(
            cause,
            MemoryError::HostMemory { .. } | MemoryError::Refused { .. } | MemoryError::AddressSpace { .. }
        ) {
            super::say(format_args!("{made_by} returns CUDA_ERROR_OUT_OF_MEMORY: {cause}"));
        }
        OUT_OF_MEMORY
    })?;
    if !kind.on_device() {
        share(driver, device.ordinal, address, bytes)?;
    }
    let owned = Owned { context: current.handle, device: device.ordinal, kind, flags, made_by, pool };
    let mut state = driver.state();
    state.allocations.insert(address, owned);
    if kind == Kind::Managed {
        managed::add(&mut state, address, bytes as u64);
    }
    peers::share(driver, &state, address, &owned);
    Ok(address)
}

/// Makes an allocation in the host's memory accessible to the other devices.
fn share(driver: &Driver, device: usize, address: u64, bytes: usize) -> Outcome {
    for other in driver.devices.iter().filter(|other| other.ordinal != device) {
        let host = std::ptr::with_exposed_provenance_mut(address as usize);
        // SAFETY: the memory has just been allocated; `forget` releases it from the others before it is freed.
        unsafe { other.memory.adopt(host, bytes as u64) }.map_err(|_| OUT_OF_MEMORY)?;
    }
    Ok(())
}

/// Removes an allocation from the other devices that can access it.
fn unshare(driver: &Driver, device: usize, address: u64) {
    for other in driver.devices.iter().filter(|other| other.ordinal != device) {
        // Fails for device memory that is not shared with this device.
        let _ = other.memory.release(std::ptr::with_exposed_provenance_mut(address as usize));
    }
}

/// Frees an allocation of any kind that the driver owns.
pub(super) fn release(driver: &Driver, address: u64, owned: &Owned) {
    let device = &driver.devices[owned.device];
    unshare(driver, owned.device, address);
    // The driver's records match the memory's, so this cannot fail.
    let _ = match owned.kind {
        Kind::Registered => {
            let host = std::ptr::with_exposed_provenance_mut(address as usize);
            device.memory.release(host).map(drop)
        }
        _ => device.memory.free(address).map(drop),
    };
    managed::remove(&mut driver.state(), address);
}

/// Reports an invalid free to memcheck.
fn misused(driver: &'static Driver, address: u64, function: &'static str) {
    let wrong = match driver.locate(address).map(|found| found.allocation) {
        Some(allocation) if allocation.address != address => FreeError::Inside { address, allocation },
        // The allocation is of a kind that this call does not free.
        Some(_) => FreeError::NotAllocated { address },
        None => {
            let nearest = driver.devices.iter().filter_map(|device| device.memory.nearest(address, 1));
            let freed = nearest
                .filter(|near| near.freed && near.address == address && near.place == Place::Inside(0));
            freed.map(|near| (near.address, near.bytes)).next().map_or(
                FreeError::NotAllocated { address },
                |(address, bytes)| {
                    FreeError::AlreadyFreed(Allocation { address, bytes, kind: Kind::Device, id: 0 })
                },
            )
        }
    };
    findings::invalid_free(driver, address, function, &wrong);
}

/// Frees an allocation if it is of one of these kinds.
fn free(driver: &'static Driver, address: u64, kinds: &[Kind], function: &'static str) -> Outcome {
    let owned = {
        let mut state = driver.state();
        match state.allocations.get(&address) {
            Some(owned) if kinds.contains(&owned.kind) => state.allocations.remove(&address),
            _ => None,
        }
    };
    match owned {
        Some(owned) => {
            release(driver, address, &owned);
            Ok(())
        }
        None => {
            misused(driver, address, function);
            Err(INVALID_VALUE)
        }
    }
}

/// Frees device or managed memory.
pub(super) fn free_device(driver: &'static Driver, address: u64, function: &'static str) -> Outcome {
    free(driver, address, &[Kind::Device, Kind::Managed], function)
}

/// Returns the bytes available on the host, by Linux and the process's control group.
fn host_bytes_available() -> Option<u64> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let available = line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10;
    let number = |path: &str| std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let of_group = number("/sys/fs/cgroup/memory.max")
        .map(|limit| limit.saturating_sub(number("/sys/fs/cgroup/memory.current").unwrap_or(0)));
    Some(available.min(of_group.unwrap_or(u64::MAX)))
}

/// Returns the context in which to free memory; `None` for null, which frees nothing.
fn freeing(address: u64) -> Outcome<Option<Current>> {
    if address == 0 {
        return match contexts::current() {
            Ok(_) | Err(INVALID_CONTEXT) => Ok(None),
            Err(broken) => Err(broken),
        };
    }
    // Without a context, an invalid address cannot be told from one of a destroyed context.
    let owner = |state: &State| Ok(state.allocations.get(&address).ok_or(INVALID_VALUE)?.context);
    contexts::current_or_owner(owner).map(Some)
}

/// Returns the current context if allocating is allowed now.
fn allocating() -> Outcome<Current> {
    let current = contexts::current()?;
    capture::forbid_unsafe(&mut current.driver.state())?;
    Ok(current)
}

fn host_allocate(out: Out<u64>, bytes: usize, flags: c_uint, made_by: &'static str) -> Outcome {
    out.wanted()?;
    let current = allocating()?;
    if flags & !PORTABLE_MAPPED_WRITE_COMBINED != 0 {
        return Err(INVALID_VALUE);
    }
    if bytes == 0 {
        return out.set(0);
    }
    out.set(allocate(&current, bytes, Kind::Pinned, made_by, flags, None)?)
}

/// Returns the pinned or registered memory that contains an address of the host.
fn host_memory(current: &Current, address: u64) -> Option<Owned> {
    let found = containing(current, address)?;
    let state = current.driver.state();
    state
        .allocations
        .get(&found.address)
        .copied()
        .filter(|owned| matches!(owned.kind, Kind::Pinned | Kind::Registered))
}

entry_points! {
    fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) {
        let current = contexts::current()?;
        let device = current.device;
        let left = device.bytes.saturating_sub(device.memory.used());
        total.wanted()?;
        let host = host_bytes_available().map_or(u64::MAX, |bytes| bytes + device.memory.kept());
        free.set(left.min(host) as usize)?;
        total.set(device.bytes as usize)
    }

    fn cuMemAlloc_v2(out: Out<u64>, bytes: usize) {
        out.wanted()?;
        out.set(allocate(&allocating()?, bytes, Kind::Device, "cuMemAlloc_v2", 0, None)?)
    }

    fn cuMemAllocPitch_v2(out: Out<u64>, pitch: Out<usize>, width: usize, height: usize, element: c_uint) {
        out.wanted()?;
        pitch.wanted()?;
        let current = allocating()?;
        if !matches!(element, 4 | 8 | 16) || width == 0 || height == 0 {
            return Err(INVALID_VALUE);
        }
        let row = width.checked_next_multiple_of(PITCH).ok_or(INVALID_VALUE)?;
        let bytes = row.checked_mul(height).ok_or(OUT_OF_MEMORY)?;
        out.set(allocate(&current, bytes, Kind::Device, "cuMemAllocPitch_v2", 0, None)?)?;
        pitch.set(row)
    }

    fn cuMemFree_v2(address: u64) {
        let current = match freeing(address)? {
            Some(current) => current,
            None => return Ok(()),
        };
        capture::forbid_unsafe(&mut current.driver.state())?;
        // Freeing waits for work that may still use the memory.
        timeline::synchronise_context(&mut current.driver.state(), current.handle)?;
        free_device(current.driver, address, "cuMemFree_v2")
    }

    fn cuMemGetAddressRange_v2(base: Out<u64>, bytes: Out<usize>, address: u64) {
        let current = contexts::current()?;
        let found = containing(&current, address).ok_or(NOT_FOUND)?;
        base.set_if_wanted(found.address);
        bytes.set_if_wanted(found.bytes as usize);
        Ok(())
    }

    fn cuMemAllocHost_v2(out: Out<u64>, bytes: usize) {
        host_allocate(out, bytes, 0, "cuMemAllocHost_v2")
    }

    fn cuMemHostAlloc(out: Out<u64>, bytes: usize, flags: c_uint) {
        host_allocate(out, bytes, flags, "cuMemHostAlloc")
    }

    fn cuMemFreeHost(address: u64) {
        let current = match freeing(address)? {
            Some(current) => current,
            None => return Ok(()),
        };
        timeline::synchronise_context(&mut current.driver.state(), current.handle)?;
        free(current.driver, address, &[Kind::Pinned], "cuMemFreeHost")
    }

    fn cuMemHostGetDevicePointer_v2(out: Out<u64>, address: u64, flags: c_uint) {
        let current = contexts::current()?;
        out.wanted()?;
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        host_memory(&current, address).ok_or(INVALID_VALUE)?;
        // Host and devices share one address space.
        out.set(address)
    }

    fn cuMemHostGetFlags(out: Out<c_uint>, address: u64) {
        let current = contexts::current()?;
        let owned = host_memory(&current, address).ok_or(INVALID_VALUE)?;
        // All of it is mapped, whether requested or not.
        out.set(owned.flags | MAPPED)
    }

    fn cuMemAllocManaged(out: Out<u64>, bytes: usize, flags: c_uint) {
        out.wanted()?;
        let current = allocating()?;
        // Attached to all streams, or to the host until it is attached to one.
        if !matches!(flags, 1 | 2) {
            return Err(INVALID_VALUE);
        }
        if !current.device.card.compute_capability.at_least(3, 0) {
            return Err(crate::Code::NOT_SUPPORTED);
        }
        out.set(allocate(&current, bytes, Kind::Managed, "cuMemAllocManaged", flags, None)?)
    }

    fn cuMemHostRegister_v2(address: u64, bytes: usize, flags: c_uint) {
        let current = contexts::current()?;
        if address == 0 || bytes == 0 || flags & !0xf != 0 {
            return Err(INVALID_VALUE);
        }
        let Current { driver, device, handle } = current;
        let host = std::ptr::with_exposed_provenance_mut(address as usize);
        // SAFETY: the program says that the memory stays until it is unregistered.
        unsafe { device.memory.adopt(host, bytes as u64) }.map_err(|cause| match cause {
            MemoryError::Overlap { .. } => HOST_MEMORY_ALREADY_REGISTERED,
            MemoryError::Zero => INVALID_VALUE,
            _ => OUT_OF_MEMORY,
        })?;
        share(driver, device.ordinal, address, bytes)?;
        let owned = Owned {
            context: handle,
            device: device.ordinal,
            kind: Kind::Registered,
            flags,
            made_by: "cuMemHostRegister_v2",
            pool: None,
        };
        driver.state().allocations.insert(address, owned);
        Ok(())
    }

    fn cuMemHostUnregister(address: u64) {
        let owner = |state: &State| Ok(state.allocations.get(&address).ok_or(HOST_MEMORY_NOT_REGISTERED)?.context);
        let current = contexts::current_or_owner(owner)?;
        timeline::synchronise_context(&mut current.driver.state(), current.handle)?;
        free(current.driver, address, &[Kind::Registered], "cuMemHostUnregister")
            .map_err(|_| HOST_MEMORY_NOT_REGISTERED)
    }
}
