//! Shared, constant, global and managed memory, address spaces, the heap, sizes and clocks.

use std::ffi::CStr;

use cuda_driver::ext;
use cust::device::DeviceAttribute;
use cust::memory::{CopyDestination, DeviceCopy};

use crate::device::{Kernels, Random, assert_same, devices, filled, gpu, read, results};

/// The contents of a static of the kernels.
fn global<T: DeviceCopy + Default>(kernels: &Kernels, name: &CStr) -> T {
    let mut value = T::default();
    let global = kernels.module.get_global::<T>(name).unwrap_or_else(|error| panic!("{name:?}: {error}"));
    global.copy_to(&mut value).expect("a copy");
    value
}

fn set_global<T: DeviceCopy>(kernels: &Kernels, name: &CStr, value: &T) {
    let mut global = kernels.module.get_global::<T>(name).unwrap_or_else(|error| panic!("{name:?}: {error}"));
    global.copy_from(value).expect("a copy");
}

#[test]
#[ignore = "needs a GPU"]
fn shared_arrays_are_apart_and_the_blocks_own() {
    for kernels in devices() {
        let values = Random(31).halves(64 * 256);
        let (buffer, found) = (filled(&values), results([77; 2], values.len()));
        run!(
            kernels,
            "shared_arrays",
            (64, 256, 0),
            [buffer.as_device_ptr(), values.len(), found.as_device_ptr()]
        );
        let expected: Vec<[u32; 2]> = (0..values.len())
            .map(|place| {
                let (block, thread) = (place / 256 * 256, place % 256);
                [values[block + 255 - thread], values[block + (thread ^ 85)].wrapping_mul(2)]
            })
            .collect();
        assert_same(&read(&found), &expected, "shared_arrays");
    }
}

#[test]
#[ignore = "needs a GPU"]
fn shared_statics_hold_a_tile() {
    for kernels in devices() {
        let values = Random(32).halves(32 * 1024);
        let (buffer, found, pairs) =
            (filled(&values), results(77_u32, values.len()), results(77_u64, 32 * 32));
        run!(
            kernels,
            "shared_statics",
            (32, (32, 32), 0),
            [buffer.as_device_ptr(), values.len(), found.as_device_ptr(), pairs.as_device_ptr(),]
        );
        let expected: Vec<u32> = (0..values.len())
            .map(|place| values[place / 1024 * 1024 + place % 32 * 32 + place / 32 % 32])
            .collect();
        assert_same(&read(&found), &expected, "the tile");
        let expected: Vec<u64> = (0..1024)
            .map(|place| {
                let (block, x) = (place / 32 * 1024, 31 - place % 32);
                u64::from(values[block + x]) << 32 | u64::from(values[block + 31 - x])
            })
            .collect();
        assert_same(&read(&pairs), &expected, "the pairs");
    }
}

