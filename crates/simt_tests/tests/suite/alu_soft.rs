//! The arithmetic of `alu::soft` against `rustc_apfloat`, bit for bit: each operation, format and rounding that both have.
//! (`apfloat` has neither `tf32` nor square roots.)

use proptest::prelude::*;
use proptest::sample::select;
use rustc_apfloat::ieee::{BFloat, Double, Float8E4M3FN, Float8E5M2, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round, StatusAnd};
use simt::internals::alu::soft::{BRAIN, DOUBLE, E4M3, E5M2, Format, HALF, SINGLE, Value};
use simt::ptx::op::words::Rounding;

const ROUNDINGS: [(Rounding, Round); 5] = [
    (Rounding::NearestEven, Round::NearestTiesToEven),
    (Rounding::NearestAway, Round::NearestTiesToAway),
    (Rounding::Zero, Round::TowardZero),
    (Rounding::Down, Round::TowardNegative),
    (Rounding::Up, Round::TowardPositive),
];

/// Compares a result with the oracle's. Every NaN is the same: PTX has one for each format.
///
/// Of numbers of `e4m3` below the least one, apfloat 0.2.3 takes the directions up and down for each other: it looks for their NaN,
/// which takes the place of a finite number, without regard to the sign.
#[track_caller]
fn agree<F: Float>(
    format: &Format,
    rounding: Rounding,
    ours: u64,
    oracle: StatusAnd<F>,
    what: impl Fn() -> String,
) {
    let (oracle, bits) = (oracle.value, oracle.value.to_bits());
    let same = match format.read(ours) {
        Value::Nan => oracle.is_nan(),
        _ => !oracle.is_nan() && bits == u128::from(ours),
    };
    let is_mistaken = F::BITS == 8
        && match rounding {
            Rounding::Down => ours == 0xFF && bits == 0xFE,
            Rounding::Up => ours == 0xFE && oracle.is_nan(),
            _ => false,
        };
    assert!(same || is_mistaken, "{}: {ours:#x}, and {bits:#x} by apfloat", what());
}

fn arithmetic<F: Float>(format: &Format, [a, b, c]: [u64; 3]) {
    let read = |bits: u64| (format.read(bits), F::from_bits(bits.into()));
    let ((ours_a, a_), (ours_b, b_), (ours_c, c_)) = (read(a), read(b), read(c));
    for (rounding, round) in ROUNDINGS {
        let what = |sign: &str| format!("{} {a:#x} {sign} {b:#x}, {rounding}", std::any::type_name::<F>());
        let rounded = |value| format.round(value, rounding);
        agree(format, rounding, rounded(ours_a.add(ours_b, rounding)), a_.add_r(b_, round), || what("+"));
        agree(format, rounding, rounded(ours_a.add(ours_b.negated(), rounding)), a_.sub_r(b_, round), || {
            what("-")
        });
        agree(format, rounding, rounded(ours_a.times(ours_b)), a_.mul_r(b_, round), || what("*"));
        agree(format, rounding, rounded(ours_a.over(ours_b)), a_.div_r(b_, round), || what("/"));
        let fused = ours_a.times(ours_b).add(ours_c, rounding);
        agree(format, rounding, rounded(fused), a_.mul_add_r(b_, c_, round), || what(&format!("+ {c:#x} +")));
    }
}

/// Converts to a format from one of which the number is given.
fn conversion<F: Float + FloatConvert<T>, T: Float>(from: &Format, to: &Format, bits: u64) {
    for (rounding, round) in ROUNDINGS {
        let ours = to.round(from.read(bits), rounding);
        let oracle = F::from_bits(bits.into()).convert_r(round, &mut false);
        let name = std::any::type_name::<(F, T)>();
        agree(to, rounding, ours, oracle, || format!("{name} {bits:#x}, {rounding}"));
    }
}

