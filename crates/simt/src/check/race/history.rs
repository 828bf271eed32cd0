//! The access history of memory: for each word, the accesses that a later one may race with.
//!
//! Most words are accessed by one thread, so a word holds one [`Mark`] in place and further ones in a list. Marks are
//! dropped when no later access can race with them alone: [`Word::add`] has the rules.
//!
//! # Runs
//!
//! Most warps access rows: lane 0 a word, lane 1 the next one. What is known of such words differs by the lane alone, so a line of
//! 32 words has one history for all of them, a [`Run`]:
//!
//! ```text
//! warp 3 stores words 8 to 31, lanes 0 to 23     run 8..32: {store, warp 3, lane 0}
//! warp 4 stores words 0 to 7 of the next line    as a part of its own run; one line has up to two
//! warp 9 loads words 8 to 31 after a barrier     run 8..32: {store, warp 3, lane 0} {load, warp 9, lane 0}
//! warp 9 loads words 9 to 31                     no run of this line: from now on it is kept word by word
//! ```
//!
//! An access to a run is compared and added once. It has to be certain that none of its lanes races; else the line is kept
//! word by word, and each lane is looked at.
//!
//! # Pages that are only read
//!
//! Reads do not race with each other, so the history of a page matters only once something is written there. Until then
//! the page keeps a list of its [`Read`]s, 16 bytes for each access, which are added to the history of its words when the first write
//! comes, in their order. A kernel's input is mostly never written, and its list is dropped with the launch.
//!
//! A barrier of the whole block orders all accesses to its shared memory before it ahead of all after it. So the list of a
//! page that was only read since the last such barrier is dropped at the next one: a later write cannot race with these. For
//! example, a product writes a tile, waits, reads it 32 times a thread, waits again, and writes the next tile: the reads
//! are listed and dropped, and only the writes reach the history.

use super::super::pieces::{Piece, Pieces};
use super::pages::Pages as Table;

/// The access reads.
pub(super) const READ: u8 = 1;
/// The access writes.
pub(super) const WRITE: u8 = 2;
/// The access is strong: it does not race with other strong ones.
pub(super) const STRONG: u8 = 4;
/// The access reads and writes atomically.
pub(super) const ATOMIC: u8 = 8;

/// An access to a word, or equivalent ones merged: of one warp, to the same bytes, between two of its barriers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    /// The instruction; of merged accesses the last one.
    pub(super) site: u32,
    /// Clock of the warp at the access.
    pub(super) clock: u32,
    /// Warp barriers and fences of the warp before the access.
    pub(super) sync: u32,
    /// Lanes that accessed, a bit each.
    pub(super) lanes: u32,
    pub(super) block: u32,
    pub(super) warp: u8,
    /// Bytes of the word that were accessed, a bit each.
    pub(super) bytes: u8,
    /// [`READ`] or [`WRITE`] with further bits; 0 for an empty mark.
    pub(super) kind: u8,
}

impl Mark {
    /// Returns true if both touch one byte, at least one writes and not both are strong.
    pub(super) fn conflicts(&self, other: &Self) -> bool {
        self.bytes & other.bytes != 0
            && (self.kind | other.kind) & WRITE != 0
            && self.kind & other.kind & STRONG == 0
    }
}

/// Words per line: one for each lane of a warp that reads a row.
const LINE: u64 = 32;

/// Lines per page.
const PAGE: u64 = 128;

/// Neighbouring words of one line, and which lanes access each: of word `from + k` the lanes of the first word, moved up by
/// `k >> log`. So one mark stands for all words of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// First word in its line.
    pub(super) from: u8,
    /// The word behind the last.
    pub(super) to: u8,
    /// Log2 of the words that the same lanes access.
    pub(super) log: u8,
}

impl Run {
    /// Neighbouring words from this one on, as many as are left in its line. Of each `2^log` of them the lanes are the same.
    pub(super) fn from(word: u64, words: u64, log: u8) -> Self {
        let from = word % LINE;
        Self { from: from as u8, to: (from + words).min(LINE) as u8, log }
    }

