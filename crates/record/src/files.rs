//! Records on disk: the folder that a run wrote, or a file of records.

use crate::{ReadError, Record, Run, read};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The file of records in the folder of a run.
pub const RECORDS_FILE: &str = "records.jsonl";

/// The file beside it that says what the run as a whole was.
pub const RUN_FILE: &str = "run.json";

/// A reason why a path holds no records.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// There is nothing there.
    #[error(
        "there are no records in {}: name a folder that `coalesce run --out` wrote, or a file of records", .0.display()
    )]
    Missing(PathBuf),
    /// The file has no line.
    #[error("{} is empty: its run ended before the first record. Run it again", .0.display())]
    Empty(PathBuf),
    /// The file cannot be read.
    #[error("cannot read {}", .0.display())]
    Unreadable(PathBuf, #[source] io::Error),
    /// A line of the file is no record.
    #[error("{} holds something else than records", .0.display())]
    NoRecords(PathBuf, #[source] ReadError),
    /// The record of the run is malformed.
    #[error("{} does not describe a run; without it the records speak for themselves", .0.display())]
    NoRun(PathBuf, #[source] serde_json::Error),
}

/// Reads a folder with [`RECORDS_FILE`], or a file of records, with the [`Run`] beside it. Without that file, the run
/// is rebuilt from the records as far as they describe it.
///
/// # Errors
/// There is no such file, it is empty, or it holds something else.
pub fn load(path: &Path) -> Result<(Run, Vec<Record>), LoadError> {
    let file = if path.is_dir() { path.join(RECORDS_FILE) } else { path.to_path_buf() };
    let text = fs::read_to_string(&file).map_err(|cause| match cause.kind() {
        io::ErrorKind::NotFound => LoadError::Missing(path.to_path_buf()),
        _ => LoadError::Unreadable(file.clone(), cause),
    })?;
    let records = read(&text).map_err(|cause| LoadError::NoRecords(file.clone(), cause))?;
    let run = file.with_file_name(RUN_FILE);
    let run = match fs::read_to_string(&run) {
        // A file of another name beside a run.json need not be of that run.
        Ok(text) if file.ends_with(RECORDS_FILE) => {
            Some(serde_json::from_str(&text).map_err(|cause| LoadError::NoRun(run, cause))?)
        }
        _ => None,
    };
    let run = run.or_else(|| Run::of(&records)).filter(|_| !records.is_empty());
    run.map(|run| (run, records)).ok_or(LoadError::Empty(file))
}
