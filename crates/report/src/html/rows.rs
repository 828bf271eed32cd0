//! The table of all rows of a lesson.

use super::{bars::remark, figure::scrolling, number, series};
use maud::{Markup, html};
use record::{Backend, Energy, Language, Measure, Record};

/// All rows, in the order in which they were taken.
pub(super) fn table(rows: &[&Record], linked: &dyn Fn(&str) -> bool) -> Markup {
    let Some(first) = rows.first() else { return html! {} };
    let names = series::parameters(rows);
    let (shared, own): (Vec<&String>, Vec<&String>) = names.iter().partition(|name| {
        let value = series::text(first, name);
        rows.iter().all(|row| series::text(row, name) == value)
    });
    let any = |says: &dyn Fn(&Record) -> bool| rows.iter().any(|row| says(row));
    let twins = any(&|row| matches!(row.language, Language::CudaCpp | Language::Library));
    let beside_library = any(&|row| row.reference.is_some());
    let ratios = any(&|row| row.ratio_to_reference.is_some());
    let ranges = any(&|row| range(row).is_some());
    let intervals = any(&|row| interval(row).is_some());
    let mut operations: Vec<Measure> = rows.iter().map(|row| row.measure()).collect();
    operations.sort();
    operations.dedup();
    operations.retain(|measure| matches!(measure, Measure::Operations(_)));
    let cycles = any(&|row| row.cycles().is_some());
    let per_clock = any(&|row| row.per_clock().is_some());
    let bandwidth = any(&|row| row.measure().has_bandwidth());
    let flops = any(&|row| row.gflop_per_s.is_some());
    let clocks = any(&|row| clock(row).is_some());
    let metered = any(&|row| energy(row).is_some());
    let per_flop = any(&|row| energy(row).is_some_and(|energy| energy.picojoules_per_flop.is_some()));
    let notes = any(&|row| row.note.is_some() || row.explanation.is_some());
    let table = html! {
        table.numbers {
            thead { tr {
                th scope="col" { "kernel" }
                @if twins { th scope="col" { "language" } }
                @for name in &own { th scope="col" { (name) } }
                @for measure in &operations { th scope="col" { (measure.unit()) } }
                @if cycles { th scope="col" { "cycles" } }
                @if per_clock { th scope="col" { "per clock and SM" } }
                @if flops { th scope="col" { "GFLOP/s" } }
                @if bandwidth { th scope="col" { "GB/s" } }
                @if ranges { th scope="col" { @if bandwidth { "slowest–fastest" } @else { "least–most" } } }
                @if intervals { th scope="col" { "8 in 10 such kernels" } }
                @if bandwidth {
                    th scope="col" { "of peak" }
                    th scope="col" { "of copy" }
                }
                th scope="col" { "time" }
                @if ratios { th scope="col" { @if beside_library { "time / library" } @else { "Rust / C++ time" } } }
                @if clocks { th scope="col" { "SM clock" } }
                @if metered { th scope="col" { "power" } }
                @if per_flop { th scope="col" { "pJ / flop" } }
                @if notes { th.words scope="col" { "remarks" } }
            } }
            tbody { @for row in rows { tr {
                th scope="row" { @if linked(&row.kernel) { a href={"#kernel-" (row.kernel)} { (row.kernel) } } @else { (row.kernel) } }
                @if twins { td { (row.language.to_string()) } }
                @for name in &own { td { (series::text(row, name)) } }
                @for measure in &operations { td { @if row.measure() == *measure { (rate(row, *measure)) } } }
                @if cycles { td { @if let Some(cycles) = row.cycles() { (number::rate(cycles)) } } }
                @if per_clock { td { @if let Some(per_clock) = row.per_clock() { (number::rate(per_clock)) } } }
                @if flops { td { @if let Some(rate) = row.gflop_per_s { (number::rate(rate)) } } }
                @if bandwidth { td { (rate(row, Measure::Bandwidth)) } }
                @if ranges { td { @if let Some([low, high]) = range(row) { (number::rate(low)) "–" (number::rate(high)) } } }
                @if intervals { td { @if let Some([low, high]) = interval(row) { (number::rate(low)) "–" (number::rate(high)) } } }
                @if bandwidth {
                    td { @if let Some(part) = row.percent_of_peak { (number::in_column(part)) } }
                    td { @if let Some(part) = row.percent_of_copy { (number::in_column(part)) } }
                }
                td { @if let Some(times) = row.time_ms { (number::time(times.median)) } }
                @if ratios { td { @if let Some(ratio) = row.ratio_to_reference {
                    (format!("{ratio:.3}"))
                    @if let Some([low, high]) = row.ratio_range { span.unit { (format!(" {low:.3}–{high:.3}")) } }
                } } }
                @if clocks { td { @if let Some(clock) = clock(row) {
                    (format!("{clock:.0}")) span.unit { " MHz" }
                } } }
                @if metered { td { @if let Some(energy) = energy(row) {
                    (format!("{:.0}", energy.power_w)) span.unit { " W" }
                } } }
                @if per_flop { td { @if let Some(energy) = energy(row).and_then(|energy| energy.picojoules_per_flop) {
                    (number::in_column(energy))
                } } }
                @if notes { td.words { (words(row)) } }
            } } }
        }
    };
    let shared: Vec<String> =
        shared.iter().map(|name| format!("{name} {}", series::text(first, name))).collect();
    html! {
        details.table {
            summary {
                "All " (rows.len()) " rows"
                @if first.backend == Backend::Modelled { ", times modelled" }
            }
            @if !shared.is_empty() { p.note { "The same in all rows: " (shared.join(", ")) "." } }
            (scrolling("All rows", &table))
        }
    }
}

/// Figures between which eight in ten such kernels are measured, of a modelled row.
fn interval(row: &Record) -> Option<[f64; 2]> {
    ranged(row).interval(row)
}

/// The range of a row's samples.
fn range(row: &Record) -> Option<[f64; 2]> {
    ranged(row).range(row)
}

/// The measure whose range a row shows: its operations, else its bandwidth.
fn ranged(row: &Record) -> Measure {
    match row.measure() {
        Measure::Arithmetic => Measure::Bandwidth,
        measure => measure,
    }
}

fn rate(row: &Record, measure: Measure) -> Markup {
    html! {
        @match measure.of(row) {
            Some(rate) => { (number::rate(rate)) },
            None if row.verified => { "—" },
            None => { strong.invalid { "INVALID" } },
        }
    }
}

/// The median clock of the multiprocessors during a row, in MHz.
fn clock(row: &Record) -> Option<f64> {
    row.conditions.as_ref()?.sm_clock_mhz.map(|clock| clock.median)
}

/// The energy of a row.
fn energy(row: &Record) -> Option<Energy> {
    row.conditions.as_ref()?.energy
}

/// The note and the explanation of a row.
fn words(row: &Record) -> String {
    let place = Some(remark(row)).filter(|remark| !remark.is_empty() && row.note.is_none());
    let parts = [place, row.note.clone(), row.explanation.clone()];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}
