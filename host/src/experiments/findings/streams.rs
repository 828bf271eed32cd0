//! The finding of `streams`.

use super::{is_handed, number, of_operations, sentence};
use record::Record;

/// What streams gain: for launches of one block in a graph and by calls, and for launches with a block on each multiprocessor.
pub(in super::super) fn streams(rows: &[&Record]) -> Option<String> {
    let rows = of_operations(rows);
    // The time of a launch on one stream, on the most, and how many those are.
    let gain = |handed: &str, small: bool| {
        let is_of = |row: &&Record| {
            is_handed(row, handed) && number(row, "blocks").is_some_and(|blocks| (blocks == 1) == small)
        };
        let of: Vec<&Record> = rows.iter().copied().filter(is_of).collect();
        let one = of.iter().find(|row| number(row, "streams") == Some(1))?.figure()?;
        let most = of.iter().max_by_key(|row| number(row, "streams"))?;
        Some((one, most.figure()?, number(most, "streams").filter(|streams| *streams > 1)?))
    };
    let graph = gain("graph", true).map(|(one, most, streams)| {
        format!("launches of one block take {one:.2} us each on one stream and {most:.2} us on {streams}, in a graph")
    });
    let calls =
        gain("calls", true).map(|(_, most, streams)| format!("by calls on {streams} streams {most:.2} us"));
    let wide = gain("graph", false).map(|(one, most, _)| {
        format!("with a block on each multiprocessor, streams gain a factor of {:.1}", one / most)
    });
    sentence([graph, calls, wide])
}
