//! Prints a module as text that parses to an equal module.

use std::fmt::{self, Display, Formatter};

use super::body::{
    Address, AddressBase, Body, Instruction, LabelId, LabelMeaning, Operand, RegisterFamily, RegisterId,
    Statement,
};
use super::module::{Function, FunctionDirective, FunctionKind, Item, Module};
use super::names::Name;
use super::source::{Location, SourceFile};
use super::variable::{Attribute, Immediate, Initializer, Parameter, Variable};

/// Displays what a closure writes, so that pieces nest in `write!`.
struct Piece<F>(F);

impl<F: Fn(&mut Formatter<'_>) -> fmt::Result> Display for Piece<F> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        (self.0)(formatter)
    }
}

/// Lists items separated by commas.
fn list<'a, T: 'a, D: Display>(
    things: impl IntoIterator<Item = &'a T> + Clone + 'a,
    show: impl Fn(&'a T) -> D + 'a,
) -> impl Display + 'a {
    Piece(move |formatter: &mut Formatter<'_>| {
        things.clone().into_iter().enumerate().try_for_each(|(index, thing)| {
            let comma = if index == 0 { "" } else { ", " };
            write!(formatter, "{comma}{}", show(thing))
        })
    })
}

fn hints(hints: &[Name]) -> impl Display + '_ {
    list(hints, |hint| format!("\"{hint}\""))
}

impl Display for Module {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        writeln!(formatter, ".version {}.{}", self.version.0, self.version.1)?;
        writeln!(formatter, ".target {}", list(&self.target, Name::clone))?;
        writeln!(formatter, ".address_size {}", self.address_size)?;
        for item in &self.items {
            match item {
                Item::Function(function) => function.print(self, formatter)?,
                Item::Variable(variable) => writeln!(formatter, "{variable}")?,
                Item::Alias { name, function, .. } => writeln!(formatter, ".alias {name}, {function};")?,
                Item::Pragma(texts) => writeln!(formatter, ".pragma {};", hints(texts))?,
            }
        }
        for SourceFile { number, name, stamp, .. } in &self.files {
            write!(formatter, ".file {number} \"{name}\"")?;
            match stamp {
                Some((time, size)) => writeln!(formatter, ", {time}, {size}")?,
                None => writeln!(formatter)?,
            }
        }
        for section in &self.sections {
            writeln!(formatter, ".section {} {{\n{}\n}}", section.name, section.text)?;
        }
        Ok(())
    }
}

fn attributes(attributes: &[Attribute]) -> impl Display + '_ {
    Piece(|formatter: &mut Formatter<'_>| {
        attributes.iter().try_for_each(|attribute| match attribute {
            Attribute::Managed => write!(formatter, ".attribute(.managed) "),
            Attribute::Unified(high, low) => write!(formatter, ".attribute(.unified({high}U, {low}U)) "),
        })
    })
}

impl Function {
    fn print(&self, module: &Module, formatter: &mut Formatter<'_>) -> fmt::Result {
        if let Some(linkage) = self.linkage {
            write!(formatter, "{linkage} ")?;
        }
        let kind = match self.kind {
            FunctionKind::Entry => ".entry",
            FunctionKind::Function => ".func",
        };
        write!(formatter, "{kind} {}", attributes(&self.attributes))?;
        if !self.returns.is_empty() {
            write!(formatter, "({}) ", list(&self.returns, Parameter::to_string))?;
        }
        write!(formatter, "{}({})", self.name, list(&self.parameters, Parameter::to_string))?;
        if self.never_returns {
            write!(formatter, " .noreturn")?;
        }
        for directive in &self.directives {
            match directive {
                FunctionDirective::Numbers { name, values } => {
                    write!(formatter, " .{name} {}", list(values, |value| *value))?;
                }
                FunctionDirective::Pragma(texts) => write!(formatter, " .pragma {};", hints(texts))?,
            }
        }
        match &self.body {
            Some(body) => writeln!(formatter, "\n{{\n{}}}", body.text(module)),
            None => writeln!(formatter, ";"),
        }
    }
}

impl Display for Parameter {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", if self.in_register { ".reg" } else { ".param" })?;
        if let Some(align) = self.align {
            write!(formatter, " .align {align}")?;
        }
        write!(formatter, " {}", self.scalar)?;
        if let Some(pointer) = self.pointer {
            write!(formatter, " .ptr")?;
            if let Some(space) = pointer.space {
                write!(formatter, " {space}")?;
            }
            if let Some(align) = pointer.align {
                write!(formatter, " .align {align}")?;
            }
        }
        write!(formatter, " {}", self.name)?;
        match self.array {
            Some(Some(length)) => write!(formatter, "[{length}]"),
            Some(None) => write!(formatter, "[]"),
            None => Ok(()),
        }
    }
}

