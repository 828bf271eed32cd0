//! A function's body: instructions in a row, with what they refer to resolved.

use super::module::{Immediate, Parameter, Position, Variable};
use super::names::{Name, Opcode};
use super::source::LocationId;
use super::types::{Component, ScalarType, SpecialRegister};

/// What stands between a function's braces.
///
/// Blocks within it have scopes of their own in the text; here each register, variable and label has a number that
/// says which one is meant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Body {
    /// In the order of the text, with rising numbers.
    pub registers: Vec<RegisterFamily>,
    /// How many registers the families have together.
    pub register_count: u32,
    /// `.shared`, `.local`, `.param`, ... of this function.
    pub variables: Vec<Variable>,
    /// Hints to the assembler.
    pub pragmas: Vec<Name>,
    /// Places in the code, and lists of them.
    pub labels: Vec<Label>,
    /// In the order of the text.
    pub instructions: Vec<Instruction>,
    /// The whole as it was written, for printing.
    pub layout: Vec<Statement>,
    /// Where the closing brace stands.
    pub end: Position,
}

impl Body {
    /// The family that a register belongs to.
    pub fn family(&self, register: RegisterId) -> Option<&RegisterFamily> {
        let after = self.registers.partition_point(|family| family.first.0 <= register.0);
        self.registers[..after].iter().rev().find(|family| register.0 - family.first.0 < family.size())
    }

    /// The register's type; vector registers: of one element.
    pub fn register_type(&self, register: RegisterId) -> Option<ScalarType> {
        self.family(register).map(|family| family.scalar)
    }

    /// As the text writes it: `%r5`.
    pub fn register_name(&self, register: RegisterId) -> Option<String> {
        let family = self.family(register)?;
        Some(match family.count {
            None => family.name.to_string(),
            Some(_) => format!("{}{}", family.name, register.0 - family.first.0),
        })
    }

    /// The instruction that a label stands before; the number of instructions, if it stands at the end.
    pub fn target(&self, label: LabelId) -> Option<u32> {
        match self.labels.get(label.0 as usize)?.meaning {
            LabelMeaning::Code(instruction) => Some(instruction),
            _ => None,
        }
    }
}

/// A register by its number in the function, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegisterId(pub u32);

/// A label by its number in the function: an index in [`Body::labels`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LabelId(pub u32);

/// `.reg .b32 %r<10>`: ten registers; `.reg .pred p`: one.
#[derive(Clone, Debug, PartialEq)]
pub struct RegisterFamily {
    /// Where the name stands.
    pub position: Position,
    /// `.v2` or `.v4`.
    pub vector: Option<u8>,
    /// Of one scalar.
    pub scalar: ScalarType,
    /// Without the number: `%r`.
    pub name: Name,
    /// The number in angle brackets; none: a single register of that very name.
    pub count: Option<u32>,
    /// The number of `%r0`.
    pub first: RegisterId,
}

impl RegisterFamily {
    /// How many registers.
    pub fn size(&self) -> u32 {
        self.count.unwrap_or(1)
    }
}

/// A name before a colon.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// Where it stands before its colon.
    pub position: Position,
    /// As the file writes it. Blocks side by side may use one name twice.
    pub name: Name,
    /// What it is before.
    pub meaning: LabelMeaning,
}

/// What a label stands before.
#[derive(Clone, Debug, PartialEq)]
pub enum LabelMeaning {
    /// The instruction of this index.
    Code(u32),
    /// `.branchtargets`, for `brx.idx`.
    BranchTargets(Vec<LabelId>),
    /// `.calltargets`: the functions that an indirect call may reach.
    CallTargets(Vec<Name>),
    /// `.callprototype`: what an indirect call passes.
    Prototype(Prototype),
}

/// `(.param .b32 _) _ (.param .b64 _)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Prototype {
    /// What it gives back: none or one.
    pub returns: Vec<Parameter>,
    /// What it takes.
    pub parameters: Vec<Parameter>,
    /// `.noreturn`.
    pub never_returns: bool,
}

