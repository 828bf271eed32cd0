//! Arithmetic: instructions on each lane's registers alone.

use super::effects::Effects;
use super::modifiers::Modifiers;
use super::words::{Accuracy, Combine, Comparison, FloatTest, Overshift, Part, Permutation, Rounding};
use super::{Op, OpError};
use crate::types::ScalarType;

/// Operation of integer arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the instructions'")]
pub enum IntegerVerb {
    Add,
    Sub,
    Mul,
    Mad,
    /// A product of the lowest 24 bits.
    Mul24,
    Mad24,
    /// The sum of the third operand and the distance of the first two.
    Sad,
    Div,
    Rem,
    Min,
    Max,
    Abs,
    Neg,
}

/// Integer arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Integer {
    /// Operation.
    pub verb: IntegerVerb,
    /// Type of the operands.
    pub scalar: ScalarType,
    /// True for `.u16x2` and `.s16x2`: two numbers of the type in a register of 32 bits.
    pub packed: bool,
    /// Part of a product.
    pub part: Option<Part>,
    /// `.sat`: clamps the result to the type's range.
    pub saturates: bool,
    /// `.relu`: negative results become 0.
    pub relu: bool,
    /// Adds or subtracts the carry flag: `addc`, `subc`, `madc`.
    pub carry_in: bool,
    /// `.cc`: writes the carry flag.
    pub carry_out: bool,
}

/// Operation of floating-point arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the instructions'")]
pub enum FloatVerb {
    Add,
    Sub,
    Mul,
    /// `fma`, and `mad` of floats, which is the same.
    Fma,
    Div,
    Rcp,
    Sqrt,
    Rsqrt,
    Ex2,
    Lg2,
    Sin,
    Cos,
    Tanh,
    Abs,
    Neg,
    Min,
    Max,
}

/// Floating-point arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Float {
    /// Operation.
    pub verb: FloatVerb,
    /// Type of the result and, without [`Float::factors`], of the operands.
    pub scalar: ScalarType,
    /// True for `.f32x2`: two of the type in a register of 64 bits.
    pub pairs: bool,
    /// Type of the first operands of mixed arithmetic: `.f16` in `fma.rn.f32.f16`.
    pub factors: Option<ScalarType>,
    /// Rounding, if written.
    pub rounding: Option<Rounding>,
    /// Accuracy, if written.
    pub accuracy: Option<Accuracy>,
    /// `.ftz`: subnormal operands and results become 0.
    pub flushes: bool,
    /// `.sat`: clamps the result to 0 to 1.
    pub saturates: bool,
    /// `.relu`: negative results become 0.
    pub relu: bool,
    /// `.NaN`: a NaN operand makes the result of `min` and `max` NaN.
    pub nan_wins: bool,
    /// `.abs`: `min` and `max` of magnitudes.
    pub absolute: bool,
    /// `.xorsign`: the result's sign is the product of the signs.
    pub xor_sign: bool,
}

/// Operation on bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the instructions'")]
pub enum LogicVerb {
    And,
    Or,
    Xor,
    Not,
    Cnot,
    Shl,
    Shr,
}

/// Operation on fields of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the instructions'")]
pub enum FieldVerb {
    Bfe,
    Bfi,
    Bfind,
    /// `bfind.shiftamt`: the shift that moves the highest bit to the top.
    BfindShift,
    Clz,
    Popc,
    Brev,
    Fns,
    Bmsk,
    Szext,
}

/// A type that a conversion converts from or to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the types'")]
pub enum Format {
    Scalar(ScalarType),
    Tf32,
    E4m3x2,
    E5m2x2,
}

impl Format {
    fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "tf32" => Self::Tf32,
            "e4m3x2" => Self::E4m3x2,
            "e5m2x2" => Self::E5m2x2,
            _ => Self::Scalar(ScalarType::from_word(word)?),
        })
    }
}

/// `cvt`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Convert {
    /// Type of the result.
    pub to: Format,
    /// Type of the operands.
    pub from: Format,
    /// Rounding to the result's format: `.rn`.
    pub rounding: Option<Rounding>,
    /// Rounding to a whole number: `.rni`.
    pub whole: Option<Rounding>,
    /// `.ftz`
    pub flushes: bool,
    /// `.sat`
    pub saturates: bool,
    /// `.relu`
    pub relu: bool,
    /// `.satfinite`: what is too large becomes the largest finite number.
    pub finite: bool,
}

