//! L2 from launch to launch: what stays, what is written back, what is pushed out.

use crate::count_drive::{Block, launch, shape};
use simt::cards::{Card, find};
use simt::count::{Finished, L2State, LaunchShape, Modelled, Placement, Range};
use simt::internals::count::DramCounts;

const BASE: u64 = 0x7_0000_0000;
const OUT: u64 = 0x9_0000_0000;
const MIB: u64 = 1 << 20;

#[derive(Clone, Copy)]
enum What {
    Read,
    Write,
    Increment,
    Copy,
}

/// Blocks of 256 threads over so many bytes from `from`, 16 bytes a thread.
fn sweep(card: &Card, l2: L2State, from: u64, bytes: u64, what: What) -> Finished {
    sweep_shaped(shape(card, bytes / 4096, 256), l2, from, what)
}

fn sweep_shaped(shape: LaunchShape, l2: L2State, from: u64, what: What) -> Finished {
    launch(shape, l2, &[], |block: &mut Block<'_>| {
        for warp in 0..8 {
            let first = (block.block * 8 + u64::from(warp)) * 512;
            let address = |lane: u64| from + first + lane * 16;
            if !matches!(what, What::Write) {
                block.load(warp, 0, 16, address);
            }
            match what {
                What::Read => {}
                What::Copy => block.store(warp, 1, 16, |lane| OUT + first + lane * 16),
                What::Write | What::Increment => block.store(warp, 1, 16, address),
            }
        }
    })
}

/// MiB read from and written to device memory.
fn mib(card: &Card, finished: &Finished) -> (u64, u64) {
    let of = |counts: DramCounts| {
        assert_eq!(counts.bytes(card.dram_granule_bytes), counts.lines * 128, "no gaps");
        assert_eq!(
            counts.bytes(card.dram_granule_bytes),
            counts.pages * u64::from(card.dram_page_bytes),
            "no gaps"
        );
        counts.bytes(card.dram_granule_bytes) / MIB
    };
    (of(finished.counters.dram_read), of(finished.counters.dram_written))
}

#[test]
fn small_footprints_stay() {
    let card = find("h200").unwrap();
    let first = sweep(&card, L2State::new(card.clone()), BASE, 4 * MIB, What::Increment);
    assert_eq!(mib(&card, &first), (4, 4), "cold");
    let second = sweep(&card, first.l2, BASE, 4 * MIB, What::Increment);
    assert_eq!(mib(&card, &second), (0, 0), "still there, and dirty already");
    assert_eq!(second.counters.l2_sectors_read, 4 * MIB / 32);
    assert_eq!(second.counters.l2_hit_share(&card), 1.0);
    let third = sweep(&card, second.l2, BASE, 4 * MIB, What::Read);
    assert_eq!(mib(&card, &third), (0, 0));
    // Faster than from device memory, slower than nothing.
    let (cold, warm) = (first.counters.time(&card), third.counters.time(&card));
    assert!(warm.seconds < cold.seconds && warm.seconds > warm.launch, "{warm:?} {cold:?}");
}

#[test]
fn large_footprints_come_and_go_in_every_launch() {
    let card = find("a100-40").unwrap();
    let mut l2 = L2State::new(card.clone());
    for _ in 0..3 {
        let finished = sweep(&card, l2, BASE, 64 * MIB, What::Copy);
        assert_eq!(mib(&card, &finished), (64, 64));
        assert_eq!(finished.counters.l2_hit_share(&card), 0.0);
        l2 = finished.l2;
    }
}

#[test]
fn another_footprint_in_between_pushes_out_what_does_not_fit_beside_it() {
    let card = find("v100").unwrap();
    assert_eq!(card.l2_bytes, 6 * MIB);
    for (between, read) in [(2, 0), (4, 0), (8, 2)] {
        let first = sweep(&card, L2State::new(card.clone()), BASE, 2 * MIB, What::Read);
        let other = sweep(&card, first.l2, OUT, between * MIB, What::Read);
        assert_eq!(mib(&card, &other), (between, 0));
        let again = sweep(&card, other.l2, BASE, 2 * MIB, What::Read);
        assert_eq!(mib(&card, &again), (read, 0), "{between} MiB in between");
    }
}

#[test]
fn footprints_that_grow_step_by_step_do_not_outgrow_the_cache() {
    let card = find("v100").unwrap();
    let mut l2 = L2State::new(card.clone());
    // What is there is found and the rest is fetched. Where it passes 6 MiB, what was touched longest ago goes: the first
    // time for what came last, and from then on each line before its turn comes again.
    for (bytes, fetched) in [(2, 2), (4, 2), (5, 1), (5, 0), (7, 2), (7, 7), (3, 3), (3, 0)] {
        let finished = sweep(&card, l2, BASE, bytes * MIB, What::Read);
        assert_eq!(mib(&card, &finished), (fetched, 0), "{bytes} MiB");
        l2 = finished.l2;
    }
}

