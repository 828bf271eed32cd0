//! Executes copies by tensor map: a lane moves a box of an array in global memory to shared memory, or back.
//!
//! The operands are the address of a [`TensorMap`] and the coordinates of the box's first element. Rows of the box lie one
//! after the other in shared memory, and each is copied as far as the array reaches. For example, a box of two rows of eight
//! `u32` at column 1020, row 9 of an array of 1024 columns and 10 rows:
//!
//! ```text
//! row of the box    from                                to shared memory
//! 0                 row 9, columns 1020 to 1023         bytes 0 to 15; 16 to 31 are zero
//! 1                 nothing: there is no row 10         bytes 32 to 63 are zero
//! ```
//!
//! A barrier counts all 64 bytes.
//!
//! Some rules are written nowhere, and follow an H200, on which `cuda_driver`'s test `copies_by_tensor_map_move_boxes` runs too. A
//! box that begins at no multiple of 16 bytes of its row is an illegal instruction. So is a copy to global memory with a negative
//! coordinate, where a load reads zeros. Of what lies outside of the array, a copy to global memory writes nothing, but for the
//! rest of the last 16 bytes of a row that are partly inside.
//!
//! Copies complete at once, as bulk copies do. The observer sees accesses of a full warp, 16 bytes per lane, or fewer in a load
//! where the array's rows end at no multiple of 16 bytes.

use std::mem::MaybeUninit;

use super::delivery::Delivery;
use crate::decode::{Columns, DecodeError, Level};
use crate::memory::access::{Environment, Request};
use crate::memory::barrier::Transactions;
use crate::memory::decoded::Decoded;
use crate::memory::lanes::{self, AddressOperand, Prepared};
use crate::memory::lookup::AccessFault;
use crate::memory::opcode;
use crate::memory::racing;
use crate::memory::registers::read_lane;
use crate::memory::tensor_map::{MOST_DIMENSIONS, TensorMap, UNIT, WORDS};
use crate::memory::update::{self, Update};
use crate::memory::windows::AddressSpace;
use crate::observe::{Observer, Operation};
use crate::ptx::op::copies::{TensorAction, TensorCopy as Op};
use crate::ptx::op::words::{TensorMode, Update as Operator};
use crate::ptx::{Instruction, ScalarType};
use crate::registers::{Cell, Slot};

/// A box in shared memory begins at a multiple of this.
const ALIGNMENT: u64 = 128;

/// A decoded copy by tensor map.
#[derive(Clone, Debug)]
pub(super) struct TensorCopy {
    map: AddressOperand,
    /// One per dimension, the fastest first.
    coordinates: Vec<Slot>,
    shared: AddressOperand,
    shared_space: AddressSpace,
    direction: Direction,
    delivery: Delivery,
}

#[derive(Clone, Copy, Debug)]
enum Direction {
    Load,
    Store,
    Reduce(Operator),
}

/// Adjacent bytes of a row: where they are in global memory, and in the box as rows without swizzle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    address: u64,
    offset: u64,
    bytes: u32,
}

