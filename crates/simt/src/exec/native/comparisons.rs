//! Emits comparisons, selections and logic on predicates.

use super::emit::Emitter;
use super::shapes::is_signed;
use super::value::{Value, bits_of, lanes};
use crate::ptx::ScalarType;
use crate::ptx::op::arithmetic::{Compare, LogicVerb};
use crate::ptx::op::words::{Combine, Comparison};
use crate::registers::Slot;

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

impl Emitter<'_> {
    pub(super) fn predicates(&mut self, verb: LogicVerb, sources: &[Slot]) -> Option<Value> {
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
    pub(super) fn combined(&mut self, name: &str, a: &Value, b: &Value) -> Value {
        if let (Value::Scalar(a), Value::Scalar(b)) = (a, b) {
            return Value::Scalar(self.let_(format!("{name} i1 {a}, {b}")));
        }
        let (a, b) = (self.mask(a), self.mask(b));
        Value::Mask(self.let_(format!("{name} i32 {a}, {b}")))
    }

    pub(super) fn compare(&mut self, compare: &Compare, config: u32, sources: &[Slot]) -> Option<Value> {
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

    pub(super) fn select(&mut self, scalar: ScalarType, sources: &[Slot], result: Slot) -> Option<Value> {
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
}
