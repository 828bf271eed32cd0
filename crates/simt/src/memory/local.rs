//! Local memory of a warp: private to each of its threads.

use super::columns::Buffer;
use super::lanes::{self, Pattern, Prepared};

/// The local memory of a warp's 32 lanes, each with offsets from 0.
///
/// Words of 32 bits are interleaved as on the hardware: word `w` of lane `k` is the host's word `32 w + k`, so lanes
/// that access one offset access one row. Content is undefined until written (0, at first).
#[derive(Debug, Default)]
pub struct LocalMemory {
    words: Vec<u32>,
    bytes: u64,
}

impl LocalMemory {
    /// Creates `bytes` per lane, at most [`WINDOW_BYTES`](super::WINDOW_BYTES). Pages take host memory when they are
    /// touched.
    pub fn new(bytes: u64) -> Self {
        let bytes = bytes.min(super::WINDOW_BYTES);
        Self { words: vec![0; bytes.div_ceil(4) as usize * 32], bytes }
    }

    /// Grows to at least `bytes` per lane; the content stays.
    pub fn grow(&mut self, bytes: u64) {
        let bytes = bytes.min(super::WINDOW_BYTES);
        if bytes > self.bytes {
            let words = bytes.div_ceil(4) as usize * 32;
            if self.words.is_empty() {
                self.words = vec![0; words];
            } else {
                self.words.resize(words, 0);
            }
            self.bytes = bytes;
        }
    }

    /// Returns the bytes per lane.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    #[inline(always)]
    pub(super) fn has(&self, offset: u64, bytes: u64) -> bool {
        offset < self.bytes && self.bytes - offset >= bytes
    }

    /// Copies a lane's range out; None if there is no such lane or range.
    pub fn read(&self, lane: usize, offset: u64, into: &mut [u8]) -> Option<()> {
        if lane >= 32 || !self.has(offset, into.len() as u64) {
            return None;
        }
        for (byte, at) in into.iter_mut().zip(offset..) {
            *byte = self.words[at as usize / 4 * 32 + lane].to_le_bytes()[at as usize % 4];
        }
        Some(())
    }

    /// Copies a lane's range in; None if there is no such lane or range.
    pub fn write(&mut self, lane: usize, offset: u64, from: &[u8]) -> Option<()> {
        if lane >= 32 || !self.has(offset, from.len() as u64) {
            return None;
        }
        for (byte, at) in from.iter().zip(offset..) {
            let word = &mut self.words[at as usize / 4 * 32 + lane];
            let shift = 8 * (at % 4);
            *word = *word & !(0xFF << shift) | u32::from(*byte) << shift;
        }
        Some(())
    }

    /// Loads `bytes` per lane into a buffer, lane after lane. Offsets are within bounds and aligned.
    #[inline(always)]
    pub(super) fn load(&self, prepared: &Prepared, mask: u32, bytes: u32, buffer: &mut Buffer) {
        match bytes {
            1 | 2 => self.load_narrow(prepared, mask, bytes, buffer),
            4 => self.load_words::<1>(prepared, mask, buffer),
            8 => self.load_words::<2>(prepared, mask, buffer),
            16 => self.load_words::<4>(prepared, mask, buffer),
            _ => self.load_words::<8>(prepared, mask, buffer),
        }
    }

    fn load_words<const WORDS: usize>(&self, prepared: &Prepared, mask: u32, buffer: &mut Buffer) {
        let to = buffer.start().cast::<[u32; WORDS]>();
        if prepared.pattern == Pattern::One {
            let rows = &self.words[prepared.lowest as usize / 4 * 32..][..32 * WORDS];
            for lane in 0..32 {
                // SAFETY: the buffer has room for 32 lanes of up to 32 bytes.
                unsafe { to.add(lane).write(std::array::from_fn(|word| rows[32 * word + lane])) };
            }
            return;
        }
        for lane in lanes::each(mask) {
            let first = prepared.addresses[lane] as usize / 4 * 32 + lane;
            // SAFETY: as above.
            unsafe { to.add(lane).write(std::array::from_fn(|word| self.words[first + 32 * word])) };
        }
    }

    fn load_narrow(&self, prepared: &Prepared, mask: u32, bytes: u32, buffer: &mut Buffer) {
        let to = buffer.start();
        for lane in lanes::each(mask) {
            let offset = prepared.addresses[lane] as usize;
            let value = self.words[offset / 4 * 32 + lane] >> (8 * (offset % 4));
            // SAFETY: the buffer has room for 32 lanes of up to 32 bytes.
            unsafe {
                if bytes == 1 {
                    to.add(lane).write(value as u8);
                } else {
                    to.cast::<u16>().add(lane).write(value as u16);
                }
            }
        }
    }

    /// Stores `bytes` per lane from a buffer, lane after lane. Offsets are within bounds and aligned.
    #[inline(always)]
    pub(super) fn store(&mut self, prepared: &Prepared, mask: u32, bytes: u32, buffer: &mut Buffer) {
        match bytes {
            1 | 2 => self.store_narrow(prepared, mask, bytes, buffer),
            4 => self.store_words::<1>(prepared, mask, buffer),
            8 => self.store_words::<2>(prepared, mask, buffer),
            16 => self.store_words::<4>(prepared, mask, buffer),
            _ => self.store_words::<8>(prepared, mask, buffer),
        }
    }

    fn store_words<const WORDS: usize>(&mut self, prepared: &Prepared, mask: u32, buffer: &mut Buffer) {
        let from = buffer.start().cast::<[u32; WORDS]>();
        if prepared.pattern == Pattern::One && mask == u32::MAX {
            let rows = &mut self.words[prepared.lowest as usize / 4 * 32..][..32 * WORDS];
            for lane in 0..32 {
                // SAFETY: the buffer holds 32 lanes of this many words.
                let values = unsafe { from.add(lane).read() };
                (0..WORDS).for_each(|word| rows[32 * word + lane] = values[word]);
            }
            return;
        }
        for lane in lanes::each(mask) {
            let first = prepared.addresses[lane] as usize / 4 * 32 + lane;
            // SAFETY: as above.
            let values = unsafe { from.add(lane).read() };
            (0..WORDS).for_each(|word| self.words[first + 32 * word] = values[word]);
        }
    }

    fn store_narrow(&mut self, prepared: &Prepared, mask: u32, bytes: u32, buffer: &mut Buffer) {
        let from = buffer.start();
        for lane in lanes::each(mask) {
            let offset = prepared.addresses[lane] as usize;
            // SAFETY: the buffer holds 32 lanes of one or two bytes.
            let (value, kept) = unsafe {
                if bytes == 1 {
                    (u32::from(from.add(lane).read()), 0xFF)
                } else {
                    (u32::from(from.cast::<u16>().add(lane).read()), 0xFFFF)
                }
            };
            let shift = 8 * (offset % 4);
            let word = &mut self.words[offset / 4 * 32 + lane];
            *word = *word & !(kept << shift) | value << shift;
        }
    }
}
