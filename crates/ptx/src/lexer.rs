//! Splits text into tokens, on demand and without copying.

use super::error::Problem;
use super::position::Position;
use super::variable::Immediate;

/// Kind of a token, with its content.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum TokenKind<'text> {
    /// `mov`, `%r1`, `$L__BB0_1`, `_`
    Identifier(&'text str),
    /// `.global`, `.L2::128B`: with its dot.
    Directive(&'text str),
    /// `12`, `0xFFU`, `0f3F800000`
    Number(Immediate),
    /// `1.5`, `8.0`: as written.
    Decimal(&'text str),
    /// Text between quotes.
    Text(&'text str),
    /// Any other single character.
    Mark(u8),
    /// End of the file.
    End,
}

/// A token and its position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'text> {
    pub(super) kind: TokenKind<'text>,
    pub(super) position: Position,
    /// Offset in bytes from the start of the text.
    pub(super) start: usize,
}

/// State of the lexer.
pub(super) struct Lexer<'text> {
    text: &'text str,
    bytes: &'text [u8],
    place: usize,
    line: u32,
    line_start: usize,
}

/// A problem and its position.
pub(super) type Fault = (Position, Problem);

const fn class(byte: u8) -> u8 {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' => IDENTIFIER | START,
        b'%' => START,
        b'0'..=b'9' => IDENTIFIER,
        _ => 0,
    }
}

const START: u8 = 1;
const IDENTIFIER: u8 = 2;

const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = class(byte as u8);
        byte += 1;
    }
    classes
};

fn continues_identifier(byte: u8) -> bool {
    CLASSES[byte as usize] & IDENTIFIER != 0
}

impl<'text> Lexer<'text> {
    pub(super) fn new(text: &'text str) -> Self {
        Self { text, bytes: text.as_bytes(), place: 0, line: 1, line_start: 0 }
    }

