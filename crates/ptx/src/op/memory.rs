//! Instructions that access memory, copy it, convert its addresses, or order accesses.

use super::effects::Effects;
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

/// `cp.async`: a copy of a few bytes per lane from global to shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AsyncCopy {
    /// True for `.cg`, past L1; false for `.ca`.
    pub past_l1: bool,
    /// Bytes to prefetch to L2.
    pub prefetch: Option<u32>,
    /// `.L2::cache_hint`: an operand holds a cache policy.
    pub has_policy: bool,
}

/// `cp.async.bulk` and `cp.reduce.async.bulk`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BulkCopy {
    /// Space of the destination.
    pub to: AddressSpace,
    /// Space of the source.
    pub from: AddressSpace,
    /// Operation and type of a reducing copy.
    pub reduction: Option<(Update, ScalarType)>,
    /// A barrier counts the bytes; otherwise the copy is part of a bulk group.
    pub counted: bool,
    /// `.multicast::cluster`: an operand names the blocks that receive the data.
    pub multicast: bool,
    /// `.cp_mask`: an operand names the bytes of each 16 to copy.
    pub masked: bool,
    /// `.L2::cache_hint`: an operand holds a cache policy.
    pub has_policy: bool,
}

/// Action on a group of asynchronous copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CopyGroup {
    /// Ends the group.
    Commit,
    /// Waits until at most a number of groups are open.
    Wait,
    /// Waits for all copies.
    WaitAll,
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

/// Decodes an instruction of memory; None if it is another.
pub(super) fn read(base: &str, words: &mut Modifiers<'_>) -> Result<Option<Op>, OpError> {
    let op = match base {
        "ld" => Op::Ld(access(words)?),
        "ldu" => Op::Ldu(access(words)?),
        "st" if words.take_first("bulk") => {
            words.skip(&["weak"]);
            Op::StBulk { space: words.take_some(AddressSpace::from_word) }
        }
        "st" if words.take_first("async") => {
            let counted = words.take("mbarrier::complete_tx::bytes");
            Op::StAsync { access: access(words)?, counted }
        }
        "st" => Op::St(access(words)?),
        "atom" => Op::Atomic(atomic(true, words)?),
        "red" => Op::Atomic(atomic(false, words)?),
        "cvta" => {
            let to_space = words.take("to");
            let space = words.need("a space", AddressSpace::from_word)?;
            Op::Cvta { to_space, space, scalar: words.scalar()? }
        }
        "isspacep" => Op::Isspacep(words.need("a space", AddressSpace::from_word)?),
        "mapa" => {
            let space = words.take_some(AddressSpace::from_word);
            Op::Mapa { space, scalar: words.scalar()? }
        }
        "getctarank" => {
            let space = words.take_some(AddressSpace::from_word);
            Op::Getctarank { space, scalar: words.scalar()? }
        }
        "prefetch" => advice(Advice::Prefetch, words),
        "prefetchu" => advice(Advice::PrefetchUniform, words),
        "applypriority" => advice(Advice::ApplyPriority, words),
        "discard" => advice(Advice::Discard, words),
        "createpolicy" => {
            words.skip(&["fractional", "range", "cvt", "global", "L2", "b64"]);
            while words.take_some(l2_eviction).is_some() {}
            Op::Createpolicy
        }
        "fence" | "membar" => fence(words),
        "mbarrier" => mbarrier(words)?,
        "cp" => copy(words)?,
        _ => return Ok(None),
    };
    Ok(Some(op))
}

/// Returns the effects of an instruction of memory; None for others.
pub(super) fn effects(op: &Op) -> Option<Effects> {
    let none = Effects::default();
    let access = |Access { space, order, mmio, .. }: &Access| {
        let strong = *mmio || order.is_some_and(|order| order != Order::Weak);
        Effects { space: *space, order: *order, strong, ..Effects::default() }
    };
    Some(match op {
        Op::Ld(load) | Op::Ldu(load) => Effects { loads: true, ..access(load) },
        Op::St(store) | Op::StAsync { access: store, .. } => Effects { stores: true, ..access(store) },
        Op::Atomic(Atomic { gives_back, space, order, .. }) => {
            Effects { space: *space, loads: *gives_back, stores: true, strong: true, order: *order, ..none }
        }
        Op::Mbarrier(Mbarrier { space, order, .. }) => {
            Effects { space: *space, stores: true, strong: true, order: *order, ..none }
        }
        Op::StBulk { space } | Op::CopyArrive { space, .. } => {
            Effects { space: *space, stores: true, ..none }
        }
        Op::CpAsync(_) | Op::CpBulk(_) | Op::BulkTensor => Effects { stores: true, ..none },
        Op::Advice { space, .. } => Effects { space: *space, ..none },
        Op::Fence(fence) => Effects { order: fence.order, ..none },
        _ => return None,
    })
}

