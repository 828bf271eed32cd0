//! The end of a run of several experiments: what was best, what was worst, what to look at next.

use crate::support::coalesce;

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
    let line = |name: &str| {
        err.lines()
            .find(|line| line.starts_with(name))
            .unwrap_or_else(|| panic!("no {name} in {err}"))
            .to_string()
    };
    assert_eq!(line("summary"), "summary, modelled for NVIDIA H200");
    assert!(line("stride ").starts_with("stride   "), "{err}");
    assert!(line("storage ").starts_with("storage  "), "{err}");
    assert!(err.contains("\nAll 10 rows verified, every element of every result.\n"), "{err}");
    assert!(err.contains("\nNext: stride_f32 8 reaches "), "{err}");
    assert!(err.lines().count() <= 16, "{err}");
    let (last, others) = err.trim_end().rsplit_once('\n').map_or(("", ""), |(others, last)| (last, others));
    assert!(others.lines().all(|line| line.chars().count() <= 80), "{err}");
    assert!(last.starts_with("report  ") && last.ends_with("report.html"), "{err}");
}

#[test]
fn one_experiment_ends_with_its_report_alone() {
    let [_, err] = printed(&["run", "storage"]);
    assert!(
        err.starts_with("report  ") && err.ends_with("report.html\n") && err.lines().count() == 1,
        "{err}"
    );
}
