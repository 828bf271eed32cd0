//! Floating-point arithmetic: `add`, `sub`, `mul`, `fma`, `mad`, `div`, `rcp`, `sqrt`, `abs`, `neg`. Selects the code
//! for each type, rounding and set of modifiers.

use crate::ptx::ScalarType;

use super::approximate;
use super::double;
use super::extremes;
use super::form::{Decoded, Form};
use super::half::{Brain, Half, sum_to_odd};
use super::lanes::{Code, flag, operation};
use super::packed::Twice;
use super::single::{FLUSH, RELU, ROUNDING, SATURATE, canonical, flush, framed, operand, result, result_of};
use super::small::{
    self, PlainAdd, PlainFma, PlainMul, PlainSub, SmallAbs, SmallAdd, SmallFma, SmallMul, SmallNeg, SmallSub,
};
use super::soft::{DOUBLE, Rounding, SINGLE, Value, double as exact_double, single as exact_single};

operation!(Add(a: f32, b: f32) -> f32 { canonical(a + b) });
operation!(Sub(a: f32, b: f32) -> f32 { canonical(a - b) });
operation!(Mul(a: f32, b: f32) -> f32 { canonical(a * b) });
operation!(Fma(a: f32, b: f32, c: f32) -> f32 { canonical(a.mul_add(b, c)) });
operation!(Div(a: f32, b: f32) -> f32 { canonical(a / b) });
operation!(Reciprocal(a: f32) -> f32 { canonical(1.0 / a) });
operation!(Sqrt(a: f32) -> f32 { canonical(a.sqrt()) });
operation!(Abs(a: f32) -> f32 { canonical(a.abs()) });
operation!(Neg(a: f32) -> f32 { canonical(-a) });

// The same with `.ftz` and `.sat`.
operation!(AddModified(a: f32, b: f32; config) -> f32 { result(operand(a, config) + operand(b, config), config) });
operation!(SubModified(a: f32, b: f32; config) -> f32 { result(operand(a, config) - operand(b, config), config) });
operation!(MulModified(a: f32, b: f32; config) -> f32 {
    let (a, b) = (operand(a, config), operand(b, config));
    result_of(a * b, f64::from(a) * f64::from(b), config)
});
operation!(FmaModified(a: f32, b: f32, c: f32; config) -> f32 {
    let (a, b, c) = (operand(a, config), operand(b, config), operand(c, config));
    let exact = sum_to_odd(f64::from(a) * f64::from(b), f64::from(c));
    result_of(a.mul_add(b, c), exact, config)
});
operation!(DivModified(a: f32, b: f32; config) -> f32 {
    let (a, b) = (operand(a, config), operand(b, config));
    // 53 bits always tell on which side of a rounding boundary a quotient of two 24-bit numbers lies.
    result_of(a / b, f64::from(a) / f64::from(b), config)
});
operation!(ReciprocalModified(a: f32; config) -> f32 {
    let a = operand(a, config);
    result_of(1.0 / a, 1.0 / f64::from(a), config)
});
operation!(SqrtModified(a: f32; config) -> f32 { framed(operand(a, config).sqrt(), config) });
operation!(AbsFlushed(a: f32) -> f32 { canonical(flush(a.abs())) });
operation!(NegFlushed(a: f32) -> f32 { canonical(flush(-a)) });

/// Position of the operation in the configuration, above the rounding.
const KIND: u32 = 12;

/// Operations with exact arithmetic, in the order of the configuration's numbers.
const BASES: [&str; 8] = ["add", "sub", "mul", "fma", "div", "rcp", "sqrt", "mad"];

/// Computes any of the operations with any rounding.
#[inline(always)]
fn directed(a: Value, b: Value, c: Value, config: u32) -> (Value, Rounding) {
    let rounding = Rounding::from_number(config >> ROUNDING);
    let value = match config >> KIND & 7 {
        0 => a.add(b, rounding),
        1 => a.add(b.negated(), rounding),
        2 => a.mul(b),
        4 => a.div(b),
        5 => Value::from_integer(1).div(a),
        6 => a.sqrt(),
        _ => a.mul(b).add(c, rounding),
    };
    (value, rounding)
}

#[inline(never)]
fn directed_single(a: f32, b: f32, c: f32, config: u32) -> f32 {
    let exact = |value| exact_single(operand(value, config));
    let (value, rounding) = directed(exact(a), exact(b), exact(c), config);
    let bits = match config & FLUSH {
        0 => SINGLE.round(value, rounding),
        _ => SINGLE.round_flushing(value, rounding),
    };
    framed(f32::from_bits(bits as u32), config)
}

