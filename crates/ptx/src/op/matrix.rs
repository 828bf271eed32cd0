//! Instructions on matrices that the lanes of a warp hold together.

use super::effects::Effects;
use super::modifiers::Modifiers;
use super::words::AddressSpace;
use super::{Op, OpError};
use crate::types::ScalarType;

/// `mma.sync`: a product of dense matrices, A by rows and B by columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mma {
    /// Rows of A and of the result.
    pub rows: u32,
    /// Columns of B and of the result.
    pub columns: u32,
    /// Columns of A and rows of B.
    pub depth: u32,
    /// Type of the result.
    pub result: ScalarType,
    /// Type of A.
    pub a: ScalarType,
    /// Type of B.
    pub b: ScalarType,
    /// Type of the sums that the product is added to.
    pub sums: ScalarType,
}

/// `ldmatrix`: loads matrices of 8 x 8 elements of 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ldmatrix {
    /// Matrices: 1, 2 or 4.
    pub count: u32,
    /// `.trans`
    pub transposed: bool,
    /// Space of the addresses; None if they are generic.
    pub space: Option<AddressSpace>,
}

/// `stmatrix`: stores matrices of 8 x 8 elements of 16 bits, or of 16 x 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stmatrix {
    /// Matrices: 1, 2 or 4.
    pub count: u32,
    /// Rows of a matrix: 8 of elements of 16 bits, or 16 of bytes.
    pub rows: u32,
    /// `.trans`
    pub transposed: bool,
    /// Space of the addresses; None if they are generic.
    pub space: Option<AddressSpace>,
}

/// Decodes an instruction on matrices; None for other instructions, and for forms that this crate does not read.
pub(super) fn read(base: &str, words: &mut Modifiers<'_>) -> Result<Option<Op>, OpError> {
    Ok(match base {
        "mma" if words.take_all(&["sync", "aligned"]) => mma(words),
        "ldmatrix" if words.take_all(&["sync", "aligned", "m8n8"]) => {
            let count = count(words)?;
            let transposed = words.take("trans");
            let space = words.take_some(AddressSpace::from_word);
            words.take("b16").then_some(Op::Ldmatrix(Ldmatrix { count, transposed, space }))
        }
        "stmatrix" => {
            if !words.take_all(&["sync", "aligned"]) {
                return Err(words.lacks(".sync.aligned"));
            }
            let rows = words.need(".m8n8 or .m16n8", |word| match word {
                "m8n8" => Some(8),
                "m16n8" => Some(16),
                _ => None,
            })?;
            let count = count(words)?;
            let transposed = words.take("trans");
            if rows == 16 && !transposed {
                return Err(words.lacks(".trans"));
            }
            let space =
                words.take_some(|word| AddressSpace::from_word(word).filter(|space| space.is_shared()));
            let (element, lacking) = if rows == 8 { ("b16", ".b16") } else { ("b8", ".b8") };
            if !words.take(element) {
                return Err(words.lacks(lacking));
            }
            Some(Op::Stmatrix(Stmatrix { count, rows, transposed, space }))
        }
        "movmatrix" => match words.take_all(&["sync", "aligned", "m8n8", "trans", "b16"]) {
            true => Some(Op::Movmatrix),
            false => return Err(words.lacks(".sync.aligned.m8n8.trans.b16")),
        },
        _ => None,
    })
}

fn count(words: &mut Modifiers<'_>) -> Result<u32, OpError> {
    words.need(".x1, .x2 or .x4", |word| match word {
        "x1" => Some(1),
        "x2" => Some(2),
        "x4" => Some(4),
        _ => None,
    })
}

/// Returns the effects of an instruction on matrices; None for others.
pub(super) fn effects(op: &Op) -> Option<Effects> {
    match op {
        Op::Mma(_) | Op::Movmatrix => Some(Effects { aligned: true, ..Effects::default() }),
        Op::Stmatrix(store) => {
            Some(Effects { space: store.space, stores: true, aligned: true, ..Effects::default() })
        }
        Op::Ldmatrix(load) => {
            Some(Effects { space: load.space, loads: true, aligned: true, ..Effects::default() })
        }
        _ => None,
    }
}

fn mma(words: &mut Modifiers<'_>) -> Option<Op> {
    let (rows, columns, depth) = words.take_some(shape)?;
    if !words.take_all(&["row", "col"]) {
        return None;
    }
    let mut scalar = || words.take_some(ScalarType::from_word);
    let mma = Mma { rows, columns, depth, result: scalar()?, a: scalar()?, b: scalar()?, sums: scalar()? };
    words.done().ok().map(|()| Op::Mma(mma))
}

/// Reads `m16n8k16`.
pub(super) fn shape(word: &str) -> Option<(u32, u32, u32)> {
    let (rows, rest) = word.strip_prefix('m')?.split_once('n')?;
    let (columns, depth) = rest.split_once('k')?;
    Some((rows.parse().ok()?, columns.parse().ok()?, depth.parse().ok()?))
}

/// Opcodes with every kind of modifier, for the tests of all readers.
#[cfg(test)]
pub(super) const EXAMPLES: &[&str] = &[
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
    "movmatrix.sync.aligned.m8n8.trans.b16",
    "stmatrix.sync.aligned.m16n8.x1.trans.shared::cta.b8",
    "stmatrix.sync.aligned.m8n8.x4.shared.b16",
];
