//! Models time from counters: how long a launch, a copy or a migration takes on a [card](crate::cards).
//!
//! A launch takes as long as its slowest level, and a little longer where another level comes close:
//! ```text
//! memory = (dram^8 + l2^8)^(1/8)
//! time   = launch + (memory^s + on_chip^s + issue^s + latency^s)^(1/s)        s: sharpness, 3.35 on an H200
//! ```
//!
//! | term | what it is |
//! | --- | --- |
//! | `dram` | device memory: granules, lines and pages moved, over the read bandwidth; more where reads alternate with writes |
//! | `l2` | all sectors that reach L2, over L2's bandwidth; a sector that a block writes in several stores costs L2 several times its own time, unless the stores merge on the way; parts of lines that atomics and scattered stores change take longer; atomics within 256 bytes follow one another |
//! | `on_chip` | shared-memory wavefronts, shuffles and L1 cycles: L1's tags lie in four banks, so lanes that walk down a column of a power-of-two matrix take one cycle each; constant memory serves one address at a time |
//! | `issue` | machine instructions over the schedulers' issue rate; those of each unit over its own: integers, multiplications, special functions, double precision |
//! | `latency` | Little's law: waves of resident warps, each as long as a warp's waits for memory and its chains of dependent instructions, and longer where it waits for the last of several lines or warps; also the rate at which blocks start, one in 152 clocks per multiprocessor |
//!
//! Where blocks differ in their instructions, the multiprocessor that issues most of them counts for issue, on-chip memory and
//! latency.
//!
//! Warps of a block run side by side: sectors that one warp loads into L1 are hits for the warps that reach the same
//! point later. ptxas moves the loads of a basic block together, as far as their addresses, stores and barriers allow, and
//! unrolls small loops: a warp waits for these loads together, up to a number that registers limit.
//!
//! # Fitted and assumed constants
//!
//! - **H200.** Fifteen of its constants, and one for stores that merge, are fitted together to 58 measured rows, by
//!   robust least squares of the logarithms. The rows are offsets 1, 8 and 32, strides 1, 8, 16 and 32 in `f32` and
//!   `f64`, two copies, the transposes of 2048 x 2048 and two of 16384 x 16384, constants with 1 and 32 addresses, two
//!   storage classes, three matrix products, five idioms, the stencil with coefficients in memory, three reductions,
//!   and three walks over half a GiB of prefetched memory. 116 other rows of offsets and strides have a median error of
//!   1.2% and a worst of 5.6%. 163 rows of the other kernels, the fitted rows and migration on demand included, have
//!   3.7% and 25%. The test `model_h200` holds the rows to these errors, except migration. It also finds that no
//!   constant can be changed by a tenth and improve the fitted rows by more than a little; many constants can be
//!   changed that much without making them worse. The worst errors are checked transposes (too fast by 24%: the model
//!   sees only half of how each load waits for the check of the one before), blocks that read slices of 1 GiB with a
//!   barrier in each iteration (too slow by 21%) and padded tiles of 2048 x 2048 (too slow by 20%). DRAM moves at least
//!   64 bytes, which is from the H200's counters, for reads. Writes are assumed to take as long. In fact single lines
//!   and parts of lines take 7 to 17% longer to write, and 9 to 18% less to read, than the model says (prototypes in
//!   CUDA C++ that are not kept). A page has 256 bytes because distance beyond that costs little: of 16 strides of 128
//!   bytes to 2 KiB, none of them fitted, the median error is 3.7% and the worst 12%.
//! - **The H200's units, atomics and chains.** The rates of units are the programming guide's, the clocks of dependent
//!   instructions those of publications ([`Slots`](crate::count::Slots)). The clocks of sectors that L2 changes, of atomics to
//!   one place and of atomics in shared memory, and the loads in flight, are from kernels of the program `fidelity` that are
//!   in its seen half. The latencies of L2 and DRAM were raised, and the overhead of a warp lowered by as much, so that a
//!   warp with one round trip takes as long as before: chains of loads tell the two apart.
//! - **The H200's link.** Fitted to rows of `unified` over 0.5 and 1 GiB: the bandwidth that kernels get of pinned
//!   memory, the cost of requests that straddle lines and of pages that the TLB does not reach
//!   ([`host_access_seconds`], [`look_up_seconds`]), the host's part of a fault ([`unified::service_seconds`]), and
//!   pages that have just arrived ([`unified::first_touch_seconds`]). On the hardware itself, faulting varies by a
//!   factor of 1.3 to 1.6 from run to run.
//! - **GTX 280, M2090, K20X.** The share of the peak and L2's bandwidth are from NVIDIA's figures for a copy and a
//!   naive transpose, one constant for barriers from its copies through shared memory, and one for pages from its tiled
//!   transposes. The rule that pages count per half-warp on 1.x was made for the GTX 280's naive transpose. So only the
//!   camped and the diagonal transposes of the GTX 280 and the conflict-bound ones are predictions. The model is within
//!   23% of all 18 figures; it is worst at bank conflicts on the M2090, which it overrates, and at partition camping,
//!   which it underrates. Effects that are separate on the H200 (block starts, integer instructions, stragglers,
//!   sectors written in pieces) are 0 here, since the fitted constants include them.
//! - **C870, C1060, C2050.** Nothing is fitted; their results follow from the transactions.
//! - **V100, A100.** The share of the peak is that of a copy measured elsewhere, raised by the ratio of the H200's
//!   share to its own copy; all other fitted constants are the H200's.
//! - **RTX 3090, H100, K40c.** Nothing was measured; the constants are those of related cards.
//! - **T4, L4, RTX 4090, RTX 5090, B200.** Bandwidths and latencies of L2 and memory are published measurements of the
//!   card or of a relative; all fitted constants are the H200's. `coalesce devices CARD` names the source of each.
//! - The latencies of links are assumed or taken from publications, and so are the constants of [`unified`] that name
//!   no other source.
//!
//! Clocks are constant and at their highest. TLBs are modelled only by the weight of pages and for the host's memory.
//! Reuse of caches between blocks is counted by the code that makes the counters.

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
