//! A rustc and what it says about itself.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::CudaBuilderError;
use crate::environment;

/// A rustc, with the cargo to drive it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Compiler {
    pub(crate) cargo: PathBuf,
    pub(crate) rustc: PathBuf,
    /// `rustc 1.95.0 (59807616e 2026-04-14)`.
    pub(crate) version: String,
    /// `x86_64-unknown-linux-gnu`.
    pub(crate) host: String,
    /// (22, 1).
    pub(crate) llvm_version: (u32, u32),
    pub(crate) sysroot: PathBuf,
    pub(crate) library_path: Vec<PathBuf>,
}

impl Compiler {
    /// The compiler that a cargo run in `folder` would use. `RUSTC` and `CARGO` name it (a build script's cargo sets
    /// both), else it is the one on the path. With rustup the folder decides which toolchain that is.
    pub(crate) fn active(folder: &Path) -> Result<Self, CudaBuilderError> {
        let program = |variable: &str, name: &str| {
            std::env::var_os(variable)
                .filter(|value| !value.is_empty())
                .map_or_else(|| PathBuf::from(name), PathBuf::from)
        };
        let mut compiler =
            Self::ask(program("RUSTC", "rustc"), program("CARGO", "cargo"), Vec::new(), folder)?;
        // The compiler itself rather than rustup's stand-in for it, which takes longer to start.
        let itself = compiler.sysroot.join("bin").join("rustc");
        if itself.is_file() {
            compiler.rustc = itself;
        }
        Ok(compiler)
    }

    /// Runs `rustc` to learn the rest.
    pub(crate) fn ask(
        rustc: PathBuf,
        cargo: PathBuf,
        library_path: Vec<PathBuf>,
        folder: &Path,
    ) -> Result<Self, CudaBuilderError> {
        let run = |arguments: &[&str]| {
            let mut command = Command::new(&rustc);
            environment::clean(&mut command);
            if !library_path.is_empty()
                && let Ok(joined) = std::env::join_paths(&library_path)
            {
                command.env("LD_LIBRARY_PATH", joined);
            }
            let output = command.args(arguments).current_dir(folder).output();
            let output = output.and_then(|output| {
                if output.status.success() {
                    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
                } else {
                    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                    Err(std::io::Error::other(format!("{}: {said}", output.status)))
                }
            });
            let program = rustc.clone();
            output.map_err(|source| CudaBuilderError::CompilerNotRun { program, variable: "RUSTC", source })
        };
        let about = About::parse(&run(&["-vV"])?);
        let sysroot = PathBuf::from(run(&["--print", "sysroot"])?.trim());
        Ok(Self {
            cargo,
            version: about.version,
            host: about.host,
            llvm_version: about.llvm,
            sysroot,
            rustc,
            library_path,
        })
    }
}

/// The output of `rustc -vV`.
#[derive(Debug, PartialEq, Eq)]
struct About {
    version: String,
    host: String,
    llvm: (u32, u32),
}

impl About {
    fn parse(text: &str) -> Self {
        let value = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
            line.unwrap_or_default().to_owned()
        };
        let llvm = value("LLVM version");
        let mut numbers = llvm.split('.').map(|number| number.parse().unwrap_or(0));
        Self {
            version: text.lines().next().unwrap_or_default().to_owned(),
            host: value("host"),
            llvm: (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compilers_word_on_itself_is_read() {
        let about = About::parse(
            "rustc 1.95.0 (59807616e 2026-04-14)\nbinary: rustc\nhost: x86_64-unknown-linux-gnu\nLLVM version: 22.1.2\n",
        );
        let version = String::from("rustc 1.95.0 (59807616e 2026-04-14)");
        assert_eq!(about, About { version, host: String::from("x86_64-unknown-linux-gnu"), llvm: (22, 1) });
        assert_eq!(About::parse("").llvm, (0, 0));
    }
}
