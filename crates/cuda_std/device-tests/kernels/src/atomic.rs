//! Atomic operations under contention. Each thread does one operation on a cell that it shares with the others and writes
//! down the value that it got; the host checks that these values can have come about one after the other.
//!
//! The cell is the only one, or with `per_block` the block's own. Orderings are 0 to 4 for relaxed, acquire, release,
//! acquire and release, sequentially consistent; 5 is the instruction without an ordering, where there is one.
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use cuda_std::atomic::{
    AtomicF32, AtomicF64, BlockAtomicF32, BlockAtomicF64, SystemAtomicF32, SystemAtomicF64, intrinsics, mid,
};
use cuda_std::{kernel, shared_array, thread};
use pastey::paste;

unsafe fn cell<T>(cells: *mut T, per_block: u32) -> *mut T {
    cells.add((thread::block_idx_x() * per_block) as usize)
}

macro_rules! fetch {
    ($($operation:ident [$($type:ident)*];)*) => {$($(
        fetch!(@ $operation $type block);
        fetch!(@ $operation $type device);
        fetch!(@ $operation $type system);
    )*)*};
    (@ $operation:ident $type:ident $scope:ident) => {paste! {
        #[kernel]
        pub unsafe fn [<fetch_ $operation _ $type _ $scope>](
            cells: *mut $type, per_block: u32, ordering: u32, values: *const $type, olds: *mut $type,
        ) {
            let cell = cell(cells, per_block);
            let value = *values.add(crate::place());
            *olds.add(crate::place()) = match ordering {
                0 => mid::[<atomic_fetch_ $operation _ $type _ $scope>](cell, Ordering::Relaxed, value),
                1 => mid::[<atomic_fetch_ $operation _ $type _ $scope>](cell, Ordering::Acquire, value),
                2 => mid::[<atomic_fetch_ $operation _ $type _ $scope>](cell, Ordering::Release, value),
                3 => mid::[<atomic_fetch_ $operation _ $type _ $scope>](cell, Ordering::AcqRel, value),
                4 => mid::[<atomic_fetch_ $operation _ $type _ $scope>](cell, Ordering::SeqCst, value),
                _ => intrinsics::[<atomic_fetch_ $operation _volatile_ $type _ $scope>](cell, value),
            };
        }
    }};
}

fetch! {
    and [u32 i32 f32 u64 i64 f64];
    or [u32 i32 f32 u64 i64 f64];
    xor [u32 i32 f32 u64 i64 f64];
    add [u32 i32 f32 u64 i64 f64];
    sub [u32 i32 f32 u64 i64 f64];
    min [u32 i32 u64 i64];
    max [u32 i32 u64 i64];
    exch [u32 i32 f32 u64 i64 f64];
}

