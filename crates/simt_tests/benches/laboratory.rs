//! Measures how fast the laboratory's own kernels are executed: without counters, with all counters of an H200, and with all checks.
//!
//! `cargo bench -p simt_tests --bench laboratory` prints thread instructions a second of one worker. The kernels come from `gpu-kernels`, as
//! rustc and cuda_builder make them, and are compiled before they are timed. On a computer without Rust, `COALESCE_PTX` names a file with their
//! PTX. `--bench execution` of `simt` has short kernels written by hand for the same patterns.
//!
//! Arrays of 4 MiB stay in the host's caches, and those of 256 MiB are what a full run has. A launch knows of a pinned buffer, as each of a run
//! does. Counted, the regular kernels reach 13 G/s in the mean and the irregular ones 0.7 to 6.1, on one core of an EPYC of 2022 (Zen 4) in a
//! shared virtual machine. The table has the G/s of the fastest of 10 to 160 samples; in brackets without counters, of an earlier run:
//!
//! | kernel | G/s | | kernel | G/s |
//! | --- | --- | --- | --- | --- |
//! | `offset_f32` | 14.7 (27) | | `stride_f32`, 32 apart | 1.82 (2.6) |
//! | `copy_scalar` | 14.7 (30) | | `gather`, 4 MiB | 1.23 (11) |
//! | `copy_vector` | 8.6 (19) | | `gather`, 256 MiB | 0.68 (2.5) |
//! | `tile` | 12.5 (27) | | `random_warp`, 256 MiB | 6.1 (24) |
//! | `matmul_tiled_32` | 15.7 (22) | | `histogram_global` | 1.20 (3.7) |
//! | geometric mean | 13.0 (24) | | `histogram_shared` | 1.37 (4.4) |
//! | | | | `histogram_warps` | 1.47 (4.6) |
//! | | | | `histogram_match` | 3.7 (6.5) |
//!
//! Without that buffer they are up to 8% faster. On a Xeon of 2023, without the buffer, the regular ones came to 10 and the others to 0.9 to 5.8.
//!
//! With all checks, and counted, on the EPYC (fastest of 1 to 3 samples):
//!
//! | kernel | G/s | | kernel | G/s |
//! | --- | --- | --- | --- | --- |
//! | `offset_f32` | 2.79 | | `stride_f32`, 32 apart | 0.29 |
//! | `copy_scalar` | 3.65 | | `gather`, 4 MiB | 0.80 |
//! | `copy_vector` | 2.33 | | `gather`, 256 MiB | 0.40 |
//! | `tile` | 2.16 | | `random_warp`, 256 MiB | 1.51 |
//! | `matmul_tiled_32` | 1.06 | | `histogram_global` | 0.30 |
//! | geometric mean | 2.22 | | `histogram_shared` | 0.13 |
//! | | | | `histogram_warps` | 0.14 |
//! | | | | `histogram_match` | 0.31 |
//!
//! The history of `stride_f32` has a line of its own for each lane, and that of the histograms in shared memory the clocks that each lane's
//! atomic hands on.
//!
//! A thread of `copy_vector` moves 32 bytes by ten instructions, three times as many bytes an instruction as `copy_scalar`. `tile` differs most from
//! run to run, from 5.5 to 11.

use std::sync::{Arc, LazyLock};

use cuda_builder::{CudaBuilder, NvvmArch};
use divan::Bencher;
use divan::counter::ItemsCount;
use simt::cards::{self, BlockShape, Occupancy};
use simt::check::{self, Checks, Positions, Watch};
use simt::coalescing::ComputeCapability;
use simt::count::{self, CounterObservation, L2State, LaunchShape, Placement, Range, SiteFacts};
use simt::exec::{self, Launch, Machine, Program, Tier};
use simt::memory::{Kind, Memory};
use simt::observe::Site;

fn main() {
    divan::main();
}

/// Elements of arrays of 4 and of 256 MiB.
const SMALL: u64 = 1 << 20;
const LARGE: u64 = 64 << 20;

/// Elements of the bytes that are counted, 64 MiB.
const COUNTED: u64 = 16 << 20;

