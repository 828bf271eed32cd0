//! Parses the top level of a file: its header, functions, variables, source files and sections.

use super::super::error::Problem;
use super::super::lexer::TokenKind;
use super::super::module::{FUNCTION_DIRECTIVES, Function, FunctionDirective, FunctionKind, Item, Section};
use super::super::names::Name;
use super::super::position::Position;
use super::super::source::SourceFile;
use super::super::types::{Linkage, Space};
use super::super::variable::{Attribute, Parameter};
use super::scopes::check_predefined;
use super::{Global, Parsed, Parser};

const TOP_LEVEL: &str = "a function, a variable, `.file`, `.section`, `.alias` or `.pragma`";

impl<'text> Parser<'text> {
    pub(super) fn file(&mut self) -> Parsed<()> {
        self.version()?;
        self.target()?;
        if self.take_directive(".address_size")? {
            let position = self.token.position;
            self.module.address_size = self.small_integer("32 or 64")?;
            if !matches!(self.module.address_size, 32 | 64) {
                let found = format!("`{}`", self.module.address_size);
                return Err((position, Problem::Unexpected { found, expected: "32 or 64".to_owned() }));
            }
        } else {
            self.module.address_size = 32;
        }
        loop {
            match self.token.kind {
                TokenKind::End => return Ok(()),
                TokenKind::Directive(directive) => self.item(directive)?,
                _ => return self.unexpected(TOP_LEVEL),
            }
        }
    }

    fn version(&mut self) -> Parsed<()> {
        if !self.take_directive(".version")? {
            return self.unexpected("`.version`, with which a PTX file begins");
        }
        let TokenKind::Decimal(text) = self.token.kind else {
            return self.unexpected("a version such as 8.0");
        };
        let numbers =
            text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        let Some(version) = numbers else { return self.unexpected("a version such as 8.0") };
        self.module.version = version;
        self.advance()?;
        Ok(())
    }

    fn target(&mut self) -> Parsed<()> {
        if !self.is_directive(".target") {
            return self.unexpected("`.target`, after `.version`");
        }
        while self.take_directive(".target")? {
            loop {
                let (name, _) = self.identifier("an architecture such as sm_90")?;
                let name = self.interner.name(name);
                self.module.target.push(name);
                if !self.take(b',')? {
                    break;
                }
            }
        }
        Ok(())
    }

    fn item(&mut self, directive: &'text str) -> Parsed<()> {
        let position = self.token.position;
        match directive {
            ".file" => self.source_file(),
            ".section" => self.section(),
            ".pragma" => {
                self.advance()?;
                let hints = self.pragma()?;
                self.module.items.push(Item::Pragma(hints));
                Ok(())
            }
            ".alias" => self.alias(position),
            _ => self.definition(),
        }
    }

    fn source_file(&mut self) -> Parsed<()> {
        let position = self.advance()?.position;
        let number = self.small_integer("the file's number")?;
        let name = self.text("the file's name in quotes")?;
        let mut stamp = None;
        if self.take(b',')? {
            let time = self.integer("the file's time")?;
            self.expect(b',', "before the file's size")?;
            stamp = Some((time, self.integer("the file's size")?));
        }
        self.module.files.push(SourceFile { position, number, name, stamp });
        Ok(())
    }

    fn section(&mut self) -> Parsed<()> {
        let position = self.advance()?.position;
        let name = match self.token.kind {
            TokenKind::Directive(name) | TokenKind::Identifier(name) => self.interner.name(name),
            _ => return self.unexpected("a section's name such as .debug_str"),
        };
        self.advance()?;
        if !self.is(b'{') {
            return self.unexpected("`{` after the section's name");
        }
        // The current token is the brace, so the lexer is right behind it.
        let Some(text) = self.lexer.skip_braces()? else {
            let expected = "`}`, which ends the section".to_owned();
            return Err((position, Problem::Truncated { expected }));
        };
        self.advance()?;
        self.module.sections.push(Section { position, name, text: text.trim().into() });
        Ok(())
    }

    fn alias(&mut self, position: Position) -> Parsed<()> {
        self.advance()?;
        let (name, _) = self.identifier("the alias's name")?;
        self.expect(b',', "after the alias's name")?;
        let (function, at) = self.identifier("a function's name")?;
        self.expect(b';', "after `.alias`")?;
        if !self.globals.get(function).is_some_and(|global| global.is_function) {
            let expected = "a function declared before its alias".to_owned();
            return Err((at, Problem::Undeclared { name: function.to_owned(), expected }));
        }
        // The name is often declared before, as a function without a body.
        self.globals.entry(name).or_insert(Global { position, is_function: true, defined: true });
        let (name, function) = (self.interner.name(name), self.interner.name(function));
        self.module.items.push(Item::Alias { position, name, function });
        Ok(())
    }

    /// Parses a function or variables, with the linkage before it.
    pub(super) fn definition(&mut self) -> Parsed<()> {
        let mut linkage = None;
        while let TokenKind::Directive(directive) = self.token.kind {
            match directive {
                ".func" | ".entry" => return self.function(linkage),
                _ if Space::from_word(&directive[1..]).is_some_and(|space| space != Space::Parameter) => {
                    return self.module_variables(linkage);
                }
                _ => {}
            }
            match Linkage::from_word(&directive[1..]) {
                Some(found) if linkage.is_none() => linkage = Some(found),
                Some(_) => {
                    return self.unexpected("one linkage, then `.func`, `.entry` or a variable's space");
                }
                None if linkage.is_some() => {
                    return self.unknown_directive(directive, "`.func`, `.entry` or a variable's space");
                }
                None => return self.unknown_directive(directive, TOP_LEVEL),
            }
            self.advance()?;
        }
        self.unexpected("`.func`, `.entry` or a variable's space")
    }

