//! The device's memory as the host sees it: allocating, freeing, reading, writing, and what goes wrong.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::memory_support::{ALL, Machine, device, pattern};
use proptest::prelude::*;
use simt::fault::{FaultKind, Nearest, Place};
use simt::internals::memory::{LOCAL_WINDOW, SHARED_WINDOW, WINDOW_BYTES};
use simt::memory::{FreeError, Kind, Memory, MemoryError, RangeError};

#[test]
fn allocations_are_aligned_apart_and_found() {
    let memory = device();
    let mut ends = Vec::new();
    for (bytes, alignment) in
        [(1, 256), (255, 256), (256, 256), (70_000, 256), (1 << 20, 2 << 20), (5 << 20, 2 << 20)]
    {
        let address = memory.allocate(bytes, Kind::Device).expect("memory");
        assert_eq!(address % alignment, 0, "{bytes}");
        for probe in [address, address + bytes / 2, address + bytes - 1] {
            let found = memory.find(probe).expect("an allocation");
            assert_eq!((found.address, found.bytes, found.kind), (address, bytes, Kind::Device));
        }
        for probe in [address - 1, address - 256, address + bytes, address + bytes + 255] {
            assert_eq!(memory.find(probe), None, "{bytes}");
        }
        assert!(address + bytes < SHARED_WINDOW && SHARED_WINDOW + WINDOW_BYTES <= LOCAL_WINDOW);
        ends.push((address, bytes));
    }
    let listed: Vec<_> = memory.allocations().iter().map(|found| (found.address, found.bytes)).collect();
    assert_eq!(listed, ends);
    let ids: Vec<_> = memory.allocations().iter().map(|found| found.id).collect();
    assert_eq!(ids, [1, 2, 3, 4, 5, 6]);
    assert_eq!(memory.used(), ends.iter().map(|(_, bytes)| bytes).sum::<u64>());
    assert_eq!(memory.capacity(), 1 << 30);
}

#[test]
fn capacity_is_the_device_s_alone() {
    let memory = Memory::new(1 << 20).expect("address space");
    let first = memory.allocate(900 << 10, Kind::Device).expect("memory");
    match memory.allocate(200 << 10, Kind::Module) {
        Err(MemoryError::OutOfMemory { wanted, used, capacity }) => {
            assert_eq!((wanted, used, capacity), (200 << 10, 900 << 10, 1 << 20));
        }
        other => panic!("{other:?}"),
    }
    // Managed and pinned memory need not be on the device.
    for kind in [Kind::Managed, Kind::Pinned] {
        memory.allocate(4 << 20, kind).expect("memory");
    }
    assert_eq!(memory.used(), 900 << 10);
    memory.free(first).expect("allocated");
    assert_eq!(memory.used(), 0);
    memory.allocate(1 << 20, Kind::Device).expect("memory");
    let error = memory.allocate(1, Kind::Heap).expect_err("full");
    assert_eq!(
        error.to_string(),
        "out of device memory: 1 bytes wanted, 1048576 of 1048576 in use; free something or allocate less"
    );
    assert!(matches!(memory.allocate(0, Kind::Device), Err(MemoryError::Zero)));
    assert!(matches!(
        memory.allocate(u64::MAX, Kind::Managed),
        Err(MemoryError::HostMemory { .. } | MemoryError::AddressSpace { .. })
    ));
}

/// A device may have more memory than this computer.
#[test]
fn memory_that_this_computer_has_not_is_refused() {
    let memory = Memory::new(1 << 42).expect("address space");
    match memory.allocate(1 << 41, Kind::Device) {
        Err(MemoryError::HostMemory { wanted, available, total }) => {
            assert_eq!(wanted, 1 << 41);
            assert!(available <= total && total < 1 << 41);
        }
        other => panic!("{other:?}"),
    }
    // Untouched memory costs nothing.
    let buffer = memory.allocate(64 << 20, Kind::Device).expect("memory");
    memory.write(buffer + (64 << 20) - 1, &[5]).expect("a range");
}

