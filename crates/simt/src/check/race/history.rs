//! The access history of memory: for each word, the accesses that a later one may race with.
//!
//! Most words are accessed by one thread, so a word holds one [`Mark`] in place and further ones in a list. Marks are
//! dropped when no later access can race with them alone: [`History::add`] has the rules.

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

/// Words per page.
const PAGE: usize = 1024;

/// The access history of one memory, by word number: the address divided by four.
#[derive(Debug, Default)]
pub(super) struct History {
    pages: HashMap<u64, usize>,
    /// Pages of [`PAGE`] words each.
    words: Vec<Box<[Word]>>,
    last: Option<(u64, usize)>,
    /// Further marks of words that have more than one.
    more: Vec<Vec<Mark>>,
}

/// The history of one word: one mark in place, since most words are accessed by one thread only.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
    mark: Mark,
    /// Index of the further marks in [`History::more`], plus 1; 0 if there are none.
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

    /// Returns the accesses kept for a word.
    pub(super) fn marks(&mut self, word: u64) -> impl Iterator<Item = &Mark> {
        let page = self.page(word);
        let word = &self.words[page][(word % PAGE as u64) as usize];
        let more = match word.more {
            0 => &[][..],
            place => self.more[place as usize - 1].as_slice(),
        };
        std::iter::once(&word.mark).chain(more).filter(|mark| mark.kind != 0)
    }

    /// Adds an access. `settled` is [`Clocks::settled`](super::Clocks::settled) of its warp.
    ///
    /// A plain write replaces earlier accesses to its bytes: an access that races with one of those either races with
    /// the write too, or the race between the two was found already. Of a warp's accesses of one kind to the same bytes
    /// the last suffices, since an access ordered after it is ordered after the earlier ones. Of other blocks, one
    /// access of each kind is kept.
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
                // Of other blocks, only the last access of this kind stays.
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
