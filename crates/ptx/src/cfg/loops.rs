//! Natural loops, and where lanes that stay in a loop reconverge although others may leave it.
//!
//! Where a loop has a `break`, the immediate post-dominator of a branch before it lies behind the loop, since a lane may leave on
//! the way. Lanes that stay need not wait until then: they reconverge in each round, without the lanes that have left. For
//! example, in
//!
//! ```text
//! B0: ld; @%p bra B2;       B2 and B1 follow
//! B1: @%q bra B4;           a break
//! B2: ...
//! B3: @%again bra B0;
//! B4: ret;
//! ```
//!
//! the post-dominator of B0 is B4. Within the loop, whose ways out do not count, it is B2. So lanes that diverge at B0 have two
//! meetings: B2 for those that stay, B4 for all. Of two loops around a branch each may have a meeting of its own. ptxas does the
//! same: it opens a barrier before such a branch (`BSSY`), closes it within the loop (`BSYNC`), and takes lanes that leave the loop
//! off it (`BREAK`).
//!
//! Lanes that go different ways to the end of a round meet where the next one begins, and a meeting for those that leave a loop lies
//! behind it, although a post-dominator may come first that lanes of the loop reach in different rounds.

use super::dominators::{back_edges, immediate_dominators};
use super::{Block, BlockId};

/// A place where lanes reconverge that diverge at the end of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meeting {
    /// The block before which they reconverge.
    pub block: BlockId,
    /// Nesting depth of the loop within which they reconverge; 0 if they reconverge wherever they have left loops.
    pub depth: u32,
}

/// A natural loop: its header, and the blocks from which control reaches a branch back to it.
#[derive(Debug)]
struct Loop {
    header: u32,
    contains: Vec<bool>,
}

/// The loops of a function each of whose loops has one entry, from the outermost to the innermost.
#[derive(Debug, Default)]
pub(super) struct Loops(Vec<Loop>);

impl Loops {
    pub(super) fn new(blocks: &[Block], predecessors: &[Vec<BlockId>]) -> Self {
        let successors: Vec<Vec<u32>> =
            blocks.iter().map(|block| block.successors.iter().map(|to| to.0).collect()).collect();
        let mut loops: Vec<Loop> = Vec::new();
        for (from, header) in back_edges(&successors, 0) {
            let known = loops.iter().position(|known| known.header == header).unwrap_or_else(|| {
                let mut contains = vec![false; blocks.len()];
                contains[header as usize] = true;
                loops.push(Loop { header, contains });
                loops.len() - 1
            });
            let contains = &mut loops[known].contains;
            let mut open = vec![from];
            while let Some(block) = open.pop() {
                if !std::mem::replace(&mut contains[block as usize], true) {
                    open.extend(predecessors[block as usize].iter().map(|from| from.0));
                }
            }
        }
        let size = |of: &Loop| of.contains.iter().filter(|contains| **contains).count();
        loops.sort_by_key(|of| std::cmp::Reverse(size(of)));
        Self(loops)
    }

    /// Returns how many loops contain both blocks.
    pub(super) fn around(&self, from: BlockId, to: BlockId) -> u32 {
        let both = |of: &&Loop| of.contains[from.0 as usize] && of.contains[to.0 as usize];
        self.0.iter().filter(both).count() as u32
    }

    /// Finds the meetings of blocks at whose end lanes may leave loops.
    pub(super) fn find_meetings(&self, blocks: &mut [Block]) {
        let of_loops: Vec<_> = self.0.iter().map(|around| around.post_dominators(blocks)).collect();
        for from in 0..blocks.len() {
            // From the innermost loop to the whole function.
            let mut meetings: Vec<Meeting> = Vec::new();
            let mut inner: Option<&Loop> = None;
            let around = |(around, _): &(&Loop, &Vec<_>)| around.contains[from];
            let mut depth = self.0.iter().filter(|around| around.contains[from]).count() as u32;
            for (around, above) in self.0.iter().zip(&of_loops).rev().filter(around) {
                let stay = blocks[from].successors.iter().filter(|to| around.contains[to.0 as usize]);
                if stay.count() > 1 {
                    let block = behind(&meetings, from, inner, |block| above[block]).unwrap_or(around.header);
                    meet(&mut meetings, Meeting { block: BlockId(block), depth });
                    inner = Some(around);
                }
                depth -= 1;
            }
            if inner.is_some() {
                let above = |block: usize| blocks[block].meets.map(|meets| meets.0);
                let block = behind(&meetings, from, inner, above);
                block
                    .into_iter()
                    .for_each(|block| meet(&mut meetings, Meeting { block: BlockId(block), depth: 0 }));
            }
            if meetings.len() > 1 || meetings.iter().any(|only| only.depth > 0) {
                meetings.reverse();
                blocks[from].meetings = meetings;
            }
        }
    }
}

impl Loop {
    /// Returns each block's immediate post-dominator within the loop: the first block on all ways to the end of a round.
    fn post_dominators(&self, blocks: &[Block]) -> Vec<Option<u32>> {
        let end = blocks.len();
        let mut turned = vec![Vec::new(); end + 1];
        for (block, index) in blocks.iter().zip(0..).filter(|(_, index)| self.contains[*index as usize]) {
            for to in block.successors.iter().filter(|to| self.contains[to.0 as usize]) {
                turned[if to.0 == self.header { end } else { to.0 as usize }].push(index);
            }
        }
        let above = immediate_dominators(&turned, end as u32);
        above.into_iter().map(|above| above.filter(|above| *above as usize != end)).collect()
    }
}

/// Returns the first block above another one, in a tree of post-dominators, that lies behind the loop; or the last meeting, if that is
/// the first block above, so that no lane leaves the loop before it.
fn behind(
    meetings: &[Meeting],
    from: usize,
    inner: Option<&Loop>,
    above: impl Fn(usize) -> Option<u32>,
) -> Option<u32> {
    let mut at = above(from)?;
    if meetings.last().is_some_and(|last| last.block.0 == at) {
        return Some(at);
    }
    while inner.is_some_and(|inner| inner.contains[at as usize]) {
        at = above(at as usize)?;
    }
    Some(at)
}

/// Adds a meeting of lanes that may have left a loop more. It is the one before if none can leave on the way.
fn meet(meetings: &mut Vec<Meeting>, meeting: Meeting) {
    match meetings.last_mut() {
        Some(inner) if inner.block == meeting.block => inner.depth = meeting.depth,
        _ => meetings.push(meeting),
    }
}
