//! Warpgroups: four warps with one task, registers of their own and a barrier of their own.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

use crate::gpu_only;

/// Fails to compile for a number of registers that `setmaxnreg` does not take.
#[cfg(target_arch = "nvptx64")]
const fn assert_registers(number: u32) {
    assert!(
        number.is_multiple_of(8) && 24 <= number && number <= 256,
        "registers come in multiples of 8, from 24 to 256"
    );
}

/// Gives registers back: each thread of the warpgroup keeps `N`, a multiple of 8 from 24 to 256
/// (`setmaxnreg.dec.sync.aligned.u32`, sm_90a).
///
/// A block begins with the registers that its launch bounds give each thread (168 for 384 threads); warps that only load
/// need few, and what they give back others take with [`increase_registers`]. Without launch bounds ptxas ignores both.
///
/// # Safety
/// All warps of a warpgroup call this, once, with the same number, at most as many as they have; code after it in these
/// warps' branch keeps within it.
#[gpu_only]
#[inline(always)]
pub unsafe fn decrease_registers<const N: u32>() {
    const { assert_registers(N) };
    // SAFETY: promised by the caller.
    unsafe { asm!("setmaxnreg.dec.sync.aligned.u32 {};", const N, options(nostack, preserves_flags)) }
}

/// Waits for registers until each thread of the warpgroup has `N`, a multiple of 8 from 24 to 256
/// (`setmaxnreg.inc.sync.aligned.u32`, sm_90a).
///
/// # Safety
/// All warps of a warpgroup call this, once, with the same number, at least as many as they have. Other warpgroups of the
/// block give back as many as all together take.
#[gpu_only]
#[inline(always)]
pub unsafe fn increase_registers<const N: u32>() {
    const { assert_registers(N) };
    // SAFETY: promised by the caller.
    unsafe { asm!("setmaxnreg.inc.sync.aligned.u32 {};", const N, options(nostack, preserves_flags)) }
}

/// Waits until all 128 threads of a warpgroup are here (`bar.sync ID, 128`). What each wrote before, all see after.
///
/// Barrier 0 is that of [`sync_threads`](crate::thread::sync_threads); 1 to 15 are free.
///
/// # Safety
/// `barrier` is 1 to 15; the 128 threads of whole warps that meet there are the same at each call.
#[gpu_only]
#[inline(always)]
pub unsafe fn sync_warpgroup(barrier: u32) {
    // SAFETY: promised by the caller.
    unsafe { asm!("bar.sync {}, 128;", in(reg32) barrier, options(nostack, preserves_flags)) }
}

/// Whether the calling lane is the one that the hardware elects from its warp (`elect.sync`, sm_90).
///
/// # Safety
/// All lanes of the warp call this together.
#[gpu_only]
#[inline(always)]
#[must_use]
pub unsafe fn elect() -> bool {
    let elected: u32;
    // SAFETY: promised by the caller.
    unsafe {
        asm!(
            "{{ .reg .pred %elected; elect.sync _|%elected, 0xffffffff; selp.u32 {}, 1, 0, %elected; }}",
            out(reg32) elected, options(nostack, preserves_flags)
        );
    }
    elected != 0
}
