//! `cluster`: the shared memory of other blocks, and copies that write to all blocks of a cluster. The kernels and what to expect
//! of them are in gpu-kernels' `unchecked/cluster.rs`.

use super::{
    Buffer, BytesMoved, Contents, Experiment, KernelInfo, Operations, Place, Point, Precision, Request,
    Scale, Shape, Work, articles, copy, findings,
};
use crate::{
    device::{Backend, DeviceInfo},
    kernels::own,
    verify::Expected,
};
use anyhow::{Result, bail};
use cuda_launch::{Kernel, Slice};
use cuda_std::vector::U32x4;
use gpu_kernels::unchecked::cluster::{
    CHAIN, CONSUMERS, READERS, STAGE, THREADS, VECTORS_EACH, cluster_chase, cluster_chase_own, cluster_each,
    cluster_multicast, cluster_read, cluster_read_own, link, value, vector,
};
use pattern::SEED;
use rayon::prelude::*;
use record::{Operation, Parameters, Record};
use report::{Article, Picture};
use std::cell::Cell;

/// Distributed shared memory and multicast.
pub(super) struct Cluster;

/// Blocks of a cluster.
const SIZES: [u32; 5] = [1, 2, 4, 8, 16];

/// How much a launch does.
struct Amount {
    /// Blocks at most.
    blocks: u32,
    /// Loads of a chain.
    steps: u32,
    /// Times that a tile is read, a multiple of 4.
    rounds: u32,
    /// Bytes of the source that clusters add up.
    bytes: u64,
}

/// A kernel and its point in clusters of this many blocks.
struct One {
    info: KernelInfo,
    /// Whether it goes beyond its own block, so that clusters of several sizes are of interest.
    reaches: bool,
    point: fn(u32, u32, &Amount) -> Point,
}

/// The kernels, in the order of the table.
const KERNELS: [One; 6] = [
    One {
        info: KernelInfo::of::<cluster_chase_own>(),
        reaches: false,
        point: |size, blocks, amount| chase::<cluster_chase_own>(size, blocks, amount, false),
    },
    One {
        info: KernelInfo::of::<cluster_chase>(),
        reaches: true,
        point: |size, blocks, amount| chase::<cluster_chase>(size, blocks, amount, true),
    },
    One {
        info: KernelInfo::of::<cluster_read_own>(),
        reaches: false,
        point: |size, blocks, amount| read::<cluster_read_own>(size, blocks, amount, false),
    },
    One {
        info: KernelInfo::of::<cluster_read>(),
        reaches: true,
        point: |size, blocks, amount| read::<cluster_read>(size, blocks, amount, true),
    },
    One { info: KernelInfo::of::<cluster_each>(), reaches: true, point: sum::<cluster_each> },
    One { info: KernelInfo::of::<cluster_multicast>(), reaches: true, point: sum::<cluster_multicast> },
];

/// Bytes of a word.
const WORD: u64 = 4;

/// Words of a vector.
const WORDS: u64 = 4;

