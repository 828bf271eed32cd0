//! Parses the operands of instructions.

use super::super::body::{Address, AddressBase, Operand, RegisterId, Symbol, SymbolMeaning};
use super::super::error::Problem;
use super::super::lexer::TokenKind;
use super::super::position::Position;
use super::super::types::{Component, SPECIAL_REGISTERS, SpecialRegister};
use super::super::variable::Immediate;
use super::code::undeclared;
use super::scopes::{Binding, Scopes};
use super::{DEEPEST, Parsed, Parser};

/// Meaning of a name among operands.
enum Named {
    Register(RegisterId),
    Special(&'static str),
    Symbol(Symbol),
    Immediate(Immediate),
    Sink,
}

impl<'text> Parser<'text> {
    /// Parses one operand, both sides of a `|` included.
    pub(super) fn operand(&mut self, scopes: &Scopes<'text>, depth: u32) -> Parsed<Operand> {
        let first = self.single_operand(scopes, depth)?;
        if !self.take(b'|')? {
            return Ok(first);
        }
        let second = self.single_operand(scopes, depth)?;
        Ok(Operand::Pair(Box::new([first, second])))
    }

    fn single_operand(&mut self, scopes: &Scopes<'text>, depth: u32) -> Parsed<Operand> {
        if depth > DEEPEST {
            return Err((self.token.position, Problem::TooDeep { most: DEEPEST }));
        }
        match self.token.kind {
            TokenKind::Identifier(text) => self.named_operand(scopes, text),
            TokenKind::Mark(b'[') => self.address(scopes, depth),
            TokenKind::Mark(b'{') => {
                self.advance()?;
                Ok(Operand::Vector(self.operands_until(scopes, depth, b'}')?))
            }
            TokenKind::Mark(b'!') => {
                self.advance()?;
                Ok(Operand::Not(self.register(scopes, "a predicate after `!`")?))
            }
            TokenKind::Mark(b'-' | b'+') | TokenKind::Number(_) | TokenKind::Decimal(_) => {
                if self.is(b'-') && self.next_is_name() {
                    self.advance()?;
                    return Ok(Operand::Minus(self.register(scopes, "a register or number after `-`")?));
                }
                match self.signed_number()? {
                    Some(number) => Ok(Operand::Immediate(number)),
                    None => self.unexpected("an operand"),
                }
            }
            _ => self.unexpected("an operand"),
        }
    }

    /// Returns true if a name follows the current single-character mark.
    fn next_is_name(&self) -> bool {
        let rest = self.lexer.text()[self.token.start + 1..].trim_start();
        rest.starts_with(|first: char| first.is_ascii_alphabetic() || matches!(first, '%' | '_' | '$'))
    }

    fn register(&mut self, scopes: &Scopes<'text>, expected: &str) -> Parsed<RegisterId> {
        let (text, position) = self.identifier(expected)?;
        match scopes.find(text) {
            Some(Binding::Register(register)) => Ok(register),
            _ => Err((position, undeclared(scopes, text, expected))),
        }
    }

    fn operands_until(&mut self, scopes: &Scopes<'text>, depth: u32, end: u8) -> Parsed<Vec<Operand>> {
        let mut operands = Vec::with_capacity(4);
        if self.take(end)? {
            return Ok(operands);
        }
        loop {
            operands.push(self.operand(scopes, depth + 1)?);
            if !self.take(b',')? {
                self.expect(end, "or `,` after an operand")?;
                return Ok(operands);
            }
        }
    }

    fn named(&mut self, scopes: &Scopes<'text>, text: &'text str, position: Position) -> Parsed<Named> {
        if text == "_" {
            return Ok(Named::Sink);
        }
        if let Some(binding) = scopes.find(text) {
            return Ok(match binding {
                Binding::Register(register) => Named::Register(register),
                Binding::Symbol(meaning) => Named::Symbol(Symbol { name: self.name(text), meaning }),
            });
        }
        if self.globals.contains_key(text) {
            return Ok(Named::Symbol(Symbol { name: self.name(text), meaning: SymbolMeaning::Module }));
        }
        if let Some(name) = SPECIAL_REGISTERS.iter().find(|name| **name == text) {
            return Ok(Named::Special(name));
        }
        if text == "WARP_SZ" {
            return Ok(Named::Immediate(Immediate::Integer { bits: 32, unsigned: false }));
        }
        let expected = if text.starts_with('%') {
            "a register of this function or a special register"
        } else {
            "a register, parameter, variable or function declared before"
        };
        Err((position, undeclared(scopes, text, expected)))
    }

