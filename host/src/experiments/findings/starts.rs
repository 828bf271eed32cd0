//! The finding of `launch`.

use super::{is_handed, number, of_operations, sentence};
use record::Record;

/// The time of an empty launch by the way it is handed over, of each block, and of parameters.
pub(in super::super) fn launch(rows: &[&Record]) -> Option<String> {
    let rows = of_operations(rows);
    let us = |row: &Record| row.figure();
    let of = |kernel: &str, handed: &str| -> Vec<&Record> {
        rows.iter().copied().filter(|row| row.kernel == kernel && is_handed(row, handed)).collect()
    };
    let one = |kernel: &str, handed: &str| {
        of(kernel, handed).into_iter().find(|row| number(row, "blocks") == Some(1)).and_then(us)
    };
    let empty = one("launch_empty", "graph").map(|graph| match one("launch_empty", "calls") {
        Some(calls) => format!("an empty launch takes {calls:.2} us by calls and {graph:.2} us in a graph"),
        // The model has no time of calls.
        None => format!("an empty launch takes {graph:.2} us in a graph"),
    });
    let dependent = one("launch_dependent", "overlapping calls").zip(one("launch_dependent", "calls"));
    let dependent = dependent.map(|(overlapping, calls)| {
        format!("a dependent launch takes {overlapping:.2} us, and {calls:.2} us without overlap")
    });
    // The two largest grids of one block: there the blocks take the time.
    let mut grids = of("launch_empty", "graph");
    let threads = grids.iter().filter_map(|row| number(row, "threads")).max();
    grids.retain(|row| number(row, "threads") == threads);
    grids.sort_by_key(|row| number(row, "blocks"));
    let each = match &grids[..] {
        [.., few, many] => number(many, "blocks").zip(number(few, "blocks")).and_then(|(more, less)| {
            let us = us(many)? - us(few)?;
            let rate = (more - less) as f64 / us;
            (us > 0.0).then(|| {
                format!("blocks of {} threads start at {rate:.0} per us", threads.unwrap_or_default())
            })
        }),
        _ => None,
    };
    let of_bytes = |bytes: u64| {
        rows.iter()
            .copied()
            .find(|row| number(row, "parameter_bytes") == Some(bytes) && is_handed(row, "calls"))
            .and_then(us)
    };
    let parameters = of_bytes(4080).zip(of_bytes(64)).map(|(many, few)| {
        format!("4080 bytes of parameters take {many:.2} us by calls, where 64 take {few:.2}")
    });
    sentence([empty, dependent, each, parameters])
}
