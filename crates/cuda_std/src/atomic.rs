//! Atomic floats and, below them, every atomic instruction by name.
//!
//! - The types here are floats that threads change without losing each other's changes, at the scope of the block, the
//!   device or the system. They work on the host as well, where a compare-and-swap loop stands in for the instruction.
//! - [`mid`] has functions on raw pointers that take an [`Ordering`]; [`intrinsics`] has one function for each instruction.
//! - [`in_space`] has the relaxed operations with the memory's name in the instruction, and reductions (`red`).
//! - For integers `core::sync::atomic` works on the GPU: `AtomicU32::fetch_add` is `atom.add.u32` at system scope.

pub mod in_space;
pub mod intrinsics;
pub mod mid;

use core::cell::UnsafeCell;
use core::sync::atomic::Ordering;
#[cfg(not(target_arch = "nvptx64"))]
use core::sync::atomic::{AtomicU32, AtomicU64};

#[cfg(target_arch = "nvptx64")]
use pastey::paste;

#[cfg(not(target_arch = "nvptx64"))]
/// Reads, changes and writes back the bits on the host; returns the old value.
macro_rules! on_host {
    ($self:ident, $float:ident, $atomic:ident, $ordering:ident, |$old:ident| $new:expr) => {{
        // SAFETY: the cell has the atomic's size, alignment and bits, and all access to it while shared is atomic.
        let atomic = unsafe { $atomic::from_ptr($self.value.get().cast()) };
        let relaxed = match $ordering {
            Ordering::Release => Ordering::Relaxed,
            Ordering::AcqRel => Ordering::Acquire,
            other => other,
        };
        let change = |bits| {
            let $old = $float::from_bits(bits);
            Some($float::to_bits($new))
        };
        match atomic.fetch_update($ordering, relaxed, change) {
            Ok(bits) | Err(bits) => $float::from_bits(bits),
        }
    }};
}

