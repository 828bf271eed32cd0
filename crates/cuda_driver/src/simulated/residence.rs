//! Migrates managed memory for kernels, and computes the time of that.
//!
//! From 6.0 on, pages that a kernel touches and the card does not have are faulted in, as [`paging`](super::paging)
//! describes. Pages that the card may map remotely (their preferred location is the host, or the card is advised to
//! access them) stay, and are accessed over the link. Before 6.0, a launch first migrates all managed memory to the
//! card. Windows of resident blocks run one after another, and their waits for pages are added to the kernel's own
//! time.

use std::collections::BTreeMap;
use std::ops;

use simt::count::{ManagedWindow, Placement, Range, numbered};
use simt::memory::Kind;
use simt::model::unified::{self, BLOCK_BYTES, PAGE_BYTES};

use super::driver::{Device, Driver, State};
use super::managed::{HOST, NOWHERE, PART_BYTES, PARTS, Page, Pages, bit};
use super::paging::{Block, PAGES_A_BLOCK, Paging};

/// Cost of managed memory before and during a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Migration {
    /// Total time, in seconds.
    pub seconds: f64,
    /// Pages of 64 KiB on which kernels faulted.
    pub faults: u64,
    /// Batches in which the driver served them.
    pub batches: u64,
    /// Bytes that migrated to the card.
    pub bytes_in: u64,
    /// Blocks of 2 MiB, or their present parts, that were evicted.
    pub evictions: u64,
    /// Bytes that were evicted to the host.
    pub bytes_out: u64,
}

/// Returns the ranges outside of the card's own memory, for the counters: ascending, and empty if there are none.
pub(super) fn ranges(driver: &Driver, device: &Device) -> Vec<Range> {
    let state = driver.state();
    let mut ranges = Vec::new();
    let mut outside: Vec<(u64, Kind)> = state
        .allocations
        .iter()
        .filter(|(_, owned)| !owned.kind.on_device() || owned.device != device.ordinal)
        .map(|(at, owned)| (*at, owned.kind))
        .collect();
    outside.sort_unstable_by_key(|(address, _)| *address);
    for (address, kind) in outside {
        let Some(found) = device.memory.find(address) else { continue };
        match state.managed.get(&address) {
            Some(pages) if kind == Kind::Managed => pages_of(address, pages, device, &mut ranges),
            _ => {
                let placement = if kind.on_device() { Placement::Peer } else { Placement::Host };
                ranges.push(Range { addresses: found.address..found.end(), placement });
            }
        }
    }
    ranges
}

/// Adds the runs of pages of one placement. If hints keep part of a page on the host, each run of parts is a range of
/// its own.
fn pages_of(address: u64, pages: &Pages, device: &Device, ranges: &mut Vec<Range>) {
    let mut at = address;
    let end = address + pages.bytes;
    let mut push = |bytes: u64, placement| {
        let start = at.min(end);
        at += bytes;
        if start < at.min(end) {
            ranges.push(Range { addresses: start..at.min(end), placement });
        }
    };
    let placement = |linked| if linked { Placement::Linked } else { Placement::Managed };
    let whole = |page: &Page| stays(page, device);
    for run in pages.pages.chunk_by(|a, b| whole(a).is_some() && whole(a) == whole(b)) {
        match whole(&run[0]) {
            Some(stays) => push(run.len() as u64 * PAGE_BYTES, placement(stays)),
            None => {
                let linked = linked_parts(&run[0], device);
                let parts: Vec<bool> = (0..PARTS).map(|part| linked >> part & 1 != 0).collect();
                for parts in parts.chunk_by(|a, b| a == b) {
                    push(parts.len() as u64 * PART_BYTES, placement(parts[0]));
                }
            }
        }
    }
}

/// Returns a bit for each part of a page that the card accesses over the link while it is on the host.
fn linked_parts(page: &Page, device: &Device) -> u16 {
    let here = device.ordinal as i32;
    if !unified::faults(device.card.compute_capability) {
        return 0;
    }
    page.parts_with(|hints| {
        hints.preferred == HOST || (hints.accessed_by & bit(here) != 0 && hints.preferred != here)
    })
}

/// Returns true if the card accesses the page on the host without migrating it; `None` if only part of it stays on the
/// host.
fn stays(page: &Page, device: &Device) -> Option<bool> {
    match linked_parts(page, device) {
        0 => Some(false),
        u16::MAX => Some(page.at < 0),
        _ => None,
    }
}

