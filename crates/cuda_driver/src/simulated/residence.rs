//! Where managed memory is when a kernel wants it, and what it takes to bring it there.
//!
//! From 6.0 on, what a kernel touches and the card does not have is faulted in: pages of 64 KiB, and more of their block of
//! 2 MiB where the prefetcher's tree finds more than half of a subtree wanted. Pages that the card may map where they are
//! (their preferred place is the host, or the card is told to access them) are not moved, but read and written over the
//! link. When the card is full, the blocks go back that were touched longest ago. Before 6.0, a launch first moves all
//! managed memory to the card. Windows of resident blocks fault one after another, in addition to the kernel's own time.

use std::collections::BTreeMap;

use simt::count::{ManagedWindow, Placement, Range};
use simt::memory::Kind;
use simt::model::unified::{self, BLOCK_BYTES, PAGE_BYTES};

use super::driver::{Device, Driver, State};
use super::managed::{HOST, Page, Pages, bit};

/// Pages of a block.
const PAGES_A_BLOCK: usize = (BLOCK_BYTES / PAGE_BYTES) as usize;

/// What managed memory took before and between the windows of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Migration {
    /// All of it, in seconds.
    pub seconds: f64,
    /// Pages of 64 KiB that kernels faulted on.
    pub faults: u64,
    /// Bytes that went to the card.
    pub bytes_in: u64,
    /// Bytes that went back to make room.
    pub bytes_out: u64,
}

/// What lies outside the card's own memory, for the counters: ascending, and empty where nothing does.
pub(super) fn ranges(driver: &Driver, device: &Device) -> Vec<Range> {
    let state = driver.state();
    let mut ranges = Vec::new();
    let mut outside: Vec<(u64, Kind)> = state
        .allocations
        .iter()
        .filter(|(_, owned)| !owned.kind.on_device())
        .map(|(at, owned)| (*at, owned.kind))
        .collect();
    outside.sort_unstable_by_key(|(address, _)| *address);
    for (address, kind) in outside {
        let Some(found) = device.memory.find(address) else { continue };
        match state.managed.get(&address) {
            Some(pages) if kind == Kind::Managed => pages_of(address, pages, device, &mut ranges),
            _ => ranges.push(Range { addresses: found.address..found.end(), placement: Placement::Host }),
        }
    }
    ranges
}

/// Runs of pages of one placement.
fn pages_of(address: u64, pages: &Pages, device: &Device, ranges: &mut Vec<Range>) {
    let mut at = address;
    for run in pages.pages.chunk_by(|a, b| stays(a, device) == stays(b, device)) {
        let end = (at + run.len() as u64 * PAGE_BYTES).min(address + pages.bytes);
        let placement = if stays(&run[0], device) { Placement::Host } else { Placement::Managed };
        ranges.push(Range { addresses: at..end, placement });
        at = end;
    }
}

/// Whether the card reaches the page where it is, with the host.
fn stays(page: &Page, device: &Device) -> bool {
    let here = device.ordinal as i32;
    if !unified::faults(device.card.compute_capability) || page.at >= 0 {
        return false;
    }
    page.preferred == HOST || (page.accessed_by & bit(here) != 0 && page.preferred != here)
}

/// Brings what the windows touched to the card, in their order, and says what that takes.
pub(super) fn migrate(driver: &Driver, device: &Device, windows: &[ManagedWindow]) -> Migration {
    let mut state = driver.state();
    if state.managed.is_empty() {
        return Migration::default();
    }
    if !unified::faults(device.card.compute_capability) {
        return migrate_all(&mut state, device);
    }
    let mut migration = Migration::default();
    for window in windows {
        let tick = state.next_tick();
        bring(&mut state, device, window, tick, &mut migration);
        evict(&mut state, device, tick, &mut migration);
    }
    migration
}

/// Before faults: every allocation goes to the card, whole, where it is not there yet.
fn migrate_all(state: &mut State, device: &Device) -> Migration {
    let here = device.ordinal as i32;
    let mut migration = Migration::default();
    for pages in state.managed.values_mut() {
        let missing = pages.pages.iter_mut().filter(|page| page.at != here);
        let bytes = missing.map(|page| page.at = here).count() as u64 * PAGE_BYTES;
        migration.bytes_in += bytes;
        migration.seconds += unified::migration_seconds(&device.card, bytes);
    }
    migration
}

/// One window's pages. Blocks of which most is wanted come as a sweep brings them; single pages of others wait for each
/// other in full batches.
fn bring(state: &mut State, device: &Device, window: &ManagedWindow, tick: u64, migration: &mut Migration) {
    let card = &device.card;
    let mut scattered = 0;
    for ((start, index), touched) in by_block(state, window) {
        let Some(pages) = state.managed.get_mut(&start) else { continue };
        pages.last[index] = tick;
        pages.dirty[index] |= touched.iter().any(|(_, written)| *written);
        let first = index * PAGES_A_BLOCK;
        let end = (first + PAGES_A_BLOCK).min(pages.pages.len());
        let block = &mut pages.pages[first..end];
        let (faults, moved) = fault_in(block, touched.iter().map(|(page, _)| page - first), device);
        migration.faults += faults;
        migration.bytes_in += moved * PAGE_BYTES;
        if moved as usize * 2 > block.len() {
            // The share of the block's sweep that is left to move.
            migration.seconds += unified::sweep_seconds(card, moved * PAGE_BYTES);
        } else {
            scattered += moved;
        }
    }
    migration.seconds += unified::scattered_seconds(card, scattered, unified::FAULTS_A_BATCH);
}