impl TensorCopy {
    /// # Safety
    /// See [`MemoryInstruction::execute`](super::MemoryInstruction::execute).
    pub(super) unsafe fn execute<O: Observer>(
        &self,
        frame: *mut Cell,
        mask: u32,
        environment: &mut Environment<'_, O>,
    ) -> Result<(), AccessFault> {
        let (mut maps, mut shared) = (MaybeUninit::<Prepared>::uninit(), MaybeUninit::<Prepared>::uninit());
        // SAFETY: the caller's promise; `prepare` fills what it is given.
        let (maps, shared) = unsafe {
            self.map.prepare(frame, mask, 1, maps.as_mut_ptr());
            self.shared.prepare(frame, mask, 16, shared.as_mut_ptr());
            (maps.assume_init_ref(), shared.assume_init_ref())
        };
        let mut counted = [0; 32];
        for lane in lanes::each(mask) {
            let fail = |what| AccessFault::illegal(lane, what);
            let map = map_at(maps.addresses[lane], environment).map_err(fail)?;
            let given = self.coordinates.len();
            if map.dimensions != given {
                return Err(fail(format!(
                    "a copy by a tensor map of {} dimensions, with coordinates for {given}",
                    map.dimensions
                )));
            }
            let own = shared.addresses[lane];
            if !own.is_multiple_of(ALIGNMENT) {
                return Err(fail(format!(
                    "a box of a tensor at {own:#x} in shared memory, no multiple of {ALIGNMENT} bytes"
                )));
            }
            let mut corner = [0; MOST_DIMENSIONS];
            for (coordinate, slot) in corner.iter_mut().zip(&self.coordinates) {
                // SAFETY: the slots are of this frame.
                *coordinate = i64::from(unsafe { read_lane(*slot, frame, lane) } as i32);
            }
            self.check(&map, corner).map_err(fail)?;
            counted[lane] = map.row_bytes() * map.rows();
            // SAFETY: the caller's promise.
            unsafe {
                match self.direction {
                    Direction::Load => {
                        let places = self.delivery.places(own, lane, frame, environment)?;
                        self.load(&map, corner, &places, environment)
                    }
                    Direction::Store => self.store(&map, corner, own, None, environment),
                    Direction::Reduce(operator) => {
                        let update = update_of(operator, &map).map_err(fail)?;
                        self.store(&map, corner, own, Some(update), environment)
                    }
                }
            }
            .map_err(|fault| AccessFault { lane: lane as u32, ..fault })?;
        }
        if O::REGISTERS {
            environment.undefined = 0;
        }
        // SAFETY: the caller's promise.
        unsafe { self.delivery.count(frame, mask, environment, |lane| counted[lane]) }
    }

    /// Checks the corner of a box.
    fn check(&self, map: &TensorMap, corner: [i64; MOST_DIMENSIONS]) -> Result<(), String> {
        let start = corner[0] * map.element.bytes() as i64;
        if start % UNIT as i64 != 0 {
            return Err(format!(
                "a box of a tensor that begins at byte {start} of a row, no multiple of {UNIT}: coordinate {} of {}",
                corner[0],
                map.element.scalar()
            ));
        }
        let negative = corner.iter().position(|coordinate| *coordinate < 0);
        match (self.direction, negative) {
            (Direction::Store | Direction::Reduce(_), Some(dimension)) => Err(format!(
                "a copy to a box of a tensor at coordinate {} in dimension {dimension}: only loads begin before the tensor",
                corner[dimension]
            )),
            _ => Ok(()),
        }
    }

    /// Copies a box to places in shared memory.
    unsafe fn load<O: Observer>(
        &self,
        map: &TensorMap,
        corner: [i64; MOST_DIMENSIONS],
        places: &[u64],
        environment: &mut Environment<'_, O>,
    ) -> Result<(), AccessFault> {
        let mut data = vec![map.outside(); (map.pitch() * map.rows()) as usize / 2];
        let data = data.as_flattened_mut();
        for (pieces, bytes) in warps(&pieces(map, corner, 1)) {
            let (prepared, lanes) = addresses(pieces.iter().map(|piece| piece.address), bytes);
            // SAFETY: what `each` hands out may be accessed, and is aligned; each piece is within the box.
            unsafe {
                self.global(Operation::Load, bytes).each(&prepared, lanes, environment, |lane, from| {
                    let into = data.as_mut_ptr().add(pieces[lane].offset as usize);
                    match bytes {
                        1 => racing::load::<1>(from, into),
                        2 => racing::load::<2>(from, into),
                        4 => racing::load::<4>(from, into),
                        8 => racing::load::<8>(from, into),
                        _ => racing::load::<16>(from, into),
                    }
                })?;
            }
        }
        let units = units(map);
        let to_each = places.iter().flat_map(|place| units.chunks(32).map(move |units| (place, units)));
        for (&place, units) in to_each {
            let (prepared, lanes) = swizzled(map, place, units);
            // SAFETY: as above; a unit is within the box.
            unsafe {
                self.shared(Operation::Store).each(&prepared, lanes, environment, |lane, to| {
                    racing::store::<16>(to, data.as_ptr().add(units[lane] as usize));
                })?;
            }
        }
        Ok(())
    }

