//! What people read in a terminal, from records alone.

mod counters;
mod figures;
pub mod layout;
mod lessons;
mod remarks;
mod summary;
mod table;

pub use self::{
    summary::summary,
    table::{Shown, comparison, experiments, head, section, table},
};

#[cfg(test)]
pub(crate) use table::tests;
