//! What orders accesses of different blocks: a fence, then a strong write, and a strong read of what it wrote.

use std::collections::HashMap;
use std::sync::Arc;

use super::clocks::Clocks;
use super::history::Mark;

/// What a warp took over: from each word that it read, all that was handed on there before.
///
/// Few words are read for synchronisation, so that this is short. It is shared between those who know the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Known(Option<Arc<[(u64, u32)]>>);

impl Known {
    fn entries(&self) -> &[(u64, u32)] {
        self.0.as_deref().unwrap_or_default()
    }

    fn with(&self, word: u64, count: u32) -> Self {
        match self.entries().iter().find(|(known, _)| *known == word) {
            Some((_, known)) if *known >= count => self.clone(),
            _ => {
                let others = self.entries().iter().copied().filter(|(known, _)| *known != word);
                Self(Some(others.chain([(word, count)]).collect()))
            }
        }
    }

    /// What both know.
    pub(super) fn joined(&self, other: &Self) -> Self {
        let same = match (&self.0, &other.0) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        };
        if same || other.0.is_none() {
            return self.clone();
        }
        other.entries().iter().fold(self.clone(), |known, (word, count)| known.with(*word, *count))
    }
}

/// What was handed on through the words of global memory.
#[derive(Debug, Default)]
pub(super) struct Released {
    words: HashMap<u64, Word>,
}

/// What was handed on through one word, numbered from 0.
#[derive(Debug, Default)]
struct Word {
    count: u32,
    /// By block.
    blocks: HashMap<u32, Vec<Told>>,
    /// What they had taken over from other words.
    carried: Vec<(u32, Known)>,
}

/// The number of something that was handed on, and what that warp knew of its block's warps.
type Told = (u32, Arc<[u32]>);

/// An access that is not ordered behind an earlier one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unordered {
    /// A lane of the earlier one.
    pub(super) lane: u32,
    /// Both are of one warp.
    pub(super) same_warp: bool,
}

impl Released {
    /// A warp writes a word with a strong access.
    pub(super) fn hand_on(&mut self, word: u64, clocks: &Clocks, warp: u32) {
        let Some(fenced) = clocks.fenced(warp) else { return };
        let released = self.words.entry(word).or_default();
        let of_block = released.blocks.entry(clocks.block()).or_default();
        if of_block.last().is_some_and(|(_, last)| Arc::ptr_eq(last, fenced)) {
            return;
        }
        of_block.push((released.count, fenced.clone()));
        let taken = &clocks.taken[warp as usize];
        if taken.entries().iter().any(|(other, _)| *other != word) {
            released.carried.push((released.count, taken.clone()));
        }
        released.count += 1;
    }

    /// A warp reads a word with a strong access.
    pub(super) fn take_over(&self, word: u64, clocks: &mut Clocks, warp: u32) {
        if let Some(released) = self.words.get(&word) {
            let taken = &mut clocks.taken[warp as usize];
            *taken = taken.with(word, released.count);
        }
    }

    /// Whether nothing orders a lane's access behind an earlier one.
    pub(super) fn unordered(
        &self,
        clocks: &Clocks,
        before: &Mark,
        warp: u32,
        lane: usize,
    ) -> Option<Unordered> {
        if before.block == clocks.block() {
            if u32::from(before.warp) == warp {
                let lane = clocks.unordered_lane(warp, lane, before.lanes, before.sync)?;
                return Some(Unordered { lane, same_warp: true });
            }
            if clocks.knows(warp, u32::from(before.warp), before.clock) {
                return None;
            }
        }
        let known = &clocks.taken[warp as usize];
        let mut seen = Vec::new();
        let ordered = self.knows(known, before, &mut seen);
        (!ordered).then(|| Unordered { lane: before.lanes.trailing_zeros(), same_warp: false })
    }

    fn knows(&self, known: &Known, before: &Mark, seen: &mut Vec<(u64, u32)>) -> bool {
        known.entries().iter().any(|entry| {
            if seen.contains(entry) {
                return false;
            }
            seen.push(*entry);
            let (word, count) = *entry;
            let Some(released) = self.words.get(&word) else { return false };
            let of_block = released.blocks.get(&before.block).map(Vec::as_slice).unwrap_or_default();
            // The later ones know more, as a rule.
            let of_block = &of_block[..of_block.partition_point(|(number, _)| *number < count)];
            let told =
                of_block.iter().rev().any(|(_, clocks)| clocks[usize::from(before.warp)] >= before.clock);
            let carried =
                &released.carried[..released.carried.partition_point(|(number, _)| *number < count)];
            told || carried.iter().rev().any(|(_, known)| self.knows(known, before, seen))
        })
    }
}
