//! What the model does not know of a launch: where it would take a large part of the time, there is no modelled time.

use super::LaunchTime;
use crate::cards::Card;
use crate::coalescing::{ComputeCapability, LANES};
use crate::exec::SiteInfo;
use crate::ptx::ScalarType;
use crate::ptx::op::Op;
use crate::ptx::op::arithmetic::{FieldVerb, Format, IntegerVerb, LogicVerb};
use crate::ptx::op::copies::Copying;
use crate::ptx::op::memory::Memory;
use crate::ptx::op::words::{AddressSpace, Update};
use counters::{Counts, LaunchCounters};
use std::fmt;

/// Share of a launch's time, or of its requests or issue slots, from which on it matters.
const LARGE: f64 = 0.1;

/// Share of the modelled time from which on double precision matters: below it, other levels hide it.
const LARGE_BESIDE: f64 = 0.5;

/// Seconds from one successful compare-and-swap on a word to the next, at least, in global and in shared memory.
const GLOBAL_SWAP: f64 = 250e-9;
const SHARED_SWAP: f64 = 170e-9;

/// Words of global memory whose operations are [counted apart](counters::HottestAtomics), and their bytes.
const COUNTED_APART: f64 = 65536.0;
const WORD_BYTES: f64 = 4.0;

/// Why a launch has no modelled time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unknown {
    /// Arithmetic in double precision on a card with few units for it.
    Double {
        /// Results per clock and multiprocessor.
        lanes: u32,
        /// Seconds that it takes alone.
        seconds: f64,
    },
    /// Threads that contest for a word by compare-and-swap.
    Swaps,
    /// Products on tensor cores other than those that were measured.
    Products {
        /// The card's compute capability.
        capability: ComputeCapability,
    },
    /// Accesses to the shared memory of other blocks that were not measured.
    Cluster,
    /// Accesses that say what L2 is to keep, where device memory takes part.
    Policies,
    /// Instructions of a class that was never measured.
    Instructions {
        /// The class, in words.
        class: &'static str,
    },
}

impl Unknown {
    /// Returns what the model does not know of a launch, if that matters. `sites` are the instructions of its module.
    pub fn of(counters: &LaunchCounters, sites: &[SiteInfo], time: &LaunchTime, card: &Card) -> Option<Self> {
        double(counters, sites, time, card)
            .or_else(|| swaps(counters, sites, time, card))
            .or_else(|| products(counters, sites, card))
            .or_else(|| cluster(counters, sites, card))
            .or_else(|| policies(counters, sites, time))
            .or_else(|| unmeasured(counters, sites))
    }
}

fn double(counters: &LaunchCounters, sites: &[SiteInfo], time: &LaunchTime, card: &Card) -> Option<Unknown> {
    let lanes = double_lanes(card.compute_capability);
    let results = executed(counters, sites, is_double) * LANES as f64;
    let per_second = f64::from(lanes * card.multiprocessors) * card.clock_mhz * 1e6;
    let seconds = results / per_second;
    // With half the lanes of single precision the instructions are within what is issued.
    (lanes < 16 && seconds > LARGE_BESIDE * time.seconds).then_some(Unknown::Double { lanes, seconds })
}

