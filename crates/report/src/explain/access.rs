//! Draws one request of a warp: which lane falls on which sector, or on which bank.
//!
//! A row is what the memory system does at a time, and a mark on it 4 bytes: of global and local memory a row is a line of
//! 128 bytes in its four sectors, of shared memory a wavefront over the 32 banks, of constant memory the issue for one
//! address. The lanes that a row serves stand behind it. A warp that begins 4 bytes behind a line's start:
//!
//! ```text
//!      byte  4 sectors of 32 bytes                lanes
//!         0  ·███████ ████████ ████████ ████████  0-6 7-14 15-22 23-30
//!       128  █·······                             31
//! ```
//!
//! `█` are bytes that lanes ask for and `·` what moves with them unasked. A sector that is not touched is blank.

use crate::terminal::{Ink, Style};
use record::counters::{Access, AccessKind};
use std::{collections::BTreeMap, fmt::Write};

/// Bytes of a mark.
const WORD: u64 = 4;
/// Marks of a sector.
const SECTOR: u64 = 8;
/// Marks of a row.
const ROW: u64 = 32;
/// Rows that are drawn at the top of a picture that has more.
const MOST_ROWS: usize = 10;

/// One row of a picture: what is at its left, its marks in groups, and the lanes of each group.
struct Row {
    label: String,
    marks: Vec<String>,
    lanes: Vec<String>,
}

/// The picture with its caption, each line indented by two spaces.
pub(super) fn drawing(access: &Access, style: Style) -> String {
    let (head, rows) = match access.kind {
        AccessKind::ConstantLoad => (["byte", ""].map(str::to_string), addresses(access)),
        kind if kind.is_shared() => (["wavefront".to_string(), banks()], wavefronts(access, style)),
        _ => (["byte".to_string(), "4 sectors of 32 bytes".to_string()], lines(access, style)),
    };
    let width = head[1]
        .chars()
        .count()
        .max(rows.iter().map(|row| row.marks.join(" ").chars().count()).max().unwrap_or(0));
    let mut text = String::new();
    let caption = format!("  {:>9}  {:<width$}  lanes", head[0], head[1]);
    let _ = writeln!(text, "{}", style.paint(Ink::Faint, &style.cut(caption.trim_end())));
    let elided = rows.len().saturating_sub(MOST_ROWS);
    for (nth, row) in rows.iter().enumerate() {
        // What is left out stands before the last row, of which the reader learns how far the picture goes.
        if elided > 1 && (MOST_ROWS - 1..rows.len() - 1).contains(&nth) {
            if nth == MOST_ROWS - 1 {
                let _ = writeln!(
                    text,
                    "  {:>9}  {}",
                    style.either("⋮", ":"),
                    style.paint(Ink::Faint, &format!("{elided} rows more"))
                );
            }
            continue;
        }
        let marks = row.marks.join(" ");
        let lanes = row.lanes.iter().filter(|lanes| !lanes.is_empty()).cloned().collect::<Vec<_>>().join(" ");
        let line = format!("  {:>9}  {marks:<width$}  {lanes}", row.label);
        let _ = writeln!(text, "{}", style.cut(line.trim_end()));
    }
    text
}

/// The number of units in a picture of the request: sectors, wavefronts or issues. A card that serves a warp in parts,
/// or parts of it together, counts others.
pub(super) fn drawn(access: &Access) -> u32 {
    let rows = match access.kind {
        AccessKind::ConstantLoad => addresses(access).len(),
        kind if kind.is_shared() => wavefronts(access, Style::default()).len(),
        _ => lines(access, Style::default())
            .iter()
            .flat_map(|row| &row.lanes)
            .filter(|lanes| !lanes.is_empty())
            .count(),
    };
    u32::try_from(rows).unwrap_or(u32::MAX)
}

/// Lanes that take part, with their first bytes.
fn active(access: &Access) -> impl Iterator<Item = (usize, u64)> {
    access.lanes.iter().enumerate().filter_map(|(lane, address)| Some((lane, (*address)?)))
}

/// Numbers of the words that a lane's access covers.
fn words(access: &Access, address: u64) -> impl Iterator<Item = u64> {
    let is_local = matches!(access.kind, AccessKind::LocalLoad | AccessKind::LocalStore);
    // Of local memory each word of a lane lies a line behind the one before.
    let step = if is_local { ROW } else { 1 };
    let last = (address % WORD + u64::from(access.bytes)).div_ceil(WORD).max(1);
    (0..last).map(move |word| address / WORD + word * step)
}