macro_rules! atomic_float {
    ($(
        $(#[$documentation:meta])*
        $name:ident, $float:ident, $bits:ident, $atomic:ident, $width:literal, $scope:ident, [$($safety:tt)*] $($risk:literal)*;
    )*) => {$(
        $(#[$documentation])*
        #[derive(Debug, Default)]
        #[repr(transparent)]
        pub struct $name {
            value: UnsafeCell<$float>,
        }

        // SAFETY: shared, the value is only accessed atomically.
        unsafe impl Sync for $name {}

        impl $name {
            /// The atomic with a first value.
            #[must_use]
            pub const fn new(v: $float) -> Self {
                Self { value: UnsafeCell::new(v) }
            }

            /// The value, once nothing shares the atomic any more.
            #[must_use]
            pub fn into_inner(self) -> $float {
                self.value.into_inner()
            }

            /// Reads the value.
            ///
            /// # Panics
            /// If the ordering releases.
            $(#[doc = $risk])*
            #[inline(always)]
            #[must_use]
            pub $($safety)* fn load(&self, ordering: Ordering) -> $float {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the value lives in `self` and is only accessed atomically.
                let bits = unsafe { paste!(mid::[<atomic_load_ $width _ $scope>])(self.value.get().cast(), ordering) };
                #[cfg(not(target_arch = "nvptx64"))]
                // SAFETY: the same.
                let bits = unsafe { $atomic::from_ptr(self.value.get().cast()) }.load(ordering);
                $float::from_bits(bits)
            }

            /// Writes the value.
            ///
            /// # Panics
            /// If the ordering acquires.
            $(#[doc = $risk])*
            #[inline(always)]
            pub $($safety)* fn store(&self, v: $float, ordering: Ordering) {
                #[cfg(target_arch = "nvptx64")]
                // SAFETY: the value lives in `self` and is only accessed atomically.
                unsafe {
                    paste!(mid::[<atomic_store_ $width _ $scope>])(self.value.get().cast(), ordering, v.to_bits());
                };
                #[cfg(not(target_arch = "nvptx64"))]
                // SAFETY: the same.
                unsafe { $atomic::from_ptr(self.value.get().cast()) }.store(v.to_bits(), ordering);
            }

            atomic_float!(@fetch $name, $float, $atomic, $scope, [$($safety)*], [$($risk)*]
                /// Adds; returns the old value.
                fetch_add add |old, v| old + v;
                /// Subtracts; returns the old value.
                fetch_sub sub |old, v| old - v;
                /// Bitwise and of the bits; returns the old value.
                fetch_and and |old, v| $float::from_bits(old.to_bits() & v.to_bits());
                /// Bitwise or of the bits; returns the old value.
                fetch_or or |old, v| $float::from_bits(old.to_bits() | v.to_bits());
                /// Bitwise exclusive or of the bits; returns the old value.
                fetch_xor xor |old, v| $float::from_bits(old.to_bits() ^ v.to_bits());
            );
        }
    )*};
    (@fetch $name:ident, $float:ident, $atomic:ident, $scope:ident, $safety:tt, $risk:tt $(
        $(#[$documentation:meta])* $method:ident $operation:ident |$old:ident, $value:ident| $new:expr;
    )*) => {$(
        atomic_float!(@method $float, $atomic, $scope, $safety, $risk, [$(#[$documentation])*] $method $operation |$old, $value| $new);
    )*};
    (@method $float:ident, $atomic:ident, $scope:ident, [$($safety:tt)*], [$($risk:literal)*], [$($documentation:tt)*]
        $method:ident $operation:ident |$old:ident, $value:ident| $new:expr) => {
        $($documentation)*
        $(#[doc = $risk])*
        #[inline(always)]
        pub $($safety)* fn $method(&self, $value: $float, ordering: Ordering) -> $float {
            #[cfg(target_arch = "nvptx64")]
            // SAFETY: the value lives in `self` and is only accessed atomically.
            return unsafe {
                paste!(mid::[<atomic_fetch_ $operation _ $float _ $scope>])(self.value.get(), ordering, $value)
            };
            #[cfg(not(target_arch = "nvptx64"))]
            return on_host!(self, $float, $atomic, ordering, |$old| $new);
        }
    };
}

atomic_float! {
    /// An `f32` that all threads of the device may change.
    AtomicF32, f32, u32, AtomicU32, 32, device, [];
    /// An `f64` that all threads of the device may change.
    AtomicF64, f64, u64, AtomicU64, 64, device, [];
    /// An `f32` that the threads of one block may change.
    BlockAtomicF32, f32, u32, AtomicU32, 32, block, [unsafe]
        "# Safety" "While this happens no thread of another block accesses the value.";
    /// An `f64` that the threads of one block may change.
    BlockAtomicF64, f64, u64, AtomicU64, 64, block, [unsafe]
        "# Safety" "While this happens no thread of another block accesses the value.";
    /// An `f32` that the threads of all devices and of the host may change.
    SystemAtomicF32, f32, u32, AtomicU32, 32, system, [];
    /// An `f64` that the threads of all devices and of the host may change.
    SystemAtomicF64, f64, u64, AtomicU64, 64, system, [];
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};

    use super::{AtomicF32, BlockAtomicF64, SystemAtomicF64};

    #[test]
    fn a_fetch_returns_the_old_value() {
        let sum = AtomicF32::new(1.5);
        assert_eq!(sum.fetch_add(2.0, Relaxed), 1.5);
        assert_eq!(sum.fetch_sub(0.5, AcqRel), 3.5);
        assert_eq!(sum.load(Acquire), 3.0);
        sum.store(-0.0, Release);
        assert_eq!(sum.fetch_and(f32::from_bits(0x7fff_ffff), SeqCst).to_bits(), 0x8000_0000);
        assert_eq!(sum.into_inner().to_bits(), 0);
    }

    #[test]
    fn bits_are_what_bitwise_operations_change() {
        let value = SystemAtomicF64::new(1.0);
        assert_eq!(value.fetch_or(-0.0, Relaxed), 1.0);
        assert_eq!(value.fetch_xor(-0.0, Release), -1.0);
        assert_eq!(value.into_inner(), 1.0);
    }

    #[test]
    fn a_block_atomic_adds() {
        let value = BlockAtomicF64::new(0.25);
        // SAFETY: no other thread knows the value.
        let old = unsafe { value.fetch_add(0.5, Relaxed) };
        assert_eq!((old, value.into_inner()), (0.25, 0.75));
    }

    #[test]
    fn threads_lose_no_addition() {
        let sum = AtomicF32::new(0.0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    (0..1000).for_each(|_| {
                        sum.fetch_add(1.0, Relaxed);
                    });
                });
            }
        });
        assert_eq!(sum.into_inner(), 4000.0);
    }
}
