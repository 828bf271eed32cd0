//! Particles and bodies.

use super::Set;
use crate::{
    case::Case,
    data::{floats, words},
};

pub(super) fn add(set: &mut Set) {
    for side in [8_usize, 14] {
        let n = 8 * side * side * side;
        set.add("cell_forces", format!("n={n} side={side}"), move || {
            let [mut x, mut y, mut z] = [1, 2, 3].map(|seed| floats(n, seed));
            let mut order: Vec<[f32; 3]> =
                (0..n).map(|i| [x[i], y[i], z[i]].map(|at| at * side as f32 * 0.999_99)).collect();
            let cell = |at: &[f32; 3]| (at[2] as usize * side + at[1] as usize) * side + at[0] as usize;
            order.sort_by_key(cell);
            let mut starts = vec![0_u32; side * side * side + 1];
            for (i, at) in order.iter().enumerate() {
                [x[i], y[i], z[i]] = *at;
                starts[cell(at) + 1] += 1;
            }
            (0..starts.len() - 1).for_each(|k| starts[k + 1] += starts[k]);
            let mut expected = vec![0.0; 3 * n];
            for (i, here) in order.iter().enumerate() {
                let near = here.map(|at| (at as usize).saturating_sub(1)..(at as usize + 2).min(side));
                let [near_x, near_y, near_z] = near;
                let mut force = [0.0_f64; 3];
                for cell in near_z
                    .flat_map(|z| near_y.clone().map(move |y| z * side + y))
                    .flat_map(|row| near_x.clone().map(move |x| row * side + x))
                {
                    for other in starts[cell] as usize..starts[cell + 1] as usize {
                        let d: [f64; 3] =
                            std::array::from_fn(|axis| f64::from(here[axis]) - f64::from(order[other][axis]));
                        let square = d.iter().map(|part| part * part).sum::<f64>();
                        if square < 1.0 && other != i {
                            let strength = (1.0 - square) / (square + 0.01);
                            (0..3).for_each(|axis| force[axis] += strength * d[axis]);
                        }
                    }
                }
                (0..3).for_each(|axis| expected[axis * n + i] = force[axis] as f32);
            }
            Case::over(n, 96)
                .word(n)
                .word(side)
                .input(&starts)
                .input(&x)
                .input(&y)
                .input(&z)
                .output::<f32>(expected, 1e-4)
        });
    }
    for (n, side) in [(1_usize << 19, 24_usize), (3_500_000, 96)] {
        set.add("cell_insert", format!("n={n} side={side}"), move || {
            let [x, y, z] = [1, 2, 3].map(|seed| floats(n, seed));
            let cell = |at: f32| ((at * side as f32) as usize).min(side - 1);
            let cells: Vec<u32> =
                (0..n).map(|i| ((cell(z[i]) * side + cell(y[i])) * side + cell(x[i])) as u32).collect();
            let mut counts = vec![0_u32; side * side * side];
            cells.iter().for_each(|&cell| counts[cell as usize] += 1);
            let case = Case::over(n, 256).word(n).word(side).input(&x).input(&y).input(&z).inout(
                &vec![0_u32; counts.len()],
                counts.clone(),
                0.0,
            );
            case.holding(&vec![u32::MAX; n], move |ranks: &[u32]| {
                // The ranks of a cell's particles are the numbers below its count, each once.
                let mut starts = vec![0_usize; counts.len()];
                (1..counts.len()).for_each(|k| starts[k] = starts[k - 1] + counts[k - 1] as usize);
                let mut taken = vec![false; ranks.len()];
                for (&rank, &cell) in ranks.iter().zip(&cells) {
                    if rank >= counts[cell as usize] {
                        return Err(format!("rank {rank} in cell {cell} of {}", counts[cell as usize]));
                    }
                    let place = &mut taken[starts[cell as usize] + rank as usize];
                    if std::mem::replace(place, true) {
                        return Err(format!("rank {rank} twice in cell {cell}"));
                    }
                }
                Ok(())
            })
        });
    }
    for (springs, nodes) in [(100_000_usize, 40_000_usize), (400_000, 150_000)] {
        set.add("spring_scatter", format!("springs={springs} nodes={nodes}"), move || {
            let (near, far) = (words(springs, nodes as u32, 1), words(springs, 200, 2));
            let ends: Vec<u32> =
                near.iter().zip(&far).flat_map(|(&a, &step)| [a, (a + 1 + step) % nodes as u32]).collect();
            let places = floats(3 * nodes, 3);
            let mut expected = vec![0.0_f64; 3 * nodes];
            for pair in ends.chunks(2) {
                let (a, b) = (pair[0] as usize * 3, pair[1] as usize * 3);
                let d: [f64; 3] =
                    std::array::from_fn(|axis| f64::from(places[b + axis]) - f64::from(places[a + axis]));
                let length = (d.iter().map(|part| part * part).sum::<f64>() + 1e-6).sqrt();
                for axis in 0..3 {
                    let pull = 3.0 * (length - 0.5) / length * d[axis];
                    expected[a + axis] += pull;
                    expected[b + axis] -= pull;
                }
            }
            let expected = expected.into_iter().map(|value| value as f32).collect();
            Case::over(springs, 128).word(springs).input(&ends).input(&places).inout::<f32>(
                &vec![0.0; 3 * nodes],
                expected,
                1e-4,
            )
        });
    }
    for bodies in [60_000_usize, 700_000] {
        set.add("rigid_step", format!("bodies={bodies}"), move || {
            let from: Vec<f32> = floats(13 * bodies, 1).into_iter().map(|value| value + 0.1).collect();
            let step = 0.01;
            let mut expected = Vec::with_capacity(from.len());
            for body in from.chunks(13) {
                let body: [f64; 13] = std::array::from_fn(|k| body[k].into());
                let velocity = [body[3], body[4] - 9.81 * step, body[5]];
                expected.extend((0..3).map(|axis| (body[axis] + velocity[axis] * step) as f32));
                expected.extend(velocity.map(|part| part as f32));
                let ([w, x, y, z], [p, q, r]) =
                    ([6, 7, 8, 9].map(|k| body[k]), [10, 11, 12].map(|k| body[k]));
                let change = [
                    -(p * x + q * y + r * z),
                    p * w + q * z - r * y,
                    q * w + r * x - p * z,
                    r * w + p * y - q * x,
                ];
                let turned: [f64; 4] = std::array::from_fn(|k| [w, x, y, z][k] + 0.5 * step * change[k]);
                let length = turned.iter().map(|part| part * part).sum::<f64>().sqrt();
                expected.extend(turned.map(|part| (part / length) as f32));
                expected.extend([p, q, r].map(|part| (0.99 * part) as f32));
            }
            Case::over(bodies, 192).word(bodies).single(0.01).input(&from).output::<f32>(expected, 1e-5)
        });
    }
}
