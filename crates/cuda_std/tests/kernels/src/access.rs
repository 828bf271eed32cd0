//! Loads and stores with hints. Each load's result goes out by a plain store, each store's value comes from a
//! parameter.
use cuda_std::access::{self, CachePolicy};
use cuda_std::cfg::architecture;
use cuda_std::kernel;
use cuda_std::vector::{F32x2, F32x4, F64x2};

macro_rules! loads {
    ($($least:literal: $($name:ident)*;)*) => {$($(
        #[kernel]
        pub unsafe fn $name(input: *const F32x4, output: *mut F32x4) {
            if architecture() >= $least {
                unsafe { *output = access::$name(input) }
            }
        }
    )*)*};
}

loads! {
    750:
        load_read_only load_read_only_evict_first load_read_only_evict_last load_read_only_no_allocate
        load_read_only_l2_128 load_read_only_no_allocate_l2_128
        load_cached_all load_cached_global load_streaming load_last_use load_volatile
        load_evict_first load_evict_last load_no_allocate load_l2_128;
    800:
        load_read_only_l2_256 load_read_only_no_allocate_l2_256 load_l2_256 load_no_allocate_l2_256;
}

macro_rules! stores {
    ($($name:ident)*) => {$(
        #[kernel]
        pub unsafe fn $name(output: *mut F32x4, input: *const F32x4) {
            unsafe { access::$name(output, *input) }
        }
    )*};
}

stores! {
    store_write_back store_cached_global store_streaming store_write_through
    store_evict_first store_evict_last store_no_allocate
}

macro_rules! shapes {
    ($($name:ident $type:ty;)*) => {$(
        #[kernel]
        pub unsafe fn $name(input: *const $type, output: *mut $type) {
            unsafe { access::store_streaming(output, access::load_read_only(input)) }
        }
    )*};
}

shapes! {
    shape_u8 u8;
    shape_i16 i16;
    shape_f32 f32;
    shape_f64 f64;
    shape_f32x2 F32x2;
    shape_f32x4 F32x4;
    shape_f64x2 F64x2;
}

#[kernel]
pub unsafe fn read_only_in_a_loop(input: *const f32, output: *mut f32, count: u32) {
    // The load does not depend on the loop or on its stores: it is made once.
    for index in 0..count as usize {
        unsafe { *output.add(index) += access::load_read_only(input) }
    }
}

#[kernel]
pub unsafe fn prefetches(input: *const f32) {
    unsafe {
        access::prefetch_l1(input);
        access::prefetch_l2(input);
        if architecture() >= 800 {
            access::prefetch_l2_evict_last(input);
        }
    }
}

#[kernel]
pub unsafe fn policies(input: *const F32x4, output: *mut F32x4) {
    if architecture() < 800 {
        return;
    }
    let (first, last) = (CachePolicy::evict_first(), CachePolicy::evict_last());
    unsafe {
        access::store_with_policy(output, access::load_with_policy(input, first), last);
        access::store_with_policy(output.add(1), *input, CachePolicy::evict_unchanged());
    }
}
