//! Models partition camping on cards older than Fermi, which do not hash addresses.
//!
//! Memory is interleaved over 6 or 8 partitions in units of 256 bytes. Concurrent blocks that access the same partition
//! queue there while the others idle, so a window of concurrent blocks takes as long as its busiest partition. (Ruetsch
//! and Micikevicius, "Optimizing Matrix Transpose in CUDA".)

/// Bytes that lie in one partition before the next one follows.
const PARTITION_BYTES: u64 = 256;

/// Sums the traffic of each partition, window by window. A block's loads and stores are apart in time, so the caller
/// keeps one sum for each.
#[derive(Clone, Debug)]
pub struct PartitionTraffic {
    window: Vec<u64>,
    worst: u64,
    total: u64,
}

impl PartitionTraffic {
    /// Starts with no traffic on a card with `partitions`; 0, as from Fermi on, means that traffic is always balanced.
    pub fn new(partitions: u32) -> Self {
        Self { window: vec![0; partitions as usize], worst: 0, total: 0 }
    }

    /// Adds a transaction to the current window. It lies in one partition, as every transaction aligned to its size
    /// does.
    pub fn add(&mut self, address: u64, bytes: u64) {
        let partitions = self.window.len() as u64;
        if partitions > 0 {
            self.window[(address / PARTITION_BYTES % partitions) as usize] += bytes;
        }
    }

    /// Ends a window, after the transactions of as many blocks as run concurrently.
    pub fn end_window(&mut self) {
        self.worst += self.window.iter().max().copied().unwrap_or(0);
        self.total += self.window.iter().sum::<u64>();
        self.window.fill(0);
    }

    /// Returns the time of all ended windows relative to balanced traffic: from 1 to the number of partitions.
    pub fn camping(&self) -> f64 {
        if self.total == 0 { 1.0 } else { self.worst as f64 * self.window.len() as f64 / self.total as f64 }
    }
}
