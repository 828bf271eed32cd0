//! What the tests share: command lines of the program, and what comes of them.

pub(crate) mod edited;
pub(crate) mod fake;
pub(crate) mod outcome;
pub(crate) mod records;

use std::process::Command;

/// The program's command line, without NVIDIA's driver: on simulated cards, whatever the environment says.
pub(crate) fn coalesce(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coalesce"));
    command.args(arguments);
    for variable in [
        "COALESCE_DRIVER",
        "COALESCE_SIMULATE",
        "COALESCE_CHECK",
        "COALESCE_PROFILE",
        "COLUMNS",
        "LC_ALL",
        "LC_CTYPE",
        "LANG",
    ] {
        command.env_remove(variable);
    }
    command
}
