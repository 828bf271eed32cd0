//! Executes bulk copies: a lane copies a range between global and shared memory, counted by a barrier or a group.
//!
//! Copies complete at once, as `cp.async` does: groups are always complete, and a barrier counts the bytes when the
//! copy is issued. The observer sees accesses of a full warp, 16 bytes per lane.

use std::mem::MaybeUninit;

use super::delivery::Delivery;
use crate::decode::{Columns, DecodeError, Level};
use crate::memory::access::{Environment, Request, Target};
use crate::memory::barrier::Transactions;
use crate::memory::columns::{Buffer, Mover};
use crate::memory::decoded::Decoded;
use crate::memory::lanes::{self, AddressOperand, Prepared};
use crate::memory::lookup::AccessFault;
use crate::memory::opcode;
use crate::memory::racing;
use crate::memory::registers::read_lane;
use crate::memory::update::{self, Update};
use crate::memory::windows::AddressSpace;
use crate::observe::{Observer, Operation};
use crate::ptx::op::copies::BulkCopy as Op;
use crate::ptx::op::words::{AddressSpace as Named, Update as Operator};
use crate::ptx::{Instruction, ScalarType};
use crate::registers::{Cell, Slot};

/// Bytes of a piece; addresses and sizes are multiples of it.
const PIECE: u64 = 16;

/// A decoded bulk copy.
#[derive(Clone, Debug)]
pub(super) struct BulkCopy {
    to: AddressOperand,
    /// Source; None for the zeros of `st.bulk`.
    from: Option<AddressOperand>,
    size: Slot,
    load: Request,
    store: Request,
    /// Bytes of each piece that are copied, one bit each.
    byte_mask: Option<Slot>,
    /// Operation on each element and the element's bytes; None replaces the destination.
    reduction: Option<(Update, usize)>,
    delivery: Delivery,
    /// Moves pieces that replace the destination.
    mover: Mover,
}

impl BulkCopy {
    /// # Safety
    /// See [`MemoryInstruction::execute`](super::MemoryInstruction::execute).
    pub(super) unsafe fn execute<O: Observer>(
        &self,
        frame: *mut Cell,
        mask: u32,
        environment: &mut Environment<'_, O>,
    ) -> Result<(), AccessFault> {
        let mut to = MaybeUninit::<Prepared>::uninit();
        let mut from = MaybeUninit::<Prepared>::uninit();
        // SAFETY: the caller's promise; `prepare` fills what it is given.
        let (to, from) = unsafe {
            self.to.prepare(frame, mask, 16, to.as_mut_ptr());
            let source = self.from.map(|operand| {
                operand.prepare(frame, mask, 16, from.as_mut_ptr());
                from.assume_init_ref()
            });
            (to.assume_init_ref(), source)
        };
        // SAFETY: the slots are of this frame.
        let value = |slot: Slot, lane: usize| unsafe { read_lane(slot, frame, lane) };
        for lane in lanes::each(mask) {
            let bytes = value(self.size, lane);
            if !bytes.is_multiple_of(PIECE) {
                return Err(AccessFault::illegal(
                    lane,
                    format!("a bulk copy of {bytes} bytes, no multiple of {PIECE}"),
                ));
            }
            let byte_mask = self.byte_mask.map(|slot| value(slot, lane) as u16);
            let source = from.map(|from| from.addresses[lane]);
            // SAFETY: the slots are of this frame.
            let places = unsafe { self.delivery.places(to.addresses[lane], lane, frame, environment)? };
            // SAFETY: the caller's promise.
            unsafe { self.range(&places, source, bytes, byte_mask, environment) }
                .map_err(|fault| AccessFault { lane: lane as u32, ..fault })?;
        }
        if O::REGISTERS {
            environment.undefined = 0;
        }
        // SAFETY: the caller's promise.
        unsafe { self.delivery.count(frame, mask, environment, |lane| value(self.size, lane)) }
    }

    /// Copies one lane's range to one place or several, in pieces of 512 bytes.
    unsafe fn range<O: Observer>(
        &self,
        to: &[u64],
        from: Option<u64>,
        bytes: u64,
        byte_mask: Option<u16>,
        environment: &mut Environment<'_, O>,
    ) -> Result<(), AccessFault> {
        let mut done = 0;
        while done < bytes {
            let count = ((bytes - done) / PIECE).min(32);
            let mask = u32::MAX >> (32 - count);
            let row = |start: u64| {
                let start = start.wrapping_add(done);
                let addresses = std::array::from_fn(|piece| start.wrapping_add(PIECE * piece as u64));
                Prepared::of(addresses, mask, PIECE as u32)
            };
            let mut buffer = Buffer::new();
            let data = buffer.start();
            // SAFETY: the buffer has room for 32 pieces; what `access` hands out may be accessed, and is aligned.
            unsafe {
                match from {
                    Some(from) => {
                        self.load.access(&row(from), mask, environment, |target, prepared, lanes| {
                            let Target::Host { base, .. } = target else { return };
                            (self.mover.read)(prepared, base, data, lanes);
                        })?;
                    }
                    None => data.write_bytes(0, 32 * PIECE as usize),
                }
                for &to in to {
                    self.store.access(&row(to), mask, environment, |target, prepared, lanes| {
                        let Target::Host { base, .. } = target else { return };
                        match (self.reduction, byte_mask) {
                            (None, None) => (self.mover.write)(prepared, base, data, lanes),
                            _ => lanes::each(lanes).for_each(|piece| {
                                let bytes = byte_mask.unwrap_or(u16::MAX);
                                self.piece(base + prepared.addresses[piece], data.add(16 * piece), bytes);
                            }),
                        }
                    })?;
                }
            }
            done += count * PIECE;
        }
        Ok(())
    }

