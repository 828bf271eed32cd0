//! Fleets with known faults: the files that the ranks of thousands of cards would have written.
//!
//! A card's time of a row, in logarithms, is
//!
//! ```text
//! ln t = ln t0 - s[g] clock - own[g] + fault[g] + noise
//! ```
//!
//! `t0` is the row's time on the median card; `clock` the card's deviation of its clock, of which a component `g` follows
//! the part `s[g]`; `own[g]` the card's deviation in that component alone; `fault[g]` what is injected; `noise` is drawn
//! for each row and pass from Student's distribution with three degrees of freedom, whose tails are heavy, and one row in
//! a thousand is a glitch that takes a fifth longer. The host's deviation is that of its machine.
//!
//! The spreads in [`Spreads::default`] are measured or published ones, each with its source. They were fixed before the
//! thresholds were tried on them.

mod rows;

pub use rows::{Row, probe, repeated};

use crate::component::Component;
use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, Normal, StudentT};
use rand_pcg::Pcg64;
use record::Origin;
use std::collections::BTreeMap;

/// A fleet of one kind of card.
#[derive(Clone, Debug)]
pub struct Fleet {
    /// The number of cards, one rank each.
    pub cards: u32,
    /// Cards per machine.
    pub per_host: u32,
    /// Passes over all rows.
    pub passes: u32,
    /// Rows of a pass.
    pub rows: Vec<Row>,
    /// How cards and passes differ.
    pub spreads: Spreads,
    /// Determines everything that is drawn.
    pub seed: u64,
    /// The faults by rank; a slow host slows all cards of the rank's machine.
    pub faults: BTreeMap<u32, Injected>,
}

/// The spreads, each a standard deviation of the logarithm of times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spreads {
    /// Of cards, in their clocks.
    pub clock: f64,
    /// Of cards, in each component apart from the clock, in the order of [`Component::ALL`]; of the host over machines.
    pub cards: [f64; 5],
    /// Of passes, in each component.
    pub passes: [f64; 5],
    /// The part of the clock that each component follows.
    pub follows: [f64; 5],
    /// The part of rows that are glitches.
    pub glitches: f64,
}

impl Default for Spreads {
    /// Spreads of real cards.
    ///
    /// | figure | value | source |
    /// | --- | --- | --- |
    /// | clocks of cards | 8% | average variation between GPUs of one model over five clusters (Sinha et al., SC22); taken as one standard deviation, the harshest reading |
    /// | device memory of cards | 0.5% | copies within each of 8 H100s, 2475 to 2515 GB/s (NCCL issue 1264); 8 H20-3e differ by 0.04% (nvbandwidth issue 48) |
    /// | L2 of cards | 0.1% | an assumption: nothing is published. L2 shares the SMs' clock domain, which is taken out; `docs/fleet.md` has the table of other values |
    /// | link of cards | 0.35% | copies by a kernel from the host to each of 8 H100s, 35.03 to 35.39 GB/s (nvbandwidth issue 24) |
    /// | hosts | 3% | an assumption: machines of one kind |
    /// | passes: memory, L2, link, clocks, host | 0.3%, 0.2%, 0.4%, 0.1%, 8% | spread of samples on an H200, `docs/results/h200/atlas.jsonl`: medians of 0.15%, 0.02%, 0.37%, 0.01% and 5.2%, all rounded up, since runs may differ by more |
    /// | parts of the clock | 0.1, 1, 0, 1, 0 | L2 and SMs share a clock domain; the link and the host have their own |
    fn default() -> Self {
        Spreads {
            clock: 0.08,
            cards: [0.005, 0.001, 0.0035, 0.0, 0.03],
            passes: [0.003, 0.002, 0.004, 0.001, 0.08],
            follows: [0.1, 1.0, 0.0, 1.0, 0.0],
            glitches: 0.001,
        }
    }
}

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Injected {
    /// 5% of device memory's bandwidth is gone.
    HbmLoss,
    /// One of 80 slices of L2 is lost (80 on an A100 by its whitepaper): 1/80 of its bandwidth, if addresses spread evenly
    /// over the others.
    L2Slice,
    /// The link has half of its lanes.
    LinkAtHalf,
    /// The clock drops by 10% in one pass of ten, each by chance.
    ClockDrops,
    /// The host's calls take 1.5 times as long: the outliers of Sinha et al.
    SlowHost,
}

impl Injected {
    /// All faults.
    pub const ALL: [Injected; 5] = [
        Injected::HbmLoss,
        Injected::L2Slice,
        Injected::LinkAtHalf,
        Injected::ClockDrops,
        Injected::SlowHost,
    ];

    /// The component that a report should name.
    pub fn component(self) -> Component {
        match self {
            Injected::HbmLoss => Component::Hbm,
            Injected::L2Slice => Component::L2,
            Injected::LinkAtHalf => Component::Link,
            Injected::ClockDrops => Component::Clocks,
            Injected::SlowHost => Component::Host,
        }
    }

    /// The factor of times in its component.
    fn factor(self) -> f64 {
        match self {
            Injected::HbmLoss => 1.0 / 0.95,
            Injected::L2Slice => 80.0 / 79.0,
            Injected::LinkAtHalf => 2.0,
            Injected::ClockDrops => 1.0 / 0.9,
            Injected::SlowHost => 1.5,
        }
    }
}

