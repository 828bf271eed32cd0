//! The rules of counting from 5.0 on, in the plainest form: one lane and one sector after another, in hash maps.

use simt::cards::Card;
use simt::internals::count::{DramCounts, HottestAtomics, MemoryCounts};
use simt::observe::{Access, Operation};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

const SECTOR: u64 = 32;
const LINE: u64 = 128;
const GROUP: u64 = 1024;

/// What a launch adds up.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Expected {
    pub(crate) loads: MemoryCounts,
    pub(crate) stores: MemoryCounts,
    pub(crate) atomics: MemoryCounts,
    /// Distinct addresses and rounds of atomics.
    pub(crate) conflicts: [u64; 2],
    pub(crate) read: DramCounts,
    pub(crate) written: DramCounts,
    pub(crate) hottest: HottestAtomics,
}

/// A line in L2.
#[derive(Default)]
struct Line {
    tick: u64,
    fetched: BTreeSet<u64>,
    dirty: BTreeSet<u64>,
}

impl Line {
    fn sectors(&self) -> BTreeSet<u64> {
        self.fetched.union(&self.dirty).copied().collect()
    }

    fn bytes(&self) -> u64 {
        if self.sectors().is_empty() { 0 } else { LINE }
    }
}

/// L2 and the memory behind it, from launch to launch.
pub(crate) struct L2 {
    bytes: u64,
    /// Bytes after which a line has left, by its class. Those of an H200 have two halves and four kinds of sets.
    capacities: [u64; 4],
    granule: u64,
    page: u64,
    lines: HashMap<u64, Line>,
    now: u64,
    horizon: u64,
    /// The first tick whose lines are still there, by class, and when it was found.
    horizons: [u64; 4],
    horizons_at: u64,
    /// Bytes that have come in, and how many had when pages were last closed.
    brought: [u64; 2],
    /// Pages open for reads and for writes.
    pages: [HashSet<u64>; 2],
}

impl L2 {
    pub(crate) fn new(card: &Card) -> Self {
        let bytes = card.l2_bytes;
        let of_halves =
            [0.0, 1.0, 2.0, 3.0].map(|class| (bytes as f64 * (0.9 + 0.2 / 3.0 * class) / 1.5) as u64);
        Self {
            bytes,
            capacities: if card.compute_capability.major == 9 { of_halves } else { [bytes; 4] },
            granule: u64::from(card.dram_granule_bytes),
            page: u64::from(card.dram_page_bytes),
            lines: HashMap::new(),
            now: 1,
            horizon: 1,
            horizons: [1; 4],
            horizons_at: 1,
            brought: [0; 2],
            pages: Default::default(),
        }
    }

    fn close_pages(&mut self) {
        self.pages = Default::default();
        self.brought[1] = self.brought[0];
    }

    /// Returns the line of a sector as of now.
    fn touch(&mut self, sector: u64) -> &mut Line {
        let class = (sector * SECTOR / GROUP).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62;
        let line = self.lines.entry(sector * SECTOR / LINE).or_default();
        if line.tick < self.horizons[class as usize] {
            *line = Line::default();
        }
        line.tick = self.now;
        line
    }

    fn read(&mut self, sector: u64, counts: &mut DramCounts) {
        let granule = self.granule / SECTOR;
        let line = self.touch(sector);
        let before = line.bytes();
        if line.sectors().contains(&sector) {
            return;
        }
        counts.granules += 1;
        counts.lines += u64::from(line.fetched.is_empty());
        line.fetched.extend((0..granule).map(|index| sector / granule * granule + index));
        let new = line.bytes() - before;
        self.brought[0] += new;
        counts.pages += u64::from(self.pages[0].insert(sector * SECTOR / self.page));
    }

    fn write(&mut self, sector: u64, counts: &mut DramCounts) {
        let granule = self.granule / SECTOR;
        let line = self.touch(sector);
        let before = line.bytes();
        if line.dirty.contains(&sector) {
            return;
        }
        counts.granules += u64::from(line.dirty.iter().all(|dirty| dirty / granule != sector / granule));
        counts.lines += u64::from(line.dirty.is_empty());
        line.dirty.insert(sector);
        let new = line.bytes() - before;
        self.brought[0] += new;
        counts.pages += u64::from(self.pages[1].insert(sector * SECTOR / self.page));
    }

