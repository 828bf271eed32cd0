//! Compression, ciphers, checksums, codes of transmission, and searches in texts and sets.

use core::sync::atomic::Ordering::Relaxed;
use cuda_std::atomic::mid;
use cuda_std::prelude::*;
use cuda_std::vector::F32x2;
use cuda_std::warp::{WarpReductionOp, warp_reduce, warp_shuffle_up};
use cuda_std::{GpuFloat, shared_array, thread};

use crate::{ALL, index};

/// Searches all words of `length` letters, up to 8, for that with a digest of MD5, as SHOC does: a word per thread.
#[kernel]
pub unsafe fn md5_search(words: u32, letters: u32, length: u32, digest: *const u32, found: *mut u32) {
    let i = index() as u32;
    if i < words {
        let (mut rest, mut text) = (i, 0_u64);
        for k in 0..length {
            text |= u64::from(97 + rest % letters) << (8 * k);
            rest /= letters;
        }
        let mut w = [0_u32; 16];
        if length < 8 {
            text |= 0x80 << (8 * length);
        } else {
            w[2] = 0x80;
        }
        w[0] = text as u32;
        w[1] = (text >> 32) as u32;
        w[14] = 8 * length;
        let (mut a, mut b, mut c, mut d) =
            (0x6745_2301_u32, 0xefcd_ab89_u32, 0x98ba_dcfe_u32, 0x1032_5476_u32);
        let choose = |b: u32, c: u32, d: u32| (b & c) | (!b & d);
        let select = |b: u32, c: u32, d: u32| (b & d) | (c & !d);
        let parity = |b: u32, c: u32, d: u32| b ^ c ^ d;
        let mix = |b: u32, c: u32, d: u32| c ^ (b | !d);
        macro_rules! rounds {
            ($function:ident: $($word:literal $turn:literal $constant:literal),*) => {$(
                let sum = a.wrapping_add($function(b, c, d)).wrapping_add(w[$word]).wrapping_add($constant);
                (a, d, c, b) = (d, c, b, b.wrapping_add(sum.rotate_left($turn)));
            )*};
        }
        rounds!(choose:
            0 7 0xd76a_a478, 1 12 0xe8c7_b756, 2 17 0x2420_70db, 3 22 0xc1bd_ceee,
            4 7 0xf57c_0faf, 5 12 0x4787_c62a, 6 17 0xa830_4613, 7 22 0xfd46_9501,
            8 7 0x6980_98d8, 9 12 0x8b44_f7af, 10 17 0xffff_5bb1, 11 22 0x895c_d7be,
            12 7 0x6b90_1122, 13 12 0xfd98_7193, 14 17 0xa679_438e, 15 22 0x49b4_0821
        );
        rounds!(select:
            1 5 0xf61e_2562, 6 9 0xc040_b340, 11 14 0x265e_5a51, 0 20 0xe9b6_c7aa,
            5 5 0xd62f_105d, 10 9 0x0244_1453, 15 14 0xd8a1_e681, 4 20 0xe7d3_fbc8,
            9 5 0x21e1_cde6, 14 9 0xc337_07d6, 3 14 0xf4d5_0d87, 8 20 0x455a_14ed,
            13 5 0xa9e3_e905, 2 9 0xfcef_a3f8, 7 14 0x676f_02d9, 12 20 0x8d2a_4c8a
        );
        rounds!(parity:
            5 4 0xfffa_3942, 8 11 0x8771_f681, 11 16 0x6d9d_6122, 14 23 0xfde5_380c,
            1 4 0xa4be_ea44, 4 11 0x4bde_cfa9, 7 16 0xf6bb_4b60, 10 23 0xbebf_bc70,
            13 4 0x289b_7ec6, 0 11 0xeaa1_27fa, 3 16 0xd4ef_3085, 6 23 0x0488_1d05,
            9 4 0xd9d4_d039, 12 11 0xe6db_99e5, 15 16 0x1fa2_7cf8, 2 23 0xc4ac_5665
        );
        rounds!(mix:
            0 6 0xf429_2244, 7 10 0x432a_ff97, 14 15 0xab94_23a7, 5 21 0xfc93_a039,
            12 6 0x655b_59c3, 3 10 0x8f0c_cc92, 10 15 0xffef_f47d, 1 21 0x8584_5dd1,
            8 6 0x6fa8_7e4f, 15 10 0xfe2c_e6e0, 6 15 0xa301_4314, 13 21 0x4e08_11a1,
            4 6 0xf753_7e82, 11 10 0xbd3a_f235, 2 15 0x2ad7_d2bb, 9 21 0xeb86_d391
        );
        a = a.wrapping_add(0x6745_2301);
        b = b.wrapping_add(0xefcd_ab89);
        c = c.wrapping_add(0x98ba_dcfe);
        d = d.wrapping_add(0x1032_5476);
        if a == *digest && b == *digest.add(1) && c == *digest.add(2) && d == *digest.add(3) {
            *found = i;
            *found.add(1) = text as u32;
            *found.add(2) = (text >> 32) as u32;
        }
    }
}

