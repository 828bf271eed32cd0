//! The registers of a warp: each is a column of 32 lanes in the warp's frame.
//!
//! A frame is an array of 64-bit cells. A [`Slot`] is a register's first cell and its width. Predicates are one bit per
//! lane. 8, 16 and 32-bit registers are 32 words of 32 bits, whose unused high bits are 0. 64-bit registers are 32
//! words of 64 bits, and 128-bit registers two such columns, low halves first. Columns begin at multiples of 64 bytes.
//! Immediates, addresses of symbols and special registers are columns too, filled before execution, so instructions
//! read nothing but columns.

use crate::ptx::ScalarType;

/// The unit of a frame: 64 bits.
pub type Cell = u64;

/// Width of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    /// One bit per lane, in the low half of one cell.
    Predicate,
    /// 8, 16 or 32 bits per lane: `[u32; 32]`.
    Word,
    /// 64 bits per lane: `[u64; 32]`.
    Double,
    /// 128 bits per lane: two of `[u64; 32]`, low halves and high halves.
    Quad,
}

impl Width {
    /// Returns the width of a register of this type.
    pub fn of(scalar: ScalarType) -> Self {
        match scalar.size() {
            None => Self::Predicate,
            Some(1..=4) => Self::Word,
            Some(8) => Self::Double,
            Some(_) => Self::Quad,
        }
    }

    /// Returns the cells of a column, a multiple of eight.
    pub fn cells(self) -> u32 {
        match self {
            Self::Predicate => 8,
            Self::Word => 16,
            Self::Double => 32,
            Self::Quad => 64,
        }
    }
}

/// Position and width of a register in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    /// Index of the first cell in the frame, a multiple of eight.
    pub cell: u32,
    /// Width of the register, which may exceed what an instruction reads or writes of it.
    pub width: Width,
}

impl Slot {
    /// Returns a pointer to the column of 32-bit lanes.
    ///
    /// # Safety
    /// `frame` is a warp's frame of the function that the slot belongs to, and the slot is a [`Width::Word`].
    #[inline(always)]
    pub unsafe fn words(self, frame: *mut Cell) -> *mut [u32; 32] {
        // SAFETY: slots lie within their frame.
        unsafe { frame.add(self.cell as usize).cast() }
    }

    /// Returns a pointer to the column of 64-bit lanes.
    ///
    /// # Safety
    /// As for [`Slot::words`], of a [`Width::Double`] or the low half of a [`Width::Quad`].
    #[inline(always)]
    pub unsafe fn doubles(self, frame: *mut Cell) -> *mut [u64; 32] {
        // SAFETY: slots lie within their frame.
        unsafe { frame.add(self.cell as usize).cast() }
    }

    /// Returns a pointer to the lanes' bits.
    ///
    /// # Safety
    /// As for [`Slot::words`], of a [`Width::Predicate`].
    #[inline(always)]
    pub unsafe fn predicate(self, frame: *mut Cell) -> *mut u32 {
        // SAFETY: slots lie within their frame.
        unsafe { frame.add(self.cell as usize).cast() }
    }
}
