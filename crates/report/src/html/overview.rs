//! The first screen: the card, its ceilings, and the best row of each kernel.

use super::{
    Report, RunRecords,
    bars::{Bars, remark},
    lesson::Section,
    number::{self, first_letter_down},
};
use crate::expected;
use maud::{Markup, html};
use record::{Backend, Bound, Bytes, Language, Measure, Record, doubt::Residuals};

/// Bytes of a launch below which its rate is that of starting a kernel, not of memory.
const LEAST_BYTES: u64 = 1 << 20;

/// The card of a run, its ceilings and its bars.
pub(super) fn run(report: &Report<'_>, run: &RunRecords, sections: &[Section<'_>], nth: usize) -> Markup {
    let modelled = run.backend() == Backend::Modelled;
    let invalid: Vec<&Record> = run.records.iter().filter(|row| !row.verified).collect();
    html! {
        section.run id={"run-" (nth)} aria-labelledby={"run-" (nth) "-title"} {
            h2 id={"run-" (nth) "-title"} {
                (report.card(run)) " "
                span class={"badge " (run.backend().to_string())} { (run.backend().to_string()) }
            }
            p.setting { (setting(run)) }
            @if modelled { p.caution { (expected::of_run(&run.run.device.selector())) } }
            @if let Some((source, calibration)) = run.run.card_origin() {
                p.note { "The card's figures are from " (source) "; its model: " (calibration) "." }
            }
            (facts(run))
            @if !invalid.is_empty() {
                p.caution { strong.invalid { "INVALID" } ": " (invalid.len()) " of " (run.records.len())
                    " rows did not verify, the first of them " code { (invalid[0].kernel) } "; they have no figures." }
            }
            (bars(report, run, sections))
            (findings(run, sections))
        }
    }
}

/// Driver, PTX, command and time, as far as they are known.
fn setting(run: &RunRecords) -> Markup {
    let (run, device) = (&run.run, &run.run.device);
    html! {
        "Compute capability " (device.compute_capability) " · driver " (device.driver)
        @if let Some(ptx) = &run.ptx { " · PTX for " code { (ptx) } }
        @if run.started_unix > 0 { " · " (number::utc(run.started_unix)) }
        @if !run.command.is_empty() { " · " code { (command(&run.command)) } }
    }
}

/// The command line with the program's name alone, not its path.
fn command(words: &[String]) -> String {
    let mut words = words.iter().map(String::as_str);
    let program = words.next().map(|path| path.rsplit(['/', '\\']).next().unwrap_or(path));
    program.into_iter().chain(words).collect::<Vec<_>>().join(" ")
}

fn facts(run: &RunRecords) -> Markup {
    let (about, device) = (&run.run, &run.run.device);
    let verified = run.records.iter().filter(|row| row.verified).count();
    let share = about.copy.zip(about.peak.as_ref()).map(|(copy, peak)| copy.gb_per_s / peak.gb_per_s);
    html! {
        dl.facts {
            @if let Some(peak) = &about.peak {
                div { dt { "Peak" } dd { span.figure { (number::rate(peak.gb_per_s)) } " GB/s" span.note { (peak.source) } } }
            }
            @if let Some(copy) = about.copy {
                div { dt { "Copy ceiling" } dd {
                    span.figure { (number::rate(copy.gb_per_s)) } " GB/s"
                    span.note {
                        @if let Some(share) = share { (number::percent(share)) " of the peak; " }
                        "the driver's own copy of " (Bytes(copy.bytes).to_string())
                        @if run.backend() == Backend::Modelled { ", modelled" }
                        @if let Some([low, high]) = copy_interval(run) {
                            "; of ten such copies, eight are measured at " (number::rate(low)) "–" (number::rate(high))
                        }
                    }
                } }
            }
            div { dt { "Rows" } dd { span.figure { (number::count(run.records.len() as u64)) }
                span.note { (verified) " verified, every element of their results" } } }
            div { dt { "Card" } dd { span.figure { (device.multiprocessors) } " SMs"
                span.note { "L2 " (Bytes(device.l2_bytes).to_string()) ", memory " (Bytes(device.memory_bytes).to_string()) } } }
        }
    }
}