fn conversions<F>(from: &Format, bits: u64)
where
    F: Float
        + FloatConvert<Half>
        + FloatConvert<BFloat>
        + FloatConvert<Single>
        + FloatConvert<Double>
        + FloatConvert<Float8E4M3FN>
        + FloatConvert<Float8E5M2>,
{
    conversion::<F, Half>(from, &HALF, bits);
    conversion::<F, BFloat>(from, &BRAIN, bits);
    conversion::<F, Single>(from, &SINGLE, bits);
    conversion::<F, Double>(from, &DOUBLE, bits);
    conversion::<F, Float8E4M3FN>(from, &E4M3, bits);
    conversion::<F, Float8E5M2>(from, &E5M2, bits);
}

fn integers(value: i128) {
    fn one<F: Float>(format: &Format, value: i128) {
        for (rounding, round) in ROUNDINGS {
            let ours = format.round(Value::from_integer(value), rounding);
            let name = std::any::type_name::<F>();
            agree(format, rounding, ours, F::from_i128_r(value, round), || {
                format!("{name} {value}, {rounding}")
            });
        }
    }
    one::<Half>(&HALF, value);
    one::<BFloat>(&BRAIN, value);
    one::<Single>(&SINGLE, value);
    one::<Double>(&DOUBLE, value);
}

/// Three numbers of a format of `bits` bits, `fraction` of them of the fraction: any, special ones, and ones with exponents so
/// close that sums cancel and round.
fn operands(bits: u32, fraction: u32) -> impl Strategy<Value = [u64; 3]> {
    let mask = u64::MAX >> (64 - bits);
    let infinity = (mask >> 1) & !((1 << fraction) - 1);
    let one = (infinity >> 1) & !((1 << fraction) - 1);
    let special =
        [0, 1, 2, (1 << fraction) - 1, 1 << fraction, one, one + 1, infinity - 1, infinity, mask >> 1];
    let sign = 1 << (bits - 1);
    any::<u64>().prop_flat_map(move |base| {
        let near = (-4_i64 << fraction..4 << fraction).prop_map(move |step| base.wrapping_add_signed(step));
        let any_sign = (select(special.to_vec()), any::<bool>());
        let special =
            any_sign.prop_map(move |(number, negative)| if negative { number | sign } else { number });
        let one = prop_oneof![3 => any::<u64>(), 4 => near, 2 => special];
        proptest::array::uniform3(one.prop_map(move |number| number & mask))
    })
}

#[test]
fn all_pairs_of_bytes_give_what_apfloat_gives() {
    for a in 0..256 {
        conversions::<Float8E4M3FN>(&E4M3, a);
        conversions::<Float8E5M2>(&E5M2, a);
        for b in 0..256 {
            arithmetic::<Float8E4M3FN>(&E4M3, [a, b, a ^ b]);
            arithmetic::<Float8E5M2>(&E5M2, [a, b, a ^ b]);
        }
    }
}

#[test]
fn all_halves_convert_as_by_apfloat() {
    for bits in 0..1 << 16 {
        conversions::<Half>(&HALF, bits);
        conversions::<BFloat>(&BRAIN, bits);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn arithmetic_gives_what_apfloat_gives(
        half in operands(16, 10),
        brain in operands(16, 7),
        single in operands(32, 23),
        double in operands(64, 52),
    ) {
        arithmetic::<Half>(&HALF, half);
        arithmetic::<BFloat>(&BRAIN, brain);
        arithmetic::<Single>(&SINGLE, single);
        arithmetic::<Double>(&DOUBLE, double);
    }

    #[test]
    fn conversions_give_what_apfloat_gives(single in operands(32, 23), double in operands(64, 52), shift in 0_u32..127) {
        single.iter().for_each(|bits| conversions::<Single>(&SINGLE, *bits));
        double.iter().for_each(|bits| conversions::<Double>(&DOUBLE, *bits));
        // Doubles that other formats hold, nearly.
        for bits in single {
            conversions::<Double>(&DOUBLE, f64::from(f32::from_bits(bits as u32)).to_bits().wrapping_add(double[0] % 3));
        }
        let wide = i128::from(double[0] as i64) << 63 | i128::from(double[1]);
        integers(wide >> shift);
    }
}
