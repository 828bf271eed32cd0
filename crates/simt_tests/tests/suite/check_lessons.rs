//! Kernels as they should be, in the ways that programs use shared memory, warps, atomics and asynchronous copies: all
//! checks are silent.

use crate::check_lab::{all, assert_clean};
use simt::check::Shape;

#[test]
fn kernels_as_they_should_be_are_clean() {
    let lab = all();
    let words = |count: u64, word: u32| {
        let address = lab.empty(count * 4);
        let bytes: Vec<u8> = (0..count as u32).flat_map(|index| (word * index).to_le_bytes()).collect();
        lab.memory.write(address, &bytes).unwrap();
        address
    };
    let read = |address: u64, count: usize| {
        let mut bytes = vec![0; count * 4];
        lab.memory.read(address, &mut bytes).unwrap();
        bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect::<Vec<_>>()
    };
    let square = Shape { grid: [3, 3, 1], block: [8, 8, 1] };
    let (from, to) = (words(576, 1), lab.empty(576 * 4));
    let parameters = [from.into(), 24_u64.into(), to.into()];
    assert_clean(&lab.launch_shape("transpose", square, 0, &parameters), "transpose");
    assert!(read(to, 576).iter().zip(0..).all(|(word, place)| *word == place % 24 * 24 + place / 24));

    let (a, b, c) = (words(576, 0), words(576, 0), lab.empty(576 * 4));
    let parameters = [a.into(), b.into(), 24_u64.into(), c.into()];
    assert_clean(&lab.launch_shape("product", square, 0, &parameters), "product");
    assert_eq!(read(c, 576), [0; 576]);

    let (data, out) = (words(150, 1), lab.empty(12));
    assert_clean(&lab.launch("sums", 3, &[data.into(), 150_u64.into(), out.into()]), "sums");
    assert_eq!(read(out, 3), [2016, 6112, 128 * 22 + 231]);

    let counts = lab.zeros(64);
    assert_clean(&lab.launch("histogram", 3, &[data.into(), 150_u64.into(), counts.into()]), "histogram");
    assert_eq!(read(counts, 16), [10, 10, 10, 10, 10, 10, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9]);

    let out = lab.empty(8);
    assert_clean(&lab.launch("tree", 2, &[data.into(), out.into()]), "tree");
    assert_eq!(read(out, 2), [2016, 6112]);

    let (lock, counter) = (lab.zeros(4), lab.zeros(4));
    assert_clean(&lab.launch("locked", 5, &[lock.into(), counter.into()]), "locked");
    assert_eq!(read(counter, 1), [5]);
}

#[test]
fn kernels_that_copy_beside_the_threads_are_clean() {
    let lab = all();
    let words: Vec<u8> = (0..384_u32).flat_map(|word| (word * 7).to_le_bytes()).collect();
    let backwards = |bytes: &[u8]| -> Vec<u8> {
        bytes
            .chunks(256)
            .flat_map(|tile| tile.chunks(4).rev().flatten().copied().collect::<Vec<_>>())
            .collect()
    };
    let from = lab.empty(384 * 4);
    lab.memory.write(from, &words).unwrap();
    let read = |address: u64, bytes: usize| {
        let mut found = vec![0; bytes];
        lab.memory.read(address, &mut found).unwrap();
        found
    };
    let to = lab.empty(192 * 4);
    assert_clean(&lab.launch("async_tile", 3, &[from.into(), 384_u64.into(), to.into()]), "async_tile");
    assert_eq!(read(to, 768), backwards(&words[..768]));

    let to = lab.empty(384 * 4);
    assert_clean(&lab.launch("bulk", 2, &[from.into(), 3_u64.into(), to.into()]), "bulk");
    assert_eq!(read(to, 1536), backwards(&words));

    let to = lab.empty(192 * 4);
    assert_clean(&lab.launch("phases", 3, &[to.into()]), "phases");
    let sums: Vec<u8> = (0..192_u32).flat_map(|place| (4 * (63 - place % 64) + 6).to_le_bytes()).collect();
    assert_eq!(read(to, 768), sums);
}
