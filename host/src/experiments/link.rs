//! `link`: copies between cards, and between host and card, in one direction and in both at once; kernels on another card's
//! memory; and a sum over all cards. What to expect is in gpu-kernels' `link.rs`.
//!
//! A run has the pairs that its device is part of: with `--device cuda:all` or `sim:h200x2`, each card's run adds its own,
//! and together they are the whole matrix. A pair of cards is then measured twice, from either end: a copy one way is queued on
//! the run's card, so once where it is sent and once where it is received. Of copies both ways each is queued on the card
//! that sends it. Kernels run on the memory of the next card alone. The sum takes all cards, and each run times it by its own
//! card's events.

#[allow(unsafe_code, reason = "launches kernels on other cards, and hands their streams to the driver")]
mod cards;
mod kernels;
mod ring;

use super::{
    Buffer, BytesMoved, Contents, Experiment, Handing, KernelInfo, NO_LAUNCH, Place, Point, Precision,
    Request, Scale, Work, articles, beside::Beside, check_size, copy, findings,
};
use crate::{
    device::{self, Backend, DeviceInfo, Neighbour},
    numa::{self, Node},
};
use anyhow::{Result, bail};
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
    /// The host's memory on the NUMA node with this number.
    Node(u32),
    /// The card with this number, as the driver counts them.
    Card(u32),
}

impl End {
    /// The name in records.
    fn name(self) -> String {
        match self {
            End::Host => "host".to_string(),
            End::Node(number) => format!("host node {number}"),
            End::Card(ordinal) => format!("card {ordinal}"),
        }
    }

    /// The memory at this end, in a run on the card with the number `own`.
    fn place(self, own: u32) -> Place {
        match self {
            End::Host => Place::Pinned,
            End::Node(number) => Place::PinnedOn(number),
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
        "copies between cards and with the host, one way and both ways; kernels on another card's memory; a sum over all cards"
    }

    fn reading(&self) -> &'static str {
        "GB/s count the bytes that cross the link, once for each direction. Each row is a pair: a copy from one to the other, \
         queued on the run's card, or (ways: both) that copy and one back at the same time, each queued on the card that sends. \
         Kernels run on the run's card: copy_scalar and copy_vector read or write the other card's memory, offset and stride update \
         it, and one thread of chase_l2 follows a chain of addresses through it, for the latency of a load; \
         atomics_global_add_u32 and atomics_global_fetch_u32 add to counters there. ring_add adds the other card's vectors to the \
         run's own; in rows with a number of cards it sums arrays over all of them in a ring, and GB/s are the bus bandwidth: \
         2 (n - 1) / n times the bytes of an array, for n cards, over the time."
    }

    fn articles(&self) -> &'static [Article] {
        &[articles::INTERCONNECTS, articles::RING]
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

