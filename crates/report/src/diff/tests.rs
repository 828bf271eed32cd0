use super::*;
use crate::testing::{c870, h200};
use record::{BytesMoved, Method, Precision, Residence, SCHEMA, Times, Timing};

/// A row of `offset` measured on an H200; without a time it is INVALID.
pub(crate) fn row(offset: u32, milliseconds: Option<f64>) -> Record {
    let parameters = Parameters {
        precision: Some(Precision::F32),
        block: Some([256, 1, 1].into()),
        ..Parameters::of_bytes(256 << 20)
    };
    Record {
        schema: SCHEMA.to_string(),
        experiment: "offset".to_string(),
        kernel: "offset_f32".to_string(),
        language: Language::Rust,
        backend: Backend::Measured,
        device: h200(),
        ptx: None,
        parameters: parameters.swept("offset", offset),
        bytes: BytesMoved { read: 256 << 20, written: 256 << 20, footprint: 512 << 20 },
        residence: Residence::Dram,
        samples_ms: Vec::new(),
        time_ms: milliseconds.map(|ms| Times { median: ms, min: ms, max: ms, samples: 1, interval: None }),
        gb_per_s: None,
        percent_of_peak: None,
        percent_of_copy: None,
        gflop_per_s: None,
        arithmetic_intensity: None,
        operations: None,
        ns_per_operation: None,
        gop_per_s: None,
        explanation: None,
        observed: BTreeMap::new(),
        verified: milliseconds.is_some(),
        note: None,
        timing: Timing { method: Method::Launches, launches_per_sample: 11, load: None },
        peak: None,
        copy: None,
        ratio_to_reference: None,
        ratio_range: None,
        reference: None,
        conditions: None,
        counters: None,
        origin: None,
    }
}

/// The row on a simulated C870.
fn modelled(offset: u32, milliseconds: f64) -> Record {
    Record { backend: Backend::Modelled, device: c870(), ..row(offset, Some(milliseconds)) }
}

/// A row of `offset` with eleven samples, from 1% below to 1% above a time.
fn sampled(offset: u32, milliseconds: f64) -> Record {
    let samples: Vec<f64> = (-5..=5).map(|step| milliseconds * (1.0 + 0.002 * f64::from(step))).collect();
    Record { time_ms: Times::of(&samples), samples_ms: samples, ..row(offset, Some(milliseconds)) }
}

fn run(records: Vec<Record>) -> (Run, Vec<Record>) {
    (Run::of(&records).expect("there are records"), records)
}

fn changes<'r>(a: &'r (Run, Vec<Record>), b: &'r (Run, Vec<Record>)) -> Comparison<'r> {
    Comparison::of(Side::new("before", a), Side::new("after", b))
}

fn before() -> (Run, Vec<Record>) {
    let invalid = |offset| row(offset, None);
    let mut rows: Vec<Record> = (0..7).map(|offset| sampled(offset, 0.2)).collect();
    rows.extend([invalid(7), sampled(8, 0.2), invalid(9)]);
    run(rows)
}

fn after() -> (Run, Vec<Record>) {
    let invalid = |offset| row(offset, None);
    let few = Record { samples_ms: vec![0.3], time_ms: Times::of(&[0.3]), ..sampled(5, 0.3) };
    // Offsets 0 and 8 as before, 1 slower by little, 2 by much, 3 faster, 4 wrong, 5 with a sample only, 6 gone.
    let times = [(0, 0.2), (1, 0.21), (2, 0.4), (3, 0.1)];
    let mut rows: Vec<Record> = times.into_iter().map(|(offset, time)| sampled(offset, time)).collect();
    rows.extend([invalid(4), few, sampled(7, 0.2), sampled(8, 0.2002), invalid(9), sampled(32, 0.2)]);
    run(rows)
}

#[test]
fn each_row_is_judged_by_its_interval_and_the_worst_comes_first() {
    let (a, b) = (before(), after());
    let comparison = changes(&a, &b);
    let judged: Vec<(Change, &str)> =
        comparison.rows.iter().map(|row| (row.change, row.label.as_str())).collect();
    assert_eq!(
        judged,
        [
            (Change::Broken, "offset_f32 4"),
            (Change::Slower, "offset_f32 2"),
            (Change::Slower, "offset_f32 1"),
            (Change::Faster, "offset_f32 3"),
            (Change::Unclear, "offset_f32 5"),
            (Change::Invalid, "offset_f32 9"),
            (Change::Mended, "offset_f32 7"),
            (Change::Same, "offset_f32 8"),
            (Change::Same, "offset_f32 0"),
            (Change::New, "offset_f32 32"),
            (Change::Gone, "offset_f32 6"),
        ]
    );
    // The second smallest and the second largest of eleven samples are 0.8% from the median.
    let slower = &comparison.rows[2];
    let [low, high] = slower.ratio_range.expect("eleven samples of both");
    assert!((low - 1.05 * 0.992 / 1.008).abs() < 1e-12 && (high - 1.05 * 1.008 / 0.992).abs() < 1e-12);
    assert_eq!((slower.certain(), comparison.rows[4].ratio_range), (low, None));
    assert_eq!((comparison.shared(), comparison.count(Change::Slower)), (9, 2));
}

