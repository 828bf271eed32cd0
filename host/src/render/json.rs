//! JSON: one object a line.

use crate::record::Record;
use anyhow::{Context, Result};

/// The record as one line, with its end.
///
/// # Errors
/// A figure is no number that JSON has.
pub(crate) fn json_line(record: &Record) -> Result<String> {
    let mut line = serde_json::to_string(record).context("the record cannot be written as JSON")?;
    line.push('\n');
    Ok(line)
}
