//! What lanes do together, against loops over lanes as the manual writes them.

use crate::alu_support::{Lanes, Machine, Numbers, levels, refused};

const MASKS: [u32; 6] = [u32::MAX, 0xFFFF, 0x8000_0001, 0x0F0F_1234, 0x8000_0000, 0x5555_5555];

fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |lane| mask >> lane & 1 == 1)
}

/// The manual's pseudocode: the lane read, and the predicate.
fn shuffle(mode: &str, lane: i64, b: i64, c: i64) -> (usize, bool) {
    let (b, clamp, segment) = (b & 31, c & 31, c >> 8 & 31);
    let last = (lane & segment) | (clamp & !segment & 31);
    let first = lane & segment;
    let (source, inside) = match mode {
        "up" => (lane - b, lane - b >= last),
        "down" => (lane + b, lane + b <= last),
        "bfly" => (lane ^ b, lane ^ b <= last),
        _ => {
            let source = first | (b & !segment & 31);
            (source, source <= last)
        }
    };
    (if inside { source as usize } else { lane as usize }, inside)
}

#[test]
fn shuffles() {
    let mut numbers = Numbers::new(5);
    for level in levels() {
        for mode in ["up", "down", "bfly", "idx"] {
            let mut machine =
                Machine::new(&format!("shfl.sync.{mode}.b32 %r0|%p0, %r1, %r2, %r3, %r4;"), level);
            let mut alone = Machine::new(&format!("shfl.{mode}.b32 %r0, %r1, %r2, %r3;"), level);
            // All widths of segments, as CUDA encodes them, and then any bits at all.
            let widths =
                [32, 16, 8, 4, 2, 1].map(|width| (32 - width) << 8 | if mode == "up" { 0 } else { 31 });
            for round in 0..200 {
                let mask = MASKS[round % MASKS.len()];
                let values: Lanes = std::array::from_fn(|lane| 1000 + lane as u128);
                let amounts: Lanes = match round % 3 {
                    0 => [(round as u128 / 3) % 40; 32],
                    _ => std::array::from_fn(|_| u128::from(numbers.next() as u32)),
                };
                let controls: Lanes = match widths.get(round / 6) {
                    Some(width) => [*width as u128; 32],
                    None => std::array::from_fn(|_| u128::from(numbers.next() as u32)),
                };
                for machine in [&mut machine, &mut alone] {
                    machine.set("%r0", &[7; 32]);
                    machine.set("%r1", &values);
                    machine.set("%r2", &amounts);
                    machine.set("%r3", &controls);
                }
                machine.set("%p0", &[0; 32]);
                machine.run(mask);
                alone.run(mask);
                let (found, inside) = (machine.get("%r0"), machine.get("%p0"));
                for lane in 0..32 {
                    let (mut source, mut wanted_inside) =
                        shuffle(mode, lane as i64, amounts[lane] as i64, controls[lane] as i64);
                    if mask >> source & 1 == 0 {
                        source = lane;
                    }
                    let is_written = mask >> lane & 1 == 1;
                    wanted_inside &= is_written;
                    let wanted = if is_written { values[source] } else { 7 };
                    assert_eq!(
                        found[lane], wanted,
                        "{mode} lane {lane} by {} of {:#x}",
                        amounts[lane], controls[lane]
                    );
                    assert_eq!(inside[lane], u128::from(wanted_inside), "{mode} lane {lane}");
                }
                assert_eq!(alone.get("%r0"), found, "{mode}");
            }
        }
    }
    refused("shfl.sync.up.b64 %d0, %d1, %r2, %r3, %r4;");
}

#[test]
fn votes() {
    for level in levels() {
        for mask in MASKS {
            for votes in [0, u32::MAX, mask, !mask, 0x1248_8421, 1, 0x8000_0000] {
                let inside = votes & mask;
                let predicate: Lanes = std::array::from_fn(|lane| u128::from(votes >> lane & 1));
                for (mode, verdict, inverted) in [
                    ("all", inside == mask, inside == 0),
                    ("any", inside != 0, inside != mask),
                    ("uni", inside == mask || inside == 0, inside == mask || inside == 0),
                ] {
                    for (operand, verdict) in [("%p1", verdict), ("!%p1", inverted)] {
                        for text in [
                            format!("vote.sync.{mode}.pred %p0, {operand}, -1;"),
                            format!("vote.{mode}.pred %p0, {operand};"),
                        ] {
                            let mut machine = Machine::new(&text, level);
                            machine.set("%p1", &predicate);
                            machine.run(mask);
                            let wanted =
                                std::array::from_fn(|lane| u128::from(verdict && mask >> lane & 1 == 1));
                            assert_eq!(machine.get("%p0"), wanted, "{text} of {votes:#x} in {mask:#x}");
                        }
                    }
                }
                let mut machine = Machine::new("vote.sync.ballot.b32 %r0, %p1, %r2;", level);
                machine.set("%p1", &predicate);
                machine.run(mask);
                let wanted =
                    std::array::from_fn(|lane| if mask >> lane & 1 == 1 { inside.into() } else { 0 });
                assert_eq!(machine.get("%r0"), wanted, "{votes:#x} in {mask:#x}");
            }
        }
    }
}

