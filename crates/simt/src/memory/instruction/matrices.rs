//! Executes `ldmatrix`: the lanes of a warp load 8 x 8 matrices of 16-bit elements from shared memory together.
//!
//! Lane `8 i + r` gives the address of row `r` of matrix `i`: 16 bytes. Of each matrix, lane `l` receives two elements of row
//! `l / 4`: those of columns `2 (l % 4)`, in the low half, and the next. With `.trans`, of column `l / 4` those of rows
//! `2 (l % 4)` and the next:
//!
//! ```text
//! row 0   lane 0  0 1  2 3    each pair of elements in a register       .trans   lane 0  4  8 ...   low halves
//! row 1   lane 4  5  6  7     of the lane of this number                         lane 0  4  8 ...   high halves
//!                                                                                lane 1  5  9 ...   low halves
//! ```
//!
//! Shared memory serves the rows of a matrix as it serves a vector of 16 bytes of eight lanes, so observers are told of one
//! access of 16 bytes by the lanes that give addresses, and count its wavefronts by the same rule: one for each matrix whose
//! rows are in different banks.

use std::mem::MaybeUninit;

use crate::decode::{Columns, DecodeError, Level};
use crate::memory::access::{Environment, Request, Target};
use crate::memory::decoded::Decoded;
use crate::memory::lanes::{self, AddressOperand, Prepared};
use crate::memory::lookup::AccessFault;
use crate::memory::opcode;
use crate::memory::racing;
use crate::memory::registers::write_lane;
use crate::memory::windows::AddressSpace;
use crate::observe::{Observer, Operation};
use crate::ptx::op::matrix::Ldmatrix;
use crate::ptx::op::words::AddressSpace as Space;
use crate::ptx::{Instruction, ScalarType};
use crate::registers::{Cell, Slot};

/// Bytes of a row.
const ROW: u32 = 16;

/// A decoded load of one, two or four matrices.
#[derive(Clone, Debug)]
pub(super) struct Matrices {
    request: Request,
    address: AddressOperand,
    results: Vec<Slot>,
    transposed: bool,
}

impl Matrices {
    /// # Safety
    /// See [`MemoryInstruction::execute`](super::MemoryInstruction::execute).
    pub(super) unsafe fn execute<O: Observer>(
        &self,
        frame: *mut Cell,
        mask: u32,
        environment: &mut Environment<'_, O>,
    ) -> Result<(), AccessFault> {
        if mask != u32::MAX {
            let what =
                format!("ldmatrix by lanes {mask:#010x} of a warp, which all have to execute it together");
            return Err(AccessFault::illegal(mask.trailing_zeros() as usize, what));
        }
        let rows = u32::MAX >> (32 - 8 * self.results.len());
        let mut data = [[0_u16; 8]; 32];
        let mut prepared = MaybeUninit::<Prepared>::uninit();
        // SAFETY: `prepare` fills it; what `access` hands out may be read, and is aligned. Slots are of this frame.
        unsafe {
            self.address.prepare(frame, rows, ROW, prepared.as_mut_ptr());
            let prepared = prepared.assume_init_ref();
            self.request.access(prepared, rows, environment, |target, prepared, lanes| {
                let Target::Host { base, .. } = target else { return };
                for lane in lanes::each(lanes) {
                    racing::load::<16>(base + prepared.addresses[lane], data[lane].as_mut_ptr().cast());
                }
            })?;
            for (nth, slot) in self.results.iter().enumerate() {
                let matrix = &data[8 * nth..][..8];
                for lane in 0..32 {
                    let (line, first) = (lane / 4, lane % 4 * 2);
                    let element = |next: usize| match self.transposed {
                        true => matrix[first + next][line],
                        false => matrix[line][first + next],
                    };
                    let both = u64::from(element(0)) | u64::from(element(1)) << 16;
                    write_lane(*slot, frame, lane, both);
                }
            }
        }
        if O::REGISTERS {
            environment.undefined = self.receivers(environment.undefined);
        }
        Ok(())
    }

    /// The lanes that receive an element of one of these rows.
    fn receivers(&self, rows: u32) -> u32 {
        let reached = |lane: usize| {
            (0..self.results.len()).any(|nth| {
                let of_matrix = rows >> (8 * nth) & 0xff;
                let wanted = if self.transposed { 0b11 << (lane % 4 * 2) } else { 1 << (lane / 4) };
                of_matrix & wanted != 0
            })
        };
        (0..32).filter(|lane| reached(*lane)).fold(0, |lanes, lane| lanes | 1 << lane)
    }
}

/// Decodes `ldmatrix.sync.aligned.m8n8.xN{.trans}.shared.b16`.
pub(super) fn decode(
    instruction: &Instruction,
    op: &Ldmatrix,
    columns: &mut dyn Columns,
    level: Level,
) -> Result<Decoded<Matrices>, DecodeError> {
    let Ldmatrix { count, transposed, space } = *op;
    if !space.is_some_and(Space::is_shared) {
        return Err(DecodeError::unsupported(instruction));
    }
    let count = count as usize;
    opcode::count(instruction, 2, 2)?;
    let elements = opcode::elements(instruction, opcode::operand(instruction, 0)?, count)?;
    let result = |operand| opcode::result(instruction, operand, ScalarType::B32, columns);
    let results = elements.iter().map(result).collect::<Result<Vec<Slot>, DecodeError>>()?;
    let address = opcode::address_operand(instruction, 1, AddressSpace::Shared, columns, level)?;
    let request = Request {
        space: AddressSpace::Shared,
        operation: Operation::Load,
        bytes: ROW,
        read_only: false,
        past_l1: false,
        strong: false,
    };
    let load = Matrices { request, address, results: results.clone(), transposed };
    Ok(Decoded::new(load).results(&results).address(address.slot()))
}
