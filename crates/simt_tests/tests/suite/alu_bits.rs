//! Logic, shifts, bit fields and bytes, bit by bit.

use crate::alu_support::{Kind, check, refused};

const WIDTHS: [(u32, &str, &str); 3] = [(16, "h", "b16"), (32, "r", "b32"), (64, "d", "b64")];

fn ones(bits: u32) -> u128 {
    u128::MAX >> (128 - bits)
}

#[test]
fn logic() {
    for (bits, r, name) in WIDTHS {
        let number = Kind::Integer(bits);
        check(&format!("and.{name} %{r}0, %{r}1, %{r}2;"), &[number; 2], |row| [row[0] & row[1]]);
        check(&format!("or.{name} %{r}0, %{r}1, %{r}2;"), &[number; 2], |row| [row[0] | row[1]]);
        check(&format!("xor.{name} %{r}0, %{r}1, %{r}2;"), &[number; 2], |row| [row[0] ^ row[1]]);
        check(&format!("not.{name} %{r}0, %{r}1;"), &[number], |row| [!row[0] & ones(bits)]);
        check(&format!("cnot.{name} %{r}0, %{r}1;"), &[number], |row| [u128::from(row[0] == 0)]);
    }
    let predicate = Kind::Predicate;
    check("and.pred %p0, %p1, %p2;", &[predicate; 2], |row| [row[0] & row[1]]);
    check("or.pred %p0, %p1, %p2;", &[predicate; 2], |row| [row[0] | row[1]]);
    check("xor.pred %p0, %p1, %p2;", &[predicate; 2], |row| [row[0] ^ row[1]]);
    check("not.pred %p0, %p1;", &[predicate], |row| [1 - row[0]]);
    // Results over sources.
    check("xor.pred %p1, %p1, %p2;", &[predicate; 2], |row| [row[0] ^ row[1]]);
    check("xor.b32 %r1, %r1, %r2;", &[Kind::Integer(32); 2], |row| [row[0] ^ row[1]]);
    refused("and.u32 %r0, %r1, %r2;");
    refused("not.f32 %r0, %r1;");
}

#[test]
fn shifts_stop_at_the_width() {
    for (bits, r, name) in WIDTHS {
        let kinds = [Kind::Integer(bits), Kind::Amount];
        let left = |row: &[u128]| if row[1] < bits.into() { row[0] << row[1] & ones(bits) } else { 0 };
        check(&format!("shl.{name} %{r}0, %{r}1, %r2;"), &kinds, |row| [left(row)]);
        let right = |row: &[u128]| if row[1] < bits.into() { row[0] >> row[1] } else { 0 };
        check(&format!("shr.{name} %{r}0, %{r}1, %r2;"), &kinds, |row| [right(row)]);
        check(&format!("shr.u{bits} %{r}0, %{r}1, %r2;"), &kinds, |row| [right(row)]);
        check(&format!("shr.s{bits} %{r}0, %{r}1, %r2;"), &kinds, |row| {
            let value = (row[0] << (128 - bits)) as i128 >> (128 - bits);
            [(value >> row[1].min(127)) as u128 & ones(bits)]
        });
    }
    let kinds = [Kind::Integer(32), Kind::Integer(32), Kind::Amount];
    for (mode, amount) in [("clamp", (|c| c.min(32)) as fn(u128) -> u128), ("wrap", |c| c & 31)] {
        let both = |row: &[u128]| row[1] << 32 | row[0];
        check(&format!("shf.l.{mode}.b32 %r0, %r1, %r2, %r3;"), &kinds, |row| {
            [both(row) << amount(row[2]) >> 32 & ones(32)]
        });
        check(&format!("shf.r.{mode}.b32 %r0, %r1, %r2, %r3;"), &kinds, |row| {
            [both(row) >> amount(row[2]) & ones(32)]
        });
    }
    refused("shf.l.b32 %r0, %r1, %r2, %r3;");
}

