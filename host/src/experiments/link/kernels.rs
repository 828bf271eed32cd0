//! Kernels of `copy`, `offset`, `stride`, `latency` and `atomics`, and a step of the ring, on another card's memory.

use super::{End, Link, pair, ring};
use crate::{
    device::{Backend, DeviceInfo, Neighbour},
    experiments::{
        Buffer, BytesMoved, Contents, Experiment, KernelInfo, Place, Point, Precision, Request, Scale, Work,
        atomics, coalescing::incremented, covering, latency, touched_bytes,
    },
};
use anyhow::Result;
use gpu_kernels::{
    atomics::{atomics_global_add_u32, atomics_global_fetch_u32},
    coalescing::{offset_f32, stride_f32},
    copy::{copy_scalar, copy_vector},
    unchecked::latency::chase_l2,
};
use record::Parameters;

/// Bytes that a kernel reads or writes.
const SIZE: u64 = 32 << 20;
const MODELLED: u64 = 4 << 20;
const SMALL: u64 = 64 << 10;

/// The widest access of the kernels, in bytes per lane.
pub(super) const WIDEST: u64 = 16;

/// Offsets and strides in elements of 4 bytes: aligned to a line, a sector and to neither; up to a sector for each lane
/// and beyond.
const OFFSETS: [u32; 4] = [0, 1, 8, 31];
const STRIDES: [u32; 6] = [1, 2, 4, 8, 16, 32];

const COPIES: [KernelInfo; 2] = [KernelInfo::of::<copy_scalar>(), KernelInfo::of::<copy_vector>()];
const OFFSET: KernelInfo = KernelInfo::of::<offset_f32>();
const STRIDE: KernelInfo = KernelInfo::of::<stride_f32>();

const CHASE: KernelInfo = KernelInfo::of::<chase_l2>();

/// Adds to counters: without the old value, and with it.
pub(super) const ATOMICS: [KernelInfo; 2] =
    [KernelInfo::of::<atomics_global_add_u32>(), KernelInfo::of::<atomics_global_fetch_u32>()];

/// Bytes of a chain of loads: more lines than a launch loads twice, and of a full run also more than any L2 holds.
const CHAIN: u64 = 4 << 20;
const LONG_CHAIN: u64 = 256 << 20;

/// Every kernel that runs on another card's memory.
pub(super) fn infos() -> Vec<KernelInfo> {
    [&COPIES[..], &[OFFSET, STRIDE, CHASE, ring::RING], &ATOMICS].concat()
}

/// The card whose memory kernels access: the next accessible one after this card, in the order of their numbers.
pub(super) fn next(own: u32, neighbours: &[Neighbour]) -> Option<Neighbour> {
    let accessible = || neighbours.iter().filter(|card| card.accessible).copied();
    accessible().find(|card| card.ordinal > own).or_else(|| accessible().next())
}

/// The launches on this device with buffers on card `other`.
///
/// # Errors
/// The device has no such block or no such grid.
pub(super) fn points(request: &Request, device: &DeviceInfo, neighbour: Neighbour) -> Result<Vec<Point>> {
    let other = neighbour.ordinal;
    let bytes = match (request.sized, request.scale, device.backend()) {
        (true, ..) => request.bytes,
        (_, Scale::Small, _) => SMALL,
        (.., Backend::Modelled) => MODELLED,
        (.., Backend::Measured) => SIZE,
    };
    let unit = Link.unit(request);
    let bytes = (bytes / unit).max(1) * unit;
    let mut points = Vec::new();
    for (kernel, width) in COPIES.iter().zip([4, WIDEST]).filter(|(kernel, _)| request.wants(kernel.name)) {
        for reads in [true, false] {
            let work = match width {
                WIDEST => Work::kernel::<copy_vector>(|buffers| (buffers.read(0), buffers.write(1))),
                _ => Work::kernel::<copy_scalar>(|buffers| (buffers.read(0), buffers.write(1))),
            };
            debug_assert_eq!(work.name(), kernel.name);
            points.push(copied(bytes, width, request.block, device, other, reads, work)?);
        }
    }
    let sweeps = [(OFFSET, "offset", &OFFSETS[..]), (STRIDE, "stride", &STRIDES[..])];
    for (kernel, swept, values) in sweeps.into_iter().filter(|(kernel, ..)| request.wants(kernel.name)) {
        for &value in values {
            let (start, step, work) = if kernel.name == OFFSET.name {
                (u64::from(value), 1, Work::kernel::<offset_f32>(move |buffers| (buffers.write(0), value)))
            } else {
                (0, u64::from(value), Work::kernel::<stride_f32>(move |buffers| (buffers.write(0), value)))
            };
            let point = incrementing(bytes, [start, step], request.block, device, other, work)?;
            points.push(Point { parameters: point.parameters.with(swept, value), ..point });
        }
    }
    // Points of other experiments, with the other card's memory.
    let of_link = |point: Point| Point {
        experiment: Link.name(),
        parameters: point.parameters.with("memory", End::Card(other).name()),
        ..point
    };
    if request.wants(CHASE.name) {
        let footprints = match (request.scale, device.backend()) {
            (Scale::Small, _) => vec![SMALL],
            (Scale::Full, Backend::Measured) => vec![CHAIN, LONG_CHAIN],
            _ => vec![CHAIN],
        };
        for footprint in footprints {
            points.push(of_link(latency::through(Place::Peer(other), footprint, request.scale, device)?));
        }
    }
    if request.wants(ring::RING.name) {
        points.push(ring::step(bytes, request.block, device, other)?);
    }
    for kernel in ATOMICS.iter().filter(|kernel| neighbour.atomics && request.wants(kernel.name)) {
        let of_kernel = atomics::through(Place::Peer(other), kernel.name, request, device)?;
        points.extend(of_kernel.into_iter().map(of_link));
    }
    Ok(points)
}

