//! Graphs in compressed rows.

use cuda_std::atomic::mid;
use cuda_std::prelude::*;

use core::sync::atomic::Ordering::Relaxed;

use crate::index;

/// Rodinia's breadth-first search: each node of a level marks its neighbours that are not nearer.
#[kernel]
pub unsafe fn bfs_level(nodes: u32, level: u32, starts: *const u32, edges: *const u32, distance: *mut u32) {
    let node = index();
    if node < nodes as usize && *distance.add(node) == level {
        for k in *starts.add(node) as usize..*starts.add(node + 1) as usize {
            let neighbour = *edges.add(k) as usize;
            if *distance.add(neighbour) > level {
                *distance.add(neighbour) = level + 1;
            }
        }
    }
}

/// Shortest paths, one round: relaxes all edges of each node with atomic minima into another array.
#[kernel]
pub unsafe fn sssp_relax(
    nodes: u32,
    starts: *const u32,
    edges: *const u32,
    weights: *const u32,
    from: *const u32,
    to: *mut u32,
) {
    let node = index();
    if node < nodes as usize {
        let own = *from.add(node);
        for k in *starts.add(node) as usize..*starts.add(node + 1) as usize {
            mid::atomic_fetch_min_u32_device(to.add(*edges.add(k) as usize), Relaxed, own + *weights.add(k));
        }
    }
}

/// PageRank by pulling: the sum over the nodes that link here.
#[kernel]
pub unsafe fn pagerank_pull(
    nodes: u32,
    starts: *const u32,
    edges: *const u32,
    rank: *const f32,
    degree: *const u32,
    next: *mut f32,
) {
    let node = index();
    if node < nodes as usize {
        let mut sum = 0.0_f32;
        for k in *starts.add(node) as usize..*starts.add(node + 1) as usize {
            let source = *edges.add(k) as usize;
            sum += *rank.add(source) / *degree.add(source) as f32;
        }
        *next.add(node) = 0.15 / nodes as f32 + 0.85 * sum;
    }
}

/// Counts each node's degree from a list of edges: one atomic per edge at a random address.
#[kernel]
pub unsafe fn degree_count(edges: u32, ends: *const u32, degree: *mut u32) {
    let k = index();
    if k < edges as usize {
        mid::atomic_fetch_add_u32_device(degree.add(*ends.add(k) as usize), Relaxed, 1);
    }
}

/// Union-find, the step that shortens paths: each node walks to its root, and remembers it elsewhere.
#[kernel]
pub unsafe fn union_find_compress(nodes: u32, parent: *const u32, root: *mut u32) {
    let node = index();
    if node < nodes as usize {
        let mut at = node as u32;
        loop {
            let up = *parent.add(at as usize);
            if up == at {
                break;
            }
            at = up;
        }
        *root.add(node) = at;
    }
}

/// One pass of label propagation: the least label among a node and its neighbours.
#[kernel]
pub unsafe fn label_minimum(
    nodes: u32,
    starts: *const u32,
    edges: *const u32,
    from: *const u32,
    to: *mut u32,
) {
    let node = index();
    if node < nodes as usize {
        let mut least = *from.add(node);
        for k in *starts.add(node) as usize..*starts.add(node + 1) as usize {
            least = least.min(*from.add(*edges.add(k) as usize));
        }
        *to.add(node) = least;
    }
}