    fn named_operand(&mut self, scopes: &Scopes<'text>, text: &'text str) -> Parsed<Operand> {
        let position = self.advance()?.position;
        match self.named(scopes, text, position)? {
            Named::Sink => Ok(Operand::Sink),
            Named::Immediate(number) => Ok(Operand::Immediate(number)),
            Named::Symbol(symbol) => Ok(Operand::Symbol(symbol, self.offset()?)),
            Named::Register(register) => Ok(match self.component()? {
                Some(component) => Operand::Element(register, component),
                None => Operand::Register(register),
            }),
            Named::Special(name) => {
                Ok(Operand::Special(SpecialRegister { name, component: self.component()? }))
            }
        }
    }

    /// Parses `.x`.
    fn component(&mut self) -> Parsed<Option<Component>> {
        let TokenKind::Directive(directive) = self.token.kind else { return Ok(None) };
        match Component::from_word(&directive[1..]) {
            Some(component) => {
                self.advance()?;
                Ok(Some(component))
            }
            None => self.unexpected("`.x`, `.y`, `.z` or `.w`"),
        }
    }

    /// Parses `[base+offset, more]`.
    fn address(&mut self, scopes: &Scopes<'text>, depth: u32) -> Parsed<Operand> {
        self.advance()?;
        let base = match self.token.kind {
            TokenKind::Identifier(text) => {
                let position = self.advance()?.position;
                match self.named(scopes, text, position)? {
                    Named::Register(register) => AddressBase::Register(register),
                    Named::Symbol(symbol) => AddressBase::Symbol(symbol),
                    _ => {
                        let found = format!("`{text}`");
                        let expected = "a register, a name or a number as an address".to_owned();
                        return Err((position, Problem::Unexpected { found, expected }));
                    }
                }
            }
            _ => AddressBase::Absolute,
        };
        let offset = match (&base, self.token.kind) {
            (AddressBase::Absolute, TokenKind::Number(_) | TokenKind::Mark(b'+' | b'-')) => {
                match self.signed_number()? {
                    Some(Immediate::Integer { bits, .. }) => (bits as i64).wrapping_add(self.offset()?),
                    _ => return self.unexpected("an address"),
                }
            }
            (AddressBase::Absolute, _) => return self.unexpected("an address"),
            _ => self.offset()?,
        };
        let mut more = Vec::new();
        while self.take(b',')? {
            more.push(self.operand(scopes, depth + 1)?);
        }
        self.expect(b']', "after an address")?;
        Ok(Operand::Address(Address { base, offset, more }))
    }

    /// Parses a label, declared or not yet.
    pub(super) fn label_operand(&mut self, scopes: &mut Scopes<'text>) -> Parsed<Operand> {
        let (text, position) = self.identifier("a label")?;
        Ok(Operand::Label(scopes.mention(text, position)))
    }

    /// Parses the next part of `(returns), target, (arguments), prototype`.
    pub(super) fn call_operand(&mut self, scopes: &mut Scopes<'text>, before: &[Operand]) -> Parsed<Operand> {
        let lists = before.iter().filter(|operand| matches!(operand, Operand::List(_))).count();
        let has_target = before.len() > lists;
        if self.is(b'(') && (lists == 0 || lists == 1 && has_target) {
            self.advance()?;
            return Ok(Operand::List(self.operands_until(scopes, 0, b')')?));
        }
        if has_target {
            return self.label_operand(scopes);
        }
        match self.token.kind {
            TokenKind::Identifier(text) => self.named_operand(scopes, text),
            _ => self.unexpected("a function or a register with its address"),
        }
    }
}
