//! `devices`: lists the devices that experiments can run on, by `coalesce devices`.

use anyhow::Result;

use crate::PassedOn;
use crate::coalesce;

/// Builds `coalesce` and passes the arguments on.
pub(crate) fn main(arguments: &PassedOn) -> Result<u8> {
    coalesce::pass_on("devices", &arguments.arguments)
}
