//! `cp.async`, bulk copies, and asynchronous stores: what is copied, and who hears of it.

use crate::memory_support::{ALL, Machine, Seen, device, pattern};
use half::f16;
use simt::fault::FaultKind;
use simt::internals::memory::AccessFault;
use simt::memory::{Kind, Memory, TensorElement, TensorMap};
use simt::observe::{Operation, Space};

fn shared(machine: &mut Machine<'_>, offset: u64, bytes: usize) -> Vec<u8> {
    let mut data = vec![0; bytes];
    machine.shared.read(offset, &mut data).expect("a range");
    data
}

#[test]
fn each_lane_copies_its_bytes() {
    let memory = device();
    let data = pattern(4096, 2);
    let buffer = memory.allocate(4096, Kind::Device).expect("memory");
    memory.write(buffer, &data).expect("a range");
    for (opcode, bytes) in [
        ("ca.shared.global", 4_usize),
        ("ca.shared::cta.global", 8),
        ("ca.shared.global.L2::128B", 16),
        ("cg.shared.global", 16),
    ] {
        for mask in [ALL, 0x00FF_0F01] {
            let mut machine = Machine::new(&memory);
            machine.set("%r1", |lane| (31 - lane) * bytes as u64);
            machine.set("%rd1", |lane| buffer + 2 * lane * bytes as u64);
            let before = shared(&mut machine, 0, 1024);
            machine.ok(
                &format!("cp.async.{opcode} [%r1+16], [%rd1+32], {bytes}; cp.async.commit_group; cp.async.wait_group 0; cp.async.wait_all;"),
                mask,
            );
            let after = shared(&mut machine, 0, 1024);
            let mut expected = before;
            for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
                expected[16 + (31 - lane) * bytes..][..bytes]
                    .copy_from_slice(&data[32 + 2 * lane * bytes..][..bytes]);
            }
            assert_eq!(after, expected, "{opcode} {bytes}");
            let seen: Vec<_> = machine
                .recorder
                .seen
                .iter()
                .map(|seen| (seen.space, seen.operation, seen.bytes as usize, seen.active, seen.past_l1))
                .collect();
            let past = opcode.starts_with("cg");
            assert_eq!(
                seen,
                [
                    (Space::Global, Operation::Load, bytes, mask, past),
                    (Space::Shared, Operation::Store, bytes, mask, false)
                ]
            );
        }
    }
}

#[test]
fn what_the_source_has_not_is_zero() {
    let memory = device();
    let data = pattern(64, 2);
    let buffer = memory.allocate(64, Kind::Device).expect("memory");
    memory.write(buffer, &data).expect("a range");
    let mut machine = Machine::new(&memory);
    machine.set("%r1", |lane| 16 * lane);
    machine.set("%r2", |lane| [16, 5, 0, 12][lane as usize % 4]);
    // Lane 2 reads nothing, so its address may be anything.
    machine.set("%rd1", |lane| if lane == 2 { 0xBAD0 } else { buffer + 16 * lane });
    machine.ok("cp.async.cg.shared.global [%r1], [%rd1], 16, %r2;", 0b1111);
    let mut expected = data.clone();
    expected[21..48].fill(0);
    expected[60..].fill(0);
    assert_eq!(shared(&mut machine, 0, 64), expected);
    assert_eq!(machine.recorder.seen[0].active, 0b1011);
    assert_eq!(machine.recorder.seen[1].active, 0b1111);
    // By a predicate: lanes that ignore their source.
    machine.shared.begin(4096);
    machine.set("%p1", |lane| u64::from(lane != 1));
    machine.set("%rd1", |_| buffer);
    machine.ok("cp.async.ca.shared.global.L2::cache_hint [%r1], [%rd1], 4, %p1, %rd2;", 0b11);
    assert_eq!(shared(&mut machine, 0, 4), [0; 4]);
    assert_eq!(shared(&mut machine, 16, 4), data[..4]);
    machine.set("%r2", |_| 17);
    let fault = machine.fault("cp.async.cg.shared.global [%r1], [%rd1], 16, %r2;", 0b10);
    assert_eq!(fault.kind, FaultKind::Illegal("cp.async of 16 bytes with a source of 17".to_owned()));
    for (code, message) in [
        ("cp.async.cg.shared.global [%r1], [%rd1], 8;", "cp.async.cg.shared.global: the size must be 16"),
        (
            "cp.async.ca.shared.global [%r1], [%rd1], 2;",
            "cp.async.ca.shared.global: the size must be 4, 8 or 16",
        ),
        (
            "cp.async.ca.global.shared [%rd1], [%r1], 4;",
            "cp.async.ca.global.shared: lacks .shared before .global; found .global.shared",
        ),
        (
            "cp.sync.ca.shared.global [%r1], [%rd1], 4;",
            "cp.sync.ca.shared.global: lacks .async; found .sync.ca.shared.global",
        ),
    ] {
        assert_eq!(machine.decode(code).expect_err(code).to_string(), message);
    }
}

