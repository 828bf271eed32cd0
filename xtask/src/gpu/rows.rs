//! Checks records: one JSON object per line, as `coalesce run --format json` prints them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// The number of rows of an experiment per precision, in a full and a quick run, where its sweep fixes it. Full sweeps
/// are offsets from 0 to 32 and strides from 1 to 32.
const ROWS_PER_PRECISION: [(&str, [usize; 2]); 2] = [("offset", [33, 8]), ("stride", [32, 7])];

/// A requirement on rows, besides verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// From a GPU, with times.
    Measured,
    /// From a simulated card, with times.
    Modelled,
    /// From a GPU, launched once and not timed.
    Once,
}

/// Every row was measured, verified and has a rate; every experiment is there with all of its points.
pub(crate) fn check(text: &str, experiments: &[Experiment], precision: &str) -> Result<String> {
    check_of(Kind::Measured, text, experiments, precision)
}

/// The same of rows of this kind.
pub(crate) fn check_of(
    kind: Kind,
    text: &str,
    experiments: &[Experiment],
    precision: &str,
) -> Result<String> {
    let backend = if kind == Kind::Modelled { "modelled" } else { "measured" };
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut kernels = BTreeSet::new();
    for (number, line) in text.lines().enumerate() {
        let row: Value =
            serde_json::from_str(line).with_context(|| format!("line {} is not JSON: {line}", number + 1))?;
        let experiment = row["experiment"].as_str().with_context(|| format!("no experiment in {line}"))?;
        let kernel = row["kernel"].as_str().with_context(|| format!("no kernel in {line}"))?;
        let _ = kernels.insert(kernel.to_owned());
        ensure!(row["verified"] == true, "not verified: {line}");
        ensure!(row["backend"] == backend, "not {backend}: {line}");
        for bytes in ["read", "written", "footprint"] {
            ensure!(row["bytes"][bytes].as_u64().is_some(), "no bytes {bytes}: {line}");
        }
        if kind == Kind::Once {
            ensure!(row["timing"]["method"] == "once", "launched more than once: {line}");
        } else {
            check_times(&row, line)?;
        }
        *counts.entry(experiment.to_owned()).or_default() += 1;
    }
    let required = |experiment: &&Experiment| !experiment.kernels.is_empty();
    let is_missing = |experiment: &&Experiment| !counts.contains_key(&experiment.name);
    if let Some(missing) = experiments.iter().filter(required).find(is_missing) {
        bail!("no row of {}; there are {counts:?}", missing.name);
    }
    if let Some(unknown) = counts.keys().find(|name| experiments.iter().all(|known| known.name != **name)) {
        bail!("rows of {unknown}, which `coalesce list` does not name");
    }
    // A single precision leaves out the other's kernels.
    let listed = experiments.iter().flat_map(|experiment| &experiment.kernels);
    if let (Some(missing), "both") = (listed.into_iter().find(|kernel| !kernels.contains(*kernel)), precision)
    {
        bail!("no row of the kernel {missing}");
    }
    let precisions = if precision == "both" { 2 } else { 1 };
    for (experiment, [all, quick]) in ROWS_PER_PRECISION {
        if !experiments.iter().any(|known| known.name == experiment) {
            continue;
        }
        let found = counts.get(experiment).copied().unwrap_or(0);
        let (all, quick) = (all * precisions, quick * precisions);
        ensure!(
            [all, quick].contains(&found),
            "{experiment} has {found} rows, not {all}, nor {quick} as a quick run has"
        );
    }
    Ok(counts.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
        + " rows, all verified")
}

/// A row has a rate, and times in their order; or it says what the model does not know of it.
fn check_times(row: &Value, line: &str) -> Result<()> {
    if row["backend"] == "modelled"
        && row["note"].as_str().is_some_and(|note| note.starts_with("no modelled time: "))
    {
        return Ok(());
    }
    // Rows of counted operations may move no bytes.
    let figures = ["gb_per_s", "ns_per_operation", "gop_per_s"].map(|name| row[name].as_f64().unwrap_or(0.0));
    ensure!(figures.iter().any(|figure| figure.is_finite() && *figure > 0.0), "no bandwidth: {line}");
    let [min, median, max] =
        ["min", "median", "max"].map(|name| row["time_ms"][name].as_f64().unwrap_or(f64::NAN));
    ensure!(0.0 < min && min <= median && median <= max, "times out of order: {line}");
    Ok(())
}

/// An experiment as `coalesce list` describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Experiment {
    pub(crate) name: String,
    /// Those that run everywhere. An experiment without any has rows on GPUs of one compute capability alone.
    pub(crate) kernels: Vec<String>,
}

