//! `idioms`: what safety costs. A copy, a transpose and a matrix product, each written with types, with checked indexing, with
//! iterators and `get`, with assertions up front, and unchecked behind the launch contract; what the compiler makes of each is
//! in gpu-kernels' `idioms.rs`.

use super::{
    Buffer, BytesMoved, Contents, Experiment, KernelInfo, Matrices, Place, Point, Precision, Request, Scale,
    Shape, Work, check_size, copy, covering, covering_2d, findings,
};
use crate::{
    device::{Backend, DeviceInfo},
    verify::Expected,
};
use anyhow::{Context, Result, bail};
use gpu_kernels::{
    idioms::{
        copy::{asserted_copy, checked_copy, iterated_copy, typed_copy},
        matmul::{asserted_matmul, checked_matmul, iterated_matmul, typed_matmul},
        transpose::typed_transpose,
    },
    transpose::tiles::TILE,
    unchecked::idioms::{
        asserted_transpose, checked_transpose, iterated_transpose, unchecked_copy, unchecked_matmul,
        unchecked_transpose,
    },
};
use pattern::SEED;
use record::{Parameters, Record};
use report::{Article, Picture};

/// Three tasks, each in five ways.
pub(super) struct Idioms;

/// The task of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    Copy,
    Transpose,
    Matmul,
}

impl Task {
    fn name(self) -> &'static str {
        match self {
            Task::Copy => "copy",
            Task::Transpose => "transpose",
            Task::Matmul => "matmul",
        }
    }
}

/// A kernel, its task, and the way in which it is written.
struct Kernel {
    info: KernelInfo,
    task: Task,
    way: &'static str,
    /// Its launches, by the elements of the output and the sizes of the matrices: nx and ny, or m, n and k.
    work: fn(u64, [u32; 3]) -> Work,
}

/// The tasks, in the order of their rows.
const TASKS: [Task; 3] = [Task::Copy, Task::Transpose, Task::Matmul];

macro_rules! kernel {
    ($kernel:ty, $task:expr, $way:literal, |$buffers:ident, $elements:pat_param, $sizes:pat_param| $arguments:expr) => {
        Kernel {
            info: KernelInfo::of::<$kernel>(),
            task: $task,
            way: $way,
            work: |$elements, $sizes| Work::kernel::<$kernel>(move |$buffers| $arguments),
        }
    };
}

macro_rules! copy {
    ($kernel:ty, $way:literal) => {
        kernel!($kernel, Task::Copy, $way, |buffers, n, _| (buffers.read(0), buffers.write(1), n as usize))
    };
}

macro_rules! transpose {
    ($kernel:ty, $way:literal) => {
        kernel!($kernel, Task::Transpose, $way, |buffers, _, [nx, ny, _]| {
            (buffers.read(0), buffers.write(1), nx, ny)
        })
    };
}

macro_rules! matmul {
    ($kernel:ty, $way:literal) => {
        kernel!($kernel, Task::Matmul, $way, |buffers, _, [m, n, k]| {
            (buffers.read(0), buffers.read(1), buffers.write(2), m, n, k)
        })
    };
}

/// The kernels.
const KERNELS: [Kernel; 15] = [
    kernel!(typed_copy, Task::Copy, "typed", |buffers, _, _| (buffers.read(0), buffers.write(1))),
    copy!(checked_copy, "checked"),
    copy!(iterated_copy, "iterated"),
    copy!(asserted_copy, "asserted"),
    copy!(unchecked_copy, "unchecked"),
    transpose!(typed_transpose, "typed"),
    transpose!(checked_transpose, "checked"),
    transpose!(iterated_transpose, "iterated"),
    transpose!(asserted_transpose, "asserted"),
    transpose!(unchecked_transpose, "unchecked"),
    matmul!(typed_matmul, "typed"),
    matmul!(checked_matmul, "checked"),
    matmul!(iterated_matmul, "iterated"),
    matmul!(asserted_matmul, "asserted"),
    matmul!(unchecked_matmul, "unchecked"),
];

/// Threads per block of the copy.
const COPY_BLOCK: u32 = 256;

/// Threads per block of the transpose, which moves tiles of [`TILE`] by [`TILE`].
const TRANSPOSE_BLOCK: [u32; 2] = [32, 8];

/// Threads per block of the product.
const MATMUL_BLOCK: [u32; 2] = [16, 16];

