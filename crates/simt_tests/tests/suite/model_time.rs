//! The time of launches, copies and migrations: what any card must do, and the published figures.

use crate::model_kernels::{Kernel, counters};
use proptest::prelude::*;
use simt::cards::{Card, all, find};
use simt::internals::model::{Counters, Touched, host_copy_gb_per_s};
use simt::model::{
    HostAccess, LaunchTime, Level, device_copy_seconds, host_access_seconds, host_copy_seconds,
    look_up_seconds, unified,
};

#[track_caller]
fn near(value: f64, expected: f64, tolerance: f64) {
    assert!((value / expected - 1.0).abs() <= tolerance, "{value} is not within {tolerance} of {expected}");
}

#[test]
fn nothing_done_takes_a_launch() {
    for card in all() {
        let time = LaunchTime::new(&Counters::default(), &card);
        assert_eq!(time.seconds, card.launch_us * 1e-6, "{}", card.key);
        assert_eq!(time.bound(), Level::Launch);
    }
}

#[test]
fn each_level_binds_where_its_work_is_most() {
    let card = find("h200").unwrap();
    let clocks = 132.0 * 1980e6;
    let launch = card.launch_us * 1e-6;
    let bound = |counters: Counters| {
        let time = LaunchTime::new(&counters, &card);
        (time.bound(), time)
    };
    let (level, time) = bound(Counters { shared_wavefronts: clocks, ..Counters::default() });
    assert_eq!(level, Level::OnChip);
    near(time.seconds, 1.0 + launch, 1e-9);
    let issued = 4.0 * clocks * card.issue_share;
    let (level, time) = bound(Counters { instructions: issued, ..Counters::default() });
    assert_eq!(level, Level::Issue);
    near(time.seconds, 1.0 + launch, 1e-9);
    // Integer instructions have half of what can be issued.
    let (level, time) =
        bound(Counters { instructions: 2.0 * clocks, integer: 2.0 * clocks, ..Counters::default() });
    assert_eq!(level, Level::Issue);
    near(time.seconds, 1.0 + launch, 1e-9);
    let (level, time) =
        bound(Counters { constant_turns: clocks / card.constant_clocks, ..Counters::default() });
    assert_eq!(level, Level::OnChip);
    near(time.seconds, 1.0 + launch, 1e-9);
    let sectors = card.l2_gb_per_s * 1e9 / 32.0;
    let stored = sectors / card.l2_store_times;
    for of_l2 in [
        Counters { l2_sectors_read: sectors, ..Counters::default() },
        Counters { l2_sectors_written: stored, ..Counters::default() },
    ] {
        let (level, time) = bound(of_l2);
        assert_eq!(level, Level::L2);
        near(time.seconds, 1.0 + launch, 1e-9);
    }
    let sequential =
        |bytes: f64| Touched { granules: bytes / 64.0, lines: bytes / 128.0, pages: bytes / 256.0 };
    let bytes = 4814.304e9 * card.dram_share;
    let (level, time) = bound(Counters { dram_read: sequential(bytes), ..Counters::default() });
    assert_eq!(level, Level::Dram);
    near(time.seconds, 1.0 + launch, 1e-9);
    // One warp that waits a thousand times for memory: Little's law with next to nothing in flight.
    let (level, time) = bound(Counters { warps: 1.0, round_trips: 1000.0, ..Counters::default() });
    assert_eq!(level, Level::Latency);
    near(time.latency, card.dram_latency_ns * 1e-6, 0.01);
    // A multiprocessor starts a block in 158.7 clocks.
    let (level, time) = bound(Counters { blocks: clocks / card.block_clocks, ..Counters::default() });
    assert_eq!(level, Level::Latency);
    near(time.seconds, 1.0 + launch, 1e-9);
}

#[test]
fn additions_of_floats_take_their_clocks() {
    let card = find("h200").unwrap();
    let time = |counters: Counters| LaunchTime::new(&counters, &card);
    // 2162688 additions to one word: 1.589 ms of integers, 3.797 of floats (`coalesce run atomics`).
    let words = Counters { atomic_rounds: 1.0, hottest_operations: 2_162_688.0, ..Counters::default() };
    near(time(words).l2, 1.589e-3, 0.01);
    near(time(Counters { float_share: 1.0, ..words }).l2, 3.797e-3, 0.01);
}