/// Reads `coalesce list`: each experiment's name at the start of a line, and below it, indented, `kernels: a, b` or
/// `for compute_90a alone: a, b`.
pub(crate) fn experiments(text: &str) -> Result<Vec<Experiment>> {
    let mut experiments: Vec<Experiment> = Vec::new();
    let mut of_one_architecture = BTreeSet::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if !line.starts_with(' ') {
            experiments.push(Experiment { name: line.trim().to_owned(), kernels: Vec::new() });
        } else if let (Some(names), Some(experiment)) =
            (line.trim().strip_prefix("kernels: "), experiments.last_mut())
        {
            experiment.kernels = names.split(", ").map(str::to_owned).collect();
        } else if let (true, Some(experiment)) = (line.trim().starts_with("for "), experiments.last()) {
            of_one_architecture.insert(experiment.name.clone());
        }
    }
    ensure!(!experiments.is_empty(), "`coalesce list` lists no experiment");
    let is_bare = |experiment: &&Experiment| {
        experiment.kernels.is_empty() && !of_one_architecture.contains(&experiment.name)
    };
    if let Some(bare) = experiments.iter().find(is_bare) {
        bail!("`coalesce list` names no kernel of {}", bare.name);
    }
    Ok(experiments)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(experiment: &str) -> String {
        format!(
            r#"{{"experiment":"{experiment}","kernel":"{experiment}_f32","backend":"measured","verified":true,"gb_per_s":100.5,"bytes":{{"read":1024,"written":1024,"footprint":2048}},"time_ms":{{"median":0.02,"min":0.01,"max":0.03,"samples":3}}}}"#
        )
    }

    fn rows(offset: usize, stride: usize) -> String {
        let mut lines = vec![row("offset"); offset];
        lines.extend(vec![row("stride"); stride]);
        lines.join("\n")
    }

    fn names(names: &[&str]) -> Vec<Experiment> {
        let experiment =
            |name: &&str| Experiment { name: (*name).to_owned(), kernels: vec![format!("{name}_f32")] };
        names.iter().map(experiment).collect()
    }

    #[test]
    fn a_complete_run_is_accepted() {
        let experiments = names(&["offset", "stride"]);
        assert_eq!(
            check(&rows(33, 32), &experiments, "f32").unwrap(),
            "offset 33, stride 32 rows, all verified"
        );
        assert!(check(&rows(66, 64), &experiments, "both").is_ok());
    }

    #[test]
    fn every_kernel_has_a_row_unless_a_precision_is_left_out() {
        let mut experiments = names(&["offset", "stride"]);
        experiments[0].kernels.push("offset_f64".into());
        let error = check(&rows(66, 64), &experiments, "both").unwrap_err().to_string();
        assert_eq!(error, "no row of the kernel offset_f64");
        assert!(check(&rows(33, 32), &experiments, "f32").is_ok());
    }

    #[test]
    fn what_is_missing_is_named() {
        let experiments = names(&["offset", "stride", "copy"]);
        let error = |text: &str| check(text, &experiments, "f32").unwrap_err().to_string();
        assert!(error(&rows(33, 32)).starts_with("no row of copy"), "{}", error(&rows(33, 32)));
        let text = rows(32, 32) + "\n" + &row("copy");
        assert_eq!(error(&text), "offset has 32 rows, not 33, nor 8 as a quick run has");
        let text = rows(33, 32) + "\n" + &row("copy") + "\n" + &row("extra");
        assert!(error(&text).starts_with("rows of extra"));
    }

    #[test]
    fn a_bad_row_is_shown() {
        let good = row("offset");
        for (from, to, why) in [
            ("\"verified\":true", "\"verified\":false", "not verified"),
            ("measured", "modelled", "not measured"),
            ("\"gb_per_s\":100.5", "\"gb_per_s\":null", "no bandwidth"),
            ("\"min\":0.01", "\"min\":0.09", "times out of order"),
            ("\"read\":1024,", "", "no bytes read"),
            ("{\"exp", "{{\"exp", "line 1 is not JSON"),
        ] {
            let bad = good.replacen(from, to, 1);
            assert_ne!(bad, good);
            let error = check(&bad, &names(&["offset"]), "f32").unwrap_err().to_string();
            assert!(error.starts_with(why), "{error}");
        }
    }

    #[test]
    fn modelled_rows_are_accepted_where_they_are_asked_for() {
        let text = rows(33, 32).replace("measured", "modelled");
        assert!(check_of(Kind::Modelled, &text, &names(&["offset", "stride"]), "f32").is_ok());
        let unknown = text.replacen(
            "\"gb_per_s\":100.5",
            "\"gb_per_s\":null,\"note\":\"no modelled time: tensor cores\"",
            1,
        );
        assert!(check_of(Kind::Modelled, &unknown, &names(&["offset", "stride"]), "f32").is_ok());
        let silent = text.replacen("\"gb_per_s\":100.5", "\"gb_per_s\":null", 1);
        let error = check_of(Kind::Modelled, &silent, &names(&["offset", "stride"]), "f32").unwrap_err();
        assert!(error.to_string().starts_with("no bandwidth"), "{error}");
        let error =
            check_of(Kind::Modelled, &rows(33, 32), &names(&["offset", "stride"]), "f32").unwrap_err();
        assert!(error.to_string().starts_with("not modelled: "), "{error}");
    }

    #[test]
    fn experiments_are_read_with_their_kernels() {
        let text = "stride\n    strides\n    sweeps: stride (--range)\n    kernels: stride_f32\n\
                    copy\n    the ceiling\n    kernels: copy_scalar, copy_vector\n";
        let copy =
            Experiment { name: "copy".into(), kernels: vec!["copy_scalar".into(), "copy_vector".into()] };
        assert_eq!(experiments(text).unwrap(), [names(&["stride"]).remove(0), copy]);
        assert!(experiments("").is_err());
        let own = "async\n    sums\n    for compute_90a alone: async_plain\n";
        assert_eq!(experiments(own).unwrap(), [Experiment { name: "async".into(), kernels: Vec::new() }]);
        assert_eq!(experiments("copy\n").unwrap_err().to_string(), "`coalesce list` names no kernel of copy");
    }
}