/// Compare-and-swaps to one word follow one another, and the more threads want it, the more of them fail and try again. How often
/// depends on when they come, which is not simulated. On an H200 (`coalesce run atomics`) a success takes 250 ns in global memory,
/// and several times as long where a thousand words are wanted by 512 threads each; in shared memory 180 ns where 64 threads of a
/// block want a word, and 1.2 us where 2048 do.
fn swaps(counters: &LaunchCounters, sites: &[SiteInfo], time: &LaunchTime, card: &Card) -> Option<Unknown> {
    let in_global = |op: &Op| match op {
        Op::Memory(Memory::Atomic(atomic)) if !atomic.space.is_some_and(AddressSpace::is_shared) => {
            Some(atomic.update)
        }
        _ => None,
    };
    let swaps = threads(counters, sites, |op| in_global(op) == Some(Update::CompareAndSwap));
    let atomics = threads(counters, sites, |op| in_global(op).is_some());
    // The table counts several words together: this many operations are theirs where no word is busier than others.
    let words = counters.total.atomics.bytes_requested as f64 / WORD_BYTES;
    let hottest = counters.hottest.operations as f64 - 2.0 * words / COUNTED_APART;
    let global = if 2.0 * swaps > atomics { hottest.max(0.0) * GLOBAL_SWAP } else { 0.0 };
    let resident = f64::from(card.multiprocessors * counters.resident_blocks.max(1));
    // Of the launch, what follows one another: a block each of the resident ones.
    let shared = counters.shared_swaps as f64 / resident.min(counters.blocks as f64).max(1.0) * SHARED_SWAP;
    (global.max(shared) > LARGE * time.seconds).then_some(Unknown::Swaps)
}

fn products(counters: &LaunchCounters, sites: &[SiteInfo], card: &Card) -> Option<Unknown> {
    let capability = card.compute_capability;
    let product = sites.iter().find(|site| matches!(site.op, Op::Mma(_)))?;
    let slots = executed(counters, sites, |op| matches!(op, Op::Mma(_))) * f64::from(product.slots.issued);
    let large = slots > LARGE * counters.issue_slots as f64;
    (capability.major != 9 && large).then_some(Unknown::Products { capability })
}

/// Loads and stores between the blocks of a cluster were measured on an H200. Atomics have half of their rate there, and share a word's
/// bank with those of other blocks.
fn cluster(counters: &LaunchCounters, sites: &[SiteInfo], card: &Card) -> Option<Unknown> {
    let total = &counters.total;
    let requests = (total.global().requests + total.shared().requests) as f64;
    let is_far_atomic = |op: &Op| match op {
        Op::Memory(Memory::Atomic(atomic)) => atomic.space == Some(AddressSpace::SharedCluster),
        _ => false,
    };
    let of_others = counters.cluster_requests as f64;
    let unmeasured = match card.compute_capability.major {
        9 => of_others.min(executed(counters, sites, is_far_atomic)),
        _ => of_others,
    };
    (unmeasured > LARGE * requests).then_some(Unknown::Cluster)
}

/// On an H200 (`coalesce run l2 --full`) a table of half of L2 is read beside a stream in 114 us, and in 80 where the policies of their
/// loads tell the table to stay.
fn policies(counters: &LaunchCounters, sites: &[SiteInfo], time: &LaunchTime) -> Option<Unknown> {
    let all = executed(counters, sites, |op| has_policy(op).is_some());
    let with_policy = executed(counters, sites, |op| has_policy(op) == Some(true));
    (time.dram > LARGE * time.seconds && with_policy > LARGE * all).then_some(Unknown::Policies)
}

/// Returns true for an access to global memory with a policy of L2, false for one without, and `None` for other instructions.
fn has_policy(op: &Op) -> Option<bool> {
    let is_global = |space: Option<AddressSpace>| space.is_none_or(|space| space == AddressSpace::Global);
    match op {
        Op::Memory(Memory::Ld(access) | Memory::Ldu(access) | Memory::St(access)) => {
            is_global(access.space).then_some(access.has_policy || access.l2.is_some())
        }
        Op::Memory(Memory::Atomic(atomic)) => is_global(atomic.space).then_some(atomic.has_policy),
        Op::Copy(Copying::Async(copy)) => Some(copy.has_policy),
        Op::Copy(Copying::Bulk(copy)) => Some(copy.has_policy),
        Op::Copy(Copying::Tensor(copy)) => Some(copy.has_policy),
        _ => None,
    }
}

/// Classes of instructions whose slots and clocks are neither measured nor read off machine code.
fn unmeasured(counters: &LaunchCounters, sites: &[SiteInfo]) -> Option<Unknown> {
    let all = executed(counters, sites, |_| true);
    let is_large = |class: &&str| executed(counters, sites, |op| class_of(op) == Some(class)) > LARGE * all;
    sites
        .iter()
        .filter_map(|site| class_of(&site.op))
        .find(is_large)
        .map(|class| Unknown::Instructions { class })
}