#[test]
fn wrong_frees_say_what_is_wrong() {
    let memory = device();
    let buffer = memory.allocate(64, Kind::Device).expect("memory");
    let allocation = memory.find(buffer).expect("an allocation");
    assert_eq!(memory.free(buffer + 8), Err(FreeError::Inside { address: buffer + 8, allocation }));
    assert_eq!(memory.free(buffer + 64), Err(FreeError::NotAllocated { address: buffer + 64 }));
    assert_eq!(memory.free(0), Err(FreeError::NotAllocated { address: 0 }));
    assert_eq!(memory.free(buffer), Ok(allocation));
    assert_eq!(memory.free(buffer), Err(FreeError::AlreadyFreed(allocation)));
    assert_eq!(memory.free(buffer + 63), Err(FreeError::AlreadyFreed(allocation)));
    assert_eq!(memory.used(), 0);
    assert_eq!(memory.find(buffer), None);
    let nearest = memory.nearest(buffer + 10, 4).expect("it is remembered");
    assert_eq!(nearest, Nearest { address: buffer, bytes: 64, place: Place::Inside(10), freed: true });
}

#[test]
fn ranges_are_within_one_allocation() {
    let memory = device();
    let buffer = memory.allocate(100, Kind::Device).expect("memory");
    let other = memory.allocate(100, Kind::Device).expect("memory");
    let data = pattern(100, 3);
    memory.write(buffer, &data).expect("a range");
    let mut back = vec![0; 40];
    memory.read(buffer + 60, &mut back).expect("a range");
    assert_eq!(back, data[60..]);
    let nearest = Some(Nearest { address: buffer, bytes: 100, place: Place::Inside(61), freed: false });
    let wrong = RangeError { address: buffer + 61, bytes: 40, nearest };
    assert_eq!(memory.read(buffer + 61, &mut back), Err(wrong));
    assert_eq!(
        wrong.to_string(),
        format!(
            "40 bytes at {:#x} are not within one allocation, 61 bytes into the nearest allocation at {buffer:#x} of 100 bytes",
            buffer + 61
        )
    );
    assert!(memory.write(buffer - 1, &[0]).is_err());
    assert!(memory.fill(buffer, &[1, 2], 51).is_err());
    assert!(memory.copy(buffer, other + 1, 100).is_err());
    assert!(memory.copy(buffer + 1, other, 100).is_err());
    assert!(memory.write(0x1000, &[0]).is_err());
    memory.write(buffer + 100, &[]).expect("nothing is anywhere");
    memory.fill(buffer, &[1, 2, 3], 33).expect("a range");
    memory.copy(buffer, other, 99).expect("a range");
    let mut back = [0; 99];
    memory.read(other, &mut back).expect("a range");
    assert_eq!(back.to_vec(), [1, 2, 3].repeat(33));
    // Overlapping either way.
    memory.write(buffer, &data).expect("a range");
    memory.copy(buffer, buffer + 7, 93).expect("a range");
    let mut all = [0; 100];
    memory.read(buffer, &mut all).expect("a range");
    assert_eq!(all[7..], data[..93]);
    memory.copy(buffer + 7, buffer, 93).expect("a range");
    memory.read(buffer, &mut all).expect("a range");
    assert_eq!(all[..93], data[..93]);
    let large = memory.allocate(3 << 20, Kind::Device).expect("memory");
    memory.fill(large, &[7, 8], 3 << 19).expect("a range");
    let mut end = [0; 3];
    memory.read(large + (3 << 20) - 3, &mut end).expect("a range");
    assert_eq!(end, [8, 7, 8]);
}

