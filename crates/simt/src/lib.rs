//! What runs PTX on the CPU: the language ([`ptx`]), the machine that executes it ([`exec`], with [`alu`] and [`memory`]),
//! what watches it ([`count`], [`check`]), the rules by which memory serves a warp ([`coalescing`]), and the cards and the
//! model that turn counts into time ([`cards`], [`model`]).
//!
//! The crate knows nothing of `cust` or of the program that uses it.

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
pub mod ptx;
pub mod registers;
