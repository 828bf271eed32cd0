//! The finding of `constant`.

use super::{doubt, number, rate, sentence, timed};
use record::Record;

/// The slowdown of a request that asks for several words.
pub(in super::super) fn constant(rows: &[&Record]) -> Option<String> {
    let rows = timed(rows);
    let distinct = |row: &Record| number(row, "distinct");
    let most = rows.iter().filter_map(|row| distinct(row)).max().filter(|most| *most > 1)?;
    let slower = |kernel: &str| {
        let of =
            |words| rows.iter().copied().find(|row| row.kernel == kernel && distinct(row) == Some(words));
        let (one, many) = (of(1)?, of(most)?);
        Some((rate(one) / rate(many), doubt(one, many)))
    };
    let constant = slower("constant_broadcast").map(|(times, doubt)| {
        format!(
            "for {most} different words per request constant memory takes {times:.1} times as long as for one{doubt}"
        )
    });
    let read_only = slower("read_only_broadcast").map(|(times, doubt)| match times {
        ..1.05 => "the read-only path takes no longer".to_string(),
        times => format!("the read-only path takes {times:.1} times as long{doubt}"),
    });
    let clauses: Vec<String> = constant.into_iter().chain(read_only).collect();
    sentence([Some(clauses.join(", ")).filter(|text| !text.is_empty())])
}
