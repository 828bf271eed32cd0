//! Data structures: lists, trees, filters and adjacency lists.

use cuda_std::prelude::*;
use cuda_std::vector::U32x2;
use cuda_std::warp::warp_vote_ballot;

use crate::{ALL, index};

/// Follows a linked list from each of many heads, and adds what its nodes hold.
#[kernel]
pub unsafe fn list_walk(heads: u32, steps: u32, nodes: *const U32x2, sums: *mut u32) {
    let i = index();
    if i < heads as usize {
        let (mut at, mut sum) = (i, 0_u32);
        for _ in 0..steps {
            let node = *nodes.add(at);
            sum = sum.wrapping_add(node.y);
            at = node.x as usize;
        }
        *sums.add(i) = sum;
    }
}

/// Looks a key up in a tree with 32 keys a node, by a warp: each lane compares one, a vote finds the child.
#[kernel]
pub unsafe fn btree_search(queries: u32, levels: u32, keys: *const u32, query: *const u32, leaf: *mut u32) {
    let (i, lane) = (index() / 32, index() % 32);
    if i < queries as usize {
        let wanted = *query.add(i);
        let (mut node, mut first, mut width) = (0, 0, 1);
        for _ in 0..levels {
            let key = *keys.add((first + node) * 32 + lane);
            let below = warp_vote_ballot(ALL, key <= wanted).count_ones() as usize;
            first += width;
            width *= 32;
            node = node * 32 + below.max(1) - 1;
        }
        if lane == 0 {
            *leaf.add(i) = node as u32;
        }
    }
}

/// A forest of decision trees of depth 8: each thread sends its sample down all of them and adds the leaves.
#[kernel]
pub unsafe fn forest_vote(
    samples: u32,
    trees: u32,
    features: *const u8,
    limits: *const f32,
    leaves: *const f32,
    data: *const f32,
    score: *mut f32,
) {
    let i = index();
    if i < samples as usize {
        let mut sum = 0.0_f32;
        for tree in 0..trees as usize {
            let mut node = 1;
            while node < 256 {
                let feature = *features.add(tree * 256 + node) as usize;
                let right = *data.add(i * 20 + feature) >= *limits.add(tree * 256 + node);
                node = 2 * node + usize::from(right);
            }
            sum += *leaves.add(tree * 256 + node - 256);
        }
        *score.add(i) = sum;
    }
}

/// The nearest neighbour in a k-d tree that is kept as a heap: depth first, with a stack of the thread's own.
#[kernel]
pub unsafe fn kd_nearest(queries: u32, nodes: u32, tree: *const f32, query: *const f32, nearest: *mut f32) {
    let i = index();
    if i < queries as usize {
        let wanted: [f32; 3] = [0, 1, 2].map(|axis| *query.add(3 * i + axis));
        let mut stack = [(0_u32, 0.0_f32); 16];
        let mut top = 0;
        let mut least = f32::MAX;
        let mut node = 1;
        loop {
            while node <= nodes {
                let point: [f32; 3] = [0, 1, 2].map(|axis| *tree.add(3 * node as usize + axis));
                let d: [f32; 3] = [0, 1, 2].map(|axis| wanted[axis] - point[axis]);
                let square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
                if square < least {
                    least = square;
                }
                let axis = (31 - node.leading_zeros()) % 3;
                let apart = if axis == 0 {
                    d[0]
                } else if axis == 1 {
                    d[1]
                } else {
                    d[2]
                };
                let right = u32::from(apart >= 0.0);
                if 2 * node <= nodes {
                    stack[top] = (2 * node + 1 - right, apart * apart);
                    top += 1;
                }
                node = 2 * node + right;
            }
            let mut found = false;
            while top > 0 && !found {
                top -= 1;
                node = stack[top].0;
                found = stack[top].1 < least;
            }
            if !found {
                break;
            }
        }
        *nearest.add(i) = least;
    }
}

/// Triangles of each edge: the common neighbours of its ends, by merging two sorted lists.
#[kernel]
pub unsafe fn triangle_count(
    edges: u32,
    sources: *const u32,
    starts: *const u32,
    targets: *const u32,
    triangles: *mut u32,
) {
    let edge = index();
    if edge < edges as usize {
        let (a, b) = (*sources.add(edge) as usize, *targets.add(edge) as usize);
        let (mut i, end_a) = (*starts.add(a), *starts.add(a + 1));
        let (mut j, end_b) = (*starts.add(b), *starts.add(b + 1));
        let mut count = 0;
        while i < end_a && j < end_b {
            let (x, y) = (*targets.add(i as usize), *targets.add(j as usize));
            if x == y {
                count += 1;
            }
            i += u32::from(x <= y);
            j += u32::from(y <= x);
        }
        *triangles.add(edge) = count;
    }
}

/// Asks a Bloom filter for keys: up to four bits each, until one is missing.
#[kernel]
pub unsafe fn bloom_query(n: u32, mask: u32, keys: *const u32, filter: *const u32, present: *mut u8) {
    let i = index();
    if i < n as usize {
        let key = *keys.add(i);
        let (mut hash, step) = (key.wrapping_mul(0x85EB_CA6B), key.wrapping_mul(0xC2B2_AE35) | 1);
        let mut all = true;
        for _ in 0..4 {
            let bit = (hash ^ hash >> 15) & mask;
            if *filter.add((bit / 32) as usize) >> (bit % 32) & 1 == 0 {
                all = false;
                break;
            }
            hash = hash.wrapping_add(step);
        }
        *present.add(i) = u8::from(all);
    }
}

/// Random walks on a graph: each walker draws one of its node's neighbours at every step.
#[kernel]
pub unsafe fn graph_walk(walkers: u32, steps: u32, starts: *const u32, targets: *const u32, ends: *mut u32) {
    let i = index();
    if i < walkers as usize {
        let mut node = i as u32;
        let mut state = node.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
        for _ in 0..steps {
            let (first, end) = (*starts.add(node as usize), *starts.add(node as usize + 1));
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            node = *targets.add((first + state % (end - first)) as usize);
        }
        *ends.add(i) = node;
    }
}
