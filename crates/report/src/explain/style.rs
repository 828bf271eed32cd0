//! Lines of an explanation.

use crate::terminal::Style;

impl Style {
    /// Columns of text, however wide the terminal is: longer lines are hard to read.
    pub(super) fn columns(self) -> usize {
        self.width.clamp(40, 120)
    }

    /// Broken into lines between words, each with this indent but the first, which `first` is put before.
    pub(super) fn wrap(self, first: &str, indent: &str, text: &str) -> String {
        let mut out = String::new();
        let mut line = first.to_string();
        let mut fresh = true;
        for word in text.split_whitespace() {
            let space = usize::from(!fresh);
            if !fresh && line.chars().count() + space + word.chars().count() > self.columns() {
                out.push_str(line.trim_end());
                out.push('\n');
                line = indent.to_string();
                fresh = true;
            }
            if !fresh {
                line.push(' ');
            }
            line.push_str(word);
            fresh = false;
        }
        out + line.trim_end() + "\n"
    }

    /// As much of a line as fits.
    pub(super) fn cut(self, line: &str) -> String {
        let most = self.columns();
        if line.chars().count() <= most {
            return line.to_string();
        }
        let end = self.either("…", "..");
        line.chars().take(most - end.chars().count()).chain(end.chars()).collect()
    }
}