#[test]
fn a_threshold_counts_what_is_certain_and_what_is_wrong() {
    let (a, b) = (before(), after());
    let comparison = changes(&a, &b);
    let labels = |threshold| -> Vec<&str> {
        comparison.slower_by(threshold).iter().map(|row| row.label.rsplit(' ').next().unwrap_or("")).collect()
    };
    // Offset 1 is slower by 5%, of which 3.3% are certain.
    assert_eq!(labels(0.03), ["4", "2", "1"]);
    assert_eq!(labels(0.04), ["4", "2"]);
    assert_eq!(labels(1.0), ["4"]);
    let same = changes(&a, &a);
    assert!(same.slower_by(0.0).is_empty());
    assert_eq!(same.counts, [(Change::Invalid, 2), (Change::Same, 8)].into());
}

#[test]
fn a_screen_says_it_all() {
    let (a, b) = (before(), after());
    let comparison = changes(&a, &b);
    let text = comparison.text(false);
    assert_eq!(
        text,
        "\
A  before: NVIDIA H200 (cuda:0), measured, driver for CUDA 13.0, 10 rows
B  after: NVIDIA H200 (cuda:0), measured, driver for CUDA 13.0, 10 rows

                    A ms      B ms     B/A  95% interval
INVALID in B, verified in A
  offset_f32 4    0.2000   INVALID
slower in B
  offset_f32 2    0.2000    0.4000   2.000  1.968 to 2.032
  offset_f32 1    0.2000    0.2100   1.050  1.033 to 1.067
faster in B
  offset_f32 3    0.2000    0.1000   0.500  0.492 to 0.508
unclear: the interval contains 1 and exceeds 2% on one side, or there is none
  offset_f32 5    0.2000    0.3000   1.500
INVALID in both
  offset_f32 9   INVALID   INVALID
INVALID in A, verified in B
  offset_f32 7   INVALID    0.2000
new in B: offset_f32 32
missing in B: offset_f32 6

9 rows in both runs: 1 no longer verified, 2 slower, 1 faster, 2 the same within
2%, 1 unclear, 1 INVALID in both, 1 verified again, 1 new, 1 gone.
"
    );
    assert!(comparison.text(true).contains("the same within 2%\n  offset_f32 8"), "all rows were wanted");
}

#[test]
fn many_changes_are_cut_short() {
    let a = run((0..33).map(|offset| sampled(offset, 0.2)).collect());
    let b = run((0..33).map(|offset| sampled(offset, 0.3)).collect());
    let comparison = changes(&a, &b);
    let text = comparison.text(false);
    assert!(text.contains("  ... and 27 more (-v shows them)\n") && text.lines().count() < 24, "{text}");
    assert_eq!(comparison.text(true).matches("1.500").count(), 33);
}

#[test]
fn a_model_is_held_against_a_gpu_without_certainty() {
    let a = run((0..4).map(|offset| sampled(offset, 0.2)).collect());
    let times = [0.2, 0.22, 0.16, 0.21];
    let b = run((0..4).zip(times).map(|(offset, time)| modelled(offset, time)).collect());
    let comparison = changes(&a, &b);
    assert_eq!(comparison.counts, [(Change::Modelled, 4)].into());
    assert_eq!(comparison.rows[0].label, "offset_f32 2");
    assert!(comparison.rows.iter().all(|row| row.ratio_range.is_none()));
    assert!(comparison.slower_by(0.0).is_empty());
    let [middle, most] = comparison.model_error().expect("there are rows of both kinds");
    assert!((middle - 0.075).abs() < 1e-9 && (most - 0.2).abs() < 1e-9, "{middle} {most}");
    assert_eq!(
        comparison.differences(),
        [
            "B is modelled and A measured: B/A tells how far the model is off, not what changed.",
            "The cards differ."
        ]
    );
    let text = comparison.text(false);
    let sentence = " The model's times are off by\n7.5% in the median, 90% of them by at most 20.0%.\n";
    assert!(text.ends_with(sentence), "{text}");
}

