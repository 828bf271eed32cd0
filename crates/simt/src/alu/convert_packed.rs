//! Conversions `cvt` to and from packed numbers and to `.tf32`, and `cvt.pack`.

use crate::ptx::ScalarType;

use super::convert::{FINITE, Manner};
use super::convert_float::converted;
use super::form::{Decoded, Form};
use super::half::{Brain, Half, Small};
use super::lanes::{Code, operation};
use super::packed::Halves;
use super::single::{RELU, ROUNDING};
use super::soft::{E4M3, E5M2, Format, HALF, Rounding, TENSOR, Value, single as exact_single};

// The first operand becomes the upper half.
operation!(PackHalves(a: f32, b: f32; config) -> u32 {
    Half::join(converted(b, config), converted(a, config))
});
operation!(PackBrains(a: f32, b: f32; config) -> u32 {
    Brain::join(converted(b, config), converted(a, config))
});

operation!(ToTensor(a: f32; config) -> f32 {
    let rounding = Rounding::from_number(config >> ROUNDING);
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

pub(super) fn decode(form: &mut Form<'_>, manner: Manner) -> Decoded {
    let Some(rounding) = manner.rounding else { return form.unsupported() };
    if manner.whole.is_some() || manner.flushes || manner.saturates {
        return form.unsupported();
    }
    let config = manner.config();
    let is_near = rounding == Rounding::NearestEven;
    let bytes = form.take_some(|word| match word {
        "e4m3x2" => Some(0),
        "e5m2x2" => Some(FIVE),
        _ => None,
    });
    if let Some(bytes) = bytes {
        let other = form.scalar()?;
        let to_bytes = form.instruction.opcode.modifiers().last().is_some_and(|last| !last.starts_with('e'));
        let code = match (other, to_bytes) {
            (ScalarType::F32, true) if manner.finite => Code::of::<PackBytes>().typed(ScalarType::B16),
            (ScalarType::F16x2, true) if manner.finite => Code::of::<HalvesToBytes>(),
            (ScalarType::F16x2, false) if !manner.finite => Code::of::<BytesToHalves>(),
            _ => return form.unsupported(),
        };
        if !is_near {
            return form.unsupported();
        }
        return form.plain(code, config | bytes);
    }
    if form.take("tf32") {
        let may = match rounding {
            Rounding::NearestAway => !manner.relu,
            Rounding::NearestEven | Rounding::Zero => true,
            _ => false,
        };
        if form.scalar()? != ScalarType::F32 || !may {
            return form.unsupported();
        }
        return form.plain(Code::of::<ToTensor>(), config);
    }
    let to = form.scalar()?;
    if form.scalar()? != ScalarType::F32 || !matches!(rounding, Rounding::NearestEven | Rounding::Zero) {
        return form.unsupported();
    }
    match to {
        ScalarType::F16x2 => form.plain(Code::of::<PackHalves>(), config),
        ScalarType::Bf16x2 => form.plain(Code::of::<PackBrains>(), config),
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
pub(super) fn pack(form: &mut Form<'_>) -> Decoded {
    let saturates = form.take("sat");
    let part = form.take_some(|word| {
        Some(match word {
            "u16" => 16,
            "s16" => 16 | SIGNED,
            "u8" => 8,
            "s8" => 8 | SIGNED,
            "u4" => 4,
            "s4" => 4 | SIGNED,
            "u2" => 2,
            "s2" => 2 | SIGNED,
            _ => return None,
        })
    });
    let Some(part) = part.filter(|_| saturates) else { return form.unsupported() };
    if form.scalar()? != ScalarType::S32 {
        return form.unsupported();
    }
    let has_more = form.take("b32");
    match (part & 63 == 16, has_more) {
        (true, false) => form.plain(Code::of::<Pack>(), part),
        (false, true) => form.plain(Code::of::<PackMore>(), part),
        _ => form.unsupported(),
    }
}
