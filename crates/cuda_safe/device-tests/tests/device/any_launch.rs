//! Runs each safe kernel of `gpu-kernels` in launches of random shape that its contract admits. All checks of the
//! simulated driver are on: no race, no access out of bounds, no uninitialised read, no divergent barrier.
//!
//! The types promise this for every launch. Here launches are drawn: sizes that blocks do not divide, blocks that are not
//! whole warps where the shape admits them, grids that are too small and too large, strides, offsets, slices. Buffers have
//! not an element more than the contract asks for, and outputs that are only written are left uninitialised.

use cuda_driver::simulated::{self, Settings, bind_simulated};
use cuda_launch::{IntoArguments, Launch, Module, SafeKernel, Shape, Signatures, Slice, SliceMut};
use cuda_std::vector::{F32x4, I32x4, U32x4};
use cust::context::Context;
use cust::memory::{DeviceBuffer, DeviceCopy};
use cust::stream::{Stream, StreamFlags};
use gpu_kernels::banks::{banks_4, banks_8, banks_16};
use gpu_kernels::idioms::copy::{asserted_copy, checked_copy, iterated_copy, typed_copy};
use gpu_kernels::idioms::matmul::{asserted_matmul, checked_matmul, iterated_matmul, typed_matmul};
use gpu_kernels::idioms::transpose::typed_transpose;
use gpu_kernels::matmul::{matmul_naive, matmul_tiled_16, matmul_tiled_32, matmul_tiled_dynamic};
use gpu_kernels::mountain::mountain;
use gpu_kernels::occupancy::{in_flight_1, in_flight_2, in_flight_4, in_flight_8, in_flight_words};
use gpu_kernels::shuffle::reduction::{
    reduce_block_shared, reduce_block_shuffle, reduce_persistent, reduce_vector, reduce_warp_shared,
    reduce_warp_shuffle,
};
use gpu_kernels::transpose::tiles::{tile, tile_dynamic, tile_padded, tile_padded_unrolled};
use gpu_kernels::{
    coalescing, constant, copy, fill, launch, link, shuffle, stencil, storage, streams, transfer, transpose,
    unified,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use simt::check::{Checks, FindingKind};

const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.compute_90.ptx"));

/// Launches drawn for each kernel.
const LAUNCHES: u32 = 12;

/// Kernels whose threads the types do not keep apart: what they need is in their own `# Safety`.
const UNCHECKED: [&str; 22] = [
    "asserted_transpose",
    "chase_cached",
    "chase_constant",
    "chase_each",
    "chase_l2",
    "chase_shared",
    "checked_transpose",
    "iterated_transpose",
    "l2_store",
    "launch_parameters_4080",
    "launch_parameters_512",
    "launch_parameters_64",
    "matmul_register",
    "matmul_register_wide",
    "scatter_unchecked",
    "storage_global",
    "storage_managed",
    "tile_vector",
    "tile_vector_down",
    "unchecked_copy",
    "unchecked_matmul",
    "unchecked_transpose",
];

/// The random numbers of a launch. Each kernel takes the ones that it needs.
#[derive(Clone, Copy, Debug)]
struct Draw {
    /// Elements of an array along one axis.
    n: u32,
    /// Sides of matrices.
    sides: [u32; 3],
    /// Threads of a block along x.
    threads: u32,
    /// Warps of a block.
    warps: u32,
    /// Threads of a block along x and y.
    plane: [u32; 2],
    /// Side of a square block.
    side: u32,
    /// Blocks of a grid along x and y. Where a kernel has one place for each thread, they cover some of it, or more than it.
    grid: [u32; 2],
    /// A distance.
    distance: u32,
    /// A number of any size.
    any: u32,
    /// The binary logarithm of a width.
    width: u32,
}

fn draws() -> impl Strategy<Value = Draw> {
    let sides = prop_oneof![1 => Just(32_u32), 1 => Just(64), 4 => 1..=80_u32];
    (
        (prop_oneof![1 => Just(1024_u32), 6 => 1..=1500_u32], [sides.clone(), sides.clone(), sides]),
        (1..=200_u32, 1..=8_u32, [1..=20_u32, 1..=16_u32], 1..=12_u32),
        [1..=5_u32, 1..=4_u32],
        (0..=40_u32, any::<u32>(), 1..=5_u32),
    )
        .prop_map(|((n, sides), (threads, warps, plane, side), grid, (distance, any, width))| Draw {
            n,
            sides,
            threads,
            warps,
            plane,
            side,
            grid,
            distance,
            any,
            width,
        })
}

impl Draw {
    fn line(&self) -> Shape {
        Shape::linear(self.grid[0], self.threads)
    }

    fn of_warps(&self) -> Shape {
        Shape::linear(self.grid[0], 32 * self.warps)
    }

    /// Blocks of whole warps, one thread for each element.
    fn covering_warps(&self) -> Shape {
        Shape::covering([self.n, 1], [32 * self.warps, 1])
    }

    fn planes(&self) -> Shape {
        let ([x, y], [bx, by]) = (self.grid, self.plane);
        Shape::new([x, y, 1], [bx, by, 1])
    }

    /// Blocks of 256 threads in some shape.
    fn of_256(&self) -> Shape {
        let x = 1 << (self.any % 9);
        Shape::new([self.grid[0], self.grid[1], 1], [x, 256 / x, 1])
    }

    fn squares(&self, side: u32) -> Shape {
        Shape::new([self.grid[0], self.grid[1], 1], [side, side, 1])
    }

    /// Elements of a matrix of the first two sides.
    fn area(&self) -> usize {
        self.sides[0] as usize * self.sides[1] as usize
    }

    fn threads_of(shape: Shape) -> usize {
        (shape.blocks() * shape.block_threads()) as usize
    }
}

/// A module on the simulated device.
struct Device {
    module: Module,
    stream: Stream,
    _context: Context,
}

impl Device {
    fn open() -> Self {
        let settings =
            Settings { checks: Some(Checks::ALL), memory_bytes: Some(1 << 28), ..Settings::default() };
        bind_simulated(settings).expect("the simulated driver");
        let context = cust::quick_init().expect("a context");
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None).expect("a stream");
        Self { module: Module::from_ptx(PTX).expect("the kernels"), stream, _context: context }
    }

    #[expect(single_use_lifetimes, reason = "an `impl Trait` argument cannot name an anonymous lifetime")]
    fn run<'a, K: SafeKernel>(&self, shape: Shape, arguments: impl IntoArguments<K::Arguments<'a>>) {
        if let Err(error) = K::launch(&self.module, &self.stream, shape, arguments) {
            panic!("{}, {shape}: {error}", K::NAME);
        }
    }
}

