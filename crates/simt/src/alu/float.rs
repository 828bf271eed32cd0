//! Floating-point arithmetic: `add`, `sub`, `mul`, `fma`, `mad`, `div`, `rcp`, `sqrt`, `abs`, `neg`. Selects the code
//! for each type, rounding and set of modifiers.

use crate::ptx::ScalarType;
use crate::ptx::op::arithmetic::{Float as Op, FloatVerb};

use super::approximate;
use super::double;
use super::extremes;
use super::form::{Decoded, Form};
use super::half::{Brain, Half, sum_to_odd};
use super::lanes::{Code, flag, operation};
use super::packed::Twice;
use super::single::{FLUSH, RELU, ROUNDING, canonical, config_of, flush, framed, operand, result, result_of};
use super::small::{
    self, PlainAdd, PlainFma, PlainMul, PlainSub, SmallAbs, SmallAdd, SmallFma, SmallMul, SmallNeg, SmallSub,
};
use super::soft::{DOUBLE, SINGLE, Value, double as exact_double, rounding_of, single as exact_single};
use crate::ptx::op::words::Rounding;

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

// Operations as numbers of the configuration.
const ADD: u32 = FloatVerb::Add as u32;
const SUB: u32 = FloatVerb::Sub as u32;
const MUL: u32 = FloatVerb::Mul as u32;
const DIV: u32 = FloatVerb::Div as u32;
const RCP: u32 = FloatVerb::Rcp as u32;
const SQRT: u32 = FloatVerb::Sqrt as u32;

