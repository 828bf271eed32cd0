//! What runs PTX on the CPU is made of: the language ([`ptx`]), the rules by which memory serves a warp
//! ([`coalescing`]), and the cards and the model that turn counts into time ([`cards`], [`model`]).
//!
//! The crate knows nothing of `cust` or of the program that uses it.

pub mod cards;
pub mod coalescing;
pub mod model;
pub mod ptx;
