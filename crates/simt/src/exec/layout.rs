//! Lays out a function's frame: assigns a column to each register and constant.
//!
//! A frame holds the registers of a warp as columns of 32 lanes ([`registers`](crate::registers)). Instructions read
//! nothing but columns. So whatever else an operand can be has a column too, which is *filled* before the function
//! executes ([`Fill`]): immediates and addresses once per launch, special registers when a block or a warp begins. A
//! value that occurs twice in one width has one column. For example:
//!
//! ```text
//! mov.u32 %r1, %tid.x;       column                    bytes   filled
//! add.u32 %r2, %r1, 1;       ones, for no guard           64   once
//! setp.lt.u32 %p1, %r2, 1;   %tid.x as a u32             128   for each warp
//!                            %r1                         128
//!                            1 as a u32                  128   once, for both instructions
//!                            %r2                         128
//!                            %p1: a bit per lane          64
//! ```
//!
//! Columns are never shared by registers whose lives do not overlap: a frame may be large, but each register has one
//! place, which checks and compiled code rely on. `.param` variables are bytes lane by lane ([`Bytes`]), since they are
//! accessed in several sizes.

use std::collections::HashMap;

use super::immediate::bits_of;
use super::names::{Meaning, Names};
use super::special::{Changes, Special};
use crate::decode::{Columns, DecodeError};
use crate::ptx::{
    Address, AddressBase, Body, Component, Function, Instruction, Operand, RegisterId, ScalarType, Space,
    Symbol, SymbolMeaning,
};
use crate::registers::{Slot, Width};

/// Value of a column that is filled before execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Fill {
    /// The same bits in every lane.
    Bits(u128),
    /// Address of a shared variable plus an offset in bytes.
    Shared(u32, i64),
    /// Address of the kernel's parameters plus an offset in bytes.
    Parameters(i64),
    /// Offset from the start of the function's local memory, in bytes.
    Local(i64),
    /// A special register, truncated to this many bytes.
    Special(Special, u8),
}

/// Bytes of a `.param` variable for all lanes: lane `k`'s start `k * stride` bytes after the cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bytes {
    pub(super) cell: u32,
    /// Distance between lanes in bytes, a multiple of 8.
    pub(super) stride: u32,
    /// Bytes in use per lane.
    pub(super) size: u32,
}

impl Bytes {
    /// Returns a column that stands for the bytes in dependency analysis.
    pub(super) fn column(self) -> Slot {
        Slot { cell: self.cell, width: Width::Predicate }
    }
}

/// A frame during its layout.
pub(super) struct Layout<'a> {
    pub(super) names: &'a Names<'a>,
    pub(super) function: &'a Function,
    pub(super) body: &'a Body,
    pub(super) is_entry: bool,
    /// Offsets of a kernel's parameters; unused for other functions.
    parameter_offsets: Vec<u32>,
    /// Size of a kernel's parameters in bytes.
    pub(super) parameter_bytes: u32,
    cells: u32,
    registers: HashMap<(RegisterId, u8), Slot>,
    fills: HashMap<(Fill, Width), Slot>,
    /// Filled columns, in the order in which they were requested.
    pub(super) filled: Vec<(Slot, Fill)>,
    carry: Option<Slot>,
    sinks: [Option<Slot>; 4],
    /// Columns of `.param` variables, by index in [`Body::variables`].
    variables: Vec<Option<Bytes>>,
    /// Offsets of `.local` variables, by index in [`Body::variables`].
    locals: Vec<Option<u32>>,
    /// Size of local memory in bytes.
    pub(super) local_bytes: u32,
    /// Parameters whose address the function takes, with the offset of their copy in local memory.
    pub(super) copies: Vec<(u32, u32)>,
    pub(super) returns: Vec<Place>,
    pub(super) parameters: Vec<Place>,
    /// Columns to fill just before the instruction that is being decoded.
    pub(super) always: Vec<Slot>,
    /// Opcode of the instruction that is being decoded.
    opcode: String,
}

/// Location of a function's parameter or result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A `.reg` of this many bytes; 0 for a predicate.
    Register(Slot, u32),
    /// A `.param` variable.
    Bytes(Bytes),
}

impl Place {
    /// Returns the column itself, or the one that stands for the bytes.
    pub(super) fn column(self) -> Slot {
        match self {
            Self::Register(slot, _) => slot,
            Self::Bytes(bytes) => bytes.column(),
        }
    }

