//! Gathers the addresses of a warp's lanes, and recognises their pattern.

use crate::coalescing::Addresses;
use crate::decode::Level;
use crate::registers::{Cell, Slot, Width};

/// Pattern of a warp's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// Contiguous: all 32 lanes, each right after the one before.
    Row,
    /// Uniform: all active lanes have the same address.
    One,
    /// Any other pattern.
    Any,
}

/// The addresses of an instruction's lanes. Inactive lanes hold the first active lane's address, so that they can be
/// read too.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prepared {
    pub(super) addresses: Addresses,
    /// The lowest address.
    pub(super) lowest: u64,
    /// The highest address.
    pub(super) highest: u64,
    /// All addresses or-ed, to check alignment.
    pub(super) bits: u64,
    pub(super) pattern: Pattern,
}

/// The register and offset of an address.
#[derive(Clone, Copy, Debug)]
pub(super) struct AddressOperand {
    slot: Slot,
    /// Offset added in each lane; modulo 2^32 for 32-bit registers of shared and local addresses.
    offset: i64,
    gather: Gather,
}

type Gather =
    unsafe fn(frame: *mut Cell, operand: &AddressOperand, mask: u32, bytes: u32, into: *mut Prepared);

impl AddressOperand {
    /// Creates the operand. `narrow` is for spaces of 32-bit addresses, where sums of 32-bit registers wrap around.
    /// None if the column's width is impossible.
    pub(super) fn new((slot, offset): (Slot, i64), narrow: bool, level: Level) -> Option<Self> {
        let gather: Gather = match (slot.width, narrow, level) {
            #[cfg(target_arch = "x86_64")]
            (Width::Double, _, Level::Avx2) => wide::gather::<true, false>,
            #[cfg(target_arch = "x86_64")]
            (Width::Word, true, Level::Avx2) => wide::gather::<false, true>,
            #[cfg(target_arch = "x86_64")]
            (Width::Word, false, Level::Avx2) => wide::gather::<false, false>,
            (Width::Double, _, _) => gather::<true, false>,
            (Width::Word, true, _) => gather::<false, true>,
            (Width::Word, false, _) => gather::<false, false>,
            _ => return None,
        };
        Some(Self { slot, offset, gather })
    }

    /// Returns the register.
    pub(super) fn slot(&self) -> Slot {
        self.slot
    }

    pub(super) fn offset(&self) -> i64 {
        self.offset
    }

    /// Fills `into` with the addresses of an access of `bytes` per lane.
    ///
    /// # Safety
    /// `frame` is the one to which the slot belongs; `mask` is not 0; `into` may be written.
    #[inline(always)]
    pub(super) unsafe fn prepare(&self, frame: *mut Cell, mask: u32, bytes: u32, into: *mut Prepared) {
        // SAFETY: the caller's promise; AVX2 was there when the instruction was decoded.
        unsafe { (self.gather)(frame, self, mask, bytes, into) }
    }
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::{
        __m128i, __m256i, _mm_add_epi32, _mm_loadu_si128, _mm_set1_epi32, _mm256_add_epi64, _mm256_and_si256,
        _mm256_blendv_epi8, _mm256_cmpeq_epi64, _mm256_cmpgt_epi64, _mm256_cvtepu32_epi64,
        _mm256_loadu_si256, _mm256_or_si256, _mm256_permute4x64_epi64, _mm256_set_epi64x, _mm256_set1_epi64x,
        _mm256_setzero_si256, _mm256_slli_epi64, _mm256_storeu_si256, _mm256_testz_si256, _mm256_xor_si256,
    };

    use super::{AddressOperand, Cell, Pattern, Prepared};

    /// Gathers as [`super::gather`] does, four lanes at a time.
    ///
    /// # Safety
    /// As there, and the computer has AVX2.
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    pub(super) unsafe fn gather<const WIDE: bool, const NARROW: bool>(
        frame: *mut Cell,
        operand: &AddressOperand,
        mask: u32,
        bytes: u32,
        into: *mut Prepared,
    ) {
        // SAFETY: the slot is of this frame and this width, and `into` may be written.
        unsafe {
            let to = (&raw mut (*into).addresses).cast::<__m256i>();
            let offset = _mm256_set1_epi64x(operand.offset);
            let four = |index: usize| {
                if WIDE {
                    let column = operand.slot.doubles(frame).cast::<__m256i>();
                    return _mm256_add_epi64(_mm256_loadu_si256(column.add(index)), offset);
                }
                let column = operand.slot.words(frame).cast::<__m128i>();
                let words = _mm_loadu_si128(column.add(index));
                if NARROW {
                    _mm256_cvtepu32_epi64(_mm_add_epi32(words, _mm_set1_epi32(operand.offset as i32)))
                } else {
                    _mm256_add_epi64(_mm256_cvtepu32_epi64(words), offset)
                }
            };
            let size = i64::from(bytes);
            let step = _mm256_set1_epi64x(4 * size);
            let mut expected = _mm256_add_epi64(
                _mm256_permute4x64_epi64::<0>(four(0)),
                _mm256_set_epi64x(3 * size, 2 * size, size, 0),
            );
            let mut apart = _mm256_setzero_si256();
            for index in 0..8 {
                let addresses = four(index);
                _mm256_storeu_si256(to.add(index), addresses);
                apart = _mm256_or_si256(apart, _mm256_xor_si256(addresses, expected));
                expected = _mm256_add_epi64(expected, step);
            }
            if mask == u32::MAX {
                let base = (*into).addresses[0];
                let last = base.wrapping_add(31 * u64::from(bytes));
                if _mm256_testz_si256(apart, apart) == 1 && last >= base {
                    (*into).lowest = base;
                    (*into).highest = last;
                    (*into).bits = base | u64::from(bytes);
                    (*into).pattern = Pattern::Row;
                    return;
                }
            } else {
                let first = (*into).addresses[mask.trailing_zeros() as usize & 31];
                let first = _mm256_set1_epi64x(first as i64);
                let lanes = _mm256_set1_epi64x(i64::from(mask));
                let mut bit = _mm256_set_epi64x(8, 4, 2, 1);
                for index in 0..8 {
                    let active = _mm256_cmpeq_epi64(_mm256_and_si256(lanes, bit), bit);
                    let addresses = _mm256_loadu_si256(to.add(index));
                    _mm256_storeu_si256(to.add(index), _mm256_blendv_epi8(first, addresses, active));
                    bit = _mm256_slli_epi64::<4>(bit);
                }
            }
            span(into);
        }
    }

