//! Templates change no counter, nor do notes.

use super::*;
use crate::cards::{BlockShape, Occupancy, find};
use crate::count::group::Group;
use crate::count::{
    CounterObservation, Finished, L2State, LaunchCounters, LaunchShape, Placement, Range, SiteFacts,
};
use crate::observe::{At, MOST_NOTES, Observation, Observer, Operation, Rows, Site, Space, SteadyAccess};
use std::sync::Arc;

const BLOCKS: u64 = 64;
const WARPS: u32 = 8;

/// One step of a warp: a barrier, or an access to adjacent 32-bit words or to two rows of 16, with its site and base.
#[derive(Clone, Copy)]
enum Does {
    Waits,
    Loads(u32, u64),
    Stores(u32, u64),
    LoadsRows(u32, u64),
    StoresRows(u32, u64),
}

use Does::{Loads, LoadsRows, Stores, StoresRows, Waits};

/// Two rows of 16 lanes.
const ROWS: Rows = Rows { log: 4, pitch: 4096 };

/// Notes an access that repeats its site's memo and reports any other, as compiled code does.
fn access(observer: &mut CounterObserver, at: At, access: &SteadyAccess, rows: Option<Rows>) {
    let tallies = observer.tallies(at.block, 0..MOST_SITES as u32 * 2).expect("there are sites");
    let run = &mut *observer.run;
    let tally = run.memos.at(at.site().0).tally;
    let repeats = tally.step == access.step
        && rows.is_none_or(|rows| rows.pitch == tally.pitch)
        && access.base & tally.mask == tally.phase
        && tallies.order + u64::from(at.warp()) >= tally.from;
    if !repeats || run.notes.count as usize == MOST_NOTES {
        return match rows {
            None => observer.steady_access(at, access),
            Some(rows) => observer.rows_access(at, access, rows),
        };
    }
    run.notes.notes[run.notes.count as usize] =
        Note { base: access.base, site: at.site().0, warp: at.warp() };
    run.notes.count += 1;
}

/// Reports an access by its addresses, so that nothing is noted.
fn access_by_lanes(observer: &mut CounterObserver, at: At, access: &SteadyAccess, rows: Option<Rows>) {
    observer.access(at, &access.with(&access.addresses_in(rows)));
}

/// A function that reports an access.
type Report = fn(&mut CounterObserver, At, &SteadyAccess, Option<Rows>);

/// Counts a launch whose warps take these steps, interleaved at barriers.
///
/// Returns its counters, the groups requested from L2, and the number of blocks that repeated a template. Blocks before `wait` become none.
fn counted(wait: u32, does: &dyn Fn(u64, u32) -> Vec<Does>) -> (LaunchCounters, Vec<Group>, u64) {
    let (finished, groups, repeated) = counted_as(access, wait, &[], does);
    (finished.counters, groups, repeated)
}

/// Does the same in memory with these ranges, with accesses reported in this way.
fn counted_as(
    report: Report,
    wait: u32,
    ranges: &[Range],
    does: &dyn Fn(u64, u32) -> Vec<Does>,
) -> (Finished, Vec<Group>, u64) {
    let card = find("h200").expect("the card");
    let shape = BlockShape { threads: 32 * WARPS, registers: 16, shared_bytes: 0 };
    let occupancy = Occupancy::new(&card.limits(), shape).expect("it fits");
    let facts = Arc::new(SiteFacts::of(&[]));
    let shape = LaunchShape::new([BLOCKS as u32, 1, 1], [32 * WARPS, 1, 1], occupancy, facts);
    let shape = LaunchShape { ranges: ranges.to_vec(), ..shape };
    let counters = CounterObservation::new(shape, L2State::new(card));
    let mut observer = counters.begin(0);
    observer.run.replays.wait = wait;
    let used = |observer: &CounterObserver| {
        observer.run.replays.template.as_ref().map_or(0, |template| template.used)
    };
    let mut repeated = 0;
    for block in 0..BLOCKS {
        let before = used(&observer);
        observer.block_begins(block, WARPS);
        let warps: Vec<Vec<Does>> = (0..WARPS).map(|warp| does(block, warp)).collect();
        let parts = warps.iter().map(|warp| warp.split(|does| matches!(does, Waits)).count()).max();
        for part in 0..parts.unwrap_or(0) {
            for (warp, all) in (0..).zip(&warps) {
                for does in all.split(|does| matches!(does, Waits)).nth(part).unwrap_or_default() {
                    let (site, operation, base, rows) = match *does {
                        Loads(site, base) => (site, Operation::Load, base, None),
                        Stores(site, base) => (site, Operation::Store, base, None),
                        LoadsRows(site, base) => (site, Operation::Load, base, Some(ROWS)),
                        StoresRows(site, base) => (site, Operation::Store, base, Some(ROWS)),
                        Waits => unreachable!("barriers divide the parts"),
                    };
                    let asked = SteadyAccess {
                        base,
                        step: 4,
                        active: u32::MAX,
                        bytes: 4,
                        space: Space::Global,
                        operation,
                        read_only: false,
                        past_l1: false,
                        strong: false,
                    };
                    report(&mut observer, At::new(block, warp, Site(site)), &asked, rows);
                }
            }
            observer.barrier(At::new(block, 0, Site(0)), 0, WARPS.into());
        }
        observer.block_ends(block);
        repeated += u64::from(used(&observer) > before);
    }
    observer.run_ends();
    let groups = observer.run.groups.clone();
    counters.end(observer);
    (counters.finish(), groups, repeated)
}

