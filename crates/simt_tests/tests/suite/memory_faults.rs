//! What loads and stores may not do, and how it is reported.

use crate::memory_support::{ALL, Machine, device, little, pattern};
use proptest::prelude::*;
use simt::fault::{FaultKind, Nearest, Place};
use simt::internals::decode::Level;
use simt::internals::memory::{AccessFault, LOCAL_WINDOW, SHARED_POISON, SHARED_WINDOW};
use simt::memory::{Kind, Memory};
use simt::observe::{Operation, Space};

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
