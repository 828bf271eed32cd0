//! Shuffles, votes, matches and reductions against the PTX manual's definitions.

use cust::memory::DeviceCopy;

use crate::device::{Kernels, Random, assert_same, devices, filled, read, results};

const WIDTHS: [u32; 6] = [1, 2, 4, 8, 16, 32];
/// The instruction takes an operand's low five bits.
const OPERANDS: [u32; 17] = [0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 24, 31, 32, 33, 63, u32::MAX];
const MASKS: [u32; 8] =
    [u32::MAX, 1, 0x8000_0000, 0x0000_ffff, 0xff00_0000, 0x5555_5555, 0x8421_0c63, 0x7fff_fffe];

#[derive(Clone, Copy, Debug)]
enum Mode {
    Idx,
    Up,
    Down,
    Xor,
}

const MODES: [Mode; 4] = [Mode::Idx, Mode::Up, Mode::Down, Mode::Xor];

/// The lane that a lane reads, and whether what it asked for was in range. In segments of `width` lanes, a lane may read up to
/// its segment's last lane, and with `up` down to its first.
fn source(mode: Mode, lane: u32, operand: u32, width: u32) -> (u32, bool) {
    let operand = operand & 31;
    let first = lane & !(width - 1);
    let last = first + (width - 1);
    let (wanted, in_range) = match mode {
        Mode::Idx => (first + (operand & (width - 1)), true),
        Mode::Up => (lane.wrapping_sub(operand), lane >= first + operand),
        Mode::Down => (lane + operand, lane + operand <= last),
        Mode::Xor => (lane ^ operand, lane ^ operand <= last),
    };
    (if in_range { wanted } else { lane }, in_range)
}

fn check_shuffles<T: DeviceCopy + Default + PartialEq + std::fmt::Debug>(
    kernels: &Kernels,
    name: &str,
    values: &[T],
) {
    let (mut expected, mut expected_predicates) = (Vec::new(), Vec::new());
    for operand in OPERANDS {
        for mode in MODES {
            for width in WIDTHS {
                for lane in 0..32 {
                    let (source, in_range) = source(mode, lane, operand, width);
                    expected.push(values[source as usize]);
                    expected_predicates.push(u32::from(in_range));
                }
            }
        }
    }
    let (values, operands) = (filled(values), filled(&OPERANDS));
    let shuffled = results(T::default(), expected.len());
    let predicates = results(77, expected.len());
    run!(
        kernels,
        name,
        (1, 32, 0),
        [
            values.as_device_ptr(),
            operands.as_device_ptr(),
            OPERANDS.len(),
            shuffled.as_device_ptr(),
            predicates.as_device_ptr(),
        ]
    );
    assert_same(&read(&shuffled), &expected, name);
    assert_same(&read(&predicates), &expected_predicates, name);
}

#[test]
#[ignore = "needs a GPU"]
fn shuffles_read_the_lane_that_ptx_defines() {
    let mut random = Random(1);
    for kernels in devices() {
        // Signed numbers and floats are only these bits, NaNs among them.
        let words: Vec<u64> = (0..32).map(|_| random.word()).collect();
        for name in ["shuffle_u8", "shuffle_i8"] {
            check_shuffles(kernels, name, &words.iter().map(|&word| word as u8).collect::<Vec<_>>());
        }
        for name in ["shuffle_u16", "shuffle_i16", "shuffle_f16", "shuffle_bf16"] {
            check_shuffles(kernels, name, &words.iter().map(|&word| word as u16).collect::<Vec<_>>());
        }
        for name in ["shuffle_u32", "shuffle_i32", "shuffle_f32"] {
            check_shuffles(kernels, name, &words.iter().map(|&word| word as u32).collect::<Vec<_>>());
        }
        for name in ["shuffle_u64", "shuffle_i64", "shuffle_f64"] {
            check_shuffles(kernels, name, &words);
        }
        for name in ["shuffle_u128", "shuffle_i128"] {
            let wide: Vec<[u64; 2]> = words.iter().map(|&word| [word, random.word()]).collect();
            check_shuffles(kernels, name, &wide);
        }
    }
}

