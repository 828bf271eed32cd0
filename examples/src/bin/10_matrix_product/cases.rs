//! The products: for each its operands on the device, its launch, and what its results are compared with.

use std::fmt;

use anyhow::{Context as _, Result};
use cuda_driver::ext::{TensorElement, set_max_dynamic_shared_memory};
use cuda_launch::{Launch as _, LaunchOptions, Module, Shape};
use cuda_std::launch::{Pointer, PointerMut, Slice};
use cuda_std::tensor::TensorMap;
use cust::memory::{CopyDestination, DeviceBuffer, DeviceCopy};
use cust::stream::Stream;
use example_kernels::product::product_of_bf16;
use gpu_kernels::unchecked::tensor::medium::{self, matmul_medium};
use gpu_kernels::unchecked::tensor::multicast::matmul_multicast;
use gpu_kernels::unchecked::tensor::overlapped::{self, matmul_batched, matmul_overlapped};
use gpu_kernels::unchecked::tensor::pipeline;
use gpu_kernels::unchecked::tensor::prepare::{repitch, split_tf32};
use gpu_kernels::unchecked::tensor::promoted::{self, matmul_3xtf32, matmul_e4m3_promoted};
use gpu_kernels::unchecked::tensor::scaled::{matmul_e4m3, matmul_scaled};
use gpu_kernels::unchecked::tensor::small::{self, matmul_between, matmul_small};
use gpu_kernels::unchecked::tensor::staggered::{self, matmul_staggered};
use gpu_kernels::unchecked::tensor::wide::{self, matmul_wide};

use crate::choice::Kernel;
use crate::cublas::{Cublas, Gemm};
use crate::matrix::{Size, bf16, e4m3, e4m3_as_bf16, map, numbers};

/// What all products are launched with.
pub(crate) struct Gpu {
    pub(crate) products: Module,
    pub(crate) checks: Module,
    pub(crate) multiprocessors: u32,
    pub(crate) stream: Stream,
    pub(crate) cublas: Result<Cublas>,
}

/// A product with its matrices on the device.
pub(crate) trait Product {
    fn name(&self) -> &'static str;

    fn operations(&self) -> f64;

    /// Fills C with what it holds before a launch.
    fn reset(&mut self) -> Result<()>;

    /// Queues the launches.
    fn launch(&self, gpu: &Gpu) -> Result<()>;

    /// Queues the same by cuBLAS; false where it has no such function.
    fn launch_library(&self, cublas: &Cublas) -> Result<bool>;

    /// C, and what it should be.
    fn results(&self) -> Result<Vec<f32>>;
    fn expected(&self, gpu: &Gpu) -> Result<Vec<f32>>;

    /// The relative error that rounding a result may make, and the absolute error of a sum.
    fn allowed(&self) -> (f64, f64);

    /// Launches twice, and compares every element with what is expected and the second result with the first.
    fn verify(&mut self, gpu: &Gpu) -> Result<Verdict> {
        let mut results = Vec::new();
        for _ in 0..2 {
            self.reset()?;
            self.launch(gpu)?;
            gpu.stream.synchronize().with_context(|| self.name())?;
            results.push(self.results()?);
        }
        let (expected, (rounding, absolute)) = (self.expected(gpu)?, self.allowed());
        let (mut errors, mut squares, mut wrong) = (0.0, 0.0, results[0].len().abs_diff(expected.len()));
        for ((&first, &second), &expected) in results[0].iter().zip(&results[1]).zip(&expected) {
            let (result, expected) = (f64::from(first), f64::from(expected));
            let error = (result - expected).abs();
            errors += error * error;
            squares += expected * expected;
            // Not `error > ..`, which is false for what is no number.
            let is_right = error <= expected.abs() * rounding + absolute && first == second;
            wrong += usize::from(!is_right);
        }
        Ok(Verdict { wrong, elements: expected.len(), relative: f64::sqrt(errors / squares) })
    }
}

