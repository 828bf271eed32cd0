//! The text of source lines, for whoever shows code beside what became of it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;

/// Reads source files, each when one of its lines is first asked for.
///
/// PTX names the files that it was compiled from by their paths on the machine that compiled it. Elsewhere they are missing,
/// and their lines have no text.
#[derive(Debug, Default)]
pub struct Sources {
    /// By path; none: the file cannot be read.
    files: RefCell<HashMap<String, Option<Vec<String>>>>,
}

impl Sources {
    /// Reads nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The text of a line, from 1, without the blanks at its end. None: there is no such file here, or it is shorter.
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
