//! The finding of `layout`.

use super::{doubt, of, sentence, speedup, timed};
use record::Record;

/// What one field of an array of structures costs, and what alignment is worth where all fields are updated.
pub(in super::super) fn layout(rows: &[&Record]) -> Option<String> {
    let rows = timed(rows);
    let pair = |fast, slow| {
        let (fast, slow) = (of(&rows, fast)?, of(&rows, slow)?);
        Some((speedup(fast, slow), doubt(fast, slow)))
    };
    let one = pair("layout_soa3_one", "layout_aos3_one").map(|(times, doubt)| {
        format!(
            "one field of three is updated {times:.1} times as fast in an array of its own as among structures{doubt}"
        )
    });
    let all = pair("layout_soa3_all", "layout_aos3_all")
        .map(|(times, doubt)| format!("all three fields together {times:.2} times as fast{doubt}"));
    let vector = pair("layout_vector_all", "layout_aos4_all").map(|(times, doubt)| {
        format!("structures of four as vectors {times:.2} times as fast as by scalars{doubt}")
    });
    sentence([one, all, vector])
}