/// The products of a size: all, or the one that copes with rows which do not begin at multiples of 16 bytes.
pub(crate) fn all(size: Size, multiprocessors: u32) -> Result<Vec<Box<dyn Product>>> {
    let kernel = Kernel::of(size, multiprocessors);
    let mut products: Vec<Box<dyn Product>> = vec![Box::new(Plain::new(size, kernel)?)];
    if is_whole(size) {
        products.push(Box::new(Batched::new(size, 3)?));
        products.push(Box::new(WithFactors::new(size)?));
        products.push(Box::new(Fp8::new(size, false)?));
        products.push(Box::new(Fp8::new(size, true)?));
        products.push(Box::new(Single::new(size)?));
    }
    Ok(products)
}

/// The product in bf16 by each kernel.
pub(crate) fn by_each_kernel(size: Size) -> Result<Vec<Box<dyn Product>>> {
    let product = |kernel| Ok(Box::new(Plain::new(size, kernel)?) as Box<dyn Product>);
    Kernel::ALL.into_iter().map(product).collect()
}

/// Whether rows of all matrices begin at multiples of 16 bytes, in FP8 too.
fn is_whole(size: Size) -> bool {
    size.n.is_multiple_of(8) && size.k.is_multiple_of(16)
}

/// What came of comparing every element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Verdict {
    pub(crate) wrong: usize,
    elements: usize,
    /// The root of the squared errors over that of the squared results.
    relative: f64,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} wrong, relative error {:.1e}", self.wrong, self.elements, self.relative)
    }
}

/// A kernel by its type, allowed to take so much shared memory.
macro_rules! kernel {
    ($gpu:expr, $kernel:ty, $shared:expr) => {{
        let kernel = $gpu.products.kernel::<$kernel>()?;
        // SAFETY: the function belongs to a module that is loaded.
        unsafe { set_max_dynamic_shared_memory(kernel.function().to_raw(), $shared)? };
        kernel
    }};
}

/// A block for each multiprocessor, or each tile where those are fewer.
fn persistent(gpu: &Gpu, tiles: u32, shared: u32) -> Shape {
    let grid = [tiles.min(gpu.multiprocessors), 1, 1];
    Shape { grid, block: [pipeline::THREADS, 1, 1], shared: 0 }.with_shared(shared)
}

/// Tiles of 128 x 256.
fn tiles(size: Size) -> u32 {
    size.m.div_ceil(pipeline::ROWS) * size.n.div_ceil(pipeline::COLUMNS)
}

/// Rows of tiles of a band, whose operands L2 holds: as many as measured best on an H200. Clusters of two have larger tiles.
fn group(size: Size, cluster: &[u32]) -> u32 {
    match size.m.max(size.n) {
        _ if cluster.contains(&2) => 8,
        0..=4096 => 16,
        4097..=8192 => 12,
        _ => 8,
    }
}

fn address<T: DeviceCopy>(buffer: &DeviceBuffer<T>) -> u64 {
    buffer.as_device_ptr().as_raw()
}

fn read<T: DeviceCopy, P>(buffer: &DeviceBuffer<T>) -> Pointer<'_, P> {
    Pointer::new(address(buffer))
}

fn write<T: DeviceCopy, P>(buffer: &DeviceBuffer<T>) -> PointerMut<'_, P> {
    PointerMut::new(address(buffer))
}

fn slice<T: DeviceCopy>(buffer: &DeviceBuffer<T>) -> Slice<'_, T> {
    // SAFETY: the buffer is there and has so many elements; the slice borrows it.
    unsafe { Slice::new(address(buffer), buffer.len()) }
}

fn random(seed: u64, count: usize) -> Vec<u16> {
    numbers(seed, count).map(bf16).collect()
}

