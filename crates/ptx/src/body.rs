//! A function's body: a list of instructions with resolved operands.

use super::names::{Name, Opcode};
use super::op::Op;
use super::position::Position;
use super::source::LocationId;
use super::types::{Component, ScalarType, SpecialRegister};
use super::variable::{Immediate, Parameter, Variable};

/// The body of a function.
///
/// Nested blocks have scopes of their own in the text. Here each register, variable and label has a number that is
/// unique in the function.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Body {
    /// Register families, in the order of the text, with ascending numbers.
    pub registers: Vec<RegisterFamily>,
    /// Registers of all families together.
    pub register_count: u32,
    /// Variables of this function: `.shared`, `.local`, `.param`, ...
    pub variables: Vec<Variable>,
    /// Hints to the assembler.
    pub pragmas: Vec<Name>,
    /// Labels of code, and of lists of labels.
    pub labels: Vec<Label>,
    /// Instructions, in the order of the text.
    pub instructions: Vec<Instruction>,
    /// All statements as written, for printing.
    pub layout: Vec<Statement>,
    /// Position of the closing brace.
    pub end: Position,
}

impl Body {
    /// Returns the family of a register.
    pub fn family(&self, register: RegisterId) -> Option<&RegisterFamily> {
        let after = self.registers.partition_point(|family| family.first.0 <= register.0);
        self.registers[..after].iter().rev().find(|family| register.0 - family.first.0 < family.size())
    }

    /// Returns the register's type; for vector registers, that of one element.
    pub fn register_type(&self, register: RegisterId) -> Option<ScalarType> {
        self.family(register).map(|family| family.scalar)
    }

    /// Returns the name as the text writes it: `%r5`.
    pub fn register_name(&self, register: RegisterId) -> Option<String> {
        let family = self.family(register)?;
        Some(match family.count {
            None => family.name.to_string(),
            Some(_) => format!("{}{}", family.name, register.0 - family.first.0),
        })
    }

    /// Returns the index of the instruction behind a label; at the end, the number of instructions.
    pub fn target(&self, label: LabelId) -> Option<u32> {
        match self.labels.get(label.0 as usize)?.meaning {
            LabelMeaning::Code(instruction) => Some(instruction),
            _ => None,
        }
    }
}

/// A register, by its number in the function from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegisterId(pub u32);

/// A label: an index in [`Body::labels`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LabelId(pub u32);

/// A declaration of registers: `.reg .b32 %r<10>` of ten, `.reg .pred p` of one.
#[derive(Clone, Debug, PartialEq)]
pub struct RegisterFamily {
    /// Position of the name.
    pub position: Position,
    /// Elements of a vector register: `.v2` or `.v4`.
    pub vector: Option<u8>,
    /// Type of one scalar.
    pub scalar: ScalarType,
    /// Name without the number: `%r`.
    pub name: Name,
    /// Number in angle brackets; None for a single register of exactly this name.
    pub count: Option<u32>,
    /// Register `%r0`.
    pub first: RegisterId,
}

impl RegisterFamily {
    /// Returns the number of registers.
    pub fn size(&self) -> u32 {
        self.count.unwrap_or(1)
    }
}

/// A label: a name before a colon.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// Position of the name.
    pub position: Position,
    /// Name as written. Sibling blocks may use one name twice.
    pub name: Name,
    /// Its meaning.
    pub meaning: LabelMeaning,
}

/// The meaning of a label.
#[derive(Clone, Debug, PartialEq)]
pub enum LabelMeaning {
    /// The instruction of this index.
    Code(u32),
    /// `.branchtargets`, for `brx.idx`.
    BranchTargets(Vec<LabelId>),
    /// `.calltargets`: functions that an indirect call may reach.
    CallTargets(Vec<Name>),
    /// `.callprototype`: the parameters of an indirect call.
    Prototype(Prototype),
}

/// A prototype: `(.param .b32 _) _ (.param .b64 _)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Prototype {
    /// Results: none or one.
    pub returns: Vec<Parameter>,
    /// Parameters.
    pub parameters: Vec<Parameter>,
    /// `.noreturn`.
    pub never_returns: bool,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// Position of its start.
    pub position: Position,
    /// The last `.loc` before it.
    pub location: Option<LocationId>,
    /// Guard: `@%p1`.
    pub guard: Option<Guard>,
    /// Opcode; see [`Opcode::op`].
    pub opcode: Opcode,
    /// Operands, in order. Those of `call` keep its parentheses: see [`Instruction::call`].
    pub operands: Vec<Operand>,
}

impl Instruction {
    /// Returns the parts of a call; None for other instructions.
    pub fn call(&self) -> Option<Call<'_>> {
        if self.opcode.op() != Ok(Op::Call) {
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

/// The parts of `call (returns), target, (arguments), prototype;`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Call<'a> {
    /// Results; empty if left out.
    pub returns: &'a [Operand],
    /// The callee: a function, or a register with its address.
    pub target: &'a Operand,
    /// Arguments; empty if left out.
    pub arguments: &'a [Operand],
    /// Prototype of a call through a register.
    pub prototype: Option<LabelId>,
}

/// The guard of an instruction: the lanes that execute it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The predicate.
    pub register: RegisterId,
    /// True for `@!p`: lanes where the predicate is false.
    pub negated: bool,
}

/// An operand of an instruction.
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
    /// `name+4`: the address, not its content.
    Symbol(Symbol, i64),
    /// A label of code, or of a list of labels.
    Label(LabelId),
    /// `[...]`
    Address(Address),
    /// `{a, b}`
    Vector(Vec<Self>),
    /// `p|q`: two results.
    Pair(Box<[Self; 2]>),
    /// `_`: an unused result.
    Sink,
    /// `(a, b)`: the arguments or results of a call.
    List(Vec<Self>),
}

/// A name that stands for an address.
#[derive(Clone, Debug, PartialEq)]
pub struct Symbol {
    /// Name as written.
    pub name: Name,
    /// Meaning of the name.
    pub meaning: SymbolMeaning,
}

/// The meaning of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolMeaning {
    /// A name of the module: see [`Module::function`](super::Module::function) and
    /// [`Module::variable`](super::Module::variable).
    Module,
    /// The function's parameter of this index.
    Parameter(u32),
    /// The function's result of this index.
    Return(u32),
    /// A variable: an index in [`Body::variables`].
    Variable(u32),
}

/// An address operand: `[base+offset]`, or `[base, more]` for textures and tensors.
#[derive(Clone, Debug, PartialEq)]
pub struct Address {
    /// Base of the address.
    pub base: AddressBase,
    /// Offset in bytes.
    pub offset: i64,
    /// Further operands within the brackets.
    pub more: Vec<Operand>,
}

/// The base of an address.
#[derive(Clone, Debug, PartialEq)]
pub enum AddressBase {
    /// `[%rd1]`
    Register(RegisterId),
    /// `[name]`
    Symbol(Symbol),
    /// `[64]`
    Absolute,
}

/// A statement of the text. Numbers are indices in the body's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the lists say it")]
pub enum Statement {
    /// `.reg`: `count` families from the first one on.
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