impl Experiment for Idioms {
    fn name(&self) -> &'static str {
        "idioms"
    }

    fn summary(&self) -> &'static str {
        "a copy, a transpose and a product, each in five ways: what bounds checks cost"
    }

    fn reading(&self) -> &'static str {
        "A check costs little in a memory-bound kernel. It costs time in an issue-bound kernel, and more where it \
         serialises loads. docs/rust-tax.md says how to remove each check."
    }

    fn articles(&self) -> &'static [Article] {
        &[]
    }

    fn picture(&self) -> Picture {
        Picture::Bars { by: &["size"] }
    }

    fn finding(&self) -> fn(&[&Record]) -> Option<String> {
        findings::idioms::idioms
    }

    fn options(&self) -> &'static [&'static str] {
        &["bytes", "nx", "ny", "size"]
    }

    fn kernels(&self) -> Vec<KernelInfo> {
        KERNELS.iter().map(|kernel| kernel.info).collect()
    }

    fn unit(&self, request: &Request) -> u64 {
        if wanted(request, Task::Copy).next().is_some() { Precision::F32.size() } else { 1 }
    }

    fn plan(&self, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>> {
        let mut points = Vec::new();
        for task in TASKS.into_iter().filter(|&task| wanted(request, task).next().is_some()) {
            match task {
                Task::Copy => {
                    check_size(&[self], request)?;
                    for kernel in wanted(request, task) {
                        points.push(copy(kernel, request.bytes, device)?);
                    }
                }
                Task::Transpose => {
                    for [nx, ny] in transposes(request, device) {
                        for kernel in wanted(request, task) {
                            points.push(transpose(kernel, nx, ny, device)?);
                        }
                    }
                }
                Task::Matmul => {
                    for sizes in products(request, device) {
                        for kernel in wanted(request, task) {
                            points.push(matmul(kernel, sizes, device)?);
                        }
                    }
                }
            }
        }
        Ok(points)
    }
}

/// The kernels of a task that are asked for.
fn wanted(request: &Request, task: Task) -> impl Iterator<Item = &'static Kernel> {
    KERNELS.iter().filter(move |kernel| kernel.task == task && request.wants(kernel.info.name))
}

/// Columns and rows of the matrices to transpose.
fn transposes(request: &Request, device: &DeviceInfo) -> Vec<[u32; 2]> {
    let choices = &request.choices;
    if let Some(nx) = choices.nx.or(choices.ny) {
        return vec![[nx, choices.ny.unwrap_or(nx)]];
    }
    match (request.scale, device.backend()) {
        (Scale::Small, _) => vec![[100, 67]],
        (Scale::Quick, Backend::Modelled) => vec![[1024; 2]],
        (Scale::Quick, Backend::Measured) => vec![[8192; 2]],
        (Scale::Full, _) => vec![[2048; 2], [16384; 2]],
    }
}

/// Sizes of the matrices to multiply.
fn products(request: &Request, device: &DeviceInfo) -> Vec<Matrices> {
    if !request.choices.size.is_empty() {
        return request.choices.size.clone();
    }
    let square = |n| Matrices { m: n, n, k: n };
    match (request.scale, device.backend()) {
        (Scale::Small, _) => vec![Matrices { m: 33, n: 45, k: 29 }],
        (Scale::Quick, Backend::Modelled) => vec![square(256)],
        (Scale::Quick, Backend::Measured) => vec![square(1024)],
        (Scale::Full, _) => vec![square(1024), square(4096)],
    }
}

/// The point of a kernel, with what all of them have.
fn point(
    kernel: &Kernel,
    size: String,
    bytes: BytesMoved,
    elements: u64,
    shape: Shape,
    sizes: [u32; 3],
) -> Point {
    let point = Point::new(Idioms.name(), shape, (kernel.work)(elements, sizes));
    let parameters = Parameters {
        bytes: bytes.read,
        elements,
        precision: Some(Precision::F32),
        ..point.parameters.with("task", kernel.task.name()).with("way", kernel.way).with("size", size)
    };
    Point { parameters, bytes, ..point }
}

/// `destination[i] = source[i]`.
fn copy(kernel: &Kernel, bytes: u64, device: &DeviceInfo) -> Result<Point> {
    let elements = bytes / Precision::F32.size();
    let shape = covering(elements, COPY_BLOCK, device)?;
    let moved = BytesMoved { read: bytes, written: bytes, footprint: 2 * bytes };
    Ok(Point {
        buffers: vec![source(bytes), output(bytes, |index| index)],
        ..point(kernel, elements.to_string(), moved, elements, shape, [0; 3])
    })
}