/// Numbers for a kernel to read.
fn numbers<T: DeviceCopy>(count: usize, number: impl Fn(usize) -> T) -> DeviceBuffer<T> {
    DeviceBuffer::from_slice(&(0..count).map(number).collect::<Vec<_>>()).expect("device memory")
}

fn floats(count: usize) -> DeviceBuffer<f32> {
    numbers(count, |index| (index % 97) as f32)
}

fn integers(count: usize) -> DeviceBuffer<i32> {
    numbers(count, |index| index as i32 - 50)
}

fn words(count: usize) -> DeviceBuffer<u32> {
    numbers(count, |index| index as u32)
}

/// Memory that nothing has written.
fn empty<T: DeviceCopy>(count: usize) -> DeviceBuffer<T> {
    // SAFETY: kernels write it before anything reads it, and initcheck tells if they do not.
    unsafe { DeviceBuffer::uninitialized(count) }.expect("device memory")
}

/// Four numbers each, as the vector `V`.
fn vectors<T: DeviceCopy, V>(buffer: &DeviceBuffer<T>) -> Slice<'_, V> {
    assert_eq!(size_of::<V>(), 4 * size_of::<T>());
    // SAFETY: a vector is four numbers behind one another, and buffers are aligned to more than that.
    unsafe { Slice::new(buffer.as_device_ptr().as_raw(), buffer.len() / 4) }
}

fn vectors_mut<T: DeviceCopy, V>(buffer: &mut DeviceBuffer<T>) -> SliceMut<'_, V> {
    assert_eq!(size_of::<V>(), 4 * size_of::<T>());
    // SAFETY: as for `vectors`.
    unsafe { SliceMut::new(buffer.as_device_ptr().as_raw(), buffer.len() / 4) }
}