#[test]
fn dirty_sectors_are_written_back_once_for_each_stay() {
    let card = find("v100").unwrap();
    let mut l2 = L2State::new(card.clone());
    for (write_first, written) in [(true, 2), (true, 0), (false, 0), (true, 2)] {
        if !write_first {
            // 8 MiB go through.
            l2 = sweep(&card, l2, OUT, 8 * MIB, What::Read).l2;
            continue;
        }
        let finished = sweep(&card, l2, BASE, 2 * MIB, What::Write);
        assert_eq!(mib(&card, &finished), (0, written), "writing fetches nothing");
        l2 = finished.l2;
    }
    // What was written is there to be read.
    let finished = sweep(&card, l2, BASE, 2 * MIB, What::Read);
    assert_eq!(mib(&card, &finished), (0, 0));
}

#[test]
fn cleared_and_freed_memory_is_not_found() {
    let card = find("h200").unwrap();
    let mut l2 = sweep(&card, L2State::new(card.clone()), BASE, 4 * MIB, What::Read).l2;
    l2.forget(BASE + MIB..BASE + 3 * MIB);
    let finished = sweep(&card, l2, BASE, 4 * MIB, What::Read);
    assert_eq!(mib(&card, &finished), (2, 0));
    let mut l2 = finished.l2;
    l2.clear();
    assert_eq!(mib(&card, &sweep(&card, l2, BASE, 4 * MIB, What::Read)), (4, 0));
}

#[test]
fn dram_granules_of_the_card() {
    // Every other sector: an H200 reads 64 bytes for each, and so has the other sector too; a V100 reads 32.
    for (key, granules, read_on) in [("h200", 1024, 0), ("v100", 1024, 1024)] {
        let card = find(key).unwrap();
        let mut l2 = L2State::new(card.clone());
        for (odd, expected) in [(0, granules), (32, read_on)] {
            let finished = launch(shape(&card, 4, 256), l2, &[], |block| {
                for warp in 0..8 {
                    let first = (block.block * 8 + u64::from(warp)) * 32;
                    block.load(warp, 0, 4, |lane| BASE + (first + lane) * 64 + odd);
                }
            });
            assert_eq!(finished.counters.dram_read.granules, expected, "{key}, from {odd}");
            l2 = finished.l2;
        }
    }
}

#[test]
fn without_l2_nothing_stays() {
    let card = find("c1060").unwrap();
    let mut l2 = L2State::new(card.clone());
    for _ in 0..2 {
        let finished = sweep(&card, l2, BASE, MIB, What::Increment);
        assert_eq!(mib(&card, &finished), (1, 1));
        assert_eq!(finished.counters.l2_hit_share(&card), 0.0);
        l2 = finished.l2;
    }
}

#[test]
fn pages_are_counted_again_in_the_next_window_where_nothing_is_kept() {
    // All blocks read the same 1024 bytes: once a window of resident blocks on a C870, once at all with an L2.
    for (key, windows) in [("c870", 3), ("c2050", 1)] {
        let card = find(key).unwrap();
        let resident = u64::from(shape(&card, 1, 256).occupancy.blocks * card.multiprocessors);
        let blocks = 2 * resident + 1;
        let finished = launch(shape(&card, blocks, 256), L2State::new(card.clone()), &[], |block| {
            for warp in 0..8 {
                block.load(warp, 0, 4, |lane| BASE + u64::from(warp) * 128 + lane * 4);
            }
        });
        assert_eq!(finished.counters.windows, 3);
        assert_eq!(finished.counters.dram_read.pages, windows, "{key}");
        assert_eq!(finished.counters.dram_read.lines, 8 * windows, "{key}");
    }
}

#[test]
fn pages_are_counted_again_when_the_cache_has_been_filled_in_between() {
    // All blocks are resident together, as where a grid is made to fill the card. The first half of them reads every other
    // line of 2.6 MiB, the second half the lines between: by then, a cache of 768 KiB has none of the first pages.
    let card = find("c2050").unwrap();
    let page = u64::from(card.dram_page_bytes);
    let blocks = u64::from(shape(&card, 1, 256).occupancy.blocks * card.multiprocessors) / 2 * 2;
    let of_block: u64 = 64 << 10;
    let bytes = blocks / 2 * of_block;
    assert!(bytes / 2 > card.l2_bytes, "{bytes}");
    let finished = launch(shape(&card, blocks, 256), L2State::new(card.clone()), &[], |block| {
        let (half, place) = (block.block / (blocks / 2), block.block % (blocks / 2));
        for turn in 0..of_block / 2048 {
            for warp in 0..8 {
                let line = (place * of_block + turn * 2048) / 128 + u64::from(warp) * 2 + half;
                block.load(warp, 0, 4, |lane| BASE + line * 128 + lane * 4);
            }
        }
    });
    let read = finished.counters.dram_read;
    assert_eq!((finished.counters.windows, read.lines), (1, bytes / 128));
    assert_eq!(read.pages, 2 * bytes / page);
}

