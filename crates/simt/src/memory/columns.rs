//! Moves a warp's data between memory and the columns of its registers.
//!
//! In memory and in the buffer, the bytes of a lane are contiguous: lane after lane, and within a lane element after
//! element. In registers, each element has a column.

use std::mem::MaybeUninit;

#[cfg(target_arch = "x86_64")]
use super::interleave;
use super::lanes::{self, Pattern, Prepared};
use super::racing;
use super::registers::{read_lane, read_lane_128, write_lane, write_lane_128};
use crate::decode::Level;
use crate::registers::{Cell, Slot, Width};

/// The bytes of 32 lanes, up to 32 each.
#[repr(C, align(64))]
pub(super) struct Buffer([MaybeUninit<u8>; 1024]);

impl Buffer {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self([MaybeUninit::uninit(); 1024])
    }

    #[inline(always)]
    pub(super) fn start(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// The registers of an instruction's data, one per element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Registers {
    slots: [Slot; 8],
    /// Bits of the register that a signed element's sign fills; 0 if it does not.
    sign_bits: u8,
}

impl Registers {
    /// Creates the list. `sign_bits` is the width of the registers if signed elements are narrower, else 0.
    pub(super) fn new(list: &[Slot], sign_bits: u8) -> Self {
        let mut slots = [list[0]; 8];
        slots[..list.len()].copy_from_slice(list);
        Self { slots, sign_bits }
    }

    pub(super) fn sign_bits(&self) -> u8 {
        self.sign_bits
    }
}

/// Moves the data of a mask's lanes between registers and host addresses (`base` plus the prepared ones).
pub(super) type Move =
    unsafe fn(registers: &Registers, frame: *mut Cell, prepared: &Prepared, base: u64, mask: u32);
/// Moves the data of a mask's lanes between registers and a buffer.
pub(super) type Convert = unsafe fn(registers: &Registers, frame: *mut Cell, buffer: *mut u8, mask: u32);

/// Moves the data of a mask's lanes between host addresses and a buffer.
pub(super) type Copy = unsafe fn(prepared: &Prepared, base: u64, buffer: *mut u8, mask: u32);

/// The functions that move data of one shape: elements per lane and their size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mover {
    pub(super) load: Move,
    pub(super) store: Move,
    /// Copies from memory to a buffer.
    pub(super) read: Copy,
    /// Copies from a buffer to memory.
    pub(super) write: Copy,
    /// Copies from a buffer to the registers.
    pub(super) spread: Convert,
    /// Copies from the registers of all lanes to a buffer.
    pub(super) collect: Convert,
}

impl Mover {
    /// Returns the functions of a shape; None if there is no such shape.
    pub(super) fn new(element: u32, count: usize, level: Level) -> Option<Self> {
        macro_rules! shapes {
            ($(($element:literal, $count:literal, $bytes:literal)),*) => {
                match (element, count, level) {
                    $(
                        #[cfg(target_arch = "x86_64")]
                        ($element, $count, Level::Avx2) => Self {
                            load: load_avx2::<$element, $count, $bytes>,
                            store: store_avx2::<$element, $count, $bytes>,
                            read: read_avx2::<$element, $count, $bytes>,
                            write: write_avx2::<$element, $count, $bytes>,
                            spread: spread_avx2::<$element, $count, $bytes>,
                            collect: collect_avx2::<$element, $count, $bytes>,
                        },
                        ($element, $count, _) => Self {
                            load: load_portable::<$element, $count, $bytes>,
                            store: store_portable::<$element, $count, $bytes>,
                            read: read_portable::<$element, $count, $bytes>,
                            write: write_portable::<$element, $count, $bytes>,
                            spread: spread_portable::<$element, $count, $bytes>,
                            collect: collect_portable::<$element, $count, $bytes>,
                        },
                    )*
                    _ => return None,
                }
            };
        }
        Some(shapes!(
            (1, 1, 1),
            (2, 1, 2),
            (4, 1, 4),
            (8, 1, 8),
            (16, 1, 16),
            (1, 2, 2),
            (2, 2, 4),
            (4, 2, 8),
            (8, 2, 16),
            (1, 4, 4),
            (2, 4, 8),
            (4, 4, 16),
            (8, 4, 32),
            (1, 8, 8),
            (2, 8, 16),
            (4, 8, 32)
        ))
    }
}