#[test]
#[ignore = "needs a GPU"]
fn the_lanes_of_a_mask_shuffle_alone() {
    for kernels in devices() {
        let values = Random(2).halves(32);
        let buffer = filled(&values);
        let mut launched = 0;
        for mask in MASKS {
            let takes_part = |lane: u32| mask >> lane & 1 != 0;
            for mode in MODES {
                for (operand, width) in [1, 2, 4, 5, 8, 16, 31]
                    .into_iter()
                    .flat_map(|operand| WIDTHS.map(|width| (operand, width)))
                {
                    let source = |lane| source(mode, lane, operand, width);
                    // To read from a lane that takes no part is not defined.
                    if (0..32).any(|lane| takes_part(lane) && !takes_part(source(lane).0)) {
                        continue;
                    }
                    launched += 1;
                    let (shuffled, predicates) = (results(77, 32), results(78, 32));
                    run!(
                        kernels,
                        "shuffle_masked",
                        (1, 32, 0),
                        [
                            mask,
                            mode as u32,
                            operand,
                            width,
                            buffer.as_device_ptr(),
                            shuffled.as_device_ptr(),
                            predicates.as_device_ptr(),
                        ]
                    );
                    let expected: Vec<(u32, u32)> = (0..32)
                        .map(|lane| match source(lane) {
                            _ if !takes_part(lane) => (77, 78),
                            (from, in_range) => (values[from as usize], u32::from(in_range)),
                        })
                        .collect();
                    let found: Vec<_> = read(&shuffled).into_iter().zip(read(&predicates)).collect();
                    assert_same(&found, &expected, &format!("{mode:?} {operand} of {width} in {mask:#x}"));
                }
            }
        }
        assert!(launched > 300, "only {launched} cases are defined");
    }
}

#[test]
#[ignore = "needs a GPU"]
fn votes_count_the_lanes_of_the_mask() {
    let mut random = Random(3);
    for kernels in devices() {
        for mask in MASKS {
            for predicates in [0, u32::MAX, mask, !mask, 1, random.half(), random.half() & random.half()] {
                let votes = results(77, 96);
                run!(kernels, "votes", (1, 32, 0), [mask, predicates, votes.as_device_ptr()]);
                let ballot = predicates & mask;
                let answer = [u32::from(ballot == mask), u32::from(ballot != 0), ballot];
                let expected: Vec<u32> =
                    (0..32).flat_map(|lane| if mask >> lane & 1 != 0 { answer } else { [77; 3] }).collect();
                assert_same(&read(&votes), &expected, &format!("{predicates:#x} in {mask:#x}"));
            }
        }
    }
}

fn check_matches<T: DeviceCopy + PartialEq>(kernels: &Kernels, name: &str, values: &[T]) {
    let buffer = filled(values);
    for mask in MASKS {
        let found = results(77, 64);
        run!(kernels, name, (1, 32, 0), [mask, buffer.as_device_ptr(), found.as_device_ptr()]);
        let equal = |lane: usize| {
            (0..32)
                .filter(|&other| values[other] == values[lane])
                .fold(0, |lanes, other| lanes | 1_u32 << other)
                & mask
        };
        let expected: Vec<u32> = (0..32)
            .flat_map(|lane| match equal(lane) {
                _ if mask >> lane & 1 == 0 => [77, 77],
                lanes => [lanes, if lanes == mask { mask } else { 0 }],
            })
            .collect();
        assert_same(&read(&found), &expected, &format!("{name} in {mask:#x}"));
    }
}

#[test]
#[ignore = "needs a GPU"]
fn matches_are_by_bits() {
    let mut random = Random(4);
    let singles = [f32::NAN.to_bits(), f32::NAN.to_bits() ^ 1, 0.0_f32.to_bits(), (-0.0_f32).to_bits()];
    let doubles = [f64::NAN.to_bits(), f64::NAN.to_bits() ^ 1, 0.0_f64.to_bits(), (-0.0_f64).to_bits()];
    let mut picks = || (0..32).map(|_| random.half() as usize % 4).collect::<Vec<_>>();
    for kernels in devices() {
        for picks in [picks(), picks(), vec![0; 32], vec![2; 32], (0..32).map(|lane| lane / 16).collect()] {
            let pick_32 = |from: [u32; 4]| picks.iter().map(|&pick| from[pick]).collect::<Vec<_>>();
            let pick_64 = |from: [u64; 4]| picks.iter().map(|&pick| from[pick]).collect::<Vec<_>>();
            check_matches(kernels, "match_u32", &pick_32([0, 1, u32::MAX, 1 << 31]));
            check_matches(kernels, "match_i32", &pick_32([0, 1, u32::MAX, 1 << 31]));
            check_matches(kernels, "match_f32", &pick_32(singles));
            // Numbers that differ in one half alone.
            check_matches(kernels, "match_u64", &pick_64([0, 1, 1 << 32, u64::MAX]));
            check_matches(kernels, "match_i64", &pick_64([5, 5 << 32, 5 | 5 << 32, 0]));
            check_matches(kernels, "match_f64", &pick_64(doubles));
        }
        check_matches(kernels, "match_u64", &(0..32).map(|lane| lane << 40).collect::<Vec<u64>>());
    }
}