#[test]
fn l1_holds_a_blocks_share_and_no_more() {
    // One block a multiprocessor has 228 KiB of 256 at most; it reads 64 KiB twice, and 512 KiB twice.
    let card = find("h200").unwrap();
    for (kib, passes_that_miss) in [(64, 1), (512, 2)] {
        let finished = launch(shape(&card, 1, 1024), L2State::new(card.clone()), &[], |block| {
            for row in 0..2 * kib * 2 {
                block.load(0, 0, 16, |lane| BASE + row % (kib * 2) * 512 + lane * 16);
            }
        });
        let loads = finished.counters.total.loads;
        assert_eq!(loads.sectors, 2 * kib * 32);
        assert_eq!(loads.l2_sectors, passes_that_miss * kib * 32, "{kib} KiB");
        assert_eq!(finished.counters.dram_read.bytes(card.dram_granule_bytes), kib * 1024);
        assert_eq!(finished.counters.l1_hit_share(), 1.0 - passes_that_miss as f64 / 2.0);
    }
}

#[test]
fn managed_pages_by_window_and_host_memory_over_the_link() {
    let card = find("h200").unwrap();
    let plain = shape(&card, 8 * MIB / 4096, 256);
    let window = u64::from(plain.occupancy.blocks * card.multiprocessors) * 4096;
    let ranges = vec![
        Range { addresses: BASE..BASE + 8 * MIB, placement: Placement::Managed },
        Range { addresses: OUT..OUT + 8 * MIB, placement: Placement::Host },
    ];
    let finished =
        sweep_shaped(LaunchShape { ranges, ..plain }, L2State::new(card.clone()), BASE, What::Copy);
    let counters = &finished.counters;
    assert_eq!((counters.link.sectors_read, counters.link.sectors_written), (0, 8 * MIB / 32));
    assert_eq!(mib(&card, &finished), (8, 0));
    assert_eq!(finished.managed.len() as u64, (8 * MIB).div_ceil(window));
    let mut pages = 0;
    for (index, touched) in (0_u64..).zip(&finished.managed) {
        let (first, last) = (index * window, ((index + 1) * window).min(8 * MIB) - 1);
        assert_eq!(touched.window, index);
        assert_eq!(touched.pages[0].page, (BASE + first) >> 16);
        assert_eq!(touched.pages.len() as u64, (last >> 16) - (first >> 16) + 1);
        assert_eq!(touched.blocks(), (last >> 21) - (first >> 21) + 1);
        assert!(touched.pages.iter().all(|page| page.read && !page.written));
        pages += touched.pages.len() as u64;
    }
    assert_eq!(counters.managed_pages, pages);
}

/// An L2 of two halves keeps half of its lines twice: of 60 MiB it holds 40, and lines leave between 28 and 52.
#[test]
fn hits_become_fewer_as_a_footprint_grows_past_two_halves() {
    let card = find("h200").unwrap();
    for (footprint, least, most) in [(24, 0, 0), (40, 16, 24), (56, 56, 56)] {
        let first = sweep(&card, L2State::new(card.clone()), BASE, footprint * MIB, What::Read);
        assert_eq!(mib(&card, &first), (footprint, 0), "cold");
        let second = sweep(&card, first.l2, BASE, footprint * MIB, What::Read);
        let (read, _) = mib(&card, &second);
        assert!((least..=most).contains(&read), "{read} of {footprint} MiB");
        // What came back with the second sweep is there for the third, as much as before.
        let third = sweep(&card, second.l2, BASE, footprint * MIB, What::Read);
        let (read, _) = mib(&card, &third);
        assert!((least..=most).contains(&read), "{read} of {footprint} MiB in the third sweep");
    }
}

/// A store to a part of a sector that L2 does not hold makes it fetch the rest; one to a whole sector, or to one that was read,
/// does not.
#[test]
fn sectors_stored_in_part_are_filled() {
    let card = find("h200").unwrap();
    let unread =
        |finished: &Finished| (finished.counters.l2_sectors_unread, finished.counters.model().filled);
    let sectors = 4 * MIB / 32;
    let whole = sweep(&card, L2State::new(card.clone()), BASE, 4 * MIB, What::Write);
    assert_eq!(unread(&whole), (sectors, 0.0));
    let read = sweep(&card, L2State::new(card.clone()), BASE, 4 * MIB, What::Increment);
    assert_eq!(unread(&read), (0, 0.0));
    let part = launch(shape(&card, sectors / 256, 256), L2State::new(card.clone()), &[], |block| {
        for warp in 0..8 {
            let first = (block.block * 8 + u64::from(warp)) * 1024;
            block.store(warp, 0, 4, |lane| BASE + first + lane * 32);
        }
    });
    assert_eq!(unread(&part), (sectors, sectors as f64));
    // It takes about twice as long as to write whole sectors: on an H200 `l2_store` moves 537 MB for 268 MB of sectors.
    let (part, whole) = (part.counters.time(&card).dram, whole.counters.time(&card).dram);
    assert!((2.0..2.2).contains(&(part / whole)), "{part} {whole}");
}
