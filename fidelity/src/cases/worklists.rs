//! Lists, queues, sketches and sets that threads fill together.

use super::Set;
use crate::{
    case::{Case, any_order, any_slots},
    data::{bytes, floats, mix, words},
};

/// Edges between `nodes` nodes: to any of them, or to near ones.
fn edges(n: usize, nodes: usize, reach: Option<u32>, seed: u64) -> Vec<[u32; 2]> {
    let nodes = nodes as u32;
    let from = words(n, nodes, seed);
    let step = |i: usize| 1 + mix(i, seed + 1) % reach.unwrap_or(nodes - 1);
    from.iter().enumerate().map(|(i, &from)| [from, (from + step(i)) % nodes]).collect()
}

/// Numbers of which a few come often: each is a product of three shares of the limit.
fn skewed(n: usize, limit: u32, seed: u64) -> Vec<u32> {
    let shares = [0, 1, 2].map(|k| floats(n, seed + k));
    let number = |i: usize| (shares.iter().map(|share| share[i]).product::<f32>() * limit as f32) as u32;
    (0..n).map(|i| number(i).min(limit - 1)).collect()
}

fn hash(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x7FEB_352D);
    x ^= x >> 15;
    x = x.wrapping_mul(0x846C_A68B);
    x ^ (x >> 16)
}

fn set_bits(bits: &mut [u32], number: u32) {
    bits[(number / 32) as usize] |= 1 << (number % 32);
}

