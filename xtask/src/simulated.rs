//! The tests that need the built program but no GPU: every kernel as users run it, on the simulated H200.

use std::io::Stdout;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::gpu::rows::{self, Experiment};
use crate::process;
use crate::steps::Steps;

/// The card that the tests take.
const DEVICE: &str = "sim:h200";

/// Runs all steps that need the program and no GPU. The program is the one that the crates' tests run: `cargo build
/// --release` would compile everything once more, and what executes the kernels is optimised in both.
pub(crate) fn run(root: &Path, program: &Path, steps: &Steps<Stdout>) -> Result<()> {
    steps.run(
        "the pages' tables, and the simulator's counters beside the hardware's (coalesce pages)",
        || process::succeed(command(program, &["pages", "--check"]).current_dir(root)),
    )?;
    steps.run("all kernels under all checks (coalesce check)", || check(program))?;
    steps.run("all kernels on the simulator, small and ragged", || {
        let listed = listed(program)?;
        judge(&rows(program, &["--small"])?, &listed)
    })?;
    steps.run("all experiments on the simulator (coalesce run)", || {
        // The experiments choose the kernels that a quick run leaves out to save time.
        let mut listed = listed(program)?;
        listed.iter_mut().for_each(|experiment| experiment.kernels.clear());
        // Its default points, at a size that a program without optimisation verifies in seconds.
        judge(&rows(program, &["--bytes", "8MiB"])?, &listed)
    })
}

/// A command line on the simulated card, whatever the environment says.
fn command(program: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(program);
    let _ = command.args(words);
    for variable in ["COALESCE_DRIVER", "COALESCE_SIMULATE", "COALESCE_CHECK"] {
        let _ = command.env_remove(variable);
    }
    command
}

/// memcheck, racecheck, initcheck and synccheck find nothing in any kernel.
fn check(program: &Path) -> Result<String> {
    let text = process::succeed(&mut command(program, &["check", "--device", DEVICE]))?;
    verdict(&text).map(str::to_owned)
}

/// The last line of `coalesce check`, which counts findings, kernels and launches.
fn verdict(text: &str) -> Result<&str> {
    match text.lines().last() {
        Some(line) if line.starts_with("no findings of ") => Ok(line),
        _ => bail!("`coalesce check` succeeded without saying that there are no findings:\n{text}"),
    }
}

/// All experiments and their kernels.
fn listed(program: &Path) -> Result<Vec<Experiment>> {
    rows::experiments(&process::succeed(&mut command(program, &["list"]))?)
}

/// The records of a run with these arguments.
fn rows(program: &Path, arguments: &[&str]) -> Result<String> {
    process::data(&mut command(
        program,
        &[&["run", "--device", DEVICE, "--format", "json"], arguments].concat(),
    ))
}

/// Holds modelled rows to what every row is held to.
fn judge(text: &str, listed: &[Experiment]) -> Result<String> {
    rows::check_of(rows::Kind::Modelled, text, listed, "both")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_is_the_last_line() {
        let text = "========= ERROR SUMMARY: 0 errors\nno findings of 9 kernels in 12 launches on a simulated H200 (sim:h200)\n";
        assert_eq!(
            verdict(text).unwrap().split(" on ").next(),
            Some("no findings of 9 kernels in 12 launches")
        );
        for text in ["", "1 finding in 9 kernels in 12 launches\n", "no findings of 1 kernel\nINVALID: x\n"] {
            assert!(verdict(text).is_err(), "{text}");
        }
    }

    #[test]
    fn measured_rows_are_no_simulated_run() {
        let row = r#"{"experiment":"copy","kernel":"copy_scalar","backend":"modelled","verified":true,"gb_per_s":100.5,"bytes":{"read":1,"written":1,"footprint":2},"time_ms":{"median":0.02,"min":0.01,"max":0.03,"samples":1}}"#;
        let listed = [Experiment { name: "copy".into(), kernels: vec!["copy_scalar".into()] }];
        assert_eq!(judge(row, &listed).unwrap(), "copy 1 rows, all verified");
        let error = judge(&row.replace("modelled", "measured"), &listed).unwrap_err().to_string();
        assert!(error.starts_with("not modelled: "), "{error}");
    }
}
