//! Atomic operations under contention. Each thread does one operation on a cell that it shares with the others and writes
//! down the value that it got; the host checks that these values can have come about one after the other.
//!
//! The cell is the only one, or with `per_block` the block's own. Orderings are 0 to 4 for relaxed, acquire, release,
//! acquire and release, sequentially consistent; 5 is the instruction without an ordering, where there is one.
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use cuda_std::atomic::{
    AtomicF32, AtomicF64, BlockAtomicF32, BlockAtomicF64, SystemAtomicF32, SystemAtomicF64, intrinsics, mid,
};
use cuda_std::{kernel, thread};
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

macro_rules! steps {
    ($($type:ident)*) => {paste! {$(
        /// Each ordering at each scope: 15 up in the first cell, 15 down in the second.
        #[kernel]
        pub unsafe fn [<steps_ $type>](cells: *mut $type) {
            macro_rules! step {
                ($d($ordering:ident)*) => {$d(
                    step!(@ $ordering block);
                    step!(@ $ordering device);
                    step!(@ $ordering system);
                )*};
                (@ $ordering:ident $scope:ident) => {::pastey::paste! {
                    intrinsics::[<atomic_fetch_inc_ $ordering _ $type _ $scope>](cells);
                    intrinsics::[<atomic_fetch_dec_ $ordering _ $type _ $scope>](cells.add(1));
                }};
            }
            step!(relaxed acquire release acqrel volatile);
        }
    )*}};
}
