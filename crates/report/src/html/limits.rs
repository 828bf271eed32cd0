//! What bounds a kernel: occupancy, and the modelled time of each part of the card.

use super::number::{count, percent, plain, rate};
use maud::{Markup, html};
use record::{Counted, Record, Run};

/// Occupancy and limits of a row; `run` describes its card, where it is known.
pub(super) fn render(row: &Record, counted: &Counted, run: &Run) -> Markup {
    html! {
        p.occupancy { (occupancy(row, counted, run)) }
        (parts(row, counted))
    }
}

/// How much of a multiprocessor is taken, in a sentence.
fn occupancy(row: &Record, counted: &Counted, run: &Run) -> String {
    let launch = &counted.launch;
    let most = most_warps(run);
    let of = most.map(|most| {
        format!(" of {most} ({} occupancy)", percent(f64::from(launch.resident_warps) / f64::from(most)))
    });
    let mut text = format!(
        "Occupancy: {} and {}{} are resident on a multiprocessor",
        several(launch.resident_blocks.into(), "block"),
        several(launch.resident_warps.into(), "warp"),
        of.unwrap_or_default(),
    );
    let processors = u64::from(row.device.multiprocessors);
    let blocks = launch.blocks;
    let slots = processors * u64::from(launch.resident_blocks);
    text.push_str(&if blocks < processors {
        format!(
            "; the launch has {} on {} multiprocessors, so the card is not filled.",
            several(blocks, "block"),
            processors
        )
    } else if slots > blocks {
        let share = percent(blocks as f64 / slots as f64);
        format!("; {} take {share} of the card's {} places.", several(blocks, "block"), count(slots))
    } else if slots > 0 {
        let waves = plain(blocks as f64 / slots as f64);
        format!("; {} fill the card's {} places {waves} times.", several(blocks, "block"), count(slots))
    } else {
        ".".to_string()
    });
    text
}

/// The most warps that a multiprocessor holds, by its compute capability: CUDA C++ Programming Guide, "Technical Specifications
/// per Compute Capability".
fn most_warps(run: &Run) -> Option<u32> {
    match run.device.compute() {
        10 | 11 => Some(24),
        12 | 13 => Some(32),
        20..30 => Some(48),
        75 => Some(32),
        86 | 87 | 89 | 120..130 => Some(48),
        30..110 => Some(64),
        _ => None,
    }
}

fn several(number: u64, what: &str) -> String {
    format!("{} {what}{}", count(number), if number == 1 { "" } else { "s" })
}

/// The parts of a modelled time, the longest first, each as a share of the longest.
pub(super) fn order(counted: &Counted) -> Vec<(&'static str, f64)> {
    let parts = counted.modelled_us;
    let mut parts = vec![
        ("device memory", parts.dram),
        ("L2", parts.l2),
        ("on-chip memory", parts.on_chip),
        ("instruction issue", parts.issue),
        ("latency", parts.latency),
        ("launch", parts.launch),
        ("host link", parts.link),
        ("page migration", parts.migration),
    ];
    parts.retain(|(_, time)| *time > 0.0);
    parts.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    parts
}

fn parts(row: &Record, counted: &Counted) -> Markup {
    let order = order(counted);
    let Some((first, longest)) = order.first().copied() else { return html! {} };
    let line = order.iter().map(|(name, time)| format!("{name} {}", percent(time / longest)));
    html! {
        div {
        p.limits { "Limits in order, modelled: " (line.collect::<Vec<_>>().join(" · ")) ". The kernel is bound by " (first) "." }
        table.bars.modelled.small role="table" {
            caption { "Modelled time of each part of the card, " (row.device.plain_name()) }
            tbody role="rowgroup" { @for (name, time) in &order {
                tr role="row" {
                    th scope="row" role="rowheader" { (name) }
                    td.track role="cell" {
                        span.bar style={"width:" (format!("{:.2}", 100.0 * time / longest)) "%"} data-part=(name) data-y=(time) {}
                    }
                    td.value role="cell" { (rate(*time)) " µs" }
                    td.part role="cell" { (percent(time / longest)) }
                }
            } }
        }
        }
    }
}
