//! Unsafe kernels, each with the reason why no type here can make it safe. All other modules deny `unsafe_code`.
//!
//! - [`idioms`]: the cost of bounds checks. `unchecked_*` show what unsafe code gains over checked code. The four transposes
//!   share a tile through `Cell`, as such a kernel is written without types that know of barriers.
//! - [`latency`]: loads whose address is the result of the load before, which no type bounds.
//! - [`register`]: the products in registers read their sources and write C by vectors where rows are multiples of four, and
//!   element by element elsewhere. They choose by the sizes, so the alignment of their vectors follows from numbers that no
//!   type carries.
//! - [`tensor`]: products on tensor cores. Warps act together on tiles that the copy engine writes while they run, which types
//!   express only in part.
//! - [`storage`]: kernels that write variables of the module, which no signature shows.
//! - [`vectors`]: the transposes by vectors, unsafe for the same reason as the product. Besides, their swizzle finds each
//!   thread's cells by exclusive or.
#![allow(unsafe_code)]

pub mod idioms;
pub mod latency;
pub mod register;
pub mod storage;
pub mod tensor;
pub mod vectors;

mod position;
