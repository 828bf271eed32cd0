//! How long exact arithmetic takes per lane: ours in `alu::soft`, and `rustc_apfloat`'s, which gives the same bits
//! (`alu_soft` of the simulator's tests).
//!
//! `cargo bench -p simt --bench floats`. The results are in the documentation of `alu::soft`.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use rustc_apfloat::ieee::{BFloat, Double, Float8E4M3FN, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};
use simt::internals::alu::soft::{BRAIN, DOUBLE, E4M3, Format, HALF, SINGLE};
use simt::ptx::op::words::Rounding;

fn main() {
    divan::main();
}

/// Operands per iteration.
const LANES: usize = 1024;

/// Finite numbers of a format with exponents from -8 to 8, the same ones in every run.
fn operands(format: &Format) -> Vec<[u64; 3]> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut number = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let magnitude = (1.0 + (state >> 12) as f64 / 2_f64.powi(52)) * 2_f64.powi((state % 17) as i32 - 8);
        let value = if state & 1 << 40 == 0 { magnitude } else { -magnitude };
        format.round(DOUBLE.read(value.to_bits()), Rounding::NearestEven)
    };
    (0..LANES).map(|_| [number(), number(), number()]).collect()
}

fn each(bencher: Bencher<'_, '_>, format: &Format, lane: impl Fn([u64; 3]) -> u64 + Sync) {
    let operands = operands(format);
    bencher
        .counter(ItemsCount::new(LANES))
        .bench(|| operands.iter().fold(0, |bits, lane_of| bits ^ lane(black_box(*lane_of))));
}

/// Benches one operation in one format: ours and the other.
macro_rules! operation {
    ($name:ident, $ours:expr, $theirs:ident, [$($format:ident $oracle:ident $type:ident,)*]) => {
        mod $name {
            $(
                mod $oracle {
                    use super::super::*;

                    #[divan::bench]
                    fn ours(bencher: Bencher<'_, '_>) {
                        let value: fn([u64; 3], &Format) -> u64 = $ours;
                        each(bencher, &$format, |lane| value(lane, &$format));
                    }

                    #[divan::bench]
                    fn apfloat(bencher: Bencher<'_, '_>) {
                        each(bencher, &$format, |lane| {
                            $theirs(lane.map(|bits| $type::from_bits(bits.into()))).to_bits() as u64
                        });
                    }
                }
            )*
        }
    };
}

fn sum<F: Float>([a, b, _]: [F; 3]) -> F {
    a.add_r(b, Round::TowardZero).value
}

fn product<F: Float>([a, b, _]: [F; 3]) -> F {
    a.mul_r(b, Round::TowardZero).value
}

fn quotient<F: Float>([a, b, _]: [F; 3]) -> F {
    a.div_r(b, Round::TowardZero).value
}

fn fused<F: Float>([a, b, c]: [F; 3]) -> F {
    a.mul_add_r(b, c, Round::TowardZero).value
}

fn converted<F: Float + FloatConvert<T>, T: Float>([a, ..]: [F; 3]) -> T {
    a.convert_r(Round::TowardZero, &mut false).value
}

operation!(
    sums,
    |[a, b, _], format| format.round(format.read(a).add(format.read(b), Rounding::Zero), Rounding::Zero),
    sum,
    [SINGLE single Single, DOUBLE double Double, HALF half Half,]
);
operation!(
    products,
    |[a, b, _], format| format.round(format.read(a).times(format.read(b)), Rounding::Zero),
    product,
    [SINGLE single Single, DOUBLE double Double, HALF half Half,]
);
operation!(
    quotients,
    |[a, b, _], format| format.round(format.read(a).over(format.read(b)), Rounding::Zero),
    quotient,
    [SINGLE single Single, DOUBLE double Double, HALF half Half,]
);
operation!(
    fused_products,
    |[a, b, c], format| {
        let product = format.read(a).times(format.read(b));
        format.round(product.add(format.read(c), Rounding::Zero), Rounding::Zero)
    },
    fused,
    [SINGLE single Single, DOUBLE double Double, HALF half Half,]
);

/// Conversions of a single, as `cvt.rz` does them.
mod conversions {
    use super::*;

    macro_rules! to {
        ($($name:ident $format:ident $type:ident,)*) => {
            $(
                mod $name {
                    use super::*;

                    #[divan::bench]
                    fn ours(bencher: Bencher<'_, '_>) {
                        each(bencher, &SINGLE, |[a, ..]| $format.round(SINGLE.read(a), Rounding::Zero));
                    }

                    #[divan::bench]
                    fn apfloat(bencher: Bencher<'_, '_>) {
                        each(bencher, &SINGLE, |lane| {
                            let lane = lane.map(|bits| Single::from_bits(bits.into()));
                            converted::<Single, $type>(lane).to_bits() as u64
                        });
                    }
                }
            )*
        };
    }

    to! { half HALF Half, brain BRAIN BFloat, double DOUBLE Double, e4m3 E4M3 Float8E4M3FN, }
}
