//! Integer arithmetic against `i128`.

use crate::alu_support::{Kind, check, refused};

/// A type of integers.
#[derive(Clone, Copy)]
struct Type {
    name: &'static str,
    register: &'static str,
    bits: u32,
    signed: bool,
}

const fn of(name: &'static str, register: &'static str, bits: u32, signed: bool) -> Type {
    Type { name, register, bits, signed }
}

const TYPES: [Type; 6] = [
    of("u16", "h", 16, false),
    of("s16", "h", 16, true),
    of("u32", "r", 32, false),
    of("s32", "r", 32, true),
    of("u64", "d", 64, false),
    of("s64", "d", 64, true),
];

impl Type {
    fn kind(self) -> Kind {
        Kind::Integer(self.bits)
    }

    /// The number that bits mean.
    fn value(self, bits: u128) -> i128 {
        let up = 128 - self.bits;
        if self.signed { (bits << up) as i128 >> up } else { (bits << up >> up) as i128 }
    }

    /// The lowest bits of a number.
    fn cut(self, value: i128) -> u128 {
        value as u128 & (u128::MAX >> (128 - self.bits))
    }

    fn text(self, opcode: &str, count: usize) -> String {
        let operands: Vec<String> = (0..=count).map(|index| format!("%{}{index}", self.register)).collect();
        format!("{opcode}.{} {};", self.name, operands.join(", "))
    }

    fn is_check(self, opcode: &str, count: usize, expected: impl Fn(&[i128]) -> i128) {
        check(&self.text(opcode, count), &vec![self.kind(); count], |row| {
            let values: Vec<i128> = row.iter().map(|bits| self.value(*bits)).collect();
            [self.cut(expected(&values))]
        });
    }
}

#[test]
fn sums_and_products_wrap() {
    for scalar in TYPES {
        scalar.is_check("add", 2, |row| row[0] + row[1]);
        scalar.is_check("sub", 2, |row| row[0] - row[1]);
        scalar.is_check("mul.lo", 2, |row| row[0].wrapping_mul(row[1]));
        scalar.is_check("mad.lo", 3, |row| row[0].wrapping_mul(row[1]).wrapping_add(row[2]));
        scalar.is_check("sad", 3, |row| row[2] + (row[0] - row[1]).abs());
        // A product of two `u64` needs all 128 bits.
        let high = |row: &[i128]| match scalar.signed {
            true => (row[0] * row[1]) >> scalar.bits,
            false => ((row[0] as u128 * row[1] as u128) >> scalar.bits) as i128,
        };
        scalar.is_check("mul.hi", 2, high);
        scalar.is_check("mad.hi", 3, |row| high(row) + row[2]);
    }
}

#[test]
fn wide_products_are_whole() {
    for (scalar, wide) in [(0, "r"), (1, "r"), (2, "d"), (3, "d")] {
        let scalar = TYPES[scalar];
        let product = |row: &[u128]| scalar.value(row[0]) * scalar.value(row[1]);
        let bits = u128::MAX >> (128 - 2 * scalar.bits);
        let Type { name, register, .. } = scalar;
        let text = format!("mul.wide.{name} %{wide}0, %{register}1, %{register}2;");
        check(&text, &[scalar.kind(); 2], |row| [product(row) as u128 & bits]);
        let text = format!("mad.wide.{name} %{wide}0, %{register}1, %{register}2, %{wide}3;");
        check(&text, &[scalar.kind(), scalar.kind(), Kind::Integer(2 * scalar.bits)], |row| {
            [(product(row) as u128).wrapping_add(row[2]) & bits]
        });
    }
}

#[test]
fn division_by_nothing_has_a_value() {
    for scalar in TYPES {
        scalar.is_check("div", 2, |row| if row[1] == 0 { -1 } else { row[0] / row[1] });
        scalar.is_check("rem", 2, |row| if row[1] == 0 { -1 } else { row[0] % row[1] });
    }
}

#[test]
fn extremes_and_signs() {
    for scalar in TYPES {
        scalar.is_check("min", 2, |row| row[0].min(row[1]));
        scalar.is_check("max", 2, |row| row[0].max(row[1]));
        if scalar.signed {
            scalar.is_check("abs", 1, |row| row[0].abs());
            scalar.is_check("neg", 1, |row| -row[0]);
        }
    }
    TYPES[3].is_check("min.relu", 2, |row| row[0].min(row[1]).max(0));
    TYPES[3].is_check("max.relu", 2, |row| row[0].max(row[1]).max(0));
}

#[test]
fn saturation_stops_at_the_ends() {
    let clamp = |value: i128| value.clamp(i32::MIN.into(), i32::MAX.into());
    TYPES[3].is_check("add.sat", 2, |row| clamp(row[0] + row[1]));
    TYPES[3].is_check("sub.sat", 2, |row| clamp(row[0] - row[1]));
    TYPES[3].is_check("mad.hi.sat", 3, |row| clamp(((row[0] * row[1]) >> 32) + row[2]));
}

#[test]
fn products_of_24_bits() {
    for scalar in [TYPES[2], TYPES[3]] {
        let low = |value: i128| {
            if scalar.signed { (value as i32) << 8 >> 8 } else { value as i32 & 0xFF_FFFF }
        };
        let product = |row: &[i128]| i128::from(low(row[0])) * i128::from(low(row[1]));
        scalar.is_check("mul24.lo", 2, product);
        scalar.is_check("mul24.hi", 2, |row| product(row) >> 16);
        scalar.is_check("mad24.lo", 3, |row| product(row) + row[2]);
        scalar.is_check("mad24.hi", 3, |row| (product(row) >> 16) + row[2]);
    }
    TYPES[3].is_check("mad24.hi.sat", 3, |row| {
        let low = |value: i128| i128::from((value as i32) << 8 >> 8);
        let upper = i128::from(((low(row[0]) * low(row[1])) >> 16) as i32);
        (upper + row[2]).clamp(i32::MIN.into(), i32::MAX.into())
    });
}

