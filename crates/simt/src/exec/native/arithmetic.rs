//! Emits arithmetic. What is not here is called: the interpreter's own function, with the columns of the frame.
//!
//! Results are those of the interpreter, bit for bit. Machine arithmetic on `f32` differs in the bits of NaN alone,
//! which are made canonical where they can be seen; on `f64`, a result that is NaN is computed again by a call.

use super::columns::Operand;
use super::context::at;
use super::emit::Emitter;
use super::homes::{has_machine_form, is_plain, is_plain_single};
use super::integers::INVERTS;
use super::value::{Value, lanes};
use crate::alu::Arithmetic;
use crate::ptx::ScalarType;
use crate::ptx::op::Op;
use crate::ptx::op::arithmetic::FieldVerb;
use crate::ptx::op::words::Overshift;
use crate::registers::{Slot, Width};

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
    pub(super) fn call(&mut self, pc: u32, arithmetic: &Arithmetic, mask: Option<&str>) {
        self.give_columns(pc, mask);
        let slots = match &self.program.steps[pc as usize].action {
            super::super::step::Action::Arithmetic(stored) => (&raw const stored.slots).expose_provenance(),
            _ => unreachable!("the step is arithmetic"),
        };
        // By a table: text with addresses would differ from process to process.
        let call = self.let_(format!("getelementptr i8, ptr %c, i64 {}", at::CALLS));
        let calls = self.let_(format!("load ptr, ptr {call}"));
        let place = self.calls.len() * size_of::<[usize; 2]>();
        self.calls.push([arithmetic.run as usize, slots]);
        let [run, slots] = [place, place + size_of::<usize>()].map(|place| {
            let place = self.let_(format!("getelementptr i8, ptr {calls}, i64 {place}"));
            self.let_(format!("load ptr, ptr {place}"))
        });
        let lanes = mask.unwrap_or("-1");
        self.emit(format!("call void {run}(ptr %f, ptr {slots}, i32 {lanes})"));
        self.take_columns(pc, mask);
    }

    /// Emits an instruction with one result; None if it has to be called.
    pub(super) fn value(
        &mut self,
        op: &Op,
        arithmetic: &Arithmetic,
        sources: &[Slot],
        result: Slot,
    ) -> Option<Value> {
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
            Op::Field { verb, scalar: ScalarType::B32 | ScalarType::U32, .. } if widths(Width::Word) => {
                self.field_of_bits(*verb, sources)
            }
            Op::Float(float) if is_plain_single(float) => Some(self.single(float, sources, result)),
            Op::Compare(compare) => self.compare(compare, config, sources),
            Op::Selp(scalar) if sources[2].width == Width::Predicate => self.select(*scalar, sources, result),
            Op::Convert(convert) => self.convert(convert, sources[0], result),
            _ => None,
        }
    }

    // Integers.

    /// Emits an operation on each lane.
    pub(super) fn binary(&mut self, name: &str, bits: u32, a: &Value, b: &Value) -> Value {
        let (a, b) = (self.plain(a, bits), self.plain(b, bits));
        self.each(&[&a, &b], bits, |emitter, (kind, _), values| {
            emitter.let_(format!("{name} {kind} {}, {}", values[0], values[1]))
        })
    }

    /// Returns a scalar or a vector.
    pub(super) fn plain(&mut self, value: &Value, bits: u32) -> Value {
        match value {
            Value::Scalar(_) => value.clone(),
            other => Value::Vector(self.vector(other, bits)),
        }
    }

    /// Emits an operation on scalars if all values are such, else on 32 lanes. The operation is given the type of the
    /// values, the type of twice their width, and the values.
    pub(super) fn each(
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
    pub(super) fn intrinsic_of(&mut self, name: &str, bits: u32, sources: &[Slot]) -> Value {
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

    // Bits.

    /// Emits an operation on fields of words; None if it has to be called.
    fn field_of_bits(&mut self, verb: FieldVerb, sources: &[Slot]) -> Option<Value> {
        let constant = |slot: &Slot| Some(self.source(slot.cell).constant()? as u32 & 0xFF);
        match (verb, sources) {
            (FieldVerb::Popc, _) => Some(self.intrinsic_of("ctpop", 32, sources)),
            (FieldVerb::Brev, _) => Some(self.intrinsic_of("bitreverse", 32, sources)),
            (FieldVerb::Bfe, [source, place, length]) => {
                let (place, length) = (constant(place)?, constant(length)?);
                if place >= 32 || !(1..32).contains(&length) {
                    return None;
                }
                let value = self.read(*source);
                let moved = self.binary("lshr", 32, &value, &Value::Scalar(place.to_string()));
                let mask = (1_u32 << length) - 1;
                Some(self.binary("and", 32, &moved, &Value::Scalar(mask.to_string())))
            }
            _ => None,
        }
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

    // Comparisons and selections.

    // Conversions.
}