/// One instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// Where it begins.
    pub position: Position,
    /// What the last `.loc` before it said.
    pub location: Option<LocationId>,
    /// `@%p1`.
    pub guard: Option<Guard>,
    /// Not yet decoded.
    pub opcode: Opcode,
    /// In order. Those of `call` keep its brackets: see [`Instruction::call`].
    pub operands: Vec<Operand>,
}

impl Instruction {
    /// Its parts, if this is a call.
    pub fn call(&self) -> Option<Call<'_>> {
        if self.opcode.base() != "call" {
            return None;
        }
        let (returns, rest) = match self.operands.as_slice() {
            [Operand::List(returns), rest @ ..] => (returns.as_slice(), rest),
            rest => (&[][..], rest),
        };
        let (target, rest) = rest.split_first()?;
        let (arguments, rest) = match rest {
            [Operand::List(arguments), rest @ ..] => (arguments.as_slice(), rest),
            rest => (&[][..], rest),
        };
        let prototype = match rest {
            [Operand::Label(label)] => Some(*label),
            _ => None,
        };
        Some(Call { returns, target, arguments, prototype })
    }
}

/// `call (returns), target, (arguments), prototype;`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Call<'a> {
    /// Empty where the call leaves them out.
    pub returns: &'a [Operand],
    /// A function, or a register with its address.
    pub target: &'a Operand,
    /// Empty where the call leaves them out.
    pub arguments: &'a [Operand],
    /// For calls through a register.
    pub prototype: Option<LabelId>,
}

/// The lanes that an instruction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// A predicate.
    pub register: RegisterId,
    /// `@!p`: those where it is false.
    pub negated: bool,
}

/// What an instruction works on.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// `%r1`
    Register(RegisterId),
    /// `!%p1`
    Not(RegisterId),
    /// `-%r1`
    Minus(RegisterId),
    /// `%v.x`
    Element(RegisterId, Component),
    /// `%tid.x`
    Special(SpecialRegister),
    /// `7`, `0f3F800000`
    Immediate(Immediate),
    /// `name+4`: an address, not what is there.
    Symbol(Symbol, i64),
    /// A place in the code, or a list of them.
    Label(LabelId),
    /// `[...]`
    Address(Address),
    /// `{a, b}`
    Vector(Vec<Self>),
    /// `p|q`: two results.
    Pair(Box<[Self; 2]>),
    /// `_`: a result that nobody wants.
    Sink,
    /// `(a, b)`: of a call.
    List(Vec<Self>),
}

/// A name that stands for an address.
#[derive(Clone, Debug, PartialEq)]
pub struct Symbol {
    /// As the file writes it.
    pub name: Name,
    /// Whose name it is.
    pub meaning: SymbolMeaning,
}

/// Whose name a symbol is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolMeaning {
    /// The module's: ask [`Module::function`](super::Module::function) and [`Module::variable`](super::Module::variable).
    Module,
    /// The function's parameter of this index.
    Parameter(u32),
    /// What the function gives back.
    Return(u32),
    /// Of [`Body::variables`].
    Variable(u32),
}

/// `[base+offset]`, or `[base, more]` for textures and tensors.
#[derive(Clone, Debug, PartialEq)]
pub struct Address {
    /// What the offset is from.
    pub base: AddressBase,
    /// In bytes.
    pub offset: i64,
    /// What stands behind commas within the brackets.
    pub more: Vec<Operand>,
}

/// What an address begins with.
#[derive(Clone, Debug, PartialEq)]
pub enum AddressBase {
    /// `[%rd1]`
    Register(RegisterId),
    /// `[name]`
    Symbol(Symbol),
    /// `[64]`
    Absolute,
}

/// One statement of the text. Numbers are indices in the body's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the lists say it")]
pub enum Statement {
    /// `.reg`: so many families from this one on.
    Registers {
        first: u32,
        count: u32,
    },
    Variable(u32),
    Label(LabelId),
    Instruction(u32),
    /// `.loc`
    Location(LocationId),
    /// `.pragma`: one hint.
    Pragma(u32),
    /// `{`
    Open,
    /// `}`
    Close,
}
