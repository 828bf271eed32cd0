//! Pictures, sound, text and packed data.

use cuda_std::prelude::*;
use cuda_std::warp::{sync_warp, warp_shuffle_xor};
use cuda_std::{GpuFloat, shared_array, thread};

use crate::{ALL, index, position};

/// A video frame of luminance and interleaved half-size chrominance to bytes of red, green, blue: 2 x 2 pixels a thread.
#[kernel]
pub unsafe fn nv12_to_rgb(nx: u32, ny: u32, luma: *const u8, chroma: *const u8, to: *mut u8) {
    let (cx, cy) = position();
    let (nx, ny) = (nx as usize, ny as usize);
    if 2 * cx < nx && 2 * cy < ny {
        let pair = cy * nx + 2 * cx;
        let u = i32::from(*chroma.add(pair)) - 128;
        let v = i32::from(*chroma.add(pair + 1)) - 128;
        let colours = [409 * v, -100 * u - 208 * v, 516 * u];
        for dy in 0..2 {
            for dx in 0..2 {
                let at = (2 * cy + dy) * nx + 2 * cx + dx;
                let light = 298 * (i32::from(*luma.add(at)) - 16).max(0) + 128;
                for k in 0..3 {
                    *to.add(3 * at + k) = ((light + colours[k]) >> 8).clamp(0, 255) as u8;
                }
            }
        }
    }
}

/// Colours with opacity over others, one pixel of four bytes a thread, rounded to the nearest.
#[kernel]
pub unsafe fn blend_over(n: u32, above: *const u32, below: *const u32, to: *mut u32) {
    let i = index();
    if i < n as usize {
        let (a, b) = (*above.add(i), *below.add(i));
        let opacity = a >> 24;
        let mut pixel = 0;
        for shift in [0, 8, 16, 24] {
            let over = if shift == 24 { 255 } else { a >> shift & 255 };
            let mixed = over * opacity + (b >> shift & 255) * (255 - opacity) + 128;
            pixel |= (mixed + (mixed >> 8)) >> 8 << shift;
        }
        *to.add(i) = pixel;
    }
}

/// Motion of 16 x 16 pixels between two frames: a block per square, a thread for each of 256 shifts.
#[kernel]
pub unsafe fn motion_search(
    nx: u32,
    ny: u32,
    current: *const u8,
    before: *const u8,
    shifts: *mut u32,
    costs: *mut u32,
) {
    // Rows of 31 pixels of the frame before, 32 bytes apart.
    let (square, window) = (shared_array![u8; 256], shared_array![u8; 992]);
    let least = shared_array![u32; 8];
    let thread = thread::thread_idx_x() as usize;
    let (nx, ny) = (nx as usize, ny as usize);
    let (left, top) = (thread::block_idx_x() as usize * 16, thread::block_idx_y() as usize * 16);
    let (x, y) = (thread % 16, thread / 16);
    *square.add(thread) = *current.add((top + y) * nx + left + x);
    let mut cell = thread;
    while cell < 992 {
        let column = (left + cell % 32).saturating_sub(8).min(nx - 1);
        let row = (top + cell / 32).saturating_sub(8).min(ny - 1);
        *window.add(cell) = *before.add(row * nx + column);
        cell += 256;
    }
    thread::sync_threads();
    let mut cost = 0_u32;
    for row in 0..16 {
        for column in 0..16 {
            let here = u32::from(*square.add(16 * row + column));
            let there = u32::from(*window.add(32 * (y + row) + x + column));
            cost += here.abs_diff(there);
        }
    }
    let mut best = cost << 8 | thread as u32;
    for distance in [16, 8, 4, 2, 1] {
        best = best.min(warp_shuffle_xor(ALL, best, distance, 32).0);
    }
    if thread.is_multiple_of(32) {
        *least.add(thread / 32) = best;
    }
    thread::sync_threads();
    if thread == 0 {
        for warp in 1..8 {
            best = best.min(*least.add(warp));
        }
        let at = (thread::block_idx_y() * thread::grid_dim_x() + thread::block_idx_x()) as usize;
        *shifts.add(at) = best & 255;
        *costs.add(at) = best >> 8;
    }
}

