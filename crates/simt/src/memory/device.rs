//! The device's memory: allocating, freeing, finding.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::allocation::{Allocation, Kind};
use super::error::{FreeError, MemoryError};
use super::host_limit::HostMemory;
use super::initialised::Shadow;
use super::reservation::Reservation;
use super::table::{Entry, GRANULE, Table};
use crate::fault::{Nearest, Place};

/// From this many bytes on, alone or since last asked, the computer is asked whether it has the memory.
const ASK_HOST_EVERY: u64 = 1 << 20;

/// A simulated device's global memory, shared by reference among all who use it.
///
/// Device addresses are host addresses: what is pinned, managed or registered is where the host has it, and the rest is
/// in a range of the host's address space that is this object's own. Nothing takes host memory before it is touched. A
/// kernel's bad address is found by looking it up among the allocations, never by touching it.
///
/// Allocations are 256-byte aligned (2 MiB from 1 MiB on), at least 256 bytes apart, so that bounds are exact unless
/// [`Memory::round_up_bounds`] says otherwise, and their addresses are used again only when all others have been, so that use after free is recognised.
///
/// # While a launch runs
/// Workers look allocations up under a read lock, and each remembers what it found in its own
/// [`LookupCache`](super::LookupCache), so that the lock is taken once for each allocation that an instruction
/// uses, not once an access. Allocating and freeing at the same time, from kernels or from the host, is safe: caches
/// notice frees, and freed pages stay accessible to this process, so a kernel that races with a free reads zeros.
#[derive(Debug)]
pub struct Memory {
    addresses: Reservation,
    pub(super) shadow: Shadow,
    capacity: u64,
    table: RwLock<Table>,
    /// How often something was removed: what caches remember is good as long as this does not change.
    removals: AtomicU64,
    tracking: AtomicBool,
    asked_host_at: AtomicU64,
}

impl Memory {
    /// The memory of a device that has `capacity` bytes of it.
    ///
    /// # Errors
    /// [`MemoryError::Reserve`] if there is no address space for it.
    pub fn new(capacity: u64) -> Result<Self, MemoryError> {
        let host = HostMemory::now().map_or(64 << 30, |host| host.total);
        // Twice the device's and twice the host's, for addresses not to be used again soon.
        let bytes = capacity.saturating_mul(2).saturating_add(host.saturating_mul(2)).saturating_add(1 << 30);
        let refused = |source| MemoryError::Reserve { bytes, source };
        let addresses = Reservation::new(bytes).map_err(refused)?;
        let shadow = Shadow::new(addresses.base(), addresses.bytes()).map_err(refused)?;
        let table = RwLock::new(Table::new(addresses.base(), addresses.bytes()));
        Ok(Self {
            addresses,
            shadow,
            capacity,
            table,
            removals: AtomicU64::new(0),
            tracking: AtomicBool::new(false),
            asked_host_at: AtomicU64::new(0),
        })
    }

    /// Takes memory, 256-byte aligned. What is in it is undefined.
    ///
    /// [`Kind::Managed`] and [`Kind::Pinned`] memory is not counted against the device's capacity, for it need not be
    /// on the device; host code may use it by its address.
    ///
    /// # Errors
    /// See [`MemoryError`]: 0 bytes, more than the device has, or more than this computer has.
    pub fn allocate(&self, bytes: u64, kind: Kind) -> Result<u64, MemoryError> {
        if bytes == 0 {
            return Err(MemoryError::Zero);
        }
        let mut table = self.table_mut();
        let used = table.used();
        if kind.on_device() && bytes > self.capacity.saturating_sub(used) {
            return Err(MemoryError::OutOfMemory { wanted: bytes, used, capacity: self.capacity });
        }
        self.ask_host(bytes, table.live().map(|entry| entry.allocation))?;
        let tracked = kind.tracked() && self.tracking.load(Ordering::Relaxed);
        let entry =
            table.allocate(bytes, kind, tracked).ok_or(MemoryError::AddressSpace { wanted: bytes })?;
        let address = entry.allocation.address;
        let opened = self
            .addresses
            .open(address, entry.reach)
            .and_then(|()| if tracked { self.shadow.begin(address, entry.reach) } else { Ok(()) });
        if let Err(source) = opened {
            table.remove(address);
            return Err(MemoryError::Refused { bytes, source });
        }
        Ok(address)
    }

    /// Whether the computer has memory for `wanted` bytes more. Small allocations ask only now and then.
    fn ask_host(&self, wanted: u64, live: impl Iterator<Item = Allocation>) -> Result<(), MemoryError> {
        let since = self.asked_host_at.fetch_add(wanted, Ordering::Relaxed).saturating_add(wanted);
        if since < ASK_HOST_EVERY {
            return Ok(());
        }
        self.asked_host_at.store(0, Ordering::Relaxed);
        let Some(HostMemory { available, total }) = HostMemory::now() else { return Ok(()) };
        let ours = live.filter(|allocation| allocation.kind != Kind::Registered);
        let in_use: u64 = ours.map(|allocation| allocation.bytes).sum();
        if wanted > available || in_use.saturating_add(wanted) > total {
            let available = available.min(total.saturating_sub(in_use));
            return Err(MemoryError::HostMemory { wanted, available, total });
        }
        Ok(())
    }

