//! Copies that no kernel makes: over the host link, and within the card.

use crate::cards::Card;

/// A copy between pinned host memory and the card, one direction: a fixed time and the link's bandwidth. On PCIe 3 this
/// gives 1.8 GB/s at 64 KiB and 9 at 1 MiB, as gpu-benches measures it with a blocking copy.
pub fn host_copy_seconds(card: &Card, bytes: u64) -> f64 {
    card.host_link_latency_us * 1e-6 + bytes as f64 / (card.host_link_gb_per_s * 1e9)
}

/// The same as a bandwidth in GB/s.
pub fn host_copy_gb_per_s(card: &Card, bytes: u64) -> f64 {
    bytes as f64 / host_copy_seconds(card, bytes) / 1e9
}

/// The driver's copy from one place in device memory to another: a launch, and every byte read and written.
pub fn device_copy_seconds(card: &Card, bytes: u64) -> f64 {
    card.launch_us * 1e-6 + 2.0 * bytes as f64 / (card.dram_share * card.dram_gb_per_s * 1e9)
}
