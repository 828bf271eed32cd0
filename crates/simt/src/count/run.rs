//! The records that a worker collects over a run of blocks.
//!
//! A [`Run`] is all the state of an observer: counters by site, the sites' memos, what the current block has touched, the groups that
//! go on to L2, and a few records that need the order of requests. Sums go on from run to run of the same worker. What has an order is
//! handed in at a run's end and merged in the order of blocks.
//!
//! Groups are cut into *parts*, a few adjacent blocks each. L2 takes all accesses of a part as simultaneous, so that the
//! result does not depend on which worker came first. For example, with parts of 4 blocks, a run of the blocks 8 to 15
//! hands in two lists of groups, and L2 is given them after those of the blocks 0 to 7.

use super::block::BlockMemory;
use super::by_site::BySite;
use super::contention::Contention;
use super::contests::{Contest, Contests};
use super::facts::SiteFacts;
use super::group::{Group, Tally};
use super::host_pages::{HostPages, OfHost};
use super::hottest::{BLOCKS_OF_SPAN, Hottest};
use super::near::Places;
use super::peer_stores::PeerStores;
use super::replays::Replays;
use super::shape::Rules;
use super::shared::SharedMemory;
use super::steady::Memo;
use super::trails::{Numbered, Trails};
use super::worst::Worst;
use crate::exec::Merged;
use crate::multiprocessor::Recorder;
use crate::observe::{Access, At, Notes, Site};
use counters::Counts;
use std::ops::{AddAssign, Range};
use std::sync::Arc;

/// Groups of one part before they are merged.
const MOST_GROUPS: usize = 1 << 20;

/// Bytes of transactions by partition, of one window's blocks.
pub(super) struct WindowPartitions {
    pub(super) window: u64,
    /// Bytes read, bytes written.
    pub(super) bytes: [Vec<u64>; 2],
}

/// Sums over blocks.
#[derive(Clone, Copy, Default)]
pub(super) struct Totals {
    pub(super) blocks: u64,
    pub(super) warps: u64,
    /// Blocks that store to global memory.
    pub(super) storing: u64,
    /// Blocks among these that do so after loads and a barrier.
    pub(super) phased: u64,
    /// Pages of half-warps beyond their first: loads, stores.
    pub(super) scattered: [u64; 2],
    /// Instructions of all warps, and those of the blocks' [paces](crate::observe::Distance).
    pub(super) issued: u64,
    pub(super) pace: u64,
    /// The longest of the blocks' paths.
    pub(super) longest_path: u64,
    /// Counts of loads through L1.
    pub(super) tally: Tally,
}

impl AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.blocks += other.blocks;
        self.warps += other.warps;
        self.storing += other.storing;
        self.phased += other.phased;
        self.issued += other.issued;
        self.pace += other.pace;
        self.longest_path = self.longest_path.max(other.longest_path);
        self.tally += other.tally;
        self.scattered = std::array::from_fn(|way| self.scattered[way] + other.scattered[way]);
    }
}

/// Records of a worker. Sums continue from run to run; ordered data is handed in with each run.
pub(super) struct Run {
    pub(super) counts: BySite<Counts>,
    /// Requests whose repetitions are counted by [`Run::settle`].
    pub(super) memos: BySite<Memo>,
    /// Repetitions that have not been counted yet.
    pub(super) notes: Notes,
    /// A block that others repeat.
    pub(super) replays: Replays,
    pub(super) worst: Worst,
    pub(super) totals: Totals,
    /// Instructions of each block that has ended.
    pub(super) blocks: Vec<u64>,
    pub(super) memory: BlockMemory,
    /// Memory that is not the card's own.
    pub(super) places: Places,
    /// True if the current block may have accessed memory that is not the card's own.
    pub(super) elsewhere: bool,
    /// Groups that blocks touched, block after block.
    pub(super) groups: Vec<Group>,
    /// Parts in order, with the index of each one's first group.
    pub(super) parts: Vec<(u64, usize)>,
    pub(super) partitions: Vec<WindowPartitions>,
    pub(super) trails: Trails,
    pub(super) host_pages: HostPages,
    pub(super) peer_stores: PeerStores,
    pub(super) hottest: Hottest,
    facts: Arc<SiteFacts>,
    pub(super) contests: Contests,
    pub(super) matched_values: u64,
    pub(super) cluster_requests: u64,
    pub(super) cluster_bytes: u64,
    pub(super) shared: SharedMemory,
    pub(super) recorder: Recorder,
    most_groups: usize,
}

