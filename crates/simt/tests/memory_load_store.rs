//! `ld` and `st`: every type, every vector, every space, full and partial warps.

mod memory_support;

use memory_support::{ALL, Machine, device, pattern};
use proptest::prelude::*;
use simt::decode::Level;
use simt::fault::{FaultKind, Nearest, Place};
use simt::memory::{AccessFault, Kind, LOCAL_WINDOW, Memory, SHARED_POISON, SHARED_WINDOW};
use simt::observe::{Operation, Space};

const MASKS: [u32; 6] = [ALL, 1, 1 << 31, 0x0000_FFFF, 0xAAAA_AAAA, 0x8001_0420];

const LEVELS: [Level; 2] = [Level::Portable, Level::Avx2];

fn levels() -> impl Iterator<Item = Level> {
    LEVELS.into_iter().filter(|level| *level == Level::Portable || Level::detect() == *level)
}

/// Type, size, and what a register of so many bits holds of an element.
fn extended(scalar: &str, element: u64, register_bits: u32) -> u64 {
    let size = scalar[1..].parse::<u32>().expect("a size");
    if !scalar.starts_with('s') || size >= register_bits {
        return element;
    }
    let signed = ((element << (64 - size)) as i64 >> (64 - size)) as u64;
    if register_bits == 64 { signed } else { signed & ((1 << register_bits) - 1) }
}