/// A loan is of the bytes themselves, counts as written where it is for writing, and ends where its allocation does.
#[test]
fn ranges_are_lent_where_they_lie() {
    let memory = device();
    // SAFETY: nothing else uses the memory.
    let read =
        |address, bytes| unsafe { memory.read_in_place(address, bytes, |bytes: &[u8]| bytes.to_vec()) };
    let write = |address, data: &[u8]| {
        // SAFETY: as above.
        unsafe { memory.write_in_place(address, data.len() as u64, |bytes| bytes.copy_from_slice(data)) }
    };
    memory.track_initialisation(true);
    let buffer = memory.allocate(300, Kind::Device).expect("memory");
    assert_eq!(read(buffer, 300), Ok(vec![0; 300]));
    assert_eq!(memory.unwritten(buffer), Some((0, 300)));

    let data = pattern(200, 7);
    assert_eq!(write(buffer + 56, &data), Ok(()));
    assert_eq!(memory.unwritten(buffer), Some((0, 100)));
    let mut machine = Machine::new(&memory);
    machine.set("%rd1", |lane| buffer + 56 + lane);
    machine.ok("ld.global.b8 %r1, [%rd1];", ALL);
    machine.ok("st.global.b8 [%rd1+32], %r1;", ALL);
    assert_eq!(read(buffer + 88, 32), Ok(data[..32].to_vec()));

    let beyond = read(buffer + 1, 300).expect_err("too long");
    assert_eq!((beyond.address, beyond.bytes), (buffer + 1, 300));
    memory.free(buffer).expect("allocated");
    assert!(write(buffer, &[0]).is_err());
}

/// Pages of freed memory serve later allocations. Nothing shows of it: addresses, contents, findings and errors are those of
/// new memory.
#[test]
fn memory_of_a_freed_allocation_is_as_new() {
    const LARGE: u64 = (24 << 20) + 100;
    let memory = device();
    memory.track_initialisation(true);
    let mut earlier: Option<u64> = None;
    for (kind, bytes) in [
        (Kind::Device, LARGE),
        (Kind::Device, LARGE / 2),
        (Kind::Managed, 2 * LARGE),
        (Kind::Pinned, LARGE),
        (Kind::Device, LARGE),
    ] {
        let buffer = memory.allocate(bytes, kind).expect("memory");
        assert!(earlier.is_none_or(|earlier| buffer > earlier), "freed addresses are not in use again");
        let mut found = vec![1; bytes as usize];
        memory.read(buffer, &mut found).expect("a range");
        assert!(found.iter().all(|byte| *byte == 0), "{kind}");
        let tracked = kind == Kind::Device;
        assert_eq!(memory.unwritten(buffer), tracked.then_some((0, bytes)));
        memory.fill(buffer, &[0xee], bytes - 1).expect("a range");
        assert_eq!(memory.unwritten(buffer), tracked.then_some((bytes - 1, 1)));

        let allocation = memory.free(buffer).expect("allocated");
        assert_eq!(memory.free(buffer), Err(FreeError::AlreadyFreed(allocation)));
        let mut machine = Machine::new(&memory);
        machine.set("%rd1", |lane| buffer + 4 * lane);
        match machine.run("ld.global.b32 %r1, [%rd1];", ALL).expect_err("freed").kind {
            FaultKind::OutOfBounds { nearest: Some(nearest), .. } => {
                assert_eq!((nearest.address, nearest.bytes, nearest.freed), (buffer, bytes, true));
            }
            other => panic!("{other:?}"),
        }
        earlier = Some(buffer);
    }
}

/// Host memory keeps its own address, both ways.
/// Lengths that are divided among threads, and not at multiples of anything.
#[test]
fn long_transfers_move_every_byte_once() {
    const BYTES: u64 = (9 << 20) + 13;
    let memory = device();
    let [first, second] = [(); 2].map(|()| memory.allocate(2 * BYTES, Kind::Device).expect("memory"));
    let mut number = 1_u32;
    let mut written: Vec<u8> = std::iter::repeat_with(|| {
        number = number.wrapping_mul(0x0019_660D).wrapping_add(0x3C6E_F35F);
        (number >> 24) as u8
    })
    .take(BYTES as usize)
    .collect();
    let read = |address| {
        let mut bytes = vec![0; BYTES as usize];
        memory.read(address, &mut bytes).expect("in range");
        bytes
    };

    memory.write(first + 5, &written).expect("in range");
    assert!(read(first + 5) == written);
    memory.copy(first + 5, second + 1, BYTES).expect("in range");
    assert!(read(second + 1) == written);
    // Both ways over each other, by less than a thread's share.
    memory.copy(second + 1, second + 4097, BYTES).expect("in range");
    assert!(read(second + 4097) == written);
    memory.copy(second + 4097, second + 3, BYTES).expect("in range");
    assert!(read(second + 3) == written);

    let pattern = [1, 2, 3];
    memory.fill(first + 5, &pattern, BYTES / 3 - 1).expect("in range");
    let filled = (BYTES / 3 - 1) as usize * 3;
    written[..filled].chunks_mut(3).for_each(|three| three.copy_from_slice(&pattern));
    assert!(read(first + 5) == written);
    assert_eq!(read(first)[..5], [0; 5]);
}