#[test]
fn any_function_of_three() {
    let function = |row: &[u128], table: u32| -> u128 {
        let of_bit = |bit: u32| {
            let index = (row[0] >> bit & 1) << 2 | (row[1] >> bit & 1) << 1 | row[2] >> bit & 1;
            u128::from(table >> index & 1) << bit
        };
        (0..32).map(of_bit).sum()
    };
    for table in [0, 0x96, 0xCA, 0xE8, 0x80, 0xFE, 0xFF, 0x1B, 0xF0, 0xCC, 0xAA, 0x01] {
        let text = format!("lop3.b32 %r0, %r1, %r2, %r3, {table};");
        check(&text, &[Kind::Integer(32); 3], |row| [function(row, table)]);
    }
    let kinds = [Kind::Integer(32), Kind::Integer(32), Kind::Integer(32), Kind::Predicate];
    check("lop3.or.b32 %r0|%p0, %r1, %r2, %r3, 0xC0, %p1;", &kinds, |row| {
        let found = function(row, 0xC0);
        [found, u128::from(found != 0) | row[3]]
    });
    check("lop3.and.b32 %r0|%p0, %r1, %r2, %r3, 0xC0, %p1;", &kinds, |row| {
        let found = function(row, 0xC0);
        [found, u128::from(found != 0) & row[3]]
    });
}

#[test]
fn fields() {
    for (bits, r) in [(32, "r"), (64, "d")] {
        // Of 32 bits the lowest eight count; of 64, all do.
        let amount = |word: u128| if bits == 32 { (word & 255) as u32 } else { word.min(300) as u32 };
        for signed in [false, true] {
            let name = if signed { "s" } else { "u" };
            let text = format!("bfe.{name}{bits} %{r}0, %{r}1, %r2, %r3;");
            check(&text, &[Kind::Integer(bits), Kind::Amount, Kind::Amount], |row| {
                let (place, length) = (amount(row[1]), amount(row[2]));
                let bit = |place: u32| row[0] >> place & 1;
                let sign = if signed && length > 0 { bit((place + length - 1).min(bits - 1)) } else { 0 };
                let value = |index: u32| {
                    if index < length && place + index < bits { bit(place + index) } else { sign }
                };
                [(0..bits).map(|index| value(index) << index).sum()]
            });
            let highest = |value: u128| {
                let top = value >> (bits - 1) & 1;
                let value = if signed && top == 1 { !value & ones(bits) } else { value };
                (0..bits).rev().find(|bit| value >> bit & 1 == 1)
            };
            let text = format!("bfind.{name}{bits} %r0, %{r}1;");
            check(&text, &[Kind::Integer(bits)], |row| [highest(row[0]).map_or(0xFFFF_FFFF, u128::from)]);
            let text = format!("bfind.shiftamt.{name}{bits} %r0, %{r}1;");
            check(&text, &[Kind::Integer(bits)], |row| {
                [highest(row[0]).map_or(0xFFFF_FFFF, |bit| u128::from(bits - 1 - bit))]
            });
        }
        let number = Kind::Integer(bits);
        let text = format!("bfi.b{bits} %{r}0, %{r}1, %{r}2, %r3, %r4;");
        check(&text, &[number, number, Kind::Amount, Kind::Amount], |row| {
            let (place, length) = (amount(row[2]), amount(row[3]));
            let mut result = row[1];
            for index in 0..length {
                if place + index < bits {
                    let at = place + index;
                    result = result & !(1 << at) | (row[0] >> index & 1) << at;
                }
            }
            [result]
        });
        check(&format!("popc.b{bits} %r0, %{r}1;"), &[number], |row| {
            [(0..bits).map(|bit| row[0] >> bit & 1).sum()]
        });
        check(&format!("clz.b{bits} %r0, %{r}1;"), &[number], |row| {
            let highest = (0..bits).rev().find(|bit| row[0] >> bit & 1 == 1);
            [highest.map_or(bits, |bit| bits - 1 - bit).into()]
        });
        check(&format!("brev.b{bits} %{r}0, %{r}1;"), &[number], |row| {
            [(0..bits).map(|bit| (row[0] >> bit & 1) << (bits - 1 - bit)).sum()]
        });
    }
}

#[test]
fn the_nth_set_bit() {
    check("fns.b32 %r0, %r1, %r2, %r3;", &[Kind::Integer(32), Kind::Amount, Kind::Amount], |row| {
        let (mask, base, offset) = (row[0] as u32, row[1] as i64, i64::from(row[2] as u32 as i32));
        let is_set = |place: i64| (0..32).contains(&place) && mask >> place & 1 == 1;
        if offset == 0 {
            return [if is_set(base) { base as u128 } else { 0xFFFF_FFFF }];
        }
        let (mut place, mut left) = (base, offset.abs());
        while (0..32).contains(&place) {
            if is_set(place) {
                left -= 1;
                if left == 0 {
                    return [place as u128];
                }
            }
            place += offset.signum();
        }
        [0xFFFF_FFFF]
    });
    check("fns.b32 %r0, %r1, 31, -2;", &[Kind::Integer(32)], |row| {
        let places = (0..32u32).rev().filter(|place| row[0] >> place & 1 == 1);
        [places.skip(1).map(u128::from).next().unwrap_or(0xFFFF_FFFF)]
    });
}

