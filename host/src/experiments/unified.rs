//! `unified`: memory that host and card share, and what becomes of bandwidth when it is more than the card has. The kernels
//! and what to expect of them are in gpu-kernels' `unified.rs`.

mod budget;
#[allow(unsafe_code, reason = "tells the driver where the pages of an address range belong")]
mod placing;
mod ways;

use self::{
    budget::{allocation, check_budget, default_budget, factors, free},
    placing::{Ballast, Placing},
    ways::{ELEMENT, Order, WALK_SEED, Walks, Way},
};
use super::{
    Buffer, BytesMoved, Contents, Experiment, KernelInfo, NO_LAUNCH, Pattern, Place, Placement, Point,
    Precision, Request, Scale, Shape, Work, articles, copy, covering, findings,
};
use crate::{
    device::{Backend, DeviceInfo},
    verify::Expected,
};
use anyhow::{Context, Result, bail};
use gpu_kernels::unified::{
    SEGMENT, block_stride, block_stride_write, grid_stride, grid_stride_vector, grid_stride_write,
    random_warp, random_warp_write,
};
use pattern::SEED;
use record::{Parameters, Record};
use report::{Article, Picture};
use simt::cards::{BlockShape, Limits, Occupancy};

/// Three orders of access, three placements, and more memory than there is.
pub(super) struct Unified;

/// A kernel.
struct Kernel {
    info: KernelInfo,
    pattern: Pattern,
    does: Does,
}

/// Whether a kernel reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    /// Adds up what it reads.
    Read,
    /// The same by vectors, as one would for memory that is near.
    ReadVectors,
    /// Writes where it is.
    Write,
}

const fn kernel<K: cuda_launch::Kernel>(pattern: Pattern, does: Does) -> Kernel {
    Kernel { info: KernelInfo::of::<K>(), pattern, does }
}

/// The kernels, in the order of the table.
const KERNELS: [Kernel; 7] = [
    kernel::<grid_stride>(Pattern::GridStride, Does::Read),
    kernel::<block_stride>(Pattern::BlockStride, Does::Read),
    kernel::<random_warp>(Pattern::RandomWarp, Does::Read),
    kernel::<grid_stride_vector>(Pattern::GridStride, Does::ReadVectors),
    kernel::<grid_stride_write>(Pattern::GridStride, Does::Write),
    kernel::<block_stride_write>(Pattern::BlockStride, Does::Write),
    kernel::<random_warp_write>(Pattern::RandomWarp, Does::Write),
];

/// The driver's own copy from pinned memory to the card: as fast as the link can be, against which zero-copy is held.
pub(super) const HOST_COPY: &str = "host_copy_driver";

/// Threads per block in the article.
const BLOCK: u32 = 128;

/// Elements for each thread at least, where there are so few that a full card would have none for most.
const LEAST_ELEMENTS_A_THREAD: u64 = 16;

/// The first compute capability whose pages migrate on a fault, one by one, and take advice.
const FAULTS: u32 = 60;

/// The initial contents of an allocation that is written. They are no kernel's output, and the host writes them, so that its pages are there.
const UNWRITTEN: f32 = f32::from_bits(u32::MAX);

