//! Compiled code against the interpreter: the same memory, the same counts, the same counters and the same faults.

mod generated;

use crate::check_lab::{Lab, Value};
use crate::exec_common::{Argument, Bench};
use crate::exec_property;
use simt::cards::{self, BlockShape, Occupancy};
use simt::check::{Checks, Shape};
use simt::count::{CounterObservation, L2State, LaunchShape, SiteFacts};
use simt::exec::{LaunchFailure, Tier, compiler};
use std::sync::Arc;

/// The kernels of the benchmark: affine, strided and random addresses, barriers, divergence, tiles.
const KERNELS: &str = include_str!("../../../simt/benches/kernels.ptx");

/// Shapes that the benchmark's kernels do not have. Each kernel has the parameters `x`, `y`, `n`.
const SHAPES: &str = include_str!("exec_tiers/shapes.ptx");

/// Returns false where an empty `COALESCE_LLVM` says that nothing compiles kernels.
///
/// # Panics
/// Fails where a compiler should be and is not: these tests are not left out in silence.
fn has_compiler() -> bool {
    let left_out = std::env::var_os("COALESCE_LLVM").is_some_and(|path| path.is_empty());
    if let (Err(why), false) = (compiler(), left_out) {
        panic!(
            "{why}. The compiled tier needs libLLVM 22: install the toolchain that `rust-toolchain.toml` names (`rustup \
             toolchain install`), or name a library in COALESCE_LLVM. Where there is none, set COALESCE_LLVM to nothing"
        );
    }
    !left_out
}

/// What a launch leaves behind.
#[derive(Debug, PartialEq)]
struct Left {
    outcome: Result<(u64, u64), String>,
    counters: Option<String>,
    memory: Vec<u32>,
}

/// Words of each of the two arrays.
const WORDS: usize = 1 << 16;

/// The arguments of the kernels in `SHAPES`: both arrays, and a number.
fn two_arrays_and(number: u32) -> impl Fn(u64, u64) -> Vec<Argument> {
    move |x, y| vec![x.into(), y.into(), number.into()]
}

fn run(
    text: &str,
    kernel: &str,
    arguments: &dyn Fn(u64, u64) -> Vec<Argument>,
    (grid, block, workers): ([u32; 3], [u32; 3], usize),
    tier: Tier,
    counts: bool,
) -> Left {
    let bench = Bench::new(text);
    bench.program.set_tier(tier);
    let words = |seed: u32| -> Vec<u32> {
        (0..WORDS as u32).map(|index| (index ^ seed).wrapping_mul(0x9E37_79B1) >> 7 & 0x3F80_FFFF).collect()
    };
    let (x, y) = (bench.upload(&words(1)), bench.upload(&words(2)));
    let arguments = arguments(x, y);
    let change = |launch: &mut simt::exec::Launch<'_>| {
        launch.grid = grid;
        launch.block = block;
        launch.workers = workers;
    };
    let (outcome, counters) = if counts {
        let card = cards::find("h200").expect("the card");
        let threads = block.iter().product();
        let shape = BlockShape { threads, registers: 32, shared_bytes: 0 };
        let occupancy = Occupancy::new(&card.limits(), shape).expect("it fits");
        let shape = LaunchShape::new(grid, block, occupancy, Arc::new(SiteFacts::of(bench.program.sites())));
        let mut counters = CounterObservation::new(shape, L2State::new(card));
        let outcome = bench.launch_with(kernel, &arguments, &mut counters, change);
        (outcome, Some(format!("{:?}", counters.finish().counters)))
    } else {
        (bench.launch_with(kernel, &arguments, &mut (), change), None)
    };
    let outcome = match outcome {
        Ok(executed) => Ok((executed.warp_instructions, executed.thread_instructions)),
        // Allocations lie at the same distances in every memory, but at other addresses.
        Err(LaunchFailure::Fault { fault, .. }) => {
            Err(format!("{:?} {:?} {:?} {}", fault.site, fault.block, fault.thread, name(&fault.kind)))
        }
        Err(other) => Err(other.to_string()),
    };
    // After a fault, other warps may have come further in one tier than in the other.
    let failed = outcome.is_err();
    let memory = if failed { Vec::new() } else { [x, y].map(|at| bench.download(at, WORDS)).concat() };
    let failures = bench.program.not_compiled();
    assert!(failures.is_empty(), "{kernel}: {failures:?}");
    Left { outcome, counters: counters.filter(|_| !failed), memory }
}

