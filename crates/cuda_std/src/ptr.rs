//! Address spaces of pointers. A *generic* pointer, which every Rust pointer is, can point into any of them. A
//! *specific* address counts from the start of one space; instructions with a space in their name take it.
#![allow(clippy::pointers_in_nomem_asm_block, reason = "addresses are computed here, not followed")]

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

use crate::gpu_only;
#[cfg(target_arch = "nvptx64")]
use crate::intrinsic;

/// A memory space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressSpace {
    /// Device memory, the same for all threads.
    Global,
    /// The block's memory on the multiprocessor.
    Shared,
    /// Memory that no kernel writes, 64 KiB a module.
    Constant,
    /// The thread's own memory.
    Local,
}

/// Whether a generic pointer points into the space (`isspacep`).
///
/// # Safety
/// `ptr` is a generic pointer, not a specific address.
#[gpu_only]
#[inline(always)]
#[must_use]
pub unsafe fn is_in_address_space<T>(ptr: *const T, sp: AddressSpace) -> bool {
    let pointer = ptr.cast();
    match sp {
        AddressSpace::Global => intrinsic::is_global(pointer),
        AddressSpace::Shared => intrinsic::is_shared(pointer),
        AddressSpace::Constant => intrinsic::is_constant(pointer),
        AddressSpace::Local => intrinsic::is_local(pointer),
    }
}

/// One `cvta` instruction from an address to an address.
#[cfg(target_arch = "nvptx64")]
macro_rules! cvta {
    ($instruction:literal, $address:expr) => {{
        let address: *const T;
        // SAFETY: address arithmetic.
        unsafe {
            asm!(
                concat!($instruction, " {}, {};"),
                out(reg64) address, in(reg64) $address, options(pure, nomem, nostack, preserves_flags)
            );
        }
        address
    }};
}

/// The address within the space that a generic pointer points to (`cvta.to`).
///
/// # Safety
/// `ptr` points into that space.
#[gpu_only]
#[inline(always)]
#[must_use]
pub unsafe fn convert_generic_to_specific_address_space<T>(ptr: *const T, sp: AddressSpace) -> *const T {
    match sp {
        AddressSpace::Global => cvta!("cvta.to.global.u64", ptr),
        AddressSpace::Shared => cvta!("cvta.to.shared.u64", ptr),
        AddressSpace::Constant => cvta!("cvta.to.const.u64", ptr),
        AddressSpace::Local => cvta!("cvta.to.local.u64", ptr),
    }
}

/// The generic pointer to an address within the space (`cvta`).
///
/// # Safety
/// `ptr` is an address within that space.
#[gpu_only]
#[inline(always)]
#[must_use]
pub unsafe fn convert_specific_address_space_to_generic<T>(ptr: *const T, sp: AddressSpace) -> *const T {
    match sp {
        AddressSpace::Global => cvta!("cvta.global.u64", ptr),
        AddressSpace::Shared => cvta!("cvta.shared.u64", ptr),
        AddressSpace::Constant => cvta!("cvta.const.u64", ptr),
        AddressSpace::Local => cvta!("cvta.local.u64", ptr),
    }
}
