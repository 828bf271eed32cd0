//! A decoded instruction: the function that executes it and the columns of its operands.

use crate::registers::{Cell, Slot, Width};

/// Executes an instruction for the lanes of a mask.
///
/// # Safety
/// The frame is that of a warp in the function for which the slots were made, this computer supports the level at which
/// the instruction was decoded, and no other code uses the frame meanwhile.
pub(crate) type Run = unsafe fn(frame: *mut Cell, slots: &Slots, mask: u32);

/// Columns of an instruction's operands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slots {
    /// Columns written, in cells from the start of the frame.
    pub results: [u32; 2],
    /// Columns read. The results of an instruction beyond the second (a `mov` that unpacks four) are here too.
    pub sources: [u32; 4],
    /// Bits of the opcode, or a small immediate. From bit 26: the results and then the sources to invert.
    pub config: u32,
}

/// A decoded instruction.
#[derive(Clone, Copy, Debug)]
pub struct Arithmetic {
    /// Function that executes it.
    pub run: Run,
    /// Its columns.
    pub slots: Slots,
    pub(super) shape: Shape,
}

impl Arithmetic {
    /// Returns the columns that it writes in the lanes of the mask.
    pub fn results(&self) -> impl Iterator<Item = Slot> + use<> {
        self.shape.results(self.slots)
    }

    /// Returns the columns that it reads.
    pub fn sources(&self) -> impl Iterator<Item = Slot> + use<> {
        self.shape.sources(self.slots)
    }
}

/// A decoded collective: an instruction of several lanes.
#[derive(Clone, Copy, Debug)]
pub struct Collective {
    /// Function that executes it, for all lanes that have met.
    pub run: Run,
    /// Its columns.
    pub slots: Slots,
    /// Column of the member mask: the lanes that must meet before it executes. None for the lanes that are present.
    pub member_mask: Option<Slot>,
    pub(super) shape: Shape,
}

impl Collective {
    /// Returns the columns that it writes in the lanes of the mask.
    pub fn results(&self) -> impl Iterator<Item = Slot> + use<> {
        self.shape.results(self.slots)
    }

    /// Returns the columns that it reads, the member mask included.
    pub fn sources(&self) -> impl Iterator<Item = Slot> + use<> {
        self.shape.sources(self.slots).chain(self.member_mask)
    }
}

/// The used slots of [`Slots`] and their widths: four bits per slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shape(u32);

impl Shape {
    pub(super) fn set(&mut self, index: u32, width: Width, is_result: bool) {
        let width = match width {
            Width::Predicate => 1,
            Width::Word => 2,
            Width::Double => 3,
            Width::Quad => 4,
        };
        self.0 |= (width | u32::from(is_result) << 3) << (4 * index);
    }

    fn slots(self, slots: Slots, results: bool) -> impl Iterator<Item = Slot> {
        let ([a, b], [c, d, e, f]) = (slots.results, slots.sources);
        [a, b, c, d, e, f].into_iter().zip(0..).filter_map(move |(cell, index)| {
            let bits = self.0 >> (4 * index) & 15;
            let width = match bits & 7 {
                1 => Width::Predicate,
                2 => Width::Word,
                3 => Width::Double,
                4 => Width::Quad,
                _ => return None,
            };
            (results == (bits & 8 != 0)).then_some(Slot { cell, width })
        })
    }

    fn results(self, slots: Slots) -> impl Iterator<Item = Slot> {
        self.slots(slots, true)
    }

    fn sources(self, slots: Slots) -> impl Iterator<Item = Slot> {
        self.slots(slots, false)
    }
}
