//! `ld` and `st`: every type, every vector, every space, full and partial warps.

use crate::memory_support::{ALL, Machine, device, little, pattern};
use simt::internals::decode::Level;
use simt::internals::memory::{LOCAL_WINDOW, SHARED_WINDOW};
use simt::memory::Kind;
use simt::observe::Space;

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
