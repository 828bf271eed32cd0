//! A product's buffers, its launches, and what it is compared with.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context as _, Error, Result, bail};
use cuda_driver::ext::{
    TensorElement, TensorMap, TensorMapConfig, TensorSwizzle, set_max_dynamic_shared_memory,
};
use cuda_launch::{Launch as _, Module, Shape};
use cuda_std::launch::{Pointer, PointerMut};
use cuda_std::vector::U32x4;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::Stream;
use example_kernels::product::product_of_bf16;
use gpu_kernels::unchecked::tensor::{mma, overlapped, warpgroup};

use crate::cublas::Cublas;

/// Sizes of a product: C has `m` rows of `n`, the sums have `k` terms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) m: u32,
    pub(crate) n: u32,
    pub(crate) k: u32,
}

impl Size {
    pub(crate) fn cube(side: u32) -> Self {
        Self { m: side, n: side, k: side }
    }

    /// A multiplication and an addition for each term.
    pub(crate) fn operations(self) -> f64 {
        2.0 * f64::from(self.m) * f64::from(self.n) * f64::from(self.k)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} x {} x {}", self.m, self.n, self.k))
    }
}

impl FromStr for Size {
    type Err = Error;

    /// Reads `4096` or `4096x14336x4096`.
    fn from_str(text: &str) -> Result<Self> {
        let numbers: Vec<u32> =
            text.split('x').map(str::parse).collect::<Result<_, _>>().with_context(|| {
                format!("`{text}` is not a size: write 4096, or MxNxK as in 4096x14336x4096")
            })?;
        let size = match numbers[..] {
            [side] => Self::cube(side),
            [m, n, k] => Self { m, n, k },
            _ => bail!("`{text}` is not a size: write 4096, or MxNxK as in 4096x14336x4096"),
        };
        if [size.m, size.n, size.k].contains(&0) || size.n % 8 != 0 || size.k % 8 != 0 {
            bail!("`{text}`: N and K must be multiples of 8, because rows begin at multiples of 16 bytes");
        }
        Ok(size)
    }
}

/// The kernels, slowest first.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kernel {
    Mma,
    Wgmma,
    Overlapped,
}

impl Kernel {
    pub(crate) const ALL: [Self; 3] = [Self::Mma, Self::Wgmma, Self::Overlapped];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Mma => "matmul_mma",
            Self::Wgmma => "matmul_wgmma",
            Self::Overlapped => "matmul_overlapped",
        }
    }
}

/// A bf16 that is not a number: what no kernel may leave in C.
const POISON: u16 = 0xffff;
/// Elements behind C that no kernel may touch.
const GUARD: usize = 4096;

/// Matrices on the device, and tensor maps of them.
pub(crate) struct Product {
    size: Size,
    a: DeviceBuffer<u16>,
    b: DeviceBuffer<u16>,
    c: DeviceBuffer<u16>,
    /// Each kernel's maps, of 16 words each.
    wgmma: [DeviceBuffer<u64>; 2],
    overlapped: [DeviceBuffer<u64>; 3],
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

impl Product {
    /// Matrices of random numbers from -1 to 1.
    pub(crate) fn random(size: Size) -> Result<Self> {
        let Size { m, n, k } = size;
        let mut state = u64::from(m) << 40 | u64::from(n) << 20 | u64::from(k);
        let mut numbers = |count: usize| -> Vec<u16> {
            (0..count)
                .map(|_| {
                    // A step of splitmix64, of which 24 bits become a number.
                    state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                    let number = (mixed >> 40) as f32 / (1 << 23) as f32 - 1.0;
                    (number.to_bits() >> 16) as u16
                })
                .collect()
        };
        let a = DeviceBuffer::from_slice(&numbers(m as usize * k as usize))?;
        let b = DeviceBuffer::from_slice(&numbers(n as usize * k as usize))?;
        let c = DeviceBuffer::from_slice(&vec![POISON; m as usize * n as usize + GUARD])?;
        let map = |matrix: &DeviceBuffer<u16>, rows: u32, columns: u32, box_rows: u32| -> Result<_> {
            let address = matrix.as_device_ptr().as_raw();
            let sizes = [columns.into(), rows.into()];
            let config = TensorMapConfig::contiguous(TensorElement::Bf16, address, sizes, [64, box_rows]);
            let map = TensorMap::tiled(&TensorMapConfig { swizzle: TensorSwizzle::Bytes128, ..config })?;
            Ok(DeviceBuffer::from_slice(&map.0.opaque)?)
        };
        let wgmma = [map(&a, m, k, 64)?, map(&b, n, k, 256)?];
        let overlapped = [map(&a, m, k, 128)?, map(&b, n, k, 128)?, map(&c, m, n, 64)?];
        Ok(Self { size, a, b, c, wgmma, overlapped })
    }

    /// The product by a kernel that has nothing in common with the others.
    pub(crate) fn reference(&self, module: &Module, stream: &Stream) -> Result<Vec<f32>> {
        let Size { m, n, k } = self.size;
        let mut c = DeviceBuffer::from_slice(&vec![f32::NAN; m as usize * n as usize])?;
        let shape = Shape::covering([n, m], [32, 8]);
        product_of_bf16::launch(module, stream, shape, (&self.a, &self.b, &mut c, m, n, k))?;
        Ok(c.as_host_vec()?)
    }

