//! Reads and writes memory that other threads may access at the same time.
//!
//! Blocks of a launch run in parallel, and a kernel may let them race. On a GPU that is a wrong program; in the
//! simulator it must not be undefined behaviour. So a lane's access is one relaxed atomic access (two or four of 64
//! bits for 16 and 32 bytes per lane, which a GPU does not promise to do at once either). If a whole warp's bytes are
//! contiguous, wider machine instructions in inline assembly move them, which the compiler treats as foreign code that
//! does atomic accesses. On x86-64 each aligned 8 bytes of them are one access; on other architectures the copies
//! consist of atomic accesses. One gap remains: accesses of different sizes to the same bytes may race, which Rust's
//! memory model leaves undefined but machines define.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// Reads `BYTES` of 1, 2, 4, 8, 16 or 32.
///
/// # Safety
/// They may be read at `address`, a multiple of `BYTES`, and written at `into`.
#[inline(always)]
pub(super) unsafe fn load<const BYTES: usize>(address: u64, into: *mut u8) {
    let from = address as usize;
    // SAFETY: the caller's promise.
    unsafe {
        match BYTES {
            1 => into.write(AtomicU8::from_ptr(from as *mut u8).load(Ordering::Relaxed)),
            2 => into
                .cast::<u16>()
                .write_unaligned(AtomicU16::from_ptr(from as *mut u16).load(Ordering::Relaxed)),
            4 => into
                .cast::<u32>()
                .write_unaligned(AtomicU32::from_ptr(from as *mut u32).load(Ordering::Relaxed)),
            _ => {
                for piece in 0..BYTES / 8 {
                    let value = AtomicU64::from_ptr((from as *mut u64).add(piece)).load(Ordering::Relaxed);
                    into.cast::<u64>().add(piece).write_unaligned(value);
                }
            }
        }
    }
}

/// Writes `BYTES` of 1, 2, 4, 8, 16 or 32.
///
/// # Safety
/// They may be written at `address`, a multiple of `BYTES`, and read at `from`.
#[inline(always)]
pub(super) unsafe fn store<const BYTES: usize>(address: u64, from: *const u8) {
    let to = address as usize;
    // SAFETY: the caller's promise.
    unsafe {
        match BYTES {
            1 => AtomicU8::from_ptr(to as *mut u8).store(from.read(), Ordering::Relaxed),
            2 => AtomicU16::from_ptr(to as *mut u16)
                .store(from.cast::<u16>().read_unaligned(), Ordering::Relaxed),
            4 => AtomicU32::from_ptr(to as *mut u32)
                .store(from.cast::<u32>().read_unaligned(), Ordering::Relaxed),
            _ => {
                for piece in 0..BYTES / 8 {
                    let value = from.cast::<u64>().add(piece).read_unaligned();
                    AtomicU64::from_ptr((to as *mut u64).add(piece)).store(value, Ordering::Relaxed);
                }
            }
        }
    }
}

/// Reads the contiguous bytes of a warp's 32 lanes, `BYTES` each, with AVX if the caller has it.
///
/// # Safety
/// As for [`load`], of all of them; with `AVX`, the computer supports it.
#[inline(always)]
pub(super) unsafe fn load_row<const BYTES: usize, const AVX: bool>(address: u64, into: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        if AVX {
            for piece in 0..BYTES {
                wide::load_32(address + 32 * piece as u64, into.add(32 * piece));
            }
            return;
        }
        for lane in 0..32 {
            load::<BYTES>(address + (BYTES * lane) as u64, into.add(BYTES * lane));
        }
    }
}

/// Writes the contiguous bytes of a warp's 32 lanes, `BYTES` each, with AVX if the caller has it.
///
/// # Safety
/// As for [`store`], of all of them; with `AVX`, the computer supports it.
#[inline(always)]
pub(super) unsafe fn store_row<const BYTES: usize, const AVX: bool>(address: u64, from: *const u8) {
    // SAFETY: the caller's promise.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        if AVX {
            for piece in 0..BYTES {
                wide::store_32(address + 32 * piece as u64, from.add(32 * piece));
            }
            return;
        }
        for lane in 0..32 {
            store::<BYTES>(address + (BYTES * lane) as u64, from.add(BYTES * lane));
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::asm;
    use std::arch::x86_64::{__m256i, _mm256_loadu_si256, _mm256_storeu_si256};

    /// # Safety
    /// As for [`super::load_row`].
    #[target_feature(enable = "avx")]
    #[inline]
    pub(super) unsafe fn load_32(address: u64, into: *mut u8) {
        let value: __m256i;
        // SAFETY: reads what the caller promises may be read.
        unsafe {
            asm!("vmovdqu {}, ymmword ptr [{}]", out(ymm_reg) value, in(reg) address, options(nostack, preserves_flags, readonly));
            _mm256_storeu_si256(into.cast(), value);
        }
    }

    /// # Safety
    /// As for [`super::store_row`].
    #[target_feature(enable = "avx")]
    #[inline]
    pub(super) unsafe fn store_32(address: u64, from: *const u8) {
        // SAFETY: writes where the caller promises that may be written.
        unsafe {
            let value: __m256i = _mm256_loadu_si256(from.cast());
            asm!("vmovdqu ymmword ptr [{}], {}", in(reg) address, in(ymm_reg) value, options(nostack, preserves_flags));
        }
    }
}

/// Copies any number of bytes, ascending.
///
/// # Safety
/// They may be read at `from` and written at `to`; if the two overlap, `to` is not the higher.
pub(super) unsafe fn copy(from: u64, to: u64, bytes: u64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads and writes what the caller promises; the direction flag is clear, as everywhere.
    unsafe {
        std::arch::asm!(
            "rep movsb",
            inout("rcx") bytes => _,
            inout("rsi") from => _,
            inout("rdi") to => _,
            options(nostack, preserves_flags)
        );
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: as above; eight bytes at a time where both are aligned.
    unsafe {
        let mut done = 0;
        let mut piece = [0_u8; 8];
        while done < bytes {
            if (from + done).is_multiple_of(8) && (to + done).is_multiple_of(8) && bytes - done >= 8 {
                load::<8>(from + done, piece.as_mut_ptr());
                store::<8>(to + done, piece.as_ptr());
                done += 8;
            } else {
                load::<1>(from + done, piece.as_mut_ptr());
                store::<1>(to + done, piece.as_ptr());
                done += 1;
            }
        }
    }
}
