//! Simulates the page faults of a launch: warps and the driver run alternately.
//!
//! A warp that touches an absent page waits. The card reports the faults of all waiting warps. The driver serves up to
//! 256 at a time in order of arrival: it makes room, and migrates pages of 64 KiB with those that the tree prefetcher
//! adds in their block of 2 MiB. Then the warps that waited for these pages continue until each waits again. Between
//! batches warps take no time, since the kernel's own time is added elsewhere.
//!
//! Room is made by evicting whole blocks, first those to which pages migrated longest ago; that is the driver's order,
//! which does not see reads on the card. All pages of a block go over the link, written or not, since the driver does
//! not know which were written. Only duplicates of pages that the host still has (read-mostly) are dropped.
//!
//! For example, a card has room for two blocks, and three warps each touch the first page of a block of their own. One
//! batch serves three faults, and 3 x 64 KiB fit. When the warps go on to sweep their blocks, the blocks no longer fit
//! together, and the block to which pages migrated longest ago is evicted.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use simt::cards::Card;
use simt::coalescing::LINE_BYTES;
use simt::count::Trail;
use simt::model::unified::{self, BLOCK_BYTES, FAULTS_A_BATCH, PAGE_BYTES};

use super::managed::{PART_BYTES, PARTS};
use super::residence::Migration;

/// Pages per block.
pub(super) const PAGES_A_BLOCK: u32 = (BLOCK_BYTES / PAGE_BYTES) as u32;

/// 2 MiB of managed memory, or the shorter last block of an allocation. A bit of each mask stands for a page.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    /// Number of pages.
    pub pages: u32,
    /// Pages on the card.
    pub present: u32,
    /// Pages on the card of which the host has a valid copy.
    pub duplicate: u32,
    /// Pages that are duplicated when they are read.
    pub read_mostly: u32,
    /// Pages that the card accesses over the link while they are on the host.
    pub linked: u32,
    /// For pages that hints keep on the host in part, a bit for each such part of 4 KiB; 0 for other pages.
    pub hosts_parts: Option<Box<[u16; PAGES_A_BLOCK as usize]>>,
    /// Pages on another card.
    pub elsewhere: u32,
    /// Tick at which pages last migrated here.
    pub came: u64,
    /// Pages that were evicted.
    pub left: u32,
    /// Pages with a fault that is not served yet; none outside of [`Paging::play`].
    pub reported: u32,
}

impl Block {
    /// Returns the parts of 4 KiB that migrate with these pages.
    fn parts(&self, pages: u32) -> u64 {
        let hosts: u32 = self
            .hosts_parts
            .iter()
            .flat_map(|hosts| {
                hosts
                    .iter()
                    .enumerate()
                    .filter(move |(page, _)| pages >> page & 1 != 0)
                    .map(|(_, parts)| parts.count_ones())
            })
            .sum();
        u64::from(pages.count_ones() * PARTS as u32 - hosts)
    }

    /// Returns the first of these pages, as many as fit into `free` parts.
    fn first_that_fit(&self, pages: u32, free: u64) -> u32 {
        let mut fitting = pages;
        while self.parts(fitting) > free {
            fitting &= !(1 << fitting.ilog2());
        }
        fitting
    }

    /// Returns the link's time in seconds for these pages; adjacent ones go in one copy.
    fn moving_seconds(&self, card: &Card, pages: u32) -> f64 {
        let Some(hosts) = &self.hosts_parts else { return moving_seconds(card, pages) };
        let goes = |part: usize| {
            let (page, part) = (part / PARTS, part % PARTS);
            pages >> page & 1 != 0 && hosts[page] >> part & 1 == 0
        };
        let parts: Vec<bool> = (0..PAGES_A_BLOCK as usize * PARTS).map(goes).collect();
        let together = parts.chunk_by(|a, b| a == b).filter(|run| run[0]);
        together.map(|run| unified::migration_seconds(card, run.len() as u64 * PART_BYTES)).sum()
    }
}

/// The managed memory of a card.
pub(super) struct Paging<'a> {
    card: &'a Card,
    /// Parts of 4 KiB that fit on the card.
    room: u64,
    pub blocks: Vec<Block>,
    /// Parts on the card.
    resident: u64,
    /// Blocks with pages on the card, by the tick of the last migration.
    order: BTreeSet<(u64, u32)>,
    /// Counter that advances with each migration.
    tick: u64,
    /// Reported faults, as places: a block's index times 32 plus the page's.
    reported: VecDeque<u32>,
    /// Warps that wait for each page.
    waiting: HashMap<u32, Vec<u32>>,
    pub migration: Migration,
}

