//! Managed memory: the location of its pages, the program's hints, and the devices that access them.
//!
//! The unit is a page of 64 KiB, the smallest migration of a fault. A page that was never touched is nowhere, and
//! counts as the host's. Hints may differ between parts of 4 KiB, the host's pages.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_uint};
use std::ops::Range;

use simt::model::unified::{self, BLOCK_BYTES, PAGE_BYTES};

use super::codes::{INVALID_DEVICE, INVALID_VALUE, Outcome};
use super::contexts::{self, Current};
use super::driver::{Driver, State};
use super::entry::{In, Out};
use super::operations::{Operation, submit};
use super::registry::Handle;
use super::residence;
use super::timeline::{Engine, Work};

/// Device numbers of the host and of no device, as the driver API writes them.
pub(super) const HOST: c_int = -1;
pub(super) const NOWHERE: c_int = -2;

/// The pages of one allocation.
#[derive(Clone, Debug)]
pub(super) struct Pages {
    pub bytes: u64,
    pub pages: Vec<Page>,
    /// For each block of 2 MiB, the tick at which pages last migrated to a card.
    pub came: Vec<u64>,
}

/// Bytes of a part, and parts of a page.
pub(super) const PART_BYTES: u64 = 4 << 10;
pub(super) const PARTS: usize = (PAGE_BYTES / PART_BYTES) as usize;

/// The program's hints for a page or a part of it, as device numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hints {
    pub preferred: c_int,
    /// Bit 0 is the host, bit `n + 1` device `n`.
    pub accessed_by: u64,
}

/// The state of a page, with device numbers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Page {
    /// Location. If hints keep part of the page on the host, the location of the rest.
    pub at: c_int,
    pub last_prefetch: c_int,
    pub hints: Hints,
    /// Hints of each part, if they differ.
    parts: Option<Box<[Hints; PARTS]>>,
    pub read_mostly: bool,
    /// True if it is on a card and the host has a valid copy.
    pub duplicate: bool,
}

impl Page {
    const NEW: Self = Self {
        at: NOWHERE,
        last_prefetch: NOWHERE,
        hints: Hints { preferred: NOWHERE, accessed_by: 0 },
        parts: None,
        read_mostly: false,
        duplicate: false,
    };

    /// Returns the hints of parts, or one entry if all parts share them.
    fn hints_of(&self, parts: Range<usize>) -> &[Hints] {
        self.parts.as_ref().map_or(std::slice::from_ref(&self.hints), |hints| &hints[parts])
    }

    /// Changes the hints of parts.
    fn hint(&mut self, parts: Range<usize>, change: impl Fn(&mut Hints)) {
        if parts.len() == PARTS && self.parts.is_none() {
            return change(&mut self.hints);
        }
        let hints = self.parts.get_or_insert_with(|| Box::new([self.hints; PARTS]));
        hints[parts].iter_mut().for_each(change);
        if hints.iter().all(|part| *part == hints[0]) {
            self.hints = hints[0];
            self.parts = None;
        }
    }

    /// Returns a bit for each part whose hints match.
    pub(super) fn parts_with(&self, are: impl Fn(&Hints) -> bool) -> u16 {
        match &self.parts {
            None if are(&self.hints) => u16::MAX,
            None => 0,
            Some(parts) => (0..).zip(parts.iter()).map(|(part, hints)| u16::from(are(hints)) << part).sum(),
        }
    }
}

pub(super) fn bit(device: c_int) -> u64 {
    1 << (device + 1).clamp(0, 63)
}

/// Registers a new allocation.
pub(super) fn add(state: &mut State, address: u64, bytes: u64) {
    let pages = vec![Page::NEW; bytes.div_ceil(PAGE_BYTES) as usize];
    let blocks = bytes.div_ceil(BLOCK_BYTES) as usize;
    state.managed.insert(address, Pages { bytes, pages, came: vec![0; blocks] });
}

/// Removes an allocation.
pub(super) fn remove(state: &mut State, address: u64) {
    state.managed.remove(&address);
}

/// Returns true if the page of this address is on the host.
pub(super) fn on_host(state: &State, address: u64) -> bool {
    let found = state.managed.range(..=address).next_back();
    found.is_none_or(|(start, range)| {
        let page = range.pages.get(((address - start) / PAGE_BYTES) as usize);
        page.is_none_or(|page| page.at < 0)
    })
}

/// Returns the start of the managed allocation that contains a range, and the indices of the range's pages.
fn locate(
    managed: &mut BTreeMap<u64, Pages>,
    address: u64,
    bytes: u64,
) -> Outcome<(u64, &mut Pages, Range<usize>)> {
    if bytes == 0 {
        return Err(INVALID_VALUE);
    }
    let (start, range) = managed.range_mut(..=address).next_back().ok_or(INVALID_VALUE)?;
    let offset = address - start;
    let end = offset.checked_add(bytes).filter(|end| *end <= range.bytes).ok_or(INVALID_VALUE)?;
    let pages = (offset / PAGE_BYTES) as usize..end.div_ceil(PAGE_BYTES) as usize;
    Ok((*start, range, pages))
}