#[test]
fn matches() {
    for level in levels() {
        for (bits, r) in [(32, "r"), (64, "d")] {
            for mask in MASKS {
                for kinds in [1u128, 2, 3, 7, 40] {
                    // Values that differ in the highest bits only, too.
                    let values: Lanes = std::array::from_fn(|lane| (lane as u128 * 5 % kinds) << (bits - 8));
                    let mut any = Machine::new(&format!("match.any.sync.b{bits} %r0, %{r}1, -1;"), level);
                    any.set(&format!("%{r}1"), &values);
                    any.run(mask);
                    let wanted = |lane: usize| -> u128 {
                        lanes(mask)
                            .filter(|other| values[*other] == values[lane])
                            .map(|other| 1 << other)
                            .sum()
                    };
                    for lane in 0..32 {
                        let wanted = if mask >> lane & 1 == 1 { wanted(lane) } else { 0 };
                        assert_eq!(any.get("%r0")[lane], wanted, "any of {kinds} in {mask:#x}, lane {lane}");
                    }
                    let mut all = Machine::new(&format!("match.all.sync.b{bits} %r0|%p0, %{r}1, -1;"), level);
                    all.set(&format!("%{r}1"), &values);
                    all.run(mask);
                    let first = values[lanes(mask).next().expect("a lane")];
                    let same = lanes(mask).all(|lane| values[lane] == first);
                    for lane in 0..32 {
                        let inside = mask >> lane & 1 == 1;
                        assert_eq!(all.get("%p0")[lane], u128::from(same && inside));
                        assert_eq!(all.get("%r0")[lane], if same && inside { mask.into() } else { 0 });
                    }
                }
            }
        }
    }
    refused("match.any.sync.b32 %r0|%p0, %r1, -1;");
}

#[test]
fn reductions() {
    let mut numbers = Numbers::new(9);
    type Reduce = fn(u32, u32) -> u32;
    let reductions: [(&str, Reduce); 9] = [
        ("add.u32", |a, b| a.wrapping_add(b)),
        ("add.s32", |a, b| a.wrapping_add(b)),
        ("min.u32", |a, b| a.min(b)),
        ("max.u32", |a, b| a.max(b)),
        ("min.s32", |a, b| (a as i32).min(b as i32) as u32),
        ("max.s32", |a, b| (a as i32).max(b as i32) as u32),
        ("and.b32", |a, b| a & b),
        ("or.b32", |a, b| a | b),
        ("xor.b32", |a, b| a ^ b),
    ];
    for level in levels() {
        for (name, reduce) in reductions {
            let mut machine = Machine::new(&format!("redux.sync.{name} %r0, %r1, -1;"), level);
            for round in 0..24 {
                let mask = MASKS[round % MASKS.len()];
                let values: Lanes = std::array::from_fn(|_| u128::from(numbers.next() as u32));
                machine.set("%r0", &[3; 32]);
                machine.set("%r1", &values);
                machine.run(mask);
                let mut inside = lanes(mask).map(|lane| values[lane] as u32);
                let first = inside.next().expect("a lane");
                let wanted = inside.fold(first, reduce);
                for lane in 0..32 {
                    let wanted = if mask >> lane & 1 == 1 { wanted } else { 3 };
                    assert_eq!(machine.get("%r0")[lane], wanted.into(), "{name}");
                }
            }
        }
        for (name, wanted) in
            [("min", -3f32), ("max", 2.5), ("min.abs", 1.0), ("max.abs", 3.0), ("max.NaN", f32::NAN)]
        {
            let mut machine = Machine::new(&format!("redux.sync.{name}.f32 %r0, %r1, -1;"), level);
            let values = [-3.0, 2.5, f32::NAN, 1.0];
            machine.set("%r1", &std::array::from_fn(|lane| values[lane % 4].to_bits().into()));
            machine.run(u32::MAX);
            let wanted = if wanted.is_nan() { 0x7FFF_FFFF } else { wanted.to_bits() };
            assert_eq!(machine.get("%r0"), [wanted.into(); 32], "{name}");
        }
    }
}

#[test]
fn one_is_elected_and_masks_are_told() {
    for level in levels() {
        for mask in MASKS {
            let mut machine = Machine::new("elect.sync %r0|%p0, -1;", level);
            machine.run(mask);
            let mut active = Machine::new("activemask.b32 %r0;", level);
            active.run(mask);
            let elected = lanes(mask).next().expect("a lane");
            for lane in 0..32 {
                let inside = mask >> lane & 1 == 1;
                assert_eq!(machine.get("%p0")[lane], u128::from(lane == elected));
                assert_eq!(machine.get("%r0")[lane], if inside { elected as u128 } else { 0 });
                assert_eq!(active.get("%r0")[lane], if inside { mask.into() } else { 0 });
            }
        }
        let mut machine = Machine::new("elect.sync _|%p0, -1;", level);
        machine.run(0xF0);
        assert_eq!(machine.get("%p0"), std::array::from_fn(|lane| u128::from(lane == 4)));
    }
}