/// Harris's measure of corners: derivatives of a tile in shared memory, their products summed over 3 x 3.
#[kernel]
pub unsafe fn harris_response(nx: u32, ny: u32, from: *const u8, to: *mut f32) {
    // Pixels of 36 x 20, derivatives of 34 x 18.
    let pixels = shared_array![f32; 720];
    let (across, down) = (shared_array![f32; 612], shared_array![f32; 612]);
    let (tx, ty) = (thread::thread_idx_x() as usize, thread::thread_idx_y() as usize);
    let (nx, ny) = (nx as usize, ny as usize);
    let (left, top) = (thread::block_idx_x() as usize * 32, thread::block_idx_y() as usize * 16);
    let thread = ty * 32 + tx;
    let mut cell = thread;
    while cell < 720 {
        let x = (left + cell % 36).saturating_sub(2).min(nx - 1);
        let y = (top + cell / 36).saturating_sub(2).min(ny - 1);
        *pixels.add(cell) = f32::from(*from.add(y * nx + x));
        cell += 512;
    }
    thread::sync_threads();
    cell = thread;
    while cell < 612 {
        let corner = pixels.add(cell / 34 * 36 + cell % 34);
        let at = |dx: usize, dy: usize| *corner.add(dy * 36 + dx);
        *across.add(cell) = at(2, 0) + 2.0 * at(2, 1) + at(2, 2) - at(0, 0) - 2.0 * at(0, 1) - at(0, 2);
        *down.add(cell) = at(0, 2) + 2.0 * at(1, 2) + at(2, 2) - at(0, 0) - 2.0 * at(1, 0) - at(2, 0);
        cell += 512;
    }
    thread::sync_threads();
    let (mut xx, mut yy, mut xy) = (0.0_f32, 0.0_f32, 0.0_f32);
    for dy in 0..3 {
        for dx in 0..3 {
            let at = (ty + dy) * 34 + tx + dx;
            let (a, b) = (*across.add(at), *down.add(at));
            xx = a.mul_add(a, xx);
            yy = b.mul_add(b, yy);
            xy = a.mul_add(b, xy);
        }
    }
    let (x, y) = (left + tx, top + ty);
    if x < nx && y < ny {
        *to.add(y * nx + x) = xx * yy - xy * xy - 0.04 * (xx + yy) * (xx + yy);
    }
}

/// Adler's checksum of chunks of bytes: a warp per chunk, a word a lane, both sums joined by shuffles.
#[kernel]
pub unsafe fn adler32_chunks(chunks: u32, words: u32, from: *const u32, to: *mut u32) {
    const PRIME: u32 = 65_521;
    let (chunk, lane) = (index() / 32, index() as u32 % 32);
    if chunk >= chunks as usize {
        return;
    }
    let own = from.add(chunk * words as usize);
    let (mut plain, mut weighted) = (0_u32, 0_u32);
    let mut k = lane;
    while k < words {
        let word = *own.add(k as usize);
        let bytes = [word & 255, word >> 8 & 255, word >> 16 & 255, word >> 24];
        let sum = bytes[0] + bytes[1] + bytes[2] + bytes[3];
        let last = 4 * (words - k);
        plain += sum;
        weighted += last * sum - bytes[1] - 2 * bytes[2] - 3 * bytes[3];
        weighted %= PRIME;
        k += 32;
    }
    for distance in [16, 8, 4, 2, 1] {
        plain += warp_shuffle_xor(ALL, plain, distance, 32).0;
        weighted += warp_shuffle_xor(ALL, weighted, distance, 32).0;
    }
    if lane == 0 {
        let first = (1 + plain) % PRIME;
        let second = (4 * words + weighted) % PRIME;
        *to.add(chunk) = second << 16 | first;
    }
}

/// Constants of Keccak's 24 rounds.
const ROUNDS: [u64; 24] = [
    0x0000_0000_0000_0001,
    0x0000_0000_0000_8082,
    0x8000_0000_0000_808a,
    0x8000_0000_8000_8000,
    0x0000_0000_0000_808b,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8009,
    0x0000_0000_0000_008a,
    0x0000_0000_0000_0088,
    0x0000_0000_8000_8009,
    0x0000_0000_8000_000a,
    0x0000_0000_8000_808b,
    0x8000_0000_0000_008b,
    0x8000_0000_0000_8089,
    0x8000_0000_0000_8003,
    0x8000_0000_0000_8002,
    0x8000_0000_0000_0080,
    0x0000_0000_0000_800a,
    0x8000_0000_8000_000a,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8080,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8008,
];

/// SHA3-256 of messages of 64 bytes: the whole state of 25 words in a thread's registers.
#[kernel]
pub unsafe fn sha3_256(n: u32, messages: *const u64, hashes: *mut u64) {
    let i = index();
    if i >= n as usize {
        return;
    }
    let mut s = [0_u64; 25];
    for k in 0..8 {
        s[k] = *messages.add(8 * i + k);
    }
    s[8] = 6;
    s[16] = 1 << 63;
    for round in 0..24 {
        let c: [u64; 5] = [0, 1, 2, 3, 4].map(|x| s[x] ^ s[x + 5] ^ s[x + 10] ^ s[x + 15] ^ s[x + 20]);
        let d = [
            c[4] ^ c[1].rotate_left(1),
            c[0] ^ c[2].rotate_left(1),
            c[1] ^ c[3].rotate_left(1),
            c[2] ^ c[4].rotate_left(1),
            c[3] ^ c[0].rotate_left(1),
        ];
        let mut b = [0_u64; 25];
        macro_rules! turn {
            ($($from:literal $to:literal $bits:literal),*) => {$(
                b[$to] = (s[$from] ^ d[$from % 5]).rotate_left($bits);
            )*};
        }
        turn!(0 0 0, 1 10 1, 2 20 62, 3 5 28, 4 15 27);
        turn!(5 16 36, 6 1 44, 7 11 6, 8 21 55, 9 6 20);
        turn!(10 7 3, 11 17 10, 12 2 43, 13 12 25, 14 22 39);
        turn!(15 23 41, 16 8 45, 17 18 15, 18 3 21, 19 13 8);
        turn!(20 14 18, 21 24 2, 22 9 61, 23 19 56, 24 4 14);
        macro_rules! row {
            ($($first:literal)*) => {$(
                s[$first] = b[$first] ^ (!b[$first + 1] & b[$first + 2]);
                s[$first + 1] = b[$first + 1] ^ (!b[$first + 2] & b[$first + 3]);
                s[$first + 2] = b[$first + 2] ^ (!b[$first + 3] & b[$first + 4]);
                s[$first + 3] = b[$first + 3] ^ (!b[$first + 4] & b[$first]);
                s[$first + 4] = b[$first + 4] ^ (!b[$first] & b[$first + 1]);
            )*};
        }
        row!(0 5 10 15 20);
        s[0] ^= ROUNDS[round];
    }
    for k in 0..4 {
        *hashes.add(4 * i + k) = s[k];
    }
}