/// Returns the pages of a range, which must be within one managed allocation.
fn pages(managed: &mut BTreeMap<u64, Pages>, address: u64, bytes: u64) -> Outcome<&mut [Page]> {
    locate(managed, address, bytes).map(|(_, range, pages)| &mut range.pages[pages])
}

/// Returns a range's pages, each with its parts in the range.
fn parts(
    address: u64,
    bytes: u64,
    start: u64,
    pages: Range<usize>,
) -> impl Iterator<Item = (usize, Range<usize>)> {
    let (first, end) = (address - start, address - start + bytes);
    pages.map(move |page| {
        let page_start = page as u64 * PAGE_BYTES;
        let part = |offset: u64| offset.saturating_sub(page_start).min(PAGE_BYTES);
        (page, (part(first) / PART_BYTES) as usize..part(end).div_ceil(PART_BYTES) as usize)
    })
}

/// A migration of pages to a location.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prefetch {
    address: u64,
    bytes: u64,
    to: c_int,
}

impl Prefetch {
    pub(super) fn run(&self, driver: &Driver) -> Work {
        if self.to == HOST { self.send_back(driver) } else { self.bring(driver) }
    }

    /// Migrates pages to a card, as far as they fit.
    fn bring(&self, driver: &Driver) -> Work {
        let Some(device) = driver.devices.get(self.to as usize) else { return Work::NOTHING };
        let (start, pages) = {
            let mut state = driver.state();
            // Freed since it was recorded: nothing is left to migrate.
            let Ok((start, range, pages)) = locate(&mut state.managed, self.address, self.bytes) else {
                return Work::NOTHING;
            };
            range.pages[pages.clone()].iter_mut().for_each(|page| page.last_prefetch = self.to);
            (start, pages)
        };
        match residence::prefetch(driver, device, start, pages) {
            0.0 => Work::NOTHING,
            seconds => Work::on(Engine::FromHost, seconds),
        }
    }

    /// Migrates pages back to the host, each from its card.
    fn send_back(&self, driver: &Driver) -> Work {
        let mut moved = vec![0; driver.devices.len()];
        {
            let mut state = driver.state();
            let Ok(pages) = pages(&mut state.managed, self.address, self.bytes) else { return Work::NOTHING };
            for page in pages {
                if let Some(device) = usize::try_from(page.at).ok().and_then(|at| driver.devices.get(at)) {
                    // The host already has a valid copy.
                    moved[device.ordinal] +=
                        if page.duplicate { 0 } else { residence::bytes_on_card(page, device) };
                }
                page.at = self.to;
                page.last_prefetch = self.to;
                page.duplicate = false;
            }
        }
        let mut seconds = 0.0;
        for (device, moved) in driver.devices.iter().zip(moved).filter(|(_, moved)| *moved > 0) {
            let range = self.address..self.address + self.bytes;
            residence::forget(device, [range]);
            seconds += unified::prefetch_seconds(&device.card, moved);
        }
        if seconds == 0.0 { Work::NOTHING } else { Work::on(Engine::ToHost, seconds) }
    }
}

/// Returns a location by its number: the host, or a device that can fault.
fn place(current: &Current, device: c_int) -> Outcome<c_int> {
    if device == HOST {
        return Ok(HOST);
    }
    let found = current.driver.device(device)?;
    if unified::faults(found.card.compute_capability) { Ok(device) } else { Err(INVALID_DEVICE) }
}

/// `CUmemLocation`: kind and number of a location.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Location {
    kind: c_int,
    id: c_int,
}

impl Location {
    pub(super) fn number(self) -> Outcome<c_int> {
        match self.kind {
            1 => {
                // The first form of these calls has its own code for unknown devices; this one has not.
                super::driver::driver()?.device(self.id).map_err(|_| INVALID_VALUE)?;
                Ok(self.id)
            }
            // The host or one of its NUMA nodes, which are not distinguished.
            2..=4 => Ok(HOST),
            _ => Err(INVALID_VALUE),
        }
    }
}