#[test]
fn host_memory_is_adopted_and_released() {
    let memory = device();
    let mut host = vec![0_u32; 64];
    let start = host.as_mut_ptr().cast::<u8>();
    let address = start as u64;
    // SAFETY: the vector outlives the registration, and is not touched while the instructions run.
    unsafe { memory.adopt(start, 256).expect("a new range") };
    let found = memory.find(address + 255).expect("an allocation");
    assert_eq!((found.address, found.bytes, found.kind), (address, 256, Kind::Registered));
    assert_eq!(memory.used(), 0);
    // SAFETY: refused.
    let error = unsafe { memory.adopt(start.wrapping_add(128), 8) }.expect_err("overlaps");
    assert!(matches!(error, MemoryError::Overlap { other, .. } if other == found), "{error}");
    let mut machine = Machine::new(&memory);
    machine.set("%rd1", |lane| address + 4 * lane);
    machine.set("%r1", |lane| 100 + lane);
    machine.ok("st.global.b32 [%rd1], %r1;", ALL);
    assert_eq!(host[31], 131);
    assert_eq!(memory.free(address), Err(FreeError::NotAllocated { address }));
    assert_eq!(
        memory.release(start.wrapping_add(1)),
        Err(FreeError::Inside { address: address + 1, allocation: found })
    );
    assert_eq!(memory.release(start), Ok(found));
    assert_eq!(memory.release(start), Err(FreeError::AlreadyFreed(found)));
    let fault = machine.fault("st.global.b32 [%rd1], %r1;", ALL);
    assert_eq!(fault.lane, 0);
    // The same range again.
    // SAFETY: as above.
    unsafe { memory.adopt(start, 256).expect("a new range") };
    machine.ok("st.global.b32 [%rd1], %r1;", ALL);
    // Managed and pinned memory are the host's by their own addresses.
    let managed = memory.allocate(64, Kind::Managed).expect("memory");
    // SAFETY: the allocation is accessible by its address.
    unsafe { (managed as usize as *mut u32).write(77) };
    machine.set("%rd1", |_| managed);
    machine.ok("ld.global.u32 %r2, [%rd1];", ALL);
    assert_eq!(machine.get("%r2"), [77; 32]);
}

#[test]
fn what_is_written_is_known_to_be() {
    let memory = device();
    let before = memory.allocate(64, Kind::Device).expect("memory");
    memory.track_initialisation(true);
    let buffer = memory.allocate(300, Kind::Device).expect("memory");
    let managed = memory.allocate(64, Kind::Managed).expect("memory");
    let at = |origin: u64, size: u64| std::array::from_fn(|lane| origin + size * lane as u64);
    assert_eq!(memory.uninitialised_lanes(&at(before, 2), ALL, 2), 0);
    assert_eq!(memory.uninitialised_lanes(&at(managed, 2), ALL, 2), 0);
    assert_eq!(memory.uninitialised_lanes(&at(buffer, 4), 0xFF00_FF00, 4), 0xFF00_FF00);
    assert_eq!(memory.unwritten(buffer), Some((0, 300)));
    memory.write(buffer + 3, &[1; 6]).expect("a range");
    // Bytes 3 to 8: of words of four, only the second is whole.
    assert_eq!(memory.uninitialised_lanes(&at(buffer, 4), 0b111, 4), 0b101);
    assert_eq!(memory.uninitialised_lanes(&at(buffer + 3, 1), 0b0111_1111, 1), 0b0100_0000);
    assert_eq!(memory.unwritten(buffer), Some((0, 294)));
    let mut machine = Machine::new(&memory);
    machine.set("%rd1", |lane| buffer + 16 + 4 * lane);
    machine.ok("st.global.b32 [%rd1], %r1;", 0xFFFF_0FFF);
    assert_eq!(memory.uninitialised_lanes(&at(buffer + 16, 4), ALL, 4), 0xF000);
    machine.ok("st.global.b32 [%rd1], %r1;", ALL);
    assert_eq!(memory.uninitialised_lanes(&at(buffer + 16, 4), ALL, 4), 0);
    machine.set("%rd1", |lane| buffer + 160 + 8 * (lane % 2));
    machine.ok("red.global.add.u64 [%rd1], 1;", 2);
    assert_eq!(memory.uninitialised_lanes(&at(buffer + 160, 8), 0b11, 8), 0b01);
    memory.fill(buffer, &[0], 200).expect("a range");
    assert_eq!(memory.unwritten(buffer), Some((200, 100)));
    memory.copy(buffer, buffer + 200, 100).expect("a range");
    assert_eq!(memory.unwritten(buffer), None);
    memory.free(buffer).expect("allocated");
    let shared = memory.allocate(300, Kind::Device).expect("memory");
    memory.assume_written(shared + 7);
    assert_eq!(memory.unwritten(shared), None);
    memory.track_initialisation(false);
    let untracked = memory.allocate(64, Kind::Device).expect("memory");
    assert_eq!(memory.uninitialised_lanes(&at(untracked, 2), ALL, 2), 0);
    assert_eq!(memory.unwritten(untracked), None);
}

