//! Executes `cp.async`: copies a few bytes per lane from global to shared memory, without a register.
//!
//! The copy completes at once, which is one of the orders that a GPU may choose. So its groups are always complete, and
//! waiting for them returns at once.

use std::mem::MaybeUninit;

use crate::decode::{Columns, DecodeError, Level};
use crate::memory::access::{Environment, Request, Target};
use crate::memory::columns::Buffer;
use crate::memory::decoded::Decoded;
use crate::memory::lanes::{self, AddressOperand, Prepared};
use crate::memory::lookup::AccessFault;
use crate::memory::opcode;
use crate::memory::racing;
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
        let bytes = self.load.bytes as usize;
        let mut buffer = Buffer::new();
        let data = buffer.start();
        let mut lengths = [bytes as u64; 32];
        // SAFETY: the slots are of this frame; the buffer has room for 32 lanes of 16 bytes.
        unsafe {
            data.write_bytes(0, 32 * bytes);
            for lane in lanes::each(mask) {
                if let Some(slot) = self.source_bytes {
                    lengths[lane] = read_lane(slot, frame, lane);
                }
                if self.ignored.is_some_and(|slot| read_lane(slot, frame, lane) == 1) {
                    lengths[lane] = 0;
                }
                if lengths[lane] > bytes as u64 {
                    let what = format!("cp.async of {bytes} bytes with a source of {}", lengths[lane]);
                    return Err(AccessFault::illegal(lane, what));
                }
            }
        }
        let reading =
            lanes::each(mask).filter(|lane| lengths[*lane] > 0).fold(0, |lanes, lane| lanes | 1 << lane);
        let mut from = MaybeUninit::<Prepared>::uninit();
        let mut to = MaybeUninit::<Prepared>::uninit();
        // SAFETY: `prepare` fills them; what `access` hands out may be accessed, and is aligned.
        unsafe {
            self.to.prepare(frame, mask, self.store.bytes, to.as_mut_ptr());
            let to = to.assume_init_ref();
            if reading != 0 {
                self.from.prepare(frame, reading, self.load.bytes, from.as_mut_ptr());
                let from = from.assume_init_ref();
                self.load.access(from, reading, environment, |target, prepared, lanes| {
                    let Target::Host { base, .. } = target else { return };
                    for lane in lanes::each(lanes) {
                        let at = base + prepared.addresses[lane];
                        let into = data.add(bytes * lane);
                        match bytes {
                            4 => racing::load::<4>(at, into),
                            8 => racing::load::<8>(at, into),
                            _ => racing::load::<16>(at, into),
                        }
                        let kept = lengths[lane] as usize;
                        into.add(kept).write_bytes(0, bytes - kept);
                    }
                })?;
            }
            let undefined = environment.undefined;
            self.store.access(to, mask, environment, |target, prepared, lanes| {
                let Target::Host { base, .. } = target else { return };
                for lane in lanes::each(lanes) {
                    let at = base + prepared.addresses[lane];
                    let from = data.add(bytes * lane);
                    match bytes {
                        4 => racing::store::<4>(at, from),
                        8 => racing::store::<8>(at, from),
                        _ => racing::store::<16>(at, from),
                    }
                }
            })?;
            environment.undefined = undefined;
        }
        Ok(())
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
    };
    let decoded = Decoded::new(copy).sources(&sources);
    Ok(decoded.address(to.slot()).address(from.slot()))
}