/// 16 777 216 of them, each to another sector of 16 MiB, took 162.4 us on an H200, and as many exchanges, which give the old
/// value back, 214.9 us.
#[test]
fn reductions_take_the_time_of_their_changes_alone() {
    let card = find("h200").unwrap();
    let atomics =
        Counters { atomic_rounds: 16_777_216.0, l2_sectors_written: 16_777_216.0, ..Counters::default() };
    let reductions = Counters { reduced_sectors: atomics.l2_sectors_written, ..atomics };
    near(LaunchTime::new(&reductions, &card).l2, 162.4e-6, 0.02);
    let exchanges = Counters { returned_sectors: atomics.l2_sectors_written, ..atomics };
    near(LaunchTime::new(&exchanges, &card).l2, 214.9e-6, 0.02);
}

/// Reductions to random words beyond what L2 holds: `count_kmers` of the program fidelity, 1.95 million of them to 67 MB, took 42.0 us on an
/// H200. In L2 they would take 18.8.
#[test]
fn atomics_wait_for_what_l2_does_not_hold() {
    let card = find("h200").unwrap();
    let sectors = 1_950_000.0;
    let in_l2 = Counters {
        atomic_rounds: sectors,
        atomic_share: 0.125,
        l2_sectors_written: sectors,
        reduced_sectors: sectors,
        ..Counters::default()
    };
    near(LaunchTime::new(&in_l2, &card).l2, 18.8e-6, 0.01);
    let moved = Touched { granules: sectors / 2.0, lines: sectors / 4.0, pages: sectors / 8.0 };
    let beyond = Counters { dram_read: moved, dram_written: moved, ..in_l2 };
    let time = LaunchTime::new(&beyond, &card);
    near(time.l2, 18.8e-6 + time.dram / (1.0 + card.dram_turnaround), 0.01);
}

/// `maximum_guarded` of the program fidelity: each of 131072 warps loads the word past L1 before it adds; 41.5 us on an H200, and as much on
/// an H100.
#[test]
fn loads_of_one_sector_past_l1_follow_one_another() {
    for key in ["h200", "h100"] {
        let card = find(key).unwrap();
        let time = LaunchTime::new(&Counters { hottest_loads: 131_072.0, ..Counters::default() }, &card);
        near(time.seconds, 41.5e-6, 0.01);
    }
}

#[test]
fn atomics_over_a_link_take_longer() {
    let card = find("h200").unwrap();
    let time = |counters: Counters| LaunchTime::new(&counters, &card).l2;
    // 270336 additions to one word of another card: 736 us; 8448 warps to 32 adjacent words: 59.6 us, of which about 2 are the
    // launch's (`coalesce run link`).
    let word = Counters { atomic_rounds: 1.0, hottest_operations: 270_336.0, ..Counters::default() };
    let whole = Counters { atomic_rounds: 33_792.0, hottest_rounds: 33_792.0, ..Counters::default() };
    near(time(Counters { peer_atomic_share: 1.0, ..word }), 736e-6, 0.01);
    near(time(Counters { peer_atomic_share: 1.0, ..whole }), 57.5e-6, 0.02);
    let half = time(Counters { peer_atomic_share: 0.5, ..word });
    near(half, (time(word) + 736e-6) / 2.0, 0.01);
}

#[test]
fn rounds_of_single_words_take_longer_in_a_slice() {
    let card = find("h200").unwrap();
    let time = |counters: Counters| LaunchTime::new(&counters, &card);
    // 2097152 random additions to 256 words, in four pieces: 542 us (`histogram_global` of the program fidelity).
    let random = Counters {
        atomic_rounds: 1_457_056.0,
        hottest_rounds: 364_592.0,
        slice_rounds: 2.0 * 364_592.0,
        alike: 4.0,
        atomic_share: 2_097_152.0 / 8.0 / 1_457_056.0,
        ..Counters::default()
    };
    near(time(random).l2, 542e-6, 0.03);
    // 67584 warps add to 32 adjacent words, four rounds of whole sectors each: 164 us (`coalesce run atomics`).
    let whole = Counters { atomic_rounds: 270_336.0, hottest_rounds: 270_336.0, ..Counters::default() };
    near(time(whole).l2, 164e-6, 0.03);
}

