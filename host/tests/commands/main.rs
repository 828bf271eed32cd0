//! The program's tests, in one program: command lines, and what comes of them.
//!
//! `cargo test -p host --test commands transpose::` runs one module's.

mod cli;
mod constant;
mod diff;
mod explain;
mod fleet;
mod idioms;
mod latency;
mod link;
mod matmul;
mod patterns;
mod report;
mod shuffle;
mod simulated;
mod stencil;
mod storage;
mod summary;
mod support;
mod transpose;
mod unified;
