//! `run`: runs experiments, by `coalesce run`.

use anyhow::Result;

use crate::PassedOn;
use crate::coalesce;

/// Builds `coalesce` and passes the arguments on.
pub(crate) fn main(arguments: &PassedOn) -> Result<u8> {
    coalesce::pass_on("run", &arguments.arguments)
}
