//! The finding of `instructions`.

use super::{list, sentence, timed};
use record::Record;

/// The classes of a sentence: their kernels, and what they are called there.
const LATENCIES: [(&str, &str); 5] = [
    ("chain_fma_f32", "`fma.f32`"),
    ("chain_fma_f64", "`fma.f64`"),
    ("chain_rsqrt", "`rsqrt`"),
    ("chain_shuffle", "a shuffle"),
    ("chain_div_f32", "a division"),
];
const RATES: [(&str, &str); 5] = [
    ("rate_fma_f32", "`fma.f32`"),
    ("rate_fma_f64", "`fma.f64`"),
    ("rate_add_s32", "`add.s32`"),
    ("rate_shuffle", "shuffles"),
    ("rate_rsqrt", "`rsqrt`"),
];

/// The latencies, the rates, and what a barrier costs by the warps of its block.
pub(in super::super) fn instructions(rows: &[&Record]) -> Option<String> {
    let rows = timed(rows);
    let of = |kernel: &str| rows.iter().copied().find(|row| row.kernel == kernel);
    let cycles = LATENCIES.iter().filter_map(|(kernel, name)| Some((*name, of(kernel)?.cycles()?)));
    let cycles: Vec<String> = cycles.map(|(name, cycles)| format!("{cycles:.0} for {name}")).collect();
    let rates = RATES.iter().filter_map(|(kernel, name)| Some((*name, of(kernel)?.per_clock()?)));
    let rates: Vec<String> = rates.map(|(name, rate)| format!("{rate:.0} {name}")).collect();
    let barriers = rows.iter().filter(|row| row.kernel == "chain_barrier");
    let mut barriers: Vec<(u64, f64)> =
        barriers.filter_map(|row| Some((threads(row)?, row.cycles()?))).collect();
    barriers.sort_by_key(|(threads, _)| *threads);
    let barrier = barriers.first().zip(barriers.last()).filter(|(few, many)| few.0 < many.0);
    sentence([
        (!cycles.is_empty()).then(|| format!("latencies are, in cycles, {}", list(&cycles))),
        (!rates.is_empty()).then(|| format!("an SM completes {} of single threads per clock", list(&rates))),
        barrier.map(|(few, many)| {
            format!(
                "a barrier takes {:.0} cycles in a block of {} threads and {:.0} in one of {}",
                few.1, few.0, many.1, many.0
            )
        }),
    ])
}

/// Threads of a row's blocks.
fn threads(row: &Record) -> Option<u64> {
    row.parameters.block.map(|block| block.count())
}
