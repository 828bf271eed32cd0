//! Decodes and executes memory instructions.

use super::access::Environment;
use super::async_copy::{self, AsyncCopy};
use super::atomic::{self, Atomic};
use super::barrier::{self, Barrier, Transactions};
use super::barrier_decode;
use super::bulk_copy::{self, BulkCopy};
use super::generic::{self, Conversion};
use super::hints;
use super::lanes;
use super::load_store::{self, Transfer};
use super::lookup::AccessFault;
use super::matrices::{self, Matrices};
use super::registers::write_lane;
use crate::decode::{Columns, DecodeError, Level};
use crate::observe::Observer;
use crate::ptx::Instruction;
use crate::ptx::op::Op;
use crate::registers::{Cell, Slot};

/// A decoded memory instruction. It can be executed any number of times, for any frame of its function.
#[derive(Clone, Debug)]
pub struct MemoryInstruction {
    operation: Operation,
    registers: Box<Lists>,
}

/// The registers of an instruction, by use.
#[derive(Clone, Debug, Default)]
struct Lists {
    results: Vec<Slot>,
    sources: Vec<Slot>,
    addresses: Vec<Slot>,
}

/// Outcome of executing an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The instruction is done.
    Done,
    /// The instruction is done and told some lane that what it polls for has not happened. Other warps should run
    /// before it polls again.
    Wait,
}

#[derive(Clone, Debug)]
pub(super) enum Operation {
    Load(Transfer),
    Store(Transfer),
    /// `st.async`, with the barrier that counts its bytes.
    StoreAndCount(Box<(Transfer, Transactions)>),
    Atomic(Box<Atomic>),
    Barrier(Box<Barrier>),
    PendingCount {
        count: Slot,
        state: Slot,
    },
    AsyncCopy(Box<AsyncCopy>),
    BulkCopy(Box<BulkCopy>),
    Matrices(Box<Matrices>),
    Conversion(Box<Conversion>),
    Policy(Slot),
    Fence {
        beyond_block: bool,
    },
    /// Cache hints, and waits for what is always complete.
    Nothing,
}

/// An instruction during decoding: its operation and its registers.
pub(super) struct Decoded(MemoryInstruction);

impl Decoded {
    pub(super) fn new(operation: Operation) -> Self {
        Self(MemoryInstruction { operation, registers: Box::default() })
    }

    pub(super) fn results(mut self, slots: &[Slot]) -> Self {
        self.0.registers.results.extend_from_slice(slots);
        self
    }

    pub(super) fn sources(mut self, slots: &[Slot]) -> Self {
        self.0.registers.sources.extend_from_slice(slots);
        self
    }

    pub(super) fn address(mut self, slot: Slot) -> Self {
        self.0.registers.addresses.push(slot);
        self
    }

    pub(super) fn addresses(mut self, slots: &[Slot]) -> Self {
        self.0.registers.addresses.extend_from_slice(slots);
        self
    }
}

/// Decodes an instruction that accesses memory. None if it does not; `ld.param` and `st.param` do not either. `op` is
/// that of the instruction's opcode, or one with another space.
///
/// # Errors
/// See [`DecodeError`].
pub fn decode(
    instruction: &Instruction,
    op: &Op,
    columns: &mut dyn Columns,
    level: Level,
) -> Result<Option<MemoryInstruction>, DecodeError> {
    for decode in DECODERS {
        if let Some(decoded) = decode(instruction, op, columns, level)? {
            return Ok(Some(decoded.0));
        }
    }
    match op {
        // Memory of several devices, tensors, textures, and the memory of tensor cores.
        Op::BulkTensor | Op::Other => Err(DecodeError::unsupported(instruction)),
        _ => Ok(None),
    }
}

type Decoder = fn(&Instruction, &Op, &mut dyn Columns, Level) -> Result<Option<Decoded>, DecodeError>;

/// The decoders, the most frequent first. Each gives None for instructions that are not its own.
const DECODERS: [Decoder; 8] = [
    load_store::decode,
    generic::decode,
    atomic::decode,
    barrier_decode::decode,
    async_copy::decode,
    bulk_copy::decode,
    matrices::decode,
    hints::decode,
];

impl MemoryInstruction {
    /// Executes the instruction for the lanes of `mask`. Other lanes' registers are unchanged.
    ///
    /// # Errors
    /// The fault of the lowest faulting lane. No access has been performed then, except for instructions of several
    /// accesses (bulk copies) and atomics on several spaces at once, which may have been performed in part.
    ///
    /// # Safety
    /// `frame` is a frame of the function for which the instruction was decoded, all of its columns are initialised,
    /// and no other code uses it meanwhile. The allocations of `environment.memory` are as its documentation says;
    /// `Level::Avx2` was given only where the computer supports it.
    #[inline]
    pub unsafe fn execute<O: Observer>(
        &self,
        frame: *mut Cell,
        mask: u32,
        environment: &mut Environment<'_, O>,
    ) -> Result<Progress, AccessFault> {
        if mask == 0 {
            return Ok(Progress::Done);
        }
        // SAFETY: the caller's promise.
        unsafe {
            match &self.operation {
                Operation::Load(load) => load.load(frame, mask, environment)?,
                Operation::Store(store) => store.store(frame, mask, environment)?,
                _ => return self.execute_other(frame, mask, environment),
            }
        }
        Ok(Progress::Done)
    }

    /// # Safety
    /// As for [`MemoryInstruction::execute`].
    #[inline(never)]
    unsafe fn execute_other<O: Observer>(
        &self,
        frame: *mut Cell,
        mask: u32,
        environment: &mut Environment<'_, O>,
    ) -> Result<Progress, AccessFault> {
        if O::REGISTERS {
            environment.undefined = 0;
        }
        // SAFETY: the caller's promise.
        unsafe {
            match &self.operation {
                Operation::Load(load) => load.load(frame, mask, environment)?,
                Operation::Store(store) => store.store(frame, mask, environment)?,
                Operation::StoreAndCount(both) => {
                    let (store, transactions) = &**both;
                    store.store(frame, mask, environment)?;
                    transactions.complete(frame, mask, environment, |_| store.bytes())?;
                }
                Operation::Atomic(atomic) => atomic.execute(frame, mask, environment)?,
                Operation::Barrier(barrier) => return barrier.execute(frame, mask, environment),
                Operation::PendingCount { count, state } => {
                    barrier::pending_count(*count, *state, frame, mask)?;
                }
                Operation::AsyncCopy(copy) => copy.execute(frame, mask, environment)?,
                Operation::BulkCopy(copy) => copy.execute(frame, mask, environment)?,
                Operation::Matrices(load) => load.execute(frame, mask, environment)?,
                Operation::Conversion(conversion) => conversion.execute(frame, mask, environment)?,
                Operation::Policy(result) => {
                    for lane in lanes::each(mask) {
                        write_lane(*result, frame, lane, hints::POLICY);
                    }
                }
                Operation::Fence { beyond_block } => hints::execute_fence(mask, *beyond_block, environment),
                Operation::Nothing => {}
            }
        }
        Ok(Progress::Done)
    }

    /// Returns the registers that it writes in the lanes of its mask.
    pub fn results(&self) -> &[Slot] {
        &self.registers.results
    }

    /// Returns the registers whose values it reads, except addresses.
    pub fn sources(&self) -> &[Slot] {
        &self.registers.sources
    }

    /// Returns the registers from which it reads addresses.
    pub fn addresses(&self) -> &[Slot] {
        &self.registers.addresses
    }
}
