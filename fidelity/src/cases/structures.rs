//! Data structures.

use super::Set;
use crate::{
    case::Case,
    data::{Rows, bytes, floats, permutation, words},
};

/// Puts points into a heap as a k-d tree: the node `at` splits by the axis of its depth; the left subtree is complete.
fn kd_tree(points: &mut [[f32; 3]], at: usize, tree: &mut [f32]) {
    if points.is_empty() {
        return;
    }
    let axis = at.ilog2() as usize % 3;
    points.sort_unstable_by(|a, b| a[axis].total_cmp(&b[axis]));
    // Of 2^k - 1 points the middle one has as many on its left as on its right.
    let (left, rest) = points.split_at_mut(points.len() / 2);
    tree[3 * at..3 * at + 3].copy_from_slice(&rest[0]);
    kd_tree(left, 2 * at, tree);
    kd_tree(&mut rest[1..], 2 * at + 1, tree);
}

/// The bits of a filter that a key has.
fn filter_bits(key: u32, mask: u32) -> [u32; 4] {
    let step = key.wrapping_mul(0xC2B2_AE35) | 1;
    std::array::from_fn(|k| {
        let hash = key.wrapping_mul(0x85EB_CA6B).wrapping_add(step.wrapping_mul(k as u32));
        (hash ^ (hash >> 15)) & mask
    })
}

