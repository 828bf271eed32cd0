//! Emits special registers, once per function.

use super::super::special::Special;
use super::context::at;
use super::emit::Emitter;
use super::shape::lane_mask;
use super::value::{Value, constant_lanes, lanes};

impl Emitter<'_> {
    /// Returns a special register in this many bits.
    pub(super) fn special(&mut self, special: Special, size: u8, bits: u32) -> Value {
        let known =
            self.specials.iter().find(|(key, _)| *key == (special, size)).map(|(_, value)| value.clone());
        let value = known.unwrap_or_else(|| {
            let value = self.in_prologue(|emitter| {
                let value = emitter.special_word(special);
                if size < 4 { emitter.cut(value, size) } else { value }
            });
            self.specials.push(((special, size), value.clone()));
            value
        });
        if bits != 64 {
            return value;
        }
        // None of them has the highest bit set.
        match value {
            Value::Scalar(word) => Value::Scalar(self.let_(format!("zext i32 {word} to i64"))),
            Value::Affine(base, step) => Value::Affine(self.let_(format!("zext i32 {base} to i64")), step),
            Value::Grid(log, [base, inner, outer]) => {
                Value::Grid(log, [self.let_(format!("zext i32 {base} to i64")), inner, outer])
            }
            other => {
                let words = self.vector(&other, 32);
                Value::Vector(self.let_(format!("zext {} {words} to {}", lanes(32), lanes(64))))
            }
        }
    }

    pub(super) fn cut(&mut self, value: Value, size: u8) -> Value {
        let most = (1_u32 << (8 * u32::from(size))) - 1;
        match value {
            Value::Scalar(word) => Value::Scalar(self.let_(format!("and i32 {word}, {most}"))),
            // Coordinates of threads are below 1024, and lanes below 32.
            Value::Affine(..) | Value::Grid(..) if size == 2 => value,
            other => {
                let words = self.vector(&other, 32);
                Value::Vector(self.let_(format!("and {} {words}, splat (i32 {most})", lanes(32))))
            }
        }
    }

    fn special_word(&mut self, special: Special) -> Value {
        let [x, y, z] = self.columns.block;
        let warp = |emitter: &mut Self| emitter.field("i32", at::WARP);
        let scaled = |emitter: &mut Self| {
            let warp = warp(emitter);
            emitter.let_(format!("shl i32 {warp}, 5"))
        };
        match special {
            Special::Thread(0) if x.is_multiple_of(32) => {
                let first = scaled(self);
                let base = if y * z == 1 { first } else { self.let_(format!("urem i32 {first}, {x}")) };
                Value::Affine(base, "1".to_owned())
            }
            Special::Thread(1) if x.is_multiple_of(32) => {
                let first = scaled(self);
                let row = self.let_(format!("udiv i32 {first}, {x}"));
                Value::Scalar(self.let_(format!("urem i32 {row}, {y}")))
            }
            Special::Thread(2) if (x * y).is_multiple_of(32) => {
                let first = scaled(self);
                Value::Scalar(self.let_(format!("udiv i32 {first}, {}", x * y)))
            }
            Special::Thread(0) if matches!(x, 2 | 4 | 8 | 16) => {
                Value::Grid(x.trailing_zeros() as u8, ["0", "1", "0"].map(str::to_owned))
            }
            Special::Thread(1) if matches!(x, 2 | 4 | 8 | 16) && z == 1 => {
                let warp = warp(self);
                let first = self.let_(format!("mul i32 {warp}, {}", 32 / x));
                Value::Grid(x.trailing_zeros() as u8, [first, "0".to_owned(), "1".to_owned()])
            }
            Special::Thread(axis) => {
                let table = self.field("ptr", at::THREADS);
                let warp = warp(self);
                let warp = self.let_(format!("zext i32 {warp} to i64"));
                let offset = self.let_(format!("mul i64 {warp}, {}", 3 * 128));
                let row = self.let_(format!("getelementptr i8, ptr {table}, i64 {offset}"));
                let row = self.let_(format!("getelementptr i8, ptr {row}, i64 {}", 128 * u32::from(axis)));
                Value::Vector(self.let_(format!("load {}, ptr {row}, align 4", lanes(32))))
            }
            Special::Lane => Value::Affine("0".to_owned(), "1".to_owned()),
            Special::LaneMask(mask) => {
                let masks = lane_mask(mask);
                Value::Vector(constant_lanes(32, |lane| masks[lane as usize]))
            }
            Special::Block(axis) => Value::Scalar(self.field("i32", at::BLOCK + 4 * usize::from(axis))),
            Special::Multiprocessor => Value::Scalar(self.field("i32", at::MULTIPROCESSOR)),
            _ => Value::Scalar(warp(self)),
        }
    }
}
