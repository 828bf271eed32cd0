//! What compilers made of this repository's sources, against what the host computes.

use crate::exec_common::{Argument, Bench};
use simt::exec::{LaunchFailure, Program};
use simt::fault::FaultKind;
use simt::memory::Memory;
use simt::ptx;

const RUST: &str = include_str!("../corpus/kernels_lines.compute_90.ptx");
const RUST_120: &str = include_str!("../corpus/kernels.compute_120.ptx");
const NVCC_COPY: &str = include_str!("../corpus/copy.nvcc.compute_90.ptx");
const NVCC_COALESCING: &str = include_str!("../corpus/coalescing.nvcc.compute_90.ptx");
const SHAPES: &str = include_str!("../corpus/shapes.nvcc.compute_90.ptx");
const DEVICE: &str = include_str!("../corpus/device_functions_lines.compute_90.ptx");
const DEVICE_75: &str = include_str!("../corpus/device_functions.compute_75.ptx");

#[test]
fn offset_and_stride() {
    for text in [RUST, RUST_120, NVCC_COALESCING] {
        let bench = Bench::new(text);
        let elements = 2048u32;
        for step in [1u32, 3, 32] {
            let place = |kernel: &str, index: u32| {
                (if kernel.starts_with("offset") { index + step } else { index * step }) as usize
            };
            for kernel in ["offset_f32", "stride_f32"] {
                let mut wanted: Vec<f32> = (0..elements * 33).map(|index| index as f32 * 0.5).collect();
                let array = bench.upload(&wanted);
                bench.run(kernel, [elements / 256, 1, 1], [256, 1, 1], &[array.into(), step.into()]);
                (0..elements).for_each(|index| wanted[place(kernel, index)] += 1.0);
                assert_eq!(bench.download::<f32>(array, wanted.len()), wanted, "{kernel}, {step}");
            }
            for kernel in ["offset_f64", "stride_f64"] {
                let mut wanted: Vec<f64> = (0..elements * 33).map(|index| f64::from(index) * 0.5).collect();
                let array = bench.upload(&wanted);
                bench.run(kernel, [elements / 256, 1, 1], [256, 1, 1], &[array.into(), step.into()]);
                (0..elements).for_each(|index| wanted[place(kernel, index)] += 1.0);
                assert_eq!(bench.download::<f64>(array, wanted.len()), wanted, "{kernel}, {step}");
            }
        }
    }
}

#[test]
fn copies() {
    for text in [RUST, RUST_120, NVCC_COPY] {
        let bench = Bench::new(text);
        // A length that fills no block, in vectors of four words.
        let vectors = 2 * 4 * 256 + 77u64;
        let words: Vec<u32> =
            (0..vectors as u32 * 4).map(|index| index.wrapping_mul(2_654_435_761)).collect();
        let from = bench.upload(&words);
        let kernels = [
            ("copy_scalar", words.len() as u64, words.len().div_ceil(256)),
            ("copy_vector", vectors, vectors.div_ceil(256) as usize),
            ("copy_unrolled", vectors, vectors.div_ceil(1024) as usize),
            ("copy_streaming", vectors, vectors.div_ceil(256) as usize),
            ("copy_persistent", vectors, 3),
        ];
        for (kernel, length, blocks) in kernels {
            let to = bench.upload(&vec![0xABAB_ABABu32; words.len()]);
            let arguments: [Argument; 3] = [from.into(), length.into(), to.into()];
            bench.run(kernel, [blocks as u32, 1, 1], [256, 1, 1], &arguments);
            assert_eq!(bench.download::<u32>(to, words.len()), words, "{kernel}");
        }
    }
}

#[test]
fn fills() {
    let value = |index: u64, seed: u32| {
        (index as u32 ^ (index >> 32) as u32).wrapping_mul(2_654_435_761).wrapping_add(seed) >> 12
    };
    for text in [RUST, RUST_120] {
        let bench = Bench::new(text);
        let (length, seed) = (1000u64, 99u32);
        let array = bench.upload(&vec![0f32; length as usize]);
        bench.run("fill_f32", [2, 1, 1], [128, 1, 1], &[array.into(), length.into(), seed.into()]);
        let wanted: Vec<f32> = (0..length).map(|index| value(index, seed) as f32).collect();
        assert_eq!(bench.download::<f32>(array, length as usize), wanted);
        let array = bench.upload(&vec![0f64; length as usize]);
        bench.run("fill_f64", [2, 1, 1], [128, 1, 1], &[array.into(), length.into(), seed.into()]);
        let wanted: Vec<f64> = (0..length).map(|index| f64::from(value(index, seed))).collect();
        assert_eq!(bench.download::<f64>(array, length as usize), wanted);
    }
}

