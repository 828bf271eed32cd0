//! Instructions that access memory, convert its addresses, or order accesses: variants, reading, effects.

use super::effects::{Awaits, Effects};
use super::modifiers::Modifiers;
use super::words::{AddressSpace, CacheOperator, Eviction, Order, Scope, Update};
use super::{Op, OpError};
use crate::types::ScalarType;

/// A load or a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// Space of the address; None if it is generic.
    pub space: Option<AddressSpace>,
    /// Order; None if none is written, which is weak.
    pub order: Option<Order>,
    /// `.mmio`: performed as written, for device registers.
    pub mmio: bool,
    /// Scope of the order.
    pub scope: Option<Scope>,
    /// Cache operator.
    pub cache: Option<CacheOperator>,
    /// `.nc`: through the read-only path.
    pub read_only: bool,
    /// Priority in L1.
    pub l1: Option<Eviction>,
    /// Priority in L2.
    pub l2: Option<Eviction>,
    /// Bytes to prefetch to L2: 64, 128 or 256.
    pub prefetch: Option<u32>,
    /// `.L2::cache_hint`: an operand holds a cache policy.
    pub has_policy: bool,
    /// Elements: 1, 2, 4 or 8.
    pub elements: u32,
    /// Type of an element.
    pub scalar: ScalarType,
}

impl Access {
    /// Returns true if the address is in parameter space.
    pub fn is_parameter(&self) -> bool {
        self.space.is_some_and(AddressSpace::is_parameter)
    }
}

/// `atom`, `red`, and `red.async`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Atomic {
    /// True for `atom`, which gives back the old value.
    pub gives_back: bool,
    /// Operation.
    pub update: Update,
    /// Space of the address; None if it is generic.
    pub space: Option<AddressSpace>,
    /// Order; None if none is written, which is relaxed.
    pub order: Option<Order>,
    /// `.mmio`
    pub mmio: bool,
    /// Scope of the order; None if none is written, which is the device.
    pub scope: Option<Scope>,
    /// `.L2::cache_hint`: an operand holds a cache policy.
    pub has_policy: bool,
    /// `.async`
    pub asynchronous: bool,
    /// `.mbarrier::complete_tx::bytes`: a barrier counts the bytes.
    pub counted: bool,
    /// Elements: 1, 2, 4 or 8.
    pub elements: u32,
    /// Type of an element.
    pub scalar: ScalarType,
}

/// Operation on a barrier object in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the instructions'")]
pub enum MbarrierVerb {
    Init,
    Invalidate,
    ExpectTransactions,
    CompleteTransactions,
    Arrive,
    ArriveDrop,
    TestWait,
    TryWait,
    PendingCount,
}

/// `mbarrier`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mbarrier {
    /// Operation.
    pub verb: MbarrierVerb,
    /// Space of the address; None if it is generic.
    pub space: Option<AddressSpace>,
    /// Order, if written.
    pub order: Option<Order>,
    /// Scope, if written.
    pub scope: Option<Scope>,
    /// `.parity`: waits for a phase's parity instead of a state.
    pub parity: bool,
    /// `.expect_tx`: an arrival that also expects bytes.
    pub expects: bool,
    /// `.noComplete`: an arrival that does not complete the phase.
    pub incomplete: bool,
}

/// Advice on caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the instructions'")]
pub enum Advice {
    Prefetch,
    PrefetchUniform,
    ApplyPriority,
    Discard,
}

/// `fence` and `membar`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fence {
    /// Order; None if none is written.
    pub order: Option<Order>,
    /// Scope; None for a fence between proxies, or of barrier objects, alone.
    pub scope: Option<Scope>,
    /// True for a fence between ways to access memory.
    pub proxy: bool,
}

/// An instruction of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Memory {
    /// `ld`
    Ld(Access),
    /// `ldu`
    Ldu(Access),
    /// `st`
    St(Access),
    /// `st.async`: a store into the cluster's shared memory.
    StAsync {
        /// The store.
        access: Access,
        /// A barrier counts the bytes.
        counted: bool,
    },
    /// `atom` and `red`
    Atomic(Atomic),
    /// `cvta`: converts an address to or from generic.
    Cvta {
        /// `.to`: from generic.
        to_space: bool,
        /// The space.
        space: AddressSpace,
        /// Type of an address.
        scalar: ScalarType,
    },
    /// `isspacep`: whether a generic address is in a space.
    Isspacep(AddressSpace),
    /// `mapa`: the address of the same variable in another block of the cluster.
    Mapa {
        /// Space; None if the address is generic.
        space: Option<AddressSpace>,
        /// Type of an address.
        scalar: ScalarType,
    },
    /// `getctarank`: the rank of the block that owns an address.
    Getctarank {
        /// Space; None if the address is generic.
        space: Option<AddressSpace>,
        /// Type of an address.
        scalar: ScalarType,
    },
    /// `prefetch`, `prefetchu`, `applypriority`, `discard`
    Advice {
        /// Which.
        advice: Advice,
        /// Space; None if the address is generic.
        space: Option<AddressSpace>,
    },
    /// `createpolicy`
    Createpolicy,
    /// `fence` and `membar`
    Fence(Fence),
    /// `mbarrier`
    Mbarrier(Mbarrier),
}

