#![doc = include_str!("../README.md")]

mod alu;
pub mod cards;
pub mod check;
pub mod coalescing;
pub mod count;
mod decode;
pub mod exec;
pub mod fault;
pub mod memory;
pub mod model;
pub mod observe;
mod registers;

/// Parses PTX: the crate `ptx`.
#[doc(no_inline)]
pub use ::ptx;

/// What the tests in `simt_tests` reach of the inside. It is no interface, and changes without notice.
#[doc(hidden)]
pub mod internals {
    /// Decoding and executing arithmetic.
    pub mod alu {
        pub use crate::alu::{Arithmetic, Collective, decode, decode_collective};
    }
    /// The check of events, and the table of panics.
    pub mod check {
        pub use crate::check::observation::CheckObservation;
        pub use crate::check::observer::Initialisation;
        pub use crate::check::panic::PANICKING;
    }
    /// Columns of operands.
    pub mod decode {
        pub use crate::decode::{Columns, DecodeError, Level};
    }
    /// Decoding and executing memory instructions.
    pub mod memory {
        pub use crate::memory::access::Environment;
        pub use crate::memory::barrier::{MBARRIER, Progress};
        pub use crate::memory::instruction::{MemoryInstruction, decode};
        pub use crate::memory::local::LocalMemory;
        pub use crate::memory::lookup::{AccessFault, LookupCache};
        pub use crate::memory::shared::{SHARED_POISON, SharedMemory};
        pub use crate::memory::windows::{
            LOCAL_WINDOW, SHARED_WINDOW, WINDOW_BYTES, in_local_window, in_shared_window,
        };
    }
    /// Registers of a frame.
    pub mod registers {
        pub use crate::registers::{Cell, Slot, Width};
    }
}