impl Display for Variable {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        if let Some(linkage) = self.linkage {
            write!(formatter, "{linkage} ")?;
        }
        write!(formatter, "{} {}", self.space, attributes(&self.attributes))?;
        if let Some(align) = self.align {
            write!(formatter, ".align {align} ")?;
        }
        if let Some(vector) = self.vector {
            write!(formatter, ".v{vector} ")?;
        }
        write!(formatter, "{} {}", self.scalar, self.name)?;
        for length in &self.dimensions {
            match length {
                Some(length) => write!(formatter, "[{length}]")?,
                None => write!(formatter, "[]")?,
            }
        }
        if let Some(initializer) = &self.initializer {
            write!(formatter, " = {initializer}")?;
        }
        write!(formatter, ";")
    }
}

/// Prints `+4`, `-4` or nothing.
fn signed(offset: i64) -> impl Display {
    Piece(
        move |formatter: &mut Formatter<'_>| {
            if offset == 0 { Ok(()) } else { write!(formatter, "{offset:+}") }
        },
    )
}

impl Display for Initializer {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(formatter, "{number}"),
            Self::List(elements) => write!(formatter, "{{{}}}", list(elements, Self::to_string)),
            Self::Address { name, offset, generic, mask, .. } => {
                if let Some(mask) = mask {
                    write!(formatter, "0x{mask:X}(")?;
                }
                match generic {
                    true => write!(formatter, "generic({name}){}", signed(*offset))?,
                    false => write!(formatter, "{name}{}", signed(*offset))?,
                }
                if mask.is_some() { write!(formatter, ")") } else { Ok(()) }
            }
        }
    }
}

impl Display for Immediate {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer { bits, unsigned: true } => write!(formatter, "{bits}U"),
            Self::Integer { bits, unsigned: false } => write!(formatter, "{}", bits.cast_signed()),
            Self::Single(bits) => write!(formatter, "0f{bits:08X}"),
            Self::Double(bits) => write!(formatter, "0d{bits:016X}"),
        }
    }
}

