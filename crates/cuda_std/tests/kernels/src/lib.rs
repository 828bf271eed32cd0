//! One kernel for each group of device functions, written so that no call is optimised away. See Cargo.toml.
#![no_std]
#![allow(clippy::missing_safety_doc, clippy::undocumented_unsafe_blocks, reason = "their PTX is read, and they never run")]

mod access;
mod async_copy;
mod atomic;
mod dependent;
mod float;
mod launch;
mod memory;
mod tensor;
mod text;
mod thread;
mod warp;
