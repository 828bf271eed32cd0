//! Compression, ciphers, checksums, codes of transmission, and searches in texts and sets.

use super::Set;
use crate::{
    case::Case,
    data::{Rows, bytes, floats, mix, skewed, words},
};
use bytemuck::cast_slice;
use std::collections::VecDeque;

/// The digest of one block of MD5, after the definition.
fn md5(block: &[u32; 16]) -> [u32; 4] {
    const TURNS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];
    const START: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    let [mut a, mut b, mut c, mut d] = START;
    for k in 0..64 {
        let (mixed, word) = match k / 16 {
            0 => ((b & c) | (!b & d), k),
            1 => ((d & b) | (!d & c), 5 * k + 1),
            2 => (b ^ c ^ d, 3 * k + 5),
            _ => (c ^ (b | !d), 7 * k),
        };
        let constant = (((k + 1) as f64).sin().abs() * 4_294_967_296.0) as u32;
        let sum = a.wrapping_add(mixed).wrapping_add(constant).wrapping_add(block[word % 16]);
        let turned = b.wrapping_add(sum.rotate_left(TURNS[k / 16][k % 4]));
        [a, b, c, d] = [d, turned, b, c];
    }
    [a, b, c, d]
        .into_iter()
        .zip(START)
        .map(|(a, b)| a.wrapping_add(b))
        .collect::<Vec<_>>()
        .try_into()
        .expect("four")
}

/// A product in the field of 256 elements with the polynomial 0x11d.
fn field_product(mut a: u32, mut b: u32) -> u32 {
    let mut product = 0;
    while b > 0 {
        if b & 1 == 1 {
            product ^= a;
        }
        a = a << 1 ^ if a & 0x80 > 0 { 0x11d } else { 0 };
        b >>= 1;
    }
    product
}

/// Codes of 4 to 12 bits for the 256 bytes, lowest bit first, and their lengths: short ones for small bytes.
fn byte_codes() -> (Vec<u16>, Vec<u8>) {
    let length = |symbol: u32| match symbol {
        0..4 => 4_u32,
        4..12 => 5,
        12..24 => 6,
        24..44 => 7,
        44..68 => 8,
        _ => 12,
    };
    let (mut code, mut last) = (0_u32, 4);
    (0..256)
        .map(|symbol| {
            let length = length(symbol);
            code <<= length - last;
            last = length;
            let bits = code.reverse_bits() >> (32 - length);
            code += 1;
            (bits as u16, length as u8)
        })
        .unzip()
}

/// The automaton that finds words: each state's move for each byte, and how many words end in it.
fn automaton(dictionary: &[Vec<u8>]) -> (Vec<u16>, Vec<u8>) {
    let mut children = vec![[0_u16; 256]];
    let mut ends = vec![0_u8];
    for word in dictionary {
        let mut state = 0_usize;
        for &letter in word {
            if children[state][usize::from(letter)] == 0 {
                children[state][usize::from(letter)] = children.len() as u16;
                children.push([0; 256]);
                ends.push(0);
            }
            state = children[state][usize::from(letter)].into();
        }
        ends[state] += 1;
    }
    let mut failures = vec![0_usize; children.len()];
    let mut queue: VecDeque<usize> =
        children[0].iter().filter(|&&child| child > 0).map(|&child| child.into()).collect();
    while let Some(state) = queue.pop_front() {
        ends[state] += ends[failures[state]];
        for letter in 0..256 {
            let beyond = children[failures[state]][letter];
            match children[state][letter] {
                0 => children[state][letter] = beyond,
                child => {
                    failures[usize::from(child)] = beyond.into();
                    queue.push_back(child.into());
                }
            }
        }
    }
    (children.concat(), ends)
}