/// A copy by a kernel from the other card to this one, or from this one to the other.
fn copied(
    bytes: u64,
    width: u64,
    block: u32,
    device: &DeviceInfo,
    other: u32,
    reads: bool,
    work: Work,
) -> Result<Point> {
    let shape = covering(bytes / width, block, device)?;
    let own = device.ordinal;
    let (from, to) = if reads { (other, own) } else { (own, other) };
    let point = Point::new(Link.name(), shape, work);
    let moved = |counts: bool| if counts { bytes } else { 0 };
    Ok(Point {
        parameters: Parameters { bytes, elements: bytes / width, ..point.parameters }
            .with("from", End::Card(from).name())
            .with("to", End::Card(to).name())
            .with("width", width),
        // What crosses the link.
        bytes: BytesMoved { read: moved(reads), written: moved(!reads), footprint: 2 * bytes },
        buffers: pair(own, bytes, End::Card(from), End::Card(to)).into(),
        ..point
    })
}

/// Adds one to elements of the other card's memory, the first at `start`, `step` apart.
fn incrementing(
    bytes: u64,
    [start, step]: [u64; 2],
    block: u32,
    device: &DeviceInfo,
    other: u32,
    work: Work,
) -> Result<Point> {
    let precision = Precision::F32;
    let size = precision.size();
    let elements = bytes / size;
    let shape = covering(elements, block, device)?;
    let point = Point::new(Link.name(), shape, work);
    Ok(Point {
        parameters: Parameters { bytes, elements, ..point.parameters }
            .with("memory", End::Card(other).name()),
        bytes: BytesMoved {
            read: bytes,
            written: bytes,
            footprint: touched_bytes(start * size, elements, size, step),
        },
        buffers: vec![Buffer {
            bytes: (start + elements * step) * size,
            place: Place::Peer(other),
            before: Contents::Pattern(precision),
            after: incremented(precision, start, step, elements),
        }],
        ..point
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{device::tests::h200, experiments};

    #[test]
    fn the_next_card_is_the_next_accessible_one() {
        let cards = |accessible: [u32; 2]| {
            let card =
                |ordinal| Neighbour { ordinal, accessible: accessible.contains(&ordinal), atomics: true };
            [0, 1, 3].map(card)
        };
        let next = |accessible| next(2, &cards(accessible)).map(|card| card.ordinal);
        assert_eq!(next([0, 3]), Some(3));
        assert_eq!(next([0, 1]), Some(0));
        assert_eq!(next([9, 9]), None);
    }

    #[test]
    fn kernels_read_and_write_the_other_card() {
        let all = |atomics| {
            let other = Neighbour { ordinal: 1, accessible: true, atomics };
            points(&experiments::tests::request(), &h200(), other).expect("it is a valid request")
        };
        let points = all(false);
        assert_eq!(points.len(), 4 + OFFSETS.len() + STRIDES.len() + 1 + 1);
        let with_atomics = all(true);
        let of_atomics = &with_atomics[points.len()..];
        assert_eq!(of_atomics.len(), 2 * 4);
        assert!(
            of_atomics
                .iter()
                .all(|point| point.experiment == "link" && point.buffers[0].place == Place::Peer(1))
        );
        // Old values stay on the card that asked for them.
        assert_eq!(of_atomics[7].buffers[1].place, Place::Device);
        let places = |point: &Point| point.buffers.iter().map(|buffer| buffer.place).collect::<Vec<_>>();
        assert_eq!(places(&points[0]), [Place::Peer(1), Place::Device]);
        assert_eq!(places(&points[3]), [Place::Device, Place::Peer(1)]);
        let moved: Vec<_> = points[..4].iter().map(|point| (point.bytes.read, point.bytes.written)).collect();
        assert_eq!(moved, [(1 << 20, 0), (0, 1 << 20), (1 << 20, 0), (0, 1 << 20)]);
        assert_eq!((points[0].shape.grid[0], points[2].shape.grid[0]), (1024, 256));
        let [.., last, chain, step] = &points[..] else { panic!("there are several") };
        assert_eq!(places(step), [Place::Device, Place::Peer(1), Place::Device]);
        assert_eq!((step.bytes.read, step.shape.grid[0]), (1 << 20, 256));
        assert_eq!((chain.experiment, places(chain)), ("link", vec![Place::Device, Place::Peer(1)]));
        assert_eq!((last.buffers[0].bytes, last.buffers[0].place), (32 << 20, Place::Peer(1)));
        assert_eq!(last.parameters.more["stride"], 32);
    }
}