/// Returns the bytes of a page that are on a card if the page is.
pub(super) fn bytes_on_card(page: &Page, device: &Device) -> u64 {
    match linked_parts(page, device) {
        0 | u16::MAX => PAGE_BYTES,
        linked => u64::from(linked.count_zeros()) * PART_BYTES,
    }
}

/// Migrates the pages that the windows touched, in their order. Returns the time of that and of the first TLB misses on
/// blocks that migrated since the last launch. The ranges are those with which the launch was counted.
pub(super) fn migrate(
    driver: &Driver,
    device: &Device,
    ranges: &[Range],
    windows: &[ManagedWindow],
) -> (Migration, f64) {
    if !unified::faults(device.card.compute_capability) {
        return (migrate_all(&mut driver.state(), device), 0.0);
    }
    if windows.is_empty() {
        return (Migration::default(), 0.0);
    }
    // Simulated on a copy without the lock, since this may take a while.
    let (mut paging, blocks, places, fresh) = {
        let state = driver.state();
        let blocks = Blocks::new(&state);
        let places = blocks.places(&state, ranges);
        let paging = paging(&state, device);
        let touched = state.touched[device.ordinal];
        let fresh = paging.blocks.iter().filter(|block| block.present != 0 && block.came > touched).count();
        (paging, blocks, places, fresh as u64)
    };
    for window in windows {
        paging.play(&window.trails, &places);
    }
    let left = {
        let mut state = driver.state();
        let left = blocks.write_back(&mut state, device, &paging);
        state.touched[device.ordinal] = state.tick;
        left
    };
    forget(device, left);
    (paging.migration, unified::first_touch_seconds(fresh))
}

/// Prefetches a range to the card, as far as it fits. Returns the time in seconds.
pub(super) fn prefetch(driver: &Driver, device: &Device, start: u64, pages: ops::Range<usize>) -> f64 {
    let mut state = driver.state();
    let blocks = Blocks::new(&state);
    let Some(&first) = blocks.first.get(&start) else { return 0.0 };
    let mut paging = paging(&state, device);
    let mut wanted = BTreeMap::<u32, u32>::new();
    for page in pages {
        let page = page as u32;
        *wanted.entry(first + page / PAGES_A_BLOCK).or_default() |= 1 << (page % PAGES_A_BLOCK);
    }
    paging.prefetch(&wanted);
    let left = blocks.write_back(&mut state, device, &paging);
    drop(state);
    forget(device, left);
    paging.migration.seconds
}

/// Evicts memory from a card's L2.
pub(super) fn forget(device: &Device, left: impl IntoIterator<Item = ops::Range<u64>>) {
    let mut left = left.into_iter().peekable();
    if left.peek().is_some() {
        let mut execution = device.execution();
        left.for_each(|range| execution.l2.forget(range));
    }
}

/// Migrates every managed allocation to the card, whole: for cards without page faults.
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

/// Returns the state of managed memory on a card.
fn paging<'a>(state: &State, device: &'a Device) -> Paging<'a> {
    let free = device.bytes.saturating_sub(device.memory.used());
    let room = free.min(state.managed_budgets[device.ordinal].unwrap_or(u64::MAX));
    let blocks = state.managed.values().flat_map(|pages| blocks_of(pages, device)).collect();
    Paging::new(&device.card, room, blocks, state.tick)
}

fn blocks_of(pages: &Pages, device: &Device) -> impl Iterator<Item = Block> {
    let here = device.ordinal as i32;
    pages.pages.chunks(PAGES_A_BLOCK as usize).zip(&pages.came).map(move |(chunk, &came)| {
        let mut block = Block { pages: chunk.len() as u32, came, ..Block::default() };
        for (index, page) in chunk.iter().enumerate() {
            let bit = |is: bool| u32::from(is) << index;
            let linked = linked_parts(page, device);
            if !matches!(linked, 0 | u16::MAX) {
                block.hosts_parts.get_or_insert_default()[index] = linked;
            }
            block.present |= bit(page.at == here);
            block.duplicate |= bit(page.at == here && page.duplicate);
            block.read_mostly |= bit(page.read_mostly);
            block.linked |= bit(linked == u16::MAX);
            block.elsewhere |= bit(page.at >= 0 && page.at != here);
        }
        block
    })
}

/// The blocks of each allocation.
struct Blocks {
    /// First block of each allocation.
    first: BTreeMap<u64, u32>,
}