    /// Computes the lowest and the highest address, and all addresses or-ed.
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    #[inline]
    unsafe fn span(into: *mut Prepared) {
        // SAFETY: the addresses are there, and `into` may be written.
        unsafe {
            let from = (&raw const (*into).addresses).cast::<__m256i>();
            // Compares as signed numbers, with the highest bit flipped.
            let turn = _mm256_set1_epi64x(i64::MIN);
            let first = _mm256_xor_si256(_mm256_loadu_si256(from), turn);
            let (mut lowest, mut highest, mut bits) = (first, first, _mm256_loadu_si256(from));
            for index in 1..8 {
                let addresses = _mm256_loadu_si256(from.add(index));
                bits = _mm256_or_si256(bits, addresses);
                let turned = _mm256_xor_si256(addresses, turn);
                lowest = _mm256_blendv_epi8(lowest, turned, _mm256_cmpgt_epi64(lowest, turned));
                highest = _mm256_blendv_epi8(highest, turned, _mm256_cmpgt_epi64(turned, highest));
            }
            let lanes = |vector: __m256i| {
                let mut lanes = [0_u64; 4];
                _mm256_storeu_si256(lanes.as_mut_ptr().cast(), vector);
                lanes
            };
            let [a, b, c, d] = lanes(_mm256_xor_si256(lowest, turn));
            let lowest = a.min(b).min(c.min(d));
            let [a, b, c, d] = lanes(_mm256_xor_si256(highest, turn));
            let highest = a.max(b).max(c.max(d));
            let [a, b, c, d] = lanes(bits);
            (*into).lowest = lowest;
            (*into).highest = highest;
            (*into).bits = a | b | c | d;
            (*into).pattern = if lowest == highest { Pattern::One } else { Pattern::Any };
        }
    }
}

/// Gathers addresses. One pass finds out whether they are contiguous; only if not are the lowest and highest computed.
unsafe fn gather<const WIDE: bool, const NARROW: bool>(
    frame: *mut Cell,
    operand: &AddressOperand,
    mask: u32,
    bytes: u32,
    into: *mut Prepared,
) {
    let offset = operand.offset as u64;
    // SAFETY: the slot is of this frame and this width; its columns are initialised.
    let addresses: Addresses = unsafe {
        if WIDE {
            (*operand.slot.doubles(frame)).map(|address| address.wrapping_add(offset))
        } else if NARROW {
            (*operand.slot.words(frame)).map(|address| u64::from(address.wrapping_add(offset as u32)))
        } else {
            (*operand.slot.words(frame)).map(|address| u64::from(address).wrapping_add(offset))
        }
    };
    // SAFETY: `into` may be written.
    unsafe { into.write(Prepared::of(addresses, mask, bytes)) };
}

impl Prepared {
    /// Classifies arbitrary addresses.
    pub(super) fn of(mut addresses: Addresses, mask: u32, bytes: u32) -> Self {
        let bytes = u64::from(bytes);
        let base = addresses[0];
        let last = base.wrapping_add(31 * bytes);
        if mask == u32::MAX && last >= base {
            let row =
                addresses.iter().zip(0..).all(|(address, lane)| *address == base.wrapping_add(bytes * lane));
            if row {
                let bits = base | bytes;
                return Self { addresses, lowest: base, highest: last, bits, pattern: Pattern::Row };
            }
        }
        let first = addresses[mask.trailing_zeros() as usize & 31];
        for (lane, address) in addresses.iter_mut().enumerate() {
            *address = if mask >> lane & 1 == 1 { *address } else { first };
        }
        let (mut lowest, mut highest, mut bits) = (u64::MAX, 0, 0);
        for address in addresses {
            lowest = lowest.min(address);
            highest = highest.max(address);
            bits |= address;
        }
        let pattern = if lowest == highest { Pattern::One } else { Pattern::Any };
        Self { addresses, lowest, highest, bits, pattern }
    }

    /// Returns part of the lanes, with `origin` subtracted from all addresses.
    pub(super) fn part(&self, mask: u32, origin: u64, bytes: u32) -> Self {
        Self::of(self.addresses.map(|address| address.wrapping_sub(origin)), mask, bytes)
    }

    /// Returns all lanes, with `origin`, which is at most the lowest address, subtracted.
    pub(super) fn moved(&self, origin: u64) -> Self {
        Self {
            addresses: self.addresses.map(|address| address.wrapping_sub(origin)),
            lowest: self.lowest.wrapping_sub(origin),
            highest: self.highest.wrapping_sub(origin),
            // Origins are far more aligned than accesses: the low bits, which are all that is read, stay.
            ..*self
        }
    }
}

/// Returns the lanes of a mask, ascending.
#[inline(always)]
pub(super) fn each(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (lane < 32).then_some(lane as usize)
    })
}
