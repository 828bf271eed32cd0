//! Compute capability 1.x: no cache, half-warps, and two rules of coalescing.

use super::request::{LANES, Request, Transactions};

const HALF: usize = LANES / 2;

/// Returns the transactions on 1.0 and 1.1 (CUDA C Programming Guide 5.0, F.3.2.1).
///
/// A half-warp is coalesced if its words have 4, 8 or 16 bytes, lane `k` accesses word `k` (lanes may be idle), and the
/// 16 words lie in one aligned segment of 64 bytes (4-byte words), one of 128 (8-byte words), or two adjacent ones of
/// 128 (16-byte words). The transactions are then those segments. Otherwise every active lane has a transaction of its
/// own, of 32 bytes, even if the lanes access the same words in another order.
pub(super) fn strict(request: &Request<'_>) -> Transactions {
    let mut transactions = Transactions::none();
    for half in 0..2 {
        let active = request.active >> (half * HALF) & 0xFFFF;
        if active == 0 {
            continue;
        }
        let addresses = &request.addresses[half * HALF..][..HALF];
        let lanes = || (0..HALF).filter(|lane| active >> lane & 1 == 1);
        let bytes = u64::from(request.bytes);
        let first = active.trailing_zeros() as usize;
        let base = addresses[first].wrapping_sub(first as u64 * bytes);
        let in_order = lanes().all(|lane| addresses[lane] == base.wrapping_add(lane as u64 * bytes));
        let segment = if bytes == 4 { 64 } else { 128 };
        if matches!(bytes, 4 | 8 | 16) && in_order && base.is_multiple_of(segment) {
            transactions.push(base, segment as u32);
            if bytes == 16 {
                transactions.push(base + segment, segment as u32);
            }
        } else {
            for lane in lanes() {
                transactions.push(addresses[lane] & !31, 32);
            }
        }
    }
    transactions
}

/// Returns the transactions on 1.2 and 1.3 (CUDA C Programming Guide 5.0, F.3.2.2).
///
/// For a half-warp, in any order: take the segment of the lowest unserved lane (32 bytes for 1-byte words, 64 for
/// 2-byte words, 128 for more), serve all lanes in it, and shrink it to the half that is used, from 128 to 64 and from
/// 64 to 32, if only one half is. Repeat.
pub(super) fn segmented(request: &Request<'_>) -> Transactions {
    let segment = match request.bytes {
        1 => 32,
        2 => 64,
        _ => 128,
    };
    let mut transactions = Transactions::none();
    for half in 0..2 {
        let mut unserved = request.active & 0xFFFF << (half * HALF);
        while unserved != 0 {
            let mut size = segment;
            let mut start = request.addresses[unserved.trailing_zeros() as usize] & !(size - 1);
            let (mut lowest, mut highest) = (u64::MAX, 0);
            let mut lanes = unserved;
            while lanes != 0 {
                let lane = lanes.trailing_zeros();
                lanes &= lanes - 1;
                let address = request.addresses[lane as usize];
                if address & !(segment - 1) == start {
                    lowest = lowest.min(address);
                    highest = highest.max(address + u64::from(request.bytes) - 1);
                    unserved &= !(1 << lane);
                }
            }
            while size > 32 {
                let middle = start + size / 2;
                if lowest < middle && highest >= middle {
                    break;
                }
                if lowest >= middle {
                    start = middle;
                }
                size /= 2;
            }
            transactions.push(start, size as u32);
        }
    }
    transactions
}