fn single(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// Sums of products of numbers below 1 in another order, and a rounding to bf16.
fn allowed(size: Size) -> (f64, f64) {
    (1.0 / 256.0, 1e-4 * f64::from(size.k).sqrt())
}

/// `C = A * B^T` by a kernel that has nothing in common with the others.
fn reference(gpu: &Gpu, size: Size, a: &[u16], b: &[u16]) -> Result<Vec<f32>> {
    let Size { m, n, k } = size;
    let (a, b) = (DeviceBuffer::from_slice(a)?, DeviceBuffer::from_slice(b)?);
    let mut c = DeviceBuffer::from_slice(&vec![f32::NAN; size.elements()[2]])?;
    let shape = Shape::covering([n, m], [32, 8]);
    product_of_bf16::launch(&gpu.checks, &gpu.stream, shape, (&a, &b, &mut c, m, n, k))?;
    gpu.stream.synchronize()?;
    Ok(c.as_host_vec()?)
}

/// `C = A * B^T` in bf16 for any size, by a kernel that suits it. Rows that do not begin at multiples of 16 bytes are copied to such
/// that do, and C's back.
struct Plain {
    kernel: Kernel,
    size: Size,
    /// The sizes of what is multiplied.
    whole: Size,
    a: DeviceBuffer<u16>,
    b: DeviceBuffer<u16>,
    c: DeviceBuffer<u16>,
    /// Copies with whole rows, where those are needed.
    copies: Option<[DeviceBuffer<u16>; 3]>,
    maps: [TensorMap; 3],
}

impl Plain {
    fn new(size: Size, kernel: Kernel) -> Result<Self> {
        let whole = Size { n: size.n.next_multiple_of(8), k: size.k.next_multiple_of(8), ..size };
        let buffers = |[a, b, c]: [usize; 3]| -> Result<_> {
            Ok([
                DeviceBuffer::from_slice(&random(1, a))?,
                DeviceBuffer::from_slice(&random(2, b))?,
                DeviceBuffer::zeroed(c)?,
            ])
        };
        let [a, b, c] = buffers(size.elements())?;
        let is_whole = (whole.n, whole.k) == (size.n, size.k);
        let copies = if is_whole { None } else { Some(buffers(whole.elements())?) };
        let [of_a, of_b, of_c] = copies.as_ref().map_or([&a, &b, &c], |copies| copies.each_ref());
        let Size { m, n, k } = whole;
        // Rows of the boxes of A and B.
        let [rows_of_a, rows_of_b] = match kernel {
            Kernel::Small => [small::ROWS, small::COLUMNS],
            Kernel::Between => [small::ROWS, small::COLUMNS_BETWEEN],
            Kernel::Medium => [medium::ROWS, medium::COLUMNS],
            Kernel::Overlapped | Kernel::Multicast => [128, 128],
            Kernel::Staggered => [128, staggered::COLUMNS],
            Kernel::Wide => [128, wide::COLUMNS],
        };
        let maps = [
            map(of_a, TensorElement::Bf16, [k, m], rows_of_a)?,
            map(of_b, TensorElement::Bf16, [k, n], rows_of_b)?,
            map(of_c, TensorElement::Bf16, [n, m], 64)?,
        ];
        Ok(Self { kernel, size, whole, a, b, c, copies, maps })
    }

    /// Queues the product of whole matrices.
    fn multiply(&self, gpu: &Gpu) -> Result<()> {
        let (tile, Size { m, n, k }) = (self.kernel.tile(), self.whole);
        let stays = |shared| {
            let grid = [tile.persistent(self.whole, gpu.multiprocessors), 1, 1];
            Shape { grid, block: [pipeline::THREADS, 1, 1], shared: 0 }.with_shared(shared)
        };
        // These begin while the work ahead of them still runs, and wait for its end before they load.
        let begins_early = |shared| {
            let [down, across] = tile.cover(self.whole);
            let shape = Shape { grid: [across, down, 1], block: [small::THREADS, 1, 1], shared: 0 };
            // SAFETY: every thread of these kernels waits before it loads or stores; what they take is maps and raw pointers.
            unsafe { LaunchOptions::new(shape.with_shared(shared)).overlapping() }
        };
        let ([a, b, c], group) = (self.maps, group(self.whole, &tile.cluster));
        let of_c = self.copies.as_ref().map_or(&self.c, |[.., c]| c);
        let one_wave = (a, b, write(of_c), m, n, k);
        let maps = (a, b, c, m, n, k, group);
        macro_rules! launch {
            ($kernel:ty, $options:ident($shared:expr), $arguments:expr) => {{
                let kernel = kernel!(gpu, $kernel, $shared);
                // SAFETY: the maps are of matrices of these sizes with the boxes that the kernel asks for; nothing else uses them
                // meanwhile.
                unsafe { kernel.launch_unchecked(&gpu.stream, $options($shared), $arguments)? }
            }};
        }
        match self.kernel {
            Kernel::Small => launch!(matmul_small, begins_early(small::SHARED), one_wave),
            Kernel::Between => launch!(matmul_between, begins_early(small::SHARED_BETWEEN), one_wave),
            Kernel::Medium => launch!(matmul_medium, begins_early(medium::SHARED), one_wave),
            Kernel::Overlapped => launch!(matmul_overlapped, stays(overlapped::SHARED), maps),
            Kernel::Multicast => launch!(matmul_multicast, stays(overlapped::SHARED), maps),
            Kernel::Staggered => {
                let arguments = (a, b, write(of_c), m, n, k, group);
                launch!(matmul_staggered, stays(staggered::SHARED), arguments);
            }
            Kernel::Wide => launch!(matmul_wide, stays(wide::SHARED), maps),
        }
        Ok(())
    }

    /// Copies rows of a matrix to rows of another length.
    fn copy(
        gpu: &Gpu,
        rows: u32,
        from: (&DeviceBuffer<u16>, u32),
        to: (&DeviceBuffer<u16>, u32),
    ) -> Result<()> {
        let shape = Shape { grid: [rows.min(4096), 1, 1], block: [256, 1, 1], shared: 0 };
        // SAFETY: both have as many rows of their lengths, and the stream's launches follow one another.
        unsafe {
            let arguments = (slice(from.0), write(to.0), rows, from.1, to.1);
            Ok(gpu.products.kernel::<repitch>()?.launch_unchecked(&gpu.stream, shape, arguments)?)
        }
    }
}

impl Product for Plain {
    fn name(&self) -> &'static str {
        if self.copies.is_some() { "bf16, rows copied" } else { self.kernel.name() }
    }

    fn operations(&self) -> f64 {
        self.size.operations()
    }

    fn reset(&mut self) -> Result<()> {
        let poison = vec![u16::MAX; self.c.len()];
        Ok(self.c.copy_from(&poison)?)
    }

    fn launch(&self, gpu: &Gpu) -> Result<()> {
        let (from, Size { m, n, k }) = (self.size, self.whole);
        if let Some([a, b, _]) = &self.copies {
            Self::copy(gpu, m, (&self.a, from.k), (a, k))?;
            // Rows of B beyond the last are not there to be copied: they make columns of C that are not copied back.
            Self::copy(gpu, from.n, (&self.b, from.k), (b, k))?;
        }
        self.multiply(gpu)?;
        match &self.copies {
            Some([.., c]) => Self::copy(gpu, m, (c, n), (&self.c, from.n)),
            None => Ok(()),
        }
    }

    fn launch_library(&self, cublas: &Cublas) -> Result<bool> {
        let matrices = [&self.a, &self.b, &self.c].map(address);
        // SAFETY: the matrices have these sizes, and live until the stream has ended its work.
        unsafe { cublas.product(Gemm::Bf16, matrices, self.size, 1) }
    }

    fn results(&self) -> Result<Vec<f32>> {
        Ok(self.c.as_host_vec()?.into_iter().map(single).collect())
    }

    fn expected(&self, gpu: &Gpu) -> Result<Vec<f32>> {
        reference(gpu, self.size, &self.a.as_host_vec()?, &self.b.as_host_vec()?)
    }

    fn allowed(&self) -> (f64, f64) {
        allowed(self.size)
    }
}

