//! The sum over all cards, in a ring. How it goes is in gpu-kernels' `link.rs`.
//!
//! Each card has a stream. In each step it launches, for each piece of its chunk, a kernel that reads the same piece from the card
//! before it, and marks its end by an event. The next card's stream waits for that event before its next step's launch on that
//! piece. The stream that is measured comes before all of it and behind all of it, so that its events span every card's work
//! and the waiting between them.

use super::{
    End, Link,
    cards::{self, Card},
};
use crate::{
    device::{Backend, DeviceInfo},
    experiments::{
        Buffer, Buffers, BytesMoved, Contents, Experiment, Handing, KernelInfo, Part, Place, Point,
        Precision, Request, Scale, Shape, Work, covering,
    },
    kernels,
    verify::Expected,
};
use anyhow::{Context, Result};
use cuda_driver::ext::{Event, Peer};
use cust::stream::Stream;
use gpu_kernels::{copy::copy_vector, link::ring_add};
use pattern::SEED;
use record::Parameters;
use std::cell::OnceCell;

/// The kernel of the first half of the steps, under whose name the sum is recorded.
pub(super) const RING: KernelInfo = KernelInfo::of::<ring_add>();

/// Bytes of each card's array.
const SIZES: [u64; 3] = [1 << 20, 32 << 20, 256 << 20];
const SIZE: u64 = 64 << 20;
const MODELLED: u64 = 16 << 20;
const SMALL: u64 = 64 << 10;

/// Pieces of a chunk.
const PIECES: [u32; 5] = [1, 2, 4, 8, 16];
const QUICK: [u32; 2] = [1, 4];

/// Bytes that a thread adds.
const WIDTH: u64 = 16;

/// The most cards: as many whole numbers below 2^18 have a sum below 2^24, which f32 holds exactly.
pub(super) const MOST: usize = 64;

/// The sums over these cards, which form a ring in this order, in a run on one of them.
///
/// # Errors
/// The device has no such block or no such grid.
pub(super) fn points(request: &Request, device: &DeviceInfo, ring: &[u32]) -> Result<Vec<Point>> {
    let sizes = match (request.sized, request.scale, device.backend()) {
        (true, ..) => vec![request.bytes],
        (_, Scale::Small, _) => vec![SMALL],
        (_, Scale::Full, Backend::Measured) => SIZES.to_vec(),
        (.., Backend::Modelled) => vec![MODELLED],
        (.., Backend::Measured) => vec![SIZE],
    };
    let pieces = match request.scale {
        Scale::Full => &PIECES[..],
        _ => &QUICK,
    };
    let mut points = Vec::new();
    for &bytes in &sizes {
        for &pieces in pieces {
            points.push(sum(bytes, pieces, request.block, device, ring)?);
        }
    }
    Ok(points)
}

/// A sum of arrays of `bytes` bytes, rounded down to whole vectors in each piece.
fn sum(bytes: u64, pieces: u32, block: u32, device: &DeviceInfo, ring: &[u32]) -> Result<Point> {
    let cards = ring.len();
    let unit = cards as u64 * u64::from(pieces) * WIDTH;
    let bytes = (bytes / unit).max(1) * unit;
    let shape = covering(bytes / unit, block, device)?;
    let ring_of =
        Ring { own: device.clone(), ordinals: ring.to_vec(), pieces, shape, opened: OnceCell::new() };
    let work = Work::on_cards::<ring_add>(cards as u32, move |stream, on| ring_of.queue(stream, on));
    let place = |ordinal: &u32| End::Card(*ordinal).place(device.ordinal);
    let own = ring.iter().zip(0..).map(|(ordinal, rank)| Buffer {
        bytes,
        place: place(ordinal),
        before: contents(rank),
        after: sum_of(rank..rank + 1),
    });
    let sums = ring.iter().map(|ordinal| Buffer {
        bytes,
        place: place(ordinal),
        before: Contents::Poison,
        after: sum_of(0..cards as u32),
    });
    let point = Point::new(Link.name(), shape, work);
    Ok(Point {
        parameters: Parameters { bytes, elements: bytes / Precision::F32.size(), ..point.parameters }
            .with("cards", cards)
            .with("pieces", pieces),
        // What each card's link carries in each direction.
        bytes: BytesMoved {
            read: 2 * (cards as u64 - 1) * (bytes / cards as u64),
            written: 0,
            footprint: 2 * bytes,
        },
        buffers: own.chain(sums).collect(),
        handing: Handing::Calls,
        ..point
    })
}

