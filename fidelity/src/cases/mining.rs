//! Data mining and alignment.

use super::{Set, algebra::times};
use crate::{
    case::Case,
    data::{floats, words},
};

pub(super) fn add(set: &mut Set) {
    for points in [1_usize << 18, 1 << 22] {
        set.add("kmeans_assign", format!("points={points} centres=16 features=8"), move || {
            let features = floats(points * 8, 1);
            let centres = floats(128, 2);
            let distance = |point: usize, centre: usize| -> f32 {
                (0..8).fold(0.0, |sum, feature| {
                    let difference = features[feature * points + point] - centres[centre * 8 + feature];
                    difference.mul_add(difference, sum)
                })
            };
            let nearest = |point: usize| {
                let distances: [f32; 16] = std::array::from_fn(|centre| distance(point, centre));
                let least = distances.iter().copied().fold(f32::MAX, f32::min);
                distances.iter().position(|&distance| distance == least).expect("one is least") as u32
            };
            let expected = (0..points).map(nearest).collect();
            Case::over(points, 256).word(points).input(&features).input(&centres).output::<u32>(expected, 0.0)
        });
    }
    for n in [1_usize << 19, 1 << 24] {
        set.add("nn_distance", format!("n={n}"), move || {
            let records = floats(2 * n, 1);
            let expected = records.chunks(2).map(|at| (at[0] - 0.3).hypot(at[1] - 0.6)).collect();
            Case::over(n, 256).word(n).single(0.3).single(0.6).input(&records).output::<f32>(expected, 1e-5)
        });
    }
    let tiles = 8192;
    set.add("nw_tile", format!("tiles={tiles}"), move || {
        let scores: Vec<i32> = words(tiles * 256, 20, 1).into_iter().map(|score| score as i32 - 10).collect();
        let border: Vec<i32> = words(tiles * 33, 100, 2).into_iter().map(|score| -(score as i32)).collect();
        let mut expected = Vec::with_capacity(tiles * 256);
        for (scores, border) in scores.chunks(256).zip(border.chunks(33)) {
            let mut cells = [[0; 17]; 17];
            cells[0].copy_from_slice(&border[..17]);
            (1..17).for_each(|y| cells[y][0] = border[16 + y]);
            for y in 1..17 {
                for x in 1..17 {
                    let matched = cells[y - 1][x - 1] + scores[(y - 1) * 16 + x - 1];
                    cells[y][x] = matched.max(cells[y - 1][x].max(cells[y][x - 1]) - 10);
                }
                expected.extend_from_slice(&cells[y][1..]);
            }
        }
        Case::grid([tiles as u32, 1, 1], [16, 1, 1])
            .word(tiles)
            .input(&scores)
            .input(&border)
            .output::<i32>(expected, 0.0)
    });
    let (units, inputs) = (1024_usize, 4096_usize);
    set.add("backprop_layer", format!("inputs={inputs} units={units}"), move || {
        let (input, weights) = (floats(inputs, 1), floats(inputs * units, 2));
        let mut expected = vec![0.0; inputs / 16 * units];
        for (i, weight) in weights.iter().enumerate() {
            let (row, unit) = (i / units, i % units);
            expected[row / 16 * units + unit] += weight * input[row];
        }
        Case::plane([units, inputs], [16, 16])
            .word(units)
            .input(&input)
            .input(&weights)
            .output::<f32>(expected, 1e-5)
    });
    let particles = 8192;
    set.add("particle_find", format!("particles={particles}"), move || {
        let cumulated: Vec<f32> = (1..=particles).map(|i| i as f32 / particles as f32).collect();
        // Systematic resampling: evenly spaced, from a random start.
        let wanted: Vec<f32> = (0..particles).map(|i| (i as f32 + 0.37) / particles as f32).collect();
        let expected = (0..particles as u32).collect();
        Case::over(particles, 128)
            .word(particles)
            .input(&cumulated)
            .input(&wanted)
            .output::<u32>(expected, 0.0)
    });
    let points = 1 << 17;
    set.add("covariance", format!("points={points} features=16"), move || {
        let data: Vec<f32> = floats(16 * points, 1).into_iter().map(|value| value - 0.25).collect();
        let expected =
            data.chunks(points).flat_map(|row| times(&data, row)).map(|sum| sum / points as f32).collect();
        Case::grid([16, 16, 1], [256, 1, 1]).word(points).input(&data).output::<f32>(expected, 1e-4)
    });
}