/// `C = A * B^T` in bf16 for a stack of matrices in one launch.
struct Batched {
    size: Size,
    stack: usize,
    a: DeviceBuffer<u16>,
    b: DeviceBuffer<u16>,
    c: DeviceBuffer<u16>,
    maps: [TensorMap; 3],
}

impl Batched {
    fn new(size: Size, stack: usize) -> Result<Self> {
        let [a, b, c] = size.elements().map(|elements| stack * elements);
        let (a, b) = (DeviceBuffer::from_slice(&random(3, a))?, DeviceBuffer::from_slice(&random(4, b))?);
        let (c, Size { m, n, k }, deep) = (DeviceBuffer::zeroed(c)?, size, stack as u32);
        let maps = [
            map(&a, TensorElement::Bf16, [k, m, deep], 128)?,
            map(&b, TensorElement::Bf16, [k, n, deep], 128)?,
            map(&c, TensorElement::Bf16, [n, m, deep], 64)?,
        ];
        Ok(Self { size, stack, a, b, c, maps })
    }
}

impl Product for Batched {
    fn name(&self) -> &'static str {
        "bf16, three in a launch"
    }

    fn operations(&self) -> f64 {
        self.stack as f64 * self.size.operations()
    }

    fn reset(&mut self) -> Result<()> {
        let poison = vec![u16::MAX; self.c.len()];
        Ok(self.c.copy_from(&poison)?)
    }

    fn launch(&self, gpu: &Gpu) -> Result<()> {
        let (Size { m, n, k }, stack) = (self.size, self.stack as u32);
        let kernel = kernel!(gpu, matmul_batched, overlapped::SHARED);
        let shape = persistent(gpu, tiles(self.size) * stack, overlapped::SHARED);
        let [a, b, c] = self.maps;
        // SAFETY: the maps are of stacks of these sizes with the boxes that the kernel asks for; nothing else uses them meanwhile.
        unsafe {
            let arguments = (a, b, c, m, n, k, stack, group(self.size, &[]));
            Ok(kernel.launch_unchecked(&gpu.stream, shape, arguments)?)
        }
    }

    fn launch_library(&self, cublas: &Cublas) -> Result<bool> {
        let matrices = [&self.a, &self.b, &self.c].map(address);
        // SAFETY: the stacks have these sizes, and live until the stream has ended its work.
        unsafe { cublas.product(Gemm::Bf16, matrices, self.size, self.stack as u32) }
    }

    fn results(&self) -> Result<Vec<f32>> {
        Ok(self.c.as_host_vec()?.into_iter().map(single).collect())
    }

    fn expected(&self, gpu: &Gpu) -> Result<Vec<f32>> {
        let (a, b, [of_a, of_b, _]) = (self.a.as_host_vec()?, self.b.as_host_vec()?, self.size.elements());
        let products = a.chunks(of_a).zip(b.chunks(of_b)).map(|(a, b)| reference(gpu, self.size, a, b));
        Ok(products.collect::<Result<Vec<_>>>()?.concat())
    }

    fn allowed(&self) -> (f64, f64) {
        allowed(self.size)
    }
}