pub(super) fn add(set: &mut Set) {
    for (letters, length) in [(26_usize, 4_u32), (26, 5)] {
        set.add("md5_search", format!("letters={letters} length={length}"), move || {
            let count = letters.pow(length);
            let secret = count / 7 * 5 + 3;
            let text: Vec<u8> =
                (0..length).map(|k| 97 + (secret / letters.pow(k) % letters) as u8).chain([0x80]).collect();
            let mut block = [0_u32; 16];
            for (k, &letter) in text.iter().enumerate() {
                block[k / 4] |= u32::from(letter) << (k % 4 * 8);
            }
            block[14] = 8 * length;
            let expected = vec![secret as u32, block[0], block[1]];
            Case::over(count, 256)
                .word(count)
                .word(letters)
                .word(length as usize)
                .input(&md5(&block))
                .output::<u32>(expected, 0.0)
        });
    }
    for n in [60_000_usize, 2_000_000] {
        set.add("parity_shards", format!("words={n} data=10 parity=4"), move || {
            let mut powers = vec![1_u32];
            (1..512).for_each(|k| powers.push(field_product(powers[k - 1], 2)));
            let mut logarithms = vec![0_u8; 256];
            (0..255).for_each(|k| logarithms[powers[k] as usize] = k as u8);
            // Cauchy's matrix: the reciprocals of sums of numbers that differ.
            let factors: Vec<u8> =
                (0..40).map(|k| (255 - logarithms[((10 + k / 10) ^ (k % 10)) as usize]) % 255).collect();
            let products: Vec<Vec<u32>> = factors
                .iter()
                .map(|&factor| {
                    (0..256).map(|byte| field_product(byte, powers[usize::from(factor)])).collect()
                })
                .collect();
            let data: Vec<u32> = (0..10 * n).map(|i| mix(i, 1)).collect();
            let mut parity = vec![0_u32; 4 * n];
            for (row, parity) in parity.chunks_mut(n).enumerate() {
                for (shard, data) in data.chunks(n).enumerate() {
                    let table = &products[row * 10 + shard];
                    for (sum, word) in parity.iter_mut().zip(data) {
                        *sum ^=
                            u32::from_le_bytes(word.to_le_bytes().map(|byte| table[usize::from(byte)] as u8));
                    }
                }
            }
            let powers: Vec<u8> = powers.into_iter().map(|power| power as u8).collect();
            Case::over(n, 256)
                .word(n)
                .input(&logarithms)
                .input(&powers)
                .input(&factors)
                .input(&data)
                .output::<u32>(parity, 0.0)
        });
    }
    for (bits, checks, frames) in [(2304_usize, 1152_usize, 100_usize), (64_800, 32_400, 90)] {
        set.add("ldpc_checks", format!("bits={bits} checks={checks} frames={frames}"), move || {
            let columns = words(7 * checks, bits as u32, 1);
            let belief = |value: f32| 12.0 * value - 4.0;
            let beliefs: Vec<f32> = floats(bits * frames, 2).into_iter().map(belief).collect();
            let from: Vec<f32> =
                floats(7 * checks * frames, 3).into_iter().map(|value| 4.0 * value - 2.0).collect();
            let mut expected = vec![0.0_f32; 7 * checks * frames];
            for frame in 0..frames {
                for check in 0..checks {
                    let at = |k: usize| (frame * 7 + k) * checks + check;
                    let messages: [f32; 7] = std::array::from_fn(|k| {
                        beliefs[frame * bits + columns[k * checks + check] as usize] - from[at(k)]
                    });
                    for k in 0..7 {
                        let others = (0..7).filter(|&other| other != k).map(|other| messages[other]);
                        let (least, negative) = others.fold((f32::MAX, false), |(least, odd), message| {
                            (least.min(message.abs()), odd ^ (message < 0.0))
                        });
                        expected[at(k)] = if negative { -0.75 * least } else { 0.75 * least };
                    }
                }
            }
            Case::grid([checks.div_ceil(128) as u32, frames as u32, 1], [128, 1, 1])
                .word(checks)
                .word(bits)
                .input(&columns)
                .input(&beliefs)
                .input(&from)
                .output::<f32>(expected, 1e-6)
        });
    }
    for symbols in [200_000_usize, 6_000_000] {
        set.add("soft_demap", format!("symbols={symbols}"), move || {
            let unit = 42.0_f32.sqrt().recip();
            let certainty = floats(symbols, 1);
            let points: Vec<f32> =
                floats(2 * symbols, 2).into_iter().map(|value| 2.8 * value - 1.4).collect();
            let expected = (0..6 * symbols)
                .map(|k| {
                    let (symbol, unit) = (k / 6, f64::from(unit));
                    let place = f64::from(points[2 * symbol + k % 2]);
                    let outer = 4.0 * unit - place.abs();
                    let value = [place, outer, 2.0 * unit - outer.abs()][k % 6 / 2];
                    (4.0 * unit * f64::from(certainty[symbol]) * value) as f32
                })
                .collect();
            Case::over(symbols, 256)
                .word(symbols)
                .single(unit)
                .input(&certainty)
                .input(&points)
                .output::<f32>(expected, 1e-5)
        });
    }
    for (n, chunk) in [(2_000_000_usize, 64_usize), (50_000_000, 256)] {
        set.add("automaton_scan", format!("n={n} chunk={chunk} words=60"), move || {
            // Letters of which the first are the most frequent.
            let letters = |n: usize, seed: u64| -> Vec<u8> {
                skewed(n, 26, 2, seed).into_iter().map(|letter| 97 + letter as u8).collect()
            };
            let dictionary: Vec<Vec<u8>> =
                (0..60).map(|word| letters(3 + mix(word, 1) as usize % 6, 10 + word as u64)).collect();
            let (moves, ends) = automaton(&dictionary);
            let text = letters(n, 2);
            let mut counts = vec![0_u32; n.div_ceil(chunk)];
            let mut state = 0_usize;
            for (i, &letter) in text.iter().enumerate() {
                state = moves[state * 256 + usize::from(letter)].into();
                counts[i / chunk] += u32::from(ends[state]);
            }
            Case::over(counts.len(), 128)
                .word(n)
                .word(chunk)
                .word(7)
                .input(&moves)
                .input(&ends)
                .input(&text)
                .output::<u32>(counts, 0.0)
        });
    }
    for n in [250_000_usize, 9_000_000] {
        set.add("prefix_encode", format!("words={n}"), move || {
            let (codes, lengths) = byte_codes();
            let symbols: Vec<u8> = skewed(4 * n, 256, 3, 1).into_iter().map(|symbol| symbol as u8).collect();
            let blocks = n.div_ceil(256);
            let (mut sizes, mut expected) = (Vec::with_capacity(blocks), vec![0_u32; 384 * blocks]);
            for (symbols, words) in symbols.chunks(1024).zip(expected.chunks_mut(384)) {
                let (mut held, mut bits, mut size) = (0_u64, 0, 0);
                let mut words = words.iter_mut();
                for &symbol in symbols {
                    held |= u64::from(codes[usize::from(symbol)]) << bits;
                    bits += u32::from(lengths[usize::from(symbol)]);
                    size += u32::from(lengths[usize::from(symbol)]);
                    if bits >= 32 {
                        *words.next().expect("384 words hold all codes") = held as u32;
                        held >>= 32;
                        bits -= 32;
                    }
                }
                if bits > 0 {
                    *words.next().expect("384 words hold all codes") = held as u32;
                }
                sizes.push(size);
            }
            Case::over(n, 256)
                .word(n)
                .input(&codes)
                .input(&lengths)
                .input(cast_slice::<u8, u32>(&symbols))
                .output::<u32>(sizes, 0.0)
                .inout::<u32>(&vec![0; 384 * blocks], expected, 0.0)
        });
    }
    for packets in [20_000_usize, 500_000] {
        set.add("packet_checksums", format!("packets={packets}"), move || {
            // As on the Internet: mostly short ones, a third of middle length, few long ones.
            let length = |packet: usize| match mix(packet, 1) % 12 {
                0..7 => 40 + mix(packet, 2) % 60,
                7..11 => 400 + mix(packet, 2) % 300,
                _ => 1400 + mix(packet, 2) % 101,
            };
            let lengths: Vec<u32> = (0..packets).map(length).collect();
            let mut starts = Vec::with_capacity(packets);
            let mut end = 0_u32;
            for length in &lengths {
                starts.push(end);
                end += length.div_ceil(4);
            }
            let data: Vec<u32> = (0..end as usize).map(|i| mix(i, 3)).collect();
            let text: &[u8] = cast_slice(&data);
            let sum = |packet: usize| {
                let start = 4 * starts[packet] as usize;
                let mut sum: u64 = text[start..start + lengths[packet] as usize]
                    .chunks(2)
                    .map(|pair| u64::from(pair[0]) + (u64::from(pair.get(1).copied().unwrap_or(0)) << 8))
                    .sum();
                while sum > 0xffff {
                    sum = (sum & 0xffff) + (sum >> 16);
                }
                !sum as u16
            };
            let expected = (0..packets).map(sum).collect();
            Case::over(packets * 32, 256)
                .word(packets)
                .input(&starts)
                .input(&lengths)
                .input(&data)
                .output::<u16>(expected, 0.0)
        });
    }
    for (sets, mean) in [(2000_usize, 100_u32), (25_000, 150)] {
        set.add("minhash_signatures", format!("sets={sets} mean={mean} hashes=128"), move || {
            let rows = Rows::random(sets, u32::MAX as usize, mean, 1);
            let long = |i: usize, seed: u64| u64::from(mix(i, seed)) << 32 | u64::from(mix(i, seed + 1));
            let factors: Vec<u64> = (0..128).map(|hash| long(hash, 10) | 1).collect();
            let summands: Vec<u64> = (0..128).map(|hash| long(hash, 20)).collect();
            let expected = (0..rows.len() * 128)
                .map(|i| {
                    let (factor, summand) = (factors[i % 128], summands[i % 128]);
                    let hash = |&element: &u32| {
                        (factor.wrapping_mul(element.into()).wrapping_add(summand) >> 32) as u32
                    };
                    rows.columns[rows.of(i / 128)].iter().map(hash).min().expect("no set is empty")
                })
                .collect();
            Case::grid([sets as u32, 1, 1], [128, 1, 1])
                .input(&rows.starts)
                .input(&rows.columns)
                .input(&factors)
                .input(&summands)
                .output::<u32>(expected, 0.0)
        });
    }
    for n in [1_000_003_usize, 25_000_000] {
        set.add("delta_zigzag", format!("n={n}"), move || {
            // Times that mostly grow, by steps of all sizes.
            let mut time = 1_000_000_i32;
            let (steps, sizes) = (words(n, 1 << 20, 1), bytes(n, 2));
            let from: Vec<i32> = steps
                .iter()
                .zip(&sizes)
                .map(|(&step, &size)| {
                    time = time.wrapping_add((step >> (size % 20)) as i32 - (step & 63) as i32);
                    time
                })
                .collect();
            let difference = |i: usize| match i {
                0 => from[0].into(),
                _ => i64::from(from[i].wrapping_sub(from[i - 1])),
            };
            let code = |value: i64| if value < 0 { -2 * value - 1 } else { 2 * value } as u32;
            let expected: Vec<u32> = (0..n).map(|i| code(difference(i))).collect();
            let length = |&code: &u32| match code {
                0..0x80 => 1,
                0x80..0x4000 => 2,
                0x4000..0x20_0000 => 3,
                0x20_0000..0x1000_0000 => 4,
                _ => 5_u32,
            };
            let sizes = expected.chunks(256).map(|codes| codes.iter().map(length).sum()).collect();
            Case::over(n, 256).word(n).input(&from).output::<u32>(expected, 0.0).output::<u32>(sizes, 0.0)
        });
    }
}
