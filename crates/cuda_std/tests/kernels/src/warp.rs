//! Shuffles, votes, matches and reductions.
use cuda_std::{kernel, warp};

const ALL: u32 = 0xffff_ffff;

#[kernel]
pub unsafe fn shuffle_up(data: *mut u32) {
    unsafe {
        let (value, in_range) = warp::warp_shuffle_up(ALL, *data, 1, 32);
        *data = value;
        *data.add(1) = u32::from(in_range);
        *data.add(2) = warp::warp_shuffle_up(ALL, value, 2, 8).0;
    }
}

#[kernel]
pub unsafe fn shuffle_down(data: *mut f32) {
    unsafe {
        *data = warp::warp_shuffle_down(ALL, *data, 16, 32).0;
        *data.add(1) = warp::warp_shuffle_down(ALL, *data, 4, 16).0;
    }
}

#[kernel]
pub unsafe fn shuffle_idx(data: *mut i16) {
    unsafe { *data = warp::warp_shuffle_idx(ALL, *data, 3, 4).0 }
}

#[kernel]
pub unsafe fn shuffle_xor(data: *mut f64, wide: *mut u128) {
    unsafe {
        *data = warp::warp_shuffle_xor(ALL, *data, 1, 32).0;
        *wide = warp::warp_shuffle_xor(ALL, *wide, 2, 32).0;
    }
}

#[kernel]
pub unsafe fn votes(data: *mut u32) {
    unsafe {
        let predicate = *data > 4;
        *data = u32::from(warp::warp_vote_all(ALL, predicate));
        *data.add(1) = u32::from(warp::warp_vote_any(ALL, predicate));
        *data.add(2) = warp::warp_vote_ballot(ALL, predicate);
        *data.add(3) = warp::activemask();
        *data.add(4) = warp::lane_id();
        warp::sync_warp(0xff);
    }
}

#[kernel]
pub unsafe fn matches(data: *mut u32, single: *const f32, double: *const f64) {
    unsafe {
        *data = warp::warp_match_any(ALL, *single);
        *data.add(1) = warp::warp_match_any(ALL, *double);
        *data.add(2) = warp::warp_match_all(ALL, *single).unwrap_or(77);
        *data.add(3) = warp::warp_match_all(ALL, *double).unwrap_or(78);
    }
}

#[kernel]
pub unsafe fn reductions(data: *mut u32, signed: *mut i32) {
    use warp::WarpReductionOp::{Add, And, Max, Min, Or, Xor};
    unsafe {
        // Unrolled by hand: a loop over the operations would stay a loop with a branch per operation.
        *data = warp::warp_reduce(ALL, *data, Add);
        *data.add(1) = warp::warp_reduce(ALL, *data.add(1), Min);
        *data.add(2) = warp::warp_reduce(ALL, *data.add(2), Max);
        *data.add(3) = warp::warp_reduce(ALL, *data.add(3), And);
        *data.add(4) = warp::warp_reduce(ALL, *data.add(4), Or);
        *data.add(5) = warp::warp_reduce(ALL, *data.add(5), Xor);
        *signed = warp::warp_reduce(ALL, *signed, Min);
        *signed.add(1) = warp::warp_reduce(ALL, *signed.add(1), Max);
    }
}
