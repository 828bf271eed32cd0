//! The order in which warps touch managed memory.

use crate::count_drive::{launch, shape};
use simt::cards::find;
use simt::count::{Finished, L2State, LaunchShape, Placement, Range, Touch, numbered};
use simt::observe::{Operation, Space};

const PAGE: u64 = 64 << 10;
/// Not at a page's beginning: pages count from here.
const FIRST: u64 = 0x7_0000_4100;
const SECOND: u64 = 0x8_0000_0000;
const DEVICE: u64 = 0x9_0000_0000;

fn ranges() -> Vec<Range> {
    let managed = |start, bytes| Range { addresses: start..start + bytes, placement: Placement::Managed };
    let host = Range { addresses: SECOND..SECOND + PAGE, placement: Placement::Host };
    // The first has a part of a third page.
    vec![managed(FIRST, 2 * PAGE + 4096), host, managed(SECOND + PAGE, 8 * PAGE)]
}

fn counted(body: impl Fn(&mut crate::count_drive::Block<'_>) + Sync) -> Finished {
    let card = find("h200").unwrap();
    let shape = LaunchShape { ranges: ranges(), ..shape(&card, 4, 64) };
    launch(shape, L2State::new(card), &[], body)
}

fn touch(page: u32, written: bool, with_previous: bool) -> Touch {
    Touch { page, written, with_previous }
}

fn touches(finished: &Finished) -> Vec<Vec<Touch>> {
    assert_eq!(finished.managed.len(), 1);
    finished.managed[0].trails.iter().map(|trail| trail.touches().collect()).collect()
}

#[test]
fn pages_are_numbered_through_the_managed_ranges() {
    let ranges = ranges();
    let numbers: Vec<(u32, u64)> =
        numbered(&ranges).map(|(first, range)| (first, range.addresses.start)).collect();
    assert_eq!(numbers, [(0, FIRST), (3, SECOND + PAGE)]);
}

#[test]
fn a_trail_has_pages_in_their_order_each_once_in_a_row() {
    let finished = counted(|block| {
        for warp in 0..2 {
            block.load(warp, 0, 4, |lane| FIRST + PAGE - 128 + lane * 4);
            block.load(warp, 0, 4, |lane| FIRST + PAGE + lane * 4);
            // The same page: nothing new, but now it is written.
            block.store(warp, 1, 4, |lane| FIRST + PAGE + lane * 4);
            // The host's memory and the card's own are on no trail.
            block.load(warp, 2, 4, |lane| SECOND + lane * 4);
            block.load(warp, 3, 4, |lane| DEVICE + lane * 4);
            block.load(warp, 4, 4, |lane| FIRST + 2 * PAGE + lane * 4);
            block.load(warp, 5, 4, |lane| SECOND + 9 * PAGE - 128 + lane * 4);
            block.load(warp, 6, 4, |lane| FIRST + lane * 4);
        }
    });
    // All warps go the same way: one trail.
    let expected = [(0, false), (1, true), (2, false), (10, false), (0, false)];
    let expected: Vec<Touch> = expected.map(|(page, written)| touch(page, written, false)).into();
    assert_eq!(touches(&finished), [expected]);
}

#[test]
fn what_a_request_wants_at_once_is_told() {
    let finished = counted(|block| {
        let warp = (block.block % 2) as u32;
        // Every second lane elsewhere, and some where nothing is managed.
        block.access(warp, 0, Space::Global, Operation::Atomic, 4, |lane| match lane % 4 {
            0 => SECOND + 3 * PAGE,
            1 => FIRST + lane * 4,
            2 => DEVICE,
            _ => SECOND + 2 * PAGE,
        });
        block.load(warp, 1, 4, |lane| SECOND + 3 * PAGE + lane * 4);
    });
    let expected = vec![touch(0, true, false), touch(4, true, true), touch(5, true, true)];
    assert_eq!(touches(&finished), [expected]);
}

#[test]
fn warps_that_go_apart_have_trails_of_their_own() {
    let finished = counted(|block| {
        for warp in 0..2 {
            let page = 1 + block.block * 2 + u64::from(warp);
            block.load(warp, 0, 4, |lane| SECOND + page * PAGE + lane * 4);
        }
    });
    let expected: Vec<Vec<Touch>> = (3..11).map(|page| vec![touch(page, false, false)]).collect();
    assert_eq!(touches(&finished), expected);
}
