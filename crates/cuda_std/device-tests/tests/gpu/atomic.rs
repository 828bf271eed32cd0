//! Atomic operations of every type, scope and ordering, by many threads on one cell.

use std::fmt::Debug;
use std::hash::Hash;

use cust::memory::DeviceCopy;

use crate::atomic_order;
use crate::device::{Kernels, Random, assert_same, devices, filled, read, results};

/// Threads of a launch, in blocks of 128.
const THREADS: usize = 1024;
const BLOCK: usize = 128;
const SCOPES: [&str; 3] = ["block", "device", "system"];
/// The kernels' number for no ordering at all.
const ORDERINGS: u32 = 6;

/// An operand of the type as bits, what two make by an operation, and its size.
trait Number: DeviceCopy + Default + Copy + Eq + Hash + Debug {
    const NAMES: &[&str];
    fn operand(operation: &str, name: &str, random: &mut Random) -> Self;
    fn apply(operation: &str, name: &str, old: Self, value: Self) -> Self;
}

macro_rules! number {
    ($bits:ident $signed:ident $float:ident) => {
        impl Number for $bits {
            const NAMES: &[&str] = &[stringify!($bits), stringify!($signed), stringify!($float)];

            /// One bit more or less for the bitwise ones, so that each matters; whole floats, so that sums are exact.
            fn operand(operation: &str, name: &str, random: &mut Random) -> Self {
                let bit = 1 << (random.word() % u64::from($bits::BITS));
                match operation {
                    "and" => !bit,
                    "or" => bit,
                    "add" | "sub" if name == stringify!($float) => {
                        ((random.word() % 1024) as $float - 512.0).to_bits()
                    }
                    _ => random.word() as $bits,
                }
            }

            fn apply(operation: &str, name: &str, old: Self, value: Self) -> Self {
                let floats = ($float::from_bits(old), $float::from_bits(value));
                let (signed, float) = (name == stringify!($signed), name == stringify!($float));
                match operation {
                    "and" => old & value,
                    "or" => old | value,
                    "xor" => old ^ value,
                    "exch" => value,
                    "add" if float => (floats.0 + floats.1).to_bits(),
                    "sub" if float => (floats.0 - floats.1).to_bits(),
                    "add" => old.wrapping_add(value),
                    "sub" => old.wrapping_sub(value),
                    "min" if signed => old.cast_signed().min(value.cast_signed()).cast_unsigned(),
                    "max" if signed => old.cast_signed().max(value.cast_signed()).cast_unsigned(),
                    "min" => old.min(value),
                    "max" => old.max(value),
                    other => panic!("no operation {other}"),
                }
            }
        }
    };
}

number!(u32 i32 f32);
number!(u64 i64 f64);

/// Launches a kernel on cells that hold `first`, one, or one for each block, and checks each cell's history. `made` is what
/// the operation of a thread makes of an old value.
fn check<T: Number>(
    kernels: &Kernels,
    (name, scope, selector): (&str, &str, u32),
    first: T,
    values: &[T],
    made: impl Fn(usize, T) -> T,
) {
    let per_block = u32::from(scope == "block");
    let cell_of = |thread: usize| if scope == "block" { thread / BLOCK } else { 0 };
    let cells = filled(&[first; THREADS / BLOCK]);
    let (buffer, olds) = (filled(values), results(T::default(), THREADS));
    let shape = ((THREADS / BLOCK) as u32, BLOCK as u32, 0);
    // A slice of cells has a length as well.
    if name.starts_with("float_") {
        run!(
            kernels,
            name,
            shape,
            [
                cells.as_device_ptr(),
                THREADS / BLOCK,
                per_block,
                selector,
                buffer.as_device_ptr(),
                olds.as_device_ptr(),
            ]
        );
    } else {
        run!(
            kernels,
            name,
            shape,
            [cells.as_device_ptr(), per_block, selector, buffer.as_device_ptr(), olds.as_device_ptr(),]
        );
    }
    let (cells, olds) = (read(&cells), read(&olds));
    for (cell, &last) in cells.iter().enumerate() {
        let threads = (0..THREADS).filter(|&thread| cell_of(thread) == cell);
        let operations: Vec<(T, T)> =
            threads.map(|thread| (olds[thread], made(thread, olds[thread]))).collect();
        atomic_order::check(first, last, &operations)
            .unwrap_or_else(|problem| panic!("{name}, {selector}, cell {cell}: {problem}"));
    }
}