pub(super) fn add(set: &mut Set) {
    for (n, share) in [(1_000_000_usize, 20_u32), (8_000_000, 60)] {
        for kernel in ["append_each", "append_by_block"] {
            set.add(kernel, format!("n={n} kept={share}%"), move || {
                let values = words(n, 100_000, 1);
                let limit = share * 1000;
                let kept: Vec<u32> = values.iter().copied().filter(|value| *value < limit).collect();
                let (count, same) = (kept.len(), any_order(kept));
                Case::over(n, 256)
                    .word(n)
                    .word(limit as usize)
                    .input(&values)
                    .inout(&[0_u32], vec![count as u32], 0.0)
                    .holding(&vec![u32::MAX; n], move |found: &[u32]| same(&found[..count]))
            });
        }
    }
    for (n, buckets) in [(1_000_000_usize, 32_usize), (3_000_000, 4096)] {
        set.add("fill_buckets", format!("n={n} buckets={buckets}"), move || {
            let keys = words(n, 1 << 24, 1);
            let shift = 24 - buckets.ilog2();
            let mut counts = vec![0_u32; buckets];
            keys.iter().for_each(|key| counts[(key >> shift) as usize] += 1);
            let room = (counts.iter().copied().max().unwrap_or(1) as usize).next_multiple_of(64);
            Case::over(n, 256)
                .word(n)
                .word(shift as usize)
                .word(room)
                .input(&keys)
                .inout(&vec![0_u32; buckets], counts, 0.0)
                .holding(&vec![u32::MAX; buckets * room], any_slots(u32::MAX, keys))
        });
    }
    for (n, nodes, reach) in [(400_000_usize, 30_000_usize, None), (4_000_000, 1_000_000, Some(500))] {
        let ends = if reach.is_some() { "near" } else { "random" };
        set.add("relax_edges", format!("edges={n} nodes={nodes} {ends}"), move || {
            let edges = edges(n, nodes, reach, 1);
            let weights = words(n, 100, 3);
            // A third of the nodes has been reached.
            let known: Vec<u32> = (0..nodes)
                .map(|node| if mix(node, 4).is_multiple_of(3) { mix(node, 5) % 10_000 } else { u32::MAX })
                .collect();
            let mut expected = known.clone();
            for (&[from, to], weight) in edges.iter().zip(&weights) {
                if known[from as usize] != u32::MAX {
                    let distance = &mut expected[to as usize];
                    *distance = (*distance).min(known[from as usize] + weight);
                }
            }
            Case::over(n, 256)
                .word(n)
                .input(edges.as_flattened())
                .input(&weights)
                .input(&known)
                .inout(&known, expected, 0.0)
        });
        set.add("hook_labels", format!("edges={n} nodes={nodes} {ends}"), move || {
            let edges = edges(n, nodes, reach, 11);
            let old: Vec<u32> = (0..nodes).map(|node| mix(node, 13) % (node as u32 + 1)).collect();
            let mut labels = old.clone();
            for &[a, b] in &edges {
                let (of_a, of_b) = (old[a as usize], old[b as usize]);
                let (end, label) = if of_a < of_b { (b, of_a) } else { (a, of_b) };
                labels[end as usize] = labels[end as usize].min(label);
            }
            Case::over(n, 512).word(n).input(edges.as_flattened()).input(&old).inout(&old, labels, 0.0)
        });
        set.add("in_degrees", format!("edges={n} nodes={nodes} {ends}"), move || {
            let edges = edges(n, nodes, reach, 21);
            let mut degrees = vec![0_u32; nodes];
            edges.iter().for_each(|edge| degrees[edge[1] as usize] += 1);
            Case::over(n, 128).word(n).input(edges.as_flattened()).inout(&vec![0_u32; nodes], degrees, 0.0)
        });
    }
    for (tiles, blocks) in [(3000_usize, 264_u32), (30_000, 1056)] {
        set.add("take_tiles", format!("tiles={tiles} blocks={blocks}"), move || {
            let values = floats(1024 * tiles, 1);
            let sums = values.chunks(1024).map(|tile| tile.iter().map(|value| value * value).sum());
            Case::grid([blocks, 1, 1], [256, 1, 1])
                .word(tiles)
                .input(&values)
                .inout(&[0_u32], vec![tiles as u32 + blocks], 0.0)
                .output::<f32>(sums.collect(), 1e-4)
        });
    }
    for (n, nodes) in [(600_000_usize, 100_000_u32), (5_000_000, 200_000_000)] {
        set.add("mark_nodes", format!("n={n} nodes={nodes}"), move || {
            let listed = words(n, nodes, 1);
            let mut bits = vec![0_u32; (nodes as usize).div_ceil(32)];
            listed.iter().for_each(|node| set_bits(&mut bits, *node));
            Case::over(n, 256).word(n).input(&listed).inout(&vec![0_u32; bits.len()], bits, 0.0)
        });
    }
    for (n, register_bits) in [(2_000_000_usize, 10_usize), (20_000_000, 14)] {
        set.add("sketch_distinct", format!("n={n} registers={}", 1 << register_bits), move || {
            let keys = words(n, u32::MAX, 1);
            let mut registers = vec![0_u32; 1 << register_bits];
            for key in &keys {
                let hash = hash(*key);
                let rank = (hash << register_bits).leading_zeros().min(32 - register_bits as u32) + 1;
                let register = &mut registers[(hash >> (32 - register_bits)) as usize];
                *register = (*register).max(rank);
            }
            Case::grid([528, 1, 1], [256, 1, 1]).word(n).word(register_bits).input(&keys).inout(
                &vec![0_u32; 1 << register_bits],
                registers,
                0.0,
            )
        });
    }
    for (n, width) in [(500_000_usize, 1_usize << 12), (2_000_000, 1 << 20)] {
        set.add("sketch_counts", format!("n={n} width={width}"), move || {
            let keys = skewed(n, 1 << 20, 1);
            let mut counts = vec![0_u32; 4 * width];
            for key in &keys {
                for row in 0..4_u32 {
                    let cell = hash(key ^ row.wrapping_mul(0x9E37_79B9)) as usize & (width - 1);
                    counts[row as usize * width + cell] += 1;
                }
            }
            Case::over(n, 256).word(n).word(width).input(&keys).inout(&vec![0_u32; 4 * width], counts, 0.0)
        });
    }
    for (n, bits) in [(300_000_usize, 1_usize << 23), (2_000_000, 1 << 30)] {
        set.add("bloom_insert", format!("n={n} bits={bits}"), move || {
            let (keys, mask) = (words(n, u32::MAX, 1), bits as u32 - 1);
            let mut filter = vec![0_u32; bits / 32];
            for &key in &keys {
                let (first, step) = (hash(key), hash(key ^ 0x5BD1_E995) | 1);
                for k in 0..3_u32 {
                    set_bits(&mut filter, first.wrapping_add(k.wrapping_mul(step)) & mask);
                }
            }
            Case::over(n, 256).word(n).word(bits - 1).input(&keys).inout(
                &vec![0_u32; filter.len()],
                filter,
                0.0,
            )
        });
    }
    for (n, nodes, colours) in [(500_000_usize, 80_000_usize, 6_u8), (5_000_000, 900_000, 20)] {
        set.add("find_conflicts", format!("edges={n} nodes={nodes} colours={colours}"), move || {
            let edges = edges(n, nodes, None, 1);
            let colour: Vec<u8> = bytes(nodes, 3).iter().map(|byte| byte % colours).collect();
            let (mut count, mut marks) = (0, vec![0_u32; nodes.div_ceil(32)]);
            for &[a, b] in edges.iter().filter(|[a, b]| colour[*a as usize] == colour[*b as usize]) {
                count += 1;
                set_bits(&mut marks, a.max(b));
            }
            Case::over(n, 256)
                .word(n)
                .input(edges.as_flattened())
                .input(&colour)
                .inout(&[0_u32], vec![count], 0.0)
                .inout(&vec![0_u32; marks.len()], marks, 0.0)
        });
    }
    for (nodes, degree) in [(3000_usize, 20_u32), (40_000, 30)] {
        set.add("count_triangles", format!("nodes={nodes} degree={degree}"), move || {
            // Each node is joined to some of those near it.
            let mut lists = vec![Vec::new(); nodes];
            for node in 0..nodes {
                for k in 0..degree as usize / 2 {
                    let other = (node + 1 + mix(node * 64 + k, 1) as usize % (2 * degree as usize)) % nodes;
                    lists[node].push(other as u32);
                    lists[other].push(node as u32);
                }
            }
            for list in &mut lists {
                list.sort_unstable();
                list.dedup();
            }
            let mut starts = vec![0_u32];
            for list in &lists {
                starts.push(starts[starts.len() - 1] + list.len() as u32);
            }
            let neighbours = lists.concat();
            let edges: Vec<[u32; 2]> = (0..)
                .zip(&lists)
                .flat_map(|(node, list): (u32, &Vec<u32>)| list.iter().map(move |other| [node, *other]))
                .filter(|[a, b]| a < b)
                .collect();
            let common = |&[a, b]: &[u32; 2]| {
                let of_b = &lists[b as usize];
                lists[a as usize].iter().filter(|node| of_b.binary_search(node).is_ok()).count() as u64
            };
            let count = edges.iter().map(common).sum();
            Case::over(edges.len(), 128)
                .word(edges.len())
                .input(edges.as_flattened())
                .input(&starts)
                .input(&neighbours)
                .inout(&[0_u64], vec![count], 0.0)
        });
    }
    for (n, different, slots) in [(400_000_usize, 2000_u32, 1_usize << 13), (3_000_000, 1_000_000, 1 << 22)] {
        set.add("count_keys", format!("n={n} different={different} slots={slots}"), move || {
            let keys: Vec<u32> = words(n, different, 1).iter().map(|key| key * 977 + 5).collect();
            let mut expected = std::collections::BTreeMap::new();
            keys.iter().for_each(|key| *expected.entry(*key).or_insert(0_u32) += 1);
            let (names, times): (Vec<u32>, Vec<u32>) = expected.into_iter().unzip();
            Case::over(n, 256)
                .word(n)
                .word(slots - 1)
                .input(&keys)
                .holding(&vec![u32::MAX; slots], any_slots(u32::MAX, names))
                .holding(&vec![0_u32; slots], any_slots(0, times))
        });
    }
}
