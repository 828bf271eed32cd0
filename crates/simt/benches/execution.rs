//! How fast kernels are executed: thread instructions a second, bounds checks always on; `_counted` with all counters
//! of an H200, what merging them costs at the end included; `_checked` with racecheck, initcheck and synccheck as well.
//!
//! `cargo bench -p simt --bench execution`. Kernels are compiled before they are timed; `COALESCE_TIER=interpreted` times
//! the interpreter. The figures to reach on one idle core with AVX2 are geometric means: counted, 10 G/s over `saxpy`, `offset`, the
//! tiled transpose and the tiled product, and 3 G/s over `stride_32`, a gather, the random rows and the histogram; with checks, 1.5
//! G/s. Two workers are to reach 1.8 times one.
//!
//! Measured on one core each of an EPYC with AVX2 and of a Xeon of 2023 with AVX-512, both in shared virtual machines, in G/s of the fastest
//! of 20 to 240 samples, in brackets without counters:
//!
//! | kernel | EPYC, counted | with all checks | Xeon, counted | with all checks |
//! | --- | --- | --- | --- | --- |
//! | `saxpy` | 11.5 (28) | | 11.1 (22) | |
//! | offset by one | 9.3 (20) | 1.68 | 8.3 (16) | 1.66 |
//! | tiled transpose | 7.7 (14) | 1.84 | 5.8 (6.2) | 1.19 |
//! | tiled product | 19.2 (34) | 2.20 | 21.6 (36) | 2.51 |
//! | geometric mean | 11.2 | 1.89 | 10.4 | 1.70 |
//! | `stride_32` | 1.12 (2.2) | | 0.92 (1.4) | |
//! | gather, 128 MB | 0.43 (1.6) | 0.10 | 0.43 (2.1) | 0.14 |
//! | gather, 256 KB | 1.49 (13) | 0.34 | 1.41 (11) | 0.43 |
//! | random rows | 2.29 (3.3) | 1.38 | 4.65 (10) | 1.32 |
//! | histogram | 1.26 (4.1) | 0.17 | 0.98 (1.9) | 0.16 |
//! | geometric mean | 1.16 (3.6) | | 1.20 (3.7) | |
//!
//! On a busier host all of these come to half as much. The Xeon's are from before blocks without barriers were executed in one loop.
//!
//! The mean of regular kernels is at its aim, and so are the checks; the laboratory's own kernels are slower (`cargo bench -p simt_tests --bench
//! laboratory`). Irregular kernels are not at 3 G/s: with the gather of 256 KB their mean is 1.5 (EPYC) and 1.6 (Xeon), with that of 128 MB 1.1 and
//! 1.2. `cargo bench -p simt --bench floor` says what is in the way, here from before that change. In means with the gather of 256 KB, and in
//! brackets with that of 128 MB:
//!
//! | | EPYC | Xeon |
//! | --- | --- | --- |
//! | no counter | 4.0 (2.5) | 4.2 (2.7) |
//! | and bare look-ups in two tables | 2.1 (1.5) | 3.0 (2.1) |
//! | a loop by hand that moves the same data | 12.3 (7.7) | 14.5 (9.7) |
//! | and the look-ups | 3.9 (2.8) | 6.4 (4.8) |
//!
//! So no exact counting exceeds 3 G/s while kernels are executed as they are now. By hand the random rows take a fifth of the time, since lines are
//! fetched ahead of the warp that reads them, and the histogram a seventh to a thirteenth, without atomic operations. Beyond that, what
//! counts is far from its floor where lanes are scattered: in L1 a lane takes about 55 instructions, 14 clocks; 16 lanes at a time with AVX-512
//! took as long.
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
