//! The finding of `async`.

use super::{fastest, number, of_copy, rate, sentence, timed};
use crate::sizes::Bytes;
use record::Record;

/// A kernel no longer gains from this share of its best bandwidth on.
const ENOUGH: f64 = 0.95;

/// The bytes in flight from which on each kernel has nearly its best bandwidth.
pub(in super::super) fn staged(rows: &[&Record]) -> Option<String> {
    let rows = timed(rows);
    let in_flight = |row: &Record| number(row, "in_flight").unwrap_or(0);
    let mut kernels: Vec<&str> = Vec::new();
    for row in &rows {
        if !kernels.contains(&row.kernel.as_str()) {
            kernels.push(&row.kernel);
        }
    }
    let clause = |kernel: &&str| {
        let rows: Vec<&Record> = rows.iter().copied().filter(|row| row.kernel == *kernel).collect();
        let best = fastest(rows.iter().copied())?;
        let least = |enough: f64| {
            rows.iter().filter(|row| rate(row) >= enough * rate(best)).map(|row| in_flight(row)).min()
        };
        let most = rows.iter().map(|row| in_flight(row)).max()?;
        let share = of_copy(best).map(|share| format!(", {share} of the driver's copy")).unwrap_or_default();
        let enough = least(ENOUGH)?;
        Some(match enough == most {
            true => format!("{kernel} still gains at {} in flight per multiprocessor{share}", Bytes(most)),
            false => {
                format!("{kernel} gains nothing beyond {} in flight per multiprocessor{share}", Bytes(enough))
            }
        })
    };
    sentence(kernels.iter().map(clause))
}
