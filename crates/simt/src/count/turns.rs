//! Counts the turns that a request occupies L1. A *turn* is one clock of L1.
//!
//! L1 looks up the tags of four lines in a turn, whichever lines they are. Its data lie in 32 banks of 4 bytes, as shared memory's do:
//! in a turn each bank delivers one word, to all lanes that want it. Requests of 8 and 16 bytes a lane go by half-warps and
//! quarter-warps. A request takes as many turns as its tags or its data need, whichever are more. On an H200, a warp's loads that hit
//! L1, with 1024 threads on a multiprocessor:
//!
//! ```text
//! words from lane to lane   lines   tags   lanes a bank   turns   clocks measured
//!                       1       1      1              1       1              1.91
//!                       4       4      1              4       4              4.06
//!                       8       8      2              8       8              8.01
//!                       9       9      3              1       3              3.10
//!                      17      17      5              1       5              5.04
//!                      24      24      6              8       8              8.01
//!                      32      32      8             32      32             32.02
//!                      33      32      8              1       8              8.73
//! ```
//!
//! The first row has more clocks for the instructions around the load. Nsight Compute counts as many wavefronts in loads, and in stores that
//! leave L1: of 86 patterns, those that hit differ in none. A word of 8 bytes for all lanes takes two turns.

use super::banks::{self, BANK_BYTES};
use super::distinct::{Pieces, worst_bank_and_word};
use crate::coalescing::{Addresses, LANES, LINE_BYTES, Traffic};
use crate::decode::Level;
use crate::observe::SteadyAccess;

/// Lines whose tags are looked up in one turn.
const LINES_A_TURN: u32 = 4;

/// Returns the turns of a request that touches `lines` lines and takes `data` turns for its data.
#[inline(always)]
pub(crate) fn of(lines: u32, data: u32) -> u32 {
    lines.div_ceil(LINES_A_TURN).max(data)
}

/// Returns the turns for the data of local memory, whose words of one offset are adjacent.
#[inline(always)]
pub(super) fn of_local(traffic: &Traffic) -> u32 {
    traffic.bytes_used.min(traffic.bytes_moved).div_ceil(128).max(1)
}

/// Returns the turns before 5.0, estimated from the lines alone: 0.3 per line, and at least one per request.
pub(super) fn before_maxwell(traffic: &Traffic) -> u32 {
    (traffic.lines * 3).div_ceil(10).max(traffic.requests)
}

/// Returns the lanes that go at once, and the number of such parts, by the bytes of a lane.
#[inline(always)]
fn parts(bytes: u32) -> (u32, u32) {
    let words = (bytes / BANK_BYTES).max(1);
    (LANES as u32 / words, words)
}

/// Returns the turns of a request whose pieces are known.
#[inline(always)]
pub(super) fn of_lanes(
    pieces: &Pieces,
    (addresses, active): (&Addresses, u32),
    bytes: u32,
    level: Level,
) -> u32 {
    let is_whole = parts(bytes).1 == 1;
    of(pieces.lines, if is_whole { pieces.of_bank } else { of_data(addresses, active, bytes, level) })
}

/// Returns the turns for the data of lanes at any addresses, each a multiple of `bytes`.
#[inline(always)]
pub(crate) fn of_data(addresses: &Addresses, active: u32, bytes: u32, level: Level) -> u32 {
    let (lanes, parts) = parts(bytes);
    if parts == 1 {
        return of_words(addresses, active, level);
    }
    // The words of a lane lie side by side, so that two lanes meet in all banks of theirs or in none: a lane's words count as one.
    let place = |address: u64| address % LINE_BYTES / u64::from(parts) + address / LINE_BYTES * LINE_BYTES;
    let words = addresses.map(place);
    let of_part = |part| active & (u32::MAX >> (LANES as u32 - lanes)) << (part * lanes);
    (0..parts).map(of_part).filter(|&active| active != 0).map(|active| of_words(&words, active, level)).sum()
}

/// Returns the most words of one bank that lanes want.
#[inline(always)]
fn of_words(addresses: &Addresses, active: u32, level: Level) -> u32 {
    worst_bank_and_word(addresses, active, level)
        .map_or_else(|| banks::one_by_one(addresses, active), |[words, _]| words)
}

/// Returns [`of_data`] for evenly spaced lanes, wherever they begin.
pub(super) fn of_steps(access: &SteadyAccess, level: Level) -> u32 {
    let step = if access.step >> 63 == 0 { access.step } else { access.step.wrapping_neg() };
    let (lanes, parts) = parts(access.bytes);
    let cell = u64::from(access.bytes.max(BANK_BYTES));
    if step < cell && step != 0 {
        // Neighbours share words, or have the next ones.
        return u32::from(access.active != 0);
    }
    if !step.is_multiple_of(cell) {
        return of_data(&access.addresses(), access.active, access.bytes, level);
    }
    // Lanes this far apart meet in a bank.
    let apart = match (step / cell) as u32 % lanes {
        0 => 1,
        cells => lanes / (1 << cells.trailing_zeros()),
    };
    let every = (0..lanes).step_by(apart as usize).fold(0, |every, lane| every | 1 << lane);
    let of_part = |part: u32| {
        let active = access.active >> (part * lanes) & (u32::MAX >> (LANES as u32 - lanes));
        match step {
            0 => u32::from(active != 0),
            _ => (0..apart).map(|first| (active & every << first).count_ones()).max().unwrap_or(0),
        }
    };
    (0..parts).map(of_part).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::distinct::tests::requests;
    use crate::observe::{Operation, Space};

    #[test]
    fn banks_of_l1_take_turns_as_measured() {
        let level = Level::detect();
        let turns = |words: u64, bytes: u32| {
            let addresses = std::array::from_fn(|lane| 4096 + lane as u64 * words * u64::from(bytes));
            let mut lines = addresses.map(|address| address / LINE_BYTES).to_vec();
            lines.dedup();
            of(lines.len() as u32, of_data(&addresses, u32::MAX, bytes, level))
        };
        let measured = [0, 1, 2, 4, 8, 9, 16, 17, 24, 32, 33, 48, 64].map(|words| turns(words, 4));
        assert_eq!(measured, [1, 1, 2, 4, 8, 3, 16, 5, 8, 32, 8, 16, 32]);
        assert_eq!([0, 1, 2, 8].map(|words| turns(words, 8)), [2, 2, 4, 16]);
        assert_eq!([0, 1, 2, 8].map(|words| turns(words, 16)), [4, 4, 8, 32]);
    }

    #[test]
    fn vectors_and_steps_agree_with_lanes_one_by_one() {
        let level = Level::detect();
        for (addresses, active) in requests() {
            let expected = banks::one_by_one(&addresses, active);
            assert_eq!(of_words(&addresses, active, level), expected, "{addresses:x?}");
        }
        for (index, bytes) in [1_u32, 2, 4, 8, 16].into_iter().cycle().take(2000).enumerate() {
            let step = (index as u64 * 7 % 301) * u64::from(bytes);
            let active =
                (index as u32).wrapping_mul(0x9E37_79B1) | u32::from(index % 3 == 0).wrapping_neg() | 4;
            let access = SteadyAccess {
                space: Space::Global,
                operation: Operation::Load,
                read_only: false,
                past_l1: false,
                strong: false,
                bytes,
                active,
                base: 1 << 20,
                step: if index % 2 == 0 { step } else { step.wrapping_neg() },
            };
            let expected = of_data(&access.addresses(), active, bytes, level);
            assert_eq!(of_steps(&access, level), expected, "{access:?}");
        }
    }
}