/// Rows and columns of matrices of 4 MiB.
const SIDE: u64 = 1024;
const MATRIX: Value = Array(SMALL, Zeros);
const ROWS: Value = Word(SIDE as u32);
const ONE: Value = Word(1_f32.to_bits());

/// An H200's multiprocessors.
const MULTIPROCESSORS: u32 = 132;

/// Says what an array holds.
#[derive(Clone, Copy)]
enum Words {
    Zeros,
    /// Words below a bound, as by chance; all that fit for a bound of 2^32.
    Random(u64),
}

/// A parameter of a kernel.
#[derive(Clone, Copy)]
enum Value {
    /// The address of an array of this many words.
    Array(u64, Words),
    Long(u64),
    Word(u32),
}

use Value::{Array, Long, Word};
use Words::{Random, Zeros};

/// A kernel's launch.
struct Case {
    name: &'static str,
    kernel: &'static str,
    grid: [u64; 2],
    block: [u32; 2],
    values: &'static [Value],
}

const fn case(
    name: &'static str,
    kernel: &'static str,
    grid: [u64; 2],
    block: [u32; 2],
    values: &'static [Value],
) -> Case {
    Case { name, kernel, grid, block, values }
}

/// Kernels whose addresses are evenly spaced.
const AFFINE: [Case; 6] = [
    case("offset_f32, 4 MiB", "offset_f32", [SMALL / 256, 1], [256, 1], &[Array(SMALL + 32, Zeros), Word(1)]),
    case("copy_scalar, 4 MiB", "copy_scalar", [SMALL / 256, 1], [256, 1], &copied(SMALL, 1)),
    case("copy_scalar, 256 MiB", "copy_scalar", [LARGE / 256, 1], [256, 1], &copied(LARGE, 1)),
    case("copy_vector, 4 MiB", "copy_vector", [SMALL / 1024, 1], [256, 1], &copied(SMALL, 4)),
    case("tile, 4 MiB", "tile", [SIDE / 32, SIDE / 32], [32, 8], &[MATRIX, Long(SMALL), MATRIX, ROWS, ROWS]),
    case(
        "matmul_tiled_32, 4 MiB",
        "matmul_tiled_32",
        [SIDE / 32, SIDE / 32],
        [32, 32],
        &[MATRIX, Long(SMALL), MATRIX, Long(SMALL), MATRIX, ROWS, ROWS, ROWS, ONE, ONE],
    ),
];

/// Source and destination of a copy in elements of several words.
const fn copied(words: u64, of_element: u64) -> [Value; 3] {
    [Array(words, Zeros), Long(words / of_element), Array(words, Zeros)]
}

/// Threads of the strided kernel, whose elements are 128 bytes apart: 1 GiB.
const STRIDED: u64 = 8 << 20;

/// Blocks of the random walks, and the words that a thread reads from pages of 64 KiB.
const WALKING: u64 = 16 * MULTIPROCESSORS as u64;
const STEPS: u32 = 240;
const PAGE: u64 = 1 << 14;

/// Blocks of the histograms, which stride through the bytes.
const STRIDING: [u64; 2] = [8 * MULTIPROCESSORS as u64, 1];

/// Kernels whose addresses are not evenly spaced, or far apart.
const IRREGULAR: [Case; 8] = [
    case(
        "stride_f32, 32 apart",
        "stride_f32",
        [STRIDED / 256, 1],
        [256, 1],
        &[Array(STRIDED * 32, Zeros), Word(32)],
    ),
    case("gather, 4 MiB", "gather", [SMALL / 256, 1], [256, 1], &gathered(SMALL)),
    case("gather, 256 MiB", "gather", [LARGE / 256, 1], [256, 1], &gathered(LARGE)),
    case(
        "random_warp, 256 MiB",
        "random_warp",
        [WALKING, 1],
        [128, 1],
        &[
            Array(LARGE, Zeros),
            Long(WALKING * 128),
            Array(WALKING * 128, Zeros),
            Word((LARGE / PAGE) as u32),
            Word(PAGE as u32),
            Word(STEPS),
            Word(12345),
        ],
    ),
    case("histogram_global", "histogram_global", STRIDING, [256, 1], &BYTES_AND_BINS),
    case("histogram_shared", "histogram_shared", STRIDING, [256, 1], &BYTES_AND_BINS),
    case("histogram_warps", "histogram_warps", STRIDING, [256, 1], &BYTES_AND_BINS),
    case("histogram_match", "histogram_match", STRIDING, [256, 1], &BYTES_AND_BINS),
];

