//! What counting costs: the time of one access of a warp by kind, with all counters of an H200.
//!
//! `cargo bench -p simt --bench observer`. An iteration is one access, so divan's columns are times of one. Blocks of 8 warps
//! begin and end in between, and runs of 16 blocks are handed back, so the share of `Observation::end` is included.
//! `_listed` accesses come with their 32 addresses, `_steady` ones with base and step. `nothing_listed` and
//! `nothing_steady` are the loops around them, whose times are to be subtracted. The column `fastest`, of a thousand
//! samples, is the one that other work on the computer disturbs least.
//!
//! For example, a warp of saxpy executes 16 instructions in 32 lanes, three of them `steady_load` or `steady_store`. At 8
//! ns each, counting allows 512 / 24 ns = 21 G thread-instructions/s.

use divan::Bencher;
use simt::cards::{self, BlockShape, Occupancy};
use simt::coalescing::Addresses;
use simt::count::{CounterObservation, L2State, LaunchShape};
use simt::internals::count::CounterObserver;
use simt::internals::observe::SteadyAccess;
use simt::observe::{Access, At, Observation, Observer, Operation, Site, Space};
use std::sync::Arc;

fn main() {
    divan::main();
}

const WARPS: u64 = 8;
const BLOCKS: u64 = 1 << 18;
const ARRAY: u64 = 0x7_0000_0000;

/// A launch without end: one access after another, each by the next warp.
struct Launch {
    observation: Option<CounterObservation>,
    observer: Option<CounterObserver>,
    /// Number of the next warp.
    warp: u64,
    run: u64,
    occupancy: Occupancy,
}

fn counters(l2: L2State, occupancy: Occupancy) -> CounterObservation {
    CounterObservation::new(
        LaunchShape::new([BLOCKS as u32, 1, 1], [WARPS as u32 * 32, 1, 1], occupancy, Arc::default()),
        l2,
    )
}

impl Launch {
    fn new() -> Self {
        let card = cards::find("h200").expect("the card");
        let shape = BlockShape { threads: WARPS as u32 * 32, registers: 16, shared_bytes: 0 };
        let occupancy = Occupancy::new(&card.limits(), shape).expect("it fits");
        let observation = counters(L2State::new(card), occupancy);
        let (observer, run) = (observation.begin(0), observation.run_of_blocks());
        Self { observation: Some(observation), observer: Some(observer), warp: 0, run, occupancy }
    }

    /// Returns the next warp and its number, after the begin of its block.
    #[inline(always)]
    fn next(&mut self) -> (u64, At) {
        let number = self.warp;
        self.warp += 1;
        let (block, warp) = (number / WARPS % BLOCKS, (number % WARPS) as u32);
        if warp == 0 {
            self.begin(block);
        }
        (number, At::new(block, warp, Site(0)))
    }

    #[inline(never)]
    fn begin(&mut self, block: u64) {
        if self.warp > 1 {
            self.observer().block_ends((block + BLOCKS - 1) % BLOCKS);
        }
        if block.is_multiple_of(self.run) {
            self.end_run(block);
        }
        self.observer().block_begins(block, WARPS as u32);
    }

    #[inline(never)]
    fn end_run(&mut self, block: u64) {
        let observer = self.observer.take().expect("the last block's");
        let observation = self.observation.as_mut().expect("the launch's");
        observation.end(observer);
        if block == 0 {
            let finished = self.observation.take().expect("the launch's").finish();
            self.observation = Some(counters(finished.l2, self.occupancy));
        }
        self.observer = self.observation.as_ref().map(|observation| observation.begin(block));
    }

    #[inline(always)]
    fn observer(&mut self) -> &mut CounterObserver {
        self.observer.as_mut().expect("a block has begun")
    }
}

/// Lanes `step` bytes apart, warps one after another in 128 MiB.
#[inline(always)]
fn base(warp: u64, step: u64) -> u64 {
    ARRAY + warp * 32 * step % (1 << 27)
}

/// A full warp's load from global memory.
#[inline(always)]
fn load(base: u64, step: u64) -> SteadyAccess {
    SteadyAccess {
        base,
        step,
        active: u32::MAX,
        bytes: 4,
        space: Space::Global,
        operation: Operation::Load,
        read_only: false,
        past_l1: false,
        strong: false,
    }
}

fn steady(bencher: Bencher<'_, '_>, space: Space, operation: Operation, step: u64) {
    let mut launch = Launch::new();
    bencher.bench_local(|| {
        let (warp, at) = launch.next();
        let base = if space == Space::Global { base(warp, step) } else { 0 };
        launch.observer().steady_access(at, &SteadyAccess { space, operation, ..load(base, step) });
    });
}

fn listed(
    bencher: Bencher<'_, '_>,
    space: Space,
    operation: Operation,
    addresses: impl Fn(u64, &mut Addresses),
) {
    let mut launch = Launch::new();
    let mut all = [0; 32];
    bencher.bench_local(|| {
        let (warp, at) = launch.next();
        addresses(warp, &mut all);
        launch.observer().access(
            at,
            &Access {
                space,
                operation,
                addresses: &all,
                active: u32::MAX,
                bytes: 4,
                read_only: false,
                past_l1: false,
                strong: false,
            },
        );
    });
}