fn advise(address: u64, bytes: usize, advice: c_int, device: impl FnOnce() -> Outcome<c_int>) -> Outcome {
    let current = contexts::current()?;
    let device = match advice {
        // These ignore the location.
        1 | 2 | 4 => NOWHERE,
        3 | 5 | 6 => place(&current, device()?)?,
        _ => return Err(INVALID_VALUE),
    };
    let mut state = current.driver.state();
    let (start, range, pages) = locate(&mut state.managed, address, bytes as u64)?;
    for (page, parts) in parts(address, bytes as u64, start, pages) {
        // The last page of an allocation ends with it.
        let parts = if address + bytes as u64 == start + range.bytes { parts.start..PARTS } else { parts };
        let page = &mut range.pages[page];
        match advice {
            1 => page.read_mostly = true,
            2 => page.read_mostly = false,
            3 => page.hint(parts, |hints| hints.preferred = device),
            4 => page.hint(parts, |hints| hints.preferred = NOWHERE),
            5 => page.hint(parts, |hints| hints.accessed_by |= bit(device)),
            _ => page.hint(parts, |hints| hints.accessed_by &= !bit(device)),
        }
    }
    Ok(())
}

pub(super) fn prefetch(address: u64, bytes: usize, device: c_int, stream: Handle) -> Outcome {
    let current = contexts::current()?;
    let to = place(&current, device)?;
    pages(&mut current.driver.state().managed, address, bytes as u64)?;
    submit(stream, Operation::Prefetch(Prefetch { address, bytes: bytes as u64, to }))
}

/// Returns the value that all share, else that for none.
fn shared<T>(of: &[T], value: impl Fn(&T) -> c_int) -> c_int {
    let mut values = of.iter().map(value);
    let first = values.next().unwrap_or(NOWHERE);
    if values.all(|value| value == first) { first } else { NOWHERE }
}

/// Returns an attribute of a range, as integers.
fn attribute(
    current: &Current,
    attribute: c_int,
    room: usize,
    address: u64,
    bytes: usize,
) -> Outcome<Vec<c_int>> {
    let mut state = current.driver.state();
    let (start, range, pages) = locate(&mut state.managed, address, bytes as u64)?;
    let hints: Vec<Hints> = parts(address, bytes as u64, start, pages.clone())
        .flat_map(|(page, parts)| range.pages[page].hints_of(parts))
        .copied()
        .collect();
    let pages = &range.pages[pages];
    let preferred = shared(&hints, |hints| hints.preferred);
    let last_prefetch = shared(pages, |page| page.last_prefetch);
    // The newer attributes split a location into its kind and its number.
    let kind = |device| match device {
        HOST => 2,
        NOWHERE => 0,
        _ => 1,
    };
    let one = |value| if room == size_of::<c_int>() { Ok(vec![value]) } else { Err(INVALID_VALUE) };
    match attribute {
        1 => one(c_int::from(pages.iter().all(|page| page.read_mostly))),
        2 => one(preferred),
        3 => {
            if room == 0 || !room.is_multiple_of(size_of::<c_int>()) {
                return Err(INVALID_VALUE);
            }
            let all = hints.iter().fold(u64::MAX, |all, hints| all & hints.accessed_by);
            let places = (HOST..current.driver.devices.len() as c_int).filter(|place| all & bit(*place) != 0);
            let mut list: Vec<c_int> = places.collect();
            list.resize(room / size_of::<c_int>(), NOWHERE);
            Ok(list)
        }
        4 => one(last_prefetch),
        5 => one(kind(preferred)),
        6 => one(preferred.max(0)),
        7 => one(kind(last_prefetch)),
        8 => one(last_prefetch.max(0)),
        _ => Err(INVALID_VALUE),
    }
}

entry_points! {
    fn cuMemAdvise(address: u64, bytes: usize, advice: c_int, device: c_int) {
        advise(address, bytes, advice, || Ok(device))
    }

    fn cuMemAdvise_v2(address: u64, bytes: usize, advice: c_int, location: Location) {
        advise(address, bytes, advice, || location.number())
    }

    fn cuMemPrefetchAsync(address: u64, bytes: usize, device: c_int, stream: Handle) {
        prefetch(address, bytes, device, stream)
    }

    fn cuMemPrefetchAsync_v2(address: u64, bytes: usize, location: Location, flags: c_uint, stream: Handle) {
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        prefetch(address, bytes, location.number()?, stream)
    }

    fn cuMemRangeGetAttribute(data: Out<c_int>, room: usize, number: c_int, address: u64, bytes: usize) {
        let current = contexts::current()?;
        data.wanted()?;
        data.set_all(&attribute(&current, number, room, address, bytes)?)
    }

    fn cuMemRangeGetAttributes(
        data: In<Out<c_int>>, rooms: In<usize>, numbers: In<c_int>, count: usize, address: u64, bytes: usize,
    ) {
        let current = contexts::current()?;
        if count == 0 {
            return Err(INVALID_VALUE);
        }
        for index in 0..count {
            let values = attribute(&current, numbers.at(index)?, rooms.at(index)?, address, bytes)?;
            data.at(index)?.set_all(&values)?;
        }
        Ok(())
    }
}