/// What an observer answers about a load is returned to the caller that executes it.
#[test]
fn undefined_lanes_are_handed_on() {
    let memory = device();
    let buffer = memory.allocate(128, Kind::Device).expect("memory");
    let mut machine = Machine::new(&memory);
    machine.recorder.undefined = 0xFF;
    machine.set("%rd1", |lane| buffer + 4 * lane);
    machine.ok("ld.global.b32 %r1, [%rd1];", 0xFFFF_FFF0);
    assert_eq!(machine.undefined, 0xF0);
    machine.ok("st.global.b32 [%rd1], %r1;", ALL);
    assert_eq!(machine.undefined, 0);
    machine.set("%rd1", |lane| if lane < 4 { SHARED_WINDOW } else { buffer });
    machine.ok("ld.b32 %r1, [%rd1];", ALL);
    assert_eq!(machine.undefined, 0xFF);
}

/// A kernel's `malloc` and `free` while others run: a call that comes too late gets an error, and nothing breaks.
#[test]
fn memory_may_be_freed_while_others_use_it() {
    let memory = device();
    let stable = memory.allocate(256, Kind::Device).expect("memory");
    memory.fill(stable, &[9], 256).expect("a range");
    let current = AtomicU64::new(stable);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut machine = Machine::new(&memory);
                while !done.load(Ordering::Relaxed) {
                    let address = current.load(Ordering::Relaxed);
                    machine.set("%rd1", |lane| address + 4 * lane);
                    if let Err(fault) = machine.run("st.global.b32 [%rd1], %r1;", ALL) {
                        assert!(matches!(fault.kind, FaultKind::OutOfBounds { nearest: Some(_), .. }));
                    }
                    machine.set("%rd1", |lane| stable + 128 + 4 * lane);
                    machine.ok("ld.global.b32 %r2, [%rd1];", ALL);
                    assert_eq!(machine.get("%r2"), [0x0909_0909; 32]);
                    machine.frame.forget();
                }
            });
        }
        for _ in 0..300 {
            let address = memory.allocate(128 << 10, Kind::Heap).expect("memory");
            current.store(address, Ordering::Relaxed);
            std::thread::yield_now();
            memory.free(address).expect("allocated");
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(memory.used(), 256);
}