impl Experiment for Unified {
    fn name(&self) -> &'static str {
        "unified"
    }

    fn summary(&self) -> &'static str {
        "memory shared with the host: three access orders over pages that migrate, stay or are partitioned"
    }

    fn reading(&self) -> &'static str {
        "Each row is one launch on memory that the host has just filled. factor is the allocation over the budget, which is \
         the memory that counts as the card's. host_copy_driver is the driver's own copy from pinned memory, with its bytes \
         counted once: the ceiling of the link. zero-copy reaches 93% of it (H200), because it asks for 128 bytes at a time. \
         With random access, a page on demand migrates for 128 bytes, and is evicted again if the allocation exceeds the \
         budget. Reading pages in place, or partitioning them, is then much faster."
    }

    fn articles(&self) -> &'static [Article] {
        &[articles::OVERSUBSCRIPTION, articles::CHAPTER_4]
    }

    fn picture(&self) -> Picture {
        Picture::Curve { over: "factor", by: &["placement"], sectors: false }
    }

    fn finding(&self) -> fn(&[&Record]) -> Option<String> {
        findings::unified::unified
    }

    fn options(&self) -> &'static [&'static str] {
        &["block", "factor", "page", "placement", "pattern", "budget", "allow-oversubscription"]
    }

    fn kernels(&self) -> Vec<KernelInfo> {
        KERNELS.iter().map(|kernel| kernel.info).collect()
    }

    fn driver_work(&self) -> Option<&'static str> {
        Some(HOST_COPY)
    }

    fn notes(&self, request: &Request, device: &DeviceInfo) -> Vec<String> {
        let mut notes = Vec::new();
        if device.compute() < FAULTS && request.choices.placement.is_empty() {
            notes.push(format!(
                "unified runs zero-copy only: {} has compute capability {}, and single pages migrate from 6.0 on",
                device.plain_name(),
                device.compute_capability,
            ));
        }
        if request.scale == Scale::Quick && request.kernels.is_empty() {
            notes.push(
                "unified reads only; `--full`, or `--kernel grid_stride_write`, writes too".to_string(),
            );
        }
        notes
    }

    fn plan(&self, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>> {
        let choices = &request.choices;
        let block = if choices.block.is_empty() { BLOCK } else { request.block };
        if !block.is_multiple_of(SEGMENT) {
            bail!(
                "unified takes blocks of whole warps, and {block} threads are not a multiple of {SEGMENT}: the article uses 128"
            );
        }
        let resident = u64::from(resident_blocks(block, device)?) * u64::from(device.multiprocessors);
        let page = choices.page.unwrap_or(if request.scale == Scale::Small { 64 << 10 } else { 2 << 20 });
        let free = free(device)?;
        let budget = choices.budget.unwrap_or_else(|| default_budget(request.scale, device, free));
        let oversubscribes = device.backend() == Backend::Measured && choices.allow_oversubscription;
        let factors = factors(request, device)?;
        check_budget(budget, free, &factors, choices.allow_oversubscription, device)?;
        let ballast = Ballast::default();
        // Counting takes time, and placements have it in common.
        let mut counted: Vec<(Way, u64)> = Vec::new();
        let mut points = Vec::new();
        let placements = placements(request, device)?;
        let crosses =
            [Placement::ZeroCopy, Placement::ZeroCopyHints].iter().any(|one| placements.contains(one));
        if request.wants(HOST_COPY) && crosses && choices.pattern.is_empty() {
            points.push(host_copy(allocation(1.0, budget, page)?));
        }
        for kernel in kernels(request) {
            for &placement in &placements {
                for &factor in &factors {
                    let bytes = allocation(factor, budget, page)?;
                    let elements = bytes / ELEMENT;
                    let blocks = elements.div_ceil(u64::from(block) * LEAST_ELEMENTS_A_THREAD).min(resident);
                    let shape = covering(blocks * u64::from(block), block, device)?;
                    let way = way(kernel, elements, page, shape);
                    let placing = Placing {
                        backend: device.backend(),
                        device: device.ordinal,
                        placement,
                        bytes,
                        page,
                        budget,
                        oversubscribes: oversubscribes && factor > 1.0,
                        ballast: ballast.clone(),
                    };
                    let known =
                        counted.iter().find(|(known, _)| *known == way).map(|(_, distinct)| *distinct);
                    let distinct = known.unwrap_or_else(|| {
                        counted.push((way, way.distinct()));
                        counted[counted.len() - 1].1
                    });
                    points.push(point(kernel, way, distinct, shape, factor, placing));
                }
            }
        }
        Ok(points)
    }
}

/// The driver's own copy from pinned memory. Its bytes count once, as those of a kernel that reads them over the link do.
fn host_copy(bytes: u64) -> Point {
    let work = Work::driver(HOST_COPY, |stream, buffers| buffers.copy(0, 1, stream));
    let before = Contents::Pattern(Precision::F32);
    Point {
        parameters: Parameters::of_bytes(bytes),
        bytes: BytesMoved { read: bytes, written: 0, footprint: 2 * bytes },
        buffers: vec![
            Buffer { bytes, place: Place::Pinned, before, after: copy::pattern() },
            Buffer { bytes, place: Place::Device, before: Contents::Poison, after: copy::pattern() },
        ],
        // There is nothing to prepare, but it is timed one by one, as the kernels are.
        before_each: Some(Box::new(|_, _| Ok(()))),
        ..Point::new(Unified.name(), NO_LAUNCH, work)
    }
}