fn l1_eviction(word: &str) -> Option<Eviction> {
    Eviction::from_word(word.strip_prefix("L1::")?)
}

fn l2_eviction(word: &str) -> Option<Eviction> {
    Eviction::from_word(word.strip_prefix("L2::")?).filter(|eviction| *eviction != Eviction::NoAllocate)
}

fn prefetch(word: &str) -> Option<u32> {
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

fn advice(advice: Advice, words: &mut Modifiers<'_>) -> Op {
    words.skip(&["L1", "L2", "tensormap"]);
    let space = words.take_some(AddressSpace::from_word);
    words.skip(&["L2::evict_last", "L2::evict_normal"]);
    Op::Advice { advice, space }
}

fn fence(words: &mut Modifiers<'_>) -> Op {
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
    Op::Fence(Fence { order, scope, proxy })
}

fn mbarrier(words: &mut Modifiers<'_>) -> Result<Op, OpError> {
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
    Ok(Op::Mbarrier(mbarrier))
}

fn copy(words: &mut Modifiers<'_>) -> Result<Op, OpError> {
    let reduces = words.take_first("reduce");
    if !words.take_first("async") {
        return Err(words.lacks(".async"));
    }
    if words.take_first("bulk") {
        return bulk(reduces, words);
    }
    if reduces {
        return Err(words.lacks(".bulk"));
    }
    if let Some(group) = group(words) {
        return Ok(Op::CopyGroup { group, bulk: false });
    }
    if words.take_first("mbarrier") {
        if !words.take_first("arrive") {
            return Err(words.lacks(".arrive"));
        }
        let counted = words.take("noinc");
        let space = words.take_some(AddressSpace::from_word);
        words.skip(&["b64"]);
        return Ok(Op::CopyArrive { counted, space });
    }
    let past_l1 = words.need(".ca or .cg", |word| match word {
        "ca" => Some(false),
        "cg" => Some(true),
        _ => None,
    })?;
    if !words.take("shared::cta") && !words.take_first("shared") {
        return Err(words.lacks(".shared before .global"));
    }
    if !words.take_first("global") {
        return Err(words.lacks(".global"));
    }
    let prefetch = words.take_some(prefetch);
    let has_policy = words.take("L2::cache_hint");
    Ok(Op::CpAsync(AsyncCopy { past_l1, prefetch, has_policy }))
}

fn group(words: &mut Modifiers<'_>) -> Option<CopyGroup> {
    words.take_some(|word| {
        Some(match word {
            "commit_group" => CopyGroup::Commit,
            "wait_group" => CopyGroup::Wait,
            "wait_all" => CopyGroup::WaitAll,
            _ => return None,
        })
    })
}

fn bulk(reduces: bool, words: &mut Modifiers<'_>) -> Result<Op, OpError> {
    if words.has("tensor") {
        return Ok(Op::BulkTensor);
    }
    if !reduces {
        if let Some(group) = group(words) {
            words.skip(&["read"]);
            return Ok(Op::CopyGroup { group, bulk: true });
        }
        if words.take_first("prefetch") {
            words.skip(&["L2"]);
            let has_policy = words.take("L2::cache_hint");
            return match words.take("global") {
                true => Ok(Op::BulkPrefetch { has_policy }),
                false => Err(words.lacks(".global")),
            };
        }
    }
    let to = words.need("two spaces", AddressSpace::from_word)?;
    let from = words.need("two spaces", AddressSpace::from_word)?;
    let counted = words.take("mbarrier::complete_tx::bytes");
    if words.take("bulk_group") == counted {
        return Err(words.lacks(".bulk_group or .mbarrier::complete_tx::bytes"));
    }
    words.skip(if reduces { &["noftz"] } else { &[] });
    let reduction = match reduces {
        true => Some((words.need("an operation", Update::from_word)?, words.scalar()?)),
        false => None,
    };
    Ok(Op::CpBulk(BulkCopy {
        to,
        from,
        reduction,
        counted,
        multicast: !reduces && words.take("multicast::cluster"),
        masked: !reduces && words.take("cp_mask"),
        has_policy: words.take("L2::cache_hint"),
    }))
}