#[test]
fn copies_are_checked_on_both_sides() {
    let memory = device();
    let buffer = memory.allocate(64, Kind::Device).expect("memory");
    let mut machine = Machine::new(&memory);
    machine.set("%r1", |lane| 4 * lane);
    machine.set("%rd1", |lane| buffer + 4 * lane);
    let fault = machine.fault("cp.async.ca.shared.global [%r1], [%rd1], 4;", ALL);
    assert_eq!(fault.lane, 16);
    assert!(matches!(
        fault.kind,
        FaultKind::OutOfBounds { space: Space::Global, operation: Operation::Load, .. }
    ));
    let fault = machine.fault("cp.async.ca.shared.global [%r1+4096], [%rd1], 4;", 0xF0);
    let kind = FaultKind::OutOfBounds {
        space: Space::Shared,
        operation: Operation::Store,
        address: 4112,
        bytes: 4,
        nearest: None,
    };
    assert_eq!(fault, AccessFault { lane: 4, kind });
    let fault = machine.fault("cp.async.ca.shared.global [%r1], [%rd1], 8;", 0b10);
    assert!(matches!(fault.kind, FaultKind::Misaligned { space: Space::Global, bytes: 8, .. }));
}

/// 1040 bytes: two full warps of 16 bytes a lane and one lane more.
#[test]
fn bulk_copies_come_as_accesses_of_a_warp() {
    let memory = device();
    let data = pattern(2048, 6);
    let buffer = memory.allocate(2048, Kind::Device).expect("memory");
    memory.write(buffer, &data).expect("a range");
    let mut machine = Machine::new(&memory);
    machine.set("%r1", |_| 2048);
    machine.set("%r2", |_| 8);
    machine.set("%rd1", |_| buffer + 16);
    machine.set("%r3", |_| 1040);
    machine.ok(
        "mbarrier.init.shared::cta.b64 [%r2], 1;
         mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], %r3;
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], %r3, [%r2];
         mbarrier.test_wait.parity.shared.b64 %p1, [%r2], 0;",
        1 << 5,
    );
    assert_eq!(machine.get("%p1")[5], 1);
    assert_eq!(shared(&mut machine, 2048, 1040), data[16..1056]);
    let copies: Vec<Seen> = machine.recorder.seen.iter().filter(|seen| seen.bytes == 16).cloned().collect();
    let shapes: Vec<_> =
        copies.iter().map(|seen| (seen.space, seen.operation, seen.active, seen.past_l1)).collect();
    let pair = |active| {
        [(Space::Global, Operation::Load, active, true), (Space::Shared, Operation::Store, active, false)]
    };
    assert_eq!(shapes, [pair(ALL), pair(ALL), pair(1)].concat());
    assert_eq!(copies[2].addresses[1], buffer + 16 + 512 + 16);
    assert_eq!(copies[5].addresses, [2048 + 1024]);
    // And back, in a group.
    memory.fill(buffer, &[0], 2048).expect("a range");
    machine.ok(
        "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%rd1], [%r1], 64, %rd2;
         cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; cp.async.bulk.wait_group 1;",
        1,
    );
    let mut back = vec![0; 96];
    memory.read(buffer, &mut back).expect("a range");
    assert_eq!(back[16..80], data[16..80]);
    assert!(back[..16].iter().chain(&back[80..]).all(|byte| *byte == 0));
    // Only some bytes of each 16.
    machine.ok("cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd1+64], [%r1], 16, 5;", 1);
    memory.read(buffer + 80, &mut back[..16]).expect("a range");
    assert_eq!(back[..4], [data[16], 0, data[18], 0]);
    // From shared to shared memory.
    machine.set("%r4", |_| 64);
    machine.ok(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 32;
         cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r4], [%r1], 32, [%r2];
         mbarrier.test_wait.parity.shared.b64 %p1, [%r2], 1;",
        1,
    );
    assert_eq!(machine.get("%p1")[0], 1);
    assert_eq!(shared(&mut machine, 64, 32), data[16..48]);
}

