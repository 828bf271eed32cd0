//! How much of a card a launch fills, and what limits its time.

use super::source::{grouped, percent};
use record::{Counted, DeviceInfo, Parts, counters::Residency};

/// How many blocks a multiprocessor holds, what keeps it from holding more, and how much of the card the grid fills.
pub(crate) fn occupancy(counted: &Counted, device: &DeviceInfo) -> String {
    let launch = &counted.launch;
    let blocks = u64::from(launch.resident_blocks);
    let per_block = launch.resident_warps / launch.resident_blocks.max(1);
    let mut text =
        format!("an SM holds {} of {}", plural(blocks, "block"), plural(u64::from(per_block), "warp"),);
    if let Some(residency) = &launch.residency {
        let share = f64::from(launch.resident_warps) / f64::from(residency.most_warps.max(1));
        text += &format!(
            ", {} of {} warps ({}). {}",
            launch.resident_warps,
            residency.most_warps,
            percent(share),
            limits(residency),
        );
    } else {
        text += ".";
    }
    text + &filled(launch.blocks, blocks, device)
}

/// What each resource would hold.
fn limits(residency: &Residency) -> String {
    let Residency {
        registers,
        shared_bytes,
        by_warps,
        by_blocks,
        by_registers,
        by_shared_memory,
        limiter,
        ..
    } = *residency;
    let taken = match (registers, shared_bytes) {
        (0, shared) => format!("A block takes {} bytes of shared memory", grouped(shared.into())),
        (registers, 0) => {
            format!("A thread takes {registers} registers (estimated) and a block no shared memory")
        }
        (registers, shared) => format!(
            "A thread takes {registers} registers (estimated) and a block {} bytes of shared memory",
            grouped(shared.into()),
        ),
    };
    let each = [
        Some(("warps", by_warps)),
        Some(("block slots", by_blocks)),
        by_registers.map(|blocks| ("registers", blocks)),
        by_shared_memory.map(|blocks| ("shared memory", blocks)),
    ];
    let each: Vec<String> = each.into_iter().flatten().map(|(of, blocks)| format!("{of} {blocks}")).collect();
    format!("{taken}. Limited by {limiter}; blocks that each would allow: {}.", each.join(", "))
}

/// How much of the card the grid fills.
fn filled(blocks: u64, resident: u64, device: &DeviceInfo) -> String {
    let multiprocessors = u64::from(device.multiprocessors.max(1));
    let at_once = resident.max(1) * multiprocessors;
    match blocks {
        blocks if blocks < multiprocessors => {
            format!(
                " The grid has {}, which leaves {} of {multiprocessors} SMs idle.",
                plural(blocks, "block"),
                multiprocessors - blocks
            )
        }
        blocks if blocks < at_once => format!(
            " The grid of {} blocks does not fill the card, which holds {}.",
            grouped(blocks),
            grouped(at_once)
        ),
        blocks => {
            let last = blocks % at_once;
            let tail = match last {
                0 => String::new(),
                last => format!(", the last {} full", percent(last as f64 / at_once as f64)),
            };
            format!(
                " The grid of {} blocks fills the card in {}{tail}.",
                grouped(blocks),
                plural(blocks.div_ceil(at_once), "wave")
            )
        }
    }
}

fn plural(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// The parts of a modelled time that take any, in microseconds, the longest first.
pub(crate) fn in_order(parts: &Parts) -> Vec<(&'static str, f64)> {
    let Parts { launch, dram, l2, on_chip, issue, latency, link, migration } = *parts;
    let mut parts = vec![
        ("DRAM", dram),
        ("L2", l2),
        ("L1 and shared memory", on_chip),
        ("instruction issue", issue),
        ("latency", latency),
        ("launch", launch),
        ("host link", link),
        ("page migration", migration),
    ];
    parts.retain(|(_, time)| *time > 0.0);
    parts.sort_by(|one, other| other.1.total_cmp(&one.1));
    parts
}

/// Every part of the modelled time over the longest, in order.
pub(crate) fn speed_of_light(parts: &Parts) -> String {
    let parts = in_order(parts);
    let longest = parts.first().map_or(1.0, |(_, time)| *time);
    let shown = parts.into_iter().map(|(name, time)| {
        let share = time / longest;
        if share < 0.005 { format!("{name} <1%") } else { format!("{name} {}", percent(share)) }
    });
    shown.collect::<Vec<_>>().join(", ")
}