    /// Words that the same lanes access.
    pub(super) fn of_lanes(word: u64, words: u64) -> Self {
        Self::from(word, words, if words == 1 { 0 } else { 5 })
    }

    /// Takes a piece apart into runs: for each its first word and the lanes of that.
    pub(super) fn all_of(piece: Piece) -> impl Iterator<Item = (u64, Self, u32)> {
        let Piece { mut word, mut words, log, mut lanes, .. } = piece;
        std::iter::from_fn(move || {
            let run = (words > 0).then(|| Self::from(word, words, log))?;
            let this = (word, run, lanes);
            let passed = u64::from(run.to - run.from);
            lanes = lanes.wrapping_shl((passed >> log) as u32);
            (word, words) = (word + passed, words - passed);
            Some(this)
        })
    }

    /// Returns the run as pieces, from this word on, with the lanes of that.
    fn pieces(self, word: u64, lanes: u32) -> Pieces {
        let words = u64::from(self.to - self.from);
        Pieces { next: Piece { word, words, log: self.log, lanes, all: lanes }, step: (0, 0), left: 1 }
    }

    fn is_apart_from(self, other: Self) -> bool {
        self.to <= other.from || other.to <= self.from
    }
}

/// The access history of one memory, by word number: the address divided by four.
#[derive(Debug, Default)]
pub(super) struct History {
    pages: Table<Page>,
    /// Stamps of the reads in the pages' lists.
    stamps: Vec<Stamp>,
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

/// Reads that are kept in lists at most: a quarter of a gigabyte.
const MOST_READS: usize = 1 << 24;

/// Stamps that are kept at most.
const MOST_STAMPS: usize = 1 << 22;

/// Histories of words and further marks, which lines refer to by index.
#[derive(Debug, Default)]
struct Details {
    /// The words of lines that are kept word by word, [`LINE`] for each.
    words: Vec<Word>,
    more: More,
}

/// Further marks of words and runs that have more than one.
type More = Vec<Vec<Mark>>;

/// The history of a line. Most lines are accessed by whole rows of a warp, so runs of words share one history.
#[derive(Clone, Debug, Default)]
enum Line {
    #[default]
    Untouched,
    Run(Run, Word),
    Runs([(Run, Word); 2]),
    /// Place in [`Details::words`], in lines.
    Words(u32),
}

/// The history of one word: one mark in place, since most words are accessed by one thread only.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
    mark: Mark,
    /// Index of the further marks in [`Details::more`], plus 1, with [`WRITES`] if one of them may write; 0 if there are none.
    more: u32,
}

/// A bit beside an index of further marks.
const WRITES: u32 = 1 << 31;

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
        let page = self.pages.at(word / (PAGE * LINE));
        page.add_reads(&self.stamps, &mut self.details);
        page.is_written |= mark.kind != READ;
        page.line(word).add_run(&mut self.details, run, mark, settled, is_ordered)
    }

    /// Lists a plain read of these pieces, with this mark but for its lanes. Returns false, and lists nothing, if reads of their
    /// page are to be added at once, or if they do not fit into one entry.
    #[inline(always)]
    pub(super) fn list(&mut self, pieces: &Pieces, mark: Mark, settled: u32) -> bool {
        const WORDS: u64 = PAGE * LINE;
        let [first, last] = pieces.ends();
        let Pieces { next: Piece { word, words, log, lanes, .. }, step: (step, up), left } = *pieces;
        if first / WORDS != last / WORDS || words > u8::MAX.into() {
            return false;
        }
        let page = self.pages.at(first / WORDS);
        if page.is_written {
            return false;
        }
        let stamp = Stamp { mark: Mark { lanes: 0, bytes: 0xf, ..mark }, settled };
        let is_last = |last: &Stamp| last.mark == stamp.mark && last.settled == settled;
        if !self.stamps.last().is_some_and(is_last) {
            self.stamps.push(stamp);
        }
        page.reads.push(Read {
            stamp: self.stamps.len() as u32 - 1,
            lanes,
            word: (word % WORDS) as u16,
            step: step as i16,
            words: words as u8,
            log,
            pieces: left as u8,
            up: up as u8,
        });
        self.listed += 1;
        if self.stamps.len() == MOST_STAMPS || self.listed == MOST_READS {
            self.add_all_reads();
        }
        true
    }

    /// Adds the reads of all pages, and forgets their stamps.
    #[cold]
    fn add_all_reads(&mut self) {
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
            page.is_written = false;
        }
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
        let page = self.pages.at(word / (PAGE * LINE));
        page.add_reads(&self.stamps, &mut self.details);
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

