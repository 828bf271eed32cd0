//! Takes accesses with evenly spaced lanes apart into neighbouring words.

use crate::observe::{Operation, Rows, SteadyAccess};

/// Neighbouring words that lanes access in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Number of the first word.
    pub(super) word: u64,
    pub(super) words: u64,
    /// Log2 of the words that the same lanes access.
    pub(super) log: u8,
    /// Lanes that access the first word.
    pub(super) lanes: u32,
    /// All lanes.
    pub(super) all: u32,
}

/// The pieces of an access.
#[derive(Clone, Debug)]
pub(super) struct Pieces {
    pub(super) next: Piece,
    /// From one piece to the next, in words and in lanes.
    pub(super) step: (u64, u32),
    /// Pieces that are left, at most one for each lane.
    pub(super) left: u32,
}

impl Pieces {
    /// Returns the pieces of an access; None if its lanes do not have words of their own, or are not neighbours.
    #[inline(always)]
    pub(super) fn of(access: &SteadyAccess, rows: Option<Rows>) -> Option<Self> {
        let &SteadyAccess { base, step, active, bytes, operation, .. } = access;
        let first = active.trailing_zeros();
        let count = active.count_ones();
        if bytes < 4 || active == 0 || active >> first != u32::MAX >> (32 - count) {
            return None;
        }
        let of_lane = u64::from(bytes / 4);
        let log = of_lane.trailing_zeros() as u8;
        let broadcast = if of_lane == 1 { 0 } else { 5 };
        let is_load = operation == Operation::Load;
        let in_words = |distance: u64| (distance as i64 >> 2) as u64;
        let start = base.wrapping_add(step.wrapping_mul(first.into())) >> 2;
        let Some(Rows { log: lanes_log, pitch }) = rows else {
            let all = active;
            return if step == u64::from(bytes) {
                let next =
                    Piece { word: start, words: of_lane * u64::from(count), log, lanes: 1 << first, all };
                Some(Self { next, step: (0, 0), left: 1 })
            } else if step == 0 || count == 1 {
                let next = Piece { word: start, words: of_lane, log: broadcast, lanes: active, all };
                (is_load || count == 1).then_some(Self { next, step: (0, 0), left: 1 })
            } else {
                let is_apart = (step as i64).unsigned_abs() >= u64::from(bytes);
                let next =
                    Piece { word: start, words: of_lane, log: broadcast, lanes: 1 << first, all: 1 << first };
                is_apart.then_some(Self { next, step: (in_words(step), 1), left: count })
            };
        };
        let (lanes, count) = (1_u32 << lanes_log, 32_u32 >> lanes_log);
        let of_row = u32::MAX >> (32 - lanes);
        if active != u32::MAX {
            return None;
        }
        let word = base >> 2;
        if step == 0 {
            let next = Piece { word, words: of_lane, log: broadcast, lanes: of_row, all: of_row };
            return is_load.then_some(Self { next, step: (in_words(pitch), lanes), left: count });
        }
        if step != u64::from(bytes) {
            return None;
        }
        let words = of_lane * u64::from(lanes);
        if pitch == 0 {
            let firsts = (0..count).fold(0, |firsts, row| firsts | 1 << (row * lanes));
            let next = Piece { word, words, log, lanes: firsts, all: active };
            return is_load.then_some(Self { next, step: (0, 0), left: 1 });
        }
        let is_apart = (pitch as i64).unsigned_abs() >= 4 * words;
        let next = Piece { word, words, log, lanes: 1, all: of_row };
        (is_load || is_apart).then_some(Self { next, step: (in_words(pitch), lanes), left: count })
    }

    /// Returns the lowest and the highest word of the pieces that are left, at least one.
    #[inline(always)]
    pub(super) fn ends(&self) -> [u64; 2] {
        let Piece { word, words, .. } = self.next;
        let last = word.wrapping_add(self.step.0.wrapping_mul(u64::from(self.left) - 1));
        [word.min(last), word.max(last) + words - 1]
    }

    /// Returns true if no word lies between the pieces.
    pub(super) fn are_adjacent(&self) -> bool {
        self.left == 1 || (self.step.0 as i64).unsigned_abs() <= self.next.words
    }
}

impl Iterator for Pieces {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        self.left = self.left.checked_sub(1)?;
        let piece = self.next;
        let (words, lanes) = self.step;
        self.next.word = piece.word.wrapping_add(words);
        self.next.lanes = piece.lanes.checked_shl(lanes).unwrap_or(0);
        self.next.all = piece.all.checked_shl(lanes).unwrap_or(0);
        Some(piece)
    }
}
