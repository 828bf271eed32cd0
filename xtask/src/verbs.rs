//! One file a verb. Each returns the exit code.

pub(crate) mod book;
pub(crate) mod dist;
pub(crate) mod doctor;
pub(crate) mod new_kernel;
pub(crate) mod new_project;
pub(crate) mod test;