/// `cvt.pack`: clamps two integers and packs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pack {
    /// Bits of each part: 2, 4, 8 or 16.
    pub bits: u32,
    /// True if the parts are signed.
    pub signed: bool,
    /// True for a third operand, whose bits are moved up.
    pub has_more: bool,
    /// Type of the operands.
    pub from: ScalarType,
}

/// `setp` and `set`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Compare {
    /// Comparison.
    pub test: Comparison,
    /// Combination of the result with a third operand.
    pub combine: Option<Combine>,
    /// `.ftz`
    pub flushes: bool,
    /// Type of the operands.
    pub scalar: ScalarType,
    /// Type of the number that `set` gives; None for the predicate of `setp`.
    pub number: Option<ScalarType>,
}

/// `dp4a` and `dp2a`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dot {
    /// Number of products: 4 or 2.
    pub products: u32,
    /// For two products, the half of the second operand to take.
    pub part: Option<Part>,
    /// True if the first operand's parts are signed.
    pub first_signed: bool,
    /// True if the second operand's parts are signed.
    pub second_signed: bool,
}

/// Decodes an instruction of arithmetic; None if it is another.
pub(super) fn read(base: &str, words: &mut Modifiers<'_>) -> Result<Option<Op>, OpError> {
    let op = match base {
        "mov" => Op::Mov(words.scalar()?),
        "cvt" if words.take("pack") => pack(words)?,
        "cvt" => convert(words)?,
        "setp" => Op::Compare(compare(words, None)?),
        "set" => {
            let number = words.scalar()?;
            Op::Compare(compare(words, Some(number))?)
        }
        "selp" => Op::Selp(words.scalar()?),
        "slct" => {
            let flushes = words.take("ftz");
            Op::Slct { scalar: words.scalar()?, by: words.scalar()?, flushes }
        }
        "testp" => Op::Testp(words.need("a test", FloatTest::from_word)?, words.scalar()?),
        "copysign" => Op::Copysign(words.scalar()?),
        "and" => Op::Logic(LogicVerb::And, words.scalar()?),
        "or" => Op::Logic(LogicVerb::Or, words.scalar()?),
        "xor" => Op::Logic(LogicVerb::Xor, words.scalar()?),
        "not" => Op::Logic(LogicVerb::Not, words.scalar()?),
        "cnot" => Op::Logic(LogicVerb::Cnot, words.scalar()?),
        "shl" => Op::Logic(LogicVerb::Shl, words.scalar()?),
        "shr" => Op::Logic(LogicVerb::Shr, words.scalar()?),
        "shf" => {
            let left = words.take("l");
            if !left && !words.take("r") {
                return Err(words.lacks(".l or .r"));
            }
            let overshift = words.need(".clamp or .wrap", Overshift::from_word)?;
            Op::Shf { left, overshift, scalar: words.scalar()? }
        }
        "lop3" => {
            let combine = words.take_some(Combine::from_word);
            Op::Lop3 { combine, scalar: words.scalar()? }
        }
        "bfe" | "bfi" | "bfind" | "clz" | "popc" | "brev" | "fns" | "bmsk" | "szext" => field(base, words)?,
        "prmt" => {
            let permutation = words.take_some(Permutation::from_word);
            Op::Prmt { permutation, scalar: words.scalar()? }
        }
        "dp4a" | "dp2a" => dot(base, words)?,
        "add" | "sub" | "mul" | "mad" | "div" | "min" | "max" | "abs" | "neg"
            if FLOATS.iter().any(|word| words.has(word)) =>
        {
            float(base, words)?
        }
        "fma" | "rcp" | "sqrt" | "rsqrt" | "ex2" | "lg2" | "sin" | "cos" | "tanh" => float(base, words)?,
        "add" | "sub" | "mul" | "mad" | "div" | "min" | "max" | "abs" | "neg" | "addc" | "subc" | "madc"
        | "mul24" | "mad24" | "sad" | "rem" => integer(base, words)?,
        _ => return Ok(None),
    };
    Ok(Some(op))
}

/// Returns the effects of an instruction of arithmetic; None for others.
pub(super) fn effects(op: &Op) -> Option<Effects> {
    let computes = match op {
        // The carry flag is no operand.
        Op::Integer(integer) => !integer.carry_in,
        Op::Mov(_)
        | Op::Convert(_)
        | Op::Pack(_)
        | Op::Compare(_)
        | Op::Selp(_)
        | Op::Slct { .. }
        | Op::Testp(..)
        | Op::Copysign(_)
        | Op::Logic(..)
        | Op::Shf { .. }
        | Op::Lop3 { .. }
        | Op::Field { .. }
        | Op::Prmt { .. }
        | Op::Dot(_)
        | Op::Float(_) => true,
        _ => return None,
    };
    Some(Effects { computes, ..Effects::default() })
}

