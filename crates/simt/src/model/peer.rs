//! Models the link between two cards: copies in one and both directions, and kernels' access to a peer's memory.
//!
//! A copy of V bytes takes a + V / b. Where copies run in both directions at once, the link moves less than twice as
//! much as in one: an H200 pair moves 384 GB/s one way and 727 GB/s both ways. Each second in which both directions are
//! busy then costs `2 * one / both - 1` seconds more, 0.056 on that pair. For example, two opposite copies of 1 GiB take
//! 2.796 ms each alone; together they take 2.796 * 1.056 = 2.954 ms, which is 2 GiB at 727 GB/s.

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

    /// Returns the time in seconds of a kernel's reads and writes of a peer's memory. Kernels are assumed to reach the
    /// bandwidth of copies.
    pub fn access_seconds(&self, read_bytes: u64, written_bytes: u64) -> f64 {
        let seconds = |bytes: u64| bytes as f64 / (self.gb_per_s * 1e9);
        let (read, written) = (seconds(read_bytes), seconds(written_bytes));
        read.max(written) + read.min(written) * self.contention()
    }
}
