//! Emits conversions.

use super::emit::Emitter;
use super::shapes::{is_integer, is_signed};
use super::value::{Value, bits_of, lanes};
use crate::ptx::ScalarType;
use crate::ptx::op::arithmetic::{Convert, Format};
use crate::ptx::op::words::Rounding;
use crate::registers::Slot;
use crate::registers::Width;

impl Emitter<'_> {
    pub(super) fn convert(&mut self, convert: &Convert, source: Slot, result: Slot) -> Option<Value> {
        let (Format::Scalar(to), Format::Scalar(from)) = (convert.to, convert.from) else { return None };
        if convert.saturates || convert.flushes || convert.relu || convert.finite {
            return None;
        }
        let from_size = from.size()? * 8;
        let is_small = |scalar| {
            use ScalarType::{S8, S16, U8, U16};
            matches!(scalar, S8 | S16 | U8 | U16)
        };
        let bits = bits_of(source.width);
        if bits != from_size.max(32) || !matches!(result.width, Width::Word | Width::Double) {
            return None;
        }
        let whole = is_integer(from) || is_small(from);
        if is_integer(to) && whole {
            if bits_of(result.width) != to.size()? * 8 {
                return None;
            }
            return Some(self.between(from, to, source));
        }
        let nearest = convert.rounding == Some(Rounding::NearestEven) && convert.whole.is_none();
        if to == ScalarType::F32 && is_integer(from) && nearest && from_size == 32 {
            let value = self.read(source);
            let name = if is_signed(from) { "sitofp" } else { "uitofp" };
            return Some(self.converted(&value, name, (32, false), (32, true)));
        }
        if to == ScalarType::F64 && is_integer(from) && nearest && from_size == 32 {
            let value = self.read(source);
            let name = if is_signed(from) { "sitofp" } else { "uitofp" };
            return Some(self.converted(&value, name, (32, false), (64, true)));
        }
        None
    }

    pub(super) fn between(&mut self, from: ScalarType, to: ScalarType, source: Slot) -> Value {
        let (narrow, wide) = (from.size().unwrap_or(4) * 8, to.size().unwrap_or(4) * 8);
        let value = self.read(source);
        if narrow < 32 {
            // The lowest bits count, of a register of at least as many.
            let value = self.plain(&value, 32);
            let name = if is_signed(from) { "sext" } else { "zext" };
            return self.each(&[&value], 32, |emitter, (kind, _), values| {
                let vector = kind.starts_with('<');
                let of = |bits: u32| if vector { lanes(bits) } else { format!("i{bits}") };
                let low = emitter.let_(format!("trunc {kind} {} to {}", values[0], of(narrow)));
                emitter.let_(format!("{name} {} {low} to {}", of(narrow), of(wide)))
            });
        }
        match (narrow, wide) {
            (32, 64) => self.widen(&value, is_signed(from)),
            (64, 32) => match &value {
                Value::Affine(base, step) => {
                    let base = self.let_(format!("trunc i64 {base} to i32"));
                    let step = match step.parse::<i64>() {
                        Ok(step) => (step as i32).to_string(),
                        Err(_) => self.let_(format!("trunc i64 {step} to i32")),
                    };
                    Value::Affine(base, step)
                }
                Value::Grid(log, parts) => {
                    let parts = parts.clone().map(|part| match part.parse::<i64>() {
                        Ok(part) => (part as i32).to_string(),
                        Err(_) => self.let_(format!("trunc i64 {part} to i32")),
                    });
                    Value::Grid(*log, parts)
                }
                Value::Scalar(text) => Value::Scalar(match text.parse::<i64>() {
                    Ok(number) => (number as i32).to_string(),
                    Err(_) => self.let_(format!("trunc i64 {text} to i32")),
                }),
                other => {
                    let vector = self.vector(other, 64);
                    Value::Vector(self.let_(format!("trunc {} {vector} to {}", lanes(64), lanes(32))))
                }
            },
            _ => value,
        }
    }

    fn converted(&mut self, value: &Value, name: &str, from: (u32, bool), to: (u32, bool)) -> Value {
        let of = |(bits, float): (u32, bool)| match (bits, float) {
            (32, true) => "float".to_owned(),
            (_, true) => "double".to_owned(),
            (bits, false) => format!("i{bits}"),
        };
        let (source, target, bits) = (of(from), of(to), to.0);
        let value = self.plain(value, from.0);
        self.each(&[&value], from.0, |emitter, (kind, _), values| {
            let vector = kind.starts_with('<');
            let wrap = |text: &str| if vector { format!("<32 x {text}>") } else { text.to_owned() };
            let number = emitter.let_(format!("{name} {} {} to {}", wrap(&source), values[0], wrap(&target)));
            emitter.let_(format!("bitcast {} {number} to {}", wrap(&target), wrap(&format!("i{bits}"))))
        })
    }
}
