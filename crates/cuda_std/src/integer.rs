//! Integer arithmetic that is one instruction on the GPU and has no name in `core`.

#[cfg(target_arch = "nvptx64")]
use crate::intrinsic;

/// The upper half of a product's 64 bits, `mul.hi.u32`: `left * right / 2^32`, rounded down.
///
/// With `left` random in all its 32 bits that is a random number below `right`, without a division. The same written with
/// `u64` and a shift is a product of 64 bits and a move.
#[inline(always)]
#[must_use]
pub fn multiply_high(left: u32, right: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        intrinsic::mulhi_u32(left, right)
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        ((u64::from(left) * u64::from(right)) >> 32) as u32
    }
}

/// The same number, of which the compiler knows nothing (`mov.b32`, which ptxas removes).
///
/// What it would have concluded from where the number comes from is left undone: to measure what that is worth, or where it is
/// worth less than nothing.
#[inline(always)]
#[must_use]
pub fn opaque(number: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let same: u32;
        // SAFETY: the instruction copies a register.
        unsafe {
            core::arch::asm!("mov.b32 {}, {};", out(reg32) same, in(reg32) number, options(pure, nomem, nostack, preserves_flags));
        }
        same
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        number
    }
}

#[cfg(test)]
mod tests {
    use super::multiply_high;

    #[test]
    fn the_upper_half_is_a_number_below_the_factor() {
        assert_eq!(multiply_high(0, 7), 0);
        assert_eq!(multiply_high(u32::MAX, 7), 6);
        assert_eq!(multiply_high(1 << 31, 7), 3);
        assert_eq!(multiply_high(u32::MAX, u32::MAX), u32::MAX - 1);
    }
}
