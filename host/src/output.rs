//! The output of records. Each is written whole and at once, so that an interrupted run leaves complete records only.

use crate::{
    catalog,
    cli::{Detail, Format, Options},
    commands::{
        report::{PAGE, SIMULATED},
        session::Sink,
    },
    device::Gpu,
    mistakes::refused,
};
use anyhow::{Context, Result, anyhow};
use record::{RECORDS_FILE as RECORDS, RUN_FILE as RUN, Record, Run};
use report::terminal::{self, Shown, Style, Written};
use std::{
    env,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::fd::AsFd,
    path::{Path, PathBuf},
};

/// The records of a run, in the order in which they came.
pub(crate) struct Output {
    run: Option<Run>,
    records: Vec<Record>,
    /// How many of the records have been shown as tables.
    tabulated: usize,
    format: Format,
    shown: Shown,
    folder: Option<Folder>,
    /// Whether the reader of standard output has gone away, as `head` does.
    unread: bool,
}

struct Folder {
    path: PathBuf,
    records: File,
    /// Whether the folder was not there before.
    created: bool,
    /// Whether the files of an earlier run are there, to be removed when the first record comes.
    earlier: bool,
}

/// The file that has all rows as tables.
const TABLE: &str = "table.txt";

/// The file that has all rows side by side.
const CSV: &str = "records.csv";

/// The file that has the same as columns with types, where the program is built with the feature `parquet`.
const PARQUET: &str = "records.parquet";

/// The form of text that suits a stream.
pub(crate) fn style(stream: &impl AsFd) -> Style {
    let width = terminal_size::terminal_size_of(stream).map(|(width, _)| width.0);
    Style::detect(|name| env::var(name).ok(), width)
}

impl Output {
    /// Opens what the options name.
    ///
    /// # Errors
    /// The folder cannot be written to, or holds the records of an earlier run, which are not to be replaced.
    pub(crate) fn open(options: &Options) -> Result<Output> {
        let folder = options.out.as_deref().map(|path| Folder::open(path, options.replace)).transpose()?;
        let shown = Shown {
            style: style(&io::stdout()),
            verbose: options.verbose,
            counters: options.counters.is_some(),
            lines: options.counters == Some(Detail::Lines),
            explanations: options.explain,
        };
        Ok(Output {
            run: None,
            records: Vec::new(),
            tabulated: 0,
            format: options.format,
            shown,
            folder,
            unread: false,
        })
    }

    /// Prints nothing: only the folder is written.
    pub(crate) fn silent(self) -> Output {
        Output { unread: true, ..self }
    }

    /// Takes a record. The first one of another experiment has the table of the one before printed.
    fn take(&mut self, record: Record) -> Result<()> {
        if self.records.last().is_some_and(|last| last.experiment != record.experiment) {
            self.tabulate()?;
        }
        let line = record::line(&record).context("the record cannot be written as JSON")?;
        if let Some(folder) = &mut self.folder {
            if self.records.is_empty() {
                folder.begin(self.run.as_ref())?;
            }
            folder
                .records
                .write_all(line.as_bytes())
                .with_context(|| format!("cannot write to {}", folder.path.join(RECORDS).display()))?;
        }
        if self.format == Format::Json {
            self.print(&line)?;
        }
        self.records.push(record);
        Ok(())
    }

    /// Prints the table of the records that are not in one yet.
    fn tabulate(&mut self) -> Result<()> {
        if self.format != Format::Table {
            return Ok(());
        }
        // Before its first table there is nothing to say about a run.
        let run = self.run.as_ref().filter(|_| self.tabulated == 0);
        let head = run.map(|run| terminal::head(run, self.shown)).unwrap_or_default();
        let rows: Vec<&Record> = self.records[self.tabulated..].iter().collect();
        let section = terminal::section(&rows, catalog::catalog(), self.shown);
        self.tabulated = self.records.len();
        self.print(&(head + &section))
    }

    /// The records so far.
    pub(crate) fn records(&self) -> &[Record] {
        &self.records
    }