    /// Ends a part: begins a tick if enough has been touched in this one, and drops the oldest beyond the cache's size.
    fn end_part(&mut self) {
        let mut held: BTreeMap<u64, u64> = BTreeMap::new();
        for line in self.lines.values().filter(|line| line.tick >= self.horizon) {
            *held.entry(line.tick).or_default() += line.bytes();
        }
        let ticks = self.now - self.horizon + 1;
        if held.get(&self.now).copied().unwrap_or(0) > self.bytes / 4096 * (ticks / 4096).max(1) {
            self.now += 1;
        }
        while self.horizon < self.now
            && (held.values().sum::<u64>() > self.capacities[3] || !held.contains_key(&self.horizon))
        {
            held.remove(&self.horizon);
            self.horizon += 1;
        }
        let since = |tick: u64| held.range(tick..).map(|(_, bytes)| bytes).sum::<u64>();
        let stays =
            |capacity| (self.horizon..self.now).find(|&tick| since(tick) <= capacity).unwrap_or(self.now);
        if self.now - self.horizons_at >= 32 {
            (self.horizons, self.horizons_at) = (self.capacities.map(stays), self.now);
        }
        self.horizons = self.horizons.map(|found| found.max(self.horizon));
        if self.brought[0] - self.brought[1] >= self.bytes {
            self.close_pages();
        }
    }
}

/// What a block has in L1 of 1 KiB, and when it was last loaded.
#[derive(Default)]
struct Cached {
    sectors: HashSet<u64>,
    time: u64,
}

/// A launch.
pub(crate) struct Model<'a> {
    l2: &'a mut L2,
    counts: Expected,
    /// Sectors that a block may load before an earlier one is evicted.
    share: u64,
    blocks_of_part: u64,
    part: u64,
    l1: HashMap<u64, Cached>,
    clocks: HashMap<u32, u64>,
    /// Sectors that the block has written.
    own: HashSet<u64>,
    words: HashMap<u64, u64>,
    sectors: HashMap<u64, u64>,
    pieces: HashMap<u64, u64>,
}

impl<'a> Model<'a> {
    pub(crate) fn new(l2: &'a mut L2, share: u64, blocks_of_part: u64) -> Self {
        l2.close_pages();
        Self {
            l2,
            counts: Expected::default(),
            share,
            blocks_of_part,
            part: 0,
            l1: HashMap::new(),
            clocks: HashMap::new(),
            own: HashSet::new(),
            words: HashMap::new(),
            sectors: HashMap::new(),
            pieces: HashMap::new(),
        }
    }

    pub(crate) fn begin_block(&mut self, block: u64) {
        if block / self.blocks_of_part != self.part {
            self.part = block / self.blocks_of_part;
            self.l2.end_part();
        }
        self.l1.clear();
        self.clocks.clear();
        self.own.clear();
    }

    pub(crate) fn access(&mut self, warp: u32, access: &Access<'_>) {
        let lanes: Vec<u64> = (0..32)
            .filter(|lane| access.active >> lane & 1 == 1)
            .map(|lane| access.addresses[lane])
            .collect();
        if lanes.is_empty() {
            return;
        }
        let pieces = |bytes: u64| lanes.iter().map(|address| address / bytes).collect::<BTreeSet<u64>>();
        let (sectors, lines) = (pieces(SECTOR), pieces(LINE));
        let cached = access.operation == Operation::Load && !access.past_l1;
        let l2_sectors = if cached { self.load(warp, &lanes) } else { sectors.len() as u64 };
        let rewritten = sectors.intersection(&self.own.iter().copied().collect()).count() as u64;
        if !cached && access.operation != Operation::Store {
            sectors.iter().for_each(|&sector| self.l2.read(sector, &mut self.counts.read));
        }
        if access.operation != Operation::Load {
            sectors.iter().for_each(|&sector| self.l2.write(sector, &mut self.counts.written));
            self.own.extend(&sectors);
        }
        let memory = match access.operation {
            Operation::Load => &mut self.counts.loads,
            Operation::Store => &mut self.counts.stores,
            Operation::Atomic | Operation::Reduction => &mut self.counts.atomics,
        };
        let (used, moved) = (lanes.len() as u64 * u64::from(access.bytes), SECTOR * sectors.len() as u64);
        memory.instructions += 1;
        memory.requests += 1;
        memory.transactions += sectors.len() as u64;
        memory.sectors += sectors.len() as u64;
        memory.lines += lines.len() as u64;
        memory.bytes_requested += used;
        memory.bytes_moved += moved;
        memory.turns += (lines.len() as u64).div_ceil(4).max(data_turns(access));
        memory.l2_sectors += l2_sectors;
        memory.requests_in_l1 += u64::from(cached && l2_sectors == 0);
        memory.rewritten += if access.operation == Operation::Store { rewritten } else { 0 };
        if matches!(access.operation, Operation::Atomic | Operation::Reduction) {
            self.collide(&lanes);
        }
    }