    /// Gives memory back; says what it was.
    ///
    /// # Errors
    /// See [`FreeError`]: never allocated, freed already, or not the beginning of an allocation. Host ranges are for
    /// [`Memory::release`].
    pub fn free(&self, address: u64) -> Result<Allocation, FreeError> {
        self.remove(address, |kind| kind != Kind::Registered)
    }

    fn remove(&self, address: u64, removable: impl Fn(Kind) -> bool) -> Result<Allocation, FreeError> {
        let mut table = self.table_mut();
        match table.starting(address).copied() {
            Some(Entry { allocation, reach, .. }) if removable(allocation.kind) => {
                table.remove(address);
                self.removals.fetch_add(1, Ordering::Release);
                if allocation.kind != Kind::Registered {
                    self.addresses.discard(address, reach);
                }
                Ok(allocation)
            }
            Some(_) => Err(FreeError::NotAllocated { address }),
            None => Err(match (table.containing(address), table.freed_containing(address)) {
                (Some(entry), _) => FreeError::Inside { address, allocation: entry.allocation },
                (None, Some(freed)) => FreeError::AlreadyFreed(freed),
                (None, None) => FreeError::NotAllocated { address },
            }),
        }
    }

    /// Lets kernels use memory of the host (`cuMemHostRegister`), by its own address.
    ///
    /// # Errors
    /// [`MemoryError::Zero`] or [`MemoryError::Overlap`].
    ///
    /// # Safety
    /// From now until [`Memory::release`], these bytes may be read and written, by any thread; while a launch runs,
    /// the host leaves them alone, but for what atomic operations do.
    pub unsafe fn adopt(&self, host: *mut u8, bytes: u64) -> Result<(), MemoryError> {
        let address = host.expose_provenance() as u64;
        if bytes == 0 {
            return Err(MemoryError::Zero);
        }
        let mut table = self.table_mut();
        if let Some(other) = table.overlapping(address, bytes) {
            return Err(MemoryError::Overlap { address, bytes, other: other.allocation });
        }
        table.forget(address, address.saturating_add(bytes));
        table.insert(address, bytes, Kind::Registered, false);
        Ok(())
    }

    /// Ends what [`Memory::adopt`] began. No launch that uses the range may be running.
    ///
    /// # Errors
    /// As for [`Memory::free`].
    pub fn release(&self, host: *const u8) -> Result<Allocation, FreeError> {
        self.remove(host.addr() as u64, |kind| kind == Kind::Registered)
    }

    /// The allocation in use that an address is in.
    pub fn find(&self, address: u64) -> Option<Allocation> {
        self.table().containing(address).map(|entry| entry.allocation)
    }

    /// The allocation closest to a range that is not within one, in use or lately freed.
    pub fn nearest(&self, address: u64, bytes: u64) -> Option<Nearest> {
        let table = self.table();
        // An access that begins in nothing but reaches into something is before that, whatever else is near.
        let last = address.saturating_add(bytes.saturating_sub(1));
        match table.containing(last).map(|entry| entry.allocation) {
            Some(reached) if address < reached.address => Some(Nearest {
                address: reached.address,
                bytes: reached.bytes,
                place: Place::Before(reached.address - address),
                freed: false,
            }),
            _ => table.nearest(address),
        }
    }

    /// All allocations in use, by address.
    pub fn allocations(&self) -> Vec<Allocation> {
        self.table().live().map(|entry| entry.allocation).collect()
    }

    /// Bytes in use of the device's own.
    pub fn used(&self) -> u64 {
        self.table().used()
    }

    /// Bytes that the device has.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// From the next allocation on, lets kernels touch all of an allocation's last granule of 512 bytes, as a GPU does:
    /// an overrun of a few bytes goes unnoticed. Otherwise bounds are exact.
    pub fn round_up_bounds(&self) {
        self.table_mut().round_up_to(GRANULE);
    }

    /// Whether to keep, for each byte of what is allocated from now on, if it has been written: for initcheck. Only of
    /// [`Kind::Device`] and [`Kind::Heap`] memory; variables have values from the start, and host code writes unseen
    /// to the rest.
    pub fn track_initialisation(&self, on: bool) {
        self.tracking.store(on, Ordering::Relaxed);
    }

    pub(super) fn removals(&self) -> u64 {
        self.removals.load(Ordering::Acquire)
    }

    pub(super) fn table(&self) -> RwLockReadGuard<'_, Table> {
        // The table is whole whenever its lock is free: nothing panics half-way through a change.
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn table_mut(&self) -> RwLockWriteGuard<'_, Table> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }
}