    /// Returns the size per lane in bytes.
    pub(super) fn size(self) -> u32 {
        match self {
            Self::Register(_, size) => size.max(1),
            Self::Bytes(bytes) => bytes.size,
        }
    }
}

/// Column of ones: the guard of unguarded instructions.
pub(super) const ALWAYS: Slot = Slot { cell: 0, width: Width::Predicate };

/// Most cells of a frame: more than compilers need, and few enough for a frame per warp.
const MOST_CELLS: u32 = 1 << 24;

impl<'a> Layout<'a> {
    /// Lays out the parameters, results and variables of a function.
    ///
    /// # Errors
    /// Describes what is wrong.
    pub(super) fn new(
        names: &'a Names<'a>,
        function: &'a Function,
        body: &'a Body,
        is_entry: bool,
    ) -> Result<Self, String> {
        let mut layout = Self {
            names,
            function,
            body,
            is_entry,
            parameter_offsets: Vec::new(),
            parameter_bytes: 0,
            cells: ALWAYS.width.cells(),
            registers: HashMap::new(),
            fills: HashMap::new(),
            filled: vec![(ALWAYS, Fill::Bits(u128::MAX))],
            carry: None,
            sinks: [None; 4],
            variables: Vec::new(),
            locals: Vec::new(),
            local_bytes: 0,
            copies: Vec::new(),
            returns: Vec::new(),
            parameters: Vec::new(),
            always: Vec::new(),
            opcode: String::new(),
        };
        let mut in_registers = 0;
        let mut place = |layout: &mut Self, parameter: &ptx::Parameter| {
            if parameter.in_register {
                let register = body.registers.get(in_registers).ok_or("a parameter without its register")?;
                in_registers += 1;
                let slot = layout.register(register.first, 0).map_err(|error| error.to_string())?;
                return Ok(Place::Register(slot, parameter.scalar.size().unwrap_or(0)));
            }
            let size =
                parameter.size().ok_or_else(|| format!("the parameter `{}` has no size", parameter.name))?;
            layout.bytes(size).map(Place::Bytes)
        };
        if is_entry {
            let (parameters, bytes) = super::kernel::parameters(function)?;
            layout.parameter_offsets = parameters.iter().map(|parameter| parameter.offset).collect();
            layout.parameter_bytes = bytes;
        } else {
            for parameter in &function.returns {
                let place = place(&mut layout, parameter)?;
                layout.returns.push(place);
            }
            for parameter in &function.parameters {
                let place = place(&mut layout, parameter)?;
                layout.parameters.push(place);
            }
        }
        for variable in &body.variables {
            let size =
                variable.size().ok_or_else(|| format!("the variable `{}` is too large", variable.name));
            let (mut bytes, mut local) = (None, None);
            match variable.space {
                Space::Parameter => bytes = Some(layout.bytes(size?)?),
                Space::Local => local = Some(layout.local(size?, variable.alignment())?),
                _ => {}
            }
            layout.variables.push(bytes);
            layout.locals.push(local);
        }
        Ok(layout)
    }

    /// Allocates the bytes of a parameter.
    fn bytes(&mut self, size: u64) -> Result<Bytes, String> {
        // The manual limits functions' parameters to a few kilobytes.
        if size > 1 << 16 {
            return Err(format!("{size} bytes for one parameter"));
        }
        let stride = (size as u32).max(1).next_multiple_of(8);
        let cell = self.take(32 * stride / 8);
        Ok(Bytes { cell, stride, size: size as u32 })
    }

    fn local(&mut self, size: u64, align: u32) -> Result<u32, String> {
        let start = u64::from(self.local_bytes).next_multiple_of(u64::from(align.max(1)));
        let end = start + size;
        if size > super::kernel::MOST_LOCAL_BYTES || end > super::kernel::MOST_LOCAL_BYTES {
            return Err(format!(
                "local memory of {start} and another {size} bytes: a thread can have {}",
                super::kernel::MOST_LOCAL_BYTES
            ));
        }
        self.local_bytes = end as u32;
        Ok(start as u32)
    }

    fn take(&mut self, cells: u32) -> u32 {
        let cell = self.cells;
        self.cells = self.cells.saturating_add(cells.next_multiple_of(8));
        cell
    }

    fn column(&mut self, width: Width) -> Slot {
        Slot { cell: self.take(width.cells()), width }
    }

