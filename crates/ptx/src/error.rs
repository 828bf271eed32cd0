//! Errors in PTX files.

use std::fmt;

use super::position::Position;
use super::types::ScalarType;

/// An error in a PTX file with its position.
///
/// It prints the position, the problem, and the line with a mark under the position.
#[derive(Clone, Debug)]
pub struct ParseError {
    inner: Box<Inner>,
}

#[derive(Clone, Debug)]
struct Inner {
    position: Position,
    problem: Problem,
    source_line: String,
    mark: usize,
}

/// Bytes of a long line that an error shows on each side of the position.
const SHOWN: usize = 60;

impl ParseError {
    /// Creates the error with the line cut out of the text.
    pub(super) fn new(text: &str, position: Position, problem: Problem) -> Self {
        let line = text.split('\n').nth(position.line.saturating_sub(1) as usize).unwrap_or("");
        let line = line.strip_suffix('\r').unwrap_or(line);
        let mut place = (position.column.saturating_sub(1) as usize).min(line.len());
        while !line.is_char_boundary(place) {
            place -= 1;
        }
        let before: Vec<char> = line[..place].chars().collect();
        let skipped = before.len().saturating_sub(SHOWN);
        let shown = before[skipped..].iter().copied().chain(line[place..].chars().take(SHOWN));
        let source_line: String = shown.map(|shown| if shown == '\t' { ' ' } else { shown }).collect();
        let indent =
            source_line.chars().take_while(|shown| *shown == ' ').count().min(before.len() - skipped);
        let inner = Inner {
            position,
            problem,
            source_line: source_line[indent..].trim_end().to_owned(),
            mark: before.len() - skipped - indent,
        };
        Self { inner: Box::new(inner) }
    }

    /// Returns the position.
    pub fn position(&self) -> Position {
        self.inner.position
    }

    /// Returns the problem.
    pub fn problem(&self) -> &Problem {
        &self.inner.problem
    }

    /// Returns the line of the file without its indentation; of a very long one, the part around the position.
    pub fn source_line(&self) -> &str {
        &self.inner.source_line
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { position, problem, source_line, mark } = &*self.inner;
        write!(formatter, "line {}, column {}: {problem}", position.line, position.column)?;
        if source_line.is_empty() {
            return Ok(());
        }
        write!(formatter, "\n    {source_line}\n    {:mark$}^", "")
    }
}

impl std::error::Error for ParseError {}

/// Problems by kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Problem {
    #[error("unknown character {0:?}")]
    UnknownCharacter(char),
    #[error("the file ends within this comment; expected `*/`")]
    UnterminatedComment,
    #[error("this text does not end on its line; expected `\"`")]
    UnterminatedText,
    #[error("malformed number `{text}`; expected {expected}")]
    MalformedNumber { text: String, expected: &'static str },
    #[error("the number {text} is too large; expected at most {most}")]
    NumberTooLarge { text: String, most: u64 },
    #[error("the file ends here; expected {expected}")]
    Truncated { expected: String },
    #[error("unknown directive `{directive}`; expected {expected}")]
    UnknownDirective { directive: String, expected: String },
    #[error("found {found}; expected {expected}")]
    Unexpected { found: String, expected: String },
    #[error("`{name}` is not declared; expected {expected}")]
    Undeclared { name: String, expected: String },
    #[error("the label `{name}` is not declared; expected a label of this function")]
    UndeclaredLabel { name: String },
    #[error(
        "the label `{name}` is out of scope: it stands on line {line}, in another block; expected a label of this block or one around it"
    )]
    LabelOutOfScope { name: String, line: u32 },
    #[error("`{name}` is a {found}; expected {expected}")]
    WrongLabel { name: String, found: &'static str, expected: &'static str },
    #[error("`{name}` is declared twice, first on line {line}; expected another name")]
    Duplicate { name: String, line: u32 },
    #[error("the name `{name}` has a meaning in PTX; expected another name")]
    Predefined { name: &'static str },
    #[error(
        "there is no register `{name}`: `{family}<{count}>` on line {line} ends before it; expected a smaller number"
    )]
    NoSuchRegister { name: String, family: String, count: u32, line: u32 },
    #[error("the register `{name}` is declared {declared} on line {line}; expected {expected}")]
    WrongRegister { name: String, declared: ScalarType, line: u32, expected: String },
    #[error("too many {what}; expected at most {most}")]
    TooMany { what: &'static str, most: u64 },
    #[error("the brackets are nested too deeply; expected at most {most} levels")]
    TooDeep { most: u32 },
}
