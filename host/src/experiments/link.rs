//! `link`: copies between cards, and between host and card, in one direction and in both at once; and kernels on another
//! card's memory. What to expect is in gpu-kernels' `link.rs`.
//!
//! A run has the pairs that its device is part of: with `--device cuda:all` or `sim:h200x2`, each card's run adds its own,
//! and together they are the whole matrix. A pair of cards is then measured twice, from either end. Kernels run on the
//! memory of the next card alone.

mod kernels;

use super::{
    Buffer, BytesMoved, Contents, Experiment, Handing, KernelInfo, NO_LAUNCH, Place, Point, Precision,
    Request, Scale, Work, articles, check_size, copy, findings, streams::Beside,
};
use crate::device::{self, Backend, DeviceInfo, Neighbour};
use anyhow::Result;
use record::{Parameters, Record};
use report::{Article, Picture};

/// The memory behind a link.
pub(super) struct Link;

/// Under this name copies are recorded.
const DRIVER: &str = "link_driver";

/// Bytes of a copy.
const SIZE: u64 = 64 << 20;
const SMALL: u64 = 64 << 10;

/// The sizes of a full run, the largest that of the copies that PyTorch was seen to make.
const SIZES: [u64; 3] = [1 << 20, 32 << 20, 1 << 30];

/// An end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Host,
    /// The card with this number, as the driver counts them.
    Card(u32),
}

impl End {
    /// The name in records.
    fn name(self) -> String {
        match self {
            End::Host => "host".to_string(),
            End::Card(ordinal) => format!("card {ordinal}"),
        }
    }

    /// The memory at this end, in a run on the card with the number `own`.
    fn place(self, own: u32) -> Place {
        match self {
            End::Host => Place::Pinned,
            End::Card(ordinal) if ordinal == own => Place::Device,
            End::Card(ordinal) => Place::Peer(ordinal),
        }
    }
}

/// The ends that a card copies to and from: the host, and its neighbours.
fn others(neighbours: &[Neighbour]) -> impl Iterator<Item = End> + '_ {
    [End::Host].into_iter().chain(neighbours.iter().map(|card| End::Card(card.ordinal)))
}

impl Experiment for Link {
    fn name(&self) -> &'static str {
        "link"
    }

    fn summary(&self) -> &'static str {
        "copies between cards and with the host, one way and both ways, and kernels on another card's memory"
    }

    fn reading(&self) -> &'static str {
        "GB/s count the bytes that cross the link, once for each direction. Each row is a pair: a copy from one to the other, \
         or (ways: both) that copy and one back at the same time. Copies are queued on the run's card, and kernels run there: \
         copy_scalar and copy_vector read or write the other card's memory, offset and stride update it, and one thread of chase_l2 follows a chain \
         of addresses through it, for the latency of a load; atomics_global_add_u32 and atomics_global_fetch_u32 add to counters there."
    }

    fn articles(&self) -> &'static [Article] {
        &[articles::INTERCONNECTS]
    }

    fn picture(&self) -> Picture {
        Picture::Matrix {
            to: "to",
            from: "from",
            by: &["from", "to", "ways", "memory", "offset", "stride", "addresses"],
        }
    }

    fn finding(&self) -> fn(&[&Record]) -> Option<String> {
        findings::link::link
    }

    fn options(&self) -> &'static [&'static str] {
        &["bytes", "block"]
    }

    fn kernels(&self) -> Vec<KernelInfo> {
        kernels::infos()
    }

    fn driver_work(&self) -> Option<&'static str> {
        Some(DRIVER)
    }

    /// A block of the widest kernel, since one thread has one element and the kernels check no bounds; of copies alone an
    /// element of the pattern.
    fn unit(&self, request: &Request) -> u64 {
        let kernels = kernels::infos().iter().any(|kernel| request.wants(kernel.name));
        if kernels { u64::from(request.block).max(1) * kernels::WIDEST } else { Precision::F32.size() }
    }

    fn notes(&self, request: &Request, device: &DeviceInfo) -> Vec<String> {
        let neighbours = device::neighbours(device.ordinal);
        let mut all = if request.wants(DRIVER) { notes(device, &neighbours) } else { Vec::new() };
        if kernels::ATOMICS.iter().any(|kernel| request.wants(kernel.name)) {
            all.extend(note_on_atomics(device, &neighbours));
        }
        all
    }

    fn plan(&self, request: &Request, device: &DeviceInfo) -> Result<Vec<Point>> {
        check_size(&[self], request)?;
        let sizes = match (request.sized, request.scale) {
            (true, _) => vec![request.bytes],
            (_, Scale::Small) => vec![SMALL],
            (_, Scale::Quick) => vec![SIZE],
            (_, Scale::Full) => SIZES.to_vec(),
        };
        let neighbours = device::neighbours(device.ordinal);
        let wanted = request.wants(DRIVER);
        let mut points = if wanted { matrix(device.ordinal, &neighbours, &sizes) } else { Vec::new() };
        if let Some(other) = kernels::next(device.ordinal, &neighbours) {
            points.extend(kernels::points(request, device, other)?);
        }
        Ok(points)
    }
}

