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

mod banks;
mod capability;
mod global;
mod request;
mod sectors;
mod segments;
mod serial;

pub use banks::{BankMode, BankRule, Wavefronts};
pub use capability::{CapabilityError, ComputeCapability};
pub use global::Coalescer;
pub use request::{Access, Addresses, LANES, Request, Traffic, Transaction, Transactions};
pub use sectors::{LINE_BYTES, SECTOR_BYTES, sectors_and_lines};
pub use serial::{AtomicConflicts, constant_replays};
