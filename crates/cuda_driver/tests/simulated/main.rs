//! The driver API on one simulated card that all tests share, each with a context of its own. What needs other cards, or a
//! card for itself, is in the programs beside this one.

#[path = "../support/common.rs"]
mod common;
mod contexts;
mod faults;
mod launches;
mod memory;
mod streams;
mod with_cust;
