//! The tests that need a GPU: the built program, run as a user runs it, on the real device.
//!
//! They need no Rust: `dist` copies this program beside `coalesce`, and there `./xtask test --gpu` does the same.

mod bad_input;
pub(crate) mod crates;
pub(crate) mod rows;
mod sanitizer;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use self::rows::Experiment;
use crate::layout::Layout;
use crate::steps::Steps;
use crate::{coalesce, process};

/// The program under test and the device it is tested on.
pub(crate) struct Subject {
    program: PathBuf,
    device: String,
}

/// The experiments whose only choices are sizes, precisions and blocks.
const PLAIN: [&str; 3] = ["offset", "stride", "copy"];

/// The sizes, precisions and blocks of these runs. Sizes: one block (which differs with the precision), the article's
/// size, and beyond any L2 cache. Blocks: one warp, the maximum, and a number that is no power of two.
const SHAPES: [(&str, &str, &str); 7] = [
    ("1KiB", "f32", "256"),
    ("2KiB", "f64", "256"),
    ("4MiB", "both", "256"),
    ("256MiB", "both", "256"),
    ("4MiB", "both", "32"),
    ("4MiB", "both", "1024"),
    ("3MiB", "both", "96"),
];

/// A length in bytes whose last block is not full, in words as in vectors; only copies take one.
const RAGGED: &str = "1048592";

/// Runs all steps that need a GPU.
pub(crate) fn run(
    layout: &Layout,
    device: &str,
    with_sanitizer: bool,
    steps: &Steps<std::io::Stdout>,
) -> Result<()> {
    let subject = Subject { program: coalesce::program(layout)?, device: device.to_owned() };
    steps.run("driver and device (coalesce devices)", || subject.devices())?;
    let tests = crates::all(layout)?;
    for tests in &tests {
        steps.run(&format!("{}'s own GPU tests", tests.package), || crates::check(tests))?;
    }
    let mut experiments = Vec::new();
    steps.run("experiments (coalesce list)", || {
        experiments = subject.experiments()?;
        Ok(experiments.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", "))
    })?;
    let plain: Vec<Experiment> =
        experiments.iter().filter(|one| PLAIN.contains(&one.name.as_str())).cloned().collect();
    for (bytes, precision, block) in SHAPES {
        steps.run(&format!("{}, {bytes}, {precision}, blocks of {block}", PLAIN.join(", ")), || {
            let options = ["--bytes", bytes, "--precision", precision, "--block", block];
            rows::check(&subject.rows(&[&PLAIN[..], &options].concat())?, &plain, precision)
        })?;
    }
    steps.run("all experiments, small and ragged", || {
        rows::check(&subject.rows(&["--small"])?, &experiments, "both")
    })?;
    steps.run("all experiments, as `coalesce run` does", || {
        // The experiments choose the kernels that a quick run leaves out to save time.
        let mut any = experiments.clone();
        any.iter_mut().for_each(|experiment| experiment.kernels.clear());
        rows::check(&subject.rows(&[])?, &any, "both")
    })?;
    steps.run(&format!("copy, {RAGGED} bytes"), || {
        let copy: Vec<Experiment> = experiments.iter().filter(|one| one.name == "copy").cloned().collect();
        rows::check(&subject.rows(&["copy", "--bytes", RAGGED])?, &copy, "both")
    })?;
    steps.run("records in a folder (--out)", || subject.records_in_a_folder(&experiments))?;
    for case in bad_input::CASES {
        steps.run(&format!("refused: {}", case.what), || bad_input::check(&subject, case))?;
    }
    if with_sanitizer {
        steps.run("compute-sanitizer sees a planted fault", || sanitizer::finds_a_planted_fault(&subject))?;
        for tool in sanitizer::TOOLS {
            steps.run(&format!("compute-sanitizer {tool}"), || {
                sanitizer::check(&subject, tool, &experiments)
            })?;
        }
    }
    Ok(())
}

impl Subject {
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        let _ = command.args(words);
        command
    }

    /// The output of `coalesce devices`, which must list the device under test.
    fn devices(&self) -> Result<String> {
        let text = process::succeed(&mut self.command(&["devices"]))?;
        if !text.contains(&self.device) {
            bail!("`coalesce devices` does not list {}:\n{text}", self.device);
        }
        Ok(text)
    }

    /// All experiments, in the order of `coalesce list`.
    fn experiments(&self) -> Result<Vec<Experiment>> {
        rows::experiments(&process::succeed(&mut self.command(&["list"]))?)
    }

    /// `coalesce run --format json` on the device, with more arguments: what is on standard output.
    fn rows(&self, arguments: &[&str]) -> Result<String> {
        let mut command =
            self.command(&["run", "--device", &self.device, "--format", "json", "--samples", "3"]);
        process::data(command.args(arguments))
    }

    /// `--out` leaves whole records, and nothing on the way there.
    fn records_in_a_folder(&self, experiments: &[Experiment]) -> Result<String> {
        let folder = scratch("out")?;
        let words = ["--small", "--samples", "3", "--out"];
        let mut command = self.command(&["run", "--device", &self.device]);
        let result = process::succeed(command.args(words).arg(&folder))
            .and_then(|_| rows::check(&records(&folder)?, experiments, "both"));
        let _ = std::fs::remove_dir_all(&folder);
        result
    }
}

/// The records that a run left in a folder.
fn records(folder: &Path) -> Result<String> {
    let names = files(folder)?;
    let records = names.iter().find(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    let records = records.with_context(|| format!("no records (.jsonl) among {names:?}"))?;
    std::fs::read_to_string(records).with_context(|| format!("cannot read {}", records.display()))
}

/// A new empty folder for one test.
pub(crate) fn scratch(name: &str) -> Result<PathBuf> {
    let folder = std::env::temp_dir().join(format!("coalesce-test-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// The files in a folder, sorted.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.sort();
    Ok(files)
}
