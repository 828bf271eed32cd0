//! How fast kernels are executed: thread instructions a second, bounds checks always on; `_counted` with all counters
//! of an H200, what merging them costs at the end included; `_checked` with racecheck, initcheck and synccheck as well.
//!
//! `cargo bench -p simt --bench execution`. Kernels are compiled before they are timed; `COALESCE_TIER=interpreted` times
//! the interpreter. The figures to reach on one idle core with AVX2 are geometric means: counted, 10 G/s over `saxpy`, `offset`, the
//! tiled transpose and the tiled product, and 3 G/s over `stride_32`, a gather, the random rows and the histogram; with checks, 1.5
//! G/s. Two workers are to reach 1.8 times one.
//!
//! Measured on one core each of an EPYC of 2022 (Zen 4) and of a Xeon of 2023, both with AVX-512 and in shared virtual machines, in G/s of the
//! fastest of 20 to 240 samples, in brackets without counters. Compiled kernels use AVX-512 there, and counting AVX2:
//!
//! | kernel | EPYC, counted | with all checks | Xeon, counted | with all checks |
//! | --- | --- | --- | --- | --- |
//! | `saxpy` | 15.5 (32) | | 13.9 (22) | |
//! | offset by one | 11.9 (22) | 2.31 | 10.6 (16) | 1.66 |
//! | tiled transpose | 8.7 (13) | 2.52 | 5.9 (6.2) | 1.19 |
//! | tiled product | 24.3 (40) | 2.81 | 20.9 (36) | 2.51 |
//! | geometric mean | 14.1 | 2.54 | 11.6 | 1.70 |
//! | `stride_32` | 1.92 (2.4) | | 0.91 (1.4) | |
//! | gather, 128 MB | 0.64 (2.3) | 0.38 | 0.54 (2.1) | 0.14 |
//! | gather, 256 KB | 1.97 (16) | 1.03 | 1.41 (11) | 0.43 |
//! | random rows | 5.32 (8.9) | 2.05 | 3.15 (10) | 1.32 |
//! | histogram | 1.62 (5.0) | 0.35 | 0.99 (1.9) | 0.16 |
//! | geometric mean | 1.84 (5.3) | | 1.17 (3.7) | |
//!
//! On a busier host all of these come to half as much: random rows differ most, from 2.8 to 4.9 on the Xeon and from 3.0 to 5.3 on
//! the EPYC. The Xeon's in brackets and with checks are from earlier versions. An EPYC without AVX-512, before L2 had a short way for what it
//! holds, came to 11.2 for the regular kernels and 1.16 for the irregular ones.
//!
//! The means of regular kernels, counted and with checks, are at their aims. Over all seven kernels checks come to 1.24, and to 1.5
//! without the gather of 128 MB. Irregular kernels are not at 3 G/s: with the gather of 256 KB their mean is 2.4 (EPYC) and 1.4 (Xeon), with
//! that of 128 MB 1.8 and 1.1. `cargo bench -p simt --bench floor` measures what is in the way. Means with the gather of 256 KB, in brackets
//! with that of 128 MB, the least and the most of three to six runs on one day:
//!
//! | | EPYC | Xeon |
//! | --- | --- | --- |
//! | executed without counters | 5.2 to 6.5 (3.3 to 4.0) | 3.1 to 3.4 (2.0 to 2.2) |
//! | and bare look-ups in two tables | 3.2 to 4.0 (2.3 to 2.8) | 2.1 to 2.3 (1.5 to 1.6) |
//! | and what the counters of a request need | 2.9 to 3.6 (2.1 to 2.6) | 2.0 to 2.1 (1.4 to 1.5) |
//! | a loop by hand that moves the same data | 13 to 15 (7.9 to 9.2) | 11 (7.2 to 7.3) |
//! | and the look-ups | 5.4 to 6.5 (3.9 to 4.6) | 4.3 to 4.5 (3.3 to 3.4) |
//!
//! So 3 G/s is out of reach on the Xeon, where execution alone takes nearly all of that time. On the EPYC it is the sum of execution and of
//! passes written by hand, over addresses listed beforehand in the order in which they are needed. On a quieter day the Xeon executed without
//! counters at 4.2 G/s, and at 3.0 with the look-ups.
//!
//! These add up times. `stride_32` is above its sum, 1.5 G/s, since what a warp needs next is fetched while the one before is counted; by
//! hand, without a warp or a counter, it comes to 2.2. Beyond that, what counts is far from its floor where lanes are scattered: of the
//! gather of 256 KB, a lane takes 5 ns in L1, 1.3 ns in L2, and 1.3 ns for the network that sorts it, on the EPYC.
//!
//! Two workers on the Xeon: 1.90 times one in arithmetic, 1.92 in barriers, 1.95 in divergence, 1.97 in `saxpy` counted, 2.1 in `stride_32`
//! counted. `saxpy` without counters, whose launch takes a millisecond, comes to 1.6.
//!
//! Short launches: an increment through the simulated driver takes 40 us with one block, 82 us with 16 and 359 us with 256, since one worker
//! executes what was short before and no worker is woken that does not wait; on a Xeon.

use divan::Bencher;
use divan::counter::ItemsCount;
use simt::cards::{self, BlockShape, Occupancy};
use simt::check::{self, Checks, Positions, Watch};
use simt::count::{CounterObservation, L2State, LaunchShape, SiteFacts};
use simt::exec::launch;
use simt::observe::Site;
use simt::ptx;
use std::sync::Arc;

#[path = "shared/setting.rs"]
mod setting;

use setting::{BLOCK, BLOCKS, KERNELS, Setting};