#[test]
fn bulk_copies_are_checked() {
    let memory = device();
    let buffer = memory.allocate(1024, Kind::Device).expect("memory");
    let mut machine = Machine::new(&memory);
    machine.set("%r1", |_| 0);
    machine.set("%r2", |_| 3072);
    machine.set("%rd1", |_| buffer);
    machine.ok("mbarrier.init.shared.b64 [%r2], 1;", 1);
    let code = |from: &str, to: &str, size: u32| {
        format!(
            "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [{to}], [{from}], {size}, [%r2];"
        )
    };
    let illegal = FaultKind::Illegal("a bulk copy of 24 bytes, no multiple of 16".to_owned());
    assert_eq!(machine.fault(&code("%rd1", "%r1", 24), 4), AccessFault { lane: 2, kind: illegal });
    let fault = machine.fault(&code("%rd1+8", "%r1", 32), 4);
    assert!(matches!(
        fault,
        AccessFault { lane: 2, kind: FaultKind::Misaligned { space: Space::Global, bytes: 16, .. } }
    ));
    let fault = machine.fault(&code("%rd1", "%r1+4", 32), 4);
    assert!(matches!(
        fault,
        AccessFault { lane: 2, kind: FaultKind::Misaligned { space: Space::Shared, .. } }
    ));
    let fault = machine.fault(&code("%rd1+512", "%r1", 528), 4);
    match fault {
        AccessFault {
            lane: 2,
            kind: FaultKind::OutOfBounds { space: Space::Global, address, bytes: 16, .. },
        } => {
            assert_eq!(address, buffer + 1024);
        }
        other => panic!("{other:?}"),
    }
    for code in [
        "cp.async.bulk.shared::cluster.global.bulk_group [%r1], [%rd1], 16;",
        "cp.async.bulk.global.shared::cta.mbarrier::complete_tx::bytes [%rd1], [%r1], 16, [%r2];",
        "cp.async.bulk.global.global.bulk_group [%rd1], [%rd1], 16;",
    ] {
        let opcode = code.split(' ').next().expect("an opcode");
        assert_eq!(
            machine.decode(code).expect_err(code).to_string(),
            format!("unsupported instruction {opcode}")
        );
    }
    let fault = machine.fault(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1], [%rd1], 16, [%r2], 3;",
        1,
    );
    let what = "a multicast to the blocks 0x3 of a cluster of one block".to_owned();
    assert_eq!(fault.kind, FaultKind::Illegal(what));
}

