//! The commands, one file each.

mod cards;
pub(crate) mod check;
mod contest;
pub(crate) mod devices;
pub(crate) mod diff;
pub(crate) mod explain;
pub(crate) mod fleet;
pub(crate) mod list;
pub(crate) mod pages;
mod plan;
mod rank;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod session;