/// The interval of the copy ceiling on a simulated card, in GB/s.
fn copy_interval(run: &RunRecords) -> Option<[f64; 2]> {
    let (card, copy) = (run.run.device.card.as_ref()?, run.run.copy?);
    let [low, high] = Residuals::built_in().interval(card, None, Bound::Dram, 1.0)?;
    Some([copy.gb_per_s / high, copy.gb_per_s / low])
}

/// The finding of each lesson, in a sentence.
fn findings(run: &RunRecords, sections: &[Section<'_>]) -> Markup {
    let finding = |section: &Section<'_>| {
        let rows: Vec<&Record> = run.records.iter().filter(|row| row.experiment == section.name).collect();
        let finding = (section.lesson?.finding)(&rows).filter(|_| !rows.is_empty())?;
        Some(html! { li { a href={"#lesson-" (section.name)} { (section.name) } ": " (finding) } })
    };
    let findings: Vec<Markup> = sections.iter().filter_map(finding).collect();
    html! {
        @if !findings.is_empty() {
            h3 { "What the rows show" @if run.backend() == Backend::Modelled { ", by modelled times" } }
            ul.findings { @for finding in &findings { (finding) } }
        }
    }
}

fn bars(report: &Report<'_>, run: &RunRecords, sections: &[Section<'_>]) -> Markup {
    let rows: Vec<&Record> = run.records.iter().collect();
    let of = |wanted: &dyn Fn(&Record) -> bool| -> Vec<(Markup, Vec<(String, &Record)>)> {
        let group = |section: &Section<'_>| {
            let mine: Vec<&Record> =
                run.records.iter().filter(|row| row.experiment == section.name && wanted(row)).collect();
            let bars: Vec<_> = best(&mine).into_iter().map(|row| (row.kernel.clone(), row)).collect();
            (html! { a href={"#lesson-" (section.name)} { (section.name) } }, bars)
        };
        sections.iter().map(group).filter(|(_, bars)| !bars.is_empty()).collect()
    };
    let bandwidth = |row: &Record| row.measure() == Measure::Bandwidth;
    let small = |row: &Record| bandwidth(row) && row.moved() < LEAST_BYTES;
    let linked = |name: &str| report.has_kernel(name);
    let whose = report.whose(run);
    let of_memory = of(&|row| bandwidth(row) && !small(row));
    let mut others: Vec<Measure> = rows.iter().map(|row| row.measure()).collect();
    others.sort();
    others.dedup();
    others.retain(|measure| *measure != Measure::Bandwidth);
    let mut left_out: Vec<&str> = Vec::new();
    for row in run.records.iter().filter(|row| small(row)) {
        let drawn = of_memory.iter().flat_map(|(_, bars)| bars).any(|(_, bar)| bar.kernel == row.kernel);
        if !drawn && !left_out.contains(&row.kernel.as_str()) {
            left_out.push(&row.kernel);
        }
    }
    html! {
        (Bars { title: format!("Best bandwidth of each kernel, {whose}"), measure: Measure::Bandwidth, rows: &rows, groups: of_memory, linked: &linked }.render())
        @if !left_out.is_empty() {
            p.note { "Not drawn, because they move less than 1 MiB: " (left_out.join(", ")) "." }
        }
        @for measure in others {
            @let title = format!("Best {} of each kernel, {whose}", first_letter_down(measure.name()));
            (Bars { title, measure, rows: &rows, groups: of(&|row| row.measure() == measure), linked: &linked }.render())
        }
    }
}

/// The best row of each kernel: from device memory and on a filled card where there is such a row.
pub(super) fn best<'r>(rows: &[&'r Record]) -> Vec<&'r Record> {
    let mut kernels: Vec<&'r Record> = Vec::new();
    let merit = |row: &Record| {
        let figure = row.figure().unwrap_or(0.0);
        let figure = if row.measure().is_time() { -figure } else { figure };
        // Arithmetic and operations are rated wherever their data lives.
        let representative = match row.measure() {
            Measure::Bandwidth => remark(row).is_empty(),
            Measure::Arithmetic | Measure::Operations(_) => row.unfilled().is_none(),
        };
        (row.verified, representative, figure)
    };
    for &row in rows.iter().filter(|row| row.language != Language::CudaCpp) {
        match kernels.iter_mut().find(|best| best.kernel == row.kernel) {
            Some(best) if merit(row) > merit(best) => *best = row,
            Some(_) => {}
            None => kernels.push(row),
        }
    }
    kernels
}
