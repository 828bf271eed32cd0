//! What the kernels of `l2` write: their rules, written down a second time to check them against.

use crate::{
    experiments::{Buffer, Contents, Place},
    verify::Expected,
};
use pattern::SEED;

/// Bytes of a word.
const WORD: u64 = 4;

/// Words of a vector.
const WORDS: u64 = 4;

/// A buffer of words, each as it is to be.
fn words(bytes: u64, expected: impl Fn(u64) -> u32 + Send + Sync + 'static) -> Buffer {
    let after = Expected::exactly(move |first, _, values: &mut [u32]| {
        for (nth, value) in values.iter_mut().enumerate() {
            *value = expected(first + nth as u64);
        }
    });
    Buffer { bytes, place: Place::Device, before: Contents::Poison, after }
}

/// A word of a source.
fn word(index: u64) -> u32 {
    (pattern::value(index, SEED) as f32).to_bits()
}

/// The sum of a vector's words.
fn vector(index: u64) -> u32 {
    (index * WORDS..(index + 1) * WORDS).map(word).fold(0, u32::wrapping_add)
}

/// Sums of a stream and of a table beside it, one per thread.
#[derive(Clone, Copy)]
pub(super) struct Beside {
    pub threads: u64,
    /// Vectors of the stream, and of the table.
    pub vectors: u64,
    pub table: u64,
}

impl Beside {
    pub(super) fn buffer(self) -> Buffer {
        words(self.threads * WORD, move |thread| self.sum(thread))
    }

    fn sum(self, thread: u64) -> u32 {
        let vectors = (thread..self.vectors).step_by(self.threads as usize);
        vectors.fold(0, |sum: u32, nth| {
            sum.wrapping_add(vector(nth)).wrapping_add(vector(nth % self.table).rotate_left(1))
        })
    }
}

/// Sums of one word of every `distance`, one per thread.
#[derive(Clone, Copy)]
pub(super) struct Sectors {
    pub threads: u64,
    /// Words of the source.
    pub words: u64,
    /// Words from one to the next.
    pub distance: u64,
}

impl Sectors {
    pub(super) fn buffer(self) -> Buffer {
        words(self.threads * WORD, move |thread| self.sum(thread))
    }

    fn sum(self, thread: u64) -> u32 {
        let used = (thread..self.words / self.distance).step_by(self.threads as usize);
        used.map(|nth| word(nth * self.distance)).fold(0, u32::wrapping_add)
    }
}

/// The numbers of the threads, `used` of every `pitch` words, and poison between.
#[derive(Clone, Copy)]
pub(super) struct Stores {
    pub used: u64,
    pub pitch: u64,
}

impl Stores {
    pub(super) fn buffer(self, bytes: u64) -> Buffer {
        words(bytes, move |word| self.at(word))
    }

    fn at(self, word: u64) -> u32 {
        match word % self.pitch {
            place if place < self.used => (word / self.pitch * self.used + place) as u32,
            _ => u32::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_between_the_stores_stay_as_they_were() {
        let stores = Stores { used: 2, pitch: 4 };
        let none = u32::MAX;
        assert_eq!(
            [0, 1, 2, 3, 4, 5, 6, 7].map(|word| stores.at(word)),
            [0, 1, none, none, 2, 3, none, none]
        );
    }

    #[test]
    fn a_table_begins_again_where_it_ends() {
        let sums = Beside { threads: 2, vectors: 6, table: 3 };
        let turned = |nth| vector(nth).rotate_left(1);
        let of = |parts: &[u32]| parts.iter().copied().fold(0, u32::wrapping_add);
        assert_eq!(sums.sum(0), of(&[vector(0), vector(2), vector(4), turned(0), turned(2), turned(1)]));
        assert_eq!(sums.sum(1), of(&[vector(1), vector(3), vector(5), turned(1), turned(0), turned(2)]));
        let sectors = Sectors { threads: 2, words: 32, distance: 8 };
        assert_eq!(
            [0, 1].map(|thread| sectors.sum(thread)),
            [of(&[word(0), word(16)]), of(&[word(8), word(24)])]
        );
    }
}
