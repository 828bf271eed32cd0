//! Atomics and hash tables.

use super::Set;
use crate::{
    case::Case,
    data::{floats, mix, words},
};

/// Where the kernels' hash puts a key.
fn slot(key: u32, mask: u32) -> u32 {
    (key.wrapping_mul(0x9E37_79B1) >> 7) & mask
}

/// A table with these keys, and each key's number of probes. The order of insertion does not change which slots are
/// taken.
fn table(keys: &[u32], size: usize) -> Vec<u32> {
    let mask = size as u32 - 1;
    let mut table = vec![u32::MAX; size];
    for &key in keys {
        let mut at = slot(key, mask);
        while table[at as usize] != u32::MAX {
            at = (at + 1) & mask;
        }
        table[at as usize] = key;
    }
    table
}

/// Keys, each once.
fn keys(n: usize) -> Vec<u32> {
    (0..n as u32).map(|i| i.wrapping_mul(0x01E3_779B) & 0x7fff_ffff).collect()
}

pub(super) fn add(set: &mut Set) {
    let n = 1 << 20;
    set.add("counter_contended", format!("n={n}"), move || {
        let values = words(n, 100, 1);
        let total = values.iter().sum();
        Case::over(n, 256).word(n).input(&values).inout(&[0_u32], vec![total], 0.0)
    });
    set.add("sum_per_warp", format!("n={n}"), move || {
        // Whole numbers, whose sum is exact in any order up to 2^24.
        let values: Vec<f32> = words(n, 16, 1).into_iter().map(|value| value as f32).collect();
        let total = values.iter().sum();
        Case::over(n, 256).word(n).input(&values).inout(&[0.0_f32], vec![total], 0.0)
    });
    for bins in [256_usize, 1 << 20] {
        let n = 1 << 21;
        set.add("histogram_global", format!("n={n} bins={bins}"), move || {
            let values: Vec<u32> = (0..n).map(|i| mix(i, 1)).collect();
            let mut expected = vec![0_u32; bins];
            values.iter().for_each(|value| expected[*value as usize & (bins - 1)] += 1);
            Case::over(n, 256).word(n).word(bins - 1).input(&values).inout(&vec![0_u32; bins], expected, 0.0)
        });
    }
    let n = 1 << 22;
    set.add("maximum_guarded", format!("n={n}"), move || {
        let values: Vec<u32> = (0..n).map(|i| mix(i, 1)).collect();
        let greatest = values.iter().copied().fold(0, u32::max);
        Case::over(n, 256).word(n).input(&values).inout(&[0_u32], vec![greatest], 0.0)
    });
    for (n, size) in [(1_usize << 18, 1_usize << 19), (1 << 22, 1 << 23)] {
        set.add("hash_insert", format!("n={n} slots={size}"), move || {
            let keys = keys(n);
            let taken = |table: &[u32]| {
                let mut keys: Vec<u32> = table.iter().copied().filter(|&key| key != u32::MAX).collect();
                keys.sort_unstable();
                keys
            };
            let expected = taken(&table(&keys, size));
            let same = move |found: &[u32]| match taken(found) == expected {
                true => Ok(()),
                false => Err("the table does not hold each key once".to_owned()),
            };
            Case::over(n, 256).word(n).word(size - 1).input(&keys).holding(&vec![u32::MAX; size], same)
        });
        set.add("hash_probe", format!("n={n} slots={size}"), move || {
            let keys = keys(n);
            let table = table(&keys, size);
            let mask = size as u32 - 1;
            // Every other query is absent.
            let queries: Vec<u32> =
                keys.iter().enumerate().map(|(i, &key)| if i % 2 == 0 { key } else { !key }).collect();
            let probes = queries
                .iter()
                .map(|&key| {
                    let mut places = (0..).map(|step| slot(key, mask).wrapping_add(step) & mask);
                    let stop = places.position(|at| [key, u32::MAX].contains(&table[at as usize]));
                    let steps = stop.expect("tables have empty slots") as u32;
                    if table[(slot(key, mask).wrapping_add(steps) & mask) as usize] == key {
                        steps + 1
                    } else {
                        0
                    }
                })
                .collect();
            Case::over(n, 256).word(n).word(size - 1).input(&queries).input(&table).output::<u32>(probes, 0.0)
        });
    }
    let n = 1 << 20;
    set.add("group_sums", format!("n={n} groups=1024 sorted"), move || {
        let keys: Vec<u32> = (0..n as u32).map(|i| i >> 10).collect();
        let values = floats(n, 2);
        let sums = values.chunks(1024).map(|group| group.iter().sum()).collect();
        Case::over(n, 256).word(n).input(&keys).input(&values).inout::<f32>(&vec![0.0; 1024], sums, 1e-4)
    });
}
