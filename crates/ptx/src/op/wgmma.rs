//! `wgmma`: asynchronous products of matrices by a warpgroup, which is four warps. Source: PTX ISA 9.0, "Asynchronous Warpgroup
//! Level Matrix Instructions".
//!
//! ```text
//! wgmma.fence.sync.aligned;                                      orders registers before what follows
//! wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 ...;     starts a product
//! wgmma.commit_group.sync.aligned;                               ends a group of products
//! wgmma.wait_group.sync.aligned 0;                               waits until no group is open
//! ```

use super::effects::{Awaits, Effects};
use super::modifiers::Modifiers;
use super::words::{Combine, MatrixElement};
use super::{Op, OpError, matrix};

/// `wgmma`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wgmma {
    /// `wgmma.fence`: orders accesses to registers and to shared memory.
    Fence,
    /// `wgmma.commit_group`: ends a group of products.
    Commit,
    /// `wgmma.wait_group`: waits until at most a number of groups are open.
    Wait,
    /// `wgmma.mma_async`
    Product(WarpgroupProduct),
}

/// `wgmma.mma_async`: a product of 64 rows by some columns, added to sums in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WarpgroupProduct {
    /// Columns of B and of the result: a multiple of 8, 256 at most.
    pub columns: u32,
    /// Columns of A and rows of B.
    pub depth: u32,
    /// Elements of the result.
    pub sums: Sums,
    /// Elements of A.
    pub a: MatrixElement,
    /// Elements of B.
    pub b: MatrixElement,
    /// `.sp`: A is sparse.
    pub sparse: bool,
    /// `.satfinite`: sums of integers are clamped.
    pub saturates: bool,
}

/// Elements of a result of `wgmma.mma_async`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the types'")]
pub enum Sums {
    F16,
    F32,
    S32,
}

/// Decodes `wgmma`; None for other instructions.
pub(super) fn read(base: &str, words: &mut Modifiers<'_>) -> Result<Option<Op>, OpError> {
    if base != "wgmma" {
        return Ok(None);
    }
    let verb = words.need(".fence, .commit_group, .wait_group or .mma_async", |word| {
        Some(match word {
            "fence" => Some(Wgmma::Fence),
            "commit_group" => Some(Wgmma::Commit),
            "wait_group" => Some(Wgmma::Wait),
            "mma_async" => None,
            _ => return None,
        })
    })?;
    let sparse = verb.is_none() && words.take_first("sp");
    if !words.take_all(&["sync", "aligned"]) {
        return Err(words.lacks(".sync.aligned"));
    }
    Ok(Some(Op::Wgmma(match verb {
        Some(verb) => verb,
        None => Wgmma::Product(product(sparse, words)?),
    })))
}

fn product(sparse: bool, words: &mut Modifiers<'_>) -> Result<WarpgroupProduct, OpError> {
    let (columns, depth) = words.need("a shape such as .m64n8k16", |word| {
        let (64, columns @ 8..=256, depth) = matrix::shape(word)? else { return None };
        columns.is_multiple_of(8).then_some((columns, depth))
    })?;
    let saturates = words.take_first("satfinite");
    let sums = words.need("the sums' type", |word| match word {
        "f16" if !saturates => Some(Sums::F16),
        "f32" if !saturates => Some(Sums::F32),
        "s32" => Some(Sums::S32),
        _ => None,
    })?;
    if sums == Sums::S32 && columns > 32 && !columns.is_multiple_of(16) {
        return Err(words.lacks("a number of columns that products of integers have"));
    }
    // A row of either factor is 32 bytes deep; half of a sparse A is left out.
    let fits = |element: &MatrixElement| {
        let stored = if sparse { depth / 2 } else { depth };
        element.is_summed_by(sums) && stored * element.bits() == 256 && !(sparse && element.bits() == 1)
    };
    let element = |word: &str| MatrixElement::from_word(word).filter(fits);
    let a = words.need("a type of A that fits the sums and the shape", element)?;
    let like_a = |element: &MatrixElement| *element == a || element.bits() == 8;
    let b = words.need("a type of B that fits A", |word| element(word).filter(like_a))?;
    if a == MatrixElement::Bit && !(words.take(Combine::And.word()) && words.take("popc")) {
        return Err(words.lacks(".and.popc"));
    }
    Ok(WarpgroupProduct { columns, depth, sums, a, b, sparse, saturates })
}

impl MatrixElement {
    /// Returns true if products of the elements may be summed in this type.
    fn is_summed_by(self, sums: Sums) -> bool {
        match self {
            Self::F16 | Self::E4m3 | Self::E5m2 => sums != Sums::S32,
            Self::Bf16 | Self::Tf32 => sums == Sums::F32,
            Self::S8 | Self::U8 | Self::Bit => sums == Sums::S32,
        }
    }

    /// Returns the bits of an element. One of `tf32` fills 32.
    pub fn bits(self) -> u32 {
        match self {
            Self::Bit => 1,
            Self::S8 | Self::U8 | Self::E4m3 | Self::E5m2 => 8,
            Self::F16 | Self::Bf16 => 16,
            Self::Tf32 => 32,
        }
    }
}

impl Wgmma {
    pub(super) fn effects(&self) -> Effects {
        // The groups are those of products, not of copies; a warp waits for them as for copies.
        let awaits = (*self == Self::Wait).then_some(Awaits::Copies);
        Effects { aligned: true, awaits, ..Effects::default() }
    }
}

/// Opcodes with every kind of modifier, for the tests of all readers.
#[cfg(test)]
pub(super) const EXAMPLES: &[&str] = &[
    "wgmma.commit_group.sync.aligned",
    "wgmma.fence.sync.aligned",
    "wgmma.mma_async.sp.sync.aligned.m64n8k32.f16.f16.f16",
    "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16",
    "wgmma.mma_async.sync.aligned.m64n256k32.f32.e4m3.e5m2",
    "wgmma.mma_async.sync.aligned.m64n48k32.satfinite.s32.u8.s8",
    "wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc",
    "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32",
    "wgmma.wait_group.sync.aligned",
];
