//! `atom` and `red`: every operation of every type against its definition, and from several threads at once.

use crate::memory_support::{ALL, Machine, device, little, pattern};
use half::{bf16, f16};
use simt::fault::FaultKind;
use simt::internals::memory::{LOCAL_WINDOW, SHARED_WINDOW};
use simt::memory::Kind;
use simt::observe::{Operation, Space};

type Definition = fn(old: u64, b: u64, c: u64) -> u64;

fn f32s(a: u64, b: u64, operate: fn(f32, f32) -> f32) -> u64 {
    u64::from(operate(f32::from_bits(a as u32), f32::from_bits(b as u32)).to_bits())
}

fn f16s(a: u64, b: u64, operate: fn(f16, f16) -> f16) -> u64 {
    u64::from(operate(f16::from_bits(a as u16), f16::from_bits(b as u16)).to_bits())
}

fn bf16s(a: u64, b: u64, operate: fn(bf16, bf16) -> bf16) -> u64 {
    u64::from(operate(bf16::from_bits(a as u16), bf16::from_bits(b as u16)).to_bits())
}

fn halves(a: u64, b: u64, operate: fn(u64, u64) -> u64) -> u64 {
    operate(a & 0xFFFF, b & 0xFFFF) | operate(a >> 16, b >> 16) << 16
}

fn add_f16(a: u64, b: u64) -> u64 {
    f16s(a, b, |x, y| f16::from_f64(x.to_f64() + y.to_f64()))
}

fn add_bf16(a: u64, b: u64) -> u64 {
    bf16s(a, b, |x, y| bf16::from_f64(x.to_f64() + y.to_f64()))
}

const OPERATIONS: &[(&str, u32, Definition)] = &[
    ("add.u32", 4, |old, b, _| old.wrapping_add(b)),
    ("add.s32", 4, |old, b, _| old.wrapping_add(b)),
    ("add.u64", 8, |old, b, _| old.wrapping_add(b)),
    ("and.b32", 4, |old, b, _| old & b),
    ("and.b64", 8, |old, b, _| old & b),
    ("or.b32", 4, |old, b, _| old | b),
    ("or.b64", 8, |old, b, _| old | b),
    ("xor.b32", 4, |old, b, _| old ^ b),
    ("xor.b64", 8, |old, b, _| old ^ b),
    ("exch.b32", 4, |_, b, _| b),
    ("exch.b64", 8, |_, b, _| b),
    ("cas.b16", 2, |old, b, c| if old == b { c } else { old }),
    ("cas.b32", 4, |old, b, c| if old == b { c } else { old }),
    ("cas.b64", 8, |old, b, c| if old == b { c } else { old }),
    ("inc.u32", 4, |old, b, _| if old >= b { 0 } else { old + 1 }),
    ("dec.u32", 4, |old, b, _| if old == 0 || old > b { b } else { old - 1 }),
    ("min.u32", 4, |old, b, _| old.min(b)),
    ("max.u32", 4, |old, b, _| old.max(b)),
    ("min.s32", 4, |old, b, _| (old as i32).min(b as i32) as u32 as u64),
    ("max.s32", 4, |old, b, _| (old as i32).max(b as i32) as u32 as u64),
    ("min.u64", 8, |old, b, _| old.min(b)),
    ("max.u64", 8, |old, b, _| old.max(b)),
    ("min.s64", 8, |old, b, _| (old as i64).min(b as i64) as u64),
    ("max.s64", 8, |old, b, _| (old as i64).max(b as i64) as u64),
    ("add.f32", 4, |old, b, _| f32s(old, b, |x, y| x + y)),
    ("add.f64", 8, |old, b, _| (f64::from_bits(old) + f64::from_bits(b)).to_bits()),
    ("add.noftz.f16", 2, |old, b, _| add_f16(old, b)),
    ("add.noftz.bf16", 2, |old, b, _| add_bf16(old, b)),
    ("add.noftz.f16x2", 4, |old, b, _| halves(old, b, add_f16)),
    ("add.noftz.bf16x2", 4, |old, b, _| halves(old, b, add_bf16)),
];

