//! Frames: the columns of a warp's registers in one activation of a function.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use super::context::Context;
use super::function::FunctionCode;
use super::layout::{Bytes, Fill};
use super::special::Special;
use super::step::ParameterLoad;
use crate::memory::LocalMemory;
use crate::registers::{Cell, Slot, Width};

/// The columns of a function's registers, for the lanes of one warp.
pub(super) struct Frame {
    cells: NonNull<Cell>,
    memory: Layout,
    /// For each column, at its cell over eight, the lanes that are undefined. Empty unless an observer tracks them.
    pub(super) undefined: Vec<u32>,
    /// The warp's local memory; only in frames of kernels.
    pub(super) local: LocalMemory,
    /// Return addresses; only in frames of called functions.
    pub(super) links: Option<Box<Links>>,
    /// Block and warp for which the columns that depend on them are filled.
    block: u64,
    warp: u32,
}

/// For each lane of a called function, where it returns to.
#[derive(Default)]
pub(super) struct Links {
    /// The pc after the call.
    pub(super) places: [u32; 32],
    /// Index of the caller's activation.
    pub(super) callers: [u32; 32],
    /// Start of the function's local memory, in bytes from that of the thread.
    pub(super) locals: [u32; 32],
}

// SAFETY: the cells are the frame's own.
unsafe impl Send for Frame {}

impl Drop for Frame {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.cells.as_ptr().cast(), self.memory) };
    }
}

impl Frame {
    /// Creates a frame and fills the columns that are constant during a launch.
    pub(super) fn new(function: &FunctionCode, context: &Context<'_>) -> Self {
        let bytes = function.cells as usize * size_of::<Cell>();
        let memory =
            Layout::from_size_align(bytes.max(64), 64).expect("frames are limited when they are laid out");
        // SAFETY: the size is not 0.
        let Some(cells) = NonNull::new(unsafe { alloc_zeroed(memory) }.cast()) else {
            handle_alloc_error(memory)
        };
        let local = LocalMemory::new(if function.is_entry { context.local_bytes } else { 0 });
        let mut frame = Self {
            cells,
            memory,
            undefined: Vec::new(),
            local,
            links: None,
            block: u64::MAX,
            warp: u32::MAX,
        };
        for (slot, fill) in &function.filled {
            let bits = match fill {
                Fill::Bits(bits) => *bits,
                Fill::Shared(variable, offset) => {
                    let place = context.code.shared.get(*variable as usize).copied().flatten().unwrap_or(0);
                    u128::from(u64::from(place).wrapping_add_signed(*offset))
                }
                Fill::Parameters(offset) => {
                    u128::from(context.parameter_address.wrapping_add_signed(*offset))
                }
                Fill::Special(special, size) => {
                    frame.special((*slot, *special, *size), context, 0, 0, 0);
                    continue;
                }
                Fill::Local(_) => continue,
            };
            frame.fill(*slot, |_| bits);
        }
        frame
    }

    /// Returns a pointer to the frame's first cell.
    pub(super) fn cells(&self) -> *mut Cell {
        self.cells.as_ptr()
    }

    /// Fills the columns that depend on the block and the warp, and the registers that may be read before they are
    /// written.
    pub(super) fn begin(&mut self, function: &FunctionCode, context: &Context<'_>, block: u64, warp: u32) {
        self.place(function, context, block, warp);
        for slot in &function.undefined_at_start {
            self.fill(*slot, |_| 0);
        }
    }

    /// Forgets for which block and warp the columns are filled.
    pub(super) fn forget_place(&mut self) {
        self.block = u64::MAX;
        self.warp = u32::MAX;
    }

    /// Fills the columns that depend on the block and the warp.
    pub(super) fn place(&mut self, function: &FunctionCode, context: &Context<'_>, block: u64, warp: u32) {
        if self.block != block {
            self.block = block;
            for column in &function.by_block {
                self.special(*column, context, block, warp, 0);
            }
        }
        if self.warp != warp {
            self.warp = warp;
            for column in &function.by_warp {
                self.special(*column, context, block, warp, 0);
            }
        }
    }

    /// Starts to track undefined lanes: all columns are undefined except filled ones.
    pub(super) fn track(&mut self, function: &FunctionCode) {
        self.undefined.clear();
        self.undefined.resize(function.cells.div_ceil(8) as usize, u32::MAX);
        for (slot, _) in &function.filled {
            self.undefined[slot.cell as usize / 8] = 0;
        }
    }

    /// Sets the undefined lanes of columns.
    pub(super) fn define(&mut self, slots: impl Iterator<Item = Slot>, undefined: u32) {
        slots.for_each(|slot| self.undefined[slot.cell as usize / 8] = undefined);
    }

    /// Returns true if all lanes of these columns are defined.
    pub(super) fn are_defined(&self, mut slots: impl Iterator<Item = Slot>) -> bool {
        slots.all(|slot| self.undefined[slot.cell as usize / 8] == 0)
    }

