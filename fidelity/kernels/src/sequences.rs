//! Sequences: alignment, warping, hidden states and edit distances.

use cuda_std::prelude::*;
use cuda_std::warp::{lane_id, warp_shuffle_up};
use cuda_std::{GpuFloat, shared_array, thread};

use crate::{ALL, index};

/// Smith and Waterman's best local score of two sequences of 96 letters: a block per pair, diagonals in shared memory.
#[kernel]
pub unsafe fn smith_waterman(first: *const u8, second: *const u8, best: *mut i32) {
    let (diagonals, letters) = (shared_array![i32; 291], shared_array![u8; 96]);
    let bests = shared_array![i32; 96];
    let thread = thread::thread_idx_x() as usize;
    let pair = thread::block_idx_x() as usize * 96;
    let own = *first.add(pair + thread);
    *letters.add(thread) = *second.add(pair + thread);
    for k in 0..3 {
        *diagonals.add(97 * k + thread) = 0;
    }
    if thread < 3 {
        *diagonals.add(97 * thread + 96) = 0;
    }
    let mut most = 0;
    for step in 0..191_usize {
        thread::sync_threads();
        // The cell of row `thread` on this diagonal; the place before a row's is that of the row above.
        let (now, last, before) = (step % 3 * 97, (step + 2) % 3 * 97, (step + 1) % 3 * 97);
        let mut score = 0;
        if thread <= step && step - thread < 96 {
            let same = if own == *letters.add(step - thread) { 3 } else { -2 };
            let corner = if thread == step { 0 } else { *diagonals.add(before + thread) };
            let gap = (*diagonals.add(last + thread)).max(*diagonals.add(last + thread + 1)) - 2;
            score = (corner + same).max(gap).max(0);
            most = most.max(score);
        }
        *diagonals.add(now + thread + 1) = score;
    }
    *bests.add(thread) = most;
    thread::sync_threads();
    if thread == 0 {
        for k in 1..96 {
            most = most.max(*bests.add(k));
        }
        *best.add(pair / 96) = most;
    }
}

/// Dynamic time warping of a series against a pattern of 32: a warp per series, the pattern's points in its lanes.
#[kernel]
pub unsafe fn time_warping(
    count: u32,
    length: u32,
    pattern: *const f32,
    series: *const f32,
    distance: *mut f32,
) {
    let (i, lane) = (index() / 32, lane_id());
    if i < count as usize {
        let wanted = *pattern.add(lane as usize);
        let series = series.add(i * length as usize);
        // This lane's cells of the last two diagonals.
        let (mut last, mut before) = (f32::MAX, f32::MAX);
        for step in 0..length + 31 {
            let left = warp_shuffle_up(ALL, last, 1, 32).0;
            let corner = warp_shuffle_up(ALL, before, 1, 32).0;
            before = last;
            if step >= lane && step - lane < length {
                let at = step - lane;
                let apart = (wanted - *series.add(at as usize)).abs();
                let mut least = last;
                if lane > 0 {
                    least = least.min(left).min(corner);
                } else if at == 0 {
                    least = 0.0;
                }
                last = least + apart;
            }
        }
        if lane == 31 {
            *distance.add(i) = last;
        }
    }
}

/// Viterbi's best path through 64 hidden states: a block per sequence, a thread per state, a barrier per step.
#[kernel]
pub unsafe fn viterbi(
    steps: u32,
    moves: *const f32,
    emissions: *const f32,
    observed: *const u8,
    scores: *mut f32,
    origins: *mut u8,
) {
    let (front, back) = (shared_array![f32; 64], shared_array![f32; 64]);
    let state = thread::thread_idx_x() as usize;
    let sequence = thread::block_idx_x() as usize;
    let steps = steps as usize;
    let observed = observed.add(sequence * steps);
    *front.add(state) = *emissions.add(*observed as usize * 64 + state);
    let (mut source, mut target) = (front, back);
    for step in 1..steps {
        thread::sync_threads();
        let (mut best, mut origin) = (f32::MIN, 0);
        for other in 0..64 {
            let score = *source.add(other) + *moves.add(other * 64 + state);
            if score > best {
                best = score;
                origin = other;
            }
        }
        *target.add(state) = best + *emissions.add(*observed.add(step) as usize * 64 + state);
        *origins.add((sequence * steps + step) * 64 + state) = origin as u8;
        (source, target) = (target, source);
    }
    *scores.add(sequence * 64 + state) = *source.add(state);
}

/// Edit distances between a pattern of 64 letters and texts, all 64 rows in the bits of a word (Myers' algorithm).
#[kernel]
pub unsafe fn edit_distance(
    count: u32,
    length: u32,
    masks: *const u64,
    texts: *const u8,
    distance: *mut u32,
) {
    let i = index();
    if i < count as usize {
        let (mut up, mut down, mut score) = (u64::MAX, 0_u64, 64_u32);
        for k in 0..length as usize {
            let equal = *masks.add(*texts.add(k * count as usize + i) as usize);
            let cross = equal | down;
            let carried = ((equal & up).wrapping_add(up) ^ up) | equal;
            let mut right_up = down | !(carried | up);
            let mut right_down = up & carried;
            score += (right_up >> 63) as u32;
            score -= (right_down >> 63) as u32;
            right_up = right_up << 1 | 1;
            right_down <<= 1;
            up = right_down | !(cross | right_up);
            down = right_up & cross;
        }
        *distance.add(i) = score;
    }
}
