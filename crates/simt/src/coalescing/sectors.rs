//! Counts distinct sectors and lines, the inner loop of all counting from Maxwell on.
//!
//! The interpreter does this once for every memory instruction of every warp. Nearly all warps of real kernels have all
//! lanes active and addresses that do not decrease from lane to lane; then the distinct sectors are the changes of the
//! sector's number. The loops below have no branch and use only additions, shifts and logic, so they vectorise at any
//! level of x86-64, and with 256 bits where they are inlined into a caller compiled for AVX2.

use super::request::{Addresses, LANES};

/// Bytes of a sector: the unit of transfers from Maxwell on, and the smallest on any card.
pub const SECTOR_BYTES: u64 = 32;

/// Bytes of a line: the unit of tags in L1 and L2, four sectors.
pub const LINE_BYTES: u64 = 128;

const SECTOR_SHIFT: u32 = SECTOR_BYTES.trailing_zeros();
const LINE_SHIFT: u32 = LINE_BYTES.trailing_zeros();

/// Returns the distinct 32-byte sectors and 128-byte lines that the active lanes touch. This is the rule from Maxwell
/// on: a whole warp is one request, and the order of its lanes does not matter.
#[inline(always)]
pub fn sectors_and_lines(addresses: &Addresses, active: u32) -> (u32, u32) {
    if active == u32::MAX {
        let (sectors, lines, ascending) = changes(addresses);
        if ascending {
            return (sectors, lines);
        }
    }
    sectors_and_lines_in_any_order(addresses, active)
}

/// Returns the result of [`sectors_and_lines`] for addresses that do not decrease; false if some do.
#[inline(always)]
fn changes(addresses: &Addresses) -> (u32, u32, bool) {
    // A lane's difference has its top bit set if the address decreases. A number below 2^63 plus 2^63 - 1 has its top
    // bit set if it is not 0.
    let (mut decreases, mut sectors, mut lines) = (0_u64, 1_u64, 1_u64);
    for lane in 1..LANES {
        let (before, here) = (addresses[lane - 1], addresses[lane]);
        decreases |= here.wrapping_sub(before);
        sectors += ((here >> SECTOR_SHIFT) ^ (before >> SECTOR_SHIFT)).wrapping_add(i64::MAX as u64) >> 63;
        lines += ((here >> LINE_SHIFT) ^ (before >> LINE_SHIFT)).wrapping_add(i64::MAX as u64) >> 63;
    }
    (sectors as u32, lines as u32, decreases >> 63 == 0)
}

#[cold]
#[inline(never)]
fn sectors_and_lines_in_any_order(addresses: &Addresses, active: u32) -> (u32, u32) {
    let mut packed = [0; LANES];
    let mut count = 0;
    let mut remaining = active;
    while remaining != 0 {
        packed[count] = addresses[remaining.trailing_zeros() as usize];
        count += 1;
        remaining &= remaining - 1;
    }
    let packed = &mut packed[..count];
    if !packed.is_sorted() {
        packed.sort_unstable();
    }
    (distinct_ascending(packed, SECTOR_SHIFT), distinct_ascending(packed, LINE_SHIFT))
}

/// Returns the number of distinct values of `address >> shift`, for addresses that do not decrease.
pub(super) fn distinct_ascending(addresses: &[u64], shift: u32) -> u32 {
    let changes = addresses.windows(2).filter(|pair| pair[0] >> shift != pair[1] >> shift).count();
    changes as u32 + u32::from(!addresses.is_empty())
}
