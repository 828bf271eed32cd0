//! Starting other programs, on this terminal or collecting what they print.

use std::ffi::OsStr;
use std::io::Read;
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result, bail};

/// The output of a program, both streams in the order of printing, and its exit status.
pub struct Output {
    /// The exit status.
    pub status: ExitStatus,
    /// The text of both streams.
    pub text: String,
}

/// Runs a program to its end and collects both of its streams in one text.
///
/// # Errors
/// It does not start, or what it prints cannot be read.
pub fn capture(command: &mut Command) -> Result<Output> {
    let program = name(command);
    let (mut reader, writer) = std::io::pipe().context("cannot make a pipe")?;
    let again = writer.try_clone().context("cannot make a pipe")?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(again)
        .spawn()
        .with_context(|| format!("cannot start {program}"))?;
    // The command holds the pipe's writing end; the text ends only when all copies of it are closed.
    let _ = command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut bytes = Vec::new();
    let _ = reader.read_to_end(&mut bytes).with_context(|| format!("cannot read what {program} prints"))?;
    let status = child.wait().with_context(|| format!("cannot wait for {program}"))?;
    Ok(Output { status, text: String::from_utf8_lossy(&bytes).into_owned() })
}

/// Runs a program that should succeed; what it printed becomes the error if it does not.
///
/// # Errors
/// It does not start, or its exit status is not 0.
pub fn succeed(command: &mut Command) -> Result<String> {
    let output = capture(command)?;
    if !output.status.success() {
        bail!("`{}` failed ({}):\n{}", line(command), output.status, output.text.trim_end());
    }
    Ok(output.text)
}

/// Runs a program whose standard output is data, and returns that; both streams become the error if it fails.
///
/// # Errors
/// It does not start, fails, or prints what is not UTF-8.
pub fn data(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {}", name(command)))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if !output.status.success() {
        bail!(
            "`{}` failed ({}):\n{}{}",
            line(command),
            output.status,
            text(&output.stderr),
            text(&output.stdout)
        );
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("{} printed text that is not UTF-8", name(command)))
}

/// Runs a program on this terminal and returns its exit status.
///
/// # Errors
/// It does not start.
pub fn pass_through(command: &mut Command) -> Result<ExitStatus> {
    command.status().with_context(|| format!("cannot start {}", name(command)))
}

/// The command as one would type it, roughly: for messages only.
pub fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

fn name(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        let _ = command.args(["-c", script]);
        command
    }

    #[test]
    fn both_streams_are_kept_in_order() {
        let output = capture(&mut shell("echo one; echo two >&2; echo three; exit 3")).unwrap();
        assert_eq!(output.text, "one\ntwo\nthree\n");
        assert_eq!(output.status.code(), Some(3));
    }

    #[test]
    fn a_failure_shows_what_was_printed() {
        let error = succeed(&mut shell("echo cause >&2; exit 1")).unwrap_err().to_string();
        assert!(error.contains("exit status: 1"), "{error}");
        assert!(error.ends_with(":\ncause"), "{error}");
    }

    #[test]
    fn data_is_standard_output_alone() {
        assert_eq!(data(&mut shell("echo one; echo two >&2")).unwrap(), "one\n");
        let error = data(&mut shell("echo one; echo two >&2; exit 1")).unwrap_err().to_string();
        assert!(error.ends_with(":\ntwo\none\n"), "{error}");
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = capture(&mut Command::new("no-such-program-here")).err().unwrap();
        assert_eq!(error.to_string(), "cannot start no-such-program-here");
    }
}
