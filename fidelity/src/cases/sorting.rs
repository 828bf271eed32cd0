//! Sorting, merging and searching.

use super::Set;
use crate::{
    case::Case,
    data::{mix, words},
};

fn sorted_blocks(from: &[u32], block: usize) -> Vec<u32> {
    let mut sorted = from.to_vec();
    sorted.chunks_mut(block).for_each(<[u32]>::sort_unstable);
    sorted
}

pub(super) fn add(set: &mut Set) {
    for n in [1_usize << 20, 1 << 25] {
        set.add("bitonic_step", format!("n={n} distance=4096 run=65536"), move || {
            let from: Vec<u32> = (0..n).map(|i| mix(i, 1)).collect();
            let pick = |i: usize| {
                let (mine, theirs) = (from[i], from[i ^ 4096]);
                let keep_less = (i & 65536 == 0) == (i & 4096 == 0);
                if keep_less { mine.min(theirs) } else { mine.max(theirs) }
            };
            let expected = (0..n).map(pick).collect();
            Case::over(n, 256).word(n).word(4096).word(65536).input(&from).output::<u32>(expected, 0.0)
        });
    }
    let n = 1 << 20;
    set.add("bitonic_shared", format!("n={n}"), move || {
        let from: Vec<u32> = (0..n).map(|i| mix(i, 1)).collect();
        Case::over(n / 2, 512).input(&from).output(sorted_blocks(&from, 1024), 0.0)
    });
    set.add("rank_sort", format!("n={n}"), move || {
        let from = words(n, 1 << 20, 1);
        Case::over(n, 256).input(&from).output(sorted_blocks(&from, 256), 0.0)
    });
    let n = 1 << 22;
    set.add("radix_histogram", format!("n={n}"), move || {
        let keys: Vec<u32> = (0..n).map(|i| mix(i, 1)).collect();
        let blocks = n / 2048;
        let mut counts = vec![0_u32; 16 * blocks];
        for (block, keys) in keys.chunks(2048).enumerate() {
            keys.iter().for_each(|key| counts[(key >> 8 & 15) as usize * blocks + block] += 1);
        }
        Case::grid([blocks as u32, 1, 1], [256, 1, 1]).word(n).word(8).input(&keys).output(counts, 0.0)
    });
    let n = 1 << 21;
    set.add("merge_path", format!("n={n}+{n}"), move || {
        let [a, b] = [1, 2].map(|seed| {
            let mut list: Vec<u32> = (0..n).map(|i| mix(i, seed)).collect();
            list.sort_unstable();
            list
        });
        let mut merged = [a.as_slice(), b.as_slice()].concat();
        merged.sort_unstable();
        Case::over(n / 4, 128).word(n).input(&a).input(&b).output(merged, 0.0)
    });
    for (queries, n) in [(1_usize << 20, 1_usize << 16), (1 << 20, 1 << 26)] {
        set.add("binary_search", format!("queries={queries} n={n}"), move || {
            let table: Vec<u32> = (0..n as u32).map(|i| i * (u32::MAX / n as u32)).collect();
            let query: Vec<u32> = (0..queries).map(|i| mix(i, 1)).collect();
            let expected =
                query.iter().map(|wanted| table.partition_point(|value| value < wanted) as u32).collect();
            Case::over(queries, 256)
                .word(queries)
                .word(n)
                .input(&table)
                .input(&query)
                .output::<u32>(expected, 0.0)
        });
    }
}
