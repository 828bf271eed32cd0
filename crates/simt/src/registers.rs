//! The registers of a warp: one column of 32 lanes each, side by side in the warp's frame.
//!
//! A frame is a row of 64-bit words. A register is a [`Slot`] of it: where its column begins, and how wide it is.
//! Predicates are one bit a lane; 8, 16 and 32-bit registers are 32 words of 32 bits, whose unused high bits are 0;
//! 64-bit registers are 32 words of 64 bits; 128-bit registers are two such columns, the low halves first. Columns begin
//! at multiples of 64 bytes. Immediates, addresses of symbols and special registers are columns like any other, filled
//! beforehand, so whoever executes an instruction sees registers only.

use crate::ptx::ScalarType;

/// A frame's unit.
pub type Cell = u64;

/// How wide a column is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    /// One bit a lane, in the low half of one cell.
    Predicate,
    /// 8, 16 or 32 bits a lane: `[u32; 32]`.
    Word,
    /// `[u64; 32]`.
    Double,
    /// Two of `[u64; 32]`: low halves, high halves.
    Quad,
}

impl Width {
    /// The width of a register of this type.
    pub fn of(scalar: ScalarType) -> Self {
        match scalar.size() {
            None => Self::Predicate,
            Some(1..=4) => Self::Word,
            Some(8) => Self::Double,
            Some(_) => Self::Quad,
        }
    }

    /// Cells that a column takes, a multiple of eight.
    pub fn cells(self) -> u32 {
        match self {
            Self::Predicate => 8,
            Self::Word => 16,
            Self::Double => 32,
            Self::Quad => 64,
        }
    }
}

/// A register's place in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    /// In cells from the frame's beginning, a multiple of eight.
    pub cell: u32,
    /// How wide the register is, which may be wider than what an instruction reads or writes of it.
    pub width: Width,
}

impl Slot {
    /// Where the column of 32-bit lanes begins.
    ///
    /// # Safety
    /// `frame` is a warp's frame of the function that the slot belongs to, and the slot is a [`Width::Word`].
    #[inline(always)]
    pub unsafe fn words(self, frame: *mut Cell) -> *mut [u32; 32] {
        // SAFETY: slots lie within their frame.
        unsafe { frame.add(self.cell as usize).cast() }
    }

    /// Where the column of 64-bit lanes begins.
    ///
    /// # Safety
    /// As for [`Slot::words`], of a [`Width::Double`] or the low half of a [`Width::Quad`].
    #[inline(always)]
    pub unsafe fn doubles(self, frame: *mut Cell) -> *mut [u64; 32] {
        // SAFETY: slots lie within their frame.
        unsafe { frame.add(self.cell as usize).cast() }
    }

    /// Where the lanes' bits are.
    ///
    /// # Safety
    /// As for [`Slot::words`], of a [`Width::Predicate`].
    #[inline(always)]
    pub unsafe fn predicate(self, frame: *mut Cell) -> *mut u32 {
        // SAFETY: slots lie within their frame.
        unsafe { frame.add(self.cell as usize).cast() }
    }
}
