//! `matmul`: the same number, read a thousand times. The kernels and what to expect of them are in gpu-kernels'
//! `matmul.rs` and `unchecked/register.rs`.

mod product;

use super::{
    Buffer, BytesMoved, Contents, Experiment, KernelInfo, Matrices, Place, Point, Request, Scale, Shape,
    Work, articles, covering, covering_2d, findings,
};
use crate::{
    device::{Backend, DeviceInfo},
    sizes::Bytes,
    verify::Expected,
};
use anyhow::{Context, Result, bail};
use gpu_kernels::{
    matmul::{matmul_naive, matmul_tiled_16, matmul_tiled_32, matmul_tiled_dynamic},
    unchecked::register::{self, matmul_register},
};
use product::{Matrix, Product};
use record::{Parameters, Record};
use report::{Article, Picture};
use std::sync::Arc;

/// C = alpha * A * B + beta * C.
pub(super) struct Matmul;

/// Bytes of an element.
const SIZE: u64 = 4;

/// How a kernel divides C among its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Division {
    /// One element per thread, in blocks of any shape.
    Elements,
    /// Tiles of this width, one element per thread.
    Tiles(u32),
    /// The same in dynamic shared memory, with a width that the launch says.
    Dynamic,
    /// Squares with this side, each moved by a block of `threads`.
    Squares { side: u32, threads: u32 },
}

/// A kernel, which takes A, B, C, their sizes, alpha and beta.
struct Kernel {
    info: KernelInfo,
    division: Division,
    work: fn(Matrices, (f32, f32)) -> Work,
}

macro_rules! kernel {
    ($kernel:ty, $division:expr) => {
        Kernel {
            info: KernelInfo::of::<$kernel>(),
            division: $division,
            work: |Matrices { m, n, k }, (alpha, beta)| {
                Work::kernel::<$kernel>(move |buffers| {
                    (buffers.read(0), buffers.read(1), buffers.write(2), m, n, k, alpha, beta)
                })
            },
        }
    };
}

/// The kernels. A new one is a line here and a function in gpu-kernels' `matmul.rs`.
const KERNELS: [Kernel; 5] = [
    kernel!(matmul_naive, Division::Elements),
    kernel!(matmul_tiled_16, Division::Tiles(16)),
    kernel!(matmul_tiled_32, Division::Tiles(32)),
    kernel!(matmul_tiled_dynamic, Division::Dynamic),
    kernel!(matmul_register, Division::Squares { side: register::SIDE, threads: 256 }),
];

/// The widths of dynamic tiles in a run that names none.
const TILES: [u32; 2] = [16, 32];

/// The block of `matmul_naive` in a run that names none.
const BLOCK: [u32; 2] = [16, 16];

/// Sizes in a check: whole squares and tiles, and remainders on every side.
const SMALL: [Matrices; 2] = [Matrices { m: 128, n: 128, k: 16 }, Matrices { m: 70, n: 133, k: 37 }];

/// Sides of the matrices in a run that names no size: on a GPU, where all kernels fill the card, and beyond L2 with `--full`.
const USUAL: u32 = 2048;
const LARGE: u32 = 4096;

/// Columns of A on a simulated card, where a product that fills the card has to be shallow to be soon done.
const SHALLOW: u32 = 64;

impl Experiment for Matmul {
    fn name(&self) -> &'static str {
        "matmul"
    }

    fn summary(&self) -> &'static str {
        "C = alpha A B + beta C: data reuse in shared memory and in registers"
    }

    fn reading(&self) -> &'static str {
        "GB/s and intensity count the loads from global memory: two per multiplication without tiles, 16 or 32 times \
         fewer with tiles. Fewer loads give more GFLOP/s, until shared memory is the limit; tiles in registers go beyond it."
    }

    fn articles(&self) -> &'static [Article] {
        &[articles::MASSIVELY_PARALLEL]
    }

    fn picture(&self) -> Picture {
        Picture::Roofline
    }

    fn finding(&self) -> fn(&[&Record]) -> Option<String> {
        findings::matmul::matmul
    }

    fn options(&self) -> &'static [&'static str] {
        &["size", "tile", "block", "alpha", "beta"]
    }

    fn two_dimensional(&self) -> bool {
        true
    }

    fn kernels(&self) -> Vec<KernelInfo> {
        KERNELS.map(|kernel| kernel.info).to_vec()
    }

    fn notes(&self, request: &Request, device: &DeviceInfo) -> Vec<String> {
        let left_out = KERNELS
            .iter()
            .filter(|kernel| request.wants(kernel.info.name) && !is_possible(kernel, request, device));
        let reason = |kernel: &Kernel| {
            format!(
                "{} is left out: its tiles need more threads per block than the {} of {}",
                kernel.info.name,
                device.max_threads_per_block,
                device.plain_name(),
            )
        };
        left_out.map(reason).collect()
    }

    fn plan(&self, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>> {
        let factors = (request.choices.alpha.unwrap_or(1.0), request.choices.beta.unwrap_or(0.0));
        let mut points = Vec::new();
        for matrices in sizes(request, device) {
            let task = Task::new(matrices, factors, device)?;
            for kernel in &KERNELS {
                if request.wants(kernel.info.name) && is_possible(kernel, request, device) {
                    for (shape, width) in shapes(matrices, kernel.division, request, device)? {
                        points.push(task.point(kernel, shape, width)?);
                    }
                }
            }
        }
        Ok(points)
    }
}