/// A kernel's name and a launch of it.
type Case = (&'static str, fn(&Device, &Draw));

macro_rules! cases {
    ($($($path:ident)::+ => |$device:ident, $draw:ident| $body:expr;)*) => {
        &[$((<$($path)::+ as cuda_launch::Kernel>::NAME, |$device, $draw| $body)),*]
    };
}

mod instructions;
mod patterns;

/// The cases of all files.
fn cases() -> impl Iterator<Item = &'static Case> {
    CASES.iter().chain(patterns::CASES).chain(instructions::CASES)
}

/// A matrix from one buffer to another: source and destination of a transpose's size, then its sides.
fn transposes<K>(device: &Device, draw: &Draw, shape: Shape)
where
    for<'a> K: SafeKernel<Arguments<'a> = (Slice<'a, f32>, SliceMut<'a, f32>, u32, u32)>,
{
    let [nx, ny, _] = draw.sides;
    device.run::<K>(shape, (&floats(draw.area()), &mut empty(draw.area()), nx, ny));
}

/// A product with its two factors.
fn products<K>(device: &Device, draw: &Draw, shape: Shape)
where
    for<'a> K: SafeKernel<
        Arguments<'a> = (Slice<'a, f32>, Slice<'a, f32>, SliceMut<'a, f32>, u32, u32, u32, f32, f32),
    >,
{
    let [m, n, k] = draw.sides;
    let elements = |rows: u32, columns: u32| rows as usize * columns as usize;
    let (a, b) = (floats(elements(m, k)), floats(elements(k, n)));
    // Without a `beta` the product does not read its output.
    let beta = (draw.any % 2) as f32;
    let mut c = if beta == 0.0 { empty(elements(m, n)) } else { floats(elements(m, n)) };
    device.run::<K>(shape, (&a, &b, &mut c, m, n, k, 1.5, beta));
}

