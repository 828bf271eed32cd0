//! Work that creates work.

use super::Set;
use crate::{
    case::{Case, any_order},
    data::{Rows, mix, permutation, words},
};

/// A step of a search from every eighth node or so, with `lanes` threads per node.
fn expansion(nodes: usize, mean: u32, lanes: usize) -> Case {
    const LEVEL: u32 = 5;
    let graph = Rows::random(nodes, nodes, mean, 1);
    let chosen = |&node: &u32| mix(node as usize, 3).is_multiple_of(8);
    let frontier: Vec<u32> = (0..nodes as u32).filter(chosen).collect();
    // Half of the nodes were reached earlier.
    let earlier = |node: u32| chosen(&node) || mix(node as usize, 4).is_multiple_of(2);
    let reached: Vec<u8> = (0..nodes as u32).map(|node| u8::from(earlier(node))).collect();
    let levels: Vec<u32> = reached.iter().map(|&reached| if reached == 1 { 2 } else { u32::MAX }).collect();
    let of = |&node: &u32| graph.of(node as usize).map(|k| graph.columns[k]);
    let queue: Vec<u32> =
        frontier.iter().flat_map(of).filter(|&target| reached[target as usize] == 0).collect();
    let mut expected = levels.clone();
    queue.iter().for_each(|&target| expected[target as usize] = LEVEL);
    let count = queue.len();
    Case::over(lanes * frontier.len(), 256)
        .word(frontier.len())
        .word(LEVEL as usize)
        .word(count)
        .input(&frontier)
        .input(&graph.starts)
        .input(&graph.columns)
        .input(&reached)
        .inout(&levels, expected, 0.0)
        .inout(&[0_u32], vec![count as u32], 0.0)
        .holding(&vec![u32::MAX; count], any_order(queue))
}

/// The lowest node that each node is connected with.
fn components(nodes: usize, edges: &[[u32; 2]]) -> Vec<u32> {
    fn lowest(labels: &mut [u32], mut node: u32) -> u32 {
        while labels[node as usize] != node {
            let above = labels[labels[node as usize] as usize];
            labels[node as usize] = above;
            node = above;
        }
        node
    }
    let mut labels: Vec<u32> = (0..nodes as u32).collect();
    for edge in edges {
        let [a, b] = edge.map(|node| lowest(&mut labels, node));
        labels[a.max(b) as usize] = a.min(b);
    }
    (0..nodes as u32).map(|node| lowest(&mut labels, node)).collect()
}

