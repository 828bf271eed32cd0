#![doc = include_str!("../README.md")]

mod find;
pub mod process;
pub mod ptxas;
pub mod sass;

pub use find::{Program, Tool, fetched_path, find, find_or_fetch};
