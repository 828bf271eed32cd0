//! Conversions `cvt`, between numbers of any two types.

use crate::ptx::ScalarType;

use super::convert_float;
use super::convert_integer;
use super::convert_packed;
use super::form::{Decoded, Form};
use super::lanes::flag;
use super::soft::Rounding;

/// The modifiers of a conversion besides its types.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Manner {
    /// Rounding to the format of the result: `.rn`, ...
    pub(super) rounding: Option<Rounding>,
    /// Rounding to a whole number: `.rni`, ...
    pub(super) whole: Option<Rounding>,
    pub(super) flushes: bool,
    pub(super) saturates: bool,
    pub(super) relu: bool,
    pub(super) finite: bool,
}

/// Bits of a conversion's configuration. The lowest are [`super::single::FLUSH`] and the like.
pub(super) const FINITE: u32 = 8;
/// Position of the rounding to a whole number; the value 7 is none.
pub(super) const WHOLE: u32 = 12;

impl Manner {
    fn take(form: &mut Form<'_>) -> Self {
        Self {
            rounding: form.take_some(Rounding::from_word),
            whole: form.take_some(|word| Rounding::from_word(word.strip_suffix('i')?)),
            flushes: form.take("ftz"),
            saturates: form.take("sat"),
            relu: form.take("relu"),
            finite: form.take("satfinite"),
        }
    }

    pub(super) fn config(&self) -> u32 {
        use super::single::{FLUSH, RELU, ROUNDING, SATURATE};
        let rounding = self.rounding.unwrap_or(Rounding::NearestEven).number();
        let whole = self.whole.map_or(7, Rounding::number);
        flag(self.flushes, FLUSH)
            | flag(self.saturates, SATURATE)
            | flag(self.relu, RELU)
            | flag(self.finite, FINITE)
            | (rounding << ROUNDING)
            | (whole << WHOLE)
    }
}

fn is_integer(scalar: ScalarType) -> bool {
    use ScalarType::{S8, S16, S32, S64, U8, U16, U32, U64};
    matches!(scalar, S8 | S16 | S32 | S64 | U8 | U16 | U32 | U64)
}

pub(super) fn is_signed(scalar: ScalarType) -> bool {
    matches!(scalar, ScalarType::S8 | ScalarType::S16 | ScalarType::S32 | ScalarType::S64)
}

fn is_float(scalar: ScalarType) -> bool {
    matches!(scalar, ScalarType::F16 | ScalarType::Bf16 | ScalarType::F32 | ScalarType::F64)
}

pub(super) fn decode(form: &mut Form<'_>) -> Decoded {
    if form.take("pack") {
        return convert_packed::pack(form);
    }
    let manner = Manner::take(form);
    if form.has_any(&["tf32", "e4m3x2", "e5m2x2", "f16x2", "bf16x2"]) {
        return convert_packed::decode(form, manner);
    }
    let to = form.scalar()?;
    let from = form.scalar()?;
    match (is_integer(to), is_integer(from)) {
        (true, true) => convert_integer::between(form, to, from, manner),
        (true, false) if is_float(from) => convert_integer::from_float(form, to, from, manner),
        (false, true) if is_float(to) => convert_float::from_integer(form, to, from, manner),
        (false, false) if is_float(to) && is_float(from) => convert_float::between(form, to, from, manner),
        _ => form.unsupported(),
    }
}
