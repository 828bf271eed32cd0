//! Integers: bits, averages, products' upper halves.

macro_rules! integer {
    ($($(#[$documentation:meta])* $name:ident($($argument:ident: $type:ty),*) -> $result:ty = $value:expr;)*) => {$(
        $(#[$documentation])*
        #[inline(always)]
        #[must_use]
        pub fn $name($($argument: $type),*) -> $result {
            $value
        }
    )*};
}

integer! {
    /// The magnitude; that of the least number is the least number.
    abs(x: i32) -> i32 = x.wrapping_abs();
    /// The magnitude; that of the least number is the least number.
    llabs(x: i64) -> i64 = x.wrapping_abs();
    /// The bits in reverse order (`brev.b32`).
    brev(x: i32) -> i32 = x.reverse_bits();
    /// The bits in reverse order (`brev.b64`).
    brevll(x: i64) -> i64 = x.reverse_bits();
    /// Counts the leading zeros; 32 for 0.
    clz(x: i32) -> i32 = x.leading_zeros().cast_signed();
    /// Counts the leading zeros; 64 for 0.
    clzll(x: i64) -> i32 = x.leading_zeros().cast_signed();
    /// The number of the lowest 1 bit, counted from 1; 0 for 0.
    ffs(x: i32) -> i32 = if x == 0 { 0 } else { x.trailing_zeros().cast_signed() + 1 };
    /// The number of the lowest 1 bit, counted from 1; 0 for 0.
    ffsll(x: i64) -> i32 = if x == 0 { 0 } else { x.trailing_zeros().cast_signed() + 1 };
    /// Counts the bits that are 1.
    popc(x: i32) -> i32 = x.count_ones().cast_signed();
    /// Counts the bits that are 1.
    popcll(x: i64) -> i32 = x.count_ones().cast_signed();
    /// The average, rounded down, without overflow.
    hadd(x: i32, y: i32) -> i32 = ((i64::from(x) + i64::from(y)) >> 1) as i32;
    /// The average, rounded up, without overflow.
    rhadd(x: i32, y: i32) -> i32 = ((i64::from(x) + i64::from(y) + 1) >> 1) as i32;
    /// The average of two `u32`, rounded down, without overflow.
    uhadd(x: i32, y: i32) -> i32 = ((wide(x) + wide(y)) >> 1) as i32;
    /// The average of two `u32`, rounded up, without overflow.
    urhadd(x: i32, y: i32) -> i32 = ((wide(x) + wide(y) + 1) >> 1) as i32;
    /// The larger one.
    max(x: i32, y: i32) -> i32 = Ord::max(x, y);
    /// The smaller one.
    min(x: i32, y: i32) -> i32 = Ord::min(x, y);
    /// The larger one.
    llmax(x: i64, y: i64) -> i64 = Ord::max(x, y);
    /// The smaller one.
    llmin(x: i64, y: i64) -> i64 = Ord::min(x, y);
    /// The larger one of two `u32`.
    umax(x: i32, y: i32) -> i32 = Ord::max(x.cast_unsigned(), y.cast_unsigned()).cast_signed();
    /// The smaller one of two `u32`.
    umin(x: i32, y: i32) -> i32 = Ord::min(x.cast_unsigned(), y.cast_unsigned()).cast_signed();
    /// The larger one of two `u64`.
    ullmax(x: i64, y: i64) -> i64 = Ord::max(x.cast_unsigned(), y.cast_unsigned()).cast_signed();
    /// The smaller one of two `u64`.
    ullmin(x: i64, y: i64) -> i64 = Ord::min(x.cast_unsigned(), y.cast_unsigned()).cast_signed();
    /// The lower 32 bits of the product of the lower 24 bits, which are signed.
    mul24(x: i32, y: i32) -> i32 = ((x << 8) >> 8).wrapping_mul((y << 8) >> 8);
    /// The lower 32 bits of the product of the lower 24 bits, which are unsigned.
    umul24(x: i32, y: i32) -> i32 = (x & 0x00ff_ffff).wrapping_mul(y & 0x00ff_ffff);
    /// The upper 32 bits of the product (`mul.hi.s32`).
    mulhi(x: i32, y: i32) -> i32 = ((i64::from(x) * i64::from(y)) >> 32) as i32;
    /// The upper 32 bits of the product of two `u32` (`mul.hi.u32`).
    umulhi(x: i32, y: i32) -> i32 = ((wide(x) * wide(y)) >> 32) as i32;
    /// The upper 64 bits of the product (`mul.hi.s64`).
    mul64hi(x: i64, y: i64) -> i64 = ((i128::from(x) * i128::from(y)) >> 64) as i64;
    /// The upper 64 bits of the product of two `u64` (`mul.hi.u64`).
    umul64hi(x: i64, y: i64) -> i64 = ((u128::from(x.cast_unsigned()) * u128::from(y.cast_unsigned())) >> 64) as i64;
    /// The difference's magnitude, added to `z`.
    sad(x: i32, y: i32, z: i32) -> i32 = x.abs_diff(y).cast_signed().wrapping_add(z);
    /// The magnitude of the difference of two `u32`, added to `z`.
    usad(x: i32, y: i32, z: i32) -> i32 = x.cast_unsigned().abs_diff(y.cast_unsigned()).cast_signed().wrapping_add(z);
    /// Selects four of the eight bytes of `x`, 0 to 3, and `y`, 4 to 7 (`prmt.b32`). Hexadecimal digit `i` of `z` (of
    /// the lower four) selects byte `i` of the result by its lower three bits.
    byte_perm(x: i32, y: i32, z: i32) -> i32 = permute(wide(x) | (wide(y) << 32), z);
}

/// The bits as an unsigned number.
#[inline(always)]
fn wide(x: i32) -> u64 {
    u64::from(x.cast_unsigned())
}

#[inline(always)]
fn permute(bytes: u64, selector: i32) -> i32 {
    let byte = |at: u32| {
        let which = (selector.cast_unsigned() >> (4 * at)) & 7;
        (((bytes >> (8 * which)) & 0xff) as u32) << (8 * at)
    };
    (byte(0) | byte(1) | byte(2) | byte(3)).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_do_not_overflow() {
        assert_eq!((hadd(i32::MAX, i32::MAX - 1), rhadd(i32::MAX, i32::MAX - 1)), (i32::MAX - 1, i32::MAX));
        assert_eq!((hadd(-3, 0), rhadd(-3, 0)), (-2, -1));
        assert_eq!((uhadd(-1, -2), urhadd(-1, -2)), (-2, -1));
    }

    #[test]
    fn upper_halves_are_of_the_whole_product() {
        assert_eq!((mulhi(-1, 7), umulhi(-1, 7)), (-1, 6));
        assert_eq!((mul64hi(-1, 7), umul64hi(-1, 7)), (-1, 6));
        assert_eq!((mul24(0x0180_0001, 3), umul24(0x0180_0001, 3)), (-0x0180_0000 + 3, 0x0180_0003));
    }

    #[test]
    fn bits_are_counted_and_moved() {
        assert_eq!((clz(0), clz(1), clzll(0), clzll(1)), (32, 31, 64, 63));
        assert_eq!((ffs(0), ffs(8), ffsll(0), ffsll(i64::MIN)), (0, 4, 0, 64));
        assert_eq!((popc(-1), popcll(-1), brev(1), brevll(1)), (32, 64, i32::MIN, i64::MIN));
        assert_eq!(byte_perm(0x3322_1100, 0x7766_5544, 0x7520).cast_unsigned(), 0x7755_2200);
    }

    #[test]
    fn differences_are_magnitudes() {
        assert_eq!((sad(-3, 4, 10), usad(-1, 1, 10), abs(i32::MIN)), (17, 8, i32::MIN));
        assert_eq!((umax(-1, 1), umin(-1, 1), max(-1, 1), min(-1, 1)), (-1, 1, 1, -1));
        assert_eq!((ullmax(-1, 1), ullmin(-1, 1), llmax(-1, 1), llmin(-1, 1), llabs(-5)), (-1, 1, 1, -1, 5));
    }
}
