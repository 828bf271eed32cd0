//! Shared memory: the block's own, on the multiprocessor, about as fast as registers are far.
//!
//! Three ways to get some:
//! - [`shared_array!`](crate::shared_array), an array whose size is known to the compiler, as a raw pointer;
//! - `#[address_space(shared)] static mut TILE: ...`, the same as a static with its own type
//!   (see [`address_space`](macro@crate::address_space));
//! - [`dynamic_shared_mem`], whose size the host gives with the launch.
//!
//! In each case all threads of a block see the same bytes, they are undefined at the start, and
//! [`sync_threads`](crate::thread::sync_threads) must stand between one thread's write and another's read.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;

use crate::gpu_only;
use crate::vector::U32x4;
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// The type of statics that [`shared_array!`](crate::shared_array) declares. Not for direct use.
#[doc(hidden)]
#[derive(Debug)]
#[repr(transparent)]
pub struct Storage<T>(UnsafeCell<MaybeUninit<T>>);

// SAFETY: nothing but the address can be taken out in safe code.
unsafe impl<T> Sync for Storage<T> {}

impl<T> Storage<T> {
    #[expect(clippy::new_without_default, reason = "only the macro makes one")]
    #[must_use]
    pub const fn new() -> Self {
        Self(UnsafeCell::new(MaybeUninit::uninit()))
    }

    #[gpu_only]
    #[inline(always)]
    pub fn pointer(&self) -> *mut T {
        self.0.get().cast()
    }
}

/// The shared-memory address of a pointer, as the instructions with `.shared` in their name take it
/// (`cvta.to.shared.u64`).
///
/// The result means nothing if the pointer points elsewhere.
#[allow(clippy::not_unsafe_ptr_arg_deref, reason = "the address is computed, not followed")]
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn address<T>(pointer: *const T) -> u32 {
    let specific = {
        // SAFETY: the conversion is arithmetic; what it is used for needs the pointer to be to shared memory.
        unsafe {
            crate::ptr::convert_generic_to_specific_address_space(pointer, crate::ptr::AddressSpace::Shared)
        }
    };
    specific.addr() as u32
}

/// Loads 16 bytes from an address within shared memory, exactly here (`ld.shared.v4.b32`).
///
/// # Safety
/// The address is a multiple of 16 and within the block's shared memory, and the bytes are initialised.
#[gpu_only]
#[inline(always)]
#[must_use]
pub unsafe fn load_vector(address: u32) -> U32x4 {
    let (x, y, z, w): (u32, u32, u32, u32);
    // SAFETY: promised by the caller.
    unsafe {
        asm!(
            "ld.shared.v4.b32 {{{}, {}, {}, {}}}, [{}];",
            out(reg32) x, out(reg32) y, out(reg32) z, out(reg32) w, in(reg32) address,
            options(readonly, nostack, preserves_flags)
        );
    }
    U32x4::new(x, y, z, w)
}

/// Loads a word from an address within shared memory, exactly here (`ld.shared.b32`).
///
/// # Safety
/// The address is a multiple of 4 and within the block's shared memory, and the bytes are initialised.
#[gpu_only]
#[inline(always)]
#[must_use]
pub unsafe fn load_word(address: u32) -> u32 {
    let word;
    // SAFETY: promised by the caller.
    unsafe {
        asm!(
            "ld.shared.b32 {}, [{}];",
            out(reg32) word, in(reg32) address, options(readonly, nostack, preserves_flags)
        );
    }
    word
}

/// An array in the block's shared memory: `shared_array![f32; 256]` is a `*mut f32` to its first element.
///
/// Each place in the source that has this macro is one array, whichever kernels reach it and however often. Its content
/// is undefined at the start; threads that use it must be kept apart with
/// [`sync_threads`](crate::thread::sync_threads).
#[macro_export]
macro_rules! shared_array {
    ($element:ty; $length:expr) => {{
        #[cfg_attr(target_os = "cuda", unsafe(link_section = ".cuda.shared"))]
        static STORAGE: $crate::shared::Storage<[$element; $length]> = $crate::shared::Storage::new();
        $crate::shared::Storage::pointer(&STORAGE).cast::<$element>()
    }};
}

#[cfg(target_arch = "nvptx64")]
unsafe extern "C" {
    // `cuda_builder` gives this the shared address space, no size and an alignment of 16.
    static __cuda_std_dynamic_shared: u8;
}

/// The start of the launch's dynamic shared memory, 16-byte aligned; the same address at each call.
///
/// Its size is what the host gave at the launch, see [`dynamic_smem_size`](crate::mem::dynamic_smem_size). Above 48 KiB
/// (static included) the host must first raise the kernel's limit.
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn dynamic_shared_mem<T>() -> *mut T {
    const { assert!(align_of::<T>() <= 16, "dynamic shared memory is aligned to 16 bytes") };
    (&raw const __cuda_std_dynamic_shared).cast_mut().cast()
}
