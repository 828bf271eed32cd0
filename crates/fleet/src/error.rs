//! Errors of reading a fleet's records.

use std::{io, path::PathBuf};

/// A reason why nothing can be judged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FleetError {
    /// The folder cannot be listed.
    #[error("cannot list {}: name a folder that `coalesce run --fleet` wrote into", .0.display())]
    Folder(PathBuf, #[source] io::Error),
    /// It has no records.
    #[error(
        "there are no records in {}: `coalesce run --fleet {}` writes one file per rank there", .0.display(), .0.display()
    )]
    NoRecords(PathBuf),
}

/// A reason why a line is not a record.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LineError {
    /// It is not JSON, or lacks a field.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// It is of another form.
    #[error("its form is `{0}`, and this program reads `{form}`", form = record::SCHEMA)]
    Schema(String),
}
