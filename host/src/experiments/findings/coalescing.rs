//! The findings of `offset` and `stride`.

use super::{doubt, fastest, list, of_copy, percent, rate, timed};
use record::{Precision, Record, median};

/// The loss of bandwidth by misalignment.
pub(in super::super) fn offset(rows: &[&Record]) -> Option<String> {
    let rows = timed(rows);
    let lanes = if rows.first()?.device.compute() < CACHED { "half-warp" } else { "warp" };
    let (mut losses, mut moved) = (Vec::new(), Vec::new());
    for (precision, rows) in by_precision(&rows) {
        let (aligned, misaligned): (Vec<&Record>, Vec<&Record>) =
            rows.into_iter().partition(|row| is_aligned(row, precision));
        let typical = |rows: &[&Record]| median(&rows.iter().map(|row| rate(row)).collect::<Vec<_>>());
        let open = fastest(aligned.iter().copied()).zip(fastest(misaligned.iter().copied()));
        let open = open.map_or("", |(aligned, misaligned)| doubt(aligned, misaligned));
        let Some((aligned, slower)) = typical(&aligned).zip(typical(&misaligned)) else { continue };
        losses.push(match 1.0 - slower / aligned {
            ..0.005 => format!("nothing in {precision}"),
            loss => format!("{} in {precision}{open}", percent(loss)),
        });
        let ratios: Vec<f64> = misaligned
            .iter()
            .filter_map(|row| row.counters.as_deref().and_then(record::Counted::moved_over_asked))
            .collect();
        moved.extend(median(&ratios).map(|ratio| format!("{ratio:.2}")));
    }
    if losses.is_empty() {
        return None;
    }
    let moved = match moved.len() == losses.len() {
        true => format!(": its requests move {} bytes for each byte asked for", list(&moved)),
        false => String::new(),
    };
    Some(format!("A misaligned {lanes} loses {}{moved}.", list(&losses)))
}

/// The share of the copy's bandwidth that is left at the largest stride.
pub(in super::super) fn stride(rows: &[&Record]) -> Option<String> {
    let rows = timed(rows);
    let device = rows.first()?.device.plain_name();
    let last = rows.iter().filter_map(|row| stride_of(row)).max().filter(|stride| *stride > 1)?;
    let (mut shares, mut used) = (Vec::new(), Vec::new());
    for (precision, rows) in by_precision(&rows) {
        let Some(row) = rows.into_iter().find(|row| stride_of(row) == Some(last)) else { continue };
        shares.push(format!("{} in {precision}", of_copy(row)?));
        used.push(percent(row.bytes.read as f64 / row.bytes.footprint as f64));
    }
    Some(format!(
        "At a stride of {last} the {device} delivers {} of its copy's bandwidth, as lanes use {} of the sectors that they touch.",
        list(&shares),
        list(&used),
    ))
}

/// The first compute capability whose global memory has a cache, with lines of 128 bytes.
const CACHED: u32 = 20;

/// Whether a row's warps start where they touch as little as they can: at a line, or where there is no cache, at the segment of
/// a half-warp.
fn is_aligned(row: &Record, precision: Precision) -> bool {
    let alignment = if row.device.compute() < CACHED { 16 * precision.size() } else { 128 };
    let offset = row.parameters.swept.as_ref().map_or(0, |swept| swept.value);
    (offset * precision.size()).is_multiple_of(alignment)
}

fn stride_of(row: &Record) -> Option<u64> {
    row.parameters.swept.as_ref().map(|swept| swept.value)
}

/// The rows of each element type that there is.
fn by_precision<'r>(rows: &[&'r Record]) -> Vec<(Precision, Vec<&'r Record>)> {
    let of = |precision| -> Vec<&'r Record> {
        rows.iter().copied().filter(|row| row.parameters.precision == Some(precision)).collect()
    };
    let all = [Precision::F32, Precision::F64].map(|precision| (precision, of(precision)));
    all.into_iter().filter(|(_, rows)| !rows.is_empty()).collect()
}
