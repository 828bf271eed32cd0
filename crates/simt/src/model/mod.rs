//! From counters to time: what a launch, a copy or a migration takes on a [card](crate::cards).
//!
//! A launch is as slow as its slowest level, and a little slower where others are close to it:
//!
//! ```text
//! memory = (dram^8 + l2^8)^(1/8)
//! time   = launch + (memory^s + on_chip^s + issue^s + latency^s)^(1/s)        s: sharpness, 3.35 on an H200
//! ```
//!
//! | term | what it is |
//! | --- | --- |
//! | `dram` | granules, lines and pages of device memory that are moved, over the bandwidth of reads; more where reads and writes alternate |
//! | `l2` | all sectors that reach L2, over L2's bandwidth; a sector that a block writes piece by piece costs L2 several times its own time, unless the pieces meet on their way |
//! | `on_chip` | wavefronts of shared memory, and turns of L1: its tags lie in four banks, so that lanes that walk down a column of a power-of-two matrix take one turn each; beside them constant memory, an address at a time |
//! | `issue` | machine instructions over what the schedulers issue, integer ones over half as many: 64 bits are two instructions |
//! | `latency` | Little's law: rounds of resident warps, each as long as its waits for memory, which are longer where the last of several lines or of several warps is waited for; and the pace at which blocks start, one in 152 clocks a multiprocessor |
//!
//! Warps of a block go side by side: what one of them has brought to L1, those that come to the same point find there. Of a
//! loop that ptxas unrolls, loads of several turns are waited for together.
//!
//! # What is fitted, and what is assumed
//!
//! - **H200.** Fifteen of its constants, and one for stores that merge, are fitted together, by robust least squares of
//!   the logarithms, to 58 measured rows: offsets 1, 8 and 32, strides 1, 8, 16 and 32 in `f32` and `f64`, two copies,
//!   the transposes of 2048 x 2048 and two of 16384 x 16384, constants with 1 and 32 addresses, two storage classes,
//!   three matrix products, five idioms, the stencil with coefficients in memory, three reductions, and three walks over
//!   half a GiB of prefetched memory. Of offsets and strides, 116 other rows have a median error of 1.2% and a worst of
//!   5.6%; of the other kernels, 163 rows, those fitted and migration on demand among them, 3.7% and 25%. The test
//!   `model_h200` holds the rows to that, but for migration, and finds that no constant could be a tenth more or less and
//!   the fitted rows be met more than a little better; many could be so and they be met as well. Worst are checked
//!   transposes (too fast by 24%: that each load waits for the check of the one before is only half seen), blocks that read
//!   slices of 1 GiB with a barrier a turn (too slow by 21%) and padded tiles of 2048 x 2048 (too slow by 20%).
//!   That DRAM moves 64 bytes at least is from its counters, for reads. Writes are taken to be as long; by themselves,
//!   single lines and parts of lines in fact take 7 to 17% longer to write, and 9 to 18% less to read, than the model has
//!   it (prototypes in CUDA C++ that are not kept).
//!   A page has 256 bytes because distance beyond that costs little: of 16 strides of 128 bytes to 2 KiB, none of them
//!   fitted, the median error is 3.7% and the worst 12%.
//! - **The H200's link.** Rows of `unified` over 0.5 and 1 GiB: what kernels get of pinned memory, what requests that
//!   straddle lines and pages whose addresses the card does not know cost ([`host_access_seconds`],
//!   [`look_up_seconds`]), the host's part in a fault ([`unified::service_seconds`]), pages that have just come
//!   ([`unified::first_touch_seconds`]). Faulting varies by 1.3 to 1.6 times from run to run on the hardware
//!   itself.
//! - **GTX 280, M2090, K20X.** Share of the peak and bandwidth of L2 from NVIDIA's figures for a copy and a
//!   naive transpose; one constant for barriers from its copies through shared memory; one for pages from
//!   its tiled transposes. That on 1.x a half-warp's pages count is a rule made for the GTX 280's naive
//!   transpose. So of these figures only the camped and the diagonal of the GTX 280 and the conflict-bound
//!   ones are predictions. The model is within 23% of all 18: worst at bank conflicts on the M2090, which
//!   it overrates, and at camping, which it underrates. What is only told apart on the H200 (starts of blocks,
//!   integers, stragglers, sectors written in pieces) is 0 for them, for it is in what is fitted.
//! - **C870, C1060, C2050.** Nothing is fitted; their findings follow from the transactions.
//! - **V100, A100.** The share of the peak is that of a copy measured elsewhere, as much higher as the H200's is above its
//!   own copy; all other fitted constants are the H200's.
//! - **RTX 3090, H100, K40c.** Nothing was measured; taken over from kin.
//! - The latencies of links, and of [`unified`] what it does not say otherwise, are assumed or taken from publications.
//!
//! Clocks are constant and at their highest, TLBs exist only as far as page weights stand for them and for the host's
//! memory, and what a row of blocks leaves in a cache is counted by whoever makes the counters.

mod counters;
mod link;
mod partitions;
mod time;
pub mod unified;

pub use counters::{Counters, Touched};
pub use link::{
    HostAccess, device_copy_seconds, host_access_seconds, host_copy_gb_per_s, host_copy_seconds,
    look_up_seconds,
};
pub use partitions::PartitionTraffic;
pub use time::{LaunchTime, Level};
