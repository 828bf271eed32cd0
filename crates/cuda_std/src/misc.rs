//! Clocks and what debuggers and profilers look for.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

use crate::gpu_only;
#[cfg(target_arch = "nvptx64")]
use crate::intrinsic;

/// Stops the kernel for a debugger (`brkpt`); without one the launch fails.
#[gpu_only]
#[inline(always)]
pub fn breakpoint() {
    // SAFETY: ends the launch at worst.
    unsafe { asm!("brkpt;", options(nostack, preserves_flags)) }
}

/// Counts one event of this number, 0 to 15, for a profiler (`pmevent`).
///
/// The number is in the instruction itself, so it should be a constant.
///
/// # Panics
/// If the number is larger than 15.
#[gpu_only]
#[inline(always)]
pub fn profiler_counter(counter: u32) {
    macro_rules! event {
        ($($number:literal)*) => {
            match counter {
                // SAFETY: counts an event.
                $($number => unsafe { asm!(concat!("pmevent ", $number, ";"), options(nomem, nostack, preserves_flags)) },)*
                _ => panic!("a profiler counter is 0 to 15"),
            }
        };
    }
    event!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
}

/// The multiprocessor's clock cycles so far (`%clock64`): for differences within one block.
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn clock() -> u64 {
    intrinsic::clock64()
}

/// Loads a word past L1 (`ld.global.cg`), stores it to `kept`, and says how many clock cycles passed until the value was there to be
/// stored.
///
/// The clock is read after the store was issued, which waits for the value. So the count is the load's latency and a few cycles
/// for both readings of the clock.
///
/// # Safety
/// `pointer` is to an initialised word in global memory, and `kept` to one that nothing else accesses.
#[gpu_only]
#[inline(always)]
#[must_use]
pub unsafe fn timed_load(pointer: *const u64, kept: *mut u64) -> (u64, u32) {
    let (value, begin, end): (u64, u64, u64);
    // SAFETY: promised by the caller.
    unsafe {
        asm!(
            "mov.u64 {begin}, %clock64;",
            "ld.global.cg.u64 {value}, [{pointer}];",
            "st.global.u64 [{kept}], {value};",
            "mov.u64 {end}, %clock64;",
            begin = out(reg64) begin, value = out(reg64) value, end = out(reg64) end,
            pointer = in(reg64) pointer, kept = in(reg64) kept, options(nostack, preserves_flags)
        );
    }
    (value, (end - begin) as u32)
}

/// The device's time in nanoseconds (`%globaltimer`), the same on all multiprocessors; it may step by a microsecond.
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn global_timer() -> u64 {
    intrinsic::globaltimer()
}