fn little(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// How the lanes' addresses lie: a row, a row with a stride, backwards, all the same, scattered.
fn offsets(bytes: u64) -> Vec<[u64; 32]> {
    let at = |offset: fn(u64) -> u64| std::array::from_fn(|lane| offset(lane as u64) * bytes);
    vec![at(|lane| lane), at(|lane| 3 * lane), at(|lane| 31 - lane), at(|_| 5), at(|lane| lane * 37 % 97)]
}

#[test]
fn loads_give_what_memory_has() {
    let memory = device();
    let data = pattern(8192, 1);
    let buffer = memory.allocate(8192, Kind::Device).expect("memory");
    memory.write(buffer, &data).expect("a range");
    for level in levels() {
        let mut machine = Machine::new(&memory);
        machine.level = level;
        machine.shared.begin(8192);
        machine.shared.write(0, &data).expect("a range");
        let mut checked = 0;
        for (scalar, size) in [
            ("b8", 1),
            ("u8", 1),
            ("s8", 1),
            ("b16", 2),
            ("u16", 2),
            ("s16", 2),
            ("b32", 4),
            ("u32", 4),
            ("s32", 4),
            ("f32", 4),
            ("b64", 8),
            ("u64", 8),
            ("s64", 8),
            ("f64", 8),
        ] {
            for (prefix, bits) in [("%rs", 16), ("%r", 32), ("%rd1", 64)] {
                if bits < size * 8 || scalar.starts_with('f') && bits as u64 != size as u64 * 8 {
                    continue;
                }
                for count in [1_usize, 2, 4, 8] {
                    let bytes = size as usize * count;
                    if bytes > 32 || count == 8 && size == 8 {
                        continue;
                    }
                    let names: Vec<String> = (0..count).map(|index| format!("{prefix}{index}")).collect();
                    let operand =
                        if count == 1 { names[0].clone() } else { format!("{{{}}}", names.join(", ")) };
                    let vector = if count == 1 { String::new() } else { format!(".v{count}") };
                    for (row, offset) in offsets(bytes as u64).into_iter().enumerate() {
                        let mask = MASKS[(checked + row) % MASKS.len()];
                        for (space, origin) in
                            [(".global", buffer), ("", buffer), (".shared", 0), ("", SHARED_WINDOW)]
                        {
                            machine.set("%rd31", |lane| origin + 64 + offset[lane as usize] - 32);
                            names.iter().for_each(|name| machine.set(name, |lane| 0x77 + lane));
                            machine.ok(&format!("ld{space}{vector}.{scalar} {operand}, [%rd31+-32];"), mask);
                            for (index, name) in names.iter().enumerate() {
                                let got = machine.get(name);
                                for lane in 0..32 {
                                    let start = offset[lane] as usize + index * size as usize;
                                    let element = little(&data[start..start + size as usize]);
                                    let expected = if mask >> lane & 1 == 1 {
                                        extended(scalar, element, bits as u32)
                                    } else {
                                        0x77 + lane as u64
                                    };
                                    assert_eq!(
                                        got[lane], expected,
                                        "{level:?} ld{space}{vector}.{scalar} {name} lane {lane} row {row}"
                                    );
                                }
                            }
                        }
                        checked += 1;
                    }
                }
            }
        }
        assert!(checked > 200, "{checked}");
    }
}

#[test]
fn stores_change_just_their_bytes() {
    let memory = device();
    let buffer = memory.allocate(8192, Kind::Device).expect("memory");
    for level in levels() {
        let mut machine = Machine::new(&memory);
        machine.level = level;
        machine.shared.begin(8192);
        let mut round = 0;
        for (scalar, size) in [("b8", 1), ("u16", 2), ("b32", 4), ("f32", 4), ("s64", 8), ("f64", 8)] {
            for (prefix, bits) in [("%rs", 16), ("%r", 32), ("%rd1", 64)] {
                if bits < size * 8 || scalar.starts_with('f') && bits != size * 8 {
                    continue;
                }
                for count in [1_usize, 2, 4, 8] {
                    let bytes = size * count;
                    if bytes > 32 || count == 8 && size == 8 {
                        continue;
                    }
                    let names: Vec<String> = (0..count).map(|index| format!("{prefix}{index}")).collect();
                    let operand =
                        if count == 1 { names[0].clone() } else { format!("{{{}}}", names.join(", ")) };
                    let vector = if count == 1 { String::new() } else { format!(".v{count}") };
                    for offset in offsets(bytes as u64) {
                        round += 1;
                        let mask = MASKS[round % MASKS.len()];
                        let values = pattern(32 * 64, round as u64);
                        let value = |lane: u64, index: usize| {
                            let full = little(&values[lane as usize * 64 + index * 8..][..8]);
                            if bits == 64 { full } else { full & ((1 << bits) - 1) }
                        };
                        for (index, name) in names.iter().enumerate() {
                            machine.set(name, |lane| value(lane, index));
                        }
                        let before = pattern(8192, 99);
                        let mut expected = before.clone();
                        for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
                            for index in 0..count {
                                let start = 64 + offset[lane] as usize + index * size;
                                expected[start..start + size]
                                    .copy_from_slice(&value(lane as u64, index).to_le_bytes()[..size]);
                            }
                        }
                        for (space, origin) in
                            [(".global", buffer), ("", buffer), (".shared", 0), ("", SHARED_WINDOW)]
                        {
                            memory.write(buffer, &before).expect("a range");
                            machine.shared.write(0, &before).expect("a range");
                            machine.set("%rd31", |lane| origin + offset[lane as usize]);
                            machine.ok(&format!("st{space}{vector}.{scalar} [%rd31+64], {operand};"), mask);
                            let mut after = vec![0; 8192];
                            if origin == buffer {
                                memory.read(buffer, &mut after).expect("a range");
                            } else {
                                machine.shared.read(0, &mut after).expect("a range");
                            }
                            assert!(
                                after == expected,
                                "{level:?} st{space}{vector}.{scalar} {prefix} {offset:?}"
                            );
                        }
                    }
                }
            }
        }
        assert!(round > 100, "{round}");
    }
}

#[test]
fn sixteen_bytes_go_through_a_128_bit_register() {
    let memory = device();
    let buffer = memory.allocate(2048, Kind::Device).expect("memory");
    for level in levels() {
        for stride in [16, 48] {
            let mut machine = Machine::new(&memory);
            machine.level = level;
            let value = |lane: u64| u128::from(lane + 1) << 100 | u128::from(lane) << 60 | 7;
            machine.set("%rd1", |lane| buffer + stride * lane);
            machine.set_128("%rq0", value);
            machine.set_128("%rq1", |_| 0);
            machine.ok("st.global.b128 [%rd1], %rq0; ld.global.b128 %rq1, [%rd1];", 0xFFFF_0FFF);
            let expected = |lane: u64| if (12..16).contains(&lane) { 0 } else { value(lane) };
            assert_eq!(machine.get_128("%rq1"), std::array::from_fn(|lane| expected(lane as u64)));
            machine.ok("ld.global.v2.b64 {%rd2, %rd3}, [%rd1];", 1 << 31);
            assert_eq!(machine.get("%rd2")[31], value(31) as u64);
            assert_eq!(machine.get("%rd3")[31], (value(31) >> 64) as u64);
        }
    }
}