/// Twice the area of a triangle, positive or negative by the order of its corners.
fn area(a: [i32; 2], b: [i32; 2], c: [i32; 2]) -> i32 {
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

pub(super) fn add(set: &mut Set) {
    for (nodes, mean) in [(60_000_usize, 12_u32), (1_000_000, 9)] {
        set.add("expand_each", format!("nodes={nodes} mean={mean}"), move || expansion(nodes, mean, 1));
    }
    for (nodes, mean) in [(30_000_usize, 60_u32), (1_000_000, 9)] {
        set.add("expand_by_warp", format!("nodes={nodes} mean={mean}"), move || expansion(nodes, mean, 32));
    }
    for (n, mean, tasks) in [(1_usize << 15, 6, 50_000_usize), (1 << 19, 4, 1_000_000)] {
        set.add("release_tasks", format!("n={n} mean={mean} tasks={tasks}"), move || {
            let graph = Rows::random(n, tasks, mean, 1);
            let mut needed = vec![0_u32; tasks];
            graph.columns.iter().for_each(|&task| needed[task as usize] += 1);
            let queue: Vec<u32> = (0..tasks as u32).filter(|&task| needed[task as usize] > 0).collect();
            let count = queue.len();
            Case::over(n, 256)
                .word(n)
                .word(count)
                .input(&permutation(n))
                .input(&graph.starts)
                .input(&graph.columns)
                .input(&needed)
                .inout(&vec![0; tasks], needed, 0.0)
                .inout(&[0_u32], vec![count as u32], 0.0)
                .holding(&vec![u32::MAX; count], any_order(queue))
        });
    }
    for (nodes, mean) in [(50_000_usize, 12), (1_200_000, 7)] {
        set.add("propose_edges", format!("nodes={nodes} mean={mean}"), move || {
            let graph = Rows::random(nodes, nodes, mean, 1);
            let weights = words(graph.columns.len(), 1 << 30, 3);
            let mut best = vec![0_u64; nodes];
            for node in 0..nodes {
                let mut heaviest = (0, 0);
                for k in graph.of(node).filter(|&k| graph.columns[k] as usize != node) {
                    if weights[k] > heaviest.0 {
                        heaviest = (weights[k], graph.columns[k]);
                    }
                }
                if heaviest.0 > 0 {
                    let best = &mut best[heaviest.1 as usize];
                    *best = (*best).max(u64::from(heaviest.0) << 32 | node as u64);
                }
            }
            Case::over(nodes, 256)
                .word(nodes)
                .input(&graph.starts)
                .input(&graph.columns)
                .input(&weights)
                .inout(&vec![0_u64; nodes], best, 0.0)
        });
    }
    for (nodes, edges, reach) in [(60_000_usize, 50_000_usize, 60_000_u32), (500_000, 700_000, 50)] {
        set.add("unite_sets", format!("nodes={nodes} edges={edges} reach={reach}"), move || {
            let (from, by) = (words(edges, nodes as u32, 1), words(edges, reach, 2));
            let ends: Vec<[u32; 2]> =
                from.iter().zip(&by).map(|(&from, by)| [from, (from + by) % nodes as u32]).collect();
            let labels = components(nodes, &ends);
            let same = move |found: &[u32]| {
                for (node, &label) in labels.iter().enumerate() {
                    let mut at = node;
                    // Parents are lower than their children, up to the representative.
                    while (found[at] as usize) < at {
                        at = found[at] as usize;
                    }
                    if at != label as usize {
                        return Err(format!("node {node} is in the set of {at}, not of {label}"));
                    }
                }
                Ok(())
            };
            let alone: Vec<u32> = (0..nodes as u32).collect();
            Case::over(edges, 256).word(edges).input(ends.as_flattened()).holding(&alone, same)
        });
    }
    for (quads, blocks) in [(1_usize << 19, 264_usize), (6_000_000, 1056)] {
        set.add("sum_by_last", format!("n={} blocks={blocks}", 4 * quads), move || {
            let values = words(4 * quads, u32::MAX, 1);
            let mut sums = vec![0_u32; blocks];
            for (i, &value) in values.iter().enumerate() {
                let sum = &mut sums[i / 4 % (256 * blocks) / 256];
                *sum = sum.wrapping_add(value);
            }
            let total = sums.iter().fold(0_u32, |total, &sum| total.wrapping_add(sum));
            Case::grid([blocks as u32, 1, 1], [256, 1, 1])
                .word(quads)
                .input(&values)
                .output(sums, 0.0)
                .inout(&[0_u32], vec![blocks as u32], 0.0)
                .output(vec![total], 0.0)
        });
    }
    for (tiles, blocks, threads) in [(1500_usize, 132_u32, 64_u32), (4500, 264, 128)] {
        let sizes = format!("numbers={} blocks={blocks} threads={threads}", 32 * tiles);
        set.add("longest_collatz", sizes, move || {
            let steps = |&start: &u64| {
                let next = |&value: &u64| match value {
                    1 => None,
                    _ if value.is_multiple_of(2) => Some(value / 2),
                    _ => Some(3 * value + 1),
                };
                std::iter::successors(Some(start), next).count() as u64 - 1
            };
            let first = 1_000_001;
            let numbers = first..first + 32 * tiles as u64;
            let longest = numbers.map(|start| steps(&start) << 32 | start).max().unwrap_or(0);
            let warps = blocks * threads / 32;
            Case::grid([blocks, 1, 1], [threads, 1, 1])
                .word(tiles)
                .word(first as usize)
                .inout(&[0_u32], vec![tiles as u32 + warps], 0.0)
                .inout(&[0_u64], vec![longest], 0.0)
        });
    }
    for (n, percent) in [(500_000_usize, 50_u32), (3_000_001, 10)] {
        set.add("partition_keys", format!("n={n} lower={percent}%"), move || {
            let (keys, pivot) = (words(n, u32::MAX, 1), u32::MAX / 100 * percent);
            let (low, high): (Vec<u32>, Vec<u32>) = keys.iter().partition(|&&key| key < pivot);
            let counts = vec![low.len() as u32, high.len() as u32];
            let (middle, low, high) = (low.len(), any_order(low), any_order(high));
            let same = move |found: &[u32]| low(&found[..middle]).and_then(|()| high(&found[middle..]));
            Case::over(n, 256)
                .word(n)
                .word(pivot as usize)
                .input(&keys)
                .inout(&[0_u32; 2], counts, 0.0)
                .holding(&vec![0_u32; n], same)
        });
    }
    for (n, most) in [(100_000_usize, 8_u32), (600_000, 40)] {
        set.add("copy_records", format!("n={n} words=1..{most}"), move || {
            let mut records: Vec<[u32; 2]> = Vec::with_capacity(n);
            let mut from = Vec::new();
            for record in 0..n {
                let length = 1 + mix(record, 1) % most;
                records.push([from.len() as u32, length]);
                from.push((record as u32) << 8 | length);
                from.extend((1..length as usize).map(|k| mix(k, record as u64 + 2)));
            }
            let (room, input, source) = (from.len(), records.clone(), from.clone());
            let same = move |found: &[u32]| {
                let (mut at, mut seen) = (0, vec![false; n]);
                while at < found.len() {
                    let record = found[at] as usize >> 8;
                    let Some(&[first, length]) = records.get(record).filter(|_| !seen[record]) else {
                        return Err(format!("there is no new record at word {at}"));
                    };
                    let (first, length) = (first as usize, length as usize);
                    if found.get(at..at + length) != Some(&source[first..first + length]) {
                        return Err(format!("record {record} at word {at} is not a copy"));
                    }
                    seen[record] = true;
                    at += length;
                }
                if seen.contains(&false) { Err("a record is missing".to_owned()) } else { Ok(()) }
            };
            Case::over(n, 128)
                .word(n)
                .word(room)
                .input(input.as_flattened())
                .input(&from)
                .inout(&[0_u32], vec![room as u32], 0.0)
                .holding(&vec![u32::MAX; room], same)
        });
    }
    for (n, [width, height], size) in [(40_000_usize, [640_i32, 480_i32], 16_u32), (300_000, [1920, 1080], 7)]
    {
        set.add("draw_triangles", format!("n={n} width={width} height={height} size={size}"), move || {
            let mut triangles: Vec<i32> = Vec::with_capacity(7 * n);
            let mut pixels = vec![u64::MAX; (width * height) as usize];
            for i in 0..n {
                let [x, y] = [(1, width), (2, height)].map(|(seed, limit)| mix(i, seed) % limit as u32);
                let corner = |k: u64| {
                    [x + mix(i, 3 + k) % size, y + mix(i, 6 + k) % size].map(|at| at as i32 - size as i32 / 2)
                };
                let [a, b, c] = [0, 1, 2].map(corner);
                let depth = mix(i, 9) >> 1;
                triangles.extend([a, b, c].as_flattened());
                triangles.push(depth as i32);
                let range = |axis: usize, limit: i32| {
                    let ends = [a[axis], b[axis], c[axis]];
                    let [least, most] = [ends.iter().min(), ends.iter().max()].map(|end| *end.unwrap_or(&0));
                    least.max(0)..=most.min(limit - 1)
                };
                for y in range(1, height) {
                    for x in range(0, width) {
                        let edges = [area(a, b, [x, y]), area(b, c, [x, y]), area(c, a, [x, y])];
                        if edges.iter().all(|&edge| edge >= 0) || edges.iter().all(|&edge| edge <= 0) {
                            let pixel = &mut pixels[(y * width + x) as usize];
                            *pixel = (*pixel).min(u64::from(depth) << 32 | i as u64);
                        }
                    }
                }
            }
            Case::over(n, 128).word(n).word(width as usize).word(height as usize).input(&triangles).inout(
                &vec![u64::MAX; pixels.len()],
                pixels,
                0.0,
            )
        });
    }
}