/// Decodes an instruction of memory; None if it is another.
pub(super) fn read(base: &str, words: &mut Modifiers<'_>) -> Result<Option<Op>, OpError> {
    let op = match base {
        "ld" => Memory::Ld(access(words)?),
        "ldu" => Memory::Ldu(access(words)?),
        "st" if words.take_first("async") => {
            let counted = words.take("mbarrier::complete_tx::bytes");
            Memory::StAsync { access: access(words)?, counted }
        }
        "st" => Memory::St(access(words)?),
        "atom" => Memory::Atomic(atomic(true, words)?),
        "red" => Memory::Atomic(atomic(false, words)?),
        "cvta" => {
            let to_space = words.take("to");
            let space = words.need("a space", AddressSpace::from_word)?;
            Memory::Cvta { to_space, space, scalar: words.scalar()? }
        }
        "isspacep" => Memory::Isspacep(words.need("a space", AddressSpace::from_word)?),
        "mapa" => {
            let space = words.take_some(AddressSpace::from_word);
            Memory::Mapa { space, scalar: words.scalar()? }
        }
        "getctarank" => {
            let space = words.take_some(AddressSpace::from_word);
            Memory::Getctarank { space, scalar: words.scalar()? }
        }
        "prefetch" => advice(Advice::Prefetch, words),
        "prefetchu" => advice(Advice::PrefetchUniform, words),
        "applypriority" => advice(Advice::ApplyPriority, words),
        "discard" => advice(Advice::Discard, words),
        "createpolicy" => {
            words.skip(&["fractional", "range", "cvt", "global", "L2", "b64"]);
            while words.take_some(l2_eviction).is_some() {}
            Memory::Createpolicy
        }
        "fence" | "membar" => fence(words),
        "mbarrier" => mbarrier(words)?,
        _ => return Ok(None),
    };
    Ok(Some(Op::Memory(op)))
}

impl Memory {
    pub(super) fn effects(&self) -> Effects {
        let none = Effects::default();
        let access = |Access { space, order, mmio, .. }: &Access| {
            let strong = *mmio || order.is_some_and(|order| order != Order::Weak);
            Effects { space: *space, order: *order, strong, ..Effects::default() }
        };
        match self {
            Self::Ld(load) | Self::Ldu(load) => Effects { loads: true, ..access(load) },
            Self::St(store) | Self::StAsync { access: store, .. } => {
                Effects { stores: true, ..access(store) }
            }
            Self::Atomic(Atomic { gives_back, space, order, .. }) => {
                let none = Effects { strong: true, atomic: true, stores: true, ..none };
                Effects { space: *space, loads: *gives_back, order: *order, ..none }
            }
            Self::Mbarrier(Mbarrier { verb, space, order, .. }) => {
                let waits = matches!(verb, MbarrierVerb::TestWait | MbarrierVerb::TryWait);
                let awaits = waits.then_some(Awaits::Copies);
                Effects { space: *space, stores: true, strong: true, order: *order, awaits, ..none }
            }
            Self::Advice { space, .. } => Effects { space: *space, ..none },
            Self::Fence(fence) => Effects { order: fence.order, ..none },
            Self::Cvta { .. }
            | Self::Isspacep(_)
            | Self::Mapa { .. }
            | Self::Getctarank { .. }
            | Self::Createpolicy => Effects { computes: true, ..none },
        }
    }
}

fn l1_eviction(word: &str) -> Option<Eviction> {
    Eviction::from_word(word.strip_prefix("L1::")?)
}

fn l2_eviction(word: &str) -> Option<Eviction> {
    Eviction::from_word(word.strip_prefix("L2::")?).filter(|eviction| *eviction != Eviction::NoAllocate)
}

pub(super) fn prefetch(word: &str) -> Option<u32> {
    Some(match word {
        "L2::64B" => 64,
        "L2::128B" => 128,
        "L2::256B" => 256,
        _ => return None,
    })
}

fn elements(words: &mut Modifiers<'_>) -> u32 {
    let count = words.take_some(|word| match word {
        "v2" => Some(2),
        "v4" => Some(4),
        "v8" => Some(8),
        _ => None,
    });
    count.unwrap_or(1)
}