/// `C = alpha * A * B^T + beta * C` in bf16.
struct WithFactors {
    plain: Plain,
    before: Vec<u16>,
}

impl WithFactors {
    const ALPHA: f32 = 0.5;
    const BETA: f32 = -3.0;

    fn new(size: Size) -> Result<Self> {
        // Its kernel takes the maps of this one.
        Ok(Self { plain: Plain::new(size, Kernel::Overlapped)?, before: random(5, size.elements()[2]) })
    }
}

impl Product for WithFactors {
    fn name(&self) -> &'static str {
        "bf16 with alpha and beta"
    }

    fn operations(&self) -> f64 {
        self.plain.operations()
    }

    fn reset(&mut self) -> Result<()> {
        Ok(self.plain.c.copy_from(&self.before)?)
    }

    fn launch(&self, gpu: &Gpu) -> Result<()> {
        let Plain { size, maps: [a, b, c], .. } = self.plain;
        let Size { m, n, k } = size;
        let kernel = kernel!(gpu, matmul_scaled, overlapped::SHARED);
        let shape = persistent(gpu, tiles(size), overlapped::SHARED);
        // SAFETY: as for a plain product; the pointer is to the matrix that the last map is of.
        unsafe {
            let of_c = read(&self.plain.c);
            let arguments = (a, b, c, of_c, m, n, k, Self::ALPHA, Self::BETA, group(size, &[]));
            Ok(kernel.launch_unchecked(&gpu.stream, shape, arguments)?)
        }
    }

    fn launch_library(&self, _: &Cublas) -> Result<bool> {
        Ok(false)
    }

    fn results(&self) -> Result<Vec<f32>> {
        self.plain.results()
    }

    fn expected(&self, gpu: &Gpu) -> Result<Vec<f32>> {
        let products = self.plain.expected(gpu)?;
        let with = |(product, &before): (f32, &u16)| Self::ALPHA * product + Self::BETA * single(before);
        Ok(products.into_iter().zip(&self.before).map(with).collect())
    }

    fn allowed(&self) -> (f64, f64) {
        self.plain.allowed()
    }
}