macro_rules! swap {
    ($($type:ident |$old:ident, $value:ident| $sum:expr;)*) => {$(
        swap!(@ $type block |$old, $value| $sum);
        swap!(@ $type device |$old, $value| $sum);
        swap!(@ $type system |$old, $value| $sum);
    )*};
    (@ $type:ident $scope:ident |$old:ident, $value:ident| $sum:expr) => {paste! {
        /// One try: from the first half of the values to the second.
        #[kernel]
        pub unsafe fn [<swap_ $type _ $scope>](
            cells: *mut $type, per_block: u32, ordering: u32, values: *const $type, olds: *mut $type,
        ) {
            let cell = cell(cells, per_block);
            let threads = (thread::grid_dim_x() * thread::block_dim_x()) as usize;
            let (current, new) = (*values.add(crate::place()), *values.add(threads + crate::place()));
            *olds.add(crate::place()) = match ordering {
                0 => mid::[<atomic_compare_and_swap_ $type _ $scope>](cell, current, new, Ordering::Relaxed),
                1 => mid::[<atomic_compare_and_swap_ $type _ $scope>](cell, current, new, Ordering::Acquire),
                2 => mid::[<atomic_compare_and_swap_ $type _ $scope>](cell, current, new, Ordering::Release),
                3 => mid::[<atomic_compare_and_swap_ $type _ $scope>](cell, current, new, Ordering::AcqRel),
                4 => mid::[<atomic_compare_and_swap_ $type _ $scope>](cell, current, new, Ordering::SeqCst),
                _ => intrinsics::[<atomic_fetch_cas_volatile_ $type _ $scope>](cell, current, new),
            };
        }

        /// An addition: tries until nobody was faster.
        #[kernel]
        pub unsafe fn [<swap_until_added_ $type _ $scope>](
            cells: *mut $type, per_block: u32, ordering: u32, values: *const $type, olds: *mut $type,
        ) {
            let cell = cell(cells, per_block);
            let $value = *values.add(crate::place());
            let ordering = if ordering == 0 { Ordering::Relaxed } else { Ordering::AcqRel };
            let mut $old = $type::default();
            loop {
                let seen = mid::[<atomic_compare_and_swap_ $type _ $scope>](cell, $old, $sum, ordering);
                if seen.to_ne_bytes() == $old.to_ne_bytes() {
                    break;
                }
                $old = seen;
            }
            *olds.add(crate::place()) = $old;
        }
    }};
}

swap! {
    u32 |old, value| old.wrapping_add(value);
    i32 |old, value| old.wrapping_add(value);
    u64 |old, value| old.wrapping_add(value);
    i64 |old, value| old.wrapping_add(value);
    f32 |old, value| old + value;
    f64 |old, value| old + value;
}

/// One step up in the first cell and one down in the second, at each scope.
macro_rules! step {
    ($cells:ident, $type:ident: $($ordering:ident)*) => {paste! {$(
        intrinsics::[<atomic_fetch_inc_ $ordering _ $type _block>]($cells);
        intrinsics::[<atomic_fetch_dec_ $ordering _ $type _block>]($cells.add(1));
        intrinsics::[<atomic_fetch_inc_ $ordering _ $type _device>]($cells);
        intrinsics::[<atomic_fetch_dec_ $ordering _ $type _device>]($cells.add(1));
        intrinsics::[<atomic_fetch_inc_ $ordering _ $type _system>]($cells);
        intrinsics::[<atomic_fetch_dec_ $ordering _ $type _system>]($cells.add(1));
    )*}};
}

macro_rules! steps {
    ($($type:ident)*) => {paste! {$(
        /// For one block: 15 steps per thread.
        #[kernel]
        pub unsafe fn [<steps_ $type>](cells: *mut $type) {
            step!(cells, $type: relaxed acquire release acqrel volatile);
        }
    )*}};
}

steps! { u32 i32 u64 i64 }

macro_rules! accesses {
    ($($bits:ident $width:literal $scope:ident;)*) => {paste! {$(
        /// Copies one element per thread; loads with orderings 0, 1, 4, 5, stores with 0, 2, 4, 5.
        #[kernel]
        pub unsafe fn [<copy_ $width _ $scope>](source: *mut $bits, target: *mut $bits, load: u32, store: u32) {
            let (source, target) = (source.add(crate::place()), target.add(crate::place()));
            let value = match load {
                0 => mid::[<atomic_load_ $width _ $scope>](source, Ordering::Relaxed),
                1 => mid::[<atomic_load_ $width _ $scope>](source, Ordering::Acquire),
                4 => mid::[<atomic_load_ $width _ $scope>](source, Ordering::SeqCst),
                _ => intrinsics::[<atomic_load_volatile_ $width _ $scope>](source),
            };
            match store {
                0 => mid::[<atomic_store_ $width _ $scope>](target, Ordering::Relaxed, value),
                2 => mid::[<atomic_store_ $width _ $scope>](target, Ordering::Release, value),
                4 => mid::[<atomic_store_ $width _ $scope>](target, Ordering::SeqCst, value),
                _ => intrinsics::[<atomic_store_volatile_ $width _ $scope>](target, value),
            }
        }
    )*}};
}

