//! The finding of `occupancy`.

use super::{fastest, number, rate, sentence, timed};
use record::{Bytes, Record};

/// A row within this share of the best is beyond the knee.
const KNEE: f64 = 0.9;

/// The knee, and the latency by Little's law before it.
pub(in super::super) fn occupancy(rows: &[&Record]) -> Option<String> {
    let rows = timed(rows);
    let in_flight = |row: &Record| number(row, "in_flight");
    let best = fastest(rows.iter().copied())?;
    let enough = rows.iter().copied().filter(|row| rate(row) >= KNEE * rate(best));
    let (knee, few) =
        (enough.min_by_key(|row| in_flight(row))?, rows.iter().copied().min_by_key(|row| in_flight(row))?);
    let all = |row: &Record| Some(in_flight(row)? as f64 * f64::from(row.device.multiprocessors));
    let knee_bytes = in_flight(knee)?;
    let told = (knee_bytes > in_flight(few)?).then(|| {
        format!(
            "{} in flight per SM reach {:.0}% of the best bandwidth, {:.0} GB/s",
            Bytes(knee_bytes),
            100.0 * rate(knee) / rate(best),
            rate(best)
        )
    });
    let law = all(few).map(|bytes| {
        format!(
            "with {} there are {:.0} GB/s, which is what is in flight over a latency of {:.0} ns",
            Bytes(in_flight(few).unwrap_or_default()),
            rate(few),
            bytes / rate(few)
        )
    });
    sentence([told, law])
}
