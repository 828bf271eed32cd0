//! The history of one word: the marks of its accesses, of which most are merged or dropped.
//!
//! Most words are accessed by one thread, so a word holds one [`Mark`] in place and further ones in a list. Marks are dropped when no later
//! access can race with them alone: [`Word::add`] has the rules.

use super::mark::{Mark, STRONG, WRITE};

/// Further marks of words and runs that have more than one.
pub(super) type More = Vec<Vec<Mark>>;

/// The history of one word: one mark in place, since most words are accessed by one thread only.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Word {
    pub(super) mark: Mark,
    /// Index of the further marks in [`Details::more`], plus 1, with [`WRITES`] if one of them may write and [`WEAK`] if one may not be
    /// strong; 0 if there are none.
    pub(super) more: u32,
}

/// Bits beside an index of further marks.
const WRITES: u32 = 1 << 31;
const WEAK: u32 = 1 << 30;
const FLAGS: u32 = WRITES | WEAK;

impl Word {
    fn further<'h>(&self, more: &'h More) -> &'h [Mark] {
        match self.more & !FLAGS {
            0 => &[],
            place => &more[place as usize - 1],
        }
    }

    /// Returns the further marks, if one may conflict with this one.
    pub(super) fn further_against<'h>(&self, mark: &Mark, more: &'h More) -> &'h [Mark] {
        let all_read = mark.kind & WRITE == 0 && self.more & WRITES == 0;
        let all_are_strong = mark.kind & STRONG != 0 && self.more & WEAK == 0;
        if all_read || all_are_strong { &[] } else { self.further(more) }
    }

    pub(super) fn marks<'h>(&'h self, more: &'h More) -> impl Iterator<Item = &'h Mark> {
        std::iter::once(&self.mark).chain(self.further(more)).filter(|mark| mark.kind != 0)
    }

    /// Returns the history of a later word of a run, whose lanes are further up.
    pub(super) fn moved(self, up: u8, more: &mut More) -> Self {
        let moved = |mark: &Mark| Mark { lanes: mark.lanes << up, ..*mark };
        if self.more == 0 {
            return Self { mark: moved(&self.mark), more: 0 };
        }
        more.push(self.further(more).iter().map(moved).collect());
        Self { mark: moved(&self.mark), more: more.len() as u32 | self.more & FLAGS }
    }

    /// Adds an access.
    ///
    /// A plain write replaces earlier accesses to its bytes: an access that races with one of those either races with
    /// the write too, or the race between the two was found already. Of a warp's accesses of one kind to the same bytes
    /// the last suffices, since an access ordered after it is ordered after the earlier ones. Of other blocks, one
    /// access of each kind is kept.
    pub(super) fn add(&mut self, all_more: &mut More, mark: Mark, settled: u32) {
        if self.mark.kind == 0 && self.more == 0 {
            self.mark = mark;
            return;
        }
        let more = match self.more & !FLAGS {
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
                    self.more &= !FLAGS;
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
        self.more |= if mark.kind & WRITE != 0 { WRITES } else { 0 };
        self.more |= if mark.kind & STRONG == 0 { WEAK } else { 0 };
        all_more[(self.more & !FLAGS) as usize - 1].push(mark);
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
    old.key() >> 40 == mark.key() >> 40 && old.block != mark.block
}

/// Merges an access into an older one of the same warp, kind and bytes, if no race is lost. The warp's accesses before
/// its barrier `settled` happen before this one.
fn merge(old: &mut Mark, mark: &Mark, settled: u32) -> bool {
    if old.key() != mark.key() {
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
        (old.kind, old.bytes) = (0, 0);
    }
    false
}