fn main() {
    divan::main();
}

/// What observes an execution.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Observed {
    Nothing,
    Counted,
    Checked,
}

fn bench(bencher: Bencher<'_, '_>, kernel: &str, step: u32, workers: usize, observed: Observed) {
    bench_grid(bencher, (kernel, step), (BLOCKS, workers), observed);
}

fn bench_grid(
    bencher: Bencher<'_, '_>,
    (kernel, step): (&str, u32),
    (blocks, workers): (u32, usize),
    observed: Observed,
) {
    let setting = Setting::new(observed == Observed::Checked);
    let Setting { memory, program, .. } = &setting;
    let positions = Positions::new(&ptx::parse(KERNELS).expect("PTX"));
    let card = cards::find("h200").expect("the card");
    let shape = BlockShape { threads: 256, registers: 16, shared_bytes: 0 };
    let occupancy = Occupancy::new(&card.limits(), shape).expect("it fits");
    let place = |site: Site| positions.place(&program.sites()[site.0 as usize]);
    let watch = Watch { checks: Checks::ALL, kernel, place: &place };
    let facts = Arc::new(SiteFacts::of(program.sites()));
    // Carried from launch to launch, as on a device.
    let mut l2 = Some(L2State::new(card));
    let mut run = || {
        setting.run(kernel, step, (blocks, workers), |asked| {
            if observed == Observed::Nothing {
                return launch(program, memory, asked, &mut ()).expect("it runs");
            }
            let shape = LaunchShape::new(asked.grid, BLOCK, occupancy, Arc::clone(&facts));
            let mut counters = CounterObservation::new(shape, l2.take().expect("given back below"));
            let executed = if observed == Observed::Checked {
                let (executed, findings) = check::launch(program, memory, asked, &mut counters, &watch);
                assert!(findings.is_empty(), "{kernel} has no errors");
                executed
            } else {
                launch(program, memory, asked, &mut counters)
            };
            l2 = Some(counters.finish().l2);
            executed.expect("it runs")
        })
    };
    let instructions = run();
    bencher.counter(ItemsCount::new(instructions)).bench_local(run);
}

#[divan::bench(args = [1, 2], sample_count = 10, sample_size = 1)]
fn saxpy(bencher: Bencher<'_, '_>, workers: usize) {
    bench(bencher, "saxpy", 1, workers, Observed::Nothing);
}

#[divan::bench(args = [1, 2], sample_count = 10, sample_size = 1)]
fn saxpy_counted(bencher: Bencher<'_, '_>, workers: usize) {
    bench(bencher, "saxpy", 1, workers, Observed::Counted);
}

#[divan::bench(args = [1, 2], sample_count = 10, sample_size = 1)]
fn stride_32(bencher: Bencher<'_, '_>, workers: usize) {
    bench(bencher, "stride", 32, workers, Observed::Nothing);
}

#[divan::bench(args = [1, 2], sample_count = 10, sample_size = 1)]
fn stride_32_counted(bencher: Bencher<'_, '_>, workers: usize) {
    bench(bencher, "stride", 32, workers, Observed::Counted);
}

/// Launches of few blocks with two workers, of which the second starts where the launch before was long.
#[divan::bench(args = [1, 16, 128, 512])]
fn short_launch_counted(bencher: Bencher<'_, '_>, blocks: u32) {
    bench_grid(bencher, ("saxpy", 1), (blocks, 2), Observed::Counted);
}

#[divan::bench(args = [1, 2], sample_count = 5, sample_size = 1)]
fn arithmetic_loop(bencher: Bencher<'_, '_>, workers: usize) {
    bench(bencher, "arithmetic", 100, workers, Observed::Nothing);
}

#[divan::bench(args = [1, 2], sample_count = 10, sample_size = 1)]
fn barriers(bencher: Bencher<'_, '_>, workers: usize) {
    bench(bencher, "reduction", 1, workers, Observed::Nothing);
}

#[divan::bench(args = [1, 2], sample_count = 10, sample_size = 1)]
fn divergence(bencher: Bencher<'_, '_>, workers: usize) {
    bench(bencher, "divergent", 1, workers, Observed::Nothing);
}

/// Kernels by the patterns of their accesses, each plain and counted.
const PATTERNS: [(&str, &str, u32); 7] = [
    ("offset by one", "offset", 1),
    ("gather, 256 KB", "gather", 16),
    ("gather, 128 MB", "gather", 7),
    ("random rows", "random_warp", 1),
    ("histogram", "histogram", 1),
    ("tiled transpose", "transpose", 1),
    ("tiled product", "product", 32),
];

fn pattern(bencher: Bencher<'_, '_>, name: &str, observed: Observed) {
    let (_, kernel, step) =
        PATTERNS.into_iter().find(|pattern| pattern.0 == name).expect("one of the patterns");
    bench(bencher, kernel, step, 1, observed);
}

#[divan::bench(args = PATTERNS.map(|pattern| pattern.0), sample_count = 10, sample_size = 1)]
fn patterns(bencher: Bencher<'_, '_>, name: &str) {
    pattern(bencher, name, Observed::Nothing);
}

#[divan::bench(args = PATTERNS.map(|pattern| pattern.0), sample_count = 10, sample_size = 1)]
fn patterns_counted(bencher: Bencher<'_, '_>, name: &str) {
    pattern(bencher, name, Observed::Counted);
}

#[divan::bench(args = PATTERNS.map(|pattern| pattern.0), sample_count = 3, sample_size = 1)]
fn patterns_checked(bencher: Bencher<'_, '_>, name: &str) {
    pattern(bencher, name, Observed::Checked);
}
