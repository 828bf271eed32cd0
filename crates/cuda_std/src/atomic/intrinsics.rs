//! Atomic operations as single PTX instructions, one function each: operation, ordering, type and scope are in the name.
//!
//! - **ordering**: `relaxed`, `acquire`, `release`, `acqrel`; `volatile` leaves it unsaid, which PTX reads as relaxed
//!   (for `atom`) or as a volatile access (for `ld` and `st`);
//! - **scope**, the threads for which the operation is atomic: `block` (`.cta`), `device` (`.gpu`), `system` (`.sys`: the
//!   host and other devices as well);
//! - **type**: its width decides the instruction's; bitwise operations and exchanges on floats act on their bits.
//!
//! | functions | instruction |
//! | --- | --- |
//! | `atomic_load_{relaxed,acquire,volatile}_{32,64}_{scope}(pointer)` | `ld.{ordering}.{scope}.b32` |
//! | `atomic_store_{relaxed,release,volatile}_{32,64}_{scope}(pointer, value)` | `st.{ordering}.{scope}.b32` |
//! | `atomic_fetch_{add,sub,min,max,and,or,xor,exch}_{ordering}_{type}_{scope}(pointer, value)` | `atom.{ordering}.{scope}.{operation}` |
//! | `atomic_fetch_{inc,dec}_{ordering}_{type}_{scope}(pointer)` | `atom.{ordering}.{scope}.add` of 1 or -1 |
//! | `atomic_fetch_cas_{ordering}_{type}_{scope}(pointer, current, new)` | `atom.{ordering}.{scope}.cas` |
//! | `membar_{scope}()`, `fence_{sc,acqrel}_{scope}()` | `membar`, `fence` |
//!
//! All of them return the old value. PTX has no subtraction: `sub` adds the negated value. In global memory the addition of
//! `f32` takes subnormal numbers for 0, before and after; that of `f64`, and both in shared memory, do not.
//!
//! # Safety
//! For each function with a pointer: it is valid for reads and writes, aligned to the type's size, and every other access
//! to the same bytes that is not ordered with this one is atomic as well, at a scope that includes both threads.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

use pastey::paste;

use crate::gpu_only;

macro_rules! fences {
    ($($name:ident, $instruction:literal;)*) => {$(
        #[doc = concat!("A fence: `", $instruction, "`.")]
        ///
        /// # Safety
        /// None is needed; the function is `unsafe` because Rust-CUDA's is.
        #[gpu_only]
        #[inline(always)]
        pub unsafe fn $name() {
            // SAFETY: orders memory accesses and does nothing else.
            unsafe { asm!(concat!($instruction, ";"), options(nostack, preserves_flags)) }
        }
    )*};
}

fences! {
    membar_block, "membar.cta";
    membar_device, "membar.gl";
    membar_system, "membar.sys";
    fence_sc_block, "fence.sc.cta";
    fence_sc_device, "fence.sc.gpu";
    fence_sc_system, "fence.sc.sys";
    fence_acqrel_block, "fence.acq_rel.cta";
    fence_acqrel_device, "fence.acq_rel.gpu";
    fence_acqrel_system, "fence.acq_rel.sys";
}

macro_rules! loads {
    ($($ordering:ident $scope:ident $instruction:literal),* $(,)?) => {$(
        loads!(@ $ordering $scope $instruction, 32 u32 reg32 ".b32");
        loads!(@ $ordering $scope $instruction, 64 u64 reg64 ".b64");
    )*};
    (@ $ordering:ident $scope:ident $instruction:literal, $width:literal $type:ident $register:ident $suffix:literal) => {paste! {
        #[doc = concat!("`", $instruction, $suffix, "`")]
        ///
        /// # Safety
        /// See the [module](self#safety).
        #[gpu_only]
        #[inline(always)]
        #[must_use]
        pub unsafe fn [<atomic_load_ $ordering _ $width _ $scope>](ptr: *const $type) -> $type {
            let value;
            // SAFETY: promised by the caller.
            unsafe {
                asm!(
                    concat!($instruction, $suffix, " {}, [{}];"),
                    out($register) value, in(reg64) ptr, options(nostack, preserves_flags)
                );
            }
            value
        }
    }};
}

loads! {
    relaxed block "ld.relaxed.cta", acquire block "ld.acquire.cta", volatile block "ld.volatile",
    relaxed device "ld.relaxed.gpu", acquire device "ld.acquire.gpu", volatile device "ld.volatile",
    relaxed system "ld.relaxed.sys", acquire system "ld.acquire.sys", volatile system "ld.volatile",
}

