//! The modules that `cargo xtask` shares with `xtask-ptx`, the program that it builds for the kernels' PTX.

pub mod cargo;
pub mod layout;
pub mod misuse;

use tools::process;

/// Prints to standard output. A reader that closed the pipe early, such as `head`, is not an error.
///
/// # Errors
/// Standard output cannot be written to for another reason.
pub fn print(text: &str) -> anyhow::Result<()> {
    match std::io::Write::write_all(&mut std::io::stdout().lock(), text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}