/// Calls through a table of functions, a structure by value, a pointer to the middle of a table.
#[test]
fn calls() {
    let bench = Bench::new(SHAPES);
    let pair = |first: i32, second: f64| -> Argument {
        let mut bytes = first.to_le_bytes().to_vec();
        bytes.extend([0; 4]);
        bytes.extend(second.to_le_bytes());
        bytes.into()
    };
    for (which, wanted) in [(0u32, -5 - 2 - 20), (1, -5 * -2 - 20)] {
        let out = bench.upload(&[0i32; 128]);
        bench.run("calls", [1; 3], [128, 1, 1], &[out.into(), which.into(), pair(5, 20.75)]);
        assert_eq!(bench.download::<i32>(out, 128), [wanted; 128], "{which}");
    }
    // The sum that prints and traps: -(first) - 2 - second is 2^20.
    let out = bench.upload(&[0i32; 128]);
    let outcome =
        bench.try_run("calls", [1; 3], [128, 1, 1], &[out.into(), 0u32.into(), pair(-(1 << 20) - 2, 0.0)]);
    let Err(LaunchFailure::Fault { fault, printed }) = outcome else { panic!("{outcome:?}") };
    assert_eq!(fault.kind, FaultKind::Trap);
    assert_eq!(String::from_utf8_lossy(&printed), "1048576\n".repeat(32));
    let site = &bench.program.sites()[fault.site.0 as usize];
    assert_eq!(site.user_line().map(ToString::to_string).as_deref(), Some("shapes.cu:29:5"));
}

#[test]
fn jumps() {
    let bench = Bench::new(SHAPES);
    let value = 12345i32;
    for which in 0..9u32 {
        let out = bench.upload(&[9i32, 8, 7, 6, 5]);
        let before = bench.download::<i32>(bench.program.variable("counter").expect("it").address, 1)[0];
        bench.run("jumps", [1; 3], [1, 1, 1], &[out.into(), which.into(), value.into()]);
        let after = bench.download::<i32>(out, 5);
        let result = match which {
            0 => value.count_ones() as i32,
            1 => value * value + 3,
            2 => value ^ 77,
            3 => before,
            // Who is alone gets its own value.
            4 => value,
            5 => value / 7,
            6 => value,
            7 => value.leading_zeros() as i32 + 3,
            _ => 9,
        };
        assert_eq!(after, [result, if which == 2 { value } else { 8 }, 7, 6, 5], "case {which}");
    }
    let out = bench.upload(&[0i32; 5]);
    let outcome = bench.try_run("jumps", [1; 3], [1, 1, 1], &[out.into(), 6u32.into(), 4i32.into()]);
    assert!(matches!(outcome, Err(LaunchFailure::Fault { fault, .. }) if fault.kind == FaultKind::Trap));
}

#[test]
fn dynamic_shared_memory() {
    let bench = Bench::new(SHAPES);
    let data: Vec<f64> = (0..96).map(f64::from).collect();
    let array = bench.upload(&data);
    bench
        .launch_with("reverse", &[array.into(), 90u32.into()], &mut (), |launch| {
            launch.block = [96, 1, 1];
            launch.dynamic_shared_bytes = 96 * 8;
        })
        .expect("it runs");
    let wanted: Vec<f64> = (0..96)
        .map(|index| if index < 90 { f64::from(89 - index) * 1.5 } else { f64::from(index) })
        .collect();
    assert_eq!(bench.download::<f64>(array, 96), wanted);
}