/// One step of the sum: a kernel that reads from the neighbouring card alone, as a launch by itself.
///
/// # Errors
/// The device has no such block or no such grid.
pub(super) fn step(bytes: u64, block: u32, device: &DeviceInfo, other: u32) -> Result<Point> {
    let shape = covering(bytes / WIDTH, block, device)?;
    let work = Work::kernel::<ring_add>(|buffers| (buffers.read(0), buffers.read(1), buffers.write(2)));
    let buffer = |place, before, after| Buffer { bytes, place, before, after };
    let point = Point::new(Link.name(), shape, work);
    Ok(Point {
        parameters: Parameters { bytes, elements: bytes / WIDTH, ..point.parameters }
            .with("from", End::Card(other).name())
            .with("to", End::Card(device.ordinal).name()),
        // What crosses the link.
        bytes: BytesMoved { read: bytes, written: 0, footprint: 3 * bytes },
        buffers: vec![
            buffer(Place::Device, contents(0), sum_of(0..1)),
            buffer(Place::Peer(other), contents(1), sum_of(1..2)),
            buffer(Place::Device, Contents::Poison, sum_of(0..2)),
        ],
        ..point
    })
}

/// The number at an index of the array of the card with this rank: below 2^18, and of position and card.
fn value(index: u64, rank: u32) -> f32 {
    let of_card = SEED.wrapping_mul(2 * rank + 1);
    (pattern::value(index, of_card) >> 2) as f32
}

/// The array of the card with this rank.
fn contents(rank: u32) -> Contents {
    Contents::of(move |index| value(index, rank))
}

/// The sum of the arrays of these ranks, exactly.
fn sum_of(ranks: std::ops::Range<u32>) -> Expected {
    Expected::exactly(move |first, _, sums: &mut [f32]| {
        for (index, sum) in (first..).zip(sums) {
            *sum = ranks.clone().map(|rank| value(index, rank)).sum();
        }
    })
}

/// What a card does in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    /// The chunk that it reads from the card before it.
    chunk: u32,
    read: Read,
}

/// What a card makes of what it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Read {
    /// It adds the other card's own array to its own.
    First,
    /// It adds the other card's sum so far.
    Further,
    /// It copies the whole sum.
    Whole,
}

/// How many steps a sum over this many cards has.
fn steps(cards: u32) -> u32 {
    2 * (cards - 1)
}

/// What the card with this rank does in a step.
fn step_of(rank: u32, step: u32, cards: u32) -> Step {
    let (read, behind) = match step {
        0 => (Read::First, 1),
        step if step < cards - 1 => (Read::Further, step + 1),
        step => (Read::Whole, step - (cards - 1)),
    };
    Step { chunk: (rank + cards - behind) % cards, read }
}

/// The cards of a sum, opened when it is first queued.
struct Ring {
    own: DeviceInfo,
    /// The cards' numbers, in the order of their ranks.
    ordinals: Vec<u32>,
    pieces: u32,
    /// The shape of a launch on a piece.
    shape: Shape,
    opened: OnceCell<Opened>,
}

/// Streams on all cards.
struct Opened {
    /// In the order of their ranks.
    cards: Vec<Card>,
    /// Where the measured stream stands when a sum begins.
    begun: Event,
}

