//! Emits arithmetic. What is not here is called: the interpreter's own function, with the columns of the frame.
//!
//! Results are those of the interpreter, bit for bit. Machine arithmetic on `f32` differs in the bits of NaN alone,
//! which are made canonical where they can be seen; on `f64`, a result that is NaN is computed again by a call.

use super::emit::{Emitter, Value, bits_of, lanes};
use super::shapes::{Operand, Shape, Step, is_integer, is_signed};
use crate::alu::Arithmetic;
use crate::ptx::ScalarType;
use crate::ptx::op::Op;
use crate::ptx::op::arithmetic::{
    Compare, Convert, Float, FloatVerb, Format, Integer, IntegerVerb, LogicVerb,
};
use crate::ptx::op::words::{Combine, Comparison, Overshift, Part, Rounding};
use crate::registers::{Slot, Width};

/// Returns true for arithmetic on `f32` without modifiers, rounded to the nearest.
pub(super) fn is_plain_single(float: &Float) -> bool {
    float.scalar == ScalarType::F32 && is_plain(float) && has_machine_form(float.verb)
}

fn is_plain(float: &Float) -> bool {
    matches!(float.rounding, None | Some(Rounding::NearestEven))
        && float.accuracy.is_none()
        && float.factors.is_none()
        && !(float.pairs || float.flushes || float.saturates || float.relu)
}

fn has_machine_form(verb: FloatVerb) -> bool {
    use FloatVerb::{Abs, Add, Div, Fma, Mul, Neg, Rcp, Sqrt, Sub};
    matches!(verb, Add | Sub | Mul | Fma | Div | Rcp | Sqrt | Abs | Neg)
}

/// Bits of a configuration that invert operands.
const INVERTS: u32 = u32::MAX << 26;