/// Types that make arithmetic floating-point.
const FLOATS: [&str; 7] = ["f32", "f64", "f16", "f16x2", "bf16", "bf16x2", "f32x2"];

fn integer(base: &str, words: &mut Modifiers<'_>) -> Result<Op, OpError> {
    let verb = match base {
        "add" | "addc" => IntegerVerb::Add,
        "sub" | "subc" => IntegerVerb::Sub,
        "mul" => IntegerVerb::Mul,
        "mad" | "madc" => IntegerVerb::Mad,
        "mul24" => IntegerVerb::Mul24,
        "mad24" => IntegerVerb::Mad24,
        "sad" => IntegerVerb::Sad,
        "div" => IntegerVerb::Div,
        "rem" => IntegerVerb::Rem,
        "min" => IntegerVerb::Min,
        "max" => IntegerVerb::Max,
        "abs" => IntegerVerb::Abs,
        _ => IntegerVerb::Neg,
    };
    let is_product =
        matches!(verb, IntegerVerb::Mul | IntegerVerb::Mad | IntegerVerb::Mul24 | IntegerVerb::Mad24);
    let part = if is_product { Some(words.need(".lo, .hi or .wide", Part::from_word)?) } else { None };
    let is_sum = matches!(verb, IntegerVerb::Add | IntegerVerb::Sub | IntegerVerb::Mad);
    let is_extreme = matches!(verb, IntegerVerb::Min | IntegerVerb::Max);
    let saturates = (is_sum || verb == IntegerVerb::Mad24) && words.take("sat");
    let relu = is_extreme && words.take("relu");
    let carry_out = is_sum && words.take("cc");
    // No register has these types.
    let packed = words.take_some(|word| match word {
        "u16x2" => Some(ScalarType::U16),
        "s16x2" => Some(ScalarType::S16),
        _ => None,
    });
    let scalar = match packed {
        Some(scalar) => scalar,
        None => words.scalar()?,
    };
    let carry_in = matches!(base, "addc" | "subc" | "madc");
    Ok(Op::Integer(Integer {
        verb,
        scalar,
        packed: packed.is_some(),
        part,
        saturates,
        relu,
        carry_in,
        carry_out,
    }))
}

fn float(base: &str, words: &mut Modifiers<'_>) -> Result<Op, OpError> {
    let verb = match base {
        "add" => FloatVerb::Add,
        "sub" => FloatVerb::Sub,
        "mul" => FloatVerb::Mul,
        "fma" | "mad" => FloatVerb::Fma,
        "div" => FloatVerb::Div,
        "rcp" => FloatVerb::Rcp,
        "sqrt" => FloatVerb::Sqrt,
        "rsqrt" => FloatVerb::Rsqrt,
        "ex2" => FloatVerb::Ex2,
        "lg2" => FloatVerb::Lg2,
        "sin" => FloatVerb::Sin,
        "cos" => FloatVerb::Cos,
        "tanh" => FloatVerb::Tanh,
        "abs" => FloatVerb::Abs,
        "neg" => FloatVerb::Neg,
        "min" => FloatVerb::Min,
        _ => FloatVerb::Max,
    };
    let is_extreme = matches!(verb, FloatVerb::Min | FloatVerb::Max);
    let is_sum = matches!(verb, FloatVerb::Add | FloatVerb::Sub | FloatVerb::Mul | FloatVerb::Fma);
    let is_quotient = matches!(verb, FloatVerb::Div | FloatVerb::Rcp | FloatVerb::Sqrt);
    let is_exact = is_sum || is_extreme || matches!(verb, FloatVerb::Abs | FloatVerb::Neg);
    let accuracy = words.take_some(|word| {
        let may = |found: &Accuracy| !is_exact && (*found == Accuracy::Approximate || verb == FloatVerb::Div);
        Accuracy::from_word(word).filter(may)
    });
    let rounds = is_sum || is_quotient && accuracy.is_none();
    let rounding = words.take_some(|word| {
        Rounding::from_word(word).filter(|found| rounds && *found != Rounding::NearestAway)
    });
    let flushes = words.take("ftz");
    let saturates = is_sum && words.take("sat");
    let relu = verb == FloatVerb::Fma && words.take("relu");
    let nan_wins = is_extreme && words.take("NaN");
    let absolute = is_extreme && words.take("abs");
    let xor_sign = is_extreme && words.take("xorsign");
    let pairs = words.take("f32x2");
    let scalar = if pairs { ScalarType::F32 } else { words.scalar()? };
    let factors = if is_sum { words.take_some(ScalarType::from_word) } else { None };
    Ok(Op::Float(Float {
        verb,
        scalar,
        pairs,
        factors,
        rounding,
        accuracy,
        flushes,
        saturates,
        relu,
        nan_wins,
        absolute,
        xor_sign,
    }))
}