#[derive(Clone, Debug)]
enum Step {
    Allocate(u64),
    Free(usize),
    Write(usize, u64, u64, u8),
    Read(usize, u64, u64),
    Copy(usize, usize, u64),
    Stray(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (1_u64..6000).prop_map(Step::Allocate),
        2 => any::<usize>().prop_map(Step::Free),
        4 => (any::<usize>(), 0_u64..7000, 0_u64..3000, any::<u8>()).prop_map(|(i, o, n, b)| Step::Write(i, o, n, b)),
        4 => (any::<usize>(), 0_u64..7000, 0_u64..3000).prop_map(|(i, o, n)| Step::Read(i, o, n)),
        2 => (any::<usize>(), any::<usize>(), 0_u64..3000).prop_map(|(i, j, n)| Step::Copy(i, j, n)),
        1 => (0_u64..9000).prop_map(Step::Stray),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn random_histories_agree_with_a_plain_model(steps in proptest::collection::vec(step(), 1..80)) {
        let memory = Memory::new(100_000).expect("address space");
        let mut model: BTreeMap<u64, Vec<Option<u8>>> = BTreeMap::new();
        let mut used = 0;
        let pick = |model: &BTreeMap<u64, Vec<Option<u8>>>, index: usize| {
            (!model.is_empty()).then(|| *model.keys().nth(index % model.len()).expect("within"))
        };
        for step in steps {
            match step {
                Step::Allocate(bytes) => match memory.allocate(bytes, Kind::Device) {
                    Ok(address) => {
                        prop_assert!(used + bytes <= 100_000);
                        for (other, data) in &model {
                            let apart = address >= other + data.len() as u64 + 256 || address + bytes + 256 <= *other;
                            prop_assert!(apart, "{address:#x} {other:#x}");
                        }
                        used += bytes;
                        model.insert(address, vec![None; bytes as usize]);
                    }
                    Err(MemoryError::OutOfMemory { .. }) => prop_assert!(used + bytes > 100_000),
                    Err(other) => prop_assert!(false, "{other}"),
                },
                Step::Free(index) => if let Some(address) = pick(&model, index) {
                    let data = model.remove(&address).expect("it is there");
                    used -= data.len() as u64;
                    prop_assert_eq!(memory.free(address).map(|freed| freed.bytes), Ok(data.len() as u64));
                    prop_assert!(matches!(memory.free(address), Err(FreeError::AlreadyFreed(_))));
                },
                Step::Write(index, offset, bytes, value) => if let Some(address) = pick(&model, index) {
                    let data = model.get_mut(&address).expect("it is there");
                    // Not as far as the next allocation.
                    let offset = offset % (data.len() as u64 + 200);
                    let fits = offset + bytes <= data.len() as u64;
                    let result = memory.write(address + offset, &vec![value; bytes as usize]);
                    prop_assert_eq!(result.is_ok(), fits || bytes == 0);
                    if fits {
                        data[offset as usize..][..bytes as usize].fill(Some(value));
                    }
                },
                Step::Read(index, offset, bytes) => if let Some(address) = pick(&model, index) {
                    let data = &model[&address];
                    let offset = offset % (data.len() as u64 + 200);
                    let mut into = vec![0; bytes as usize];
                    let fits = offset + bytes <= data.len() as u64;
                    prop_assert_eq!(memory.read(address + offset, &mut into).is_ok(), fits || bytes == 0);
                    if fits {
                        let expected = &data[offset as usize..][..bytes as usize];
                        let agrees = expected.iter().zip(&into).all(|(value, got)| value.is_none_or(|value| value == *got));
                        prop_assert!(agrees);
                    }
                },
                Step::Copy(from, to, bytes) => if let (Some(from), Some(to)) = (pick(&model, from), pick(&model, to)) {
                    let fits = bytes <= model[&from].len() as u64 && bytes <= model[&to].len() as u64;
                    prop_assert_eq!(memory.copy(from, to, bytes).is_ok(), fits || bytes == 0);
                    if fits {
                        let copied = model[&from][..bytes as usize].to_vec();
                        model.get_mut(&to).expect("it is there")[..bytes as usize].copy_from_slice(&copied);
                    }
                },
                Step::Stray(offset) => {
                    let origin = model.keys().next().copied().unwrap_or(0x1000_0020_0000);
                    let address = origin.wrapping_sub(500) + offset;
                    let within = model.iter().find(|(start, data)| address >= **start && address < **start + data.len() as u64);
                    prop_assert_eq!(memory.find(address).map(|found| found.address), within.map(|(start, _)| *start));
                }
            }
            prop_assert_eq!(memory.used(), used);
            prop_assert_eq!(memory.allocations().len(), model.len());
        }
    }
}
