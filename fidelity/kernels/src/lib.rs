//! Kernels of the kinds that other people write: benchmark suites, sparse algebra, sorting, images, graphs, finance and
//! neural networks. Each is written from the algorithm's description. They take raw pointers, as their models do; the
//! program `fidelity` launches them with buffers of the sizes that it states.
#![no_std]
#![allow(unused_imports, reason = "the host has some of the float functions itself")]

pub mod accumulation;
pub mod algebra;
pub mod analytics;
pub mod atomics;
pub mod codes;
pub mod contributions;
pub mod databases;
pub mod decoding;
pub mod dynamics;
pub mod encodings;
pub mod factorings;
pub mod fields;
pub mod finance;
pub mod fourier;
pub mod frontiers;
pub mod graphs;
pub mod grids;
pub mod images;
pub mod imaging;
pub mod inference;
pub mod integers;
pub mod lattices;
pub mod layouts;
pub mod learning;
pub mod media;
pub mod meshes;
pub mod mining;
pub mod particles;
pub mod physics;
pub mod primitives;
pub mod products;
pub mod quantised;
pub mod rendering;
pub mod samples;
pub mod scans;
pub mod sequences;
pub mod signals;
pub mod solvers;
pub mod sorting;
pub mod sparse;
pub mod structures;
pub mod tables;
pub mod training;
pub mod vision;
pub mod worklists;

use cuda_std::warp::{warp_shuffle_down, warp_shuffle_xor};
use cuda_std::{shared_array, thread};

/// All lanes of a warp.
const ALL: u32 = u32::MAX;

/// The thread's index along x in the grid.
#[inline(always)]
fn index() -> usize {
    thread::index_1d() as usize
}

/// The thread's position in a grid of two dimensions, x first.
#[inline(always)]
fn position() -> (usize, usize) {
    let at = thread::index_2d();
    (at.x as usize, at.y as usize)
}

/// The sum over the lanes of a full warp, in each of them.
#[inline(always)]
unsafe fn warp_sum(mut value: f32) -> f32 {
    for distance in [16, 8, 4, 2, 1] {
        value += warp_shuffle_xor(ALL, value, distance, 32).0;
    }
    value
}

/// The maximum over the lanes of a full warp, in each of them.
#[inline(always)]
unsafe fn warp_max(mut value: f32) -> f32 {
    for distance in [16, 8, 4, 2, 1] {
        value = value.max(warp_shuffle_xor(ALL, value, distance, 32).0);
    }
    value
}

/// The sum over a block of full warps, in each of its threads.
#[inline(always)]
unsafe fn block_sum(value: f32) -> f32 {
    let partial = shared_array![f32; 32];
    let mut sum = value;
    for distance in [16, 8, 4, 2, 1] {
        sum += warp_shuffle_down(ALL, sum, distance, 32).0;
    }
    let thread = thread::thread_idx_x() as usize;
    if thread.is_multiple_of(32) {
        *partial.add(thread / 32) = sum;
    }
    thread::sync_threads();
    let mut total = 0.0;
    for warp in 0..thread::block_dim_x() as usize / 32 {
        total += *partial.add(warp);
    }
    thread::sync_threads();
    total
}