/// Computes any of the operations with any rounding.
#[inline(always)]
fn directed(a: Value, b: Value, c: Value, config: u32) -> (Value, Rounding) {
    let rounding = rounding_of(config >> ROUNDING);
    let value = match config >> KIND & 15 {
        ADD => a.add(b, rounding),
        SUB => a.add(b.negated(), rounding),
        MUL => a.times(b),
        DIV => a.over(b),
        RCP => Value::from_integer(1).over(a),
        SQRT => a.sqrt(),
        _ => a.times(b).add(c, rounding),
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
        let in_order = matches!(config >> KIND & 15, DIV | RCP | SQRT);
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

fn is_directed(op: &Op) -> bool {
    !matches!(op.rounding, None | Some(Rounding::NearestEven))
}

fn directed_config(op: &Op) -> u32 {
    let rounding = op.rounding.unwrap_or(Rounding::NearestEven);
    config_of(op) | (rounding as u32) << ROUNDING | (op.verb as u32) << KIND
}

pub(super) fn decode(form: &mut Form<'_>, op: &Op) -> Decoded {
    use FloatVerb::{Cos, Div, Ex2, Lg2, Max, Min, Rcp, Rsqrt, Sin, Sqrt, Tanh};
    match op.verb {
        Min | Max => return extremes::decode(form, op),
        Ex2 | Lg2 | Sin | Cos | Tanh | Rsqrt => return approximate::decode(form, op),
        Div | Rcp | Sqrt if op.accuracy.is_some() => return approximate::decode(form, op),
        _ => (),
    }
    match op.scalar {
        _ if op.pairs => pairs(form, op),
        _ if op.relu && !is_half(op.scalar) => form.unsupported(),
        ScalarType::F32 if op.factors.is_some() => small::mixed(form, op),
        _ if op.factors.is_some() => form.unsupported(),
        ScalarType::F32 => single(form, op),
        ScalarType::F64 => doubles(form, op),
        scalar if is_half(scalar) => halves(form, op),
        _ => form.unsupported(),
    }
}

fn is_half(scalar: ScalarType) -> bool {
    matches!(scalar, ScalarType::F16 | ScalarType::F16x2 | ScalarType::Bf16 | ScalarType::Bf16x2)
}

/// Returns true if an operation must name its rounding.
fn needs_rounding(verb: FloatVerb) -> bool {
    matches!(verb, FloatVerb::Fma | FloatVerb::Div | FloatVerb::Rcp | FloatVerb::Sqrt)
}

fn single(form: &mut Form<'_>, op: &Op) -> Decoded {
    if needs_rounding(op.verb) && op.rounding.is_none() {
        return form.unsupported();
    }
    if is_directed(op) {
        let code = match op.verb {
            FloatVerb::Rcp | FloatVerb::Sqrt => Code::of::<DirectedUnary>(),
            FloatVerb::Fma => Code::of::<DirectedTernary>(),
            _ => Code::of::<DirectedBinary>(),
        };
        return form.plain(code, directed_config(op));
    }
    let config = config_of(op);
    let code = match (op.verb, config != 0) {
        (FloatVerb::Add, false) => Code::of::<Add>(),
        (FloatVerb::Sub, false) => Code::of::<Sub>(),
        (FloatVerb::Mul, false) => Code::of::<Mul>(),
        (FloatVerb::Fma, false) => Code::of::<Fma>(),
        (FloatVerb::Div, false) => Code::of::<Div>(),
        (FloatVerb::Rcp, false) => Code::of::<Reciprocal>(),
        (FloatVerb::Sqrt, false) => Code::of::<Sqrt>(),
        (FloatVerb::Abs, false) => Code::of::<Abs>(),
        (FloatVerb::Neg, false) => Code::of::<Neg>(),
        (FloatVerb::Add, true) => Code::of::<AddModified>(),
        (FloatVerb::Sub, true) => Code::of::<SubModified>(),
        (FloatVerb::Mul, true) => Code::of::<MulModified>(),
        (FloatVerb::Fma, true) => Code::of::<FmaModified>(),
        (FloatVerb::Div, true) => Code::of::<DivModified>(),
        (FloatVerb::Rcp, true) => Code::of::<ReciprocalModified>(),
        (FloatVerb::Sqrt, true) => Code::of::<SqrtModified>(),
        (FloatVerb::Abs, true) => Code::of::<AbsFlushed>(),
        (FloatVerb::Neg, true) => Code::of::<NegFlushed>(),
        _ => return form.unsupported(),
    };
    form.plain(code, config)
}

fn doubles(form: &mut Form<'_>, op: &Op) -> Decoded {
    if needs_rounding(op.verb) && op.rounding.is_none() || config_of(op) != 0 {
        return form.unsupported();
    }
    if is_directed(op) {
        let code = match op.verb {
            FloatVerb::Rcp | FloatVerb::Sqrt => Code::of::<DirectedUnaryDouble>(),
            FloatVerb::Fma => Code::of::<DirectedTernaryDouble>(),
            _ => Code::of::<DirectedBinaryDouble>(),
        };
        return form.plain(code, directed_config(op));
    }
    let code = match op.verb {
        FloatVerb::Add => Code::of::<double::Add>(),
        FloatVerb::Sub => Code::of::<double::Sub>(),
        FloatVerb::Mul => Code::of::<double::Mul>(),
        FloatVerb::Fma => Code::of::<double::Fma>(),
        FloatVerb::Div => Code::of::<double::Div>(),
        FloatVerb::Rcp => Code::of::<double::Reciprocal>(),
        FloatVerb::Sqrt => Code::of::<double::Sqrt>(),
        FloatVerb::Abs => Code::of::<double::Abs>(),
        FloatVerb::Neg => Code::of::<double::Neg>(),
        _ => return form.unsupported(),
    };
    form.plain(code, 0)
}

/// Decodes operations on two `f32` in 64 bits.
fn pairs(form: &mut Form<'_>, op: &Op) -> Decoded {
    if op.saturates || op.relu || op.factors.is_some() || op.verb == FloatVerb::Fma && op.rounding.is_none() {
        return form.unsupported();
    }
    if is_directed(op) {
        let code = match op.verb {
            FloatVerb::Add | FloatVerb::Sub | FloatVerb::Mul => Code::of::<Twice<DirectedBinary>>(),
            FloatVerb::Fma => Code::of::<Twice<DirectedTernary>>(),
            _ => return form.unsupported(),
        };
        return form.plain(code, directed_config(op));
    }
    let config = config_of(op);
    let code = match op.verb {
        FloatVerb::Add => Code::of::<Twice<AddModified>>(),
        FloatVerb::Sub => Code::of::<Twice<SubModified>>(),
        FloatVerb::Mul => Code::of::<Twice<MulModified>>(),
        FloatVerb::Fma => Code::of::<Twice<FmaModified>>(),
        _ => return form.unsupported(),
    };
    form.plain(code, config)
}

fn halves(form: &mut Form<'_>, op: &Op) -> Decoded {
    let Op { verb, scalar, relu, .. } = *op;
    let is_brain = matches!(scalar, ScalarType::Bf16 | ScalarType::Bf16x2);
    if is_directed(op)
        || relu && op.saturates
        || verb == FloatVerb::Fma && op.rounding.is_none()
        || is_brain && config_of(op) != 0
    {
        return form.unsupported();
    }
    let config = config_of(op) | flag(relu, RELU);
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
    let code = match verb {
        FloatVerb::Add if config == 0 => by_type!(PlainAdd),
        FloatVerb::Sub if config == 0 => by_type!(PlainSub),
        FloatVerb::Mul if config == 0 => by_type!(PlainMul),
        FloatVerb::Fma if config == 0 => by_type!(PlainFma),
        FloatVerb::Add => by_type!(SmallAdd),
        FloatVerb::Sub => by_type!(SmallSub),
        FloatVerb::Mul => by_type!(SmallMul),
        FloatVerb::Fma => by_type!(SmallFma),
        FloatVerb::Abs => by_type!(SmallAbs),
        FloatVerb::Neg => by_type!(SmallNeg),
        _ => return form.unsupported(),
    };
    form.plain(code, config)
}