impl Experiment for Cluster {
    fn name(&self) -> &'static str {
        "cluster"
    }

    fn summary(&self) -> &'static str {
        "shared memory of other blocks: latency, bandwidth, and bulk copies with multicast, by the size of a cluster"
    }

    fn reading(&self) -> &'static str {
        "GB/s count the bytes that all blocks receive. cluster is the number of blocks in a cluster; with 1 the neighbour is \
         the block itself. cluster_each and cluster_multicast give each block the same bytes, from L2 once per block or once per \
         cluster."
    }

    fn module(&self) -> &'static str {
        "unchecked/cluster"
    }

    fn articles(&self) -> &'static [Article] {
        &[articles::DISSECTING_HOPPER]
    }

    fn picture(&self) -> Picture {
        Picture::Curve { over: "cluster", by: &[], sectors: false }
    }

    fn finding(&self) -> fn(&[&Record]) -> Option<String> {
        findings::cluster::cluster
    }

    fn options(&self) -> &'static [&'static str] {
        &["width"]
    }

    fn kernels(&self) -> Vec<KernelInfo> {
        KERNELS.iter().map(|kernel| kernel.info).collect()
    }

    fn notes(&self, request: &Request, device: &DeviceInfo) -> Vec<String> {
        let names = KERNELS.iter().map(|kernel| kernel.info.name).filter(|name| request.wants(name));
        own::left_out(names, device)
    }

    fn plan(&self, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>> {
        let modelled = device.backend() == Backend::Modelled;
        let chosen = &request.choices.width;
        if let Some(size) = chosen.iter().find(|size| !SIZES.contains(size)) {
            bail!("--width {size}: a cluster of this experiment has 1, 2, 4, 8 or 16 blocks");
        }
        let sizes = if chosen.is_empty() { SIZES.to_vec() } else { chosen.clone() };
        let most = SIZES[SIZES.len() - 1];
        // All sizes have the same blocks, no more than a multiprocessor each. Not all multiprocessors have a place in a large cluster:
        // an H200 with 132 holds 15 clusters of eight and seven of sixteen. Of more, some would share a multiprocessor and its port.
        let whole = (device.multiprocessors * 7 / 8 / most * most).max(most);
        let amount = match (request.scale, modelled) {
            (Scale::Small, _) => Amount { blocks: most, steps: 64, rounds: 4, bytes: 16 * u64::from(STAGE) },
            (_, true) => Amount { blocks: whole, steps: 512, rounds: 16, bytes: 2 << 20 },
            (_, false) => Amount { blocks: whole, steps: 4096, rounds: 256, bytes: 16 << 20 },
        };
        let mut points = Vec::new();
        for kernel in KERNELS.iter().filter(|kernel| request.wants(kernel.info.name)) {
            if !own::runs(kernel.info.name, device, request.names(kernel.info.name))? {
                continue;
            }
            for &size in sizes.iter().filter(|size| kernel.reaches || **size == 1) {
                let point = (kernel.point)(size, amount.blocks, &amount);
                let parameters = point.parameters.with("cluster", size);
                points.push(Point { parameters, work: point.work.in_clusters(size), ..point });
            }
        }
        Ok(points)
    }
}

/// The next block of a block's cluster.
fn next(block: u64, size: u32) -> u64 {
    let size = u64::from(size);
    block / size * size + (block % size + 1) % size
}

/// A buffer of words that the kernel writes, one by one as they are to be.
fn written(words: u64, expected: impl Fn(u64) -> u32 + Send + Sync + 'static) -> Buffer {
    Buffer {
        bytes: words * WORD,
        place: Place::Device,
        before: Contents::Poison,
        after: Expected::exactly(move |first, _, values: &mut [u32]| {
            values.par_iter_mut().enumerate().for_each(|(nth, value)| *value = expected(first + nth as u64));
        }),
    }
}

