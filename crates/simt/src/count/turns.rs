//! Estimates how long a request occupies L1, in turns. A *turn* is one clock of L1.
//!
//! L1 looks up the tags of several lines in one turn if they fall into different tag banks, and moves 128 bytes of data
//! per turn. On an H200, lanes that are whole lines apart take 0.3 clocks each (gpu-benches, a warp's load by stride),
//! which is about four banks. The model assumes that a line's lowest bits select its bank, so lines a power of two
//! apart conflict; that agrees with measurements of kernels that walk down the columns of a matrix.
//!
//! For example, 32 lanes that are 128 bytes apart touch 32 lines, eight per bank: 8 turns. 32 lanes that are 512 bytes
//! apart touch 32 lines of one bank: 32 turns.

use crate::coalescing::Traffic;

/// Number of tag banks.
pub(super) const BANKS: usize = 4;

/// Returns the turns for the tags of these lines; a line that repeats its predecessor is not counted again.
pub(crate) fn of_tags(lines: impl Iterator<Item = u64>) -> u32 {
    let mut banks = [0; BANKS];
    let mut last = u64::MAX;
    for line in lines {
        banks[line as usize % BANKS] += u32::from(line != last);
        last = line;
    }
    banks.into_iter().max().unwrap_or(0)
}

/// Returns the turns for the data. Lanes with one address get the same data.
#[inline(always)]
pub(super) fn of_data(traffic: &Traffic) -> u32 {
    traffic.bytes_used.min(traffic.bytes_moved).div_ceil(128).max(1)
}

/// Returns the turns before 5.0, estimated from the lines alone: 0.3 per line, and at least one per request.
pub(super) fn before_maxwell(traffic: &Traffic) -> u32 {
    (traffic.lines * 3).div_ceil(10).max(traffic.requests)
}
