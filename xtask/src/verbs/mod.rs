//! One file a verb. Each returns the exit code.

pub(crate) mod book;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod devices;
pub(crate) mod dist;
pub(crate) mod doctor;
pub(crate) mod fidelity;
pub(crate) mod list;
pub(crate) mod new_kernel;
pub(crate) mod new_project;
pub(crate) mod readme;
pub(crate) mod run;
pub(crate) mod test;