/// Four parity shards of ten by Reed and Solomon's code: a word of each shard per thread, logarithms in shared memory.
#[kernel]
pub unsafe fn parity_shards(
    words: u32,
    logarithms: *const u8,
    powers: *const u8,
    factors: *const u8,
    data: *const u32,
    parity: *mut u32,
) {
    let (logs, exps) = (shared_array![u8; 256], shared_array![u8; 512]);
    let own = shared_array![u8; 40];
    let thread = thread::thread_idx_x() as usize;
    *logs.add(thread) = *logarithms.add(thread);
    *exps.add(thread) = *powers.add(thread);
    *exps.add(thread + 256) = *powers.add(thread + 256);
    if thread < 40 {
        *own.add(thread) = *factors.add(thread);
    }
    thread::sync_threads();
    let (i, words) = (index(), words as usize);
    if i < words {
        let mut sums = [0_u32; 4];
        for shard in 0..10 {
            let word = *data.add(shard * words + i);
            for byte in 0..4 {
                let value = (word >> (8 * byte) & 255) as usize;
                if value != 0 {
                    let log = usize::from(*logs.add(value));
                    for (row, sum) in sums.iter_mut().enumerate() {
                        let factor = usize::from(*own.add(row * 10 + shard));
                        *sum ^= u32::from(*exps.add(log + factor)) << (8 * byte);
                    }
                }
            }
        }
        for (row, sum) in sums.iter().enumerate() {
            *parity.add(row * words + i) = *sum;
        }
    }
}

/// The checks' step of decoding an LDPC code by scaled least magnitudes: a check of seven bits per thread.
#[kernel]
pub unsafe fn ldpc_checks(
    checks: u32,
    bits: u32,
    columns: *const u32,
    beliefs: *const f32,
    from: *const f32,
    to: *mut f32,
) {
    let check = index();
    let (checks, word) = (checks as usize, thread::block_idx_y() as usize);
    if check < checks {
        let first = word * 7 * checks + check;
        let mut messages = [0.0_f32; 7];
        let (mut least, mut second, mut place, mut odd) = (f32::MAX, f32::MAX, 0, false);
        for (k, message) in messages.iter_mut().enumerate() {
            let column = *columns.add(k * checks + check) as usize;
            *message = *beliefs.add(word * bits as usize + column) - *from.add(first + k * checks);
            let size = message.abs();
            odd ^= *message < 0.0;
            if size < least {
                second = least;
                least = size;
                place = k;
            } else if size < second {
                second = size;
            }
        }
        for (k, message) in messages.iter().enumerate() {
            let size = 0.75 * if k == place { second } else { least };
            let negative = odd ^ (*message < 0.0);
            *to.add(first + k * checks) = if negative { -size } else { size };
        }
    }
}