#[test]
#[ignore = "needs a GPU"]
fn reductions_join_the_lanes_of_the_mask() {
    let mut random = Random(5);
    for kernels in devices() {
        let mut lists = vec![vec![0; 32], vec![u32::MAX; 32], (0..32).map(|lane| 1 << lane).collect()];
        lists.extend((0..4).map(|_| random.halves(32)));
        lists.push((0..32).map(|lane| if lane % 2 == 0 { 1 << 31 } else { u32::MAX >> 1 }).collect());
        for (values, mask) in lists.iter().flat_map(|values| MASKS.map(|mask| (values, mask))) {
            let part: Vec<u32> =
                (0..32).filter(|lane| mask >> lane & 1 != 0).map(|lane| values[lane]).collect();
            let signed = || part.iter().map(|value| value.cast_signed());
            let sum = part.iter().fold(0, |sum: u32, value| sum.wrapping_add(*value));
            let and = part.iter().fold(u32::MAX, |and, value| and & value);
            let or = part.iter().fold(0, |or, value| or | value);
            let xor = part.iter().fold(0, |xor, value| xor ^ value);
            let (least, most) = (*part.iter().min().expect("a lane"), *part.iter().max().expect("a lane"));
            let unsigned = [sum, least, most, and, or, xor];
            let (least, most) = (signed().min().expect("a lane"), signed().max().expect("a lane"));
            let signed = [sum, least.cast_unsigned(), most.cast_unsigned(), and, or, xor];
            let buffer = filled(values);
            for (name, answers) in [("reduce_u32", unsigned), ("reduce_i32", signed)] {
                let found = results(77, 6 * 32);
                run!(kernels, name, (1, 32, 0), [mask, buffer.as_device_ptr(), found.as_device_ptr()]);
                let spread = |answer| move |lane: u32| if mask >> lane & 1 != 0 { answer } else { 77 };
                let expected: Vec<u32> =
                    answers.into_iter().flat_map(|answer| (0..32).map(spread(answer))).collect();
                assert_same(&read(&found), &expected, &format!("{name} in {mask:#x}"));
            }
        }
    }
}

#[test]
#[ignore = "needs a GPU"]
fn a_lane_is_a_thread_of_its_warp() {
    for kernels in devices() {
        for threads in [1_u32, 31, 32, 48, 96, 1024] {
            let found = results([77; 3], 2 * threads as usize);
            run!(kernels, "lanes", (2, threads, 0), [found.as_device_ptr()]);
            for (place, [lane, active, active_odd]) in read(&found).into_iter().enumerate() {
                let thread = place as u32 % threads;
                let in_warp = (threads - thread / 32 * 32).min(32);
                let warp = u32::MAX >> (32 - in_warp);
                assert_eq!(lane, thread % 32, "thread {thread} of {threads}");
                // The device decides which lanes run together: the lane itself is among them, and no lane beyond the block.
                assert_eq!(active >> lane & 1, 1);
                assert_eq!(active & !warp, 0, "thread {thread} of {threads}");
                let odd = warp & 0xaaaa_aaaa;
                assert!(if lane % 2 == 0 {
                    active_odd == 0
                } else {
                    active_odd >> lane & 1 == 1 && active_odd & !odd == 0
                });
            }
        }
    }
}

#[test]
#[ignore = "needs a GPU"]
fn a_warps_barrier_orders_its_memory() {
    for kernels in devices() {
        for threads in [32_u32, 64, 256] {
            let values = Random(6).halves(threads as usize);
            let (buffer, found) = (filled(&values), results(77, values.len()));
            run!(kernels, "sync_warp", (1, threads, 0), [buffer.as_device_ptr(), found.as_device_ptr()]);
            let expected: Vec<u32> =
                (0..values.len()).map(|place| values[place / 32 * 32 + (place % 32 + 5) % 32]).collect();
            assert_same(&read(&found), &expected, "sync_warp");
        }
    }
}
