//! Shared memory of a block.

use std::collections::BTreeMap;

use super::racing;

/// Word with which shared memory is filled when a block begins. As `f32` or `f64` it is a NaN, and as an index it is
/// out of bounds.
pub const SHARED_POISON: u32 = 0xFFFA_DBAD;

/// The shared memory of the block that a worker executes, reused for the next one: offsets from 0.
#[derive(Debug, Default)]
pub struct SharedMemory {
    words: Vec<u128>,
    bytes: u64,
    /// Warps that have arrived at barrier objects, by offset; recorded for observers only.
    arrivals: BTreeMap<u64, Arrivals>,
}

/// Warps that have arrived at a barrier object, a bit each.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arrivals {
    /// Arrivals in the current phase.
    pub(super) phase: u64,
    /// Arrivals in the previous phase, which is complete.
    pub(super) before: u64,
}

impl SharedMemory {
    /// Creates empty shared memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins a block with `bytes` of shared memory, static and dynamic, all of them [`SHARED_POISON`].
    pub fn begin(&mut self, bytes: u64) {
        let poison = u128::from(SHARED_POISON);
        let poison = poison | poison << 32 | poison << 64 | poison << 96;
        self.words.clear();
        self.words.resize(bytes.div_ceil(16) as usize, poison);
        self.bytes = bytes;
        self.arrivals.clear();
    }

    /// Returns the warps that have arrived at a barrier object.
    pub(super) fn arrivals(&mut self, offset: u64) -> &mut Arrivals {
        self.arrivals.entry(offset).or_default()
    }

    /// Returns the block's bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the host's address of the first byte, a multiple of 16.
    #[inline(always)]
    pub(crate) fn base(&mut self) -> u64 {
        self.words.as_mut_ptr().expose_provenance() as u64
    }

    #[inline(always)]
    pub(super) fn has(&self, offset: u64, bytes: u64) -> bool {
        offset < self.bytes && self.bytes - offset >= bytes
    }

    /// Copies a range out; None if the block has no such range.
    pub fn read(&mut self, offset: u64, into: &mut [u8]) -> Option<()> {
        let length = into.len() as u64;
        if !self.has(offset, length) {
            return None;
        }
        // SAFETY: within the block's bytes; the slice is another's.
        unsafe { racing::copy(self.base() + offset, into.as_mut_ptr().expose_provenance() as u64, length) };
        Some(())
    }

    /// Copies a range in; None if the block has no such range.
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
