//! Global memory: allocates, frees and finds.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::allocation::{Allocation, Kind};
use super::error::{FreeError, MemoryError};
use super::host_limit::HostMemory;
use super::initialised::Whole;
use super::kept::Kept;
use super::reservation::Reservation;
use super::shadow::Shadow;
use super::table::{Entry, GRANULE, Table};
use crate::fault::{Nearest, Place};

/// Of the host's available memory, the part that freed memory may keep of it.
const KEPT_SHARE: u64 = 2;

/// Bytes, of one allocation or since the last check, from which the host's available memory is checked.
const ASK_HOST_EVERY: u64 = 1 << 20;

/// Global memory of a simulated device, shared by reference among all its users.
///
/// Device addresses are host addresses: pinned, managed and registered memory is where the host has it, and the rest is
/// in a reserved range of the host's address space. Pages take host memory when they are first touched, and those of
/// large allocations are kept for later ones, up to half of what the host has available. An invalid
/// address of a kernel is found by looking it up among the allocations, never by touching it.
///
/// Allocations are 256-byte aligned (2 MiB from 1 MiB on) and at least 256 bytes apart, so bounds are exact unless
/// [`Memory::round_up_bounds`] says otherwise. Addresses are reused only when all others have been used, so that use
/// after free is recognised.
///
/// # While a launch runs
/// Workers look allocations up under a read lock, and each keeps the results in its own
/// [`LookupCache`](super::LookupCache). So the lock is taken once for each allocation that an instruction accesses, not
/// once per access. Kernels and the host may allocate and free at the same time: caches notice frees, and freed pages
/// stay accessible to this process, so a kernel that races with a free reads zeros.
#[derive(Debug)]
pub struct Memory {
    addresses: Reservation,
    kept: Kept,
    pub(super) shadow: Shadow,
    pub(super) whole: Whole,
    capacity: u64,
    table: RwLock<Table>,
    /// Number of removals: cached look-ups are valid while it does not change.
    removals: AtomicU64,
    tracking: AtomicBool,
    asked_host_at: AtomicU64,
}

impl Memory {
    /// Creates the memory of a device with `capacity` bytes.
    ///
    /// # Errors
    /// [`MemoryError::Reserve`] if there is no address space for it.
    pub fn new(capacity: u64) -> Result<Self, MemoryError> {
        let host = HostMemory::now().map_or(64 << 30, |host| host.total);
        // Twice the device's and twice the host's size, so that addresses are not reused soon.
        let bytes = capacity.saturating_mul(2).saturating_add(host.saturating_mul(2)).saturating_add(1 << 30);
        let refused = |source| MemoryError::Reserve { bytes, source };
        let addresses = Reservation::new(bytes).map_err(refused)?;
        let shadow = Shadow::new(addresses.base(), addresses.bytes()).map_err(refused)?;
        let table = RwLock::new(Table::new(addresses.base(), addresses.bytes()));
        Ok(Self {
            addresses,
            kept: Kept::default(),
            shadow,
            whole: Whole::default(),
            capacity,
            table,
            removals: AtomicU64::new(0),
            tracking: AtomicBool::new(false),
            asked_host_at: AtomicU64::new(0),
        })
    }

    /// Allocates memory, 256-byte aligned, with undefined content.
    ///
    /// [`Kind::Managed`] and [`Kind::Pinned`] memory does not count against the device's capacity, since it need not be
    /// on the device; host code may access it by its address.
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
        self.kept.give(address, entry.reach);
        Ok(address)
    }

    /// Checks that the host has `wanted` more bytes. Small allocations check only now and then.
    fn ask_host(&self, wanted: u64, live: impl Iterator<Item = Allocation>) -> Result<(), MemoryError> {
        let since = self.asked_host_at.fetch_add(wanted, Ordering::Relaxed).saturating_add(wanted);
        if since < ASK_HOST_EVERY {
            return Ok(());
        }
        self.asked_host_at.store(0, Ordering::Relaxed);
        let Some(HostMemory { available, total }) = HostMemory::now() else { return Ok(()) };
        let ours = live.filter(|allocation| allocation.kind != Kind::Registered);
        let in_use: u64 = ours.map(|allocation| allocation.bytes).sum();
        let available = available.saturating_add(self.kept.bytes());
        if wanted > available || in_use.saturating_add(wanted) > total {
            let available = available.min(total.saturating_sub(in_use));
            return Err(MemoryError::HostMemory { wanted, available, total });
        }
        Ok(())
    }

    /// Frees an allocation and returns it.
    ///
    /// # Errors
    /// See [`FreeError`]: never allocated, freed already, or not the start of an allocation. [`Memory::release`] is for
    /// host ranges.
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
                    self.kept.take(address, reach, || {
                        HostMemory::now().map_or(0, |host| host.available / KEPT_SHARE)
                    });
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

    /// Registers memory of the host for kernels, at its own address (`cuMemHostRegister`).
    ///
    /// # Errors
    /// [`MemoryError::Zero`] or [`MemoryError::Overlap`].
    ///
    /// # Safety
    /// Until [`Memory::release`], any thread may read and write these bytes. While a launch runs, the host accesses
    /// them only by atomic operations.
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

    /// Unregisters what [`Memory::adopt`] registered. No running launch may use the range.
    ///
    /// # Errors
    /// Fails as [`Memory::free`] does.
    pub fn release(&self, host: *const u8) -> Result<Allocation, FreeError> {
        self.remove(host.addr() as u64, |kind| kind == Kind::Registered)
    }

    /// Returns the live allocation that contains an address.
    pub fn find(&self, address: u64) -> Option<Allocation> {
        self.table().containing(address).map(|entry| entry.allocation)
    }

    /// Returns the allocation closest to an invalid range, live or recently freed.
    pub fn nearest(&self, address: u64, bytes: u64) -> Option<Nearest> {
        let table = self.table();
        // An access that begins outside and reaches into an allocation lies before it, whatever else is near.
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

    /// Returns all live allocations, by address.
    pub fn allocations(&self) -> Vec<Allocation> {
        self.table().live().map(|entry| entry.allocation).collect()
    }

    /// Returns the device memory in use, in bytes.
    pub fn used(&self) -> u64 {
        self.table().used()
    }

    /// Returns the size of the device's memory in bytes.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Returns the host memory that freed allocations have left for later ones, in bytes.
    pub fn kept(&self) -> u64 {
        self.kept.bytes()
    }

    /// Rounds the bounds of later allocations up to granules of 512 bytes, as on a GPU: an overrun of a few bytes goes
    /// unnoticed. Bounds are exact otherwise.
    pub fn round_up_bounds(&self) {
        self.table_mut().round_up_to(GRANULE);
    }

    /// Sets whether later allocations record which bytes have been written, for initcheck. Only [`Kind::Device`] and
    /// [`Kind::Heap`] memory does: variables have initial values, and host code can write to the rest unobserved.
    pub fn track_initialisation(&self, on: bool) {
        self.tracking.store(on, Ordering::Relaxed);
    }

    pub(crate) fn removals(&self) -> u64 {
        self.removals.load(Ordering::Acquire)
    }

    pub(super) fn table(&self) -> RwLockReadGuard<'_, Table> {
        // A panic cannot leave the table half changed, so a poisoned lock is harmless.
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn table_mut(&self) -> RwLockWriteGuard<'_, Table> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }
}
