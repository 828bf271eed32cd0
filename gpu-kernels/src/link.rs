//! # Link: another card's memory
//!
//! The cards of a machine reach each other's memory over a link: NVLink, or PCIe. A copy of `V` bytes takes `T = a + V / b`, as
//! one over the host link does, with the `b` of this link: an H200 has 18 links of NVLink 4 at 26.6 GB/s, of which copies reach
//! 397 GB/s in one direction. That is seven times its host link, and a twelfth of its own memory.
//!
//! The link has wires for each direction, so copies in both directions, on two streams, run at the same time. They do not quite
//! move twice as much: requests and acknowledgements of each direction travel in the other. Of a copy of 64 MiB, 4 us are fixed where
//! the card that sends has it queued, and 11 us where the one that receives has.
//!
//! What a copy needs for that is *peer access*: the driver maps the memory of one card into the address space of the other. Two
//! cards without a common link have none. A copy between them goes by way of the host, over two host links one after the other.
//!
//! With peer access a kernel reads and writes the other card's memory by its address, as if it were its own. This lesson runs the
//! kernels of `copy`, `offset` and `stride` so. A request still moves whole sectors of 32 bytes, and now each of them crosses the
//! link: the L2 of the kernel's card does not keep another card's data. A warp that is misaligned by an element requests a fifth
//! sector for four, and at a stride of 8 elements of 4 bytes each lane takes a sector, of which it uses an eighth. What a stride
//! wastes in device memory it wastes on a link that is a twelfth as wide.
//!
//! On a pair of H200s copies by kernels reach 361 GB/s, and adding 1 moves 650, half of it each way; misaligned by an element it moves 490,
//! and with a stride of 8 elements 73. A stride of 16 is worse than one of 32: each line is then sent in two packets.
//!
//! A load over the link takes longer than one from the card's own memory. `chase_l2` of `latency` measures it, along a chain of
//! addresses in the other card's memory: 853 ns on that pair if the other card's L2 has them, and 977 if not. From the card's own
//! they are 140 and 330.
//!
//! Atomic operations work over NVLink too: the L2 of the card that has the memory carries them out. `atomics_global_add_u32` and
//! `atomics_global_fetch_u32` of `atomics` add to counters there, one to as many as there are threads; the second waits for each old
//! value, a whole way there and back. PCIe carries none between cards, and the experiment says so then.
//!
//! # A sum over all cards
//!
//! Training on several cards needs the sum of their gradients on each of them: an *all-reduce*. If each card read the arrays of
//! all others, `n` cards would bring in `n - 1` arrays each. A *ring* brings in less than two, however many cards there are
//! ([Patarasuk and Yuan 2009](https://doi.org/10.1016/j.jpdc.2008.09.002)). Each array is cut into `n` chunks, and each card
//! reads from the card before it alone:
//!
//! 1. *Reduce-scatter*, `n - 1` steps. In step `s` card `k` reads chunk `k - s - 1` (modulo `n`) of what the card before it has
//!    added up, adds its own with `ring_add` and keeps the sum for the next card. In the end card `k` has the whole sum of chunk
//!    `k + 1`.
//! 2. *All-gather*, `n - 1` steps. In step `s` card `k` copies chunk `k - s` from the card before it with `copy_vector`.
//!
//! With three cards a, b and c, and `ab` for the sum of their chunks:
//!
//! ```text
//! step              card 0            card 1            card 2
//! reduce-scatter 0  chunk 2: ca       chunk 0: ab       chunk 1: bc
//! reduce-scatter 1  chunk 1: bca      chunk 2: cab      chunk 0: abc
//! all-gather 0      chunk 0 from 2    chunk 1 from 0    chunk 2 from 1
//! all-gather 1      chunk 2 from 2    chunk 0 from 0    chunk 1 from 1
//! ```
//!
//! In each step a card needs what the card before it made in the step before. A kernel that waited for that on the device
//! would spin on a flag in memory, and hang where the other card's kernel has not started. Here the host orders the steps: each
//! card has a stream, records an event behind each launch, and its neighbour's stream waits for that event before the launch
//! that reads the result. No kernel waits, and none reads what another one writes at the same time, so `ring_add` is as safe as
//! a kernel on one card. A step costs a launch. Cut into pieces, a chunk's next step begins while the rest of the chunk is still
//! on its way.
//!
//! Each card brings in `2 (n - 1) / n` times its array. [NCCL's tests](https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md)
//! report two rates of an array of `S` bytes that takes the time `t`: the *algorithm bandwidth* `S / t`, and the *bus bandwidth*
//! `S / t * 2 (n - 1) / n`, what each link carries in each direction, which does not depend on the number of cards.
//!
//! # Launch
//! `ring_add` takes `(own, passed, sum)`, three arrays of as many vectors, and any one-dimensional launch with a thread for each
//! vector: `sum[i] = own[i] + passed[i]`.

use cuda_safe::names::N;
use cuda_safe::vector::F32x4;
use cuda_safe::{Each, In, Out, Thread, kernel};

/// Adds to a card's own vectors those that the card before it passes on, one of 16 bytes per thread.
// PTX: contains 2x ld.global.nc.v4.b32 or ld.global.nc.v2.b64
// PTX: contains st.global.v4.b32 or st.global.v2.b64
#[kernel]
pub fn ring_add(
    thread: Thread,
    own: In<F32x4, Each<N>>,
    passed: In<F32x4, Each<N>>,
    sum: Out<F32x4, Each<N>>,
) {
    if let Some(i) = thread.index(own) {
        let (own, passed) = (own.at(i), passed.at(i));
        sum.put(i, F32x4::new(own.x + passed.x, own.y + passed.y, own.z + passed.z, own.w + passed.w));
    }
}
