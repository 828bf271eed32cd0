//! A kernel's section: its source beside its PTX, what each line costs, its worst access, and what bounds it.

use super::{
    Report, RunRecords, access,
    bars::remark,
    limits,
    number::{doubted, first_letter_up, time},
    overview,
    prose::Prose,
    source::Panes,
};
use crate::{CodeLine, KernelText, explain::excess, explanation};
use maud::{Markup, html};
use record::{Backend, Bytes, Counted, Line, Record, Times};

/// The row whose counters say most of a kernel, and the run that it is of.
struct Telling<'r> {
    row: &'r Record,
    counted: &'r Counted,
    run: &'r RunRecords,
}

impl Telling<'_> {
    /// The whole modelled time.
    fn modelled(&self) -> Option<&Times> {
        self.row.time_ms.as_ref()
    }
}

/// The section as an element.
pub(super) fn render(report: &Report<'_>, number: usize, name: &str) -> Markup {
    let text = report.catalog.kernel(name);
    let telling = telling(report, name);
    let lines = telling.as_ref().map_or(&[][..], |telling| &telling.counted.lines);
    let rows: Vec<(&RunRecords, &Record)> = report
        .runs
        .iter()
        .flat_map(|run| run.records.iter().map(move |row| (run, row)))
        .filter(|(_, row)| row.kernel == name)
        .collect();
    let experiment =
        rows.first().map(|(_, row)| row.experiment.as_str()).or_else(|| text.map(|text| text.experiment));
    let sass = report.sass.as_ref().and_then(|sass| sass.kernels.get(name)).map_or(&[][..], Vec::as_slice);
    html! {
        details.kernel id={"kernel-" (name)} {
            summary { h3 { code { (name) } } span.says { (summary(report, &rows)) } }
            @if let Some(text) = text {
                (Prose::of(&text.summary(), &|_| false).lead)
                @if !text.contract.is_empty() { p.note { "Launch contract: " (text.contract.join("; ")) "." } }
            }
            p.back { @if let Some(lesson) = experiment { "Lesson: " a href={"#lesson-" (lesson)} { (lesson) } } }
            @if let Some(telling) = &telling {
                p.note { (origin(telling)) }
                p { (first_letter_up(&explanation::of_counters(telling.counted, &telling.row.device, telling.modelled()))) "." }
                (limits::render(&telling.row.device, telling.counted, telling.modelled()))
            } @else if text.is_some() {
                p.note { "This kernel has no counters. A run on a simulated card counts its requests, as in "
                    code { "coalesce run " (experiment.unwrap_or_default()) " --kernel " (name) " --device sim:h200" } "." }
            }
            @if let Some(text) = text { (panes(number, text, sass, lines).render()) }
            (worst(name, lines))
        }
    }
}

fn panes<'a>(number: usize, text: &'a KernelText, sass: &'a [CodeLine], lines: &'a [Line]) -> Panes<'a> {
    let KernelText { name, file, source, ptx, .. } = text;
    let total = lines.iter().map(|line| line.counts).sum();
    Panes { number, name, file, source, function: text.function(), ptx, sass, lines, total }
}

/// The best row of each run.
fn summary(report: &Report<'_>, rows: &[(&RunRecords, &Record)]) -> String {
    let best = report.runs.iter().filter_map(|run| {
        let mine: Vec<&Record> =
            rows.iter().filter(|(of, _)| std::ptr::eq(*of, run)).map(|(_, row)| *row).collect();
        let best = *overview::best(&mine).first()?;
        let figure = doubted(best.figure()?, best.measure().interval(best));
        let figure = format!("{figure} {}", best.measure().unit());
        let place = Some(remark(best)).filter(|place| !place.is_empty());
        let place = place.map(|place| format!(" ({place})")).unwrap_or_default();
        Some(format!("best {figure}{place}, {}", report.whose(run)))
    });
    best.collect::<Vec<_>>().join("; ")
}

/// In the first run that counted the kernel, the row with the highest cost of its requests over their least possible cost.
fn telling<'r>(report: &'r Report<'_>, name: &str) -> Option<Telling<'r>> {
    report.runs.iter().find_map(|run| {
        let counted = run.records.iter().chain(&run.simulated).filter_map(|row| {
            let counted = row.counters.as_deref().filter(|_| row.kernel == name)?;
            Some(Telling { row, counted, run })
        });
        // Of equals the first.
        counted.reduce(|best, other| if excess(other.counted) > excess(best.counted) { other } else { best })
    })
}

fn origin(telling: &Telling<'_>) -> String {
    let row = telling.row;
    let of = match (row.backend, telling.run.backend()) {
        (Backend::Modelled, Backend::Measured) => "a small launch on a simulated card of the same kind",
        _ => "the row with the highest cost of its requests over their least possible cost",
    };
    let modelled = |times: Times| {
        let interval = times.interval.map(|[low, high]| format!(" ({} to {})", time(low), time(high)));
        format!(", modelled time {}{}", time(times.median), interval.unwrap_or_default())
    };
    let time = row.time_ms.map(modelled).unwrap_or_default();
    let parameters = format!("{}", row.parameters);
    format!(
        "Counters are those of {of}: {}, {}, {} read and written{time}.",
        row.device.plain_name(),
        parameters
            .replace(&format!("{} bytes", row.parameters.bytes), &Bytes(row.parameters.bytes).to_string()),
        Bytes(row.moved()),
    )
}

/// The worst requests of up to three lines, those that cost most against what they would cost at best first; of those that waste
/// nothing the one that moves most.
pub(super) fn worst(name: &str, lines: &[Line]) -> Markup {
    let waste = |line: &Line| line.worst.as_ref().map_or(0.0, access::waste);
    let moved = |line: &Line| line.counts.global().sectors + line.counts.shared().wavefronts;
    let mut kept: Vec<&Line> = lines.iter().filter(|line| line.worst.is_some()).collect();
    kept.sort_by(|one, other| waste(other).total_cmp(&waste(one)).then(moved(other).cmp(&moved(one))));
    let mut nth = 0;
    kept.retain(|line| {
        nth += 1;
        nth == 1 || nth <= 3 && waste(line) > 1.0
    });
    html! {
        div.charts {
            @for (nth, line) in kept.iter().enumerate() {
                @if let Some(access) = &line.worst {
                    (access::figure(format!("access-{name}-{nth}"), &place(line), access).render())
                }
            }
        }
    }
}

fn place(line: &Line) -> String {
    let file = line.file.rsplit(['/', '\\']).next().unwrap_or(&line.file);
    if line.line > 0 { format!("{file}, line {}", line.line) } else { "No source line".to_string() }
}
