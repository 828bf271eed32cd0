//! A kernel's part of its source file, with the counters of each line, beside its PTX.

use super::number::{count, percent, plain};
use crate::{CodeLine, Place, explain::source::is_same_file};
use maud::{Markup, html};
use record::{
    Line,
    counters::{Counts, MemoryCounts},
};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// The two panes of a kernel.
pub(super) struct Panes<'a> {
    /// The kernel's number on the page, from which ids of its lines are made: there are many thousands.
    pub number: usize,
    /// The kernel's name.
    pub name: &'a str,
    /// Its source file.
    pub file: &'a str,
    /// The text of that file; empty where it is not at hand.
    pub source: &'a str,
    /// The lines of the kernel's function in it, from 1, where these are known.
    pub function: Option<RangeInclusive<usize>>,
    /// Its PTX, where that is at hand.
    pub ptx: &'a [CodeLine],
    /// Its SASS, where it was disassembled.
    pub sass: &'a [CodeLine],
    /// The counters of its lines.
    pub lines: &'a [Line],
    /// The counters of the whole kernel, of which lines have shares.
    pub total: Counts,
}

impl Panes<'_> {
    /// The panes as an element.
    pub(super) fn render(&self) -> Markup {
        let lines: Vec<&str> = self.source.lines().collect();
        let fragments = fragments(self.function.clone(), &lines, &self.named());
        let shown = |line: u32| fragments.iter().any(|fragment| fragment.contains(&line));
        html! {
            div.panes {
                div.pane {
                    p.file { (self.file) }
                    div.code role="group" aria-label={"Source of " (self.name)} {
                        @for (nth, fragment) in fragments.iter().enumerate() {
                            @if nth > 0 { div.gap { "⋯" } }
                            @for number in fragment.clone() { (self.source_line(number, lines[number as usize - 1])) }
                        }
                        (self.elsewhere())
                    }
                }
                @if !self.ptx.is_empty() {
                    div.pane {
                        p.file { "PTX" }
                        (self.code(self.ptx, 'P', &shown, "PTX"))
                        @if !self.sass.is_empty() {
                            details { summary { "SASS" } (self.code(self.sass, 'S', &shown, "SASS")) }
                        }
                    }
                }
            }
        }
    }

    /// The line of a place, if it is in the kernel's own file.
    fn own(&self, place: Option<&Place>) -> Option<u32> {
        place
            .filter(|place| is_same_file(&place.file, self.file))
            .map(|place| place.line)
            .filter(|line| *line > 0)
    }

    /// Lines of the file that PTX or counters name.
    fn named(&self) -> BTreeSet<u32> {
        let counted =
            self.lines.iter().filter(|line| is_same_file(&line.file, self.file)).map(|line| line.line);
        let compiled = self.ptx.iter().filter_map(|line| self.own(line.place.as_ref()));
        counted.chain(compiled).filter(|line| *line > 0).collect()
    }

    fn id(&self, kind: char, line: u32) -> String {
        format!("k{}{kind}{line}", self.number)
    }

    fn source_line(&self, number: u32, text: &str) -> Markup {
        let compiled = self.ptx.iter().any(|line| self.own(line.place.as_ref()) == Some(number));
        let counted: Counts = self
            .lines
            .iter()
            .filter(|line| line.line == number && is_same_file(&line.file, self.file))
            .map(|line| line.counts)
            .sum();
        html! {
            div.line id=(self.id('L', number)) data-line=(number) {
                @if compiled { a href={"#" (self.id('P', number))} { (number) } } @else { b { (number) } }
                code { (coloured(text)) }
            }
            (heat(&counted, &self.total, number))
        }
    }

    /// The counters of lines in other files, such as the libraries that the kernel calls.
    fn elsewhere(&self) -> Markup {
        let others = self.lines.iter().filter(|line| !is_same_file(&line.file, self.file) || line.line == 0);
        html! {
            @for line in others.filter(|line| !says(&line.counts).is_empty()) {
                div.line.other { b {} code { (place_name(&line.file, line.line)) } }
                (heat(&line.counts, &self.total, line.line))
            }
        }
    }

    /// PTX or SASS in runs of lines that come from one line of source.
    fn code(&self, lines: &[CodeLine], kind: char, shown: &dyn Fn(u32) -> bool, name: &str) -> Markup {
        let mut seen = BTreeSet::new();
        let runs = lines.chunk_by(|one, other| one.place == other.place).map(|run| {
            let place = run[0].place.as_ref();
            let own = self.own(place).filter(|line| shown(*line));
            let id = own.filter(|line| seen.insert(*line)).map(|line| self.id(kind, line));
            let text = run.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n");
            html! {
                div id=[id] data-line=[own] {
                    @match (own, place) {
                        (Some(line), _) => { a href={"#" (self.id('L', line))} { (line) } },
                        (None, Some(place)) => { b title=(place_name(&place.file, place.line)) { "·" } },
                        (None, None) => {},
                    }
                    (text)
                }
            }
        });
        let runs: Vec<Markup> = runs.collect();
        html! {
            div.code.compiled role="group" tabindex="0" aria-label={(name) " of " (self.name)} {
                @for run in &runs { (run) }
            }
        }
    }
}