#[test]
fn halves_of_a_word_are_apart() {
    type Both = fn(i32, i32) -> i32;
    let cases: [(&str, bool, Both); 8] = [
        ("add.u16x2", false, |a, b| a + b),
        ("add.s16x2", true, |a, b| a + b),
        ("sub.s16x2", true, |a, b| a - b),
        ("min.u16x2", false, |a, b| a.min(b)),
        ("max.u16x2", false, |a, b| a.max(b)),
        ("min.s16x2", true, |a, b| a.min(b)),
        ("max.s16x2", true, |a, b| a.max(b)),
        ("max.relu.s16x2", true, |a, b| a.max(b).max(0)),
    ];
    for (opcode, signed, apart) in cases {
        check(&format!("{opcode} %r0, %r1, %r2;"), &[Kind::Integer(32); 2], |row| {
            let read = |bits: u128| if signed { i32::from(bits as i16) } else { i32::from(bits as u16) };
            let low = apart(read(row[0]), read(row[1])) as u16;
            let high = apart(read(row[0] >> 16), read(row[1] >> 16)) as u16;
            [u128::from(low) | u128::from(high) << 16]
        });
    }
}

#[test]
fn carries_chain() {
    for scalar in &TYPES[2..] {
        let ones = u128::MAX >> (128 - scalar.bits);
        let name = scalar.name;
        let r = scalar.register;
        for (opcode, count) in [("add", 2), ("sub", 2), ("mad.lo", 3), ("mad.hi", 3)] {
            let exact = |row: &[u128], carry: i128| -> (u128, bool) {
                let unsigned = |bits: u128| bits as i128;
                let signed = |bits: u128| scalar.value(bits);
                let sum = match opcode {
                    "add" => unsigned(row[0]) + unsigned(row[1]) + carry,
                    "sub" => unsigned(row[0]) - unsigned(row[1]) - carry,
                    "mad.lo" => {
                        let product = row[0].wrapping_mul(row[1]) & ones;
                        unsigned(product) + unsigned(row[2]) + carry
                    }
                    _ => {
                        let high = match scalar.signed {
                            true => (signed(row[0]) * signed(row[1])) as u128 >> scalar.bits & ones,
                            false => (row[0] * row[1]) >> scalar.bits,
                        };
                        unsigned(high) + unsigned(row[2]) + carry
                    }
                };
                (sum as u128 & ones, sum < 0 || sum > ones as i128)
            };
            let operands: Vec<String> = (0..=count).map(|index| format!("%{r}{index}")).collect();
            let operands = operands.join(", ");
            let (base, part) = opcode
                .split_once('.')
                .map_or((opcode, String::new()), |(base, part)| (base, format!(".{part}")));
            for (takes, gives) in [(false, true), (true, false), (true, true)] {
                let opcode = format!(
                    "{base}{}{part}{}.{name}",
                    if takes { "c" } else { "" },
                    if gives { ".cc" } else { "" }
                );
                carry_check(&format!("{opcode} {operands};"), count, scalar.kind(), takes, gives, &exact);
            }
        }
    }
}

/// A result and its carry, of operands and a carry.
type Exact<'a> = dyn Fn(&[u128], i128) -> (u128, bool) + 'a;

fn carry_check(text: &str, count: usize, kind: Kind, takes: bool, gives: bool, exact: &Exact<'_>) {
    let register = text.as_bytes()[text.find('%').expect("a register") + 1] as char;
    for level in crate::alu_support::levels() {
        let mut machine = crate::alu_support::Machine::new(text, level);
        for (index, chunk) in crate::alu_support::rows(&vec![kind; count], 320, 3).chunks(32).enumerate() {
            let carry_in: [u128; 32] = std::array::from_fn(|lane| ((lane + index) % 2) as u128);
            machine.set_carry(&carry_in);
            for operand in 1..=count {
                let name = format!("%{register}{operand}");
                machine.set(&name, &std::array::from_fn(|lane| chunk[lane][operand - 1]));
            }
            machine.run(u32::MAX);
            let found = machine.get(&format!("%{register}0"));
            let carry_out = machine.carry();
            for (lane, row) in chunk.iter().enumerate() {
                let (value, carry) = exact(row, if takes { carry_in[lane] as i128 } else { 0 });
                assert_eq!(found[lane], value, "{text} at {level:?} of {row:x?}");
                let carry = if gives { u128::from(carry) } else { carry_in[lane] };
                assert_eq!(carry_out[lane], carry, "{text} at {level:?}: the carry of {row:x?}");
            }
        }
    }
}

#[test]
fn what_there_is_not_is_refused() {
    for text in [
        "add.sat.u32 %r0, %r1, %r2;",
        "mul.s32 %r0, %r1, %r2;",
        "mul.wide.u64 %d0, %d1, %d2;",
        "mad.lo.sat.s32 %r0, %r1, %r2, %r3;",
        "abs.u32 %r0, %r1;",
        "add.wrong.s32 %r0, %r1, %r2;",
        "min.relu.u32 %r0, %r1, %r2;",
        "mul24.lo.u64 %d0, %d1, %d2;",
    ] {
        refused(text);
    }
}
