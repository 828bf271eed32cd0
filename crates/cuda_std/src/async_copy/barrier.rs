//! `mbarrier`: a barrier in shared memory that counts arrivals of threads and of bytes (sm_80, bytes sm_90).

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;

use crate::gpu_only;
#[cfg(target_arch = "nvptx64")]
use crate::shared;

/// A barrier object, which must lie in shared memory: `shared_array![Barrier; N]`.
///
/// A barrier goes through *phases*. A phase ends when as many arrivals as [`init`](Self::init) said have come and all bytes
/// that were announced have been written; then the next one begins by itself. Phases are told apart by their
/// *parity*: 0 for the first, 1 for the second, 0 for the third.
///
/// All functions take a pointer, because the barrier is changed by many threads at once. Instructions of sm_80 are spelled with
/// `.shared`, which PTX 7.0 knows; those of sm_90 with `.shared::cta`, which means the same.
#[derive(Debug)]
#[repr(C, align(8))]
pub struct Barrier(UnsafeCell<MaybeUninit<u64>>);

/// One instruction on the barrier at an address within shared memory, without a result.
#[cfg(target_arch = "nvptx64")]
macro_rules! on_barrier {
    ($barrier:expr, $instruction:literal $(, $operand:expr)?) => {{
        // SAFETY: promised by the caller.
        unsafe { asm!($instruction, in(reg32) $barrier, $(in(reg32) $operand,)? options(nostack, preserves_flags)) }
    }};
}

/// The same with the barrier's phase as its result.
#[cfg(target_arch = "nvptx64")]
macro_rules! arrive {
    ($barrier:expr, $instruction:literal $(, $operand:expr)?) => {{
        let phase: u64;
        // SAFETY: promised by the caller.
        unsafe {
            asm!($instruction, out(reg64) phase, in(reg32) $barrier, $(in(reg32) $operand,)? options(nostack, preserves_flags));
        }
        phase
    }};
}

/// One instruction on the barrier at an address within shared memory that answers yes or no.
#[cfg(target_arch = "nvptx64")]
macro_rules! ask_barrier {
    ($barrier:expr, $instruction:literal, $register:ident $operand:expr) => {{
        let answer: u32;
        // SAFETY: promised by the caller.
        unsafe {
            asm!(
                "{{",
                ".reg .pred %complete;",
                concat!($instruction, " %complete, [{}], {};"),
                "selp.b32 {}, 1, 0, %complete;",
                "}}",
                in(reg32) $barrier, in($register) $operand, out(reg32) answer, options(nostack, preserves_flags)
            );
        }
        answer != 0
    }};
}

impl Barrier {
    /// Makes the barrier, whose phases wait for this many arrivals, 1 to 2^20 - 1 (`mbarrier.init`, sm_80).
    ///
    /// One thread does it; the others may use the barrier after [`sync_threads`](crate::thread::sync_threads), and bulk copies
    /// after [`fence_barrier_init`] as well.
    ///
    /// # Safety
    /// `barrier` is in shared memory, and nothing else uses these bytes until it is
    /// [invalidated](Self::invalidate).
    #[gpu_only]
    #[inline(always)]
    pub unsafe fn init(barrier: *const Self, arrivals: u32) {
        // SAFETY: promised by the caller.
        unsafe { init(shared::address(barrier), arrivals) }
    }

    /// Ends the barrier, so that its bytes can be used for something else (`mbarrier.inval`, sm_80).
    ///
    /// # Safety
    /// `barrier` is initialised, and no thread uses it any more.
    #[gpu_only]
    #[inline(always)]
    pub unsafe fn invalidate(barrier: *const Self) {
        on_barrier!(shared::address(barrier), "mbarrier.inval.shared.b64 [{}];");
    }

    /// Arrives; returns the phase, to be [waited](Self::is_complete) for (`mbarrier.arrive`, sm_80).
    ///
    /// # Safety
    /// `barrier` is initialised, and fewer threads than it waits for have arrived in this phase.
    #[gpu_only]
    #[inline(always)]
    pub unsafe fn arrive(barrier: *const Self) -> u64 {
        arrive!(shared::address(barrier), "mbarrier.arrive.shared.b64 {}, [{}];")
    }