#[test]
fn vector_registers_and_sinks_are_elements() {
    let memory = device();
    let buffer = memory.allocate(512, Kind::Device).expect("memory");
    let data = pattern(512, 4);
    memory.write(buffer, &data).expect("a range");
    let mut machine = Machine::new(&memory);
    machine.set("%rd1", |lane| buffer + 16 * lane);
    machine.ok("ld.global.v4.f32 %vf, [%rd1]; ld.global.v4.b32 {_, %r1, _, %r2}, [%rd1];", ALL);
    for (name, element) in [("%vf.x", 0), ("%vf.w", 3), ("%r1", 1), ("%r2", 3)] {
        let expected = |lane: usize| little(&data[16 * lane + 4 * element..][..4]);
        assert_eq!(machine.get(name), std::array::from_fn(expected), "{name}");
    }
    machine.ok("st.global.v2.b32 [%rd1], {7, %r2};", 2);
    let mut two = [0; 8];
    memory.read(buffer + 16, &mut two).expect("a range");
    assert_eq!(little(&two[..4]), 7);
    assert_eq!(two[4..], data[28..32]);
}

#[test]
fn local_memory_is_each_lane_s_own() {
    let memory = device();
    for generic in [false, true] {
        for (scalar, size, registers) in
            [("b8", 1, "%r1"), ("b16", 2, "%r1"), ("b32", 4, "%r1"), ("b64", 8, "%rd2")]
        {
            for spread in [0_u64, 1] {
                let mut machine = Machine::new(&memory);
                let (space, origin) = if generic { ("", LOCAL_WINDOW) } else { (".local", 0) };
                machine.set("%rd1", |lane| origin + 64 + spread * size * (lane % 16));
                let bits = 8 * size as u32;
                let value = |lane: u64| (lane * 0x0101_0101_0303_0501 + 9) & (u64::MAX >> (64 - bits));
                machine.set(registers, value);
                machine.ok(&format!("st{space}.{scalar} [%rd1], {registers};"), 0xFFFF_FFFE);
                machine.set(registers, |_| 0);
                machine.ok(&format!("ld{space}.{scalar} {registers}, [%rd1];"), ALL);
                let expected = |lane: usize| if lane == 0 { 0 } else { value(lane as u64) };
                assert_eq!(
                    machine.get(registers),
                    std::array::from_fn(expected),
                    "{space} {scalar} {spread}"
                );
                let mut bytes = [0; 8];
                let at = 64 + spread * size * 9;
                machine.local.read(9, at, &mut bytes[..size as usize]).expect("a range");
                assert_eq!(little(&bytes), value(9));
            }
        }
    }
    let mut machine = Machine::new(&memory);
    machine.set("%rd1", |lane| 32 * (lane % 2));
    (0..4).for_each(|index| machine.set(&format!("%r{index}"), |lane| lane * 10 + index));
    machine
        .ok("st.local.v4.b32 [%rd1+16], {%r0, %r1, %r2, %r3}; ld.local.v2.b64 {%rd2, %rd3}, [%rd1+16];", ALL);
    assert_eq!(
        machine.get("%rd3"),
        std::array::from_fn(|lane| (lane as u64 * 10 + 3) << 32 | (lane as u64 * 10 + 2))
    );
    machine.local.grow(512);
    machine.set("%rd1", |_| 16);
    machine.ok("ld.local.b32 %r9, [%rd1];", ALL);
    assert_eq!(machine.get("%r9")[4], 40);
    assert_eq!(machine.get("%r9")[5], 0);
}

