//! The finding of `atomics`.

use super::{doubt, percent, sentence, speedup, timed};
use record::Record;

/// What one address costs against one per thread, with and without a result, and what adding up in the warp gains there.
pub(in super::super) fn atomics(rows: &[&Record]) -> Option<String> {
    let rows = timed(rows);
    let at = |row: &Record| row.parameters.swept.as_ref().map(|swept| swept.value);
    let of = |kernel: &str| rows.iter().copied().filter(|row| row.kernel == kernel).collect::<Vec<_>>();
    let one = |kernel: &str| of(kernel).into_iter().find(|row| at(row) == Some(1));
    let contention = |kernel: &str| {
        let most = of(kernel).into_iter().max_by_key(|row| at(row)).filter(|row| at(row) > Some(1))?;
        Some((speedup(one(kernel)?, most), doubt(one(kernel)?, most)))
    };
    let clause = |kernel: &str, what: &str| {
        let (share, doubt) = contention(kernel)?;
        Some(format!(
            "{what} on one address run at {} of their rate on one per thread{doubt}",
            percent(share)
        ))
    };
    let joined = one("atomics_global_redux_u32").zip(one("atomics_global_add_u32")).map(|(joined, plain)| {
        let (times, doubt) = (speedup(joined, plain), doubt(joined, plain));
        format!("adding up in the warp first makes them {times:.1} times as fast{doubt}")
    });
    sentence([
        clause("atomics_global_add_u32", "reductions in global memory"),
        joined,
        clause("atomics_global_fetch_u32", "atomics with a result"),
        clause("atomics_shared_add_u32", "reductions in shared memory"),
    ])
}
