//! Checksums, ciphers and strings.

use super::Set;
use crate::{
    case::Case,
    data::{bytes, mix, words},
};

/// The step of CRC-32 for a byte.
fn crc_table() -> Vec<u32> {
    (0..256_u32)
        .map(|byte| (0..8).fold(byte, |crc, _| (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg())))
        .collect()
}

/// CRC-32 of messages of 16 words, the first words of all messages first.
fn checksums(messages: usize, words: &[u32]) -> Vec<u32> {
    let table = crc_table();
    (0..messages)
        .map(|i| {
            let bytes = (0..16).flat_map(|k| words[k * messages + i].to_le_bytes());
            !bytes.fold(u32::MAX, |crc, byte| (crc >> 8) ^ table[(crc as u8 ^ byte) as usize])
        })
        .collect()
}

/// The first bits of the fractions of the `power`-th roots of the first 64 primes.
fn sha_constants() -> Vec<u32> {
    let primes = (2_u32..).filter(|n| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d > 0));
    primes.take(64).map(|prime| (f64::from(prime).cbrt().fract() * 4_294_967_296.0) as u32).collect()
}

/// The first word of SHA-256's state after one block.
fn sha_word(constants: &[u32], block: [u32; 16]) -> u32 {
    let mut w = block.to_vec();
    for k in 16..64 {
        let (a, b): (u32, u32) = (w[k - 15], w[k - 2]);
        let small = a.rotate_right(7) ^ a.rotate_right(18) ^ (a >> 3);
        let large = b.rotate_right(17) ^ b.rotate_right(19) ^ (b >> 10);
        w.push(w[k - 16].wrapping_add(small).wrapping_add(w[k - 7]).wrapping_add(large));
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = [
        0x6a09_e667_u32,
        0xbb67_ae85,
        0x3c6e_f372,
        0xa54f_f53a,
        0x510e_527f,
        0x9b05_688c,
        0x1f83_d9ab,
        0x5be0_cd19,
    ];
    for k in 0..64 {
        let first = h
            .wrapping_add(e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25))
            .wrapping_add((e & f) ^ (!e & g))
            .wrapping_add(constants[k])
            .wrapping_add(w[k]);
        let second = (a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22))
            .wrapping_add((a & b) ^ (a & c) ^ (b & c));
        (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(first), c, b, a, first.wrapping_add(second));
    }
    a
}

pub(super) fn add(set: &mut Set) {
    let messages = 1 << 16;
    set.add("crc32_bits", format!("messages={messages}"), move || {
        let words: Vec<u32> = (0..16 * messages).map(|i| mix(i, 1)).collect();
        let expected = checksums(messages, &words);
        Case::over(messages, 256).word(messages).input(&words).output(expected, 0.0)
    });
    let messages = 1 << 18;
    set.add("crc32_table", format!("messages={messages}"), move || {
        let words: Vec<u32> = (0..16 * messages).map(|i| mix(i, 1)).collect();
        let expected = checksums(messages, &words);
        Case::over(messages, 256).word(messages).input(&crc_table()).input(&words).output(expected, 0.0)
    });
    let messages = 1 << 16;
    set.add("sha256_rounds", format!("messages={messages}"), move || {
        let words: Vec<u32> = (0..16 * messages).map(|i| mix(i, 1)).collect();
        let constants = sha_constants();
        let digest = |i: usize| sha_word(&constants, std::array::from_fn(|k| words[k * messages + i]));
        let expected = (0..messages).map(digest).collect();
        Case::over(messages, 256).word(messages).input(&constants).input(&words).output::<u32>(expected, 0.0)
    });
    let n = 1 << 23;
    set.add("string_match", format!("n={n} letters=4"), move || {
        let text: Vec<u8> = bytes(n, 1).into_iter().map(|byte| b"ACGT"[usize::from(byte % 4)]).collect();
        let word = *b"GATTACAG";
        let mut expected = vec![0; n];
        text.windows(8).zip(&mut expected).for_each(|(part, found)| *found = u8::from(part == word));
        Case::over(n, 256).word(n).input(&word).input(&text).inout(&vec![0_u8; n], expected, 0.0)
    });
    let n = 1 << 16;
    set.add("modular_power", format!("n={n}"), move || {
        const MODULUS: u32 = 1_000_000_007;
        let bases: Vec<u32> = words(n, MODULUS - 1, 1).into_iter().map(|base| base + 1).collect();
        // What a number is multiplied with for 1, by Fermat.
        let inverse = |&base: &u32| {
            let (mut result, mut power, mut exponent) = (1_u64, u64::from(base), MODULUS - 2);
            while exponent > 0 {
                if exponent % 2 == 1 {
                    result = result * power % u64::from(MODULUS);
                }
                power = power * power % u64::from(MODULUS);
                exponent /= 2;
            }
            assert_eq!(result * u64::from(base) % u64::from(MODULUS), 1);
            result as u32
        };
        let expected = bases.iter().map(inverse).collect();
        Case::over(n, 256).word(n).word(MODULUS as usize).input(&bases).output::<u32>(expected, 0.0)
    });
    for n in [1_usize << 18, 1 << 23] {
        set.add("hamming_distance", format!("n={n} words=8"), move || {
            let query: Vec<u32> = (0..8).map(|i| mix(i, 1)).collect();
            let prints: Vec<u32> = (0..8 * n).map(|i| mix(i, 2)).collect();
            let distance =
                |i: usize| (0..8).map(|k| (prints[k * n + i] ^ query[k]).count_ones()).sum::<u32>();
            let expected = (0..n).map(distance).collect();
            Case::over(n, 256).word(n).input(&query).input(&prints).output::<u32>(expected, 0.0)
        });
    }
    let n = 1 << 17;
    set.add("collatz", format!("n={n}"), move || {
        let steps = |i: usize| {
            let (mut value, mut count) = (i as u64 + 1, 0);
            while value != 1 {
                value = if value % 2 == 0 { value / 2 } else { 3 * value + 1 };
                count += 1;
            }
            count
        };
        let expected = (0..n).map(steps).collect();
        Case::over(n, 256).word(n).output::<u32>(expected, 0.0)
    });
}