fn name(kind: &simt::fault::FaultKind) -> String {
    let text = format!("{kind:?}");
    text.split([' ', '(']).next().unwrap_or_default().to_owned()
}

fn same(
    text: &str,
    kernel: &str,
    arguments: &dyn Fn(u64, u64) -> Vec<Argument>,
    shape: ([u32; 3], [u32; 3], usize),
) -> Left {
    for counts in [false, true] {
        let interpreted = run(text, kernel, arguments, shape, Tier::Interpreted, counts);
        let compiled = run(text, kernel, arguments, shape, Tier::Compiled, counts);
        assert_eq!(interpreted.outcome, compiled.outcome, "{kernel} {shape:?}");
        assert_eq!(interpreted.counters, compiled.counters, "{kernel} {shape:?}");
        assert!(interpreted.memory == compiled.memory, "{kernel} {shape:?}: memory differs");
        if counts {
            return compiled;
        }
    }
    unreachable!("the second round returns")
}

#[test]
fn kernels_of_the_benchmark() {
    if !has_compiler() {
        return;
    }
    let cases: [(&str, u32); 12] = [
        ("saxpy", 1),
        ("offset", 1),
        ("offset", 3),
        ("stride", 5),
        ("gather", 17),
        ("arithmetic", 9),
        ("reduction", 1),
        ("divergent", 1),
        ("random_warp", 1),
        ("histogram", 1),
        ("arithmetic", 100),
        ("saxpy", 2),
    ];
    for (kernel, step) in cases {
        let arguments = |x: u64, y: u64| -> Vec<Argument> {
            vec![x.into(), y.into(), 2.5f32.into(), step.into(), 1900_u64.into()]
        };
        let left = same(KERNELS, kernel, &arguments, ([8, 1, 1], [256, 1, 1], 1));
        assert!(left.outcome.is_ok() || kernel == "random_warp", "{kernel}: {:?}", left.outcome);
    }
}

#[test]
fn blocks_of_all_shapes() {
    if !has_compiler() {
        return;
    }
    let arguments = two_arrays_and(1000);
    let blocks: [[u32; 3]; 6] = [[256, 1, 1], [100, 1, 1], [16, 16, 1], [32, 4, 1], [8, 8, 2], [5, 13, 1]];
    for block in blocks {
        for kernel in [
            "places",
            "tile",
            "signs",
            "guards",
            "vectors",
            "ends",
            "doubles",
            "bytes",
            "apart",
            "rounds",
            "departing",
            "wraps",
            "before",
            "fields",
            "quotients",
            "clocked",
        ] {
            same(SHAPES, kernel, &arguments, ([3, 2, 1], block, 1));
        }
    }
}

#[test]
fn uneven_blocks_and_atomics_count_alike() {
    if !has_compiler() {
        return;
    }
    let arguments = two_arrays_and(1000);
    for workers in [1, 3] {
        let left = same(SHAPES, "uneven", &arguments, ([300, 1, 1], [64, 1, 1], workers));
        let counters = left.counters.expect("it was counted");
        // Each of 600 warps adds once for all lanes, 32 times to one word, and in four rounds to four sectors.
        let hottest = "HottestAtomics { operations: 19200, requests: 600, rounds: 19200, slice: 19200, alike: 1, all_rounds: 22200 }";
        assert!(counters.contains(hottest), "{counters}");
        // The last 36 blocks are the longest, and some multiprocessors have three.
        let (_, imbalance) = counters.split_once("imbalance: ").expect("the field");
        let imbalance: f64 =
            imbalance.split(',').next().and_then(|value| value.parse().ok()).expect("a number");
        assert!((1.4..1.6).contains(&imbalance), "{imbalance}");
    }
}

