//! Tensor cores: fragments (sm_80), and what is on compute capability 9.0 alone.
use cuda_std::async_copy::{Barrier, bulk_wait_group, bulk_wait_group_read, fence_async_proxy};
use cuda_std::tensor::{
    self, Accumulator64, Accumulator128, Bf16, E4m3, E5m2, Multiply, Ring, Sums128, SwizzledTile, TensorMap, Tf32, TransposedTile,
};
use cuda_std::{GridConstant, kernel, shared, shared_array, thread};

#[kernel(arch = "80")]
pub unsafe fn fragments(output: *mut u32) {
    let tile = shared_array![u32; 512];
    let index = thread::thread_idx_x();
    unsafe {
        *tile.add(index as usize) = index;
        thread::sync_threads();
        let row = shared::address(tile) + index * 16;
        let (a, b) = (tensor::load_matrices(row), tensor::load_matrices_transposed(row));
        let mut sums = [0.0; 4];
        tensor::mma_m16n8k16(&mut sums, a, [b[0], b[3]]);
        *output.add(index as usize) = tensor::pack_bf16(sums[0], sums[3]);
    }
}

#[kernel(arch = "90a", launch_bounds(256, 1))]
pub unsafe fn stages(a: &TensorMap, c: &TensorMap, steps: u32) {
    let memory = tensor::aligned_dynamic_shared();
    let (warpgroup, lane) = (thread::thread_idx_x() / 128, thread::thread_idx_x() % 128);
    unsafe {
        let ring = Ring::<2, 24576>::new(memory, shared_array![Barrier; 4]);
        if thread::thread_idx_x() == 0 {
            ring.init(1);
        }
        thread::sync_threads();
        if warpgroup == 0 {
            tensor::decrease_registers::<24>();
            if lane == 0 {
                let a = a.acquire(true);
                let mut ring = ring.producer();
                for step in 0..steps {
                    let stage = ring.fill();
                    stage.load::<64>(0, a, (step * 64, 0));
                    stage.load::<128>(8192, a, (step * 64, 64));
                }
            }
        } else {
            tensor::increase_registers::<160>();
            let mut ring = ring.consumer(lane == 0);
            let mut sums = Accumulator128::zero();
            for _ in 0..steps {
                let stage = ring.wait();
                Multiply::<Bf16, SwizzledTile<128>>::multiply::<0>(&mut sums, stage.tile(0), stage.tile(8192));
                stage.release();
            }
            let tile = SwizzledTile::<64>::at(memory + 2 * 24576);
            sums.finish().pack().store::<1>(tile, lane);
            fence_async_proxy();
            tensor::sync_warpgroup(1);
            c.acquire(lane == 0).store(tile, (64, 0), lane == 0);
            bulk_wait_group_read::<0>();
            bulk_wait_group::<0>();
        }
    }
}

#[kernel(arch = "90a")]
pub unsafe fn mapped(rows: &[u32], map: GridConstant<'_, TensorMap>, table: GridConstant<[u32; 3]>, output: *mut u32) {
    let memory = tensor::aligned_dynamic_shared();
    unsafe {
        let ring = Ring::<1, 8192>::new(memory, shared_array![Barrier; 2]);
        if thread::thread_idx_x() == 0 {
            ring.init(1);
            ring.producer().fill().load::<64>(0, map.map(), (0, 0));
            *output = table[rows.len() % 3];
        }
    }
}

/// Blocks of a cluster.
const PAIR: u32 = 2;

#[kernel(arch = "90a", cluster(PAIR))]
pub unsafe fn clusters(a: &TensorMap, output: *mut u32) {
    let memory = tensor::aligned_dynamic_shared();
    unsafe {
        let ring = Ring::<1, 8192>::new(memory, shared_array![Barrier; 2]);
        if thread::thread_idx_x() == 0 {
            ring.init(tensor::cluster_size());
        }
        tensor::cluster_sync();
        let first = tensor::elect();
        if first {
            ring.producer().fill_or_trap().load_multicast::<64>(0, a.acquire(true), (0, 0), 3);
        }
        ring.consumer_among(first, tensor::cluster_rank() ^ 1).wait().release_to_peer();
        *output = tensor::map_to_rank(memory, tensor::cluster_rank() ^ 1);
    }
}

/// A start without fences, and two accumulators of which one is finished before the other.
#[kernel(arch = "90a", launch_bounds(128, 1), cluster(1, 2, 1))]
pub unsafe fn halves(map: GridConstant<'_, TensorMap>, output: *mut [u32; 4]) {
    let memory = tensor::aligned_dynamic_shared();
    let (a, b) = (SwizzledTile::<64>::at(memory), SwizzledTile::<64>::at(memory + 8192));
    unsafe {
        map.prefetch();
        tensor::cluster_start();
        let (mut first, mut second) = (Accumulator64::zero(), Accumulator64::zero());
        Multiply::<Bf16, _>::multiply::<2>(&mut first, a, b);
        Multiply::<Bf16, _>::multiply::<2>(&mut second, b, a);
        first.finish_before::<1>().pack().store::<0>(a, thread::thread_idx_x());
        second.finish().pack().store::<0>(b, thread::thread_idx_x());
        *output.add(thread::thread_idx_x() as usize) = b.read_unit(5, 3);
    }
}

/// Every kind of product, and sums apart.
#[kernel(arch = "90a", launch_bounds(128, 1))]
pub unsafe fn kinds(output: *mut f32) {
    let memory = tensor::aligned_dynamic_shared();
    let (a, b) = (SwizzledTile::<64>::at(memory), SwizzledTile::<128>::at(memory + 8192));
    unsafe {
        let mut sums = Sums128::zero();
        let rows_of_b = TransposedTile::<128>::at(memory + 8192);
        let mut part: Accumulator128 = Multiply::<Bf16, TransposedTile<128>>::start(a, rows_of_b);
        Multiply::<E4m3, _>::multiply::<1>(&mut part, a, b);
        Multiply::<E5m2, _>::multiply::<2>(&mut part, a, b);
        Multiply::<Tf32, _>::multiply::<3>(&mut part, a, b);
        sums.add(&part.finish());
        sums = sums.map(|sum| sum * 3.0);
        *output.add(thread::thread_idx_x() as usize) = sums.0[0];
    }
}

/// A box of a stack of matrices.
#[kernel(arch = "90a")]
pub unsafe fn stacked(c: &TensorMap, column: u32, row: u32, nth: u32) {
    let tile = SwizzledTile::<64>::at(tensor::aligned_dynamic_shared());
    let c = c.acquire(true);
    unsafe { c.store(tile, (column, row, nth), true) };
}