/// `C = A * B^T` for A and B in FP8, C in bf16.
struct Fp8 {
    size: Size,
    /// Whether each 128 products are summed apart, and not all by the tensor cores alone.
    promoted: bool,
    a: Vec<u8>,
    b: Vec<u8>,
    /// What the maps of A and B are of.
    _operands: [DeviceBuffer<u8>; 2],
    c: DeviceBuffer<u16>,
    maps: [TensorMap; 3],
}

impl Fp8 {
    fn new(size: Size, promoted: bool) -> Result<Self> {
        let [a, b, c] = size.elements();
        let [a, b] = [(6, a), (7, b)].map(|(seed, count)| numbers(seed, count).map(e4m3).collect::<Vec<_>>());
        let operands = [DeviceBuffer::from_slice(&a)?, DeviceBuffer::from_slice(&b)?];
        let (c, Size { m, n, k }) = (DeviceBuffer::zeroed(c)?, size);
        let maps = [
            map(&operands[0], TensorElement::U8, [k, m], 128)?,
            map(&operands[1], TensorElement::U8, [k, n], 128)?,
            map(&c, TensorElement::Bf16, [n, m], 64)?,
        ];
        Ok(Self { size, promoted, a, b, _operands: operands, c, maps })
    }
}

impl Product for Fp8 {
    fn name(&self) -> &'static str {
        if self.promoted { "FP8 (e4m3), promoted" } else { "FP8 (e4m3)" }
    }

    fn operations(&self) -> f64 {
        self.size.operations()
    }

    fn reset(&mut self) -> Result<()> {
        let poison = vec![u16::MAX; self.c.len()];
        Ok(self.c.copy_from(&poison)?)
    }

    fn launch(&self, gpu: &Gpu) -> Result<()> {
        let (Size { m, n, k }, [a, b, c]) = (self.size, self.maps);
        let shape = persistent(gpu, tiles(self.size), overlapped::SHARED);
        let arguments = (a, b, c, m, n, k, 1.0_f32, group(self.size, &[]));
        if self.promoted {
            let kernel = kernel!(gpu, matmul_e4m3_promoted, promoted::SHARED);
            // SAFETY: the maps are of matrices of these sizes with the boxes that the kernel asks for; nothing else uses them
            // meanwhile.
            unsafe { kernel.launch_unchecked(&gpu.stream, shape, arguments)? };
        } else {
            let kernel = kernel!(gpu, matmul_e4m3, overlapped::SHARED);
            // SAFETY: as above.
            unsafe { kernel.launch_unchecked(&gpu.stream, shape, arguments)? };
        }
        Ok(())
    }

    fn launch_library(&self, _: &Cublas) -> Result<bool> {
        // cublasGemmEx has no FP8; `coalesce compare matmul --library cublaslt` compares with what has.
        Ok(false)
    }

    fn results(&self) -> Result<Vec<f32>> {
        Ok(self.c.as_host_vec()?.into_iter().map(single).collect())
    }

    fn expected(&self, gpu: &Gpu) -> Result<Vec<f32>> {
        let [a, b] =
            [&self.a, &self.b].map(|matrix| matrix.iter().map(|&x| e4m3_as_bf16(x)).collect::<Vec<_>>());
        reference(gpu, self.size, &a, &b)
    }

    fn allowed(&self) -> (f64, f64) {
        // Tensor cores keep some 14 bits of such sums and cut off the rest: of 128 terms, or of all.
        let of_sum = if self.promoted { 1e-3 } else { 2e-2 };
        (1.0 / 256.0, of_sum * f64::from(self.size.k).sqrt())
    }
}

