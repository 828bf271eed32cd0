//! Command lines that parse but cannot be carried out. Their exit status is 2, as after a parse error.

use std::fmt;
use std::process::ExitCode;

/// The exit status after a wrong command line.
pub const STATUS: u8 = 2;

/// An error of the command line: what is wrong with it, and what to write instead.
#[derive(Debug)]
pub struct Misuse(String);

impl Misuse {
    /// An error with these words.
    pub fn error(words: String) -> anyhow::Error {
        anyhow::Error::new(Self(words))
    }
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Misuse {}

/// Prints the error with its chain of causes as one paragraph on stderr. Returns the exit status: 2 for a [`Misuse`],
/// else 1.
pub fn report(error: &anyhow::Error) -> ExitCode {
    eprintln!("error: {error:#}");
    status(error)
}

fn status(error: &anyhow::Error) -> ExitCode {
    if error.chain().any(|cause| cause.is::<Misuse>()) { ExitCode::from(STATUS) } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn only_wrong_command_lines_have_a_status_of_their_own() {
        assert_eq!(status(&anyhow::anyhow!("no disk")), ExitCode::FAILURE);
        let misuse = Err::<(), _>(Misuse::error("there is no kernel `x`".to_owned()));
        let error = misuse.context("`ptx` cannot print it").unwrap_err();
        assert_eq!(status(&error), ExitCode::from(2));
        assert_eq!(format!("{error:#}"), "`ptx` cannot print it: there is no kernel `x`");
    }
}
