//! Decodes and executes `ld`, `ldu` and `st`.

use std::mem::MaybeUninit;
use std::sync::atomic::{Ordering, fence};

use super::hints;
use crate::decode::{Columns, DecodeError, Level};
use crate::memory::access::{Environment, Request, Target};
use crate::memory::barrier::Transactions;
use crate::memory::columns::{Buffer, Mover, Registers};
use crate::memory::decoded::Decoded;
use crate::memory::lanes::{AddressOperand, Prepared};
use crate::memory::lookup::AccessFault;
use crate::memory::opcode;
use crate::memory::plain::{Plain, PlainSpace};
use crate::memory::windows::AddressSpace;
use crate::observe::{Observer, Operation};
use crate::ptx::op::memory::Access;
use crate::ptx::op::words::{AddressSpace as Named, CacheOperator, Order, Scope};
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

    /// See [`MemoryInstruction::plain`](super::MemoryInstruction::plain).
    pub(super) fn plain<'a>(&self, elements: &'a [Slot], is_load: bool) -> Option<Plain<'a>> {
        let Request { space, bytes, read_only, past_l1, strong, .. } = self.request;
        let space = PlainSpace::of(space)?;
        if strong || self.order != Order::Weak {
            return None;
        }
        let sign_bits = self.registers.sign_bits();
        let (address, offset) = (self.address.slot(), self.address.offset());
        Some(Plain {
            is_load,
            reduction: None,
            space,
            bytes,
            elements,
            sign_bits,
            address,
            offset,
            read_only,
            past_l1,
        })
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

/// A load or a store; of `st.async` also the barrier that counts its bytes.
type Moved = (Transfer, Option<Transactions>);

/// Decodes `ld` and `ldu`.
pub(super) fn decode_load(
    instruction: &Instruction,
    access: &Access,
    columns: &mut dyn Columns,
    level: Level,
) -> Result<Decoded<Moved>, DecodeError> {
    match access.order {
        Some(Order::Release | Order::AcquireRelease | Order::SequentiallyConsistent) => {
            Err(DecodeError::unsupported(instruction))
        }
        _ => decode(instruction, access, Operation::Load, false, columns, level),
    }
}

/// Decodes `st`, and `st.async`, of which a barrier may count the bytes.
pub(super) fn decode_store(
    instruction: &Instruction,
    access: &Access,
    counted: bool,
    columns: &mut dyn Columns,
    level: Level,
) -> Result<Decoded<Moved>, DecodeError> {
    let acquires =
        matches!(access.order, Some(Order::Acquire | Order::AcquireRelease | Order::SequentiallyConsistent));
    if acquires || access.read_only || access.space == Some(Named::Constant) {
        return Err(DecodeError::unsupported(instruction));
    }
    decode(instruction, access, Operation::Store, counted, columns, level)
}

/// Returns true if L1 does not serve the access: by its cache operator, or since its order reaches beyond the block.
/// `.volatile` is like `.relaxed.sys`.
fn is_past_l1(access: &Access) -> bool {
    let by_cache = matches!(
        access.cache,
        Some(CacheOperator::Global | CacheOperator::Volatile | CacheOperator::WriteThrough)
    );
    let by_order = match access.order {
        None | Some(Order::Weak) => access.mmio,
        Some(Order::Volatile) => true,
        _ => access.scope != Some(Scope::Block),
    };
    by_cache || by_order
}

fn decode(
    instruction: &Instruction,
    access: &Access,
    operation: Operation,
    counted: bool,
    columns: &mut dyn Columns,
    level: Level,
) -> Result<Decoded<Moved>, DecodeError> {
    let least = 2 + usize::from(counted);
    opcode::count(instruction, least, least + usize::from(access.has_policy))?;
    let scalar = access.scalar;
    let elements = access.elements as usize;
    let unsupported = || DecodeError::unsupported(instruction);
    let element = scalar.size().ok_or_else(unsupported)?;
    let mover = Mover::new(element, elements, level).ok_or_else(unsupported)?;
    let space = opcode::space(instruction, access.space)?;
    let order = access.order.unwrap_or(Order::Weak);
    let is_load = operation == Operation::Load;
    let (data, address) = if is_load { (0, 1) } else { (1, 0) };
    let operands = opcode::elements(instruction, opcode::operand(instruction, data)?, elements)?;
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
    let address = opcode::address_operand(instruction, address, space, columns, level)?;
    let request = Request {
        // An asynchronous store that a barrier counts is to a cluster's shared memory, whether it says so or not.
        space: if counted { AddressSpace::Cluster } else { space },
        operation,
        bytes: element * access.elements,
        read_only: access.read_only,
        past_l1: is_past_l1(access),
        strong: order != Order::Weak || access.mmio,
    };
    let registers = Registers::new(&slots, sign_bits);
    let beyond_block = access.scope != Some(Scope::Block);
    let transfer = Transfer { request, address, registers, mover, order, beyond_block };
    if counted {
        let transactions = Transactions::new(instruction, 2, columns, level)?;
        let decoded = Decoded::new((transfer, Some(transactions))).sources(&slots);
        return Ok(decoded.address(address.slot()).address(transactions.slot()));
    }
    let decoded = Decoded::new((transfer, None)).address(address.slot());
    Ok(if is_load { decoded.results(&slots) } else { decoded.sources(&slots) })
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
