//! What is observed of the laboratory's simplest kernels is what `model_kernels` works out from their addresses, to
//! which the models are fitted.

use crate::count_drive::{Block, launch, shape, waits_before};
use crate::model_kernels::{Kernel, counters};
use simt::cards::{Card, all, find};
use simt::count::{Finished, L2State, LaunchShape, Modelled};
use simt::internals::model::{Counters, Touched};
use simt::model::LaunchTime;

const THREADS: u32 = 256;

/// The accesses of a kernel: site 1 loads, site 2 waits for it and stores, and ten other instructions.
fn accesses(block: &mut Block<'_>, kernel: Kernel, size: u64) {
    let (step, offset, apart) = match kernel {
        Kernel::Offset(s) => (1, s, 0),
        Kernel::Stride(s) => (s, 0, 0),
        Kernel::Copy => (1, 0, 1 << 36),
    };
    for warp in 0..THREADS / 32 {
        let first = block.block * u64::from(THREADS) + u64::from(warp) * 32;
        let address = |lane: u64| ((first + lane) * step + offset) * size;
        block.issue(warp, 0, 10);
        block.load(warp, 1, size as u32, address);
        block.store(warp, 2, size as u32, |lane| apart + address(lane));
    }
}

fn observed(card: &Card, kernel: Kernel, size: u64, bytes: u64) -> Finished {
    let blocks = bytes / size / u64::from(THREADS);
    let shape = LaunchShape { facts: waits_before(2), ..shape(card, blocks, THREADS) };
    launch(shape, L2State::new(card.clone()), &[], |block| accesses(block, kernel, size))
}

fn kernels() -> impl Iterator<Item = Kernel> {
    let offsets = [0, 1, 2, 7, 8, 9, 15, 16, 17, 24, 31, 32].map(Kernel::Offset);
    let strides = [1, 2, 3, 4, 5, 8, 12, 16, 17, 24, 31, 32].map(Kernel::Stride);
    offsets.into_iter().chain(strides).chain([Kernel::Copy])
}

#[test]
fn as_many_blocks_as_were_worked_out_give_the_very_same_counters() {
    for key in ["c870", "c1060", "c2050", "k40c", "h200"] {
        let card = find(key).unwrap();
        for (kernel, size) in kernels().flat_map(|kernel| [(kernel, 4), (kernel, 8)]) {
            let bytes = 32 * u64::from(THREADS) * size;
            let found = observed(&card, kernel, size, bytes).counters.model();
            // Camping and sectors that stores do not cover are not part of what is worked out.
            let found = Counters { camping_read: 1.0, camping_written: 1.0, stored_in_part: 0.0, ..found };
            assert_eq!(found, counters(&card, kernel, size, bytes), "{key}, {kernel:?}, {size} bytes");
        }
    }
}

#[test]
fn sixteen_byte_vectors_too() {
    for card in all() {
        let bytes = 32 * u64::from(THREADS) * 16;
        let found = observed(&card, Kernel::Copy, 16, bytes).counters.model();
        let found = Counters { camping_read: 1.0, camping_written: 1.0, ..found };
        assert_eq!(found, counters(&card, Kernel::Copy, 16, bytes), "{}", card.key);
    }
}

#[test]
fn whole_launches_differ_by_their_edges_only() {
    let near = |found: f64, expected: f64, tolerance: f64, what: &str| {
        let error = if expected == 0.0 { found } else { found / expected - 1.0 };
        assert!(error.abs() <= tolerance, "{what}: {found}, worked out {expected}");
    };
    for key in ["c1060", "c2050", "h200"] {
        let card = find(key).unwrap();
        for kernel in [0, 1, 8, 31].map(Kernel::Offset).into_iter().chain([2, 7, 16, 32].map(Kernel::Stride))
        {
            let bytes = 4 << 20;
            let found = observed(&card, kernel, 4, bytes).counters.model();
            let expected = counters(&card, kernel, 4, bytes);
            let what = |name: &str| format!("{key}, {kernel:?}, {name}");
            near(found.requests, expected.requests, 0.0, &what("requests"));
            near(found.l1_turns, expected.l1_turns, 0.0, &what("turns of L1"));
            near(found.rewritten, expected.rewritten, 0.0, &what("rewritten sectors"));
            near(found.straddling, expected.straddling, 0.0, &what("straddling"));
            near(found.instructions, expected.instructions, 0.0, &what("instructions"));
            near(found.l2_sectors_read, expected.l2_sectors_read, 0.0, &what("L2 sectors read"));
            near(found.l2_sectors_written, expected.l2_sectors_written, 0.0, &what("L2 sectors written"));
            let touched = |found: Touched, expected: Touched, way: &str| {
                near(found.granules, expected.granules, 0.005, &what(way));
                near(found.lines, expected.lines, 0.005, &what(way));
                near(found.pages, expected.pages, 0.035, &what(way));
            };
            touched(found.dram_read, expected.dram_read, "read");
            touched(found.dram_written, expected.dram_written, "written");
            let seconds = |counters| LaunchTime::new(counters, &card).seconds;
            near(seconds(&found), seconds(&expected), 0.01, &what("seconds"));
        }
    }
}