    /// Returns the size of the frame in cells.
    ///
    /// # Errors
    /// Describes what is wrong if the frame is too large.
    pub(super) fn cells(&self) -> Result<u32, String> {
        if self.cells > MOST_CELLS {
            return Err(format!(
                "its registers take {} bytes per warp, which is too many",
                u64::from(self.cells) * 8
            ));
        }
        Ok(self.cells)
    }

    /// Returns the registers that have a column, and the carry flag.
    pub(super) fn register_slots(&self) -> impl Iterator<Item = Slot> + '_ {
        self.registers.values().copied().chain(self.carry)
    }

    /// Begins an instruction; its opcode is for error messages.
    pub(super) fn begin(&mut self, instruction: &Instruction) {
        self.opcode.clear();
        self.opcode.push_str(instruction.opcode.as_str());
        self.always.clear();
    }

    /// Returns an error about the instruction that is being decoded.
    pub(super) fn misfit(&self, what: impl Into<String>) -> DecodeError {
        DecodeError::Operands { opcode: self.opcode.clone(), what: what.into() }
    }

    fn wrong<T>(&self, what: impl Into<String>) -> Result<T, DecodeError> {
        Err(self.misfit(what))
    }

    pub(super) fn register(&mut self, register: RegisterId, element: u8) -> Result<Slot, DecodeError> {
        if let Some(slot) = self.registers.get(&(register, element)) {
            return Ok(*slot);
        }
        let Some(family) = self.body.family(register) else {
            return self.wrong("an operand without a register");
        };
        if element >= family.vector.unwrap_or(1) {
            return self.wrong(format!("an element that `{}` does not have", family.name));
        }
        let slot = self.column(Width::of(family.scalar));
        self.registers.insert((register, element), slot);
        Ok(slot)
    }

    /// Returns the column that is filled with this value, allocated at first use.
    pub(super) fn fill(&mut self, fill: Fill, width: Width) -> Slot {
        if let Some(slot) = self.fills.get(&(fill, width)) {
            return *slot;
        }
        let slot = self.column(width);
        self.fills.insert((fill, width), slot);
        self.filled.push((slot, fill));
        slot
    }

    /// Returns the value of a column in every lane, if all launches share it.
    pub(super) fn constant(&self, slot: Slot) -> Option<u128> {
        self.filled.iter().find(|(other, _)| *other == slot).and_then(|(_, fill)| match fill {
            Fill::Bits(bits) => Some(*bits),
            _ => None,
        })
    }

    /// Returns the bytes of a `.param` variable, parameter or result.
    pub(super) fn parameter(&self, symbol: &Symbol) -> Result<Bytes, DecodeError> {
        let place = match symbol.meaning {
            SymbolMeaning::Parameter(index) => self.parameters.get(index as usize).copied(),
            SymbolMeaning::Return(index) => self.returns.get(index as usize).copied(),
            SymbolMeaning::Variable(index) => {
                self.variables.get(index as usize).copied().flatten().map(Place::Bytes)
            }
            SymbolMeaning::Module => None,
        };
        match place {
            Some(Place::Bytes(bytes)) => Ok(bytes),
            _ => self.wrong(format!("`{}` is not in parameter space", symbol.name)),
        }
    }

    /// Returns the offset of a kernel's parameter in the parameter buffer.
    pub(super) fn entry_parameter(&self, symbol: &Symbol) -> Option<u32> {
        match symbol.meaning {
            SymbolMeaning::Parameter(index) if self.is_entry => {
                self.parameter_offsets.get(index as usize).copied()
            }
            _ => None,
        }
    }

    fn symbol(&mut self, symbol: &Symbol, offset: i64, width: Width) -> Result<Slot, DecodeError> {
        let fill = match symbol.meaning {
            SymbolMeaning::Module => match self.names.meaning(&symbol.name) {
                Some(Meaning::Address(address)) => {
                    Fill::Bits(u128::from(address.wrapping_add_signed(offset)))
                }
                Some(Meaning::Shared(variable)) => Fill::Shared(variable, offset),
                None => return self.wrong(format!("`{}` has no address here", symbol.name)),
            },
            SymbolMeaning::Parameter(index) => match self.entry_parameter(symbol) {
                Some(start) => Fill::Parameters(i64::from(start) + offset),
                None => Fill::Local(i64::from(self.copy(index, symbol)?) + offset),
            },
            SymbolMeaning::Return(_) => {
                return self.wrong(format!("the address of the result `{}`", symbol.name));
            }
            SymbolMeaning::Variable(index) => {
                let index = index as usize;
                match self.body.variables[index].space {
                    Space::Local => {
                        let start = self.locals[index].unwrap_or(0);
                        Fill::Local(i64::from(start) + offset)
                    }
                    Space::Parameter => {
                        return self.wrong(format!("the address of the argument `{}`", symbol.name));
                    }
                    _ => match self.names.body_variable(&self.function.name, index) {
                        Some(Meaning::Address(address)) => {
                            Fill::Bits(u128::from(address.wrapping_add_signed(offset)))
                        }
                        Some(Meaning::Shared(variable)) => Fill::Shared(variable, offset),
                        None => return self.wrong(format!("`{}` has no address here", symbol.name)),
                    },
                }
            }
        };
        // A kernel's local memory starts where the thread's does.
        let fill = match fill {
            Fill::Local(offset) if self.is_entry => Fill::Bits(u128::from(offset as u64)),
            fill => fill,
        };
        Ok(self.fill(fill, width))
    }

    /// Allocates the local copy of a parameter whose address is taken, as the manual prescribes.
    fn copy(&mut self, index: u32, symbol: &Symbol) -> Result<u32, DecodeError> {
        if let Some((_, start)) = self.copies.iter().find(|(other, _)| *other == index) {
            return Ok(*start);
        }
        let size = self.parameter(symbol)?.size;
        match self.local(u64::from(size), 16) {
            Ok(start) => {
                self.copies.push((index, start));
                Ok(start)
            }
            Err(what) => self.wrong(what),
        }
    }
}

