//! Instructions that copy or fill ranges of memory, and groups of asynchronous copies: variants, reading, effects.

use super::effects::{Awaits, Effects};
use super::memory::prefetch;
use super::modifiers::Modifiers;
use super::words::{AddressSpace, TensorMode, Update};
use super::{Op, OpError};
use crate::types::ScalarType;

/// A copy, or an instruction on copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Copying {
    /// `cp.async`
    Async(AsyncCopy),
    /// `cp.async.commit_group` and the like, and those of bulk copies.
    Group {
        /// Action.
        group: CopyGroup,
        /// True for bulk copies.
        bulk: bool,
    },
    /// `cp.async.mbarrier.arrive`: a barrier object tracks the copies so far.
    Arrive {
        /// `.noinc`: the arrival is one of those that the barrier expects.
        counted: bool,
        /// Space; None if the address is generic.
        space: Option<AddressSpace>,
    },
    /// `cp.async.bulk`
    Bulk(BulkCopy),
    /// `cp.async.bulk.tensor` and its relatives
    Tensor(TensorCopy),
    /// `cp.async.bulk.prefetch`
    Prefetch {
        /// An operand holds a cache policy.
        has_policy: bool,
    },
    /// `st.bulk`: zeros.
    Zeros {
        /// Space; None if the address is generic.
        space: Option<AddressSpace>,
    },
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

/// A copy of a box of a tensor, which a map in memory describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TensorCopy {
    /// Action.
    pub action: TensorAction,
    /// Dimensions of the tensor: 1 to 5.
    pub dimensions: u32,
    /// Shape of the box; None if it is not written, which is a tile.
    pub mode: Option<TensorMode>,
    /// `.multicast::cluster`: an operand names the blocks that receive the data.
    pub multicast: bool,
    /// `.cta_group`: 1 or 2 blocks whose barrier may count the bytes.
    pub blocks: Option<u32>,
    /// `.L2::cache_hint`: an operand holds a cache policy.
    pub has_policy: bool,
}

/// What a copy of a tensor does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TensorAction {
    /// Copies to shared memory, and a barrier counts the bytes.
    Load(AddressSpace),
    /// Copies from shared memory, as part of a bulk group.
    Store,
    /// Combines shared memory with the tensor, as part of a bulk group.
    Reduce(Update),
    /// Copies to L2.
    Prefetch,
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

/// Decodes a copy; None if the instruction is another.
pub(super) fn read(base: &str, words: &mut Modifiers<'_>) -> Result<Option<Op>, OpError> {
    let copying = match base {
        "cp" => copy(words)?,
        "st" if words.take_first("bulk") => {
            words.skip(&["weak"]);
            Copying::Zeros { space: words.take_some(AddressSpace::from_word) }
        }
        _ => return Ok(None),
    };
    Ok(Some(Op::Copy(copying)))
}

impl Copying {
    pub(super) fn effects(&self) -> Effects {
        let none = Effects::default();
        match self {
            Self::Async(_) | Self::Bulk(_) => Effects { stores: true, starts_copy: true, ..none },
            Self::Tensor(copy) => {
                Effects { stores: copy.action != TensorAction::Prefetch, starts_copy: true, ..none }
            }
            Self::Zeros { space } | Self::Arrive { space, .. } => {
                Effects { space: *space, stores: true, ..none }
            }
            Self::Group { group: CopyGroup::Wait | CopyGroup::WaitAll, .. } => {
                Effects { awaits: Some(Awaits::Copies), ..none }
            }
            Self::Group { .. } | Self::Prefetch { .. } => none,
        }
    }
}

