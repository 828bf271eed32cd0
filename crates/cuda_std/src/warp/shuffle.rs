//! Shuffles: each lane reads a value out of another lane's registers.

use crate::gpu_only;
#[cfg(target_arch = "nvptx64")]
use crate::intrinsic;

/// The choice of the lane that a lane reads from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum WarpShuffleMode {
    /// The lane of that index in the segment.
    Idx = 0,
    /// The lane that many below.
    Up = 1,
    /// The lane that many above.
    Down = 2,
    /// The lane whose index differs in those bits.
    Xor = 3,
}

/// The result of one 32-bit shuffle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarpShuffleResult {
    /// The value read.
    pub value: u32,
    /// True if the source lane was in range.
    pub predicate: bool,
}

/// The control operand of `shfl.sync` for segments of `width` lanes.
///
/// PTX: bits 12..8 are the segment mask, `32 - width`, which holds the high bits of the lane index still; bits 4..0 are the
/// clamp, the last lane that may be read: for `up`, which counts down, the segment's first lane, 0; for the others its
/// last, 0x1f.
///
/// # Panics
/// If `width` is not 1, 2, 4, 8, 16 or 32.
#[inline(always)]
#[must_use]
pub const fn shuffle_control(mode: WarpShuffleMode, width: u32) -> u32 {
    assert!(width.is_power_of_two() && width <= 32, "a shuffle's width is 1, 2, 4, 8, 16 or 32");
    let clamp = match mode {
        WarpShuffleMode::Up => 0,
        WarpShuffleMode::Idx | WarpShuffleMode::Down | WarpShuffleMode::Xor => 0x1f,
    };
    ((32 - width) << 8) | clamp
}

/// A value that lanes can shuffle: numbers of up to 128 bits here, and a kernel crate's own types.
///
/// More than 32 bits take several shuffles.
pub trait WarpShuffleValue: Sized {
    /// Reads the value of the lane that `mode` and `operand` name, and whether it is in range. The four functions below
    /// call it.
    ///
    /// # Safety
    /// As for [`warp_shuffle_down`].
    #[must_use]
    unsafe fn shuffle(
        mode: WarpShuffleMode,
        mask: u32,
        value: Self,
        operand: u32,
        width: u32,
    ) -> (Self, bool);
}

#[gpu_only]
#[inline(always)]
unsafe fn shuffle_32(
    mode: WarpShuffleMode,
    mask: u32,
    value: u32,
    operand: u32,
    width: u32,
) -> WarpShuffleResult {
    let control = shuffle_control(mode, width);
    // SAFETY: promised by the caller.
    let (value, predicate) = unsafe {
        match mode {
            WarpShuffleMode::Idx => intrinsic::shfl_idx(mask, value, operand, control),
            WarpShuffleMode::Up => intrinsic::shfl_up(mask, value, operand, control),
            WarpShuffleMode::Down => intrinsic::shfl_down(mask, value, operand, control),
            WarpShuffleMode::Xor => intrinsic::shfl_bfly(mask, value, operand, control),
        }
    };
    WarpShuffleResult { value, predicate }
}

/// Numbers of up to 32 bits: one shuffle.
macro_rules! shuffle_one {
    ($($type:ty, |$value:ident| $to:expr, |$bits:ident| $from:expr;)*) => {$(
        impl WarpShuffleValue for $type {
            #[inline(always)]
            unsafe fn shuffle(mode: WarpShuffleMode, mask: u32, $value: Self, operand: u32, width: u32) -> (Self, bool) {
                // SAFETY: promised by the caller.
                let result = unsafe { shuffle_32(mode, mask, $to, operand, width) };
                let $bits = result.value;
                ($from, result.predicate)
            }
        }
    )*};
}