    /// Copies the bytes of a piece that the mask has, or combines it with the destination.
    ///
    /// # Safety
    /// 16 bytes may be accessed at the address and read from `data`.
    unsafe fn piece(&self, address: u64, data: *const u8, byte_mask: u16) {
        // SAFETY: the caller's promise.
        unsafe {
            if let Some((update, size)) = self.reduction {
                for start in (0..16).step_by(size) {
                    let mut element = [0_u8; 8];
                    data.add(start).copy_to_nonoverlapping(element.as_mut_ptr(), size);
                    (update.one)(address + start as u64, u64::from_le_bytes(element), 0);
                }
                return;
            }
            for byte in (0..16).filter(|byte| byte_mask >> byte & 1 == 1) {
                racing::store::<1>(address + byte, data.add(byte as usize));
            }
        }
    }
}

fn mover(instruction: &Instruction, level: Level) -> Result<Mover, DecodeError> {
    Mover::new(PIECE as u32, 1, level).ok_or_else(|| DecodeError::unsupported(instruction))
}

/// Decodes `cp.async.bulk` and `cp.reduce.async.bulk`; `modifiers` are those besides `async`, `bulk` and `reduce`.
pub(super) fn decode(
    instruction: &Instruction,
    op: &Op,
    columns: &mut dyn Columns,
    level: Level,
) -> Result<Decoded<BulkCopy>, DecodeError> {
    let unsupported = || DecodeError::unsupported(instruction);
    let Op { counted, multicast, masked, has_policy: hint, .. } = *op;
    let reduces = op.reduction.is_some();
    let to_space = opcode::space(instruction, Some(op.to))?;
    let from_space = opcode::space(instruction, Some(op.from))?;
    if [to_space, from_space]
        .iter()
        .any(|space| !matches!(space, AddressSpace::Global | AddressSpace::Shared | AddressSpace::Cluster))
    {
        return Err(unsupported());
    }
    let into_shared = to_space != AddressSpace::Global;
    if counted != into_shared || into_shared && masked {
        return Err(unsupported());
    }
    if !into_shared && from_space == AddressSpace::Global {
        return Err(unsupported());
    }
    let least = 3 + usize::from(counted);
    let more = usize::from(multicast) + usize::from(hint) + usize::from(masked);
    opcode::count(instruction, least + more, least + more)?;
    let to = opcode::address_operand(instruction, 0, to_space, columns, level)?;
    let from = opcode::address_operand(instruction, 1, from_space, columns, level)?;
    let mut sources = Vec::new();
    let mut source = |index: usize, columns: &mut dyn Columns| {
        let operand = opcode::operand(instruction, index)?;
        let slot = opcode::source(instruction, operand, ScalarType::U32, columns)?;
        sources.push(slot);
        Ok::<_, DecodeError>(slot)
    };
    let size = source(2, columns)?;
    let transactions = if counted { Some(Transactions::new(instruction, 3, columns, level)?) } else { None };
    let blocks = if multicast { Some(source(least, columns)?) } else { None };
    let byte_mask = if masked { Some(source(least + usize::from(hint), columns)?) } else { None };
    let reduction = match op.reduction {
        None => None,
        Some((Operator::Exchange | Operator::CompareAndSwap, _)) => return Err(unsupported()),
        Some((operation, scalar)) => {
            let select = if into_shared { update::select::<false> } else { update::select::<true> };
            let update = select(operation, scalar).ok_or_else(unsupported)?;
            let size = scalar.size().filter(|size| *size <= 8).ok_or_else(unsupported)?;
            Some((update, size as usize))
        }
    };
    let request = |space, operation| Request {
        space,
        operation,
        bytes: PIECE as u32,
        read_only: false,
        past_l1: space == AddressSpace::Global,
        strong: operation == Operation::Reduction,
    };
    let writes = if reduces { Operation::Reduction } else { Operation::Store };
    let copy = BulkCopy {
        to,
        from: Some(from),
        size,
        load: request(from_space, Operation::Load),
        store: request(to_space, writes),
        byte_mask,
        reduction,
        delivery: Delivery { blocks, transactions },
        mover: mover(instruction, level)?,
    };
    let barrier = transactions.map(|barrier| barrier.slot());
    let decoded = Decoded::new(copy).sources(&sources);
    Ok(decoded.addresses(&[to.slot(), from.slot()]).addresses(barrier.as_slice()))
}

/// Decodes `st.bulk`, which writes zeros to shared memory.
pub(super) fn decode_zeros(
    instruction: &Instruction,
    space: Option<Named>,
    columns: &mut dyn Columns,
    level: Level,
) -> Result<Decoded<BulkCopy>, DecodeError> {
    let space = opcode::shared_space(instruction, space)?;
    opcode::count(instruction, 2, 3)?;
    if let Some(value) = instruction.operands.get(2)
        && !matches!(value, ptx::Operand::Immediate(ptx::Immediate::Integer { bits: 0, .. }))
    {
        return Err(DecodeError::operands(instruction, "the value must be 0"));
    }
    let to = opcode::address_operand(instruction, 0, space, columns, level)?;
    let size = opcode::source(instruction, opcode::operand(instruction, 1)?, ScalarType::U64, columns)?;
    let request = |operation| Request {
        space,
        operation,
        bytes: PIECE as u32,
        read_only: false,
        past_l1: false,
        strong: false,
    };
    let copy = BulkCopy {
        to,
        from: None,
        size,
        load: request(Operation::Load),
        store: request(Operation::Store),
        byte_mask: None,
        reduction: None,
        delivery: Delivery::default(),
        mover: mover(instruction, level)?,
    };
    Ok(Decoded::new(copy).sources(&[size]).address(to.slot()))
}
