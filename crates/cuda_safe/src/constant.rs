//! Constant memory: numbers that the host sets between launches and all threads read.

use core::cell::UnsafeCell;

use crate::bits::Bits;

/// A variable in constant memory, which the host writes by its name before a launch and no kernel can write. [`constant!`]
/// declares one.
///
/// [`constant!`]: crate::constant!
#[derive(Debug)]
#[cfg_attr(target_arch = "nvptx64", repr(transparent))]
pub struct Constant<T> {
    value: UnsafeCell<T>,
    #[cfg(not(target_arch = "nvptx64"))]
    name: &'static str,
}

// SAFETY: kernels only read it, and the host writes it while none runs.
unsafe impl<T: Bits> Sync for Constant<T> {}

impl<T> Constant<T> {
    #[doc(hidden)]
    pub const fn new(name: &'static str, value: T) -> Self {
        let _ = name;
        Self {
            value: UnsafeCell::new(value),
            #[cfg(not(target_arch = "nvptx64"))]
            name,
        }
    }

    /// The name by which the host finds it in the module.
    #[cfg(not(target_arch = "nvptx64"))]
    pub fn name(&self) -> &'static str {
        self.name
    }
}

/// Declares variables in constant memory.
///
/// ```
/// cuda_safe::constant! {
///     /// The coefficients of a stencil.
///     pub static COEFFICIENTS: [f32; 4] = [0.0; 4];
/// }
/// assert_eq!(COEFFICIENTS.name(), "COEFFICIENTS");
/// ```
///
/// A kernel reads `COEFFICIENTS.at(nth)`. The host writes the global `COEFFICIENTS.name()` of the module, which cust's
/// `Module::get_global` finds, while no kernel of the module runs. Its name is plain, so no two of a program can have the same.
#[macro_export]
macro_rules! constant {
    ($($(#[$attribute:meta])* $visibility:vis static $name:ident: $type:ty = $value:expr;)*) => {$(
        $(#[$attribute])*
        #[$crate::__kernel::cuda_std::address_space(constant)]
        #[cfg_attr(target_arch = "nvptx64", unsafe(no_mangle))]
        $visibility static $name: $crate::Constant<$type> = $crate::Constant::new(stringify!($name), $value);
    )*};
}

impl<T: Bits> Constant<T> {
    /// A pointer to it, for unsafe code that finds its elements by bytes.
    #[inline(always)]
    pub fn as_ptr(&self) -> *const T {
        self.value.get()
    }

    /// The value.
    #[inline(always)]
    pub fn get(&self) -> T {
        // SAFETY: nothing writes it during a launch.
        unsafe { *self.value.get() }
    }
}

impl<T: Bits, const LENGTH: usize> Constant<[T; LENGTH]> {
    /// The element with this index.
    ///
    /// # Panics
    /// The index is not below `LENGTH`. The check is gone where the compiler sees that it is.
    #[inline(always)]
    pub fn at(&self, index: usize) -> T {
        assert!(index < LENGTH);
        // An offset in bytes: LLVM moves an index's mask beyond the multiplication here, not in an index of elements. Where a
        // thread's own element has the same index, ptxas then computes one offset for both.
        // SAFETY: the index is in bounds, and nothing writes the array during a launch.
        unsafe { *self.value.get().cast::<T>().byte_add(index * size_of::<T>()) }
    }
}
