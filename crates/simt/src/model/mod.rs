//! From counters to time: what a launch, a copy or a migration takes on a [card](crate::cards).
//!
//! A launch is as slow as its slowest level, and a little slower where two are close:
//!
//! ```text
//! time = launch + (dram^4 + l2^4 + on_chip^4 + issue^4 + latency^4)^(1/4)
//! ```
//!
//! | term | what it is |
//! | --- | --- |
//! | `dram` | granules, lines and pages of device memory that are moved, over the bandwidth that a copy reaches |
//! | `l2` | all sectors that reach L2, over L2's bandwidth |
//! | `on_chip` | wavefronts of shared memory and L1, over one a clock and multiprocessor |
//! | `issue` | warp instructions, over what the schedulers issue |
//! | `latency` | Little's law: rounds of resident warps, each as long as its dependent loads and its own overhead |
//!
//! # What is fitted, and what is assumed
//!
//! - **H200.** Five constants (share of the peak, weights of lines and pages, overhead of a warp, penalty
//!   for straddling) are fitted by least squares to 21 points of `docs/results/h200/records.jsonl`: offsets
//!   0, 1, 8 and 32 and strides 1, 2, 4, 8, 16 and 32 in `f32` and `f64`, and `copy_vector`. The other 110
//!   points of the sweeps and `copy_scalar` judge them: median error 1.2%, worst 5.5%. The test
//!   `model_h200` repeats the fit and asserts the errors. That DRAM moves 64 bytes at least is from its
//!   counters, for reads; that writes take as long is assumed, and fits. The size of a page, beyond which
//!   distance costs no more, is assumed: no point lies beyond 256 bytes.
//! - **GTX 280, M2090, K20X.** Share of the peak and bandwidth of L2 from NVIDIA's figures for a copy and a
//!   naive transpose; one constant for barriers from its copies through shared memory; one for pages from
//!   its tiled transposes. That on 1.x a half-warp's pages count is a rule made for the GTX 280's naive
//!   transpose. So of these figures only the camped and the diagonal of the GTX 280 and the conflict-bound
//!   ones are predictions. The model is within 23% of all 18: worst at bank conflicts on the M2090, which
//!   it overrates, and at camping, which it underrates.
//! - **C870, C1060, C2050.** Nothing is fitted; their findings follow from the transactions.
//! - **V100, A100.** The share of the peak is measured elsewhere, the weights are the H200's.
//! - **RTX 3090, H100, K40c.** Nothing was measured; taken over from kin.
//! - The exponent 4, the latencies of launches and links, and all of [`unified`] are assumed or taken from
//!   publications.
//!
//! Clocks are constant and at their highest, TLBs exist only as far as page weights stand for them, and what a row of
//! blocks leaves in a cache is counted by whoever makes the counters.

mod counters;
mod link;
mod partitions;
mod time;
pub mod unified;

pub use counters::{Counters, Touched};
pub use link::{device_copy_seconds, host_copy_gb_per_s, host_copy_seconds};
pub use partitions::PartitionTraffic;
pub use time::{LaunchTime, Level};
