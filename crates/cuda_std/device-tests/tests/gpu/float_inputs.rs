//! Inputs of the floating-point tests.

use crate::device::Random;

macro_rules! inputs {
    ($name:ident $pairs:ident $float:ident $bits:ident, lowest $lowest:expr, highest $highest:expr) => {
        /// Special values, every power of 2 and its neighbours, random bits, random numbers near 0 and around.
        pub(crate) fn $name() -> Vec<$float> {
            let mut random = Random(61);
            let mut inputs: Vec<$float> = vec![
                0.0,
                1.0,
                0.5,
                1.5,
                2.5,
                3.5,
                1e9,
                0.1,
                0.3,
                2.0 / 3.0,
                10.0,
                100.0,
                1000.0,
                88.7,
                103.9,
                709.7,
                745.1,
                171.6,
                35.0,
                36.0,
                27.2,
                $float::MAX,
                $float::INFINITY,
                $float::NAN,
                $float::MIN_POSITIVE,
                $float::EPSILON,
                std::$float::consts::PI,
                std::$float::consts::E,
                std::$float::consts::LN_2,
            ];
            inputs.extend((0..64).map(|quarter| quarter as $float / 4.0));
            inputs.extend((0..64).map(|turn| turn as $float * std::$float::consts::FRAC_PI_4));
            inputs.extend((0..40).map(|bits| $float::from_bits(1 << (bits % 22) | bits)));
            for exponent in $lowest..=$highest {
                let power = (2.0 as $float).powi(exponent);
                inputs.extend([power, power.next_up(), power.next_down(), power * random.unit() as $float]);
            }
            for _ in 0..1500 {
                inputs.push($float::from_bits(random.word() as $bits));
                inputs.push(random.unit() as $float);
                inputs.push((random.unit() * 20.0) as $float);
                inputs.push((random.unit() * 800.0) as $float);
            }
            inputs.iter().flat_map(|&input| [input, -input]).collect()
        }

        /// Pairs of all of some inputs, and more random ones.
        pub(crate) fn $pairs() -> (Vec<$float>, Vec<$float>) {
            let mut random = Random(62);
            let few = [
                0.0,
                1.0,
                0.5,
                1.5,
                2.0,
                3.0,
                0.7,
                10.0,
                33.3,
                1e9,
                1e-9,
                $float::MAX,
                $float::INFINITY,
                $float::NAN,
                $float::MIN_POSITIVE,
                $float::MIN_POSITIVE / 8.0,
                $float::from_bits(1),
                1e30,
                1e-30,
            ];
            let few = few.iter().flat_map(|&input| [input, -input]).collect::<Vec<_>>();
            let mut pairs: Vec<($float, $float)> =
                few.iter().flat_map(|&left| few.iter().map(move |&right| (left, right))).collect();
            for _ in 0..3000 {
                pairs.push((
                    $float::from_bits(random.word() as $bits),
                    $float::from_bits(random.word() as $bits),
                ));
                pairs.push(((random.unit() * 40.0 - 20.0) as $float, (random.unit() * 8.0 - 4.0) as $float));
                pairs.push(((random.unit() * 4.0) as $float, (random.unit() * 200.0 - 100.0) as $float));
            }
            pairs.into_iter().unzip()
        }
    };
}

inputs!(singles single_pairs f32 u32, lowest -149, highest 127);
inputs!(doubles double_pairs f64 u64, lowest -1074, highest 1023);