impl Run {
    pub(super) fn new(
        rules: &Rules,
        places: Places,
        managed: Arc<[Numbered]>,
        of_host: Arc<[OfHost]>,
        of_peers: Arc<[Range<u64>]>,
        facts: Arc<SiteFacts>,
        recorder: Recorder,
    ) -> Self {
        Self {
            counts: BySite::default(),
            memos: BySite::default(),
            notes: Notes::default(),
            replays: Replays::new(rules.l1.share),
            worst: Worst::default(),
            totals: Totals::default(),
            blocks: Vec::new(),
            memory: BlockMemory::new(rules.l1.share),
            groups: Vec::new(),
            parts: Vec::new(),
            partitions: Vec::new(),
            places,
            elsewhere: false,
            trails: Trails::new(managed),
            host_pages: HostPages::new(of_host),
            peer_stores: PeerStores::new(of_peers),
            hottest: Hottest::default(),
            facts,
            contests: Contests::default(),
            matched_values: 0,
            cluster_requests: 0,
            cluster_bytes: 0,
            shared: SharedMemory::new(rules.banks, rules.level),
            recorder,
            most_groups: MOST_GROUPS,
        }
    }

    /// Returns the counters of a site.
    #[inline(always)]
    pub(super) fn site(&mut self, site: u32) -> &mut Counts {
        self.counts.at(site)
    }

    /// Counts an atomic in global memory at its addresses.
    pub(super) fn note_atomic(
        &mut self,
        at: At,
        rules: &Rules,
        access: &Access<'_>,
        contention: &Contention,
    ) {
        let combined = self.is_combined(at.site());
        // A span of time is that of twice as many blocks as are resident.
        let span = at.block / (BLOCKS_OF_SPAN * rules.cut.window);
        self.hottest.note(span, contention, combined, (access.addresses, access.active), rules.level);
    }

    /// Returns true for an atomic whose lanes of one address are combined.
    pub(super) fn is_combined(&self, site: Site) -> bool {
        self.facts.combined.binary_search(&site.0).is_ok()
    }

    /// Returns the part of a load from shared memory in a merged one, if ptxas merges it.
    pub(super) fn merged(&self, site: Site) -> Option<Merged> {
        let at = self.facts.merged.binary_search_by_key(&site.0, |(site, _)| *site).ok()?;
        Some(self.facts.merged[at].1)
    }

    /// Returns how threads contest for a word in an atomic in shared memory, if they do.
    pub(super) fn contest(&self, site: Site) -> Option<Contest> {
        let at = self.facts.contests.binary_search_by_key(&site.0, |(site, _)| *site).ok()?;
        Some(self.facts.contests[at].1)
    }

    /// Adds the repetitions of all memos to the counters.
    pub(super) fn settle(&mut self, rules: &Rules) {
        for (site, memo) in self.memos.iter_mut() {
            if memo.tally.repeats != 0 {
                memo.settle(self.counts.at(site), rules.local_to_l2());
            }
        }
    }

    /// Begins a part.
    pub(super) fn begin_part(&mut self, part: u64) {
        if self.parts.last().is_none_or(|last| last.0 != part) {
            self.memory.drain(&mut self.groups);
            self.parts.push((part, self.groups.len()));
            self.most_groups = MOST_GROUPS;
        }
    }

    /// Returns the partitions' traffic of a window.
    pub(super) fn partitions(&mut self, window: u64, partitions: u32) -> &mut WindowPartitions {
        let at = self.partitions.iter().rposition(|known| known.window == window).unwrap_or_else(|| {
            let none = || vec![0; partitions as usize];
            self.partitions.push(WindowPartitions { window, bytes: [none(), none()] });
            self.partitions.len() - 1
        });
        &mut self.partitions[at]
    }

    /// Ends a block of this window.
    pub(super) fn end_block(&mut self, window: u64) {
        // L2 does not tell whether groups were merged over blocks, but the host link does.
        let alone = std::mem::take(&mut self.elsewhere);
        self.memory.end_block(alone, &mut self.groups);
        self.trails.end_block(window);
        self.host_pages.end_block();
        self.contests.end_block();
        let start = self.parts.last().map_or(0, |part| part.1);
        if self.groups.len() - start > self.most_groups {
            self.put_together(start);
        }
    }

    /// Merges groups of the last part that occur several times. Reads of sectors that an earlier block wrote stay
    /// excluded from reads of memory.
    #[cold]
    fn put_together(&mut self, start: usize) {
        self.groups[start..].sort_by_key(|group| group.index);
        let mut kept = start;
        for at in start + 1..self.groups.len() {
            let next = self.groups[at];
            let group = &mut self.groups[kept];
            if group.index == next.index {
                group.read |= next.read & !group.written;
                group.written |= next.written;
            } else {
                kept += 1;
                self.groups[kept] = next;
            }
        }
        self.groups.truncate(kept + 1);
        self.most_groups = MOST_GROUPS.max(2 * (kept + 1 - start));
    }
}