fn place_name(file: &str, line: u32) -> String {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    if line == 0 { "no source line".to_string() } else { format!("{name}:{line}") }
}

/// A line of Rust with its comment or attribute set back.
fn coloured(text: &str) -> Markup {
    let trimmed = text.trim_start();
    if trimmed.starts_with("//") || trimmed.starts_with("#[") {
        return html! { span.aside { (text) } };
    }
    match text.find(" // ") {
        Some(at) => html! { (&text[..at]) span.aside { (&text[at..]) } },
        None => html! { (text) },
    }
}

/// The cost of a line's requests, below the line; empty for a line without requests.
fn heat(counts: &Counts, total: &Counts, line: u32) -> Markup {
    let says = says(counts);
    if says.is_empty() {
        return html! {};
    }
    let shares = shares(counts, total);
    let most = shares.iter().map(|(share, _)| *share).fold(0.0, f64::max);
    html! {
        div.heat style={"--share:" (format!("{most:.3}"))} data-line=(line) data-sectors=(sectors(counts))
            data-wavefronts=(counts.shared().wavefronts) {
            @for (share, of) in shares { span.share { (percent(share)) " of all " (of) } }
            @for clause in says { span.clause { (clause) } }
        }
    }
}

/// Sectors of global and local memory.
fn sectors(counts: &Counts) -> u64 {
    (counts.global() + counts.local_loads + counts.local_stores).sectors
}

/// A line's part in what each memory moves, where it moves any.
pub(super) fn shares(counts: &Counts, total: &Counts) -> Vec<(f64, &'static str)> {
    let issues = |counts: &Counts| counts.constant.requests + counts.constant.replays;
    let parts = [
        (sectors(counts), sectors(total), "sectors"),
        (counts.shared().wavefronts, total.shared().wavefronts, "wavefronts"),
        (issues(counts), issues(total), "constant issues"),
    ];
    let moved = parts.into_iter().filter(|(part, _, _)| *part > 0);
    moved.map(|(part, whole, of)| (part as f64 / whole.max(1) as f64, of)).collect()
}

/// A clause for each kind of access.
pub(super) fn says(counts: &Counts) -> Vec<String> {
    let memory = [
        ("global loads", counts.loads),
        ("global stores", counts.stores),
        ("atomics", counts.atomics),
        ("local loads", counts.local_loads),
        ("local stores", counts.local_stores),
    ];
    let shared = [
        ("shared loads", counts.shared_loads),
        ("shared stores", counts.shared_stores),
        ("shared atomics", counts.shared_atomics),
    ];
    let memory = memory
        .into_iter()
        .filter(|(_, counts)| counts.requests > 0)
        .map(|(kind, counts)| of_memory(kind, &counts));
    let shared = shared.into_iter().filter(|(_, counts)| counts.requests > 0).map(|(kind, counts)| {
        let each = counts.wavefronts as f64 / counts.requests as f64;
        let conflicts = match counts.excess() {
            0 => "no bank conflicts".to_string(),
            excess => format!("{} of them lost to bank conflicts", count(excess)),
        };
        format!(
            "{kind}: {} requests, {} wavefronts ({} per request), {conflicts}",
            count(counts.requests),
            count(counts.wavefronts),
            plain(each),
        )
    });
    let constant = (counts.constant.requests > 0).then(|| {
        let issues = counts.constant.requests + counts.constant.replays;
        format!(
            "constant loads: {} requests, {} issues ({} per request)",
            count(counts.constant.requests),
            count(issues),
            plain(issues as f64 / counts.constant.requests as f64),
        )
    });
    memory.chain(shared).chain(constant).collect()
}

