//! Loads and stores with hints, and vectors: the right bytes in the right place.

use cust::memory::DeviceCopy;

use crate::device::{Kernels, Random, assert_same, devices, filled, read, results};

const LENGTH: usize = 1000;
const LOADS: [&str; 15] = [
    "read_only",
    "read_only_evict_first",
    "read_only_evict_last",
    "read_only_no_allocate",
    "read_only_l2_128",
    "read_only_no_allocate_l2_128",
    "cached_all",
    "cached_global",
    "streaming",
    "last_use",
    "volatile",
    "evict_first",
    "evict_last",
    "no_allocate",
    "l2_128",
];
const LOADS_FROM_80: [&str; 4] =
    ["read_only_l2_256", "read_only_no_allocate_l2_256", "l2_256", "no_allocate_l2_256"];
const STORES: [&str; 7] =
    ["write_back", "cached_global", "streaming", "write_through", "evict_first", "evict_last", "no_allocate"];
const POLICIES: [&str; 6] =
    ["load evict_first", "load evict_last", "load evict_unchanged", "store", "store", "store"];

fn check<T: DeviceCopy + Default + PartialEq + std::fmt::Debug>(
    kernels: &Kernels,
    types: &[&str],
    values: &[T],
) {
    let source = filled(values);
    let loads =
        if kernels.architecture >= 80 { [&LOADS[..], &LOADS_FROM_80].concat() } else { LOADS.to_vec() };
    for name in types {
        let found = results(T::default(), loads.len() * LENGTH);
        run!(
            kernels,
            &format!("load_{name}"),
            (10, 100, 0),
            [source.as_device_ptr(), found.as_device_ptr(), LENGTH]
        );
        for (function, found) in loads.iter().zip(read(&found).chunks(LENGTH)) {
            assert_same(found, values, &format!("load_{function} of {name}"));
        }
        let found = results(T::default(), STORES.len() * LENGTH);
        run!(
            kernels,
            &format!("store_{name}"),
            (10, 100, 0),
            [source.as_device_ptr(), LENGTH, found.as_device_ptr()]
        );
        for (function, found) in STORES.iter().zip(read(&found).chunks(LENGTH)) {
            assert_same(found, values, &format!("store_{function} of {name}"));
        }
    }
}

#[test]
#[ignore = "needs a GPU"]
fn hinted_accesses_move_the_bytes() {
    let mut random = Random(41);
    let words: Vec<[u64; 2]> = (0..LENGTH).map(|_| [random.word(), random.word()]).collect();
    for kernels in devices() {
        check(kernels, &["u8", "i8"], &words.iter().map(|&[word, _]| word as u8).collect::<Vec<_>>());
        check(kernels, &["u16", "i16"], &words.iter().map(|&[word, _]| word as u16).collect::<Vec<_>>());
        check(
            kernels,
            &["u32", "i32", "f32"],
            &words.iter().map(|&[word, _]| word as u32).collect::<Vec<_>>(),
        );
        let eight = ["u64", "i64", "f64", "usize", "isize", "f32x2", "u32x2", "i32x2"];
        check(kernels, &eight, &words.iter().map(|&[word, _]| word).collect::<Vec<_>>());
        check(kernels, &["f32x4", "u32x4", "i32x4", "f64x2", "u64x2", "i64x2"], &words);
        if kernels.architecture >= 80 {
            let source = filled(&words);
            for name in ["policy_f32x4", "policy_u32x4", "policy_i32x4"] {
                let found = results([77_u64; 2], POLICIES.len() * LENGTH);
                run!(kernels, name, (10, 100, 0), [source.as_device_ptr(), LENGTH, found.as_device_ptr()]);
                for (function, found) in POLICIES.iter().zip(read(&found).chunks(LENGTH)) {
                    assert_same(found, &words, &format!("{name}, {function}"));
                }
            }
        }
    }
}

#[test]
#[ignore = "needs a GPU"]
fn loads_see_what_was_stored_before() {
    for kernels in devices() {
        let values = Random(42).halves(LENGTH);
        let (source, found) = (filled(&values), filled(&vec![[0_u32; 4]; LENGTH]));
        run!(kernels, "prefetch_and_store", (10, 100, 0), [source.as_device_ptr(), found.as_device_ptr()]);
        let expected: Vec<[u32; 4]> = values.iter().map(|&value| [value, 4, value, 3]).collect();
        assert_same(&read(&found), &expected, "prefetch_and_store");
    }
}

#[test]
#[ignore = "needs a GPU"]
fn components_are_where_they_belong() {
    let mut random = Random(43);
    for kernels in devices() {
        // Small whole numbers, so that adding 1 means the same for all types.
        let mut small = || random.half() % 1000;
        macro_rules! two {
            ($($name:literal $type:ty;)*) => {$(
                let values: Vec<[$type; 2]> = (0..LENGTH).map(|_| [(); 2].map(|()| small() as $type)).collect();
                let (source, found) = (filled(&values), results([[77 as $type; 2]; 4], LENGTH));
                run!(kernels, $name, (10, 100, 0), [source.as_device_ptr(), LENGTH, found.as_device_ptr()]);
                let one = 1 as $type;
                let expected: Vec<_> = values.iter().map(|&[x, y]| [[y, x], [x + one, y], [y, x], [x, x]]).collect();
                assert_same(&read(&found), &expected, $name);
            )*};
        }
        macro_rules! four {
            ($($name:literal $type:ty;)*) => {$(
                let values: Vec<[$type; 4]> = (0..LENGTH).map(|_| [(); 4].map(|()| small() as $type)).collect();
                let (source, found) = (filled(&values), results([[77 as $type; 4]; 4], LENGTH));
                run!(kernels, $name, (10, 100, 0), [source.as_device_ptr(), LENGTH, found.as_device_ptr()]);
                let one = 1 as $type;
                let expected: Vec<_> = values
                    .iter()
                    .map(|&[x, y, z, w]| [[w, z, y, x], [x, y, z + one, w], [w, z, y, x], [w; 4]])
                    .collect();
                assert_same(&read(&found), &expected, $name);
            )*};
        }
        two! {
            "vector_f32x2" f32;
            "vector_u32x2" u32;
            "vector_i32x2" i32;
            "vector_f64x2" f64;
            "vector_u64x2" u64;
            "vector_i64x2" i64;
        }
        four! {
            "vector_f32x4" f32;
            "vector_u32x4" u32;
            "vector_i32x4" i32;
        }
    }
}
