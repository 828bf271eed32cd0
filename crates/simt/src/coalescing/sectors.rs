//! Counting distinct sectors and lines, the inner loop of everything from Maxwell on.
//!
//! An interpreter asks this once for every memory instruction of every warp. Nearly all warps of real kernels have all
//! lanes active and addresses that do not decrease from lane to lane; for these, distinct sectors are the places
//! where the sector number changes. The loops below have no branch and use only additions, shifts and logic, so that
//! they become vector code at any level of x86-64 and, inlined into a caller compiled for AVX2, in 256 bits.

use super::request::{Addresses, LANES};

/// The unit in which memory is moved from Maxwell on, and the smallest anywhere.
pub const SECTOR_BYTES: u64 = 32;

/// The unit in which L1 and L2 keep tags: four sectors.
pub const LINE_BYTES: u64 = 128;

const SECTOR_SHIFT: u32 = SECTOR_BYTES.trailing_zeros();
const LINE_SHIFT: u32 = LINE_BYTES.trailing_zeros();

/// Distinct 32-byte sectors and distinct 128-byte lines that the active lanes touch: the rule from Maxwell on, where
/// a whole warp is one request and the order of its lanes does not matter.
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

/// As [`sectors_and_lines`] if the addresses do not decrease, and whether that is so.
#[inline(always)]
fn changes(addresses: &Addresses) -> (u32, u32, bool) {
    // Each lane's difference has its top bit set when the address decreases. A number below 2^63 plus 2^63 - 1 has
    // its top bit set when it is not 0.
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

/// How many different values `address >> shift` takes, for addresses that do not decrease.
pub(super) fn distinct_ascending(addresses: &[u64], shift: u32) -> u32 {
    let changes = addresses.windows(2).filter(|pair| pair[0] >> shift != pair[1] >> shift).count();
    changes as u32 + u32::from(!addresses.is_empty())
}
