//! Models the link between two cards: copies in one and both directions, and kernels' access to a peer's memory.
//!
//! A copy of V bytes takes a + V / b. Where copies run in both directions at once, the link moves less than twice as
//! much as in one: an H200 pair moves 397 GB/s one way and 784 GB/s both ways. Each second in which both directions are
//! busy then costs `2 * one / both - 1` seconds more, 0.013 on that pair. For example, two opposite copies of 1 GiB take
//! 2.705 ms each alone; together they take 2.705 * 1.013 = 2.739 ms, which is 2 GiB at 784 GB/s.
//!
//! A kernel's accesses go in packets ([`PeerAccess`]), of which everything costs more than its bytes: a sector takes the time of
//! 35.2 copied bytes, a request to read a packet, or the answer to a stored one, that of 14, and a mask of bytes 13. Each
//! direction has its own load. For example, a warp that adds 1 to 32 neighbouring words sends out four sectors and a
//! request, 155 bytes, and gets as much back: 256 bytes of use in 0.390 ns, 656 GB/s, where an H200 pair has 650. With a
//! stride of 32 words it sends 32 masked sectors and 32 requests, 63 bytes for each word.
//!
//! The three costs are fitted to `copy_scalar`, and to strides 1 and 2, on a pair of H200s; the other strides and the offsets were not
//! used for them, though what a packet is was chosen with all rows in view. They stand for every card's link.
//!
//! L2 takes atomic operations that come over the link more slowly than the card's own: those to one word 2.7 ns each where the card's
//! own take 0.74, and those of whole warps to one line 7.1 ns where its own take 2.5. Both factors are of one row each on a pair of
//! H200s; a pair of H100s has the same times to 1%.

use crate::cards::Card;

/// The link between two cards that access each other's memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PeerLink {
    /// Links of NVLink; 0 for PCIe.
    pub nvlinks: u32,
    /// Bandwidth of a copy in GB/s, one direction.
    pub gb_per_s: f64,
    /// Bandwidth of copies in both directions at once, together.
    pub both_gb_per_s: f64,
    /// Fixed time of a copy, in microseconds.
    pub latency_us: f64,
}

impl PeerLink {
    /// Returns the link of a card to its peers, if its description has one.
    pub fn of(card: &Card) -> Option<Self> {
        (card.peer_link_gb_per_s > 0.0).then_some(Self {
            nvlinks: card.nvlinks,
            gb_per_s: card.peer_link_gb_per_s,
            both_gb_per_s: card.peer_link_both_gb_per_s,
            latency_us: card.peer_link_latency_us,
        })
    }

    /// Returns the link between two cards: both have to describe the same one.
    pub fn between(one: &Card, other: &Card) -> Option<Self> {
        Self::of(one).filter(|link| Self::of(other).as_ref() == Some(link))
    }

    /// Returns true if the link carries atomics, which PCIe does not between cards.
    pub fn has_atomics(&self) -> bool {
        self.nvlinks > 0
    }

    /// Returns the time in seconds of a copy in one direction.
    pub fn copy_seconds(&self, bytes: u64) -> f64 {
        self.latency_us * 1e-6 + bytes as f64 / (self.gb_per_s * 1e9)
    }

    /// Returns the extra seconds for each second in which both directions are busy.
    pub fn contention(&self) -> f64 {
        2.0 * self.gb_per_s / self.both_gb_per_s - 1.0
    }

    /// Returns the time in seconds of a kernel's accesses to a peer's memory.
    pub fn access_seconds(&self, access: PeerAccess) -> f64 {
        let PeerAccess { sectors_read, packets_read, sectors_stored, packets_stored, packets_masked } =
            access;
        let out =
            sectors_stored as f64 * SECTOR + packets_masked as f64 * MASK + packets_read as f64 * HEADER;
        let back = sectors_read as f64 * SECTOR + packets_stored as f64 * HEADER;
        out.max(back) / (self.gb_per_s * 1e9)
    }
}

/// Accesses of a kernel to other cards' memory. A packet is of neighbouring sectors of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerAccess {
    /// Sectors of 32 bytes that loads fetch.
    pub sectors_read: u64,
    /// Packets of them.
    pub packets_read: u64,
    /// Sectors that stores and atomics send.
    pub sectors_stored: u64,
    /// Packets of them.
    pub packets_stored: u64,
    /// Packets that say which bytes of their sectors are written.
    pub packets_masked: u64,
}

/// Rounds of atomic operations that another card sends to one word take this many times as long as the card's own.
pub(super) const ATOMIC_WORD_TIMES: f64 = 3.7;
/// The same of rounds that change all words of their sectors.
pub(super) const ATOMIC_TIMES: f64 = 2.9;
/// Cost of a sector of 32 bytes, in bytes of a copy.
const SECTOR: f64 = 35.2;
/// The same of a packet without data.
const HEADER: f64 = 14.1;
/// The same of a packet's mask.
const MASK: f64 = 13.3;