/// Rows of global and local memory: a line each.
fn lines(access: &Access, style: Style) -> Vec<Row> {
    // By sector: its words, and the lanes that want any of them.
    let mut sectors: BTreeMap<u64, (u8, Vec<usize>)> = BTreeMap::new();
    for (lane, address) in active(access) {
        for word in words(access, address) {
            let (marks, lanes) = sectors.entry(word / SECTOR).or_default();
            *marks |= 1 << (word % SECTOR);
            if lanes.last() != Some(&lane) {
                lanes.push(lane);
            }
        }
    }
    let sectors: Vec<_> = sectors.into_iter().collect();
    let of_line = |(sector, _): &(u64, _)| sector * SECTOR / ROW;
    sectors
        .chunk_by(|one, other| of_line(one) == of_line(other))
        .map(|line| {
            let mut marks = vec![" ".repeat(SECTOR as usize); (ROW / SECTOR) as usize];
            let mut lanes = vec![String::new(); marks.len()];
            for (sector, (words, served)) in line {
                let nth = (sector % (ROW / SECTOR)) as usize;
                marks[nth] = (0..SECTOR).map(|word| mark(words >> word & 1 != 0, style)).collect();
                lanes[nth] = ranges(served);
            }
            Row { label: (of_line(&line[0]) * ROW * WORD).to_string(), marks, lanes }
        })
        .collect()
}

/// Rows of shared memory: a wavefront each. The words of a bank are served one after another, in the order of the lanes that
/// ask for them; atomics on one word as well. Accesses of 8 and 16 bytes go by halves and quarters of the warp.
fn wavefronts(access: &Access, style: Style) -> Vec<Row> {
    let is_atomic = access.kind == AccessKind::SharedAtomic;
    let part = 32 / (access.bytes as usize / 4).max(1);
    let mut rows: Vec<(u32, Vec<usize>)> = Vec::new();
    let all: Vec<(usize, u64)> = active(access).collect();
    for lanes in all.chunk_by(|(one, _), (other, _)| one / part == other / part) {
        // By bank: its words, and the lanes of each.
        let mut banks: BTreeMap<u64, Vec<(u64, Vec<usize>)>> = BTreeMap::new();
        for &(lane, address) in lanes {
            for word in words(access, address) {
                let served = banks.entry(word % ROW).or_default();
                match served.iter_mut().find(|(known, _)| *known == word && !is_atomic) {
                    Some((_, lanes)) => lanes.push(lane),
                    None => served.push((word, vec![lane])),
                }
            }
        }
        for nth in 0..banks.values().map(Vec::len).max().unwrap_or(0) {
            let served = banks.iter().filter_map(|(bank, words)| Some((bank, words.get(nth)?)));
            let mut row = (0, Vec::new());
            for (bank, (_, lanes)) in served {
                row.0 |= 1 << bank;
                row.1.extend(lanes);
            }
            row.1.sort_unstable();
            row.1.dedup();
            rows.push(row);
        }
    }
    let drawn = |(nth, (banks, lanes)): (usize, (u32, Vec<usize>))| {
        let marks = (0..ROW / SECTOR).map(|group| {
            (0..SECTOR).map(|bank| mark(banks >> (group * SECTOR + bank) & 1 != 0, style)).collect()
        });
        Row { label: (nth + 1).to_string(), marks: marks.collect(), lanes: vec![ranges(&lanes)] }
    };
    rows.into_iter().enumerate().map(drawn).collect()
}

/// The heading over 32 banks.
fn banks() -> String {
    ["bank 0", "8", "16", "24    31"].map(|bank| format!("{bank:<8}")).join(" ").trim_end().to_string()
}

/// Rows of constant memory: an address each.
fn addresses(access: &Access) -> Vec<Row> {
    let mut issues: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    active(access).for_each(|(lane, address)| issues.entry(address).or_default().push(lane));
    let row = |(address, lanes): (u64, Vec<usize>)| Row {
        label: address.to_string(),
        marks: Vec::new(),
        lanes: vec![ranges(&lanes)],
    };
    issues.into_iter().map(row).collect()
}

fn mark(asked: bool, style: Style) -> char {
    if asked { style.either('█', '#') } else { style.either('·', '.') }
}

