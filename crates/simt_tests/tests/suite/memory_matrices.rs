//! `ldmatrix`: who receives what, which rows are read, and in how many wavefronts.

use crate::memory_support::{ALL, Machine, device, pattern};
use simt::coalescing::Addresses;
use simt::fault::FaultKind;
use simt::internals::coalescing::{Access, BankRule, Request};
use simt::observe::{Operation, Space};

/// A machine whose shared memory holds `data`, and whose lanes name these addresses.
fn machine<'a>(memory: &'a simt::memory::Memory, data: &[u8], row: impl Fn(u64) -> u64) -> Machine<'a> {
    let mut machine = Machine::new(memory);
    machine.shared.write(0, data).expect("a range");
    machine.set("%r1", row);
    machine
}

fn element(data: &[u8], at: u64) -> u64 {
    u64::from(u16::from_le_bytes([data[at as usize], data[at as usize + 1]]))
}

#[test]
fn each_lane_has_two_elements_of_each_matrix() {
    let memory = device();
    let data = pattern(2048, 5);
    // Rows in any order, every second place of 16 bytes.
    let row = |lane: u64| 32 * (lane * 7 % 32);
    for (number, count) in [("x1", 1_u64), ("x2", 2), ("x4", 4)] {
        for transposed in [false, true] {
            let mut machine = machine(&memory, &data, row);
            let registers: Vec<String> = (0..count).map(|nth| format!("%r{}", 10 + nth)).collect();
            let trans = if transposed { ".trans" } else { "" };
            machine.ok(
                &format!(
                    "ldmatrix.sync.aligned.m8n8.{number}{trans}.shared.b16 {{{}}}, [%r1+16];",
                    registers.join(", ")
                ),
                ALL,
            );
            for (nth, register) in registers.iter().enumerate() {
                let found = machine.get(register);
                for lane in 0..32_u64 {
                    let of = |next: u64| {
                        let (line, column) = match transposed {
                            false => (lane / 4, lane % 4 * 2 + next),
                            true => (lane % 4 * 2 + next, lane / 4),
                        };
                        element(&data, 16 + row(8 * nth as u64 + line) + 2 * column)
                    };
                    assert_eq!(found[lane as usize], of(0) | of(1) << 16, "{number}{trans}, lane {lane}");
                }
            }
            let seen = &machine.recorder.seen[..];
            let [seen] = seen else { panic!("{} accesses", seen.len()) };
            let lanes = u32::MAX >> (32 - 8 * count);
            assert_eq!(
                (seen.space, seen.operation, seen.bytes, seen.active),
                (Space::Shared, Operation::Load, 16, lanes)
            );
        }
    }
}

#[test]
fn a_matrix_whose_rows_are_in_different_banks_takes_one_wavefront() {
    let memory = device();
    let data = pattern(4096, 1);
    let wavefronts = |row: &dyn Fn(u64) -> u64| {
        let mut machine = machine(&memory, &data, row);
        machine.ok("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r2, %r3, %r4, %r5}, [%r1];", ALL);
        let seen = &machine.recorder.seen[0];
        let addresses: Addresses = std::array::from_fn(|lane| seen.addresses[lane]);
        let request =
            Request { addresses: &addresses, active: seen.active, bytes: seen.bytes, access: Access::Load };
        let found = BankRule::ThirtyTwo.wavefronts(&request);
        (found.taken, found.ideal)
    };
    // Rows one after the other; rows of 64 bytes as they are, and with their units swizzled; rows of 128 bytes.
    assert_eq!(wavefronts(&|lane| 16 * lane), (4, 4));
    assert_eq!(wavefronts(&|lane| 64 * lane), (16, 4));
    assert_eq!(wavefronts(&|lane| 64 * lane + 16 * (lane / 2 % 4)), (4, 4));
    assert_eq!(wavefronts(&|lane| 128 * lane), (32, 4));
    assert_eq!(wavefronts(&|lane| 128 * lane + 16 * (lane % 8)), (4, 4));
}

#[test]
fn what_no_gpu_does_is_refused() {
    let memory = device();
    let data = pattern(4096, 1);
    let load = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r1];";
    let fault = machine(&memory, &data, |lane| 16 * lane).fault(load, 0x0000_FFFF);
    let says = "ldmatrix by lanes 0x0000ffff of a warp, which all have to execute it together";
    assert_eq!(fault.kind, FaultKind::Illegal(says.to_owned()));
    // Only lanes 0 to 7 give addresses, which are aligned and within shared memory.
    machine(&memory, &data, |lane| if lane < 8 { 16 * lane } else { 1 << 20 }).ok(load, ALL);
    let fault = machine(&memory, &data, |lane| 16 * lane + u64::from(lane == 5) * 8).fault(load, ALL);
    assert_eq!(fault.lane, 5);
    let fault = machine(&memory, &data, |lane| 4096 * (lane / 7)).fault(load, ALL);
    assert_eq!(fault.lane, 7);
    let mut decoder = machine(&memory, &data, |lane| lane);
    let mut refusal = |form: &str| {
        let error = decoder.decode(&format!("ldmatrix.sync.aligned.{form} {{%r2}}, [%r1];"));
        error.expect_err("it is unknown").to_string()
    };
    assert_eq!(
        refusal("m8n8.x3.shared.b16"),
        "ldmatrix.sync.aligned.m8n8.x3.shared.b16: lacks .x1, .x2 or .x4; found .x3.shared.b16"
    );
    for other in ["m8n16.x1.shared.b8x16.b6x16_p32", "m8n8.x1.global.b16"] {
        assert_eq!(refusal(other), format!("unsupported instruction ldmatrix.sync.aligned.{other}"));
    }
    let mut machine = machine(&memory, &data, |lane| lane);
    let error = machine.decode("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r2}, [%r1];");
    assert!(error.expect_err("one register").to_string().ends_with("2 elements are wanted, 1 given"));
}

#[test]
fn undefined_rows_make_their_receivers_undefined() {
    let memory = device();
    let data = pattern(4096, 1);
    for (code, undefined, receivers) in [
        // Row 2 of the first matrix goes to lanes 8 to 11, row 1 of the second to 4 to 7.
        ("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r2, %r3}, [%r1];", 1 << 2 | 1 << 9, 0x0000_0FF0),
        // Rows 2 and 3 as columns: to the second lane of each four.
        ("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r2}, [%r1];", 1 << 2, 0x2222_2222),
    ] {
        let mut machine = machine(&memory, &data, |lane| 16 * lane);
        machine.recorder.undefined = undefined;
        machine.ok(code, ALL);
        assert_eq!(machine.undefined, receivers, "{code}");
    }
}