/// Of three lanes one is in shared, one in local, one in global memory: each goes its way, and the observer hears of
/// each.
#[test]
fn generic_addresses_may_be_mixed() {
    let memory = device();
    let buffer = memory.allocate(256, Kind::Device).expect("memory");
    memory.write(buffer, &pattern(256, 5)).expect("a range");
    let mut machine = Machine::new(&memory);
    machine.set("%rd1", |lane| match lane % 3 {
        0 => SHARED_WINDOW + 4 * lane,
        1 => LOCAL_WINDOW + 128,
        _ => buffer + 4 * lane,
    });
    machine.set("%r1", |lane| 1000 + lane);
    machine.ok("st.b32 [%rd1], %r1; ld.b32 %r2, [%rd1];", 0x7FFF_FFFF);
    let expected = |lane: usize| if lane == 31 { 0 } else { 1000 + lane as u64 };
    assert_eq!(machine.get("%r2"), std::array::from_fn(expected));
    let seen = &machine.recorder.seen;
    assert_eq!(seen.len(), 6);
    let lanes_of =
        |rest: u32| (0..31).filter(|lane| lane % 3 == rest).fold(0, |lanes, lane| lanes | 1 << lane);
    for (access, (space, rest)) in
        seen.iter().zip([(Space::Global, 2), (Space::Shared, 0), (Space::Local, 1)].into_iter().cycle())
    {
        assert_eq!((access.space, access.active), (space, lanes_of(rest)));
    }
    assert_eq!(seen[0].addresses[0], buffer + 8);
    assert_eq!(seen[1].addresses[..2], [0, 12]);
    assert_eq!(seen[2].addresses[..2], [128, 128]);
    let mut word = [0; 4];
    machine.local.read(4, 128, &mut word).expect("a range");
    assert_eq!(u32::from_le_bytes(word), 1004);
}

/// The lowest lane that is wrong is reported, whatever the space that it is wrong in, and nothing is stored.
#[test]
fn mixed_addresses_fault_at_the_lowest_lane_before_anything_is_done() {
    let memory = device();
    let buffer = memory.allocate(128, Kind::Device).expect("memory");
    memory.fill(buffer, &[0], 128).expect("a range");
    let mut machine = Machine::new(&memory);
    machine.set("%r1", |_| 1);
    machine.set("%rd1", |lane| match lane {
        0..4 => buffer + 4 * lane,
        7 => LOCAL_WINDOW + 256,
        9 => SHARED_WINDOW + 4096,
        _ => buffer + 1,
    });
    let fault = machine.fault("st.b32 [%rd1], %r1;", 0b10_1000_0111);
    let kind = FaultKind::OutOfBounds {
        space: Space::Local,
        operation: Operation::Store,
        address: 256,
        bytes: 4,
        nearest: None,
    };
    assert_eq!(fault, AccessFault { lane: 7, kind });
    let fault = machine.fault("st.b32 [%rd1], %r1;", 0b10_1010_0111);
    let kind = FaultKind::Misaligned {
        space: Space::Global,
        operation: Operation::Store,
        address: buffer + 1,
        bytes: 4,
    };
    assert_eq!(fault, AccessFault { lane: 5, kind });
    let mut after = [1; 128];
    memory.read(buffer, &mut after).expect("a range");
    assert_eq!(after, [0; 128]);
    assert!(machine.recorder.seen.is_empty());
}

fn global_fault(memory: &Memory, machine: &mut Machine<'_>, address: u64, scalar: &str, bytes: u32) {
    machine.set("%rd1", |lane| if lane == 17 { address } else { memory.allocations()[0].address });
    for warm in [false, true] {
        if warm {
            // The same site has been right before: the cache must not let it pass.
            machine.ok(&format!("ld.global.{scalar} %rd2, [%rd1];"), 1);
        }
        let fault = machine.fault(&format!("ld.global.{scalar} %rd2, [%rd1];"), 0xFFFF_FF00);
        let nearest = memory.nearest(address, u64::from(bytes));
        let kind = FaultKind::OutOfBounds {
            space: Space::Global,
            operation: Operation::Load,
            address,
            bytes,
            nearest,
        };
        assert_eq!(fault, AccessFault { lane: 17, kind }, "{scalar} at {address:#x}");
    }
}

