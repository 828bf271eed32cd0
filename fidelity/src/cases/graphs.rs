//! Graphs.

use super::Set;
use crate::{
    case::Case,
    data::{Rows, floats, mix, words},
};

/// A random graph with edges in both sizes: in L2, and far beyond it.
const SIZES: [(usize, u32); 2] = [(1 << 17, 8), (1 << 21, 8)];

pub(super) fn add(set: &mut Set) {
    for (nodes, degree) in SIZES {
        let shape = format!("nodes={nodes} degree={degree}");
        set.add("bfs_level", shape.clone(), move || {
            let graph = Rows::random(nodes, nodes, degree, 1);
            // A third of the nodes are at levels 0 to 2 each time; the rest are not reached.
            let distance: Vec<u32> =
                (0..nodes).map(|i| [1, 2, 3, u32::MAX, 1 << 30, u32::MAX][mix(i, 4) as usize % 6]).collect();
            let mut expected = distance.clone();
            for node in (0..nodes).filter(|&node| distance[node] == 2) {
                for k in graph.of(node) {
                    let far = &mut expected[graph.columns[k] as usize];
                    *far = if *far > 2 { 3 } else { *far };
                }
            }
            Case::over(nodes, 256)
                .word(nodes)
                .word(2)
                .input(&graph.starts)
                .input(&graph.columns)
                .inout(&distance, expected, 0.0)
        });
        set.add("label_minimum", shape.clone(), move || {
            let (graph, from) = (Rows::random(nodes, nodes, degree, 1), words(nodes, 1 << 30, 2));
            let least = |node: usize| {
                graph.of(node).map(|k| from[graph.columns[k] as usize]).fold(from[node], u32::min)
            };
            let expected = (0..nodes).map(least).collect();
            Case::over(nodes, 256)
                .word(nodes)
                .input(&graph.starts)
                .input(&graph.columns)
                .input(&from)
                .output::<u32>(expected, 0.0)
        });
        if nodes > 1 << 17 {
            continue;
        }
        set.add("sssp_relax", shape.clone(), move || {
            let graph = Rows::random(nodes, nodes, degree, 1);
            let weights = words(graph.columns.len(), 100, 3);
            let from = words(nodes, 1000, 4);
            let mut expected = from.clone();
            for node in 0..nodes {
                for k in graph.of(node) {
                    let far = &mut expected[graph.columns[k] as usize];
                    *far = (*far).min(from[node] + weights[k]);
                }
            }
            Case::over(nodes, 256)
                .word(nodes)
                .input(&graph.starts)
                .input(&graph.columns)
                .input(&weights)
                .input(&from)
                .inout(&from, expected, 0.0)
        });
        set.add("pagerank_pull", shape, move || {
            let (graph, rank) = (Rows::random(nodes, nodes, degree, 1), floats(nodes, 2));
            let degrees: Vec<u32> = words(nodes, 15, 3).into_iter().map(|degree| degree + 1).collect();
            let pull = |node: usize| {
                let sources = graph.of(node).map(|k| graph.columns[k] as usize);
                0.15 / nodes as f32
                    + 0.85 * sources.map(|from| rank[from] / degrees[from] as f32).sum::<f32>()
            };
            let expected = (0..nodes).map(pull).collect();
            Case::over(nodes, 256)
                .word(nodes)
                .input(&graph.starts)
                .input(&graph.columns)
                .input(&rank)
                .input(&degrees)
                .output::<f32>(expected, 1e-5)
        });
    }
    for edges in [1_usize << 21, 1 << 23] {
        let nodes = edges / 8;
        set.add("degree_count", format!("edges={edges} nodes={nodes}"), move || {
            let ends = words(edges, nodes as u32, 1);
            let mut degree = vec![0_u32; nodes];
            ends.iter().for_each(|&end| degree[end as usize] += 1);
            Case::over(edges, 256).word(edges).input(&ends).inout(&vec![0_u32; nodes], degree, 0.0)
        });
    }
    let nodes = 1 << 20;
    set.add("union_find_compress", format!("nodes={nodes}"), move || {
        // Each node hangs on one at a random place before it, on average halfway to the root.
        let parent: Vec<u32> =
            (0..nodes).map(|node| if node % 64 == 0 { node } else { node / 64 * 64 + mix(node, 1) as usize % (node % 64) } as u32).collect();
        let expected = (0..nodes as u32).map(|node| node / 64 * 64).collect();
        Case::over(nodes, 256).word(nodes).input(&parent).output::<u32>(expected, 0.0)
    });
}