/// The kernels that the request asks for.
fn kernels(request: &Request) -> impl Iterator<Item = &'static Kernel> {
    // The article reads. What it does not have takes time that a quick run has not.
    let reads_only = request.scale == Scale::Quick;
    KERNELS.iter().filter(move |kernel| {
        let in_order =
            request.choices.pattern.is_empty() || request.choices.pattern.contains(&kernel.pattern);
        let by_default = !reads_only || kernel.does == Does::Read;
        in_order && if request.kernels.is_empty() { by_default } else { request.wants(kernel.info.name) }
    })
}

/// The placements that the request asks for, or those of the article.
fn placements(request: &Request, device: &DeviceInfo) -> Result<Vec<Placement>> {
    let possible = match device.compute() {
        ..FAULTS => &[Placement::ZeroCopy][..],
        _ => &[
            Placement::OnDemand,
            Placement::ZeroCopy,
            Placement::Partition,
            Placement::Prefetched,
            Placement::ZeroCopyHints,
            Placement::PartitionPrefetch,
        ],
    };
    let asked = &request.choices.placement;
    if let Some(impossible) = asked.iter().find(|placement| !possible.contains(placement)) {
        let names: Vec<_> = possible.iter().map(|placement| placement.name()).collect();
        bail!(
            "{} has compute capability {}, which does not support the placement {}: use {}",
            device.plain_name(),
            device.compute_capability,
            impossible.name(),
            names.join(" and "),
        );
    }
    if !asked.is_empty() {
        return Ok(asked.clone());
    }
    let by_default = if request.scale == Scale::Quick { 3 } else { possible.len() };
    Ok(possible.iter().copied().take(by_default).collect())
}

/// Blocks of a multiprocessor at full occupancy. The kernels take no more registers than that leaves them.
fn resident_blocks(block: u32, device: &DeviceInfo) -> Result<u32> {
    let capability = device.compute_capability.parse();
    let capability = capability.with_context(|| {
        format!(
            "the occupancy of {} is not known: it has compute capability {}",
            device.name, device.compute_capability
        )
    })?;
    let shape = BlockShape { threads: block, registers: 0, shared_bytes: 0 };
    let occupancy = Occupancy::new(&Limits::of(capability), shape);
    Ok(occupancy.with_context(|| format!("{} cannot run the kernels", device.plain_name()))?.blocks)
}

/// The way of a kernel through an allocation.
fn way(kernel: &Kernel, elements: u64, page: u64, shape: Shape) -> Way {
    let (blocks, block) = (u64::from(shape.grid[0]), u64::from(shape.block[0]));
    let threads = blocks * block;
    let order = match (kernel.pattern, kernel.does) {
        (_, Does::ReadVectors) => Order::Vectors,
        (Pattern::GridStride, _) => Order::Grid,
        (Pattern::BlockStride, _) => Order::Slices { slice: elements.div_ceil(blocks) },
        (Pattern::RandomWarp, _) => Order::Random(Walks {
            pages: (elements * ELEMENT / page) as u32,
            page: (page / ELEMENT) as u32,
            // As often as covers the allocation.
            steps: elements.div_ceil(threads) as u32,
        }),
    };
    Way { order, elements, threads, block }
}