macro_rules! versions {
    ($body:ident, $portable:ident, $avx2:ident, ($($name:ident: $type:ty),*)) => {
        unsafe fn $portable<const E: usize, const N: usize, const BYTES: usize>($($name: $type),*) {
            // SAFETY: the caller's promise.
            unsafe { $body::<E, N, BYTES, false>($($name),*) }
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        unsafe fn $avx2<const E: usize, const N: usize, const BYTES: usize>($($name: $type),*) {
            // SAFETY: the caller's promise, and AVX2 was there when the instruction was decoded.
            unsafe { $body::<E, N, BYTES, true>($($name),*) }
        }
    };
}

versions!(load, load_portable, load_avx2, (registers: &Registers, frame: *mut Cell, prepared: &Prepared, base: u64, mask: u32));
versions!(store, store_portable, store_avx2, (registers: &Registers, frame: *mut Cell, prepared: &Prepared, base: u64, mask: u32));
versions!(read, read_portable, read_avx2, (prepared: &Prepared, base: u64, buffer: *mut u8, mask: u32));
versions!(write, write_portable, write_avx2, (prepared: &Prepared, base: u64, buffer: *mut u8, mask: u32));
versions!(spread, spread_portable, spread_avx2, (registers: &Registers, frame: *mut Cell, buffer: *mut u8, mask: u32));
versions!(collect, collect_portable, collect_avx2, (registers: &Registers, frame: *mut Cell, buffer: *mut u8, mask: u32));

/// Loads the lanes of a mask from memory into registers.
///
/// # Safety
/// The addresses may be read, and are aligned; the registers are those of the frame.
#[inline(always)]
unsafe fn load<const E: usize, const N: usize, const BYTES: usize, const AVX: bool>(
    registers: &Registers,
    frame: *mut Cell,
    prepared: &Prepared,
    base: u64,
    mask: u32,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut buffer = Buffer::new();
        let bytes = buffer.start();
        if N == 1 && prepared.pattern == Pattern::Row && registers.sign_bits == 0 {
            let slot = registers.slots[0];
            if E == 4 && slot.width == Width::Word {
                racing::load_row::<BYTES, AVX>(base + prepared.lowest, slot.words(frame).cast());
                return;
            }
            if E == 8 && slot.width == Width::Double {
                racing::load_row::<BYTES, AVX>(base + prepared.lowest, slot.doubles(frame).cast());
                return;
            }
        }
        // Inactive lanes have an address that may be read.
        read::<E, N, BYTES, AVX>(prepared, base, bytes, u32::MAX);
        spread::<E, N, BYTES, AVX>(registers, frame, bytes, mask);
    }
}

/// Stores the lanes of a mask from registers to memory.
///
/// # Safety
/// The addresses of the mask may be written, and are aligned; the registers are those of the frame.
#[inline(always)]
unsafe fn store<const E: usize, const N: usize, const BYTES: usize, const AVX: bool>(
    registers: &Registers,
    frame: *mut Cell,
    prepared: &Prepared,
    base: u64,
    mask: u32,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let row = prepared.pattern == Pattern::Row;
        if N == 1 && row {
            let slot = registers.slots[0];
            if E == 4 && slot.width == Width::Word {
                racing::store_row::<BYTES, AVX>(base + prepared.lowest, slot.words(frame).cast());
                return;
            }
            if E == 8 && slot.width == Width::Double {
                racing::store_row::<BYTES, AVX>(base + prepared.lowest, slot.doubles(frame).cast());
                return;
            }
        }
        let mut buffer = Buffer::new();
        let bytes = buffer.start();
        collect::<E, N, BYTES, AVX>(registers, frame, bytes, mask);
        write::<E, N, BYTES, AVX>(prepared, base, bytes, mask);
    }
}