/// A window's pages by allocation and block: the page's number in the allocation, and whether it was written.
fn by_block(state: &State, window: &ManagedWindow) -> BTreeMap<(u64, usize), Vec<(usize, bool)>> {
    let mut blocks: BTreeMap<(u64, usize), Vec<(usize, bool)>> = BTreeMap::new();
    for touch in &window.pages {
        // Small allocations do not begin at a page: the first may begin within this one.
        let last = touch.page * PAGE_BYTES + PAGE_BYTES - 1;
        let Some((&start, pages)) = state.managed.range(..=last).next_back() else { continue };
        let page = ((touch.page * PAGE_BYTES).saturating_sub(start) / PAGE_BYTES) as usize;
        if page < pages.pages.len() {
            blocks.entry((start, page / PAGES_A_BLOCK)).or_default().push((page, touch.written));
        }
    }
    blocks
}

/// Brings wanted pages of a block to the card, with what the prefetcher adds: how many faulted, and how many came.
fn fault_in(block: &mut [Page], wanted: impl Iterator<Item = usize>, device: &Device) -> (u64, u64) {
    let here = device.ordinal as i32;
    let mut faulted = [false; PAGES_A_BLOCK];
    for page in wanted {
        faulted[page] = block[page].at != here && !stays(&block[page], device);
    }
    let faults = faulted.iter().filter(|faulted| **faulted).count() as u64;
    if faults == 0 {
        return (0, 0);
    }
    let mut present = [false; PAGES_A_BLOCK];
    for (present, page) in present.iter_mut().zip(&*block) {
        *present = page.at == here;
    }
    let expanded = expand(&faulted, &present, block.len());
    let mut moved = 0;
    for (page, _) in block.iter_mut().zip(expanded).filter(|(_, expanded)| *expanded) {
        if page.at != here && !stays(page, device) {
            page.at = here;
            moved += 1;
        }
    }
    (faults, moved)
}

/// The prefetcher's tree over a block's pages: a subtree of which more than 51% is wanted or there comes whole.
fn expand(wanted: &[bool], present: &[bool], pages: usize) -> [bool; PAGES_A_BLOCK] {
    let mut all = [false; PAGES_A_BLOCK];
    for (index, all) in all.iter_mut().enumerate() {
        *all = wanted[index] || present[index];
    }
    let mut size = 2;
    while size <= PAGES_A_BLOCK {
        for subtree in all[..pages.next_multiple_of(size).min(PAGES_A_BLOCK)].chunks_mut(size) {
            let there = subtree.iter().filter(|page| **page).count();
            if there * 100 > subtree.len() * 51 {
                subtree.fill(true);
            }
        }
        size *= 2;
    }
    all
}

/// Sends blocks back, least recently touched first, until what is on the card fits.
fn evict(state: &mut State, device: &Device, tick: u64, migration: &mut Migration) {
    let here = device.ordinal as i32;
    let room = device.bytes.saturating_sub(device.memory.used());
    let mut resident = Vec::new();
    let mut bytes = 0;
    for (start, pages) in &state.managed {
        for (index, block) in pages.pages.chunks(PAGES_A_BLOCK).enumerate() {
            let held = block.iter().filter(|page| page.at == here).count() as u64 * PAGE_BYTES;
            if held > 0 {
                bytes += held;
                resident.push((pages.last[index], *start, index, held));
            }
        }
    }
    if bytes <= room {
        return;
    }
    resident.sort_unstable();
    let (mut evicted, mut dirty) = (0, 0);
    for (last, start, index, held) in resident {
        // What this window itself needs stays, even if that is more than there is.
        if bytes <= room || last == tick {
            break;
        }
        let Some(pages) = state.managed.get_mut(&start) else { continue };
        let first = index * PAGES_A_BLOCK;
        let end = (first + PAGES_A_BLOCK).min(pages.pages.len());
        for page in pages.pages[first..end].iter_mut().filter(|page| page.at == here) {
            page.at = HOST;
        }
        bytes -= held;
        evicted += 1;
        if std::mem::take(&mut pages.dirty[index]) {
            dirty += 1;
            migration.bytes_out += held;
        }
    }
    if evicted > 0 {
        let share = f64::from(dirty) / f64::from(evicted);
        migration.seconds += unified::eviction_seconds(&device.card, u64::from(evicted as u32), share);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(set: &[usize]) -> [bool; PAGES_A_BLOCK] {
        std::array::from_fn(|page| set.contains(&page))
    }

    #[test]
    fn the_tree_brings_what_is_mostly_wanted() {
        let none = [false; PAGES_A_BLOCK];
        let count = |all: [bool; PAGES_A_BLOCK]| all.iter().filter(|page| **page).count();
        // One of two is not more than half.
        assert_eq!(count(expand(&pages(&[5]), &none, 32)), 1);
        // Three of four are, and four of the next eight are not.
        assert_eq!(expand(&pages(&[0, 1, 2]), &none, 32), pages(&[0, 1, 2, 3]));
        // What is there counts too: five of eight, then eight of sixteen.
        assert_eq!(count(expand(&pages(&[4]), &pages(&[0, 1, 2, 3]), 32)), 8);
        // More than half of all.
        assert_eq!(count(expand(&pages(&(0..17).collect::<Vec<_>>()), &none, 32)), 32);
    }
}
