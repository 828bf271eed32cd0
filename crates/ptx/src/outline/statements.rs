//! Splits a PTX text into its statements, without judging them.

use std::ops::Range;

use crate::lexer::{Lexer, Token, TokenKind};
use crate::module::FunctionKind;
use crate::types::Space;
use crate::variable::Immediate;

/// A statement of a PTX text, with what precedes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement<'text> {
    /// What the statement says.
    pub kind: Kind<'text>,
    /// The statement itself, from its first word on, with its semicolon.
    pub text: &'text str,
    /// Its place in the whole text, in bytes.
    pub span: Range<usize>,
    /// Line of its first word, from 1.
    pub line: u32,
    /// Blanks and comments since the statement before.
    pub before: &'text str,
}

/// Kind of a statement, as far as its first words tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind<'text> {
    /// `.version 8.0`: major and minor number.
    Version(u32, u32),
    /// `.target sm_90, debug`: the architecture.
    Target(&'text str),
    /// `.address_size 64`
    AddressSize(u32),
    /// `.file 1 "copy.rs"`
    File {
        /// The number that `.loc` gives.
        number: u32,
        /// The file's name.
        name: &'text str,
    },
    /// `.loc 1 20 5`, with or without a caller.
    Location {
        /// Number of a `.file`.
        file: u32,
        /// Line.
        line: u32,
        /// Column.
        column: u32,
    },
    /// `.section .debug_str { .. }`: its name with the dot.
    Section(&'text str),
    /// The head of a `.func` or `.entry`: without the body, which follows as statements of its own.
    Function {
        /// Kernel or device function.
        kind: FunctionKind,
        /// Name.
        name: &'text str,
        /// `.extern`
        is_extern: bool,
        /// False for a declaration, which a semicolon ends.
        has_body: bool,
    },
    /// A variable, of the module or of a function.
    Variable(&'text str),
    /// `$L__BB0_1:`, without the colon.
    Label(&'text str),
    /// An instruction: its opcode with all modifiers.
    Instruction(&'text str),
    /// `{`, which opens a body or a block within it.
    Open,
    /// `}`
    Close,
    /// Any other directive, and text that is not PTX.
    Other,
}

impl Kind<'_> {
    /// Returns true for a statement that only serves debuggers: `.file`, `.loc`, a section, or a label that LLVM
    /// writes for sections.
    pub fn is_for_debuggers(&self) -> bool {
        match self {
            Self::File { .. } | Self::Location { .. } | Self::Section(_) => true,
            Self::Label(name) => {
                ["$L__tmp", "$L__func_begin", "$L__func_end"].iter().any(|start| name.starts_with(start))
            }
            _ => false,
        }
    }
}

/// The statements of a text, in order.
///
/// Every text has statements. What [`parse`](crate::parse) would refuse comes as [`Kind::Other`], or as an instruction
/// that PTX lacks, so a fragment such as inline assembly can be read too.
///
/// ```
/// use ptx::outline::{Kind, statements};
///
/// let kinds: Vec<Kind> = statements("wait: @!p bra wait; // again").map(|statement| statement.kind).collect();
/// assert_eq!(kinds, [Kind::Label("wait"), Kind::Instruction("bra")]);
/// ```
pub fn statements(text: &str) -> Statements<'_> {
    let mut statements = Statements { lexer: Lexer::new(text), token: None, end: 0 };
    statements.token = statements.read();
    statements
}

/// The first numbers and the first word of a directive that ends with its line.
#[derive(Default)]
struct Short<'text> {
    numbers: [Option<u32>; 3],
    word: Option<&'text str>,
}

/// The iterator of [`statements`].
pub struct Statements<'text> {
    lexer: Lexer<'text>,
    /// The current token, right behind which the lexer is; None at the end.
    token: Option<Token<'text>>,
    /// End of the last token that was passed.
    end: usize,
}

impl<'text> Statements<'text> {
    /// Moves past the braces that follow, with all that is between them. Returns the offset behind them; None if they
    /// have no end.
    pub(super) fn skip_body(&mut self) -> Option<usize> {
        if !self.is(b'{') {
            return None;
        }
        let ends = matches!(self.lexer.skip_braces(), Ok(Some(_)));
        self.advance();
        ends.then_some(self.end)
    }

