//! `transfer`: copies over the host link, by the kind of the host's memory and by size, in both directions at once, and beside a
//! kernel. The kernel, and what to expect, are in gpu-kernels' `transfer.rs`.

use super::{
    Buffer, BytesMoved, Contents, Experiment, Handing, KernelInfo, NO_LAUNCH, Part, Place, Placement, Point,
    Precision, Request, Scale, Work, articles, beside::Beside, check_size, copy, covering, findings,
};
use crate::{
    device::{Backend, DeviceInfo},
    verify::Expected,
};
use anyhow::Result;
use gpu_kernels::transfer::transfer_increment;
use pattern::SEED;
use record::{Parameters, Record};
use report::{Article, Picture};

/// Copies between host and device.
pub(super) struct Transfer;

/// Under this name the driver's copies are recorded.
pub(super) const DRIVER: &str = "transfer_driver";

/// The kernel between a copy in and a copy out.
const KERNEL: KernelInfo = KernelInfo::of::<transfer_increment>();

/// The kinds of the host's memory, by their names in records.
const MEMORIES: [(&str, Place); 4] = [
    ("pinned", Place::Pinned),
    ("pageable", Place::Pageable),
    ("write-combined", Place::WriteCombined),
    ("managed", Place::Managed(Placement::OnDemand)),
];

/// Sizes of copies in bytes.
const SIZES: [u64; 9] =
    [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20];
const QUICK: [u64; 3] = [4 << 10, 256 << 10, 8 << 20];
const SMALL: [u64; 1] = [64 << 10];

/// From this size on copies run in both directions at once, and beside a kernel: below, events between streams take longer.
const LEAST_OVERLAPPED: u64 = 1 << 20;

/// Parts of the pipeline of copy, kernel and copy.
const PARTS: [u32; 5] = [1, 2, 4, 8, 16];
const QUICK_PARTS: [u32; 3] = [1, 4, 16];

/// Streams of the pipeline: one part comes in, one is worked on, one goes out.
const STREAMS: usize = 3;

/// The direction of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    ToDevice,
    ToHost,
    Both,
}

impl Direction {
    /// The name in records.
    fn name(self) -> &'static str {
        match self {
            Direction::ToDevice => "to-device",
            Direction::ToHost => "to-host",
            Direction::Both => "both",
        }
    }
}

impl Experiment for Transfer {
    fn name(&self) -> &'static str {
        "transfer"
    }

    fn summary(&self) -> &'static str {
        "copies over the host link from pinned, pageable, write-combined and managed memory, and beside a kernel"
    }

    fn reading(&self) -> &'static str {
        "GB/s count the bytes that cross the link, once for each direction. A copy of V bytes takes a + V / b, so rates grow \
         with the size until V is well above a times b. transfer_increment copies in, adds one and copies out, in parts on \
         three streams."
    }

    fn articles(&self) -> &'static [Article] {
        &[articles::CHAPTER_4]
    }

    fn picture(&self) -> Picture {
        Picture::Curve { over: "kib", by: &["direction", "memory", "parts"], sectors: false }
    }

    fn finding(&self) -> fn(&[&Record]) -> Option<String> {
        findings::transfer::transfer
    }

    fn options(&self) -> &'static [&'static str] {
        &["bytes", "block"]
    }

    fn kernels(&self) -> Vec<KernelInfo> {
        vec![KERNEL]
    }

    fn driver_work(&self) -> Option<&'static str> {
        Some(DRIVER)
    }

    /// The smallest size of the table; it divides into parts.
    fn unit(&self, _: &Request) -> u64 {
        SIZES[0]
    }

    fn notes(&self, _: &Request, device: &DeviceInfo) -> Vec<String> {
        let alone =
            "transfer: the model knows one latency and one bandwidth of the host link, for pinned memory";
        (device.backend() == Backend::Modelled).then(|| alone.to_string()).into_iter().collect()
    }

    fn plan(&self, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>> {
        check_size(&[self], request)?;
        let sizes = match (request.sized, request.scale) {
            (true, _) => vec![request.bytes],
            (_, Scale::Small) => SMALL.to_vec(),
            (_, Scale::Quick) => QUICK.to_vec(),
            (_, Scale::Full) => SIZES.to_vec(),
        };
        let mut points = Vec::new();
        if request.wants(DRIVER) {
            for (memory, place) in MEMORIES {
                for direction in [Direction::ToDevice, Direction::ToHost] {
                    // The host reads write-combined memory too slowly for anyone to want results there.
                    if (direction, place) != (Direction::ToHost, Place::WriteCombined) {
                        points.extend(sizes.iter().map(|&bytes| copied(bytes, direction, memory, place)));
                    }
                }
            }
            let large = sizes.iter().filter(|bytes| **bytes >= LEAST_OVERLAPPED);
            points.extend(large.map(|&bytes| copied(bytes, Direction::Both, MEMORIES[0].0, MEMORIES[0].1)));
        }
        if request.wants(KERNEL.name) {
            let bytes = sizes.iter().copied().max().unwrap_or_default();
            let parts = if request.scale == Scale::Full { &PARTS[..] } else { &QUICK_PARTS };
            for &parts in parts {
                points.push(pipeline(bytes, parts, request.block, device)?);
            }
        }
        Ok(points)
    }
}

/// Parameters of a copy of this many bytes.
fn parameters(of: Parameters, bytes: u64, direction: Direction, memory: &str) -> Parameters {
    let of = Parameters { bytes, ..of }.with("direction", direction.name()).with("memory", memory);
    of.with("kib", bytes >> 10)
}