/// `C = A * B^T` for f32, at the accuracy of f32: three products of TF32.
struct Single {
    size: Size,
    a: DeviceBuffer<f32>,
    b: DeviceBuffer<f32>,
    c: DeviceBuffer<f32>,
    /// The high and then the low parts of A and of B.
    parts: [DeviceBuffer<f32>; 2],
    maps: [TensorMap; 2],
}

impl Single {
    fn new(size: Size) -> Result<Self> {
        let ([a, b, c], Size { m, n, k }) = (size.elements(), size);
        let parts = [DeviceBuffer::zeroed(2 * a)?, DeviceBuffer::zeroed(2 * b)?];
        let maps = [
            map(&parts[0], TensorElement::F32, [k, m, 2], promoted::TF32_SIDE)?,
            map(&parts[1], TensorElement::F32, [k, n, 2], promoted::TF32_SIDE)?,
        ];
        let [a, b] = [(8, a), (9, b)].map(|(seed, count)| numbers(seed, count).collect::<Vec<_>>());
        let (a, b) = (DeviceBuffer::from_slice(&a)?, DeviceBuffer::from_slice(&b)?);
        Ok(Self { size, a, b, c: DeviceBuffer::zeroed(c)?, parts, maps })
    }
}

impl Product for Single {
    fn name(&self) -> &'static str {
        "f32 by three of TF32"
    }

    fn operations(&self) -> f64 {
        self.size.operations()
    }

    fn reset(&mut self) -> Result<()> {
        let poison = vec![f32::NAN; self.c.len()];
        Ok(self.c.copy_from(&poison)?)
    }

    fn launch(&self, gpu: &Gpu) -> Result<()> {
        let (Size { m, n, k }, [a, b]) = (self.size, self.maps);
        let split = gpu.products.kernel::<split_tf32>()?;
        let shape = Shape { grid: [8 * gpu.multiprocessors, 1, 1], block: [256, 1, 1], shared: 0 };
        for (matrix, parts) in [&self.a, &self.b].into_iter().zip(&self.parts) {
            // SAFETY: the parts are twice as many, and the stream's launches follow one another.
            unsafe { split.launch_unchecked(&gpu.stream, shape, (slice(matrix), write(parts)))? };
        }
        let kernel = kernel!(gpu, matmul_3xtf32, promoted::TF32_SHARED);
        let side = promoted::TF32_SIDE;
        let shape = persistent(gpu, m.div_ceil(side) * n.div_ceil(side), promoted::TF32_SHARED);
        // SAFETY: the maps are of the parts with the boxes that the kernel asks for; nothing else uses C meanwhile.
        unsafe {
            let arguments = (a, b, write(&self.c), m, n, k, 1.0_f32, 0.0_f32, 8_u32);
            Ok(kernel.launch_unchecked(&gpu.stream, shape, arguments)?)
        }
    }

    fn launch_library(&self, cublas: &Cublas) -> Result<bool> {
        let matrices = [address(&self.a), address(&self.b), address(&self.c)];
        // SAFETY: the matrices have these sizes, and live until the stream has ended its work.
        unsafe { cublas.product(Gemm::F32, matrices, self.size, 1) }
    }

    fn results(&self) -> Result<Vec<f32>> {
        Ok(self.c.as_host_vec()?)
    }

    /// In double precision, on the host.
    fn expected(&self, _: &Gpu) -> Result<Vec<f32>> {
        let (a, b, k) = (self.a.as_host_vec()?, self.b.as_host_vec()?, self.size.k as usize);
        let dot = |a: &[f32], b: &[f32]| -> f64 {
            let mut sums = [0.0; 8];
            for (a, b) in a.chunks(8).zip(b.chunks(8)) {
                for ((sum, &a), &b) in sums.iter_mut().zip(a).zip(b) {
                    *sum += f64::from(a) * f64::from(b);
                }
            }
            sums.iter().sum()
        };
        Ok(a.chunks(k).flat_map(|a| b.chunks(k).map(move |b| dot(a, b) as f32)).collect())
    }

    fn allowed(&self) -> (f64, f64) {
        (1e-7, 1e-6 * f64::from(self.size.k).sqrt())
    }
}
