//! Reads the text of source lines, to show code beside the instructions that it became.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;

/// A cache of source files, each read when one of its lines is first requested.
///
/// PTX names source files by their paths on the machine that compiled it. On other machines they may be missing, and
/// their lines have no text.
#[derive(Debug, Default)]
pub struct Sources {
    /// Lines by path; None if the file cannot be read.
    files: RefCell<HashMap<String, Option<Vec<String>>>>,
}

impl Sources {
    /// Creates an empty cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the text of a line, from 1, without trailing blanks. None if the file is missing or shorter.
    pub fn line(&self, file: &str, line: u32) -> Option<String> {
        let mut files = self.files.borrow_mut();
        let lines = files.entry(file.to_owned()).or_insert_with(|| {
            let text = fs::read_to_string(file).ok()?;
            Some(text.lines().map(|line| line.trim_end().to_owned()).collect())
        });
        lines.as_ref()?.get((line as usize).checked_sub(1)?).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::Sources;

    #[test]
    fn lines_are_counted_from_one() {
        let sources = Sources::new();
        let this = concat!(env!("CARGO_MANIFEST_DIR"), "/src/sources.rs");
        assert_eq!(sources.line(this, 3).as_deref(), Some("use std::cell::RefCell;"));
        assert_eq!(sources.line(this, 0), None);
        assert_eq!(sources.line(this, 1_000_000), None);
        assert_eq!(sources.line("nowhere/kernel.rs", 1), None);
    }
}
