//! Implements the functions that CUDA provides to kernels: printing, assertions, the heap.

use super::format;
use super::frame::{lane_bytes, lanes_of, read_lane, write_lane};
use super::layout::Place;
use super::run::{Runner, Stop};
use super::step::{Builtin, CallSite};
use super::warp::Fragment;
use crate::fault::FaultKind;
use crate::memory::{Kind, LOCAL_WINDOW, SHARED_WINDOW, in_local_window, in_shared_window};
use crate::observe::{Observer, Operation, Space};
use crate::registers::Cell;

/// Most bytes of a string that are read from a kernel's memory.
const LONGEST: u64 = 64 << 10;

impl<O: Observer> Runner<'_, O> {
    /// Calls a built-in function for the lanes of a mask, one after another.
    pub(super) fn builtin(
        &mut self,
        index: usize,
        fragment: &Fragment,
        builtin: Builtin,
        site: &CallSite,
        mask: u32,
    ) -> Result<(), Stop> {
        let cells = self.block.warps[index].activation(fragment.activation).frame.cells();
        let pc = fragment.pc;
        for lane in lanes_of(mask) {
            // SAFETY: places are of the function that the lanes are in.
            let argument = |number: usize| unsafe { value(cells, site.arguments[number], lane) };
            let result = match builtin {
                Builtin::Print => {
                    let text = self.text(index, pc, lane, argument(0))?;
                    let mut read = |address: u64, into: &mut [u8]| self.bytes(index, pc, lane, address, into);
                    let mut printed = Vec::new();
                    let count = format::print(&text, argument(1), &mut printed, &mut read)?;
                    self.block.printed.extend_from_slice(&printed);
                    u64::from(count as u32)
                }
                Builtin::AssertFail => {
                    let [message, file] =
                        [argument(0), argument(1)].map(|address| self.text(index, pc, lane, address));
                    let function = self.text(index, pc, lane, argument(3))?;
                    let [x, y, z] = self.context.block(self.block.index);
                    let [i, j, k] = self.context.thread(index as u32, lane as u32);
                    let words = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
                    let line = format!(
                        "{}:{}: {}: block: [{x},{y},{z}], thread: [{i},{j},{k}] Assertion `{}` failed.\n",
                        words(&file?),
                        argument(2) as u32,
                        words(&function),
                        words(&message?)
                    );
                    self.block.printed.extend_from_slice(line.as_bytes());
                    continue;
                }
                Builtin::Allocate => match argument(0) {
                    0 => 0,
                    // A full heap gives a null pointer, as in C.
                    bytes => self.context.memory.allocate(bytes, Kind::Heap).unwrap_or(0),
                },
                Builtin::Free => {
                    let address = argument(0);
                    let memory = self.context.memory;
                    let is_heap = |address| memory.find(address).is_none_or(|found| found.kind == Kind::Heap);
                    let outcome = match address {
                        0 => Ok(()),
                        _ if !is_heap(address) => {
                            Err(format!("{address:#x} was not allocated by `malloc` in a kernel"))
                        }
                        _ => memory.free(address).map(drop).map_err(|error| error.to_string()),
                    };
                    outcome.map_err(|what| {
                        self.fault(index, pc, lane as u32, FaultKind::Illegal(format!("free: {what}")))
                    })?;
                    continue;
                }
            };
            if let Some(place) = site.returns.first() {
                // SAFETY: as above.
                unsafe { set(cells, *place, lane, result) };
            }
        }
        if builtin == Builtin::AssertFail {
            return Err(self.fault(index, pc, mask.trailing_zeros(), FaultKind::AssertFailed));
        }
        Ok(())
    }

    /// Reads bytes at a lane's generic address.
    fn bytes(
        &mut self,
        index: usize,
        pc: u32,
        lane: usize,
        address: u64,
        into: &mut [u8],
    ) -> Result<(), Stop> {
        let length = into.len() as u64;
        let (space, offset, found) = if in_shared_window(address) {
            let offset = address - SHARED_WINDOW;
            (Space::Shared, offset, self.block.shared.read(offset, into))
        } else if in_local_window(address) {
            let offset = address - LOCAL_WINDOW;
            (Space::Local, offset, self.block.warps[index].activation(0).frame.local.read(lane, offset, into))
        } else {
            (Space::Global, address, self.context.memory.read(address, into).ok())
        };
        found.ok_or_else(|| {
            let kind = FaultKind::OutOfBounds {
                space,
                operation: Operation::Load,
                address: offset,
                bytes: length as u32,
                nearest: if space == Space::Global {
                    self.context.memory.nearest(address, length)
                } else {
                    None
                },
            };
            self.fault(index, pc, lane as u32, kind)
        })
    }

    /// Reads a string up to its terminating zero.
    fn text(&mut self, index: usize, pc: u32, lane: usize, address: u64) -> Result<Vec<u8>, Stop> {
        let mut text = Vec::new();
        for at in address..address.saturating_add(LONGEST) {
            let mut byte = [0];
            self.bytes(index, pc, lane, at, &mut byte)?;
            if byte[0] == 0 {
                break;
            }
            text.push(byte[0]);
        }
        Ok(text)
    }
}

/// Reads an argument of at most 64 bits.
///
/// # Safety
/// The place is of the function that the frame is of.
unsafe fn value(cells: *mut Cell, place: Place, lane: usize) -> u64 {
    // SAFETY: the caller's promise.
    unsafe {
        match place {
            Place::Register(slot, _) => read_lane(cells, slot, lane) as u64,
            Place::Bytes(bytes) => {
                let mut bits = [0; 8];
                let size = (bytes.size as usize).min(8);
                lane_bytes(cells, bytes, lane).copy_to_nonoverlapping(bits.as_mut_ptr(), size);
                u64::from_le_bytes(bits)
            }
        }
    }
}

/// Writes a result of at most 64 bits.
///
/// # Safety
/// As for [`value`].
unsafe fn set(cells: *mut Cell, place: Place, lane: usize, bits: u64) {
    // SAFETY: the caller's promise.
    unsafe {
        match place {
            Place::Register(slot, _) => write_lane(cells, slot, lane, u128::from(bits)),
            Place::Bytes(bytes) => {
                let size = (bytes.size as usize).min(8);
                lane_bytes(cells, bytes, lane).copy_from_nonoverlapping(bits.to_le_bytes().as_ptr(), size);
            }
        }
    }
}
