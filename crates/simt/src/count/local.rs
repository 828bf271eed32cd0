//! Traffic of local memory, which is interleaved so that one word of 32 threads makes a line.

use crate::coalescing::{Addresses, LANES, Traffic};

/// Returns the traffic of a request at these offsets: word `w` of lane `l` lies `128 w + 4 l` bytes into the warp's
/// local memory (CUDA C Programming Guide 5.0, 5.3.2.2). From 5.0 on a whole warp is one request; the model assumes so
/// for all cards.
pub(super) fn traffic(addresses: &Addresses, active: u32, bytes: u32) -> Traffic {
    let words = bytes.div_ceil(4).max(1) as usize;
    let mut sectors = [0_u64; LANES * 8];
    let mut count = 0;
    let mut lanes = active;
    while lanes != 0 {
        let lane = lanes.trailing_zeros() as usize;
        lanes &= lanes - 1;
        let first = addresses[lane] / 4;
        for word in first..first + words as u64 {
            let sector = word * 4 + lane as u64 / 8;
            // Lanes in one sector come one after another.
            if count < words || sectors[count - words] != sector {
                sectors[count] = sector;
                count += 1;
            }
        }
    }
    let sectors = &mut sectors[..count];
    sectors.sort_unstable();
    let distinct = |shift: u32| sectors.chunk_by(|a, b| a >> shift == b >> shift).count() as u32;
    let (sectors, lines) = (distinct(0), distinct(2));
    Traffic {
        requests: 1,
        transactions: sectors,
        sectors,
        lines,
        bytes_moved: sectors * 32,
        bytes_used: active.count_ones() * bytes,
    }
}
