//! Loads and stores with hints: one element per thread, by each function in the host's order.
use cuda_std::access::*;
use cuda_std::vector::{F32x2, F32x4, F64x2, I32x2, I32x4, I64x2, U32x2, U32x4, U64x2};
use cuda_std::{cfg, kernel};
use pastey::paste;

macro_rules! copies {
    ($($type:ident)*) => {paste! {$(
        /// Results lie `[function][element]`. The last four functions are for sm_80.
        #[kernel]
        pub unsafe fn [<load_ $type:lower>](source: *const $type, results: *mut $type, length: usize) {
            let (source, mut result) = (source.add(crate::place()), results.add(crate::place()));
            macro_rules! load {
                ($function:ident) => {
                    *result = $function(source);
                    result = result.add(length);
                };
            }
            load!(load_read_only);
            load!(load_read_only_evict_first);
            load!(load_read_only_evict_last);
            load!(load_read_only_no_allocate);
            load!(load_read_only_l2_128);
            load!(load_read_only_no_allocate_l2_128);
            load!(load_cached_all);
            load!(load_cached_global);
            load!(load_streaming);
            load!(load_last_use);
            load!(load_volatile);
            load!(load_evict_first);
            load!(load_evict_last);
            load!(load_no_allocate);
            load!(load_l2_128);
            if cfg::architecture() >= 800 {
                load!(load_read_only_l2_256);
                load!(load_read_only_no_allocate_l2_256);
                load!(load_l2_256);
                *result = load_no_allocate_l2_256(source);
            }
        }

        /// Results lie `[function][element]`.
        #[kernel]
        pub unsafe fn [<store_ $type:lower>](source: &[$type], results: *mut $type) {
            let (value, result) = (source[crate::place()], results.add(crate::place()));
            let length = source.len();
            store_write_back(result, value);
            store_cached_global(result.add(length), value);
            store_streaming(result.add(2 * length), value);
            store_write_through(result.add(3 * length), value);
            store_evict_first(result.add(4 * length), value);
            store_evict_last(result.add(5 * length), value);
            store_no_allocate(result.add(6 * length), value);
        }
    )*}};
}

copies! {
    u8 i8 u16 i16 u32 i32 f32 u64 i64 f64 usize isize
    F32x2 U32x2 I32x2 F32x4 U32x4 I32x4 F64x2 U64x2 I64x2
}

macro_rules! policies {
    ($($type:ident)*) => {paste! {$(
        /// Results lie `[loads with 3 policies, stores with 3 policies][element]`. For sm_80.
        #[kernel]
        pub unsafe fn [<policy_ $type:lower>](source: &[$type], results: *mut $type) {
            if cfg::architecture() >= 800 {
                let (element, length) = (&raw const source[crate::place()], source.len());
                prefetch_l2_evict_last(element);
                let mut result = results.add(crate::place());
                macro_rules! both {
                    ($policy:expr) => {
                        let policy = $policy;
                        *result = load_with_policy(element, policy);
                        store_with_policy(result.add(3 * length), *element, policy);
                        result = result.add(length);
                    };
                }
                both!(CachePolicy::evict_first());
                both!(CachePolicy::evict_last());
                both!(CachePolicy::evict_unchanged());
                let _ = result;
            }
        }
    )*}};
}

policies! { F32x4 U32x4 I32x4 }

/// Reads after a prefetch, and what was stored just before by loads that must see it.
#[kernel]
pub unsafe fn prefetch_and_store(source: *const u32, results: *mut [u32; 4]) {
    let source = source.add(crate::place());
    prefetch_l1(source);
    prefetch_l2(source);
    let cell = results.add(crate::place()).cast::<u32>();
    for turn in 0..4 {
        store_streaming(cell.add(3), turn);
        let seen =
            [load_cached_all(cell.add(3)), load_cached_global(cell.add(3)), load_volatile(cell.add(3))];
        if seen == [turn; 3] {
            *cell.add(1) += 1;
        }
    }
    *cell = *source;
    *cell.add(2) = load_no_allocate(cell);
}
