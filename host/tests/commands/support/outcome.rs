//! What came of a command line.

use std::process::{Command, Output};

/// What came of a command line.
pub(crate) struct Outcome {
    /// The exit status.
    pub status: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

/// Runs a command to its end.
pub(crate) fn outcome(command: &mut Command) -> Outcome {
    let Output { status, stdout, stderr } = command.output().expect("the program starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the program writes UTF-8");
    Outcome { status: status.code(), out: text(stdout), err: text(stderr) }
}

/// Runs a command that is to fail with one paragraph on stderr, which is returned.
pub(crate) fn failure(command: &mut Command) -> String {
    refused(command, 1)
}

/// Runs a command whose line asks for what cannot be: as [`failure`], with the exit status of wrong command lines.
pub(crate) fn misuse(command: &mut Command) -> String {
    refused(command, 2)
}

fn refused(command: &mut Command, expected: i32) -> String {
    let Outcome { status, out, err } = outcome(command);
    assert_eq!(status, Some(expected), "{err}");
    assert_eq!(out, "", "nothing but data goes to stdout");
    assert!(err.starts_with("error: "), "{err}");
    assert_eq!(err.trim_end().lines().count(), 1, "one paragraph: {err}");
    assert!(!err.contains("panicked"), "{err}");
    err
}