pub(super) fn add(set: &mut Set) {
    for (nodes, heads) in [(1_usize << 20, 8192_usize), (1 << 23, 50_000)] {
        set.add("list_walk", format!("nodes={nodes} heads={heads} steps=40"), move || {
            let (next, held) = (permutation(nodes), words(nodes, 1000, 1));
            let list: Vec<u32> = next.iter().zip(&held).flat_map(|(&next, &held)| [next, held]).collect();
            let walk = |head: usize| {
                let steps = std::iter::successors(Some(head), |&at| Some(next[at] as usize));
                steps.take(40).map(|at| held[at]).sum()
            };
            let expected = (0..heads).map(walk).collect();
            Case::over(heads, 64).word(heads).word(40).input(&list).output::<u32>(expected, 0.0)
        });
    }
    let queries = 20_000_usize;
    set.add("btree_search", format!("queries={queries} levels=4"), move || {
        // A leaf's number is its first key divided by 7; a node has the first keys of its children.
        let mut keys = Vec::new();
        for level in 1..=4 {
            let span = 7 << (5 * (4 - level));
            keys.extend((0..1_u32 << (5 * level)).map(|child| child * span));
        }
        let query = words(queries, 7 << 20, 1);
        let expected = query.iter().map(|key| key / 7).collect();
        Case::over(32 * queries, 256)
            .word(queries)
            .word(4)
            .input(&keys)
            .input(&query)
            .output::<u32>(expected, 0.0)
    });
    for (samples, trees) in [(6000_usize, 60_usize), (50_000, 24)] {
        set.add("forest_vote", format!("samples={samples} trees={trees} features=20"), move || {
            let features: Vec<u8> = bytes(256 * trees, 1).into_iter().map(|byte| byte % 20).collect();
            let (limits, leaves) = (floats(256 * trees, 2), floats(256 * trees, 3));
            let data = floats(20 * samples, 4);
            let score = |sample: &[f32]| {
                let leaf = |tree: usize| {
                    let mut node = 1;
                    while node < 256 {
                        let at = 256 * tree + node;
                        node = 2 * node + usize::from(sample[usize::from(features[at])] >= limits[at]);
                    }
                    leaves[256 * tree + node - 256]
                };
                (0..trees).map(leaf).sum()
            };
            let expected = data.chunks(20).map(score).collect();
            Case::over(samples, 128)
                .word(samples)
                .word(trees)
                .input(&features)
                .input(&limits)
                .input(&leaves)
                .input(&data)
                .output::<f32>(expected, 1e-5)
        });
    }
    let (queries, nodes) = (12_000_usize, 4095_usize);
    set.add("kd_nearest", format!("queries={queries} nodes={nodes}"), move || {
        let (coordinates, query) = (floats(3 * nodes, 1), floats(3 * queries, 2));
        let mut points: Vec<[f32; 3]> = coordinates.chunks(3).map(|at| [at[0], at[1], at[2]]).collect();
        let mut tree = vec![0.0; 3 * (nodes + 1)];
        kd_tree(&mut points, 1, &mut tree);
        let least = |at: &[f32]| {
            let square = |point: &[f32; 3]| {
                let d: [f32; 3] = std::array::from_fn(|axis| at[axis] - point[axis]);
                d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
            };
            points.iter().map(square).fold(f32::MAX, f32::min)
        };
        let expected = query.chunks(3).map(least).collect();
        Case::over(queries, 64)
            .word(queries)
            .word(nodes)
            .input(&tree)
            .input(&query)
            .output::<f32>(expected, 0.0)
    });
    let nodes = 6000_usize;
    set.add("triangle_count", format!("nodes={nodes} mean=16"), move || {
        let mut graph = Rows::random(nodes, nodes, 16, 1);
        // Neighbours within 400 nodes, sorted: triangles are frequent.
        for row in 0..nodes {
            let range = graph.of(row);
            let targets = &mut graph.columns[range];
            targets.iter_mut().for_each(|target| *target = (row as u32 + *target % 400) % nodes as u32);
            targets.sort_unstable();
        }
        let sources: Vec<u32> = (0..nodes).flat_map(|row| graph.of(row).map(move |_| row as u32)).collect();
        let common = |(&a, &b): (&u32, &u32)| {
            let mut others = graph.columns[graph.of(b as usize)].to_vec();
            let shared = |x: &&u32| match others.iter().position(|y| y == *x) {
                Some(at) => {
                    others.remove(at);
                    true
                }
                None => false,
            };
            graph.columns[graph.of(a as usize)].iter().filter(shared).count() as u32
        };
        let expected = sources.iter().zip(&graph.columns).map(common).collect();
        Case::over(sources.len(), 128)
            .word(sources.len())
            .input(&sources)
            .input(&graph.starts)
            .input(&graph.columns)
            .output::<u32>(expected, 0.0)
    });
    for (n, bits) in [(1_usize << 20, 1_usize << 24), (2_000_000, 1 << 29)] {
        set.add("bloom_query", format!("n={n} bits={bits}"), move || {
            let keys = words(n, u32::MAX, 1);
            let mask = bits as u32 - 1;
            let mut filter = vec![0_u32; bits / 32];
            for &key in keys.iter().step_by(2) {
                filter_bits(key, mask)
                    .into_iter()
                    .for_each(|bit| filter[bit as usize / 32] |= 1 << (bit % 32));
            }
            let present = |&key: &u32| {
                u8::from(
                    filter_bits(key, mask)
                        .iter()
                        .all(|bit| filter[*bit as usize / 32] >> (bit % 32) & 1 == 1),
                )
            };
            let expected = keys.iter().map(present).collect();
            Case::over(n, 256)
                .word(n)
                .word(mask as usize)
                .input(&keys)
                .input(&filter)
                .output::<u8>(expected, 0.0)
        });
    }
    for (nodes, walkers) in [(200_000_usize, 20_000_usize), (2_000_000, 100_000)] {
        set.add("graph_walk", format!("nodes={nodes} walkers={walkers} steps=16"), move || {
            let graph = Rows::random(nodes, nodes, 8, 1);
            let end = |walker: usize| {
                let mut node = walker as u32;
                let mut state = node.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
                for _ in 0..16 {
                    let range = graph.of(node as usize);
                    state ^= state << 13;
                    state ^= state >> 17;
                    state ^= state << 5;
                    node = graph.columns[range.start + state as usize % range.len()];
                }
                node
            };
            let expected = (0..walkers).map(end).collect();
            Case::over(walkers, 256)
                .word(walkers)
                .word(16)
                .input(&graph.starts)
                .input(&graph.columns)
                .output::<u32>(expected, 0.0)
        });
    }
}
