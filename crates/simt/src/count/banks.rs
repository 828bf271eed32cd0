//! Counts the words that a request wants from each bank.
//!
//! With AVX2 each word becomes one bit of 32, that of its bank. Words are added bank by bank, all 32 banks at once, by logic on *bit
//! planes*: plane `k` has bit `k` of each bank's count (a carry-save adder). So 32 words take five additions, of planes that grow by one each
//! time, and neither a second sort nor a table.
//!
//! For example, the words 3, 35 and 4 are the bits 3, 3 and 4. Their sum has plane 0 = `1 << 4` and plane 1 = `1 << 3`: bank 3 has two
//! words, and bank 4 one.

use super::distinct::sorted;
use crate::coalescing::{Addresses, LINE_BYTES};

/// Bytes that a bank delivers at once.
pub(super) const BANK_BYTES: u32 = 4;

/// Banks of the data.
const BANKS: u64 = 32;

/// Returns the most distinct words of one bank that lanes want.
#[inline(never)]
pub(super) fn one_by_one(addresses: &Addresses, active: u32) -> u32 {
    let bank = |address: u64| address / u64::from(BANK_BYTES) % BANKS;
    let mut packed = [0; 32];
    // Bank first, so that the words of a bank come together.
    let by_bank = addresses.map(|address| (bank(address) << 58) | (address / LINE_BYTES));
    let distinct = sorted(&by_bank, active, &mut packed).chunk_by(|a, b| a == b).map(|same| same[0] >> 58);
    let mut counts = [0; BANKS as usize];
    distinct.for_each(|bank| counts[bank as usize] += 1);
    counts.into_iter().max().unwrap_or(0)
}

#[cfg(target_arch = "x86_64")]
pub(super) mod wide {
    use crate::count::network::Keys;
    use std::arch::x86_64::{
        __m256i, _mm_cvtsi128_si32, _mm256_and_si256, _mm256_andnot_si256, _mm256_castsi256_si128,
        _mm256_or_si256, _mm256_permute4x64_epi64, _mm256_set1_epi32, _mm256_setzero_si256,
        _mm256_shuffle_epi32, _mm256_sllv_epi32, _mm256_xor_si256,
    };

    /// The counts of 32 banks by bits: up to 32 words.
    type Planes = [__m256i; 6];

    /// Adds counts of `PLANES` bits.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    #[inline]
    fn add<const PLANES: usize>(a: Planes, b: Planes) -> Planes {
        let mut carry = _mm256_setzero_si256();
        let mut sum = [carry; 6];
        for plane in 0..PLANES {
            let (a, b) = (a[plane], b[plane]);
            let half = _mm256_xor_si256(a, b);
            sum[plane] = _mm256_xor_si256(half, carry);
            carry = _mm256_or_si256(_mm256_and_si256(a, b), _mm256_and_si256(half, carry));
        }
        sum[PLANES] = carry;
        sum
    }

    /// Returns the most words of one bank. `words` are numbers of words, of which those in `left_out` do not count.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    #[inline]
    pub(in crate::count) fn most_of_one(words: &Keys, left_out: &Keys) -> u32 {
        let zero = _mm256_setzero_si256();
        let [a, b, c, d] = std::array::from_fn(|index| {
            let bank = _mm256_and_si256(words[index], _mm256_set1_epi32(31));
            let bit = _mm256_sllv_epi32(_mm256_set1_epi32(1), bank);
            [_mm256_andnot_si256(left_out[index], bit), zero, zero, zero, zero, zero]
        });
        let sum = add::<2>(add::<1>(a, b), add::<1>(c, d));
        // The eight elements of the vectors, halved three times.
        let sum = add::<3>(sum, sum.map(|plane| _mm256_permute4x64_epi64::<0x4E>(plane)));
        let sum = add::<4>(sum, sum.map(|plane| _mm256_shuffle_epi32::<0x4E>(plane)));
        let sum = add::<5>(sum, sum.map(|plane| _mm256_shuffle_epi32::<0xB1>(plane)));
        // From the highest plane on, the banks that can still have most.
        let (mut most, mut among) = (0, u32::MAX);
        for (plane, banks) in sum.into_iter().enumerate().rev() {
            let with = among & _mm_cvtsi128_si32(_mm256_castsi256_si128(banks)) as u32;
            among = if with == 0 { among } else { with };
            most |= u32::from(with != 0) << plane;
        }
        most
    }
}