/// What a run on this device leaves out or does in another way.
fn notes(device: &DeviceInfo, neighbours: &[Neighbour]) -> Vec<String> {
    let mut notes = Vec::new();
    if neighbours.is_empty() {
        let advice = match device.backend() {
            Backend::Measured => "; `--device sim:h200x2` simulates two",
            Backend::Modelled => "; two of a kind are written like `--device sim:h200x2`",
        };
        notes.push(format!(
            "link: the driver shows one card, so pairs of cards and kernels on another card's memory are left out{advice}"
        ));
    }
    let strangers = neighbours.iter().filter(|card| !card.accessible);
    let strangers: Vec<String> = strangers.map(|card| End::Card(card.ordinal).name()).collect();
    if !strangers.is_empty() {
        notes.push(format!(
            "link: card {} cannot access the memory of {}, so copies between them go by way of the \
             host, and no kernel of one runs on memory of the other",
            device.ordinal,
            strangers.join(", ")
        ));
    }
    notes
}

/// The note on atomic operations in the next card's memory, where one is due.
fn note_on_atomics(device: &DeviceInfo, neighbours: &[Neighbour]) -> Option<String> {
    let next = kernels::next(device.ordinal, neighbours)?;
    if !next.atomics {
        return Some(format!(
            "link: the link between card {} and card {} carries no atomic operations, so these are left out",
            device.ordinal, next.ordinal
        ));
    }
    (device.backend() == Backend::Modelled).then(|| {
        "link: atomic operations on another card's memory have not been measured on any pair yet: their modelled times follow from \
         the packets that they send and from atomics on a card's own memory"
            .to_string()
    })
}

/// The copies of a run on card `own`: with each other end in, out and both ways, of each size.
fn matrix(own: u32, neighbours: &[Neighbour], sizes: &[u64]) -> Vec<Point> {
    let mut points = Vec::new();
    for &bytes in sizes {
        for other in others(neighbours) {
            let own_end = End::Card(own);
            points.push(copied(own, bytes, other, own_end));
            points.push(copied(own, bytes, own_end, other));
            points.push(both_ways(own, bytes, other, own_end));
        }
    }
    points
}

/// The buffers of a copy on card `own`, by the driver or by a kernel.
fn pair(own: u32, bytes: u64, source: End, destination: End) -> [Buffer; 2] {
    let before = Contents::Pattern(Precision::F32);
    [
        Buffer { bytes, place: source.place(own), before, after: copy::pattern() },
        Buffer { bytes, place: destination.place(own), before: Contents::Poison, after: copy::pattern() },
    ]
}

fn copied(own: u32, bytes: u64, source: End, destination: End) -> Point {
    let work = Work::driver(DRIVER, |stream, on| on.copy(0, 1, stream));
    let buffers = pair(own, bytes, source, destination).into();
    point(bytes, [source, destination], "one", buffers, work)
}

/// A copy from one end to the other and one back, on two streams.
fn both_ways(own: u32, bytes: u64, one: End, other: End) -> Point {
    let beside = Beside::new(2);
    let work = Work::driver(DRIVER, move |stream, on| {
        beside.queue(stream, |streams| {
            on.copy(0, 1, &streams[0])?;
            on.copy(2, 3, &streams[1])
        })
    });
    let buffers = pair(own, bytes, one, other).into_iter().chain(pair(own, bytes, other, one));
    // The pair has one name from either end.
    let ends = if matches!((one, other), (End::Card(a), End::Card(b)) if a > b) {
        [other, one]
    } else {
        [one, other]
    };
    point(bytes, ends, "both", buffers.collect(), work)
}

