//! Memory as a multiprocessor sees it: L1, and its share of L2 and of device memory, each a queue.
//!
//! A queue serves one sector after another, in the time that the model's [formula](crate::model) gives to a sector of this launch. Every
//! other multiprocessor does the same, so that the share of each is the whole over their number. Requests come at irregular times,
//! so that they wait before a queue is busy all the time: with a share u of its time taken, a latency is longer by
//!
//! ```text
//! (1 - u^w)^(-1/w)        w is the card's `wait_sharpness`; at w = 1.7 and u = 0.5, 0.8 and 0.9 by 1.24, 1.9 and 2.7
//! ```
//!
//! which is the curve that n warps, each of which waits for a latency L and then for a service of D, follow where the formula combines both
//! times as `((L / n)^w + D^w)^(1/w)`. The share is that of the last two thousand clocks or so.

use super::trace::GlobalRequest;
use crate::cards::Card;
use crate::coalescing::LINE_BYTES;
use crate::count::l1_bytes;
use crate::observe::Operation;
use counters::SampledLoads;
use rustc_hash::FxHashMap;

/// Clocks over which a queue's load is averaged.
const MEMORY_OF_LOAD: f64 = 2000.0;

/// Most by which load makes a latency longer.
const MOST_TIMES: f64 = 3.0;

/// Clocks that stores may lie behind before a multiprocessor waits for them.
const MOST_BEHIND: f64 = 3000.0;

/// What a launch's sectors cost, by the formula of the [model](crate::model).
#[derive(Clone, Copy, Debug)]
pub(super) struct Rates {
    /// Clocks of a multiprocessor's share of L2 for a sector that is loaded; one that is stored takes
    /// [`l2_store_times`](Card::l2_store_times) as many.
    pub(super) l2: f64,
    /// The same of device memory, for a sector that passes L2: those that L2 holds take none.
    pub(super) dram: f64,
    /// Share of the loads' sectors that device memory has to serve.
    pub(super) missed: f64,
}

/// Sectors that pass L2.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sectors {
    pub(super) loaded: f64,
    pub(super) stored: f64,
}

impl Sectors {
    /// As many loaded ones as take the same time of L2.
    pub(super) fn as_loaded(self, card: &Card) -> f64 {
        self.loaded + self.stored * card.l2_store_times
    }

    /// Multiplies both counts.
    pub(super) fn times(self, times: f64) -> Self {
        Self { loaded: self.loaded * times, stored: self.stored * times }
    }
}

/// A server of requests in their order.
#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    /// When it has served all so far.
    free: f64,
    /// Share of the time that it was busy, averaged, as of `when`.
    load: f64,
    when: f64,
}

impl Queue {
    fn serve(&mut self, at: f64, clocks: f64) {
        self.free = self.free.max(at) + clocks;
        if at > self.when {
            self.load *= (-(at - self.when) / MEMORY_OF_LOAD).exp();
            self.when = at;
        }
        self.load += clocks / MEMORY_OF_LOAD;
    }

    /// Returns by how much its load makes a latency longer.
    fn times(&self, sharpness: f64) -> f64 {
        let busy = self.load.min(0.999).powf(sharpness);
        (1.0 - busy).powf(-1.0 / sharpness).min(MOST_TIMES)
    }
}

/// The lines of L1, any of which a new one may replace: of a little more than L1 holds that is read again and again, a part is found, where
/// a cache that gave up the least recently used would find nothing. So does an H200's.
struct Lines {
    /// When each sector of a line is there, infinite for those that nobody has loaded.
    held: FxHashMap<u64, [f64; 4]>,
    /// The lines that are held.
    places: Vec<u64>,
    most: usize,
    /// State of the generator that chooses what is replaced, the same for each simulation.
    random: u64,
}

impl Lines {
    fn new(most: usize) -> Self {
        Self { held: FxHashMap::default(), places: Vec::new(), most, random: 0x9E37_79B9_7F4A_7C15 }
    }

    fn line(&mut self, line: u64) -> &mut [f64; 4] {
        if !self.held.contains_key(&line) {
            if self.places.len() < self.most {
                self.places.push(line);
            } else {
                let place = self.random_place();
                self.held.remove(&std::mem::replace(&mut self.places[place], line));
            }
        }
        self.held.entry(line).or_insert([f64::INFINITY; 4])
    }

    /// Returns a place by Marsaglia's xorshift.
    fn random_place(&mut self) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random % self.places.len() as u64) as usize
    }
}

/// Memory of a multiprocessor.
pub(super) struct Memory<'a> {
    card: &'a Card,
    rates: Rates,
    l1: Lines,
    /// When the pipeline of L1 and shared memory is free.
    pipeline: f64,
    /// When constant memory is.
    constant: f64,
    l2: Queue,
    dram: Queue,
    /// Shares of a miss in L2 that have not made a whole one yet.
    missed: f64,
    missing: Vec<u64>,
    /// Sectors that have passed L2.
    pub(super) passed: Sectors,
    /// Counts the loads from global memory and their hits in L1.
    pub(super) loads: SampledLoads,
}

