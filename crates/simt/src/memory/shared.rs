//! A block's shared memory.

use std::collections::BTreeMap;

use super::racing;

/// What shared memory is filled with when a block begins: read as `f32` or `f64` it is no number, and as an index it
/// is out of all bounds.
pub const SHARED_POISON: u32 = 0xFFFA_DBAD;

/// The shared memory of the block that a worker executes, used again for the next: offsets from 0.
#[derive(Debug, Default)]
pub struct SharedMemory {
    words: Vec<u128>,
    bytes: u64,
    /// Of barrier objects by their offsets; kept up for observers only.
    arrivals: BTreeMap<u64, Arrivals>,
}

/// The warps, a bit each, that have arrived at a barrier object.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arrivals {
    /// In the phase under way.
    pub(super) phase: u64,
    /// In the one before, which is complete.
    pub(super) before: u64,
}

impl SharedMemory {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A block begins that has so many bytes, static and dynamic: all of them are [`SHARED_POISON`].
    pub fn begin(&mut self, bytes: u64) {
        let poison = u128::from(SHARED_POISON);
        let poison = poison | poison << 32 | poison << 64 | poison << 96;
        self.words.clear();
        self.words.resize(bytes.div_ceil(16) as usize, poison);
        self.bytes = bytes;
        self.arrivals.clear();
    }

    /// Who has arrived at a barrier object.
    pub(super) fn arrivals(&mut self, offset: u64) -> &mut Arrivals {
        self.arrivals.entry(offset).or_default()
    }

    /// How many bytes the block has.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Where the host has them, a multiple of 16.
    #[inline(always)]
    pub(super) fn base(&mut self) -> u64 {
        self.words.as_mut_ptr().expose_provenance() as u64
    }

    #[inline(always)]
    pub(super) fn has(&self, offset: u64, bytes: u64) -> bool {
        offset < self.bytes && self.bytes - offset >= bytes
    }

    /// Copies a range out; none if the block has no such range.
    pub fn read(&mut self, offset: u64, into: &mut [u8]) -> Option<()> {
        let length = into.len() as u64;
        if !self.has(offset, length) {
            return None;
        }
        // SAFETY: within the block's bytes; the slice is another's.
        unsafe { racing::copy(self.base() + offset, into.as_mut_ptr().expose_provenance() as u64, length) };
        Some(())
    }

    /// Copies a range in; none if the block has no such range.
    pub fn write(&mut self, offset: u64, from: &[u8]) -> Option<()> {
        let length = from.len() as u64;
        if !self.has(offset, length) {
            return None;
        }
        // SAFETY: as in `read`.
        unsafe { racing::copy(from.as_ptr().expose_provenance() as u64, self.base() + offset, length) };
        Some(())
    }
}
