//! The end of a run of several experiments: what was best, what was worst, what to look at next.

#[path = "support/without_driver.rs"]
mod without_driver;

use without_driver::coalesce;

/// What the program prints on standard output and on standard error, on a simulated H200; it has to succeed.
fn printed(arguments: &[&str]) -> [String; 2] {
    let output = coalesce(arguments).args(["--device", "sim:h200"]).output().expect("the program starts");
    let texts = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success(), "{arguments:?}: {texts:?}");
    texts
}

#[test]
fn several_experiments_end_with_a_summary_on_stderr() {
    let arguments =
        ["run", "offset", "stride", "storage", "--precision", "f32", "--range", "1,8", "--bytes", "1MiB"];
    let [out, err] = printed(&arguments);
    assert!(!out.contains("summary"), "the tables are data, the summary is not: {out}");
    let of = |name: &str| {
        let line =
            err.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name} in {err}"));
        line.split_whitespace().map(str::to_string).collect::<Vec<_>>()
    };
    assert_eq!(of("offset")[..4], ["offset", "2", "offset_f32", "8"]);
    assert_eq!(of("stride")[..4], ["stride", "2", "stride_f32", "1"]);
    assert_eq!(of("stride")[5..8], ["GB/s", "stride_f32", "8"]);
    assert_eq!(of("storage")[1], "6");
    assert!(err.contains("All 10 rows verified, every element of them; modelled for NVIDIA H200."), "{err}");
    assert!(err.contains("Next: stride_f32 8 gets "), "{err}");
    assert!(err.lines().count() <= 12 && err.lines().all(|line| line.chars().count() <= 100), "{err}");
}

#[test]
fn one_experiment_ends_without() {
    assert_eq!(printed(&["run", "storage"])[1], "");
}