pub(super) fn element(component: Component) -> u8 {
    match component {
        Component::X | Component::R => 0,
        Component::Y | Component::G => 1,
        Component::Z | Component::B => 2,
        Component::W | Component::A => 3,
    }
}

impl Columns for Layout<'_> {
    fn source(&mut self, operand: &Operand, scalar: ScalarType) -> Result<Slot, DecodeError> {
        match operand {
            Operand::Register(register) => self.register(*register, 0),
            Operand::Element(register, component) => self.register(*register, element(*component)),
            Operand::Immediate(immediate) => {
                let bits = bits_of(*immediate, scalar).map_err(|what| self.misfit(what))?;
                Ok(self.fill(Fill::Bits(bits), Width::of(scalar)))
            }
            Operand::Special(register) => {
                let Some(special) = Special::new(*register) else {
                    return self.wrong(format!("the special register {register} is not supported"));
                };
                let width = Width::of(scalar);
                let slot = self.fill(Fill::Special(special, scalar.size().unwrap_or(0) as u8), width);
                if special.changes() == Changes::Always {
                    self.always.push(slot);
                }
                Ok(slot)
            }
            Operand::Symbol(symbol, offset) => match Width::of(scalar) {
                width @ (Width::Word | Width::Double) => self.symbol(symbol, *offset, width),
                _ => self.wrong(format!("the address of `{}` as {scalar}", symbol.name)),
            },
            _ => self.wrong("an operand that has no value"),
        }
    }

    fn result(&mut self, operand: &Operand, scalar: ScalarType) -> Result<Slot, DecodeError> {
        match operand {
            Operand::Register(register) => self.register(*register, 0),
            Operand::Element(register, component) => self.register(*register, element(*component)),
            Operand::Sink => {
                let width = Width::of(scalar);
                if let Some(slot) = self.sinks[width as usize] {
                    return Ok(slot);
                }
                let slot = self.column(width);
                self.sinks[width as usize] = Some(slot);
                Ok(slot)
            }
            _ => self.wrong("a result that is not a register"),
        }
    }

    fn address(&mut self, address: &Address) -> Result<(Slot, i64), DecodeError> {
        match &address.base {
            AddressBase::Register(register) => Ok((self.register(*register, 0)?, address.offset)),
            AddressBase::Symbol(symbol) => Ok((self.symbol(symbol, 0, Width::Double)?, address.offset)),
            AddressBase::Absolute => Ok((self.fill(Fill::Bits(0), Width::Double), address.offset)),
        }
    }

    fn register_bits(&mut self, operand: &Operand) -> Option<u32> {
        match operand {
            Operand::Register(register) | Operand::Element(register, _) => {
                self.body.register_type(*register)?.size().map(|size| 8 * size)
            }
            _ => None,
        }
    }

    fn scratch(&mut self, width: Width) -> Slot {
        self.column(width)
    }

    fn carry(&mut self) -> Slot {
        if let Some(slot) = self.carry {
            return slot;
        }
        let slot = self.column(Width::Predicate);
        self.carry = Some(slot);
        slot
    }
}
