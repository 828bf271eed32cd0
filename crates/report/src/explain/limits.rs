//! How much of a card a launch fills, and what limits its time.

use super::source::{grouped, percent};
use record::{Bound, Counted, DeviceInfo, Parts, Times, counters::Residency};

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

/// The blocks that each resource would allow.
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

/// A part of a modelled time in words.
fn name(part: Bound) -> &'static str {
    match part {
        Bound::Dram => "DRAM",
        Bound::L2 => "L2",
        Bound::OnChip => "L1 and shared memory",
        Bound::Issue => "instruction issue",
        Bound::Latency => "latency",
        Bound::Launch => "launch",
        Bound::Link => "host link",
        Bound::Migration => "page migration",
    }
}

/// The parts of a modelled time that take any, in microseconds, the longest first.
pub(crate) fn in_order(parts: &Parts) -> Vec<(&'static str, f64)> {
    let parts = parts.in_order().into_iter().filter(|(_, time)| *time > 0.0);
    parts.map(|(part, time)| (name(part), time)).collect()
}

/// A sentence on the parts that may be the longest within the doubt of the whole time; `None` where that is one.
pub(crate) fn doubt(parts: &Parts, whole: Option<&Times>) -> Option<String> {
    let whole = whole?;
    let factor = whole.factor()?;
    let names: Vec<&str> = parts.contenders(whole).into_iter().map(name).collect();
    let which = match &names[..] {
        [] | [_] => return None,
        [one, other] => format!("either {one} or {other}"),
        [first @ .., last] => format!("any of {} and {last}", first.join(", ")),
    };
    Some(format!("The time may be off by a factor of {factor:.2}, and within that {which} may dominate."))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{c870, h200};
    use record::counters::{LaunchCounters, Limiter};

    const PARTS: Parts = Parts {
        launch: 1.0,
        dram: 4.0,
        l2: 2.0,
        on_chip: 0.0,
        issue: 0.01,
        latency: 3.0,
        link: 0.0,
        migration: 0.0,
    };

    fn counted(blocks: u64, resident: (u32, u32), residency: Option<Residency>) -> Counted {
        let (resident_blocks, resident_warps) = resident;
        Counted {
            launch: LaunchCounters {
                blocks,
                resident_blocks,
                resident_warps,
                residency,
                ..LaunchCounters::default()
            },
            dram_bytes: 0,
            modelled_us: PARTS,
            bound: Bound::Dram,
            estimates_us: None,
            lines: Vec::new(),
        }
    }

    #[test]
    fn occupancy_names_the_limiter_and_what_the_others_would_allow() {
        let residency = Residency {
            registers: 40,
            shared_bytes: 4096,
            most_warps: 64,
            by_warps: 8,
            by_blocks: 32,
            by_registers: Some(6),
            by_shared_memory: Some(45),
            limiter: Limiter::Registers,
        };
        assert_eq!(
            occupancy(&counted(4096, (6, 48), Some(residency)), &h200()),
            "an SM holds 6 blocks of 8 warps, 48 of 64 warps (75%). A thread takes 40 registers (estimated) and a block 4,096 \
             bytes of shared memory. Limited by registers; blocks that each would allow: warps 8, block slots 32, registers 6, \
             shared memory 45. The grid of 4,096 blocks fills the card in 6 waves, the last 17% full."
        );
    }

    #[test]
    fn a_small_grid_leaves_the_card_idle() {
        let of = |blocks| occupancy(&counted(blocks, (2, 16), None), &c870());
        assert_eq!(
            of(4),
            "an SM holds 2 blocks of 8 warps. The grid has 4 blocks, which leaves 12 of 16 SMs idle."
        );
        assert!(of(20).ends_with("The grid of 20 blocks does not fill the card, which holds 32."));
        assert!(of(64).ends_with("The grid of 64 blocks fills the card in 2 waves."));
    }

    #[test]
    fn the_longest_part_comes_first() {
        assert_eq!(
            speed_of_light(&PARTS),
            "DRAM 100%, latency 75%, L2 50%, launch 25%, instruction issue <1%"
        );
    }

    #[test]
    fn parts_that_may_dominate_are_named() {
        let of = |interval| doubt(&PARTS, Some(&Times::modelled(4.5, interval)));
        assert_eq!((doubt(&PARTS, None), of(None), of(Some([4.4, 4.7]))), (None, None, None));
        assert_eq!(
            of(Some([4.0, 6.3])).as_deref(),
            Some(
                "The time may be off by a factor of 1.40, and within that either DRAM or latency may dominate."
            )
        );
        assert_eq!(
            of(Some([2.25, 5.0])).as_deref(),
            Some(
                "The time may be off by a factor of 2.00, and within that any of DRAM, latency and L2 may dominate."
            )
        );
    }
}