shuffle_one! {
    u8, |value| u32::from(value), |bits| bits as u8;
    i8, |value| value as u32, |bits| bits as i8;
    u16, |value| u32::from(value), |bits| bits as u16;
    i16, |value| value as u32, |bits| bits as i16;
    u32, |value| value, |bits| bits;
    i32, |value| value.cast_unsigned(), |bits| bits.cast_signed();
    f32, |value| value.to_bits(), |bits| f32::from_bits(bits);
}

#[cfg(feature = "half")]
shuffle_one! {
    half::f16, |value| u32::from(value.to_bits()), |bits| half::f16::from_bits(bits as u16);
    half::bf16, |value| u32::from(value.to_bits()), |bits| half::bf16::from_bits(bits as u16);
}

/// Wider numbers: the halves one after the other, which are in range or out of it together.
macro_rules! shuffle_two {
    ($($type:ty as $unsigned:ty, halves $half:ty, |$value:ident| $to:expr, |$bits:ident| $from:expr;)*) => {$(
        impl WarpShuffleValue for $type {
            #[inline(always)]
            unsafe fn shuffle(mode: WarpShuffleMode, mask: u32, $value: Self, operand: u32, width: u32) -> (Self, bool) {
                let bits: $unsigned = $to;
                let low = bits as $half;
                let high = (bits >> <$half>::BITS) as $half;
                // SAFETY: promised by the caller.
                let ((low, predicate), (high, _)) = unsafe {
                    (
                        <$half>::shuffle(mode, mask, low, operand, width),
                        <$half>::shuffle(mode, mask, high, operand, width),
                    )
                };
                let $bits = <$unsigned>::from(low) | (<$unsigned>::from(high) << <$half>::BITS);
                ($from, predicate)
            }
        }
    )*};
}

shuffle_two! {
    u64 as u64, halves u32, |value| value, |bits| bits;
    i64 as u64, halves u32, |value| value.cast_unsigned(), |bits| bits.cast_signed();
    f64 as u64, halves u32, |value| value.to_bits(), |bits| f64::from_bits(bits);
    u128 as u128, halves u64, |value| value, |bits| bits;
    i128 as u128, halves u64, |value| value.cast_unsigned(), |bits| bits.cast_signed();
}

/// Reads `value` of the lane `delta` above (`shfl.sync.down.b32`): lane `i` gets lane `i + delta`'s.
///
/// The warp is cut into segments of `width` lanes (1, 2, 4, 8, 16, 32), and a lane reads only in its own. The returned
/// `bool` says whether `i + delta` was in the segment; if not, the lane keeps its own value. It does not say
/// whether that lane takes part. Of `delta`, the low five bits count: 33 is as 1.
///
/// # Safety
/// All lanes of `mask` make this call together with the same mask, the calling lane is one of them, and so is the lane
/// read from.
///
/// # Panics
/// If `width` is none of the above.
#[inline(always)]
#[must_use]
pub unsafe fn warp_shuffle_down<T: WarpShuffleValue>(
    mask: u32,
    value: T,
    delta: u32,
    width: u32,
) -> (T, bool) {
    // SAFETY: promised by the caller.
    unsafe { T::shuffle(WarpShuffleMode::Down, mask, value, delta, width) }
}

/// Reads `value` of the lane `delta` below (`shfl.sync.up.b32`): lane `i` gets lane `i - delta`'s.
///
/// Segments, `delta`, result, safety and panics are those of [`warp_shuffle_down`].
///
/// # Safety
/// As for [`warp_shuffle_down`].
#[inline(always)]
#[must_use]
pub unsafe fn warp_shuffle_up<T: WarpShuffleValue>(mask: u32, value: T, delta: u32, width: u32) -> (T, bool) {
    // SAFETY: promised by the caller.
    unsafe { T::shuffle(WarpShuffleMode::Up, mask, value, delta, width) }
}