#[test]
fn device_functions_of_our_library() {
    for text in [DEVICE, DEVICE_75] {
        let bench = Bench::new(text);
        let sites = bench.program.sites();
        assert!(sites.len() > 500, "{}", sites.len());
        let values: Vec<f32> = (0..256).map(|index| index as f32).collect();
        let data = bench.upload(&values);
        bench.run("shared_macro", [1; 3], [256, 1, 1], &[data.into()]);
        let reversed: Vec<f32> = values.iter().rev().copied().collect();
        assert_eq!(bench.download::<f32>(data, 256), reversed);
        let data = bench.upload(&values);
        bench.run("shared_static", [1; 3], [32, 1, 1], &[data.into()]);
        // The coefficients are all 1.
        let wanted: Vec<f32> = (0..32).map(|index| 31.0 - index as f32).collect();
        assert_eq!(bench.download::<f32>(data, 32), wanted);
        let data = bench.upload(&values);
        bench
            .launch_with("shared_dynamic", &[data.into()], &mut (), |launch| {
                launch.dynamic_shared_bytes = 128;
            })
            .expect("it runs");
        let wanted: Vec<f32> = (0..32).map(|index| (index ^ 1) as f32).collect();
        assert_eq!(bench.download::<f32>(data, 32), wanted);
        // The sums of a vector that the kernel allocates.
        let out = bench.upload(&[0u32]);
        bench.run("heap", [1; 3], [1, 1, 1], &[out.into(), 100u32.into()]);
        assert_eq!(bench.download::<u32>(out, 1), [4950]);
        let out = bench.upload(&[0u32]);
        bench.run("global_statics", [1; 3], [1, 1, 1], &[out.into()]);
        assert_eq!(bench.download::<u32>(out, 1), [15]);
        let out = bench.upload(&[8u32, 0]);
        bench.run("barrier_in_both_branches", [1; 3], [64, 1, 1], &[out.into()]);
        assert_eq!(bench.download::<u32>(out, 2), [8, 9]);
        let out = bench.upload(&[1u32, 0, 0, 0]);
        bench.run("barriers", [1; 3], [64, 1, 1], &[out.into()]);
        let after = bench.download::<u32>(out, 4);
        assert_eq!((after[1], after[2] != 0, after[3] != 0), (64, true, true));
        let out = bench.upload(&[5u32, 0, 0, 0, 0]);
        bench.run("votes", [1; 3], [1, 1, 1], &[out.into()]);
        assert_eq!(bench.download::<u32>(out, 5), [1, 1, 1, 1, 0]);
        let out = bench.upload(&[0u32; 192]);
        bench.run("index_1d", [3, 1, 1], [64, 1, 1], &[out.into()]);
        assert_eq!(bench.download::<u32>(out, 192), (0..192).collect::<Vec<_>>());
    }
}

#[test]
fn asynchronous_copies_of_our_library() {
    let bench = Bench::new(DEVICE);
    let values: Vec<f32> = (0..4096).map(|index| index as f32).collect();
    let (from, to, phases) = (bench.upload(&values), bench.upload(&[0f32; 4096]), bench.upload(&[0u64; 3]));
    bench.run("bulk_copies", [1; 3], [256, 1, 1], &[from.into(), to.into(), phases.into()]);
    let wanted: Vec<f32> = (0..2048).map(|index| if index < 1024 { 1.0 } else { index as f32 }).collect();
    assert_eq!(bench.download::<f32>(to, 2048), wanted);
    assert_eq!(bench.download::<u64>(phases + 16, 1), [1]);
}

/// A slice's bounds check that fails: which panic it is, and where in the source.
#[test]
fn panics_are_told_by_their_lines() {
    let bench = Bench::new(DEVICE);
    let one = bench.upload(&[1f32]);
    let arguments: Vec<Argument> = vec![
        one.into(),
        0u64.into(),
        one.into(),
        1u64.into(),
        one.into(),
        1u64.into(),
        1f32.into(),
        one.into(),
    ];
    let outcome = bench.try_run("slices", [1; 3], [1, 1, 1], &arguments);
    let Err(LaunchFailure::Fault { fault, .. }) = outcome else { panic!("{outcome:?}") };
    assert_eq!(fault.kind, FaultKind::Trap);
    let site = &bench.program.sites()[fault.site.0 as usize];
    let line = site.user_line().expect("line information");
    // `input[0]`, which the branch to the panic belongs to.
    assert!(line.file.ends_with("launch.rs") && (line.line, line.column) == (28, 18), "{site:?}");
    assert_eq!(site.panic(), Some("panic"));
    assert!(site.source[0].is_library() && !line.is_library());
}

/// All files load, at all levels of machine instructions.
#[test]
fn everything_loads() {
    for text in [RUST, RUST_120, NVCC_COPY, NVCC_COALESCING, SHAPES, DEVICE, DEVICE_75] {
        let memory = Memory::new(1 << 28).expect("address space");
        let module = ptx::parse(text).expect("PTX");
        let entries = module.entries().count();
        let program = Program::load(module, &memory).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(program.kernels().len(), entries);
        for kernel in program.kernels() {
            assert!((16..=256).contains(&kernel.registers), "{}: {}", kernel.name, kernel.registers);
        }
    }
    let bench = Bench::new(RUST);
    let trips = |name: &str| bench.program.kernel(name).expect("the kernel").round_trips;
    assert_eq!((trips("offset_f32"), trips("copy_scalar"), trips("fill_f32")), (1, 1, 0));
}