/// A map of 40 x 12 words with boxes of 16 x 8, in global memory: the addresses of the map and of the words.
fn tensor(memory: &Memory) -> (u64, u64) {
    let words = memory.allocate(160 * 12, Kind::Device).expect("memory");
    memory.write(words, &pattern(160 * 12, 7)).expect("a range");
    let map = TensorMap {
        element: TensorElement::U32,
        dimensions: 2,
        address: words,
        sizes: [40, 12, 1, 1, 1],
        strides: [4, 160, 4, 4, 4],
        tile: [16, 8, 1, 1, 1],
        steps: [1; 5],
        span: 64,
        fills_with_nan: false,
    };
    let address = memory.allocate(128, Kind::Device).expect("memory");
    let bytes: Vec<u8> = map.encode().into_iter().flat_map(u64::to_le_bytes).collect();
    memory.write(address, &bytes).expect("a range");
    (address, words)
}

const LOAD_BOX: &str = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r3, %r4}], [%r2];";
const STORE_BOX: &str =
    "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd1, {%r3, %r4}], [%r1];";

/// `cuda_driver`'s `copies_by_tensor_map_move_boxes` tests the bytes that are moved, on GPUs too.
#[test]
fn copies_by_tensor_map_come_as_accesses_of_a_warp() {
    let memory = device();
    let (map, words) = tensor(&memory);
    let mut machine = Machine::new(&memory);
    for (register, value) in [("%rd1", map), ("%r1", 1024), ("%r2", 8), ("%r3", 32), ("%r4", 6)] {
        machine.set(register, |_| value);
    }
    machine.ok(
        &format!(
            "mbarrier.init.shared::cta.b64 [%r2], 1;
             mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 512;
             {LOAD_BOX}
             mbarrier.test_wait.parity.shared.b64 %p1, [%r2], 0;"
        ),
        1 << 3,
    );
    // All bytes count, also those of 8 columns and 2 rows that the array does not have.
    assert_eq!(machine.get("%p1")[3], 1);
    let seen: Vec<_> = machine.recorder.seen.iter().filter(|seen| seen.bytes == 16).collect();
    let shapes: Vec<_> =
        seen.iter().map(|seen| (seen.space, seen.operation, seen.active, seen.past_l1)).collect();
    let of_six_rows = (Space::Global, Operation::Load, 0xFFF, true);
    assert_eq!(shapes, [of_six_rows, (Space::Shared, Operation::Store, ALL, false)]);
    assert_eq!(seen[0].addresses[..3], [words + 6 * 160 + 128, words + 6 * 160 + 144, words + 7 * 160 + 128]);
    // Rows 2 and 3 of the box are in the second line of 128 bytes, where units change places by one.
    assert_eq!(seen[1].addresses[8..12], [0x490, 0x480, 0x4B0, 0x4A0]);
    let data = pattern(160 * 12, 7);
    assert_eq!(shared(&mut machine, 1024, 16), data[6 * 160 + 128..][..16]);
    assert_eq!(
        shared(&mut machine, 0x480, 32),
        [&data[8 * 160 + 144..][..16], &data[8 * 160 + 128..][..16]].concat()
    );
    assert_eq!(shared(&mut machine, 1024 + 32, 32), [0; 32]);
    machine.ok(
        "prefetch.tensormap [%rd1]; cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd1, {%r3, %r4}];",
        1,
    );
}