fn field(base: &str, words: &mut Modifiers<'_>) -> Result<Op, OpError> {
    let verb = match base {
        "bfe" => FieldVerb::Bfe,
        "bfi" => FieldVerb::Bfi,
        "bfind" if words.take("shiftamt") => FieldVerb::BfindShift,
        "bfind" => FieldVerb::Bfind,
        "clz" => FieldVerb::Clz,
        "popc" => FieldVerb::Popc,
        "brev" => FieldVerb::Brev,
        "fns" => FieldVerb::Fns,
        "bmsk" => FieldVerb::Bmsk,
        _ => FieldVerb::Szext,
    };
    let overshift = match verb {
        FieldVerb::Bmsk | FieldVerb::Szext => Some(words.need(".clamp or .wrap", Overshift::from_word)?),
        _ => None,
    };
    Ok(Op::Field { verb, overshift, scalar: words.scalar()? })
}

fn dot(base: &str, words: &mut Modifiers<'_>) -> Result<Op, OpError> {
    let products = if base == "dp4a" { 4 } else { 2 };
    let part = match products {
        4 => None,
        _ => Some(words.need(".lo or .hi", |word| Part::from_word(word).filter(|part| *part != Part::Wide))?),
    };
    let mut signed = || {
        words.need(".u32 or .s32", |word| match word {
            "s32" => Some(true),
            "u32" => Some(false),
            _ => None,
        })
    };
    Ok(Op::Dot(Dot { products, part, first_signed: signed()?, second_signed: signed()? }))
}

fn convert(words: &mut Modifiers<'_>) -> Result<Op, OpError> {
    let rounding = words.take_some(Rounding::from_word);
    let whole = words.take_some(Rounding::from_whole_word);
    let flushes = words.take("ftz");
    let saturates = words.take("sat");
    let relu = words.take("relu");
    let finite = words.take("satfinite");
    let to = words.need("a type", Format::from_word)?;
    let from = words.need("a second type", Format::from_word)?;
    Ok(Op::Convert(Convert { to, from, rounding, whole, flushes, saturates, relu, finite }))
}

fn pack(words: &mut Modifiers<'_>) -> Result<Op, OpError> {
    if !words.take("sat") {
        return Err(words.lacks(".sat"));
    }
    let (bits, signed) = words.need("the type of a part", |word| {
        Some(match word {
            "u16" => (16, false),
            "s16" => (16, true),
            "u8" => (8, false),
            "s8" => (8, true),
            "u4" => (4, false),
            "s4" => (4, true),
            "u2" => (2, false),
            "s2" => (2, true),
            _ => return None,
        })
    })?;
    let from = words.scalar()?;
    let has_more = words.take("b32");
    if has_more == (bits == 16) {
        return Err(words.lacks(if has_more { "parts of 8 bits or fewer" } else { ".b32" }));
    }
    Ok(Op::Pack(Pack { bits, signed, has_more, from }))
}

fn compare(words: &mut Modifiers<'_>, number: Option<ScalarType>) -> Result<Compare, OpError> {
    let test = words.need("a comparison", Comparison::from_word)?;
    let combine = words.take_some(Combine::from_word);
    let flushes = words.take("ftz");
    Ok(Compare { test, combine, flushes, scalar: words.scalar()?, number })
}

/// Opcodes with every kind of modifier, for the tests of all readers.
#[cfg(test)]
pub(super) const EXAMPLES: &[&str] = &[
    "add.rn.ftz.sat.f32",
    "bfind.shiftamt.u32",
    "bmsk.clamp.b32",
    "copysign.f32",
    "cvt.pack.sat.u8.s32.b32",
    "cvt.rn.satfinite.e4m3x2.f32",
    "div.full.ftz.f32",
    "dp2a.lo.u32.s32",
    "fma.rn.relu.bf16x2",
    "lop3.or.b32",
    "madc.hi.cc.u32",
    "prmt.b32.f4e",
    "selp.b32",
    "set.lt.and.ftz.f32.f32",
    "shf.l.wrap.b32",
    "slct.ftz.f32.f32",
    "testp.finite.f32",
];
