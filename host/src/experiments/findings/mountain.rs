//! The finding of `mountain`.

use super::{list, rate, sentence, timed};
use record::{Bytes, Record};

/// The heights of the ridge, and the loss along the slope of the largest footprint.
pub(in super::super) fn mountain(rows: &[&Record]) -> Option<String> {
    let rows = timed(rows);
    let stride = |row: &Record| row.parameters.swept.as_ref().map_or(0, |swept| swept.value);
    let mut ridge: Vec<&Record> = rows.iter().copied().filter(|row| stride(row) == 1).collect();
    ridge.sort_by_key(|row| row.parameters.bytes);
    // Of neighbours that are about equally fast the larger one.
    ridge.dedup_by(|next, kept| {
        let same = (rate(next) / rate(kept) - 1.0).abs() < 0.25;
        if same {
            *kept = *next;
        }
        same
    });
    let heights: Vec<String> = ridge
        .iter()
        .map(|row| format!("{:.0} GB/s over {}", rate(row), Bytes(row.parameters.bytes)))
        .collect();
    let largest = ridge.last().copied();
    let slope = largest.and_then(|top| {
        let slope = rows.iter().copied().filter(|row| row.parameters.bytes == top.parameters.bytes);
        let steepest = slope.max_by_key(|row| stride(row)).filter(|row| stride(row) > 1)?;
        Some(format!(
            "at a stride of {} vectors {} deliver {:.0} GB/s",
            stride(steepest),
            Bytes(top.parameters.bytes),
            rate(steepest)
        ))
    });
    sentence([(!heights.is_empty()).then(|| format!("neighbouring lanes read {}", list(&heights))), slope])
}
