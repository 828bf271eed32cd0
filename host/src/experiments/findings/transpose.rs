//! The finding of `transpose`.

use super::{doubt, fastest, largest, of, of_copy, sentence, speedup};
use record::{Record, counters::SharedCounts};

/// The best transpose beside the naive one, and the gain from padding a tile.
pub(in super::super) fn transpose(rows: &[&Record]) -> Option<String> {
    let rows = largest(rows);
    let turned = rows.iter().copied().filter(|row| !row.kernel.starts_with("copy_"));
    let best = fastest(turned).zip(of(&rows, "naive_row")).and_then(|(best, naive)| {
        let naive = format!("naive_row at {}{}", of_copy(naive)?, doubt(best, naive));
        Some(format!("{} transposes at {} of the copy's bandwidth, {naive}", best.kernel, of_copy(best)?))
    });
    let padded = of(&rows, "tile").zip(of(&rows, "tile_padded")).map(|(tile, padded)| {
        let (times, doubt) = (speedup(padded, tile), doubt(padded, tile));
        let faster = format!("makes the tile {times:.1} times as fast{doubt}");
        match (ways(tile), ways(padded)) {
            (Some(before), Some(after)) if after < 1.05 => {
                format!("padding by one word turns {before:.0}-way bank conflicts into none and {faster}")
            }
            _ => format!("padding by one word {faster}"),
        }
    });
    sentence([best, padded])
}

/// The ways of bank conflict where they are worst, in loads or in stores.
fn ways(row: &Record) -> Option<f64> {
    let total = &row.counters.as_deref()?.launch.total;
    Some([total.shared_loads, total.shared_stores].iter().map(SharedCounts::ways).fold(1.0, f64::max))
}