impl Line {
    /// Adds an access, as [`History::add_run`] does.
    fn add_run(
        &mut self,
        details: &mut Details,
        run: Run,
        mark: Mark,
        settled: u32,
        is_ordered: impl Fn(&Mark, &Mark) -> bool,
    ) -> bool {
        let is_certain = |word: &Word, more: &More, mark: &Mark| {
            let with = |before: &Mark| !before.conflicts(mark) || is_ordered(before, mark);
            with(&word.mark) && word.further_against(mark, more).iter().all(with)
        };
        let known = match self {
            Self::Untouched => {
                *self = Self::Run(run, Word { mark, more: 0 });
                return true;
            }
            Self::Run(other, word) if *other == run => Some(word),
            Self::Run(other, word) if other.is_apart_from(run) => {
                *self = Self::Runs([(*other, *word), (run, Word { mark, more: 0 })]);
                return true;
            }
            Self::Runs(runs) => runs.iter_mut().find(|(other, _)| *other == run).map(|(_, word)| word),
            Self::Run(..) | Self::Words(_) => None,
        };
        if let Some(word) = known {
            let is_certain = is_certain(word, &details.more, &mark);
            if is_certain {
                word.add(&mut details.more, mark, settled);
            }
            return is_certain;
        }
        let of_line = self.by_words(details) as usize * LINE as usize;
        let Details { words, more } = details;
        let words = &mut words[of_line + usize::from(run.from)..of_line + usize::from(run.to)];
        let of = |nth: usize| Mark { lanes: mark.lanes << (nth >> run.log), ..mark };
        if !words.iter().enumerate().all(|(nth, word)| is_certain(word, more, &of(nth))) {
            return false;
        }
        for (nth, word) in words.iter_mut().enumerate() {
            word.add(more, of(nth), settled);
        }
        true
    }

    /// Keeps the line word by word. Returns its place in the words.
    fn by_words(&mut self, Details { words, more }: &mut Details) -> u32 {
        let runs = match self {
            Self::Words(number) => return *number,
            Self::Run(run, word) => &[(*run, *word)][..],
            Self::Runs(runs) => &runs[..],
            Self::Untouched => &[],
        };
        let first_of_line = words.len();
        words.resize(first_of_line + LINE as usize, Word::default());
        let of_line = &mut words[first_of_line..];
        for &(run, first) in runs {
            for nth in 0..run.to - run.from {
                of_line[usize::from(run.from + nth)] = first.moved(nth >> run.log, more);
            }
        }
        let number = (first_of_line / LINE as usize) as u32;
        *self = Self::Words(number);
        number
    }
}

