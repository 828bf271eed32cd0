//! Runs work in the processor's vector instructions, which a program built for all processors of its kind cannot assume.

/// Calls `work`, compiled for AVX2 where the processor has it, and for every processor of the kind where not.
///
/// Only what the compiler inlines into `work`, and `work` into this, is compiled so: small closures, and functions that are
/// `#[inline(always)]`. Results are the same to the last bit, for no rule of arithmetic depends on the instructions.
#[inline(always)]
pub fn wide<A, R>(work: impl FnOnce(A) -> R, arguments: A) -> R {
    #[cfg(target_arch = "x86_64")]
    if fuses() {
        // SAFETY: the processor has both.
        return unsafe { with_avx2(work, arguments) };
    }
    work(arguments)
}

/// Returns true if the processor has AVX2 and FMA. In [`wide`], `mul_add` is then an instruction, and otherwise a call of the C library.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn fuses() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

/// Returns true if `mul_add` is an instruction.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn fuses() -> bool {
    cfg!(target_arch = "aarch64")
}

/// Calls `work` where the compiler may use AVX2 for what it inlines.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn with_avx2<A, R>(work: impl FnOnce(A) -> R, arguments: A) -> R {
    work(arguments)
}