impl Default for Fleet {
    /// 4,096 H200s, eight in a machine, with the rows and the passes of `coalesce run --fleet`, and no fault.
    fn default() -> Self {
        Fleet {
            cards: 4096,
            per_host: 8,
            passes: 48,
            rows: probe(),
            spreads: Spreads::default(),
            seed: 1,
            faults: BTreeMap::new(),
        }
    }
}

/// What is drawn once for a card.
struct Drawn {
    clock: f64,
    own: [f64; 5],
    fault: Option<Injected>,
    rng: Pcg64,
}

impl Fleet {
    /// The same fleet with a fault of this rank.
    pub fn with_fault(mut self, rank: u32, fault: Injected) -> Fleet {
        self.faults.insert(rank, fault);
        self
    }

    /// The same fleet with as many faults of each kind, spread evenly over the ranks; slow hosts are whole machines.
    pub fn with_faults(mut self, of_each: u32) -> Fleet {
        let hosts = self.cards / self.per_host;
        let machines = (of_each / self.per_host).max(1);
        let count = 4 * of_each + machines;
        // Every fault in a machine of its own, as long as there are enough.
        let place =
            |nth: u32| (u64::from(nth) * u64::from(hosts) / u64::from(count.min(hosts).max(1))) as u32;
        for nth in 0..count {
            let host = place(nth) % hosts;
            let fault = if nth < machines { Injected::SlowHost } else { Injected::ALL[(nth % 4) as usize] };
            self.faults.insert(host * self.per_host + nth % self.per_host, fault);
        }
        self
    }

    /// The fault of a rank, if it has one.
    pub fn fault(&self, rank: u32) -> Option<Injected> {
        let own = self.faults.get(&rank).copied();
        let first = rank / self.per_host * self.per_host;
        let mut of_host = self.faults.range(first..first + self.per_host).map(|(_, fault)| *fault);
        own.or_else(|| of_host.find(|fault| *fault == Injected::SlowHost))
    }

    /// The files of all ranks: names and texts.
    pub fn files(&self) -> impl Iterator<Item = (String, String)> + '_ {
        (0..self.cards).map(|rank| (format!("rank-{rank:05}.jsonl"), self.file(rank)))
    }

    /// The file of a rank.
    pub fn file(&self, rank: u32) -> String {
        let mut drawn = self.draw(rank);
        let mut text = String::new();
        let origin = Origin {
            run: "simulated".to_string(),
            rank: Some(rank),
            ranks: Some(self.cards),
            host: format!("node{:05}", rank / self.per_host),
            uuid: Some(format!("GPU-{rank:08x}-0000-0000-0000-000000000000")),
            pass: 0,
            passes: self.passes,
            version: env!("CARGO_PKG_VERSION").to_string(),
        };
        for pass in 1..=self.passes {
            let drops = drawn.fault == Some(Injected::ClockDrops) && drawn.rng.random_bool(0.1);
            for row in &self.rows {
                let factor = self.factor(row.component, drops, &mut drawn);
                let clock = (drawn.clock.exp() * if drops { 0.9 } else { 1.0 }).min(1.1);
                let mut record = row.at(factor, 1980.0 * clock);
                record.device.ordinal = rank % self.per_host;
                record.origin = Some(Box::new(Origin { pass, ..origin.clone() }));
                // A record of figures that are numbers is always JSON.
                text.push_str(&record::line(&record).unwrap_or_default());
            }
        }
        text
    }

    /// Draws what is a card's own. The host's deviation is drawn by its machine.
    fn draw(&self, rank: u32) -> Drawn {
        // Odd multiples keep the seeds of all ranks and machines apart.
        let stream =
            |number: u64| Pcg64::seed_from_u64(self.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ number);
        let mut rng = stream(u64::from(rank));
        let normal =
            |rng: &mut Pcg64, sigma: f64| Normal::new(0.0, sigma).map_or(0.0, |normal| normal.sample(rng));
        let clock = normal(&mut rng, self.spreads.clock);
        let mut own = self.spreads.cards.map(|sigma| normal(&mut rng, sigma));
        let mut of_host = stream(u64::from(rank / self.per_host) + (1 << 40));
        own[Component::Host.number()] = normal(&mut of_host, self.spreads.cards[Component::Host.number()]);
        Drawn { clock, own, fault: self.fault(rank), rng }
    }

    /// The factor of a row's time.
    fn factor(&self, component: Component, drops: bool, drawn: &mut Drawn) -> f64 {
        let number = component.number();
        let spreads = &self.spreads;
        // Student's distribution of three degrees of freedom has a standard deviation of the root of 3.
        let student = StudentT::new(3.0).map_or(0.0, |student| student.sample(&mut drawn.rng)) / 3f64.sqrt();
        let mut log = spreads.passes[number] * student - drawn.own[number];
        log -= spreads.follows[number] * drawn.clock;
        if drops {
            log += spreads.follows[number] * Injected::ClockDrops.factor().ln();
        }
        if let Some(fault) =
            drawn.fault.filter(|fault| *fault != Injected::ClockDrops && fault.component() == component)
        {
            log += fault.factor().ln();
        }
        if drawn.rng.random_bool(spreads.glitches) {
            log += 0.2;
        }
        log.exp()
    }
}
