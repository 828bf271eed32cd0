//! A kernel's section: its source beside its PTX, what each line costs, its worst access, and what bounds it.

use super::{
    Report, RunRecords, access,
    bars::remark,
    limits,
    number::{first_letter_up, rate, time},
    source::{self, Panes, same_file},
};
use crate::explanation;
use maud::{Markup, html};
use record::{Backend, Bytes, Counted, Line, Record};

/// The row whose counters say most of a kernel, and the run that it is of.
struct Telling<'r> {
    row: &'r Record,
    counted: &'r Counted,
    run: &'r RunRecords,
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
    let sass = report.sass.get(name).map(Vec::as_slice).unwrap_or_default();
    html! {
        details.kernel id={"kernel-" (name)} {
            summary { h3 { code { (name) } } span.says { (summary(report, &rows)) } }
            p.back { @if let Some(lesson) = experiment { "Lesson: " a href={"#lesson-" (lesson)} { (lesson) } } }
            @if let Some(telling) = &telling {
                p.note { (origin(telling)) }
                p { (first_letter_up(&explanation::of_counters(telling.counted, &telling.row.device))) "." }
                (limits::render(telling.row, telling.counted, &telling.run.run))
            } @else if text.is_some() {
                p.note { "Nothing was counted of this kernel: a run on a simulated card counts its requests, as in "
                    code { "coalesce run " (experiment.unwrap_or_default()) " --kernel " (name) " --device sim:h200" } "." }
            }
            @if let Some(text) = text { (Panes { number, text, sass, lines }.render()) }
            (worst(name, lines))
        }
    }
}

/// The best rate of each run.
fn summary(report: &Report<'_>, rows: &[(&RunRecords, &Record)]) -> String {
    let best = report.runs.iter().filter_map(|run| {
        let mine = rows.iter().filter(|(of, _)| std::ptr::eq(*of, run)).map(|(_, row)| *row);
        let best = mine
            .filter(|row| row.gb_per_s.is_some())
            .max_by(|one, other| one.gb_per_s.total_cmp_of(other.gb_per_s))?;
        let figure = match best.gflop_per_s {
            Some(figure) => format!("{} GFLOP/s", rate(figure)),
            None => format!("{} GB/s", rate(best.gb_per_s?)),
        };
        let place = Some(remark(best)).filter(|place| !place.is_empty());
        let place = place.map(|place| format!(" ({place})")).unwrap_or_default();
        Some(format!("up to {figure}{place}, {}", report.whose(run)))
    });
    best.collect::<Vec<_>>().join("; ")
}

trait TotalCmp {
    fn total_cmp_of(self, other: Self) -> std::cmp::Ordering;
}

impl TotalCmp for Option<f64> {
    fn total_cmp_of(self, other: Self) -> std::cmp::Ordering {
        self.unwrap_or(0.0).total_cmp(&other.unwrap_or(0.0))
    }
}

/// Of the first run that counted the kernel, the row with most sectors per request, of equals with the worst bank conflicts.
fn telling<'r>(report: &'r Report<'_>, name: &str) -> Option<Telling<'r>> {
    report.runs.iter().find_map(|run| {
        let counted = run.records.iter().chain(&run.simulated).filter_map(|row| {
            let counted = row.counters.as_deref().filter(|_| row.kernel == name)?;
            Some(Telling { row, counted, run })
        });
        let merit = |telling: &Telling<'_>| {
            let total = &telling.counted.launch.total;
            (total.sectors_per_request(), total.shared().ways(), total.constant.replays)
        };
        // Of equals the first: `max_by` gives the last.
        let mut counted: Vec<Telling<'r>> = counted.collect();
        counted.reverse();
        counted.into_iter().max_by(|one, other| {
            let (one, other) = (merit(one), merit(other));
            one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1)).then(one.2.cmp(&other.2))
        })
    })
}

fn origin(telling: &Telling<'_>) -> String {
    let row = telling.row;
    let of = match (row.backend, telling.run.backend()) {
        (Backend::Modelled, Backend::Measured) => "a small launch on a simulated card of the same kind",
        _ => "the row with the most sectors per request",
    };
    let time = row.time_ms.map(|times| format!(", modelled time {}", time(times.median))).unwrap_or_default();
    let parameters = format!("{}", row.parameters);
    format!(
        "Counters are those of {of}: {}, {}, {} read and written{time}.",
        row.device.plain_name(),
        parameters
            .replace(&format!("{} bytes", row.parameters.bytes), &Bytes(row.parameters.bytes).to_string()),
        Bytes(row.moved()),
    )
}

/// The worst request of the line that moves most, and those of two others that waste some.
fn worst(name: &str, lines: &[Line]) -> Markup {
    let total = lines.iter().map(|line| line.counts).sum();
    let mut kept: Vec<&Line> = lines.iter().filter(|line| line.worst.is_some()).collect();
    kept.sort_by(|one, other| {
        source::share(&other.counts, &total).total_cmp(&source::share(&one.counts, &total))
    });
    let mut nth = 0;
    kept.retain(|line| {
        nth += 1;
        nth == 1 || line.worst.as_ref().is_some_and(access::is_wasteful)
    });
    html! {
        div.charts {
            @for (nth, line) in kept.iter().take(3).enumerate() {
                @if let Some(access) = &line.worst {
                    (access::figure(format!("access-{name}-{nth}"), &place(line), access).render())
                }
            }
        }
    }
}

fn place(line: &Line) -> String {
    let file = line.file.rsplit(['/', '\\']).next().unwrap_or(&line.file);
    debug_assert!(same_file(&line.file, file) || file.is_empty(), "a file ends with its name");
    if line.line > 0 { format!("{file}, line {}", line.line) } else { "No line of source".to_string() }
}
