//! Emits integer arithmetic, logic and shifts, which keep affine values affine where they can.

use super::context::stopped;
use super::emit::Emitter;
use super::shape::{Shape, Step};
use super::shapes::{is_integer, is_signed, power_of_two};
use super::value::{Value, bits_of, lanes, literal};
use crate::ptx::ScalarType;
use crate::ptx::op::arithmetic::{Integer, IntegerVerb, LogicVerb};
use crate::ptx::op::words::Part;
use crate::registers::Slot;

/// Bits of a configuration that invert operands.
pub(super) const INVERTS: u32 = u32::MAX << 26;

/// Returns true if a value can be given in rows of `1 << log` lanes.
fn has_rows(value: &Value, log: u8) -> bool {
    match value {
        Value::Scalar(_) | Value::Affine(..) => true,
        Value::Grid(own, _) => *own == log,
        Value::Vector(_) | Value::Mask(_) => false,
    }
}

impl Emitter<'_> {
    pub(super) fn integer(&mut self, integer: &Integer, sources: &[Slot], result: Slot) -> Option<Value> {
        let Integer { verb, scalar, packed, part, saturates, relu, carry_in, carry_out } = *integer;
        if packed || saturates || relu || carry_in || carry_out || !is_integer(scalar) {
            return None;
        }
        let bits = scalar.size()? * 8;
        let signed = is_signed(scalar);
        let fits = |slot: &Slot| bits_of(slot.width) == bits;
        if !sources[..sources.len().min(2)].iter().all(fits) {
            return None;
        }
        let wide = part == Some(Part::Wide);
        let own = if wide { 2 * bits } else { bits };
        if bits_of(result.width) != own || own > 64 {
            return None;
        }
        let read = |emitter: &mut Self, index: usize| emitter.read(sources[index]);
        Some(match (verb, part) {
            (IntegerVerb::Add | IntegerVerb::Sub, _) => {
                let (a, b) = (read(self, 0), read(self, 1));
                self.sum(if verb == IntegerVerb::Add { "add" } else { "sub" }, bits, &a, &b)
            }
            (IntegerVerb::Mul | IntegerVerb::Mad, Some(Part::Low | Part::Wide)) => {
                let (mut a, mut b) = (read(self, 0), read(self, 1));
                if wide {
                    (a, b) = (self.widen(&a, signed), self.widen(&b, signed));
                }
                let product = self.product(own, &a, &b);
                if verb == IntegerVerb::Mul {
                    return Some(product);
                }
                if bits_of(sources[2].width) != own {
                    return None;
                }
                let c = read(self, 2);
                self.sum("add", own, &product, &c)
            }
            (IntegerVerb::Mul, Some(Part::High)) if bits == 32 => {
                let (a, b) = (read(self, 0), read(self, 1));
                let (a, b) = (self.plain(&a, 32), self.plain(&b, 32));
                let extend = if signed { "sext" } else { "zext" };
                self.each(&[&a, &b], 32, |emitter, kinds, values| {
                    let (narrow, wide) = kinds;
                    let a = emitter.let_(format!("{extend} {narrow} {} to {wide}", values[0]));
                    let b = emitter.let_(format!("{extend} {narrow} {} to {wide}", values[1]));
                    let product = emitter.let_(format!("mul {wide} {a}, {b}"));
                    let by = if wide.starts_with('<') { "splat (i64 32)" } else { "32" };
                    let high = emitter.let_(format!("lshr {wide} {product}, {by}"));
                    emitter.let_(format!("trunc {wide} {high} to {narrow}"))
                })
            }
            (IntegerVerb::Min | IntegerVerb::Max, _) => {
                let name = match (verb, signed) {
                    (IntegerVerb::Min, true) => "smin",
                    (IntegerVerb::Min, false) => "umin",
                    (_, true) => "smax",
                    (_, false) => "umax",
                };
                self.intrinsic_of(name, bits, sources)
            }
            (IntegerVerb::Neg, _) => {
                let a = read(self, 0);
                self.sum("sub", bits, &Value::Scalar("0".to_owned()), &a)
            }
            (IntegerVerb::Div | IntegerVerb::Rem, _) => {
                let divides = verb == IntegerVerb::Div;
                let (a, b) = (read(self, 0), read(self, 1));
                match (&a, &b) {
                    (Value::Scalar(a), Value::Scalar(b)) => self.quotient(divides, signed, bits, a, b),
                    (a, _)
                        if let Some(by) = power_of_two(scalar, self.source(sources[1].cell).constant()) =>
                    {
                        match divides {
                            true => self.shift("lshr", bits, a, &Value::Scalar(by.to_string())),
                            false => {
                                let mask = Value::Scalar(literal(bits, (1 << by) - 1));
                                self.bits("and", bits, a, &mask)
                            }
                        }
                    }
                    _ if bits == 32 => self.quotients(divides, signed, &a, &b),
                    _ => return None,
                }
            }
            _ => return None,
        })
    }

    /// Emits a division of lanes of 32 bits, which is exact in `f64`: a quotient that is no integer is farther from the
    /// next one than `f64` rounds. Division by zero gives all ones, and the least number over -1 itself.
    fn quotients(&mut self, divides: bool, signed: bool, a: &Value, b: &Value) -> Value {
        let (words, doubles) = (lanes(32), "<32 x double>");
        let (a, b) = (self.vector(a, 32), self.vector(b, 32));
        let by_zero = self.let_(format!("icmp eq {words} {b}, zeroinitializer"));
        let divisor = self.let_(format!("select <32 x i1> {by_zero}, {words} splat (i32 1), {words} {b}"));
        let extend = if signed { "sitofp" } else { "uitofp" };
        let [over, under] =
            [&a, &divisor].map(|part| self.let_(format!("{extend} {words} {part} to {doubles}")));
        let ratio = self.let_(format!("fdiv {doubles} {over}, {under}"));
        self.intrinsic(format!("declare {doubles} @llvm.trunc.v32f64({doubles})"));
        let whole = self.let_(format!("call {doubles} @llvm.trunc.v32f64({doubles} {ratio})"));
        // 1.5 * 2^52 moves whole numbers to the lowest bits, negative ones too.
        let moved = self.let_(format!("fadd {doubles} {whole}, splat (double 6755399441055744.0)"));
        let moved = self.let_(format!("bitcast {doubles} {moved} to {}", lanes(64)));
        let mut result = self.let_(format!("trunc {} {moved} to {words}", lanes(64)));
        if !divides {
            let product = self.let_(format!("mul {words} {result}, {divisor}"));
            result = self.let_(format!("sub {words} {a}, {product}"));
        }
        Value::Vector(
            self.let_(format!("select <32 x i1> {by_zero}, {words} splat (i32 -1), {words} {result}")),
        )
    }

    /// Emits a division of scalars: by zero gives all ones, and the least number over -1 itself.
    fn quotient(&mut self, divides: bool, signed: bool, bits: u32, a: &str, b: &str) -> Value {
        let least = if bits == 32 { i64::from(i32::MIN) } else { i64::MIN };
        let by_zero = self.let_(format!("icmp eq i{bits} {b}, 0"));
        let mut safe = by_zero.clone();
        let mut overflows = None;
        if signed {
            let is_least = self.let_(format!("icmp eq i{bits} {a}, {least}"));
            let is_minus = self.let_(format!("icmp eq i{bits} {b}, -1"));
            let both = self.let_(format!("and i1 {is_least}, {is_minus}"));
            safe = self.let_(format!("or i1 {by_zero}, {both}"));
            overflows = Some(both);
        }
        let divisor = self.let_(format!("select i1 {safe}, i{bits} 1, i{bits} {b}"));
        let name = match (divides, signed) {
            (true, true) => "sdiv",
            (true, false) => "udiv",
            (false, true) => "srem",
            (false, false) => "urem",
        };
        let mut result = self.let_(format!("{name} i{bits} {a}, {divisor}"));
        if let Some(overflows) = overflows {
            let known = if divides { least } else { 0 };
            result = self.let_(format!("select i1 {overflows}, i{bits} {known}, i{bits} {result}"));
        }
        Value::Scalar(self.let_(format!("select i1 {by_zero}, i{bits} -1, i{bits} {result}")))
    }

    /// Emits `add` or `sub`.
    pub(super) fn sum(&mut self, name: &str, bits: u32, a: &Value, b: &Value) -> Value {
        use Value::{Affine, Scalar};
        match (a, b) {
            (Scalar(a), Scalar(b)) => Scalar(self.let_(format!("{name} i{bits} {a}, {b}"))),
            (Affine(a, step), Scalar(b)) => {
                Affine(self.let_(format!("{name} i{bits} {a}, {b}")), step.clone())
            }
            (Scalar(a), Affine(b, step)) => {
                let base = self.let_(format!("{name} i{bits} {a}, {b}"));
                let step =
                    if name == "add" { step.clone() } else { self.let_(format!("sub i{bits} 0, {step}")) };
                Affine(base, step)
            }
            (Affine(a, x), Affine(b, y)) => {
                let base = self.let_(format!("{name} i{bits} {a}, {b}"));
                Affine(base, self.let_(format!("{name} i{bits} {x}, {y}")))
            }
            (Value::Grid(log, _), other) | (other, Value::Grid(log, _)) if has_rows(other, *log) => {
                let (a, b) = (self.in_rows(a, *log, bits), self.in_rows(b, *log, bits));
                let parts = [0, 1, 2].map(|part| match (name, a[part].as_str(), b[part].as_str()) {
                    (_, _, "0") => a[part].clone(),
                    ("add", "0", _) => b[part].clone(),
                    _ => self.let_(format!("{name} i{bits} {}, {}", a[part], b[part])),
                });
                Value::Grid(*log, parts)
            }
            _ => self.binary(name, bits, a, b),
        }
    }

    pub(super) fn product(&mut self, bits: u32, a: &Value, b: &Value) -> Value {
        use Value::{Affine, Scalar};
        match (a, b) {
            (Scalar(a), Scalar(b)) => Scalar(self.let_(format!("mul i{bits} {a}, {b}"))),
            (Affine(a, step), Scalar(b)) | (Scalar(b), Affine(a, step)) => {
                let base = self.let_(format!("mul i{bits} {a}, {b}"));
                Affine(base, self.let_(format!("mul i{bits} {step}, {b}")))
            }
            (Value::Grid(log, parts), Scalar(factor)) | (Scalar(factor), Value::Grid(log, parts)) => {
                let parts = parts.clone().map(|part| match part.as_str() {
                    "0" => part,
                    _ => self.let_(format!("mul i{bits} {part}, {factor}")),
                });
                Value::Grid(*log, parts)
            }
            _ => self.binary("mul", bits, a, b),
        }
    }

    /// Extends 32 bits to 64. Affine values stay affine; where a lane would overflow, the interpreter goes on.
    pub(super) fn widen(&mut self, value: &Value, signed: bool) -> Value {
        let extend = if signed { "sext" } else { "zext" };
        match value {
            Value::Scalar(scalar) => match scalar.parse::<i64>() {
                Ok(number) if signed => Value::Scalar(number.to_string()),
                Ok(number) => Value::Scalar((number as u32).to_string()),
                Err(_) => Value::Scalar(self.let_(format!("{extend} i32 {scalar} to i64"))),
            },
            Value::Affine(base, step) => {
                let wide_step = match step.parse::<i64>() {
                    Ok(_) => step.clone(),
                    Err(_) => self.let_(format!("sext i32 {step} to i64")),
                };
                // What lanes outside of the mask would have does not matter.
                let (lanes, base) = match self.active.clone() {
                    None => ("31".to_owned(), base.clone()),
                    Some(mask) => {
                        let (first, last) = (self.first_lane(&mask), self.last_lane(&mask));
                        let before = self.let_(format!("mul i32 {step}, {first}"));
                        let lanes = self.let_(format!("sub i32 {last}, {first}"));
                        let lanes = self.let_(format!("zext i32 {lanes} to i64"));
                        (lanes, self.let_(format!("add i32 {base}, {before}")))
                    }
                };
                let step = wide_step;
                let mut wide = self.let_(format!("{extend} i32 {base} to i64"));
                let reach = self.let_(format!("mul i64 {step}, {lanes}"));
                let last = self.let_(format!("add i64 {wide}, {reach}"));
                let moved = if signed { self.let_(format!("add i64 {last}, 2147483648")) } else { last };
                let fits = self.let_(format!("icmp ult i64 {moved}, 4294967296"));
                self.go_on_if(&fits);
                if let Some(mask) = self.active.clone() {
                    let first = self.first_lane(&mask);
                    let first = self.let_(format!("zext i32 {first} to i64"));
                    let before = self.let_(format!("mul i64 {step}, {first}"));
                    wide = self.let_(format!("sub i64 {wide}, {before}"));
                }
                Value::Affine(wide, step)
            }
            Value::Grid(log, [base, inner, outer]) => {
                let wide = self.let_(format!("{extend} i32 {base} to i64"));
                let [inner, outer] = [inner, outer].map(|step| match step.parse::<i64>() {
                    Ok(_) => step.clone(),
                    Err(_) => self.let_(format!("sext i32 {step} to i64")),
                });
                let grid = Value::Grid(*log, [wide, inner, outer]);
                let (low, high) = self.extremes(&grid);
                let offset = if signed { 2_147_483_648_i64 } else { 0 };
                let mut fits = Vec::new();
                for end in [low, high] {
                    let moved = self.let_(format!("add i64 {end}, {offset}"));
                    fits.push(self.let_(format!("icmp ult i64 {moved}, 4294967296")));
                }
                let fits = self.let_(format!("and i1 {}, {}", fits[0], fits[1]));
                self.go_on_if(&fits);
                grid
            }
            other => {
                let words = self.vector(other, 32);
                Value::Vector(self.let_(format!("{extend} {} {words} to {}", lanes(32), lanes(64))))
            }
        }
    }

    /// Emits a branch to the interpreter, which executes the step where a condition is false.
    fn go_on_if(&mut self, condition: &str) {
        let go = self.label();
        match self.active.clone() {
            None => {
                let exit = self.exit(self.pc, stopped::LEFT);
                self.likely(condition, &go, &exit);
            }
            Some(mask) => {
                let leave = self.label();
                self.likely(condition, &go, &leave);
                self.begin(&leave);
                self.leave_apart(self.pc, &mask, stopped::APART);
            }
        }
        self.begin(&go);
    }

    /// Returns the lowest and the highest of 64-bit lanes in rows, whose sums do not overflow.
    pub(super) fn extremes(&mut self, grid: &Value) -> (String, String) {
        let Value::Grid(log, [base, inner, outer]) = grid else { unreachable!("the value has rows") };
        let (mut low, mut high) = (base.clone(), base.clone());
        for (step, times) in [(inner, (1_i64 << log) - 1), (outer, (32 >> log) - 1)] {
            match step.parse::<i64>() {
                Ok(0) => {}
                Ok(step) => {
                    let end = if step > 0 { &mut high } else { &mut low };
                    *end = self.let_(format!("add i64 {end}, {}", step * times));
                }
                Err(_) => {
                    let reach = self.let_(format!("mul i64 {step}, {times}"));
                    let down = self.let_(format!("icmp slt i64 {reach}, 0"));
                    let below = self.let_(format!("select i1 {down}, i64 {reach}, i64 0"));
                    let above = self.let_(format!("select i1 {down}, i64 0, i64 {reach}"));
                    low = self.let_(format!("add i64 {low}, {below}"));
                    high = self.let_(format!("add i64 {high}, {above}"));
                }
            }
        }
        (low, high)
    }

    pub(super) fn logic(
        &mut self,
        verb: LogicVerb,
        scalar: ScalarType,
        sources: &[Slot],
        result: Slot,
    ) -> Option<Value> {
        if scalar == ScalarType::Pred {
            return self.predicates(verb, sources);
        }
        let bits = scalar.size()? * 8;
        if !matches!(bits, 32 | 64) || bits_of(sources[0].width) != bits || bits_of(result.width) != bits {
            return None;
        }
        let a = self.read(sources[0]);
        Some(match verb {
            LogicVerb::Not => self.binary("xor", bits, &a, &Value::Scalar("-1".to_owned())),
            LogicVerb::Cnot => return None,
            LogicVerb::Shl | LogicVerb::Shr => {
                let by = self.read(sources[1]);
                let name = match (verb, is_signed(scalar)) {
                    (LogicVerb::Shl, _) => "shl",
                    (_, true) => "ashr",
                    (_, false) => "lshr",
                };
                self.shift(name, bits, &a, &by)
            }
            LogicVerb::And | LogicVerb::Or | LogicVerb::Xor => {
                let name = match verb {
                    LogicVerb::And => "and",
                    LogicVerb::Or => "or",
                    _ => "xor",
                };
                let b = self.read(sources[1]);
                self.bits(name, bits, &a, &b)
            }
        })
    }

    /// Emits `and`, `or` or `xor`.
    fn bits(&mut self, name: &str, bits: u32, a: &Value, b: &Value) -> Value {
        match (a, b) {
            (Value::Affine(base, step), Value::Scalar(other))
            | (Value::Scalar(other), Value::Affine(base, step))
                if !self.gives_varying() =>
            {
                // The analysis found that the lanes' bits stay as they are, vanish, or form rows.
                let base = self.let_(format!("{name} i{bits} {base}, {other}"));
                self.reshaped(base, step)
            }
            _ => self.binary(name, bits, a, b),
        }
    }

    /// Returns a value whose base was computed from an affine value's, in the shape that the step gives it.
    fn reshaped(&self, base: String, step: &str) -> Value {
        match self.shapes.given(self.pc) {
            Shape::Grid { log, inner: Step::Constant(inner), outer: Step::Constant(outer), .. } => {
                Value::Grid(log, [base, inner.to_string(), outer.to_string()])
            }
            shape if shape.is_uniform() => Value::Scalar(base),
            _ => Value::Affine(base, step.to_owned()),
        }
    }

    fn gives_varying(&self) -> bool {
        self.shapes.given(self.pc) == Shape::Varying
    }

    pub(super) fn shift(&mut self, name: &str, bits: u32, a: &Value, by: &Value) -> Value {
        if let Value::Scalar(amount) = by
            && let Ok(amount) = amount.parse::<u32>()
        {
            let over = amount >= bits;
            let amount = amount.min(bits - 1);
            if let Value::Affine(base, step) = a
                && !self.gives_varying()
                && !over
            {
                let base = self.let_(format!("{name} i{bits} {base}, {amount}"));
                let step = self.let_(format!("{name} i{bits} {step}, {amount}"));
                return self.reshaped(base, &step);
            }
            if let Value::Grid(log, parts) = a
                && name == "shl"
                && !over
            {
                let parts = parts.clone().map(|part| match part.as_str() {
                    "0" => part,
                    _ => self.let_(format!("shl i{bits} {part}, {amount}")),
                });
                return Value::Grid(*log, parts);
            }
            if over && name != "ashr" {
                return Value::Scalar("0".to_owned());
            }
            return self.binary(name, bits, a, &Value::Scalar(amount.to_string()));
        }
        if let (Value::Affine(base, step), Value::Scalar(amount)) = (a, by)
            && name == "shl"
        {
            let shifted = |emitter: &mut Self, text: &str| match emitter.shift_plain(
                "shl",
                bits,
                &Value::Scalar(text.to_owned()),
                &Value::Scalar(amount.clone()),
            ) {
                Value::Scalar(text) => text,
                _ => unreachable!("of scalars"),
            };
            return Value::Affine(shifted(self, base), shifted(self, step));
        }
        self.shift_plain(name, bits, a, by)
    }

    /// Emits a shift by an amount that may be the width or more.
    fn shift_plain(&mut self, name: &str, bits: u32, a: &Value, by: &Value) -> Value {
        let (a, by) = (self.plain(a, bits), self.plain(by, 32));
        let scalars = matches!((&a, &by), (Value::Scalar(_), Value::Scalar(_)));
        let (kind, narrow, test, a, by) = if scalars {
            let (Value::Scalar(a), Value::Scalar(by)) = (a, by) else { unreachable!("both are scalars") };
            (format!("i{bits}"), "i32".to_owned(), "i1", a, by)
        } else {
            (lanes(bits), lanes(32), "<32 x i1>", self.vector(&a, bits), self.vector(&by, 32))
        };
        let constant = |number: u32, bits: u32| {
            if scalars { number.to_string() } else { format!("splat (i{bits} {number})") }
        };
        let fits = self.let_(format!("icmp ult {narrow} {by}, {}", constant(bits, 32)));
        let amount = self.let_(format!(
            "select {test} {fits}, {narrow} {by}, {narrow} {}",
            constant(if name == "ashr" { bits - 1 } else { 0 }, 32)
        ));
        let amount = if bits == 64 { self.let_(format!("zext {narrow} {amount} to {kind}")) } else { amount };
        let mut result = self.let_(format!("{name} {kind} {a}, {amount}"));
        if name != "ashr" {
            result =
                self.let_(format!("select {test} {fits}, {kind} {result}, {kind} {}", constant(0, bits)));
        }
        if scalars { Value::Scalar(result) } else { Value::Vector(result) }
    }
}