/// A probe's blocks of one warp, of eight and of 32 on each multiprocessor of an H200, whose threads add 64 floats to one word each:
/// 1544, 6795 and 22 477 ns for each of these; and 32 warps twice, 46 743.
#[test]
fn loops_on_a_word_take_turns_by_the_warps_that_want_it() {
    let card = find("h200").unwrap();
    let time = |blocks: f64, warps: f64| {
        let operations = 64.0 * 32.0 * warps;
        let counters = Counters {
            blocks: 132.0 * blocks,
            warps: 132.0 * blocks * warps,
            resident_warps: 64.0,
            looped_operations: operations * 132.0 * blocks,
            ..Counters::default()
        };
        (LaunchTime::new(&counters, &card).on_chip / 64.0 * 1e9).round()
    };
    near(time(1.0, 1.0), 1544.0, 0.01);
    near(time(1.0, 8.0), 6795.0, 0.02);
    near(time(1.0, 32.0), 22_477.0, 0.15);
    near(time(2.0, 32.0), 46_743.0, 0.15);
    // A warp alone has the turns of its lanes, whatever the others do: 32 of one word.
    let alone = Counters {
        warps: 132.0,
        looped_operations: 1.0,
        looped_wavefronts: 132.0 * 32.0,
        ..Counters::default()
    };
    let turns = LaunchTime::new(&alone, &card).latency
        - LaunchTime::new(&Counters { looped_operations: 0.0, ..alone }, &card).latency;
    near(turns * 1e9, 1544.0, 0.01);
}

/// 1 048 576 reductions on an H200: to random ones of 1 048 576 words, and so that words near the first get more (x^3 of a random x).
/// Rounds in the busiest slice are those that the simulator counts.
#[test]
fn skewed_reductions_take_the_time_of_the_busiest_slice() {
    let card = find("h200").unwrap();
    let n = 1_048_576.0;
    let time = |all: f64, slice: f64| {
        let counters = Counters {
            atomic_rounds: all * n,
            slice_rounds: slice * n,
            l2_sectors_written: all * n,
            reduced_sectors: all * n,
            atomic_share: 0.125,
            ..Counters::default()
        };
        LaunchTime::new(&counters, &card).seconds * 1e6
    };
    near(time(1.0, 0.0109), 13.3, 0.2);
    near(time(0.995, 0.0508), 44.1, 0.1);
    near(time(0.794, 0.3088), 244.4, 0.05);
}

#[test]
fn memory_and_the_waits_for_it_overlap_less_than_the_rest() {
    let card = find("h200").unwrap();
    let second = |counters: Counters| LaunchTime::new(&counters, &card).seconds - card.launch_us * 1e-6;
    // A second each.
    let sectors = Counters { l2_sectors_read: card.l2_gb_per_s * 1e9 / 32.0, ..Counters::default() };
    let clocks = 132.0 * card.clock_mhz * 1e6;
    let (issue, on_chip) = (4.0 * clocks * card.issue_share, clocks);
    // In one wave, 1.44 seconds for both.
    let both = 2f64.powf(1.0 / (1.0 + (card.sharpness - 1.0) * (1.0 - card.lockstep)));
    near(both, 1.44, 0.01);
    near(second(Counters { instructions: issue, requests: on_chip, ..Counters::default() }), both, 0.02);
    near(second(Counters { instructions: issue, ..sectors }), both, 0.02);
    // A chain of loads waits for L2 and for device memory one after the other.
    let bytes = 4814.304e9 * card.dram_share;
    let dram_read = Touched { granules: bytes / 64.0, lines: bytes / 128.0, pages: bytes / 256.0 };
    let loads = Counters { warps: 1.0, loads: 8.0, dram_read, ..sectors };
    near(second(loads), 1.0, 0.02);
    near(second(Counters { chained_loads: 8.0, ..loads }), 2.0, 0.02);
}

#[test]
fn requests_with_no_lane_take_turns_on_chip() {
    let card = find("h200").unwrap();
    let time = |idle_requests| {
        LaunchTime::new(&Counters { requests: 132e3, idle_requests, ..Counters::default() }, &card)
    };
    near(time(132e3).on_chip, 2.0 * time(0.0).on_chip, 1e-9);
}

#[test]
fn gaps_cost_more_where_reads_alternate_with_writes() {
    let card = find("h200").unwrap();
    // 67 MB in granules that are 256 bytes apart. `coalesce run l2` reads them in 22.4 us, of which 0.8 are the launch.
    let apart = |granules: f64| Touched { granules, lines: granules, pages: granules };
    let time = |read: f64, written: f64| {
        let counters =
            Counters { dram_read: apart(read), dram_written: apart(written), ..Counters::default() };
        LaunchTime::new(&counters, &card).dram
    };
    near(time(1_048_576.0, 0.0), 21.6e-6, 0.07);
    // `stride` of 32 doubles reads and writes each: 66.7 ps for both.
    near(time(1_048_576.0, 1_048_576.0) / 1_048_576.0, 66.7e-12, 0.12);
}

#[test]
fn where_the_sweeps_are_bound_on_the_h200() {
    let card = find("h200").unwrap();
    let bound = |kernel, size| LaunchTime::new(&counters(&card, kernel, size, 256 << 20), &card).bound();
    // 4 bytes a thread are too few in flight; 16 saturate memory.
    assert_eq!(bound(Kernel::Offset(0), 4), Level::Latency);
    assert_eq!(bound(Kernel::Copy, 16), Level::Dram);
    assert_eq!(bound(Kernel::Stride(8), 4), Level::Dram);
}