fn access(words: &mut Modifiers<'_>) -> Result<Access, OpError> {
    Ok(Access {
        space: words.take_some(AddressSpace::from_word),
        order: words.take_some(Order::from_word),
        mmio: words.take("mmio"),
        scope: words.take_some(Scope::from_word),
        cache: words.take_some(CacheOperator::from_word),
        read_only: words.take("nc"),
        l1: words.take_some(l1_eviction),
        l2: words.take_some(l2_eviction),
        prefetch: words.take_some(prefetch),
        has_policy: words.take("L2::cache_hint"),
        elements: elements(words),
        scalar: words
            .need("a type", |word| ScalarType::from_word(word).filter(|scalar| scalar.size().is_some()))?,
    })
}

fn atomic(gives_back: bool, words: &mut Modifiers<'_>) -> Result<Atomic, OpError> {
    let asynchronous = !gives_back && words.take("async");
    words.skip(&["noftz"]);
    Ok(Atomic {
        gives_back,
        update: words.need("an operation", Update::from_word)?,
        space: words.take_some(AddressSpace::from_word),
        order: words.take_some(Order::from_word),
        mmio: words.take("mmio"),
        scope: words.take_some(Scope::from_word),
        has_policy: words.take("L2::cache_hint"),
        asynchronous,
        counted: asynchronous && words.take("mbarrier::complete_tx::bytes"),
        elements: elements(words),
        scalar: words.scalar()?,
    })
}

fn advice(advice: Advice, words: &mut Modifiers<'_>) -> Memory {
    words.skip(&["L1", "L2", "tensormap"]);
    let space = words.take_some(AddressSpace::from_word);
    words.skip(&["L2::evict_last", "L2::evict_normal"]);
    Memory::Advice { advice, space }
}

fn fence(words: &mut Modifiers<'_>) -> Memory {
    let proxy = words.take("proxy");
    let scope = words.take_some(|word| match word {
        "gl" => Some(Scope::Device),
        _ => Scope::from_word(word),
    });
    let order = words.take_some(Order::from_word);
    words.skip(&["mbarrier_init"]);
    if proxy {
        words.skip(&["alias", "async", "async::global", "async::shared::cta", "async::shared::cluster"]);
        words.skip(&["async::generic", "global", "tensormap::generic"]);
    }
    words.skip(&["shared::cta", "shared::cluster"]);
    words.skip(&["sync_restrict::shared::cta", "sync_restrict::shared::cluster"]);
    Memory::Fence(Fence { order, scope, proxy })
}

fn mbarrier(words: &mut Modifiers<'_>) -> Result<Memory, OpError> {
    let verb = words.need("what to do with the barrier", |word| {
        Some(match word {
            "init" => MbarrierVerb::Init,
            "inval" => MbarrierVerb::Invalidate,
            "expect_tx" => MbarrierVerb::ExpectTransactions,
            "complete_tx" => MbarrierVerb::CompleteTransactions,
            "arrive" => MbarrierVerb::Arrive,
            "arrive_drop" => MbarrierVerb::ArriveDrop,
            "test_wait" => MbarrierVerb::TestWait,
            "try_wait" => MbarrierVerb::TryWait,
            "pending_count" => MbarrierVerb::PendingCount,
            _ => return None,
        })
    })?;
    let waits = matches!(verb, MbarrierVerb::TestWait | MbarrierVerb::TryWait);
    let arrives = matches!(verb, MbarrierVerb::Arrive | MbarrierVerb::ArriveDrop);
    let mbarrier = Mbarrier {
        verb,
        parity: waits && words.take("parity"),
        expects: arrives && words.take("expect_tx"),
        incomplete: arrives && words.take("noComplete"),
        order: words.take_some(Order::from_word),
        scope: words.take_some(Scope::from_word),
        space: words.take_some(AddressSpace::from_word),
    };
    words.skip(&["b64"]);
    Ok(Memory::Mbarrier(mbarrier))
}

/// Opcodes with every kind of modifier, for the tests of all readers.
#[cfg(test)]
pub(super) const EXAMPLES: &[&str] = &[
    "atom.acq_rel.gpu.global.cas.b64",
    "createpolicy.fractional.L2::evict_first.b64",
    "cvta.to.global.u64",
    "fence.proxy.async.global",
    "fence.proxy.tensormap::generic.acquire.gpu",
    "getctarank.shared::cluster.u32",
    "isspacep.shared::cta",
    "ld.relaxed.sys.global.L1::no_allocate.L2::256B.v4.f32",
    "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64",
    "prefetch.global.L2::evict_last",
    "prefetch.tensormap",
    "red.async.relaxed.cluster.mbarrier::complete_tx::bytes.shared::cluster.add.u32",
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32",
];