/// A chain of loads in each block.
fn chase<K>(size: u32, blocks: u32, amount: &Amount, neighbours: bool) -> Point
where
    K: for<'a> Kernel<Arguments<'a> = (Slice<'a, Cell<u32>>, u32)>,
{
    let steps = amount.steps;
    let loads = u64::from(blocks) * u64::from(steps);
    let end = move |block: u64| {
        let of = if neighbours { next(block, size) } else { block };
        (u64::from(link(of as u32)) * u64::from(steps) % u64::from(CHAIN)) as u32 * WORD as u32
    };
    let work = Work::kernel::<K>(move |buffers| (buffers.write(0), steps));
    let point = Point::new(Cluster.name(), Shape::linear(blocks, 32), work);
    Point {
        parameters: Parameters { elements: loads, ..point.parameters },
        bytes: BytesMoved {
            read: loads * WORD,
            written: u64::from(blocks) * WORD,
            footprint: u64::from(blocks) * WORD,
        },
        operations: Some(Operations { kind: Operation::Load, count: steps.into() }),
        buffers: vec![written(blocks.into(), end)],
        ..point
    }
}

/// Tiles that are read again and again.
fn read<K>(size: u32, blocks: u32, amount: &Amount, neighbours: bool) -> Point
where
    K: for<'a> Kernel<Arguments<'a> = (Slice<'a, Cell<u32>>, u32)>,
{
    let rounds = amount.rounds;
    let (threads, each) = (u64::from(READERS), u64::from(VECTORS_EACH));
    let sum = move |thread: u64| {
        let (block, thread) = (thread / threads, thread % threads);
        let of = if neighbours { next(block, size) } else { block };
        let words = (0..rounds / 4).flat_map(|left| (0..8).map(move |nth| vector(thread as u32, nth, left)));
        let words = words.flat_map(|vector| {
            let first = (of as u32 * READERS * VECTORS_EACH + vector) * WORDS as u32;
            (first..first + WORDS as u32).map(value)
        });
        words.fold(0, u32::wrapping_add)
    };
    let work = Work::kernel::<K>(move |buffers| (buffers.write(0), rounds));
    let point = Point::new(Cluster.name(), Shape::linear(blocks, READERS), work);
    let all = u64::from(blocks) * threads;
    let vectors = all * each * u64::from(rounds);
    Point {
        parameters: Parameters { elements: vectors, ..point.parameters },
        bytes: BytesMoved { read: vectors * WORDS * WORD, written: all * WORD, footprint: all * WORD },
        buffers: vec![written(all, sum)],
        ..point
    }
}

/// Stages that every block of a cluster adds up.
fn sum<K>(size: u32, blocks: u32, amount: &Amount) -> Point
where
    K: for<'a> Kernel<Arguments<'a> = (Slice<'a, U32x4>, Slice<'a, Cell<u32>>)>,
{
    let bytes = amount.bytes;
    let (stages, clusters) = (bytes / u64::from(STAGE), u64::from(blocks / size));
    let stage_words = u64::from(STAGE) / WORD;
    let consumers = u64::from(CONSUMERS);
    let word = |at: u64| (pattern::value(at, SEED) as f32).to_bits();
    let sum = move |thread: u64| {
        let cluster = thread / consumers / u64::from(size);
        let mut sum = 0_u32;
        for stage in (cluster..stages).step_by(clusters as usize) {
            for vector in [thread % consumers, thread % consumers + consumers] {
                let first = stage * stage_words + vector * WORDS;
                sum = (first..first + WORDS).map(word).fold(sum, u32::wrapping_add);
            }
        }
        sum
    };
    let sums = u64::from(blocks) * consumers;
    let received = bytes * u64::from(size);
    let work = Work::kernel::<K>(|buffers| (buffers.read(0), buffers.write(1)));
    let point = Point::new(Cluster.name(), Shape::linear(blocks, THREADS), work);
    Point {
        parameters: Parameters { bytes, elements: bytes / WORD / WORDS, ..point.parameters },
        bytes: BytesMoved { read: received, written: sums * WORD, footprint: bytes + sums * WORD },
        buffers: vec![
            Buffer {
                bytes,
                place: Place::Device,
                before: Contents::Pattern(Precision::F32),
                after: copy::pattern(),
            },
            written(sums, sum),
        ],
        ..point
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        device::tests::{c870, h200},
        experiments::{Choices, tests::request},
    };

    #[test]
    fn all_sizes_of_clusters_have_the_same_blocks() {
        let points = Cluster.points(&request(), &h200()).expect("it is a valid request");
        assert_eq!(points.len(), 2 + 4 * 5);
        assert!(points.iter().all(|point| point.shape.grid == [112, 1, 1]));
        let received = |kernel: &str| -> Vec<u64> {
            let of = points.iter().filter(|point| point.kernel == kernel);
            of.map(|point| point.bytes.read >> 20).collect()
        };
        assert_eq!(received("cluster_each"), [16, 32, 64, 128, 256]);
        assert_eq!(received("cluster_each"), received("cluster_multicast"));
        assert_eq!(received("cluster_read"), [896; 5]);
        let shared: Vec<u32> = points[points.len() - 5..].iter().map(|point| point.shape.shared).collect();
        assert_eq!(shared, [gpu_kernels::unchecked::cluster::SHARED; 5]);
    }

    #[test]
    fn neighbours_are_a_circle_within_their_cluster() {
        assert_eq!([0, 1, 2, 3, 4, 7].map(|block| next(block, 4)), [1, 2, 3, 0, 5, 4]);
        assert_eq!(next(6, 1), 6);
        // What a block finds shows whether it was its neighbour's.
        let links: Vec<u32> = (0..8).map(link).collect();
        assert!(links.iter().all(|link| link % 2 == 1) && links.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn simulated_cards_run_all_sizes_and_older_cards_none() {
        let simulated = DeviceInfo { card: c870().card, ..h200() };
        let points = Cluster.points(&request(), &simulated).expect("six kernels");
        assert_eq!(points.len(), 2 + 4 * 5);
        assert_eq!(Cluster.notes(&request(), &simulated), Vec::<String>::new());
        let of = |width: &[u32], device: &DeviceInfo| {
            let choices = Choices { width: width.to_vec(), ..Choices::default() };
            let request = Request { choices, ..request() };
            Cluster.points(&request, device).map(|points| points.len()).map_err(|error| error.to_string())
        };
        assert_eq!(of(&[4], &h200()), Ok(4));
        assert_eq!(of(&[4], &simulated), Ok(4));
        assert!(of(&[3], &h200()).is_err_and(|error| error.starts_with("--width 3: ")));
        assert_eq!(of(&[], &c870()), Ok(0));
    }
}
