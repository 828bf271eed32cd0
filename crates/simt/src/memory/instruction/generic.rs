//! Executes address conversions between spaces: `cvta`, `isspacep`, `mapa`, `getctarank`.

use crate::decode::{Columns, DecodeError};
use crate::memory::access::Environment;
use crate::memory::allocation::Kind;
use crate::memory::cluster::Owner;
use crate::memory::decoded::Decoded;
use crate::memory::lanes;
use crate::memory::lookup::AccessFault;
use crate::memory::opcode;
use crate::memory::registers::{read_lane, write_lane};
use crate::memory::windows::{
    LOCAL_WINDOW, SHARED_WINDOW, in_cluster_windows, in_local_window, in_shared_window,
};
use crate::observe::Observer;
use crate::ptx::op::memory::Memory;
use crate::ptx::op::words::AddressSpace as Space;
use crate::ptx::{Instruction, ScalarType};
use crate::registers::{Cell, Slot, Width};

/// A decoded conversion or query of addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conversion {
    question: Question,
    result: Slot,
    source: Slot,
}

#[derive(Clone, Copy, Debug)]
enum Question {
    /// The address plus this number.
    Moved(u64),
    /// Whether an address is in the shared memory of the own block.
    InShared,
    /// Whether it is in that of a block of the cluster.
    InCluster,
    InLocal,
    InConstant,
    InParameters,
    InGlobal,
    /// `getctarank`: the rank of the block that owns an address. Shared memory begins at `origin`.
    Rank {
        origin: u64,
    },
    /// `mapa`: the same place in the shared memory of the block of a rank.
    Mapped {
        origin: u64,
        rank: Slot,
    },
}

impl Conversion {
    /// Returns the number that the conversion adds to 64-bit addresses, if that is all it does.
    pub(super) fn moved(&self) -> Option<u64> {
        match (self.question, self.source.width, self.result.width) {
            (Question::Moved(by), Width::Double, Width::Double) => Some(by),
            _ => None,
        }
    }

    /// # Safety
    /// See [`MemoryInstruction::execute`](super::MemoryInstruction::execute).
    pub(super) unsafe fn execute<O: Observer>(
        &self,
        frame: *mut Cell,
        mask: u32,
        environment: &Environment<'_, O>,
    ) -> Result<(), AccessFault> {
        if let Some(by) = self.moved() {
            // SAFETY: the slots are of this frame.
            unsafe { moved(by, self.source, self.result, frame, mask) };
            return Ok(());
        }
        let (memory, cluster) = (environment.memory, &*environment.cluster);
        let is_in = |address, kind| memory.find(address).is_some_and(|allocation| allocation.kind == kind);
        for lane in lanes::each(mask) {
            // SAFETY: the slots are of this frame.
            let address = unsafe { read_lane(self.source, frame, lane) };
            let owner = |address| {
                let is_shared = if cluster.has_others() {
                    in_cluster_windows(address)
                } else {
                    in_shared_window(address)
                };
                is_shared.then(|| cluster.owner(address - SHARED_WINDOW).0)
            };
            let windowed = owner(address).is_some() || in_local_window(address);
            let result = match self.question {
                Question::Moved(by) => address.wrapping_add(by),
                Question::InShared => u64::from(owner(address) == Some(Owner::Own)),
                Question::InCluster => u64::from(match owner(address) {
                    Some(Owner::Other(rank)) => rank < cluster.size(),
                    owner => owner.is_some(),
                }),
                Question::InLocal => u64::from(in_local_window(address)),
                Question::InConstant => u64::from(is_in(address, Kind::Constant)),
                Question::InParameters => u64::from(is_in(address, Kind::Parameters)),
                Question::InGlobal => u64::from(
                    !windowed && !is_in(address, Kind::Constant) && !is_in(address, Kind::Parameters),
                ),
                Question::Rank { origin } => {
                    u64::from(match owner(address.wrapping_add(SHARED_WINDOW - origin)) {
                        Some(Owner::Other(rank)) => rank,
                        _ => cluster.rank(),
                    })
                }
                Question::Mapped { origin, rank } => {
                    // SAFETY: as above.
                    let rank = unsafe { read_lane(rank, frame, lane) };
                    if rank >= u64::from(cluster.size()) {
                        let what = format!("mapa to block {rank} of {}", cluster.name());
                        return Err(AccessFault::illegal(lane, what));
                    }
                    origin.wrapping_add(cluster.address(rank as u32, address.wrapping_sub(origin)))
                }
            };
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

/// Decodes `cvta`, `isspacep`, `mapa` and `getctarank`.
pub(super) fn decode(
    instruction: &Instruction,
    op: &Memory,
    columns: &mut dyn Columns,
) -> Result<Decoded<Conversion>, DecodeError> {
    let has_rank = matches!(op, Memory::Mapa { .. });
    // Where shared memory begins, by the addresses that the instruction takes.
    let origin = |space: Option<Space>| if space.is_none() { SHARED_WINDOW } else { 0 };
    let (question, results, sources) = match *op {
        // A 32-bit address space has no room for the windows.
        Memory::Cvta { to_space, space, scalar: ScalarType::U64 } => {
            let window = match space {
                Space::Local => LOCAL_WINDOW,
                space if space.is_shared() => SHARED_WINDOW,
                _ => 0,
            };
            let by = if to_space { window.wrapping_neg() } else { window };
            (Question::Moved(by), ScalarType::U64, ScalarType::U64)
        }
        Memory::Isspacep(space) => {
            let question = match space {
                Space::Local => Question::InLocal,
                Space::Constant => Question::InConstant,
                Space::Global => Question::InGlobal,
                Space::SharedCluster => Question::InCluster,
                space if space.is_shared() => Question::InShared,
                _ => Question::InParameters,
            };
            (question, ScalarType::Pred, ScalarType::U64)
        }
        Memory::Mapa { space, scalar: scalar @ (ScalarType::U32 | ScalarType::U64) } => {
            let rank =
                opcode::source(instruction, opcode::operand(instruction, 2)?, ScalarType::U32, columns)?;
            (Question::Mapped { origin: origin(space), rank }, scalar, scalar)
        }
        Memory::Getctarank { space, scalar: scalar @ (ScalarType::U32 | ScalarType::U64) } => {
            (Question::Rank { origin: origin(space) }, ScalarType::U32, scalar)
        }
        _ => return Err(DecodeError::unsupported(instruction)),
    };
    let operands = if has_rank { 3 } else { 2 };
    opcode::count(instruction, operands, operands)?;
    let result = opcode::result(instruction, opcode::operand(instruction, 0)?, results, columns)?;
    let source = opcode::source(instruction, opcode::operand(instruction, 1)?, sources, columns)?;
    let rank = match question {
        Question::Mapped { rank, .. } => Some(rank),
        _ => None,
    };
    let decoded = Decoded::new(Conversion { question, result, source }).results(&[result]);
    Ok(decoded.sources(&[source]).sources(rank.as_slice()))
}