/// Copies the lanes of a mask from memory to a buffer.
///
/// # Safety
/// The addresses may be read, and are aligned; the buffer has room for all lanes.
#[inline(always)]
unsafe fn read<const E: usize, const N: usize, const BYTES: usize, const AVX: bool>(
    prepared: &Prepared,
    base: u64,
    buffer: *mut u8,
    mask: u32,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let load = |lane: usize| {
            racing::load::<BYTES>(base + prepared.addresses[lane], buffer.add(BYTES * lane));
        };
        match prepared.pattern {
            Pattern::Row => racing::load_row::<BYTES, AVX>(base + prepared.lowest, buffer),
            Pattern::One if mask == u32::MAX => {
                racing::load::<BYTES>(base + prepared.lowest, buffer);
                let first = buffer.cast::<[u8; BYTES]>().read();
                for lane in 1..32 {
                    buffer.cast::<[u8; BYTES]>().add(lane).write(first);
                }
            }
            _ if mask == u32::MAX => (0..32).for_each(load),
            _ => lanes::each(mask).for_each(load),
        }
    }
}

/// Copies the lanes of a mask from a buffer to memory.
///
/// # Safety
/// The addresses of the mask may be written, and are aligned; the buffer holds the bytes of its lanes.
#[inline(always)]
unsafe fn write<const E: usize, const N: usize, const BYTES: usize, const AVX: bool>(
    prepared: &Prepared,
    base: u64,
    buffer: *mut u8,
    mask: u32,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let store = |lane: usize| {
            racing::store::<BYTES>(base + prepared.addresses[lane], buffer.add(BYTES * lane));
        };
        if prepared.pattern == Pattern::Row {
            racing::store_row::<BYTES, AVX>(base + prepared.lowest, buffer);
        } else if mask == u32::MAX {
            (0..32).for_each(store);
        } else {
            lanes::each(mask).for_each(store);
        }
    }
}

#[inline(always)]
unsafe fn element<const E: usize>(from: *const u8) -> u64 {
    // SAFETY: the caller has this many bytes there.
    unsafe {
        match E {
            1 => u64::from(from.read()),
            2 => u64::from(from.cast::<u16>().read_unaligned()),
            4 => u64::from(from.cast::<u32>().read_unaligned()),
            _ => from.cast::<u64>().read_unaligned(),
        }
    }
}

/// Returns true if all registers are as wide as their elements, as the fast paths require.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn fitting<const E: usize, const N: usize>(registers: &Registers) -> bool {
    let width = if E == 4 { Width::Word } else { Width::Double };
    registers.slots[..N].iter().all(|slot| slot.width == width)
}

/// Returns true if there is a fast path for the shape.
#[cfg(target_arch = "x86_64")]
const fn is_quick(element: usize, count: usize) -> bool {
    matches!((element, count), (4 | 8, 1) | (4, 2) | (4, 4) | (8, 2))
}