    /// Copies a box from shared memory, or combines it with the array.
    unsafe fn store<O: Observer>(
        &self,
        map: &TensorMap,
        corner: [i64; MOST_DIMENSIONS],
        own: u64,
        update: Option<Update>,
        environment: &mut Environment<'_, O>,
    ) -> Result<(), AccessFault> {
        let mut data = vec![0_u8; (map.pitch() * map.rows()) as usize];
        for units in units(map).chunks(32) {
            let (prepared, lanes) = swizzled(map, own, units);
            // SAFETY: what `each` hands out may be accessed, and is aligned; a unit is within the box.
            unsafe {
                self.shared(Operation::Load).each(&prepared, lanes, environment, |lane, from| {
                    racing::load::<16>(from, data.as_mut_ptr().add(units[lane] as usize));
                })?;
            }
        }
        let operation = if update.is_some() { Operation::Reduction } else { Operation::Store };
        let element = map.element.bytes() as usize;
        for pieces in pieces(map, corner, UNIT).chunks(32) {
            let (prepared, lanes) = addresses(pieces.iter().map(|piece| piece.address), UNIT as u32);
            // SAFETY: as above; a piece is a unit within the box.
            unsafe {
                self.global(operation, UNIT as u32).each(&prepared, lanes, environment, |lane, to| {
                    let from = data.as_ptr().add(pieces[lane].offset as usize);
                    let Some(update) = update else { return racing::store::<16>(to, from) };
                    for start in (0..UNIT as usize).step_by(element) {
                        let mut value = [0_u8; 8];
                        from.add(start).copy_to_nonoverlapping(value.as_mut_ptr(), element);
                        (update.one)(to + start as u64, u64::from_le_bytes(value), 0);
                    }
                })?;
            }
        }
        Ok(())
    }

    fn global(&self, operation: Operation, bytes: u32) -> Request {
        let strong = operation == Operation::Reduction;
        Request { space: AddressSpace::Global, operation, bytes, read_only: false, past_l1: true, strong }
    }

    fn shared(&self, operation: Operation) -> Request {
        let (space, bytes) = (self.shared_space, UNIT as u32);
        Request { space, operation, bytes, read_only: false, past_l1: false, strong: false }
    }
}

/// Reads the map at a generic address.
fn map_at<O: Observer>(address: u64, environment: &Environment<'_, O>) -> Result<TensorMap, String> {
    let mut bytes = [0_u8; 8 * WORDS];
    let map = environment.memory.read(address, &mut bytes).ok().and_then(|()| {
        let words = std::array::from_fn(|word| {
            u64::from_le_bytes(std::array::from_fn(|byte| bytes[8 * word + byte]))
        });
        TensorMap::decode(&words)
    });
    map.ok_or_else(|| {
        format!(
            "a copy by the tensor map at {address:#x}, where there is none: cuTensorMapEncodeTiled makes one"
        )
    })
}

/// Returns how an element is combined with one of the array.
fn update_of(operator: Operator, map: &TensorMap) -> Result<Update, String> {
    let scalar = match (operator, map.element.scalar()) {
        (Operator::And | Operator::Or | Operator::Xor, ScalarType::U32 | ScalarType::S32) => ScalarType::B32,
        (Operator::And | Operator::Or | Operator::Xor, ScalarType::U64 | ScalarType::S64) => ScalarType::B64,
        (_, scalar) => scalar,
    };
    update::select::<true>(operator, scalar)
        .ok_or_else(|| format!("a reduction of a box of {scalar}, which has no such operation"))
}