impl Ring {
    fn open(&self) -> Result<Opened> {
        let mut peers = Vec::new();
        for &ordinal in &self.ordinals {
            let peer = (ordinal != self.own.ordinal).then(|| Peer::open(ordinal as i32)).transpose();
            peers.push(peer.with_context(|| format!("cannot use card {ordinal} beside the one of the run"))?);
        }
        // Opening one connects it with the run's card; those between two others come here.
        for (nth, peer) in peers.iter().enumerate() {
            if let (Some(peer), Some(next)) = (peer, &peers[(nth + 1) % peers.len()]) {
                peer.connect(next)?;
            }
        }
        let text = kernels::for_device(&self.own)?;
        let marks = (steps(self.ordinals.len() as u32) * self.pieces) as usize;
        let cards = peers.into_iter().map(|peer| Card::open(peer, marks, &text)).collect::<Result<_>>()?;
        Ok(Opened { cards, begun: Event::new()? })
    }

    /// Queues the sum on all cards, behind what is on `main`, and what is queued on `main` next comes behind it.
    fn queue(&self, main: &Stream, on: &Buffers) -> Result<()> {
        let Opened { cards, begun } = match self.opened.get() {
            Some(opened) => opened,
            None => {
                let opened = self.open()?;
                self.opened.get_or_init(|| opened)
            }
        };
        let count = cards.len() as u32;
        let mark = |step: u32, piece: u32| (step * self.pieces + piece) as usize;
        cards::begin_behind(cards, main, begun)?;
        for step in 0..steps(count) {
            for (card, rank) in cards.iter().zip(0..) {
                let before = (rank + count - 1) % count;
                let Step { chunk, read } = step_of(rank, step, count);
                card.within(|| {
                    for piece in 0..self.pieces {
                        if let Some(last) = step.checked_sub(1) {
                            card.wait_for(&cards[before as usize], mark(last, piece))?;
                        }
                        let part = Part { nth: chunk * self.pieces + piece, of: count * self.pieces };
                        // Buffers are the arrays of all ranks, and then their sums.
                        let [own, sum, of_other, passed] =
                            [rank, count + rank, before, count + before].map(|buffer| buffer as usize);
                        match read {
                            Read::First | Read::Further => {
                                let passed = if read == Read::First { of_other } else { passed };
                                card.launch::<ring_add>(self.shape, on, |on| {
                                    (
                                        on.read_part(own, part),
                                        on.read_part(passed, part),
                                        on.write_part(sum, part),
                                    )
                                })?;
                            }
                            Read::Whole => card.launch::<copy_vector>(self.shape, on, |on| {
                                (on.read_part(passed, part), on.write_part(sum, part))
                            })?,
                        }
                        card.mark(mark(step, piece))?;
                    }
                    Ok(())
                })?;
            }
        }
        let last = mark(steps(count) - 1, self.pieces - 1);
        cards.iter().try_for_each(|card| card.join(main, last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{device::tests::h200, experiments};

    /// Runs the steps on sets of ranks: what is in each card's sum of each chunk in the end.
    fn sums(cards: u32) -> Vec<Vec<Vec<u32>>> {
        let mut sums = vec![vec![Vec::new(); cards as usize]; cards as usize];
        for step in 0..steps(cards) {
            let before_step = sums.clone();
            for rank in 0..cards {
                let before = (rank + cards - 1) % cards;
                let Step { chunk, read } = step_of(rank, step, cards);
                let passed = &before_step[before as usize][chunk as usize];
                sums[rank as usize][chunk as usize] = match read {
                    Read::First => vec![before, rank],
                    Read::Further => passed.iter().copied().chain([rank]).collect(),
                    Read::Whole => passed.clone(),
                };
            }
        }
        sums
    }

    #[test]
    fn in_the_end_each_card_has_each_rank_once_in_each_chunk() {
        for cards in 2..=8 {
            for chunks in sums(cards) {
                for mut ranks in chunks {
                    ranks.sort_unstable();
                    assert_eq!(ranks, (0..cards).collect::<Vec<_>>(), "{cards} cards");
                }
            }
        }
        // The lesson's table of three cards: steps by their chunks, card by card.
        let chunks = |step| [0, 1, 2].map(|rank| step_of(rank, step, 3).chunk);
        assert_eq!([0, 1, 2, 3].map(chunks), [[2, 0, 1], [1, 2, 0], [0, 1, 2], [2, 0, 1]]);
    }

    /// Returns true if a card's step comes behind another one's, by the order of streams and the events that they wait for.
    fn follows(cards: u32, later: (u32, u32), earlier: (u32, u32)) -> bool {
        let (rank, step) = later;
        let before = (rank + cards - 1) % cards;
        later == earlier
            || step > earlier.1
                && [rank, before].iter().any(|rank| follows(cards, (*rank, step - 1), earlier))
    }

    #[test]
    fn events_keep_each_read_behind_its_write_and_before_the_next() {
        for cards in 2..=8 {
            for (rank, step) in (0..cards).flat_map(|rank| (1..steps(cards)).map(move |step| (rank, step))) {
                let Step { chunk, .. } = step_of(rank, step, cards);
                let before = (rank + cards - 1) % cards;
                let writes: Vec<u32> =
                    (0..steps(cards)).filter(|other| step_of(before, *other, cards).chunk == chunk).collect();
                let (earlier, later): (Vec<u32>, Vec<u32>) = writes.iter().partition(|write| **write < step);
                assert!(!earlier.is_empty(), "{cards} cards, {rank} in step {step} reads what nobody wrote");
                assert!(earlier.iter().all(|write| follows(cards, (rank, step), (before, *write))));
                assert!(later.iter().all(|write| follows(cards, (before, *write), (rank, step))));
            }
        }
    }

    #[test]
    fn each_card_brings_in_less_than_two_arrays() {
        let request = Request { sized: true, bytes: 3 << 20, ..experiments::tests::request() };
        let of = |ring: &[u32]| {
            let points = points(&request, &h200(), ring).expect("it is a valid request");
            points.iter().map(|point| (point.parameters.bytes, point.bytes.read)).collect::<Vec<_>>()
        };
        assert_eq!(of(&[0, 1]), [(3 << 20, 3 << 20); 2]);
        assert_eq!(of(&[0, 1, 2]), [(3 << 20, 4 << 20); 2]);
        // Chunks are of whole vectors.
        let five = of(&[0, 1, 2, 3, 4]);
        assert_eq!(five[0], (3_145_680, 8 * 629_136));
        assert_eq!(five[1].0 % (5 * 4 * 16), 0);
    }

    #[test]
    fn buffers_are_the_arrays_and_then_the_sums_each_on_its_card() {
        let device = DeviceInfo { ordinal: 1, ..h200() };
        let points = points(&experiments::tests::request(), &device, &[0, 1, 3]).expect("a valid request");
        let places: Vec<Place> = points[0].buffers.iter().map(|buffer| buffer.place).collect();
        let each = [Place::Peer(0), Place::Device, Place::Peer(3)];
        assert_eq!(places, [each, each].concat());
    }

    #[test]
    fn sums_are_exact_and_tell_ranks_apart() {
        let most: f32 = (0..MOST as u32).map(|rank| value(77, rank)).sum();
        let exact: u64 = (0..MOST as u32).map(|rank| value(77, rank) as u64).sum();
        assert_eq!(most as u64, exact);
        assert!(exact < 1 << 24);
        let two =
            [value(5, 0) + value(5, 1), value(5, 0) * 2.0, value(5, 1) * 2.0, value(6, 0) + value(6, 1)];
        assert!(two[1..].iter().all(|other| *other != two[0]), "{two:?}");
    }
}
