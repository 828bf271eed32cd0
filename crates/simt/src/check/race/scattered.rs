//! Plain reads by lanes at scattered addresses, of all pages, until one of these pages is written.
//!
//! A gather's lanes read in as many pages. In the pages' lists each lane would be an entry of 16 bytes, where a row of 32 lanes is one. Here a
//! lane takes 4 bytes, and its request 24, one behind the other. A page only knows that it has such reads.
//!
//! For example, two lanes that read the words 7 and 90,000 are one request with the words 7 and 90,000, and mark the pages 0 and 21. A
//! write to page 21 hands both reads out to the lists of their pages.

use crate::coalescing::LANES;

/// Memory of the reads at most, in words: 384 MiB. Handed out, they take four times as much.
const MOST_WORDS: usize = 3 << 25;

/// Scattered reads in their order.
#[derive(Debug, Default)]
pub(super) struct Scattered {
    requests: Vec<Request>,
    /// The first word of each lane, less its request's base.
    words: Vec<u32>,
    /// Places of the pages with such reads.
    pub(super) pages: Vec<usize>,
}

/// Lanes of one warp that read the same number of words each.
#[derive(Clone, Copy, Debug)]
struct Request {
    base: u64,
    /// Place of the stamp in the history's list.
    stamp: u32,
    lanes: u32,
    /// Words of a lane.
    words: u8,
}

/// The read of one lane.
pub(super) struct LaneRead {
    pub(super) stamp: u32,
    pub(super) lane: usize,
    pub(super) word: u64,
    pub(super) words: u8,
}

impl Scattered {
    /// Returns the word from which on a request's words are counted. It reaches 2^31 words down and up from the first lane's.
    #[inline(always)]
    pub(super) fn base(first_words: &[u64; LANES], lanes: u32) -> u64 {
        first_words[(lanes.trailing_zeros() & 31) as usize].saturating_sub(1 << 31)
    }

    /// Adds the first word of a lane, less the base.
    #[inline(always)]
    pub(super) fn push_lane(&mut self, word: u32) {
        self.words.push(word);
    }

    /// Adds the request of the lanes that were added last.
    #[inline(always)]
    pub(super) fn push_request(&mut self, base: u64, stamp: u32, lanes: u32, words: u8) {
        self.requests.push(Request { base, stamp, lanes, words });
    }

    /// Returns true if the reads take as much memory as they may.
    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        const OF_REQUEST: usize = size_of::<Request>() / size_of::<u32>();
        self.words.len() + OF_REQUEST * self.requests.len() >= MOST_WORDS
    }

    /// Returns the stamp of the first request.
    pub(super) fn first_stamp(&self) -> Option<u32> {
        self.requests.first().map(|request| request.stamp)
    }

    pub(super) fn clear(&mut self) {
        self.requests.clear();
        self.words.clear();
        self.pages.clear();
    }

    /// Returns the reads of all lanes, in their order.
    pub(super) fn reads(&self) -> impl Iterator<Item = LaneRead> {
        let mut left = &self.words[..];
        self.requests.iter().flat_map(move |&Request { base, stamp, lanes, words }| {
            let (own, others) = left.split_at(lanes.count_ones() as usize);
            left = others;
            let read = move |(lane, &first)| LaneRead { stamp, lane, word: base + u64::from(first), words };
            super::lanes(lanes).zip(own).map(read)
        })
    }
}
