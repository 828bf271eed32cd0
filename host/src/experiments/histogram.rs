//! `histogram`: bytes counted in the ways people write it. The kernels and what to expect of them are in gpu-kernels'
//! `histogram.rs`.

use super::{
    Buffer, BytesMoved, Contents, Experiment, KernelInfo, Place, Point, Request, Scale, Shape, Work,
    articles, check_size, covering, findings,
};
use crate::{
    device::{Backend, DeviceInfo},
    verify::Expected,
};
use anyhow::Result;
use cuda_launch::{Slice, SliceMut};
use cuda_std::vector::U32x4;
use gpu_kernels::histogram::{
    BINS, THREADS, VECTORS, WARPS, histogram_global, histogram_match, histogram_shared, histogram_threads,
    histogram_warps,
};
use rayon::prelude::*;
use record::{Parameters, Record};
use report::{Article, Picture};
use std::sync::{Arc, OnceLock};

/// Bytes, counted by value.
pub(super) struct Histogram;

/// Bytes of a vector, of which the source is a whole number.
const UNIT: u64 = 16;

/// Bytes in a check, with a remainder for every grid.
const SMALL: u64 = 20_016;

/// Blocks per SM that stride through the source, where it has as many.
const BLOCKS: u64 = 8;

/// The bytes of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    /// All values as often as by chance.
    Uniform,
    /// One value alone.
    Equal,
}

impl Input {
    const fn name(self) -> &'static str {
        match self {
            Input::Uniform => "uniform",
            Input::Equal => "equal",
        }
    }

    /// The word at an index.
    fn word(self, index: u64) -> u32 {
        match self {
            Input::Uniform => {
                let mixed = (index ^ 0x9E37_79B9).wrapping_mul(0xBF58_476D_1CE4_E5B9);
                ((mixed ^ mixed >> 29).wrapping_mul(0x94D0_49BB_1331_11EB) >> 32) as u32
            }
            Input::Equal => 0x6565_6565,
        }
    }

    /// How often each byte is in the first `bytes`.
    fn counts(self, bytes: u64) -> [u64; BINS] {
        // Each byte of a word has counters of its own, so that an addition rarely waits for the one before.
        let of = |words: std::ops::Range<u64>| {
            let mut counts = [[0_u32; BINS]; 4];
            for index in words {
                for (counts, byte) in counts.iter_mut().zip(self.word(index).to_le_bytes()) {
                    counts[usize::from(byte)] += 1;
                }
            }
            std::array::from_fn(|bin| counts.iter().map(|counts| u64::from(counts[bin])).sum())
        };
        const AT_A_TIME: u64 = 1 << 16;
        let words = bytes / 4;
        let pieces = (0..words.div_ceil(AT_A_TIME)).into_par_iter();
        pieces
            .map(|piece| of(piece * AT_A_TIME..((piece + 1) * AT_A_TIME).min(words)))
            .reduce(|| [0; BINS], |one: [u64; BINS], other| std::array::from_fn(|bin| one[bin] + other[bin]))
    }
}

/// A kernel, which takes source and bins.
struct Kernel {
    info: KernelInfo,
    /// Threads of a block: at most this many, or exactly, with a fixed number of vectors for each.
    block: Threads,
    work: fn() -> Work,
}

#[derive(Clone, Copy)]
enum Threads {
    Any,
    AtMost(u32),
    /// Threads of a block, and vectors of each.
    Exactly(u32, u64),
}

const KERNELS: [Kernel; 5] = [
    kernel::<histogram_global>(Threads::Any),
    kernel::<histogram_shared>(Threads::Any),
    kernel::<histogram_warps>(Threads::AtMost(WARPS as u32 * 32)),
    kernel::<histogram_match>(Threads::Any),
    kernel::<histogram_threads>(Threads::Exactly(THREADS as u32, VECTORS as u64)),
];

const fn kernel<K>(block: Threads) -> Kernel
where
    K: for<'a> cuda_launch::Kernel<Arguments<'a> = (Slice<'a, U32x4>, SliceMut<'a, u32>)>,
{
    Kernel {
        info: KernelInfo::of::<K>(),
        block,
        work: || Work::kernel::<K>(|buffers| (buffers.read(0), buffers.write(1))),
    }
}