/// The rest of a length of 15 or more: bytes are added as long as they are 255.
#[inline(always)]
unsafe fn long_length(length: usize, from: *const u8, at: &mut usize) -> usize {
    let mut length = length;
    if length == 15 {
        loop {
            let byte = *from.add(*at);
            *at += 1;
            length += usize::from(byte);
            if byte != 255 {
                break;
            }
        }
    }
    length
}

/// Expands chunks of literals and matches, as LZ4 writes them: a warp per chunk, all lanes copy.
#[kernel]
pub unsafe fn lz_expand(chunks: u32, size: u32, starts: *const u32, packed: *const u8, to: *mut u8) {
    let (chunk, lane) = (index() / 32, index() % 32);
    if chunk >= chunks as usize {
        return;
    }
    let own = to.add(chunk * size as usize);
    let mut at = *starts.add(chunk) as usize;
    let end = *starts.add(chunk + 1) as usize;
    let mut done = 0;
    while at < end {
        let token = usize::from(*packed.add(at));
        at += 1;
        let literals = long_length(token >> 4, packed, &mut at);
        let mut k = lane;
        while k < literals {
            *own.add(done + k) = *packed.add(at + k);
            k += 32;
        }
        at += literals;
        done += literals;
        sync_warp(ALL);
        if at < end {
            let back = usize::from(*packed.add(at)) | usize::from(*packed.add(at + 1)) << 8;
            at += 2;
            let length = long_length(token & 15, packed, &mut at) + 4;
            k = lane;
            while k < length {
                *own.add(done + k) = *own.add(done - back + k % back);
                k += 32;
            }
            done += length;
            sync_warp(ALL);
        }
    }
}

/// Numbers in decimal letters to integers, a string a thread; a string that holds anything else is marked invalid.
#[kernel]
pub unsafe fn strings_to_integers(
    n: u32,
    starts: *const u32,
    letters: *const u8,
    numbers: *mut i32,
    valid: *mut u8,
) {
    let i = index();
    if i < n as usize {
        let (mut at, end) = (*starts.add(i) as usize, *starts.add(i + 1) as usize);
        let mut negative = false;
        if at < end {
            let sign = *letters.add(at);
            negative = sign == b'-';
            if negative || sign == b'+' {
                at += 1;
            }
        }
        let mut good = at < end;
        let mut value = 0_i32;
        while at < end {
            let digit = (*letters.add(at)).wrapping_sub(b'0');
            if digit > 9 {
                good = false;
                break;
            }
            value = value.wrapping_mul(10).wrapping_add(i32::from(digit));
            at += 1;
        }
        *numbers.add(i) = if !good {
            0
        } else if negative {
            value.wrapping_neg()
        } else {
            value
        };
        *valid.add(i) = u8::from(good);
    }
}

/// Two recursive filters of second order in a row, for sound of many channels: a thread runs through a channel's samples.
#[kernel]
pub unsafe fn biquad_cascade(
    channels: u32,
    samples: u32,
    factors: *const f32,
    from: *const f32,
    to: *mut f32,
) {
    let channel = index();
    if channel >= channels as usize {
        return;
    }
    let mut own = [0.0_f32; 10];
    for (k, factor) in own.iter_mut().enumerate() {
        *factor = *factors.add(k);
    }
    let mut state = [0.0_f32; 4];
    for sample in 0..samples as usize {
        let at = sample * channels as usize + channel;
        let mut value = *from.add(at);
        for section in 0..2 {
            let f = &own[5 * section..5 * section + 5];
            let (first, second) = (state[2 * section], state[2 * section + 1]);
            let next = f[0].mul_add(value, first);
            state[2 * section] = f[1].mul_add(value, second) - f[3] * next;
            state[2 * section + 1] = f[2] * value - f[4] * next;
            value = next;
        }
        *to.add(at) = value;
    }
}
