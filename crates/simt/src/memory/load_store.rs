//! Decodes and executes `ld`, `ldu` and `st`.

use std::mem::MaybeUninit;
use std::sync::atomic::{Ordering, fence};

use super::access::{AddressSpace, Environment, Request, Target};
use super::barrier::Transactions;
use super::columns::{Buffer, Mover, Registers};
use super::hints;
use super::instruction::{Decoded, Operation as Decode};
use super::lanes::{AddressOperand, Prepared};
use super::lookup::AccessFault;
use super::opcode::{self, Order, Scope};
use crate::decode::{Columns, DecodeError, Level};
use crate::observe::{Observer, Operation};
use crate::ptx::{Instruction, ScalarType};
use crate::registers::{Cell, Slot, Width};

/// A decoded load or store.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    request: Request,
    address: AddressOperand,
    registers: Registers,
    mover: Mover,
    order: Order,
    beyond_block: bool,
}

impl Transfer {
    /// Returns the bytes per lane.
    pub(super) fn bytes(&self) -> u64 {
        u64::from(self.request.bytes)
    }

    /// Loads from memory into registers.
    ///
    /// # Safety
    /// See [`MemoryInstruction::execute`](super::MemoryInstruction::execute).
    #[inline(always)]
    pub(super) unsafe fn load<O: Observer>(
        &self,
        frame: *mut Cell,
        mask: u32,
        environment: &mut Environment<'_, O>,
    ) -> Result<(), AccessFault> {
        let mut prepared = MaybeUninit::<Prepared>::uninit();
        // SAFETY: `prepare` fills it; what `access` hands out may be read, and is aligned.
        unsafe {
            self.address.prepare(frame, mask, self.request.bytes, prepared.as_mut_ptr());
            let prepared = prepared.assume_init_ref();
            self.request.access(prepared, mask, environment, |target, prepared, lanes| match target {
                Target::Host { base, .. } => (self.mover.load)(&self.registers, frame, prepared, base, lanes),
                Target::Local(local) => {
                    let mut buffer = Buffer::new();
                    local.load(prepared, lanes, self.request.bytes, &mut buffer);
                    (self.mover.spread)(&self.registers, frame, buffer.start(), lanes);
                }
            })?;
        }
        if self.order == Order::Acquire {
            fence(Ordering::Acquire);
            hints::tell(mask, self.beyond_block, environment);
        }
        Ok(())
    }

    /// Stores from registers to memory.
    ///
    /// # Safety
    /// See [`MemoryInstruction::execute`](super::MemoryInstruction::execute).
    #[inline(always)]
    pub(super) unsafe fn store<O: Observer>(
        &self,
        frame: *mut Cell,
        mask: u32,
        environment: &mut Environment<'_, O>,
    ) -> Result<(), AccessFault> {
        if self.order == Order::Release {
            fence(Ordering::Release);
            hints::tell(mask, self.beyond_block, environment);
        }
        let mut prepared = MaybeUninit::<Prepared>::uninit();
        // SAFETY: as in `load`; what may be stored to is handed out too.
        unsafe {
            self.address.prepare(frame, mask, self.request.bytes, prepared.as_mut_ptr());
            let prepared = prepared.assume_init_ref();
            self.request.access(prepared, mask, environment, |target, prepared, lanes| match target {
                Target::Host { base, .. } => {
                    (self.mover.store)(&self.registers, frame, prepared, base, lanes);
                }
                Target::Local(local) => {
                    let mut buffer = Buffer::new();
                    (self.mover.collect)(&self.registers, frame, buffer.start(), lanes);
                    local.store(prepared, lanes, self.request.bytes, &mut buffer);
                }
            })
        }
    }
}

/// Modifiers of `ld` and `st`.
struct Modifiers {
    space: AddressSpace,
    order: Order,
    scope: Option<Scope>,
    read_only: bool,
    past_l1: bool,
    cache_hint: bool,
    /// `st.async`.
    asynchronous: bool,
    /// A barrier counts its bytes.
    counted: bool,
    count: usize,
    scalar: ScalarType,
}

impl Modifiers {
    fn read(instruction: &Instruction) -> Result<Self, DecodeError> {
        let unsupported = || DecodeError::unsupported(instruction);
        let mut scalar = None;
        let mut modifiers = Self {
            space: AddressSpace::Generic,
            order: Order::Weak,
            scope: None,
            read_only: false,
            past_l1: false,
            cache_hint: false,
            asynchronous: false,
            counted: false,
            count: 1,
            scalar: ScalarType::B32,
        };
        for modifier in instruction.opcode.modifiers() {
            if let Some(space) = opcode::space(modifier) {
                modifiers.space = space;
            } else if let Some(order) = opcode::order(modifier) {
                modifiers.order = order;
            } else if let Some(scope) = opcode::scope(modifier) {
                modifiers.scope = Some(scope);
            } else if let Some(count) = opcode::vector(modifier) {
                modifiers.count = count;
            } else if opcode::is_hint(modifier) {
                modifiers.cache_hint |= modifier == "L2::cache_hint";
            } else {
                match modifier {
                    "nc" => modifiers.read_only = true,
                    "cg" | "cv" | "wt" => modifiers.past_l1 = true,
                    "ca" | "cs" | "lu" | "wb" => {}
                    "async" => modifiers.asynchronous = true,
                    "mbarrier::complete_tx::bytes" => modifiers.counted = true,
                    _ => {
                        let found = ScalarType::from_word(modifier).filter(|found| found.size().is_some());
                        scalar = Some(found.ok_or_else(unsupported)?);
                    }
                }
            }
        }
        modifiers.scalar = scalar.ok_or_else(unsupported)?;
        // `.relaxed` and stronger have a scope; `.volatile` is like `.relaxed.sys`.
        modifiers.past_l1 |= match modifiers.order {
            Order::Weak => false,
            Order::Volatile => true,
            _ => modifiers.scope != Some(Scope::Block),
        };
        Ok(modifiers)
    }
}