accesses! {
    u32 32 block;
    u32 32 device;
    u32 32 system;
    u64 64 block;
    u64 64 device;
    u64 64 system;
}

macro_rules! floats {
    ($($name:ident $atomic:ident $float:ident;)*) => {paste! {$(
        /// Operations 0 to 4: add, sub, and, or, xor; 5 loads; 6 stores. With a cell for each block.
        #[kernel]
        pub unsafe fn [<float_ $name>](
            cells: &[$atomic], per_block: u32, operation: u32, values: *const $float, olds: *mut $float,
        ) {
            let cell = &cells[(thread::block_idx_x() * per_block) as usize];
            let value = *values.add(crate::place());
            #[allow(unused_unsafe, reason = "of the block's atomics alone the methods are unsafe")]
            let old = unsafe {
                match operation {
                    0 => cell.fetch_add(value, Ordering::Relaxed),
                    1 => cell.fetch_sub(value, Ordering::AcqRel),
                    2 => cell.fetch_and(value, Ordering::Acquire),
                    3 => cell.fetch_or(value, Ordering::Release),
                    4 => cell.fetch_xor(value, Ordering::SeqCst),
                    5 => cell.load(Ordering::Acquire),
                    _ => {
                        cell.store(value, Ordering::Release);
                        value
                    }
                }
            };
            *olds.add(crate::place()) = old;
        }
    )*}};
}

floats! {
    device_f32 AtomicF32 f32;
    device_f64 AtomicF64 f64;
    block_f32 BlockAtomicF32 f32;
    block_f64 BlockAtomicF64 f64;
    system_f32 SystemAtomicF32 f32;
    system_f64 SystemAtomicF64 f64;
}

/// `core`'s own atomics: the sum, the maximum, a product of odd numbers by compare and exchange, and set bits.
#[kernel]
pub unsafe fn core_atomics(
    values: &[u32],
    sum: &AtomicU64,
    most: &AtomicI32,
    product: &AtomicU32,
    bits: &AtomicU64,
) {
    let value = values[crate::place()];
    sum.fetch_add(u64::from(value), Ordering::Relaxed);
    most.fetch_max(value.cast_signed(), Ordering::AcqRel);
    bits.fetch_or(1 << (value % 64), Ordering::SeqCst);
    let mut old = product.load(Ordering::Relaxed);
    while let Err(seen) =
        product.compare_exchange_weak(old, old.wrapping_mul(value | 1), Ordering::AcqRel, Ordering::Relaxed)
    {
        old = seen;
    }
}

/// Counts in shared memory, in one block: a histogram of the values' low six bits, their sum as floats and the largest
/// of their squares.
#[kernel]
pub unsafe fn shared_atomics(values: &[u32], counts: *mut u32, sum: *mut f32, most: *mut u64) {
    let shared_counts = shared_array![u32; 64];
    let (shared_sum, shared_most) = (shared_array![f32; 1], shared_array![u64; 1]);
    let thread = thread::thread_idx_x() as usize;
    if thread < 64 {
        *shared_counts.add(thread) = 0;
        *shared_sum = 0.0;
        *shared_most = 0;
    }
    thread::sync_threads();
    for &value in values.iter().skip(thread).step_by(thread::block_dim_x() as usize) {
        mid::atomic_fetch_add_u32_block(shared_counts.add(value as usize % 64), Ordering::Relaxed, 1);
        mid::atomic_fetch_add_f32_block(shared_sum, Ordering::Relaxed, value as f32);
        mid::atomic_fetch_max_u64_block(shared_most, Ordering::Relaxed, u64::from(value) * u64::from(value));
    }
    thread::sync_threads();
    if thread < 64 {
        *counts.add(thread) = *shared_counts.add(thread);
        *sum = *shared_sum;
        *most = *shared_most;
    }
}