/// The sizes to run with.
fn sizes(request: &Request, device: &DeviceInfo) -> Vec<Matrices> {
    let square = |n| Matrices { m: n, n, k: n };
    match (request.scale, device.backend()) {
        _ if !request.choices.size.is_empty() => request.choices.size.clone(),
        (Scale::Small, _) => SMALL.to_vec(),
        (Scale::Quick, Backend::Modelled) => vec![filling(device)],
        (Scale::Quick, Backend::Measured) => vec![square(USUAL)],
        (Scale::Full, _) => vec![square(USUAL), square(LARGE)],
    }
}

/// The smallest product whose largest squares give each multiprocessor a block.
fn filling(device: &DeviceInfo) -> Matrices {
    let across = device.multiprocessors.isqrt().max(1);
    let down = device.multiprocessors.div_ceil(across);
    Matrices { m: down * register::SIDE, n: across * register::SIDE, k: SHALLOW }
}

/// Whether a kernel is to be launched. What the user names is, and if it cannot be, says why; what comes with the others
/// is left out on a device that it does not fit.
fn is_possible(kernel: &Kernel, request: &Request, device: &DeviceInfo) -> bool {
    match kernel.division {
        Division::Tiles(width) => request.names(kernel.info.name) || tile_fits(width, device).is_ok(),
        _ => true,
    }
}

/// The launches of a kernel, and how many columns or rows of C share what a block loads: of an element, one.
fn shapes(
    Matrices { m, n, .. }: Matrices,
    division: Division,
    request: &Request,
    device: &DeviceInfo,
) -> Result<Vec<(Shape, u32)>> {
    let (columns, rows) = (u64::from(n), u64::from(m));
    match division {
        Division::Elements => {
            let chosen = request.choices.block.iter().map(|block| [block.x, block.y]).collect();
            let blocks: Vec<_> = if request.choices.block.is_empty() { vec![BLOCK] } else { chosen };
            blocks.into_iter().map(|block| Ok((covering_2d(columns, rows, block, device)?, 1))).collect()
        }
        Division::Tiles(width) => {
            tile_fits(width, device)?;
            Ok(vec![(covering_2d(columns, rows, [width; 2], device)?, width)])
        }
        Division::Dynamic => {
            let chosen = request.choices.tile.clone();
            let usual = TILES.into_iter().filter(|&width| tile_fits(width, device).is_ok());
            let widths = if chosen.is_empty() { usual.collect() } else { chosen };
            let shape = |&width: &u32| {
                tile_fits(width, device)?;
                Ok((covering_2d(columns, rows, [width; 2], device)?, width))
            };
            widths.iter().map(shape).collect()
        }
        Division::Squares { side, threads } => {
            let squares = [columns, rows].map(|length| length.div_ceil(u64::from(side)));
            let grid = covering_2d(squares[0], squares[1], [1, 1], device)?.grid;
            let block = covering(1, threads, device)?.block;
            Ok(vec![(Shape::new(grid, block), side)])
        }
    }
}

/// Bytes of a block's two tiles: the kernel's contract has them too, but `tile_fits` says what would fit.
fn tile_bytes(width: u32) -> u128 {
    2 * u128::from(width) * u128::from(width) * u128::from(SIZE)
}

/// Refuses a tile that the device cannot launch.
fn tile_fits(width: u32, device: &DeviceInfo) -> Result<()> {
    let threads = u64::from(width) * u64::from(width);
    let (most, shared) = (u64::from(device.max_threads_per_block), u64::from(device.max_shared_per_block));
    if threads <= most && tile_bytes(width) <= shared.into() {
        return Ok(());
    }
    let widest = most.min(shared / (2 * SIZE)).isqrt();
    bail!(
        "tiles of {width} x {width} cannot be launched: a block would have {threads} threads and {} of shared memory for \
         its two tiles, and {} has at most {most} threads and {} for a block. The widest tile is {widest}",
        readable(tile_bytes(width)),
        device.plain_name(),
        Bytes(shared),
    )
}

