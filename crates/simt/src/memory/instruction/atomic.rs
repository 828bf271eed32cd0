//! Executes `atom` and `red`.

use std::mem::MaybeUninit;
use std::sync::atomic::{Ordering, fence};

use super::hints;
use crate::decode::{Columns, DecodeError, Level};
use crate::memory::access::{Environment, Request, Target};
use crate::memory::barrier::Transactions;
use crate::memory::columns::Buffer;
use crate::memory::decoded::Decoded;
use crate::memory::lanes::{self, AddressOperand, Prepared};
use crate::memory::lookup::AccessFault;
use crate::memory::opcode;
use crate::memory::plain::{Plain, PlainSpace, Reduction};
use crate::memory::registers::{read_lane, read_lane_128, write_lane, write_lane_128};
use crate::memory::update::{self, Lanes, Registers, Update};
use crate::memory::windows::AddressSpace;
use crate::observe::{Observer, Operation, Space};
use crate::ptx::op::memory::Atomic as Op;
use crate::ptx::op::words::{Order, Scope, Update as Operator};
use crate::ptx::{Instruction, ScalarType};
use crate::registers::{Cell, Slot};

/// A decoded atomic operation or reduction.
#[derive(Clone, Debug)]
pub(super) struct Atomic {
    request: Request,
    address: AddressOperand,
    /// Registers of the old values: one per element, or none.
    results: Vec<Slot>,
    /// Registers of the operands, one per element.
    sources: Vec<Slot>,
    /// Third operand of `cas`, the new value; the source is the value to compare with.
    new: Option<Slot>,
    element: u32,
    update: Kind,
    /// The operation, if it is one on integers that gives nothing back.
    reduction: Option<Reduction>,
    order: Order,
    beyond_block: bool,
    /// `red.async`: the barrier that counts the bytes.
    transactions: Option<Transactions>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Words {
        global: Update,
        /// The same operation in shared and local memory.
        own: Update,
    },
    /// `exch` and `cas` of 16 bytes.
    Quad,
}

impl Atomic {
    /// See [`MemoryInstruction::plain`](super::MemoryInstruction::plain).
    pub(super) fn plain<'a>(&self, elements: &'a [Slot]) -> Option<Plain<'a>> {
        let Request { space, bytes, read_only, past_l1, .. } = self.request;
        if self.order != Order::Relaxed || self.transactions.is_some() {
            return None;
        }
        Some(Plain {
            is_load: false,
            reduction: Some(self.reduction?),
            space: PlainSpace::of(space)?,
            bytes,
            elements,
            sign_bits: 0,
            address: self.address.slot(),
            offset: self.address.offset(),
            read_only,
            past_l1,
        })
    }

    /// Executes lane after lane, ascending; of a vector, element after element.
    ///
    /// # Safety
    /// See [`MemoryInstruction::execute`](super::MemoryInstruction::execute).
    pub(super) unsafe fn execute<O: Observer>(
        &self,
        frame: *mut Cell,
        mask: u32,
        environment: &mut Environment<'_, O>,
    ) -> Result<(), AccessFault> {
        if matches!(self.order, Order::Release | Order::AcquireRelease) {
            fence(Ordering::Release);
            hints::tell(mask, self.beyond_block, environment);
        }
        let mut prepared = MaybeUninit::<Prepared>::uninit();
        // SAFETY: `prepare` fills it; what `access` hands out may be accessed, and is aligned.
        unsafe {
            self.address.prepare(frame, mask, self.request.bytes, prepared.as_mut_ptr());
            let prepared = prepared.assume_init_ref();
            self.request.access(prepared, mask, environment, |target, prepared, lanes| match target {
                Target::Host { base, space } => {
                    let lanes = Lanes { mask: lanes, base, addresses: &prepared.addresses };
                    self.lanes(frame, lanes, space);
                }
                Target::Local(local) => {
                    // Local memory is private to the lane: load, update and store.
                    let bytes = self.request.bytes;
                    let mut buffer = Buffer::new();
                    local.load(prepared, lanes, bytes, &mut buffer);
                    let start = buffer.start().expose_provenance() as u64;
                    let addresses = std::array::from_fn(|lane| lane as u64 * u64::from(bytes));
                    let of = Lanes { mask: lanes, base: start, addresses: &addresses };
                    self.lanes(frame, of, Space::Local);
                    local.store(prepared, lanes, bytes, &mut buffer);
                }
            })?;
            if let Some(transactions) = &self.transactions {
                transactions.complete(frame, mask, environment, |_| u64::from(self.request.bytes))?;
            }
        }
        if matches!(self.order, Order::Acquire | Order::AcquireRelease) {
            fence(Ordering::Acquire);
            hints::tell(mask, self.beyond_block, environment);
        }
        Ok(())
    }

    /// Updates the elements of all lanes of a mask.
    ///
    /// # Safety
    /// As for [`Atomic::lane`], for all lanes of the mask.
    #[inline(always)]
    unsafe fn lanes(&self, frame: *mut Cell, lanes: Lanes<'_>, space: Space) {
        // SAFETY: the caller's promise; the slots are of this frame.
        unsafe {
            let (Kind::Words { global, own }, [source]) = (self.update, self.sources.as_slice()) else {
                lanes::each(lanes.mask)
                    .for_each(|lane| self.lane(frame, lane, lanes.base + lanes.addresses[lane], space));
                return;
            };
            // The common case: one element.
            let update = if space == Space::Global { global } else { own };
            let registers =
                Registers { source: *source, new: self.new, result: self.results.first().copied() };
            (update.lanes)(frame, registers, lanes);
        }
    }

    /// Updates the elements of one lane.
    ///
    /// # Safety
    /// The lane's bytes at the address may be read and written, and are aligned.
    unsafe fn lane(&self, frame: *mut Cell, lane: usize, address: u64, space: Space) {
        // SAFETY: the caller's promise; the slots are of this frame.
        unsafe {
            match self.update {
                Kind::Words { global, own } => {
                    let update = if space == Space::Global { global } else { own };
                    let new = self.new.map_or(0, |slot| read_lane(slot, frame, lane));
                    // Read all operands first: a result may be the register of a later element.
                    let mut operands = [0; 8];
                    for (operand, slot) in operands.iter_mut().zip(&self.sources) {
                        *operand = read_lane(*slot, frame, lane);
                    }
                    for (index, operand) in operands[..self.sources.len()].iter().enumerate() {
                        let old =
                            (update.one)(address + index as u64 * u64::from(self.element), *operand, new);
                        if let Some(slot) = self.results.get(index) {
                            write_lane(*slot, frame, lane, old);
                        }
                    }
                }
                Kind::Quad => {
                    let first = read_lane_128(self.sources[0], frame, lane);
                    let old = match self.new {
                        Some(new) => {
                            update::exchange_128(address, Some(first), read_lane_128(new, frame, lane))
                        }
                        None => update::exchange_128(address, None, first),
                    };
                    if let Some(slot) = self.results.first() {
                        write_lane_128(*slot, frame, lane, old);
                    }
                }
            }
        }
    }
}

