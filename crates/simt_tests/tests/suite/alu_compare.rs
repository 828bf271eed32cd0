//! Comparisons, selection and signs.

use crate::alu_support::exact::{BRAIN, DOUBLE, Format, HALF, SINGLE};
use crate::alu_support::{Kind, check, refused};

/// Whether a comparison of numbers holds; none: there is no such comparison.
fn of_integers(word: &str, a: i128, b: i128) -> Option<bool> {
    Some(match word {
        "eq" => a == b,
        "ne" => a != b,
        "lt" | "lo" => a < b,
        "le" | "ls" => a <= b,
        "gt" | "hi" => a > b,
        "ge" | "hs" => a >= b,
        _ => return None,
    })
}

fn of_floats(word: &str, a: f64, b: f64) -> bool {
    let unordered = a.is_nan() || b.is_nan();
    match word {
        "num" => !unordered,
        "nan" => unordered,
        "ne" => !unordered && a != b,
        "equ" | "neu" | "ltu" | "leu" | "gtu" | "geu" => unordered || of_floats(&word[..2], a, b),
        "eq" => a == b,
        "lt" => a < b,
        "le" => a <= b,
        "gt" => a > b,
        "ge" => a >= b,
        _ => panic!("{word}"),
    }
}

const FLOAT_WORDS: [&str; 14] =
    ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"];

fn value(bits: u32, signed: bool, word: u128) -> i128 {
    let up = 128 - bits;
    if signed { (word << up) as i128 >> up } else { (word << up >> up) as i128 }
}

#[test]
fn integers() {
    for (bits, r) in [(16, "h"), (32, "r"), (64, "d")] {
        for kind in ["b", "u", "s"] {
            let words: &[&str] = match kind {
                "b" => &["eq", "ne"],
                "u" => &["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"],
                _ => &["eq", "ne", "lt", "le", "gt", "ge"],
            };
            for word in words {
                let text = format!("setp.{word}.{kind}{bits} %p0, %{r}1, %{r}2;");
                check(&text, &[Kind::Integer(bits); 2], |row| {
                    let value = |word| value(bits, kind == "s", word);
                    let holds = of_integers(word, value(row[0]), value(row[1])).expect("a comparison");
                    [holds.into()]
                });
            }
        }
    }
    refused("setp.lt.b32 %p0, %r1, %r2;");
    refused("setp.lo.s32 %p0, %r1, %r2;");
    refused("setp.ltu.s32 %p0, %r1, %r2;");
    refused("setp.eq.pred %p0, %p1, %p2;");
}

#[test]
fn floats() {
    let types: [(&str, &str, Format, Kind); 4] = [
        ("f32", "r", SINGLE, Kind::Single),
        ("f64", "d", DOUBLE, Kind::Double),
        ("f16", "h", HALF, Kind::Half),
        ("bf16", "h", BRAIN, Kind::Brain),
    ];
    for (name, r, format, kind) in types {
        for word in FLOAT_WORDS {
            let holds = |a: u128, b: u128| of_floats(word, format.value(a as u64), format.value(b as u64));
            check(&format!("setp.{word}.{name} %p0, %{r}1, %{r}2;"), &[kind; 2], |row| {
                [holds(row[0], row[1]).into()]
            });
            if matches!(name, "f32" | "f16") {
                let flushed = |bits: u128| {
                    if format.is_subnormal(bits as u64) { bits & u128::from(format.sign()) } else { bits }
                };
                check(&format!("setp.{word}.ftz.{name} %p0, %{r}1, %{r}2;"), &[kind; 2], |row| {
                    [holds(flushed(row[0]), flushed(row[1])).into()]
                });
            }
        }
    }
}

#[test]
fn packed_floats_give_two_verdicts() {
    for (name, format, kind) in [("f16x2", HALF, Kind::HalfPair), ("bf16x2", BRAIN, Kind::BrainPair)] {
        for word in FLOAT_WORDS {
            let holds = |a: u128, b: u128| {
                of_floats(word, format.value(a as u64 & 0xFFFF), format.value(b as u64 & 0xFFFF))
            };
            check(&format!("setp.{word}.{name} %p0|%p1, %r1, %r2;"), &[kind; 2], |row| {
                [holds(row[0], row[1]).into(), holds(row[0] >> 16, row[1] >> 16).into()]
            });
            check(
                &format!("setp.{word}.and.{name} %p0|%p1, %r1, %r2, !%p2;"),
                &[kind, kind, Kind::Predicate],
                |row| {
                    let allowed = row[2] == 0;
                    [
                        (holds(row[0], row[1]) && allowed).into(),
                        (holds(row[0] >> 16, row[1] >> 16) && allowed).into(),
                    ]
                },
            );
            let one: u128 = if name == "f16x2" { 0x3C00 } else { 0x3F80 };
            check(&format!("set.{word}.{name}.{name} %r0, %r1, %r2;"), &[kind; 2], |row| {
                let low = if holds(row[0], row[1]) { one } else { 0 };
                let high = if holds(row[0] >> 16, row[1] >> 16) { one } else { 0 };
                [low | high << 16]
            });
        }
    }
}

