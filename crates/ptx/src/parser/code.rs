//! Parses the body of a function: declarations, labels and instructions.

use super::super::body::{
    Body, Guard, Instruction, LabelId, LabelMeaning, Operand, Prototype, RegisterFamily, RegisterId,
    Statement, SymbolMeaning,
};
use super::super::check;
use super::super::error::Problem;
use super::super::lexer::TokenKind;
use super::super::names::Map;
use super::super::position::Position;
use super::super::source::{Inlined, Location, LocationId};
use super::super::types::ScalarType;
use super::super::variable::Parameter;
use super::scopes::{Binding, Scopes};
use super::{Parsed, Parser};

const STATEMENT: &str = "an instruction, a label, a declaration or `}`";

/// The last `.loc`, and the index of each earlier one of this function.
#[derive(Default)]
struct Locations {
    current: Option<LocationId>,
    known: Map<(u32, u32, u32), LocationId>,
}

impl<'text> Parser<'text> {
    /// Parses `{ ... }`.
    pub(super) fn body(
        &mut self,
        returns: &[(Parameter, &'text str)],
        parameters: &[(Parameter, &'text str)],
    ) -> Parsed<Body> {
        let mut scopes = Scopes::new();
        let returns =
            returns.iter().zip(0..).map(|(parameter, index)| (parameter, SymbolMeaning::Return(index)));
        let parameters =
            parameters.iter().zip(0..).map(|(parameter, index)| (parameter, SymbolMeaning::Parameter(index)));
        for ((parameter, text), meaning) in returns.chain(parameters) {
            if parameter.in_register {
                let family = RegisterFamily {
                    position: parameter.position,
                    vector: None,
                    scalar: parameter.scalar,
                    name: parameter.name.clone(),
                    count: None,
                    first: RegisterId(0),
                };
                scopes.declare_registers(text, family)?;
            } else {
                scopes.declare(text, parameter.position, meaning)?;
            }
        }
        let mut locations = Locations::default();
        self.advance()?;
        loop {
            match self.token.kind {
                TokenKind::Mark(b'}') if scopes.depth() == 1 => {
                    scopes.body.end = self.advance()?.position;
                    self.settle(&mut scopes)?;
                    return Ok(scopes.body);
                }
                TokenKind::Mark(b'}') => {
                    self.advance()?;
                    scopes.close();
                    scopes.body.layout.push(Statement::Close);
                }
                TokenKind::Mark(b'{') => {
                    let position = self.advance()?.position;
                    scopes.open(position)?;
                    scopes.body.layout.push(Statement::Open);
                }
                TokenKind::Mark(b'@') => {
                    let position = self.token.position;
                    let guard = self.guard(&scopes)?;
                    let TokenKind::Identifier(_) = self.token.kind else {
                        return self.unexpected("an instruction after its predicate");
                    };
                    let start = self.token.start;
                    let opcode = self.lexer.with_modifiers(start);
                    self.advance()?;
                    self.instruction(&mut scopes, position, locations.current, Some(guard), opcode)?;
                }
                TokenKind::Identifier(text) => {
                    let Position { line, column } = self.token.position;
                    let position = Position { line, column };
                    let start = self.token.start;
                    let opcode = self.lexer.with_modifiers(start);
                    self.advance()?;
                    if opcode.len() == text.len() && self.take(b':')? {
                        self.label(&mut scopes, text, position)?;
                    } else {
                        self.instruction(&mut scopes, position, locations.current, None, opcode)?;
                    }
                }
                TokenKind::Directive(directive) => self.directive(&mut scopes, &mut locations, directive)?,
                _ => return self.unexpected(STATEMENT),
            }
        }
    }

    fn guard(&mut self, scopes: &Scopes<'text>) -> Parsed<Guard> {
        self.advance()?;
        let negated = self.take(b'!')?;
        let (text, position) = self.identifier("a predicate after `@`")?;
        match scopes.find(text) {
            Some(Binding::Register(register)) => {
                if scopes.body.register_type(register) != Some(ScalarType::Pred) {
                    return Err(scopes.wrong_register(register, position, "a predicate (.pred)".to_owned()));
                }
                Ok(Guard { register, negated })
            }
            _ => Err((position, undeclared(scopes, text, "a predicate"))),
        }
    }

    fn instruction(
        &mut self,
        scopes: &mut Scopes<'text>,
        position: Position,
        location: Option<LocationId>,
        guard: Option<Guard>,
        opcode: &'text str,
    ) -> Parsed<()> {
        let opcode = if let TokenKind::Directive(_) = self.token.kind {
            // Blanks before modifiers are rare, and only in hand-written text.
            let mut whole = opcode.to_owned();
            while let TokenKind::Directive(more) = self.token.kind {
                whole.push_str(more);
                self.advance()?;
            }
            super::super::names::Opcode::new(&whole)
        } else {
            self.interner.opcode(opcode)
        };
        let mut operands = Vec::with_capacity(4);
        let base = opcode.base();
        if !self.is(b';') {
            loop {
                let operand = match base {
                    "bra" => self.label_operand(scopes)?,
                    "brx" if operands.len() == 1 => self.label_operand(scopes)?,
                    "call" => self.call_operand(scopes, &operands)?,
                    _ => self.operand(scopes, 0)?,
                };
                operands.push(operand);
                if !self.take(b',')? {
                    break;
                }
            }
            if !self.is(b';') {
                return self.unexpected("`,` or `;` after an operand");
            }
        }
        let instruction = Instruction { position, location, guard, opcode, operands };
        check::registers(&scopes.body, &instruction)
            .map_err(|(register, expected)| scopes.wrong_register(register, position, expected))?;
        scopes.body.layout.push(Statement::Instruction(scopes.body.instructions.len() as u32));
        scopes.body.instructions.push(instruction);
        self.advance()?;
        Ok(())
    }

    fn label(&mut self, scopes: &mut Scopes<'text>, text: &'text str, position: Position) -> Parsed<()> {
        let meaning = match self.token.kind {
            TokenKind::Directive(".branchtargets") => {
                self.advance()?;
                let mut targets = Vec::new();
                loop {
                    let (target, at) = self.identifier("a label")?;
                    targets.push(scopes.mention(target, at));
                    if !self.take(b',')? {
                        break;
                    }
                }
                self.expect(b';', "after `.branchtargets`")?;
                LabelMeaning::BranchTargets(targets)
            }
            TokenKind::Directive(".calltargets") => {
                self.advance()?;
                let mut targets = Vec::new();
                loop {
                    let (target, at) = self.identifier("a function")?;
                    if !self.globals.get(target).is_some_and(|global| global.is_function) {
                        let expected = "a function of the module, declared before".to_owned();
                        return Err((at, Problem::Undeclared { name: target.to_owned(), expected }));
                    }
                    targets.push(self.name(target));
                    if !self.take(b',')? {
                        break;
                    }
                }
                self.expect(b';', "after `.calltargets`")?;
                LabelMeaning::CallTargets(targets)
            }
            TokenKind::Directive(".callprototype") => LabelMeaning::Prototype(self.prototype()?),
            _ => LabelMeaning::Code(scopes.body.instructions.len() as u32),
        };
        let label = scopes.declare_label(text, position, meaning)?;
        scopes.body.layout.push(Statement::Label(label));
        Ok(())
    }

    /// Parses `.callprototype (.param .b32 _) _ (.param .b64 _);`.
    fn prototype(&mut self) -> Parsed<Prototype> {
        self.advance()?;
        let returns = if self.is(b'(') { self.parameters()? } else { Vec::new() };
        self.identifier("`_` in the place of the function's name")?;
        let parameters = if self.is(b'(') { self.parameters()? } else { Vec::new() };
        let never_returns = self.take_directive(".noreturn")?;
        self.expect(b';', "after `.callprototype`")?;
        let bare = |list: Vec<(Parameter, _)>| list.into_iter().map(|(parameter, _)| parameter).collect();
        Ok(Prototype { returns: bare(returns), parameters: bare(parameters), never_returns })
    }

    fn directive(
        &mut self,
        scopes: &mut Scopes<'text>,
        locations: &mut Locations,
        directive: &'text str,
    ) -> Parsed<()> {
        match directive {
            ".reg" => self.registers(scopes),
            ".loc" => {
                let location = self.location(locations)?;
                scopes.body.layout.push(Statement::Location(location));
                Ok(())
            }
            ".pragma" => {
                self.advance()?;
                for hint in self.pragma()? {
                    scopes.body.layout.push(Statement::Pragma(scopes.body.pragmas.len() as u32));
                    scopes.body.pragmas.push(hint);
                }
                Ok(())
            }
            ".global" | ".shared" | ".local" | ".const" | ".param" => {
                self.each_variable(None, |_, text, variable| {
                    let index = scopes.body.variables.len() as u32;
                    scopes.declare(text, variable.position, SymbolMeaning::Variable(index))?;
                    scopes.body.layout.push(Statement::Variable(index));
                    scopes.body.variables.push(variable);
                    Ok(())
                })
            }
            _ => self.unknown_directive(directive, STATEMENT),
        }
    }

    /// Parses `.reg .v4 .b32 %a, %b<4>;`.
    fn registers(&mut self, scopes: &mut Scopes<'text>) -> Parsed<()> {
        self.advance()?;
        let (mut vector, mut scalar) = (None, None);
        while let TokenKind::Directive(directive) = self.token.kind {
            match (directive, ScalarType::from_word(&directive[1..])) {
                (".v2", _) if vector.is_none() => vector = Some(2),
                (".v4", _) if vector.is_none() => vector = Some(4),
                (_, Some(found)) if scalar.is_none() => scalar = Some(found),
                _ => return self.unknown_directive(directive, "a register's type or name"),
            }
            self.advance()?;
        }
        let Some(scalar) = scalar else { return self.unexpected("a register's type such as `.b32`") };
        let first = scopes.body.registers.len() as u32;
        loop {
            let (text, position) = self.identifier("a register's name")?;
            let mut count = None;
            if self.take(b'<')? {
                count = Some(self.small_integer("how many registers")?);
                self.expect(b'>', "after how many registers")?;
            }
            let name = self.name(text);
            let family = RegisterFamily { position, vector, scalar, name, count, first: RegisterId(0) };
            scopes.declare_registers(text, family)?;
            if !self.take(b',')? {
                break;
            }
        }
        self.expect(b';', "after registers")?;
        let count = scopes.body.registers.len() as u32 - first;
        scopes.body.layout.push(Statement::Registers { first, count });
        Ok(())
    }

    /// Parses `.loc 1 7 3, function_name $L__info_string0+4, inlined_at 1 12 3`.
    fn location(&mut self, locations: &mut Locations) -> Parsed<LocationId> {
        self.advance()?;
        let place = self.place()?;
        let mut function = None;
        let mut at = None;
        while self.take(b',')? {
            let (word, position) = self.identifier("`function_name` or `inlined_at`")?;
            match word {
                "function_name" => {
                    let (label, _) = self.identifier("a label of `.debug_str`")?;
                    let offset = if self.take(b'+')? { self.integer("an offset")? } else { 0 };
                    function = Some((self.name(label), offset));
                }
                "inlined_at" => at = Some(self.place()?),
                _ => {
                    let found = format!("`{word}`");
                    let expected = "`function_name` or `inlined_at`".to_owned();
                    return Err((position, Problem::Unexpected { found, expected }));
                }
            }
        }
        let inlined = at.map(|at| Inlined { function, at, caller: locations.known.get(&at).copied() });
        let location = LocationId(self.module.locations.len() as u32);
        self.module.locations.push(Location { file: place.0, line: place.1, column: place.2, inlined });
        locations.known.insert(place, location);
        locations.current = Some(location);
        Ok(location)
    }

    fn place(&mut self) -> Parsed<(u32, u32, u32)> {
        let file = self.small_integer("the file's number")?;
        let line = self.small_integer("the line")?;
        Ok((file, line, self.small_integer("the column")?))
    }

    /// Resolves each mention of a label, once all labels are known, and checks its kind.
    fn settle(&mut self, scopes: &mut Scopes<'text>) -> Parsed<()> {
        let interner = std::cell::RefCell::new(&mut self.interner);
        let table = scopes.settle_labels(|text| interner.borrow_mut().name(text))?;
        let meant = |label: &mut LabelId| *label = table[label.0 as usize];
        for statement in &mut scopes.body.layout {
            if let Statement::Label(label) = statement {
                meant(label);
            }
        }
        let Body { labels, instructions, .. } = &mut scopes.body;
        for label in &mut *labels {
            if let LabelMeaning::BranchTargets(targets) = &mut label.meaning {
                targets.iter_mut().for_each(meant);
            }
        }
        for label in &*labels {
            if let LabelMeaning::BranchTargets(targets) = &label.meaning {
                for target in targets {
                    expect_label(labels, *target, label.position, "bra")?;
                }
            }
        }
        for instruction in instructions {
            for operand in &mut instruction.operands {
                if let Operand::Label(label) = operand {
                    meant(label);
                    expect_label(labels, *label, instruction.position, instruction.opcode.base())?;
                }
            }
        }
        Ok(())
    }
}

fn expect_label(
    labels: &[super::super::body::Label],
    label: LabelId,
    position: Position,
    base: &str,
) -> Parsed<()> {
    let label = &labels[label.0 as usize];
    let expected = match (base, &label.meaning) {
        ("bra", LabelMeaning::Code(_))
        | ("brx", LabelMeaning::BranchTargets(_))
        | ("call", LabelMeaning::Prototype(_) | LabelMeaning::CallTargets(_)) => return Ok(()),
        ("bra", _) => "a label before an instruction",
        ("brx", _) => "the label of `.branchtargets`",
        _ => "the label of `.callprototype` or `.calltargets`",
    };
    let found = match label.meaning {
        LabelMeaning::Code(_) => "label before an instruction",
        LabelMeaning::BranchTargets(_) => "list of branch targets",
        LabelMeaning::CallTargets(_) => "list of functions",
        LabelMeaning::Prototype(_) => "prototype",
    };
    Err((position, Problem::WrongLabel { name: label.name.to_string(), found, expected }))
}

/// Returns the problem of an undeclared name, or of a register past the end of its family.
pub(super) fn undeclared(scopes: &Scopes<'_>, text: &str, expected: &str) -> Problem {
    let missing = scopes.missing(text);
    missing.unwrap_or_else(|| Problem::Undeclared { name: text.to_owned(), expected: expected.to_owned() })
}