/// Asserts that templates change no counter and no group, and that at least `least` blocks repeated one.
fn assert_same(least: u64, does: impl Fn(u64, u32) -> Vec<Does>) {
    let (counters, groups, repeated) = counted(0, &does);
    let (one_by_one, all_groups, none) = counted(u32::MAX, &does);
    assert_eq!(none, 0);
    assert_eq!(groups, all_groups);
    assert_eq!(counters, one_by_one);
    assert!(repeated >= least, "{repeated} blocks of {BLOCKS} repeated the template");
}

const X: u64 = 1 << 20;
const Y: u64 = 1 << 30;

/// Returns the address of a warp's own words in an array.
fn own(array: u64, block: u64, warp: u32) -> u64 {
    array + 128 * (block * u64::from(WARPS) + u64::from(warp))
}

#[test]
fn streams_repeat() {
    assert_same(BLOCKS - 4, |block, warp| {
        let [x, y] = [X, Y].map(|array| own(array, block, warp));
        vec![Loads(0, x), Loads(1, y), Stores(2, y)]
    });
}

#[test]
fn blocks_may_go_down_through_memory() {
    assert_same(BLOCKS / 2, |block, warp| {
        let row = 8192 * u64::from(warp) + 128 * (BLOCKS - block);
        vec![Loads(0, X + row), Stores(1, Y + row)]
    });
}

#[test]
fn misaligned_blocks_overlap_with_their_neighbours() {
    assert_same(BLOCKS - 4, |block, warp| {
        let x = own(X, block, warp) + 4;
        vec![Loads(0, x), Stores(1, x)]
    });
}

#[test]
fn what_neighbours_have_written_is_not_read() {
    assert_same(BLOCKS - 4, |block, warp| {
        let x = own(X, block, warp);
        vec![Loads(0, x), Loads(1, x + 128), Loads(2, x + 1024), Stores(3, x + 2048)]
    });
}

#[test]
fn tiles_move_by_lines_within_groups() {
    assert_same(BLOCKS / 2, |block, warp| {
        let row = |of: u64, array: u64| array + 128 * block + (u64::from(warp) * 4 + of) * 8192;
        let loads = (0..4).map(|of| Loads(0, row(of, X)));
        let stores = (0..4).map(|of| Stores(1, Y + 262_144 * block + (u64::from(warp) * 4 + of) * 8192));
        loads.chain([Waits]).chain(stores).collect()
    });
}

#[test]
fn rows_repeat() {
    // A product of tiles of 16: one matrix by rows, the other by columns of tiles.
    assert_same(BLOCKS / 2, |block, warp| {
        let (x, y) = (block % 64, block / 64);
        let row = u64::from(warp) * 2 * 4096;
        let step = |k: u64| {
            [LoadsRows(0, X + y * 65_536 + row + 64 * k), LoadsRows(1, Y + 64 * x + k * 65_536 + row), Waits]
        };
        let result = StoresRows(2, 2 * Y + y * 65_536 + row + 64 * x);
        (0..4).flat_map(step).chain([result]).collect()
    });
}

#[test]
fn lines_that_would_part_are_counted_one_by_one() {
    // Two lines of one group move by a line at each block: in one block of eight they are in two groups.
    assert_same(BLOCKS / 2, |block, warp| {
        let x = X + 65_536 * u64::from(warp) + 128 * block;
        vec![Loads(0, x), Loads(1, x + 128), Loads(0, x), Stores(1, x)]
    });
}

