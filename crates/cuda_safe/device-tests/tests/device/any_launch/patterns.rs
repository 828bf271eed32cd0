//! The kernels of layouts, indices, prefix sums, histograms and atomics.

use super::{Case, Device, Draw, empty, floats, numbers, vectors, vectors_mut, words};
use cuda_launch::{SafeKernel, Shape, Slice, SliceMut};
use cuda_std::vector::{F32x4, U32x4};
use cust::memory::DeviceCopy;
use gpu_kernels::histogram::{self, BINS};
use gpu_kernels::{atomics, gather, layout, scan};

/// An update of as many structures as were drawn, in an array that `array` makes of floats.
macro_rules! structures {
    ($kernel:path, $device:ident, $draw:ident, $floats:literal) => {{
        let n = $draw.n as usize;
        let a = floats($floats * n);
        // SAFETY: a structure is this many floats behind one another.
        let slice = unsafe { SliceMut::<[f32; $floats]>::new(a.as_device_ptr().as_raw(), n) };
        $device.run::<$kernel>($draw.line(), (slice, n));
        drop(a);
    }};
}

fn of_vectors<K>(device: &Device, draw: &Draw)
where
    for<'a> K: SafeKernel<Arguments<'a> = (SliceMut<'a, F32x4>, usize)>,
{
    let n = draw.n as usize;
    device.run::<K>(draw.line(), (vectors_mut::<_, F32x4>(&mut floats(4 * n)), n));
}

/// Indices below the number of elements and beyond it.
fn indices(draw: &Draw) -> cust::memory::DeviceBuffer<u32> {
    numbers(draw.n as usize, |index| (index as u32).wrapping_mul(draw.any | 1) % (draw.n + draw.n / 8 + 1))
}

fn scans<K>(device: &Device, draw: &Draw, shape: Shape)
where
    for<'a> K: SafeKernel<Arguments<'a> = (Slice<'a, u32>, SliceMut<'a, u32>)>,
{
    let n = draw.n as usize;
    device.run::<K>(shape, (&words(n), &mut empty(n)));
}

/// Blocks of 256 threads, each with sixteen elements.
fn of_sixteen(draw: &Draw) -> Shape {
    Shape::linear(draw.grid[0], 256)
}

fn histograms<K>(device: &Device, draw: &Draw, shape: Shape)
where
    for<'a> K: SafeKernel<Arguments<'a> = (Slice<'a, U32x4>, SliceMut<'a, u32>)>,
{
    let source = numbers(4 * draw.n as usize, |index| (index as u32).wrapping_mul(draw.any));
    device.run::<K>(shape, (vectors::<_, U32x4>(&source), &mut words(BINS)));
}

/// Additions of all threads to as many counters as were drawn, or to none but those of the block.
fn additions<K, T: DeviceCopy>(device: &Device, draw: &Draw, mut counters: cust::memory::DeviceBuffer<T>)
where
    for<'a> K: SafeKernel<Arguments<'a> = (SliceMut<'a, T>, u32, u32)>,
{
    device.run::<K>(draw.of_warps(), (&mut counters, 1 << draw.width, draw.any % 4));
}

fn counters<T: DeviceCopy>(draw: &Draw, zero: T) -> cust::memory::DeviceBuffer<T> {
    numbers(1 << draw.width, |_| zero)
}

fn results<T: DeviceCopy>(draw: &Draw) -> cust::memory::DeviceBuffer<T> {
    empty(Draw::threads_of(draw.of_warps()))
}

pub(super) const CASES: &[Case] = cases! {
    layout::layout_aos3_one => |device, draw| structures!(layout::layout_aos3_one, device, draw, 3);
    layout::layout_aos3_all => |device, draw| structures!(layout::layout_aos3_all, device, draw, 3);
    layout::layout_aos4_one => |device, draw| structures!(layout::layout_aos4_one, device, draw, 4);
    layout::layout_aos4_all => |device, draw| structures!(layout::layout_aos4_all, device, draw, 4);
    layout::layout_padded_one => |device, draw| of_vectors::<layout::layout_padded_one>(device, draw);
    layout::layout_padded_all => |device, draw| of_vectors::<layout::layout_padded_all>(device, draw);
    layout::layout_vector_one => |device, draw| of_vectors::<layout::layout_vector_one>(device, draw);
    layout::layout_vector_all => |device, draw| of_vectors::<layout::layout_vector_all>(device, draw);
    layout::layout_soa3_one => |device, draw| {
        let n = draw.n as usize;
        device.run::<layout::layout_soa3_one>(draw.line(), (&mut floats(n), n));
    };
    layout::layout_soa3_all => |device, draw| {
        let n = draw.n as usize;
        device.run::<layout::layout_soa3_all>(
            draw.line(),
            (&mut floats(n), &mut floats(n), &mut floats(n), n),
        );
    };

    gather::gather => |device, draw| {
        let n = draw.n as usize;
        device.run::<gather::gather>(draw.line(), (&indices(draw), &words(n), &mut words(n)));
    };
    gather::scatter => |device, draw| {
        let n = draw.n as usize;
        device.run::<gather::scatter>(draw.line(), (&indices(draw), &words(n), &mut words(n)));
    };

    scan::scan_hillis_steele => |device, draw|
        scans::<scan::scan_hillis_steele>(device, draw, draw.of_warps());
    scan::scan_blelloch => |device, draw| {
        let shape = Shape::linear(draw.grid[0], 32 * draw.warps.next_power_of_two());
        scans::<scan::scan_blelloch>(device, draw, shape);
    };
    scan::scan_shuffle => |device, draw| scans::<scan::scan_shuffle>(device, draw, draw.of_warps());
    scan::scan_sums => |device, draw| {
        let (shape, source) = (of_sixteen(draw), words(4 * draw.n as usize));
        device.run::<scan::scan_sums>(
            shape,
            (vectors::<_, U32x4>(&source), &mut empty(shape.blocks() as usize)),
        );
    };
    scan::scan_offsets => |device, draw| {
        let n = draw.n as usize;
        device.run::<scan::scan_offsets>(Shape::linear(1, 32 * draw.warps), (&words(n), &mut empty(n)));
    };
    scan::scan_apply => |device, draw| {
        let (shape, n) = (of_sixteen(draw), 4 * draw.n as usize);
        let (source, mut destination) = (words(n), words(n));
        device.run::<scan::scan_apply>(
            shape,
            (
                vectors::<_, U32x4>(&source),
                &words(shape.blocks() as usize),
                vectors_mut::<_, U32x4>(&mut destination),
            ),
        );
    };
    scan::scan_clear => |device, draw| {
        let n = draw.n as usize;
        device.run::<scan::scan_clear>(draw.line(), (&mut empty(n), n));
    };
    scan::scan_lookback => |device, draw| {
        let (shape, n) = (of_sixteen(draw), 4 * draw.n as usize);
        let (source, mut destination) = (words(n), words(n));
        device.run::<scan::scan_lookback>(
            shape,
            (
                vectors::<_, U32x4>(&source),
                &mut numbers(shape.blocks() as usize, |_| 0_u64),
                vectors_mut::<_, U32x4>(&mut destination),
            ),
        );
    };

    histogram::histogram_global => |device, draw|
        histograms::<histogram::histogram_global>(device, draw, draw.line());
    histogram::histogram_shared => |device, draw|
        histograms::<histogram::histogram_shared>(device, draw, draw.of_warps());
    histogram::histogram_warps => |device, draw|
        histograms::<histogram::histogram_warps>(device, draw, draw.of_warps());
    histogram::histogram_match => |device, draw|
        histograms::<histogram::histogram_match>(device, draw, draw.of_warps());
    histogram::histogram_threads => |device, draw|
        histograms::<histogram::histogram_threads>(device, draw, Shape::linear(draw.grid[0], 128));

    atomics::atomics_global_add_u32 => |device, draw|
        additions::<atomics::atomics_global_add_u32, u32>(device, draw, counters(draw, 0));
    atomics::atomics_global_add_u64 => |device, draw|
        additions::<atomics::atomics_global_add_u64, u64>(device, draw, counters(draw, 0));
    atomics::atomics_global_add_f32 => |device, draw|
        additions::<atomics::atomics_global_add_f32, f32>(device, draw, counters(draw, 0.0));
    atomics::atomics_global_fetch_u32 => |device, draw| {
        let shape = draw.of_warps();
        device.run::<atomics::atomics_global_fetch_u32>(
            shape,
            (&mut counters(draw, 0), &mut results(draw), 1 << draw.width, draw.any % 4),
        );
    };
    atomics::atomics_global_cas_u32 => |device, draw|
        additions::<atomics::atomics_global_cas_u32, u32>(device, draw, counters(draw, 0));
    atomics::atomics_global_cas_u64 => |device, draw|
        additions::<atomics::atomics_global_cas_u64, u64>(device, draw, counters(draw, 0));
    atomics::atomics_global_match_u32 => |device, draw|
        additions::<atomics::atomics_global_match_u32, u32>(device, draw, counters(draw, 0));
    atomics::atomics_global_redux_u32 => |device, draw|
        additions::<atomics::atomics_global_redux_u32, u32>(device, draw, counters(draw, 0));
    atomics::atomics_global_tree_f32 => |device, draw|
        additions::<atomics::atomics_global_tree_f32, f32>(device, draw, counters(draw, 0.0));
    atomics::atomics_shared_add_u32 => |device, draw|
        additions::<atomics::atomics_shared_add_u32, u32>(device, draw, results(draw));
    atomics::atomics_shared_add_u64 => |device, draw|
        additions::<atomics::atomics_shared_add_u64, u64>(device, draw, results(draw));
    atomics::atomics_shared_add_f32 => |device, draw|
        additions::<atomics::atomics_shared_add_f32, f32>(device, draw, results(draw));
    atomics::atomics_shared_fetch_u32 => |device, draw|
        additions::<atomics::atomics_shared_fetch_u32, u32>(device, draw, results(draw));
    atomics::atomics_shared_cas_u32 => |device, draw|
        additions::<atomics::atomics_shared_cas_u32, u32>(device, draw, results(draw));
    atomics::atomics_shared_cas_u64 => |device, draw|
        additions::<atomics::atomics_shared_cas_u64, u64>(device, draw, results(draw));
    atomics::atomics_shared_match_u32 => |device, draw|
        additions::<atomics::atomics_shared_match_u32, u32>(device, draw, results(draw));
};
