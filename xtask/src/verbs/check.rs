//! `check`: runs kernels under the simulated driver's checks, by `coalesce check`.

use anyhow::Result;

use crate::PassedOn;
use crate::coalesce;

/// Builds `coalesce` and passes the arguments on.
pub(crate) fn main(arguments: &PassedOn) -> Result<u8> {
    coalesce::pass_on("check", &arguments.arguments)
}
