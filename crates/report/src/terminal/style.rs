//! How text is drawn for a reader: how wide, with which characters, in colour or without.

/// The form of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of a line, at least [`LEAST`].
    pub width: usize,
    /// Whether there are characters beyond ASCII: blocks, braille, lines.
    pub unicode: bool,
    /// Whether there are colours. They never carry a meaning alone.
    pub colour: bool,
}

/// The width in columns of output that is not a terminal, or of a terminal that does not state its own.
const USUAL: usize = 80;

/// The narrowest width that is drawn for.
pub const LEAST: usize = 40;

/// The widest prose: longer lines are hard to read.
const PROSE: usize = 100;

impl Default for Style {
    /// 80 columns of Unicode without colour.
    fn default() -> Style {
        Style { width: USUAL, unicode: true, colour: false }
    }
}

impl Style {
    /// The form of a file that is read in an editor or a pager.
    pub const FILE: Style = Style { width: 100, unicode: true, colour: false };

    /// The form that suits standard output: `terminal` is its width in columns, `None` where it is no terminal; `variable` reads
    /// the environment.
    ///
    /// The width is `COLUMNS`, else the terminal's, else 80. Characters are Unicode unless the first of `LC_ALL`, `LC_CTYPE`
    /// and `LANG` that is set names another encoding, as `C` and `POSIX` do. Colours need a terminal, other than one that
    /// `TERM` calls `dumb`, and no `NO_COLOR`.
    ///
    /// ```
    /// use report::terminal::Style;
    /// let variable = |name: &str| (name == "LANG").then(|| "de_DE.UTF-8".to_string());
    /// assert_eq!(Style::detect(variable, Some(132)), Style { width: 132, unicode: true, colour: true });
    /// ```
    pub fn detect(variable: impl Fn(&str) -> Option<String>, terminal: Option<u16>) -> Style {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let columns =
            set("COLUMNS").and_then(|columns| columns.trim().parse().ok()).filter(|&columns| columns > 0);
        let width = columns.or(terminal.map(usize::from)).unwrap_or(USUAL).max(LEAST);
        let locale =
            ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).map(|locale| locale.to_lowercase());
        let unicode = locale.is_none_or(|locale| locale.contains("utf-8") || locale.contains("utf8"));
        let dumb = set("TERM").is_some_and(|terminal| terminal == "dumb");
        Style { width, unicode, colour: terminal.is_some() && set("NO_COLOR").is_none() && !dumb }
    }

    /// Columns of a line of prose.
    pub(crate) fn prose(self) -> usize {
        self.width.min(PROSE)
    }

    /// One of two texts: the first where there is Unicode.
    pub(crate) fn either<T>(self, unicode: T, ascii: T) -> T {
        if self.unicode { unicode } else { ascii }
    }

    /// The text in this ink, where there are colours.
    pub(crate) fn paint(self, ink: Ink, text: &str) -> String {
        match ink.code().filter(|_| self.colour && !text.is_empty()) {
            Some(code) => format!("\x1b[{code}m{text}\x1b[0m"),
            None => text.to_string(),
        }
    }
}

/// The role of a part of a text, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    /// Nothing special.
    Plain,
    /// A title or a finding.
    Strong,
    /// The background: axes, ceilings, settings.
    Faint,
    /// A wrong result.
    Wrong,
    /// A high cost.
    Hot,
    /// A moderate cost.
    Warm,
    /// The least possible cost.
    Cool,
    /// The curve or the bars with this number.
    Series(usize),
}

impl Ink {
    /// The parameters of the terminal's sequence that selects it.
    fn code(self) -> Option<&'static str> {
        const SERIES: [&str; 6] = ["36", "33", "35", "32", "34", "96"];
        match self {
            Ink::Plain => None,
            Ink::Strong => Some("1"),
            Ink::Faint => Some("2"),
            Ink::Wrong => Some("1;31"),
            Ink::Hot => Some("31"),
            Ink::Warm => Some("33"),
            Ink::Cool => Some("32"),
            Ink::Series(number) => Some(SERIES[number % SERIES.len()]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect(variables: &[(&str, &str)], terminal: Option<u16>) -> Style {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string())
        };
        Style::detect(variable, terminal)
    }

    #[test]
    fn the_width_is_the_variables_or_the_terminals_or_80() {
        for (variables, terminal, width) in [
            (&[][..], None, 80),
            (&[][..], Some(140), 140),
            (&[("COLUMNS", "60")][..], Some(140), 60),
            (&[("COLUMNS", "60")], None, 60),
            (&[("COLUMNS", "wide")], Some(90), 90),
            (&[("COLUMNS", "0")], None, 80),
            (&[], Some(10), 40),
        ] {
            assert_eq!(detect(variables, terminal).width, width, "{variables:?} {terminal:?}");
        }
    }

    #[test]
    fn the_first_locale_that_is_set_decides_about_characters() {
        for (variables, unicode) in [
            (&[][..], true),
            (&[("LANG", "en_US.UTF-8")][..], true),
            (&[("LANG", "en_US.utf8")], true),
            (&[("LANG", "C")], false),
            (&[("LANG", "de_DE.ISO-8859-1")], false),
            (&[("LANG", "C"), ("LC_CTYPE", "C.UTF-8")], true),
            (&[("LANG", "C.UTF-8"), ("LC_ALL", "POSIX")], false),
            (&[("LANG", "C.UTF-8"), ("LC_ALL", "")], true),
        ] {
            assert_eq!(detect(variables, None).unicode, unicode, "{variables:?}");
        }
    }

    #[test]
    fn colours_are_for_terminals_that_have_them_and_readers_who_want_them() {
        assert!(detect(&[], Some(80)).colour);
        assert!(detect(&[("NO_COLOR", "")], Some(80)).colour);
        assert!(!detect(&[("NO_COLOR", "1")], Some(80)).colour);
        assert!(!detect(&[("TERM", "dumb")], Some(80)).colour);
        assert!(!detect(&[], None).colour);
        let style = Style { colour: true, ..Style::default() };
        assert_eq!(style.paint(Ink::Strong, "offset"), "\x1b[1moffset\x1b[0m");
        assert_eq!(style.paint(Ink::Plain, "offset"), "offset");
        assert_eq!(Style::default().paint(Ink::Wrong, "INVALID"), "INVALID");
    }
}
