//! How an explanation is drawn: how wide, with which characters, in colour or without.

/// The form of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of a line.
    pub width: usize,
    /// Whether there are characters beyond ASCII.
    pub unicode: bool,
    /// Whether there are colours. They never carry a meaning alone.
    pub colour: bool,
}

/// What a part of a text is, as far as colours depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    /// A title.
    Strong,
    /// What stands in the background.
    Faint,
    /// What costs much.
    Hot,
    /// What costs something.
    Warm,
    /// What is as it should be.
    Cool,
}

impl Style {
    /// Columns of text, however wide the terminal is: longer lines are hard to read.
    pub(super) fn columns(self) -> usize {
        self.width.clamp(40, 120)
    }

    /// One of two texts: the first where there is Unicode.
    pub(super) fn either<T>(self, unicode: T, ascii: T) -> T {
        if self.unicode { unicode } else { ascii }
    }

    /// The text in this ink, where there are colours.
    pub(super) fn paint(self, ink: Ink, text: &str) -> String {
        let code = match ink {
            Ink::Strong => "1",
            Ink::Faint => "2",
            Ink::Hot => "31",
            Ink::Warm => "33",
            Ink::Cool => "32",
        };
        if self.colour && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
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
}
