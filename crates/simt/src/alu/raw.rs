//! Reads and writes columns, lane by lane and all at once.

use crate::registers::Cell;

/// The content of a column for one lane.
pub(super) trait Raw: Copy {
    /// A column to read, prepared before the loop.
    type Column: Copy;
    /// Results of all lanes, before those of the mask are written.
    type Buffer;

    /// Prepares a column.
    ///
    /// # Safety
    /// The column lies in the frame and is as wide as `Self` requires.
    unsafe fn column(frame: *mut Cell, cell: u32, invert: bool) -> Self::Column;

    /// Reads a lane.
    ///
    /// # Safety
    /// The column is as [`Raw::column`] returned it, and `lane` is below 32.
    unsafe fn get(column: Self::Column, lane: usize) -> Self;

    fn buffer() -> Self::Buffer;

    fn put(buffer: &mut Self::Buffer, lane: usize, value: Self);

    /// Writes the lanes of the mask.
    ///
    /// # Safety
    /// As for [`Raw::column`].
    unsafe fn store(buffer: &Self::Buffer, frame: *mut Cell, cell: u32, mask: u32, invert: bool);
}

macro_rules! plain_column {
    ($raw:ty) => {
        impl Raw for $raw {
            type Column = *const $raw;
            type Buffer = [$raw; 32];

            #[inline(always)]
            unsafe fn column(frame: *mut Cell, cell: u32, _: bool) -> Self::Column {
                // SAFETY: the column lies in the frame.
                unsafe { frame.add(cell as usize).cast() }
            }

            #[inline(always)]
            unsafe fn get(column: Self::Column, lane: usize) -> Self {
                // SAFETY: columns have 32 lanes.
                unsafe { *column.add(lane) }
            }

            #[inline(always)]
            fn buffer() -> Self::Buffer {
                [0; 32]
            }

            #[inline(always)]
            fn put(buffer: &mut Self::Buffer, lane: usize, value: Self) {
                buffer[lane] = value;
            }

            #[inline(always)]
            unsafe fn store(buffer: &Self::Buffer, frame: *mut Cell, cell: u32, mask: u32, _: bool) {
                // SAFETY: the column lies in the frame, which no other code uses meanwhile.
                let column = unsafe { &mut *frame.add(cell as usize).cast::<[$raw; 32]>() };
                if mask == u32::MAX {
                    *column = *buffer;
                } else {
                    for lane in 0..32 {
                        let chosen = mask & 1 << lane != 0;
                        column[lane] = if chosen { buffer[lane] } else { column[lane] };
                    }
                }
            }
        }
    };
}

plain_column!(u32);
plain_column!(u64);

/// The low half of a 64-bit register, for instructions whose operand may be wider than their type.
#[derive(Clone, Copy)]
pub(super) struct LowHalf(pub(super) u32);

impl Raw for LowHalf {
    type Column = *const u64;
    type Buffer = ();

    #[inline(always)]
    unsafe fn column(frame: *mut Cell, cell: u32, _: bool) -> Self::Column {
        // SAFETY: the column lies in the frame.
        unsafe { frame.add(cell as usize).cast_const() }
    }

    #[inline(always)]
    unsafe fn get(column: Self::Column, lane: usize) -> Self {
        // SAFETY: columns have 32 lanes.
        Self(unsafe { *column.add(lane) } as u32)
    }

    fn buffer() -> Self::Buffer {}

    fn put((): &mut Self::Buffer, _: usize, _: Self) {}

    unsafe fn store((): &Self::Buffer, _: *mut Cell, _: u32, _: u32, _: bool) {}
}

impl Raw for bool {
    type Column = u32;
    type Buffer = u32;

    #[inline(always)]
    unsafe fn column(frame: *mut Cell, cell: u32, invert: bool) -> Self::Column {
        // SAFETY: the column lies in the frame.
        let bits = unsafe { *frame.add(cell as usize).cast::<u32>() };
        bits ^ 0u32.wrapping_sub(u32::from(invert))
    }

    #[inline(always)]
    unsafe fn get(column: Self::Column, lane: usize) -> Self {
        column & 1 << lane != 0
    }

    #[inline(always)]
    fn buffer() -> Self::Buffer {
        0
    }

    #[inline(always)]
    fn put(buffer: &mut Self::Buffer, lane: usize, value: Self) {
        *buffer |= if value { 1 << lane } else { 0 };
    }

    #[inline(always)]
    unsafe fn store(buffer: &Self::Buffer, frame: *mut Cell, cell: u32, mask: u32, invert: bool) {
        // SAFETY: the column lies in the frame, which no other code uses meanwhile.
        let bits = unsafe { &mut *frame.add(cell as usize).cast::<u32>() };
        *bits = *bits & !mask | (*buffer ^ 0u32.wrapping_sub(u32::from(invert))) & mask;
    }
}

impl Raw for u128 {
    type Column = *const u64;
    type Buffer = [[u64; 32]; 2];

    #[inline(always)]
    unsafe fn column(frame: *mut Cell, cell: u32, _: bool) -> Self::Column {
        // SAFETY: the column lies in the frame.
        unsafe { frame.add(cell as usize).cast_const() }
    }

    #[inline(always)]
    unsafe fn get(column: Self::Column, lane: usize) -> Self {
        // SAFETY: the column is two of 32 lanes.
        let (low, high) = unsafe { (*column.add(lane), *column.add(32 + lane)) };
        Self::from(low) | Self::from(high) << 64
    }

    #[inline(always)]
    fn buffer() -> Self::Buffer {
        [[0; 32]; 2]
    }

    #[inline(always)]
    fn put(buffer: &mut Self::Buffer, lane: usize, value: Self) {
        buffer[0][lane] = value as u64;
        buffer[1][lane] = (value >> 64) as u64;
    }

    #[inline(always)]
    unsafe fn store(buffer: &Self::Buffer, frame: *mut Cell, cell: u32, mask: u32, _: bool) {
        // SAFETY: the column is two of 64-bit lanes, side by side.
        unsafe {
            u64::store(&buffer[0], frame, cell, mask, false);
            u64::store(&buffer[1], frame, cell + 32, mask, false);
        }
    }
}

impl Raw for () {
    type Column = ();
    type Buffer = ();

    #[inline(always)]
    unsafe fn column(_: *mut Cell, _: u32, _: bool) {}

    #[inline(always)]
    unsafe fn get((): (), _: usize) {}

    #[inline(always)]
    fn buffer() {}

    #[inline(always)]
    fn put((): &mut (), _: usize, (): ()) {}

    #[inline(always)]
    unsafe fn store((): &(), _: *mut Cell, _: u32, _: u32, _: bool) {}
}
