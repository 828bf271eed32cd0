//! `list`: lists experiments and kernels, by `coalesce list`.

use anyhow::Result;

use crate::PassedOn;
use crate::coalesce;

/// Builds `coalesce` and passes the arguments on.
pub(crate) fn main(arguments: &PassedOn) -> Result<u8> {
    coalesce::pass_on("list", &arguments.arguments)
}