/// Returns the block and the page of a place.
fn split(place: u32) -> (usize, u32) {
    ((place / PAGES_A_BLOCK) as usize, 1 << (place % PAGES_A_BLOCK))
}

impl<'a> Paging<'a> {
    /// Creates the state of a card on which `room` bytes of managed memory fit; `tick` is greater than all ticks of the
    /// blocks.
    pub(super) fn new(card: &'a Card, room: u64, blocks: Vec<Block>, tick: u64) -> Self {
        let numbered = || (0_u32..).zip(&blocks).filter(|(_, block)| block.present != 0);
        let order = numbered().map(|(index, block)| (block.came, index)).collect();
        let resident = numbered().map(|(_, block)| block.parts(block.present)).sum();
        Self {
            card,
            room: room / PART_BYTES,
            blocks,
            resident,
            order,
            tick,
            reported: VecDeque::new(),
            waiting: HashMap::new(),
            migration: Migration::default(),
        }
    }

    pub(super) fn tick(&self) -> u64 {
        self.tick
    }

    /// Runs the warps of a window along their trails. `places` are those of the numbered pages.
    pub(super) fn play(&mut self, trails: &[Trail], places: &[u32]) {
        let mut steps = vec![0; trails.len()];
        for (warp, trail) in (0_u32..).zip(trails) {
            self.go_on(warp, trail, &mut steps[warp as usize], places);
        }
        while !self.reported.is_empty() {
            for place in self.serve_batch() {
                for warp in self.waiting.remove(&place).unwrap_or_default() {
                    self.go_on(warp, &trails[warp as usize], &mut steps[warp as usize], places);
                }
            }
        }
    }

    /// Advances a warp until it has to wait.
    fn go_on(&mut self, warp: u32, trail: &Trail, step: &mut usize, places: &[u32]) {
        while let Some(touch) = trail.touch(*step) {
            let place = places[touch.page as usize];
            if self.reaches(place, touch.written) {
                *step += 1;
                continue;
            }
            self.report(place);
            // The other absent pages of the same request are reported with it.
            let others =
                (*step + 1..).map_while(|step| trail.touch(step)).take_while(|other| other.with_previous);
            for other in others {
                let place = places[other.page as usize];
                let (block, page) = split(place);
                let reached = |block: &Block| (block.present | block.linked & !block.elsewhere) & page != 0;
                if self.blocks.get(block).is_some_and(|block| !reached(block)) {
                    self.report(place);
                }
            }
            self.waiting.entry(place).or_default().push(warp);
            break;
        }
    }

    /// Returns true if the card can access a page now.
    fn reaches(&mut self, place: u32, written: bool) -> bool {
        let (index, page) = split(place);
        // Memory that was freed during the launch is ignored.
        let Some(block) = self.blocks.get(index) else { return true };
        if block.present & page != 0 {
            // The first write to a duplicated page faults too.
            return !(written && block.duplicate & page != 0);
        }
        let linked = block.linked & !block.elsewhere & page != 0;
        if linked {
            // It was evicted during the launch, or it would not be on a trail. A request accesses one line of it.
            self.migration.seconds += LINE_BYTES as f64 / (self.card.host_link_gb_per_s * 1e9);
        }
        linked
    }

    fn report(&mut self, place: u32) {
        let (index, page) = split(place);
        let block = &mut self.blocks[index];
        if block.reported & page == 0 {
            block.reported |= page;
            self.reported.push_back(place);
        }
    }

    /// Serves one batch of faults, block by block. Returns the places that can be accessed now, ascending.
    fn serve_batch(&mut self) -> Vec<u32> {
        let mut batch = BTreeMap::<u32, u32>::new();
        let mut faults = 0;
        while faults < FAULTS_A_BATCH
            && let Some(place) = self.reported.pop_front()
        {
            let (index, page) = split(place);
            let block = &mut self.blocks[index];
            // Pages that migrated with others since need no service.
            if block.reported & page != 0 {
                block.reported &= !page;
                *batch.entry(index as u32).or_default() |= page;
                faults += 1;
            }
        }
        if faults == 0 {
            return Vec::new();
        }
        self.migration.batches += 1;
        self.migration.seconds += unified::fault_seconds(faults);
        let begun = self.tick;
        let mut served = Vec::new();
        let mut again = Vec::new();
        for (index, wanted) in batch {
            let ready = self.serve_block(index, wanted, begun, served.is_empty());
            self.migration.faults += u64::from((wanted & ready).count_ones());
            served.extend(places(index, ready));
            again.extend(places(index, wanted & !ready));
        }
        // Pages that found no room come first in the next batch.
        for place in again.into_iter().rev() {
            let (index, page) = split(place);
            self.blocks[index].reported |= page;
            self.reported.push_front(place);
        }
        served
    }

