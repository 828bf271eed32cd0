//! Fragments of matrices in a warp's registers: `ldmatrix`, `stmatrix`, `mma`.
//!
//! A fragment is 8 x 8 values of 16 bits, two in a 32-bit register of each lane: lane `l` has row `l / 4`, columns
//! `2 (l % 4)` (low half) and the next. The three instructions agree on this, so what one makes the other takes.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

use crate::gpu_only;

/// Loads four fragments by this instruction.
#[cfg(target_arch = "nvptx64")]
macro_rules! ldmatrix {
    ($instruction:literal, $row:ident) => {{
        let (a, b, c, d);
        // SAFETY: promised by the caller.
        unsafe {
            asm!(
                concat!($instruction, " {{{}, {}, {}, {}}}, [{}];"),
                out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg32) $row,
                options(nostack, preserves_flags)
            );
        }
        [a, b, c, d]
    }};
}

/// Loads four fragments from shared memory (`ldmatrix.sync.aligned.m8n8.x4.shared.b16`, sm_75).
///
/// Lane `8 i + r` gives the address of row `r` of fragment `i`: 16 bytes within shared memory.
///
/// # Safety
/// All lanes of the warp call this together; each lane's address is that of 16 initialised bytes, aligned to 16.
#[gpu_only]
#[inline(always)]
#[must_use]
pub unsafe fn load_matrices(row: u32) -> [u32; 4] {
    ldmatrix!("ldmatrix.sync.aligned.m8n8.x4.shared.b16", row)
}

/// [`load_matrices`] with each fragment transposed: rows in memory become columns of the fragment (`.trans`, sm_75).
///
/// # Safety
/// As for [`load_matrices`].
#[gpu_only]
#[inline(always)]
#[must_use]
pub unsafe fn load_matrices_transposed(row: u32) -> [u32; 4] {
    ldmatrix!("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", row)
}

/// Stores four fragments to shared memory (`stmatrix.sync.aligned.m8n8.x4.shared.b16`, sm_90). The addresses are as for
/// [`load_matrices`].
///
/// # Safety
/// All lanes of the warp call this together; each lane's address is that of 16 bytes, aligned to 16, that nothing else
/// accesses.
#[gpu_only]
#[inline(always)]
pub unsafe fn store_matrices(row: u32, fragments: [u32; 4]) {
    let [a, b, c, d] = fragments;
    // SAFETY: promised by the caller.
    unsafe {
        asm!(
            "stmatrix.sync.aligned.m8n8.x4.shared.b16 [{}], {{{}, {}, {}, {}}};",
            in(reg32) row, in(reg32) a, in(reg32) b, in(reg32) c, in(reg32) d, options(nostack, preserves_flags)
        );
    }
}

/// Adds the product of 16 x 16 and 16 x 8 bf16 to 16 x 8 sums in `f32`
/// (`mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32`, sm_80).
///
/// `a` is four fragments: rows 0 to 7 and 8 to 15 of columns 0 to 7, then both of columns 8 to 15. `b` is two: rows (along K)
/// 0 to 7 and 8 to 15, each transposed, so that B with its columns contiguous is loaded by [`load_matrices`]. Of the sums lane `l`
/// has row `l / 4`, columns `2 (l % 4)` and the next, then the same of row `l / 4 + 8`.
///
/// # Safety
/// All lanes of the warp call this together.
#[gpu_only]
#[inline(always)]
pub unsafe fn mma_m16n8k16(sums: &mut [f32; 4], a: [u32; 4], b: [u32; 2]) {
    // SAFETY: promised by the caller; only registers are touched.
    unsafe {
        asm!(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {{{0}, {1}, {2}, {3}}}, {{{4}, {5}, {6}, {7}}}, {{{8}, {9}}}, {{{0}, {1}, {2}, {3}}};",
            inout(reg32) sums[0], inout(reg32) sums[1], inout(reg32) sums[2], inout(reg32) sums[3],
            in(reg32) a[0], in(reg32) a[1], in(reg32) a[2], in(reg32) a[3], in(reg32) b[0], in(reg32) b[1],
            options(pure, nomem, nostack, preserves_flags)
        );
    }
}

/// Two numbers as bf16, rounded to nearest even, the first in the low half (`cvt.rn.bf16x2.f32`, sm_80).
#[gpu_only]
#[inline(always)]
#[must_use]
pub fn pack_bf16(low: f32, high: f32) -> u32 {
    let both: u32;
    // SAFETY: arithmetic.
    unsafe {
        asm!(
            "cvt.rn.bf16x2.f32 {}, {}, {};",
            out(reg32) both, in(reg32) high, in(reg32) low, options(pure, nomem, nostack, preserves_flags)
        );
    }
    both
}
