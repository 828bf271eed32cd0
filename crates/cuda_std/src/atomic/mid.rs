//! Atomic operations with the ordering as a parameter. Each is a `match` over the [`intrinsics`](super::intrinsics),
//! which disappears once the ordering is a constant.
//!
//! A sequentially consistent operation is `fence.sc` before the acquiring or acquiring-and-releasing instruction, as
//! PTX's memory model maps it.
//!
//! # Safety
//! As for the [`intrinsics`](super::intrinsics#safety).
//!
//! # Panics
//! A load with a releasing ordering and a store with an acquiring one have no meaning and panic.

use core::sync::atomic::Ordering;

use pastey::paste;

#[cfg(target_arch = "nvptx64")]
use super::intrinsics;
use crate::gpu_only;

macro_rules! scopes {
    ($($scope:ident $threads:literal;)*) => {paste! {$(
        #[doc = concat!("A fence between ", $threads, ": `fence.acq_rel` or, sequentially consistent, `fence.sc`.")]
        #[gpu_only]
        #[inline(always)]
        pub fn [<$scope _thread_fence>](ordering: Ordering) {
            // SAFETY: fences touch no memory.
            unsafe {
                match ordering {
                    Ordering::Relaxed => {}
                    Ordering::SeqCst => intrinsics::[<fence_sc_ $scope>](),
                    _ => intrinsics::[<fence_acqrel_ $scope>](),
                }
            }
        }

        scopes!(@access $scope u32 32);
        scopes!(@access $scope u64 64);
    )*}};
    (@access $scope:ident $type:ident $width:literal) => {paste! {
        #[doc = concat!("An atomic load of ", $width, " bits.")]
        ///
        /// # Safety
        /// See the [module](self#safety).
        #[gpu_only]
        #[inline(always)]
        #[must_use]
        pub unsafe fn [<atomic_load_ $width _ $scope>](ptr: *mut $type, ordering: Ordering) -> $type {
            // SAFETY: promised by the caller.
            unsafe {
                match ordering {
                    Ordering::Relaxed => intrinsics::[<atomic_load_relaxed_ $width _ $scope>](ptr),
                    Ordering::Acquire => intrinsics::[<atomic_load_acquire_ $width _ $scope>](ptr),
                    Ordering::SeqCst => {
                        intrinsics::[<fence_sc_ $scope>]();
                        intrinsics::[<atomic_load_acquire_ $width _ $scope>](ptr)
                    }
                    _ => panic!("an atomic load releases nothing"),
                }
            }
        }

        #[doc = concat!("An atomic store of ", $width, " bits.")]
        ///
        /// # Safety
        /// See the [module](self#safety).
        #[gpu_only]
        #[inline(always)]
        pub unsafe fn [<atomic_store_ $width _ $scope>](ptr: *mut $type, ordering: Ordering, val: $type) {
            // SAFETY: promised by the caller.
            unsafe {
                match ordering {
                    Ordering::Relaxed => intrinsics::[<atomic_store_relaxed_ $width _ $scope>](ptr, val),
                    Ordering::Release => intrinsics::[<atomic_store_release_ $width _ $scope>](ptr, val),
                    Ordering::SeqCst => {
                        intrinsics::[<fence_sc_ $scope>]();
                        intrinsics::[<atomic_store_relaxed_ $width _ $scope>](ptr, val);
                    }
                    _ => panic!("an atomic store acquires nothing"),
                }
            }
        }
    }};
}

scopes! {
    block "the threads of the block";
    device "the threads of the device";
    system "all threads, the host and other devices";
}

macro_rules! fetch {
    ($($operation:ident $documentation:literal [$($type:ident)*];)*) => {$($(
        fetch!(@ $operation $documentation $type block);
        fetch!(@ $operation $documentation $type device);
        fetch!(@ $operation $documentation $type system);
    )*)*};
    (@ $operation:ident $documentation:literal $type:ident $scope:ident) => {paste! {
        #[doc = $documentation]
        ///
        /// # Safety
        /// See the [module](self#safety).
        #[gpu_only]
        #[inline(always)]
        pub unsafe fn [<atomic_fetch_ $operation _ $type _ $scope>](ptr: *mut $type, ordering: Ordering, val: $type) -> $type {
            // SAFETY: promised by the caller.
            unsafe {
                match ordering {
                    Ordering::Relaxed => intrinsics::[<atomic_fetch_ $operation _relaxed_ $type _ $scope>](ptr, val),
                    Ordering::Acquire => intrinsics::[<atomic_fetch_ $operation _acquire_ $type _ $scope>](ptr, val),
                    Ordering::Release => intrinsics::[<atomic_fetch_ $operation _release_ $type _ $scope>](ptr, val),
                    Ordering::AcqRel => intrinsics::[<atomic_fetch_ $operation _acqrel_ $type _ $scope>](ptr, val),
                    _ => {
                        intrinsics::[<fence_sc_ $scope>]();
                        intrinsics::[<atomic_fetch_ $operation _acqrel_ $type _ $scope>](ptr, val)
                    }
                }
            }
        }
    }};
}

fetch! {
    and "Bitwise and; returns the old value." [u32 i32 f32 u64 i64 f64];
    or "Bitwise or; returns the old value." [u32 i32 f32 u64 i64 f64];
    xor "Bitwise exclusive or; returns the old value." [u32 i32 f32 u64 i64 f64];
    add "Addition, wrapping for integers; returns the old value." [u32 i32 f32 u64 i64 f64];
    sub "Subtraction, wrapping for integers; returns the old value." [u32 i32 f32 u64 i64 f64];
    min "The smaller value; returns the old one." [u32 i32 u64 i64];
    max "The larger value; returns the old one." [u32 i32 u64 i64];
    exch "Exchange; returns the old value." [u32 i32 f32 u64 i64 f64];
}

macro_rules! compare_and_swap {
    ($($type:ident)*) => {$(
        compare_and_swap!(@ $type block);
        compare_and_swap!(@ $type device);
        compare_and_swap!(@ $type system);
    )*};
    (@ $type:ident $scope:ident) => {paste! {
        /// Stores `new` if memory holds the bits of `current`; returns the old value either way.
        ///
        /// # Safety
        /// See the [module](self#safety).
        #[gpu_only]
        #[inline(always)]
        pub unsafe fn [<atomic_compare_and_swap_ $type _ $scope>](
            ptr: *mut $type, current: $type, new: $type, ordering: Ordering,
        ) -> $type {
            // SAFETY: promised by the caller.
            unsafe {
                match ordering {
                    Ordering::Relaxed => intrinsics::[<atomic_fetch_cas_relaxed_ $type _ $scope>](ptr, current, new),
                    Ordering::Acquire => intrinsics::[<atomic_fetch_cas_acquire_ $type _ $scope>](ptr, current, new),
                    Ordering::Release => intrinsics::[<atomic_fetch_cas_release_ $type _ $scope>](ptr, current, new),
                    Ordering::AcqRel => intrinsics::[<atomic_fetch_cas_acqrel_ $type _ $scope>](ptr, current, new),
                    _ => {
                        intrinsics::[<fence_sc_ $scope>]();
                        intrinsics::[<atomic_fetch_cas_acqrel_ $type _ $scope>](ptr, current, new)
                    }
                }
            }
        }
    }};
}

compare_and_swap! { u32 i32 f32 u64 i64 f64 }
