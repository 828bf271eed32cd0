//! Partition camping, before Fermi hashed its addresses.
//!
//! Memory was dealt to 6 or 8 partitions in turn, 256 bytes each. Blocks that run at the same time and want the same
//! partition queue there while the others stand idle, so a window of concurrent blocks takes as long as its most
//! wanted partition. (Ruetsch and Micikevicius, "Optimizing Matrix Transpose in CUDA".)

/// Bytes of one partition before the next one's turn.
const PARTITION_BYTES: u64 = 256;

/// Sums up how evenly transactions fall on the partitions, window by window. Loads and stores of a block are apart in
/// time and are summed apart.
#[derive(Clone, Debug)]
pub struct PartitionTraffic {
    window: Vec<u64>,
    worst: u64,
    total: u64,
}

impl PartitionTraffic {
    /// For a card with so many partitions; with 0, as from Fermi on, traffic is always even.
    pub fn new(partitions: u32) -> Self {
        Self { window: vec![0; partitions as usize], worst: 0, total: 0 }
    }

    /// A transaction of the present window, which lies in one partition, as all do that are aligned to their size.
    pub fn add(&mut self, address: u64, bytes: u64) {
        let partitions = self.window.len() as u64;
        if partitions > 0 {
            self.window[(address / PARTITION_BYTES % partitions) as usize] += bytes;
        }
    }

    /// Ends a window: as many blocks as run at a time have been added.
    pub fn end_window(&mut self) {
        self.worst += self.window.iter().max().copied().unwrap_or(0);
        self.total += self.window.iter().sum::<u64>();
        self.window.fill(0);
    }

    /// How many times longer the traffic of the ended windows takes than if it were spread evenly: from 1 to the number
    /// of partitions.
    pub fn camping(&self) -> f64 {
        if self.total == 0 { 1.0 } else { self.worst as f64 * self.window.len() as f64 / self.total as f64 }
    }
}