/// The six bits' log likelihood ratios of received points of 64-QAM, piecewise linear, by each point's own certainty.
#[kernel]
pub unsafe fn soft_demap(
    symbols: u32,
    unit: f32,
    certainty: *const f32,
    points: *const F32x2,
    to: *mut F32x2,
) {
    let i = index();
    if i < symbols as usize {
        let point = *points.add(i);
        let scale = 4.0 * unit * *certainty.add(i);
        let (x, y) = (point.x, point.y);
        let (outer_x, outer_y) = (4.0 * unit - x.abs(), 4.0 * unit - y.abs());
        let (inner_x, inner_y) = (2.0 * unit - outer_x.abs(), 2.0 * unit - outer_y.abs());
        *to.add(3 * i) = F32x2::new(scale * x, scale * y);
        *to.add(3 * i + 1) = F32x2::new(scale * outer_x, scale * outer_y);
        *to.add(3 * i + 2) = F32x2::new(scale * inner_x, scale * inner_y);
    }
}

/// Counts the words of a dictionary that end in each chunk of a text, by Aho and Corasick's automaton: a chunk per thread.
#[kernel]
pub unsafe fn automaton_scan(
    n: u32,
    chunk: u32,
    reach: u32,
    moves: *const u16,
    ends: *const u8,
    text: *const u8,
    counts: *mut u32,
) {
    let (i, n, chunk) = (index(), n as usize, chunk as usize);
    let start = i * chunk;
    if start < n {
        let end = (start + chunk).min(n);
        let (mut state, mut count) = (0_usize, 0);
        let mut at = start.saturating_sub(reach as usize);
        while at < end {
            state = usize::from(*moves.add(state * 256 + usize::from(*text.add(at))));
            if at >= start {
                count += u32::from(*ends.add(state));
            }
            at += 1;
        }
        *counts.add(i) = count;
    }
}

/// Encodes 1024 symbols a block by a prefix code of up to 12 bits: lengths are summed up, codes meet in shared memory.
#[kernel]
pub unsafe fn prefix_encode(
    words: u32,
    codes: *const u16,
    lengths: *const u8,
    symbols: *const u32,
    sizes: *mut u32,
    to: *mut u32,
) {
    let (own, widths) = (shared_array![u16; 256], shared_array![u8; 256]);
    let (packed, totals) = (shared_array![u32; 386], shared_array![u32; 8]);
    let (thread, block) = (thread::thread_idx_x() as usize, thread::block_idx_x() as usize);
    *own.add(thread) = *codes.add(thread);
    *widths.add(thread) = *lengths.add(thread);
    *packed.add(thread) = 0;
    if thread < 130 {
        *packed.add(thread + 256) = 0;
    }
    thread::sync_threads();
    let i = index();
    let (mut bits, mut width) = (0_u64, 0_u32);
    if i < words as usize {
        let four = *symbols.add(i);
        for k in 0..4 {
            let symbol = (four >> (8 * k) & 255) as usize;
            bits |= u64::from(*own.add(symbol)) << width;
            width += u32::from(*widths.add(symbol));
        }
    }
    // The bits of the threads before this one.
    let mut end = width;
    for distance in [1, 2, 4, 8, 16] {
        let other = warp_shuffle_up(ALL, end, distance, 32).0;
        if thread as u32 % 32 >= distance {
            end += other;
        }
    }
    if thread % 32 == 31 {
        *totals.add(thread / 32) = end;
    }
    thread::sync_threads();
    let mut all = 0;
    for warp in 0..8 {
        if warp == thread / 32 {
            end += all;
        }
        all += *totals.add(warp);
    }
    let start = end - width;
    if width > 0 {
        let (word, shift) = ((start / 32) as usize, start % 32);
        let low = bits << shift;
        mid::atomic_fetch_or_u32_block(packed.add(word), Relaxed, low as u32);
        if shift + width > 32 {
            mid::atomic_fetch_or_u32_block(packed.add(word + 1), Relaxed, (low >> 32) as u32);
        }
        if shift + width > 64 {
            mid::atomic_fetch_or_u32_block(packed.add(word + 2), Relaxed, (bits >> (64 - shift)) as u32);
        }
    }
    thread::sync_threads();
    let mut word = thread;
    while word < all.div_ceil(32) as usize {
        *to.add(block * 384 + word) = *packed.add(word);
        word += 256;
    }
    if thread == 0 {
        *sizes.add(block) = all;
    }
}