#[test]
fn reductions_of_all_kinds() {
    if !has_compiler() {
        return;
    }
    let arguments = two_arrays_and(0);
    for workers in [1, 2] {
        let left = same(SHAPES, "reduces", &arguments, ([4, 1, 1], [256, 1, 1], workers));
        assert!(left.outcome.is_ok(), "{:?}", left.outcome);
        // The first word that all threads add to: what it held, and their operands.
        let threads = 0..1024_u32;
        let operand = |thread: u32| {
            let product = thread.wrapping_mul(0x9E37_79B1);
            product ^ product >> 13
        };
        let before = 129_u32.wrapping_mul(0x9E37_79B1) >> 7 & 0x3F80_FFFF;
        assert_eq!(left.memory[128], threads.map(operand).fold(before, u32::wrapping_add));
    }
}

#[test]
fn sums_that_are_held_back_are_not_missed() {
    if !has_compiler() {
        return;
    }
    let arguments = two_arrays_and(0);
    for workers in [1, 2] {
        let left = same(SHAPES, "sums", &arguments, ([2, 1, 1], [64, 1, 1], workers));
        assert!(left.outcome.is_ok(), "{:?}", left.outcome);
        // Each of 128 threads adds 1 nine times in the loop and once behind it.
        let before = 2049_u32.wrapping_mul(0x9E37_79B1) >> 7 & 0x3F80_FFFF;
        assert_eq!(left.memory[2048], before + 1280);
    }
}

#[test]
fn contests_for_words_of_shared_memory_are_counted() {
    if !has_compiler() {
        return;
    }
    let arguments = two_arrays_and(0);
    for workers in [1, 2] {
        let left = same(SHAPES, "contests", &arguments, ([3, 1, 1], [64, 1, 1], workers));
        // 32 additions of floats and 8 of 64 bits to a word, and what its neighbours with the same eighth look like.
        assert_eq!(left.memory[WORDS + 64 + 8], 40 ^ 0xFF00);
        let counters = left.counters.expect("it was counted");
        // Of three blocks. A warp's floats take 16 rounds, its numbers of 64 bits 4; it has four values to match.
        for counted in [
            "LoopedAtomics { wavefronts: 120, operations: 96, wide_operations: 24 }",
            "shared_swaps: 48,",
            "matched_values: 24,",
        ] {
            assert!(counters.contains(counted), "{counted}: {counters}");
        }
    }
}

#[test]
fn accesses_that_are_noted_count_as_if_they_were_reported() {
    if !has_compiler() {
        return;
    }
    let arguments = two_arrays_and(0);
    // One block, since blocks would race for what they store and load.
    for warps in [2, 8] {
        let left = same(SHAPES, "noted", &arguments, ([1, 1, 1], [32 * warps, 1, 1], 1));
        // Each warp but the first stores four sectors in 149 rows that the one before it has stored, and all do so once more.
        let rewritten = format!("rewritten: {}, ", 4 * (149 * (warps - 1) + warps));
        let counters = left.counters.expect("it was counted");
        assert!(counters.contains(&rewritten), "{rewritten} of {warps} warps");
    }
}

#[test]
fn a_block_goes_at_the_pace_of_those_that_others_wait_for() {
    if !has_compiler() {
        return;
    }
    let arguments = two_arrays_and(0);
    let left = same(SHAPES, "turns", &arguments, ([5, 1, 1], [128, 1, 1], 2));
    let counters = left.counters.expect("it was counted");
    let (_, pace) = counters.split_once("pace: ").expect("the field");
    let pace: f64 = pace.split(',').next().and_then(|value| value.parse().ok()).expect("a number");
    // A warp's turn has 401 instructions, for which the others wait; it has 33 besides.
    let expected = (4.0 * 401.0 + 33.0) / (401.0 + 33.0);
    assert!((pace - expected).abs() < 1e-9, "{pace} for {expected}");
}

#[test]
fn faults_are_those_of_the_interpreter() {
    if !has_compiler() {
        return;
    }
    for (kernel, kind) in
        [("beyond", "OutOfBounds"), ("astray", "OutOfBounds"), ("odd", "Misaligned"), ("stops", "Trap")]
    {
        let arguments = two_arrays_and(1000);
        let left = same(SHAPES, kernel, &arguments, ([4, 1, 1], [128, 1, 1], 1));
        let fault = left.outcome.expect_err("a fault");
        assert!(fault.contains(kind), "{kernel}: {fault}");
    }
}