    pub(super) fn text(&self) -> &'text str {
        self.text
    }

    /// Returns the offset in bytes behind the last token.
    pub(super) fn place(&self) -> usize {
        self.place
    }

    /// Moves past what [`Lexer::next`] has just refused, so that it can go on.
    pub(super) fn pass(&mut self, problem: &Problem) {
        if let Problem::UnknownCharacter(character) = problem {
            self.place += character.len_utf8();
        }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.place + ahead).copied().unwrap_or(0)
    }

    fn position(&self) -> Position {
        Position { line: self.line, column: (self.place - self.line_start + 1) as u32 }
    }

    fn skip_while(&mut self, accept: impl Fn(u8) -> bool) {
        while self.bytes.get(self.place).is_some_and(|byte| accept(*byte)) {
            self.place += 1;
        }
    }

    fn skip_blanks(&mut self) -> Result<(), Fault> {
        loop {
            match self.peek(0) {
                b'\n' => {
                    self.place += 1;
                    self.line += 1;
                    self.line_start = self.place;
                }
                b' ' | b'\t' | b'\r' | 0x0B | 0x0C => self.place += 1,
                b'/' if self.peek(1) == b'/' => self.skip_while(|byte| byte != b'\n'),
                b'/' if self.peek(1) == b'*' => self.skip_comment()?,
                _ => return Ok(()),
            }
        }
    }

    fn skip_comment(&mut self) -> Result<(), Fault> {
        let start = self.position();
        self.place += 2;
        loop {
            match self.bytes.get(self.place) {
                None => return Err((start, Problem::UnterminatedComment)),
                Some(b'*') if self.peek(1) == b'/' => {
                    self.place += 2;
                    return Ok(());
                }
                Some(b'\n') => {
                    self.line += 1;
                    self.line_start = self.place + 1;
                }
                Some(_) => {}
            }
            self.place += 1;
        }
    }

    pub(super) fn next(&mut self) -> Result<Token<'text>, Fault> {
        self.skip_blanks()?;
        let (position, start) = (self.position(), self.place);
        let Some(first) = self.bytes.get(start).copied() else {
            return Ok(Token { kind: TokenKind::End, position, start });
        };
        let kind = match first {
            _ if CLASSES[first as usize] & START != 0 => {
                self.place += 1;
                self.skip_while(continues_identifier);
                TokenKind::Identifier(&self.text[start..self.place])
            }
            b'0'..=b'9' => self.number(position)?,
            b'.' if continues_identifier(self.peek(1)) => {
                self.skip_modifier();
                TokenKind::Directive(&self.text[start..self.place])
            }
            b'"' => self.quoted(position)?,
            b'{' | b'}' | b'(' | b')' | b'[' | b']' | b'<' | b'>' | b',' | b';' | b':' | b'=' | b'+'
            | b'-' | b'!' | b'|' | b'@' => {
                self.place += 1;
                TokenKind::Mark(first)
            }
            _ => {
                let character = self.text[start..].chars().next().unwrap_or('\0');
                return Err((position, Problem::UnknownCharacter(character)));
            }
        };
        Ok(Token { kind, position, start })
    }

    /// Skips a dot, a word, and further words after double colons.
    fn skip_modifier(&mut self) {
        self.place += 1;
        self.skip_while(continues_identifier);
        while self.peek(0) == b':' && self.peek(1) == b':' && continues_identifier(self.peek(2)) {
            self.place += 2;
            self.skip_while(continues_identifier);
        }
    }

    /// Skips the modifiers that follow the last token without a blank. Returns the text from `start` on.
    pub(super) fn with_modifiers(&mut self, start: usize) -> &'text str {
        while self.peek(0) == b'.' && continues_identifier(self.peek(1)) {
            self.skip_modifier();
        }
        &self.text[start..self.place]
    }

    fn quoted(&mut self, position: Position) -> Result<TokenKind<'text>, Fault> {
        let start = self.place + 1;
        self.place = start;
        self.skip_while(|byte| byte != b'"' && byte != b'\n');
        if self.peek(0) != b'"' {
            return Err((position, Problem::UnterminatedText));
        }
        self.place += 1;
        Ok(TokenKind::Text(&self.text[start..self.place - 1]))
    }

    fn number(&mut self, position: Position) -> Result<TokenKind<'text>, Fault> {
        let start = self.place;
        self.skip_while(continues_identifier);
        let fraction = self.peek(0) == b'.' && self.peek(1).is_ascii_digit();
        if fraction {
            self.place += 1;
            self.skip_while(continues_identifier);
        }
        let exponent = matches!(self.bytes[self.place - 1], b'e' | b'E');
        let integer = &self.text[start..self.place];
        let is_decimal =
            integer.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E'));
        if is_decimal && exponent && matches!(self.peek(0), b'+' | b'-') {
            self.place += 1;
            self.skip_while(continues_identifier);
        }
        let text = &self.text[start..self.place];
        if fraction || is_decimal && text.contains(['e', 'E']) {
            let well = text.parse::<f64>().is_ok();
            return if well {
                Ok(TokenKind::Decimal(text))
            } else {
                malformed(position, text, "a decimal number")
            };
        }
        let bytes = text.as_bytes();
        let hexadecimal = |digits: usize| {
            let tail = &text[2..];
            (tail.len() == digits).then(|| u64::from_str_radix(tail, 16).ok()).flatten()
        };
        match bytes.get(1) {
            Some(b'f' | b'F') if bytes[0] == b'0' => match hexadecimal(8) {
                Some(bits) => return Ok(TokenKind::Number(Immediate::Single(bits as u32))),
                None => return malformed(position, text, "0f and eight hexadecimal digits"),
            },
            Some(b'd' | b'D') if bytes[0] == b'0' => match hexadecimal(16) {
                Some(bits) => return Ok(TokenKind::Number(Immediate::Double(bits))),
                None => return malformed(position, text, "0d and sixteen hexadecimal digits"),
            },
            _ => {}
        }
        let (digits, marked) = text.strip_suffix('U').map_or((text, false), |digits| (digits, true));
        let (digits, radix, expected) = match digits.as_bytes() {
            [b'0', b'x' | b'X', ..] => (&digits[2..], 16, "hexadecimal digits"),
            [b'0', b'b' | b'B', ..] => (&digits[2..], 2, "binary digits"),
            [b'0', _, ..] => (&digits[1..], 8, "octal digits"),
            _ => (digits, 10, "decimal digits"),
        };
        match u64::from_str_radix(digits, radix) {
            Ok(bits) => {
                let unsigned = marked || i64::try_from(bits).is_err();
                Ok(TokenKind::Number(Immediate::Integer { bits, unsigned }))
            }
            Err(error) if *error.kind() == std::num::IntErrorKind::PosOverflow => {
                Err((position, Problem::NumberTooLarge { text: text.to_owned(), most: u64::MAX }))
            }
            Err(_) => malformed(position, text, expected),
        }
    }

    /// Skips to the brace that closes the one just read, and past it. Returns the text between them; None if the file
    /// ends before.
    pub(super) fn skip_braces(&mut self) -> Result<Option<&'text str>, Fault> {
        let start = self.place;
        let mut depth = 1;
        loop {
            self.skip_while(|byte| !matches!(byte, b'{' | b'}' | b'"' | b'/' | b'\n'));
            match self.bytes.get(self.place) {
                None => return Ok(None),
                Some(b'{') => depth += 1,
                Some(b'}') if depth == 1 => {
                    self.place += 1;
                    return Ok(Some(&self.text[start..self.place - 1]));
                }
                Some(b'}') => depth -= 1,
                Some(b'"') => {
                    self.quoted(self.position())?;
                    continue;
                }
                Some(b'/') if !matches!(self.peek(1), b'/' | b'*') => {}
                _ => {
                    self.skip_blanks()?;
                    continue;
                }
            }
            self.place += 1;
        }
    }
}

fn malformed<T>(position: Position, text: &str, expected: &'static str) -> Result<T, Fault> {
    Err((position, Problem::MalformedNumber { text: text.to_owned(), expected }))
}