impl Experiment for Histogram {
    fn name(&self) -> &'static str {
        "histogram"
    }

    fn summary(&self) -> &'static str {
        "256 bins of bytes: global and shared atomics, a set per warp or per thread, and match.any"
    }

    fn reading(&self) -> &'static str {
        "GB/s count the bytes of the source, read once. With uniform bytes a warp hits about 30 bins at a time, with equal \
         ones a single bin: the distance between the two is what contention costs."
    }

    fn articles(&self) -> &'static [Article] {
        &[articles::HISTOGRAMS]
    }

    fn picture(&self) -> Picture {
        Picture::Bars { by: &["input"] }
    }

    fn finding(&self) -> fn(&[&Record]) -> Option<String> {
        findings::histogram::histogram
    }

    fn options(&self) -> &'static [&'static str] {
        &["bytes", "block"]
    }

    fn kernels(&self) -> Vec<KernelInfo> {
        KERNELS.iter().map(|kernel| kernel.info).collect()
    }

    fn unit(&self, _: &Request) -> u64 {
        UNIT
    }

    fn modelled_bytes(&self, beyond_l2: u64) -> u64 {
        beyond_l2.min(1 << 20)
    }

    fn plan(&self, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>> {
        check_size(&[self], request)?;
        let block = super::shuffle::whole_warps(self.name(), request.block)?;
        let bytes = match (request.scale, device.backend()) {
            _ if request.sized => request.bytes,
            (Scale::Small, _) => SMALL,
            (Scale::Quick, Backend::Measured) => request.bytes.min(32 << 20),
            (Scale::Quick | Scale::Full, _) => request.bytes,
        };
        let mut points = Vec::new();
        for input in [Input::Uniform, Input::Equal] {
            // Of the first kernel that is verified, for all of them.
            let counts = Arc::new(OnceLock::new());
            for kernel in KERNELS.iter().filter(|kernel| request.wants(kernel.info.name)) {
                let shape = shape(kernel.block, bytes, block, device)?;
                points.push(point(kernel, input, bytes, shape, Arc::clone(&counts)));
            }
        }
        Ok(points)
    }
}

/// The grid that covers the source, or strides through it.
fn shape(threads: Threads, bytes: u64, block: u32, device: &DeviceInfo) -> Result<Shape> {
    let vectors = bytes / UNIT;
    let (block, each) = match threads {
        Threads::Any => (block, 1),
        Threads::AtMost(most) => (block.min(most), 1),
        Threads::Exactly(block, each) => (block, each),
    };
    let needed = vectors.div_ceil(u64::from(block) * each);
    let blocks = match threads {
        Threads::Exactly(..) => needed,
        _ => needed.min(u64::from(device.multiprocessors) * BLOCKS),
    };
    covering(blocks * u64::from(block), block, device)
}

/// A kernel's row. `counts` is for what must come out, once it is known.
fn point(
    kernel: &Kernel,
    input: Input,
    bytes: u64,
    shape: Shape,
    counts: Arc<OnceLock<[u64; BINS]>>,
) -> Point {
    let point = Point::new(Histogram.name(), shape, (kernel.work)());
    let words = move |first: u64, values: &mut [u32]| {
        for (offset, place) in values.iter_mut().enumerate() {
            *place = input.word(first + offset as u64);
        }
    };
    Point {
        parameters: Parameters { bytes, elements: bytes, ..point.parameters }.with("input", input.name()),
        bytes: BytesMoved { read: bytes, written: 0, footprint: bytes.next_multiple_of(32) },
        buffers: vec![
            Buffer {
                bytes,
                place: Place::Device,
                before: Contents::by_pieces(words),
                after: Expected::exactly(move |first, _, values| words(first, values)),
            },
            Buffer {
                bytes: BINS as u64 * 4,
                place: Place::Device,
                before: Contents::of(|_| 0_u32),
                after: Expected::exactly(move |first, launches, values: &mut [u32]| {
                    let counts = counts.get_or_init(|| input.counts(bytes));
                    for (offset, place) in values.iter_mut().enumerate() {
                        *place = counts[first as usize + offset].wrapping_mul(launches) as u32;
                    }
                }),
            },
        ],
        ..point
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{device::tests::h200, experiments::tests::request};

    #[test]
    fn every_byte_is_counted() {
        let counts = Input::Uniform.counts(1 << 20);
        assert_eq!(counts.iter().sum::<u64>(), 1 << 20);
        // 4096 on average, with a standard deviation of 64.
        assert!(counts.iter().all(|count| (3696..=4496).contains(count)), "{counts:?}");
        // A piece and some words, one by one.
        let words = (1_u64 << 16) + 11;
        let mut each = [0; BINS];
        for byte in (0..words).flat_map(|index| Input::Uniform.word(index).to_le_bytes()) {
            each[usize::from(byte)] += 1;
        }
        assert_eq!(Input::Uniform.counts(4 * words), each);
        let counts = Input::Equal.counts(1 << 20);
        assert_eq!((counts[0x65], counts.iter().sum::<u64>()), (1 << 20, 1 << 20));
    }

    #[test]
    fn a_grid_covers_the_source_or_strides_through_it() {
        let points = Histogram.points(&request(), &h200()).expect("it is a valid request");
        assert_eq!(points.len(), 2 * KERNELS.len());
        let grid = |name: &str| {
            points
                .iter()
                .find(|point| point.kernel == name)
                .map(|point| (point.shape.grid[0], point.shape.block[0]))
        };
        assert_eq!(grid("histogram_shared"), Some((256, 256)));
        assert_eq!(grid("histogram_threads"), Some((35, 128)));
        let large = Request { bytes: 1 << 28, ..request() };
        let points = Histogram.points(&large, &h200()).expect("it is a valid request");
        assert_eq!(points[0].shape.grid[0], 132 * 8);
    }
}