#[test]
fn verdicts_are_combined() {
    let kinds = [Kind::Integer(32), Kind::Integer(32), Kind::Predicate];
    type Combine = fn(bool, bool) -> bool;
    let combinations: [(&str, Combine); 3] =
        [("and", |a, b| a & b), ("or", |a, b| a | b), ("xor", |a, b| a ^ b)];
    for (word, combine) in combinations {
        let less = |row: &[u128]| (row[0] as i32) < row[1] as i32;
        check(&format!("setp.lt.{word}.s32 %p0, %r1, %r2, %p3;"), &kinds, |row| {
            [combine(less(row), row[2] == 1).into()]
        });
        check(&format!("setp.lt.{word}.s32 %p0|%p1, %r1, %r2, %p3;"), &kinds, |row| {
            [combine(less(row), row[2] == 1).into(), combine(!less(row), row[2] == 1).into()]
        });
        check(&format!("setp.ge.{word}.s32 %p0|%p1, %r1, %r2, !%p3;"), &kinds, |row| {
            [combine(!less(row), row[2] == 0).into(), combine(less(row), row[2] == 0).into()]
        });
        check(&format!("set.lt.{word}.u32.s32 %r0, %r1, %r2, %p3;"), &kinds, |row| {
            [if combine(less(row), row[2] == 1) { 0xFFFF_FFFF } else { 0 }]
        });
    }
    check("setp.lt.s32 %p0|%p1, %r1, %r2;", &kinds[..2], |row| {
        let less = (row[0] as i32) < row[1] as i32;
        [less.into(), (!less).into()]
    });
    check("set.gtu.f32.f32 %r0, %r1, %r2;", &[Kind::Single; 2], |row| {
        let holds = of_floats("gtu", SINGLE.value(row[0] as u64), SINGLE.value(row[1] as u64));
        [if holds { 1f32.to_bits().into() } else { 0 }]
    });
    check("set.le.s32.f64 %r0, %d1, %d2;", &[Kind::Double; 2], |row| {
        let holds = of_floats("le", DOUBLE.value(row[0] as u64), DOUBLE.value(row[1] as u64));
        [if holds { 0xFFFF_FFFF } else { 0 }]
    });
}

#[test]
fn selection() {
    for (bits, r, names) in [
        (16, "h", &["b16", "u16", "s16"][..]),
        (32, "r", &["b32", "u32", "s32", "f32"]),
        (64, "d", &["b64", "u64", "s64", "f64"]),
    ] {
        let number = Kind::Integer(bits);
        for name in names {
            check(
                &format!("selp.{name} %{r}0, %{r}1, %{r}2, %p3;"),
                &[number, number, Kind::Predicate],
                |row| [if row[2] == 1 { row[0] } else { row[1] }],
            );
            check(
                &format!("slct.{name}.s32 %{r}0, %{r}1, %{r}2, %r3;"),
                &[number, number, Kind::Integer(32)],
                |row| [if row[2] as i32 >= 0 { row[0] } else { row[1] }],
            );
            check(
                &format!("slct.{name}.f32 %{r}0, %{r}1, %{r}2, %r3;"),
                &[number, number, Kind::Single],
                |row| [if SINGLE.value(row[2] as u64) >= 0.0 { row[0] } else { row[1] }],
            );
            check(
                &format!("slct.ftz.{name}.f32 %{r}0, %{r}1, %{r}2, %r3;"),
                &[number, number, Kind::Single],
                |row| {
                    let c = row[2] as u64;
                    let flushed = if SINGLE.is_subnormal(c) { 0.0 } else { SINGLE.value(c) };
                    [if flushed >= 0.0 { row[0] } else { row[1] }]
                },
            );
        }
    }
    check("selp.f32 %r0, %r1, 0f3F800000, %p3;", &[Kind::Integer(32), Kind::Predicate], |row| {
        [if row[1] == 1 { row[0] } else { 0x3F80_0000 }]
    });
}

#[test]
fn kinds_of_floats_and_signs() {
    for (name, r, format, kind) in [("f32", "r", SINGLE, Kind::Single), ("f64", "d", DOUBLE, Kind::Double)] {
        type Test = fn(Format, u64) -> bool;
        let finite: Test = |format, bits| !format.is_nan(bits) && !format.is_infinite(bits);
        let tests: [(&str, Test); 6] = [
            ("finite", finite),
            ("infinite", |format, bits| format.is_infinite(bits)),
            ("number", |format, bits| !format.is_nan(bits)),
            ("notanumber", |format, bits| format.is_nan(bits)),
            ("normal", |format, bits| {
                // Zero counts as normal.
                !format.is_nan(bits) && !format.is_infinite(bits) && !format.is_subnormal(bits)
            }),
            ("subnormal", |format, bits| format.is_subnormal(bits)),
        ];
        for (word, test) in tests {
            check(&format!("testp.{word}.{name} %p0, %{r}1;"), &[kind], |row| {
                [test(format, row[0] as u64).into()]
            });
        }
        let sign = u128::from(format.sign());
        check(&format!("copysign.{name} %{r}0, %{r}1, %{r}2;"), &[kind; 2], |row| {
            [row[1] & (sign - 1) | row[0] & sign]
        });
    }
}
