//! `fidelity`: how near the simulator comes to the hardware, in docs/fidelity.md.
//!
//! Two files say what an H200 did: `counters.jsonl`, Nsight Compute's counters of one launch a row, and `records.jsonl`,
//! measured bandwidths. The simulator runs the same rows. Its counters must be the hardware's, number for number; how far
//! its modelled times are off is reported.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;

use crate::coalesce;
use crate::fidelity::{self, Hardware, ncu};
use crate::layout::Layout;
use crate::process;

/// Where the hardware's figures and the simulator's full-size rows are kept.
const FOLDER: &str = "docs/results/h200";

/// What `fidelity` takes.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Simulate the measured rows at their full size too (minutes), instead of taking the rows kept from the last time
    #[arg(long)]
    full: bool,
    /// Change nothing; fail if a counter differs, or if docs/fidelity.md is not what this verb would write
    #[arg(long, conflicts_with = "full")]
    check: bool,
    /// Take in what `ncu --csv --page raw` wrote of a run on an H200; needs --records of the same run
    #[arg(long, value_name = "NCU.CSV", requires = "records", conflicts_with_all = ["full", "check"])]
    ncu: Option<PathBuf>,
    /// The records.jsonl of the run that ncu watched
    #[arg(long, value_name = "RECORDS.JSONL", requires = "ncu")]
    records: Option<PathBuf>,
}

/// Writes docs/fidelity.md anew, or checks it.
pub(crate) fn main(arguments: &Arguments) -> Result<u8> {
    let layout = Layout::find()?;
    let root = layout.root("fidelity")?;
    if let (Some(csv), Some(records)) = (&arguments.ncu, &arguments.records) {
        let rows = ncu::join(&read(csv)?, &lines(&read(records)?, records)?)
            .with_context(|| format!("{} and {} do not belong together", csv.display(), records.display()))?;
        let added = ncu::merge(&root.join(FOLDER).join("counters.jsonl"), &rows)?;
        println!("{added} rows taken into {FOLDER}/counters.jsonl");
        return Ok(0);
    }
    if arguments.check {
        println!("{}", check(root)?);
        return Ok(0);
    }
    let program = coalesce::program(&layout)?;
    if arguments.full {
        let measured = measured(root)?;
        let rows = simulate(&program, &fidelity::sizes(&measured)?)?;
        let text: String = rows.iter().map(|row| format!("{}\n", fidelity::kept(row))).collect();
        fs::write(root.join(FOLDER).join("modelled.jsonl"), text).context("cannot keep the modelled rows")?;
    }
    let (old, new) = texts(root, &program)?;
    if old != new {
        fs::write(root.join("docs/fidelity.md"), new).context("cannot write docs/fidelity.md")?;
    }
    Ok(0)
}

/// Fails if a counter of the simulator is not the hardware's, or if docs/fidelity.md shows other figures than there are.
pub(crate) fn check(root: &Path) -> Result<String> {
    let layout = Layout::Checkout { root: root.to_owned() };
    let program = coalesce::program(&layout)?;
    let (old, new) = texts(root, &program)?;
    if old != new {
        bail!("docs/fidelity.md is not what the figures make of it: `cargo xtask fidelity` writes it anew");
    }
    Ok(format!("{} rows counted as Nsight Compute counts them", hardware(root)?.len()))
}

/// docs/fidelity.md as it is, and as the figures make it.
fn texts(root: &Path, program: &Path) -> Result<(String, String)> {
    let hardware = hardware(root)?;
    let simulated = simulate(program, &fidelity::hardware_sizes(&hardware))?;
    let counters = fidelity::counters(&hardware, &simulated)?;
    let kept = root.join(FOLDER).join("modelled.jsonl");
    let times = fidelity::times(&measured(root)?, &lines(&read(&kept)?, &kept)?)?;
    let old = read(&root.join("docs/fidelity.md"))?;
    let new = fidelity::splice(&fidelity::splice(&old, "counters", &counters)?, "times", &times)?;
    Ok((old, new))
}

fn hardware(root: &Path) -> Result<Vec<Hardware>> {
    let path = root.join(FOLDER).join("counters.jsonl");
    lines(&read(&path)?, &path)?.iter().map(Hardware::of).collect()
}

/// The measured rows of our own kernels.
fn measured(root: &Path) -> Result<Vec<Value>> {
    let path = root.join(FOLDER).join("records.jsonl");
    let mut rows = lines(&read(&path)?, &path)?;
    rows.retain(|row| row["language"] == "rust" && row["verified"] == true);
    Ok(rows)
}

/// Runs the program on the simulated H200, once for each size with the experiments that have rows of it.
fn simulate(program: &Path, runs: &[(u64, Vec<String>)]) -> Result<Vec<Value>> {
    let mut rows = Vec::new();
    for (bytes, experiments) in runs {
        let mut command = Command::new(program);
        let _ = command
            .args(["run", "--device", "sim:h200", "--format", "json", "--bytes", &bytes.to_string()])
            .args(experiments)
            .stderr(Stdio::inherit());
        let output = command.output().with_context(|| format!("cannot start {}", program.display()))?;
        if !output.status.success() {
            bail!("`{}` failed ({})", process::line(&command), output.status);
        }
        let text = String::from_utf8(output.stdout).context("the program printed what is no text")?;
        rows.extend(lines(&text, Path::new("the program's output"))?);
    }
    rows.retain(|row| row["language"] == "rust");
    Ok(rows)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn lines(text: &str, of: &Path) -> Result<Vec<Value>> {
    let line = |line| {
        serde_json::from_str(line).with_context(|| format!("{} holds a line that is no JSON", of.display()))
    };
    text.lines().filter(|line| !line.trim().is_empty()).map(line).collect()
}
