//! Prefix sums and compaction.

use super::Set;
use crate::{case::Case, data::words};

/// Inclusive sums within each block.
fn sums(from: &[u32], block: usize) -> Vec<u32> {
    let scan = |chunk: &[u32]| -> Vec<u32> {
        chunk
            .iter()
            .scan(0_u32, |sum, value| {
                *sum += value;
                Some(*sum)
            })
            .collect()
    };
    from.chunks(block).flat_map(scan).collect()
}

pub(super) fn add(set: &mut Set) {
    let n = 1 << 21;
    set.add("scan_hillis", format!("n={n}"), move || {
        let from = words(n, 1000, 1);
        Case::over(n, 512).input(&from).output(sums(&from, 512), 0.0)
    });
    set.add("scan_blelloch", format!("n={n}"), move || {
        let from = words(n, 1000, 1);
        let inclusive = sums(&from, 1024);
        let totals: Vec<u32> = inclusive.chunks(1024).map(|chunk| chunk[1023]).collect();
        let exclusive = inclusive.iter().zip(&from).map(|(sum, value)| sum - value).collect();
        Case::over(n / 2, 512).input(&from).output::<u32>(exclusive, 0.0).output(totals, 0.0)
    });
    for n in [1_usize << 20, 1 << 25] {
        set.add("scan_warp", format!("n={n}"), move || {
            let from = words(n, 1000, 1);
            Case::over(n, 256).word(n).input(&from).output(sums(&from, 32), 0.0)
        });
        set.add("add_offsets", format!("n={n}"), move || {
            let (offsets, from) = (words(n / 1024, 1000, 1), words(n, 1000, 2));
            let expected = from.iter().enumerate().map(|(i, value)| value + offsets[i / 1024]).collect();
            Case::over(n, 256).word(n).input(&offsets).input(&from).output::<u32>(expected, 0.0)
        });
    }
    let n = 1 << 22;
    set.add("compact_ballot", format!("n={n} kept=30%"), move || {
        let from = words(n, 1000, 1);
        let kept = |values: &[u32]| {
            let mut kept: Vec<u32> = values.iter().copied().filter(|&value| value < 300).collect();
            kept.sort_unstable();
            kept
        };
        let expected = kept(&from);
        let count = expected.len() as u32;
        let same = move |found: &[u32]| match kept(found) == expected {
            true => Ok(()),
            false => Err("the kept elements are not those below the limit".to_owned()),
        };
        Case::over(n, 256)
            .word(n)
            .word(300)
            .input(&from)
            .inout(&[0_u32], vec![count], 0.0)
            .holding(&vec![u32::MAX; n], same)
    });
    set.add("run_heads", format!("n={n}"), move || {
        let from = words(n, 3, 1);
        let expected = (0..n).map(|i| u32::from(i == 0 || from[i] != from[i - 1])).collect();
        Case::over(n, 256).word(n).input(&from).output::<u32>(expected, 0.0)
    });
}
