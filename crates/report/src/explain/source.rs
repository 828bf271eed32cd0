//! A kernel's source, with what was counted on each line below it.

use crate::terminal::{Ink, Style};
use crate::{KernelText, Place};
use record::{
    Line,
    counters::{Counts, MemoryCounts, SharedCounts},
};
use std::{fmt::Write, ops::RangeInclusive};

/// Columns before the text of a line: its number, and a bar.
const MARGIN: usize = 7;

/// Columns before the bar of a share.
const BEFORE_BAR: usize = 60;

/// The widest bar of a share.
const BAR: f64 = 10.0;

/// The kernel's source with its counters; with `ptx` also what each line was compiled to.
pub(super) fn annotated(text: &KernelText, lines: &[Line], ptx: bool, style: Style) -> String {
    let source: Vec<&str> = text.source.lines().collect();
    let total: u64 = lines.iter().map(|line| traffic(&line.counts)).sum();
    let of = |number: usize| -> Counts {
        lines.iter().filter(|line| is_of(line, text, number)).map(|line| line.counts).sum()
    };
    let mut out = heading(text.file, style);
    for (nth, fragment) in fragments(text, lines).into_iter().enumerate() {
        if nth > 0 {
            let _ = writeln!(out, "{}", style.paint(Ink::Faint, style.either("   ⋯", " ...")));
        }
        for number in fragment {
            out += &numbered(number, source[number - 1], style);
            out += &rows(&of(number), total, style);
            if ptx {
                out += &compiled(text, number, style);
            }
        }
    }
    for line in lines.iter().filter(|line| !(1..=source.len()).any(|number| is_of(line, text, number))) {
        let rows = rows(&line.counts, total, style);
        if !rows.is_empty() {
            let place = if line.file.is_empty() {
                "no line known".to_string()
            } else {
                format!("{}:{}", shortened(&line.file, text.file), line.line)
            };
            let _ = write!(out, "{}\n{rows}", style.paint(Ink::Faint, &place));
        }
    }
    out
}

/// Another file's path, from the folder on that the kernel's own path begins with; else its last two parts.
fn shortened<'p>(path: &'p str, own: &str) -> &'p str {
    let root = own.split('/').next().unwrap_or(own);
    let from_root = path.find(&format!("/{root}/")).map(|at| at + 1);
    let last_two = || path.rmatch_indices(['/', '\\']).nth(1).map(|(at, _)| at + 1);
    &path[from_root.or_else(last_two).unwrap_or(0)..]
}

/// The heading over the columns of counters.
fn heading(file: &str, style: Style) -> String {
    let gutter = style.either('┊', ':');
    let columns = format!(
        "     {gutter} {:<14}{:>9}  {:<15}{:>5}  traffic",
        "access", "requests", "per request", "used"
    );
    format!("{file}\n{}\n", style.paint(Ink::Faint, &style.cut(&columns)))
}

/// Whether a line's counters belong to this line of the kernel's file.
fn is_of(line: &Line, text: &KernelText, number: usize) -> bool {
    line.line as usize == number && is_same_file(&line.file, text.file)
}

/// Whether two paths name one file: one as the repository has it, the other perhaps as the compiler was told of it.
pub(crate) fn is_same_file(one: &str, other: &str) -> bool {
    let (long, short) = if one.len() > other.len() { (one, other) } else { (other, one) };
    !short.is_empty()
        && long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with(['/', '\\']))
}

/// Lines around one that is shown for its counters alone.
const CONTEXT: usize = 2;

/// The lines to show: the kernel's function, and of the rest of its file those that access memory, with what is around them.
fn fragments(text: &KernelText, lines: &[Line]) -> Vec<RangeInclusive<usize>> {
    let last = text.source.lines().count();
    let accesses = lines.iter().filter(|line| {
        let counts = &line.counts;
        traffic(counts) + counts.shared().requests + counts.constant.requests > 0
            && is_same_file(&line.file, text.file)
    });
    let around =
        accesses.map(|line| line.line as usize).filter(|number| (1..=last).contains(number)).map(|number| {
            let is_own = text.function().is_some_and(|function| function.contains(&number));
            let context = if is_own { 0 } else { CONTEXT };
            number.saturating_sub(context).max(1)..=(number + context).min(last)
        });
    let mut all: Vec<RangeInclusive<usize>> = text.function().into_iter().chain(around).collect();
    all.sort_by_key(|fragment| *fragment.start());
    let mut fragments: Vec<RangeInclusive<usize>> = Vec::new();
    for fragment in all {
        match fragments.last_mut() {
            Some(before) if *fragment.start() <= before.end() + 1 => {
                *before = *before.start()..=*before.end().max(fragment.end());
            }
            _ => fragments.push(fragment),
        }
    }
    fragments
}