fn check_fetches<T: Number>(kernels: &Kernels, random: &mut Random) {
    for operation in ["and", "or", "xor", "add", "sub", "min", "max", "exch"] {
        for name in T::NAMES {
            if name.starts_with('f') && ["min", "max"].contains(&operation) {
                continue;
            }
            for (scope, ordering) in
                SCOPES.into_iter().flat_map(|scope| (0..ORDERINGS).map(move |ordering| (scope, ordering)))
            {
                // Under `and` from 0 or `or` from all ones nothing would happen.
                let first = match operation {
                    "and" => T::apply("xor", name, T::default(), T::operand("and", "", &mut Random(0))),
                    "or" => T::default(),
                    _ => T::operand(operation, name, random),
                };
                let values: Vec<T> = (0..THREADS).map(|_| T::operand(operation, name, random)).collect();
                let kernel = format!("fetch_{operation}_{name}_{scope}");
                check(kernels, (&kernel, scope, ordering), first, &values, |thread, old| {
                    T::apply(operation, name, old, values[thread])
                });
            }
        }
    }
}

#[test]
#[ignore = "needs a GPU"]
fn fetches_come_one_after_the_other() {
    let mut random = Random(21);
    for kernels in devices() {
        check_fetches::<u32>(kernels, &mut random);
        check_fetches::<u64>(kernels, &mut random);
    }
}

fn check_swaps<T: Number>(kernels: &Kernels, random: &mut Random) {
    let choices = [(); 4].map(|()| T::operand("xor", "", random));
    for (name, scope) in T::NAMES.iter().flat_map(|name| SCOPES.map(|scope| (name, scope))) {
        for ordering in 0..ORDERINGS {
            let values: Vec<T> = (0..2 * THREADS).map(|_| choices[random.half() as usize % 4]).collect();
            let kernel = format!("swap_{name}_{scope}");
            check(kernels, (&kernel, scope, ordering), choices[0], &values, |thread, old| {
                if old == values[thread] { values[THREADS + thread] } else { old }
            });
        }
        for ordering in 0..2 {
            let values: Vec<T> = (0..THREADS).map(|_| T::operand("add", name, random)).collect();
            let kernel = format!("swap_until_added_{name}_{scope}");
            check(
                kernels,
                (&kernel, scope, ordering),
                T::operand("add", name, random),
                &values,
                |thread, old| T::apply("add", name, old, values[thread]),
            );
        }
    }
}

#[test]
#[ignore = "needs a GPU"]
fn swaps_happen_only_if_the_value_was_the_expected_one() {
    let mut random = Random(22);
    for kernels in devices() {
        check_swaps::<u32>(kernels, &mut random);
        check_swaps::<u64>(kernels, &mut random);
    }
}

fn check_floats<T: Number>(kernels: &Kernels, random: &mut Random, float: &str) {
    let (zero, operations) = (T::default(), ["add", "sub", "and", "or", "xor"]);
    for (scope, (selector, operation)) in
        SCOPES.iter().flat_map(|scope| operations.iter().enumerate().map(move |one| (scope, one)))
    {
        let values: Vec<T> = (0..THREADS).map(|_| T::operand(operation, float, random)).collect();
        let first = if *operation == "and" { T::operand("and", "", random) } else { zero };
        let kernel = format!("float_{scope}_{float}");
        check(kernels, (&kernel, scope, selector as u32), first, &values, |thread, old| {
            T::apply(operation, float, old, values[thread])
        });
        // Loads change nothing; a store leaves one of the values (the kernel reports its own).
        check(kernels, (&kernel, scope, 5), first, &values, |_, old| old);
        let cells = filled(&[zero; THREADS / BLOCK]);
        let (buffer, olds) = (filled(&values), results(zero, THREADS));
        let shape = ((THREADS / BLOCK) as u32, BLOCK as u32, 0);
        run!(
            kernels,
            &kernel,
            shape,
            [
                cells.as_device_ptr(),
                THREADS / BLOCK,
                1_u32,
                6_u32,
                buffer.as_device_ptr(),
                olds.as_device_ptr(),
            ]
        );
        assert_same(&read(&olds), &values, &kernel);
        for (cell, values) in read(&cells).iter().zip(values.chunks(BLOCK)) {
            assert!(values.contains(cell), "{kernel}: {cell:?} was not stored");
        }
    }
}

#[test]
#[ignore = "needs a GPU"]
fn atomic_floats_lose_nothing() {
    let mut random = Random(23);
    for kernels in devices() {
        check_floats::<u32>(kernels, &mut random, "f32");
        check_floats::<u64>(kernels, &mut random, "f64");
    }
}

