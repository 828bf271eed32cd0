//! What the kernels of `l2` write: their rules, written down a second time to check them against.

use crate::{
    experiments::{Buffer, Contents, Place, Precision},
    verify::Expected,
};
use pattern::SEED;
use rayon::prelude::*;

/// Bytes of a word.
const WORD: u64 = 4;

/// Words of a vector.
const WORDS: u64 = 4;

/// A buffer of words, each as it is to be in the end.
fn words(bytes: u64, before: Contents, expected: impl Fn(u64) -> u32 + Send + Sync + 'static) -> Buffer {
    let after = Expected::exactly(move |first, _, values: &mut [u32]| {
        values.par_iter_mut().enumerate().for_each(|(nth, value)| *value = expected(first + nth as u64));
    });
    Buffer { bytes, place: Place::Device, before, after }
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
        words(self.threads * WORD, Contents::Poison, move |thread| self.sum(thread))
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
        words(self.threads * WORD, Contents::Poison, move |thread| self.sum(thread))
    }

    fn sum(self, thread: u64) -> u32 {
        let used = (thread..self.words / self.distance).step_by(self.threads as usize);
        used.map(|nth| word(nth * self.distance)).fold(0, u32::wrapping_add)
    }
}

/// The numbers of the threads in `used` of every `pitch` words, and between them what was there before.
#[derive(Clone, Copy)]
pub(super) struct Stores {
    pub used: u64,
    pub pitch: u64,
}

impl Stores {
    pub(super) fn buffer(self, bytes: u64) -> Buffer {
        words(bytes, Contents::Pattern(Precision::F32), move |word| self.at(word))
    }

    fn at(self, index: u64) -> u32 {
        match index % self.pitch {
            place if place < self.used => (index / self.pitch * self.used + place) as u32,
            _ => word(index),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_between_the_stores_stay_as_they_were() {
        let stores = Stores { used: 2, pitch: 4 };
        let expected = [0, 1, word(2), word(3), 2, 3, word(6), word(7)];
        assert_eq!([0, 1, 2, 3, 4, 5, 6, 7].map(|index| stores.at(index)), expected);
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