/// Numbers of the type: small ones, so that lanes meet, and such that floating point adds up without rounding up to a
/// NaN or a subnormal number.
fn operand(opcode: &str, lane: u64, salt: u64) -> u64 {
    let small = (lane * 7 + salt * 5) % 13;
    let float = 0.5 + small as f32 * 1.25 - 4.0;
    match opcode.rsplit('.').next() {
        Some("f32") => u64::from((float * 1.1).to_bits()),
        Some("f64") => (f64::from(float) * 1.1).to_bits(),
        Some("f16") => u64::from(f16::from_f32(float).to_bits()),
        Some("bf16") => u64::from(bf16::from_f32(float).to_bits()),
        Some("f16x2") => u64::from(f16::from_f32(float).to_bits()) * 0x0001_0001,
        Some("bf16x2") => u64::from(bf16::from_f32(float).to_bits()) * 0x0001_0001,
        Some("s32") => (small as u32).wrapping_sub(6) as u64,
        Some("s64") => small.wrapping_sub(6),
        _ => small,
    }
}

/// Lanes share words in several ways; they go in ascending order.
#[test]
fn lanes_go_one_after_another_in_ascending_order() {
    let memory = device();
    let buffer = memory.allocate(1024, Kind::Device).expect("memory");
    for (opcode, bytes, definition) in OPERATIONS {
        let prefix = match bytes {
            2 => "%rs",
            4 => "%r",
            _ => "%rd2",
        };
        let compares = opcode.starts_with("cas");
        for (space, origin) in [
            (".global", buffer),
            ("", buffer),
            (".shared", 0),
            (".shared::cta", 0),
            ("", SHARED_WINDOW),
            ("", LOCAL_WINDOW),
        ] {
            for (words, mask) in [(32, ALL), (1, 0xF0F0_1234), (5, ALL), (3, 1 << 9)] {
                for gives_back in [true, false] {
                    if (compares || opcode.starts_with("exch")) && !gives_back {
                        continue;
                    }
                    let mut machine = Machine::new(&memory);
                    let size = *bytes as usize;
                    let initial = |word: u64| operand(opcode, word, 3);
                    let mut model: Vec<Vec<u64>> =
                        (0..32).map(|_| (0..words).map(initial).collect()).collect();
                    for word in 0..words {
                        let value = initial(word).to_le_bytes();
                        let at = word * *bytes as u64;
                        memory.write(buffer + at, &value[..size]).expect("a range");
                        machine.shared.write(at, &value[..size]).expect("a range");
                        (0..32)
                            .for_each(|lane| machine.local.write(lane, at, &value[..size]).expect("a range"));
                    }
                    let place = |lane: u64| lane * 11 % words;
                    machine.set("%rd1", |lane| origin + place(lane) * u64::from(*bytes));
                    machine.set(&format!("{prefix}1"), |_| 0xDEAD);
                    machine.set(&format!("{prefix}2"), |lane| operand(opcode, lane, 1));
                    machine.set(&format!("{prefix}3"), |lane| operand(opcode, lane, 2));
                    let third = if compares { format!(", {prefix}3") } else { String::new() };
                    let code = if gives_back {
                        format!("atom{space}.{opcode} {prefix}1, [%rd1], {prefix}2{third};")
                    } else {
                        format!("red{space}.{opcode} [%rd1], {prefix}2;")
                    };
                    machine.ok(&code, mask);
                    let got = machine.get(&format!("{prefix}1"));
                    // Local memory is each lane's own.
                    let own = origin == LOCAL_WINDOW;
                    for lane in 0..32_usize {
                        let mut expected = 0xDEAD;
                        if mask >> lane & 1 == 1 {
                            let word = &mut model[if own { lane } else { 0 }][place(lane as u64) as usize];
                            expected = if gives_back { *word } else { expected };
                            let limit = u64::MAX >> (64 - 8 * bytes);
                            let [b, c] = [1, 2].map(|salt| operand(opcode, lane as u64, salt));
                            *word = definition(*word, b, c) & limit;
                        }
                        assert_eq!(got[lane], expected, "{code} lane {lane} words {words}");
                    }
                    for lane in if own { 0..32 } else { 0..1 } {
                        for word in 0..words {
                            let mut after = [0; 8];
                            let (at, into) = (word * *bytes as u64, &mut after[..size]);
                            match origin {
                                LOCAL_WINDOW => machine.local.read(lane, at, into).expect("a range"),
                                0 | SHARED_WINDOW => machine.shared.read(at, into).expect("a range"),
                                _ => memory.read(buffer + at, into).expect("a range"),
                            }
                            assert_eq!(little(&after), model[lane][word as usize], "{code} word {word}");
                        }
                    }
                    let seen = &machine.recorder.seen[0];
                    let operation = if gives_back { Operation::Atomic } else { Operation::Reduction };
                    assert_eq!((seen.operation, seen.bytes, seen.strong), (operation, *bytes, true));
                }
            }
        }
    }
}