    /// The others are other experiments' too.
    fn of_several_cards(&self) -> &'static [&'static str] {
        &[ring::RING.name]
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
        let mut all = Vec::new();
        if request.wants(DRIVER) || request.wants(ring::RING.name) {
            all.extend(notes(device, &neighbours));
        }
        if request.wants(DRIVER) {
            all.extend(note_on_nodes(device, &numa::nodes()));
        }
        if request.wants(ring::RING.name) {
            all.extend(note_on_ring(device, &neighbours));
        }
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
        let mut points = Vec::new();
        if wanted {
            points.extend(matrix(device.ordinal, &neighbours, &sizes));
            points.extend(by_node(device.ordinal, &numa::nodes(), &sizes));
        }
        if let Some(other) = kernels::next(device.ordinal, &neighbours) {
            points.extend(kernels::points(request, device, other)?);
        }
        let ring = ring_of(device, &neighbours).filter(|_| request.wants(ring::RING.name));
        if let Some(ring) = ring {
            points.extend(ring::points(request, device, &ring)?);
        } else if request.names(ring::RING.name) {
            bail!(
                "{} sums over cards that can access each other's memory, and there are no such cards beside card {}; `--device \
                 sim:h200x2` simulates two",
                ring::RING.name,
                device.ordinal
            );
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
            "link: the driver shows one card, so pairs of cards, kernels on another card's memory and sums over cards are left \
             out{advice}"
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

/// The cards of a sum in which this device takes part.
fn ring_of(device: &DeviceInfo, neighbours: &[Neighbour]) -> Option<Vec<u32>> {
    device::ring(device.ordinal, neighbours).filter(|ring| ring.len() <= ring::MOST)
}

/// The note on sums over cards, where there are others and one is due.
fn note_on_ring(device: &DeviceInfo, neighbours: &[Neighbour]) -> Option<String> {
    if neighbours.is_empty() {
        return None;
    }
    match (ring_of(device, neighbours), device.backend()) {
        (None, _) => Some(format!(
            "link: card {} and those that it can access form no ring in which each can access the next, so sums over cards \
             are left out",
            device.ordinal
        )),
        (Some(_), Backend::Modelled) => Some(
            "link: sums over cards have not been measured yet: their modelled times follow from those of each card's kernels, which \
             do not slow each other on the link, and a stream waits for another card without delay"
                .to_string(),
        ),
        (Some(_), Backend::Measured) => None,
    }
}

/// The note on the host's NUMA nodes, where one is due.
fn note_on_nodes(device: &DeviceInfo, nodes: &[Node]) -> Option<String> {
    match (nodes, device.backend()) {
        ([], _) => Some(
            "link: this machine does not tell its NUMA nodes, so rows of host memory by node are left out"
                .to_string(),
        ),
        ([_], _) => Some(
            "link: this machine has one NUMA node, so rows of host memory by node are left out".to_string(),
        ),
        (_, Backend::Modelled) => Some(
            "link: the model knows one host link, whichever NUMA node the host's memory is on".to_string(),
        ),
        (_, Backend::Measured) => None,
    }
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

/// The copies of card `own` with the host's memory on each NUMA node, in and out, where there are several nodes.
fn by_node(own: u32, nodes: &[Node], sizes: &[u64]) -> Vec<Point> {
    let nodes = if nodes.len() > 1 { nodes } else { &[] };
    let mut points = Vec::new();
    for &bytes in sizes {
        for node in nodes {
            let (card, node) = (End::Card(own), End::Node(node.number));
            points.push(copied(own, bytes, node, card));
            points.push(copied(own, bytes, card, node));
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

/// A copy from one end to the other and one back, on two streams: each on the card that sends, and of copies with the host
/// both on the card.
fn both_ways(own: u32, bytes: u64, one: End, other: End) -> Point {
    let sender = |end| match end {
        End::Card(ordinal) if ordinal != own => Some(ordinal),
        End::Card(_) | End::Host | End::Node(_) => None,
    };
    let beside = Beside::on(vec![sender(one), sender(other)]);
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
                "link: the driver shows one card, so pairs of cards, kernels on another card's memory and sums over cards are \
                 left out; `--device sim:h200x2` simulates two"
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
        assert_eq!(note_on_ring(&h200(), &[]), None);
        // Without a driver no card can access another.
        assert_eq!(
            note_on_ring(&h200(), &cards([1], &[1])).as_deref(),
            Some(
                "link: card 0 and those that it can access form no ring in which each can access the next, so sums over \
                 cards are left out"
            )
        );
    }

    #[test]
    fn host_memory_has_rows_by_node_where_there_are_several() {
        let nodes =
            |numbers: &[u32]| numbers.iter().map(|number| Node::numbered(*number)).collect::<Vec<_>>();
        assert!(by_node(0, &nodes(&[]), &[64]).is_empty());
        assert!(by_node(0, &nodes(&[0]), &[64]).is_empty());
        let points = by_node(1, &nodes(&[0, 2]), &[64]);
        assert_eq!(
            rows(&points),
            [
                "host node 0 > card 1, one",
                "card 1 > host node 0, one",
                "host node 2 > card 1, one",
                "card 1 > host node 2, one",
            ]
        );
        assert_eq!(points[2].buffers[0].place, Place::PinnedOn(2));
        let note = |numbers: &[u32], device: &DeviceInfo| note_on_nodes(device, &nodes(numbers));
        assert!(note(&[], &h200()).is_some_and(|note| note.contains("does not tell its NUMA nodes")));
        assert!(note(&[0], &h200()).is_some_and(|note| note.contains("has one NUMA node")));
        assert_eq!(note(&[0, 1], &h200()), None);
        let simulated = DeviceInfo { card: Some("h200".to_string()), ..h200() };
        assert!(note(&[0, 1], &simulated).is_some_and(|note| note.contains("one host link")));
    }
}
