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
