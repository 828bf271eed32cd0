//! Models time from counters: how long a launch, a copy or a migration takes on a [card](crate::cards).
//!
//! For launches this is one of two models, the *formula*; the other one [simulates](crate::multiprocessor) a multiprocessor, and the mean of
//! both is nearer to the truth than each ([`LaunchTime::and_simulated`]).
//!
//! A launch takes as long as its slowest level, and a little longer where another level comes close:
//! ```text
//! memory = max(dram, l2)                                    their sum for a chain of loads
//! data   = (memory^w + waits^w)^(1/w)
//! busy   = (data^s + on_chip^s + issue^s + starts^s)^(1/s)
//! time   = launch + max((busy^a + more^a)^(1/a), even + more)
//! w, s   = 1 + (sharpness - 1) (1 - lockstep / waves)       of one wave on an H200 1.50 and 1.89, of many up to 2.30 and 3.31
//! a      = 1 + (sharpness - 1) (1 - 1 / waves)              1 and up to 2.30
//! ```
//!
//! | term | what it is |
//! | --- | --- |
//! | `dram` | device memory: granules, lines and pages moved, over the read bandwidth; gaps cost more, and several times as much where reads alternate with writes; sectors whose place a value from memory tells open their pages one by one; sectors that stores change in part and that L2 does not hold are read first |
//! | `l2` | all sectors that reach L2, over L2's bandwidth, those that are stored 1.76 times, of those that all blocks load one for the resident blocks of a multiprocessor; parts of lines that loads fetch, and parts of lines and of sectors that atomics and stores change, take longer |
//! | `even`, `more` | atomics: what each slice of L2 has of them, which is among `l2`, with what they give back and what device memory exchanges for them; and what the slice or the word with the most has beyond that, of the blocks that are resident at a time; they follow one another, additions of floats more slowly; and so do loads past L1 that all want one sector; in the record they are a part of `l2` |
//! | `on_chip` | shared-memory wavefronts, shuffles, requests without a lane and L1 cycles: L1's data lie in 32 banks like those of shared memory, so lanes that walk down a column of a power-of-two matrix take one cycle each; constant memory serves one address at a time; `match.any` takes two clocks for each value; atomics that are loops of machine code, as those on floats, follow one another on a word of a block, the sooner the more of its warps want it |
//! | `issue` | machine instructions over the rate at which schedulers issue, 0.83 of their clocks; those of each unit over its own: integers, multiplications, special functions, double precision |
//! | `waits` | Little's law: waves of resident warps, each as long as a warp's waits for memory, its chains of dependent instructions and its turns in loops for shared memory, what a warp loads before a loop it waits for once; longer where a load touches several lines, and where warps wait at barriers for those that have more to do; at least as long as the warp that has most to do; of asynchronous copies as many are under way as the block's shared memory holds |
//! | `starts` | the rate at which blocks start, one in 159 clocks per multiprocessor; `waits` and `starts`, combined with `s`, are `latency` in the record |
//!
//! Memory and the waits for it are combined less sharply than the rest, because a busy memory answers later.
//!
//! Blocks of a single wave begin together, so that they load, compute and store at the same time, and levels overlap less than
//! in a launch of many waves: `s` is smaller. Where blocks differ in their instructions, the multiprocessor that issues most of
//! them counts for issue and on-chip memory.
//!
//! The blocks of a multiprocessor share its L1. How many of a warp's loads find their data there is what the simulation of a multiprocessor
//! says; where there is none, each block is looked up by itself. ptxas moves the loads of a basic block together, as far as their
//! addresses, stores, barriers and divisions allow, and unrolls small loops: a warp waits for these loads together, up to a number
//! that registers limit.
//!
//! # A worked example
//!
//! A thread per column adds up 1024 rows of a matrix of 8192 columns that is in L2, on an H200: 256 warps, two on a
//! multiprocessor, 1024 loads each.
//!
//! ```text
//! l2        1024 rows * 8192 columns * 4 bytes = 34 MB at 9.8 TB/s                            3.4 us
//! issue     256 warps * 1024 rows * 4 instructions / (132 * 4 * 0.83) at 1.98 GHz             1.2 us
//! waits     a load waits 275 clocks, five wait together: 1024 / 5 * 139 ns                   28.5 us
//!           each addition waits 4 clocks for the one before: 1024 * 4 * 1.34 at 1.98 GHz       2.8 us
//!           the warp's start and end                                                          0.0 us
//! data      (3.4^1.50 + 31.3^1.50)^(1/1.50)                                               32.0 us
//! time      0.7 + (32.0^1.89 + 1.2^1.89)^(1/1.89)                                         32.8 us
//! ```
//!
//! The kernel is latency-bound: a thousand warps would take about as long for four times the work.
//!
//! # Where it comes from
//!
//! - The levels side by side: Williams, Waterman and Patterson, "Roofline" (CACM 2009); work counted for each warp: Hong and Kim,
//!   "An Analytical Model for a GPU Architecture with Memory-level and Thread-level Parallelism Awareness" (ISCA 2009).
//! - Latency: Volkov, "Understanding Latency Hiding on GPUs" (Berkeley, 2016).
//! - Rates of units: CUDA's programming guide. Clocks of dependent instructions: `coalesce run instructions` and a probe of 44 instructions
//!   on an H200, as Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking" (2018), measured them first.
//! - What ptxas makes of PTX ([`Slots`](crate::count::Slots) and how instructions are fused): read off its machine code.
//!
//! # Constants and their experiments
//!
//! - **H200, measured.** `coalesce run latency`: latencies of L1, L2 and device memory, alone and in chains. `coalesce run
//!   atomics`: the clocks of a round of atomics in a slice of L2, and on one word, of integers and of floats, and in shared memory of
//!   those that are loops; the clocks of `match.any`. `coalesce run l2` and
//!   `mountain`: what gaps cost that are only read, and that a store to a part of a sector reads it first. Machine code that ptxas
//!   makes: the loads in flight, and the loops that are unrolled.
//! - **H200, derived.** L2 holds two thirds of its size: a multiprocessor keeps in its half what has its home in the other, so that
//!   half of the lines are there twice.
//! - **H200, fitted.** The other constants that its card file calls fitted, twenty. Seventeen of them minimise the sum of
//!   ln(1 + (e / 0.07)^2) over the logarithms e of modelled over measured times, each kernel with the mean of its rows, as `fidelity fit`
//!   does: 396 rows of this repository's experiments (copies, offsets, strides, shuffles, stencils, storage, gathering, histograms, layouts,
//!   L2, scans and asynchronous copies on 4, 16 and 256 MiB, and transposes, as simulated before registers were estimated as they are
//!   now), and the 530 open rows of the program `fidelity` that have a
//!   time, all on an H200. Two terms were added, for the formula alone: 35 rows of offsets, strides and copies, each beyond 3%, and rows
//!   of this repository's tests that are off by more than 27%. `warp_overhead_ns` was fitted to the same rows afterwards, with the others
//!   as they were; `straddle_penalty` was set by hand to a value that suits the V100, too, and `dram_gaps_alone` by the time in which
//!   `l2_fetch` reads granules that lie apart. The errors are in docs/fidelity.md; the unseen half was not used. DRAM moves at least 64
//!   bytes, which is from the H200's counters, for reads. Writes are assumed to take as long. A page has 256 bytes because distance beyond that
//!   costs little: of 16 strides of 128 bytes to 2 KiB, none of them fitted, the worst error is 12%.
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
//!   which it underrates. Effects that are separate on the H200 (block starts, dependent instructions, stragglers,
//!   sectors written in pieces) are 0 here, since the fitted constants include them.
//! - **C870, C1060, C2050.** Nothing is fitted; their results follow from the transactions.
//! - **V100, A100.** The share of the peak is that of a copy measured elsewhere, raised by the ratio of the H200's
//!   share to its own copy; all other fitted constants are the H200's.
//! - **RTX 3090, K40c.** Nothing was measured; the constants are those of related cards.
//! - **H100.** What its data sheet does not state is the H200's, by the number of parts: L2's rates by its slices (5 of 6), and the
//!   time of gaps by memory channels (5120 of 6016 bits). None of its rows is in the fit above. docs/fidelity.md has its errors.
//! - **T4, L4, RTX 4090, RTX 5090, B200.** Bandwidths and latencies of L2 and memory are published measurements of the
//!   card or of a relative; all fitted constants are the H200's. `coalesce devices CARD` names the source of each.
//! - The link between cards ([`PeerLink`]) is fitted to pairs of H200s: to copies, to a chain of loads, to three rows of kernels
//!   and to two of atomic operations.
//! - The latencies of links are assumed or taken from publications, and so are the constants of [`unified`] that name
//!   no other source.
//!
//! Clocks are constant and at their highest. TLBs are modelled only by the weight of pages and for the host's memory.
//! Reuse of caches between blocks is counted by the code that makes the counters.

pub(crate) mod counters;
pub(crate) mod link;
pub(crate) mod partitions;
mod peer;
mod time;
pub mod unified;
mod unknown;

pub(crate) use counters::{Counters, Touched};
pub use link::{HostAccess, device_copy_seconds, host_access_seconds, host_copy_seconds, look_up_seconds};
pub(crate) use partitions::PartitionTraffic;
pub use peer::{PeerAccess, PeerLink};
pub use time::{LaunchTime, Level};
pub use unknown::Unknown;
