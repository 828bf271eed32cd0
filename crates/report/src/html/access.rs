//! The worst request of a line, drawn: which lane falls into which sector, or onto which bank.

use super::{
    figure::{Column, Drawing, Figure},
    number::{count, percent, px},
};
use maud::{Markup, html};
use record::counters::{Access, AccessKind};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

const SECTOR: u64 = 32;
const LINE: u64 = 128;
const BANKS: u64 = 32;
const WORD: u64 = 4;
const LANES: [&str; 2] = ["lane", "lanes"];
const SECTORS: [&str; 2] = ["sector", "sectors"];

/// The drawing of a request of the line with this name.
pub(super) fn figure(id: String, whose: &str, access: &Access) -> Figure {
    let by_sectors = !access.kind.is_shared() && access.kind != AccessKind::ConstantLoad;
    Figure {
        id,
        title: format!("{whose}: the most expensive request, a {}", kind(access.kind)),
        description: says(access),
        notes: vec![says(access)],
        drawings: vec![if by_sectors { sectors(access) } else { banks(access) }],
        table: table(access, by_sectors),
    }
}

fn kind(kind: AccessKind) -> &'static str {
    match kind {
        AccessKind::GlobalLoad => "load from global memory",
        AccessKind::GlobalStore => "store to global memory",
        AccessKind::GlobalAtomic => "atomic in global memory",
        AccessKind::LocalLoad => "load from local memory",
        AccessKind::LocalStore => "store to local memory",
        AccessKind::SharedLoad => "load from shared memory",
        AccessKind::SharedStore => "store to shared memory",
        AccessKind::SharedAtomic => "atomic in shared memory",
        AccessKind::ConstantLoad => "load from constant memory",
    }
}

/// Lanes that take part, with their addresses.
fn lanes(access: &Access) -> impl Iterator<Item = (usize, u64)> {
    access.lanes.iter().enumerate().filter_map(|(lane, address)| Some((lane, (*address)?)))
}

fn several(count: u64, [one, many]: [&str; 2]) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// The request in a sentence, with its numbers.
pub(super) fn says(access: &Access) -> String {
    let taking = lanes(access).count() as u64;
    let whose = format!(
        "warp {} of block ({}, {}, {})",
        access.warp, access.block[0], access.block[1], access.block[2]
    );
    let asked = taking * u64::from(access.bytes);
    let distinct =
        |unit: u64| lanes(access).map(|(_, address)| address / unit).collect::<BTreeSet<_>>().len() as u64;
    if access.kind == AccessKind::ConstantLoad {
        return format!(
            "{} of {whose} read {}, and constant memory serves one at a time: {}.",
            several(taking, LANES),
            several(distinct(u64::from(access.bytes.max(1))), ["address", "addresses"]),
            several(access.wavefronts.into(), ["issue", "issues"]),
        );
    }
    if access.kind.is_shared() {
        let most = words_by_bank(access).values().map(BTreeSet::len).max().unwrap_or(0);
        let why = match most {
            0 | 1 => "no bank has two of the words".to_string(),
            most => format!("up to {most} different words lie in one bank"),
        };
        return format!(
            "{} of {whose} ask for {asked} bytes; {why}, so the request takes {}.",
            several(taking, LANES),
            several(access.wavefronts.into(), ["wavefront", "wavefronts"]),
        );
    }
    let moved = u64::from(access.sectors) * SECTOR;
    let used = if asked > moved {
        "lanes share them".to_string()
    } else {
        format!("{} of them asked for", percent(asked as f64 / moved.max(1) as f64))
    };
    let lie = touched(access, SECTOR).len() as u64;
    let lines = several(touched(access, LINE).len() as u64, ["line of 128 bytes", "lines of 128 bytes"]);
    // Cards before compute capability 5.0 move more than the sectors that hold the bytes.
    let taken = match u64::from(access.sectors) {
        sectors if sectors == lie => format!("touch {} in {lines}", several(lie, SECTORS)),
        sectors => format!(
            "lie in {} of {lines}, for which this card moves {} times 32 bytes",
            several(lie, SECTORS),
            count(sectors)
        ),
    };
    format!(
        "{} of {whose} ask for {} bytes and {taken}: {} bytes move, {used}.",
        several(taking, LANES),
        count(asked),
        count(moved),
    )
}

/// The cost of a request over the least possible cost of its bytes: 1 for one that wastes nothing.
pub(super) fn waste(access: &Access) -> f64 {
    let asked = lanes(access).count() as u64 * u64::from(access.bytes);
    let unit = if access.sectors > 0 { SECTOR } else { LINE };
    f64::from(access.cost()) / asked.div_ceil(unit).max(1) as f64
}

/// The address and length of each piece of a lane's access. In local memory the words of a lane lie 128 bytes apart.
fn pieces(access: &Access) -> impl Iterator<Item = (u64, u64)> {
    let bytes = u64::from(access.bytes.max(1));
    let is_local = matches!(access.kind, AccessKind::LocalLoad | AccessKind::LocalStore);
    let (count, each) = if is_local && bytes > WORD { (bytes / WORD, WORD) } else { (1, bytes) };
    lanes(access).flat_map(move |(_, address)| (0..count).map(move |nth| (address + nth * LINE, each)))
}