#[test]
fn a_burst_is_not_a_sustained_load() {
    let loaded = |load| {
        let mut row = sampled(0, 0.2);
        row.timing.load = load;
        run(vec![row])
    };
    let (old, burst, sustained) = (loaded(None), loaded(Some(Load::Burst)), loaded(Some(Load::Sustained)));
    let said = ["B was measured in bursts and A at sustained load: clocks and temperature differ."];
    assert_eq!(changes(&sustained, &burst).differences(), said);
    assert!(
        changes(&burst, &burst).differences().is_empty()
            && changes(&old, &sustained).differences().is_empty()
    );
    assert!(changes(&sustained, &burst).json().is_ok_and(|json| json.contains(r#""load":"burst""#)));
}

#[test]
fn two_models_are_compared_exactly() {
    let run = |time| run(vec![modelled(3, time)]);
    let (a, b) = (run(0.2), run(0.2002));
    assert_eq!(changes(&a, &b).counts, [(Change::Slower, 1)].into());
    assert_eq!(changes(&b, &a).counts, [(Change::Faster, 1)].into());
    assert_eq!(changes(&a, &a).counts, [(Change::Same, 1)].into());
    assert_eq!(changes(&a, &b).slower_by(0.01).len(), 0);
}

/// Times may be a tenth off: 1.15 times as long is within that, 1.3 times is not, and the same time is the same.
#[test]
fn modelled_times_differ_where_their_intervals_do_not_overlap() {
    let doubted = |offset: u32, milliseconds: f64| {
        let interval = Some([0.9 * milliseconds, 1.1 * milliseconds]);
        let row = modelled(offset, milliseconds);
        Record { time_ms: row.time_ms.map(|times| Times { interval, ..times }), ..row }
    };
    let run_of =
        |times: [f64; 4]| run((0..4).zip(times).map(|(offset, time)| doubted(offset, time)).collect());
    let (a, b) = (run_of([1.0; 4]), run_of([1.15, 1.3, 1.0, 0.95]));
    let comparison = changes(&a, &b);
    let found: Vec<(Change, Option<f64>)> =
        comparison.rows.iter().map(|row| (row.change, row.ratio)).collect();
    let expected =
        [(Change::Slower, 1.3), (Change::Doubtful, 1.15), (Change::Doubtful, 0.95), (Change::Same, 1.0)];
    assert_eq!(found, expected.map(|(change, ratio)| (change, Some(ratio))));
    assert_eq!((comparison.slower_by(0.1).len(), comparison.slower_by(0.2).len()), (2, 1));
    let text = comparison.text(false);
    assert!(text.contains("modelled times that differ by less than the model's doubt\n"), "{text}");
    assert!(text.contains("1 slower, 2 within the model's doubt, 1 the same within 2%"), "{text}");
}

#[test]
fn rows_match_by_what_the_user_chose() {
    let a = sampled(3, 0.2);
    let grid = Record {
        parameters: Parameters { grid: Some([7, 1, 1].into()), ..a.parameters.clone() },
        ..a.clone()
    };
    let sized = Record { parameters: Parameters { bytes: 1 << 20, ..a.parameters.clone() }, ..a.clone() };
    let twin = Record { language: Language::CudaCpp, ..a.clone() };
    let a = run(vec![a]);
    assert_eq!(changes(&a, &run(vec![grid])).shared(), 1, "the grid follows the card");
    assert_eq!(changes(&a, &run(vec![twin.clone()])).shared(), 0);
    let b = run(vec![sized, twin]);
    let comparison = changes(&a, &b);
    assert_eq!(comparison.counts, [(Change::New, 2), (Change::Gone, 1)].into());
    let labels: Vec<&str> = comparison.rows.iter().map(|row| row.label.as_str()).collect();
    assert_eq!(labels, ["offset_f32 3 1 MiB", "offset_f32 3 256 MiB (C++)", "offset_f32 3 256 MiB"]);
}

#[test]
fn programs_and_pages_get_the_same_figures() {
    let (a, b) = (before(), after());
    let comparison = changes(&a, &b);
    let json: serde_json::Value =
        serde_json::from_str(&comparison.json().expect("it is JSON")).expect("it is JSON");
    assert_eq!((&json["schema"], &json["counts"]["slower"]), (&"coalesce.diff/1".into(), &2.into()));
    assert_eq!((&json["a"]["name"], &json["b"]["rows"]), (&"before".into(), &10.into()));
    let row = &json["rows"][1];
    assert_eq!((&row["change"], &row["parameters"]["offset"]), (&"slower".into(), &2.into()));
    assert_eq!((&row["ms_a"], &row["ratio"]), (&0.2.into(), &2.0.into()));

    let mut b = b;
    b.1[0].kernel = "<offset>".to_string();
    let html = changes(&a, &b).html();
    assert!(html.starts_with("<section id=\"diff\"") && html.ends_with("</section>\n"));
    assert_eq!(html.matches("<tr data-experiment=\"offset\"").count(), 12);
    assert!(
        html.contains("data-ratio=\"2\"><th scope=\"row\">offset_f32 2</th><td>0.2000</td><td>0.4000</td>")
    );
    assert!(html.contains("&lt;offset&gt; 0") && !html.contains("<offset>"));
    let balanced =
        |tag: &str| html.matches(&format!("<{tag}")).count() == html.matches(&format!("</{tag}>")).count();
    assert!(["section", "table", "tbody", "tr", "details", "p"].into_iter().all(balanced), "{html}");
}
