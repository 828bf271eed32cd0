//! Asynchronous copies, for the architectures that have them.

use cust::memory::DeviceCopy;

use crate::device::{Kernels, Random, assert_same, devices, filled, read, results};

const BLOCKS: usize = 8;
const LENGTH: usize = 128 * BLOCKS;

/// The elements of each run of 128 backwards.
fn backwards<T: Copy>(values: &[T]) -> Vec<T> {
    values.chunks(128).flat_map(|run| run.iter().rev().copied()).collect()
}

fn check_elements<T: DeviceCopy + Default + PartialEq + std::fmt::Debug>(
    kernels: &Kernels,
    names: &[&str],
    values: &[T],
) {
    for name in names {
        let (source, found) = (filled(values), results(T::default(), 2 * LENGTH));
        let name = format!("copy_async_{name}");
        run!(
            kernels,
            &name,
            (BLOCKS as u32, 128, 0),
            [source.as_device_ptr(), LENGTH, found.as_device_ptr()]
        );
        let found = read(&found);
        assert_same(&found[..LENGTH], &backwards(values), &name);
        let some: Vec<T> = values
            .iter()
            .enumerate()
            .map(|(place, &value)| if place % 3 == 0 { T::default() } else { value })
            .collect();
        assert_same(&found[LENGTH..], &backwards(&some), &format!("{name} or zero"));
    }
}

#[test]
#[ignore = "needs a GPU"]
fn threads_copy_their_elements() {
    let mut random = Random(51);
    for kernels in devices().iter().filter(|kernels| kernels.architecture >= 80) {
        let words: Vec<[u64; 2]> = (0..LENGTH).map(|_| [random.word(), random.word()]).collect();
        check_elements(
            kernels,
            &["u32", "f32"],
            &words.iter().map(|&[word, _]| word as u32).collect::<Vec<_>>(),
        );
        check_elements(kernels, &["u64", "u32x2"], &words.iter().map(|&[word, _]| word).collect::<Vec<_>>());
        check_elements(kernels, &["u32x4", "f64x2", "past_l1"], &words);
    }
}

#[test]
#[ignore = "needs a GPU"]
fn a_barrier_object_has_phases() {
    for kernels in devices().iter().filter(|kernels| kernels.architecture >= 80) {
        let found = results(77_u32, LENGTH);
        run!(kernels, "barrier_phases", (BLOCKS as u32, 128, 0), [found.as_device_ptr()]);
        assert_same(&read(&found), &[8; LENGTH], "barrier_phases");
    }
}

#[test]
#[ignore = "needs a GPU"]
fn bulk_copies_bring_tiles_in_and_out() {
    let mut random = Random(52);
    for kernels in devices().iter().filter(|kernels| kernels.architecture >= 90) {
        for kind in 0..3_u32 {
            let values: Vec<[u64; 2]> = (0..4 * LENGTH).map(|_| [random.word(), random.word()]).collect();
            let (source, found) = (filled(&values), results([77_u64; 2], values.len()));
            run!(
                kernels,
                "copy_bulk",
                (BLOCKS as u32, 128, 0),
                [source.as_device_ptr(), found.as_device_ptr(), kind]
            );
            assert_same(&read(&found), &backwards(&values), &format!("copy_bulk {kind}"));
        }
    }
}
