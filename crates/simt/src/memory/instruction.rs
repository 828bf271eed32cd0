//! Decodes and executes memory instructions.

use super::access::{AddressSpace, Environment};
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
use super::opcode;
use super::registers::write_lane;
use crate::decode::{Columns, DecodeError, Level};
use crate::observe::Observer;
use crate::ptx::Instruction;
use crate::ptx::op::Op;
use crate::ptx::op::memory::CopyGroup;
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
    let decoded = match op {
        Op::Ld(access) | Op::St(access) if access.is_parameter() => return Ok(None),
        Op::Ld(access) | Op::Ldu(access) => load_store::decode_load(instruction, access, columns, level)?,
        Op::St(access) => load_store::decode_store(instruction, access, false, columns, level)?,
        Op::StAsync { access, counted } => {
            load_store::decode_store(instruction, access, *counted, columns, level)?
        }
        Op::StBulk { space } => bulk_copy::decode_zeros(instruction, *space, columns, level)?,
        Op::Atomic(op) => atomic::decode(instruction, op, columns, level)?,
        Op::Cvta { .. } | Op::Isspacep(_) | Op::Mapa { .. } | Op::Getctarank { .. } => {
            generic::decode(instruction, op, columns)?
        }
        Op::Advice { space, .. } => hints::decode_advice(instruction, *space, columns, level)?,
        Op::Createpolicy => hints::decode_policy(instruction, columns)?,
        Op::Fence(fence) => hints::decode_fence(fence),
        Op::Mbarrier(op) => barrier_decode::decode(instruction, op, columns, level)?,
        Op::CopyArrive { counted, space } => {
            barrier_decode::decode_copied(instruction, *counted, *space, columns, level)?
        }
        Op::CpAsync(op) => async_copy::decode(instruction, op, columns, level)?,
        Op::CopyGroup { group, .. } => {
            let operands = usize::from(*group == CopyGroup::Wait);
            opcode::count(instruction, operands, operands)?;
            Decoded::new(Operation::Nothing)
        }
        Op::CpBulk(op) => bulk_copy::decode(instruction, op, columns, level)?,
        Op::BulkPrefetch { .. } => {
            let address = opcode::address_operand(instruction, 0, AddressSpace::Global, columns, level)?;
            Decoded::new(Operation::Nothing).address(address.slot())
        }
        Op::Ldmatrix(op) => matrices::decode(instruction, op, columns, level)?,
        // Memory of several devices, tensors, textures, and the memory of tensor cores.
        Op::BulkTensor | Op::Other => return Err(DecodeError::unsupported(instruction)),
        _ => return Ok(None),
    };
    Ok(Some(decoded.0))
}

/// The memory of a [`Plain`] access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlainSpace {
    Global,
    /// Global memory in the common case; generic addresses may also lie in other memories.
    Generic,
    Constant,
    Shared,
}

/// A weak load or store, as the compiled tier executes it.
#[derive(Clone, Debug)]
pub(crate) struct Plain<'a> {
    pub(crate) is_load: bool,
    pub(crate) space: PlainSpace,
    /// Bytes per lane, of all elements.
    pub(crate) bytes: u32,
    /// Registers of the elements.
    pub(crate) elements: &'a [Slot],
    /// Bits of the register that a signed element's sign fills; 0 if it does not.
    pub(crate) sign_bits: u8,
    pub(crate) address: Slot,
    /// Offset added in each lane; modulo 2^32 for a 32-bit register of a shared address.
    pub(crate) offset: i64,
    pub(crate) read_only: bool,
    pub(crate) past_l1: bool,
}

impl Plain<'_> {
    pub(crate) fn is_generic(&self) -> bool {
        self.space == PlainSpace::Generic
    }
}

impl MemoryInstruction {
    /// Returns the access if it is a weak load or store of memory that all threads of a block share.
    pub(crate) fn plain(&self) -> Option<Plain<'_>> {
        let (transfer, elements, is_load) = match &self.operation {
            Operation::Load(load) => (load, &self.registers.results, true),
            Operation::Store(store) => (store, &self.registers.sources, false),
            _ => return None,
        };
        transfer.plain(elements, is_load)
    }

    /// Returns the number that an address conversion adds.
    pub(crate) fn moved(&self) -> Option<u64> {
        match &self.operation {
            Operation::Conversion(conversion) => conversion.moved(),
            _ => None,
        }
    }

    /// Returns true if the instruction may tell its warp to let others run first.
    pub(crate) fn may_wait(&self) -> bool {
        matches!(self.operation, Operation::Barrier(_))
    }

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