    /// Reads the next token. What the lexer refuses is passed over.
    fn read(&mut self) -> Option<Token<'text>> {
        loop {
            match self.lexer.next() {
                Ok(token) => return (token.kind != TokenKind::End).then_some(token),
                Err((_, problem)) => self.lexer.pass(&problem),
            }
        }
    }

    /// Moves past the current token, if there is one.
    fn advance(&mut self) {
        if self.token.is_some() {
            self.end = self.lexer.place();
            self.token = self.read();
        }
    }

    fn kind(&self) -> Option<TokenKind<'text>> {
        self.token.map(|token| token.kind)
    }

    fn is(&self, mark: u8) -> bool {
        self.kind() == Some(TokenKind::Mark(mark))
    }

    /// Moves to the end of a statement: past its semicolon, or before a brace that it does not open.
    fn finish(&mut self) {
        let mut depth = 0;
        while let Some(kind) = self.kind() {
            match kind {
                TokenKind::Mark(b'{') => depth += 1,
                TokenKind::Mark(b'}') if depth == 0 => return,
                TokenKind::Mark(b'}') => depth -= 1,
                TokenKind::Mark(b';') => return self.advance(),
                _ => {}
            }
            self.advance();
        }
    }

    /// Moves past a directive that ends with its line, or before the next one.
    fn short(&mut self, first: Token<'text>) -> Short<'text> {
        let mut short = Short::default();
        let mut numbers = short.numbers.iter_mut();
        while let Some(token) = self.token
            && token.position.line == first.position.line
        {
            match token.kind {
                TokenKind::Directive(_) | TokenKind::Mark(b'{' | b'}') => break,
                TokenKind::Number(Immediate::Integer { bits, .. }) => {
                    if let Some(number) = numbers.next() {
                        *number = u32::try_from(bits).ok();
                    }
                }
                TokenKind::Decimal(word) | TokenKind::Identifier(word) | TokenKind::Text(word) => {
                    short.word = short.word.or(Some(word));
                }
                _ => {}
            }
            self.advance();
        }
        short
    }

    fn directive(&mut self, directive: &'text str, first: Token<'text>) -> Kind<'text> {
        self.advance();
        let is_short = matches!(directive, ".version" | ".target" | ".address_size" | ".file" | ".loc");
        if !is_short {
            return if directive == ".section" { self.section() } else { self.declaration(directive) };
        }
        let Short { numbers, word } = self.short(first);
        let version = |word: &str| word.split_once('.').map(|(major, minor)| (major.parse(), minor.parse()));
        match (directive, numbers, word) {
            (".version", _, Some(word)) => match version(word) {
                Some((Ok(major), Ok(minor))) => Kind::Version(major, minor),
                _ => Kind::Other,
            },
            (".target", _, Some(name)) => Kind::Target(name),
            (".address_size", [Some(bits), ..], _) => Kind::AddressSize(bits),
            (".file", [Some(number), ..], Some(name)) => Kind::File { number, name },
            (".loc", [Some(file), Some(line), Some(column)], _) => Kind::Location { file, line, column },
            _ => Kind::Other,
        }
    }

    fn section(&mut self) -> Kind<'text> {
        let name = match self.kind() {
            Some(TokenKind::Directive(name) | TokenKind::Identifier(name)) => name,
            _ => return Kind::Other,
        };
        self.advance();
        if self.is(b'{') {
            // An unterminated section extends to the end of the text.
            let _ = self.lexer.skip_braces();
            self.advance();
        }
        Kind::Section(name)
    }

    /// Moves past a function's head, a variable, or another directive.
    fn declaration(&mut self, first: &'text str) -> Kind<'text> {
        let (mut function, mut is_variable, mut is_extern, mut name) = (None, false, false, None);
        let (mut directive, mut depth) = (Some(first), 0);
        let has_body = loop {
            match directive.take() {
                Some(".entry") => function = Some(FunctionKind::Entry),
                Some(".func") => function = Some(FunctionKind::Function),
                Some(".extern") => is_extern = true,
                // Hints end in a semicolon of their own.
                Some(".pragma") if function.is_some() => self.finish(),
                Some(other) if depth == 0 => {
                    is_variable |= Space::from_word(&other[1..]).is_some();
                }
                _ => {}
            }
            match self.kind() {
                None => break false,
                Some(TokenKind::Directive(next)) => directive = Some(next),
                Some(TokenKind::Identifier(word)) if depth == 0 => name = name.or(Some(word)),
                Some(TokenKind::Mark(b'(')) => depth += 1,
                Some(TokenKind::Mark(b')')) => depth -= 1,
                Some(TokenKind::Mark(mark @ (b'{' | b'}'))) if function.is_some() => break mark == b'{',
                Some(TokenKind::Mark(b'{' | b'}' | b';' | b'=')) => {
                    self.finish();
                    break false;
                }
                _ => {}
            }
            self.advance();
        };
        match (function, name) {
            (Some(kind), Some(name)) => Kind::Function { kind, name, is_extern, has_body },
            (None, Some(name)) if is_variable => Kind::Variable(name),
            _ => Kind::Other,
        }
    }

    /// Moves past an instruction, from behind its predicate on, or past a label.
    fn code(&mut self, word: &'text str, start: usize, may_be_label: bool) -> Kind<'text> {
        let opcode = self.lexer.with_modifiers(start);
        self.advance();
        if may_be_label && self.is(b':') && opcode == word {
            self.advance();
            return Kind::Label(word);
        }
        self.finish();
        Kind::Instruction(opcode)
    }

    /// Moves past `@p` or `@!p`, and then past the instruction.
    fn predicated(&mut self) -> Kind<'text> {
        self.advance();
        if self.is(b'!') {
            self.advance();
        }
        self.advance();
        match self.token {
            Some(Token { kind: TokenKind::Identifier(word), start, .. }) => self.code(word, start, false),
            _ => {
                self.finish();
                Kind::Other
            }
        }
    }
}

impl<'text> Iterator for Statements<'text> {
    type Item = Statement<'text>;

    fn next(&mut self) -> Option<Self::Item> {
        let before = self.end;
        let first = self.token?;
        let kind = match first.kind {
            TokenKind::Directive(directive) => self.directive(directive, first),
            TokenKind::Identifier(word) => self.code(word, first.start, true),
            TokenKind::Mark(b'@') => self.predicated(),
            TokenKind::Mark(mark) => {
                self.advance();
                match mark {
                    b'{' => Kind::Open,
                    b'}' => Kind::Close,
                    _ => Kind::Other,
                }
            }
            _ => {
                self.advance();
                Kind::Other
            }
        };
        let text = self.lexer.text();
        let span = first.start..self.end;
        Some(Statement {
            kind,
            text: &text[span.clone()],
            span,
            line: first.position.line,
            before: &text[before..first.start],
        })
    }
}