fn class_of(op: &Op) -> Option<&'static str> {
    match op {
        Op::Integer(integer) if integer.packed => Some("two integers of 16 bits at once"),
        Op::Integer(integer) => match integer.verb {
            IntegerVerb::Mul24 | IntegerVerb::Mad24 => Some("products of 24 bits"),
            _ => None,
        },
        Op::Float(float) if float.pairs => Some("two floats of 32 bits at once"),
        Op::Float(float) => float.factors.map(|_| "floating-point arithmetic of two precisions"),
        Op::Convert(convert) => match (convert.to, convert.from) {
            (Format::Scalar(_), Format::Scalar(_)) => None,
            _ => Some("conversions of floats of 4, 6, 8 or 19 bits"),
        },
        Op::Field { verb: FieldVerb::Fns, .. } => Some("`fns`"),
        Op::Logic(LogicVerb::Cnot, _) => Some("`cnot`"),
        _ => None,
    }
}

/// Warp instructions that were issued and are of a kind.
fn executed(counters: &LaunchCounters, sites: &[SiteInfo], kind: impl Fn(&Op) -> bool) -> f64 {
    of_kind(counters, sites, kind, |counts| counts.instructions)
}

/// Lanes that executed instructions of a kind.
fn threads(counters: &LaunchCounters, sites: &[SiteInfo], kind: impl Fn(&Op) -> bool) -> f64 {
    of_kind(counters, sites, kind, |counts| counts.thread_instructions)
}

/// Sums a counter over the instructions of a kind.
fn of_kind(
    counters: &LaunchCounters,
    sites: &[SiteInfo],
    kind: impl Fn(&Op) -> bool,
    counter: impl Fn(&Counts) -> u64,
) -> f64 {
    let is_it = |site: u32| sites.get(site as usize).is_some_and(|site| kind(&site.op));
    let counted = counters.sites.iter().filter(|site| is_it(site.site));
    counted.map(|site| counter(&site.counts) as f64).sum()
}

fn is_double(op: &Op) -> bool {
    const DOUBLE: Format = Format::Scalar(ScalarType::F64);
    match op {
        Op::Float(float) => float.scalar == ScalarType::F64,
        Op::Compare(compare) => compare.scalar == ScalarType::F64,
        Op::Convert(convert) => convert.to == DOUBLE || convert.from == DOUBLE,
        _ => false,
    }
}

/// Results in double precision per clock and multiprocessor: the guide's table of arithmetic throughput.
fn double_lanes(capability: ComputeCapability) -> u32 {
    match (capability.major, capability.minor) {
        (1, _) => 1,
        (2, 0) => 16,
        (2, _) | (5, _) | (6, 1 | 2) => 4,
        (3, 5 | 7) | (9, _) | (10, 0) => 64,
        (3, _) => 8,
        (6, 0) | (7, 0 | 2) | (8, 0) => 32,
        _ => 2,
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no modelled time: ")?;
        match self {
            Self::Double { lanes, seconds } => write!(
                f,
                "double precision alone takes {:.3} ms at {lanes} results per clock and SM, of which nothing has been measured",
                seconds * 1e3
            ),
            Self::Swaps => {
                write!(
                    f,
                    "threads contest for words by compare-and-swap, and how often they fail is not simulated"
                )
            }
            Self::Products { capability } => {
                write!(f, "tensor cores of compute capability {capability} have not been measured")
            }
            Self::Cluster => write!(
                f,
                "blocks access each other's shared memory by atomics or on a card whose network has not been measured"
            ),
            Self::Policies => write!(
                f,
                "accesses say what L2 is to keep, whose policies are not modelled, and device memory takes part"
            ),
            Self::Instructions { class } => {
                write!(f, "a tenth or more of the instructions are {class}, which have not been measured")
            }
        }
    }
}