#[test]
#[ignore = "needs a GPU"]
fn dynamic_shared_memory_is_as_large_as_launched() {
    let device = gpu().device.as_raw();
    let optin = ext::device_attribute(device, ext::DeviceAttribute::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    let optin = optin.expect("an attribute").cast_unsigned();
    for kernels in devices() {
        let function = kernels.module.get_function("shared_dynamic").expect("a kernel");
        for bytes in [4, 400, 12345 * 4 / 4, 48 << 10, optin] {
            let values = Random(33).halves(bytes as usize / 4);
            let (buffer, found, sizes) = (filled(&values), results(77_u32, values.len()), results(77_u32, 3));
            // SAFETY: the module stays loaded.
            unsafe { ext::set_max_dynamic_shared_memory(function.to_raw(), bytes) }.expect("a limit");
            run!(
                kernels,
                "shared_dynamic",
                (1, 256, bytes),
                [buffer.as_device_ptr(), values.len(), found.as_device_ptr(), sizes.as_device_ptr(),]
            );
            let expected: Vec<u32> = values.iter().rev().copied().collect();
            assert_same(&read(&found), &expected, &format!("{bytes} bytes"));
            let sizes = read(&sizes);
            assert_eq!(sizes[0], bytes);
            assert!(sizes[1] >= bytes && sizes[1] < bytes + 4096, "{} for {bytes}", sizes[1]);
            assert_eq!(sizes[2], 0, "the alignment of 16");
        }
    }
}

#[test]
#[ignore = "needs a GPU"]
fn constants_are_what_the_host_wrote() {
    let mut random = Random(34);
    for kernels in devices() {
        for turn in 0..3 {
            let (coefficients, bytes, words) = if turn == 0 {
                ([2.5; 32], [1, 2, 3, 4, 5], [0; 3])
            } else {
                let new = (
                    [(); 32].map(|()| random.half() as f32),
                    [(); 5].map(|()| random.half() as u8),
                    [(); 3].map(|()| random.word()),
                );
                set_global(kernels, c"COEFFICIENTS", &new.0);
                set_global(kernels, c"CONSTANT_BYTES", &new.1);
                set_global(kernels, c"CONSTANT_WORDS", &new.2);
                new
            };
            let found = (results(0_f32, 32), results(77_u8, 5), results(77_u64, 3));
            run!(
                kernels,
                "constants",
                (1, 32, 0),
                [found.0.as_device_ptr(), found.1.as_device_ptr(), found.2.as_device_ptr(),]
            );
            assert_same(&read(&found.0), &coefficients, "coefficients");
            assert_same(&read(&found.1), &bytes, "bytes");
            assert_same(&read(&found.2), &words, "words");
        }
        // Restored for the next reader.
        set_global(kernels, c"COEFFICIENTS", &[2.5_f32; 32]);
        set_global(kernels, c"CONSTANT_BYTES", &[1_u8, 2, 3, 4, 5]);
        set_global(kernels, c"CONSTANT_WORDS", &[0_u64; 3]);
    }
}

/// An array that has a default.
#[derive(Clone, Copy, DeviceCopy)]
#[repr(transparent)]
struct Counters([u32; 64]);

impl Default for Counters {
    fn default() -> Self {
        Self([77; 64])
    }
}

#[test]
#[ignore = "needs a GPU"]
fn statics_keep_what_kernels_and_host_write() {
    let managed = gpu().device.get_attribute(DeviceAttribute::ManagedMemory).expect("an attribute") == 1;
    for kernels in devices() {
        assert_eq!(global::<[u64; 4]>(kernels, c"TABLE"), [1, 1 << 20, 1 << 40, u64::MAX]);
        let (first, first_managed) =
            (global::<Counters>(kernels, c"COUNTERS"), global::<Counters>(kernels, c"MANAGED"));
        assert_eq!((first.0, first_managed.0), ([7; 64], [9; 64]), "the initial values");
        let expect =
            |start: u32, by: u32| std::array::from_fn::<u32, 64, _>(|place| start + by * place as u32);
        run!(kernels, "globals", (1, 64, 0), []);
        run!(kernels, "globals", (1, 64, 0), []);
        assert_eq!(global::<Counters>(kernels, c"COUNTERS").0, expect(7, 2));
        assert_eq!(global::<Counters>(kernels, c"MANAGED").0, expect(9, 4));
        set_global(kernels, c"COUNTERS", &Counters([1000; 64]));
        if managed {
            // The host reaches it by its address, too.
            let address = results(0_u64, 1);
            run!(kernels, "managed_address", (1, 1, 0), [address.as_device_ptr()]);
            let address = std::ptr::with_exposed_provenance_mut::<Counters>(read(&address)[0] as usize);
            // SAFETY: managed memory of 64 numbers at this address, and no kernel runs.
            unsafe {
                assert_eq!((*address).0, expect(9, 4));
                *address = Counters([2000; 64]);
            }
        } else {
            println!("this device has no managed memory: that part is not tested");
            set_global(kernels, c"MANAGED", &Counters([2000; 64]));
        }
        run!(kernels, "globals", (1, 64, 0), []);
        assert_eq!(global::<Counters>(kernels, c"COUNTERS").0, expect(1000, 1));
        assert_eq!(global::<Counters>(kernels, c"MANAGED").0, expect(2000, 2));
        set_global(kernels, c"COUNTERS", &Counters([7; 64]));
        set_global(kernels, c"MANAGED", &Counters([9; 64]));
    }
}

#[test]
#[ignore = "needs a GPU"]
fn a_pointer_is_in_one_space() {
    for kernels in devices() {
        let (pointers, answers) = (results(0_u64, 4), results(77_u32, 20));
        run!(kernels, "spaces", (1, 1, 0), [pointers.as_device_ptr(), answers.as_device_ptr()]);
        let answers = read(&answers);
        let one = |place: usize| std::array::from_fn::<u32, 4, _>(|other| u32::from(other == place));
        for (place, space) in ["global", "shared", "constant", "local"].into_iter().enumerate() {
            assert_eq!(answers[4 * place..][..4], one(place), "a pointer to {space}");
            assert_eq!(answers[16 + place], 1, "there and back for {space}");
        }
    }
}

#[test]
#[ignore = "needs a GPU"]
fn tables_are_read_at_any_place() {
    let table = [1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5];
    for kernels in devices() {
        let places = Random(35).halves(512);
        let (buffer, found) = (filled(&places), results([77.0; 5], places.len()));
        run!(kernels, "tables", (4, 128, 0), [buffer.as_device_ptr(), places.len(), found.as_device_ptr()]);
        let expected: Vec<[f64; 5]> = places
            .iter()
            .map(|&place| {
                let (here, there) = (place as usize % 8, place as usize / 8 % 8);
                let sum = table[here] + table[there];
                [table[here], sum, sum, here as f64 + f64::from(places[0]), -table[here]]
            })
            .collect();
        assert_same(&read(&found), &expected, "tables");
    }
}

#[test]
#[ignore = "needs a GPU"]
fn vectors_and_boxes_live_on_the_heap() {
    for kernels in devices() {
        let counts: Vec<u32> = (0..256).map(|thread| thread % 70).collect();
        let (buffer, found) = (filled(&counts), results([77; 2], 256));
        run!(kernels, "heap", (4, 64, 0), [buffer.as_device_ptr(), counts.len(), found.as_device_ptr()]);
        let expected: Vec<[u32; 2]> =
            counts.iter().map(|&count| [(0..count).map(|number| number * 3).sum(), 0]).collect();
        assert_same(&read(&found), &expected, "heap");
    }
}

#[test]
#[ignore = "needs a GPU"]
fn clocks_run_forwards() {
    for kernels in devices() {
        let readings = results([0_u64; 2], 8 * 64);
        run!(kernels, "clocks", (2, 32, 0), [readings.as_device_ptr()]);
        for thread in read(&readings).chunks(8) {
            assert!(thread.windows(2).all(|pair| pair[0][0] < pair[1][0]), "clock: {thread:?}");
            assert!(thread.windows(2).all(|pair| pair[0][1] <= pair[1][1]), "global timer: {thread:?}");
            assert!(thread[0][1] > 0);
        }
    }
}

#[test]
#[ignore = "needs a GPU"]
fn each_ptx_knows_its_architecture() {
    for kernels in devices() {
        let found = results(77_u32, 2);
        run!(kernels, "architectures", (1, 1, 0), [found.as_device_ptr()]);
        assert_eq!(read(&found), [10 * kernels.architecture, 1]);
    }
}