/// A size that may be of what no machine has.
fn readable(bytes: u128) -> String {
    u64::try_from(bytes).map_or("more than 2^64 bytes".to_string(), |bytes| Bytes(bytes).to_string())
}

/// A product to compute.
struct Task {
    matrices: Matrices,
    alpha: f32,
    beta: f32,
    product: Arc<Product>,
}

impl Task {
    fn new(matrices: Matrices, (alpha, beta): (f32, f32), device: &DeviceInfo) -> Result<Task> {
        let Matrices { m, n, k } = matrices;
        // Compared with the card before anything is multiplied in 64 bits.
        let bytes =
            u128::from(SIZE) * elements(matrices).iter().map(|&number| u128::from(number)).sum::<u128>();
        if bytes > u128::from(device.memory_bytes) {
            bail!(
                "--size {matrices}: the three matrices have {} in all, and {} has {} of memory; choose a smaller size",
                readable(bytes),
                device.plain_name(),
                Bytes(device.memory_bytes),
            );
        }
        let product = Product::new(m, n, k).with_context(|| {
            format!(
                "--size {matrices}: a sum of {k} products can reach 2^24, beyond which single precision is not exact and the result \
                 cannot be verified. k goes up to {}",
                product::LONGEST,
            )
        })?;
        Ok(Task { matrices, alpha, beta, product: Arc::new(product) })
    }

    /// A launch of a kernel whose blocks load for `width` rows and columns at a time.
    fn point(&self, kernel: &Kernel, shape: Shape, width: u32) -> Result<Point> {
        let Task { matrices, alpha, beta, .. } = *self;
        let Matrices { m, n, k } = matrices;
        let [a, b, c] = elements(matrices);
        let (read, flops) = work_of(matrices, width, beta)
            .with_context(|| format!("--size {matrices}: the product has more operations than 64 bits can count; choose a smaller size"))?;
        let mut more = [("m", m.into()), ("n", n.into()), ("k", k.into())]
            .map(|(name, value): (&str, serde_json::Value)| (name.to_string(), value))
            .to_vec();
        if kernel.division == Division::Dynamic {
            more.push(("tile".to_string(), width.into()));
        }
        if (alpha, beta) != (1.0, 0.0) {
            more.extend([("alpha".to_string(), alpha.into()), ("beta".to_string(), beta.into())]);
        }
        let point = Point::new(Matmul.name(), shape, (kernel.work)(matrices, (alpha, beta)));
        Ok(Point {
            parameters: Parameters {
                bytes: (a + b + c) * SIZE,
                elements: c,
                more: more.into_iter().collect(),
                ..point.parameters
            },
            bytes: BytesMoved {
                read,
                written: c * SIZE,
                footprint: [a, b, c].map(|elements| (elements * SIZE).next_multiple_of(32)).iter().sum(),
            },
            flops: Some(flops),
            buffers: vec![
                self.factor(Matrix::A, a),
                self.factor(Matrix::B, b),
                Buffer {
                    bytes: c * SIZE,
                    place: Place::Device,
                    // Where C is not to be read, it holds NaNs, and reading it would show.
                    before: if beta == 0.0 { Contents::Poison } else { self.numbers(Matrix::C) },
                    after: self.result(),
                },
            ],
            ..point
        })
    }

    /// A matrix that is only read.
    fn factor(&self, matrix: Matrix, elements: u64) -> Buffer {
        let product = Arc::clone(&self.product);
        Buffer {
            bytes: elements * SIZE,
            place: Place::Device,
            before: self.numbers(matrix),
            after: Expected::exactly(move |first, _, values: &mut [f32]| product.fill(matrix, first, values)),
        }
    }

    /// The numbers of a matrix.
    fn numbers(&self, matrix: Matrix) -> Contents {
        let product = Arc::clone(&self.product);
        Contents::of(move |index| product.number(matrix, index))
    }

    /// C after the launches.
    fn result(&self) -> Expected {
        let (product, alpha, beta) = (Arc::clone(&self.product), self.alpha, self.beta);
        Expected::exactly(move |first, launches, values: &mut [f32]| {
            let sums = &product.sums()[first as usize..];
            for (offset, (value, &sum)) in values.iter_mut().zip(sums).enumerate() {
                let before = product.number(Matrix::C, first + offset as u64);
                *value = product::scaled(alpha, beta, sum, before, launches);
            }
        })
    }
}

/// Elements of A, B and C.
fn elements(Matrices { m, n, k }: Matrices) -> [u64; 3] {
    [(m, k), (k, n), (m, n)].map(|(rows, columns)| u64::from(rows) * u64::from(columns))
}