    /// Announces that many bytes for this phase, then arrives; returns the phase
    /// (`mbarrier.arrive.expect_tx.shared::cta`, sm_90).
    ///
    /// # Safety
    /// As for [`arrive`](Self::arrive); at most 2^20 - 1 bytes are announced at a time.
    #[gpu_only]
    #[inline(always)]
    pub unsafe fn arrive_expect_bytes(barrier: *const Self, bytes: u32) -> u64 {
        // SAFETY: promised by the caller.
        unsafe { arrive_expect_bytes(shared::address(barrier), bytes) }
    }

    /// Announces that many bytes for this phase, without arriving (`mbarrier.expect_tx.relaxed.cta.shared::cta`, sm_90).
    ///
    /// # Safety
    /// `barrier` is initialised; at most 2^20 - 1 bytes are announced at a time.
    #[gpu_only]
    #[inline(always)]
    pub unsafe fn expect_bytes(barrier: *const Self, bytes: u32) {
        on_barrier!(
            shared::address(barrier),
            "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [{}], {};",
            bytes
        );
    }

    /// True if the phase that [`arrive`](Self::arrive) returned is over (`mbarrier.test_wait`, sm_80).
    ///
    /// # Safety
    /// `barrier` is initialised, and the phase is its current or the one before.
    #[gpu_only]
    #[inline(always)]
    #[must_use]
    pub unsafe fn is_complete(barrier: *const Self, phase: u64) -> bool {
        ask_barrier!(shared::address(barrier), "mbarrier.test_wait.shared.b64", reg64 phase)
    }

    /// True if the phase of this parity is over. The hardware may let the thread sleep for a while first
    /// (`mbarrier.try_wait.parity.shared::cta`, sm_90).
    ///
    /// # Safety
    /// `barrier` is initialised, and the parity is that of its current phase or of the one before.
    #[gpu_only]
    #[inline(always)]
    #[must_use]
    pub unsafe fn try_wait_parity(barrier: *const Self, parity: u32) -> bool {
        // SAFETY: promised by the caller.
        unsafe { is_phase_over(shared::address(barrier), parity) }
    }

    /// Waits until the phase of this parity is over: [`try_wait_parity`](Self::try_wait_parity) until it says so.
    ///
    /// Bytes copied and writes made before the arrivals are then visible to this thread.
    ///
    /// # Safety
    /// As for [`try_wait_parity`](Self::try_wait_parity).
    #[gpu_only]
    #[inline(always)]
    pub unsafe fn wait_parity(barrier: *const Self, parity: u32) {
        // SAFETY: promised by the caller.
        while !unsafe { Self::try_wait_parity(barrier, parity) } {}
    }
}

/// [`Barrier::init`] of the barrier at an address within shared memory.
///
/// # Safety
/// As for [`Barrier::init`].
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
pub(crate) unsafe fn init(barrier: u32, arrivals: u32) {
    on_barrier!(barrier, "mbarrier.init.shared.b64 [{}], {};", arrivals);
}

/// [`Barrier::arrive_expect_bytes`] at the barrier at an address within shared memory.
///
/// # Safety
/// As for [`Barrier::arrive_expect_bytes`].
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
pub(crate) unsafe fn arrive_expect_bytes(barrier: u32, bytes: u32) -> u64 {
    arrive!(barrier, "mbarrier.arrive.expect_tx.shared::cta.b64 {}, [{}], {};", bytes)
}

/// [`Barrier::try_wait_parity`] of the barrier at an address within shared memory.
///
/// # Safety
/// As for [`Barrier::try_wait_parity`].
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
pub(crate) unsafe fn is_phase_over(barrier: u32, parity: u32) -> bool {
    ask_barrier!(barrier, "mbarrier.try_wait.parity.shared::cta.b64", reg32 parity)
}

/// Makes initialised barriers visible to bulk copies (`fence.mbarrier_init.release.cluster`, sm_90).
#[gpu_only]
#[inline(always)]
pub fn fence_barrier_init() {
    // SAFETY: orders accesses.
    unsafe { asm!("fence.mbarrier_init.release.cluster;", options(nostack, preserves_flags)) }
}

/// Orders this thread's plain accesses to shared memory before later bulk copies (`fence.proxy.async.shared::cta`,
/// sm_90). It belongs between writing a tile and sending it with [`bulk_to_global`](super::bulk_to_global), and between
/// reading a tile and overwriting it with [`bulk_to_shared`](super::bulk_to_shared).
#[gpu_only]
#[inline(always)]
pub fn fence_async_proxy() {
    // SAFETY: orders accesses.
    unsafe { asm!("fence.proxy.async.shared::cta;", options(nostack, preserves_flags)) }
}
