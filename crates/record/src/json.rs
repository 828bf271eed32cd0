//! JSON: one object a line.

use crate::{Record, SCHEMA};

/// Why a text is no list of records.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// A line is not JSON, or not of a record's fields.
    #[error("line {line} is no record: {cause}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        cause: serde_json::Error,
    },
    /// A record is of another form.
    #[error("line {line} is of the form `{found}`, and this program reads `{SCHEMA}`")]
    Schema {
        /// The line, from 1.
        line: usize,
        /// Its `schema`.
        found: String,
    },
}

/// A record as one line, with its end.
///
/// # Errors
/// A figure is no number that JSON has.
pub fn line(record: &Record) -> Result<String, serde_json::Error> {
    let mut line = serde_json::to_string(record)?;
    line.push('\n');
    Ok(line)
}

/// The records of a text of one JSON object a line; empty lines are passed over, and so are fields that this version does not
/// know.
///
/// # Errors
/// The first line that is no record.
pub fn read(text: &str) -> Result<Vec<Record>, ReadError> {
    let lines = text.lines().enumerate().filter(|(_, text)| !text.trim().is_empty());
    let read = lines.map(|(number, text)| {
        let line = number + 1;
        let record: Record = serde_json::from_str(text).map_err(|cause| ReadError::Line { line, cause })?;
        match record.schema.as_str() {
            SCHEMA => Ok(record),
            _ => Err(ReadError::Schema { line, found: record.schema }),
        }
    });
    read.collect()
}
