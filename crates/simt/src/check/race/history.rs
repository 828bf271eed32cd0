//! The access history of memory: for each word, the accesses that a later one may race with.
//!
//! Words are kept by [lines](super::line) of 32, and lines by pages.
//!
//! # Pages that are only read
//!
//! Reads do not race with each other, so the history of a page matters only once something is written there. Until then
//! the page keeps a list of its [`Read`]s, 16 bytes for each access, which are added to the history of its words when the first write
//! comes, in their order. A kernel's input is mostly never written, and its list is dropped with the launch.
//!
//! Lanes at scattered addresses, as of a gather, are listed for all pages together ([`scattered`](super::scattered)). The first write to
//! a page with such reads hands all of them out to the lists of their pages.
//!
//! A barrier of the whole block orders all accesses to its shared memory before it ahead of all after it. So the list of a
//! page that was only read since the last such barrier is dropped at the next one: a later write cannot race with these. For
//! example, a product writes a tile, waits, reads it 32 times a thread, waits again, and writes the next tile: the reads
//! are listed and dropped, and only the writes reach the history.

use super::super::pieces::{Piece, Pieces};
use super::line::{Details, LINE, Line, Run};
use super::mark::{Mark, READ};
use super::pages::Pages as Table;
use super::scattered::{LaneRead, Scattered};
use crate::coalescing::LANES;

/// Lines per page.
const PAGE: u64 = 128;

/// The access history of one memory, by word number: the address divided by four.
#[derive(Debug, Default)]
pub(super) struct History {
    pages: Table<Page>,
    /// Stamps of the reads in the lists.
    stamps: Vec<Stamp>,
    scattered: Scattered,
    /// Reads in the pages' lists since all were last added.
    listed: usize,
    details: Details,
}

/// The history of [`PAGE`] lines.
#[derive(Debug, Default)]
struct Page {
    /// Empty until an access is added.
    lines: Vec<Line>,
    /// Reads that have not been added.
    reads: Vec<Read>,
    /// True if reads have to be added at once, since something was written.
    is_written: bool,
    /// True if there are scattered reads of this page.
    is_scattered: bool,
}

/// A plain read by one warp, to be added: of neighbouring words, or of several such pieces at even distances.
#[derive(Clone, Copy, Debug)]
struct Read {
    /// Place in [`History::stamps`].
    stamp: u32,
    /// Lanes that read the first word.
    lanes: u32,
    /// First word in its page.
    word: u16,
    /// From a piece to the next.
    step: i16,
    /// Words of a piece.
    words: u8,
    /// As in [`Run::log`].
    log: u8,
    pieces: u8,
    /// Lanes from a piece to the next.
    up: u8,
}

/// The mark and the order that all words of one read share.
#[derive(Clone, Copy, Debug)]
struct Stamp {
    /// Without lanes.
    mark: Mark,
    settled: u32,
}

/// Reads that are kept in pages' lists at most: a quarter of a gigabyte.
const MOST_READS: usize = 1 << 24;

/// Words of a page.
const PAGE_WORDS: u64 = PAGE * LINE;

/// Stamps that are kept at most: a quarter of a gigabyte.
const MOST_STAMPS: usize = 1 << 23;

impl History {
    /// Adds an access to a run of the line of this word, whose mark is that of the run's first word, if it is certain that it
    /// races with none before: `is_ordered` tells so of an earlier access that conflicts with a later one. Returns false, and
    /// adds nothing, if it is not.
    pub(super) fn add_run(
        &mut self,
        word: u64,
        run: Run,
        mark: Mark,
        settled: u32,
        is_ordered: impl Fn(&Mark, &Mark) -> bool,
    ) -> bool {
        if mark.kind == READ && self.list(&run.pieces(word, mark.lanes), mark, settled) {
            return true;
        }
        let place = self.page(word);
        let page = &mut self.pages[place];
        page.is_written |= mark.kind != READ;
        page.line(word).add_run(&mut self.details, run, mark, settled, is_ordered)
    }

