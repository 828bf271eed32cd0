//! `coalesce run --fleet`: one rank of many measures its card, and writes a file of records.

use super::session::{Ended, Session, Sink};
use crate::{
    cli::{Options, Reference},
    device::{self, Backend, Gpu},
    interrupt,
    mistakes::refused,
    ranks::{Place, Told},
    together::Together,
};
use anyhow::{Context, Result, anyhow};
use record::{Origin, Record, Run};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Instant, SystemTime},
};

/// Passes of a health check: a fault that shows in one pass of ten is in one of these with a probability of 99.4%.
const PASSES: u32 = 48;

/// Runs as a rank.
///
/// # Errors
/// Anything that ends the run early: each error names the rank, and says what, why and what to do.
pub(super) fn run(options: &Options) -> Result<ExitCode> {
    let started = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let told = Told { run: options.run_id.clone(), ranks: options.ranks, started_unix: started };
    let place = Place::find(&told)?;
    measure(options, &place).with_context(|| place.to_string())
}

fn measure(options: &Options, place: &Place) -> Result<ExitCode> {
    let folder = options.fleet.as_deref().unwrap_or(Path::new("."));
    let mut file = RankFile::open(folder, place, options.replace)?;
    let driver = device::bind(&options.device)?;
    let ordinals = device::ordinals(&options.device, Some(place))?;
    let together = Together::start(options.together)?;
    let is_probe = options.experiments.is_empty() && options.kernels.is_empty();
    let backend = if driver.card().is_some() { Backend::Modelled } else { Backend::Measured };
    let passes = options.passes.unwrap_or(match backend {
        Backend::Measured => PASSES,
        // The model gives each pass the same times.
        Backend::Modelled => 1,
    });
    let begun = Instant::now();
    let mut cards = Vec::new();
    for ordinal in ordinals {
        let session =
            Session { options, reference: Reference::None, driver: &driver, passes, probe: is_probe };
        let mut sink =
            OfCard { file: &mut file, together: &together, origin: place.origin(None, passes), pass: 1 };
        match session.measure(ordinal, &mut sink)? {
            Ended::Done(measured) => cards.push((ordinal, measured.run.device.name)),
            Ended::Interrupted { planned } => {
                eprintln!(
                    "{place}: interrupted after {} of {planned} rows, which are kept in {}",
                    file.rows,
                    file.path.display()
                );
                return Ok(ExitCode::from(interrupt::EXIT_STATUS));
            }
        }
    }
    let names: Vec<String> = cards.iter().map(|(ordinal, name)| format!("cuda:{ordinal}, {name}")).collect();
    let line = format!(
        "{place}: {}: {} rows in {:.0} s, written to {}\n",
        names.join("; "),
        file.rows,
        begun.elapsed().as_secs_f64(),
        file.path.display(),
    );
    // In one piece: other ranks write to the same terminal. Nobody is lost if it is gone.
    let _ = io::stderr().write_all(line.as_bytes());
    if file.invalid > 0 {
        eprintln!(
            "error: {place}: {} of {} rows are INVALID: the result in memory was wrong",
            file.invalid, file.rows
        );
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// The file of a rank's records. Each record is written whole and at once, so that a rank that dies leaves complete ones.
struct RankFile {
    path: PathBuf,
    file: File,
    rows: usize,
    invalid: usize,
}

impl RankFile {
    fn open(folder: &Path, place: &Place, replace: bool) -> Result<RankFile> {
        let folder = folder.join(&place.run);
        let cannot = |path: &Path| {
            format!("cannot write {}: name a folder that all ranks can write to with --fleet", path.display())
        };
        fs::create_dir_all(&folder).with_context(|| cannot(&folder))?;
        let path = folder.join(place.file());
        let file = OpenOptions::new().append(true).create(true).open(&path).with_context(|| cannot(&path))?;
        let written = file.metadata().with_context(|| cannot(&path))?.len();
        if written > 0 && !replace {
            return Err(refused(anyhow!(
                "{} holds the records of an earlier run with this name: --replace removes them, or name this run with --run-id",
                path.display(),
            )));
        }
        file.set_len(0).with_context(|| cannot(&path))?;
        Ok(RankFile { path, file, rows: 0, invalid: 0 })
    }
}

/// Writes the records of one card into the rank's file.
struct OfCard<'f> {
    file: &'f mut RankFile,
    together: &'f Together,
    origin: Origin,
    pass: u32,
}

impl Sink for OfCard<'_> {
    fn begin(&mut self, _run: &Run, gpu: &Gpu) -> Result<()> {
        self.origin.uuid = gpu.uuid();
        Ok(())
    }

    fn pass(&mut self, pass: u32) -> Result<()> {
        self.pass = pass;
        self.together.meet();
        Ok(())
    }

    fn add(&mut self, record: Record) -> Result<()> {
        let origin = Origin { pass: self.pass, ..self.origin.clone() };
        // A fleet is judged by times: counters and sentences of each pass would be most of thousands of files.
        let record = Record { origin: Some(Box::new(origin)), counters: None, explanation: None, ..record };
        let line = record::line(&record).context("the record cannot be written as JSON")?;
        let path = self.file.path.display();
        self.file.file.write_all(line.as_bytes()).with_context(|| format!("cannot write to {path}"))?;
        self.file.rows += 1;
        self.file.invalid += usize::from(!record.verified);
        Ok(())
    }
}
