#![doc = include_str!("../README.md")]

pub mod alu;
pub mod cards;
pub mod check;
pub mod coalescing;
pub mod count;
pub mod decode;
pub mod exec;
pub mod fault;
pub mod memory;
pub mod model;
pub mod observe;
pub mod registers;

/// Parses PTX: the crate `ptx`.
#[doc(no_inline)]
pub use ::ptx;