#[test]
#[ignore = "needs a GPU"]
fn steps_are_of_one() {
    for kernels in devices() {
        let most = 15 * 256;
        let singles = [u32::MAX - 5, 5];
        for name in ["steps_u32", "steps_i32"] {
            let cells = filled(&singles);
            run!(kernels, name, (1, 256, 0), [cells.as_device_ptr()]);
            assert_eq!(
                read(&cells),
                [singles[0].wrapping_add(most), singles[1].wrapping_sub(most)],
                "{name}"
            );
        }
        let (doubles, most) = ([u64::from(u32::MAX) - 5, 5], u64::from(most));
        for name in ["steps_u64", "steps_i64"] {
            let cells = filled(&doubles);
            run!(kernels, name, (1, 256, 0), [cells.as_device_ptr()]);
            assert_eq!(read(&cells), [doubles[0] + most, doubles[1].wrapping_sub(most)], "{name}");
        }
    }
}

#[test]
#[ignore = "needs a GPU"]
fn atomic_loads_and_stores_move_the_bytes() {
    let mut random = Random(24);
    for kernels in devices() {
        let singles = random.halves(512);
        let doubles: Vec<u64> = (0..512).map(|_| random.word()).collect();
        for (scope, load, store) in SCOPES.iter().flat_map(|scope| {
            [0_u32, 1, 4, 5]
                .into_iter()
                .flat_map(move |load| [0_u32, 2, 4, 5].map(|store| (scope, load, store)))
        }) {
            let (source, target) = (filled(&singles), results(77, 512));
            let name = format!("copy_32_{scope}");
            run!(kernels, &name, (4, 128, 0), [source.as_device_ptr(), target.as_device_ptr(), load, store]);
            assert_same(&read(&target), &singles, &name);
            let (source, target) = (filled(&doubles), results(77, 512));
            let name = format!("copy_64_{scope}");
            run!(kernels, &name, (4, 128, 0), [source.as_device_ptr(), target.as_device_ptr(), load, store]);
            assert_same(&read(&target), &doubles, &name);
        }
    }
}

#[test]
#[ignore = "needs a GPU"]
fn atomics_of_core_work() {
    for kernels in devices() {
        let values = Random(25).halves(1024);
        let buffer = filled(&values);
        let (sum, bits) = (filled(&[0_u64]), filled(&[0_u64]));
        let (most, product) = (filled(&[i32::MIN]), filled(&[1_u32]));
        run!(
            kernels,
            "core_atomics",
            (8, 128, 0),
            [
                buffer.as_device_ptr(),
                values.len(),
                sum.as_device_ptr(),
                most.as_device_ptr(),
                product.as_device_ptr(),
                bits.as_device_ptr(),
            ]
        );
        assert_eq!(read(&sum), [values.iter().map(|&value| u64::from(value)).sum::<u64>()]);
        assert_eq!(read(&most), [values.iter().map(|value| value.cast_signed()).max().expect("a value")]);
        assert_eq!(read(&bits), [values.iter().fold(0, |bits, value| bits | 1 << (value % 64))]);
        assert_eq!(
            read(&product),
            [values.iter().fold(1, |product: u32, value| product.wrapping_mul(value | 1))]
        );
    }
}

#[test]
#[ignore = "needs a GPU"]
fn atomics_work_in_shared_memory() {
    for kernels in devices() {
        // The sum of up to 4096 numbers below 4096 is exact as a float.
        let values: Vec<u32> = Random(26).halves(4096).iter().map(|value| value % 4096).collect();
        let buffer = filled(&values);
        let (counts, sum, most) = (results(77_u32, 64), results(0_f32, 1), results(77_u64, 1));
        run!(
            kernels,
            "shared_atomics",
            (1, 256, 0),
            [
                buffer.as_device_ptr(),
                values.len(),
                counts.as_device_ptr(),
                sum.as_device_ptr(),
                most.as_device_ptr(),
            ]
        );
        let expected: Vec<u32> =
            (0..64).map(|low| values.iter().filter(|&value| value % 64 == low).count() as u32).collect();
        assert_same(&read(&counts), &expected, "counts");
        assert_eq!(read(&sum), [values.iter().sum::<u32>() as f32]);
        assert_eq!(
            read(&most),
            [values.iter().map(|&value| u64::from(value).pow(2)).max().expect("a value")]
        );
    }
}
