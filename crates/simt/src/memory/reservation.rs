//! Reserves address space without memory behind it.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// Address requested for the first reservation, so that addresses are the same in each run.
const FIRST: u64 = 0x1000_0000_0000;
/// Address after which requests start again at the first.
const LAST: u64 = 0x5000_0000_0000;
/// Alignment of reservations, so that counts of pages and partitions do not depend on the run.
const ALIGNMENT: u64 = 1 << 30;

/// A range of addresses reserved for this process, and released when dropped.
#[derive(Debug)]
pub(super) struct Reservation {
    mapped: *mut libc::c_void,
    mapped_bytes: usize,
    base: u64,
    bytes: u64,
}

// SAFETY: it owns a range of addresses, which is valid in every thread; code that accesses the content is responsible
// for races.
unsafe impl Send for Reservation {}
// SAFETY: as above.
unsafe impl Sync for Reservation {}

impl Reservation {
    /// Reserves at least `bytes`, none of which may be accessed yet.
    pub(super) fn new(bytes: u64) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(FIRST);
        let too_large = || io::Error::from_raw_os_error(libc::ENOMEM);
        let bytes = bytes.checked_next_multiple_of(ALIGNMENT).ok_or_else(too_large)?;
        let with_slack = bytes.checked_add(ALIGNMENT).ok_or_else(too_large)?;
        let mapped_bytes = usize::try_from(with_slack).map_err(|_| too_large())?;
        let mut hint = NEXT.fetch_add(with_slack, Ordering::Relaxed);
        if hint > LAST {
            NEXT.store(FIRST + with_slack, Ordering::Relaxed);
            hint = FIRST;
        }
        // SAFETY: without MAP_FIXED a mapping replaces nothing, wherever the hint points.
        let mapped = unsafe {
            libc::mmap(
                hint as usize as *mut libc::c_void,
                mapped_bytes,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if mapped == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = (mapped.expose_provenance() as u64).next_multiple_of(ALIGNMENT);
        Ok(Self { mapped, mapped_bytes, base, bytes })
    }

    /// Returns the first address.
    pub(super) fn base(&self) -> u64 {
        self.base
    }

    /// Returns the number of bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Makes the pages of a range accessible. They read as 0 until written, and take memory when touched.
    pub(super) fn open(&self, address: u64, bytes: u64) -> io::Result<()> {
        let (first, last) = (address & !(page() - 1), (address + bytes).next_multiple_of(page()));
        debug_assert!(first >= self.base && last <= self.base + self.bytes);
        let (start, length) = (first as usize as *mut libc::c_void, (last - first) as usize);
        // SAFETY: the pages are this reservation's own.
        if unsafe { libc::mprotect(start, length, libc::PROT_READ | libc::PROT_WRITE) } != 0 {
            return Err(io::Error::last_os_error());
        }
        #[cfg(target_os = "linux")]
        if length >= 4 << 20 {
            // Huge pages cause fewer page faults; a failure does not matter. SAFETY: as above; the advice changes no
            // content.
            unsafe { libc::madvise(start, length, libc::MADV_HUGEPAGE) };
        }
        Ok(())
    }

    /// Releases the memory of pages wholly within the range. They stay accessible and read as zeros, so that a racing
    /// access does not crash the process.
    pub(super) fn discard(&self, address: u64, bytes: u64) {
        let (first, last) = (address.next_multiple_of(page()), (address + bytes) & !(page() - 1));
        if first < last {
            debug_assert!(first >= self.base && last <= self.base + self.bytes);
            // SAFETY: the pages are this reservation's own, and nothing live is in them.
            unsafe {
                libc::madvise(
                    first as usize as *mut libc::c_void,
                    (last - first) as usize,
                    libc::MADV_DONTNEED,
                );
            }
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and whatever refers to it has borrowed its owner.
        unsafe { libc::munmap(self.mapped, self.mapped_bytes) };
    }
}

/// Returns the bytes of a page.
fn page() -> u64 {
    static PAGE: AtomicU64 = AtomicU64::new(0);
    match PAGE.load(Ordering::Relaxed) {
        0 => {
            // SAFETY: asks for a number.
            let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
            let bytes = u64::try_from(bytes).ok().filter(|bytes| bytes.is_power_of_two()).unwrap_or(4096);
            PAGE.store(bytes, Ordering::Relaxed);
            bytes
        }
        bytes => bytes,
    }
}
