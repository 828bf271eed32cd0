//! A recursive-descent parser: one function per construct of the language, each of which consumes at least one token.

mod code;
mod declarations;
mod operands;
mod scopes;
mod top;

use super::error::Problem;
use super::lexer::{Fault, Lexer, Token, TokenKind};
use super::module::{Function, Item, Module};
use super::names::{Interner, Map, Name};
use super::position::Position;
use super::variable::Immediate;

type Parsed<T> = Result<T, Fault>;

/// Deepest nesting of brackets, which the parser handles by recursion.
const DEEPEST: u32 = 64;

/// State of the parser: the current token and what is known so far.
pub(super) struct Parser<'text> {
    lexer: Lexer<'text>,
    token: Token<'text>,
    interner: Interner<'text>,
    module: Module,
    globals: Map<&'text str, Global>,
}

/// Declaration of a name of the module.
#[derive(Clone, Copy)]
struct Global {
    position: Position,
    is_function: bool,
    defined: bool,
}

impl<'text> Parser<'text> {
    fn new(text: &'text str) -> Parsed<Self> {
        let mut lexer = Lexer::new(text);
        let token = lexer.next()?;
        let (interner, module, globals) = (Interner::default(), Module::default(), Map::default());
        Ok(Self { lexer, token, interner, module, globals })
    }

    /// Parses a file.
    pub(super) fn parse(text: &'text str) -> Parsed<Module> {
        let mut parser = Self::new(text)?;
        parser.file()?;
        Ok(parser.module)
    }

    /// Parses a function's declaration alone.
    pub(super) fn declaration(text: &'text str) -> Parsed<Function> {
        let mut parser = Self::new(text)?;
        parser.definition()?;
        match (parser.module.items.pop(), parser.token.kind) {
            (Some(Item::Function(function)), TokenKind::End) => Ok(function),
            _ => parser.unexpected("a function's head and nothing behind it"),
        }
    }

    /// Moves on and returns the token that was current.
    fn advance(&mut self) -> Parsed<Token<'text>> {
        let token = self.token;
        self.token = self.lexer.next()?;
        Ok(token)
    }

    /// Fails, since the current token is not one of those expected.
    fn unexpected<T>(&self, expected: impl Into<String>) -> Parsed<T> {
        let expected = expected.into();
        let found = match self.token.kind {
            TokenKind::End => return Err((self.token.position, Problem::Truncated { expected })),
            TokenKind::Identifier(text) | TokenKind::Directive(text) | TokenKind::Decimal(text) => {
                format!("`{text}`")
            }
            TokenKind::Text(text) => format!("the text \"{text}\""),
            TokenKind::Mark(mark) => format!("`{}`", mark as char),
            TokenKind::Number(_) => {
                let rest = &self.lexer.text()[self.token.start..];
                let end =
                    rest.find(|character: char| !character.is_ascii_alphanumeric()).unwrap_or(rest.len());
                format!("`{}`", &rest[..end])
            }
        };
        Err((self.token.position, Problem::Unexpected { found, expected }))
    }

    fn unknown_directive<T>(&self, directive: &str, expected: impl Into<String>) -> Parsed<T> {
        let problem =
            Problem::UnknownDirective { directive: directive.to_owned(), expected: expected.into() };
        Err((self.token.position, problem))
    }

    fn is(&self, mark: u8) -> bool {
        matches!(self.token.kind, TokenKind::Mark(found) if found == mark)
    }

    fn is_directive(&self, directive: &str) -> bool {
        matches!(self.token.kind, TokenKind::Directive(found) if found == directive)
    }

    /// Moves past the mark if it is the current token.
    fn take(&mut self, mark: u8) -> Parsed<bool> {
        let found = self.is(mark);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    /// Moves past the directive if it is the current token.
    fn take_directive(&mut self, directive: &str) -> Parsed<bool> {
        let found = self.is_directive(directive);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect(&mut self, mark: u8, after: &str) -> Parsed<()> {
        if self.take(mark)? { Ok(()) } else { self.unexpected(format!("`{}` {after}", mark as char)) }
    }

    fn identifier(&mut self, expected: &str) -> Parsed<(&'text str, Position)> {
        match self.token.kind {
            TokenKind::Identifier(text) => Ok((text, self.advance()?.position)),
            _ => self.unexpected(expected),
        }
    }

    /// Parses a number without sign or fraction.
    fn integer(&mut self, expected: &str) -> Parsed<u64> {
        match self.token.kind {
            TokenKind::Number(Immediate::Integer { bits, .. }) => {
                self.advance()?;
                Ok(bits)
            }
            _ => self.unexpected(expected),
        }
    }

    fn small_integer(&mut self, expected: &str) -> Parsed<u32> {
        let position = self.token.position;
        let bits = self.integer(expected)?;
        u32::try_from(bits).map_err(|_| {
            (position, Problem::NumberTooLarge { text: bits.to_string(), most: u64::from(u32::MAX) })
        })
    }

    /// Parses the value of `.align`: a power of two.
    fn alignment(&mut self) -> Parsed<u32> {
        if let TokenKind::Number(Immediate::Integer { bits, .. }) = self.token.kind
            && !bits.is_power_of_two()
        {
            return self.unexpected("a power of two, the alignment in bytes");
        }
        self.small_integer("a power of two, the alignment in bytes")
    }

    fn text(&mut self, expected: &str) -> Parsed<Name> {
        match self.token.kind {
            TokenKind::Text(text) => {
                self.advance()?;
                Ok(self.interner.name(text))
            }
            _ => self.unexpected(expected),
        }
    }

    /// Parses the hints of `.pragma` and the semicolon.
    fn pragma(&mut self) -> Parsed<Vec<Name>> {
        let mut hints = vec![self.text("a hint in quotes")?];
        while self.take(b',')? {
            hints.push(self.text("a hint in quotes")?);
        }
        self.expect(b';', "after `.pragma`")?;
        Ok(hints)
    }

    /// Parses a signed number, if the current token begins one.
    fn signed_number(&mut self) -> Parsed<Option<Immediate>> {
        let mut negative = false;
        let mut signed = false;
        while self.is(b'-') || self.is(b'+') {
            negative ^= self.is(b'-');
            signed = true;
            self.advance()?;
        }
        let number = match self.token.kind {
            TokenKind::Number(number) => number,
            TokenKind::Decimal(text) => Immediate::Double(text.parse().map_or(0, f64::to_bits)),
            _ if signed => return self.unexpected("a number after the sign"),
            _ => return Ok(None),
        };
        self.advance()?;
        Ok(Some(match number {
            number if !negative => number,
            Immediate::Integer { bits, unsigned } => {
                Immediate::Integer { bits: bits.wrapping_neg(), unsigned: unsigned && bits != 0 }
            }
            Immediate::Single(bits) => Immediate::Single(bits ^ 1 << 31),
            Immediate::Double(bits) => Immediate::Double(bits ^ 1 << 63),
        }))
    }

    /// Parses `+4`, `-4`, `+-4`, any number of times, and returns the sum; 0 without.
    fn offset(&mut self) -> Parsed<i64> {
        let mut sum = 0_i64;
        while self.is(b'+') || self.is(b'-') {
            match self.signed_number()? {
                Some(Immediate::Integer { bits, .. }) => sum = sum.wrapping_add(bits as i64),
                _ => return self.unexpected("an offset in bytes"),
            }
        }
        Ok(sum)
    }
}