/// Numbers of the pieces of memory that lanes touch.
fn touched(access: &Access, unit: u64) -> BTreeSet<u64> {
    pieces(access).flat_map(|(address, bytes)| address / unit..=(address + bytes - 1) / unit).collect()
}

/// Words that are wanted of each bank.
fn words_by_bank(access: &Access) -> BTreeMap<u64, BTreeSet<u64>> {
    let mut banks: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for word in touched(access, WORD) {
        banks.entry(word % BANKS).or_default().insert(word);
    }
    banks
}

/// The width that is drawn on, in pixels: for a telephone as for half a page.
const WIDTH: f64 = Column::Middle.width();
/// The positions of the lanes, the height of their boxes, and the position of memory.
const LANES_TOP: f64 = 20.0;
const LANE_HEIGHT: f64 = 13.0;
const MEMORY_TOP: f64 = 128.0;

/// Boxes as one path.
fn boxes(boxes: impl Iterator<Item = [f64; 4]>) -> String {
    let mut path = String::new();
    for [x, y, width, height] in boxes {
        let _ = write!(path, "M{} {}h{}v{}h{}z", px(x), px(y), px(width), px(height), px(-width));
    }
    path
}

/// The lanes along the top, and a ray from the middle of each to where it falls.
fn lane_row(access: &Access, target: impl Fn(u64) -> f64) -> Markup {
    let all = access.lanes.len().max(32);
    let step = WIDTH / all as f64;
    let row = |takes: bool| {
        let lanes =
            (0..all).filter(move |lane| access.lanes.get(*lane).is_some_and(Option::is_some) == takes);
        boxes(lanes.map(move |lane| [step * lane as f64 + 0.75, LANES_TOP, step - 1.5, LANE_HEIGHT]))
    };
    let mut rays = String::new();
    for (lane, address) in lanes(access) {
        let from = step * (lane as f64 + 0.5);
        let _ = write!(
            rays,
            "M{} {}L{} {}",
            px(from),
            px(LANES_TOP + LANE_HEIGHT),
            px(target(address)),
            px(MEMORY_TOP)
        );
    }
    html! {
        text.tick x="0" y=(px(LANES_TOP - 6.0)) { "lane 0" }
        text.tick.end x=(px(WIDTH)) y=(px(LANES_TOP - 6.0)) { (all - 1) }
        path.lane d=(row(true)) {}
        path.idle d=(row(false)) {}
        path.ray d=(rays) {}
    }
}

/// Addresses by lane as an attribute; a lane that takes no part has none.
fn addresses(access: &Access) -> String {
    let text = |address: &Option<u64>| address.map(|address| address.to_string()).unwrap_or_default();
    access.lanes.iter().map(text).collect::<Vec<_>>().join(" ")
}

/// The lines of 128 bytes that are touched, each of four sectors, with the bytes that lanes ask for.
fn sectors(access: &Access) -> Drawing {
    let lines: Vec<u64> = touched(access, LINE).into_iter().collect();
    let touched = touched(access, SECTOR);
    // Lines side by side, further apart where memory lies between them.
    let far = |nth: usize| nth > 0 && lines[nth] != lines[nth - 1] + 1;
    let gap = (WIDTH / lines.len().max(1) as f64 * 0.18).clamp(1.0, 14.0);
    let between = |nth: usize| if far(nth) { gap } else { f64::from(u8::from(nth > 0)) };
    let gaps: f64 = (0..lines.len()).map(between).sum();
    let each = ((WIDTH - gaps) / lines.len().max(1) as f64).min(WIDTH / 2.0);
    let mut places: BTreeMap<u64, f64> = BTreeMap::new();
    let mut at = (WIDTH - each * lines.len() as f64 - gaps) / 2.0;
    for (nth, line) in lines.iter().enumerate() {
        at += between(nth);
        places.insert(*line, at);
        at += each;
    }
    let place = |address: u64| {
        let start = places.get(&(address / LINE)).copied().unwrap_or(0.0);
        start + (address % LINE) as f64 / LINE as f64 * each
    };
    let long = |bytes: u64| (bytes as f64 * each / LINE as f64).max(0.8);
    let y = MEMORY_TOP;
    let sector_boxes = |wanted: bool| {
        let all = lines.iter().flat_map(|line| line * 4..line * 4 + 4);
        let all = all.filter(|sector| touched.contains(sector) == wanted);
        boxes(all.map(|sector| [place(sector * SECTOR), y, each / 4.0, 22.0]))
    };
    let ends = lines.first().zip(lines.last()).map(|(first, last)| [first * LINE, last * LINE]);
    let marks = html! {
        (lane_row(access, |address| place(address) + long(u64::from(access.bytes)) / 2.0))
        path.sector d=(sector_boxes(false)) {}
        path.sector.touched d=(sector_boxes(true)) {}
        path.memory-line d=(boxes(places.values().map(|start| [*start, y, each, 22.0]))) {}
        path.used data-kind="sectors" data-addresses=(addresses(access)) data-sectors=(access.sectors)
            d=(boxes(pieces(access).map(|(address, bytes)| [place(address), y + 5.0, long(bytes), 12.0]))) {}
        @if each > 60.0 {
            @for (line, start) in &places { text.tick x=(px(*start)) y=(px(y + 38.0)) { "+" (count(line * LINE)) " B" } }
        } @else if let Some([first, last]) = ends {
            text.tick x="0" y=(px(y + 38.0)) { "+" (count(first)) " B" }
            text.tick.end x=(px(WIDTH)) y=(px(y + 38.0)) { "+" (count(last)) " B" }
        }
    };
    Drawing { column: Column::Middle, height: y + 46.0, marks }
}