#[test]
fn masks_and_sign_extension() {
    for (mode, clamps) in [("clamp", true), ("wrap", false)] {
        let amount = |value: u128| if clamps { value.min(64) } else { value & 31 } as u32;
        check(&format!("bmsk.{mode}.b32 %r0, %r1, %r2;"), &[Kind::Amount; 2], |row| {
            let (start, length) = (amount(row[0]), amount(row[1]));
            [(start..start + length).filter(|bit| *bit < 32).map(|bit| 1u128 << bit).sum()]
        });
        for signed in [false, true] {
            let name = if signed { "s32" } else { "u32" };
            let text = format!("szext.{mode}.{name} %r0, %r1, %r2;");
            check(&text, &[Kind::Integer(32), Kind::Amount], |row| {
                let length = amount(row[1]);
                let bit = |bit: u32| row[0] >> bit & 1;
                let sign = if signed && length > 0 { bit(length.min(32) - 1) } else { 0 };
                [(0..32).map(|place| if place < length { bit(place) } else { sign } << place).sum()]
            });
        }
    }
}

#[test]
fn bytes_are_picked() {
    let byte = |row: &[u128], choice: u32| -> u128 {
        let both = row[1] << 32 | row[0];
        let byte = both >> (8 * (choice & 7)) & 0xFF;
        if choice & 8 == 0 {
            byte
        } else if byte & 0x80 != 0 {
            0xFF
        } else {
            0
        }
    };
    check("prmt.b32 %r0, %r1, %r2, %r3;", &[Kind::Integer(32); 3], |row| {
        [(0..4).map(|place| byte(row, (row[2] >> (4 * place)) as u32 & 15) << (8 * place)).sum()]
    });
    // From the manual's tables, the highest byte first.
    let modes: [(&str, [[u32; 4]; 4]); 6] = [
        ("f4e", [[3, 2, 1, 0], [4, 3, 2, 1], [5, 4, 3, 2], [6, 5, 4, 3]]),
        ("b4e", [[5, 6, 7, 0], [6, 7, 0, 1], [7, 0, 1, 2], [0, 1, 2, 3]]),
        ("rc8", [[0; 4], [1; 4], [2; 4], [3; 4]]),
        ("ecl", [[3, 2, 1, 0], [3, 2, 1, 1], [3, 2, 2, 2], [3, 3, 3, 3]]),
        ("ecr", [[0, 0, 0, 0], [1, 1, 1, 0], [2, 2, 1, 0], [3, 2, 1, 0]]),
        ("rc16", [[1, 0, 1, 0], [3, 2, 3, 2], [1, 0, 1, 0], [3, 2, 3, 2]]),
    ];
    for (mode, table) in modes {
        check(&format!("prmt.b32.{mode} %r0, %r1, %r2, %r3;"), &[Kind::Integer(32); 3], |row| {
            let choices = table[row[2] as usize & 3];
            [choices.into_iter().fold(0, |result, choice| result << 8 | byte(row, choice))]
        });
    }
}

#[test]
fn dot_products() {
    let field = |word: u128, place: u32, bits: u32, signed: bool| -> i64 {
        let value = (word >> place) as i64 & ((1 << bits) - 1);
        if signed && value >> (bits - 1) == 1 { value - (1 << bits) } else { value }
    };
    for (a, a_signed) in [("u32", false), ("s32", true)] {
        for (b, b_signed) in [("u32", false), ("s32", true)] {
            check(&format!("dp4a.{a}.{b} %r0, %r1, %r2, %r3;"), &[Kind::Integer(32); 3], |row| {
                let product =
                    |byte: u32| field(row[0], 8 * byte, 8, a_signed) * field(row[1], 8 * byte, 8, b_signed);
                let sum = (0..4).map(product).sum::<i64>() + row[2] as i64;
                [u128::from(sum as u32)]
            });
            for (part, offset) in [("lo", 0), ("hi", 16)] {
                let text = format!("dp2a.{part}.{a}.{b} %r0, %r1, %r2, %r3;");
                check(&text, &[Kind::Integer(32); 3], |row| {
                    let product = |index: u32| {
                        field(row[0], 16 * index, 16, a_signed)
                            * field(row[1], offset + 8 * index, 8, b_signed)
                    };
                    let sum = (0..2).map(product).sum::<i64>() + row[2] as i64;
                    [u128::from(sum as u32)]
                });
            }
        }
    }
}
