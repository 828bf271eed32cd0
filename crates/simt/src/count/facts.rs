//! Lists of the instructions that counting treats in a way of their own. A program has them made once, for all its launches.
//!
//! A program has the instructions of all its kernels, often tens of thousands, and a launch executes those of one. So each list is in
//! ascending order, and a launch looks at its part [within](within) the sites that were executed. The time of a launch depends on the
//! length of its kernel, and not on that of its program.

use super::contests::Contest;
use super::slots::Slots;
use crate::exec::{Chained, Merged, SiteInfo};
use crate::ptx::ScalarType;
use crate::ptx::op::memory::{Atomic, Memory};
use crate::ptx::op::words::Update;
use crate::ptx::op::{Awaits, Op};
use std::collections::BTreeMap;
use std::ops::Range;

/// The loads and the waits of a basic block.
#[derive(Clone, Debug, Default)]
#[doc(hidden)]
pub struct Waiting {
    /// The block's first site.
    pub block: u32,
    /// Sites before which a warp waits for outstanding loads.
    pub waits: Vec<Wait>,
    /// Loads from global memory, each with its [weight](SiteInfo::load_weight).
    pub loads: Vec<(u32, f32)>,
}

/// A site before which a warp waits for outstanding loads.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub struct Wait {
    /// Its number.
    pub site: u32,
    /// Loop iterations that it waits for together.
    pub turns: u32,
    /// [Loads before its loop](SiteInfo::awaits_earlier), if it waits for these alone.
    pub earlier: Vec<u32>,
}

impl Wait {
    fn of((site, info): (u32, &SiteInfo)) -> Self {
        Self { site, turns: info.turns_together, earlier: info.awaits_earlier.clone() }
    }
}

/// The instructions of a program that counting treats in a way of their own.
#[derive(Clone, Debug, Default)]
pub struct SiteFacts {
    /// Basic blocks that load from global memory or wait for it. For
    /// [`Counters::round_trips`](crate::model::Counters::round_trips).
    #[doc(hidden)]
    pub waiting: Vec<Waiting>,
    /// Such sites that wait for asynchronous copies, which are not among these.
    #[doc(hidden)]
    pub copy_waits: Vec<Wait>,
    /// Sites that start asynchronous copies.
    #[doc(hidden)]
    pub copies: Vec<u32>,
    /// Accesses to global memory whose address depends on a value from there.
    #[doc(hidden)]
    pub indexed: Vec<u32>,
    /// Branches with an access to memory that is [issued with](SiteInfo::guarded_by) them.
    #[doc(hidden)]
    pub guarded: Vec<(u32, u32)>,
    /// Loads that follow a chain, each with its memory.
    #[doc(hidden)]
    pub chained: Vec<(u32, Chained)>,
    /// Issue slots of each site, for [`Counters::instructions`](crate::model::Counters::instructions).
    #[doc(hidden)]
    pub slots: Vec<Slots>,
    /// Sites that begin an unrolled loop, each with an instruction that it has [once](SiteInfo::once_a_turn) for four iterations.
    #[doc(hidden)]
    pub once_a_turn: Vec<(u32, u32)>,
    /// [Clocks of dependent instructions](SiteInfo::dependency_clocks) of each site, for
    /// [`Counters::dependency_clocks`](crate::model::Counters::dependency_clocks).
    #[doc(hidden)]
    pub dependencies: Vec<f32>,
    /// Sites of atomics whose lanes ptxas [combines](SiteInfo::combined).
    #[doc(hidden)]
    pub combined: Vec<u32>,
    /// Sites at which blocks or warps [take](SiteInfo::takes_work) their work from a counter until there is none: they all end at about
    /// the same time on a card, however unevenly the simulator, which executes them one after another, divides it.
    #[doc(hidden)]
    pub takes_work: Vec<u32>,
    /// Loads from shared memory that ptxas [merges](SiteInfo::merged) with others.
    #[doc(hidden)]
    pub merged: Vec<(u32, Merged)>,
    /// Stores right [behind](SiteInfo::behind) others, with the number of stores that follow one another.
    #[doc(hidden)]
    pub behind: Vec<(u32, u32)>,
    /// Sites of atomics that add floats.
    #[doc(hidden)]
    pub float_atomics: Vec<u32>,
    /// Sites of atomics that are [reductions](SiteInfo::reduces).
    #[doc(hidden)]
    pub reductions: Vec<u32>,
    /// Sites of atomics for whose words threads contest if they are in shared memory.
    #[doc(hidden)]
    pub contests: Vec<(u32, Contest)>,
}

