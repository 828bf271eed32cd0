//! Databases and texts.

use super::Set;
use crate::{
    case::Case,
    data::{Rows, bytes, mix, words},
};
use std::collections::HashMap;

/// Triples of key, count and sum, without those of empty slots, in order.
fn groups(table: &[u32]) -> Vec<[u32; 3]> {
    let triples = table.chunks(3).map(|triple| [triple[0], triple[1], triple[2]]);
    let mut groups: Vec<[u32; 3]> = triples.filter(|triple| triple[0] != u32::MAX).collect();
    groups.sort_unstable();
    groups
}

/// The pairs that were written, in order.
fn pairs(words: &[u32]) -> Vec<[u32; 2]> {
    let pairs = words.chunks(2).map(|pair| [pair[0], pair[1]]);
    let mut pairs: Vec<[u32; 2]> = pairs.filter(|pair| pair[0] != u32::MAX).collect();
    pairs.sort_unstable();
    pairs
}

pub(super) fn add(set: &mut Set) {
    for (n, built, buckets) in [(150_000_usize, 60_000_usize, 1_usize << 16), (1_500_000, 2_500_000, 1 << 21)]
    {
        set.add("join_chains", format!("n={n} built={built} buckets={buckets}"), move || {
            // Some keys are built more than once, and some never.
            let (present, payloads) = (words(built, built as u32, 1), words(built, 1000, 2));
            let keys = words(n, built as u32, 3);
            let shift = 32 - buckets.ilog2();
            let (mut heads, mut next) = (vec![u32::MAX; buckets], vec![u32::MAX; built]);
            let mut held = vec![0_u32; built];
            for (row, &key) in present.iter().enumerate() {
                let head = &mut heads[(key.wrapping_mul(0x9E37_79B1) >> shift) as usize];
                next[row] = std::mem::replace(head, row as u32);
                held[key as usize] += payloads[row];
            }
            let rows: Vec<u32> =
                present.iter().zip(&payloads).flat_map(|(&key, &payload)| [key, payload]).collect();
            let expected = keys.iter().map(|&key| held[key as usize]).collect();
            Case::over(n, 256)
                .word(n)
                .word(shift as usize)
                .input(&keys)
                .input(&heads)
                .input(&next)
                .input(&rows)
                .output::<u32>(expected, 0.0)
        });
    }
    for (n, count) in [(100_000_usize, 40_u32), (3_000_000, 300)] {
        set.add("group_by_hash", format!("n={n} groups={count} slots=1024 blocks=264"), move || {
            let keys: Vec<u32> = words(n, count, 1).into_iter().map(|key| key * 7919 + 13).collect();
            let values = words(n, 100, 2);
            let mut sums: HashMap<u32, [u32; 2]> = HashMap::new();
            for (&key, &value) in keys.iter().zip(&values) {
                let sum = sums.entry(key).or_default();
                *sum = [sum[0] + 1, sum[1] + value];
            }
            let expected: Vec<u32> =
                sums.iter().flat_map(|(&key, &[count, sum])| [key, count, sum]).collect();
            let expected = groups(&expected);
            let empty: Vec<u32> = (0..1024).flat_map(|_| [u32::MAX, 0, 0]).collect();
            let same = move |found: &[u32]| match groups(found) == expected {
                true => Ok(()),
                false => Err("the groups are not those of the keys".to_owned()),
            };
            Case::grid([264, 1, 1], [256, 1, 1])
                .word(n)
                .word(1023)
                .input(&keys)
                .input(&values)
                .holding(&empty, same)
        });
    }
    for (n, range) in [(600_000_usize, 120_u32), (12_000_000, 30)] {
        set.add("filter_columns", format!("n={n} days={range}/2000 amounts=25%"), move || {
            let days: Vec<u16> = words(n, 2000, 1).into_iter().map(|day| day as u16).collect();
            let (amounts, codes) = (bytes(n, 2), bytes(n, 3));
            let dictionary = words(256, 1_000_000, 4);
            let kept = |i: &usize| (700..700 + range).contains(&u32::from(days[*i])) && amounts[*i] < 64;
            let expected: Vec<[u32; 2]> =
                (0..n).filter(kept).map(|i| [i as u32, dictionary[usize::from(codes[i])]]).collect();
            let count = expected.len() as u32;
            let same = move |found: &[u32]| match pairs(found) == expected {
                true => Ok(()),
                false => Err("the rows are not those of the range".to_owned()),
            };
            Case::over(n, 256)
                .word(n)
                .word(700)
                .word(700 + range as usize)
                .word(64)
                .input(&days)
                .input(&amounts)
                .input(&codes)
                .input(&dictionary)
                .inout(&[0_u32], vec![count], 0.0)
                .holding(&vec![u32::MAX; 2 * n], same)
        });
    }
    for n in [5_000_000_usize, 120_000_000] {
        set.add("count_lines", format!("bytes={n}"), move || {
            // Printable letters; one of 40 bytes or so ends a line.
            let text: Vec<u8> = (0..n / 4)
                .flat_map(|i| mix(i, 1).to_le_bytes())
                .map(|byte| if byte < 6 { b'\n' } else { 32 + byte % 95 })
                .collect();
            let lines = |chunk: &[u8]| chunk.iter().map(|&byte| u32::from(byte == b'\n')).sum();
            let expected: Vec<u32> = text.chunks(16384).map(lines).collect();
            Case::grid([expected.len() as u32, 1, 1], [256, 1, 1])
                .word(n / 16)
                .input(&text)
                .output::<u32>(expected, 0.0)
        });
    }
    for (lists, mean, count) in [(2000_usize, 150_u32, 3000_usize), (20_000, 800, 12_000)] {
        set.add("intersect_lists", format!("lists={lists} mean={mean} pairs={count}"), move || {
            let mut rows = Rows::random(lists, 1, mean, 1);
            for list in 0..lists {
                // Each document follows the one before by 1 to 7.
                let mut document = mix(list, 2) % 100;
                for k in rows.of(list) {
                    document += 1 + mix(k, 3) % 7;
                    rows.columns[k] = document;
                }
            }
            let pairs = words(2 * count, lists as u32, 4);
            let common = |pair: &[u32]| {
                let [mut a, mut b] = [pair[0], pair[1]].map(|list| &rows.columns[rows.of(list as usize)]);
                let mut common = 0;
                while let (Some(x), Some(y)) = (a.first(), b.first()) {
                    common += u32::from(x == y);
                    (a, b) = (&a[usize::from(x <= y)..], &b[usize::from(y <= x)..]);
                }
                common
            };
            let expected = pairs.chunks(2).map(common).collect();
            Case::over(32 * count, 128)
                .word(count)
                .input(&pairs)
                .input(&rows.starts)
                .input(&rows.columns)
                .output::<u32>(expected, 0.0)
        });
    }
    for (n, k) in [(100_001_usize, 7_usize), (2_000_000, 12)] {
        set.add("count_kmers", format!("n={n} k={k}"), move || {
            let letter =
                |bits: u32| if bits.is_multiple_of(512) { b'N' } else { b"ACGT"[bits as usize >> 30] };
            let text: Vec<u8> = (0..n).map(|i| letter(mix(i, 1))).collect();
            let mut expected = vec![0_u32; 1 << (2 * k)];
            let place = |letter: &u8| b"ACTG".iter().position(|other| other == letter);
            let places: Vec<Option<usize>> = text.iter().map(place).collect();
            for window in places.windows(k) {
                let forward = window.iter().try_fold(0, |word, &place| Some(4 * word + place?));
                // A and T, C and G are two apart.
                let backward = window.iter().rev().try_fold(0, |word, &place| Some(4 * word + (place? ^ 2)));
                if let (Some(forward), Some(backward)) = (forward, backward) {
                    expected[forward.min(backward)] += 1;
                }
            }
            Case::over(n.div_ceil(8), 128).word(n).word(k).input(&text).inout(
                &vec![0_u32; 1 << (2 * k)],
                expected,
                0.0,
            )
        });
    }
}
