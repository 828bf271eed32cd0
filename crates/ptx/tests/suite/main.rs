//! The crate's tests, in one program. `cargo test -p ptx --test suite errors::` runs one module's.
//!
//! The PTX files are those of the simulator's tests, `crates/simt_tests/tests/corpus`.

mod cfg;
mod corpus;
mod errors;
mod mutation;
mod ops;
mod syntax;