impl Body {
    /// Prints the body between its braces. The module holds its source positions.
    fn text<'a>(&'a self, module: &'a Module) -> impl Display + 'a {
        Piece(|formatter: &mut Formatter<'_>| {
            self.layout.iter().try_for_each(|statement| self.print(*statement, module, formatter))
        })
    }

    fn print(&self, statement: Statement, module: &Module, formatter: &mut Formatter<'_>) -> fmt::Result {
        match statement {
            Statement::Registers { first, count } => {
                let families = &self.registers[first as usize..(first + count) as usize];
                let Some(RegisterFamily { vector, scalar, .. }) = families.first() else { return Ok(()) };
                let vector = vector.map_or(String::new(), |vector| format!(" .v{vector}"));
                let names = list(families, |family| match family.count {
                    Some(count) => format!("{}<{count}>", family.name),
                    None => family.name.to_string(),
                });
                writeln!(formatter, "\t.reg{vector} {scalar} {names};")
            }
            Statement::Variable(index) => writeln!(formatter, "\t{}", self.variables[index as usize]),
            Statement::Label(label) => self.print_label(label, formatter),
            Statement::Instruction(index) => {
                writeln!(formatter, "\t{}", self.instruction_text(&self.instructions[index as usize]))
            }
            Statement::Location(location) => {
                writeln!(formatter, "\t.loc {}", module.locations[location.0 as usize])
            }
            Statement::Pragma(index) => {
                writeln!(formatter, "\t.pragma \"{}\";", self.pragmas[index as usize])
            }
            Statement::Open => writeln!(formatter, "{{"),
            Statement::Close => writeln!(formatter, "}}"),
        }
    }

    fn print_label(&self, label: LabelId, formatter: &mut Formatter<'_>) -> fmt::Result {
        let label = &self.labels[label.0 as usize];
        write!(formatter, "{}:", label.name)?;
        match &label.meaning {
            LabelMeaning::Code(_) => writeln!(formatter),
            LabelMeaning::BranchTargets(targets) => {
                let names = list(targets, |target| self.labels[target.0 as usize].name.clone());
                writeln!(formatter, " .branchtargets {names};")
            }
            LabelMeaning::CallTargets(targets) => {
                writeln!(formatter, " .calltargets {};", list(targets, Name::clone))
            }
            LabelMeaning::Prototype(prototype) => {
                write!(formatter, " .callprototype ")?;
                if !prototype.returns.is_empty() {
                    write!(formatter, "({}) ", list(&prototype.returns, Parameter::to_string))?;
                }
                write!(formatter, "_ ({})", list(&prototype.parameters, Parameter::to_string))?;
                writeln!(formatter, "{};", if prototype.never_returns { " .noreturn" } else { "" })
            }
        }
    }

    /// Returns an instruction as a line of text, without surrounding blanks.
    pub fn instruction_text<'a>(&'a self, instruction: &'a Instruction) -> impl Display + 'a {
        Piece(|formatter: &mut Formatter<'_>| {
            if let Some(guard) = instruction.guard {
                let not = if guard.negated { "!" } else { "" };
                write!(formatter, "@{not}{} ", self.name(guard.register))?;
            }
            write!(formatter, "{}", instruction.opcode)?;
            if !instruction.operands.is_empty() {
                write!(formatter, " {}", self.operands(&instruction.operands))?;
            }
            write!(formatter, ";")
        })
    }

    fn name(&self, register: RegisterId) -> impl Display + '_ {
        Piece(move |formatter: &mut Formatter<'_>| match self.family(register) {
            Some(RegisterFamily { name, count: None, .. }) => write!(formatter, "{name}"),
            Some(RegisterFamily { name, first, .. }) => write!(formatter, "{name}{}", register.0 - first.0),
            None => Err(fmt::Error),
        })
    }

    fn operands<'a>(&'a self, operands: &'a [Operand]) -> impl Display + 'a {
        list(operands, |operand| self.operand(operand))
    }

    fn operand<'a>(&'a self, operand: &'a Operand) -> impl Display + 'a {
        Piece(|formatter: &mut Formatter<'_>| match operand {
            Operand::Register(register) => write!(formatter, "{}", self.name(*register)),
            Operand::Not(register) => write!(formatter, "!{}", self.name(*register)),
            Operand::Minus(register) => write!(formatter, "-{}", self.name(*register)),
            Operand::Element(register, component) => write!(formatter, "{}{component}", self.name(*register)),
            Operand::Special(special) => write!(formatter, "{special}"),
            Operand::Immediate(number) => write!(formatter, "{number}"),
            Operand::Symbol(symbol, offset) => write!(formatter, "{}{}", symbol.name, signed(*offset)),
            Operand::Label(label) => write!(formatter, "{}", self.labels[label.0 as usize].name),
            Operand::Address(address) => self.print_address(address, formatter),
            Operand::Vector(operands) => write!(formatter, "{{{}}}", self.operands_boxed(operands)),
            Operand::Pair(pair) => {
                let [first, second] = &**pair;
                write!(formatter, "{}|{}", self.operand_boxed(first), self.operand_boxed(second))
            }
            Operand::Sink => write!(formatter, "_"),
            Operand::List(operands) => write!(formatter, "({})", self.operands_boxed(operands)),
        })
    }

    // Boxed, since an operand within an operand would give a recursive type.
    fn operand_boxed<'a>(&'a self, operand: &'a Operand) -> Box<dyn Display + 'a> {
        Box::new(self.operand(operand))
    }

    fn operands_boxed<'a>(&'a self, operands: &'a [Operand]) -> Box<dyn Display + 'a> {
        Box::new(self.operands(operands))
    }

    fn print_address(&self, address: &Address, formatter: &mut Formatter<'_>) -> fmt::Result {
        match &address.base {
            AddressBase::Register(register) => {
                write!(formatter, "[{}{}", self.name(*register), signed(address.offset))?;
            }
            AddressBase::Symbol(symbol) => write!(formatter, "[{}{}", symbol.name, signed(address.offset))?,
            AddressBase::Absolute => write!(formatter, "[{}", address.offset)?,
        }
        if !address.more.is_empty() {
            write!(formatter, ", {}", self.operands_boxed(&address.more))?;
        }
        write!(formatter, "]")
    }
}

impl Display for Location {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {} {}", self.file, self.line, self.column)?;
        if let Some(inlined) = &self.inlined {
            if let Some((name, offset)) = &inlined.function {
                write!(formatter, ", function_name {name}+{offset}")?;
            }
            let (file, line, column) = inlined.at;
            write!(formatter, ", inlined_at {file} {line} {column}")?;
        }
        Ok(())
    }
}
