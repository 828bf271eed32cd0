//! Keeps the pages of freed memory for later allocations.
//!
//! The operating system clears each page that a process touches first, and under a hypervisor it may have to ask for it as
//! well, which together takes many times as long as writing to a page that the process has. So pages of large allocations
//! move, by `mremap`, from the freed addresses to ranges of their own, and from there to the next large allocation:
//!
//! ```text
//! free of 64 MiB at A        its pages move to a kept range; A stays accessible, and reads as zeros
//! allocation of 96 MiB at B  the pages are zeroed and move to the first 64 MiB of B; the rest of B is new
//! ```
//!
//! Addresses are those that they would be anyway, and so are contents: new memory reads as zeros. Where the pages cannot move,
//! as outside Linux, all memory is new.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Size and alignment of what moves: a huge page, which moves whole.
const UNIT: u64 = 2 << 20;
/// Bytes of the smallest allocation whose pages are kept.
const LEAST: u64 = 4 << 20;

/// Freed memory of a device that later allocations get.
#[derive(Debug, Default)]
pub(super) struct Kept(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The latest last.
    ranges: Vec<Range>,
    /// Where pages of two origins meet in an allocation. They are mappings of their own, and move one by one.
    seams: BTreeSet<u64>,
}

/// A mapping of kept pages.
#[derive(Clone, Copy, Debug)]
struct Range {
    address: u64,
    bytes: u64,
}

impl Kept {
    /// Returns the bytes that are kept.
    pub(super) fn bytes(&self) -> u64 {
        self.state().bytes()
    }

    /// Takes the first pages of a freed range, as many as leave no more than `limit` bytes kept. The range stays accessible and
    /// reads as zeros where pages were taken.
    pub(super) fn take(&self, address: u64, bytes: u64, limit: impl FnOnce() -> u64) {
        let (first, last) = (address.next_multiple_of(UNIT), (address + bytes) / UNIT * UNIT);
        if last.saturating_sub(first) < LEAST {
            return;
        }
        let limit = limit();
        let mut state = self.state();
        let mut start = first;
        while start < last {
            let end = state.seams.range(start + 1..=last).next().copied().unwrap_or(last);
            state.seams.remove(&end);
            let bytes = (end - start).min(limit.saturating_sub(state.bytes()) / UNIT * UNIT);
            if bytes >= LEAST && 2 * pages::resident(start, bytes) >= bytes {
                state.ranges.extend(pages::set_aside(start, bytes).map(|address| Range { address, bytes }));
            }
            start = end;
        }
    }