/// The point of a kernel on a way that touches `distinct` elements.
fn point(kernel: &Kernel, way: Way, distinct: u64, shape: Shape, factor: f64, placing: Placing) -> Point {
    let Placing { placement, bytes, page, budget, .. } = placing;
    let place = if placing.is_managed() { Place::Managed(placement) } else { Place::Pinned };
    let (touched, distinct) = (way.touched() * ELEMENT, distinct * ELEMENT);
    let sums = way.threads * ELEMENT;
    let writes = kernel.does == Does::Write;
    let data = Buffer {
        bytes,
        place,
        before: if writes { Contents::of(|_| UNWRITTEN) } else { Contents::Pattern(Precision::F32) },
        after: if writes {
            way.written()
        } else {
            Expected::exactly(|first, _, values: &mut [f32]| {
                pattern::fill(first, SEED, values);
            })
        },
    };
    let mut buffers = vec![data];
    if !writes {
        buffers.push(Buffer {
            bytes: sums,
            place: Place::Device,
            before: Contents::Poison,
            after: way.sums(),
        });
    }
    let mut point = Point {
        bytes: match writes {
            true => BytesMoved { read: 0, written: touched, footprint: distinct },
            false => BytesMoved { read: touched, written: sums, footprint: distinct + sums },
        },
        buffers,
        before_each: Some(placing.clone().before_each()),
        observe: Some(placing.observe()),
        ..Point::new(Unified.name(), shape, work(kernel.does, way))
    };
    point.parameters.precision = Some(Precision::F32);
    (point.parameters.bytes, point.parameters.elements) = (bytes, way.elements);
    point.parameters = point
        .parameters
        .with("placement", placement.name())
        .with("factor", factor)
        .with("budget", budget)
        .with("page", page);
    point
}