impl Emitter<'_> {
    pub(super) fn arithmetic(&mut self, pc: u32, arithmetic: &Arithmetic, mask: Option<&str>) {
        let op = self.program.sites()[pc as usize].op;
        let sources: Vec<Slot> = arithmetic.sources().collect();
        let results: Vec<Slot> = arithmetic.results().collect();
        if let Op::Float(float) = &op
            && float.scalar == ScalarType::F64
            && is_plain(float)
            && has_machine_form(float.verb)
        {
            return self.double(pc, arithmetic, float, (&sources, results[0]), mask);
        }
        let value = match results.as_slice() {
            [result] => self.value(&op, arithmetic, &sources, *result),
            _ => None,
        };
        match value {
            Some(value) => self.write(results[0], &value, mask),
            None => self.call(pc, arithmetic, mask),
        }
    }

    /// Emits a call of the interpreter's function.
    fn call(&mut self, pc: u32, arithmetic: &Arithmetic, mask: Option<&str>) {
        self.give_columns(pc, mask);
        let run = arithmetic.run as usize;
        let slots = match &self.program.steps[pc as usize].action {
            super::super::step::Action::Arithmetic(stored) => (&raw const stored.slots).expose_provenance(),
            _ => unreachable!("the step is arithmetic"),
        };
        let mask = mask.unwrap_or("-1");
        self.emit(format!(
            "call void inttoptr (i64 {run} to ptr)(ptr %f, ptr inttoptr (i64 {slots} to ptr), i32 {mask})"
        ));
        self.take_columns(pc);
    }

    /// Emits an instruction with one result; None if it has to be called.
    fn value(&mut self, op: &Op, arithmetic: &Arithmetic, sources: &[Slot], result: Slot) -> Option<Value> {
        let widths = |width: Width| sources.iter().all(|slot| slot.width == width);
        let config = arithmetic.slots.config;
        if config & INVERTS != 0 && !matches!(op, Op::Compare(_)) {
            return None;
        }
        match op {
            Op::Mov(_)
                if sources.len() == 1 && sources[0].width == result.width && result.width != Width::Quad =>
            {
                let is_raw = match self.operand(result.cell) {
                    Operand::Register(number) => self.shapes.raw[number],
                    _ => false,
                };
                Some(if is_raw { self.read_raw(sources[0]) } else { self.read(sources[0]) })
            }
            Op::Integer(integer) => self.integer(integer, sources, result),
            Op::Logic(verb, scalar) => self.logic(*verb, *scalar, sources, result),
            Op::Lop3 { combine: None, .. } if widths(Width::Word) => Some(self.lookup(config, sources)),
            Op::Shf { left, overshift: Overshift::Wrap, .. } if widths(Width::Word) => {
                let direction = if *left { "fshl" } else { "fshr" };
                Some(self.intrinsic_of(direction, 32, &[sources[1], sources[0], sources[2]]))
            }
            Op::Float(float) if is_plain_single(float) => Some(self.single(float, sources, result)),
            Op::Compare(compare) => self.compare(compare, config, sources),
            Op::Selp(scalar) if sources[2].width == Width::Predicate => self.select(*scalar, sources, result),
            Op::Convert(convert) => self.convert(convert, sources[0], result),
            _ => None,
        }
    }

    // Integers.

    fn integer(&mut self, integer: &Integer, sources: &[Slot], result: Slot) -> Option<Value> {
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
                let (Value::Scalar(a), Value::Scalar(b)) = (read(self, 0), read(self, 1)) else {
                    return None;
                };
                self.quotient(verb == IntegerVerb::Div, signed, bits, &a, &b)
            }
            _ => return None,
        })
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

    fn product(&mut self, bits: u32, a: &Value, b: &Value) -> Value {
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

    /// Emits an operation on each lane.
    fn binary(&mut self, name: &str, bits: u32, a: &Value, b: &Value) -> Value {
        let (a, b) = (self.plain(a, bits), self.plain(b, bits));
        self.each(&[&a, &b], bits, |emitter, (kind, _), values| {
            emitter.let_(format!("{name} {kind} {}, {}", values[0], values[1]))
        })
    }

    /// Returns a scalar or a vector.
    fn plain(&mut self, value: &Value, bits: u32) -> Value {
        match value {
            Value::Scalar(_) => value.clone(),
            other => Value::Vector(self.vector(other, bits)),
        }
    }

    /// Emits an operation on scalars if all values are such, else on 32 lanes. The operation is given the type of the
    /// values, the type of twice their width, and the values.
    fn each(
        &mut self,
        values: &[&Value],
        bits: u32,
        emit: impl FnOnce(&mut Self, (&str, &str), &[String]) -> String,
    ) -> Value {
        if values.iter().all(|value| matches!(value, Value::Scalar(_))) {
            let values: Vec<String> = values
                .iter()
                .map(|value| match value {
                    Value::Scalar(scalar) => scalar.clone(),
                    _ => unreachable!("all are scalars"),
                })
                .collect();
            return Value::Scalar(emit(self, (&format!("i{bits}"), &format!("i{}", 2 * bits)), &values));
        }
        let values: Vec<String> = values.iter().map(|value| self.vector(value, bits)).collect();
        Value::Vector(emit(self, (&lanes(bits), &lanes(2 * bits)), &values))
    }

    /// Emits an LLVM intrinsic of integers, whose operands all have one type.
    fn intrinsic_of(&mut self, name: &str, bits: u32, sources: &[Slot]) -> Value {
        let values: Vec<Value> = sources.iter().map(|slot| self.read(*slot)).collect();
        let values: Vec<&Value> = values.iter().collect();
        self.each(&values, bits, |emitter, (kind, _), values| {
            let suffix = if kind.starts_with('<') { format!("v32i{bits}") } else { format!("i{bits}") };
            let kinds = vec![kind; values.len()].join(", ");
            emitter.intrinsic(format!("declare {kind} @llvm.{name}.{suffix}({kinds})"));
            let list: Vec<String> = values.iter().map(|value| format!("{kind} {value}")).collect();
            emitter.let_(format!("call {kind} @llvm.{name}.{suffix}({})", list.join(", ")))
        })
    }

    /// Extends 32 bits to 64. Affine values stay affine; where a lane would overflow, the interpreter goes on.
    fn widen(&mut self, value: &Value, signed: bool) -> Value {
        let extend = if signed { "sext" } else { "zext" };
        match value {
            Value::Scalar(scalar) => match scalar.parse::<i64>() {
                Ok(number) if signed => Value::Scalar(number.to_string()),
                Ok(number) => Value::Scalar((number as u32).to_string()),
                Err(_) => Value::Scalar(self.let_(format!("{extend} i32 {scalar} to i64"))),
            },
            Value::Affine(base, step) => {
                let wide = self.let_(format!("{extend} i32 {base} to i64"));
                let step = match step.parse::<i64>() {
                    Ok(_) => step.clone(),
                    Err(_) => self.let_(format!("sext i32 {step} to i64")),
                };
                let reach = self.let_(format!("mul i64 {step}, 31"));
                let last = self.let_(format!("add i64 {wide}, {reach}"));
                let moved = if signed { self.let_(format!("add i64 {last}, 2147483648")) } else { last };
                let fits = self.let_(format!("icmp ult i64 {moved}, 4294967296"));
                let go = self.label();
                let exit = self.exit(self.pc, super::context::stopped::LEFT);
                self.likely(&fits, &go, &exit);
                self.begin(&go);
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
                let go = self.label();
                let exit = self.exit(self.pc, super::context::stopped::LEFT);
                self.likely(&fits, &go, &exit);
                self.begin(&go);
                grid
            }
            other => {
                let words = self.vector(other, 32);
                Value::Vector(self.let_(format!("{extend} {} {words} to {}", lanes(32), lanes(64))))
            }
        }
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

    // Bits.

    fn logic(
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
                match (&a, &b) {
                    (Value::Affine(base, step), Value::Scalar(other))
                    | (Value::Scalar(other), Value::Affine(base, step))
                        if !self.gives_varying() =>
                    {
                        // The analysis found that the lanes' bits stay as they are, vanish, or form rows.
                        let base = self.let_(format!("{name} i{bits} {base}, {other}"));
                        self.reshaped(base, step)
                    }
                    _ => self.binary(name, bits, &a, &b),
                }
            }
        })
    }

    /// Returns a value whose base was computed from an affine value's, in the shape that the step gives it.
    fn reshaped(&self, base: String, step: &str) -> Value {
        match self.shapes.given(self.pc) {
            Shape::Grid { log, inner: Step::Constant(inner), outer: Step::Constant(outer) } => {
                Value::Grid(log, [base, inner.to_string(), outer.to_string()])
            }
            shape if shape.is_uniform() => Value::Scalar(base),
            _ => Value::Affine(base, step.to_owned()),
        }
    }

    fn gives_varying(&self) -> bool {
        self.shapes.given(self.pc) == Shape::Varying
    }

    fn shift(&mut self, name: &str, bits: u32, a: &Value, by: &Value) -> Value {
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

    fn predicates(&mut self, verb: LogicVerb, sources: &[Slot]) -> Option<Value> {
        let a = self.read(sources[0]);
        let b = match sources.get(1) {
            Some(slot) => self.read(*slot),
            None => Value::Scalar("true".to_owned()),
        };
        let name = match verb {
            LogicVerb::And => "and",
            LogicVerb::Or => "or",
            LogicVerb::Xor | LogicVerb::Not => "xor",
            _ => return None,
        };
        Some(self.combined(name, &a, &b))
    }

    /// Combines two predicates.
    fn combined(&mut self, name: &str, a: &Value, b: &Value) -> Value {
        if let (Value::Scalar(a), Value::Scalar(b)) = (a, b) {
            return Value::Scalar(self.let_(format!("{name} i1 {a}, {b}")));
        }
        let (a, b) = (self.mask(a), self.mask(b));
        Value::Mask(self.let_(format!("{name} i32 {a}, {b}")))
    }

    /// Emits `lop3` as the sum of the terms of its table.
    fn lookup(&mut self, table: u32, sources: &[Slot]) -> Value {
        let values: Vec<Value> = sources.iter().map(|slot| self.read(*slot)).collect();
        let values: Vec<&Value> = values.iter().collect();
        self.each(&values, 32, |emitter, (kind, _), values| {
            let vector = kind.starts_with('<');
            let constant = |number: i32| {
                if vector { format!("splat (i32 {number})") } else { number.to_string() }
            };
            let mut result = constant(0);
            for term in (0..8).filter(|term| table >> term & 1 != 0) {
                let mut product = constant(-1);
                for (bit, value) in [(4, &values[0]), (2, &values[1]), (1, &values[2])] {
                    let factor = if term & bit != 0 {
                        value.clone()
                    } else {
                        emitter.let_(format!("xor {kind} {value}, {}", constant(-1)))
                    };
                    product = emitter.let_(format!("and {kind} {product}, {factor}"));
                }
                result = emitter.let_(format!("or {kind} {result}, {product}"));
            }
            result
        })
    }

    // Floats.

    /// Emits machine arithmetic; NaN have any bits.
    fn machine(&mut self, verb: FloatVerb, bits: u32, values: &[&Value]) -> Value {
        self.each(values, bits, |emitter, (kind, _), values| {
            let scalar = if bits == 32 { "float" } else { "double" };
            let vector = kind.starts_with('<');
            let float = if vector { format!("<32 x {scalar}>") } else { scalar.to_owned() };
            let suffix = format!("{}f{bits}", if vector { "v32" } else { "" });
            let numbers: Vec<String> = values
                .iter()
                .map(|value| emitter.let_(format!("bitcast {kind} {value} to {float}")))
                .collect();
            let call = |emitter: &mut Self, name: &str| {
                let kinds = vec![float.as_str(); numbers.len()].join(", ");
                emitter.intrinsic(format!("declare {float} @llvm.{name}.{suffix}({kinds})"));
                let list: Vec<String> = numbers.iter().map(|number| format!("{float} {number}")).collect();
                emitter.let_(format!("call {float} @llvm.{name}.{suffix}({})", list.join(", ")))
            };
            let one = if vector { format!("splat ({scalar} 1.0)") } else { "1.0".to_owned() };
            let result = match verb {
                FloatVerb::Add => emitter.let_(format!("fadd {float} {}, {}", numbers[0], numbers[1])),
                FloatVerb::Sub => emitter.let_(format!("fsub {float} {}, {}", numbers[0], numbers[1])),
                FloatVerb::Mul => emitter.let_(format!("fmul {float} {}, {}", numbers[0], numbers[1])),
                FloatVerb::Div => emitter.let_(format!("fdiv {float} {}, {}", numbers[0], numbers[1])),
                FloatVerb::Rcp => emitter.let_(format!("fdiv {float} {one}, {}", numbers[0])),
                FloatVerb::Neg => emitter.let_(format!("fneg {float} {}", numbers[0])),
                FloatVerb::Fma => call(emitter, "fma"),
                FloatVerb::Sqrt => call(emitter, "sqrt"),
                _ => call(emitter, "fabs"),
            };
            emitter.let_(format!("bitcast {float} {result} to {kind}"))
        })
    }

    fn single(&mut self, float: &Float, sources: &[Slot], result: Slot) -> Value {
        let values: Vec<Value> = sources.iter().map(|slot| self.read_raw(*slot)).collect();
        let values: Vec<&Value> = values.iter().collect();
        let value = self.machine(float.verb, 32, &values);
        match self.operand(result.cell) {
            Operand::Register(number) if self.shapes.raw[number] => value,
            _ => self.canonical(value),
        }
    }

    /// Emits arithmetic on `f64`. Which NaN results depends on the operands' order, which the interpreter knows.
    fn double(
        &mut self,
        pc: u32,
        arithmetic: &Arithmetic,
        float: &Float,
        (sources, result): (&[Slot], Slot),
        mask: Option<&str>,
    ) {
        let values: Vec<Value> = sources.iter().map(|slot| self.read(*slot)).collect();
        let values: Vec<&Value> = values.iter().collect();
        let value = self.machine(float.verb, 64, &values);
        let (go, again, done) = (self.label(), self.label(), self.label());
        let some = match &value {
            Value::Scalar(bits) => {
                let number = self.let_(format!("bitcast i64 {bits} to double"));
                self.let_(format!("fcmp uno double {number}, {number}"))
            }
            other => {
                let bits = self.vector(other, 64);
                let number = self.let_(format!("bitcast {} {bits} to <32 x double>", lanes(64)));
                let each = self.let_(format!("fcmp uno <32 x double> {number}, {number}"));
                let all = self.let_(format!("bitcast <32 x i1> {each} to i32"));
                self.let_(format!("icmp ne i32 {all}, 0"))
            }
        };
        let none = self.let_(format!("xor i1 {some}, true"));
        self.likely(&none, &go, &again);
        self.begin(&again);
        self.call(pc, arithmetic, mask);
        self.emit(format!("br label %{done}"));
        self.begin(&go);
        self.write(result, &value, mask);
        self.emit(format!("br label %{done}"));
        self.begin(&done);
    }

    // Comparisons and selections.

    fn compare(&mut self, compare: &Compare, config: u32, sources: &[Slot]) -> Option<Value> {
        use ScalarType::{B32, B64, F32, F64, S32, S64, U32, U64};
        if compare.number.is_some() || compare.flushes {
            return None;
        }
        let (is_float, bits) = match compare.scalar {
            B32 | U32 | S32 => (false, 32),
            B64 | U64 | S64 => (false, 64),
            F32 => (true, 32),
            F64 => (true, 64),
            _ => return None,
        };
        if sources[..2].iter().any(|slot| bits_of(slot.width) != bits) {
            return None;
        }
        let signed = is_signed(compare.scalar);
        let test = if is_float { float_test(compare.test) } else { integer_test(compare.test, signed)? };
        // Decoding has exchanged the operands of some comparisons.
        let exchanged = crate::alu::exchanges(compare);
        let (first, second) = if exchanged { (1, 0) } else { (0, 1) };
        let (a, b) = if is_float {
            (self.read_raw(sources[first]), self.read_raw(sources[second]))
        } else {
            (self.read(sources[first]), self.read(sources[second]))
        };
        let value = if is_float {
            let float = if bits == 32 { "float" } else { "double" };
            self.tested(&a, &b, bits, |emitter, kind, [a, b]| {
                let kind_of =
                    if kind.starts_with('<') { format!("<32 x {float}>") } else { float.to_owned() };
                let a = emitter.let_(format!("bitcast {kind} {a} to {kind_of}"));
                let b = emitter.let_(format!("bitcast {kind} {b} to {kind_of}"));
                emitter.let_(format!("fcmp {test} {kind_of} {a}, {b}"))
            })
        } else {
            self.compared(test, bits, &a, &b)
        };
        let Some(combine) = compare.combine else { return Some(value) };
        let mut third = self.read(sources[2]);
        if config & (1 << 30) != 0 {
            third = self.combined("xor", &third, &Value::Scalar("true".to_owned()));
        }
        let name = match combine {
            Combine::And => "and",
            Combine::Or => "or",
            Combine::Xor => "xor",
        };
        Some(self.combined(name, &value, &third))
    }

    fn tested(
        &mut self,
        a: &Value,
        b: &Value,
        bits: u32,
        emit: impl FnOnce(&mut Self, &str, [String; 2]) -> String,
    ) -> Value {
        if let (Value::Scalar(a), Value::Scalar(b)) = (a, b) {
            return Value::Scalar(emit(self, &format!("i{bits}"), [a.clone(), b.clone()]));
        }
        let (a, b) = (self.vector(a, bits), self.vector(b, bits));
        let lanes = emit(self, &lanes(bits), [a, b]);
        Value::Mask(self.let_(format!("bitcast <32 x i1> {lanes} to i32")))
    }

    /// Compares integers. Of affine values, the first and the last lane decide if they agree and nothing overflows
    /// between them: most warps lie on one side of a bound.
    fn compared(&mut self, test: &str, bits: u32, a: &Value, b: &Value) -> Value {
        let is_affine = |value: &Value| matches!(value, Value::Affine(..));
        let is_scalar = |value: &Value| matches!(value, Value::Scalar(_));
        let ordered = !matches!(test, "eq" | "ne");
        let mixed = is_affine(a) && is_scalar(b) || is_scalar(a) && is_affine(b);
        if !(ordered && mixed) {
            return self.tested(a, b, bits, |emitter, kind, [a, b]| {
                emitter.let_(format!("icmp {test} {kind} {a}, {b}"))
            });
        }
        let (Value::Affine(base, step), Value::Scalar(other)) = (if is_affine(a) { (a, b) } else { (b, a) })
        else {
            unreachable!("one is affine and the other uniform")
        };
        let side = |emitter: &mut Self, lane: &str| {
            let (x, y) = if is_affine(a) { (lane, other.as_str()) } else { (other.as_str(), lane) };
            emitter.let_(format!("icmp {test} i{bits} {x}, {y}"))
        };
        let reach = self.let_(format!("mul i{bits} {step}, 31"));
        let last = self.let_(format!("add i{bits} {base}, {reach}"));
        let (first_side, last_side) = (side(self, base), side(self, &last));
        let agree = self.let_(format!("icmp eq i1 {first_side}, {last_side}"));
        // Without an overflow, the lanes' values lie between those of the first and the last: the step is small, and
        // they have the order that its sign says.
        let name = if test.starts_with('s') { "sgt" } else { "ugt" };
        let moved = self.let_(format!("add i{bits} {step}, 1048576"));
        let small = self.let_(format!("icmp ult i{bits} {moved}, 2097152"));
        let down = self.let_(format!("icmp slt i{bits} {step}, 0"));
        let falls = self.let_(format!("icmp {name} i{bits} {base}, {last}"));
        let rises = self.let_(format!("icmp {name} i{bits} {last}, {base}"));
        let still = self.let_(format!("icmp eq i{bits} {step}, 0"));
        let ordered = self.let_(format!("select i1 {down}, i1 {falls}, i1 {rises}"));
        let ordered = self.let_(format!("or i1 {ordered}, {still}"));
        let sure = self.let_(format!("and i1 {agree}, {small}"));
        let sure = self.let_(format!("and i1 {sure}, {ordered}"));
        let (fast, slow, done) = (self.label(), self.label(), self.label());
        self.likely(&sure, &fast, &slow);
        self.begin(&fast);
        let all = self.let_(format!("sext i1 {first_side} to i32"));
        self.emit(format!("br label %{done}"));
        self.begin(&slow);
        let (x, y) = (self.vector(a, bits), self.vector(b, bits));
        let each = self.let_(format!("icmp {test} {} {x}, {y}", lanes(bits)));
        let each = self.let_(format!("bitcast <32 x i1> {each} to i32"));
        self.emit(format!("br label %{done}"));
        self.begin(&done);
        Value::Mask(self.let_(format!("phi i32 [ {all}, %{fast} ], [ {each}, %{slow} ]")))
    }

    fn select(&mut self, scalar: ScalarType, sources: &[Slot], result: Slot) -> Option<Value> {
        let bits = scalar.size()? * 8;
        if !matches!(bits, 32 | 64)
            || [sources[0], sources[1], result].iter().any(|slot| bits_of(slot.width) != bits)
        {
            return None;
        }
        let (a, b, by) = (self.read(sources[0]), self.read(sources[1]), self.read(sources[2]));
        if let (Value::Scalar(a), Value::Scalar(b), Value::Scalar(by)) = (&a, &b, &by) {
            return Some(Value::Scalar(self.let_(format!("select i1 {by}, i{bits} {a}, i{bits} {b}"))));
        }
        let kind = lanes(bits);
        let (a, b) = (self.vector(&a, bits), self.vector(&b, bits));
        let test = match &by {
            Value::Scalar(by) => format!("i1 {by}"),
            other => {
                let mask = self.mask(other);
                format!("<32 x i1> {}", self.lanes_of_mask(&mask))
            }
        };
        Some(Value::Vector(self.let_(format!("select {test}, {kind} {a}, {kind} {b}"))))
    }

    // Conversions.

    fn convert(&mut self, convert: &Convert, source: Slot, result: Slot) -> Option<Value> {
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

    fn between(&mut self, from: ScalarType, to: ScalarType, source: Slot) -> Value {
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

/// Returns true if a value can be given in rows of `1 << log` lanes.
fn has_rows(value: &Value, log: u8) -> bool {
    match value {
        Value::Scalar(_) | Value::Affine(..) => true,
        Value::Grid(own, _) => *own == log,
        Value::Vector(_) | Value::Mask(_) => false,
    }
}

fn float_test(test: Comparison) -> &'static str {
    use Comparison as C;
    match test {
        C::Equal => "oeq",
        C::NotEqual => "one",
        C::Less => "olt",
        C::LessOrEqual => "ole",
        C::Greater => "ogt",
        C::GreaterOrEqual => "oge",
        C::EqualOrNan => "ueq",
        C::NotEqualOrNan => "une",
        C::LessOrNan => "ult",
        C::LessOrEqualOrNan => "ule",
        C::GreaterOrNan => "ugt",
        C::GreaterOrEqualOrNan => "uge",
        C::Number => "ord",
        C::Nan => "uno",
        // Refused when it was decoded.
        C::Lower | C::LowerOrSame | C::Higher | C::HigherOrSame => "false",
    }
}

fn integer_test(test: Comparison, signed: bool) -> Option<&'static str> {
    use Comparison as C;
    Some(match (test, signed) {
        (C::Equal, _) => "eq",
        (C::NotEqual, _) => "ne",
        (C::Less, true) => "slt",
        (C::LessOrEqual, true) => "sle",
        (C::Greater, true) => "sgt",
        (C::GreaterOrEqual, true) => "sge",
        (C::Less | C::Lower, false) => "ult",
        (C::LessOrEqual | C::LowerOrSame, false) => "ule",
        (C::Greater | C::Higher, false) => "ugt",
        (C::GreaterOrEqual | C::HigherOrSame, false) => "uge",
        _ => return None,
    })
}
