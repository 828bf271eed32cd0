//! What the tests in `simt_tests` and the benches reach of the inside. It is no interface: it is left out of the
//! documentation, and changes without notice.
//!
//! Each module here has the name of the one whose inside it shows, and only what a test or a bench names.

/// Decoding and executing arithmetic.
pub mod alu {
    pub use crate::alu::{Arithmetic, Collective, decode, decode_collective};

    /// Arithmetic on the bits of floating-point formats, against which another implementation is compared and measured.
    pub mod soft {
        pub use crate::alu::soft::{BRAIN, DOUBLE, E4M3, E5M2, Format, HALF, SINGLE, Value};
    }
}

/// Sources of cards' figures.
pub mod cards {
    pub use crate::cards::sources::source_of;
}

/// The check of events, and the table of panics.
pub mod check {
    pub use crate::check::observation::CheckObservation;
    pub use crate::check::observer::Initialisation;
    pub use crate::check::panic::PANICKING;
}

/// The rules by which memory serves a warp's request.
pub mod coalescing {
    pub use crate::coalescing::banks::BankRule;
    pub use crate::coalescing::global::Coalescer;
    pub use crate::coalescing::request::{Access, Request, Traffic, Transaction};
    pub use crate::coalescing::sectors::sectors_and_lines;
    pub use crate::coalescing::serial::{AtomicConflicts, constant_replays};
}

/// The observer that counts, the price of an instruction, and the parts of the counters.
pub mod count {
    pub use counters::{
        Access, AccessKind, AtomicCounts, DramCounts, HottestAtomics, MemoryCounts, SharedCounts, SiteCounts,
    };

    pub use crate::count::observer::CounterObserver;
    pub use crate::count::slots::Slots;
}

/// Columns of operands.
pub mod decode {
    pub use crate::decode::{Columns, DecodeError, Level};
}

/// Chains of loads.
pub mod exec {
    pub use crate::exec::adjacent::Merged;
    pub use crate::exec::site::Chained;
}

/// Decoding and executing memory instructions.
pub mod memory {
    pub use crate::memory::access::Environment;
    pub use crate::memory::barrier::{MBARRIER, Progress};
    pub use crate::memory::cluster::ClusterMemory;
    pub use crate::memory::instruction::{MemoryInstruction, decode};
    pub use crate::memory::local::LocalMemory;
    pub use crate::memory::lookup::{AccessFault, LookupCache};
    pub use crate::memory::shared::{SHARED_POISON, SharedMemory};
    pub use crate::memory::windows::{
        LOCAL_WINDOW, SHARED_WINDOW, WINDOW_BYTES, in_local_window, in_shared_window,
    };
}

/// The input of the time model, and camping on partitions of device memory.
pub mod model {
    pub use crate::model::counters::{Counters, Touched};
    pub use crate::model::link::host_copy_gb_per_s;
    pub use crate::model::partitions::PartitionTraffic;
}

/// What vectorised executors report in short.
pub mod observe {
    pub use crate::observe::steady::{Rows, SteadyAccess};
}

/// Registers of a frame.
pub mod registers {
    pub use crate::registers::{Cell, Slot, Width};
}
