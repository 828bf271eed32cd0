//! The finding of `shuffle`.

use super::{doubt, fastest, largest, of, of_copy, percent, sentence, speedup};
use record::{Record, median};

/// The cost of a shuffle beside a copy, and its gain in a reduction.
pub(in super::super) fn shuffle(rows: &[&Record]) -> Option<String> {
    let rows = largest(rows);
    let shares: Vec<f64> = rows
        .iter()
        .filter(|row| row.kernel.starts_with("shuffle_"))
        .filter_map(|row| row.percent_of_copy)
        .collect();
    let exchanged = median(&shares).map(|share| {
        format!("a kernel with one shuffle reaches {} of the copy's bandwidth", percent(share / 100.0))
    });
    let sums = of(&rows, "reduce_block_shuffle").zip(of(&rows, "reduce_block_shared")).map(
        |(shuffled, shared)| match speedup(shuffled, shared) {
            0.99..1.01 => "reductions of blocks are as fast by shuffles as through shared memory".to_string(),
            times => format!(
                "reductions of blocks by shuffles are {times:.2} times as fast as through shared memory{}",
                doubt(shuffled, shared)
            ),
        },
    );
    let whole = [of(&rows, "reduce_vector"), of(&rows, "reduce_persistent")];
    let whole = fastest(whole.into_iter().flatten())
        .and_then(|row| Some(format!("{} reads at {} of it", row.kernel, of_copy(row)?)))
        .filter(|_| exchanged.is_some());
    sentence([exchanged, whole, sums])
}