/// Decodes `atom` and `red`.
pub(super) fn decode(
    instruction: &Instruction,
    op: &Op,
    columns: &mut dyn Columns,
    level: Level,
) -> Result<Decoded<Atomic>, DecodeError> {
    let unsupported = || DecodeError::unsupported(instruction);
    let Op { gives_back, update: operation, scalar, scope, .. } = *op;
    let (hint, transactions) = (op.has_policy, op.counted);
    let count = op.elements as usize;
    let order = op.order.unwrap_or(Order::Relaxed);
    let space = opcode::space(instruction, op.space)?;
    if matches!(space, AddressSpace::Local | AddressSpace::Constant)
        || matches!(order, Order::Volatile | Order::SequentiallyConsistent)
    {
        return Err(unsupported());
    }
    let element = scalar.size().ok_or_else(unsupported)?;
    let update = if element == 16 && matches!(operation, Operator::Exchange | Operator::CompareAndSwap) {
        Kind::Quad
    } else {
        Kind::Words {
            global: update::select::<true>(operation, scalar).ok_or_else(unsupported)?,
            own: update::select::<false>(operation, scalar).ok_or_else(unsupported)?,
        }
    };
    let bytes = element * count as u32;
    let vectors = matches!(operation, Operator::Add | Operator::Min | Operator::Max)
        && matches!(
            scalar,
            ScalarType::F32 | ScalarType::F16 | ScalarType::F16x2 | ScalarType::Bf16 | ScalarType::Bf16x2
        );
    if count > 1 && (!vectors || bytes > 16) {
        return Err(unsupported());
    }
    let first = usize::from(gives_back);
    let least = first + 2 + usize::from(operation == Operator::CompareAndSwap) + usize::from(transactions);
    opcode::count(instruction, least, least + usize::from(hint))?;
    let mut results = Vec::new();
    if gives_back {
        for operand in opcode::elements(instruction, opcode::operand(instruction, 0)?, count)? {
            results.push(opcode::result(instruction, &operand, scalar, columns)?);
        }
    }
    let mut sources = Vec::new();
    for operand in opcode::elements(instruction, opcode::operand(instruction, first + 1)?, count)? {
        sources.push(opcode::source(instruction, &operand, scalar, columns)?);
    }
    let new = if operation == Operator::CompareAndSwap {
        let operand = opcode::operand(instruction, first + 2)?;
        Some(opcode::source(instruction, operand, scalar, columns)?)
    } else {
        None
    };
    let address = opcode::address_operand(instruction, first, space, columns, level)?;
    let transactions =
        transactions.then(|| Transactions::new(instruction, first + 2, columns, level)).transpose()?;
    let request = Request {
        space,
        operation: if gives_back { Operation::Atomic } else { Operation::Reduction },
        bytes,
        read_only: false,
        past_l1: true,
        strong: true,
    };
    let all: Vec<Slot> = sources.iter().copied().chain(new).collect();
    let barrier = transactions.as_ref().map(Transactions::slot);
    let kept = results.clone();
    let beyond_block = scope != Some(Scope::Block);
    let combines = matches!(
        operation,
        Operator::Add | Operator::And | Operator::Or | Operator::Xor | Operator::Min | Operator::Max
    );
    let is_signed = matches!(scalar, ScalarType::S32 | ScalarType::S64);
    let is_integer =
        is_signed || matches!(scalar, ScalarType::U32 | ScalarType::U64 | ScalarType::B32 | ScalarType::B64);
    let reduction = (!gives_back && count == 1 && combines && is_integer)
        .then_some(Reduction { update: operation, is_signed });
    let atomic = Atomic {
        request,
        address,
        results,
        sources,
        new,
        element,
        update,
        reduction,
        order,
        beyond_block,
        transactions,
    };
    let decoded = Decoded::new(atomic).results(&kept).sources(&all);
    Ok(decoded.address(address.slot()).addresses(barrier.as_slice()))
}
