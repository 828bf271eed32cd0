//! Checksums, ciphers and strings: integer arithmetic.

use cuda_std::prelude::*;
use cuda_std::shared_array;
use cuda_std::thread;

use crate::index;

/// A checksum (CRC-32) of each message of 64 bytes, bit by bit.
#[kernel]
pub unsafe fn crc32_bits(messages: u32, words: *const u32, sums: *mut u32) {
    let i = index();
    if i < messages as usize {
        let mut crc = u32::MAX;
        for word in 0..16 {
            crc ^= *words.add(word * messages as usize + i);
            for _ in 0..32 {
                let mask = (crc & 1).wrapping_neg();
                crc = (crc >> 1) ^ (0xEDB8_8320 & mask);
            }
        }
        *sums.add(i) = !crc;
    }
}

/// The same by a table of 256 entries in shared memory, with its bank conflicts.
#[kernel]
pub unsafe fn crc32_table(messages: u32, table: *const u32, words: *const u32, sums: *mut u32) {
    let own = shared_array![u32; 256];
    let thread = thread::thread_idx_x() as usize;
    *own.add(thread) = *table.add(thread);
    thread::sync_threads();
    let i = index();
    if i < messages as usize {
        let mut crc = u32::MAX;
        for word in 0..16 {
            crc ^= *words.add(word * messages as usize + i);
            for _ in 0..4 {
                crc = (crc >> 8) ^ *own.add((crc & 255) as usize);
            }
        }
        *sums.add(i) = !crc;
    }
}

/// The compression of SHA-256: 64 rounds of rotations and additions, the schedule in registers.
#[kernel]
pub unsafe fn sha256_rounds(messages: u32, constants: *const u32, words: *const u32, digest: *mut u32) {
    let i = index();
    if i < messages as usize {
        let mut w = [0_u32; 16];
        for (k, word) in w.iter_mut().enumerate() {
            *word = *words.add(k * messages as usize + i);
        }
        let mut s = [
            0x6a09_e667_u32,
            0xbb67_ae85,
            0x3c6e_f372,
            0xa54f_f53a,
            0x510e_527f,
            0x9b05_688c,
            0x1f83_d9ab,
            0x5be0_cd19,
        ];
        for chunk in 0..4 {
            for k in 0..16 {
                if chunk > 0 {
                    let (a, b) = (w[(k + 1) % 16], w[(k + 14) % 16]);
                    let small = a.rotate_right(7) ^ a.rotate_right(18) ^ (a >> 3);
                    let large = b.rotate_right(17) ^ b.rotate_right(19) ^ (b >> 10);
                    w[k] = w[k].wrapping_add(small).wrapping_add(w[(k + 9) % 16]).wrapping_add(large);
                }
                let [a, b, c, d, e, f, g, h] = s;
                let choose = (e & f) ^ (!e & g);
                let upper = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
                let first = h
                    .wrapping_add(upper)
                    .wrapping_add(choose)
                    .wrapping_add(*constants.add(chunk * 16 + k))
                    .wrapping_add(w[k]);
                let majority = (a & b) ^ (a & c) ^ (b & c);
                let lower = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
                s = [
                    first.wrapping_add(lower.wrapping_add(majority)),
                    a,
                    b,
                    c,
                    d.wrapping_add(first),
                    e,
                    f,
                    g,
                ];
            }
        }
        *digest.add(i) = s[0];
    }
}

/// Searches a text for a word of 8 letters: each thread compares at its place.
#[kernel]
pub unsafe fn string_match(n: u32, word: *const u8, text: *const u8, found: *mut u8) {
    let i = index();
    if i + 8 <= n as usize {
        let mut same = 0;
        while same < 8 && *text.add(i + same) == *word.add(same) {
            same += 1;
        }
        *found.add(i) = u8::from(same == 8);
    }
}

/// Powers modulo a number below 2^31: 32 squarings with 64-bit remainders.
#[kernel]
pub unsafe fn modular_power(n: u32, modulus: u32, bases: *const u32, powers: *mut u32) {
    let i = index();
    if i < n as usize {
        let modulus = u64::from(modulus);
        let (mut base, mut result, mut exponent) = (u64::from(*bases.add(i)) % modulus, 1_u64, modulus - 2);
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = result * base % modulus;
            }
            base = base * base % modulus;
            exponent >>= 1;
        }
        *powers.add(i) = result as u32;
    }
}

/// Bits that differ between two sets of fingerprints of 256 bits: population counts.
#[kernel]
pub unsafe fn hamming_distance(n: u32, query: *const u32, prints: *const u32, distance: *mut u32) {
    let i = index();
    if i < n as usize {
        let mut bits = 0;
        for word in 0..8 {
            bits += (*prints.add(word * n as usize + i) ^ *query.add(word)).count_ones();
        }
        *distance.add(i) = bits;
    }
}

/// Steps of Collatz's problem: branches that differ between lanes.
#[kernel]
pub unsafe fn collatz(n: u32, steps: *mut u32) {
    let i = index();
    if i < n as usize {
        let (mut value, mut count) = (i as u64 + 1, 0);
        while value != 1 {
            value = if value & 1 == 0 { value / 2 } else { 3 * value + 1 };
            count += 1;
        }
        *steps.add(i) = count;
    }
}
