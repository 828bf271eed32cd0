//! Encodings, ciphers and hashes: integers of all sizes.

use cuda_std::prelude::*;
use cuda_std::vector::{U32x4, U64x2};
use cuda_std::{shared_array, thread};

use crate::index;

/// Base64: three bytes to four letters by a thread, through an alphabet in memory.
#[kernel]
pub unsafe fn base64_encode(groups: u32, alphabet: *const u8, from: *const u8, to: *mut u8) {
    let i = index();
    if i < groups as usize {
        let [a, b, c] = [0, 1, 2].map(|k| u32::from(*from.add(3 * i + k)));
        let bits = a << 16 | b << 8 | c;
        for k in 0..4 {
            *to.add(4 * i + k) = *alphabet.add((bits >> (18 - 6 * k) & 63) as usize);
        }
    }
}

/// ChaCha20: each thread makes 64 bytes of key stream in registers and encrypts as many.
#[kernel]
pub unsafe fn chacha20(blocks: u32, key: *const u32, from: *const U32x4, to: *mut U32x4) {
    let i = index();
    if i < blocks as usize {
        let mut start = [0_u32; 16];
        start[..4].copy_from_slice(&[0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574]);
        for k in 0..8 {
            start[4 + k] = *key.add(k);
        }
        start[12] = i as u32;
        let mut s = start;
        macro_rules! quarter {
            ($($a:literal $b:literal $c:literal $d:literal),*) => {$(
                s[$a] = s[$a].wrapping_add(s[$b]);
                s[$d] = (s[$d] ^ s[$a]).rotate_left(16);
                s[$c] = s[$c].wrapping_add(s[$d]);
                s[$b] = (s[$b] ^ s[$c]).rotate_left(12);
                s[$a] = s[$a].wrapping_add(s[$b]);
                s[$d] = (s[$d] ^ s[$a]).rotate_left(8);
                s[$c] = s[$c].wrapping_add(s[$d]);
                s[$b] = (s[$b] ^ s[$c]).rotate_left(7);
            )*};
        }
        for _ in 0..10 {
            quarter!(0 4 8 12, 1 5 9 13, 2 6 10 14, 3 7 11 15);
            quarter!(0 5 10 15, 1 6 11 12, 2 7 8 13, 3 4 9 14);
        }
        for row in 0..4 {
            let mut text = (*from.add(4 * i + row)).to_array();
            for k in 0..4 {
                text[k] ^= s[4 * row + k].wrapping_add(start[4 * row + k]);
            }
            *to.add(4 * i + row) = U32x4::from_array(text);
        }
    }
}

/// Decodes a prefix code of up to 8 bits: 64 symbols a thread, by a table in shared memory, words refilled as bits run out.
#[kernel]
pub unsafe fn huffman_decode(
    segments: u32,
    table: *const u16,
    starts: *const u32,
    code: *const u32,
    symbols: *mut u8,
) {
    let own = shared_array![u16; 256];
    let thread = thread::thread_idx_x() as usize;
    *own.add(thread) = *table.add(thread);
    *own.add(thread + 128) = *table.add(thread + 128);
    thread::sync_threads();
    let i = index();
    if i < segments as usize {
        let mut word = *starts.add(i) as usize;
        let (mut bits, mut held) = (0_u64, 0_u32);
        for k in 0..64 {
            if held < 8 {
                bits |= u64::from(*code.add(word)) << held;
                held += 32;
                word += 1;
            }
            let entry = *own.add((bits & 255) as usize);
            let length = u32::from(entry >> 8);
            *symbols.add(64 * i + k) = entry as u8;
            bits >>= length;
            held -= length;
        }
    }
}

/// Unpacks frames of 128 numbers, each frame with a width of bits and a least number of its own: a block per frame.
#[kernel]
pub unsafe fn bit_unpack(
    widths: *const u8,
    leasts: *const u32,
    starts: *const u32,
    packed: *const u32,
    to: *mut u32,
) {
    let frame = thread::block_idx_x() as usize;
    let thread = thread::thread_idx_x() as usize;
    let width = u32::from(*widths.add(frame));
    let first = *starts.add(frame) as usize;
    let bit = thread * width as usize;
    let (word, shift) = (first + bit / 32, bit as u32 % 32);
    let mut value = *packed.add(word) >> shift;
    if shift + width > 32 {
        value |= *packed.add(word + 1) << (32 - shift);
    }
    *to.add(frame * 128 + thread) = *leasts.add(frame) + (value & ((1 << width) - 1));
}

/// A hash of keys of 32 bytes in 64-bit multiplications and rotations.
#[kernel]
pub unsafe fn hash_keys(n: u32, keys: *const U64x2, hashes: *mut u64) {
    const FIRST: u64 = 0x9E37_79B1_85EB_CA87;
    const SECOND: u64 = 0xC2B2_AE3D_27D4_EB4F;
    let i = index();
    if i < n as usize {
        let (low, high) = (*keys.add(2 * i), *keys.add(2 * i + 1));
        let mut hash = 32_u64;
        for lane in [low.x, low.y, high.x, high.y] {
            let mixed = lane.wrapping_mul(SECOND).rotate_left(31).wrapping_mul(FIRST);
            hash = (hash ^ mixed).rotate_left(27).wrapping_mul(FIRST).wrapping_add(SECOND);
        }
        hash = (hash ^ hash >> 33).wrapping_mul(SECOND);
        hash = (hash ^ hash >> 29).wrapping_mul(FIRST);
        *hashes.add(i) = hash ^ hash >> 32;
    }
}

/// A product of matrices of bits: tiles of 16 x 16 words in shared memory, bits that agree are counted.
#[kernel]
pub unsafe fn xnor_product(n: u32, words: u32, a: *const u32, b: *const u32, c: *mut i32) {
    let (left, right) = (shared_array![u32; 256], shared_array![u32; 272]);
    let (tx, ty) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let (x, y) = crate::position();
    let words = words as usize;
    let column = thread::block_idx_x() as usize * 16 + ty;
    let mut differ = 0;
    for first in 0..words / 16 {
        *left.add(ty * 16 + tx) = *a.add(y * words + first * 16 + tx);
        *right.add(ty * 17 + tx) = *b.add(column * words + first * 16 + tx);
        thread::sync_threads();
        for k in 0..16 {
            differ += (*left.add(ty * 16 + k) ^ *right.add(tx * 17 + k)).count_ones();
        }
        thread::sync_threads();
    }
    *c.add(y * n as usize + x) = 32 * words as i32 - 2 * differ as i32;
}
