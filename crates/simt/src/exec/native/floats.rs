//! Emits arithmetic on floating-point numbers.

use super::columns::Operand;
use super::emit::Emitter;
use super::value::{Value, lanes};
use crate::alu::Arithmetic;
use crate::ptx::op::arithmetic::{Float, FloatVerb};
use crate::registers::Slot;

impl Emitter<'_> {
    /// Emits machine arithmetic; NaN have any bits.
    pub(super) fn machine(&mut self, verb: FloatVerb, bits: u32, values: &[&Value]) -> Value {
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

    pub(super) fn single(&mut self, float: &Float, sources: &[Slot], result: Slot) -> Value {
        let values: Vec<Value> = sources.iter().map(|slot| self.read_raw(*slot)).collect();
        let values: Vec<&Value> = values.iter().collect();
        let value = self.machine(float.verb, 32, &values);
        match self.operand(result.cell) {
            Operand::Register(number) if self.shapes.raw[number] => value,
            _ => self.canonical(value),
        }
    }

    /// Emits arithmetic on `f64`. Which NaN results depends on the operands' order, which the interpreter knows.
    pub(super) fn double(
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
}
