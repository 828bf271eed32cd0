//! JSON: one object per line.

use crate::{Record, SCHEMA};
use serde::{Serialize, de::DeserializeOwned};

/// A reason why a text is no list of records.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// A line is not JSON, or not of a record's fields.
    #[error("line {line} is no record: {cause}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// The parser's error.
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

/// A value as one line with its newline; the names in objects are sorted, as in kept files.
///
/// # Errors
/// A figure is no number that JSON has.
pub fn sorted_line(value: &impl Serialize) -> Result<String, serde_json::Error> {
    Ok(format!("{}\n", serde_json::to_value(value)?))
}

/// Parses records from a text of one JSON object per line. Empty lines are skipped, and so are fields that this version
/// does not know.
///
/// # Errors
/// The first line that is no record.
pub fn read(text: &str) -> Result<Vec<Record>, ReadError> {
    let records: Vec<Record> = read_lines(text)?;
    match records.iter().position(|record| record.schema != SCHEMA) {
        Some(other) => Err(ReadError::Schema {
            line: numbered(text).nth(other).map_or(0, |(line, _)| line),
            found: records[other].schema.clone(),
        }),
        None => Ok(records),
    }
}

/// Parses values of any type from a text of one JSON object per line. Empty lines are skipped.
///
/// # Errors
/// The first line that is something else.
pub fn read_lines<T: DeserializeOwned>(text: &str) -> Result<Vec<T>, ReadError> {
    numbered(text)
        .map(|(line, text)| serde_json::from_str(text).map_err(|cause| ReadError::Line { line, cause }))
        .collect()
}

/// The lines that are not empty, with their numbers from 1.
fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty())
}
