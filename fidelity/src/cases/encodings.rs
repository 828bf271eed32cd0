//! Encodings, ciphers and hashes.

use super::Set;
use crate::{
    case::Case,
    data::{bytes, mix, words},
};
use bytemuck::cast_slice;

/// A prefix code of 28 symbols: the code of 1 to 8 bits by which each is written, lowest bit first.
fn prefix_code() -> Vec<(u32, u32)> {
    // Kraft's sum is 1: each byte begins with one code.
    let lengths = [3_u32, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7, 8, 8, 8, 8, 8, 8, 8, 8];
    let mut code = 0_u32;
    let mut last = 0;
    let assign = |length: u32| {
        code <<= length - last;
        last = length;
        let bits = code.reverse_bits() >> (32 - length);
        code += 1;
        (bits, length)
    };
    lengths.into_iter().map(assign).collect()
}

/// The key stream of one block, after the definition.
fn key_stream(key: &[u32], counter: u32) -> [u32; 16] {
    let mut start = [0_u32; 16];
    start[..4].copy_from_slice(&[0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574]);
    start[4..12].copy_from_slice(key);
    start[12] = counter;
    let mut s = start;
    for round in 0..20 {
        for k in 0..4 {
            let turn = if round % 2 == 1 { [0, 1, 2, 3] } else { [0; 4] };
            let [a, b, c, d] = std::array::from_fn(|row| row * 4 + (k + turn[row]) % 4);
            for [to, add, other, left] in [[a, b, d, 16], [c, d, b, 12], [a, b, d, 8], [c, d, b, 7]] {
                s[to] = s[to].wrapping_add(s[add]);
                s[other] = (s[other] ^ s[to]).rotate_left(left as u32);
            }
        }
    }
    std::array::from_fn(|k| s[k].wrapping_add(start[k]))
}

pub(super) fn add(set: &mut Set) {
    let groups = 1_000_000_usize;
    set.add("base64_encode", format!("groups={groups}"), move || {
        let alphabet = *b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let from = bytes(3 * groups, 1);
        let encode = |group: &[u8]| {
            let bits = u32::from_be_bytes([0, group[0], group[1], group[2]]);
            [18, 12, 6, 0].map(|shift| alphabet[(bits >> shift & 63) as usize])
        };
        let expected = from.chunks(3).flat_map(encode).collect();
        Case::over(groups, 256).word(groups).input(&alphabet).input(&from).output::<u8>(expected, 0.0)
    });
    for blocks in [4096_usize, 60_000] {
        set.add("chacha20", format!("blocks={blocks}"), move || {
            let (key, from) = (words(8, u32::MAX, 1), words(16 * blocks, u32::MAX, 2));
            let mut expected = from.clone();
            for (i, block) in expected.chunks_mut(16).enumerate() {
                block.iter_mut().zip(key_stream(&key, i as u32)).for_each(|(word, key)| *word ^= key);
            }
            Case::over(blocks, 128).word(blocks).input(&key).input(&from).output::<u32>(expected, 0.0)
        });
    }
    let segments = 40_000_usize;
    set.add("huffman_decode", format!("segments={segments} symbols=64"), move || {
        let prefixes = prefix_code();
        let mut table = vec![0_u16; 256];
        for (symbol, &(bits, length)) in prefixes.iter().enumerate() {
            for rest in 0..1 << (8 - length) {
                table[(rest << length | bits) as usize] = (length << 8) as u16 | symbol as u16;
            }
        }
        // Symbols as often as their codes are short.
        let symbols: Vec<u8> =
            bytes(64 * segments, 1).into_iter().map(|byte| table[usize::from(byte)] as u8).collect();
        let (mut starts, mut code) = (Vec::new(), Vec::new());
        for segment in symbols.chunks(64) {
            starts.push(code.len() as u32);
            let (mut held, mut count) = (0_u64, 0);
            for &symbol in segment {
                let (bits, length) = prefixes[usize::from(symbol)];
                held |= u64::from(bits) << count;
                count += length;
                if count >= 32 {
                    code.push(held as u32);
                    held >>= 32;
                    count -= 32;
                }
            }
            code.push(held as u32);
        }
        // The decoder refills before it knows that the last symbol is read.
        code.push(0);
        Case::over(segments, 128)
            .word(segments)
            .input(&table)
            .input(&starts)
            .input(&code)
            .output::<u8>(symbols, 0.0)
    });
    for frames in [4000_usize, 25_000] {
        set.add("bit_unpack", format!("frames={frames} numbers=128"), move || {
            let widths: Vec<u8> = (0..frames).map(|frame| (3 + mix(frame, 1) % 18) as u8).collect();
            let leasts = words(frames, 1 << 20, 2);
            let (mut starts, mut packed, mut expected) = (Vec::new(), Vec::new(), Vec::new());
            for frame in 0..frames {
                starts.push(packed.len() as u32);
                let (mut held, mut count) = (0_u64, 0);
                for k in 0..128 {
                    let value = mix(frame * 128 + k, 3) & ((1 << widths[frame]) - 1);
                    expected.push(leasts[frame] + value);
                    held |= u64::from(value) << count;
                    count += u32::from(widths[frame]);
                    if count >= 32 {
                        packed.push(held as u32);
                        held >>= 32;
                        count -= 32;
                    }
                }
            }
            Case::grid([frames as u32, 1, 1], [128, 1, 1])
                .input(&widths)
                .input(&leasts)
                .input(&starts)
                .input(&packed)
                .output::<u32>(expected, 0.0)
        });
    }
    for n in [1_usize << 19, 1_500_000] {
        set.add("hash_keys", format!("n={n}"), move || {
            const FIRST: u64 = 0x9E37_79B1_85EB_CA87;
            const SECOND: u64 = 0xC2B2_AE3D_27D4_EB4F;
            let keys: Vec<u64> =
                (0..4 * n).map(|i| u64::from(mix(i, 1)) << 32 | u64::from(mix(i, 2))).collect();
            let hash = |key: &[u64]| {
                let mut hash = 32_u64;
                for &lane in key {
                    hash ^= lane.wrapping_mul(SECOND).rotate_left(31).wrapping_mul(FIRST);
                    hash = hash.rotate_left(27).wrapping_mul(FIRST).wrapping_add(SECOND);
                }
                hash = (hash ^ (hash >> 33)).wrapping_mul(SECOND);
                hash = (hash ^ (hash >> 29)).wrapping_mul(FIRST);
                hash ^ (hash >> 32)
            };
            let expected: Vec<u64> = keys.chunks(4).map(hash).collect();
            // As words, which a double holds exactly.
            let halves: Vec<u32> = cast_slice(&expected).to_vec();
            Case::over(n, 512).word(n).input(&keys).output::<u32>(halves, 0.0)
        });
    }
    let (n, depth) = (512_usize, 32_usize);
    set.add("xnor_product", format!("n={n} words={depth}"), move || {
        let (a, b) = (words(n * depth, u32::MAX, 1), words(n * depth, u32::MAX, 2));
        let mut expected = Vec::with_capacity(n * n);
        for row in a.chunks(depth) {
            for column in b.chunks(depth) {
                let agree = |(a, b): (&u32, &u32)| 32 - 2 * (a ^ b).count_ones() as i32;
                expected.push(row.iter().zip(column).map(agree).sum());
            }
        }
        Case::plane([n, n], [16, 16]).word(n).word(depth).input(&a).input(&b).output::<i32>(expected, 0.0)
    });
}
