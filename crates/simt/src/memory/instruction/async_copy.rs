//! Executes `cp.async`: copies a few bytes per lane from global to shared memory, without a register.
//!
//! The copy completes at once, which is one of the orders that a GPU may choose. So its groups are always complete, and
//! waiting for them returns at once.

use std::mem::MaybeUninit;

use crate::decode::{Columns, DecodeError, Level};
use crate::memory::access::{Environment, Request, Target};
use crate::memory::columns::{Buffer, Mover};
use crate::memory::decoded::Decoded;
use crate::memory::lanes::{self, AddressOperand, Prepared};
use crate::memory::lookup::AccessFault;
use crate::memory::opcode;
use crate::memory::registers::read_lane;
use crate::memory::windows::AddressSpace;
use crate::observe::{Observer, Operation};
use crate::ptx::op::copies::AsyncCopy as Op;
use crate::ptx::{Immediate, Instruction, Operand, ScalarType};
use crate::registers::{Cell, Slot, Width};

/// A decoded copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct AsyncCopy {
    load: Request,
    store: Request,
    to: AddressOperand,
    from: AddressOperand,
    /// Bytes of the source to copy; the others become 0 and are not read.
    source_bytes: Option<Slot>,
    /// Lanes that only write zeros.
    ignored: Option<Slot>,
    mover: Mover,
}

impl AsyncCopy {
    /// # Safety
    /// See [`MemoryInstruction::execute`](super::MemoryInstruction::execute).
    pub(super) unsafe fn execute<O: Observer>(
        &self,
        frame: *mut Cell,
        mask: u32,
        environment: &mut Environment<'_, O>,
    ) -> Result<(), AccessFault> {
        // Bytes of each lane that are copied; None where all are.
        let lengths = if self.source_bytes.is_some() || self.ignored.is_some() {
            // SAFETY: the caller's promise.
            Some(unsafe { self.lengths(frame, mask)? })
        } else {
            None
        };
        let reading = match &lengths {
            Some(lengths) => {
                lanes::each(mask).filter(|lane| lengths[*lane] > 0).fold(0, |lanes, lane| lanes | 1 << lane)
            }
            None => mask,
        };
        let mut buffer = Buffer::new();
        let data = buffer.start();
        let mut from = MaybeUninit::<Prepared>::uninit();
        let mut to = MaybeUninit::<Prepared>::uninit();
        // SAFETY: `prepare` fills them; what `access` hands out may be accessed, and is aligned; the buffer has room for 32 lanes
        // of 16 bytes.
        unsafe {
            self.to.prepare(frame, mask, self.store.bytes, to.as_mut_ptr());
            let to = to.assume_init_ref();
            if reading != 0 {
                self.from.prepare(frame, reading, self.load.bytes, from.as_mut_ptr());
                let from = from.assume_init_ref();
                self.load.access(from, reading, environment, |target, prepared, lanes| {
                    let Target::Host { base, .. } = target else { return };
                    (self.mover.read)(prepared, base, data, lanes);
                })?;
            }
            if let Some(lengths) = &lengths {
                for lane in lanes::each(mask) {
                    let (bytes, kept) = (self.load.bytes as usize, lengths[lane] as usize);
                    data.add(lane * bytes + kept).write_bytes(0, bytes - kept);
                }
            }
            let undefined = environment.undefined;
            self.store.access(to, mask, environment, |target, prepared, lanes| {
                let Target::Host { base, .. } = target else { return };
                (self.mover.write)(prepared, base, data, lanes);
            })?;
            environment.undefined = undefined;
        }
        Ok(())
    }

    /// Returns the bytes of each lane that are copied.
    ///
    /// # Safety
    /// The slots are of this frame.
    unsafe fn lengths(&self, frame: *mut Cell, mask: u32) -> Result<[u64; 32], AccessFault> {
        let bytes = u64::from(self.load.bytes);
        let mut lengths = [bytes; 32];
        for lane in lanes::each(mask) {
            // SAFETY: the caller's promise.
            let value = |slot| unsafe { read_lane(slot, frame, lane) };
            lengths[lane] = match (self.ignored, self.source_bytes) {
                (Some(ignored), _) if value(ignored) == 1 => 0,
                (_, Some(source_bytes)) => value(source_bytes),
                _ => bytes,
            };
            if lengths[lane] > bytes {
                let what = format!("cp.async of {bytes} bytes with a source of {}", lengths[lane]);
                return Err(AccessFault::illegal(lane, what));
            }
        }
        Ok(lengths)
    }
}

/// Decodes `cp.async` except bulk copies; `modifiers` are those after `async`.
pub(super) fn decode(
    instruction: &Instruction,
    op: &Op,
    columns: &mut dyn Columns,
    level: Level,
) -> Result<Decoded<AsyncCopy>, DecodeError> {
    let (hint, all_levels) = (op.has_policy, !op.past_l1);
    let there = instruction.operands.len() - usize::from(hint && !instruction.operands.is_empty());
    opcode::count(instruction, 3, 4 + usize::from(hint))?;
    let bytes = match (opcode::operand(instruction, 2)?, all_levels) {
        (Operand::Immediate(Immediate::Integer { bits: bits @ (4 | 8), .. }), true) => *bits as u32,
        (Operand::Immediate(Immediate::Integer { bits: 16, .. }), _) => 16,
        _ => {
            let sizes = if all_levels { "4, 8 or 16" } else { "16" };
            return Err(DecodeError::operands(instruction, format!("the size must be {sizes}")));
        }
    };
    let to = opcode::address_operand(instruction, 0, AddressSpace::Shared, columns, level)?;
    let from = opcode::address_operand(instruction, 1, AddressSpace::Global, columns, level)?;
    let (mut source_bytes, mut ignored) = (None, None);
    let mut sources = Vec::new();
    if there > 3 {
        let operand = opcode::operand(instruction, 3)?;
        let slot = columns
            .source(operand, ScalarType::U32)
            .or_else(|_| columns.source(operand, ScalarType::Pred))?;
        sources.push(slot);
        // A predicate gives the lanes to ignore, a number the bytes to copy.
        if slot.width == Width::Predicate {
            ignored = Some(slot);
        } else {
            source_bytes = Some(slot);
        }
    }
    let request = |space, operation| Request {
        space,
        operation,
        bytes,
        read_only: false,
        past_l1: space == AddressSpace::Global && !all_levels,
        strong: false,
    };
    let copy = AsyncCopy {
        load: request(AddressSpace::Global, Operation::Load),
        store: request(AddressSpace::Shared, Operation::Store),
        to,
        from,
        source_bytes,
        ignored,
        mover: Mover::new(bytes, 1, level).ok_or_else(|| DecodeError::unsupported(instruction))?,
    };
    let decoded = Decoded::new(copy).sources(&sources);
    Ok(decoded.address(to.slot()).address(from.slot()))
}