#[test]
fn results_do_not_depend_on_the_workers() {
    if !has_compiler() {
        return;
    }
    let arguments = |x: u64, y: u64| -> Vec<Argument> {
        vec![x.into(), y.into(), 2.5f32.into(), 1_u32.into(), 16_384_u64.into()]
    };
    for kernel in ["saxpy", "reduction"] {
        let one = run(KERNELS, kernel, &arguments, ([64, 1, 1], [256, 1, 1], 1), Tier::Compiled, true);
        let three = run(KERNELS, kernel, &arguments, ([64, 1, 1], [256, 1, 1], 3), Tier::Compiled, true);
        assert_eq!(one, three, "{kernel}");
    }
}

#[test]
fn generated_programs() {
    if !has_compiler() {
        return;
    }
    exec_property::against_threads(24, |bench| bench.program.set_tier(Tier::Compiled));
}

#[test]
fn generated_programs_count_alike() {
    if !has_compiler() {
        return;
    }
    exec_property::that_load(48, |text, row| {
        assert!(32 * row <= WORDS as u64 * 4, "a row for each thread");
        same(text, "k", &|x, _| vec![x.into()], ([1; 3], [32, 1, 1], 1));
    });
}

#[test]
fn lanes_that_are_apart_are_handed_over_at_the_end_of_a_time_slice() {
    if !has_compiler() {
        return;
    }
    for kernel in ["lasting", "departing"] {
        // A time slice has 2^24 instructions, and a round four to ten.
        let arguments = two_arrays_and(4_500_000);
        let left = same(SHAPES, kernel, &arguments, ([1; 3], [64, 1, 1], 1));
        let (instructions, _) = left.outcome.expect("it ends");
        assert!(instructions > 1 << 24, "{instructions}");
        let ends = |tier: Tier| {
            let bench = Bench::new(SHAPES);
            bench.program.set_tier(tier);
            let x = bench.upload(&[0_u32; 64]);
            let arguments: [Argument; 3] = [x.into(), x.into(), 2_000_000_000_u32.into()];
            let outcome = bench.launch_with(kernel, &arguments, &mut (), |launch| {
                launch.block = [64, 1, 1];
                launch.instruction_limit = Some(100_000);
            });
            match outcome {
                Err(LaunchFailure::Fault { fault, .. }) => format!("{fault:?}"),
                other => panic!("{kernel}: {other:?}"),
            }
        };
        assert_eq!(ends(Tier::Interpreted), ends(Tier::Compiled));
    }
}

/// The findings, with addresses counted from the first allocation; the memory that is left behind; its first unwritten byte and the
/// number of unwritten bytes.
type Found = (Vec<String>, Vec<u8>, Option<(u64, u64)>);

/// Launches a kernel under all checks with a memory of `bytes`, of which these ranges are initialised, and its further parameters.
fn checked(
    text: &str,
    kernel: &str,
    (shape, bytes, initialised): (Shape, u64, &[std::ops::Range<u64>]),
    parameters: &dyn Fn(u64) -> Vec<Value>,
    tier: Tier,
) -> Found {
    let lab = Lab::new(text, Checks::ALL).tier(tier);
    let start = lab.empty(bytes);
    for range in initialised {
        let words =
            (range.start / 4..range.end / 4).map(|word| (word as u32).wrapping_mul(0x9E37_79B1) >> 20);
        let values: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
        lab.memory.write(start + range.start, &values).expect("it was just allocated");
    }
    let findings = lab.launch_shape(kernel, shape, 0, &parameters(start));
    let failures = lab.not_compiled();
    assert!(failures.is_empty(), "{kernel}: {failures:?}");
    let mut left = vec![0; bytes as usize];
    lab.memory.read(start, &mut left).expect("it was allocated");
    let texts = findings.iter().map(|finding| relative(&finding.to_string(), start)).collect();
    (texts, left, lab.memory.unwritten(start))
}

/// Returns a finding's text with its addresses in device memory counted from here.
fn relative(text: &str, start: u64) -> String {
    let mut words = text.split("0x");
    let mut relative = words.next().unwrap_or_default().to_owned();
    for word in words {
        let digits = word.find(|sign: char| !sign.is_ascii_hexdigit()).unwrap_or(word.len());
        let address = u64::from_str_radix(&word[..digits], 16).expect("a number");
        let address = if address < start { address } else { address - start };
        relative.push_str(&format!("{address:#x}{}", &word[digits..]));
    }
    relative
}