    fn module_variables(&mut self, linkage: Option<Linkage>) -> Parsed<()> {
        for variable in self.variables(linkage)? {
            self.module.items.push(Item::Variable(variable));
        }
        Ok(())
    }

    fn function(&mut self, linkage: Option<Linkage>) -> Parsed<()> {
        let is_entry = self.is_directive(".entry");
        let kind = if is_entry { FunctionKind::Entry } else { FunctionKind::Function };
        self.advance()?;
        let mut attributes = Vec::new();
        while self.is_directive(".attribute") {
            self.attributes(&mut attributes)?;
        }
        let returns = if !is_entry && self.is(b'(') { self.parameters()? } else { Vec::new() };
        let (name, position) = self.identifier("the function's name")?;
        let parameters = if self.is(b'(') { self.parameters()? } else { Vec::new() };
        let mut function = Function {
            position,
            linkage,
            kind,
            name: self.interner.name(name),
            returns: returns.iter().map(|(parameter, _)| parameter.clone()).collect(),
            parameters: parameters.iter().map(|(parameter, _)| parameter.clone()).collect(),
            never_returns: false,
            attributes,
            directives: Vec::new(),
            body: None,
        };
        self.function_directives(&mut function)?;
        let defined = self.is(b'{');
        if !defined && !self.is(b';') {
            return self.unexpected("`{` or `;` after the function's head");
        }
        self.declare_global(name, Global { position, is_function: true, defined })?;
        if defined {
            function.body = Some(self.body(&returns, &parameters)?);
        } else {
            self.advance()?;
        }
        self.module.items.push(Item::Function(function));
        Ok(())
    }

    fn function_directives(&mut self, function: &mut Function) -> Parsed<()> {
        while let TokenKind::Directive(directive) = self.token.kind {
            match directive {
                ".noreturn" => {
                    self.advance()?;
                    function.never_returns = true;
                }
                ".pragma" => {
                    self.advance()?;
                    let hints = self.pragma()?;
                    function.directives.push(FunctionDirective::Pragma(hints));
                }
                ".attribute" => self.attributes(&mut function.attributes)?,
                _ => {
                    let known = FUNCTION_DIRECTIVES.iter().find(|(name, _)| *name == &directive[1..]);
                    let Some((name, most)) = known else {
                        let expected = "a directive for functions such as `.maxntid`, `{` or `;`";
                        return self.unknown_directive(directive, expected);
                    };
                    self.advance()?;
                    let mut values = Vec::new();
                    while values.len() < *most {
                        values.push(self.small_integer(&format!("a number after `.{name}`"))?);
                        if !self.take(b',')? {
                            break;
                        }
                    }
                    function.directives.push(FunctionDirective::Numbers { name, values });
                }
            }
        }
        Ok(())
    }

    /// Parses `.attribute(.managed)`.
    pub(super) fn attributes(&mut self, attributes: &mut Vec<Attribute>) -> Parsed<()> {
        self.advance()?;
        self.expect(b'(', "after `.attribute`")?;
        loop {
            let TokenKind::Directive(attribute) = self.token.kind else {
                return self.unexpected("`.managed` or `.unified`");
            };
            match attribute {
                ".managed" => {
                    self.advance()?;
                    attributes.push(Attribute::Managed);
                }
                ".unified" => {
                    self.advance()?;
                    self.expect(b'(', "after `.unified`")?;
                    let high = self.integer("the higher half of an identity")?;
                    self.expect(b',', "between the halves of an identity")?;
                    let low = self.integer("the lower half of an identity")?;
                    self.expect(b')', "after an identity")?;
                    attributes.push(Attribute::Unified(high, low));
                }
                _ => return self.unknown_directive(attribute, "`.managed` or `.unified`"),
            }
            if !self.take(b',')? {
                return self.expect(b')', "after the attributes");
            }
        }
    }

    /// Declares a name of the module. A name may be declared often and defined once.
    pub(super) fn declare_global(&mut self, name: &'text str, new: Global) -> Parsed<()> {
        check_predefined(name, None, new.position)?;
        match self.globals.get_mut(name) {
            None => {
                self.globals.insert(name, new);
                Ok(())
            }
            Some(old) if old.is_function == new.is_function && !(old.defined && new.defined) => {
                old.defined |= new.defined;
                Ok(())
            }
            Some(old) => {
                let problem = Problem::Duplicate { name: name.to_owned(), line: old.position.line };
                Err((new.position, problem))
            }
        }
    }

    /// Parses `(...)` of a function or prototype; returns each parameter with its name as written.
    pub(super) fn parameters(&mut self) -> Parsed<Vec<(Parameter, &'text str)>> {
        self.expect(b'(', "before parameters")?;
        let mut parameters = Vec::new();
        if self.take(b')')? {
            return Ok(parameters);
        }
        loop {
            parameters.push(self.parameter()?);
            if !self.take(b',')? {
                self.expect(b')', "or `,` after a parameter")?;
                return Ok(parameters);
            }
        }
    }

    pub(super) fn name(&mut self, text: &'text str) -> Name {
        self.interner.name(text)
    }
}