/// Launches the kernel that goes a way. The allocation is buffer 0, and what a kernel adds up goes to buffer 1.
fn work(does: Does, way: Way) -> Work {
    let length = way.elements as usize;
    match (does, way.order) {
        (Does::Write, Order::Grid | Order::Vectors) => {
            Work::kernel::<grid_stride_write>(move |buffers| (buffers.write(0), length))
        }
        (Does::Write, Order::Slices { slice }) => {
            Work::kernel::<block_stride_write>(move |buffers| (buffers.write(0), length, slice as usize))
        }
        (Does::Write, Order::Random(Walks { pages, page, steps })) => {
            Work::kernel::<random_warp_write>(move |buffers| {
                (buffers.write(0), pages, page, steps, WALK_SEED)
            })
        }
        (_, Order::Vectors) => {
            Work::kernel::<grid_stride_vector>(|buffers| (buffers.read(0), buffers.write(1)))
        }
        (_, Order::Grid) => Work::kernel::<grid_stride>(|buffers| (buffers.read(0), buffers.write(1))),
        (_, Order::Slices { slice }) => {
            Work::kernel::<block_stride>(move |buffers| (buffers.read(0), buffers.write(1), slice as usize))
        }
        (_, Order::Random(Walks { pages, page, steps })) => Work::kernel::<random_warp>(move |buffers| {
            (buffers.read(0), buffers.write(1), pages, page, steps, WALK_SEED)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        device::tests::{c870, h200},
        experiments::tests::request,
    };

    /// A simulated H200.
    fn simulated() -> DeviceInfo {
        DeviceInfo { card: c870().card, ..h200() }
    }

    fn plan(change: impl FnOnce(&mut Request), device: &DeviceInfo) -> Result<Vec<Point>> {
        let mut request = request();
        change(&mut request);
        Unified.points(&request, device)
    }

    fn refusal(change: impl FnOnce(&mut Request), device: &DeviceInfo) -> String {
        plan(change, device).err().expect("a refusal").to_string()
    }

    #[test]
    fn the_default_is_the_article_s_nine_at_four_factors() {
        let points = plan(|_| {}, &simulated()).expect("it is a valid request");
        assert_eq!((points.len(), points[0].kernel), (1 + 36, HOST_COPY));
        let (points, last) = (&points[1..], &points[36]);
        assert_eq!(
            (last.kernel, last.buffers[0].bytes, last.shape.block),
            ("random_warp", 64 << 20, [128, 1, 1])
        );
        // 16 blocks of 128 threads fill a multiprocessor of 2048.
        assert_eq!(last.shape.grid, [132 * 16, 1, 1]);
        let text = last.parameters.to_string();
        assert!(
            text.starts_with("budget 33554432, factor 2.0, page 2097152, placement partition, "),
            "{text}"
        );
        // Each warp visits as many segments as cover the allocation, and no fewer.
        let threads = 132 * 16 * 128;
        let steps = (16_u64 << 20).div_ceil(threads);
        assert_eq!((last.bytes.read, last.bytes.written), (steps * threads * 4, threads * 4));
        assert!(last.bytes.footprint < last.bytes.read, "some are visited twice");
        assert!(points.iter().all(|point| point.before_each.is_some() && point.observe.is_some()));
        let places: Vec<_> = points.iter().map(|point| point.buffers[0].place).collect();
        assert_eq!(places[..2], [Place::Managed(Placement::OnDemand); 2]);
        assert_eq!(places[4], Place::Pinned);
        let full = plan(|request| request.scale = Scale::Full, &simulated()).expect("it is a valid request");
        assert_eq!(full.len(), 1 + 7 * 6 * 4);
    }

    #[test]
    fn options_choose() {
        let points = plan(
            |request| {
                request.choices.pattern = vec![Pattern::BlockStride];
                request.kernels = vec!["block_stride_write".to_string()];
                request.choices.placement = vec![Placement::PartitionPrefetch];
                request.choices.factor = vec![1.25];
                request.choices.page = Some(4 << 10);
                request.choices.budget = Some(1 << 20);
            },
            &simulated(),
        );
        let points = points.expect("it is a valid request");
        assert_eq!(points.len(), 1);
        assert_eq!((points[0].kernel, points[0].buffers.len()), ("block_stride_write", 1));
        assert_eq!((points[0].bytes.read, points[0].bytes.written), (0, 5 << 18));
        // 327680 elements: 160 blocks, for 16 elements per thread.
        assert_eq!(points[0].shape.grid[0], 160);
    }

    #[test]
    fn old_cards_reach_pinned_memory_only() {
        let device = c870();
        let points = plan(|_| {}, &device).expect("it is a valid request");
        assert_eq!(points.len(), 1 + 12);
        assert!(points.iter().all(|point| point.buffers[0].place == Place::Pinned));
        assert!(Unified.notes(&request(), &device)[0].contains("zero-copy only"));
        let error = refusal(|request| request.choices.placement = vec![Placement::Partition], &device);
        assert!(error.contains("capability 1.0") && error.ends_with("use zero-copy"), "{error}");
    }

    #[test]
    fn what_cannot_be_says_what_can() {
        let device = simulated();
        let error = refusal(|request| request.choices.factor = vec![1.0, 65.0], &device);
        assert!(error.contains("65 is out of range: it goes up to 64"), "{error}");
        let error = refusal(|request| request.choices.factor = vec![1e-6], &device);
        assert!(error.contains("less than half a page of 2 MiB"), "{error}");
        let error = allocation(64.0, 1 << 40, 4 << 10).expect_err("too many pages").to_string();
        assert!(
            error.contains("more than 4294967295 pages of 4 KiB") && error.contains("or a larger --page"),
            "{error}"
        );
        assert_eq!(allocation(1.26, 8 << 20, 2 << 20).expect("pages"), 10 << 20, "the nearest");
        let error = refusal(|request| request.choices.budget = Some(1 << 40), &device);
        assert!(error.contains("1 TiB is more than the 140.4 GiB that NVIDIA H200 has free"), "{error}");
        let error = refusal(
            |request| {
                request.block = 100;
                request.choices.block = vec![super::super::Block::linear(100)];
            },
            &device,
        );
        assert!(error.contains("100 threads are not a multiple of 32"), "{error}");
    }

    #[test]
    fn a_gpu_is_not_oversubscribed_unasked() {
        let device = h200();
        let mut request = request();
        assert_eq!(factors(&request, &device).expect("the safe ones"), [0.5, 1.0]);
        request.choices.factor = vec![0.5, 1.5];
        let error = factors(&request, &device).expect_err("1.5 is too much").to_string();
        assert!(error.contains("hang the GPU") && error.contains("--allow-oversubscription"), "{error}");
        assert!(error.contains("`--device sim:h200`"), "{error}");
        request.choices.allow_oversubscription = true;
        assert_eq!(factors(&request, &device).expect("allowed"), [0.5, 1.5]);
        assert_eq!(default_budget(Scale::Quick, &device, 100 << 30), 256 << 20);
        assert_eq!(default_budget(Scale::Full, &device, 100 << 30), 1 << 30);
        assert_eq!(default_budget(Scale::Full, &device, 1 << 30), 1 << 29, "half of what others leave");
        assert_eq!(placements(&request, &device).expect("three").len(), 3);
        assert!(kernels(&request).all(|kernel| kernel.does == Does::Read), "a quick run writes nothing");
    }
}
