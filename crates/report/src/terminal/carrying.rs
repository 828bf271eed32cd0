//! The few rows of a table that carry what it shows.

use super::{series::Series, table::unique};
use record::Record;

/// The most rows that are shown of an experiment, or values of a swept parameter.
pub(super) const MOST: usize = 8;

/// A step between two points is a jump where it is at least this part of the highest rate.
const JUMP: f64 = 0.05;

/// Of each curve the first row and the last, the best and the worst, and both sides of its greatest jumps: as many of them as
/// [`MOST`] rows of a table hold, of all curves alike. `key` tells in which row of the table a record is.
pub(super) fn carrying<K: PartialEq>(series: &[Series<'_>], key: impl Fn(&Record) -> K) -> Vec<K> {
    let telling: Vec<Vec<&Record>> = series.iter().map(telling).collect();
    let longest = telling.iter().map(Vec::len).max().unwrap_or(0);
    let interleaved = (0..longest).flat_map(|place| telling.iter().filter_map(move |rows| rows.get(place)));
    let mut keys = unique(interleaved.map(|row| key(row)));
    keys.truncate(MOST);
    keys
}

/// The rows of a curve that say most, those that say more first.
fn telling<'r>(series: &Series<'r>) -> Vec<&'r Record> {
    let rated: Vec<(&Record, f64)> = series.rated().collect();
    let highest = rated.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let by_rate = |one: &&(&Record, f64), other: &&(&Record, f64)| one.1.total_cmp(&other.1);
    let ends =
        [rated.first(), rated.last(), rated.iter().rev().max_by(by_rate), rated.iter().min_by(by_rate)];
    let mut jumps: Vec<&[(&Record, f64)]> = rated.windows(2).collect();
    let height = |pair: &[(&Record, f64)]| (pair[1].1 - pair[0].1).abs();
    jumps.retain(|pair| height(pair) >= JUMP * highest);
    jumps.sort_by(|one, other| height(other).total_cmp(&height(one)));
    let sides = jumps.into_iter().flatten();
    ends.into_iter().flatten().chain(sides).map(|(row, _)| *row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::setting::tests::row;
    use record::Precision;

    fn offsets(rates: &[f64]) -> Vec<u64> {
        let rows: Vec<Record> =
            (0..).zip(rates).map(|(offset, rate)| row(offset, Precision::F32, Some(1.0 / rate))).collect();
        let series = [Series { label: String::new(), rows: rows.iter().collect() }];
        carrying(&series, |row| row.parameters.swept.as_ref().map_or(0, |swept| swept.value))
    }

    #[test]
    fn ends_extremes_and_jumps_are_told() {
        assert_eq!(offsets(&[4.0, 4.0, 4.1, 3.0, 3.1, 3.1, 2.9, 3.0, 4.2, 4.0]), [0, 9, 8, 6, 7, 2, 3]);
        assert_eq!(offsets(&[4.0, 4.0, 4.0]), [0, 2]);
        assert_eq!(offsets(&[]), [0u64; 0]);
    }
}
