//! Conversions `cvt` to and from packed numbers and to `.tf32`, and `cvt.pack`.

use crate::ptx::ScalarType;
use crate::ptx::op::arithmetic::{Convert, Format as Type, Pack as PackOp};
use crate::ptx::op::words::Rounding;

use super::float::converted;
use super::modifiers::{FINITE, config_of};
use crate::alu::form::{Decoded, Form};
use crate::alu::half::{Brain, Half, Small};
use crate::alu::lanes::{Code, flag, operation};
use crate::alu::packed::Halves;
use crate::alu::single::{RELU, ROUNDING};
use crate::alu::soft::{E4M3, E5M2, Format, HALF, TENSOR, Value, rounding_of, single as exact_single};

// The first operand becomes the upper half.
operation!(PackHalves(a: f32, b: f32; config) -> u32 {
    Half::join(converted(b, config), converted(a, config))
});
operation!(PackBrains(a: f32, b: f32; config) -> u32 {
    Brain::join(converted(b, config), converted(a, config))
});

operation!(ToTensor(a: f32; config) -> f32 {
    let rounding = rounding_of(config >> ROUNDING);
    if a.is_nan() {
        // Rounded away from zero, a NaN only loses its lower bits, if it is still a NaN then.
        let cut = f32::from_bits(a.to_bits() & !0x1FFF);
        let keeps = rounding == Rounding::NearestAway && config & FINITE == 0 && cut.is_nan();
        return if keeps { cut } else { f32::from_bits(0x7FFF_E000) };
    }
    let value = exact_single(a);
    let bits = match config & FINITE {
        0 => TENSOR.round(value, rounding),
        _ => TENSOR.round_saturating(value, rounding),
    };
    let result = f32::from_bits((bits as u32) << 13);
    if config & RELU != 0 && result.is_sign_negative() { 0.0 } else { result }
});

/// Converts to an 8-bit float: to the nearest, saturating.
#[inline(always)]
fn to_byte(format: &Format, value: Value, config: u32) -> u16 {
    let bits = format.round_saturating(value, Rounding::NearestEven) as u16;
    let is_negative = bits & 0x80 != 0 && !matches!(value, Value::Nan);
    if config & RELU != 0 && is_negative { 0 } else { bits }
}

/// Above the modifiers in the configuration: set for `.e5m2`, clear for `.e4m3`.
const FIVE: u32 = 1 << 16;

#[inline(always)]
fn byte_format(config: u32) -> &'static Format {
    if config & FIVE != 0 { &E5M2 } else { &E4M3 }
}

operation!(PackBytes(a: f32, b: f32; config) -> u16 {
    let format = byte_format(config);
    to_byte(format, exact_single(b), config) | to_byte(format, exact_single(a), config) << 8
});
operation!(HalvesToBytes(a: u32; config) -> u16 {
    let format = byte_format(config);
    let byte = |half: Half| to_byte(format, exact_single(half.widen()), config);
    byte(Half::low(a)) | byte(Half::high(a)) << 8
});
operation!(BytesToHalves(a: u16; config) -> u32 {
    let format = byte_format(config);
    let half = |bits: u16| {
        let bits = HALF.round(format.read(bits.into()), Rounding::NearestEven) as u16;
        let is_negative = bits & 0x8000 != 0;
        Half(if config & RELU != 0 && is_negative { 0 } else { bits })
    };
    Half::join(half(a & 0xFF), half(a >> 8))
});

pub(super) fn decode(form: &mut Form<'_>, op: &Convert) -> Decoded {
    use ScalarType::{Bf16x2, F16x2, F32};
    let Some(rounding) = op.rounding else { return form.unsupported() };
    if op.whole.is_some() || op.flushes || op.saturates {
        return form.unsupported();
    }
    let config = config_of(op);
    let is_near = rounding == Rounding::NearestEven;
    let cuts = is_near || rounding == Rounding::Zero;
    let format = |bytes| if bytes == Type::E5m2x2 { FIVE } else { 0 };
    match (op.to, op.from) {
        (bytes @ (Type::E4m3x2 | Type::E5m2x2), Type::Scalar(F32)) if op.finite && is_near => {
            form.plain(Code::of::<PackBytes>().typed(ScalarType::B16), config | format(bytes))
        }
        (bytes @ (Type::E4m3x2 | Type::E5m2x2), Type::Scalar(F16x2)) if op.finite && is_near => {
            form.plain(Code::of::<HalvesToBytes>(), config | format(bytes))
        }
        (Type::Scalar(F16x2), bytes @ (Type::E4m3x2 | Type::E5m2x2)) if !op.finite && is_near => {
            form.plain(Code::of::<BytesToHalves>(), config | format(bytes))
        }
        (Type::Tf32, Type::Scalar(F32)) if cuts || rounding == Rounding::NearestAway && !op.relu => {
            form.plain(Code::of::<ToTensor>(), config)
        }
        (Type::Scalar(F16x2), Type::Scalar(F32)) if cuts => form.plain(Code::of::<PackHalves>(), config),
        (Type::Scalar(Bf16x2), Type::Scalar(F32)) if cuts => form.plain(Code::of::<PackBrains>(), config),
        _ => form.unsupported(),
    }
}

/// In the configuration of `cvt.pack`: set if a part is signed. The lower bits are its size.
const SIGNED: u32 = 64;

#[inline(always)]
fn clamped(value: i32, config: u32) -> u32 {
    let bits = config & 63;
    let (least, largest) = match config & SIGNED {
        0 => (0, (1 << bits) - 1),
        _ => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
    };
    value.clamp(least, largest) as u32 & ((1 << bits) - 1)
}

operation!(Pack(a: i32, b: i32; config) -> u32 { clamped(a, config) << 16 | clamped(b, config) });
operation!(PackMore(a: i32, b: i32, c: u32; config) -> u32 {
    let bits = config & 63;
    c << (2 * bits) | clamped(a, config) << bits | clamped(b, config)
});

/// Decodes `cvt.pack.sat.u16.s32 d, a, b` and `cvt.pack.sat.u8.s32.b32 d, a, b, c`.
pub(in crate::alu) fn pack(form: &mut Form<'_>, op: &PackOp) -> Decoded {
    let config = op.bits | flag(op.signed, SIGNED);
    match (op.from, op.has_more) {
        (ScalarType::S32, false) => form.plain(Code::of::<Pack>(), config),
        (ScalarType::S32, true) => form.plain(Code::of::<PackMore>(), config),
        _ => form.unsupported(),
    }
}
