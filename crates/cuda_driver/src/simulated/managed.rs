//! Managed memory: where its pages are, where they should be, and who reaches them there.
//!
//! Kept by pages of 64 KiB, the least that a fault moves. A page that nobody has touched is nowhere, and counts as the
//! host's. What a program wants of its pages may differ from one part of 4 KiB, a page of the host's, to the next.

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

/// The host as a device's number, and none, as the driver API writes them.
pub(super) const HOST: c_int = -1;
pub(super) const NOWHERE: c_int = -2;

/// The pages of one allocation.
#[derive(Clone, Debug)]
pub(super) struct Pages {
    pub bytes: u64,
    pub pages: Vec<Page>,
    /// By block of 2 MiB: the tick at which pages came to a card last.
    pub came: Vec<u64>,
}

/// Bytes of a part, and parts of a page.
pub(super) const PART_BYTES: u64 = 4 << 10;
pub(super) const PARTS: usize = (PAGE_BYTES / PART_BYTES) as usize;

/// What the program wants of a page or of a part of it, in devices' numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Hints {
    pub preferred: c_int,
    /// Bit 0 is the host, bit `n + 1` device `n`.
    pub accessed_by: u64,
}

/// A page's places, as devices' numbers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Page {
    /// Where it is: of a page that is partly the host's by its hints, where the rest of it is.
    pub at: c_int,
    pub last_prefetch: c_int,
    pub hints: Hints,
    /// The hints of each part, where they differ.
    parts: Option<Box<[Hints; PARTS]>>,
    pub read_mostly: bool,
    /// It is on a card, and the host has a copy that is as good.
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

    /// The hints of parts, or those of all where they are the same.
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

    /// A bit for each part whose hints are so.
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

/// Enters a new allocation.
pub(super) fn add(state: &mut State, address: u64, bytes: u64) {
    let pages = vec![Page::NEW; bytes.div_ceil(PAGE_BYTES) as usize];
    let blocks = bytes.div_ceil(BLOCK_BYTES) as usize;
    state.managed.insert(address, Pages { bytes, pages, came: vec![0; blocks] });
}

/// Forgets an allocation.
pub(super) fn remove(state: &mut State, address: u64) {
    state.managed.remove(&address);
}

/// Whether the page of this address is the host's.
pub(super) fn on_host(state: &State, address: u64) -> bool {
    let found = state.managed.range(..=address).next_back();
    found.is_none_or(|(start, range)| {
        let page = range.pages.get(((address - start) / PAGE_BYTES) as usize);
        page.is_none_or(|page| page.at < 0)
    })
}

/// The allocation of a range, which must be within a managed one: where it starts, and which of its pages the range has.
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

/// The pages of a range, which must be within one managed allocation.
fn pages(managed: &mut BTreeMap<u64, Pages>, address: u64, bytes: u64) -> Outcome<&mut [Page]> {
    locate(managed, address, bytes).map(|(_, range, pages)| &mut range.pages[pages])
}

/// A range's pages with the parts of each that are in it.
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

/// Pages on their way to a place.
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

    /// Pages come to a card as far as they fit.
    fn bring(&self, driver: &Driver) -> Work {
        let Some(device) = driver.devices.get(self.to as usize) else { return Work::NOTHING };
        let (start, pages) = {
            let mut state = driver.state();
            // Freed since it was recorded: nothing is left to move.
            let Ok((start, range, pages)) = locate(&mut state.managed, self.address, self.bytes) else {
                return Work::NOTHING;
            };
            range.pages[pages.clone()].iter_mut().for_each(|page| page.last_prefetch = self.to);
            (start, pages)
        };
        match residence::prefetch(driver, device, start, pages) {
            0.0 => Work::NOTHING,
            seconds => Work { engine: Some(Engine::FromHost), seconds },
        }
    }

    /// Pages go back to the host, each from the card where it is.
    fn send_back(&self, driver: &Driver) -> Work {
        let mut moved = vec![0; driver.devices.len()];
        {
            let mut state = driver.state();
            let Ok(pages) = pages(&mut state.managed, self.address, self.bytes) else { return Work::NOTHING };
            for page in pages {
                if let Some(device) = usize::try_from(page.at).ok().and_then(|at| driver.devices.get(at)) {
                    // Of a copy, the host has the same already.
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
            residence::forget(device, vec![range]);
            seconds += unified::prefetch_seconds(&device.card, moved);
        }
        if seconds == 0.0 { Work::NOTHING } else { Work { engine: Some(Engine::ToHost), seconds } }
    }
}

/// A place by its number: the host or a device that faults.
fn place(current: &Current, device: c_int) -> Outcome<c_int> {
    if device == HOST {
        return Ok(HOST);
    }
    let found = current.driver.device(device)?;
    if unified::faults(found.card.compute_capability) { Ok(device) } else { Err(INVALID_DEVICE) }
}

/// `CUmemLocation`: a kind of place and its number.
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
                // The first form of these calls has a code of its own for devices that are none; this one has not.
                super::driver::driver()?.device(self.id).map_err(|_| INVALID_VALUE)?;
                Ok(self.id)
            }
            // The host, or a NUMA node of it, which are not told apart.
            2..=4 => Ok(HOST),
            _ => Err(INVALID_VALUE),
        }
    }
}

fn advise(address: u64, bytes: usize, advice: c_int, device: impl FnOnce() -> Outcome<c_int>) -> Outcome {
    let current = contexts::current()?;
    let device = match advice {
        // The place of these is not looked at.
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

/// A value that all share, else that for none.
fn shared<T>(of: &[T], value: impl Fn(&T) -> c_int) -> c_int {
    let mut values = of.iter().map(value);
    let first = values.next().unwrap_or(NOWHERE);
    if values.all(|value| value == first) { first } else { NOWHERE }
}

/// An attribute of a range, as integers.
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
    // The newer attributes tell a place in two parts: its kind, and its number.
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
