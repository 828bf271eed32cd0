//! The clocks that strong writes to shared memory have released, by word.
//!
//! A strong write adds its warp's row of [clocks](super::clocks) to the word's, and a strong access learns the word's. Each lane of an
//! atomic does both, which must be quick. So rows lie side by side, found by the number of the word: a histogram in the first 256 words by
//! eight warps takes 8 KiB. Memory reaches up to the highest word, with 32 warps and all of shared memory 7 MiB.

/// Rows of clocks by word; by default of none.
#[derive(Debug, Default)]
pub(super) struct HandedOn {
    /// Warps of the block, the length of a row.
    warps: usize,
    /// Rows of the words from 0 on. A row of zeros releases nothing.
    rows: Vec<u32>,
    /// Words whose rows are not all zeros.
    words: Vec<u32>,
}

impl HandedOn {
    /// Returns the row of a word, zeros if it has released nothing. None beyond the rows that there are.
    pub(super) fn get(&self, word: u64) -> Option<&[u32]> {
        self.rows.get(word as usize * self.warps..)?.get(..self.warps)
    }

    /// Returns the row of a word through which a warp releases its clocks, of a block with this many warps.
    pub(super) fn at(&mut self, word: u64, warps: usize) -> &mut [u32] {
        if self.warps != warps {
            self.clear();
            self.warps = warps;
            self.rows.clear();
        }
        let start = word as usize * warps;
        if self.rows.len() < start + warps {
            self.rows.resize(start + warps, 0);
        }
        let row = &mut self.rows[start..start + warps];
        // A warp's own clock begins at 1, so a row that has released something is not all zeros.
        if row.iter().all(|&clock| clock == 0) {
            self.words.push(word as u32);
        }
        row
    }

    /// Forgets all clocks, and keeps the memory for another block.
    pub(super) fn clear(&mut self) {
        for word in self.words.drain(..) {
            self.rows[word as usize * self.warps..][..self.warps].fill(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::HandedOn;

    #[test]
    fn rows_are_kept_by_word_until_they_are_cleared() {
        let mut handed_on = HandedOn::default();
        assert!(handed_on.get(9).is_none_or(<[u32]>::is_empty));
        handed_on.at(3, 2).copy_from_slice(&[1, 0]);
        handed_on.at(3, 2)[1] = 7;
        assert_eq!(handed_on.get(3), Some(&[1, 7][..]));
        assert_eq!(handed_on.get(2), Some(&[0, 0][..]));
        assert_eq!(handed_on.get(4), None);
        assert_eq!(handed_on.words, [3]);
        handed_on.clear();
        assert_eq!(handed_on.get(3), Some(&[0, 0][..]));
        // A block of more warps has longer rows.
        handed_on.at(1, 3)[2] = 5;
        assert_eq!((handed_on.get(0), handed_on.get(1)), (Some(&[0; 3][..]), Some(&[0, 0, 5][..])));
    }
}