#[inline(never)]
fn directed_double(a: f64, b: f64, c: f64, config: u32) -> f64 {
    let (value, rounding) = directed(exact_double(a), exact_double(b), exact_double(c), config);
    if let Value::Nan = value {
        let in_order = matches!(config >> KIND & 7, 4..=6);
        return if in_order { double::nan_of(a, b, c) } else { double::nan_of(b, c, a) };
    }
    f64::from_bits(DOUBLE.round(value, rounding))
}

operation!(DirectedUnary(a: f32; config) -> f32 { directed_single(a, 0.0, 0.0, config) });
operation!(DirectedBinary(a: f32, b: f32; config) -> f32 { directed_single(a, b, 0.0, config) });
operation!(DirectedTernary(a: f32, b: f32, c: f32; config) -> f32 { directed_single(a, b, c, config) });
operation!(DirectedUnaryDouble(a: f64; config) -> f64 { directed_double(a, 0.0, 0.0, config) });
operation!(DirectedBinaryDouble(a: f64, b: f64; config) -> f64 { directed_double(a, b, 0.0, config) });
operation!(DirectedTernaryDouble(a: f64, b: f64, c: f64; config) -> f64 { directed_double(a, b, c, config) });

/// The modifiers that floats share.
pub(super) struct Modifiers {
    pub(super) rounding: Option<Rounding>,
    pub(super) flushes: bool,
    pub(super) saturates: bool,
}

impl Modifiers {
    pub(super) fn take(form: &mut Form<'_>) -> Self {
        Self {
            rounding: form
                .take_some(Rounding::from_word)
                .filter(|rounding| *rounding != Rounding::NearestAway),
            flushes: form.take("ftz"),
            saturates: form.take("sat"),
        }
    }

    pub(super) fn config(&self) -> u32 {
        flag(self.flushes, FLUSH) | flag(self.saturates, SATURATE)
    }

    pub(super) fn is_directed(&self) -> bool {
        !matches!(self.rounding, None | Some(Rounding::NearestEven))
    }

    fn directed_config(&self, base: &str) -> u32 {
        let kind = BASES.iter().position(|other| *other == base).unwrap_or(BASES.len() - 1);
        let rounding = self.rounding.unwrap_or(Rounding::NearestEven);
        self.config() | rounding.number() << ROUNDING | (kind as u32) << KIND
    }
}

pub(super) fn decode(form: &mut Form<'_>) -> Decoded {
    match form.base() {
        "min" | "max" => return extremes::decode(form),
        "ex2" | "lg2" | "sin" | "cos" | "tanh" | "rsqrt" => return approximate::decode(form),
        "div" | "rcp" | "sqrt" if form.has_any(&["approx", "full"]) => return approximate::decode(form),
        _ => (),
    }
    if form.take("f32x2") {
        return pairs(form);
    }
    let modifiers = Modifiers::take(form);
    let scalar = form.scalar()?;
    match scalar {
        ScalarType::F32 if form.has_any(&["f16", "bf16"]) => small::mixed(form, &modifiers),
        ScalarType::F32 => single(form, &modifiers),
        ScalarType::F64 => doubles(form, &modifiers),
        ScalarType::F16 | ScalarType::F16x2 | ScalarType::Bf16 | ScalarType::Bf16x2 => {
            halves(form, scalar, &modifiers)
        }
        _ => form.unsupported(),
    }
}

fn single(form: &mut Form<'_>, modifiers: &Modifiers) -> Decoded {
    let base = form.base();
    let needs_rounding = matches!(base, "fma" | "mad" | "div" | "rcp" | "sqrt");
    let may_saturate = matches!(base, "add" | "sub" | "mul" | "fma" | "mad");
    if needs_rounding && modifiers.rounding.is_none()
        || !may_saturate && modifiers.saturates
        || matches!(base, "abs" | "neg") && modifiers.rounding.is_some()
    {
        return form.unsupported();
    }
    if modifiers.is_directed() {
        let code = match base {
            "rcp" | "sqrt" => Code::of::<DirectedUnary>(),
            "add" | "sub" | "mul" | "div" => Code::of::<DirectedBinary>(),
            "fma" | "mad" => Code::of::<DirectedTernary>(),
            _ => return form.unsupported(),
        };
        return form.plain(code, modifiers.directed_config(base));
    }
    let config = modifiers.config();
    let code = match (base, config != 0) {
        ("add", false) => Code::of::<Add>(),
        ("sub", false) => Code::of::<Sub>(),
        ("mul", false) => Code::of::<Mul>(),
        ("fma" | "mad", false) => Code::of::<Fma>(),
        ("div", false) => Code::of::<Div>(),
        ("rcp", false) => Code::of::<Reciprocal>(),
        ("sqrt", false) => Code::of::<Sqrt>(),
        ("abs", false) => Code::of::<Abs>(),
        ("neg", false) => Code::of::<Neg>(),
        ("add", true) => Code::of::<AddModified>(),
        ("sub", true) => Code::of::<SubModified>(),
        ("mul", true) => Code::of::<MulModified>(),
        ("fma" | "mad", true) => Code::of::<FmaModified>(),
        ("div", true) => Code::of::<DivModified>(),
        ("rcp", true) => Code::of::<ReciprocalModified>(),
        ("sqrt", true) => Code::of::<SqrtModified>(),
        ("abs", true) => Code::of::<AbsFlushed>(),
        ("neg", true) => Code::of::<NegFlushed>(),
        _ => return form.unsupported(),
    };
    form.plain(code, config)
}

