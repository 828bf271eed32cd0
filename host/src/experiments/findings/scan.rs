//! The finding of `scan`.

use super::{doubt, fastest, largest, of, of_copy, sentence, speedup};
use record::Record;

/// What a single pass gains over three kernels, and how near to a copy each of them is; the fastest scan of blocks.
pub(in super::super) fn scan(rows: &[&Record]) -> Option<String> {
    let rows = largest(rows);
    let (single, three) = (of(&rows, "scan_lookback"), of(&rows, "scan_apply"));
    let reach = |row: Option<&Record>, name: &str| {
        row.and_then(of_copy).map(|share| format!("{name} reaches {share} of the copy's bandwidth"))
    };
    let gain = single.zip(three).map(|(single, three)| {
        let (times, doubt) = (speedup(single, three), doubt(single, three));
        format!("one pass is {times:.2} times as fast as three kernels{doubt}")
    });
    let blocks = ["scan_hillis_steele", "scan_blelloch", "scan_shuffle"].map(|kernel| of(&rows, kernel));
    let best = fastest(blocks.into_iter().flatten());
    let slowest =
        blocks.into_iter().flatten().min_by(|one, other| super::rate(one).total_cmp(&super::rate(other)));
    let best =
        best.zip(slowest).filter(|(best, slowest)| best.kernel != slowest.kernel).map(|(best, slowest)| {
            format!(
                "within blocks {} is {:.1} times as fast as {}{}",
                best.kernel,
                speedup(best, slowest),
                slowest.kernel,
                doubt(best, slowest)
            )
        });
    sentence([reach(single, "the single pass"), reach(three, "the scan by three kernels"), gain, best])
}
