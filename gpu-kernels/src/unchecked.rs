//! Unsafe kernels, each with the reason why no type here can make it safe. All other modules deny `unsafe_code`.
//!
//! - [`gather`]: a scatter with plain stores, which race unless the indices are a permutation.
//! - [`cluster`]: shared memory of other blocks, which no type of a block's own tiles reaches.
//! - [`idioms`]: the cost of bounds checks. `unchecked_*` show what unsafe code gains over checked code. The four transposes
//!   share a tile through `Cell`, as such a kernel is written without types that know of barriers.
//! - [`instructions`]: inline PTX, so that neither compiler nor assembler computes a chain in fewer steps.
//! - [`l2`]: loads with policies for L2, and stores of parts of sectors.
//! - [`launch`]: kernels with many parameters, and one for dependent launches.
//! - [`latency`]: loads whose address is the result of the load before, which no type bounds.
//! - [`register`]: the products in registers read their sources and write C by vectors where rows are multiples of four, and
//!   element by element elsewhere. They choose by the sizes, so the alignment of their vectors follows from numbers that no
//!   type carries.
//! - [`staged`]: sums through rings of stages in shared memory, which copies fill beside the threads that read them.
//! - [`tensor`]: products on tensor cores. Warps act together on tiles that the copy engine writes while they run, which types
//!   express only in part.
//! - [`storage`]: kernels that write variables of the module, which no signature shows.
//! - [`vectors`]: the transposes by vectors, unsafe for the same reason as the product. Besides, their swizzle finds each
//!   thread's cells by exclusive or.
#![allow(unsafe_code, reason = "see above, kernel by kernel")]

pub mod cluster;
pub mod gather;
pub mod idioms;
pub mod instructions;
pub mod l2;
pub mod latency;
pub mod launch;
pub mod register;
pub mod staged;
pub mod storage;
pub mod tensor;
pub mod vectors;

mod position;