fn of_memory(kind: &str, counts: &MemoryCounts) -> String {
    format!(
        "{kind}: {} requests, {} sectors ({} per request), {} efficient",
        count(counts.requests),
        count(counts.sectors),
        plain(counts.sectors_per_request()),
        percent(counts.efficiency()),
    )
}

/// The stretches of a source file that belong to a kernel: its own function with what stands above it, and functions of the file
/// that were compiled into it.
fn fragments(
    function: Option<RangeInclusive<usize>>,
    lines: &[&str],
    named: &BTreeSet<u32>,
) -> Vec<RangeInclusive<u32>> {
    let number = |index: usize| index as u32 + 1;
    let mut found: Vec<RangeInclusive<u32>> = Vec::new();
    if let Some(function) = function {
        // The comment and the attributes.
        let above = lines[..function.start() - 1].iter().rev();
        let above = above.take_while(|line| !line.trim().is_empty() && line.trim() != "}").count();
        found.push((*function.start() - above) as u32..=*function.end() as u32);
    }
    for &line in named {
        let index = line as usize - 1;
        if index >= lines.len() || found.iter().any(|fragment| fragment.contains(&line)) {
            continue;
        }
        // Of other languages, and outside functions, two lines around.
        let around = (index.saturating_sub(2), (index + 2).min(lines.len() - 1));
        let (start, end) = enclosing(lines, index).unwrap_or(around);
        found.push(number(start)..=number(end));
    }
    found.sort_by_key(|fragment| *fragment.start());
    let mut merged: Vec<RangeInclusive<u32>> = Vec::new();
    for fragment in found {
        match merged.last_mut() {
            Some(last) if *fragment.start() <= last.end() + 2 => {
                *last = *last.start()..=*fragment.end().max(last.end());
            }
            _ => merged.push(fragment),
        }
    }
    merged
}

/// The function around a line, without its comment: first and last line, from 0.
fn enclosing(lines: &[&str], index: usize) -> Option<(usize, usize)> {
    let start = lines[..=index].iter().rposition(|line| is_function(line))?;
    let end = end_of(lines, start);
    (end >= index).then_some((start, end))
}

/// The last line of a function in formatted source: the first brace as far to the left as the function.
fn end_of(lines: &[&str], function: usize) -> usize {
    let indent = lines[function].len() - lines[function].trim_start().len();
    if lines[function].trim_end().ends_with('}') {
        return function;
    }
    let closes = |line: &&str| line.trim() == "}" && line.len() - line.trim_start().len() == indent;
    lines[function..].iter().position(closes).map_or(function, |ahead| function + ahead)
}

fn is_function(line: &str) -> bool {
    let line = line.trim_start();
    !line.starts_with("//") && (line.starts_with("fn ") || line.contains(" fn "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KernelText;

    const SOURCE: &str = "//! Head.\n\n/// Own.\n// PTX: x\n#[kernel(\n    one = <f32>,\n    two = <f64>\n)]\npub fn both<T>(a: T) {\n    help(a);\n}\n\n/// Helps.\nfn help(a: T) {\n    load(a)\n}\n\nfn other() {\n    two();\n}\n";

    fn of(name: &'static str, named: &[u32]) -> Vec<RangeInclusive<u32>> {
        let text = KernelText { name, source: SOURCE.to_string(), ..KernelText::default() };
        let lines: Vec<&str> = SOURCE.lines().collect();
        fragments(text.function(), &lines, &named.iter().copied().collect())
    }

    #[test]
    fn a_kernel_comes_with_its_comment() {
        assert_eq!(of("two", &[]), [3..=11]);
        assert_eq!(of("none", &[]), []);
    }

    #[test]
    fn functions_that_were_compiled_into_it_come_along() {
        assert_eq!(of("two", &[10, 15]), [3..=11, 14..=16]);
        assert_eq!(of("none", &[1]), [1..=3]);
    }
}