/// What an H200 makes of subnormal numbers, infinities and NaNs: (operation, old, operand, new in global memory, new in
/// shared memory). PTX ISA, atom: "add.f32 on global memory flushes subnormal inputs and results to sign-preserving zero,
/// whereas on shared memory it does not".
#[test]
fn odd_sums_are_those_of_an_h200() {
    let memory = device();
    let buffer = memory.allocate(64, Kind::Device).expect("memory");
    for (operation, bytes, old, operand, global, shared) in [
        ("add.f32", 4, 0x40_0000, 0x40_0000, 0, 0x80_0000),
        ("add.f32", 4, 0x8040_0000, 0, 0, 0x8040_0000),
        ("add.f32", 4, 0x8040_0000, 0x8000_0000, 0x8000_0000, 0x8040_0000),
        ("add.f32", 4, 0x80_0000, 0x8040_0000, 0x80_0000, 0x40_0000),
        ("add.f32", 4, 0xFFC0_1234, 0x3F80_0000, 0x7FFF_FFFF, 0x7FFF_FFFF),
        ("add.f32", 4, 0x7F80_0000, 0xFF80_0000, 0x7FFF_FFFF, 0x7FFF_FFFF),
        (
            "add.f64",
            8,
            0xFFF8_0000_0000_1234,
            0x3FF0_0000_0000_0000,
            0xFFF8_0000_0000_1234,
            0xFFF8_0000_0000_1234,
        ),
        (
            "add.f64",
            8,
            0x7FF0_0000_0000_0000,
            0xFFF0_0000_0000_0000,
            0xFFF8_0000_0000_0000,
            0xFFF8_0000_0000_0000,
        ),
        (
            "add.f64",
            8,
            0x3FF0_0000_0000_0000,
            0x7FF8_0000_0000_5678,
            0x7FF8_0000_0000_5678,
            0x7FF8_0000_0000_5678,
        ),
        ("add.f64", 8, 1, 1, 2, 2),
        ("add.noftz.f16", 2, 0xFE12, 0x3C00, 0x7FFF, 0x7FFF),
        ("add.noftz.f16", 2, 0x7C00, 0xFC00, 0x7FFF, 0x7FFF),
        ("add.noftz.f16", 2, 1, 1, 2, 2),
        ("add.noftz.bf16", 2, 0xFFC1, 0x3F80, 0x7FFF, 0x7FFF),
        ("add.noftz.bf16", 2, 0x7F80, 0xFF80, 0x7FFF, 0x7FFF),
        ("min.noftz.v2.f16x2", 4, 0x7E00_3C00, 0x3C00_7E01, 0x3C00_3C00, 0x3C00_3C00),
        ("min.noftz.v2.f16x2", 4, 0x7E12_8000, 0xFE34_0000, 0x7FFF_8000, 0x7FFF_8000),
        ("min.noftz.v2.f16x2", 4, 0, 0x8000_8000, 0x8000_8000, 0x8000_8000),
        ("max.noftz.v2.f16x2", 4, 0x8000_8000, 0, 0, 0),
    ] {
        let operand_of = |register: &str| {
            if operation.contains("v2") { format!("{{{register}, {register}}}") } else { register.to_owned() }
        };
        let mut machine = Machine::new(&memory);
        let old = u64::to_le_bytes(old);
        memory.write(buffer, &old).expect("a range");
        machine.shared.write(0, &old).expect("a range");
        machine.set("%rd1", |_| buffer);
        machine.set("%r1", |_| 0);
        let register = match bytes {
            2 => "%rs2",
            4 => "%r2",
            _ => "%rd2",
        };
        machine.set(register, |_| operand);
        let value = operand_of(register);
        machine.ok(
            &format!("red.global.{operation} [%rd1], {value}; red.shared.{operation} [%r1], {value};"),
            1,
        );
        let mut after = [[0; 8]; 2];
        memory.read(buffer, &mut after[0][..bytes]).expect("a range");
        machine.shared.read(0, &mut after[1][..bytes]).expect("a range");
        assert_eq!(after.map(u64::from_le_bytes), [global, shared], "{operation} {operand:#x}");
    }
}

