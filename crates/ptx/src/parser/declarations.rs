//! Parses parameters and variables: a type, a name and perhaps an initial value.

use super::super::error::Problem;
use super::super::lexer::TokenKind;
use super::super::types::{Linkage, ScalarType, Space};
use super::super::variable::{Immediate, Initializer, Parameter, Pointer, Variable};
use super::{DEEPEST, Global, Parsed, Parser};

impl<'text> Parser<'text> {
    /// Parses `.param .u64 .ptr .global .align 4 name`.
    pub(super) fn parameter(&mut self) -> Parsed<(Parameter, &'text str)> {
        let in_register = match self.token.kind {
            TokenKind::Directive(".param") => false,
            TokenKind::Directive(".reg") => true,
            _ => return self.unexpected("`.param` or `.reg`, which begins a parameter"),
        };
        self.advance()?;
        let mut scalar = None;
        let mut align = None;
        let mut pointer: Option<Pointer> = None;
        while let TokenKind::Directive(directive) = self.token.kind {
            let word = &directive[1..];
            match (word, ScalarType::from_word(word), Space::from_word(word), &mut pointer) {
                ("align", _, _, _) => {
                    self.advance()?;
                    let found = Some(self.alignment()?);
                    pointer.as_mut().map_or(&mut align, |pointer| &mut pointer.align).clone_from(&found);
                    continue;
                }
                ("ptr", _, _, None) => pointer = Some(Pointer { space: None, align: None }),
                (_, Some(found), _, None) if scalar.is_none() => scalar = Some(found),
                (_, _, Some(space), Some(pointer)) if pointer.space.is_none() => pointer.space = Some(space),
                _ => {
                    return self
                        .unknown_directive(directive, "a parameter's type, `.ptr`, `.align` or its name");
                }
            }
            self.advance()?;
        }
        let Some(scalar) = scalar else { return self.unexpected("a parameter's type such as `.u64`") };
        let (text, position) = self.identifier("a parameter's name")?;
        let mut array = None;
        if self.take(b'[')? {
            array = Some(if self.is(b']') { None } else { Some(self.integer("an array's length")?) });
            self.expect(b']', "after an array's length")?;
        }
        let name = self.name(text);
        Ok((Parameter { position, in_register, scalar, pointer, align, name, array }, text))
    }

    /// Parses `.global .align 4 .b8 name[2] = {1, 2}, other;` at the top level.
    pub(super) fn variables(&mut self, linkage: Option<Linkage>) -> Parsed<Vec<Variable>> {
        let mut variables = Vec::new();
        self.each_variable(linkage, |parser, text, variable| {
            let global = Global {
                position: variable.position,
                is_function: false,
                defined: linkage != Some(Linkage::Extern),
            };
            parser.declare_global(text, global)?;
            variables.push(variable);
            Ok(())
        })?;
        Ok(variables)
    }

    /// Parses a declaration of variables; passes each one on when it is complete.
    pub(super) fn each_variable(
        &mut self,
        linkage: Option<Linkage>,
        mut declare: impl FnMut(&mut Self, &'text str, Variable) -> Parsed<()>,
    ) -> Parsed<()> {
        let TokenKind::Directive(directive) = self.token.kind else {
            return self.unexpected("a variable's space");
        };
        let Some(space) = Space::from_word(&directive[1..]) else {
            return self.unknown_directive(directive, "a variable's space");
        };
        self.advance()?;
        let mut attributes = Vec::new();
        let (mut align, mut vector, mut scalar) = (None, None, None);
        while let TokenKind::Directive(directive) = self.token.kind {
            match (directive, ScalarType::from_word(&directive[1..])) {
                (".attribute", _) => {
                    self.attributes(&mut attributes)?;
                    continue;
                }
                (".align", _) => {
                    self.advance()?;
                    align = Some(self.alignment()?);
                    continue;
                }
                (".v2", _) if vector.is_none() => vector = Some(2),
                (".v4", _) if vector.is_none() => vector = Some(4),
                (_, Some(ScalarType::Pred)) => return self.unexpected("a type that memory can hold"),
                (_, Some(found)) if scalar.is_none() => scalar = Some(found),
                _ => {
                    return self.unknown_directive(
                        directive,
                        "a variable's type, `.align`, `.attribute` or its name",
                    );
                }
            }
            self.advance()?;
        }
        let Some(scalar) = scalar else { return self.unexpected("a variable's type such as `.b8`") };
        loop {
            let (text, position) = self.identifier("a variable's name")?;
            let dimensions = self.dimensions()?;
            let initializer = if self.take(b'=')? { Some(self.initializer(0)?) } else { None };
            let attributes = attributes.clone();
            let name = self.name(text);
            let variable = Variable {
                position,
                linkage,
                space,
                attributes,
                align,
                vector,
                scalar,
                name,
                dimensions,
                initializer,
            };
            declare(self, text, variable)?;
            if !self.take(b',')? {
                return self.expect(b';', "after a variable");
            }
        }
    }

    fn dimensions(&mut self) -> Parsed<Vec<Option<u64>>> {
        let mut dimensions = Vec::new();
        while self.take(b'[')? {
            let open = self.is(b']');
            if open && !dimensions.is_empty() {
                return self.unexpected("an array's length");
            }
            dimensions.push(if open { None } else { Some(self.integer("an array's length or `]`")?) });
            self.expect(b']', "after an array's length")?;
        }
        Ok(dimensions)
    }

    fn initializer(&mut self, depth: u32) -> Parsed<Initializer> {
        if depth > DEEPEST {
            return Err((self.token.position, Problem::TooDeep { most: DEEPEST }));
        }
        if self.take(b'{')? {
            let mut list = Vec::new();
            if self.take(b'}')? {
                return Ok(Initializer::List(list));
            }
            loop {
                list.push(self.initializer(depth + 1)?);
                if !self.take(b',')? {
                    self.expect(b'}', "or `,` after an element")?;
                    return Ok(Initializer::List(list));
                }
            }
        }
        if let Some(number) = self.signed_number()? {
            return match number {
                Immediate::Integer { bits, .. } if self.is(b'(') => {
                    self.advance()?;
                    let address = self.initial_address(Some(bits))?;
                    self.expect(b')', "after a masked address")?;
                    Ok(address)
                }
                _ => Ok(Initializer::Number(number)),
            };
        }
        self.initial_address(None)
    }

    /// Parses `name+4`, `generic(name)+4` or `generic(name+4)`.
    fn initial_address(&mut self, mask: Option<u64>) -> Parsed<Initializer> {
        let (mut text, mut position) = self.identifier("a number, an address or `{`")?;
        let mut offset = 0_i64;
        let generic = text == "generic" && self.take(b'(')?;
        if generic {
            (text, position) = self.identifier("the name of a variable or function")?;
            offset = self.offset()?;
            self.expect(b')', "after `generic(`")?;
        }
        if !self.globals.contains_key(text) {
            let expected = "a variable or function of the module, declared before".to_owned();
            return Err((position, Problem::Undeclared { name: text.to_owned(), expected }));
        }
        let offset = offset.wrapping_add(self.offset()?);
        let name = self.name(text);
        Ok(Initializer::Address { position, name, offset, generic, mask })
    }
}
