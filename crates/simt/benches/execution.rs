//! How fast kernels are executed: thread instructions a second, bounds checks always on; `_counted` with all counters
//! of an H200, what merging them costs at the end included; `_checked` with racecheck, initcheck and synccheck as well.
//!
//! `cargo bench -p simt --bench execution`. Kernels are compiled before they are timed; `COALESCE_TIER=interpreted` times
//! the interpreter. The figures to reach, counted, on one idle core with AVX2: a geometric mean of 10 G/s over `saxpy`,
//! `offset`, the tiled transpose and the tiled product, and of 3 G/s over `stride_32`, the gathers, the random rows and the
//! histogram; two workers 1.8 times one.
//!
//! Measured on one core of an EPYC with AVX-512, idle, in G/s of the fastest of ten samples, in brackets without counters. The
//! virtual machine was slower that day than on others, on which `saxpy` counted came to 13.9:
//!
//! | kernel | counted, before | counted | with all checks |
//! | --- | --- | --- | --- |
//! | `saxpy` | 9.3 | 8.9 (29) | |
//! | offset by one | 7.9 | 7.7 (20) | 1.60 |
//! | tiled transpose | 8.0 | 10.2 (14) | 1.10 |
//! | tiled product | 12.4 | 12.9 (42) | 2.11 |
//! | geometric mean | 9.2 | 9.8 | 1.55 |
//! | `stride_32` | 1.15 | 1.32 (2.1) | |
//! | gather, 128 MB | 0.38 | 0.57 (2.3) | 0.12 |
//! | gather, 256 KB | 1.18 | 1.93 (14.6) | 0.45 |
//! | random rows | 2.3 | 2.3 (5.0) | 0.87 |
//! | histogram | 0.91 | 1.37 (3.6) | 0.19 |
//! | geometric mean | 1.03 | 1.35 (4.2) | |
//!
//! "Before" is the program before irregular requests were looked up together, in the same minutes. Both geometric means of
//! regular kernels are at their aim (checks: 1.5), the counted one on the faster days. The 3 G/s of irregular ones are not reached, and
//! two of the five do not execute as fast without any counter. What bounds them: in L1 a lane takes about 55 instructions, 14 clocks;
//! 16 lanes at a time with AVX-512 took as long. Over 128 MB each lane needs two random lines of the host's memory, its own and
//! the state of L2, 4.4 ns each where they are fetched far ahead and 9 ns where not.
//!
//! Irregular kernels are at 1.09 on one core of an Intel Xeon of 2023 (family 6, model 207, 2.3 GHz nominal, a shared virtual machine), and
//! 2.54 is what bare look-ups would leave there (`cargo bench -p simt --bench floor`): the aim of 3 is out of reach on it as long as execution
//! comes first and counting second. "Before" is the program with a second sort for banks. Each is the fastest of four times 15 samples,
//! interleaved, of the floor 25; minutes apart, the same program and the floor differ by a fifth (floors of 2.01 to 2.71):
//!
//! | kernel | counted, before | counted | floor | without counters |
//! | --- | --- | --- | --- | --- |
//! | `stride_32` | 0.81 | 0.83 | 1.01 | 1.38 |
//! | gather, 128 MB | 0.35 | 0.39 | 1.30 | 1.86 |
//! | gather, 256 KB | 1.24 | 1.32 | 5.53 | 12.1 |
//! | random rows | 3.27 | 3.90 | 8.63 | 9.67 |
//! | histogram | 0.87 | 0.92 | 1.69 | 2.00 |
//! | geometric mean | 1.00 | 1.09 | 2.54 | 3.60 |
//!
//! Repeated accesses to global memory have been noted by compiled code and counted together since the first table. On one core of an Intel Xeon of
//! 2023 with AVX-512, in turns with the program before that, in G/s of the fastest of two times ten samples: `saxpy` 7.6 -> 8.4,
//! offset 6.6 -> 6.9, transpose 4.4 -> 5.5, product 15.6 -> 15.4; a geometric mean of 7.7 -> 8.4.
//!
//! Blocks that repeat an earlier one are counted by a template since then, and accesses in rows are noted as well. Same machine, in turns with
//! the program before that, in G/s of the fastest of four times 30 to 60 samples:
//!
//! | kernel | before | now |
//! | --- | --- | --- |
//! | `saxpy` | 7.7 | 10.8 |
//! | offset by one | 6.7 | 8.5 |
//! | tiled transpose | 5.8 | 6.2 |
//! | tiled product | 14.5 | 21.2 |
//! | geometric mean | 8.1 | 10.5 |
//!
//! That is the aim. The transpose waits for the host's memory: in other minutes it came to 8.8, and on a busier host from 4.9 to 5.3.
//!
//! `divergence` and `barriers` came to 25 and 10 G/s once code executed divergent regions under masks, from 0.86 and 2.5 when
//! the interpreter did; a busier machine, the fastest of two times five samples.
//!
//! Short launches: a launch of an increment through the simulated driver came from 58 to 40 us with one block, from 210 to 82 us with 16 and from
//! 784 to 359 us with 256, since one worker executes what was short before and no worker is woken that does not wait; on a Xeon.
//! In a module of 278 kernels it took 3.2 ms before it was gathered once what counting has to know of a module.
//!
//! Two workers: 1.98 times one in arithmetic, 2.0 in barriers, 1.97 in divergence, 1.83 in `stride_32`, 1.63 in `saxpy`, whose
//! launch takes a millisecond. Interpreted, launches with all checks take 2.4 (offset) and 2.1 times (transpose) as long.

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