#[test]
fn barriers_and_camping_slow_memory_down() {
    let card = find("gtx280").unwrap();
    let moved = Touched { granules: 1e7, lines: 2.5e6, pages: 312_500.0 };
    let even = Counters { dram_read: moved, dram_written: moved, ..Counters::default() };
    let time = |counters: &Counters| LaunchTime::new(counters, &card).dram;
    near(time(&Counters { camping_written: 8.0, ..even }) / time(&even), 4.5, 1e-9);
    near(time(&Counters { phased: true, ..even }) / time(&even), 1.0 / 0.87, 1e-9);
}

#[test]
fn the_host_link_is_a_curve() {
    // Gpu-benches, PCIe 3 with pinned memory: 1.8 GB/s at 64 KiB, 9.25 at 1 MiB, 12.35 from 32 MB on.
    let card = find("v100").unwrap();
    near(host_copy_gb_per_s(&card, 64 << 10), 1.8, 0.07);
    near(host_copy_gb_per_s(&card, 1 << 20), 9.25, 0.07);
    near(host_copy_gb_per_s(&card, 1 << 30), 12.35, 0.01);
    // The H200, measured: 55.4 GB/s over PCIe 5.
    near(host_copy_gb_per_s(&find("h200").unwrap(), 1 << 30), 55.4, 0.01);
    near(host_copy_seconds(&card, 0), 30e-6, 1e-9);
}

#[test]
fn the_drivers_copy_within_the_card() {
    // The H200, measured: 4202 GB/s at 256 MiB, reads and writes.
    let card = find("h200").unwrap();
    let bytes = 256_u64 << 20;
    near(2.0 * bytes as f64 / device_copy_seconds(&card, bytes) / 1e9, 4202.0, 0.03);
}

#[test]
fn unified_memory_migrates_by_the_published_curve() {
    // UVMSmart's fit for PCIe 3, in GB/s; the V100's link gives 12.35 where theirs gives 12.
    let card = find("v100").unwrap();
    for (kib, published) in [(4, 2.2), (64, 10.4), (2048, 11.95)] {
        near(unified::migration_gb_per_s(&card, kib << 10), published * 12.35 / 12.0, 0.02);
    }
    assert_eq!(unified::migration_seconds(&card, 0), 0.0);
}

#[test]
fn a_sweep_in_unified_memory_is_near_the_published_one() {
    // A GTX 1080 on PCIe 3 that sweeps 3.17 GB of managed memory: 386.6 ms.
    let card = find("v100").unwrap();
    let seconds = unified::sweep_seconds(&card, 3_170_000_000);
    near(seconds, 0.3866, 0.15);
    assert_eq!(unified::SWEEP_BYTES.iter().sum::<u64>(), unified::BLOCK_BYTES);
    // Prefetching the same saves the faults, and scattered pages cost many times a sweep's.
    assert!(unified::prefetch_seconds(&card, 3_170_000_000) < 0.8 * seconds);
    let pages = 1000;
    let sweep = unified::sweep_seconds(&card, pages * unified::PAGE_BYTES);
    assert!(unified::scattered_seconds(&card, pages, 1) > 5.0 * sweep);
    assert!(unified::scattered_seconds(&card, pages, 256) < unified::scattered_seconds(&card, pages, 16));
}

#[test]
fn faults_come_in_batches_and_evictions_write_back() {
    assert_eq!(unified::fault_seconds(0), 0.0);
    assert_eq!(unified::fault_seconds(1), 45e-6);
    assert_eq!(unified::fault_seconds(256), 45e-6);
    assert_eq!(unified::fault_seconds(257), 90e-6);
    let card = find("h200").unwrap();
    assert_eq!(unified::eviction_seconds(&card, 100, 0.0), 0.0);
    near(unified::eviction_seconds(&card, 100, 1.0), 100.0 * f64::from(2 << 20) / 55.4e9, 0.01);
    let faults = |text: &str| unified::faults(text.parse().unwrap());
    assert_eq!([faults("3.5"), faults("5.2"), faults("6.0"), faults("9.0")], [false, false, true, true]);
}

