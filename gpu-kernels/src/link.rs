//! # Link: copies between cards
//!
//! The cards of a machine reach each other's memory over a link: NVLink, or PCIe. A copy of `V` bytes takes `T = a + V / b`, as
//! one over the host link does, with the `b` of this link: an H200 has 18 links of NVLink 4 at 26.6 GB/s, of which copies reach
//! 384 GB/s in one direction. That is seven times its host link, and a twelfth of its own memory.
//!
//! The link has wires for each direction, so copies in both directions, on two streams, run at the same time. They do not quite
//! move twice as much: requests and acknowledgements of each direction travel in the other.
//!
//! What a copy needs for that is *peer access*: the driver maps the memory of one card into the address space of the other. Two
//! cards without a common link have none. A copy between them goes by way of the host, over two host links one after the other.