    /// Fills the column of a special register, which has this size in bytes.
    pub(super) fn special(
        &mut self,
        (slot, special, size): (Slot, Special, u8),
        context: &Context<'_>,
        block: u64,
        warp: u32,
        cycles: u64,
    ) {
        let cut = u128::MAX >> (128 - 8 * u32::from(size.clamp(1, 16)));
        match special {
            Special::Thread(axis) => {
                let column = &context.threads[warp as usize][usize::from(axis)];
                self.fill(slot, |lane| u128::from(column[lane]) & cut);
            }
            Special::Lane => self.fill(slot, |lane| lane as u128),
            Special::LaneMask(mask) => self.fill(slot, |lane| u128::from(mask.of(lane as u32)) & cut),
            _ => {
                let value = context.special(special, block, warp, cycles);
                self.fill(slot, |_| u128::from(value) & cut);
            }
        }
    }

    /// Fills a column with a value for each lane.
    #[inline(always)]
    pub(super) fn fill(&mut self, slot: Slot, value: impl Fn(usize) -> u128) {
        let cells = self.cells();
        // SAFETY: the slot is one of the function that this is a frame of.
        unsafe {
            match slot.width {
                Width::Word => {
                    let column = &mut *slot.words(cells);
                    column.iter_mut().enumerate().for_each(|(lane, word)| *word = value(lane) as u32);
                }
                Width::Double => {
                    let column = &mut *slot.doubles(cells);
                    column.iter_mut().enumerate().for_each(|(lane, word)| *word = value(lane) as u64);
                }
                _ => (0..32).for_each(|lane| write_lane(cells, slot, lane, value(lane))),
            }
        }
    }
}

/// Reads one lane of a column.
///
/// # Safety
/// `frame` is a frame of the function that the slot belongs to, and `lane` is below 32.
pub(super) unsafe fn read_lane(frame: *mut Cell, slot: Slot, lane: usize) -> u128 {
    // SAFETY: the caller's promise.
    unsafe {
        match slot.width {
            Width::Predicate => u128::from(*slot.predicate(frame) >> lane & 1),
            Width::Word => u128::from((*slot.words(frame))[lane]),
            Width::Double => u128::from((*slot.doubles(frame))[lane]),
            Width::Quad => {
                let halves = slot.doubles(frame);
                u128::from((*halves)[lane]) | u128::from((*halves.add(1))[lane]) << 64
            }
        }
    }
}

/// Writes one lane of a column.
///
/// # Safety
/// As for [`read_lane`].
pub(super) unsafe fn write_lane(frame: *mut Cell, slot: Slot, lane: usize, bits: u128) {
    // SAFETY: the caller's promise.
    unsafe {
        match slot.width {
            Width::Predicate => {
                let lanes = slot.predicate(frame);
                *lanes = *lanes & !(1 << lane) | ((bits & 1) as u32) << lane;
            }
            Width::Word => (*slot.words(frame))[lane] = bits as u32,
            Width::Double => (*slot.doubles(frame))[lane] = bits as u64,
            Width::Quad => {
                let halves = slot.doubles(frame);
                (*halves)[lane] = bits as u64;
                (*halves.add(1))[lane] = (bits >> 64) as u64;
            }
        }
    }
}

/// Loads a kernel's parameter into a register, in the lanes of a mask.
///
/// # Safety
/// The register is one of the function that the frame is of, and the parameter lies within the bytes.
#[inline(always)]
pub(super) unsafe fn load_parameter(frame: *mut Cell, load: &ParameterLoad, parameters: &[u8], mask: u32) {
    let ParameterLoad { offset, result, load } = *load;
    let bytes = usize::from(load.bytes);
    let mut bits = [0; 16];
    bits[..bytes].copy_from_slice(&parameters[offset as usize..][..bytes]);
    let value = load.extend(u128::from_le_bytes(bits));
    // SAFETY: the caller's promise.
    unsafe { fill_lanes(frame, result, mask, value) };
}

/// Writes the same value to all lanes of a mask.
///
/// # Safety
/// The column is one of the function that the frame is of.
#[inline(always)]
pub(super) unsafe fn fill_lanes(frame: *mut Cell, slot: Slot, mask: u32, value: u128) {
    // SAFETY: the caller's promise.
    unsafe {
        match slot.width {
            Width::Word => {
                for (lane, word) in (*slot.words(frame)).iter_mut().enumerate() {
                    *word = if mask >> lane & 1 != 0 { value as u32 } else { *word };
                }
            }
            Width::Double => {
                for (lane, word) in (*slot.doubles(frame)).iter_mut().enumerate() {
                    *word = if mask >> lane & 1 != 0 { value as u64 } else { *word };
                }
            }
            _ => lanes_of(mask).for_each(|lane| write_lane(frame, slot, lane, value)),
        }
    }
}

/// Returns a pointer to a lane's bytes of a parameter.
///
/// # Safety
/// As for [`read_lane`].
pub(super) unsafe fn lane_bytes(frame: *mut Cell, bytes: Bytes, lane: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { frame.add(bytes.cell as usize).cast::<u8>().add(lane * bytes.stride as usize) }
}

/// Returns the lanes of a mask, lowest first.
pub(super) fn lanes_of(mask: u32) -> impl Iterator<Item = usize> {
    let mut left = mask;
    std::iter::from_fn(move || {
        let lane = left.trailing_zeros() as usize;
        (left != 0).then(|| {
            left &= left - 1;
            lane
        })
    })
}
