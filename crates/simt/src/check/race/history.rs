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

use std::collections::HashMap;

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

/// Pages found last, by the lowest bits of their numbers.
const RECENT: usize = 256;

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

    /// Returns the number of its words.
    pub(super) fn words(self) -> u64 {
        u64::from(self.to - self.from)
    }

    fn is_apart_from(self, other: Self) -> bool {
        self.to <= other.from || other.to <= self.from
    }
}

/// The access history of one memory, by word number: the address divided by four.
#[derive(Debug, Default)]
pub(super) struct History {
    pages: HashMap<u64, usize>,
    /// Pages of [`PAGE`] lines each.
    lines: Vec<Box<[Line]>>,
    /// Numbers of pages, plus 1, and their places in `lines`; empty before the first.
    recent: Box<[(u64, usize)]>,
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
    /// Place in [`History::words`], in lines.
    Words(u32),
}

/// The history of one word: one mark in place, since most words are accessed by one thread only.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
    mark: Mark,
    /// Index of the further marks in [`History::more`], plus 1; 0 if there are none.
    more: u32,
}

impl History {
    fn page(&mut self, line: u64) -> usize {
        let number = line / PAGE;
        let place = number as usize % RECENT;
        if let Some(&(found, page)) = self.recent.get(place)
            && found == number + 1
        {
            return page;
        }
        let page = *self.pages.entry(number).or_insert_with(|| {
            self.lines.push(vec![Line::default(); PAGE as usize].into());
            self.lines.len() - 1
        });
        if self.recent.is_empty() {
            self.recent = vec![(0, 0); RECENT].into();
        }
        self.recent[place] = (number + 1, page);
        page
    }

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
        let is_certain = |word: &Word, more: &More, mark: &Mark| {
            let with = |before: &Mark| !before.conflicts(mark) || is_ordered(before, mark);
            with(&word.mark) && word.further(more).iter().all(with)
        };
        let page = self.page(word / LINE);
        let line = &mut self.lines[page][(word / LINE % PAGE) as usize];
        let known = match line {
            Line::Untouched => {
                *line = Line::Run(run, Word { mark, more: 0 });
                return true;
            }
            Line::Run(other, word) if *other == run => Some(word),
            Line::Run(other, word) if other.is_apart_from(run) => {
                *line = Line::Runs([(*other, *word), (run, Word { mark, more: 0 })]);
                return true;
            }
            Line::Runs(runs) => runs.iter_mut().find(|(other, _)| *other == run).map(|(_, word)| word),
            Line::Run(..) | Line::Words(_) => None,
        };
        if let Some(word) = known {
            let is_certain = is_certain(word, &self.more, &mark);
            if is_certain {
                word.add(&mut self.more, mark, settled);
            }
            return is_certain;
        }
        let number = Self::by_words(line, &mut self.words, &mut self.more);
        let of_line = number as usize * LINE as usize;
        let words = &mut self.words[of_line + usize::from(run.from)..of_line + usize::from(run.to)];
        let of = |nth: usize| Mark { lanes: mark.lanes << (nth >> run.log), ..mark };
        if !words.iter().enumerate().all(|(nth, word)| is_certain(word, &self.more, &of(nth))) {
            return false;
        }
        for (nth, word) in words.iter_mut().enumerate() {
            word.add(&mut self.more, of(nth), settled);
        }
        true
    }

    /// Forgets all accesses, and keeps the memory for further ones.
    pub(super) fn forget_all(&mut self) {
        self.lines.iter_mut().for_each(|page| page.fill(Line::Untouched));
        self.words.clear();
        self.more.clear();
    }

    /// Keeps a line word by word. Returns its place in `words`.
    fn by_words(line: &mut Line, words: &mut Vec<Word>, more: &mut More) -> u32 {
        let runs = match line {
            Line::Words(number) => return *number,
            Line::Run(run, word) => &[(*run, *word)][..],
            Line::Runs(runs) => &runs[..],
            Line::Untouched => &[],
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
        *line = Line::Words(number);
        number
    }

    /// Returns a word's history in a line that is kept word by word.
    fn word(&mut self, word: u64) -> (&mut Word, &mut More) {
        let page = self.page(word / LINE);
        let line = &mut self.lines[page][(word / LINE % PAGE) as usize];
        let number = Self::by_words(line, &mut self.words, &mut self.more);
        (&mut self.words[number as usize * LINE as usize + (word % LINE) as usize], &mut self.more)
    }

    /// Returns the accesses kept for a word.
    pub(super) fn marks(&mut self, word: u64) -> impl Iterator<Item = &Mark> {
        let (word, more) = self.word(word);
        word.marks(more)
    }

    /// Adds an access. `settled` is [`Clocks::settled`](super::Clocks::settled) of its warp.
    pub(super) fn add(&mut self, word: u64, mark: Mark, settled: u32) {
        let (word, more) = self.word(word);
        word.add(more, mark, settled);
    }
}

impl Word {
    fn further<'h>(&self, more: &'h More) -> &'h [Mark] {
        match self.more {
            0 => &[],
            place => &more[place as usize - 1],
        }
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
        Self { mark: moved(&self.mark), more: more.len() as u32 }
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
        let more = match self.more {
            0 => None,
            place => Some(&mut all_more[place as usize - 1]),
        };
        if mark.kind & (WRITE | STRONG) == WRITE {
            forget(&mut self.mark, mark.bytes);
            if let Some(more) = more {
                more.iter_mut().for_each(|old| forget(old, mark.bytes));
                more.retain(|old| old.kind != 0);
            }
        } else {
            if merge(&mut self.mark, &mark, settled) {
                return;
            }
            if let Some(more) = more {
                if more.iter_mut().any(|old| merge(old, &mark, settled)) {
                    return;
                }
                more.retain(|old| old.kind != 0);
                // Of other blocks, only the last access of this kind stays.
                let mut others = more.iter().filter(|old| elsewhere(old, &mark)).count();
                more.retain(|old| {
                    let goes = elsewhere(old, &mark) && others > 1;
                    others -= usize::from(goes);
                    !goes
                });
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
        all_more[self.more as usize - 1].push(mark);
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