/// Random indices, and arrays as long.
const fn gathered(words: u64) -> [Value; 5] {
    [Array(words, Random(words)), Long(words), Array(words, Zeros), Long(words), Array(words, Zeros)]
}

const BYTES_AND_BINS: [Value; 4] =
    [Array(COUNTED, Random(1 << 32)), Long(COUNTED / 4), Array(256, Zeros), Long(256)];

/// The PTX of the laboratory's kernels for an H200.
static PTX: LazyLock<String> = LazyLock::new(|| {
    if let Ok(file) = std::env::var("COALESCE_PTX") {
        return std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
    }
    let build = CudaBuilder::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../gpu-kernels"))
        .arch(NvvmArch::Compute90)
        .target_dir(concat!(env!("CARGO_TARGET_TMPDIR"), "/../cuda-builder"))
        .build_all()
        .unwrap_or_else(|error| panic!("the kernels did not become PTX: {error}"));
    std::fs::read_to_string(&build.artifacts[0].ptx).expect("the PTX that was just made")
});

/// Returns the address of an array.
fn array(memory: &Memory, words: u64, of: Words) -> u64 {
    let address = memory.allocate(words * 4, Kind::Device).expect("memory");
    match of {
        Zeros => memory.fill(address, &[0; 4], words).expect("it was just allocated"),
        Random(bound) => {
            let hash = |index: u64| {
                let mixed = (index ^ 0x9E37_79B9).wrapping_mul(0xBF58_476D_1CE4_E5B9);
                (mixed ^ mixed >> 29).wrapping_mul(0x94D0_49BB_1331_11EB) >> 32
            };
            let bytes: Vec<u8> =
                (0..words).flat_map(|index| (((hash(index) * bound) >> 32) as u32).to_le_bytes()).collect();
            memory.write(address, &bytes).expect("it was just allocated");
        }
    }
    address
}

/// What observes an execution.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Observed {
    Nothing,
    Counted,
    /// With all checks, and counted.
    Checked,
}