/// The Internet's checksum of packets of any length: a warp per packet sums halves of words, and folds the carries.
#[kernel]
pub unsafe fn packet_checksums(
    packets: u32,
    starts: *const u32,
    lengths: *const u32,
    words: *const u32,
    sums: *mut u16,
) {
    let (packet, lane) = (index() / 32, index() % 32);
    if packet < packets as usize {
        let (start, length) = (*starts.add(packet) as usize, *lengths.add(packet) as usize);
        let mut sum = 0_u32;
        let mut word = lane;
        while 4 * word < length {
            let mut value = *words.add(start + word);
            let left = length - 4 * word;
            if left < 4 {
                value &= (1 << (8 * left)) - 1;
            }
            sum += (value & 0xffff) + (value >> 16);
            word += 32;
        }
        let mut total = warp_reduce(ALL, sum, WarpReductionOp::Add);
        total = (total & 0xffff) + (total >> 16);
        total = (total & 0xffff) + (total >> 16);
        if lane == 0 {
            *sums.add(packet) = !total as u16;
        }
    }
}

/// Signatures of sets by the least values of 128 hashes: a block per set, a hash per thread, elements through shared memory.
#[kernel]
pub unsafe fn minhash_signatures(
    starts: *const u32,
    elements: *const u32,
    factors: *const u64,
    summands: *const u64,
    signatures: *mut u32,
) {
    let tile = shared_array![u32; 128];
    let (thread, set) = (thread::thread_idx_x() as usize, thread::block_idx_x() as usize);
    let (mut start, end) = (*starts.add(set) as usize, *starts.add(set + 1) as usize);
    let (factor, summand) = (*factors.add(thread), *summands.add(thread));
    let mut least = u32::MAX;
    while start < end {
        if start + thread < end {
            *tile.add(thread) = *elements.add(start + thread);
        }
        thread::sync_threads();
        for k in 0..128.min(end - start) {
            let hash = factor.wrapping_mul(u64::from(*tile.add(k))).wrapping_add(summand);
            least = least.min((hash >> 32) as u32);
        }
        thread::sync_threads();
        start += 128;
    }
    *signatures.add(set * 128 + thread) = least;
}

/// Differences of neighbours, their signs in the lowest bit, and the bytes that each block needs for them at 7 bits a byte.
#[kernel]
pub unsafe fn delta_zigzag(n: u32, from: *const i32, to: *mut u32, sizes: *mut u32) {
    let size = shared_array![u32; 1];
    let thread = thread::thread_idx_x() as usize;
    if thread == 0 {
        *size = 0;
    }
    thread::sync_threads();
    let i = index();
    let mut bytes = 0;
    if i < n as usize {
        let before = if i > 0 { *from.add(i - 1) } else { 0 };
        let difference = (*from.add(i)).wrapping_sub(before);
        let coded = (difference << 1 ^ difference >> 31) as u32;
        *to.add(i) = coded;
        bytes = (32 - (coded | 1).leading_zeros()).div_ceil(7);
    }
    let sum = warp_reduce(ALL, bytes, WarpReductionOp::Add);
    if thread.is_multiple_of(32) {
        mid::atomic_fetch_add_u32_block(size, Relaxed, sum);
    }
    thread::sync_threads();
    if thread == 0 {
        *sizes.add(thread::block_idx_x() as usize) = *size;
    }
}