impl Word {
    fn further<'h>(&self, more: &'h More) -> &'h [Mark] {
        match self.more & !WRITES {
            0 => &[],
            place => &more[place as usize - 1],
        }
    }

    /// Returns the further marks, if one may conflict with this one.
    fn further_against<'h>(&self, mark: &Mark, more: &'h More) -> &'h [Mark] {
        if mark.kind & WRITE == 0 && self.more & WRITES == 0 { &[] } else { self.further(more) }
    }

    fn marks<'h>(&'h self, more: &'h More) -> impl Iterator<Item = &'h Mark> {
        std::iter::once(&self.mark).chain(self.further(more)).filter(|mark| mark.kind != 0)
    }

    /// Returns the history of a later word of a run, whose lanes are further up.
    fn moved(self, up: u8, more: &mut More) -> Self {
        let moved = |mark: &Mark| Mark { lanes: mark.lanes << up, ..*mark };
        if self.more == 0 {
            return Self { mark: moved(&self.mark), more: 0 };
        }
        more.push(self.further(more).iter().map(moved).collect());
        Self { mark: moved(&self.mark), more: more.len() as u32 | self.more & WRITES }
    }

    /// Adds an access.
    ///
    /// A plain write replaces earlier accesses to its bytes: an access that races with one of those either races with
    /// the write too, or the race between the two was found already. Of a warp's accesses of one kind to the same bytes
    /// the last suffices, since an access ordered after it is ordered after the earlier ones. Of other blocks, one
    /// access of each kind is kept.
    fn add(&mut self, all_more: &mut More, mark: Mark, settled: u32) {
        if self.mark.kind == 0 && self.more == 0 {
            self.mark = mark;
            return;
        }
        let more = match self.more & !WRITES {
            0 => None,
            place => Some(&mut all_more[place as usize - 1]),
        };
        if mark.kind & (WRITE | STRONG) == WRITE {
            forget(&mut self.mark, mark.bytes);
            if let Some(more) = more {
                more.retain_mut(|old| {
                    forget(old, mark.bytes);
                    old.kind != 0
                });
                if more.is_empty() {
                    self.more &= !WRITES;
                }
            }
        } else {
            if merge(&mut self.mark, &mark, settled) {
                return;
            }
            if let Some(more) = more {
                if more.iter_mut().any(|old| merge(old, &mark, settled)) {
                    return;
                }
                // Of other blocks, only the last access of this kind stays.
                let mut others = more.iter().filter(|old| elsewhere(old, &mark)).count();
                if others > 1 || more.iter().any(|old| old.kind == 0) {
                    more.retain(|old| {
                        let goes = elsewhere(old, &mark) && others > 1;
                        others -= usize::from(goes);
                        !goes && old.kind != 0
                    });
                }
            }
        }
        if self.mark.kind == 0 {
            self.mark = mark;
            return;
        }
        if self.more == 0 {
            all_more.push(Vec::with_capacity(2));
            self.more = all_more.len() as u32;
        }
        if mark.kind & WRITE != 0 {
            self.more |= WRITES;
        }
        all_more[(self.more & !WRITES) as usize - 1].push(mark);
    }
}

fn forget(old: &mut Mark, bytes: u8) {
    old.bytes &= !bytes;
    if old.bytes == 0 {
        old.kind = 0;
    }
}

/// Returns true if both are of one kind to the same bytes, but of different blocks.
fn elsewhere(old: &Mark, mark: &Mark) -> bool {
    (old.kind, old.bytes) == (mark.kind, mark.bytes) && old.block != mark.block
}

/// Merges an access into an older one of the same warp, kind and bytes, if no race is lost. The warp's accesses before
/// its barrier `settled` happen before this one.
fn merge(old: &mut Mark, mark: &Mark, settled: u32) -> bool {
    let same = (old.kind, old.bytes, old.block, old.warp) == (mark.kind, mark.bytes, mark.block, mark.warp);
    if !same {
        return false;
    }
    if old.sync < settled {
        *old = *mark;
        return true;
    }
    if old.sync == mark.sync {
        *old = Mark { lanes: old.lanes | mark.lanes, ..*mark };
        return true;
    }
    // An access ordered after a lane's last access is ordered after its earlier ones.
    old.lanes &= !mark.lanes;
    if old.lanes == 0 {
        old.kind = 0;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{History, MOST_STAMPS, Mark, Piece, Pieces, READ, Run, WRITE};

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
