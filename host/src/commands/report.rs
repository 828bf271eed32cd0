//! `coalesce report`: the records of runs as one HTML page; and the page that `run` ends with.

use crate::{built, catalog, cli::ReportOptions};
use anyhow::{Context, Result, bail};
use record::{ProfiledLaunch, Record};
use report::html::{self, Profile, Report, RunRecords, Sass};
use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

/// The page's name in a folder of results.
pub(crate) const PAGE: &str = "report.html";

/// A picture's name in a folder of results.
const PICTURE: &str = "report.svg";

/// The records of a GPU's kernels on a simulated card, in a folder of results.
pub(crate) const SIMULATED: &str = "simulated.jsonl";

/// Makes a page of the runs that the options name.
///
/// # Errors
/// A folder or file holds no records, or the page cannot be written.
pub(crate) fn run(options: &ReportOptions) -> Result<ExitCode> {
    if let Some(launches) = options.runs.iter().find_map(|path| profiled(path).transpose()) {
        return of_profile(options, &launches?);
    }
    let runs = options.runs.iter().map(|path| read(path)).collect::<Result<Vec<_>>>()?;
    let name = if options.picture.is_empty() { PAGE } else { PICTURE };
    let path = match (&options.out, &options.runs[..]) {
        (Some(path), _) => path.clone(),
        (None, [only]) if only.is_dir() => only.join(name),
        _ => PathBuf::from(name),
    };
    let text = match options.picture.is_empty() {
        true => html::page(&report(runs, sass())),
        false => picture(&report(runs, None), &options.picture)?,
    };
    save(&text, &path)?;
    println!("{}", path.display());
    if options.open {
        open(&path)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The launches that a file holds, if `COALESCE_PROFILE` wrote it.
///
/// # Errors
/// It did, but a line is no launch: the error names it.
fn profiled(path: &Path) -> Result<Option<Vec<ProfiledLaunch>>> {
    // Of a file of records, the first line is all that is read here.
    let mut first = String::new();
    let read = File::open(path).and_then(|file| BufReader::new(file).read_line(&mut first));
    let first = read.ok().and_then(|_| serde_json::from_str::<serde_json::Value>(&first).ok());
    if !first.is_some_and(|first| first.get("launch").is_some() && first.get("schema").is_none()) {
        return Ok(None);
    }
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let launches = record::read_lines(&text).with_context(|| {
        format!("{} is no profile of this version: record it again with COALESCE_PROFILE", path.display())
    })?;
    Ok(Some(launches))
}

/// Makes the page of a profile.
///
/// # Errors
/// The options ask for more than that, or the page cannot be written.
fn of_profile(options: &ReportOptions, launches: &[ProfiledLaunch]) -> Result<ExitCode> {
    let [file] = &options.runs[..] else {
        bail!("a profile is reported by itself: name one file that COALESCE_PROFILE wrote, or runs alone");
    };
    if !options.picture.is_empty() {
        bail!("--picture draws experiments, and {} holds launches of another program", file.display());
    }
    let path = options.out.clone().unwrap_or_else(|| file.with_extension("html"));
    let title = format!("Profile: {}", file.file_name().unwrap_or_default().display());
    let source = |name: &str| fs::read_to_string(name).ok();
    save(&html::profile(&Profile { title, launches, source: &source }), &path)?;
    println!("{}", path.display());
    if options.open {
        open(&path)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The path of a run's page, in the folder of its records. Without one, it goes beside the program's build, or into the
/// folder for temporary files.
pub(crate) fn place(out: Option<&Path>) -> PathBuf {
    out.map_or_else(built::folder, Path::to_path_buf).join(PAGE)
}

/// Writes the page of some runs.
///
/// # Errors
/// The page cannot be written: the error names its path.
pub(crate) fn write(runs: Vec<RunRecords>, path: &Path) -> Result<()> {
    save(&html::page(&report(runs, sass())), path)
}

fn report(runs: Vec<RunRecords>, sass: Option<Sass>) -> Report<'static> {
    Report { title: title(&runs), runs, catalog: catalog::catalog(), sass }
}

/// The kernels' SASS, where it can be had; a tool that fails is said on stderr.
fn sass() -> Option<Sass> {
    catalog::sass::of_kernels().unwrap_or_else(|error| {
        eprintln!("note: the page has no SASS: {error:#}");
        None
    })
}

/// The curves of some experiments as SVG.
///
/// # Errors
/// None of them has rows that are drawn as curves or a roofline: the error names those that have.
fn picture(report: &Report<'_>, experiments: &[String]) -> Result<String> {
    let names: Vec<&str> = experiments.iter().map(String::as_str).collect();
    html::picture(report, &names).with_context(|| {
        let lessons = report.catalog.lessons.iter().map(|lesson| lesson.name);
        let drawn: Vec<&str> = lessons.filter(|name| html::picture(report, &[name]).is_some()).collect();
        let others = match drawn[..] {
            [] => "no experiment in these records is".to_string(),
            _ => format!("in these records {} can be", drawn.join(", ")),
        };
        format!("`--picture {}` is not drawn as curves; {others}", names.join(","))
    })
}

fn save(text: &str, path: &Path) -> Result<()> {
    let cannot = || format!("cannot write the report {}. Name another file with --out", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(cannot)?;
    }
    fs::write(path, text).with_context(cannot)
}

/// Shows a page in the user's browser.
///
/// # Errors
/// No program opens it: the error names the page.
pub(crate) fn open(path: &Path) -> Result<()> {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let started = Command::new(program).arg(path).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    started.map(drop).with_context(|| {
        format!("`{program}` does not start, so open {} in a browser yourself", path.display())
    })
}

/// The devices of the runs, each once.
fn title(runs: &[RunRecords]) -> String {
    let mut names: Vec<String> = Vec::new();
    for run in runs {
        let device = &run.run.device;
        let name = format!("{} ({})", device.plain_name(), device.backend());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    format!("Memory behaviour: {}", names.join(", "))
}

/// The run whose records a folder or a file holds, with the rows that were simulated for it.
///
/// # Errors
/// There are no records: the error names the file and what is wrong with it.
fn read(path: &Path) -> Result<RunRecords> {
    let (run, records) = record::load(path)?;
    let file = path.join(SIMULATED);
    let simulated = if file.is_file() { record::load(&file)?.1 } else { Vec::new() };
    Ok(RunRecords { run, records, simulated })
}

/// Keeps the simulated rows of a run on a GPU beside its records.
///
/// # Errors
/// Writing fails.
pub(crate) fn keep_simulated(rows: &[Record], folder: &Path) -> Result<()> {
    let file = folder.join(SIMULATED);
    let lines = rows.iter().map(record::line).collect::<Result<String, _>>().map_err(io::Error::other);
    lines.and_then(|text| fs::write(&file, text)).with_context(|| format!("cannot write {}", file.display()))
}