/// A line of source behind its number, broken where it is too long.
fn numbered(number: usize, text: &str, style: Style) -> String {
    let room = style.columns() - MARGIN;
    let bar = style.either('│', '|');
    let mut out = String::new();
    let mut label = number.to_string();
    let indent = text.chars().take_while(|letter| *letter == ' ').count();
    let mut rest: String = text.trim_end().to_string();
    loop {
        let piece = if rest.chars().count() <= room {
            std::mem::take(&mut rest)
        } else {
            // At the last space that fits, behind the indentation; else in the middle of a word.
            let fits: String = rest.chars().take(room).collect();
            let end = fits.rfind(' ').filter(|end| *end > indent + 8).unwrap_or(fits.len());
            let tail = rest.split_off(end);
            std::mem::replace(
                &mut rest,
                format!("{}{}", " ".repeat((indent + 4).min(room / 2)), tail.trim_start()),
            )
        };
        let margin = style.paint(Ink::Faint, &format!("{label:>4} {bar} "));
        let _ = writeln!(out, "{}", format!("{margin}{}", piece.trim_end()).trim_end());
        label.clear();
        if rest.is_empty() {
            return out;
        }
    }
}

/// Sectors that requests of global and local memory move.
fn traffic(counts: &Counts) -> u64 {
    (counts.global() + counts.local_loads + counts.local_stores).sectors
}

/// A row for each kind of access that a line makes.
fn rows(counts: &Counts, total: u64, style: Style) -> String {
    let mut out = String::new();
    let memory = [
        ("load", &counts.loads),
        ("store", &counts.stores),
        ("atomic", &counts.atomics),
        ("local load", &counts.local_loads),
        ("local store", &counts.local_stores),
    ];
    for (kind, counts) in memory.into_iter().filter(|(_, counts)| counts.requests > 0) {
        out += &memory_row(kind, counts, total, style);
    }
    let shared = [
        ("shared load", &counts.shared_loads),
        ("shared store", &counts.shared_stores),
        ("shared atomic", &counts.shared_atomics),
    ];
    for (kind, counts) in shared.into_iter().filter(|(_, counts)| counts.requests > 0) {
        out += &shared_row(kind, counts, style);
    }
    let constant = counts.constant;
    if constant.requests > 0 {
        let each = 1.0 + constant.replays as f64 / constant.requests as f64;
        out += &row("constant load", constant.requests, &per_request(each, "issue"), 1.0 / each, "", style);
    }
    out
}

fn memory_row(kind: &str, counts: &MemoryCounts, total: u64, style: Style) -> String {
    let share = if total == 0 { 0.0 } else { counts.sectors as f64 / total as f64 };
    let room = BAR.min(style.columns().saturating_sub(BEFORE_BAR) as f64);
    let bar = style.either("█", "#").repeat((share * room).round() as usize);
    let traffic = format!("{:>4} {bar}", percent(share));
    let each = per_request(counts.sectors_per_request(), "sector");
    row(kind, counts.requests, &each, counts.efficiency(), &traffic, style)
}

fn shared_row(kind: &str, counts: &SharedCounts, style: Style) -> String {
    let each = counts.wavefronts as f64 / counts.requests as f64;
    row(kind, counts.requests, &per_request(each, "wavefront"), 1.0 / counts.ways(), "", style)
}

fn row(kind: &str, requests: u64, each: &str, used: f64, traffic: &str, style: Style) -> String {
    let ink = match used {
        used if used < 0.5 => Ink::Hot,
        used if used < 0.9 => Ink::Warm,
        _ => Ink::Cool,
    };
    let gutter = style.either('┊', ':');
    // Lanes that share a word ask for more bytes than are moved.
    let share = if used > 1.005 { ">100%".to_string() } else { percent(used) };
    let line = format!("{kind:<14}{:>9}  {each:<15}{share:>5}  {traffic}", grouped(requests));
    let margin = style.paint(Ink::Faint, &format!("     {gutter} "));
    format!("{margin}{}\n", style.paint(ink, style.cut(&format!("{}{line}", " ".repeat(MARGIN))).trim()))
}

/// "4.0 sectors", right-aligned up to the unit.
fn per_request(each: f64, unit: &str) -> String {
    let plural = if format!("{each:.1}") == "1.0" { "" } else { "s" };
    format!("{each:>4.1} {unit}{plural}")
}

/// A share in whole per cent.
pub(super) fn percent(share: f64) -> String {
    format!("{:.0}%", 100.0 * share)
}

/// A number with a comma every three digits.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(|group| String::from_utf8_lossy(group).into_owned());
    groups.collect::<Vec<_>>().join(",")
}

/// The PTX of a line.
fn compiled(text: &KernelText, number: usize, style: Style) -> String {
    let is_here = |place: &Place| place.line as usize == number && is_same_file(&place.file, text.file);
    let mut out = String::new();
    for line in text.ptx.iter().filter(|line| line.place.as_ref().is_some_and(is_here)) {
        let gutter = style.either('┆', ';');
        let shown = format!("     {gutter}     {}", line.text.trim());
        let _ = writeln!(out, "{}", style.paint(Ink::Faint, &style.cut(&shown.replace('\t', " "))));
    }
    out
}