#[test]
fn copies_by_tensor_map_are_checked() {
    let memory = device();
    let (map, words) = tensor(&memory);
    let mut machine = Machine::new(&memory);
    machine.set("%r2", |_| 8);
    machine.ok("mbarrier.init.shared.b64 [%r2], 1;", 1);
    let mut fault = |code: &str, [map, shared, x, y]: [u64; 4]| {
        for (register, value) in [("%rd1", map), ("%r1", shared), ("%r3", x), ("%r4", y)] {
            machine.set(register, |_| value);
        }
        let AccessFault { lane, kind } = machine.fault(code, 0b100);
        assert_eq!(lane, 2);
        match kind {
            FaultKind::Illegal(what) => what,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        fault(LOAD_BOX, [map, 1024, 3, 0]),
        "a box of a tensor that begins at byte 12 of a row, no multiple of 16: coordinate 3 of .u32"
    );
    assert_eq!(
        fault(STORE_BOX, [map, 1024, 0, u64::from(u32::MAX)]),
        "a copy to a box of a tensor at coordinate -1 in dimension 1: only loads begin before the tensor"
    );
    assert_eq!(
        fault(LOAD_BOX, [map, 1040, 0, 0]),
        "a box of a tensor at 0x410 in shared memory, no multiple of 128 bytes"
    );
    let none = fault(LOAD_BOX, [words, 1024, 0, 0]);
    assert_eq!(
        none,
        format!(
            "a copy by the tensor map at {words:#x}, where there is none: cuTensorMapEncodeTiled makes one"
        )
    );
    let flat = STORE_BOX.replace("2d", "1d").replace("{%r3, %r4}", "{%r3}");
    assert_eq!(
        fault(&flat, [map, 1024, 0, 0]),
        "a copy by a tensor map of 2 dimensions, with coordinates for 1"
    );
}

#[test]
fn bulk_reductions_work_by_element() {
    let memory = device();
    let buffer = memory.allocate(64, Kind::Device).expect("memory");
    let mut machine = Machine::new(&memory);
    machine.set("%r1", |_| 0);
    machine.set("%rd1", |_| buffer);
    let floats = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    memory.write(buffer, &floats(&[1.0, 2.0, 3.0, 4.0])).expect("a range");
    machine.shared.write(0, &floats(&[0.5, -2.0, 10.0, 1e9])).expect("a range");
    machine.ok("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd1], [%r1], 16;", 1);
    let mut after = [0; 16];
    memory.read(buffer, &mut after).expect("a range");
    assert_eq!(after.to_vec(), floats(&[1.5, 0.0, 13.0, 4.0 + 1e9]));
    assert_eq!(machine.recorder.seen[1].operation, Operation::Reduction);
    let halves = |value: f32| f16::from_f32(value).to_le_bytes().repeat(8);
    memory.write(buffer, &halves(2.0)).expect("a range");
    machine.shared.write(0, &halves(0.25)).expect("a range");
    machine.ok("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [%rd1], [%r1], 16;", 1);
    memory.read(buffer, &mut after).expect("a range");
    assert_eq!(after.to_vec(), halves(2.25));
    memory.write(buffer, &[7; 16]).expect("a range");
    machine.shared.write(0, &[9; 16]).expect("a range");
    machine.ok("cp.reduce.async.bulk.global.shared::cta.bulk_group.min.u64 [%rd1], [%r1], 16;", 1);
    memory.read(buffer, &mut after).expect("a range");
    assert_eq!(after, [7; 16]);
}

#[test]
fn asynchronous_stores_count_their_bytes() {
    let memory = device();
    let mut machine = Machine::new(&memory);
    machine.set("%r1", |lane| 256 + 8 * lane);
    machine.set("%r2", |_| 8);
    machine.set("%r3", |lane| lane);
    machine.ok("mbarrier.init.shared.b64 [%r2], 1; mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 68;", 1);
    machine.ok(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%r1], {%r3, 7}, [%r2];",
        0xFF,
    );
    machine.ok("mbarrier.test_wait.parity.shared.b64 %p1, [%r2], 0;", 1);
    assert_eq!(machine.get("%p1")[0], 0);
    machine.ok(
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r1], %r3, [%r2];
         mbarrier.test_wait.parity.shared.b64 %p1, [%r2], 0;",
        1 << 3,
    );
    assert_eq!(machine.get("%p1")[3], 1);
    assert_eq!(shared(&mut machine, 256 + 24, 8), [6, 0, 0, 0, 7, 0, 0, 0]);
    machine.ok("st.bulk.weak.shared::cta [%r1], 32, 0;", 1);
    assert_eq!(shared(&mut machine, 256, 40)[..36], [[0; 32].as_slice(), &[4, 0, 0, 0]].concat());
}