#[test]
fn blocks_that_differ_are_counted_one_by_one() {
    // One warp in eleven blocks is elsewhere, does more, or is not aligned as the others.
    for odd in 0..3 {
        assert_same(BLOCKS / 4, |block, warp| {
            let x = own(X, block, warp);
            match (odd, block % 11 == 5 && warp == 6) {
                (_, false) => vec![Loads(0, x), Stores(1, x + Y)],
                (0, true) => vec![Loads(0, x + 4096), Stores(1, x + Y)],
                (1, true) => vec![Loads(0, x), Loads(0, x), Stores(1, x + Y)],
                _ => vec![Loads(0, x + 4), Stores(1, x + Y)],
            }
        });
    }
}

#[test]
fn arrays_that_move_into_each_other_are_told_apart() {
    // From some block on, the second load finds what the first has brought.
    assert_same(1, |block, warp| {
        let near = own(X, 0, warp) + 1024 * block;
        let far = own(X, 0, warp) + 1024 * 30;
        vec![Loads(0, near), Loads(1, far), Stores(2, far)]
    });
}

#[test]
fn random_places_repeat_nothing() {
    assert_same(0, |block, warp| {
        let place = |salt: u64| {
            ((block * 977 + u64::from(warp) * 31 + salt).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) * 128
        };
        vec![Loads(0, X + place(1)), Loads(1, X + place(2)), Stores(2, Y + place(3))]
    });
}

#[test]
fn another_template_follows_one_that_no_longer_serves() {
    assert_same(BLOCKS / 2, |block, warp| {
        let x = own(X, block, warp);
        let turned = own(X, block, WARPS - 1 - warp);
        if block < 20 { vec![Loads(0, x)] } else { vec![Loads(0, turned), Stores(1, turned)] }
    });
}

#[test]
fn notes_of_memory_elsewhere_count_as_its_addresses() {
    // Half of `x` is elsewhere, from within a group on; rows of `y` straddle lines, and every fifth block leaves both.
    let does = |block: u64, warp: u32| {
        let [x, y] = [X, Y].map(|array| own(array, block * 37 % BLOCKS, warp));
        match block % 5 {
            0 => vec![Loads(0, 3 * Y + x), Stores(1, 3 * Y + y)],
            _ => vec![
                Loads(0, x),
                Loads(2, y + 4),
                LoadsRows(3, x),
                Loads(0, x + 65_472),
                Waits,
                Stores(1, y + 64),
            ],
        }
    };
    let half = BLOCKS * u64::from(WARPS) * 64;
    let placements = [Placement::Managed, Placement::Host, Placement::Linked, Placement::Peer];
    for (first, second) in placements.into_iter().flat_map(|one| placements.map(|two| (one, two))) {
        let ranges = [
            Range { addresses: X + half + 128..X + (1 << 20), placement: first },
            Range { addresses: Y..Y + (1 << 20), placement: second },
        ];
        let (noted, groups, repeated) = counted_as(access, 0, &ranges, &does);
        let (by_lanes, all_groups, _) = counted_as(access_by_lanes, u32::MAX, &ranges, &does);
        assert_eq!(groups, all_groups, "{first:?}, {second:?}");
        assert_eq!(noted.counters, by_lanes.counters, "{first:?}, {second:?}");
        assert_eq!(noted.managed, by_lanes.managed, "{first:?}, {second:?}");
        assert_eq!(repeated, 0, "no block that stays with the card's memory repeats the one before");
        let is_managed = [first, second].contains(&Placement::Managed);
        assert_eq!(noted.managed.is_empty(), !is_managed);
    }
}

#[test]
fn ranges_that_a_kernel_stays_clear_of_change_nothing() {
    let streams = |block: u64, warp: u32| vec![Loads(0, own(X, block, warp)), Stores(1, own(Y, block, warp))];
    let (alone, all_groups, _) = counted(u32::MAX, &streams);
    let pinned = |addresses| Range { addresses, placement: Placement::Host };
    for ranges in [
        vec![pinned(4 * Y..5 * Y)],
        vec![pinned(4096..X - 4096), pinned(Y / 2..Y / 2 + 4096), pinned(4 * Y..5 * Y)],
    ] {
        let (clear, groups, repeated) = counted_as(access, 0, &ranges, &streams);
        assert_eq!((&clear.counters, &groups), (&alone, &all_groups));
        assert!(repeated >= BLOCKS - 4, "{repeated} blocks of {BLOCKS} repeated the template");
    }
}