    /// Moves kept pages, as zeros, to the beginning of a new allocation, which nothing has touched.
    pub(super) fn give(&self, address: u64, bytes: u64) {
        if bytes < LEAST || !address.is_multiple_of(UNIT) {
            return;
        }
        let mut state = self.state();
        let (mut start, end) = (address, (address + bytes) / UNIT * UNIT);
        while let Some(Range { address: from, bytes }) = state.ranges.pop_if(|_| start < end) {
            let moved = bytes.min(end - start);
            if moved < bytes {
                state.ranges.push(Range { address: from + moved, bytes: bytes - moved });
            }
            pages::clear(from, moved);
            if !pages::put(from, moved, start) {
                // What does not move is of no use; all that is missing is new.
                pages::release(from, moved);
                break;
            }
            start += moved;
            state.seams.insert(start);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn bytes(&self) -> u64 {
        self.ranges.iter().map(|range| range.bytes).sum()
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.ranges.iter().for_each(|range| pages::release(range.address, range.bytes));
    }
}

/// The system calls. Ranges are multiples of [`UNIT`] in address and size, and mapped.
#[cfg(target_os = "linux")]
mod pages {
    use super::UNIT;
    use crate::memory::share::share;
    use libc::{MREMAP_DONTUNMAP, MREMAP_FIXED, MREMAP_MAYMOVE, c_void};
    use std::ptr::null_mut;

    /// Bytes of the smallest page that a processor has.
    const PAGE: u64 = 4 << 10;

    fn pointer(address: u64) -> *mut c_void {
        std::ptr::with_exposed_provenance_mut(address as usize)
    }

    /// Returns for each page whether it is in memory; `None` if the system does not tell.
    fn residence(address: u64, bytes: u64) -> Option<Vec<bool>> {
        let mut residence = vec![0_u8; (bytes / PAGE) as usize];
        // SAFETY: writes a byte for each page, and pages are no smaller than `PAGE`.
        let told = unsafe { libc::mincore(pointer(address), bytes as usize, residence.as_mut_ptr()) };
        (told == 0).then(|| residence.iter().map(|page| page & 1 == 1).collect())
    }

    /// Returns the bytes of a range that are in memory. Fewer where pages are larger than `PAGE`.
    pub(super) fn resident(address: u64, bytes: u64) -> u64 {
        residence(address, bytes).map_or(0, |pages| pages.iter().filter(|page| **page).count() as u64 * PAGE)
    }

    /// Moves the pages of a range elsewhere. Returns where they are.
    pub(super) fn set_aside(address: u64, bytes: u64) -> Option<u64> {
        let with_slack = bytes + UNIT;
        let (access, kind) = (libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
        // SAFETY: a new mapping replaces nothing.
        let mapped = unsafe { libc::mmap(null_mut(), with_slack as usize, access, kind, -1, 0) };
        if mapped == libc::MAP_FAILED {
            return None;
        }
        let mapped = mapped.expose_provenance() as u64;
        let to = mapped.next_multiple_of(UNIT);
        let flags = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
        // SAFETY: replaces a part of the new mapping. The freed range stays mapped and has no pages.
        let moved =
            unsafe { libc::mremap(pointer(address), bytes as usize, bytes as usize, flags, pointer(to)) };
        if moved == libc::MAP_FAILED {
            release(mapped, with_slack);
            return None;
        }
        release(mapped, to - mapped);
        release(to + bytes, mapped + with_slack - (to + bytes));
        Some(to)
    }

    /// Moves a range's mapping to an address, in place of what is mapped there. Returns true if it did.
    pub(super) fn put(from: u64, bytes: u64, to: u64) -> bool {
        let flags = MREMAP_MAYMOVE | MREMAP_FIXED;
        // SAFETY: the range is one that `set_aside` returned, of which nobody knows, and the allocation that it replaces is new.
        let moved =
            unsafe { libc::mremap(pointer(from), bytes as usize, bytes as usize, flags, pointer(to)) };
        moved != libc::MAP_FAILED
    }

    /// Zeros the pages of a range that are in memory; the others read as zeros.
    pub(super) fn clear(address: u64, bytes: u64) {
        share(bytes, UNIT, |part| {
            for start in part.step_by(UNIT as usize) {
                let piece = address + start;
                // SAFETY: pages of a range that `set_aside` returned, of which nobody knows.
                let zero = |from, bytes| unsafe { pointer(from).write_bytes(0, bytes as usize) };
                match residence(piece, UNIT) {
                    Some(pages) if !pages.iter().all(|page| *page) => {
                        let touched = (0..).zip(pages).filter(|(_, page)| *page);
                        touched.for_each(|(number, _)| zero(piece + number * PAGE, PAGE));
                    }
                    _ => zero(piece, UNIT),
                }
            }
        });
    }

    /// Gives a range back to the system.
    pub(super) fn release(address: u64, bytes: u64) {
        if bytes > 0 {
            // SAFETY: a mapping of this module's own, of which nobody knows.
            unsafe { libc::munmap(pointer(address), bytes as usize) };
        }
    }
}

/// Where pages do not move, none are ever kept.
#[cfg(not(target_os = "linux"))]
mod pages {
    pub(super) fn resident(_: u64, _: u64) -> u64 {
        0
    }

    pub(super) fn set_aside(_: u64, _: u64) -> Option<u64> {
        None
    }

    pub(super) fn put(_: u64, _: u64, _: u64) -> bool {
        false
    }

    pub(super) fn clear(_: u64, _: u64) {}

    pub(super) fn release(_: u64, _: u64) {}
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::memory::reservation::Reservation;

    const BYTES: u64 = 3 * LEAST;

    /// Opens a range, some way into a reservation.
    fn opened(reservation: &Reservation, number: u64, bytes: u64) -> u64 {
        let address = reservation.base() + (64 << 20) * number;
        reservation.open(address, bytes).expect("memory");
        address
    }

    fn bytes(address: u64, bytes: u64) -> &'static mut [u8] {
        // SAFETY: tests use ranges that are open, one after another, while their reservation lives.
        unsafe {
            std::slice::from_raw_parts_mut(
                std::ptr::with_exposed_provenance_mut(address as usize),
                bytes as usize,
            )
        }
    }

    #[test]
    fn pages_move_and_both_ends_read_as_zeros() {
        let (reservation, kept) = (Reservation::new(1 << 30).expect("address space"), Kept::default());
        let from = opened(&reservation, 1, BYTES + 5);
        bytes(from, BYTES + 5).fill(0xee);
        kept.take(from, BYTES + 5, || u64::MAX);
        assert_eq!(kept.bytes(), BYTES);
        assert!(bytes(from, BYTES).iter().all(|byte| *byte == 0), "the freed range");

        // Less than is kept, then more.
        for (number, size, left) in [(2, LEAST, BYTES - LEAST), (3, BYTES, 0)] {
            let to = opened(&reservation, number, size);
            kept.give(to, size);
            assert_eq!(kept.bytes(), left);
            assert_eq!(pages::resident(to, size), size.min(BYTES - LEAST), "moved, not new");
            assert!(bytes(to, size).iter().all(|byte| *byte == 0), "the new range");
            bytes(to, size).fill(0xdd);
        }
        // The last one has a seam, where its own pages begin.
        kept.take(reservation.base() + (192 << 20), BYTES, || u64::MAX);
        assert_eq!(kept.bytes(), BYTES);
    }

    #[test]
    fn what_is_small_or_untouched_is_not_kept_and_no_more_than_the_limit() {
        let (reservation, kept) = (Reservation::new(1 << 30).expect("address space"), Kept::default());
        let small = opened(&reservation, 1, LEAST - 1);
        bytes(small, LEAST - 1).fill(1);
        kept.take(small, LEAST - 1, || u64::MAX);
        let large = opened(&reservation, 2, BYTES);
        bytes(large, BYTES / 4).fill(1);
        kept.take(large, BYTES, || u64::MAX);
        assert_eq!(kept.bytes(), 0);
        bytes(large, BYTES).fill(1);
        kept.take(large, BYTES, || LEAST - 1);
        assert_eq!(kept.bytes(), 0);
        kept.take(large, BYTES, || BYTES - 1);
        assert_eq!(kept.bytes(), BYTES - UNIT);
        assert_eq!(bytes(large, BYTES)[BYTES as usize - 1], 1, "not taken, not touched");
    }
}
