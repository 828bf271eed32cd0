//! Primitives of parallel algorithms.

use super::Set;
use crate::{
    case::Case,
    data::{bytes, doubles, mix, words},
};
use bytemuck::cast_slice;

pub(super) fn add(set: &mut Set) {
    for n in [1_usize << 18, 1 << 21] {
        set.add("radix_scatter", format!("n={n} shift=8"), move || {
            let from = words(n, u32::MAX, 1);
            let digit = |key: u32| (key >> 8 & 15) as usize;
            let blocks = n / 256;
            let mut counts = vec![0_u32; 16 * blocks];
            from.iter().enumerate().for_each(|(i, &key)| counts[digit(key) * blocks + i / 256] += 1);
            let mut sum = 0;
            let mut before = |count: &u32| {
                sum += count;
                sum - count
            };
            let offsets: Vec<u32> = counts.iter().map(&mut before).collect();
            let mut expected = from.clone();
            expected.sort_by_key(|&key| digit(key));
            Case::grid([blocks as u32, 1, 1], [256, 1, 1])
                .word(8)
                .input(&offsets)
                .input(&from)
                .output::<u32>(expected, 0.0)
        });
    }
    for rows in [500_usize, 2000] {
        set.add("product_scan", format!("rows={rows} width=2048"), move || {
            let from: Vec<f64> =
                doubles(2048 * rows, 1).into_iter().map(|value| 0.995 + 0.01 * value).collect();
            let scan = |row: &[f64]| {
                let mut product = 1.0;
                let up = |value: &f64| {
                    product *= value;
                    product
                };
                row.iter().map(up).collect::<Vec<f64>>()
            };
            let expected = from.chunks(2048).flat_map(scan).collect();
            Case::grid([rows as u32, 1, 1], [1024, 1, 1]).input(&from).output::<f64>(expected, 1e-11)
        });
    }
    let n = 400_000_usize;
    set.add("sort_warp", format!("n={n}"), move || {
        let from: Vec<u64> = (0..n).map(|i| u64::from(mix(i, 1)) << 32 | u64::from(mix(i, 2))).collect();
        let mut expected = from.clone();
        expected.chunks_mut(32).for_each(<[u64]>::sort_unstable);
        let halves: Vec<u32> = cast_slice(&expected).to_vec();
        Case::over(n, 128).word(n).input(&from).output::<u32>(halves, 0.0)
    });
    for n in [500_000_usize, 7_000_000] {
        set.add("segment_sums", format!("n={n} mean=50"), move || {
            let mut segment = 0;
            let segments: Vec<u32> = (0..n)
                .map(|i| {
                    segment += u32::from(mix(i, 1).is_multiple_of(50));
                    segment
                })
                .collect();
            let values = words(n, 1000, 2);
            let mut sums = vec![0_u32; segment as usize + 1];
            segments.iter().zip(&values).for_each(|(&segment, value)| sums[segment as usize] += value);
            Case::over(n, 256).word(n).input(&segments).input(&values).inout::<u32>(
                &vec![0; sums.len()],
                sums,
                0.0,
            )
        });
    }
    for (quads, blocks) in [(1_usize << 20, 264_usize), (6 << 20, 528)] {
        set.add("extremes", format!("n={} blocks={blocks}", 4 * quads), move || {
            let values = words(4 * quads, u32::MAX, 1);
            let (mut least, mut most) = (vec![u32::MAX; blocks], vec![0; blocks]);
            for (i, &value) in values.iter().enumerate() {
                let block = i / 4 % (512 * blocks) / 512;
                least[block] = least[block].min(value);
                most[block] = most[block].max(value);
            }
            Case::grid([blocks as u32, 1, 1], [512, 1, 1])
                .word(quads)
                .input(&values)
                .output::<u32>(least, 0.0)
                .output::<u32>(most, 0.0)
        });
    }
    let runs = 30_000_usize;
    set.add("run_expand", format!("runs={runs} mean=20"), move || {
        let symbols = bytes(runs, 1);
        let mut starts = Vec::with_capacity(runs);
        let mut expected = Vec::new();
        for (run, &symbol) in symbols.iter().enumerate() {
            starts.push(expected.len() as u32);
            expected.extend(std::iter::repeat_n(symbol, 1 + mix(run, 2) as usize % 39));
        }
        let n = expected.len();
        Case::over(n, 256).word(n).word(runs).input(&starts).input(&symbols).output::<u8>(expected, 0.0)
    });
}