    /// Migrates pages of a block, and returns those that can be accessed now.
    ///
    /// The prefetcher adds pages if there is room. Pages that migrated since the batch `begun` stay. If there is no
    /// room at all and nothing has been served yet, one page migrates nevertheless, so that there is progress.
    fn serve_block(&mut self, index: u32, wanted: u32, begun: u64, first: bool) -> u32 {
        let block = &mut self.blocks[index as usize];
        let there = wanted & block.present;
        // The page is written now, so the host's copy is invalid.
        block.duplicate &= !there;
        let missing = wanted & !there;
        if missing == 0 {
            return there;
        }
        let mut coming = expand(missing, block.present, block.pages) & !block.present;
        // Pages that the card accesses over the link stay where they are.
        coming &= missing | !(block.linked & !block.elsewhere);
        let mut free = self.make_room(index, coming, |other, came| other == index || came > begun);
        if free < self.blocks[index as usize].parts(coming) {
            coming = missing;
        }
        if first && free < self.blocks[index as usize].parts(1 << coming.trailing_zeros()) {
            self.send_back(index);
            let one = self.blocks[index as usize].parts(1 << coming.trailing_zeros());
            free = self.make_room(index, coming, |_, came| came > begun).max(one);
        }
        coming = self.blocks[index as usize].first_that_fit(coming, free);
        let pieces = (coming & !(coming << 1)).count_ones();
        self.migration.seconds += unified::service_seconds(self.card, coming.count_ones(), pieces);
        self.bring(index, coming);
        there & self.blocks[index as usize].present | coming
    }

    /// Evicts blocks until pages of a block fit, except blocks for which `stays` is true, given index and tick. Returns
    /// how many parts fit.
    fn make_room(&mut self, index: u32, pages: u32, stays: impl Fn(u32, u64) -> bool) -> u64 {
        let wanted = self.blocks[index as usize].parts(pages);
        while self.resident + wanted > self.room {
            let oldest = self.order.iter().find(|(came, index)| !stays(*index, *came)).copied();
            let Some((_, index)) = oldest else { break };
            self.send_back(index);
        }
        self.room.saturating_sub(self.resident).min(wanted)
    }

    /// Evicts a block.
    fn send_back(&mut self, index: u32) {
        let block = &mut self.blocks[index as usize];
        if block.present == 0 {
            return;
        }
        let going = block.present & !block.duplicate;
        self.migration.bytes_out += block.parts(going) * PART_BYTES;
        self.migration.evictions += 1;
        self.migration.seconds += block.moving_seconds(self.card, going);
        self.resident -= block.parts(block.present);
        self.order.remove(&(block.came, index));
        block.left |= block.present;
        (block.present, block.duplicate) = (0, 0);
    }

    /// Migrates pages to the card.
    fn bring(&mut self, index: u32, pages: u32) {
        let block = &mut self.blocks[index as usize];
        if pages == 0 {
            return;
        }
        self.order.remove(&(block.came, index));
        self.tick += 1;
        block.came = self.tick;
        self.order.insert((block.came, index));
        block.present |= pages;
        block.duplicate |= pages & block.read_mostly & !block.elsewhere;
        block.elsewhere &= !pages;
        block.reported &= !pages;
        block.left &= !pages;
        let parts = block.parts(pages);
        self.resident += parts;
        self.migration.bytes_in += parts * PART_BYTES;
        self.migration.seconds += block.moving_seconds(self.card, pages);
    }

    /// Prefetches pages as far as they fit beside each other: no faults, whole blocks. Other blocks on the card are
    /// evicted. `wanted` are blocks with the pages of each, ascending.
    pub(super) fn prefetch(&mut self, wanted: &BTreeMap<u32, u32>) {
        for (&index, &pages) in wanted {
            let missing = pages & !self.blocks[index as usize].present;
            if missing == 0 {
                continue;
            }
            let free = self.make_room(index, missing, |other, _| wanted.contains_key(&other));
            let coming = self.blocks[index as usize].first_that_fit(missing, free);
            self.bring(index, coming);
            if coming != missing {
                break;
            }
        }
    }
}

/// Returns the places of a block's pages.
fn places(index: u32, pages: u32) -> impl Iterator<Item = u32> {
    (0..PAGES_A_BLOCK)
        .filter(move |page| pages >> page & 1 != 0)
        .map(move |page| index * PAGES_A_BLOCK + page)
}

