//! The device's memory and the instructions that access it.
//!
//! [`Memory`] is global memory, shared by all; [`SharedMemory`] is a block's and [`LocalMemory`] a warp's. [`decode`]
//! turns a PTX instruction into a [`MemoryInstruction`], which executes for a warp in an [`Environment`]. It gathers
//! the lanes' addresses, checks them, tells the observer, and moves the data. The check is one comparison of their span
//! if the [`LookupCache`] knows the allocation, and lane by lane otherwise.

pub(crate) mod access;
mod allocation;
pub(crate) mod barrier;
mod barrier_word;
pub(crate) mod cluster;
mod columns;
mod decoded;
mod device;
mod error;
mod host_limit;
mod initialised;
pub(crate) mod instruction;
#[cfg(target_arch = "x86_64")]
mod interleave;
mod kept;
mod lanes;
pub(crate) mod local;
pub(crate) mod lookup;
mod opcode;
mod plain;
mod racing;
mod registers;
mod reservation;
mod shadow;
mod share;
pub(crate) mod shared;
mod table;
mod tensor_map;
mod transfer;
mod update;
pub(crate) mod windows;

pub(crate) use access::Environment;
pub use allocation::{Allocation, Kind};
pub(crate) use barrier::Progress;
pub(crate) use cluster::ClusterMemory;
pub use device::Memory;
pub use error::{FreeError, MemoryError, RangeError};
pub(crate) use initialised::LastAllocation;
pub(crate) use instruction::{MemoryInstruction, decode};
pub(crate) use local::LocalMemory;
pub(crate) use lookup::{AccessFault, LookupCache};
pub(crate) use plain::{Plain, PlainSpace, Reduction};
pub(crate) use shared::SharedMemory;
pub use tensor_map::{TensorElement, TensorMap};
pub(crate) use windows::{LOCAL_WINDOW, SHARED_WINDOW, WINDOW_BYTES, in_local_window, in_shared_window};
