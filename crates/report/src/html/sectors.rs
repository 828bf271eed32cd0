//! The curve that sectors alone predict: what part of the bytes that a warp's requests move it has asked for.

use super::series::number;
use record::{Precision, Record};
use std::collections::BTreeSet;

const SECTOR_BYTES: u64 = 32;
const LANES: u64 = 32;

/// Bytes asked for over bytes moved, of a row: counted where it or the simulated row of its like was, else by the addresses of
/// a warp's lanes. `None` where neither is known.
pub(super) fn efficiency(row: &Record, simulated: &[Record]) -> Option<f64> {
    let counted = |row: &Record| Some(row.counters.as_ref()?.launch.efficiency());
    let alike = || {
        simulated.iter().find(|other| {
            other.kernel == row.kernel
                && other.parameters.swept == row.parameters.swept
                && other.parameters.precision == row.parameters.precision
        })
    };
    counted(row).or_else(|| counted(alike()?)).or_else(|| by_addresses(row))
}

/// The same of a warp whose lanes start `offset` elements late, or lie `stride` elements apart, in sectors of 32 bytes.
fn by_addresses(row: &Record) -> Option<f64> {
    let size = row.parameters.precision.map(Precision::size)?;
    let (start, step) = match (number(row, "offset"), number(row, "stride")) {
        (Some(offset), _) => (offset as u64, 1),
        (None, Some(stride)) => (0, stride as u64),
        (None, None) => return None,
    };
    let touched: BTreeSet<u64> = (0..LANES).map(|lane| (start + lane * step) * size / SECTOR_BYTES).collect();
    Some((LANES * size) as f64 / (touched.len() as u64 * SECTOR_BYTES) as f64)
}

/// The rates that sectors predict for a series, from the rate of its most efficient row on.
pub(super) fn expected(points: &[(f64, &Record)], simulated: &[Record]) -> Vec<(f64, f64)> {
    let known: Vec<(f64, f64, f64)> =
        points.iter().filter_map(|(x, row)| Some((*x, efficiency(row, simulated)?, row.gb_per_s?))).collect();
    let best = known.iter().map(|(_, efficiency, _)| *efficiency).fold(0.0, f64::max);
    let Some((_, _, rate)) = known.iter().find(|(_, efficiency, _)| *efficiency == best) else {
        return Vec::new();
    };
    known.iter().map(|(x, efficiency, _)| (*x, rate * efficiency / best)).collect()
}