impl<'a> Memory<'a> {
    pub(super) fn new(card: &'a Card, rates: Rates, shared_bytes: u64) -> Self {
        let most = (l1_bytes(card.compute_capability, shared_bytes) / LINE_BYTES) as usize;
        Self {
            card,
            rates,
            l1: Lines::new(most.max(1)),
            pipeline: 0.0,
            constant: 0.0,
            l2: Queue::default(),
            dram: Queue::default(),
            missed: 0.5,
            missing: Vec::new(),
            passed: Sectors::default(),
            loads: SampledLoads::default(),
        }
    }

    /// Occupies the pipeline for some turns from `at` on; returns when it is done.
    pub(super) fn occupy(&mut self, at: f64, turns: f64) -> f64 {
        self.pipeline = self.pipeline.max(at) + turns / self.card.wavefronts_per_clock;
        self.pipeline
    }

    /// Serves a request to constant memory at `at`; returns when the last of its addresses has been served.
    pub(super) fn serve_constant(&mut self, at: f64, addresses: u32) -> f64 {
        self.constant = self.constant.max(at) + f64::from(addresses) * self.card.constant_clocks;
        self.constant
    }

    /// Serves a request at `at`; returns when its result is there, or for one without a result when the warp goes on.
    pub(super) fn serve(&mut self, at: f64, request: &GlobalRequest, sectors: &[u64]) -> f64 {
        let at = self.occupy(at, f64::from(request.turns));
        match request.operation {
            Operation::Load => self.load(at, request, sectors),
            Operation::Store if request.is_local => {
                for &sector in sectors {
                    self.l1.line(sector / 4)[(sector % 4) as usize] = at;
                }
                at
            }
            Operation::Store | Operation::Reduction | Operation::Atomic => {
                if request.operation == Operation::Store {
                    // What is stored takes a place, whether it is loaded later or not.
                    for &sector in sectors {
                        self.l1.line(sector / 4);
                    }
                }
                self.pass(at, Sectors { stored: sectors.len() as f64, ..Sectors::default() });
                let behind = self.l2.free.max(self.dram.free) - MOST_BEHIND;
                self.pipeline = self.pipeline.max(behind);
                let [_, _, l2, _] = self.card.chain_clocks;
                self.l2.free.max(at) + l2 * self.l2.times(self.card.wait_sharpness)
            }
        }
    }

    /// Sectors pass L2 and, as far as it does not hold them, device memory.
    fn pass(&mut self, at: f64, sectors: Sectors) {
        self.passed.loaded += sectors.loaded;
        self.passed.stored += sectors.stored;
        self.l2.serve(at, sectors.as_loaded(self.card) * self.rates.l2);
        self.dram.serve(at, (sectors.loaded + sectors.stored) * self.rates.dram);
    }

    fn load(&mut self, at: f64, request: &GlobalRequest, sectors: &[u64]) -> f64 {
        let [_, l1, l2, dram] = self.card.chain_clocks;
        let mut ready = at + l1;
        self.missing.clear();
        if request.past_l1 {
            self.missing.extend(sectors);
        } else {
            for &sector in sectors {
                let there = self.l1.line(sector / 4)[(sector % 4) as usize];
                if there.is_infinite() {
                    self.missing.push(sector);
                } else {
                    ready = ready.max(there);
                }
            }
        }
        if !request.is_local {
            self.loads.requests += 1;
            self.loads.hits += u64::from(self.missing.is_empty());
        }
        if self.missing.is_empty() {
            return ready;
        }
        self.pass(at, Sectors { loaded: self.missing.len() as f64, ..Sectors::default() });
        let sharpness = self.card.wait_sharpness;
        let from_l2 = l2 * self.l2.times(sharpness);
        let from_dram = from_l2 + (dram - l2) * self.dram.times(sharpness);
        let fetched = lines(self.missing.iter().copied()).count() as f64;
        // A request waits for device memory if L2 misses one of its lines.
        self.missed += self.rates.missed * fetched;
        let mut there = self.l2.free + from_l2;
        if self.missed >= 1.0 {
            self.missed = self.missed.fract();
            there = self.l2.free.max(self.dram.free) + from_dram;
        }
        // The last line of a request comes later than the first.
        let lines = lines(sectors.iter().copied()).count() as f64;
        there += lines.log2() * self.card.line_clocks;
        if !request.past_l1 {
            for &sector in &self.missing {
                self.l1.line(sector / 4)[(sector % 4) as usize] = there;
            }
        }
        ready.max(there)
    }

    /// When everything that was requested has been served.
    pub(super) fn end(&self) -> f64 {
        self.pipeline.max(self.constant).max(self.l2.free).max(self.dram.free)
    }
}

/// The lines of ascending sectors, each once.
fn lines(sectors: impl Iterator<Item = u64>) -> impl Iterator<Item = u64> {
    let mut last = u64::MAX;
    sectors.map(|sector| sector / 4).filter(move |line| std::mem::replace(&mut last, *line) != *line)
}
