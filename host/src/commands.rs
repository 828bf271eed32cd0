//! The commands, one file each.

pub(crate) mod check;
mod contest;
pub(crate) mod devices;
pub(crate) mod diff;
pub(crate) mod explain;
pub(crate) mod list;
pub(crate) mod pages;
mod plan;
pub(crate) mod report;
pub(crate) mod run;