macro_rules! stores {
    ($($ordering:ident $scope:ident $instruction:literal),* $(,)?) => {$(
        stores!(@ $ordering $scope $instruction, 32 u32 reg32 ".b32");
        stores!(@ $ordering $scope $instruction, 64 u64 reg64 ".b64");
    )*};
    (@ $ordering:ident $scope:ident $instruction:literal, $width:literal $type:ident $register:ident $suffix:literal) => {paste! {
        #[doc = concat!("`", $instruction, $suffix, "`")]
        ///
        /// # Safety
        /// See the [module](self#safety).
        #[gpu_only]
        #[inline(always)]
        pub unsafe fn [<atomic_store_ $ordering _ $width _ $scope>](ptr: *mut $type, val: $type) {
            // SAFETY: promised by the caller.
            unsafe {
                asm!(
                    concat!($instruction, $suffix, " [{}], {};"),
                    in(reg64) ptr, in($register) val, options(nostack, preserves_flags)
                );
            }
        }
    }};
}

stores! {
    relaxed block "st.relaxed.cta", release block "st.release.cta", volatile block "st.volatile",
    relaxed device "st.relaxed.gpu", release device "st.release.gpu", volatile device "st.volatile",
    relaxed system "st.relaxed.sys", release system "st.release.sys", volatile system "st.volatile",
}

/// Calls another macro for each ordering in each scope, with the beginning of the instruction.
macro_rules! each_ordering_and_scope {
    ($macro:ident, $($arguments:tt)*) => {
        $macro!(@ relaxed block "atom.relaxed.cta", $($arguments)*);
        $macro!(@ acquire block "atom.acquire.cta", $($arguments)*);
        $macro!(@ release block "atom.release.cta", $($arguments)*);
        $macro!(@ acqrel block "atom.acq_rel.cta", $($arguments)*);
        $macro!(@ volatile block "atom.cta", $($arguments)*);
        $macro!(@ relaxed device "atom.relaxed.gpu", $($arguments)*);
        $macro!(@ acquire device "atom.acquire.gpu", $($arguments)*);
        $macro!(@ release device "atom.release.gpu", $($arguments)*);
        $macro!(@ acqrel device "atom.acq_rel.gpu", $($arguments)*);
        $macro!(@ volatile device "atom.gpu", $($arguments)*);
        $macro!(@ relaxed system "atom.relaxed.sys", $($arguments)*);
        $macro!(@ acquire system "atom.acquire.sys", $($arguments)*);
        $macro!(@ release system "atom.release.sys", $($arguments)*);
        $macro!(@ acqrel system "atom.acq_rel.sys", $($arguments)*);
        $macro!(@ volatile system "atom.sys", $($arguments)*);
    };
}

/// An operation with one operand besides memory: what the instruction gets for it is the expression.
macro_rules! fetch {
    ($($operation:ident $type:ident $register:ident $suffix:literal, |$value:ident| $operand:expr;)*) => {$(
        each_ordering_and_scope!(fetch, $operation $type $register $suffix, |$value| $operand);
    )*};
    (@ $ordering:ident $scope:ident $instruction:literal, $operation:ident $type:ident $register:ident $suffix:literal, |$value:ident| $operand:expr) => {paste! {
        #[doc = concat!("`", $instruction, $suffix, "`")]
        ///
        /// # Safety
        /// See the [module](self#safety).
        #[gpu_only]
        #[inline(always)]
        pub unsafe fn [<atomic_fetch_ $operation _ $ordering _ $type _ $scope>](ptr: *mut $type, $value: $type) -> $type {
            let old;
            // SAFETY: promised by the caller.
            unsafe {
                asm!(
                    concat!($instruction, $suffix, " {}, [{}], {};"),
                    out($register) old, in(reg64) ptr, in($register) $operand, options(nostack, preserves_flags)
                );
            }
            old
        }
    }};
}

