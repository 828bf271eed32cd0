//! Constant memory on a simulated card: one word for the warp, or one after the other.

use crate::support::records::{number, records, refusal};

#[test]
fn each_word_more_is_a_replay_more() {
    let records = records(&["constant", "--small", "--kernel", "constant_broadcast", "--width", "1,2,32"]);
    for (record, distinct) in records.iter().zip([1.0, 2.0, 32.0]) {
        assert_eq!(number(record, "parameters.distinct"), distinct);
        let constant = &record["counters"]["total"]["constant"];
        let (requests, replays) =
            (constant["requests"].as_f64(), constant["replays"].as_f64().unwrap_or(0.0));
        // A request for each of 1024 steps of each warp.
        assert_eq!(requests, Some(1024.0 * number(record, "parameters.elements") / 32.0), "{record}");
        assert_eq!(replays, (distinct - 1.0) * requests.unwrap_or(0.0), "{record}");
    }
    // Of so short a launch most is its start; what the requests take of it grows with the replays.
    let busy = |nth: usize| {
        let part = |name: &str| number(&records[nth], &format!("counters.modelled_us.{name}"));
        part("on_chip") + part("issue")
    };
    assert!(busy(1) > busy(0) && busy(2) > 8.0 * busy(1), "{:?}", [0, 1, 2].map(busy));
}

#[test]
fn the_read_only_path_serves_a_line_at_once() {
    let records = records(&["constant", "--small", "--kernel", "read_only_broadcast", "--width", "1,32"]);
    let rates: Vec<f64> = records.iter().map(|record| number(record, "gb_per_s")).collect();
    assert!(rates[1] > 0.5 * rates[0], "{rates:?}");
    for record in &records {
        assert!(record["counters"]["total"]["constant"]["replays"].as_f64().unwrap_or(0.0) == 0.0);
    }
}

#[test]
fn lanes_share_a_power_of_two_of_words() {
    for width in ["3", "64", "1,2,5"] {
        let error = refusal(&["constant", "--width", width]);
        assert!(error.contains("1, 2, 4, 8, 16 or 32 different words"), "{error}");
    }
    let error = refusal(&["constant", "--width", "0"]);
    assert!(error.contains("'0' is not a whole number"), "{error}");
}
