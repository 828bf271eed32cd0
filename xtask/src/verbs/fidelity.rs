//! `fidelity`: compares the simulator with the hardware, in docs/fidelity.md.
//!
//! Three files say what an H200 did: `counters.jsonl`, Nsight Compute's counters of one launch a row, and `records.jsonl` and
//! `kernels.jsonl`, measured bandwidths. The simulator runs the same rows. Its counters must be the hardware's, number for
//! number; how far its modelled times are off is reported.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;
use xtask::misuse::Misuse;

use crate::coalesce;
use crate::fidelity::{
    self, Hardware, ncu,
    rows::{self, Run},
};
use crate::layout::Layout;
use crate::process;

/// Where the hardware's figures and the simulator's full-size rows are kept.
const FOLDER: &str = "docs/results/h200";

/// The hardware's counters, in the folder.
const COUNTERS: &str = "counters.jsonl";

/// Measured rows of all kernels, in the folder.
const KERNELS: &str = "kernels.jsonl";

/// What the simulator makes of them at their full size, in the folder.
const MODELLED: &str = "modelled.jsonl";

/// What `fidelity` takes.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Simulate the measured rows at full size too (a quarter of an hour), instead of reading the rows kept from the last time
    #[arg(long)]
    full: bool,
    /// Change nothing; fail if a counter differs or docs/fidelity.md is out of date
    #[arg(long, conflicts_with = "full")]
    check: bool,
    /// Add the counters that `ncu --csv --page raw` read from a run on an H200; needs --records of the same run
    #[arg(long, value_name = "NCU.CSV", requires = "records")]
    ncu: Option<PathBuf>,
    /// The records.jsonl of the run that ncu profiled, or without --ncu of a measured run to keep; given several times, the
    /// median of each figure is kept
    #[arg(long, value_name = "RECORDS.JSONL", conflicts_with_all = ["full", "check"])]
    records: Vec<PathBuf>,
    /// Options of that run, where there are more than --bytes; the simulator gets the same
    #[arg(long, value_name = "OPTIONS", requires = "records", allow_hyphen_values = true)]
    run: Option<String>,
    /// Keep that run's rows as measured without simulating them, because that would take too long
    #[arg(long, requires = "records", conflicts_with = "ncu")]
    only_measured: bool,
}

/// Writes the tables of docs/fidelity.md, or checks them.
pub(crate) fn main(arguments: &Arguments) -> Result<u8> {
    let layout = Layout::find()?;
    let root = layout.root("fidelity")?;
    let run: Option<Vec<String>> =
        arguments.run.as_ref().map(|words| words.split_whitespace().map(str::to_owned).collect());
    if let Some(records) = arguments.records.first() {
        let (file, rows) = match &arguments.ncu {
            Some(_) if arguments.records.len() > 1 => {
                let words = "--ncu takes the counters of one run; give one --records with it";
                return Err(Misuse::error(words.to_owned()));
            }
            Some(csv) => {
                let rows = rows_in(records)?;
                let joined = ncu::join(&read(csv)?, &rows, run.as_deref());
                let apart = || format!("{} and {} are not of the same run", csv.display(), records.display());
                (COUNTERS, joined.with_context(apart)?)
            }
            None => {
                let kept = |row: &Value| rows::kept(row, run.as_deref(), arguments.only_measured);
                let of_run = |records: &PathBuf| Ok(rows_in(records)?.iter().map(kept).collect::<Vec<_>>());
                let runs = arguments.records.iter().map(of_run).collect::<Result<Vec<_>>>()?;
                (KERNELS, rows::middle(runs)?)
            }
        };
        take_in(&root.join(FOLDER).join(file), &rows)?;
        println!("{} rows added to {FOLDER}/{file}", rows.len());
        return Ok(0);
    }
    let program = coalesce::program(&layout)?;
    if arguments.check {
        println!("{}", check(root, &program)?);
        return Ok(0);
    }
    if arguments.full {
        let measured = measured(root)?;
        let rows = simulate(&program, &rows::runs(&measured)?)?;
        let wanted = |row: &&Value| measured.iter().any(|other| fidelity::is_same(row, other));
        let text: String =
            rows.iter().filter(wanted).map(|row| format!("{}\n", rows::kept(row, None, false))).collect();
        fs::write(root.join(FOLDER).join(MODELLED), text).context("cannot keep the modelled rows")?;
    }
    let (old, new) = texts(root, &program)?;
    if old != new {
        fs::write(root.join("docs/fidelity.md"), new).context("cannot write docs/fidelity.md")?;
    }
    Ok(0)
}

/// Fails if a counter of the simulator is not the hardware's, or if docs/fidelity.md shows other figures than there are.
pub(crate) fn check(root: &Path, program: &Path) -> Result<String> {
    let (old, new) = texts(root, program)?;
    if old != new {
        bail!("docs/fidelity.md is out of date; `cargo xtask fidelity` writes its tables again");
    }
    let rows = read(&root.join(FOLDER).join(COUNTERS))?.lines().count();
    Ok(format!("the counters of {rows} rows equal Nsight Compute's"))
}

/// docs/fidelity.md as it is, and as the figures make it.
fn texts(root: &Path, program: &Path) -> Result<(String, String)> {
    let rows = rows_in(&root.join(FOLDER).join(COUNTERS))?;
    let simulated = simulate(program, &rows::runs(&rows)?)?;
    let hardware = rows.iter().map(Hardware::of).collect::<Result<Vec<_>>>()?;
    let counters = fidelity::counters(&hardware, &simulated)?;
    let modelled = rows_in(&root.join(FOLDER).join(MODELLED))?;
    let times = fidelity::times(&measured(root)?, &modelled)?;
    let old = read(&root.join("docs/fidelity.md"))?;
    let new = fidelity::splice(&fidelity::splice(&old, "counters", &counters)?, "times", &times)?;
    Ok((old, new))
}

/// The measured rows of our own kernels that can be modelled.
fn measured(root: &Path) -> Result<Vec<Value>> {
    let mut rows = Vec::new();
    for file in ["records.jsonl", KERNELS] {
        rows.extend(rows_in(&root.join(FOLDER).join(file))?);
    }
    rows.retain(|row| {
        row["language"] == "rust" && row["gb_per_s"].is_number() && row["only_measured"] != true
    });
    Ok(rows)
}

/// Puts rows into a file.
fn take_in(path: &Path, rows: &[Value]) -> Result<()> {
    let old = if path.exists() { rows_in(path)? } else { Vec::new() };
    let text: String = rows::merged(old, rows).iter().map(|row| format!("{row}\n")).collect();
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Makes rows on the simulated H200.
fn simulate(program: &Path, runs: &[Run]) -> Result<Vec<Value>> {
    let mut rows = Vec::new();
    for Run { options, experiments, kernels } in runs {
        let mut command = Command::new(program);
        let _ = command
            .args(["run", "--device", "sim:h200", "--format", "json", "--kernel", &kernels.join(",")])
            .args(options)
            .args(experiments);
        let text = process::data(&mut command)?;
        rows.extend(lines(&text, Path::new("the program's output"))?);
    }
    rows.retain(|row| row["language"] == "rust");
    Ok(rows)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// The rows of a file.
fn rows_in(path: &Path) -> Result<Vec<Value>> {
    lines(&read(path)?, path)
}

fn lines(text: &str, of: &Path) -> Result<Vec<Value>> {
    let line = |line| {
        serde_json::from_str(line).with_context(|| format!("{} has a line that is not JSON", of.display()))
    };
    text.lines().filter(|line| !line.trim().is_empty()).map(line).collect()
}
