//! Detects that nothing changed since the last build, so that linking, optimising and writing PTX can be skipped.
//!
//! A stamp is text that lists everything the output depends on and what the output was. It is compared whole, so there is
//! nothing to get wrong about its order or form.

use std::fmt::Write;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// A stamp in the making.
#[derive(Debug, Default)]
pub(crate) struct Stamp {
    text: String,
}

impl Stamp {
    /// Adds something that is told by its text.
    pub(crate) fn value(&mut self, name: &str, value: impl std::fmt::Debug) {
        let _ = writeln!(self.text, "{name} = {value:?}");
    }

    /// Adds a file, by its size and time of change; one that is not there never equals itself.
    pub(crate) fn file(&mut self, path: &Path) {
        let about = std::fs::metadata(path).and_then(|about| Ok((about.len(), about.modified()?)));
        let _ = match about {
            Ok((size, time)) => {
                let time = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
                writeln!(self.text, "{} = {size} bytes at {time}", path.display())
            }
            Err(_) => {
                let now = UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
                writeln!(self.text, "{} is missing at {now}", path.display())
            }
        };
    }

    /// Whether the stamp kept at `path` is the same.
    pub(crate) fn matches(&self, path: &Path) -> bool {
        std::fs::read_to_string(path).is_ok_and(|kept| kept == self.text)
    }

    /// Keeps it. A stamp that cannot be kept only costs time.
    pub(crate) fn keep(&self, path: &Path) {
        let _ = std::fs::write(path, &self.text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(option: u32, file: &Path) -> Stamp {
        let mut stamp = Stamp::default();
        stamp.value("option", option);
        stamp.file(file);
        stamp
    }

    #[test]
    fn only_the_same_inputs_match() {
        let folder = tempfile::tempdir().unwrap();
        let (input, kept) = (folder.path().join("input"), folder.path().join("stamp"));
        std::fs::write(&input, "one").unwrap();
        assert!(!stamp(1, &input).matches(&kept));
        stamp(1, &input).keep(&kept);
        assert!(stamp(1, &input).matches(&kept));
        assert!(!stamp(2, &input).matches(&kept));
        std::fs::write(&input, "other").unwrap();
        assert!(!stamp(1, &input).matches(&kept));
    }

    #[test]
    fn a_missing_file_never_matches() {
        let folder = tempfile::tempdir().unwrap();
        let (input, kept) = (folder.path().join("input"), folder.path().join("stamp"));
        stamp(1, &input).keep(&kept);
        assert!(!stamp(1, &input).matches(&kept));
    }
}