impl SiteFacts {
    /// Lists the instructions of a program with these sites.
    pub fn of(sites: &[SiteInfo]) -> Self {
        let numbers = |wanted: fn(&SiteInfo) -> bool| -> Vec<u32> {
            (0..).zip(sites).filter(move |(_, site)| wanted(site)).map(|(number, _)| number).collect()
        };
        let copy_waits = (0..).zip(sites).filter(|(_, site)| site.waits_before && awaits_copies(site));
        let in_order = |mut pairs: Vec<(u32, u32)>| {
            pairs.sort_unstable();
            pairs
        };
        let guarded = (0..).zip(sites).filter_map(|(number, site)| Some((site.guarded_by?, number)));
        let once = (0..).zip(sites).filter_map(|(number, site)| Some((site.once_a_turn?, number)));
        Self {
            waiting: waiting(sites),
            copy_waits: copy_waits.map(Wait::of).collect(),
            copies: numbers(|site| site.op.starts_copy()),
            indexed: numbers(|site| site.indexed),
            guarded: in_order(guarded.collect()),
            chained: (0..).zip(sites).filter_map(|(number, site)| Some((number, site.chained?))).collect(),
            slots: sites.iter().map(|site| site.slots).collect(),
            once_a_turn: in_order(once.collect()),
            dependencies: sites.iter().map(|site| site.dependency_clocks).collect(),
            combined: numbers(|site| site.combined),
            takes_work: numbers(|site| site.takes_work),
            merged: (0..).zip(sites).filter_map(|(number, site)| Some((number, site.merged?))).collect(),
            behind: (0..).zip(sites).filter_map(|(number, site)| Some((number, site.behind?))).collect(),
            float_atomics: numbers(|site| adds_floats(&site.op)),
            reductions: numbers(|site| site.reduces),
            contests: Contest::all(sites),
        }
    }
}

/// Returns the entries whose sites are among these.
pub(super) fn within<'a, T>(entries: &'a [T], site: impl Fn(&T) -> u32, sites: &Range<u32>) -> &'a [T] {
    let from = entries.partition_point(|entry| site(entry) < sites.start);
    let to = entries.partition_point(|entry| site(entry) < sites.end);
    &entries[from..to]
}

fn awaits_copies(site: &SiteInfo) -> bool {
    site.op.awaits() == Some(Awaits::Copies)
}

/// Returns true for an atomic that adds floats.
fn adds_floats(op: &Op) -> bool {
    use ScalarType::{Bf16, Bf16x2, F16, F16x2, F32, F64};
    let float = |scalar| matches!(scalar, F16 | F16x2 | Bf16 | Bf16x2 | F32 | F64);
    matches!(op, Op::Memory(Memory::Atomic(Atomic { update: Update::Add, scalar, .. })) if float(*scalar))
}

/// Returns the basic blocks that load from global memory or wait for it.
fn waiting(sites: &[SiteInfo]) -> Vec<Waiting> {
    let mut blocks: BTreeMap<u32, Waiting> = BTreeMap::new();
    for (number, site) in (0..).zip(sites) {
        if site.waits_before && !awaits_copies(site) {
            blocks.entry(site.block).or_default().waits.push(Wait::of((number, site)));
        }
        if site.load_weight > 0.0 {
            blocks.entry(site.block).or_default().loads.push((number, site.load_weight));
        }
    }
    blocks.into_iter().map(|(block, waiting)| Waiting { block, ..waiting }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_within_sites_are_those_of_the_range() {
        let entries = [(3, 'a'), (5, 'b'), (5, 'c'), (9, 'd')];
        let of = |sites: Range<u32>| -> String {
            within(&entries, |entry| entry.0, &sites).iter().map(|entry| entry.1).collect()
        };
        assert_eq!([of(0..10), of(5..6), of(4..9), of(6..9), of(9..9)], ["abcd", "bc", "bc", "", ""]);
    }
}