    /// Loads through L1, and returns the sectors that miss.
    fn load(&mut self, warp: u32, lanes: &[u64]) -> u64 {
        let clock = self.clocks.entry(warp).or_default();
        let mut all = 0;
        for group in lanes.chunk_by(|a, b| a / GROUP == b / GROUP) {
            let cached = self.l1.entry(group[0] / GROUP).or_default();
            let sectors: BTreeSet<u64> = group.iter().map(|address| address / SECTOR).collect();
            let distance = clock.abs_diff(cached.time);
            if distance >= self.share {
                cached.sectors.clear();
            } else if distance >= (self.share / 32).max(1) && *clock > cached.time && is_walk(&sectors) {
                let lowest = cached.sectors.iter().min();
                *clock += if lowest.is_some_and(|lowest| sectors.contains(lowest)) {
                    cached.sectors.len() as u64
                } else {
                    0
                };
            }
            let missed: Vec<u64> =
                sectors.iter().copied().filter(|sector| !cached.sectors.contains(sector)).collect();
            if missed.len() < sectors.len() {
                *clock = cached.time.max(*clock);
            }
            *clock += missed.len() as u64;
            cached.time = *clock;
            cached.sectors.extend(&missed);
            missed.iter().for_each(|&sector| self.l2.read(sector, &mut self.counts.read));
            all += missed.len() as u64;
        }
        all
    }

    /// Counts the conflicts of an atomic's lanes.
    fn collide(&mut self, lanes: &[u64]) {
        let mut same = HashMap::<u64, u64>::new();
        lanes.iter().for_each(|&address| *same.entry(address).or_default() += 1);
        self.counts.conflicts[0] += same.len() as u64;
        self.counts.conflicts[1] += same.values().max().unwrap();
        // The tables of these counts are finite: arrays that are far apart count together.
        let mut words = HashMap::<u64, u64>::new();
        lanes.iter().for_each(|&address| *words.entry(address % (1 << 40) / 4).or_default() += 1);
        let mut rounds = HashMap::<u64, u64>::new();
        for (&word, &lanes) in &words {
            *self.words.entry(word).or_default() += lanes;
            let most = rounds.entry(word * 4 / SECTOR).or_default();
            *most = lanes.max(*most);
        }
        for (&sector, &rounds) in &rounds {
            *self.sectors.entry(sector).or_default() += 1;
            *self.pieces.entry(sector * SECTOR / 256).or_default() += rounds;
            self.counts.hottest.all_rounds += rounds;
        }
    }

    pub(crate) fn finish(mut self) -> Expected {
        self.l2.end_part();
        let most = |counts: &HashMap<u64, u64>| counts.values().copied().max().unwrap_or(0);
        let all_rounds = self.counts.hottest.all_rounds;
        self.counts.hottest = HottestAtomics {
            operations: most(&self.words),
            requests: most(&self.sectors),
            rounds: most(&self.pieces),
            slice: busiest_slice(&self.pieces),
            alike: alike(&self.pieces),
            all_rounds,
        };
        self.counts
    }
}

/// True for the sectors of lanes side by side: four in a row among at most eight.
fn is_walk(sectors: &BTreeSet<u64>) -> bool {
    sectors.len() <= 8
        && sectors.iter().any(|first| {
            (first / 32 == (first + 3) / 32) && (0..4).all(|next| sectors.contains(&(first + next)))
        })
}

/// Turns for the data of a request: a bank of L1 delivers a word at a time, to as many lanes as 128 bytes are for.
fn data_turns(access: &Access<'_>) -> u64 {
    let at_once = 32 / (access.bytes as usize / 4).max(1);
    let part = |first: usize| {
        let mut banks: [HashSet<u64>; 32] = Default::default();
        for lane in (first..first + at_once).filter(|lane| access.active >> lane & 1 == 1) {
            for byte in access.addresses[lane]..access.addresses[lane] + u64::from(access.bytes) {
                banks[(byte / 4 % 32) as usize].insert(byte / 128);
            }
        }
        banks.iter().map(HashSet::len).max().unwrap() as u64
    };
    (0..32).step_by(at_once).map(part).sum()
}

/// Rounds in the busiest of 96 slices: four pieces in a row are in two of them, in turns; fours are apart by the golden ratio of all.
fn busiest_slice(pieces: &HashMap<u64, u64>) -> u64 {
    let mut slices = [0; 96];
    for (piece, rounds) in pieces {
        let place = piece % 65_536;
        let fours = f64::from((place as u32 / 4).wrapping_mul(0x9E37_79B9)) / 2.0_f64.powi(32);
        slices[((fours * 96.0) as usize + (place % 2) as usize * 48) % 96] += rounds;
    }
    slices.into_iter().max().unwrap_or(0)
}

/// Number of pieces as hot as the hottest, by the sum of squares.
fn alike(pieces: &HashMap<u64, u64>) -> u64 {
    let most = pieces.values().copied().max().unwrap_or(0).max(1);
    let squares: u64 = pieces.values().map(|rounds| rounds * rounds).sum();
    (squares as f64 / (most * most) as f64).round() as u64
}