/// `destination[column * ny + row] = source[row * nx + column]`.
fn transpose(kernel: &Kernel, nx: u32, ny: u32, device: &DeviceInfo) -> Result<Point> {
    let (columns, rows) = (u64::from(nx), u64::from(ny));
    let elements = columns * rows;
    let bytes = bytes_of(elements).with_context(|| format!("a matrix of {nx} by {ny}"))?;
    let tiles = [columns.div_ceil(TILE.into()), rows.div_ceil(TILE.into())];
    let threads = [tiles[0] * u64::from(TRANSPOSE_BLOCK[0]), tiles[1] * u64::from(TRANSPOSE_BLOCK[1])];
    let shape = covering_2d(threads[0], threads[1], TRANSPOSE_BLOCK, device)?;
    let moved = BytesMoved { read: bytes, written: bytes, footprint: 2 * bytes };
    let point = point(kernel, format!("{nx}x{ny}"), moved, elements, shape, [nx, ny, 0]);
    Ok(Point {
        parameters: point.parameters.with("nx", nx).with("ny", ny),
        buffers: vec![source(bytes), output(bytes, move |index| index % rows * columns + index / rows)],
        ..point
    })
}

/// `c = a * b`.
fn matmul(kernel: &Kernel, sizes: Matrices, device: &DeviceInfo) -> Result<Point> {
    let Matrices { m, n, k } = sizes;
    let product = Product::new(sizes)?;
    let (rows, columns, terms) = (u64::from(m), u64::from(n), u64::from(k));
    let lengths = [rows * terms, terms * columns, rows * columns];
    let mut bytes = [0; 3];
    for (bytes, length) in bytes.iter_mut().zip(lengths) {
        *bytes = bytes_of(length).with_context(|| format!("a product of {sizes}"))?;
    }
    let read =
        bytes[0].checked_add(bytes[1]).with_context(|| format!("a product of {sizes} is too large"))?;
    let footprint =
        read.checked_add(bytes[2]).with_context(|| format!("a product of {sizes} is too large"))?;
    let shape = covering_2d(columns, rows, MATMUL_BLOCK, device)?;
    let moved = BytesMoved { read, written: bytes[2], footprint };
    let point = point(kernel, format!("{m}x{n}x{k}"), moved, lengths[2], shape, [m, n, k]);
    let kept = |bytes, element: fn(&Product, u64) -> f32| Buffer {
        bytes,
        place: Place::Device,
        before: Contents::of(move |index| element(&product, index)),
        after: elements(move |index| element(&product, index)),
    };
    Ok(Point {
        parameters: point.parameters.with("m", m).with("n", n).with("k", k),
        flops: 2_u64.checked_mul(lengths[2]).and_then(|both| both.checked_mul(terms)),
        buffers: vec![
            kept(bytes[0], Product::left),
            kept(bytes[1], Product::right),
            Buffer {
                bytes: bytes[2],
                place: Place::Device,
                before: Contents::Poison,
                after: elements(move |index| product.result(index)),
            },
        ],
        ..point
    })
}

/// The size of a number of elements in bytes.
fn bytes_of(elements: u64) -> Result<u64> {
    elements
        .checked_mul(Precision::F32.size())
        .context("has more bytes than 64 bits can count: choose fewer rows or columns")
}

/// A buffer that is read and stays as it is.
fn source(bytes: u64) -> Buffer {
    Buffer { bytes, place: Place::Device, before: Contents::Pattern(Precision::F32), after: copy::pattern() }
}

/// A buffer whose elements are those of the source from these indices.
fn output(bytes: u64, from: impl Fn(u64) -> u64 + Send + Sync + 'static) -> Buffer {
    let after = elements(move |index| pattern::value(from(index), SEED) as f32);
    Buffer { bytes, place: Place::Device, before: Contents::Poison, after }
}

/// Each element by its index.
fn elements(element: impl Fn(u64) -> f32 + Send + Sync + 'static) -> Expected {
    Expected::exactly(move |first, _, window: &mut [f32]| {
        for (nth, value) in window.iter_mut().enumerate() {
            *value = element(first + nth as u64);
        }
    })
}

/// Two matrices whose product is known without multiplying them. With whole numbers below [`Product::BELOW`] for each row of A,
/// for each of the `k` terms on both sides, and for each column of B,
///
/// ```text
/// a[row][term] = rows(row) + left(term)        b[term][column] = right(term) + columns(column)
/// c[row][column] = rows(row) * (sum of right + k * columns(column))
///                + sum of left * right + columns(column) * sum of left
/// ```
///
/// A term that is left out, taken twice or paired with another changes the sum of products; a wrong row or column the rest.
/// All sums are whole and below 2^24, so single precision adds them exactly in any order.
#[derive(Clone, Copy, Debug)]
struct Product {
    sizes: Matrices,
    left: u64,
    right: u64,
    both: u64,
}