/// Banks of shared memory with the words that are wanted of each; of constant memory the addresses, each a column.
fn banks(access: &Access) -> Drawing {
    let constant = access.kind == AccessKind::ConstantLoad;
    let different: Vec<u64> =
        lanes(access).map(|(_, address)| address).collect::<BTreeSet<_>>().into_iter().collect();
    let columns = if constant { different.len().max(1) } else { BANKS as usize };
    let step = WIDTH / columns.max(8) as f64;
    let left = (WIDTH - step * columns as f64) / 2.0;
    let words = words_by_bank(access);
    let words_in = |number: usize| match constant {
        true => 1,
        false => words.get(&(number as u64)).map_or(0, BTreeSet::len),
    };
    let most = (0..columns).map(words_in).max().unwrap_or(1).max(1);
    let tall = (96.0 / most as f64).clamp(3.0, 12.0);
    let column = |address: u64| match constant {
        true => different.binary_search(&address).unwrap_or(0),
        false => (address / WORD % BANKS) as usize,
    };
    let x = |number: usize| left + step * number as f64 + 0.75;
    let y = MEMORY_TOP;
    let stacks = (0..columns).flat_map(|number| (0..words_in(number)).map(move |nth| (number, nth)));
    let end = y + 8.0 + tall * most as f64 + 14.0;
    let marks = html! {
        (lane_row(access, |address| left + step * (column(address) as f64 + 0.5)))
        path.bank d=(boxes((0..columns).map(|number| [x(number), y, step - 1.5, 5.0]))) {}
        path.word data-kind=(if constant { "constants" } else { "banks" }) data-addresses=(addresses(access))
            data-wavefronts=(access.wavefronts)
            d=(boxes(stacks.map(|(number, nth)| [x(number), y + 8.0 + tall * nth as f64, step - 1.5, tall - 1.0]))) {}
        @if constant {
            text.tick x="0" y=(px(end)) { "the different addresses" }
        } @else {
            text.tick x="0" y=(px(end)) { "bank 0; below each bank its different words" }
            text.tick.end x=(px(WIDTH)) y=(px(end)) { "31" }
        }
    };
    Drawing { column: Column::Middle, height: end + 8.0, marks }
}

/// A line for each lane.
fn table(access: &Access, by_sectors: bool) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Lanes and addresses" { table.numbers {
            thead { tr {
                th scope="col" { "lane" }
                th scope="col" { "address" }
                th scope="col" { @if by_sectors { "sector" } @else { "bank" } }
            } }
            tbody { @for (lane, address) in lanes(access) { tr {
                th scope="row" { (lane) }
                td { "+" (count(address)) }
                td { @if by_sectors { (count(address / SECTOR)) } @else { (address / WORD % BANKS) } }
            } } }
        } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(bytes: u32, sectors: u32, address: impl Fn(u64) -> u64) -> Access {
        let lanes = (0..32).map(|lane| Some(address(lane))).collect();
        Access {
            site: 0,
            kind: AccessKind::GlobalLoad,
            bytes,
            lanes,
            sectors,
            wavefronts: 0,
            block: [1, 0, 0],
            warp: 2,
        }
    }

    #[test]
    fn requests_are_told_with_their_numbers() {
        assert_eq!(
            says(&load(8, 64, |lane| lane * 64)),
            "32 lanes of warp 2 of block (1, 0, 0) ask for 256 bytes and lie in 32 sectors of 16 lines of 128 bytes, for which \
             this card moves 64 times 32 bytes: 2,048 bytes move, 12.5% of them asked for."
        );
        assert!(
            says(&load(4, 1, |_| 0))
                .ends_with("touch 1 sector in 1 line of 128 bytes: 32 bytes move, lanes share them.")
        );
    }

    #[test]
    fn waste_is_cost_over_the_least() {
        assert_eq!([4, 5, 32].map(|sectors| waste(&load(4, sectors, |lane| lane * 4))), [1.0, 1.25, 8.0]);
    }

    #[test]
    fn words_of_local_memory_lie_apart() {
        let access = Access { kind: AccessKind::LocalLoad, ..load(8, 8, |lane| lane * 4) };
        assert_eq!(touched(&access, LINE), [0, 1].into());
        assert_eq!(touched(&access, SECTOR).len(), 8);
    }
}