#[test]
fn one_byte_outside_is_outside() {
    let memory = device();
    let buffer = memory.allocate(100, Kind::Device).expect("memory");
    let other = memory.allocate(64, Kind::Device).expect("memory");
    assert!(other >= buffer + 100 + 256);
    let mut machine = Machine::new(&memory);
    global_fault(&memory, &mut machine, buffer - 1, "b8", 1);
    global_fault(&memory, &mut machine, buffer + 100, "b8", 1);
    global_fault(&memory, &mut machine, buffer - 4, "b32", 4);
    global_fault(&memory, &mut machine, buffer + 100, "b32", 4);
    // Begins within, ends outside.
    global_fault(&memory, &mut machine, buffer + 96, "b64", 8);
    global_fault(&memory, &mut machine, 0, "b32", 4);
    global_fault(&memory, &mut machine, u64::MAX - 3, "b32", 4);
    global_fault(&memory, &mut machine, SHARED_WINDOW, "b32", 4);
    for (address, place) in [
        (buffer - 4, Place::Before(4)),
        (buffer + 96, Place::Inside(96)),
        (buffer + 100, Place::After(1)),
        (buffer + 163, Place::After(64)),
    ] {
        let nearest = Nearest { address: buffer, bytes: 100, place, freed: false };
        assert_eq!(memory.nearest(address, 8), Some(nearest));
    }
    // The last bytes are within.
    machine.set("%rd1", |lane| buffer + 96 - 4 * (lane % 25));
    machine.ok("ld.global.b32 %r1, [%rd1];", ALL);
    // A whole row that runs over the end.
    machine.set("%rd1", |lane| buffer + 4 * lane);
    let fault = machine.fault("st.global.b32 [%rd1], %r1;", ALL);
    assert_eq!(fault.lane, 25);
    // A row that wraps around the end of all addresses.
    machine.set("%rd1", |lane| (buffer + 4 * lane).wrapping_sub(buffer + 64));
    assert_eq!(machine.fault("ld.global.b32 %r1, [%rd1];", ALL).lane, 0);
}

#[test]
fn what_has_been_freed_is_named() {
    let memory = device();
    let buffer = memory.allocate(128, Kind::Device).expect("memory");
    let mut machine = Machine::new(&memory);
    machine.set("%rd1", |lane| buffer + 4 * lane);
    machine.ok("ld.global.b32 %r1, [%rd1];", ALL);
    memory.free(buffer).expect("allocated");
    for _ in 0..100 {
        // Addresses are not used again soon.
        let other = memory.allocate(128, Kind::Device).expect("memory");
        assert_ne!(other, buffer);
        memory.free(other).expect("allocated");
    }
    for space in [".global", ""] {
        let fault = machine.fault(&format!("ld{space}.b32 %r1, [%rd1];"), 0xFFFF_FFF0);
        let nearest = Nearest { address: buffer, bytes: 128, place: Place::Inside(16), freed: true };
        let kind = FaultKind::OutOfBounds {
            space: Space::Global,
            operation: Operation::Load,
            address: buffer + 16,
            bytes: 4,
            nearest: Some(nearest),
        };
        assert_eq!(fault, AccessFault { lane: 4, kind });
    }
}