/// Returns the link's time in seconds for pages of a block; adjacent ones go in one copy.
fn moving_seconds(card: &Card, pages: u32) -> f64 {
    let mut rest = pages;
    let mut seconds = 0.0;
    while rest != 0 {
        rest >>= rest.trailing_zeros();
        let together = rest.trailing_ones();
        seconds += unified::migration_seconds(card, u64::from(together) * PAGE_BYTES);
        rest = if together == PAGES_A_BLOCK { 0 } else { rest >> together };
    }
    seconds
}

/// Applies the tree prefetcher to a block: a subtree of which more than 51% is requested or present migrates whole.
fn expand(wanted: u32, present: u32, pages: u32) -> u32 {
    let exists = if pages >= PAGES_A_BLOCK { u32::MAX } else { (1 << pages) - 1 };
    let mut all = wanted | present;
    let mut size = 2;
    while size <= PAGES_A_BLOCK {
        let mut start = 0;
        while start < pages {
            let subtree = (u32::MAX >> (PAGES_A_BLOCK - size) << start) & exists;
            if (all & subtree).count_ones() * 100 > subtree.count_ones() * 51 {
                all |= subtree;
            }
            start += size;
        }
        size *= 2;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use simt::count::Touch;

    fn mask(pages: impl IntoIterator<Item = u32>) -> u32 {
        pages.into_iter().fold(0, |mask, page| mask | 1 << page)
    }

    fn card() -> Card {
        simt::cards::find("h200").expect("a card")
    }

    fn blocks(count: u32) -> Vec<Block> {
        (0..count).map(|_| Block { pages: 32, ..Block::default() }).collect()
    }

    fn trail(pages: impl IntoIterator<Item = u32>) -> Trail {
        pages.into_iter().map(|page| Touch { page, written: false, with_previous: false }).collect()
    }

    fn identity(blocks: u32) -> Vec<u32> {
        (0..blocks * 32).collect()
    }

    #[test]
    fn the_tree_brings_what_is_mostly_wanted() {
        // One of two is not more than half.
        assert_eq!(expand(mask([5]), 0, 32), mask([5]));
        // Three of four are, and four of the next eight are not.
        assert_eq!(expand(mask([0, 1, 2]), 0, 32), mask([0, 1, 2, 3]));
        // Present pages count too: five of eight, then eight of sixteen.
        assert_eq!(expand(mask([4]), mask([0, 1, 2, 3]), 32), mask(0..8));
        // More than half of all, and never more than there is.
        assert_eq!(expand(mask(0..17), 0, 32), u32::MAX);
        assert_eq!(expand(mask([0, 1]), 0, 3), mask([0, 1, 2]));
    }

    #[test]
    fn neighbours_move_together() {
        let card = card();
        let one = unified::migration_seconds(&card, PAGE_BYTES);
        assert!((moving_seconds(&card, mask([3, 9])) - 2.0 * one).abs() < 1e-12);
        assert_eq!(moving_seconds(&card, u32::MAX), unified::migration_seconds(&card, BLOCK_BYTES));
        assert_eq!(moving_seconds(&card, 0), 0.0);
    }

    #[test]
    fn a_sweep_faults_ahead_as_the_tree_grows() {
        let card = card();
        let mut paging = Paging::new(&card, 8 << 20, blocks(2), 0);
        paging.play(&[trail(0..64)], &identity(2));
        // A block: 0; 1 and with it 2 of 2; then 2 and 3 (three of four); 4 to 7 with 4; 8 to 15 with 8; the rest with
        // 16.
        let migration = paging.migration;
        assert_eq!((migration.bytes_in, migration.bytes_out, migration.evictions), (4 << 20, 0, 0));
        assert_eq!((migration.faults, migration.batches), (12, 12));
        assert!(migration.seconds > 12.0 * unified::BATCH_SECONDS, "{migration:?}");
    }

    #[test]
    fn what_came_longest_ago_leaves_and_comes_again_when_wanted() {
        let card = card();
        // Two blocks fit, three are accessed in turn.
        let mut paging = Paging::new(&card, 4 << 20, blocks(3), 0);
        let whole = |block: u32| (0..32).map(move |page| block * 32 + page);
        let all = trail(whole(0).chain(whole(1)).chain(whole(2)).chain(whole(0)));
        paging.play(&[all], &identity(3));
        assert_eq!((paging.migration.bytes_in, paging.migration.evictions), (8 << 20, 2));
        assert_eq!(paging.migration.bytes_out, 4 << 20, "read only, and sent back all the same");
        let present: Vec<u32> = paging.blocks.iter().map(|block| block.present).collect();
        assert_eq!(present, [u32::MAX, 0, u32::MAX]);
        assert_eq!(paging.blocks[1].left, u32::MAX);
    }

    #[test]
    fn copies_are_dropped_and_writing_ends_them() {
        let card = card();
        let read_mostly =
            blocks(2).into_iter().map(|block| Block { read_mostly: u32::MAX, ..block }).collect();
        let mut paging = Paging::new(&card, 2 << 20, read_mostly, 0);
        paging.play(&[trail((0..32).chain(32..64))], &identity(2));
        assert_eq!((paging.migration.evictions, paging.migration.bytes_out), (1, 0));
        assert_eq!(paging.blocks[1].duplicate, u32::MAX);
        let batches = paging.migration.batches;
        let write = Touch { page: 40, written: true, with_previous: false };
        paging.play(&[[write].into_iter().collect()], &identity(2));
        assert_eq!(paging.migration.batches, batches + 1);
        assert_eq!(paging.blocks[1].duplicate, !(1 << 8));
    }

    #[test]
    fn faults_of_a_request_and_of_many_warps_go_in_one_batch() {
        let card = card();
        let mut paging = Paging::new(&card, 64 << 20, blocks(16), 0);
        let touch = |page, with_previous| Touch { page, written: false, with_previous };
        let gather: Trail = (0..8).map(|block| touch(block * 32, block > 0)).collect();
        paging.play(&[gather, trail([300])], &identity(16));
        assert_eq!((paging.migration.batches, paging.migration.faults), (1, 9));
        // 300 warps that access pages of their own: 256 of them, then 44 (some of which migrated with the first).
        let mut paging = Paging::new(&card, 64 << 20, blocks(300), 0);
        let warps: Vec<Trail> = (0..300).map(|block| trail([block * 32 + 7])).collect();
        paging.play(&warps, &identity(300));
        assert_eq!((paging.migration.batches, paging.migration.faults), (2, 300));
    }

    #[test]
    fn it_goes_on_with_less_room_than_is_wanted_at_once() {
        let card = card();
        for room in [0, PAGE_BYTES, 3 * PAGE_BYTES] {
            let mut paging = Paging::new(&card, room, blocks(4), 0);
            let way = |warp: u32| trail((0..64).map(move |step| (step * 37 + warp * 5) % 128));
            let warps: Vec<Trail> = (0..4).map(way).collect();
            paging.play(&warps, &identity(4));
            assert!(paging.migration.faults >= 128, "{:?}", paging.migration);
            assert!(paging.resident <= (room / PART_BYTES).max(16), "{}", paging.resident);
        }
    }

    #[test]
    fn of_pages_that_are_partly_the_hosts_the_rest_moves() {
        let card = card();
        // Hints keep every second part of the first four pages on the host.
        let mut hosts = Box::new([0_u16; 32]);
        hosts[..4].fill(0xaaaa);
        let block = Block { pages: 32, hosts_parts: Some(hosts), ..Block::default() };
        assert_eq!((block.parts(mask(0..4)), block.parts(mask(2..6))), (32, 48));
        assert_eq!(
            (block.first_that_fit(u32::MAX, 31), block.first_that_fit(u32::MAX, 47)),
            (mask(0..3), mask(0..4))
        );
        let (part, page) = (4096, PAGE_BYTES);
        let expected =
            8.0 * unified::migration_seconds(&card, part) + unified::migration_seconds(&card, page);
        assert!((block.moving_seconds(&card, mask([1, 9])) - expected).abs() < 1e-12);
        let mut paging = Paging::new(&card, 2 << 20, vec![block], 0);
        paging.play(&[trail(0..8)], &identity(1));
        assert_eq!((paging.migration.bytes_in, paging.resident), (4 * page / 2 + 4 * page, 96));
    }

    #[test]
    fn a_prefetch_brings_what_fits() {
        let card = card();
        let mut paging = Paging::new(&card, (4 << 20) + 5 * PAGE_BYTES, blocks(5), 0);
        // Another block is present, and is evicted.
        paging.play(&[trail([128])], &identity(5));
        let range = (0..4).map(|block| (block, u32::MAX)).collect();
        paging.prefetch(&range);
        let present: Vec<u32> = paging.blocks.iter().map(|block| block.present).collect();
        assert_eq!(present, [u32::MAX, u32::MAX, mask(0..5), 0, 0]);
    }
}
