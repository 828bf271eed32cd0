//! What each word of memory remembers: the accesses that a later one may race with.

use std::collections::HashMap;

/// It reads.
pub(super) const READ: u8 = 1;
/// It writes.
pub(super) const WRITE: u8 = 2;
/// It does not race with its like.
pub(super) const STRONG: u8 = 4;
/// It does both at once.
pub(super) const ATOMIC: u8 = 8;

/// An access to a word, or several that come to the same: of one warp, to the same bytes, between two of its barriers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    /// The instruction, of several the last.
    pub(super) site: u32,
    /// The warp's clock.
    pub(super) clock: u32,
    /// Barriers that the warp's lanes had had among themselves.
    pub(super) sync: u32,
    /// Who did it, a bit a lane.
    pub(super) lanes: u32,
    pub(super) block: u32,
    pub(super) warp: u8,
    /// The bytes of the word, a bit each.
    pub(super) bytes: u8,
    /// [`READ`], [`WRITE`], and what more; 0: no access at all.
    pub(super) kind: u8,
}

impl Mark {
    /// Whether the two touch one byte, and not in a way that both may.
    pub(super) fn conflicts(&self, other: &Self) -> bool {
        self.bytes & other.bytes != 0
            && (self.kind | other.kind) & WRITE != 0
            && self.kind & other.kind & STRONG == 0
    }
}

/// Words in a page.
const PAGE: usize = 1024;

/// What the words of a memory remember, by their numbers: addresses divided by four.
#[derive(Debug, Default)]
pub(super) struct History {
    pages: HashMap<u64, usize>,
    /// Side by side, [`PAGE`] words each.
    words: Vec<Box<[Word]>>,
    last: Option<(u64, usize)>,
    /// What did not fit in words.
    more: Vec<Vec<Mark>>,
}

/// Most words are accessed by one thread only.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
    mark: Mark,
    /// The place of the others in [`History::more`], from 1; 0: there are none.
    more: u32,
}

impl History {
    fn page(&mut self, word: u64) -> usize {
        let number = word / PAGE as u64;
        if let Some((last, page)) = self.last.filter(|(last, _)| *last == number) {
            debug_assert_eq!(last, number);
            return page;
        }
        let page = *self.pages.entry(number).or_insert_with(|| {
            self.words.push(vec![Word::default(); PAGE].into());
            self.words.len() - 1
        });
        self.last = Some((number, page));
        page
    }

    /// What is remembered of a word.
    pub(super) fn marks(&mut self, word: u64) -> impl Iterator<Item = &Mark> {
        let page = self.page(word);
        let word = &self.words[page][(word % PAGE as u64) as usize];
        let more = match word.more {
            0 => &[][..],
            place => self.more[place as usize - 1].as_slice(),
        };
        std::iter::once(&word.mark).chain(more).filter(|mark| mark.kind != 0)
    }

    /// Remembers an access. `settled` is what [`Clocks::settled`](super::Clocks::settled) says of its warp.
    ///
    /// A plain write makes what was before it unimportant: who races with that races with the write, or has been found
    /// to. Of a warp's accesses of one kind to the same bytes the last is enough, as whoever knows of that knows of
    /// those before. Of other blocks one access of each kind is kept.
    pub(super) fn add(&mut self, word: u64, mark: Mark, settled: u32) {
        let page = self.page(word);
        let word = &mut self.words[page][(word % PAGE as u64) as usize];
        if word.mark.kind == 0 && word.more == 0 {
            word.mark = mark;
            return;
        }
        let more = match word.more {
            0 => None,
            place => Some(&mut self.more[place as usize - 1]),
        };
        if mark.kind & (WRITE | STRONG) == WRITE {
            forget(&mut word.mark, mark.bytes);
            if let Some(more) = more {
                more.iter_mut().for_each(|old| forget(old, mark.bytes));
                more.retain(|old| old.kind != 0);
            }
        } else {
            if merge(&mut word.mark, &mark, settled) {
                return;
            }
            if let Some(more) = more {
                if more.iter_mut().any(|old| merge(old, &mark, settled)) {
                    return;
                }
                more.retain(|old| old.kind != 0);
                // Of other blocks the last one of this kind stays.
                let mut others = more.iter().filter(|old| elsewhere(old, &mark)).count();
                more.retain(|old| {
                    let goes = elsewhere(old, &mark) && others > 1;
                    others -= usize::from(goes);
                    !goes
                });
            }
        }
        if word.mark.kind == 0 {
            word.mark = mark;
            return;
        }
        if word.more == 0 {
            self.more.push(Vec::with_capacity(2));
            word.more = self.more.len() as u32;
        }
        self.more[word.more as usize - 1].push(mark);
    }
}

fn forget(old: &mut Mark, bytes: u8) {
    old.bytes &= !bytes;
    if old.bytes == 0 {
        old.kind = 0;
    }
}

/// Whether both are of one kind, but of different blocks.
fn elsewhere(old: &Mark, mark: &Mark) -> bool {
    (old.kind, old.bytes) == (mark.kind, mark.bytes) && old.block != mark.block
}

/// Puts an access into an old one of the same warp and kind, if nothing gets lost. What the warp's lanes did before
/// `settled` of its barriers lies before all that they do now.
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
    // Who knows of a lane's last access knows of those before.
    old.lanes &= !mark.lanes;
    if old.lanes == 0 {
        old.kind = 0;
    }
    false
}
