//! Counters of a kernel launch as plain data: what hardware profilers count, in total and by instruction.
//!
//! The simulator fills them in, records carry them, and pages show them. [`Counts::metrics`] gives them under the names of
//! Nsight Compute's metrics.
//!
//! ```
//! use counters::{Counts, MemoryCounts};
//!
//! // A warp that reads 32 floats, 4 bytes off their alignment: one request, five sectors.
//! let loads = MemoryCounts { requests: 1, sectors: 5, bytes_requested: 128, bytes_moved: 160, ..MemoryCounts::default() };
//! let counts = Counts { loads, ..Counts::default() };
//! assert_eq!(counts.sectors_per_request(), 5.0);
//! assert_eq!(counts.efficiency(), 0.8);
//! ```

mod access;
mod counts;
mod launch;
mod metrics;
mod residency;

pub use access::{Access, AccessKind};
pub use counts::{AtomicCounts, ConstantCounts, Counts, MemoryCounts, SampledLoads, SharedCounts};
pub use launch::{DramCounts, HottestAtomics, LaunchCounters, LinkCounts, LoopedAtomics, SiteCounts};
pub use metrics::Metric;
pub use residency::{Limiter, Residency};