/// Returns the offsets of a box's units of 16 bytes, row by row.
fn units(map: &TensorMap) -> Vec<u64> {
    let (rows, of_row) = (map.rows(), map.row_bytes() / UNIT);
    let mut units = Vec::with_capacity((rows * of_row) as usize);
    for row in 0..rows {
        units.extend((0..of_row).map(|unit| row * map.pitch() + unit * UNIT));
    }
    units
}

/// Returns the addresses of units of a box in shared memory as those of a warp, and its mask.
fn swizzled(map: &TensorMap, start: u64, units: &[u64]) -> (Prepared, u32) {
    addresses(units.iter().map(|offset| map.swizzled(start + offset)), UNIT as u32)
}

/// Returns what a box at a corner has within the array, in the order of the box. Rows of the array end at a multiple of
/// `granule` bytes.
fn pieces(map: &TensorMap, corner: [i64; MOST_DIMENSIONS], granule: u64) -> Vec<Piece> {
    let size = |dimension: usize| map.sizes[dimension] as i64;
    let element = map.element.bytes() as i64;
    let end = (size(0) * element).cast_unsigned().next_multiple_of(granule) as i64;
    let first = (corner[0] * element).clamp(0, end);
    let last = (corner[0] * element + map.row_bytes() as i64).clamp(0, end);
    let bytes = (last - first) as u64;
    if bytes == 0 {
        return Vec::new();
    }
    let mut pieces = Vec::with_capacity((map.rows() * bytes.div_ceil(UNIT)) as usize);
    'rows: for row in 0..map.rows() {
        let mut rest = row;
        let mut address = map.address.wrapping_add(first as u64);
        for (dimension, start) in corner.iter().enumerate().take(map.dimensions).skip(1) {
            let kept = u64::from(map.kept(dimension));
            let at = start + (rest % kept) as i64 * i64::from(map.steps[dimension]);
            rest /= kept;
            if !(0..size(dimension)).contains(&at) {
                continue 'rows;
            }
            address = address.wrapping_add((at as u64).wrapping_mul(map.strides[dimension]));
        }
        let offset = row * map.pitch() + (first - corner[0] * element) as u64;
        let mut at = 0;
        while at < bytes {
            // The greatest power of two that is left, a unit at most.
            let piece = 1 << (bytes - at).min(UNIT).ilog2();
            let address = address.wrapping_add(at);
            pieces.push(Piece { address, offset: offset + at, bytes: piece as u32 });
            at += piece;
        }
    }
    pieces
}

/// Divides pieces into accesses of up to 32 lanes, each of this many bytes per lane.
fn warps(pieces: &[Piece]) -> impl Iterator<Item = (&[Piece], u32)> {
    let alike = pieces.chunk_by(|one, next| one.bytes == next.bytes);
    alike.flat_map(|alike| alike.chunks(32)).map(|warp| (warp, warp[0].bytes))
}

/// Returns up to 32 addresses as those of a warp, and its mask.
fn addresses(list: impl ExactSizeIterator<Item = u64> + Clone, bytes: u32) -> (Prepared, u32) {
    let mask = u32::MAX >> (32 - list.len());
    let mut addresses = [list.clone().next().unwrap_or(0); 32];
    addresses.iter_mut().zip(list).for_each(|(lane, address)| *lane = address);
    (Prepared::of(addresses, mask, bytes), mask)
}

