//! Converts values to other forms: lanes, masks, rows.

use super::emit::Emitter;
use super::value::{Value, constant_lanes, lanes, literal};

impl Emitter<'_> {
    /// Returns 32 lanes of a value of this many bits.
    pub(super) fn vector(&mut self, value: &Value, bits: u32) -> String {
        match value {
            Value::Vector(vector) => vector.clone(),
            Value::Scalar(scalar) => self.splat(scalar, bits),
            Value::Affine(base, step) => {
                let (base, step) = (self.splat(base, bits), self.splat(step, bits));
                let numbers = constant_lanes(bits, |lane| lane);
                let product = self.let_(format!("mul {} {step}, {numbers}", lanes(bits)));
                self.let_(format!("add {} {base}, {product}", lanes(bits)))
            }
            Value::Grid(log, [base, inner, outer]) => {
                let kind = lanes(bits);
                let mut sum = self.splat(base, bits);
                let width = 1 << log;
                let parts = [
                    (inner, constant_lanes(bits, |lane| lane % width)),
                    (outer, constant_lanes(bits, |lane| lane / width)),
                ];
                for (step, numbers) in parts.into_iter().filter(|(step, _)| *step != "0") {
                    let step = self.splat(step, bits);
                    let product = self.let_(format!("mul {kind} {step}, {numbers}"));
                    sum = self.let_(format!("add {kind} {sum}, {product}"));
                }
                sum
            }
            Value::Mask(mask) => mask.clone(),
        }
    }

    pub(super) fn splat(&mut self, scalar: &str, bits: u32) -> String {
        if !scalar.starts_with('%') {
            return format!("splat (i{bits} {scalar})");
        }
        let kind = lanes(bits);
        let first = self.let_(format!("insertelement {kind} poison, i{bits} {scalar}, i32 0"));
        self.let_(format!("shufflevector {kind} {first}, {kind} poison, <32 x i32> zeroinitializer"))
    }

    /// Returns a predicate as 32 bits.
    pub(super) fn mask(&mut self, value: &Value) -> String {
        match value {
            Value::Mask(mask) => mask.clone(),
            Value::Scalar(scalar) => self.let_(format!("sext i1 {scalar} to i32")),
            Value::Vector(vector) => self.let_(format!("bitcast <32 x i1> {vector} to i32")),
            Value::Affine(..) | Value::Grid(..) => unreachable!("predicates are uniform or varying"),
        }
    }

    /// Returns a predicate as 32 lanes.
    pub(super) fn lanes_of_mask(&mut self, mask: &str) -> String {
        self.let_(format!("bitcast i32 {mask} to <32 x i1>"))
    }

    /// Replaces NaN of `f32`.
    pub(super) fn canonical(&mut self, value: Value) -> Value {
        let (kind, float, test, text, nan) = match &value {
            Value::Scalar(text) => ("i32".to_owned(), "float", "i1", text.clone(), "2147483647".to_owned()),
            other => {
                let text = self.vector(other, 32);
                (lanes(32), "<32 x float>", "<32 x i1>", text, "splat (i32 2147483647)".to_owned())
            }
        };
        let number = self.let_(format!("bitcast {kind} {text} to {float}"));
        let is_nan = self.let_(format!("fcmp uno {float} {number}, {number}"));
        let result = self.let_(format!("select {test} {is_nan}, {kind} {nan}, {kind} {text}"));
        match value {
            Value::Scalar(_) => Value::Scalar(result),
            _ => Value::Vector(result),
        }
    }

    /// Returns the base and the steps of a value in rows of `1 << log` lanes.
    pub(super) fn in_rows(&mut self, value: &Value, log: u8, bits: u32) -> [String; 3] {
        match value {
            Value::Scalar(base) => [base.clone(), "0".to_owned(), "0".to_owned()],
            Value::Affine(base, step) => {
                let outer = match step.parse::<i64>() {
                    Ok(step) => literal(bits, step.wrapping_shl(u32::from(log)) as u64),
                    Err(_) => self.let_(format!("shl i{bits} {step}, {log}")),
                };
                [base.clone(), step.clone(), outer]
            }
            Value::Grid(_, parts) => parts.clone(),
            Value::Vector(_) | Value::Mask(_) => unreachable!("the analysis found rows"),
        }
    }
}
