//! The finding of `matmul`.

use super::{list, timed};
use record::Record;

/// The gain from data reuse, over the kernels that fill the card.
pub(in super::super) fn matmul(rows: &[&Record]) -> Option<String> {
    let work = |row: &Record| {
        let of = |name: &str| row.parameters.more.get(name).and_then(serde_json::Value::as_u64).unwrap_or(1);
        of("m") * of("n") * of("k")
    };
    let rows = timed(rows);
    let most = rows.iter().map(|row| work(row)).max()?;
    let (full, unfilled): (Vec<&Record>, Vec<&Record>) =
        rows.into_iter().filter(|row| work(row) == most).partition(|row| row.unfilled().is_none());
    let rate = |row: &Record| row.gflop_per_s.unwrap_or_default();
    let best = full.iter().copied().max_by(|one, other| rate(one).total_cmp(&rate(other)))?;
    let naive = full.iter().copied().find(|row| row.kernel == "matmul_naive");
    let times = naive.filter(|naive| naive.kernel != best.kernel).and_then(|naive| {
        let intensity = best.arithmetic_intensity? / naive.arithmetic_intensity?;
        Some(format!(
            ", {:.1} times as many as {}, with {intensity:.0} times the operations per byte loaded",
            rate(best) / rate(naive),
            naive.kernel,
        ))
    });
    let mut missing: Vec<String> = Vec::new();
    for row in &unfilled {
        let why = row.unfilled().map(|why| format!("{} ({why})", row.kernel)).unwrap_or_default();
        if !missing.contains(&why) {
            missing.push(why);
        }
    }
    let missing = match &missing[..] {
        [] => String::new(),
        [one] => format!("; {one} does not fill the card"),
        several => format!("; {} do not fill the card", list(several)),
    };
    Some(format!("{} computes {:.0} GFLOP/s{}{missing}.", best.kernel, rate(best), times.unwrap_or_default()))
}
