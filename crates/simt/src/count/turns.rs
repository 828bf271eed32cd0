//! How long a request keeps L1 busy, in turns of one a clock.
//!
//! L1 looks up the tags of several lines at a time if they fall to different banks of tags, and moves 128 bytes of data at
//! a time. Lanes that are whole lines apart take 0.3 clocks each on an H200 (gpu-benches, a warp's load by stride), which
//! is four banks and a little; that lines go round the banks by their lowest bits is assumed, and that lines which are a
//! power of two apart wait for each other fits what walks down the columns of a matrix.

use crate::coalescing::Traffic;

/// Banks of tags.
pub(super) const BANKS: usize = 4;

/// Turns for the tags of these lines, which come each once, but for those that come one after another.
pub(super) fn of_tags(lines: impl Iterator<Item = u64>) -> u32 {
    let mut banks = [0; BANKS];
    let mut last = u64::MAX;
    for line in lines {
        banks[line as usize % BANKS] += u32::from(line != last);
        last = line;
    }
    banks.into_iter().max().unwrap_or(0)
}

/// Turns for the data, of which lanes that share an address get the same.
#[inline(always)]
pub(super) fn of_data(traffic: &Traffic) -> u32 {
    traffic.bytes_used.min(traffic.bytes_moved).div_ceil(128).max(1)
}

/// Before 5.0, by the number of lines alone: three in ten of them, and one a request at least.
pub(super) fn before_maxwell(traffic: &Traffic) -> u32 {
    (traffic.lines * 3).div_ceil(10).max(traffic.requests)
}