/// Copies the lanes of a mask from a buffer to registers.
///
/// # Safety
/// The buffer holds the bytes of 32 lanes; the registers are those of the frame, wide enough.
#[inline(always)]
unsafe fn spread<const E: usize, const N: usize, const BYTES: usize, const AVX: bool>(
    registers: &Registers,
    frame: *mut Cell,
    buffer: *mut u8,
    mask: u32,
) {
    // SAFETY: the caller's promise.
    unsafe {
        if registers.sign_bits != 0 {
            return spread_signed::<E, N, BYTES>(registers, frame, buffer, mask);
        }
        #[cfg(target_arch = "x86_64")]
        if AVX && is_quick(E, N) && fitting::<E, N>(registers) {
            let mut columns = Buffer::new();
            let mut from = [buffer; 4];
            if N > 1 {
                from = std::array::from_fn(|index| columns.start().add(256 * index));
                interleave::split::<E, N>(buffer, from);
            }
            for (slot, values) in registers.slots[..N].iter().zip(from) {
                let column = frame.add(slot.cell as usize).cast();
                match (E, mask) {
                    (_, u32::MAX) => values.copy_to_nonoverlapping(column, 32 * E),
                    (4, _) => interleave::set_words(column, values, mask),
                    _ => interleave::set_doubles(column, values, mask),
                }
            }
            return;
        }
        #[cfg(target_arch = "x86_64")]
        if AVX && E <= 2 && N == 1 && registers.slots[0].width == Width::Word {
            let mut wide = Buffer::new();
            let wide = wide.start();
            for lane in 0..32 {
                wide.cast::<u32>().add(lane).write(element::<E>(buffer.add(lane * E)) as u32);
            }
            let column = frame.add(registers.slots[0].cell as usize).cast();
            return interleave::set_words(column, wide, mask);
        }
        for (index, slot) in registers.slots[..N].iter().enumerate() {
            let start = buffer.add(index * E);
            for lane in lanes::each(mask) {
                if E == 16 {
                    let value = start.add(lane * BYTES).cast::<u128>().read_unaligned();
                    write_lane_128(*slot, frame, lane, value);
                } else {
                    write_lane(*slot, frame, lane, element::<E>(start.add(lane * BYTES)));
                }
            }
        }
    }
}

/// Sign-extends elements into wider registers.
unsafe fn spread_signed<const E: usize, const N: usize, const BYTES: usize>(
    registers: &Registers,
    frame: *mut Cell,
    buffer: *mut u8,
    mask: u32,
) {
    let above = 64 - 8 * E.min(8) as u32;
    for index in 0..N {
        let slot = registers.slots[index];
        for lane in lanes::each(mask) {
            // SAFETY: as in `spread`.
            unsafe {
                let value = element::<E>(buffer.add(lane * BYTES + index * E));
                let signed = ((value << above) as i64 >> above) as u64;
                match slot.width {
                    Width::Word => {
                        let kept = u32::MAX >> (32 - u32::from(registers.sign_bits.min(32)));
                        (*slot.words(frame))[lane] = signed as u32 & kept;
                    }
                    _ => (*slot.doubles(frame))[lane] = signed,
                }
            }
        }
    }
}

/// Copies all lanes from registers to a buffer.
///
/// # Safety
/// As for `spread`. The buffer gets the bytes of all lanes, those of a mask or not.
#[inline(always)]
unsafe fn collect<const E: usize, const N: usize, const BYTES: usize, const AVX: bool>(
    registers: &Registers,
    frame: *mut Cell,
    buffer: *mut u8,
    _mask: u32,
) {
    // SAFETY: the caller's promise.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        if AVX && is_quick(E, N) && fitting::<E, N>(registers) {
            let from: [*const u8; 4] = std::array::from_fn(|index| {
                frame.add(registers.slots[index].cell as usize).cast_const().cast()
            });
            if N > 1 {
                interleave::join::<E, N>(from, buffer);
            } else {
                from[0].copy_to_nonoverlapping(buffer, 32 * E);
            }
            return;
        }
        for (index, slot) in registers.slots[..N].iter().enumerate() {
            let start = buffer.add(index * E);
            for lane in 0..32 {
                let to = start.add(lane * BYTES);
                match E {
                    1 => to.write(read_lane(*slot, frame, lane) as u8),
                    2 => to.cast::<u16>().write_unaligned(read_lane(*slot, frame, lane) as u16),
                    4 => to.cast::<u32>().write_unaligned(read_lane(*slot, frame, lane) as u32),
                    8 => to.cast::<u64>().write_unaligned(read_lane(*slot, frame, lane)),
                    _ => to.cast::<u128>().write_unaligned(read_lane_128(*slot, frame, lane)),
                }
            }
        }
    }
}