#[test]
fn addresses_are_multiples_of_the_access() {
    let memory = device();
    let buffer = memory.allocate(4096, Kind::Device).expect("memory");
    for (opcode, operand, bytes) in [
        ("b16", "%r1", 2),
        ("b32", "%r1", 4),
        ("b64", "%rd2", 8),
        ("v2.b8", "{%r1, %r2}", 2),
        ("v4.b8", "{%r1, %r2, %r3, %r4}", 4),
        ("v2.b16", "{%r1, %r2}", 4),
        ("v2.b32", "{%r1, %r2}", 8),
        ("v4.b32", "{%r1, %r2, %r3, %r4}", 16),
        ("v2.b64", "{%rd2, %rd3}", 16),
        ("b128", "%rq1", 16),
        ("v8.b32", "{%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}", 32),
    ] {
        for (space, origin, kind) in [
            (".global", buffer, Space::Global),
            ("", buffer, Space::Global),
            (".shared", 0, Space::Shared),
            ("", SHARED_WINDOW, Space::Shared),
            (".local", 0, Space::Local),
            ("", LOCAL_WINDOW, Space::Local),
        ] {
            for wrong in [1, bytes / 2, bytes + 1] {
                let mut machine = Machine::new(&memory);
                machine.set("%rd1", |lane| origin + if lane == 3 { wrong } else { 0 });
                let load = format!("ld{space}.{opcode} {operand}, [%rd1];");
                machine.ok(&load, 0b111);
                let fault = machine.fault(&format!("st{space}.{opcode} [%rd1], {operand};"), ALL);
                let bytes = bytes as u32;
                let (space, operation) = (kind, Operation::Store);
                let address = if kind == Space::Global { buffer + wrong } else { wrong };
                let kind = FaultKind::Misaligned { space, operation, address, bytes };
                assert_eq!(fault, AccessFault { lane: 3, kind }, "{opcode} {wrong}");
                // All lanes, in a row.
                machine.set("%rd1", |lane| origin + wrong + u64::from(bytes) * (lane % 4));
                assert_eq!(machine.fault(&load, ALL).lane, 0);
            }
        }
    }
}

#[test]
fn shared_and_local_memory_end_where_they_end() {
    let memory = device();
    let mut machine = Machine::new(&memory);
    machine.shared.begin(1001);
    for (space, origin, name, last, limit) in [
        (".shared", 0, Space::Shared, 996, 1000),
        ("", SHARED_WINDOW, Space::Shared, 996, 1000),
        (".local", 0, Space::Local, 252, 256),
        ("", LOCAL_WINDOW, Space::Local, 252, 256),
    ] {
        machine.set("%rd1", |_| origin + last);
        machine.ok(&format!("ld{space}.b32 %r1, [%rd1];"), ALL);
        for address in [limit, 0xFFF0] {
            machine.set("%rd1", |lane| origin + if lane >= 2 { address } else { 0 });
            let fault = machine.fault(&format!("ld{space}.b32 %r1, [%rd1];"), ALL);
            let operation = Operation::Load;
            let kind = FaultKind::OutOfBounds { space: name, operation, address, bytes: 4, nearest: None };
            assert_eq!(fault, AccessFault { lane: 2, kind });
        }
    }
    // In 32 bits, sums wrap around: a base below 0 is brought back by an offset.
    machine.shared.write(12, &[1, 2, 3, 4]).expect("a range");
    machine.set("%r1", |_| 0xFFFF_FFFC);
    machine.ok("ld.shared.b32 %r2, [%r1+16];", ALL);
    assert_eq!(machine.get("%r2"), [0x0403_0201; 32]);
    assert_eq!(machine.fault("ld.shared.b32 %r2, [%r1];", ALL).lane, 0);
    machine.ok("ld.shared.b32 %r2, [12];", 1);
    assert_eq!(machine.get("%r2")[0], 0x0403_0201);
    // A block begins with poison.
    machine.shared.begin(64);
    machine.set("%r1", |lane| lane % 16 * 4);
    machine.ok("ld.shared.u32 %r2, [%r1];", ALL);
    assert_eq!(machine.get("%r2"), [u64::from(SHARED_POISON); 32]);
}

