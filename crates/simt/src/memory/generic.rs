//! Executes address conversions between spaces: `cvta`, `isspacep`, `mapa`, `getctarank`.

use super::access::Environment;
use super::allocation::Kind;
use super::barrier::illegal;
use super::instruction::{Decoded, Operation as Decode};
use super::lanes;
use super::lookup::AccessFault;
use super::opcode;
use super::registers::{read_lane, write_lane};
use super::windows::{LOCAL_WINDOW, SHARED_WINDOW, in_local_window, in_shared_window};
use crate::decode::{Columns, DecodeError, Level};
use crate::observe::Observer;
use crate::ptx::op::Op;
use crate::ptx::op::words::AddressSpace as Space;
use crate::ptx::{Instruction, ScalarType};
use crate::registers::{Cell, Slot, Width};

/// A decoded conversion or query of addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conversion {
    question: Question,
    result: Slot,
    source: Slot,
    /// `mapa`: rank of the block in its cluster.
    rank: Option<Slot>,
}

#[derive(Clone, Copy, Debug)]
enum Question {
    /// The address plus this number.
    Moved(u64),
    InShared,
    InLocal,
    InConstant,
    InParameters,
    InGlobal,
    /// Rank of the block that owns an address: 0, since clusters have one block.
    Rank,
}

impl Conversion {
    /// # Safety
    /// See [`MemoryInstruction::execute`](super::MemoryInstruction::execute).
    pub(super) unsafe fn execute<O: Observer>(
        &self,
        frame: *mut Cell,
        mask: u32,
        environment: &Environment<'_, O>,
    ) -> Result<(), AccessFault> {
        if let (Question::Moved(by), None, Width::Double, Width::Double) =
            (self.question, self.rank, self.source.width, self.result.width)
        {
            // SAFETY: the slots are of this frame.
            unsafe { moved(by, self.source, self.result, frame, mask) };
            return Ok(());
        }
        let memory = environment.memory;
        let is_in = |address, kind| memory.find(address).is_some_and(|allocation| allocation.kind == kind);
        for lane in lanes::each(mask) {
            // SAFETY: the slots are of this frame.
            let address = unsafe { read_lane(self.source, frame, lane) };
            let windowed = in_shared_window(address) || in_local_window(address);
            let result = match self.question {
                Question::Moved(by) => address.wrapping_add(by),
                Question::InShared => u64::from(in_shared_window(address)),
                Question::InLocal => u64::from(in_local_window(address)),
                Question::InConstant => u64::from(is_in(address, Kind::Constant)),
                Question::InParameters => u64::from(is_in(address, Kind::Parameters)),
                Question::InGlobal => u64::from(
                    !windowed && !is_in(address, Kind::Constant) && !is_in(address, Kind::Parameters),
                ),
                Question::Rank => 0,
            };
            // SAFETY: as above.
            if let Some(rank) = self.rank.map(|slot| unsafe { read_lane(slot, frame, lane) })
                && rank != 0
            {
                return Err(illegal(lane, format!("mapa to block {rank} of a cluster of one block")));
            }
            // SAFETY: as above.
            unsafe { write_lane(self.result, frame, lane, result) };
        }
        Ok(())
    }
}

/// Adds a number in all lanes. A fast path, since conversions are frequent.
///
/// # Safety
/// The slots are of this frame, both 64 bits wide.
unsafe fn moved(by: u64, source: Slot, result: Slot, frame: *mut Cell, mask: u32) {
    // SAFETY: the caller's promise. Where both are one column, each lane is read before it is written.
    unsafe {
        let (source, result) = (source.doubles(frame).cast::<u64>(), result.doubles(frame).cast::<u64>());
        if mask == u32::MAX {
            let (source, result) = (source.cast::<[u64; 4]>(), result.cast::<[u64; 4]>());
            for four in 0..8 {
                let addresses = source.add(four).read().map(|address| address.wrapping_add(by));
                result.add(four).write(addresses);
            }
        } else {
            for lane in lanes::each(mask) {
                result.add(lane).write(source.add(lane).read().wrapping_add(by));
            }
        }
    }
}

/// Decodes `cvta`, `isspacep`, `mapa` and `getctarank`. None for other instructions.
pub(super) fn decode(
    instruction: &Instruction,
    op: &Op,
    columns: &mut dyn Columns,
    _: Level,
) -> Result<Option<Decoded>, DecodeError> {
    let has_rank = matches!(op, Op::Mapa { .. });
    let (question, results, sources) = match *op {
        // A 32-bit address space has no room for the windows.
        Op::Cvta { to_space, space, scalar: ScalarType::U64 } => {
            let window = match space {
                Space::Local => LOCAL_WINDOW,
                space if space.is_shared() => SHARED_WINDOW,
                _ => 0,
            };
            let by = if to_space { window.wrapping_neg() } else { window };
            (Question::Moved(by), ScalarType::U64, ScalarType::U64)
        }
        Op::Isspacep(space) => {
            let question = match space {
                Space::Local => Question::InLocal,
                Space::Constant => Question::InConstant,
                Space::Global => Question::InGlobal,
                space if space.is_shared() => Question::InShared,
                _ => Question::InParameters,
            };
            (question, ScalarType::Pred, ScalarType::U64)
        }
        Op::Mapa { scalar: scalar @ (ScalarType::U32 | ScalarType::U64), .. } => {
            (Question::Moved(0), scalar, scalar)
        }
        Op::Getctarank { scalar: scalar @ (ScalarType::U32 | ScalarType::U64), .. } => {
            (Question::Rank, ScalarType::U32, scalar)
        }
        Op::Cvta { .. } | Op::Mapa { .. } | Op::Getctarank { .. } => {
            return Err(DecodeError::unsupported(instruction));
        }
        _ => return Ok(None),
    };
    let operands = if has_rank { 3 } else { 2 };
    opcode::count(instruction, operands, operands)?;
    let result = opcode::result(instruction, opcode::operand(instruction, 0)?, results, columns)?;
    let source = opcode::source(instruction, opcode::operand(instruction, 1)?, sources, columns)?;
    let rank = if has_rank {
        Some(opcode::source(instruction, opcode::operand(instruction, 2)?, ScalarType::U32, columns)?)
    } else {
        None
    };
    let conversion = Conversion { question, result, source, rank };
    let decoded = Decoded::new(Decode::Conversion(Box::new(conversion))).results(&[result]);
    Ok(Some(decoded.sources(&[source]).sources(rank.as_slice())))
}
