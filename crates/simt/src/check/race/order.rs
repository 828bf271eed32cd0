//! Happens-before between blocks: a fence and a strong write release, and a strong read of that word acquires.
//!
//! These are the release and acquire patterns of the PTX ISA's memory consistency model. Each global word used for
//! synchronisation keeps a numbered list of releases, each with the releasing warp's vector clock at its last fence. A
//! warp that acquires only remembers the word and how many releases it had ([`Known`]); clocks are compared when a
//! conflict is found. That keeps acquiring cheap. For example, warp 0 of block 0 publishes data to block 1:
//!
//! ```text
//! block 0: st.data          stamped with clock 1 of warp 0
//! block 0: fence            warp 0's row at its fence is (1, ..)
//! block 0: st.relaxed flag  release 0 of `flag`: (1, ..)
//! block 1: ld.relaxed flag  acquires (flag, 1): release 0 is the only one
//! block 1: ld.data          release 0 knows 1 >= 1 of warp 0: ordered; without the fence there is no release, and it races
//! ```
//!
//! A release also carries what its warp had acquired from other words, so that happens-before is transitive.

use std::collections::HashMap;
use std::sync::Arc;

use super::clocks::Clocks;
use super::known::Known;
use super::mark::Mark;

/// The releases through each word of global memory.
#[derive(Debug, Default)]
pub(super) struct Released {
    words: HashMap<u64, Word>,
}

/// The releases through one word, numbered from 0.
#[derive(Debug, Default)]
struct Word {
    count: u32,
    /// Releases by block.
    blocks: HashMap<u32, Vec<Told>>,
    /// For some releases, by number: what the warp had acquired from other words.
    carried: Vec<(u32, Known)>,
}

/// A release's number, and the vector clock of its block's warps that it carries.
type Told = (u32, Arc<[u32]>);

/// An access that does not happen after an earlier one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unordered {
    /// A lane of the earlier access.
    pub(super) lane: u32,
    /// True if both accesses are of one warp.
    pub(super) same_warp: bool,
}

impl Released {
    /// Returns true if no word has released anything.
    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Records the release of a warp's strong write to a word, if the warp has fenced.
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

    /// Records the acquire of a warp's strong read of a word.
    pub(super) fn take_over(&self, word: u64, clocks: &mut Clocks, warp: u32) {
        if let Some(released) = self.words.get(&word) {
            let taken = &mut clocks.taken[warp as usize];
            *taken = taken.with(word, released.count);
        }
    }

    /// Returns the earlier access's lane if happens-before does not order it before a lane's next access.
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
            // Later releases mostly know more.
            let of_block = &of_block[..of_block.partition_point(|(number, _)| *number < count)];
            let told =
                of_block.iter().rev().any(|(_, clocks)| clocks[usize::from(before.warp)] >= before.clock);
            let carried =
                &released.carried[..released.carried.partition_point(|(number, _)| *number < count)];
            told || carried.iter().rev().any(|(_, known)| self.knows(known, before, seen))
        })
    }
}