#[test]
fn constants_are_only_read() {
    let memory = device();
    let constant = memory.allocate(64, Kind::Constant).expect("memory");
    let parameters = memory.allocate(64, Kind::Parameters).expect("memory");
    let buffer = memory.allocate(64, Kind::Device).expect("memory");
    memory.write(constant, &7_u32.to_le_bytes()).expect("a range");
    let mut machine = Machine::new(&memory);
    machine.set("%rd1", |_| constant);
    machine.ok("ld.const.u32 %r1, [%rd1]; ld.u32 %r2, [%rd1];", ALL);
    assert_eq!(machine.get("%r1"), [7; 32]);
    assert_eq!(machine.recorder.seen[0].space, Space::Constant);
    assert_eq!(machine.recorder.seen[1].space, Space::Global);
    for address in [constant, parameters] {
        machine.set("%rd1", |lane| if lane == 6 { address } else { buffer });
        for store in ["st.global.b32 [%rd1], %r1;", "st.b32 [%rd1], %r1;", "red.global.add.u32 [%rd1], %r1;"]
        {
            let fault = machine.fault(store, ALL);
            assert_eq!(
                fault,
                AccessFault { lane: 6, kind: FaultKind::ReadOnly { address, bytes: 4 } },
                "{store}"
            );
        }
    }
    machine.set("%rd1", |_| buffer);
    let fault = machine.fault("ld.const.b32 %r1, [%rd1];", 0b100);
    assert!(matches!(fault.kind, FaultKind::OutOfBounds { space: Space::Constant, .. }), "{fault:?}");
}

#[test]
fn modifiers_say_what_the_observer_is_told() {
    let memory = device();
    let buffer = memory.allocate(128, Kind::Device).expect("memory");
    // (read only, past L1, strong, fences)
    for (modifiers, expected) in [
        ("", (false, false, false, 0)),
        (".weak", (false, false, false, 0)),
        (".ca", (false, false, false, 0)),
        (".cs", (false, false, false, 0)),
        (".lu", (false, false, false, 0)),
        (".cg", (false, true, false, 0)),
        (".cv", (false, true, false, 0)),
        (".nc", (true, false, false, 0)),
        (".nc.L1::no_allocate.L2::128B", (true, false, false, 0)),
        (".L1::evict_last", (false, false, false, 0)),
        (".L2::64B", (false, false, false, 0)),
    ] {
        let mut machine = Machine::new(&memory);
        machine.set("%rd1", |lane| buffer + 4 * lane);
        machine.ok(&format!("ld.global{modifiers}.b32 %r1, [%rd1];"), ALL);
        let seen = &machine.recorder.seen[0];
        let found = (seen.read_only, seen.past_l1, seen.strong, machine.recorder.fences.len());
        assert_eq!(found, expected, "{modifiers}");
    }
    for (opcode, expected) in [
        ("ld.volatile.global", (false, true, true, 0)),
        ("ld.relaxed.cta.global", (false, false, true, 0)),
        ("ld.relaxed.gpu.global", (false, true, true, 0)),
        ("ld.relaxed.sys", (false, true, true, 0)),
        ("ld.acquire.gpu.global", (false, true, true, 1)),
        ("ld.mmio.relaxed.sys.global", (false, true, true, 0)),
        ("st.volatile", (false, true, true, 0)),
        ("st.relaxed.sys.global", (false, true, true, 0)),
        ("st.release.gpu.global", (false, true, true, 1)),
        ("st.global.cg", (false, true, false, 0)),
        ("st.global.wb", (false, false, false, 0)),
        ("st.global.cs", (false, false, false, 0)),
        ("st.global.wt", (false, true, false, 0)),
    ] {
        let mut machine = Machine::new(&memory);
        machine.set("%rd1", |lane| buffer + 4 * lane);
        let operands = if opcode.starts_with("ld") { "%r1, [%rd1]" } else { "[%rd1], %r1" };
        machine.ok(&format!("{opcode}.b32 {operands};"), ALL);
        let seen = &machine.recorder.seen[0];
        let found = (seen.read_only, seen.past_l1, seen.strong, machine.recorder.fences.len());
        assert_eq!(found, expected, "{opcode}");
        assert_eq!(seen.addresses, Vec::from_iter((0..32).map(|lane| buffer + 4 * lane)));
        assert_eq!((seen.bytes, seen.active, seen.space), (4, ALL, Space::Global));
    }
    let mut machine = Machine::new(&memory);
    machine.set("%rd1", |lane| buffer + 4 * lane);
    machine.ok("ld.global.L2::cache_hint.b32 %r1, [%rd1], %rd2; st.global.L1::no_allocate.L2::cache_hint.b32 [%rd1], %r1, %rd2; ldu.global.b32 %r1, [%rd1];", ALL);
}