/// Asserts that both tiers find the same and leave the same behind; returns what they find.
fn same_checked(
    text: &str,
    kernel: &str,
    launch: (Shape, u64, &[std::ops::Range<u64>]),
    parameters: &dyn Fn(u64) -> Vec<Value>,
) -> Vec<String> {
    let interpreted = checked(text, kernel, launch, parameters, Tier::Interpreted);
    let compiled = checked(text, kernel, launch, parameters, Tier::Compiled);
    assert_eq!(interpreted.0, compiled.0, "{kernel}\n{text}");
    assert!(interpreted.1 == compiled.1, "{kernel}: memory differs\n{text}");
    assert_eq!(interpreted.2, compiled.2, "{kernel}: unwritten bytes\n{text}");
    compiled.0
}

#[test]
fn checks_find_what_they_find_in_the_interpreter() {
    if !has_compiler() {
        return;
    }
    let bytes = 1 << 17;
    let holes = [0..4096, 4160..4164, 4168..6000, 8192..bytes, bytes + 512..2 * bytes];
    let whole = 0..2 * bytes;
    for initialised in [std::slice::from_ref(&whole), &holes] {
        for (kernel, step) in [
            ("saxpy", 1_u32),
            ("offset", 3),
            ("stride", 5),
            ("gather", 17),
            ("reduction", 1),
            ("divergent", 1),
            ("histogram", 1),
            ("transpose", 1),
        ] {
            let parameters = |x: u64| -> Vec<Value> {
                vec![x.into(), (x + bytes).into(), 2.5f32.into(), step.into(), 1900_u64.into()]
            };
            let shape = Shape { grid: [8, 1, 1], block: [256, 1, 1] };
            let found = same_checked(KERNELS, kernel, (shape, 2 * bytes, initialised), &parameters);
            let reads = found.iter().any(|text| text.starts_with("Uninitialized __global__"));
            // It computes with the threads' numbers alone.
            let loads = kernel != "divergent";
            assert_eq!(reads, loads && initialised.len() > 1, "{kernel}: {found:?}");
        }
        for block in [[256, 1, 1], [100, 1, 1], [16, 16, 1], [8, 8, 2]] {
            for kernel in [
                "places", "tile", "signs", "guards", "vectors", "ends", "doubles", "bytes", "apart", "rounds",
            ] {
                let parameters =
                    |x: u64| -> Vec<Value> { vec![x.into(), (x + bytes).into(), 1000_u32.into()] };
                let shape = Shape { grid: [3, 2, 1], block };
                same_checked(SHAPES, kernel, (shape, 2 * bytes, initialised), &parameters);
            }
        }
    }
}

#[test]
fn generated_programs_that_read_what_is_undefined() {
    if !has_compiler() {
        return;
    }
    let threads = 64;
    let undefined = std::cell::Cell::new(0);
    exec_property::that_load(24, |text, row| {
        // In some programs all is initialised, in others one thread's row in two to four is not.
        let every = text.len() as u64 % 4 + 1;
        let rows = (0..threads).filter(|thread| every == 1 || thread % every != 0);
        let initialised: Vec<_> = rows.map(|thread| thread * row..(thread + 1) * row).collect();
        let shape = Shape { grid: [1; 3], block: [threads as u32, 1, 1] };
        let launch = (shape, threads * row, initialised.as_slice());
        let found = same_checked(text, "k", launch, &|out| vec![out.into()]);
        undefined.set(
            undefined.get() + found.iter().filter(|text| text.starts_with("Uninitialized register")).count(),
        );
    });
    assert!(undefined.get() > 10, "{} branches on undefined registers", undefined.get());
}

#[test]
fn every_kernel_of_the_corpus_compiles() {
    if !has_compiler() {
        return;
    }
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/kernels.compute_120.ptx");
    let text = std::fs::read_to_string(corpus).expect("the corpus");
    let bench = Bench::new(&text);
    for kernel in bench.program.kernels() {
        let block = kernel.required_block.unwrap_or([32, kernel.max_threads.unwrap_or(256).min(256) / 32, 1]);
        if let Err(why) = bench.program.compile_kernel(kernel, block) {
            panic!("{}: {why}", kernel.name);
        }
    }
}
