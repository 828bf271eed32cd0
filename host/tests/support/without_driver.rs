//! The program on simulated cards.

use std::process::Command;

/// The program's command line, without a driver of NVIDIA's and whatever the environment says.
pub(crate) fn coalesce(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coalesce"));
    command.args(arguments);
    for variable in
        ["COALESCE_DRIVER", "COALESCE_SIMULATE", "COALESCE_CHECK", "COLUMNS", "LC_ALL", "LC_CTYPE", "LANG"]
    {
        command.env_remove(variable);
    }
    command
}