    /// Adds the accesses of lanes to as many words each, from these words on, as [`History::add_run`] does. Returns the lanes of which
    /// it is not certain that they race with none before.
    pub(super) fn add_lanes(
        &mut self,
        first_words: &[u64; LANES],
        (lanes, words): (u32, u8),
        mark: Mark,
        settled: u32,
        is_ordered: impl Fn(&Mark, &Mark) -> bool,
    ) -> u32 {
        let mut left = 0;
        let (mut number, mut place) = (u64::MAX, 0);
        for lane in super::lanes(lanes) {
            let word = first_words[lane];
            if number != word / PAGE_WORDS {
                (number, place) = (word / PAGE_WORDS, self.page(word));
                self.pages[place].is_written |= mark.kind != READ;
            }
            let mark = Mark { lanes: 1 << lane, ..mark };
            let run = Run::of_lanes(word, words.into());
            let line = self.pages[place].line(word);
            if !line.add_run(&mut self.details, run, mark, settled, &is_ordered) {
                left |= 1 << lane;
            }
        }
        left
    }

    /// Returns the place of a word's page, to which all reads so far are added.
    #[inline(always)]
    fn page(&mut self, word: u64) -> usize {
        let place = self.pages.place(word / PAGE_WORDS);
        if self.pages[place].is_scattered {
            self.hand_out();
            self.limit_lists();
        }
        self.pages[place].add_reads(&self.stamps, &mut self.details);
        place
    }

    /// Lists a plain read of these pieces, with this mark but for its lanes. Returns false, and lists nothing, if reads of their
    /// page are to be added at once, or if they do not fit into one entry.
    #[inline(always)]
    pub(super) fn list(&mut self, pieces: &Pieces, mark: Mark, settled: u32) -> bool {
        let [first, last] = pieces.ends();
        let Pieces { next: Piece { word, words, log, lanes, .. }, step: (step, up), left } = *pieces;
        if first / PAGE_WORDS != last / PAGE_WORDS || words > u8::MAX.into() {
            return false;
        }
        let page = self.pages.at(first / PAGE_WORDS);
        if page.is_written {
            return false;
        }
        page.reads.push(Read {
            stamp: stamp_of(&mut self.stamps, mark, settled),
            lanes,
            word: (word % PAGE_WORDS) as u16,
            step: step as i16,
            words: words as u8,
            log,
            pieces: left as u8,
            up: up as u8,
        });
        self.listed += 1;
        self.limit_lists();
        true
    }

    /// Lists a plain read of `words` words a lane, with this mark but for its lanes. Returns the lanes that it could not list: their page is
    /// written, or they are too far from the first lane.
    #[inline(always)]
    pub(super) fn list_lanes(
        &mut self,
        first_words: &[u64; LANES],
        (lanes, words): (u32, u8),
        mark: Mark,
        settled: u32,
    ) -> u32 {
        let base = Scattered::base(first_words, lanes);
        let mut listed = 0;
        for lane in super::lanes(lanes) {
            let first = first_words[lane];
            let fits = (first + u64::from(words) - 1) / PAGE_WORDS == first / PAGE_WORDS;
            let (Ok(word), true) = (u32::try_from(first.wrapping_sub(base)), fits) else { continue };
            let place = self.pages.place(first / PAGE_WORDS);
            let page = &mut self.pages[place];
            if page.is_written {
                continue;
            }
            if !page.is_scattered {
                page.is_scattered = true;
                self.scattered.pages.push(place);
            }
            self.scattered.push_lane(word);
            listed |= 1 << lane;
        }
        if listed != 0 {
            let stamp = stamp_of(&mut self.stamps, mark, settled);
            self.scattered.push_request(base, stamp, listed, words);
            self.limit_lists();
        }
        lanes & !listed
    }

    /// Adds all reads to the history if the lists have become too long.
    #[inline(always)]
    fn limit_lists(&mut self) {
        let is_full = self.listed >= MOST_READS || self.scattered.is_full();
        if is_full || self.stamps.len() >= MOST_STAMPS {
            self.add_all_reads();
        }
    }

