//! The finding of `gather`.

use super::{doubt, fastest, largest, percent, rate, sentence, speedup};
use record::Record;

/// The share of the sorted rate that random indices leave, and the smallest block that is nearly as fast as sorted ones.
pub(in super::super) fn gather(rows: &[&Record]) -> Option<String> {
    let rows = largest(rows);
    let at = |kernel: &str, order: &str| {
        let has_order = |row: &&Record| row.parameters.more.get("order").is_some_and(|found| found == order);
        fastest(rows.iter().copied().filter(|row| row.kernel == kernel).filter(has_order))
    };
    let left = |kernel| {
        let (random, sorted) = (at(kernel, "random")?, at(kernel, "sorted")?);
        Some((rate(random) / rate(sorted), doubt(random, sorted)))
    };
    let random = |kernel, verb: &str| {
        left(kernel).map(|(share, doubt)| {
            format!("at random indices {verb} {} of its rate in order{doubt}", percent(share))
        })
    };
    let blocks = ["blocks of 32 B", "blocks of 128 B", "blocks of 4096 B"];
    let enough = at("gather", "sorted").and_then(|sorted| {
        let near = |order: &&&str| at("gather", order).is_some_and(|row| speedup(row, sorted) >= 0.95);
        blocks.iter().find(near).map(|order| format!("{order} are within 5% of sorted indices"))
    });
    let plain = at("scatter", "random").zip(at("scatter_unchecked", "random")).map(|(safe, plain)| {
        let (times, doubt) = (speedup(plain, safe), doubt(plain, safe));
        format!("relaxed stores take {times:.2} times as long as plain ones{doubt}")
    });
    sentence([random("gather", "a gather keeps"), random("scatter", "a scatter keeps"), enough, plain])
}