/// Decodes a copy by tensor map; `None` for a prefetch, whose addresses are not checked.
pub(super) fn decode(
    instruction: &Instruction,
    op: &Op,
    columns: &mut dyn Columns,
    level: Level,
) -> Result<Option<Decoded<TensorCopy>>, DecodeError> {
    if !matches!(op.mode, None | Some(TensorMode::Tile)) || op.blocks == Some(2) {
        return Err(DecodeError::unsupported(instruction));
    }
    let (direction, shared_space, operands) = match op.action {
        TensorAction::Prefetch => (None, AddressSpace::Shared, 1),
        TensorAction::Load(to) => (Some(Direction::Load), opcode::space(instruction, Some(to))?, 3),
        TensorAction::Store => (Some(Direction::Store), AddressSpace::Shared, 2),
        TensorAction::Reduce(operator) => (Some(Direction::Reduce(operator)), AddressSpace::Shared, 2),
    };
    let operands = operands + usize::from(op.multicast) + usize::from(op.has_policy);
    opcode::count(instruction, operands, operands)?;
    let is_load = matches!(op.action, TensorAction::Load(_));
    let (map, coordinates) =
        opcode::box_operand(instruction, usize::from(is_load), op.dimensions, columns, level)?;
    let Some(direction) = direction else { return Ok(None) };
    let shared = opcode::address_operand(instruction, usize::from(!is_load), shared_space, columns, level)?;
    let transactions = if is_load { Some(Transactions::new(instruction, 2, columns, level)?) } else { None };
    let blocks = if op.multicast {
        let operand = opcode::operand(instruction, 3)?;
        Some(opcode::source(instruction, operand, ScalarType::U16, columns)?)
    } else {
        None
    };
    let delivery = Delivery { blocks, transactions };
    let sources: Vec<Slot> = coordinates.iter().copied().chain(blocks).collect();
    let copy = TensorCopy { map, coordinates, shared, shared_space, direction, delivery };
    let barrier = transactions.map(|barrier| barrier.slot());
    let decoded = Decoded::new(copy).sources(&sources);
    Ok(Some(decoded.addresses(&[map.slot(), shared.slot()]).addresses(barrier.as_slice())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::TensorElement;

    #[test]
    fn a_box_is_cut_where_the_array_ends() {
        let map = TensorMap {
            element: TensorElement::U32,
            dimensions: 2,
            address: 0x1000,
            sizes: [1024, 10, 1, 1, 1],
            strides: [4, 4096, 4, 4, 4],
            tile: [8, 2, 1, 1, 1],
            steps: [1; 5],
            span: 0,
            fills_with_nan: false,
        };
        let at = |x, y| pieces(&map, [x, y, 0, 0, 0], 4);
        let piece = |address, offset, bytes| Piece { address, offset, bytes };
        assert_eq!(at(1020, 9), [piece(0x1000 + 9 * 4096 + 4080, 0, 16)]);
        assert_eq!(at(-4, -1), [piece(0x1000, 32 + 16, 16)]);
        assert_eq!(at(4, 8)[..2], [piece(0x9010, 0, 16), piece(0x9020, 16, 16)]);
        assert_eq!(at(1024, 0), []);
        assert_eq!(at(i64::from(i32::MIN), 0), []);
        // Rows of 1021 and 1023 elements, by elements and by units.
        for (size, ends) in [(1021, vec![4]), (1023, vec![8, 4])] {
            let map = TensorMap { sizes: [size, 10, 1, 1, 1], ..map };
            let bytes = |granule| -> Vec<u32> {
                pieces(&map, [1020, 9, 0, 0, 0], granule).iter().map(|piece| piece.bytes).collect()
            };
            assert_eq!((bytes(4), bytes(16)), (ends, vec![16]));
        }
        // Every third row: the second of two kept ones is row 11 from row 8 on, and 9 from 6 on.
        let map = TensorMap { tile: [8, 5, 1, 1, 1], steps: [1, 3, 1, 1, 1], ..map };
        let at = |y| pieces(&map, [0, y, 0, 0, 0], 4);
        assert_eq!((at(8).len(), at(6).len()), (2, 4));
        assert_eq!(at(6)[2], piece(0x1000 + 9 * 4096, 32, 16));
        assert_eq!(units(&map), [0, 16, 32, 48]);
    }
}