#[test]
fn what_cannot_be_decoded_says_why() {
    let memory = device();
    let mut machine = Machine::new(&memory);
    for (code, message) in [
        ("ld.global.wrong.b32 %r1, [%rd1];", "unsupported instruction ld.global.wrong.b32"),
        ("ld.release.gpu.b32 %r1, [%rd1];", "unsupported instruction ld.release.gpu.b32"),
        ("st.const.b32 [%rd1], %r1;", "unsupported instruction st.const.b32"),
        ("st.acquire.gpu.b32 [%rd1], %r1;", "unsupported instruction st.acquire.gpu.b32"),
        (
            "ld.global.v8.b64 {%rd1, %rd2, %rd3, %rd4, %rd5, %rd6, %rd7, %rd8}, [%rd1];",
            "unsupported instruction ld.global.v8.b64",
        ),
        ("ld.global.v4.b32 {%r1, %r2}, [%rd1];", "ld.global.v4.b32: 4 elements are wanted, 2 given"),
        ("ld.global.b32 %r1, [%rd1], %rd2;", "ld.global.b32: 3 operands, 2 at most"),
        ("ld.global.b32 %r1;", "ld.global.b32: operand 2 is missing; there are 1"),
        ("ld.global.b32 %r1, %rd1;", "ld.global.b32: operand 2 is no address"),
        (
            "atom.global.add.u64 %r1, [%rd1], %rd1;",
            "atom.global.add.u64: a register is Word wide, too narrow for .u64",
        ),
        (
            "multimem.ld_reduce.global.add.f32 %r1, [%rd1];",
            "unsupported instruction multimem.ld_reduce.global.add.f32",
        ),
        (
            "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], [%r2];",
            "unsupported instruction cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes",
        ),
    ] {
        let error = machine.decode(code).expect_err(code);
        assert_eq!(error.to_string(), message, "{code}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever the lanes' addresses, a load gives each lane its bytes or names the first lane that may not have them.
    #[test]
    fn loads_agree_with_a_plain_model(
        offsets in proptest::collection::vec(-40_i64..340, 32),
        mask in 1_u32..,
        size in 0_u32..4,
        row in any::<bool>(),
        portable in any::<bool>(),
    ) {
        let memory = device();
        let data = pattern(300, 8);
        let buffer = memory.allocate(300, Kind::Device).expect("memory");
        memory.write(buffer, &data).expect("a range");
        let bytes = 1_i64 << size;
        let at = |lane: usize| if row {
            (offsets[0] & !(bytes - 1)) + lane as i64 * bytes
        } else {
            // Mostly aligned.
            if offsets[lane] % 7 == 0 { offsets[lane] } else { offsets[lane] & !(bytes - 1) }
        };
        let mut machine = Machine::new(&memory);
        machine.level = if portable { Level::Portable } else { Level::detect() };
        machine.set("%rd1", |lane| buffer.wrapping_add_signed(at(lane as usize)));
        machine.set("%rd2", |lane| lane);
        let wrong = (0..32).filter(|lane| mask >> lane & 1 == 1).find(|lane| {
            at(*lane) % bytes != 0 || at(*lane) < 0 || at(*lane) + bytes > 300
        });
        let result = machine.run(&format!("ld.global.b{} %rd2, [%rd1];", 8 * bytes), mask);
        match (wrong, result) {
            (Some(lane), Err(fault)) => {
                prop_assert_eq!(fault.lane as usize, lane);
                prop_assert_eq!(matches!(fault.kind, FaultKind::Misaligned { .. }), at(lane) % bytes != 0);
            }
            (None, Ok(_)) => {
                let got = machine.get("%rd2");
                for lane in 0..32 {
                    let expected = if mask >> lane & 1 == 1 {
                        little(&data[at(lane) as usize..][..bytes as usize])
                    } else {
                        lane as u64
                    };
                    prop_assert_eq!(got[lane], expected);
                }
            }
            (wrong, result) => prop_assert!(false, "{wrong:?} {result:?}"),
        }
    }
}