    /// Runs a kernel twice over poison and compares every element with the reference, and the second result with the
    /// first.
    pub(crate) fn verify(
        &mut self,
        module: &Module,
        kernel: Kernel,
        multiprocessors: u32,
        stream: &Stream,
        reference: &[f32],
    ) -> Result<Verdict> {
        let poison = vec![POISON; self.c.len()];
        let mut results = Vec::new();
        for _ in 0..2 {
            self.c.copy_from(&poison)?;
            self.launch(module, kernel, multiprocessors, stream)?;
            stream.synchronize().with_context(|| format!("{} at {}", kernel.name(), self.size))?;
            results.push(self.c.as_host_vec()?);
        }
        let (c, guard) = results[0].split_at(reference.len());
        // A result is rounded to eight bits; the order of the sums changes them by far less than the second term.
        let allowed = 1e-4 * f64::from(self.size.k).sqrt();
        let (mut errors, mut squares, mut wrong) = (0.0, 0.0, 0);
        for (&bits, &expected) in c.iter().zip(reference) {
            let (result, expected) = (f64::from(f32::from_bits(u32::from(bits) << 16)), f64::from(expected));
            let error = (result - expected).abs();
            errors += error * error;
            squares += expected * expected;
            // Not `error > ..`, which is false for what is no number.
            let is_right = error <= expected.abs() / 256.0 + allowed;
            wrong += usize::from(!is_right);
        }
        wrong += guard.iter().filter(|&&bits| bits != POISON).count();
        wrong += results[1].iter().zip(&results[0]).filter(|(second, first)| second != first).count();
        Ok(Verdict { wrong, elements: reference.len(), relative: f64::sqrt(errors / squares) })
    }

    /// Queues a launch.
    pub(crate) fn launch(
        &mut self,
        module: &Module,
        kernel: Kernel,
        multiprocessors: u32,
        stream: &Stream,
    ) -> Result<()> {
        let Size { m, n, k } = self.size;
        let map = |map: &DeviceBuffer<u64>| Pointer::new(map.as_device_ptr().as_raw());
        let c = || PointerMut::new(self.c.as_device_ptr().as_raw());
        // Rows of tiles of a band, whose operands L2 holds: as many as measured best on an H200.
        let group = match m.max(n) {
            0..=4096 => 16_u32,
            4097..=8192 => 12,
            _ => 8,
        };
        // SAFETY: the buffers live until the stream has ended its work, nothing else touches them meanwhile, and the shapes,
        // boxes and sizes are those that the kernels ask for.
        unsafe {
            match kernel {
                Kernel::Mma => {
                    let vectors = |matrix: &DeviceBuffer<u16>| {
                        cuda_std::launch::Slice::<U32x4>::new(
                            matrix.as_device_ptr().as_raw(),
                            matrix.len() / 8,
                        )
                    };
                    let shape = grid(n.div_ceil(mma::SIDE), m.div_ceil(mma::SIDE), 256);
                    let kernel = module.kernel::<mma::matmul_mma>()?;
                    kernel.launch_unchecked(
                        stream,
                        shape,
                        (vectors(&self.a), vectors(&self.b), c(), m, n, k),
                    )?;
                }
                Kernel::Wgmma => {
                    let kernel = module.kernel::<warpgroup::matmul_wgmma>()?;
                    set_max_dynamic_shared_memory(kernel.function().to_raw(), warpgroup::SHARED)?;
                    let tiles = m.div_ceil(warpgroup::ROWS) * n.div_ceil(warpgroup::COLUMNS);
                    let shape = grid(tiles, 1, 128).with_shared(warpgroup::SHARED);
                    let [a, b] = &self.wgmma;
                    kernel.launch_unchecked(stream, shape, (map(a), map(b), c(), m, n, k, group))?;
                }
                Kernel::Overlapped => {
                    let kernel = module.kernel::<overlapped::matmul_overlapped>()?;
                    set_max_dynamic_shared_memory(kernel.function().to_raw(), overlapped::SHARED)?;
                    let tiles = m.div_ceil(overlapped::ROWS) * n.div_ceil(overlapped::COLUMNS);
                    let shape = grid(tiles.min(multiprocessors), 1, 384).with_shared(overlapped::SHARED);
                    let [a, b, c] = &self.overlapped;
                    kernel.launch_unchecked(stream, shape, (map(a), map(b), map(c), m, n, k, group))?;
                }
            }
        }
        Ok(())
    }

    /// Queues the same product by cuBLAS.
    pub(crate) fn launch_cublas(&mut self, cublas: &Cublas) -> Result<()> {
        let [a, b, c] = [&self.a, &self.b, &self.c].map(|matrix| matrix.as_device_ptr().as_raw());
        let Size { m, n, k } = self.size;
        // SAFETY: the matrices have these sizes, and live until the stream has ended its work.
        unsafe { cublas.product([a, b, c], [m, n, k]) }
    }
}

fn grid(x: u32, y: u32, threads: u32) -> Shape {
    Shape { grid: [x, y, 1], block: [threads, 1, 1], shared: 0 }
}