/// Bytes that are loaded if blocks load for `width` rows and columns at a time, and operations. `None` where they are
/// too many to count.
fn work_of(matrices: Matrices, width: u32, beta: f32) -> Option<(u64, u64)> {
    let [a, b, c] = elements(matrices).map(u128::from);
    let (across, down) = (u128::from(matrices.n.div_ceil(width)), u128::from(matrices.m.div_ceil(width)));
    let of_c = if beta == 0.0 { 0 } else { c };
    let loaded = u128::from(SIZE) * (a * across + b * down + of_c);
    let flops = 2 * c * u128::from(matrices.k);
    Some((u64::try_from(loaded).ok()?, u64::try_from(flops).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        device::tests::{c870, h200},
        experiments,
    };

    fn matrices(m: u32, n: u32, k: u32) -> Matrices {
        Matrices { m, n, k }
    }

    #[test]
    fn loads_shrink_with_the_tile() {
        let square = matrices(256, 256, 256);
        // Two numbers a multiplication; a 16th of it; and C once more where it is read.
        assert_eq!(work_of(square, 1, 0.0), Some((8 << 24, 2 << 24)));
        assert_eq!(work_of(square, 16, 0.0), Some((8 << 20, 2 << 24)));
        assert_eq!(work_of(square, 16, 1.0), Some(((8 << 20) + (4 << 16), 2 << 24)));
        // 5 columns are one tile and 17 rows are two: A is loaded once, B twice.
        assert_eq!(work_of(matrices(17, 5, 3), 16, 0.0), Some((4 * (17 * 3 + 2 * 3 * 5), 2 * 17 * 5 * 3)));
        let largest = matrices(1 << 31, 1 << 31, 1 << 31);
        assert_eq!(work_of(largest, 1, 0.0), None);
    }

    #[test]
    fn by_default_every_kernel_fills_the_card() {
        for device in [h200(), DeviceInfo { card: c870().card, ..h200() }, c870()] {
            let points =
                Matmul.points(&experiments::tests::request(), &device).expect("it is a valid request");
            for point in points {
                let blocks = point.parameters.grid.map_or(0, record::Extent::count);
                assert!(blocks >= device.multiprocessors.into(), "{}: {blocks} blocks", point.kernel);
            }
        }
    }

    #[test]
    fn a_tile_that_cannot_launch_says_why() {
        let error = tile_fits(1024, &h200()).expect_err("a million threads").to_string();
        assert_eq!(
            error,
            "tiles of 1024 x 1024 cannot be launched: a block would have 1048576 threads and 8 MiB of shared memory for \
             its two tiles, and NVIDIA H200 has at most 1024 threads and 227 KiB for a block. The widest tile is 32"
        );
        assert!(tile_fits(32, &h200()).is_ok() && tile_fits(33, &h200()).is_err());
        let error = tile_fits(32, &c870()).expect_err("512 threads a block").to_string();
        assert!(error.ends_with("The widest tile is 22"), "{error}");
        assert!(tile_fits(u32::MAX, &h200()).is_err());
    }

    #[test]
    fn what_the_device_cannot_launch_is_left_out_unless_it_is_named() {
        let request = Request { sized: false, ..experiments::tests::request() };
        assert!(Matmul.notes(&request, &h200()).is_empty());
        let notes = Matmul.notes(&request, &c870());
        assert!(notes.len() == 1 && notes[0].starts_with("matmul_tiled_32 is left out: "), "{notes:?}");
        let kernels: Vec<_> = Matmul
            .points(&request, &c870())
            .expect("the rest can be launched")
            .iter()
            .map(|point| (point.kernel, point.parameters.more.get("tile").cloned()))
            .collect();
        assert_eq!(
            kernels,
            [
                ("matmul_naive", None),
                ("matmul_tiled_16", None),
                ("matmul_tiled_dynamic", Some(16.into())),
                ("matmul_register", None)
            ]
        );
        let named = Request { kernels: vec!["matmul_tiled_32".to_string()], ..request };
        assert!(Matmul.notes(&named, &c870()).is_empty());
        assert!(Matmul.points(&named, &c870()).is_err());
    }

    #[test]
    fn matrices_that_cannot_be_are_refused() {
        let refusal =
            |m, n, k| Task::new(matrices(m, n, k), (1.0, 0.0), &h200()).err().map(|error| error.to_string());
        assert_eq!(refusal(100, 3, 50), None);
        let error = refusal(1 << 31, 1 << 31, 1 << 31).expect("2^66 bytes");
        assert!(error.contains("--size 2147483648: the three matrices have more than 2^64 bytes"), "{error}");
        let error = refusal(1 << 20, 1 << 20, 1).expect("4 TiB");
        assert!(error.contains("have 4.0 TiB in all, and NVIDIA H200 has"), "{error}");
        let error = refusal(1, 1, 1 << 24).expect("sums beyond 2^24");
        assert!(error.contains("--size 1x1x16777216") && error.contains("16777215"), "{error}");
    }
}