/// Lanes as ranges: `0-6`, `3`, `0,2,4`; ranges with a step as `0-30/2`.
fn ranges(lanes: &[usize]) -> String {
    let mut text: Vec<String> = Vec::new();
    let mut rest = lanes;
    while let [first, ..] = *rest {
        let step = rest.get(1).map_or(1, |second| second - first);
        let run = rest.windows(2).take_while(|pair| pair[1] - pair[0] == step).count() + 1;
        // Two lanes with a gap between them are no series.
        let run = if step > 1 && run < 3 { 1 } else { run };
        let last = rest[run - 1];
        text.push(match (run, step) {
            (1, _) => first.to_string(),
            (_, 1) => format!("{first}-{last}"),
            _ => format!("{first}-{last}/{step}"),
        });
        rest = &rest[run..];
    }
    text.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    const STYLE: Style = Style { width: 80, unicode: false, colour: false };

    fn access(kind: AccessKind, bytes: u32, address: impl Fn(u64) -> Option<u64>) -> Access {
        let lanes = (0..32).map(address).collect();
        Access { site: 0, kind, bytes, lanes, sectors: 0, wavefronts: 0, block: [0; 3], warp: 0 }
    }

    /// The rows of a picture, without its caption.
    fn rows(access: &Access) -> Vec<String> {
        drawing(access, STYLE).lines().skip(1).map(|line| line.trim_start().to_string()).collect()
    }

    #[test]
    fn an_offset_spills_into_the_next_line() {
        let offset = access(AccessKind::GlobalLoad, 4, |lane| Some((lane + 1) * 4));
        assert_eq!(
            drawing(&offset, Style { unicode: true, ..STYLE }),
            "       byte  4 sectors of 32 bytes                lanes
          0  ·███████ ████████ ████████ ████████  0-6 7-14 15-22 23-30
        128  █·······                             31
"
        );
    }

    #[test]
    fn a_stride_spreads_over_lines() {
        let stride = access(AccessKind::GlobalStore, 8, |lane| Some(lane * 32));
        let rows = rows(&stride);
        assert_eq!(rows.len(), 8);
        assert_eq!(rows[1], "128  ##...... ##...... ##...... ##......  4 5 6 7");
        let far = access(AccessKind::GlobalLoad, 4, |lane| Some(lane * 128));
        let rows = self::rows(&far);
        assert_eq!(rows.len(), 11, "{rows:?}");
        assert_eq!(rows[0], "0  #.......                             0");
        assert_eq!(
            (rows[9].as_str(), rows[10].split_once(' ')),
            (":  22 rows more", Some(("3968", " #.......                             31")))
        );
    }

    #[test]
    fn lanes_that_take_no_part_fall_nowhere() {
        let odd = access(AccessKind::GlobalLoad, 4, |lane| (lane % 2 == 1).then_some(lane * 4));
        assert_eq!(rows(&odd), ["0  .#.#.#.# .#.#.#.# .#.#.#.# .#.#.#.#  1-7/2 9-15/2 17-23/2 25-31/2"]);
    }

    #[test]
    fn a_wavefront_serves_a_word_per_bank() {
        let column = |pitch: u64| access(AccessKind::SharedLoad, 4, move |lane| Some(lane * pitch * 4));
        let padded = rows(&column(33));
        assert_eq!(padded, ["1  ######## ######## ######## ########  0-31"]);
        let conflicts = rows(&column(32));
        assert_eq!(conflicts[0], "1  #....... ........ ........ ........  0");
        assert_eq!(conflicts[9..], [":  22 rows more", "32  #....... ........ ........ ........  31"]);
        let two = rows(&column(2));
        assert_eq!(
            two,
            ["1  #.#.#.#. #.#.#.#. #.#.#.#. #.#.#.#.  0-15", "2  #.#.#.#. #.#.#.#. #.#.#.#. #.#.#.#.  16-31"]
        );
        let wide = access(AccessKind::SharedStore, 8, |lane| Some(lane * 8));
        assert_eq!(rows(&wide).len(), 2, "a half-warp fills all banks");
        let atomics = access(AccessKind::SharedAtomic, 4, |lane| Some(lane / 16 * 4));
        assert_eq!(rows(&atomics)[0], "1  ##...... ........ ........ ........  0,16");
        assert_eq!(rows(&atomics).len(), 11);
    }

    #[test]
    fn constants_and_local_memory() {
        let constants = access(AccessKind::ConstantLoad, 4, |lane| Some(lane % 3 * 4));
        assert_eq!(rows(&constants), ["0    0-30/3", "4    1-31/3", "8    2-29/3"]);
        let words = access(AccessKind::LocalLoad, 8, |lane| Some(lane * 4));
        let rows = rows(&words);
        assert_eq!((rows.len(), rows[1].starts_with("128  ########")), (2, true), "{rows:?}");
    }

    #[test]
    fn a_picture_fits_the_terminal() {
        let scattered = access(AccessKind::GlobalLoad, 4, |lane| Some(lane * 7 % 32 * 4));
        let narrow = Style { width: 60, ..STYLE };
        assert!(drawing(&scattered, narrow).lines().all(|line| line.chars().count() <= 60));
        assert!(drawing(&scattered, narrow).contains(".."));
    }
}