fetch! {
    add u32 reg32 ".add.u32", |val| val;
    add i32 reg32 ".add.s32", |val| val;
    add u64 reg64 ".add.u64", |val| val;
    add i64 reg64 ".add.u64", |val| val;
    add f32 reg32 ".add.f32", |val| val;
    add f64 reg64 ".add.f64", |val| val;
    sub u32 reg32 ".add.u32", |val| val.wrapping_neg();
    sub i32 reg32 ".add.s32", |val| val.wrapping_neg();
    sub u64 reg64 ".add.u64", |val| val.wrapping_neg();
    sub i64 reg64 ".add.u64", |val| val.wrapping_neg();
    sub f32 reg32 ".add.f32", |val| -val;
    sub f64 reg64 ".add.f64", |val| -val;
    min u32 reg32 ".min.u32", |val| val;
    min i32 reg32 ".min.s32", |val| val;
    min u64 reg64 ".min.u64", |val| val;
    min i64 reg64 ".min.s64", |val| val;
    max u32 reg32 ".max.u32", |val| val;
    max i32 reg32 ".max.s32", |val| val;
    max u64 reg64 ".max.u64", |val| val;
    max i64 reg64 ".max.s64", |val| val;
    and u32 reg32 ".and.b32", |val| val;
    and i32 reg32 ".and.b32", |val| val;
    and u64 reg64 ".and.b64", |val| val;
    and i64 reg64 ".and.b64", |val| val;
    and f32 reg32 ".and.b32", |val| val;
    and f64 reg64 ".and.b64", |val| val;
    or u32 reg32 ".or.b32", |val| val;
    or i32 reg32 ".or.b32", |val| val;
    or u64 reg64 ".or.b64", |val| val;
    or i64 reg64 ".or.b64", |val| val;
    or f32 reg32 ".or.b32", |val| val;
    or f64 reg64 ".or.b64", |val| val;
    xor u32 reg32 ".xor.b32", |val| val;
    xor i32 reg32 ".xor.b32", |val| val;
    xor u64 reg64 ".xor.b64", |val| val;
    xor i64 reg64 ".xor.b64", |val| val;
    xor f32 reg32 ".xor.b32", |val| val;
    xor f64 reg64 ".xor.b64", |val| val;
    exch u32 reg32 ".exch.b32", |val| val;
    exch i32 reg32 ".exch.b32", |val| val;
    exch u64 reg64 ".exch.b64", |val| val;
    exch i64 reg64 ".exch.b64", |val| val;
    exch f32 reg32 ".exch.b32", |val| val;
    exch f64 reg64 ".exch.b64", |val| val;
}

/// An operation without an operand besides memory: an addition of a constant.
macro_rules! fetch_step {
    ($($operation:ident $type:ident $register:ident $suffix:literal $step:literal;)*) => {$(
        each_ordering_and_scope!(fetch_step, $operation $type $register $suffix $step);
    )*};
    (@ $ordering:ident $scope:ident $instruction:literal, $operation:ident $type:ident $register:ident $suffix:literal $step:literal) => {paste! {
        #[doc = concat!("`", $instruction, $suffix, "` of ", $step)]
        ///
        /// # Safety
        /// See the [module](self#safety).
        #[gpu_only]
        #[inline(always)]
        pub unsafe fn [<atomic_fetch_ $operation _ $ordering _ $type _ $scope>](ptr: *mut $type) -> $type {
            let old;
            // SAFETY: promised by the caller.
            unsafe {
                asm!(
                    concat!($instruction, $suffix, " {}, [{}], ", $step, ";"),
                    out($register) old, in(reg64) ptr, options(nostack, preserves_flags)
                );
            }
            old
        }
    }};
}

fetch_step! {
    inc u32 reg32 ".add.u32" "1";
    inc i32 reg32 ".add.s32" "1";
    inc u64 reg64 ".add.u64" "1";
    inc i64 reg64 ".add.u64" "1";
    dec u32 reg32 ".add.u32" "-1";
    dec i32 reg32 ".add.s32" "-1";
    dec u64 reg64 ".add.u64" "-1";
    dec i64 reg64 ".add.u64" "-1";
}

macro_rules! compare_and_swap {
    ($($type:ident $register:ident $suffix:literal;)*) => {$(
        each_ordering_and_scope!(compare_and_swap, $type $register $suffix);
    )*};
    (@ $ordering:ident $scope:ident $instruction:literal, $type:ident $register:ident $suffix:literal) => {paste! {
        #[doc = concat!("`", $instruction, $suffix, "`: stores `new` if memory holds the bits of `current`.")]
        ///
        /// # Safety
        /// See the [module](self#safety).
        #[gpu_only]
        #[inline(always)]
        pub unsafe fn [<atomic_fetch_cas_ $ordering _ $type _ $scope>](ptr: *mut $type, current: $type, new: $type) -> $type {
            let old;
            // SAFETY: promised by the caller.
            unsafe {
                asm!(
                    concat!($instruction, $suffix, " {}, [{}], {}, {};"),
                    out($register) old, in(reg64) ptr, in($register) current, in($register) new,
                    options(nostack, preserves_flags)
                );
            }
            old
        }
    }};
}

compare_and_swap! {
    u32 reg32 ".cas.b32";
    i32 reg32 ".cas.b32";
    f32 reg32 ".cas.b32";
    u64 reg64 ".cas.b64";
    i64 reg64 ".cas.b64";
    f64 reg64 ".cas.b64";
}