impl Blocks {
    fn new(state: &State) -> Self {
        let mut next = 0;
        let numbers = state.managed.iter().map(|(start, pages)| {
            let first = next;
            next += pages.pages.len().div_ceil(PAGES_A_BLOCK as usize) as u32;
            (*start, first)
        });
        Self { first: numbers.collect() }
    }

    /// Returns the places of a launch's numbered pages: a block's index times 32 plus the page's.
    fn places(&self, state: &State, ranges: &[Range]) -> Vec<u32> {
        let mut places = Vec::new();
        for (first, range) in numbered(ranges) {
            let found = self.first.range(..=range.addresses.start).next_back();
            let last = first + (range.addresses.end - range.addresses.start).div_ceil(PAGE_BYTES) as u32;
            let (start, block) = match found {
                Some((start, block)) if state.managed[start].bytes > range.addresses.start - start => {
                    (*start, *block)
                }
                // Freed by another thread, which does not wait for launches: there is nothing to migrate.
                _ => {
                    places.resize(last as usize, u32::MAX);
                    continue;
                }
            };
            let before = ((range.addresses.start - start) / PAGE_BYTES) as u32;
            places.extend((0..last - first).map(|page| block * PAGES_A_BLOCK + before + page));
        }
        places
    }

    /// Stores the new locations of pages. Returns the addresses that have left the card.
    fn write_back(&self, state: &mut State, device: &Device, paging: &Paging<'_>) -> Vec<ops::Range<u64>> {
        let here = device.ordinal as i32;
        let mut gone = Vec::new();
        for (start, &first) in &self.first {
            let Some(pages) = state.managed.get_mut(start) else { continue };
            let chunks = pages.pages.chunks_mut(PAGES_A_BLOCK as usize).zip(&mut pages.came);
            for ((index, block), (chunk, came)) in (0_u64..).zip(&paging.blocks[first as usize..]).zip(chunks)
            {
                *came = block.came;
                for (page, bit) in chunk.iter_mut().zip(0..) {
                    if block.present >> bit & 1 != 0 {
                        page.at = here;
                        page.duplicate = block.duplicate >> bit & 1 != 0;
                    } else if block.left >> bit & 1 != 0 {
                        page.at = HOST;
                        page.duplicate = false;
                    }
                }
                if block.left != 0 {
                    let block = start + index * BLOCK_BYTES;
                    gone.push(block..block + BLOCK_BYTES);
                }
            }
        }
        state.tick = state.tick.max(paging.tick());
        gone
    }
}

/// The locations of a range of managed memory, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Residence {
    /// On this device.
    pub on_device: u64,
    /// On the host only.
    pub on_host: u64,
    /// On other devices.
    pub elsewhere: u64,
    /// Never touched by a kernel or a prefetch. The host's own accesses are not observed.
    pub untouched: u64,
}

/// Returns the locations of a range of managed memory, in bytes; no call of the driver API does. The unit is a page of
/// 64 KiB, or the allocation's shorter last page. `None` if there is no such device, or the range is not within one
/// managed allocation.
pub fn residence(device: usize, address: u64, bytes: u64) -> Option<Residence> {
    let driver = super::driver::driver().ok()?;
    let known = driver.devices.get(device)?;
    let state = driver.state();
    let (start, pages) = state.managed.range(..=address).next_back()?;
    let end = (address - start).checked_add(bytes).filter(|end| *end <= pages.bytes)?;
    let mut residence = Residence::default();
    let first = (address - start) / PAGE_BYTES;
    for (page, index) in pages.pages[first as usize..end.div_ceil(PAGE_BYTES) as usize].iter().zip(first..) {
        let bytes = PAGE_BYTES.min(pages.bytes - index * PAGE_BYTES);
        let here = bytes_on_card(page, known).min(bytes);
        residence.on_host += bytes - here;
        *match page.at {
            at if at == device as i32 => &mut residence.on_device,
            HOST => &mut residence.on_host,
            NOWHERE => &mut residence.untouched,
            _ => &mut residence.elsewhere,
        } += here;
    }
    Some(residence)
}

/// Limits the managed memory on a device in bytes, so that small data oversubscribes it; `None` removes the limit.
/// Present pages stay until a kernel or a prefetch needs room. Returns `false` if there is no such device.
pub fn limit_managed_memory(device: usize, bytes: Option<u64>) -> bool {
    let Ok(driver) = super::driver::driver() else { return false };
    let mut state = driver.state();
    state.managed_budgets.get_mut(device).map(|budget| *budget = bytes).is_some()
}
