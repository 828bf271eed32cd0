//! Kernels that are unsafe, each for a reason that no type here can take away. All others deny `unsafe_code`.
//!
//! - [`idioms`]: the Rust tax. `unchecked_*` are what unsafe code gains over checked code; the four transposes share a tile
//!   through `Cell`, which is how such a kernel is written without types that know of barriers.
//! - [`register`]: the product in registers reads its sources, and writes C, by vectors where rows are multiples of four, and
//!   element by element where they are not. The choice is made from the sizes, so the vectors' alignment is an argument
//!   about numbers that no type has.
//! - [`storage`]: variables of the module that kernels write, which no signature shows.
//! - [`vectors`]: the transposes by vectors, for the same reason as the product, and with a swizzle that gives each thread
//!   cells by exclusive or.
#![allow(unsafe_code)]

pub mod idioms;
pub mod register;
pub mod storage;
pub mod vectors;

mod position;