/// Random multiples of 4 below a power of two, different for each warp.
fn random(span: u64) -> impl Fn(u64, &mut Addresses) {
    let mut seed = 0x2545_F491_4F6C_DD1D_u64;
    let noise: Vec<u32> = (0..1 << 13)
        .map(|_| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed >> 20) as u32
        })
        .collect();
    move |warp, addresses| {
        let start = (warp as usize * 32) % noise.len();
        let turn = (warp * 32 / noise.len() as u64).wrapping_mul(0x9E37_79B9) as u32;
        for (address, &noise) in addresses.iter_mut().zip(&noise[start..start + 32]) {
            *address = ARRAY + u64::from((noise ^ turn) & (span as u32 - 1) & !3);
        }
    }
}

fn row(step: u64) -> impl Fn(u64, &mut Addresses) {
    move |warp, addresses| {
        let base = base(warp, step);
        for (lane, address) in addresses.iter_mut().enumerate() {
            *address = base + lane as u64 * step;
        }
    }
}

#[divan::bench(sample_count = 1000, sample_size = 4096)]
fn nothing_listed(bencher: Bencher<'_, '_>) {
    let mut launch = Launch::new();
    let addresses = random(1 << 27);
    let mut all = [0; 32];
    bencher.bench_local(|| {
        let (warp, _) = launch.next();
        addresses(warp, &mut all);
        divan::black_box_drop(&all);
    });
}

#[divan::bench(sample_count = 1000, sample_size = 4096)]
fn nothing_steady(bencher: Bencher<'_, '_>) {
    let mut launch = Launch::new();
    bencher.bench_local(|| {
        let (warp, at) = launch.next();
        divan::black_box((at, load(base(warp, 4), 4)));
    });
}

/// A warp's rows of 132 bytes: each begins at another place in its line than the one before.
#[divan::bench(sample_count = 1000, sample_size = 4096)]
fn load_changing_steady(bencher: Bencher<'_, '_>) {
    let mut launch = Launch::new();
    bencher.bench_local(|| {
        let (warp, at) = launch.next();
        launch.observer().steady_access(at, &load(ARRAY + warp * 132 % (1 << 27), 4));
    });
}

#[divan::bench(sample_count = 1000, sample_size = 4096)]
fn load_steady(bencher: Bencher<'_, '_>) {
    steady(bencher, Space::Global, Operation::Load, 4);
}

#[divan::bench(sample_count = 1000, sample_size = 4096)]
fn store_steady(bencher: Bencher<'_, '_>) {
    steady(bencher, Space::Global, Operation::Store, 4);
}

#[divan::bench(sample_count = 1000, sample_size = 4096)]
fn load_stride_32_steady(bencher: Bencher<'_, '_>) {
    steady(bencher, Space::Global, Operation::Load, 128);
}

#[divan::bench(sample_count = 1000, sample_size = 4096)]
fn shared_steady(bencher: Bencher<'_, '_>) {
    steady(bencher, Space::Shared, Operation::Load, 4);
}

#[divan::bench(sample_count = 1000, sample_size = 4096)]
fn constant_steady(bencher: Bencher<'_, '_>) {
    steady(bencher, Space::Constant, Operation::Load, 0);
}

#[divan::bench(sample_count = 1000, sample_size = 4096)]
fn load_listed(bencher: Bencher<'_, '_>) {
    listed(bencher, Space::Global, Operation::Load, row(4));
}

#[divan::bench(sample_count = 1000, sample_size = 4096)]
fn store_listed(bencher: Bencher<'_, '_>) {
    listed(bencher, Space::Global, Operation::Store, row(4));
}

#[divan::bench(sample_count = 1000, sample_size = 4096)]
fn load_stride_32_listed(bencher: Bencher<'_, '_>) {
    listed(bencher, Space::Global, Operation::Load, row(128));
}

#[divan::bench(sample_count = 1000, sample_size = 4096)]
fn shared_listed(bencher: Bencher<'_, '_>) {
    listed(bencher, Space::Shared, Operation::Load, |_, addresses| {
        for (lane, address) in addresses.iter_mut().enumerate() {
            *address = lane as u64 * 4;
        }
    });
}

/// Loads at random addresses, in arrays of as many KiB.
#[divan::bench(args = [256, 1 << 17], sample_count = 1000, sample_size = 4096)]
fn load_random_listed(bencher: Bencher<'_, '_>, kib: u64) {
    listed(bencher, Space::Global, Operation::Load, random(kib << 10));
}

/// Reductions on 256 counters.
#[divan::bench(sample_count = 1000, sample_size = 4096)]
fn reduction_listed(bencher: Bencher<'_, '_>) {
    listed(bencher, Space::Global, Operation::Reduction, random(1 << 10));
}