/// The same without its factors.
fn plain_products<K>(device: &Device, draw: &Draw, shape: Shape)
where
    for<'a> K: SafeKernel<Arguments<'a> = (Slice<'a, f32>, Slice<'a, f32>, SliceMut<'a, f32>, u32, u32, u32)>,
{
    let [m, n, k] = draw.sides;
    let elements = |rows: u32, columns: u32| rows as usize * columns as usize;
    let (a, b) = (floats(elements(m, k)), floats(elements(k, n)));
    device.run::<K>(shape, (&a, &b, &mut empty(elements(m, n)), m, n, k));
}

/// A shuffle of as many values as were drawn.
fn shuffles<K, T: DeviceCopy>(device: &Device, draw: &Draw, source: &DeviceBuffer<T>)
where
    for<'a> K: SafeKernel<Arguments<'a> = (Slice<'a, T>, SliceMut<'a, T>, u32, u32)>,
{
    let width = 1 << draw.width;
    device.run::<K>(draw.of_warps(), (source, &mut empty(source.len()), draw.any % 33, width));
}

/// A copy of as many vectors as were drawn.
fn copies_of_vectors<K>(device: &Device, draw: &Draw)
where
    for<'a> K: SafeKernel<Arguments<'a> = (Slice<'a, U32x4>, SliceMut<'a, U32x4>)>,
{
    let (source, mut destination) = (words(4 * draw.n as usize), empty::<u32>(4 * draw.n as usize));
    device.run::<K>(draw.line(), (vectors::<_, U32x4>(&source), vectors_mut::<_, U32x4>(&mut destination)));
}

const CASES: &[Case] = cases! {
    copy::copy_scalar => |device, draw| {
        let n = draw.n as usize;
        device.run::<copy::copy_scalar>(draw.line(), (&words(n), &mut empty(n)));
    };
    copy::copy_vector => |device, draw| copies_of_vectors::<copy::copy_vector>(device, draw);
    copy::copy_unrolled => |device, draw| copies_of_vectors::<copy::copy_unrolled>(device, draw);
    copy::copy_streaming => |device, draw| copies_of_vectors::<copy::copy_streaming>(device, draw);
    copy::copy_persistent => |device, draw| copies_of_vectors::<copy::copy_persistent>(device, draw);

    link::ring_add => |device, draw| {
        let n = 4 * draw.n as usize;
        let (own, passed, mut sum) = (floats(n), floats(n), empty::<f32>(n));
        device.run::<link::ring_add>(
            draw.line(),
            (vectors::<_, F32x4>(&own), vectors::<_, F32x4>(&passed), vectors_mut::<_, F32x4>(&mut sum)),
        );
    };

    launch::launch_empty => |device, draw| device.run::<launch::launch_empty>(draw.line(), ());

    transfer::transfer_increment => |device, draw| {
        let n = draw.n as usize;
        device.run::<transfer::transfer_increment>(draw.line(), (&mut floats(n), n));
    };

    streams::stream_chain => |device, draw| {
        let shape = draw.line();
        let mut ends = empty::<f32>(Draw::threads_of(shape));
        device.run::<streams::stream_chain>(shape, (draw.any % 100, &mut ends));
    };

    fill::fill_f32 => |device, draw| {
        let n = draw.n as usize;
        device.run::<fill::fill_f32>(draw.line(), (&mut empty::<f32>(n), n, draw.any));
    };
    fill::fill_f64 => |device, draw| {
        let n = draw.n as usize;
        device.run::<fill::fill_f64>(draw.line(), (&mut empty::<f64>(n), n, draw.any));
    };

    coalescing::offset_f32 => |device, draw| {
        let shape = draw.line();
        let mut a = floats(Draw::threads_of(shape) + draw.distance as usize);
        device.run::<coalescing::offset_f32>(shape, (&mut a, draw.distance));
    };
    coalescing::offset_f64 => |device, draw| {
        let shape = draw.line();
        let mut a = numbers(Draw::threads_of(shape) + draw.distance as usize, |index| index as f64);
        device.run::<coalescing::offset_f64>(shape, (&mut a, draw.distance));
    };
    coalescing::stride_f32 => |device, draw| {
        let (shape, stride) = (draw.line(), draw.distance.max(1));
        let mut a = floats((Draw::threads_of(shape) - 1) * stride as usize + 1);
        device.run::<coalescing::stride_f32>(shape, (&mut a, stride));
    };
    coalescing::stride_f64 => |device, draw| {
        let (shape, stride) = (draw.line(), draw.distance.max(1));
        let mut a = numbers((Draw::threads_of(shape) - 1) * stride as usize + 1, |index| index as f64);
        device.run::<coalescing::stride_f64>(shape, (&mut a, stride));
    };

    banks_4 => |device, draw| {
        let shape = Shape::linear(1, gpu_kernels::banks::THREADS);
        let (stride, accesses) = (draw.any % 40, 16 * (draw.any % 3));
        let (sums, cycles) = (&mut empty::<u32>(1024), &mut empty::<u32>(1024));
        device.run::<banks_4>(shape, (sums, cycles, stride, accesses));
    };
    banks_8 => |device, draw| {
        let shape = Shape::linear(1, gpu_kernels::banks::THREADS);
        let (stride, accesses) = (draw.any % 40, 16 * (draw.any % 3));
        let (sums, cycles) = (&mut empty::<u32>(1024), &mut empty::<u32>(1024));
        device.run::<banks_8>(shape, (sums, cycles, stride, accesses));
    };
    banks_16 => |device, draw| {
        let shape = Shape::linear(1, gpu_kernels::banks::THREADS);
        let (stride, accesses) = (draw.any % 40, 16 * (draw.any % 3));
        let (sums, cycles) = (&mut empty::<u32>(1024), &mut empty::<u32>(1024));
        device.run::<banks_16>(shape, (sums, cycles, stride, accesses));
    };
    in_flight_1 => |device, draw| {
        let shape = draw.of_warps();
        let source = words(4 * draw.n as usize);
        device.run::<in_flight_1>(shape, (vectors(&source), &mut empty::<u32>(Draw::threads_of(shape))));
    };
    in_flight_2 => |device, draw| {
        let shape = draw.of_warps();
        let source = words(4 * draw.n as usize);
        device.run::<in_flight_2>(shape, (vectors(&source), &mut empty::<u32>(Draw::threads_of(shape))));
    };
    in_flight_4 => |device, draw| {
        let shape = draw.of_warps();
        let source = words(4 * draw.n as usize);
        device.run::<in_flight_4>(shape, (vectors(&source), &mut empty::<u32>(Draw::threads_of(shape))));
    };
    in_flight_8 => |device, draw| {
        let shape = draw.of_warps();
        let source = words(4 * draw.n as usize);
        device.run::<in_flight_8>(shape, (vectors(&source), &mut empty::<u32>(Draw::threads_of(shape))));
    };
    in_flight_words => |device, draw| {
        let shape = draw.of_warps();
        let source = words(draw.n as usize);
        device.run::<in_flight_words>(shape, (&source, &mut empty::<u32>(Draw::threads_of(shape))));
    };
    mountain => |device, draw| {
        let shape = draw.line();
        let threads = Draw::threads_of(shape);
        let source = words(4 << draw.width);
        device.run::<mountain>(
            shape,
            (vectors(&source), &mut empty::<u32>(threads), draw.any % 100, threads as u32, 8 * (draw.any % 3)),
        );
    };

    constant::constant_broadcast => |device, draw| {
        let shape = draw.line();
        let (distinct, steps) = (1 << draw.width, 32 * (draw.any % 4));
        device.run::<constant::constant_broadcast>(
            shape,
            (&mut empty::<u32>(Draw::threads_of(shape)), distinct, steps),
        );
    };
    constant::read_only_broadcast => |device, draw| {
        let shape = draw.line();
        let (distinct, steps) = (1 << draw.width, 32 * (draw.any % 4));
        let table = words(constant::TABLE);
        device.run::<constant::read_only_broadcast>(
            shape,
            (&table, &mut empty::<u32>(Draw::threads_of(shape)), distinct, steps),
        );
    };

    stencil::stencil_constant => |device, draw| {
        let n = draw.n as usize;
        device.run::<stencil::stencil_constant>(
            draw.covering_warps(),
            (&floats(n + stencil::HALO), &mut empty(n)),
        );
    };
    stencil::stencil_read_only => |device, draw| {
        let n = draw.n as usize;
        let coefficients = floats(stencil::RADIUS);
        device.run::<stencil::stencil_read_only>(
            draw.of_warps(),
            (&floats(n + stencil::HALO), &mut empty(n), &coefficients),
        );
    };

    stencil::stencil_vector => |device, draw| {
        let n = draw.n as usize;
        let (source, mut destination) = (floats(4 * (n + stencil::HALO_VECTORS)), empty::<f32>(4 * n));
        device.run::<stencil::stencil_vector>(
            draw.line(),
            (vectors::<_, F32x4>(&source), vectors_mut::<_, F32x4>(&mut destination)),
        );
    };

    storage::storage_shared_static => |device, _draw| stores::<storage::storage_shared_static>(device);
    storage::storage_shared_dynamic => |device, _draw| stores::<storage::storage_shared_dynamic>(device);
    storage::storage_constant => |device, _draw| stores::<storage::storage_constant>(device);
    storage::storage_local => |device, _draw| stores::<storage::storage_local>(device);

    transpose::copy_row => |device, draw| transposes::<transpose::copy_row>(device, draw, draw.planes());
    transpose::copy_col => |device, draw| transposes::<transpose::copy_col>(device, draw, draw.planes());
    transpose::naive_row => |device, draw| transposes::<transpose::naive_row>(device, draw, draw.planes());
    transpose::naive_col => |device, draw| transposes::<transpose::naive_col>(device, draw, draw.planes());
    transpose::unroll4_row => |device, draw| transposes::<transpose::unroll4_row>(device, draw, draw.planes());
    transpose::unroll4_col => |device, draw| transposes::<transpose::unroll4_col>(device, draw, draw.planes());
    transpose::diagonal_row => |device, draw| transposes::<transpose::diagonal_row>(device, draw, draw.planes());
    transpose::diagonal_col => |device, draw| transposes::<transpose::diagonal_col>(device, draw, draw.planes());
    tile => |device, draw| transposes::<tile>(device, draw, draw.of_256());
    tile_padded => |device, draw| transposes::<tile_padded>(device, draw, draw.of_256());
    tile_padded_unrolled => |device, draw| transposes::<tile_padded_unrolled>(device, draw, draw.of_256());
    tile_dynamic => |device, draw| {
        let [nx, ny, _] = draw.sides;
        device.run::<tile_dynamic>(
            draw.planes(),
            (&floats(draw.area()), &mut empty(draw.area()), nx, ny, draw.distance),
        );
    };

    matmul_naive => |device, draw| products::<matmul_naive>(device, draw, draw.planes());
    matmul_tiled_16 => |device, draw| products::<matmul_tiled_16>(device, draw, draw.squares(16));
    matmul_tiled_32 => |device, draw| products::<matmul_tiled_32>(device, draw, draw.squares(32));
    matmul_tiled_dynamic => |device, draw| products::<matmul_tiled_dynamic>(device, draw, draw.squares(draw.side));

    shuffle::shuffle_idx_i32 => |device, draw|
        shuffles::<shuffle::shuffle_idx_i32, _>(device, draw, &integers(draw.n as usize));
    shuffle::shuffle_idx_f32 => |device, draw|
        shuffles::<shuffle::shuffle_idx_f32, _>(device, draw, &floats(draw.n as usize));
    shuffle::shuffle_up_i32 => |device, draw|
        shuffles::<shuffle::shuffle_up_i32, _>(device, draw, &integers(draw.n as usize));
    shuffle::shuffle_up_f32 => |device, draw|
        shuffles::<shuffle::shuffle_up_f32, _>(device, draw, &floats(draw.n as usize));
    shuffle::shuffle_down_i32 => |device, draw|
        shuffles::<shuffle::shuffle_down_i32, _>(device, draw, &integers(draw.n as usize));
    shuffle::shuffle_down_f32 => |device, draw|
        shuffles::<shuffle::shuffle_down_f32, _>(device, draw, &floats(draw.n as usize));
    shuffle::shuffle_xor_i32 => |device, draw|
        shuffles::<shuffle::shuffle_xor_i32, _>(device, draw, &integers(draw.n as usize));
    shuffle::shuffle_xor_f32 => |device, draw|
        shuffles::<shuffle::shuffle_xor_f32, _>(device, draw, &floats(draw.n as usize));
    shuffle::shuffle_wrap_i32 => |device, draw|
        shuffles::<shuffle::shuffle_wrap_i32, _>(device, draw, &integers(draw.n as usize));
    shuffle::shuffle_wrap_f32 => |device, draw|
        shuffles::<shuffle::shuffle_wrap_f32, _>(device, draw, &floats(draw.n as usize));

    reduce_warp_shuffle => |device, draw| {
        let n = draw.n as usize;
        device.run::<reduce_warp_shuffle>(draw.of_warps(), (&integers(n), &mut empty(n.div_ceil(32))));
    };
    reduce_warp_shared => |device, draw| {
        let n = draw.n as usize;
        device.run::<reduce_warp_shared>(draw.of_warps(), (&integers(n), &mut empty(n.div_ceil(32))));
    };
    reduce_block_shuffle => |device, draw| {
        let shape = draw.of_warps();
        device.run::<reduce_block_shuffle>(
            shape,
            (&integers(draw.n as usize), &mut empty(shape.blocks() as usize)),
        );
    };
    reduce_block_shared => |device, draw| {
        let shape = draw.of_warps();
        device.run::<reduce_block_shared>(
            shape,
            (&integers(draw.n as usize), &mut empty(shape.blocks() as usize)),
        );
    };
    reduce_vector => |device, draw| {
        let (source, mut sum) = (integers(4 * draw.n as usize), integers(1));
        device.run::<reduce_vector>(draw.of_warps(), (vectors::<_, I32x4>(&source), &mut sum));
    };
    reduce_persistent => |device, draw| {
        let (source, mut sum) = (integers(4 * draw.n as usize), integers(1));
        device.run::<reduce_persistent>(draw.of_warps(), (vectors::<_, I32x4>(&source), &mut sum));
    };

    unified::grid_stride => |device, draw| {
        let shape = draw.of_warps();
        device.run::<unified::grid_stride>(shape, (&floats(draw.n as usize), &mut empty(Draw::threads_of(shape))));
    };
    unified::block_stride => |device, draw| {
        let shape = draw.line();
        let slice = (draw.any % 600) as usize;
        device.run::<unified::block_stride>(
            shape,
            (&floats(draw.n as usize), &mut empty(Draw::threads_of(shape)), slice),
        );
    };
    unified::random_warp => |device, draw| {
        let (shape, pages, page) = (draw.of_warps(), draw.grid[1], 32 * draw.side);
        device.run::<unified::random_warp>(
            shape,
            (
                &floats((pages * page) as usize),
                &mut empty(Draw::threads_of(shape)),
                pages,
                page,
                draw.distance,
                draw.any,
            ),
        );
    };
    unified::grid_stride_write => |device, draw| {
        let n = draw.n as usize;
        device.run::<unified::grid_stride_write>(draw.of_warps(), (&mut empty(n), n));
    };
    unified::block_stride_write => |device, draw| {
        let (n, slice) = (draw.n as usize, (draw.any % 600) as usize);
        device.run::<unified::block_stride_write>(draw.line(), (&mut empty(n), n, slice));
    };
    unified::random_warp_write => |device, draw| {
        let (pages, page) = (draw.grid[1], 32 * draw.side);
        device.run::<unified::random_warp_write>(
            draw.of_warps(),
            (&mut empty((pages * page) as usize), pages, page, draw.distance, draw.any),
        );
    };
    unified::grid_stride_vector => |device, draw| {
        let (shape, source) = (draw.of_warps(), floats(4 * draw.n as usize));
        device.run::<unified::grid_stride_vector>(
            shape,
            (vectors::<_, F32x4>(&source), &mut empty(Draw::threads_of(shape))),
        );
    };

    typed_copy => |device, draw| {
        let n = draw.n as usize;
        device.run::<typed_copy>(draw.line(), (&floats(n), &mut empty(n)));
    };
    checked_copy => |device, draw| {
        let n = draw.n as usize;
        device.run::<checked_copy>(draw.line(), (&floats(n), &mut empty(n), n));
    };
    iterated_copy => |device, draw| {
        let n = draw.n as usize;
        device.run::<iterated_copy>(draw.line(), (&floats(n), &mut empty(n), n));
    };
    asserted_copy => |device, draw| {
        let n = draw.n as usize;
        device.run::<asserted_copy>(draw.line(), (&floats(n), &mut empty(n), n));
    };
    typed_matmul => |device, draw| plain_products::<typed_matmul>(device, draw, draw.planes());
    checked_matmul => |device, draw| plain_products::<checked_matmul>(device, draw, draw.planes());
    iterated_matmul => |device, draw| plain_products::<iterated_matmul>(device, draw, draw.planes());
    asserted_matmul => |device, draw| plain_products::<asserted_matmul>(device, draw, draw.planes());
    typed_transpose => |device, draw| transposes::<typed_transpose>(device, draw, draw.of_256());
};

/// One block of 256 threads.
fn stores<K>(device: &Device)
where
    for<'a> K: SafeKernel<Arguments<'a> = (Slice<'a, f32>, SliceMut<'a, f32>)>,
{
    let length = storage::LENGTH;
    device.run::<K>(Shape::linear(1, length as u32), (&floats(length), &mut empty(length)));
}

#[test]
fn every_safe_kernel_has_a_case() {
    let signatures = Signatures::of(PTX);
    let has_case = |name: &str| cases().any(|(kernel, _)| *kernel == name) || UNCHECKED.contains(&name);
    let without: Vec<&str> = signatures.names().filter(|name| !has_case(name)).collect();
    assert!(without.is_empty(), "write a case for each of these, above: {without:?}");
    let known = cases().map(|(name, _)| *name).chain(UNCHECKED);
    let gone: Vec<&str> = known.filter(|name| !signatures.has(name)).collect();
    assert!(gone.is_empty(), "the module has no such kernels: {gone:?}");
}

#[test]
fn no_launch_of_a_safe_kernel_does_what_the_checks_find() {
    let device = Device::open();
    // After a fault nothing runs any more, so the launch cannot be reduced.
    let config =
        Config { cases: LAUNCHES, max_shrink_iters: 0, failure_persistence: None, ..Config::default() };
    for (name, launch) in cases() {
        let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let outcome = TestRunner::new_with_rng(config.clone(), random).run(&draws(), |draw| {
            launch(&device, &draw);
            let found: Vec<String> = simulated::findings().iter().map(ToString::to_string).collect();
            prop_assert!(found.is_empty(), "{}", found.join("\n"));
            Ok(())
        });
        if let Err(error) = outcome {
            panic!("{name}: {error}");
        }
    }

    // Silent checks prove something only if they can fail.
    device.run::<typed_copy>(Shape::linear(1, 32), (&empty(32), &mut empty(32)));
    let found = simulated::findings();
    assert!(
        found.iter().all(|found| matches!(found.kind, FindingKind::UninitialisedRead { .. })),
        "{found:?}"
    );
    assert!(!found.is_empty());
    simulated::forget();
}