fn point(bytes: u64, [source, destination]: [End; 2], ways: &str, buffers: Vec<Buffer>, work: Work) -> Point {
    let crossing = bytes * buffers.len() as u64 / 2;
    Point {
        parameters: Parameters::of_bytes(bytes)
            .with("from", source.name())
            .with("to", destination.name())
            .with("ways", ways),
        bytes: BytesMoved { read: crossing, written: 0, footprint: 2 * crossing },
        buffers,
        handing: Handing::Calls,
        ..Point::new(Link.name(), NO_LAUNCH, work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{device::tests::h200, experiments};

    fn rows(points: &[Point]) -> Vec<String> {
        let text =
            |point: &Point, name: &str| point.parameters.more[name].as_str().expect("a text").to_string();
        let row = |point| format!("{} > {}, {}", text(point, "from"), text(point, "to"), text(point, "ways"));
        points.iter().map(row).collect()
    }

    /// Neighbours, of which these are accessible.
    fn cards<const N: usize>(ordinals: [u32; N], accessible: &[u32]) -> [Neighbour; N] {
        ordinals.map(|ordinal| Neighbour {
            ordinal,
            accessible: accessible.contains(&ordinal),
            atomics: true,
        })
    }

    #[test]
    fn each_card_has_the_pairs_that_it_is_part_of() {
        assert_eq!(
            rows(&matrix(0, &[], &[64])),
            ["host > card 0, one", "card 0 > host, one", "host > card 0, both"]
        );
        let second = matrix(1, &cards([0, 2], &[0, 2]), &[64]);
        assert_eq!(
            rows(&second),
            [
                "host > card 1, one",
                "card 1 > host, one",
                "host > card 1, both",
                "card 0 > card 1, one",
                "card 1 > card 0, one",
                "card 0 > card 1, both",
                "card 2 > card 1, one",
                "card 1 > card 2, one",
                "card 1 > card 2, both",
            ]
        );
        let places = |point: &Point| point.buffers.iter().map(|buffer| buffer.place).collect::<Vec<_>>();
        assert_eq!(places(&second[1]), [Place::Device, Place::Pinned]);
        assert_eq!(places(&second[6]), [Place::Peer(2), Place::Device]);
        assert_eq!(places(&second[8]), [Place::Peer(2), Place::Device, Place::Device, Place::Peer(2)]);
        assert_eq!((second[6].bytes.read, second[8].bytes.read), (64, 128));
    }

    #[test]
    fn sizes_are_those_of_the_scale() {
        let sizes = |change: fn(&mut Request)| {
            let mut request = Request { sized: false, ..experiments::tests::request() };
            change(&mut request);
            let points = Link.points(&request, &h200()).expect("it is a valid request");
            points.iter().step_by(3).map(|point| point.parameters.bytes).collect::<Vec<_>>()
        };
        assert_eq!(sizes(|_| {}), [SIZE]);
        assert_eq!(sizes(|request| request.sized = true), [1 << 20]);
        assert_eq!(sizes(|request| request.scale = Scale::Full), SIZES);
    }

    #[test]
    fn what_is_left_out_is_said() {
        assert_eq!(
            notes(&h200(), &[]),
            [
                "link: the driver shows one card, so pairs of cards and kernels on another card's memory are left out; \
                 `--device sim:h200x2` simulates two"
            ]
        );
        assert!(notes(&h200(), &cards([1, 2], &[1, 2])).is_empty());
        assert_eq!(
            notes(&h200(), &cards([1, 2, 3], &[2])),
            [
                "link: card 0 cannot access the memory of card 1, card 3, so copies between them go by way of the host, and no \
                 kernel of one runs on memory of the other"
            ]
        );
        let without = Neighbour { atomics: false, ..cards([1], &[1])[0] };
        assert_eq!(
            note_on_atomics(&h200(), &[without]).as_deref(),
            Some(
                "link: the link between card 0 and card 1 carries no atomic operations, so these are left out"
            )
        );
        assert_eq!(note_on_atomics(&h200(), &[]), None);
    }
}