#[test]
fn the_first_article_is_found_again_in_observed_launches() {
    // Useful bandwidth relative to the aligned, contiguous case, without the launch.
    let relative = |key: &str, kernel: Kernel| {
        let card = find(key).unwrap();
        let seconds = |kernel| {
            let time = observed(&card, kernel, 4, 4 << 20).counters.time(&card);
            time.seconds - time.launch
        };
        seconds(Kernel::Offset(0)) / seconds(kernel)
    };
    for (key, kernel, expected) in [
        ("c870", Kernel::Offset(1), 0.125),
        ("c870", Kernel::Offset(8), 0.125),
        ("c870", Kernel::Offset(16), 1.0),
        ("c870", Kernel::Stride(2), 0.125),
        ("c1060", Kernel::Offset(1), 0.571),
        ("c1060", Kernel::Offset(8), 0.667),
        ("c1060", Kernel::Offset(32), 1.0),
        ("c2050", Kernel::Offset(1), 0.97),
        ("c2050", Kernel::Stride(4), 0.25),
    ] {
        let found = relative(key, kernel);
        assert!((found / expected - 1.0).abs() < 0.05, "{key}, {kernel:?}: {found}, {expected} expected");
    }
}

#[test]
fn the_blocks_of_a_cluster_reach_each_other_through_a_port() {
    let card = find("h200").unwrap();
    let on_chip = |blocks: u32, bytes: f64| {
        let counters = Counters {
            blocks: blocks.into(),
            warps: blocks.into(),
            cluster_bytes: bytes,
            ..Counters::default()
        };
        LaunchTime::new(&counters, &card).on_chip * card.clock_mhz * 1e6
    };
    // 13 bytes a clock of each multiprocessor, and of a quarter of them where no others have blocks.
    let all = 132.0 * 13.0 * 1000.0;
    assert!((on_chip(132, all) - 1000.0).abs() < 1e-6);
    assert!((on_chip(33, all / 4.0) - 1000.0).abs() < 1e-6);
}

#[test]
fn a_chain_takes_the_latency_of_the_level_that_it_hits() {
    let card = find("h200").unwrap();
    let loads = 100_000.0;
    let cycles = |counters: Counters, card: &Card| {
        let counters = Counters { blocks: 1.0, warps: 1.0, ..counters };
        LaunchTime::new(&counters, card).latency * card.clock_mhz * 1e6 / loads
    };
    let chain =
        Counters { round_trips: loads, chained_loads: loads, l2_sectors_read: loads, ..Counters::default() };
    let near =
        |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 0.02, "{found}, not {expected}");
    near(cycles(Counters { l1_hit_share: 1.0, ..chain }, &card), 32.0);
    near(cycles(chain, &card), 275.0);
    let from_dram = Touched { granules: loads, ..Touched::default() };
    near(cycles(Counters { dram_read: from_dram, ..chain }, &card), 655.0);
    let on_chip = Counters { chained_on_chip: loads, dependency_clocks: 23.0 * loads, ..Counters::default() };
    near(cycles(on_chip, &card), 23.0);
    let of_others = Counters { cluster_share: 1.0, ..on_chip };
    near(cycles(of_others, &card), 23.0 + 181.0);
    // A few chained loads among others leave the fitted constants as they are, and so does a card without such figures.
    let some = Counters { round_trips: 2.0 * loads, ..chain };
    near(cycles(some, &card), cycles(Counters { chained_loads: 0.0, ..some }, &card));
    let unknown = Card { chain_clocks: [0.0; 4], ..card.clone() };
    near(cycles(chain, &unknown), cycles(Counters { chained_loads: 0.0, ..chain }, &card));
}