#[test]
fn sixteen_bytes_are_exchanged_as_one() {
    let memory = device();
    let buffer = memory.allocate(512, Kind::Device).expect("memory");
    let mut machine = Machine::new(&memory);
    let value = |lane: u64| u128::from(lane + 1) << 70 | u128::from(lane);
    machine.set("%rd1", |lane| buffer + 16 * (lane % 2));
    machine.set_128("%rq1", value);
    machine.set_128("%rq2", |_| 9);
    memory.fill(buffer, &[0], 512).expect("a range");
    machine.ok("atom.global.exch.b128 %rq2, [%rd1], %rq1;", 0b11_1101);
    let old = machine.get_128("%rq2");
    assert_eq!(old[..6], [0, 9, value(0), 0, value(2), value(3)]);
    // Lane 4's value is there now, and lane 5's.
    machine.set_128("%rq3", |lane| if lane == 0 { value(4) } else { 1 });
    machine.ok("atom.global.cas.b128 %rq2, [%rd1], %rq3, %rq1;", 0b11);
    assert_eq!(machine.get_128("%rq2")[..2], [value(4), value(5)]);
    let mut after = [0; 32];
    memory.read(buffer, &mut after).expect("a range");
    assert_eq!(after[..16], value(0).to_le_bytes());
    assert_eq!(after[16..], value(5).to_le_bytes());
}

#[test]
fn vectors_are_atomic_by_element() {
    let memory = device();
    let buffer = memory.allocate(1024, Kind::Device).expect("memory");
    memory.fill(buffer, &1.5_f32.to_le_bytes(), 256).expect("a range");
    let mut machine = Machine::new(&memory);
    machine.set("%rd1", |lane| buffer + 16 * (lane % 16));
    (0..4).for_each(|index| {
        machine.set(&format!("%r{index}"), |lane| u64::from((lane as f32 + index as f32).to_bits()));
    });
    machine.ok("atom.global.v4.f32.add {%r4, %r5, %r6, %r7}, [%rd1], {%r0, %r1, %r2, %r3};", ALL);
    let old = machine.get("%r6");
    assert_eq!(f32::from_bits(old[3] as u32), 1.5);
    assert_eq!(f32::from_bits(old[19] as u32), 1.5 + 3.0 + 2.0);
    let mut word = [0; 4];
    memory.read(buffer + 16 * 3 + 8, &mut word).expect("a range");
    assert_eq!(f32::from_le_bytes(word), 1.5 + 5.0 + 21.0);
    // Packed pairs, two of them a lane.
    let pair = |low: f32, high: f32| {
        u64::from(f16::from_f32(low).to_bits()) | u64::from(f16::from_f32(high).to_bits()) << 16
    };
    memory.fill(buffer, &(pair(2.0, -1.0) as u32).to_le_bytes(), 8).expect("a range");
    machine.set("%rd1", |_| buffer);
    machine.set("%r0", |_| pair(1.0, 3.0));
    machine.set("%r1", |_| pair(f32::NAN, 0.5));
    machine.ok("red.global.v2.f16x2.max.noftz [%rd1], {%r0, %r1};", 0b11);
    let mut words = [0; 8];
    memory.read(buffer, &mut words).expect("a range");
    assert_eq!(little(&words[..4]), pair(2.0, 3.0));
    assert_eq!(little(&words[4..]), pair(2.0, 0.5));
    machine.ok("red.global.add.noftz.v2.f16x2 [%rd1], {%r0, %r0};", 0b1);
    memory.read(buffer, &mut words).expect("a range");
    assert_eq!(little(&words[..4]), pair(3.0, 6.0));
    assert_eq!(machine.fault("red.global.add.v4.f32 [%rd1+8], {%r0, %r0, %r0, %r0};", 1).lane, 0);
}

#[test]
fn several_threads_lose_nothing() {
    let memory = device();
    let buffer = memory.allocate(256, Kind::Device).expect("memory");
    memory.fill(buffer, &[0], 256).expect("a range");
    const ROUNDS: u64 = 400;
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let memory = &memory;
            scope.spawn(move || {
                let mut machine = Machine::new(memory);
                machine.set("%rd1", |_| buffer);
                machine.set("%r1", |_| 1);
                machine.set("%r2", |_| u64::from(1.0_f32.to_bits()));
                machine.set("%rd2", |_| 1.0_f64.to_bits());
                machine.set("%rs1", |_| u64::from(f16::from_f32(1.0).to_bits()));
                machine.set("%r3", |lane| 1 << lane);
                machine.set("%r4", |_| 999);
                machine.set("%rd3", |lane| thread << 32 | lane);
                machine.set_128("%rq1", |lane| {
                    u128::from(thread << 8 | lane) << 64 | u128::from(thread << 8 | lane)
                });
                let code = "red.global.add.u32 [%rd1], %r1; red.global.add.f32 [%rd1+4], %r2; \
                     red.global.add.f64 [%rd1+8], %rd2; red.global.add.noftz.f16 [%rd1+16], %rs1; \
                     red.global.inc.u32 [%rd1+20], %r4; red.global.xor.b32 [%rd1+24], %r3; \
                     red.global.max.u64 [%rd1+32], %rd3; atom.global.exch.b128 %rq2, [%rd1+48], %rq1;";
                for _ in 0..ROUNDS {
                    machine.ok(code, ALL);
                    // Halves of one exchange, never of two.
                    for old in machine.get_128("%rq2") {
                        assert_eq!(old as u64, (old >> 64) as u64);
                    }
                }
            });
        }
    });
    let mut after = [0; 40];
    memory.read(buffer, &mut after).expect("a range");
    let total = 4 * 32 * ROUNDS;
    assert_eq!(little(&after[..4]), total);
    assert_eq!(f32::from_bits(little(&after[4..8]) as u32), total as f32);
    assert_eq!(f64::from_bits(little(&after[8..16])), total as f64);
    // 2048 is where an f16 stops counting by ones.
    assert_eq!(f16::from_bits(little(&after[16..18]) as u16).to_f32(), 2048.0);
    assert_eq!(little(&after[20..24]), total % 1000);
    assert_eq!(little(&after[24..28]), 0);
    assert_eq!(little(&after[32..40]), 3 << 32 | 31);
}