/// Reads `value` of the lane with index `idx` in the calling lane's segment, modulo `width` (`shfl.sync.idx.b32`).
///
/// Segments, result, safety and panics are those of [`warp_shuffle_down`].
///
/// # Safety
/// As for [`warp_shuffle_down`].
#[inline(always)]
#[must_use]
pub unsafe fn warp_shuffle_idx<T: WarpShuffleValue>(mask: u32, value: T, idx: u32, width: u32) -> (T, bool) {
    // SAFETY: promised by the caller.
    unsafe { T::shuffle(WarpShuffleMode::Idx, mask, value, idx, width) }
}

/// Reads `value` of the lane whose index is the calling lane's exclusive-or `lane_mask` (`shfl.sync.bfly.b32`).
///
/// With a `width` below 32 a lane may read from its own and lower segments, not from higher ones. Of `lane_mask`, the low
/// five bits count. Result, safety and panics are those of [`warp_shuffle_down`].
///
/// # Safety
/// As for [`warp_shuffle_down`].
#[inline(always)]
#[must_use]
pub unsafe fn warp_shuffle_xor<T: WarpShuffleValue>(
    mask: u32,
    value: T,
    lane_mask: u32,
    width: u32,
) -> (T, bool) {
    // SAFETY: promised by the caller.
    unsafe { T::shuffle(WarpShuffleMode::Xor, mask, value, lane_mask, width) }
}

#[cfg(test)]
mod tests {
    use super::{WarpShuffleMode, shuffle_control};

    /// The lane that PTX says `shfl.sync` reads, and whether it is in range.
    fn source(mode: WarpShuffleMode, lane: u32, operand: u32, control: u32) -> (u32, bool) {
        let (operand, clamp, segments) = (operand & 0x1f, control & 0x1f, (control >> 8) & 0x1f);
        let last = (lane & segments) | (clamp & !segments);
        let first = lane & segments;
        let (source, in_range) = match mode {
            WarpShuffleMode::Up => (lane.wrapping_sub(operand), lane as i32 - operand as i32 >= last as i32),
            WarpShuffleMode::Down => (lane + operand, lane + operand <= last),
            WarpShuffleMode::Xor => (lane ^ operand, lane ^ operand <= last),
            WarpShuffleMode::Idx => {
                let source = first | (operand & !segments);
                (source, source <= last)
            }
        };
        (if in_range { source } else { lane }, in_range)
    }

    #[test]
    fn the_control_word_is_mask_and_clamp() {
        for (width, mask) in [(32, 0x0000), (16, 0x1000), (8, 0x1800), (4, 0x1c00), (2, 0x1e00), (1, 0x1f00)]
        {
            assert_eq!(shuffle_control(WarpShuffleMode::Up, width), mask);
            assert_eq!(shuffle_control(WarpShuffleMode::Down, width), mask | 0x1f);
            assert_eq!(shuffle_control(WarpShuffleMode::Idx, width), mask | 0x1f);
            assert_eq!(shuffle_control(WarpShuffleMode::Xor, width), mask | 0x1f);
        }
    }

    #[test]
    fn each_mode_reads_the_lane_that_its_documentation_says() {
        for width in [1, 2, 4, 8, 16, 32] {
            for lane in 0..32 {
                let first = lane / width * width;
                for operand in 0..width {
                    let read = |mode| source(mode, lane, operand, shuffle_control(mode, width));
                    let up = lane >= first + operand;
                    assert_eq!(read(WarpShuffleMode::Up), (if up { lane - operand } else { lane }, up));
                    let down = lane + operand < first + width;
                    assert_eq!(read(WarpShuffleMode::Down), (if down { lane + operand } else { lane }, down));
                    assert_eq!(read(WarpShuffleMode::Idx), (first + operand, true));
                    assert_eq!(read(WarpShuffleMode::Xor), (lane ^ operand, true));
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "a shuffle's width is 1, 2, 4, 8, 16 or 32")]
    fn a_width_between_is_refused() {
        let _ = shuffle_control(WarpShuffleMode::Idx, 12);
    }
}
