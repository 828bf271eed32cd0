//! `coalesce pages`: the tables of README.md and docs/, made from the records in the repository. `coalesce pages
//! fidelity`: the simulator beside the hardware. `coalesce pages atlas`: constants of an H200 beside publications.
//!
//! Three files say what an H200 did: `counters.jsonl`, Nsight Compute's counters of one launch per row, and `records.jsonl` and
//! `kernels.jsonl`, measured bandwidths. The simulator runs the same rows, in this same program as another process. Its counters
//! must be the hardware's; how far its modelled times are off is reported in docs/fidelity.md.

use crate::{
    cli::{AtlasOptions, FidelityOptions},
    machine,
};
use anyhow::{Context, Result, bail};
use rayon::prelude::*;
use record::{Hardware, Kept, Language, Record, doubt::Residuals};
use report::pages::{
    PAGES,
    atlas::{self, Atlas},
    errors::{self, PAGES_WITH_ERRORS},
    fidelity::{
        self, ncu,
        rows::{self, CommandLine},
    },
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::{
    cmp::Reverse,
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    time::Instant,
};

/// The folder of the hardware's figures and of the simulator's full-size rows.
const FOLDER: &str = "docs/results/h200";

/// The hardware's counters, in the folder.
const COUNTERS: &str = "counters.jsonl";

/// Measured rows of all kernels, in the folder.
const KERNELS: &str = "kernels.jsonl";

/// The simulator's rows at full size, in the folder.
const MODELLED: &str = "modelled.jsonl";

/// How our own kernels fared in the model, by which later runs judge them.
const RESIDUALS: &str = "crates/record/residuals/own.jsonl";

/// The ratios of simulated to measured times of kernels that the model had never seen. The program `fidelity` writes them.
const RESIDUALS_OF_OTHERS: &str = "crates/record/residuals/others.jsonl";

/// The most memory that a simulation of these rows takes.
const MOST_BYTES: u64 = 10 << 30;

/// The page that needs a simulation.
const FIDELITY: &str = "docs/fidelity.md";

/// Writes the tables of all pages, or checks them.
///
/// # Errors
/// A file cannot be read or written, rows make no table, a counter of the simulator is not the hardware's, or with `check` a page
/// differs from what its rows make.
pub(crate) fn run(check: bool) -> Result<ExitCode> {
    let root = root()?;
    for page in PAGES {
        let old = read(&root, page.path)?;
        let new = page.rewritten(&old, &|name| fs::read_to_string(root.join(name)));
        let new = new.with_context(|| format!("the tables of {} cannot be made", page.path))?;
        settle(&root, page.path, &old, &new, check)?;
    }
    update_atlas(&root, check)?;
    update_fidelity(&root, check)?;
    update_errors(&root, check)?;
    println!("the tables in {} are as their records make them", root.display());
    Ok(ExitCode::SUCCESS)
}

/// Writes or checks docs/h200-atlas.md, after keeping the rows of a run that measure a constant.
///
/// # Errors
/// A file cannot be read or written, the constants are malformed, or with `check` the page differs from what they make.
pub(crate) fn atlas(options: &AtlasOptions) -> Result<ExitCode> {
    let root = root()?;
    let atlas = Atlas::read(&read(&root, atlas::CONSTANTS)?)?;
    for path in &options.records {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut rows: Vec<Value> = record::read_lines(&text)?;
        rows.retain(|row| atlas.uses(row));
        println!("{}", take_in(&root, "atlas.jsonl", &rows, same_row)?);
    }
    update_atlas(&root, options.check)?;
    Ok(ExitCode::SUCCESS)
}

/// Whether two rows are of the same launch.
fn same_row(one: &Value, other: &Value) -> bool {
    ["experiment", "kernel", "language", "parameters"].iter().all(|field| one[field] == other[field])
}

/// Makes docs/h200-atlas.md from the constants and the kept rows, and writes or checks it.
fn update_atlas(root: &Path, check: bool) -> Result<()> {
    let constants = Atlas::read(&read(root, atlas::CONSTANTS)?)?;
    let mut rows: Vec<Value> = Vec::new();
    for name in atlas::KEPT.into_iter().filter(|name| root.join(name).exists()) {
        rows.extend(
            record::read_lines::<Value>(&read(root, name)?)
                .with_context(|| format!("{name} cannot be read"))?,
        );
    }
    let old = read(root, atlas::PAGE)?;
    let new = constants.rewritten(&old, &rows, &read(root, atlas::CARD)?)?;
    settle(root, atlas::PAGE, &old, &new, check)
}

/// Writes or checks docs/fidelity.md, or takes in what an H200 did.
///
/// # Errors
/// As [`run`]; or what is to be taken in does not belong together.
pub(crate) fn fidelity(options: &FidelityOptions) -> Result<ExitCode> {
    let root = root()?;
    if options.records.is_empty() {
        if options.full {
            model(&root)?;
        }
        update_fidelity(&root, options.check)?;
        update_errors(&root, options.check)?;
        return Ok(ExitCode::SUCCESS);
    }
    let run: Option<Vec<String>> =
        options.run.as_ref().map(|words| words.split_whitespace().map(str::to_string).collect());
    let taken = match (&options.ncu, &options.records[..]) {
        (Some(csv), [path]) => {
            let text = fs::read_to_string(csv).with_context(|| format!("cannot read {}", csv.display()))?;
            let joined = ncu::join(&text, &record::load(path)?.1, run.as_deref());
            let apart = || format!("{} and {} are not of the same run", csv.display(), path.display());
            take_in(&root, COUNTERS, &joined.with_context(apart)?, Hardware::is_same_row)?
        }
        (Some(_), _) => bail!("--ncu takes the counters of one run; give one --records with it"),
        (None, paths) => {
            let kept = |record: &Record| Kept {
                run: run.clone(),
                only_measured: options.only_measured,
                ..Kept::of(record)
            };
            let of_run = |path: &PathBuf| Ok(record::load(path)?.1.iter().map(kept).collect::<Vec<_>>());
            let rows = rows::middle(paths.iter().map(of_run).collect::<Result<_>>()?)?;
            take_in(&root, KERNELS, &rows, Kept::is_same_row)?
        }
    };
    println!("{taken}");
    Ok(ExitCode::SUCCESS)
}

/// Makes docs/fidelity.md from the kept rows and from a simulation, and writes or checks it.
fn update_fidelity(root: &Path, check: bool) -> Result<()> {
    let hardware: Vec<Hardware> = rows_in(root, COUNTERS)?;
    let simulated = simulate(&rows::command_lines(&hardware))?;
    let (measured, modelled) = (measured(root)?, rows_in(root, MODELLED)?);
    let old = read(root, FIDELITY)?;
    let new = fidelity::rewritten(&old, (&hardware, &simulated), (&measured, &modelled))?;
    settle(root, FIDELITY, &old, &new, check)?;
    let residuals = fidelity::residuals(&measured, &modelled)?;
    let residuals = residuals.iter().map(record::sorted_line).collect::<Result<String, _>>()?;
    settle(root, RESIDUALS, &read(root, RESIDUALS)?, &residuals, check)?;
    println!("the counters of {} rows equal Nsight Compute's", hardware.len());
    Ok(())
}

/// Writes or checks how far modelled times are off, where pages say so.
fn update_errors(root: &Path, check: bool) -> Result<()> {
    let residuals = Residuals::read(&read(root, RESIDUALS)?, &read(root, RESIDUALS_OF_OTHERS)?)
        .context("the residuals cannot be read")?;
    for page in PAGES_WITH_ERRORS {
        let old = read(root, page)?;
        let new = errors::with_errors(&old, &residuals);
        let new = new.with_context(|| format!("the errors in {page} cannot be written"))?;
        settle(root, page, &old, &new, check)?;
    }
    Ok(())
}

/// Simulates the measured rows at full size, and keeps what comes out.
fn model(root: &Path) -> Result<()> {
    let measured = measured(root)?;
    let rows: Vec<Kept> = simulate(&rows::command_lines(&measured))?.iter().map(Kept::of).collect();
    let wanted = rows.into_iter().filter(|row| measured.iter().any(|other| row.is_twin(other)));
    write_rows(root, MODELLED, &wanted.collect::<Vec<_>>())
}

/// The measured rows of our own kernels that can be modelled.
fn measured(root: &Path) -> Result<Vec<Kept>> {
    let (_, records) = record::load(&root.join(FOLDER))?;
    let mut rows: Vec<Kept> = records.iter().map(Kept::of).collect();
    rows.extend(rows_in::<Kept>(root, KERNELS)?);
    rows.retain(|row| row.language == Language::Rust && row.gb_per_s.is_some() && !row.only_measured);
    Ok(rows)
}

/// Makes rows on the simulated H200. A process has one driver, so other processes simulate: as many at a time as memory allows, up to one
/// for two cores. At least two, because one leaves cores idle where a kernel has too few blocks for them. The longest run first, so that none
/// is left over in the end.
fn simulate(lines: &[CommandLine]) -> Result<Vec<Record>> {
    let program = env::current_exe().context("the program does not find itself, to simulate the rows")?;
    let wanted = (rayon::current_num_threads() / 2).max(2);
    let room = machine::available_bytes().map_or(wanted, |bytes| (bytes / MOST_BYTES) as usize);
    let processes = rayon::ThreadPoolBuilder::new().num_threads(wanted.min(room).max(1)).build();
    let processes = processes.context("no thread can be started, to simulate the rows")?;
    let mut longest_first: Vec<(usize, &CommandLine)> = lines.iter().enumerate().collect();
    longest_first.sort_by_key(|(_, line)| Reverse(line.bytes));
    let mut made: Vec<(usize, Vec<Record>)> = processes.install(|| {
        let in_turn = longest_first.into_iter().par_bridge();
        in_turn.map(|(number, line)| Ok((number, simulate_line(&program, line)?))).collect::<Result<_>>()
    })?;
    made.sort_by_key(|(number, _)| *number);
    let records = made.into_iter().flat_map(|(_, records)| records);
    Ok(records.filter(|record| record.language == Language::Rust).collect())
}

/// Makes the rows of one command line.
fn simulate_line(program: &Path, line: &CommandLine) -> Result<Vec<Record>> {
    let CommandLine { options, experiments, kernels, .. } = line;
    let started = Instant::now();
    let output = Command::new(program)
        .args(["run", "--device", "sim:h200", "--format", "json", "--kernel", &kernels.join(",")])
        .args(options)
        .args(experiments)
        .stderr(Stdio::piped())
        .output()
        .context("the program cannot be started, to simulate the rows")?;
    let words = || options.iter().chain(experiments).cloned().collect::<Vec<_>>().join(" ");
    if !output.status.success() {
        bail!(
            "`coalesce run {}` failed, which simulates the rows. It said: {}",
            words(),
            String::from_utf8_lossy(&output.stderr).trim_end(),
        );
    }
    let seconds = started.elapsed().as_secs_f64();
    if seconds > 1.0 {
        eprintln!("simulated in {seconds:.0} s: {}", words());
    }
    record::read(&String::from_utf8_lossy(&output.stdout))
        .context("the simulation printed something that is not a record")
}

/// The checkout around the current folder.
fn root() -> Result<PathBuf> {
    let here = env::current_dir().context("the current folder cannot be told")?;
    let root = here.ancestors().find(|folder| folder.join(FOLDER).is_dir()).map(Path::to_path_buf);
    root.with_context(|| format!("{} is not in a checkout with {FOLDER}; run this in one", here.display()))
}

/// Writes a page that has changed; or, where it is checked, fails.
fn settle(root: &Path, page: &str, old: &str, new: &str, check: bool) -> Result<()> {
    if old == new {
        return Ok(());
    }
    if check {
        bail!("the tables in {page} differ from their records; `cargo xtask pages` writes them again");
    }
    fs::write(root.join(page), new).with_context(|| format!("cannot write {page}"))?;
    println!("{page} written");
    Ok(())
}

/// Puts rows into a kept file; returns what was done, in words.
fn take_in<T: Clone + Serialize + DeserializeOwned>(
    root: &Path,
    file: &str,
    rows: &[T],
    same: impl Fn(&T, &T) -> bool,
) -> Result<String> {
    let old = if root.join(FOLDER).join(file).exists() { rows_in(root, file)? } else { Vec::new() };
    write_rows(root, file, &rows::merged(old, rows, same))?;
    Ok(format!("{} rows added to {FOLDER}/{file}", rows.len()))
}

/// Writes a kept file.
fn write_rows(root: &Path, file: &str, rows: &[impl Serialize]) -> Result<()> {
    let lines = rows.iter().map(record::sorted_line).collect::<Result<String, _>>();
    let text = lines.context("a row cannot be written as JSON")?;
    fs::write(root.join(FOLDER).join(file), text).with_context(|| format!("cannot write {FOLDER}/{file}"))
}

/// The rows of a kept file.
fn rows_in<T: DeserializeOwned>(root: &Path, file: &str) -> Result<Vec<T>> {
    let name = format!("{FOLDER}/{file}");
    record::read_lines(&read(root, &name)?).with_context(|| format!("{name} cannot be read"))
}

fn read(root: &Path, name: &str) -> Result<String> {
    fs::read_to_string(root.join(name)).with_context(|| format!("cannot read {name}"))
}
