//! Describes the modelled cards: data-sheet figures, measured constants and assumptions.
//!
//! [`find`] looks a card up by its key, such as `h200`; [`from_toml`] reads a user's own; [`Card::to_toml`] prints
//! either, and [`with_sources`] a built-in one with the source of each figure. [`Limits`] are the resources of a
//! multiprocessor by compute capability, and [`Occupancy`] is how many blocks fit into them.

mod card;
mod file;
mod known;
mod limits;
mod occupancy;
pub(crate) mod sources;

pub use card::{Card, Impossible};
pub use counters::{Limiter, Residency};
pub use file::{CardFileError, UnknownCard};
pub use known::{all, find, from_toml};
pub use limits::Limits;
pub use occupancy::{BlockShape, Occupancy, OccupancyError};
pub use sources::with_sources;
