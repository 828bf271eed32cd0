//! The attributes on the host: what they make of functions, and what they refuse.

pub mod accepted;
mod refused;
