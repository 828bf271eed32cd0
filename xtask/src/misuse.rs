//! Command lines that cannot be carried out as they stand, whose exit status is 2 as after a line that cannot be parsed.

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

/// Says on stderr what failed, with the whole chain of causes in one paragraph; gives the exit status: 2 for a [`Misuse`], else 1.
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
