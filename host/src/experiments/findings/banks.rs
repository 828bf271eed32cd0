//! The finding of `banks`.

use super::{doubt, number, sentence, timed};
use record::Record;

/// The price of neighbouring lanes, of the worst stride, and of the widest access.
pub(in super::super) fn banks(rows: &[&Record]) -> Option<String> {
    let rows = timed(rows);
    let of = |width: u64, stride: u64| {
        rows.iter().copied().find(|row| {
            number(row, "width") == Some(width)
                && row.parameters.swept.as_ref().map(|swept| swept.value) == Some(stride)
        })
    };
    let (neighbours, figure) = (of(4, 1)?, |row: &Record| row.figure());
    let cycles = neighbours.cycles().map(|cycles| format!(" ({cycles:.1} cycles)")).unwrap_or_default();
    let least = figure(neighbours)?;
    let times = |row: Option<&Record>| Some((figure(row?)? / least, doubt(row?, neighbours)));
    let conflict = times(of(4, 32)).map(|(times, doubt)| {
        format!("a stride of 32 takes {times:.0} times as long{doubt}, for its lanes share a bank")
    });
    let odd = times(of(4, 3)).filter(|(times, _)| *times < 1.2);
    let odd = odd.map(|_| "odd strides cost nothing".to_string());
    let wide = times(of(16, 1)).map(|(times, doubt)| {
        format!("16 bytes per lane take {times:.1} times as long{doubt} for four times the bytes")
    });
    sentence([
        Some(format!("an access of neighbouring lanes occupies shared memory for {least:.2} ns{cycles}")),
        conflict,
        odd,
        wide,
    ])
}