/// The driver's copy of `bytes` bytes between the device and memory of this kind.
fn copied(bytes: u64, direction: Direction, memory: &str, place: Place) -> Point {
    let pair = |from, to| {
        let before = Contents::Pattern(Precision::F32);
        [
            Buffer { bytes, place: from, before, after: copy::pattern() },
            Buffer { bytes, place: to, before: Contents::Poison, after: copy::pattern() },
        ]
    };
    let (buffers, work): (Vec<Buffer>, _) = match direction {
        Direction::ToDevice => {
            (pair(place, Place::Device).into(), Work::driver(DRIVER, |stream, on| on.copy(0, 1, stream)))
        }
        Direction::ToHost => {
            (pair(Place::Device, place).into(), Work::driver(DRIVER, |stream, on| on.copy(0, 1, stream)))
        }
        Direction::Both => {
            let beside = Beside::new(2);
            let buffers = pair(place, Place::Device).into_iter().chain(pair(Place::Device, place));
            let work = Work::driver(DRIVER, move |stream, on| {
                beside.queue(stream, |streams| {
                    on.copy(0, 1, &streams[0])?;
                    on.copy(2, 3, &streams[1])
                })
            });
            (buffers.collect(), work)
        }
    };
    let crossing = bytes * if direction == Direction::Both { 2 } else { 1 };
    Point {
        parameters: parameters(Parameters::of_bytes(bytes), bytes, direction, memory),
        bytes: BytesMoved { read: crossing, written: 0, footprint: 2 * crossing },
        buffers,
        handing: Handing::Calls,
        unmodelled: (!matches!(place, Place::Pinned | Place::WriteCombined))
            .then_some("of host memory the model knows what is pinned"),
        ..Point::new(Transfer.name(), NO_LAUNCH, work)
    }
}

/// A copy in, the kernel and a copy out, of each of this many parts.
fn pipeline(bytes: u64, parts: u32, block: u32, device: &DeviceInfo) -> Result<Point> {
    let elements = bytes / Precision::F32.size();
    let shape = covering(elements / u64::from(parts), block, device)?;
    let beside = Beside::new(STREAMS);
    let length = (elements / u64::from(parts)) as usize;
    let work = Work::in_parts::<transfer_increment>(
        move |on, part| (on.write_part(1, part), length),
        parts,
        move |stream, on, launch| {
            beside.queue(stream, |streams| {
                for (part, stream) in Part::each(parts).zip(streams.iter().cycle()) {
                    on.copy_part(0, 1, part, stream)?;
                    launch(part, stream)?;
                    on.copy_part(1, 2, part, stream)?;
                }
                Ok(())
            })
        },
    );
    let buffer = |place, before, after| Buffer { bytes, place, before, after };
    let point = Point::new(Transfer.name(), shape, work);
    Ok(Point {
        parameters: parameters(
            Parameters { elements, ..point.parameters },
            bytes,
            Direction::Both,
            MEMORIES[0].0,
        )
        .with("parts", parts),
        bytes: BytesMoved { read: bytes, written: bytes, footprint: bytes },
        buffers: vec![
            buffer(Place::Pinned, Contents::Pattern(Precision::F32), copy::pattern()),
            buffer(Place::Device, Contents::Poison, incremented()),
            buffer(Place::Pinned, Contents::Poison, incremented()),
        ],
        handing: Handing::Calls,
        ..point
    })
}

/// The pattern plus one, for any number of launches, since each copies the input in again.
fn incremented() -> Expected {
    Expected::exactly(|first, _, values: &mut [f32]| {
        pattern::fill(first, SEED, values);
        values.iter_mut().for_each(|value| *value += 1.0);
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{device::tests::h200, experiments};

    fn plan(change: impl FnOnce(&mut Request)) -> Vec<Point> {
        let mut request = Request { sized: false, ..experiments::tests::request() };
        change(&mut request);
        Transfer.points(&request, &h200()).expect("it is a valid request")
    }

    #[test]
    fn every_memory_is_copied_in_and_all_but_write_combined_out() {
        let points = plan(|_| {});
        let text = |point: &Point, name: &str| point.parameters.more[name].as_str().unwrap_or("").to_string();
        let of = |direction: &str| -> Vec<String> {
            let large = |point: &&Point| point.parameters.bytes == 8 << 20 && point.kernel == DRIVER;
            let points = points.iter().filter(large).filter(|point| text(point, "direction") == direction);
            points.map(|point| text(point, "memory")).collect()
        };
        assert_eq!(of("to-device"), ["pinned", "pageable", "write-combined", "managed"]);
        assert_eq!(of("to-host"), ["pinned", "pageable", "managed"]);
        assert_eq!(of("both"), ["pinned"]);
        assert_eq!(points.len(), 7 * 3 + 1 + 3);
        assert_eq!(plan(|request| request.scale = Scale::Full).len(), 7 * 9 + 5 + 5);
        assert_eq!(plan(|request| request.sized = true).len(), 7 + 1 + 3, "one size");
    }

    #[test]
    fn a_pipeline_counts_both_directions_and_launches_parts() {
        let points = plan(|request| request.kernels = vec![KERNEL.name.to_string()]);
        let shapes: Vec<_> = points.iter().map(|point| (point.shape.grid[0], point.bytes.read)).collect();
        // 2 Mi elements in blocks of 256, in 1, 4 and 16 parts.
        assert_eq!(shapes, [(8192, 8 << 20), (2048, 8 << 20), (512, 8 << 20)]);
        assert!(points.iter().all(|point| point.bytes.written == 8 << 20));
    }
}