/// Decodes `ld` and `ldu`.
pub(super) fn decode_load(
    instruction: &Instruction,
    columns: &mut dyn Columns,
    level: Level,
) -> Result<Decoded, DecodeError> {
    let modifiers = Modifiers::read(instruction)?;
    let wrong = matches!(modifiers.order, Order::Release | Order::AcquireRelease)
        || modifiers.asynchronous
        || modifiers.counted;
    if wrong {
        return Err(DecodeError::unsupported(instruction));
    }
    decode(instruction, &modifiers, Operation::Load, columns, level)
}

/// Decodes `st`.
pub(super) fn decode_store(
    instruction: &Instruction,
    columns: &mut dyn Columns,
    level: Level,
) -> Result<Decoded, DecodeError> {
    let modifiers = Modifiers::read(instruction)?;
    let wrong = matches!(modifiers.order, Order::Acquire | Order::AcquireRelease)
        || modifiers.read_only
        || modifiers.space == AddressSpace::Constant
        || modifiers.counted && !modifiers.asynchronous;
    if wrong {
        return Err(DecodeError::unsupported(instruction));
    }
    decode(instruction, &modifiers, Operation::Store, columns, level)
}

fn decode(
    instruction: &Instruction,
    modifiers: &Modifiers,
    operation: Operation,
    columns: &mut dyn Columns,
    level: Level,
) -> Result<Decoded, DecodeError> {
    let least = 2 + usize::from(modifiers.counted);
    opcode::count(instruction, least, least + usize::from(modifiers.cache_hint))?;
    let scalar = modifiers.scalar;
    let element = scalar.size().ok_or_else(|| DecodeError::unsupported(instruction))?;
    let mover =
        Mover::new(element, modifiers.count, level).ok_or_else(|| DecodeError::unsupported(instruction))?;
    let is_load = operation == Operation::Load;
    let (data, address) = if is_load { (0, 1) } else { (1, 0) };
    let operands = opcode::elements(instruction, opcode::operand(instruction, data)?, modifiers.count)?;
    let mut slots = Vec::with_capacity(operands.len());
    let mut sign_bits = 0;
    for operand in &operands {
        if is_load {
            let slot = opcode::result(instruction, operand, scalar, columns)?;
            slots.push(slot);
            sign_bits = sign_bits.max(sign_bits_of(instruction, operand, slot, scalar, columns)?);
        } else {
            slots.push(opcode::source(instruction, operand, scalar, columns)?);
        }
    }
    let address = opcode::address_operand(instruction, address, modifiers.space, columns, level)?;
    let request = Request {
        // An asynchronous store that a barrier counts is to shared memory, whether it says so or not.
        space: if modifiers.counted { AddressSpace::Shared } else { modifiers.space },
        operation,
        bytes: element * modifiers.count as u32,
        read_only: modifiers.read_only,
        past_l1: modifiers.past_l1,
        strong: modifiers.order != Order::Weak,
    };
    let registers = Registers::new(&slots, sign_bits);
    let beyond_block = modifiers.scope != Some(Scope::Block);
    let transfer = Transfer { request, address, registers, mover, order: modifiers.order, beyond_block };
    if modifiers.counted {
        let transactions = Transactions::new(instruction, 2, columns, level)?;
        let decoded = Decoded::new(Decode::StoreAndCount(Box::new((transfer, transactions))));
        return Ok(decoded.sources(&slots).address(address.slot()).address(transactions.slot()));
    }
    let decoded = if is_load {
        Decoded::new(Decode::Load(transfer)).results(&slots)
    } else {
        Decoded::new(Decode::Store(transfer)).sources(&slots)
    };
    Ok(decoded.address(address.slot()))
}

/// Returns the width of the register that a signed element's sign must fill; 0 if it need not.
fn sign_bits_of(
    instruction: &Instruction,
    operand: &ptx::Operand,
    slot: Slot,
    scalar: ScalarType,
    columns: &mut dyn Columns,
) -> Result<u8, DecodeError> {
    let element = match scalar {
        ScalarType::S8 => 8,
        ScalarType::S16 => 16,
        ScalarType::S32 => 32,
        _ => return Ok(0),
    };
    let register = match slot.width {
        Width::Word if element == 32 => return Ok(0),
        Width::Word => columns.register_bits(operand).ok_or_else(|| {
            DecodeError::operands(instruction, "how far to extend the sign is not known of this register")
        })?,
        _ => 64,
    };
    Ok(if register > element { register as u8 } else { 0 })
}