#[test]
fn order_and_scope_are_told_as_fences() {
    let memory = device();
    let buffer = memory.allocate(64, Kind::Device).expect("memory");
    for (modifiers, fences) in [
        ("", vec![]),
        (".relaxed.gpu", vec![]),
        (".acquire.gpu", vec![true]),
        (".release.cta", vec![false]),
        (".acq_rel.sys", vec![true, true]),
    ] {
        let mut machine = Machine::new(&memory);
        machine.set("%rd1", |_| buffer);
        machine.ok(&format!("atom{modifiers}.global.add.u32 %r1, [%rd1], 1;"), ALL);
        assert_eq!(machine.recorder.fences, fences, "{modifiers}");
    }
}

#[test]
fn wrong_atomics_are_named() {
    let memory = device();
    let buffer = memory.allocate(64, Kind::Device).expect("memory");
    let mut machine = Machine::new(&memory);
    for code in [
        "atom.global.add.s8 %r1, [%rd1], %r2;",
        "atom.local.add.u32 %r1, [%rd1], %r2;",
        "atom.const.add.u32 %r1, [%rd1], %r2;",
        "atom.global.inc.s32 %r1, [%rd1], %r2;",
        "atom.global.and.f32 %r1, [%rd1], %r2;",
        "red.global.v4.u32.add [%rd1], {%r1, %r2, %r3, %r4};",
        "atom.volatile.global.add.u32 %r1, [%rd1], %r2;",
    ] {
        let opcode = code.split(' ').next().expect("an opcode");
        let error = machine.decode(code).expect_err(code);
        assert_eq!(error.to_string(), format!("unsupported instruction {opcode}"));
    }
    let error = machine.decode("atom.global.mul.u32 %r1, [%rd1], %r2;").expect_err("no such operation");
    assert_eq!(error.to_string(), "atom.global.mul.u32: lacks an operation; found .global.mul.u32");
    machine.set("%rd1", |lane| buffer + 4 * lane);
    let fault = machine.fault("atom.global.add.u64 %rd2, [%rd1], %rd3;", 0b10);
    assert!(matches!(fault.kind, FaultKind::Misaligned { operation: Operation::Atomic, bytes: 8, .. }));
    let fault = machine.fault("red.global.add.u32 [%rd1], %r1;", ALL);
    assert_eq!(fault.lane, 16);
    assert!(matches!(
        fault.kind,
        FaultKind::OutOfBounds { space: Space::Global, operation: Operation::Reduction, bytes: 4, .. }
    ));
    // Random bits through min and max of 16-bit floating point: the smaller one, or the one that is a number.
    let data = pattern(128, 3);
    for lane in 0..32 {
        let [a, b] = [0, 2].map(|at| f16::from_le_bytes([data[4 * lane + at], data[4 * lane + at + 1]]));
        memory.write(buffer, &a.to_le_bytes()).expect("a range");
        machine.set("%rd1", |_| buffer);
        machine.set("%rs1", |_| u64::from(b.to_bits()));
        machine.ok("red.global.min.noftz.f16 [%rd1], %rs1;", 1);
        let mut after = [0; 2];
        memory.read(buffer, &mut after).expect("a range");
        let expected = if a.is_nan() || b < a { b } else { a };
        let got = f16::from_le_bytes(after);
        assert!(got == expected || got.is_nan() && a.is_nan() && b.is_nan(), "{a} {b} {got}");
    }
}