impl Product {
    /// The numbers that elements are sums of are below this.
    const BELOW: u64 = 8;

    /// The most terms that add up exactly.
    const MOST_TERMS: u64 = (1 << 24) / (2 * (Self::BELOW - 1)).pow(2);

    fn new(sizes: Matrices) -> Result<Product> {
        let terms = u64::from(sizes.k);
        if terms > Self::MOST_TERMS {
            bail!(
                "a product of {sizes} sums {terms} terms, of which single precision adds at most {} exactly, and every element is \
                 compared exactly: choose a smaller third size",
                Self::MOST_TERMS,
            );
        }
        let sum = |term: &dyn Fn(u64) -> u64| (0..terms).map(term).sum();
        let (left, right) = (|nth| Self::number(nth, 1), |nth| Self::number(nth, 2));
        Ok(Product { sizes, left: sum(&left), right: sum(&right), both: sum(&|nth| left(nth) * right(nth)) })
    }

    /// The number at an index of one of the four series.
    fn number(index: u64, series: u32) -> u64 {
        u64::from(pattern::value(index, SEED.wrapping_mul(2 * series + 1))) % Self::BELOW
    }

    /// An element of A.
    fn left(&self, index: u64) -> f32 {
        let terms = u64::from(self.sizes.k);
        (Self::number(index / terms, 0) + Self::number(index % terms, 1)) as f32
    }

    /// An element of B.
    fn right(&self, index: u64) -> f32 {
        let columns = u64::from(self.sizes.n);
        (Self::number(index / columns, 2) + Self::number(index % columns, 3)) as f32
    }

    /// An element of C.
    fn result(&self, index: u64) -> f32 {
        let columns = u64::from(self.sizes.n);
        let (row, column) = (Self::number(index / columns, 0), Self::number(index % columns, 3));
        (row * (self.right + u64::from(self.sizes.k) * column) + self.both + column * self.left) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        device::tests::{c870, h200},
        experiments::tests::request,
    };

    #[test]
    fn a_product_is_what_multiplying_gives() {
        let sizes = Matrices { m: 5, n: 7, k: 11 };
        let product = Product::new(sizes).expect("it is small");
        for row in 0..5 {
            for column in 0..7 {
                let terms =
                    (0..11).map(|term| product.left(row * 11 + term) * product.right(term * 7 + column));
                assert_eq!(product.result(row * 7 + column), terms.sum::<f32>(), "{row}, {column}");
            }
        }
        let most = Product::MOST_TERMS as u32;
        assert!(Product::new(Matrices { k: most, ..sizes }).is_ok());
        let error = Product::new(Matrices { k: most + 1, ..sizes }).expect_err("too many").to_string();
        assert!(error.contains("5x7x85599") && error.contains("at most 85598"), "{error}");
    }

    #[test]
    fn every_task_is_there_in_every_way() {
        let points = Idioms.points(&request(), &h200()).expect("it is a valid request");
        assert_eq!(points.iter().map(|point| point.kernel).collect::<Vec<_>>(), Idioms.names());
        let of = |point: &Point, name: &str| point.parameters.more[name].clone();
        assert_eq!((of(&points[5], "task"), of(&points[5], "way")), ("transpose".into(), "typed".into()));
        assert_eq!(points[0].shape.grid, [1024, 1, 1]);
        assert_eq!((points[5].shape.grid, points[5].shape.block), ([256, 256, 1], [32, 8, 1]));
        assert_eq!((points[10].shape.grid, points[10].flops), ([64, 64, 1], Some(2 << 30)));
    }

    #[test]
    fn sizes_can_be_chosen() {
        let mut chosen = request();
        chosen.choices.ny = Some(100);
        chosen.choices.size = vec![Matrices { m: 3, n: 40, k: 5 }];
        let points = Idioms.points(&chosen, &c870()).expect("a C870 takes these");
        assert_eq!((points[5].shape.grid, points[5].parameters.elements), ([4, 4, 1], 10_000));
        assert_eq!(points[10].shape.grid, [3, 1, 1]);
        assert_eq!(points[10].bytes, BytesMoved { read: 4 * (15 + 200), written: 480, footprint: 4 * 335 });
        chosen.choices.ny = Some(1 << 31);
        let error = format!("{:#}", Idioms.points(&chosen, &h200()).err().expect("16 EiB"));
        assert!(error.contains("2147483648 by 2147483648") && error.contains("64 bits"), "{error}");
    }
}