    /// Shows the last table, and completes the folder.
    ///
    /// # Errors
    /// Writing fails.
    pub(crate) fn finish(&mut self) -> Result<()> {
        if let Some(Folder { path, .. }) = &self.folder {
            let write = |name: &str, text: String| {
                let path = path.join(name);
                fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
            };
            if let Some(run) = &self.run {
                let all = Shown { style: Style::FILE, verbose: true, ..self.shown };
                write(TABLE, terminal::table(&self.records, run, catalog::catalog(), all))?;
            }
            write(CSV, record::csv(&self.records)?)?;
            #[cfg(feature = "parquet")]
            {
                let path = path.join(PARQUET);
                let file = record::parquet(&self.records)?;
                fs::write(&path, file).with_context(|| format!("cannot write {}", path.display()))?;
            }
        }
        match self.format {
            Format::Json => Ok(()),
            Format::Table => self.tabulate(),
            Format::Csv => self.print(&record::csv(&self.records)?),
        }
    }

    /// The end of the run for people, who read it on standard error: what each experiment shows, and where all of it is kept.
    pub(crate) fn summary(&self, page: &Path) -> String {
        let mut written = vec![Written { what: "report", path: page.display().to_string() }];
        if let Some(Folder { path, .. }) = &self.folder {
            let kept = [("tables", TABLE), ("records", RECORDS), ("as CSV", CSV)];
            let of = |(what, name)| Written { what, path: path.join(name).display().to_string() };
            written.extend(kept.map(of));
        }
        let shown = Shown { style: style(&io::stderr()), ..self.shown };
        terminal::summary(&self.records, catalog::catalog(), &written, shown)
    }

    /// Prints for as long as somebody reads. A reader that goes away is no failure, and costs the folder nothing.
    fn print(&mut self, text: &str) -> Result<()> {
        if self.unread {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.unread = true,
            written => written.context("cannot write to standard output")?,
        }
        Ok(())
    }
}

impl Sink for Output {
    fn begin(&mut self, run: &Run, _gpu: &Gpu) -> Result<()> {
        self.run = Some(run.clone());
        Ok(())
    }

    fn add(&mut self, record: Record) -> Result<()> {
        self.take(record)
    }

    /// The folder takes records, and standard output until its reader goes away.
    fn wanted(&self) -> bool {
        self.folder.is_some() || !self.unread
    }
}

impl Folder {
    fn open(path: &Path, replace: bool) -> Result<Folder> {
        let advice = "Name a folder that can be written to with --out";
        let created = !path.exists();
        fs::create_dir_all(path)
            .with_context(|| format!("cannot create the output folder {}. {advice}", path.display()))?;
        let file = path.join(RECORDS);
        let records = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&file)
            .with_context(|| format!("cannot write to {}. {advice}", file.display()))?;
        let written = records.metadata().with_context(|| format!("cannot look at {}", file.display()))?.len();
        if written > 0 && !replace {
            return Err(refused(anyhow!(
                "{} holds the records of an earlier run: --replace removes them and what was written beside them, or name \
                 another folder with --out",
                file.display(),
            )));
        }
        Ok(Folder { path: path.to_path_buf(), records, created, earlier: written > 0 })
    }

    /// Removes what an earlier run wrote, and writes what this one is. Called before the first record is written, so that a run
    /// that fails until then costs nothing.
    fn begin(&self, run: Option<&Run>) -> Result<()> {
        if self.earlier {
            let failed = |name: &str| format!("cannot remove the earlier {}", self.path.join(name).display());
            for name in [RUN, TABLE, CSV, PARQUET, PAGE, SIMULATED] {
                match fs::remove_file(self.path.join(name)) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(error).with_context(|| failed(name));
                    }
                    _ => {}
                }
            }
            self.records.set_len(0).with_context(|| failed(RECORDS))?;
        }
        if let Some(run) = run {
            let path = self.path.join(RUN);
            let mut text = serde_json::to_string_pretty(run).context("the run cannot be written as JSON")?;
            text.push('\n');
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}

impl Drop for Folder {
    /// A run that ends before its first record leaves nothing behind. What cannot be cleared away does no harm: the next
    /// run takes an empty file for its own.
    fn drop(&mut self) {
        if self.records.metadata().is_ok_and(|metadata| metadata.len() == 0) {
            let _ = fs::remove_file(self.path.join(RECORDS));
            let _ = fs::remove_file(self.path.join(RUN));
            if self.created {
                let _ = fs::remove_dir(&self.path);
            }
        }
    }
}