    /// Hands scattered reads out to the lists of their pages, in the order of all reads.
    #[cold]
    fn hand_out(&mut self) {
        let mut scattered = std::mem::take(&mut self.scattered);
        let Some(first_stamp) = scattered.first_stamp() else { return };
        let pages: Vec<_> = std::mem::take(&mut scattered.pages)
            .into_iter()
            .map(|place| (place, self.pages[place].reads.len()))
            .collect();
        for LaneRead { stamp, lane, word, words } in scattered.reads() {
            self.listed += 1;
            self.pages.at(word / PAGE_WORDS).reads.push(Read {
                stamp,
                lanes: 1 << lane,
                word: (word % PAGE_WORDS) as u16,
                step: 0,
                words,
                log: Run::of_lanes(word, words.into()).log,
                pieces: 1,
                up: 0,
            });
        }
        for (place, listed_before) in pages {
            let page = &mut self.pages[place];
            page.is_scattered = false;
            // Later reads have no earlier stamps, so only the last ones of the list may have to move.
            let from = page.reads[..listed_before].partition_point(|read| read.stamp < first_stamp);
            page.reads[from..].sort_by_key(|read| read.stamp);
        }
    }

    /// Adds the reads of all pages, and forgets their stamps.
    #[cold]
    fn add_all_reads(&mut self) {
        self.hand_out();
        for page in self.pages.iter_mut() {
            page.add_reads(&self.stamps, &mut self.details);
        }
        self.stamps.clear();
        self.listed = 0;
    }

    /// Takes note that all accesses so far happen before all further ones.
    pub(super) fn pass_barrier(&mut self) {
        for page in self.pages.iter_mut() {
            page.reads.clear();
            (page.is_written, page.is_scattered) = (false, false);
        }
        self.scattered.clear();
        self.stamps.clear();
        self.listed = 0;
    }

    /// Forgets all accesses, and keeps the memory for further ones.
    pub(super) fn forget_all(&mut self) {
        self.pass_barrier();
        self.pages.iter_mut().for_each(|page| page.lines.fill(Line::Untouched));
        self.details.words.clear();
        self.details.more.clear();
    }

    /// Returns a word's history in a line that is kept word by word.
    fn word(&mut self, word: u64) -> (&mut Page, usize, &mut Details) {
        let place = self.page(word);
        let page = &mut self.pages[place];
        let number = page.line(word).by_words(&mut self.details);
        (page, number as usize * LINE as usize + (word % LINE) as usize, &mut self.details)
    }

    /// Returns the accesses kept for a word.
    pub(super) fn marks(&mut self, word: u64) -> impl Iterator<Item = &Mark> {
        let (_, place, Details { words, more }) = self.word(word);
        words[place].marks(more)
    }

    /// Adds an access. `settled` is [`Clocks::settled`](super::Clocks::settled) of its warp.
    pub(super) fn add(&mut self, word: u64, mark: Mark, settled: u32) {
        let (page, place, Details { words, more }) = self.word(word);
        page.is_written |= mark.kind != READ;
        words[place].add(more, mark, settled);
    }
}

/// Returns the place of a stamp, which is the last one.
#[inline(always)]
fn stamp_of(stamps: &mut Vec<Stamp>, mark: Mark, settled: u32) -> u32 {
    let stamp = Stamp { mark: Mark { lanes: 0, bytes: 0xf, ..mark }, settled };
    let is_last = |last: &Stamp| last.mark == stamp.mark && last.settled == settled;
    if !stamps.last().is_some_and(is_last) {
        stamps.push(stamp);
    }
    stamps.len() as u32 - 1
}

impl Page {
    /// Returns the line of a word of the page.
    fn line(&mut self, word: u64) -> &mut Line {
        if self.lines.is_empty() {
            self.lines.resize(PAGE as usize, Line::default());
        }
        &mut self.lines[(word / LINE % PAGE) as usize]
    }

