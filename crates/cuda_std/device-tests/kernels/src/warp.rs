//! Shuffles, votes, matches, reductions: launched with one warp.
use cuda_std::warp::{self, WarpReductionOp};
use cuda_std::{kernel, shared_array, thread};
use pastey::paste;

/// Every mode in segments of every width, with constant widths as kernels have them.
macro_rules! shuffles {
    ($($type:ty, $name:ident;)*) => {paste! {$(
        /// Results and predicates lie `[operand][mode: idx, up, down, xor][width: 1, 2, 4 .. 32][lane]`.
        #[kernel]
        pub unsafe fn [<shuffle_ $name>](values: *const $type, operands: &[u32], results: *mut $type, predicates: *mut u32) {
            let lane = warp::lane_id() as usize;
            let value = *values.add(lane);
            let mut place = lane;
            for &operand in operands {
                macro_rules! shuffle {
                    ($function:ident: $width:literal) => {
                        let (result, predicate) = warp::$function(u32::MAX, value, operand, $width);
                        *results.add(place) = result;
                        *predicates.add(place) = u32::from(predicate);
                        place += 32;
                    };
                    ($function:ident) => {
                        shuffle!($function: 1);
                        shuffle!($function: 2);
                        shuffle!($function: 4);
                        shuffle!($function: 8);
                        shuffle!($function: 16);
                        shuffle!($function: 32);
                    };
                }
                shuffle!(warp_shuffle_idx);
                shuffle!(warp_shuffle_up);
                shuffle!(warp_shuffle_down);
                shuffle!(warp_shuffle_xor);
            }
        }
    )*}};
}

shuffles! {
    u8, u8;
    i8, i8;
    u16, u16;
    i16, i16;
    u32, u32;
    i32, i32;
    f32, f32;
    u64, u64;
    i64, i64;
    f64, f64;
    u128, u128;
    i128, i128;
    cuda_std::f16, f16;
    cuda_std::bf16, bf16;
}

/// The lanes of a mask shuffle, the others do not; everything is known at run time only. Mode as in the shuffles above.
#[kernel]
pub unsafe fn shuffle_masked(
    mask: u32,
    mode: u32,
    operand: u32,
    width: u32,
    values: *const u32,
    results: *mut u32,
    predicates: *mut u32,
) {
    let lane = warp::lane_id();
    if mask >> lane & 1 != 0 {
        let value = *values.add(lane as usize);
        let (result, predicate) = match mode {
            0 => warp::warp_shuffle_idx(mask, value, operand, width),
            1 => warp::warp_shuffle_up(mask, value, operand, width),
            2 => warp::warp_shuffle_down(mask, value, operand, width),
            _ => warp::warp_shuffle_xor(mask, value, operand, width),
        };
        *results.add(lane as usize) = result;
        *predicates.add(lane as usize) = u32::from(predicate);
    }
}

/// Results lie `[lane][all, any, ballot]`; lanes out of the mask write nothing.
#[kernel]
pub unsafe fn votes(mask: u32, predicates: u32, results: *mut u32) {
    let lane = warp::lane_id();
    if mask >> lane & 1 != 0 {
        let predicate = predicates >> lane & 1 != 0;
        let result = results.add(3 * lane as usize);
        *result = u32::from(warp::warp_vote_all(mask, predicate));
        *result.add(1) = u32::from(warp::warp_vote_any(mask, predicate));
        *result.add(2) = warp::warp_vote_ballot(mask, predicate);
    }
}

macro_rules! matches {
    ($($type:ident)*) => {paste! {$(
        /// Results lie `[lane][any, all or 0]`; lanes out of the mask write nothing.
        #[kernel]
        pub unsafe fn [<match_ $type>](mask: u32, values: *const $type, results: *mut u32) {
            let lane = warp::lane_id() as usize;
            if mask >> lane & 1 != 0 {
                *results.add(2 * lane) = warp::warp_match_any(mask, *values.add(lane));
                *results.add(2 * lane + 1) = warp::warp_match_all(mask, *values.add(lane)).unwrap_or(0);
            }
        }
    )*}};
}

matches! { u32 i32 f32 u64 i64 f64 }

macro_rules! reductions {
    ($($type:ident)*) => {paste! {$(
        /// Results lie `[op: add, min, max, and, or, xor][lane]`; lanes out of the mask write nothing.
        #[kernel]
        pub unsafe fn [<reduce_ $type>](mask: u32, values: *const $type, results: *mut $type) {
            let lane = warp::lane_id() as usize;
            if mask >> lane & 1 != 0 {
                let value = *values.add(lane);
                *results.add(lane) = warp::warp_reduce(mask, value, WarpReductionOp::Add);
                *results.add(32 + lane) = warp::warp_reduce(mask, value, WarpReductionOp::Min);
                *results.add(64 + lane) = warp::warp_reduce(mask, value, WarpReductionOp::Max);
                *results.add(96 + lane) = warp::warp_reduce(mask, value, WarpReductionOp::And);
                *results.add(128 + lane) = warp::warp_reduce(mask, value, WarpReductionOp::Or);
                *results.add(160 + lane) = warp::warp_reduce(mask, value, WarpReductionOp::Xor);
            }
        }
    )*}};
}

reductions! { u32 i32 }

/// For any block of one dimension; results lie `[thread][lane, active, active in the odd lanes' branch or 0]`.
#[kernel]
pub unsafe fn lanes(results: *mut u32) {
    let result = results.add(3 * crate::place());
    *result = warp::lane_id();
    *result.add(1) = warp::activemask();
    *result.add(2) = 0;
    if warp::lane_id() % 2 == 1 {
        *result.add(2) = warp::activemask();
    }
}

/// Each thread gets the value of the lane 5 further, cyclically, through shared memory. For a block of up to 256.
#[kernel]
pub unsafe fn sync_warp(values: *const u32, results: *mut u32) {
    let tile = shared_array![u32; 256];
    let (lane, thread) = (warp::lane_id(), thread::thread_idx_x());
    *tile.add(thread as usize) = *values.add(thread as usize);
    warp::sync_warp(u32::MAX);
    let other = thread - lane + (lane + 5) % thread::warp_size();
    *results.add(thread as usize) = *tile.add(other as usize);
}
