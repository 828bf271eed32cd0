//! Rendering and geometry.

use super::Set;
use crate::{
    case::Case,
    data::{bytes, floats, mix, words},
};

/// The voxels that a pixel's ray visits.
fn visited(voxels: &[u32], [nx, ny]: [usize; 2], i: usize) -> u32 {
    let slope = [(i % nx) as f32 / nx as f32 - 0.5, (i / nx) as f32 / ny as f32 - 0.5, 0.7];
    let delta = slope.map(|slope| 1.0 / (slope.abs() + 1e-6));
    let mut next = delta.map(|delta| 0.5 * delta);
    let mut cell = [32_i32, 32, 0];
    let mut count = 0;
    while cell.iter().all(|at| (0..64).contains(at)) {
        let bit = (cell[2] * 64 + cell[1]) * 64 + cell[0];
        count += 1;
        if voxels[bit as usize / 32] >> (bit % 32) & 1 == 1 {
            break;
        }
        let axis = match next {
            [a, b, c] if a < b && a < c => 0,
            [_, b, c] if b < c => 1,
            _ => 2,
        };
        cell[axis] += if slope[axis] < 0.0 { -1 } else { 1 };
        next[axis] += delta[axis];
    }
    count
}

pub(super) fn add(set: &mut Set) {
    let ([nx, ny], spheres) = ([640_usize, 400_usize], 20_usize);
    set.add("ray_spheres", format!("nx={nx} ny={ny} spheres={spheres}"), move || {
        let list: Vec<f32> = floats(4 * spheres, 1)
            .chunks(4)
            .flat_map(|s| [6.0 * s[0] - 3.0, 6.0 * s[1] - 3.0, 3.0 + 5.0 * s[2], 0.3 + 0.6 * s[3]])
            .collect();
        let nearest = |i: usize| {
            let (dx, dy) = (2.0 * (i % nx) as f32 / nx as f32 - 1.0, 2.0 * (i / nx) as f32 / ny as f32 - 1.0);
            let square = dx * dx + dy * dy + 1.0;
            let (mut least, mut found) = (f32::MAX, 0);
            for (k, sphere) in list.chunks(4).enumerate() {
                let along = dx * sphere[0] + dy * sphere[1] + sphere[2];
                let distance = sphere[0] * sphere[0] + sphere[1] * sphere[1] + sphere[2] * sphere[2];
                let root = along * along - square * (distance - sphere[3] * sphere[3]);
                let hit = (along - root.sqrt()) / square;
                // Without a root the place is not a number.
                if hit > 0.0 && hit < least {
                    (least, found) = (hit, k as u32 + 1);
                }
            }
            found
        };
        let expected = (0..nx * ny).map(nearest).collect();
        Case::plane([nx, ny], [8, 8])
            .word(nx)
            .word(ny)
            .word(spheres)
            .input(&list)
            .output::<u32>(expected, 0.0)
    });
    let [nx, ny] = [320_usize, 256];
    set.add("voxel_walk", format!("nx={nx} ny={ny}"), move || {
        // A voxel in 32 is full.
        let voxels: Vec<u32> =
            (0..8192).map(|i| (1..=5).fold(u32::MAX, |bits, seed| bits & mix(i, seed))).collect();
        let expected = (0..nx * ny).map(|i| visited(&voxels, [nx, ny], i)).collect();
        Case::plane([nx, ny], [16, 8]).word(nx).word(ny).input(&voxels).output::<u32>(expected, 0.0)
    });
    let n = 127_usize;
    set.add("cubes_classify", format!("n={n}"), move || {
        let vertices: Vec<u8> = bytes(256, 1).into_iter().map(|byte| byte % 6 * 3).collect();
        let side = n + 1;
        // Waves, so that most cells are far from the surface.
        let field: Vec<f32> = (0..side * side * side)
            .map(|i| {
                let wave = |at: usize| (at as f32 * 0.1).sin();
                wave(i % side) + wave(i / side % side) + wave(i / side / side)
            })
            .collect();
        let kinds: Vec<u8> = (0..n * n * n)
            .map(|i| {
                let (x, y, z) = (i % n, i / n % n, i / n / n);
                (0..8).fold(0, |kind, corner| {
                    let (x, y, z) = (x + corner % 2, y + corner / 2 % 2, z + corner / 4);
                    kind | u8::from(field[(z * side + y) * side + x] < 0.2) << corner
                })
            })
            .collect();
        let counts = kinds.iter().map(|&kind| u32::from(vertices[usize::from(kind)])).collect();
        Case::over(n * n * n, 128)
            .word(n)
            .single(0.2)
            .input(&vertices)
            .input(&field)
            .output::<u8>(kinds, 0.0)
            .output::<u32>(counts, 0.0)
    });
    for vertices in [40_000_usize, 250_000] {
        set.add("skin_vertices", format!("vertices={vertices} bones=60"), move || {
            let bones = floats(12 * 60, 1);
            let packed: Vec<u32> = (0..vertices)
                .map(|i| (0..4).fold(0, |word, k| word | (mix(i / 64 * 4 + k, 2) % 60) << (8 * k)))
                .collect();
            let mut weights = floats(4 * vertices, 3);
            weights.chunks_mut(4).for_each(|four| {
                let sum: f32 = four.iter().sum();
                four.iter_mut().for_each(|weight| *weight /= sum);
            });
            let from = floats(3 * vertices, 4);
            let expected = (0..3 * vertices)
                .map(|i| {
                    let (vertex, axis) = (i / 3, i % 3);
                    let by = |k: usize| {
                        let bone = (packed[vertex] >> (8 * k) & 255) as usize;
                        let row = &bones[12 * bone + 4 * axis..12 * bone + 4 * axis + 4];
                        let at = &from[3 * vertex..3 * vertex + 3];
                        weights[4 * vertex + k] * (row[0] * at[0] + row[1] * at[1] + row[2] * at[2] + row[3])
                    };
                    (0..4).map(by).sum()
                })
                .collect();
            Case::over(vertices, 256)
                .word(vertices)
                .input(&bones)
                .input(&packed)
                .input(&weights)
                .input(&from)
                .output::<f32>(expected, 1e-5)
        });
    }
    for [nx, ny] in [[768_usize, 768_usize], [1920, 1500]] {
        set.add("mip_level", format!("nx={nx} ny={ny}"), move || {
            let from = words(4 * nx * ny, u32::MAX, 1);
            let expected = (0..nx * ny)
                .map(|i| {
                    let at = i / nx * 4 * nx + i % nx * 2;
                    let pixels = [at, at + 1, at + 2 * nx, at + 2 * nx + 1].map(|at| from[at].to_le_bytes());
                    u32::from_le_bytes(std::array::from_fn(|channel| {
                        let sum: u32 = pixels.iter().map(|pixel| u32::from(pixel[channel])).sum();
                        ((sum + 2) / 4) as u8
                    }))
                })
                .collect();
            Case::plane([nx, ny], [32, 16]).word(nx).word(ny).input(&from).output::<u32>(expected, 0.0)
        });
    }
    let [nx, ny] = [512_usize, 384];
    set.add("sphere_trace", format!("nx={nx} ny={ny}"), move || {
        let steps = |i: usize| {
            let (x, y) = (3.0 * (i % nx) as f32 / nx as f32 - 1.5, 3.0 * (i / nx) as f32 / ny as f32 - 1.5);
            let (mut z, mut count) = (-3.0_f32, 0);
            while count < 48 && z < 3.0 {
                let distance = ((x * x + y * y + z * z).sqrt() - 1.0).max(0.45 - (x * x + y * y).sqrt());
                if distance < 0.001 {
                    break;
                }
                z += distance;
                count += 1;
            }
            count
        };
        let expected = (0..nx * ny).map(steps).collect();
        Case::plane([nx, ny], [32, 4]).word(nx).word(ny).output::<u32>(expected, 0.0)
    });
}
