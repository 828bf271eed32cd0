//! Decodes and executes memory instructions.

mod async_copy;
mod atomic;
mod barrier_decode;
mod bulk_copy;
mod delivery;
mod generic;
mod hints;
mod load_store;
mod matrices;
mod tensor_copy;

use self::async_copy::AsyncCopy;
use self::atomic::Atomic;
use self::bulk_copy::BulkCopy;
use self::generic::Conversion;
use self::load_store::Transfer;
use self::matrices::Matrices;
use self::tensor_copy::TensorCopy;
use super::access::Environment;
use super::barrier::{Barrier, Progress, Transactions};
use super::decoded::{Decoded, Lists};
use super::lanes;
use super::lookup::AccessFault;
use super::opcode;
use super::plain::Plain;
use super::registers::write_lane;
use super::windows::AddressSpace;
use crate::decode::{Columns, DecodeError, Level};
use crate::observe::Observer;
use crate::ptx::Instruction;
use crate::ptx::op::Op;
use crate::ptx::op::copies::{CopyGroup, Copying};
use crate::ptx::op::memory::Memory;
use crate::registers::{Cell, Slot};

/// A decoded memory instruction. It can be executed any number of times, for any frame of its function.
#[derive(Clone, Debug)]
pub struct MemoryInstruction {
    operation: Operation,
    registers: Box<Lists>,
}

#[derive(Clone, Debug)]
enum Operation {
    Load(Transfer),
    Store(Transfer),
    /// `st.async`, with the barrier that counts its bytes.
    StoreAndCount(Box<(Transfer, Transactions)>),
    Atomic(Box<Atomic>),
    Barrier(Box<Barrier>),
    AsyncCopy(Box<AsyncCopy>),
    BulkCopy(Box<BulkCopy>),
    TensorCopy(Box<TensorCopy>),
    Matrices(Box<Matrices>),
    Conversion(Box<Conversion>),
    Policy(Slot),
    Fence {
        beyond_block: bool,
    },
    /// Cache hints, and waits for what is always complete.
    Nothing,
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
        Op::Memory(Memory::Ld(access) | Memory::St(access)) if access.is_parameter() => return Ok(None),
        Op::Memory(memory) => decode_access(instruction, memory, columns, level)?,
        Op::Copy(copying) => decode_copy(instruction, copying, columns, level)?,
        Op::Ldmatrix(op) => {
            let decoded = matrices::decode(instruction, op, columns, level)?;
            decoded.map(|load| Operation::Matrices(Box::new(load)))
        }
        // Memory of several devices, textures, and the memory of tensor cores.
        Op::Stmatrix(_) | Op::Movmatrix | Op::Wgmma(_) | Op::Other { .. } => {
            return Err(DecodeError::unsupported(instruction));
        }
        _ => return Ok(None),
    };
    let Decoded { operation, registers } = decoded;
    Ok(Some(MemoryInstruction { operation, registers: Box::new(registers) }))
}

fn decode_access(
    instruction: &Instruction,
    memory: &Memory,
    columns: &mut dyn Columns,
    level: Level,
) -> Result<Decoded<Operation>, DecodeError> {
    Ok(match memory {
        Memory::Ld(access) | Memory::Ldu(access) => {
            load_store::decode_load(instruction, access, columns, level)?
                .map(|(load, _)| Operation::Load(load))
        }
        Memory::St(access) => {
            load_store::decode_store(instruction, access, false, columns, level)?.map(stored)
        }
        Memory::StAsync { access, counted } => {
            load_store::decode_store(instruction, access, *counted, columns, level)?.map(stored)
        }
        Memory::Atomic(op) => {
            let decoded = atomic::decode(instruction, op, columns, level)?;
            decoded.map(|atomic| Operation::Atomic(Box::new(atomic)))
        }
        Memory::Cvta { .. } | Memory::Isspacep(_) | Memory::Mapa { .. } | Memory::Getctarank { .. } => {
            let decoded = generic::decode(instruction, memory, columns)?;
            decoded.map(|conversion| Operation::Conversion(Box::new(conversion)))
        }
        Memory::Advice { space, .. } => {
            hints::decode_advice(instruction, *space, columns, level)?.map(|()| Operation::Nothing)
        }
        Memory::Createpolicy => hints::decode_policy(instruction, columns)?.map(Operation::Policy),
        Memory::Fence(fence) => {
            Decoded::new(Operation::Fence { beyond_block: hints::is_beyond_block(fence) })
        }
        Memory::Mbarrier(op) => barrier_decode::decode(instruction, op, columns, level)?.map(barrier),
    })
}

fn decode_copy(
    instruction: &Instruction,
    copying: &Copying,
    columns: &mut dyn Columns,
    level: Level,
) -> Result<Decoded<Operation>, DecodeError> {
    Ok(match copying {
        Copying::Async(op) => {
            let decoded = async_copy::decode(instruction, op, columns, level)?;
            decoded.map(|copy| Operation::AsyncCopy(Box::new(copy)))
        }
        Copying::Bulk(op) => bulk_copy::decode(instruction, op, columns, level)?.map(bulk),
        Copying::Zeros { space } => bulk_copy::decode_zeros(instruction, *space, columns, level)?.map(bulk),
        Copying::Arrive { counted, space } => {
            barrier_decode::decode_copied(instruction, *counted, *space, columns, level)?.map(barrier)
        }
        Copying::Group { group, .. } => {
            let operands = usize::from(*group == CopyGroup::Wait);
            opcode::count(instruction, operands, operands)?;
            Decoded::new(Operation::Nothing)
        }
        Copying::Prefetch { .. } => {
            let address = opcode::address_operand(instruction, 0, AddressSpace::Global, columns, level)?;
            Decoded::new(Operation::Nothing).address(address.slot())
        }
        Copying::Tensor(op) => match tensor_copy::decode(instruction, op, columns, level)? {
            Some(decoded) => decoded.map(|copy| Operation::TensorCopy(Box::new(copy))),
            None => Decoded::new(Operation::Nothing),
        },
    })
}

fn stored((store, counted): (Transfer, Option<Transactions>)) -> Operation {
    match counted {
        Some(transactions) => Operation::StoreAndCount(Box::new((store, transactions))),
        None => Operation::Store(store),
    }
}

fn barrier(barrier: Barrier) -> Operation {
    Operation::Barrier(Box::new(barrier))
}

fn bulk(copy: BulkCopy) -> Operation {
    Operation::BulkCopy(Box::new(copy))
}

impl MemoryInstruction {
    /// Returns the access if it is a weak load or store, or a reduction, in memory that all threads of a block share.
    pub(crate) fn plain(&self) -> Option<Plain<'_>> {
        match &self.operation {
            Operation::Load(load) => load.plain(&self.registers.results, true),
            Operation::Store(store) => store.plain(&self.registers.sources, false),
            Operation::Atomic(atomic) => atomic.plain(&self.registers.sources),
            _ => None,
        }
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
                Operation::AsyncCopy(copy) => copy.execute(frame, mask, environment)?,
                Operation::BulkCopy(copy) => copy.execute(frame, mask, environment)?,
                Operation::TensorCopy(copy) => copy.execute(frame, mask, environment)?,
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
