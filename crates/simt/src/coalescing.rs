//! Computes how memory serves a warp: from its lanes' addresses to transactions, sectors, bank conflicts and replays.
//!
//! All of it is arithmetic on addresses; nothing is executed, stored or timed here. The rules depend on the compute
//! capability, and each names its source:
//!
//! | what | where | rule's source |
//! | --- | --- | --- |
//! | global loads and stores | [`Coalescer`] | CUDA C Programming Guide 5.0, F.3.2, F.4.2, F.5.2; current guide, "Device Memory Accesses"; counters of an H200 |
//! | shared memory | [`BankRule`] | CUDA C Programming Guide 5.0, F.3.3, F.4.3, F.5.3; current guide, "Shared Memory" of 5.x and later |
//! | constant memory | [`constant_replays`] | CUDA C Programming Guide 5.0, 5.3.2.4 |
//! | atomics | [`AtomicConflicts`] | CUDA C Programming Guide 5.0, 4.1 and F.3 |
//!
//! An address is a multiple of the access's size: misaligned accesses fault on a GPU, and callers report them before.
//! An access is 1, 2, 4, 8 or 16 bytes per lane.

pub(crate) mod banks;
mod capability;
pub(crate) mod global;
pub(crate) mod request;
pub(crate) mod sectors;
mod segments;
pub(crate) mod serial;

pub use banks::BankMode;
pub(crate) use banks::{BankRule, Wavefronts};
pub use capability::{CapabilityError, ComputeCapability};
pub(crate) use global::Coalescer;
pub(crate) use request::{Access, Request, Traffic, Transactions};
pub use request::{Addresses, LANES};
pub use sectors::{LINE_BYTES, SECTOR_BYTES};
pub(crate) use serial::{AtomicConflicts, constant_replays};