/// Times launches of one kernel.
fn bench(bencher: Bencher<'_, '_>, case: &Case, observed: Observed) {
    let memory = Memory::new(16 << 30).expect("address space");
    memory.track_initialisation(observed == Observed::Checked);
    let program = Program::load(simt::ptx::parse(&PTX).expect("PTX"), &memory).expect("it loads");
    if std::env::var_os("COALESCE_TIER").is_none() {
        program.set_tier(Tier::Compiled);
    }
    let kernel = program.kernel(case.kernel).expect("the kernel");
    let mut parameters = vec![0; kernel.parameter_bytes as usize];
    assert_eq!(kernel.parameters.len(), case.values.len(), "{}", case.name);
    for (layout, value) in kernel.parameters.iter().zip(case.values) {
        let value = match *value {
            Array(words, of) => array(&memory, words, of).to_le_bytes().to_vec(),
            Long(value) => value.to_le_bytes().to_vec(),
            Word(value) => value.to_le_bytes().to_vec(),
        };
        assert_eq!(layout.bytes as usize, value.len(), "{}", case.name);
        parameters[layout.offset as usize..][..value.len()].copy_from_slice(&value);
    }
    let card = cards::find("h200").expect("the card");
    let threads = case.block[0] * case.block[1];
    let shape = BlockShape { threads, registers: 32, shared_bytes: kernel.static_shared_bytes };
    let occupancy = Occupancy::new(&card.limits(), shape).expect("it fits");
    let (grid, block) = ([case.grid[0] as u32, case.grid[1] as u32, 1], [case.block[0], case.block[1], 1]);
    let launch = Launch {
        kernel,
        grid,
        block,
        cluster: None,
        dynamic_shared_bytes: 0,
        parameters: &parameters,
        stack_bytes: 1024,
        machine: Machine {
            multiprocessors: MULTIPROCESSORS,
            capability: ComputeCapability { major: 9, minor: 0 },
            clock_ghz: 1.98,
            resident_blocks: 8 * u64::from(MULTIPROCESSORS),
            shared_bytes_per_block: 227 << 10,
            blocks_per_cluster: 8,
        },
        workers: 1,
        instruction_limit: None,
        patience: None,
        cooperative: false,
    };
    let positions = Positions::new(&simt::ptx::parse(&PTX).expect("PTX"));
    let place = |site: Site| positions.place(&program.sites()[site.0 as usize]);
    let watch = Watch { checks: Checks::ALL, kernel: case.kernel, place: &place };
    let facts = Arc::new(SiteFacts::of(program.sites()));
    // Most programs have a pinned buffer for their copies, as the laboratory has.
    let buffer = memory.allocate(2 << 20, Kind::Pinned).expect("memory");
    let ranges = vec![Range { addresses: buffer..buffer + (2 << 20), placement: Placement::Host }];
    // Carried from launch to launch, as on a device.
    let mut l2 = Some(L2State::new(card));
    let mut run = || {
        if observed == Observed::Nothing {
            return exec::launch(&program, &memory, &launch, &mut ()).expect("it runs").thread_instructions;
        }
        let shape = LaunchShape::new(grid, block, occupancy, Arc::clone(&facts));
        let shape = LaunchShape { ranges: ranges.clone(), ..shape };
        let mut counters = CounterObservation::new(shape, l2.take().expect("given back below"));
        let executed = if observed == Observed::Checked {
            let (executed, findings) = check::launch(&program, &memory, &launch, &mut counters, &watch);
            assert!(findings.is_empty(), "{} has no errors", case.name);
            executed
        } else {
            count::launch(&program, &memory, &launch, &mut counters)
        };
        l2 = Some(counters.finish().l2);
        executed.expect("it runs").thread_instructions
    };
    let instructions = run();
    bencher.counter(ItemsCount::new(instructions)).bench_local(run);
}

fn of_name<'a>(cases: &'a [Case], name: &str) -> &'a Case {
    cases.iter().find(|case| case.name == name).expect("a case of the list")
}

#[divan::bench(args = AFFINE.iter().map(|case| case.name), sample_count = 5, sample_size = 1)]
fn affine(bencher: Bencher<'_, '_>, name: &str) {
    bench(bencher, of_name(&AFFINE, name), Observed::Nothing);
}

#[divan::bench(args = AFFINE.iter().map(|case| case.name), sample_count = 5, sample_size = 1)]
fn affine_counted(bencher: Bencher<'_, '_>, name: &str) {
    bench(bencher, of_name(&AFFINE, name), Observed::Counted);
}

#[divan::bench(args = AFFINE.iter().map(|case| case.name), sample_count = 5, sample_size = 1)]
fn affine_checked(bencher: Bencher<'_, '_>, name: &str) {
    bench(bencher, of_name(&AFFINE, name), Observed::Checked);
}

#[divan::bench(args = IRREGULAR.iter().map(|case| case.name), sample_count = 5, sample_size = 1)]
fn irregular(bencher: Bencher<'_, '_>, name: &str) {
    bench(bencher, of_name(&IRREGULAR, name), Observed::Nothing);
}

#[divan::bench(args = IRREGULAR.iter().map(|case| case.name), sample_count = 5, sample_size = 1)]
fn irregular_counted(bencher: Bencher<'_, '_>, name: &str) {
    bench(bencher, of_name(&IRREGULAR, name), Observed::Counted);
}

#[divan::bench(args = IRREGULAR.iter().map(|case| case.name), sample_count = 5, sample_size = 1)]
fn irregular_checked(bencher: Bencher<'_, '_>, name: &str) {
    bench(bencher, of_name(&IRREGULAR, name), Observed::Checked);
}
