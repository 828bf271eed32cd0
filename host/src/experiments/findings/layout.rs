//! The finding of `layout`.

use super::{of, sentence, speedup, timed};
use record::Record;

/// What one field of an array of structures costs, and what alignment is worth where all fields are updated.
pub(in super::super) fn layout(rows: &[&Record]) -> Option<String> {
    let rows = timed(rows);
    let pair = |fast, slow| Some(speedup(of(&rows, fast)?, of(&rows, slow)?));
    let one = pair("layout_soa3_one", "layout_aos3_one").map(|times| {
        format!("one field of three is updated {times:.1} times as fast in an array of its own as among structures")
    });
    let all = pair("layout_soa3_all", "layout_aos3_all")
        .map(|times| format!("all three fields together {times:.2} times as fast"));
    let vector = pair("layout_vector_all", "layout_aos4_all")
        .map(|times| format!("structures of four as vectors {times:.2} times as fast as by scalars"));
    sentence([one, all, vector])
}