fn copy(words: &mut Modifiers<'_>) -> Result<Copying, OpError> {
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
        return Ok(Copying::Group { group, bulk: false });
    }
    if words.take_first("mbarrier") {
        if !words.take_first("arrive") {
            return Err(words.lacks(".arrive"));
        }
        let counted = words.take("noinc");
        let space = words.take_some(AddressSpace::from_word);
        words.skip(&["b64"]);
        return Ok(Copying::Arrive { counted, space });
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
    Ok(Copying::Async(AsyncCopy { past_l1, prefetch, has_policy }))
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

fn bulk(reduces: bool, words: &mut Modifiers<'_>) -> Result<Copying, OpError> {
    if words.has("tensor") {
        return tensor(reduces, words);
    }
    if !reduces {
        if let Some(group) = group(words) {
            words.skip(&["read"]);
            return Ok(Copying::Group { group, bulk: true });
        }
        if words.take_first("prefetch") {
            words.skip(&["L2"]);
            let has_policy = words.take("L2::cache_hint");
            return match words.take("global") {
                true => Ok(Copying::Prefetch { has_policy }),
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
    Ok(Copying::Bulk(BulkCopy {
        to,
        from,
        reduction,
        counted,
        multicast: !reduces && words.take("multicast::cluster"),
        masked: !reduces && words.take("cp_mask"),
        has_policy: words.take("L2::cache_hint"),
    }))
}

fn tensor(reduces: bool, words: &mut Modifiers<'_>) -> Result<Copying, OpError> {
    let prefetches = !reduces && words.take_first("prefetch");
    if !words.take_first("tensor") {
        return Err(words.lacks(".tensor"));
    }
    let dimensions = words.need(".1d to .5d", |word| {
        word.strip_suffix('d')?.parse().ok().filter(|dimensions| (1..=5).contains(dimensions))
    })?;
    let action = if prefetches {
        match words.take_all(&["L2", "global"]) {
            true => TensorAction::Prefetch,
            false => return Err(words.lacks(".L2.global")),
        }
    } else {
        let to = words.need("two spaces", AddressSpace::from_word)?;
        let from = words.need("two spaces", AddressSpace::from_word)?;
        let (action, counted) = match (to, from) {
            (AddressSpace::Global, AddressSpace::SharedBlock) if reduces => {
                let may = |update: &Update| !matches!(update, Update::Exchange | Update::CompareAndSwap);
                let read = |word: &str| Update::from_word(word).filter(may);
                (TensorAction::Reduce(words.need("an operation", read)?), "bulk_group")
            }
            (AddressSpace::Global, AddressSpace::SharedBlock) => (TensorAction::Store, "bulk_group"),
            (AddressSpace::SharedBlock | AddressSpace::SharedCluster, AddressSpace::Global) if !reduces => {
                (TensorAction::Load(to), "mbarrier::complete_tx::bytes")
            }
            _ => return Err(words.lacks("global memory and .shared::cta or .shared::cluster")),
        };
        if !words.take(counted) {
            return Err(words.lacks(match counted {
                "bulk_group" => ".bulk_group",
                _ => ".mbarrier::complete_tx::bytes",
            }));
        }
        action
    };
    let loads = matches!(action, TensorAction::Load(_));
    let has_mode = |mode: &TensorMode| match mode {
        TensorMode::Tile => true,
        TensorMode::Gather | TensorMode::Im2col | TensorMode::Im2colWide | TensorMode::Im2colWide128 => {
            loads || prefetches
        }
        TensorMode::Scatter => action == TensorAction::Store,
        TensorMode::Im2colWithoutOffsets => !loads && !prefetches,
    };
    let mode = words.take_some(|word| TensorMode::from_word(word).filter(has_mode));
    let multicast = loads && words.take("multicast::cluster");
    let blocks = words.take_some(|word| match word {
        "cta_group::1" if loads => Some(1),
        "cta_group::2" if loads => Some(2),
        _ => None,
    });
    let has_policy = words.take("L2::cache_hint");
    Ok(Copying::Tensor(TensorCopy { action, dimensions, mode, multicast, blocks, has_policy }))
}

/// Opcodes with every kind of modifier, for the tests of all readers.
#[cfg(test)]
pub(super) const EXAMPLES: &[&str] = &[
    "cp.async.bulk.commit_group",
    "cp.async.bulk.prefetch.L2.global",
    "cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4.L2::cache_hint",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster",
    "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group",
    "cp.async.bulk.tensor.5d.shared::cta.global.im2col::w.mbarrier::complete_tx::bytes.cta_group::2",
    "cp.async.ca.shared.global.L2::128B",
    "cp.async.mbarrier.arrive.noinc.shared.b64",
    "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.im2col_no_offs.bulk_group",
    "st.bulk.weak.shared::cta",
];