fn doubles(form: &mut Form<'_>, modifiers: &Modifiers) -> Decoded {
    let base = form.base();
    let needs_rounding = matches!(base, "fma" | "mad" | "div" | "rcp" | "sqrt");
    if needs_rounding && modifiers.rounding.is_none()
        || modifiers.config() != 0
        || matches!(base, "abs" | "neg") && modifiers.rounding.is_some()
    {
        return form.unsupported();
    }
    if modifiers.is_directed() {
        let code = match base {
            "rcp" | "sqrt" => Code::of::<DirectedUnaryDouble>(),
            "add" | "sub" | "mul" | "div" => Code::of::<DirectedBinaryDouble>(),
            "fma" | "mad" => Code::of::<DirectedTernaryDouble>(),
            _ => return form.unsupported(),
        };
        return form.plain(code, modifiers.directed_config(base));
    }
    let code = match base {
        "add" => Code::of::<double::Add>(),
        "sub" => Code::of::<double::Sub>(),
        "mul" => Code::of::<double::Mul>(),
        "fma" | "mad" => Code::of::<double::Fma>(),
        "div" => Code::of::<double::Div>(),
        "rcp" => Code::of::<double::Reciprocal>(),
        "sqrt" => Code::of::<double::Sqrt>(),
        "abs" => Code::of::<double::Abs>(),
        "neg" => Code::of::<double::Neg>(),
        _ => return form.unsupported(),
    };
    form.plain(code, 0)
}

/// Decodes operations on two `f32` in 64 bits.
fn pairs(form: &mut Form<'_>) -> Decoded {
    let modifiers = Modifiers::take(form);
    if modifiers.saturates || form.base() == "fma" && modifiers.rounding.is_none() {
        return form.unsupported();
    }
    let base = form.base();
    if modifiers.is_directed() {
        let code = match base {
            "add" | "sub" | "mul" => Code::of::<Twice<DirectedBinary>>(),
            "fma" => Code::of::<Twice<DirectedTernary>>(),
            _ => return form.unsupported(),
        };
        return form.plain(code, modifiers.directed_config(base));
    }
    let config = modifiers.config();
    let code = match base {
        "add" => Code::of::<Twice<AddModified>>(),
        "sub" => Code::of::<Twice<SubModified>>(),
        "mul" => Code::of::<Twice<MulModified>>(),
        "fma" => Code::of::<Twice<FmaModified>>(),
        _ => return form.unsupported(),
    };
    form.plain(code, config)
}

fn halves(form: &mut Form<'_>, scalar: ScalarType, modifiers: &Modifiers) -> Decoded {
    let base = form.base();
    let relu = form.take("relu");
    let is_brain = matches!(scalar, ScalarType::Bf16 | ScalarType::Bf16x2);
    let is_plain = matches!(base, "abs" | "neg");
    if modifiers.is_directed()
        || relu && (base != "fma" || modifiers.saturates)
        || base == "fma" && modifiers.rounding.is_none()
        || is_brain && modifiers.config() != 0
        || is_plain && (modifiers.rounding.is_some() || modifiers.saturates)
    {
        return form.unsupported();
    }
    let config = modifiers.config() | flag(relu, RELU);
    macro_rules! by_type {
        ($operation:ident) => {
            match scalar {
                ScalarType::F16 => Code::of::<$operation<Half>>(),
                ScalarType::Bf16 => Code::of::<$operation<Brain>>(),
                ScalarType::F16x2 => Code::of::<Twice<$operation<Half>>>().typed(scalar),
                _ => Code::of::<Twice<$operation<Brain>>>().typed(scalar),
            }
        };
    }
    let code = match base {
        "add" if config == 0 => by_type!(PlainAdd),
        "sub" if config == 0 => by_type!(PlainSub),
        "mul" if config == 0 => by_type!(PlainMul),
        "fma" if config == 0 => by_type!(PlainFma),
        "add" => by_type!(SmallAdd),
        "sub" => by_type!(SmallSub),
        "mul" => by_type!(SmallMul),
        "fma" => by_type!(SmallFma),
        "abs" => by_type!(SmallAbs),
        "neg" => by_type!(SmallNeg),
        _ => return form.unsupported(),
    };
    form.plain(code, config)
}
