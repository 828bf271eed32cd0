#![doc = include_str!("../README.md")]

mod alu;
pub mod cards;
pub mod check;
pub mod coalescing;
pub mod count;
mod decode;
pub mod exec;
pub mod fault;
#[doc(hidden)]
pub mod internals;
pub mod memory;
pub mod model;
pub mod multiprocessor;
pub mod observe;
mod registers;

/// Parses PTX: the crate `ptx`.
#[doc(no_inline)]
pub use ::ptx;
