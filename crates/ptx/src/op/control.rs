//! Control flow, barriers of threads, and instructions by which the lanes of a warp exchange values.

use super::effects::{Awaits, Effects};
use super::modifiers::Modifiers;
use super::words::{Combine, Order, ShuffleMode, Update, VoteMode};
use super::{Op, OpError};
use crate::types::ScalarType;

/// Action of a thread at a barrier of its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BarrierVerb {
    /// Waits.
    Sync,
    /// Arrives and goes on.
    Arrive,
    /// Waits, and combines a predicate of all threads.
    Reduce(Reduction),
}

/// Reduction of predicates by a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// Counts those that hold.
    Count,
    /// All hold.
    And,
    /// Any holds.
    Or,
}

/// `redux`: a reduction of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Redux {
    /// Operation.
    pub update: Update,
    /// Type of the values.
    pub scalar: ScalarType,
    /// `.abs`: of the magnitudes.
    pub absolute: bool,
    /// `.NaN`: a NaN makes the result NaN.
    pub nan_wins: bool,
}

/// Decodes an instruction of control or of a warp; None if it is another.
pub(super) fn read(base: &str, words: &mut Modifiers<'_>) -> Result<Option<Op>, OpError> {
    let op = match base {
        "bra" => {
            words.skip(&["uni"]);
            Op::Bra
        }
        "brx" => {
            if !words.take_first("idx") {
                return Err(words.lacks(".idx"));
            }
            words.skip(&["uni"]);
            Op::Brx
        }
        "call" => {
            words.skip(&["uni"]);
            Op::Call
        }
        "ret" => {
            words.skip(&["uni"]);
            Op::Ret
        }
        "exit" => Op::Exit,
        "trap" => Op::Trap,
        "brkpt" => Op::Brkpt,
        "nanosleep" => {
            words.skip(&["u32"]);
            Op::Nanosleep
        }
        "pmevent" => {
            words.skip(&["mask"]);
            Op::Pmevent
        }
        "griddepcontrol" => {
            let waits = words.need(".wait or .launch_dependents", |word| match word {
                "wait" => Some(true),
                "launch_dependents" => Some(false),
                _ => None,
            })?;
            Op::Griddepcontrol { waits }
        }
        "setmaxnreg" => {
            let takes = words.need(".inc or .dec", |word| match word {
                "inc" => Some(true),
                "dec" => Some(false),
                _ => None,
            })?;
            if !words.take_all(&["sync", "aligned", "u32"]) {
                return Err(words.lacks(".sync.aligned.u32"));
            }
            Op::Setmaxnreg { takes }
        }
        "bar" if words.take_first("warp") => {
            if !words.take_first("sync") {
                return Err(words.lacks(".sync"));
            }
            Op::WarpSync
        }
        "barrier" if words.take_first("cluster") => cluster(words)?,
        "bar" | "barrier" => barrier(base, words)?,
        "shfl" => {
            let synchronous = words.take("sync");
            Op::Shfl {
                synchronous,
                mode: words.need("a mode", ShuffleMode::from_word)?,
                scalar: words.scalar()?,
            }
        }
        "vote" => {
            let synchronous = words.take("sync");
            Op::Vote {
                synchronous,
                mode: words.need("a mode", VoteMode::from_word)?,
                scalar: words.scalar()?,
            }
        }
        "match" => {
            let synchronous = words.take("sync");
            let all = words.need(".any or .all", |word| match word {
                "all" => Some(true),
                "any" => Some(false),
                _ => None,
            })?;
            Op::Match { synchronous, all, scalar: words.scalar()? }
        }
        "redux" => {
            synchronous(words)?;
            Op::Redux(Redux {
                update: words.need("an operation", Update::from_word)?,
                absolute: words.take("abs"),
                nan_wins: words.take("NaN"),
                scalar: words.scalar()?,
            })
        }
        "elect" => {
            synchronous(words)?;
            Op::Elect
        }
        "activemask" => Op::Activemask(words.scalar()?),
        _ => return Ok(None),
    };
    Ok(Some(op))
}

/// Returns the effects of an instruction of control or of a warp; None for others.
pub(super) fn effects(op: &Op) -> Option<Effects> {
    let none = Effects::default();
    let barrier = Effects { barrier: true, awaits: Some(Awaits::Threads), ..Effects::default() };
    Some(match op {
        Op::Barrier { aligned, .. } => Effects { aligned: *aligned, ..barrier },
        Op::ClusterBarrier { aligned, order, .. } => Effects { aligned: *aligned, order: *order, ..barrier },
        Op::Setmaxnreg { .. } => Effects { aligned: true, ..none },
        Op::Shfl { .. }
        | Op::Vote { .. }
        | Op::Match { .. }
        | Op::Redux(_)
        | Op::Elect
        | Op::Activemask(_)
        | Op::WarpSync
        | Op::Griddepcontrol { .. } => Effects { meets: true, ..none },
        _ => return None,
    })
}

fn synchronous(words: &mut Modifiers<'_>) -> Result<(), OpError> {
    if words.take("sync") { Ok(()) } else { Err(words.lacks(".sync")) }
}

fn cluster(words: &mut Modifiers<'_>) -> Result<Op, OpError> {
    let waits = words.need(".arrive or .wait", |word| match word {
        "arrive" => Some(false),
        "wait" => Some(true),
        _ => None,
    })?;
    let aligned = words.take("aligned");
    let order = words.take_some(Order::from_word);
    Ok(Op::ClusterBarrier { waits, aligned, order })
}

fn barrier(base: &str, words: &mut Modifiers<'_>) -> Result<Op, OpError> {
    words.skip(&["cta"]);
    let aligned = base == "bar" || words.take("aligned");
    let verb = words.need(".sync, .arrive or .red", |word| match word {
        "sync" => Some(BarrierVerb::Sync),
        "arrive" => Some(BarrierVerb::Arrive),
        "red" => Some(BarrierVerb::Reduce(Reduction::Count)),
        _ => None,
    })?;
    let verb = match verb {
        BarrierVerb::Reduce(_) => {
            let counts = words.take("popc");
            let read = |word: &str| Combine::from_word(word).filter(|combine| *combine != Combine::Xor);
            let combine = if counts { None } else { words.take_some(read) };
            let (reduction, result) = match (counts, combine) {
                (true, _) => (Reduction::Count, "u32"),
                (_, Some(Combine::And)) => (Reduction::And, "pred"),
                (_, Some(Combine::Or)) => (Reduction::Or, "pred"),
                _ => return Err(words.lacks(".popc, .and or .or")),
            };
            if !words.take(result) {
                return Err(words.lacks(".u32 after .popc, .pred after .and and .or"));
            }
            BarrierVerb::Reduce(reduction)
        }
        verb => verb,
    };
    words.skip(if base == "bar" { &["aligned"] } else { &[] });
    Ok(Op::Barrier { verb, aligned })
}

/// Opcodes with every kind of modifier, for the tests of all readers.
#[cfg(test)]
pub(super) const EXAMPLES: &[&str] = &[
    "bar.red.and.pred",
    "barrier.cluster.arrive.release.aligned",
    "barrier.cta.sync.aligned",
    "brx.idx",
    "elect.sync",
    "griddepcontrol.wait",
    "match.all.sync.b32",
    "redux.sync.min.abs.NaN.f32",
    "setmaxnreg.dec.sync.aligned.u32",
    "shfl.sync.bfly.b32",
    "vote.sync.ballot.b32",
];