#[test]
fn what_the_host_does_for_a_fault_is_the_cards_constant() {
    let card = find("h200").unwrap();
    // A block of 2 MiB in one piece, and in 32.
    near(unified::service_seconds(&card, 32, 1), (32.0 * 4.6 + 4.2) * 1e-6, 1e-9);
    near(unified::service_seconds(&card, 32, 32), (32.0 * 4.6 + 32.0 * 4.2) * 1e-6, 1e-9);
    assert_eq!(unified::service_seconds(&find("v100").unwrap(), 32, 32), 0.0);
    near(unified::first_touch_seconds(512), 41e-6, 0.01);
}

#[test]
fn kernels_get_less_of_the_link_than_copies() {
    // The H200, measured: 51.3 GB/s of pinned memory that is read in order, 52.6 that is written.
    let card = find("h200").unwrap();
    let access = |split| HostAccess { bytes: 1 << 30, split };
    let rate = |read, written| f64::from(1 << 30) / host_access_seconds(&card, read, written) / 1e9;
    near(rate(access(0), HostAccess::default()), 51.95, 0.015);
    assert_eq!(rate(access(0), access(0)), rate(access(0), HostAccess::default()));
    // Every request across lines: 44 to 47 GB/s read, 34 to 38 written.
    near(rate(access(1 << 23), HostAccess::default()), 45.5, 0.03);
    near(rate(HostAccess::default(), access(1 << 23)), 36.0, 0.04);
    // At random in 1 GiB, 8 Mi requests, of which half go to pages that are not known: 14 GB/s. In half a GiB, none.
    near(f64::from(1 << 30) / (20.7e-3 + look_up_seconds(1 << 23, 512)) / 1e9, 14.1, 0.02);
    assert_eq!(look_up_seconds(1 << 22, 256), 0.0);
}

#[test]
fn work_that_is_dealt_out_unevenly_takes_as_long_as_where_most_of_it_is() {
    let card = find("h200").unwrap();
    let multiprocessors = f64::from(card.multiprocessors);
    let time = |blocks: f64| {
        let counters = Counters { blocks, instructions: 1e9, shared_wavefronts: 1e9, ..Counters::default() };
        LaunchTime::new(&counters, &card)
    };
    let even = time(multiprocessors);
    for (blocks, times) in
        [(2.0 * multiprocessors, 1.0), (multiprocessors / 2.0, 2.0), (1.5 * multiprocessors, 4.0 / 3.0)]
    {
        let found = time(blocks);
        near(found.issue / even.issue, times, 1e-12);
        near(found.on_chip / even.on_chip, times, 1e-12);
    }
}

proptest! {
    /// More of anything never takes less time, and the whole takes no less than any part and no more than all of them.
    #[test]
    fn time_grows_with_every_counter(values in prop::array::uniform10(0.0..1e9_f64), which in 0..10_usize, more in 1.0..4.0_f64) {
        // As many blocks on each multiprocessor: more of them that only even out the same work do take less time.
        let even = |warps: f64, card: &Card| {
            let multiprocessors = f64::from(card.multiprocessors);
            (warps / 8.0 / multiprocessors).ceil() * multiprocessors
        };
        let of = |values: [f64; 10], card: &Card| Counters {
            warps: values[0],
            resident_warps: 32.0,
            round_trips: 1.0 + values[1] / 1e9,
            instructions: values[2],
            requests: 1e9 + values[3],
            straddling: values[4],
            blocks: even(values[0], card),
            // So many a warp: more warps that only part the same work have less to wait for, each.
            integer: values[0] * values[2] / 2e9,
            l1_turns: values[4],
            rewritten: values[6] / 2.0,
            constant_turns: values[9],
            l2_sectors_read: values[5],
            l2_sectors_written: values[6],
            dram_read: Touched { granules: values[7], lines: values[8], pages: values[8] / 4.0 },
            dram_written: Touched { granules: values[8], lines: values[7], pages: values[7] },
            shared_wavefronts: values[9],
            ..Counters::default()
        };
        let mut grown = values;
        grown[which] *= more;
        // Of the same work in more waves, levels overlap more.
        for card in all().into_iter().map(|card| Card { lockstep: 0.0, ..card }) {
            let time = LaunchTime::new(&of(values, &card), &card);
            let parts = [time.dram, time.l2, time.on_chip, time.issue, time.latency];
            let greatest = parts.into_iter().fold(0.0, f64::max);
            prop_assert!(time.seconds >= (greatest + time.launch) * (1.0 - 1e-12));
            prop_assert!(time.seconds <= (parts.iter().sum::<f64>() + time.launch) * (1.0 + 1e-12));
            // More requests thin out those that straddle, and more L2 hits shorten the latency.
            if which != 3 && which != 5 {
                prop_assert!(LaunchTime::new(&of(grown, &card), &card).seconds >= time.seconds * (1.0 - 1e-12));
            }
        }
    }
}
