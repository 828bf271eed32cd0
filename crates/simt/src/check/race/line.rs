//! The history of 32 words side by side, which rows of a warp access as a whole.
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

use super::super::pieces::{Piece, Pieces};
use super::mark::Mark;
use super::word::{More, Word};

/// Words per line: one for each lane of a warp that reads a row.
pub(super) const LINE: u64 = 32;

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
    pub(super) fn pieces(self, word: u64, lanes: u32) -> Pieces {
        let words = u64::from(self.to - self.from);
        Pieces { next: Piece { word, words, log: self.log, lanes, all: lanes }, step: (0, 0), left: 1 }
    }

    fn is_apart_from(self, other: Self) -> bool {
        self.to <= other.from || other.to <= self.from
    }
}

/// Histories of words and further marks, which lines refer to by index.
#[derive(Debug, Default)]
pub(super) struct Details {
    /// The words of lines that are kept word by word, [`LINE`] for each.
    pub(super) words: Vec<Word>,
    pub(super) more: More,
}

/// The history of a line. Most lines are accessed by whole rows of a warp, so runs of words share one history.
#[derive(Clone, Debug, Default)]
pub(super) enum Line {
    #[default]
    Untouched,
    Run(Run, Word),
    Runs([(Run, Word); 2]),
    /// Place in [`Details::words`], in lines.
    Words(u32),
}

impl Line {
    /// Adds an access, as [`History::add_run`] does.
    pub(super) fn add_run(
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
            Self::Words(number) if run.to - run.from == 1 => {
                let place = *number as usize * LINE as usize + usize::from(run.from);
                Some(&mut details.words[place])
            }
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
    pub(super) fn by_words(&mut self, Details { words, more }: &mut Details) -> u32 {
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