    /// Adds the reads of the list.
    fn add_reads(&mut self, stamps: &[Stamp], details: &mut Details) {
        if self.reads.is_empty() {
            return;
        }
        for Read { stamp, lanes, word, step, words, log, pieces, up } in std::mem::take(&mut self.reads) {
            let Stamp { mark, settled } = stamps[stamp as usize];
            let next = Piece { word: word.into(), words: words.into(), log, lanes, all: lanes };
            let pieces = Pieces { next, step: (i64::from(step) as u64, up.into()), left: pieces.into() };
            // What was written before happens before them: the page had been written when they were listed otherwise.
            let is_ordered = |_: &Mark, _: &Mark| true;
            for (word, run, lanes) in pieces.flat_map(Run::all_of) {
                self.line(word).add_run(details, run, Mark { lanes, ..mark }, settled, is_ordered);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::mark::{ATOMIC, Mark, READ, STRONG, WRITE};
    use super::{History, LANES, MOST_STAMPS, PAGE_WORDS, Piece, Pieces, Run};

    fn mark(kind: u8, warp: u8, clock: u32) -> Mark {
        Mark { site: 1, clock, lanes: 1, warp, bytes: 0xf, kind, ..Mark::default() }
    }

    #[test]
    fn reads_in_a_list_are_found_by_the_first_write() {
        let never = |_: &Mark, _: &Mark| false;
        let row = Run::from(0, 32, 0);
        let mut history = History::default();
        assert!(history.add_run(0, row, mark(READ, 0, 1), 0, never));
        assert!(history.add_run(1 << 20, row, mark(WRITE, 1, 1), 0, never), "nothing was read there");
        assert!(!history.add_run(0, row, mark(WRITE, 1, 1), 0, never), "a read of another warp was listed");
        assert!(
            !history.add_run(1 << 20, row, mark(READ, 0, 2), 0, never),
            "the page is written, so reads are looked at"
        );
        history.pass_barrier();
        assert!(history.add_run(64, row, mark(READ, 0, 3), 0, never));
        history.pass_barrier();
        assert!(history.add_run(64, row, mark(WRITE, 1, 3), 0, never), "a barrier lies between");
    }

    #[test]
    fn a_column_in_a_list_is_found_by_the_first_write() {
        let never = |_: &Mark, _: &Mark| false;
        let one = |word: u64| Piece { word, words: 1, log: 0, lanes: 1, all: 1 };
        let column = |word: u64, step: i64| Pieces { next: one(word), step: (step as u64, 1), left: 32 };
        let write = |history: &mut History, word| {
            history.add_run(word, Run::of_lanes(word, 1), mark(WRITE, 1, 1), 0, never)
        };
        for (first, step) in [(5, 33), (5 + 31 * 33, -33)] {
            let mut history = History::default();
            assert!(history.list(&column(first, step), mark(READ, 0, 1), 0));
            assert!(write(&mut history, 6), "no lane reads there");
            let lanes: Vec<u32> = history.marks(5 + 3 * 33).map(|mark| mark.lanes).collect();
            assert_eq!(lanes, [if step > 0 { 1 << 3 } else { 1 << 28 }]);
            assert!((0..32).all(|row| !write(&mut history, 5 + row * 33)), "all lanes are listed");
            assert!(!history.list(&column(first, step), mark(READ, 0, 1), 0), "the page is written");
        }
        let mut history = History::default();
        assert!(!history.list(&column(0, 4096), mark(READ, 0, 1), 0), "it is of many pages");
        let wide = Pieces { next: Piece { words: 256, ..one(0) }, step: (0, 0), left: 1 };
        assert!(!history.list(&wide, mark(READ, 0, 1), 0), "it has more words than an entry");
    }

    #[test]
    fn scattered_reads_are_handed_out_to_their_pages_in_order() {
        let never = |_: &Mark, _: &Mark| false;
        let column = |of: u64| std::array::from_fn(|lane| of + lane as u64 * PAGE_WORDS);
        let mut history = History::default();
        let first = history.list_lanes(&column(5), (u32::MAX, 1), mark(READ, 0, 1), 0);
        let row = Run::from(0, 32, 0);
        assert!(history.add_run(PAGE_WORDS, row, mark(READ, 1, 1), 0, never), "a row is listed in its page");
        let pairs = history.list_lanes(&column(4), (0b110, 2), mark(READ, 0, 2), 0);
        assert_eq!((first, pairs), (0, 0));
        assert_eq!((history.scattered.pages.len(), history.listed), (LANES, 1));
        // A page that nobody read hands out nothing.
        let write = |history: &mut History, word| {
            history.add_run(word, Run::of_lanes(word, 1), mark(WRITE, 2, 1), 0, never)
        };
        assert!(write(&mut history, 99 * PAGE_WORDS));
        assert_eq!(history.scattered.first_stamp(), Some(0));
        assert!(write(&mut history, 9), "that word was not read");
        assert_eq!((history.scattered.first_stamp(), history.listed), (None, 1 + LANES + 2));
        let marks: Vec<_> =
            history.marks(PAGE_WORDS + 5).map(|mark| (mark.warp, mark.clock, mark.lanes)).collect();
        assert_eq!(marks, [(0, 2, 0b10), (1, 1, 0b10_0000)], "the warp's reads are merged, before the row");
        assert!(!write(&mut history, 3 * PAGE_WORDS + 5) && !write(&mut history, 2 * PAGE_WORDS + 4));
        assert!(write(&mut history, 3 * PAGE_WORDS + 4), "two lanes alone read pairs");
        let after = history.list_lanes(&column(5), (0b11, 1), mark(READ, 0, 3), 0);
        assert_eq!(after, 0b1, "the first page is written, so that lane has to be added");
        history.pass_barrier();
        assert!(history.scattered.pages.is_empty());
        assert!(write(&mut history, 40 * PAGE_WORDS + 5), "a barrier lies between");
    }

    #[test]
    fn reads_of_a_page_stay_in_order_over_several_hand_outs() {
        let never = |_: &Mark, _: &Mark| false;
        let mut history = History::default();
        for clock in 1..=9 {
            let at = std::array::from_fn(|lane| lane as u64 % 2 * 7 * PAGE_WORDS + lane as u64);
            assert_eq!(history.list_lanes(&at, (0b1110, 1), mark(READ, 0, 2 * clock), 0), 0);
            let row = Run::from(7 * PAGE_WORDS, 32, 0);
            assert!(history.add_run(7 * PAGE_WORDS, row, mark(READ, 0, 2 * clock + 1), 0, never));
            if clock % 3 == 0 {
                // Another page is read by the same request, and written.
                let other = std::array::from_fn(|lane| {
                    lane as u64 % 2 * 7 * PAGE_WORDS + lane as u64 + u64::from(clock) * 100 * PAGE_WORDS
                });
                assert_eq!(history.list_lanes(&other, (0b110, 1), mark(READ, 0, 2 * clock + 1), 0), 0);
                let word = (u64::from(clock) * 100) * PAGE_WORDS + 9;
                assert!(history.add_run(word, Run::of_lanes(word, 1), mark(WRITE, 1, 1), 0, never));
                assert_eq!(history.scattered.first_stamp(), None);
            }
        }
        let place = history.pages.place(7);
        let stamps: Vec<u32> = history.pages[place].reads.iter().map(|read| read.stamp).collect();
        assert_eq!(stamps.len(), 9 * 3, "two lanes and a row each time");
        assert!(stamps.is_sorted(), "{stamps:?}");
    }

    #[test]
    fn reads_beyond_four_gigawords_are_not_listed_together() {
        let mut history = History::default();
        let words = std::array::from_fn(|lane| lane as u64 * (1 << 29));
        let left = history.list_lanes(&words, (u32::MAX, 1), mark(READ, 0, 1), 0);
        assert_eq!(left, !0xff, "2^31 words up from the first lane, and none are below word 0");
    }

    #[test]
    fn atomics_are_added_lane_by_lane_and_race_with_a_read() {
        let never = |_: &Mark, _: &Mark| false;
        let mut history = History::default();
        let words = std::array::from_fn(|lane| lane as u64 % 5);
        let kind = WRITE | STRONG | ATOMIC;
        for (warp, block) in [(0, 0), (1, 0), (0, 1)] {
            let mark = Mark { block, ..mark(kind, warp, 1) };
            assert_eq!(history.add_lanes(&words, (u32::MAX, 1), mark, 0, never), 0);
        }
        let marks: Vec<_> = history.marks(3).map(|mark| (mark.block, mark.warp, mark.lanes)).collect();
        let of_word = 0b0001_0000_1000_0100_0010_0001_0000_1000;
        assert_eq!(marks, [(0, 0, of_word), (0, 1, of_word), (1, 0, of_word)]);
        assert_eq!(history.add_lanes(&words, (0b100_1000, 1), mark(READ, 2, 1), 0, never), 0b100_1000);
        assert_eq!(history.add_lanes(&[9; LANES], (0b1, 1), mark(READ, 2, 1), 0, never), 0);
    }

    #[test]
    fn reads_that_no_list_has_room_for_are_found_too() {
        let never = |_: &Mark, _: &Mark| false;
        let mut history = History::default();
        for clock in 0..=MOST_STAMPS as u32 {
            assert!(history.add_run(7, Run::of_lanes(7, 1), mark(READ, 0, clock), clock, never));
        }
        assert_eq!((history.stamps.len(), history.listed), (1, 1));
        assert!(!history.add_run(7, Run::of_lanes(7, 1), mark(WRITE, 1, 1), 0, never));
    }
}
