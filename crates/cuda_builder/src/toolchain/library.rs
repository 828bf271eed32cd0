//! The source of `core`, in a toolchain or added to it by rustup.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Compiler;
use crate::environment;

/// The path of a toolchain's library source, from its root.
pub(super) const IN_SYSROOT: &str = "lib/rustlib/src/rust/library";

/// The source in the toolchain at `sysroot`; the error says what is not there.
pub(super) fn installed(sysroot: &Path) -> Result<PathBuf, String> {
    let library = sysroot.join(IN_SYSROOT);
    // cargo's `-Zbuild-std` wants the lock file too; distributions have been known to leave it out.
    match ["core/src/lib.rs", "alloc/src/lib.rs", "Cargo.lock"]
        .iter()
        .find(|file| !library.join(file).is_file())
    {
        None => Ok(library),
        Some(file) => Err(format!("there is no {}", library.join(file).display())),
    }
}

/// The command that adds the source to a toolchain.
pub(super) fn command(compiler: &Compiler) -> String {
    match of_rustup(compiler) {
        Ok(toolchain) => format!("rustup component add rust-src --toolchain {toolchain}"),
        Err(_) => String::from("rustup component add rust-src"),
    }
}

/// The toolchain's name, if it is one of rustup's.
fn of_rustup(compiler: &Compiler) -> Result<&str, String> {
    let toolchain = compiler.sysroot.file_name().and_then(|name| name.to_str());
    let toolchain = toolchain.ok_or("the toolchain has no name")?;
    if compiler.sysroot.parent().and_then(Path::file_name).is_none_or(|name| name != "toolchains") {
        return Err(format!("{} is no toolchain of rustup's", compiler.sysroot.display()));
    }
    Ok(toolchain)
}

/// Lets rustup add the component. This changes the user's toolchain and takes the network: only for those who ask.
pub(super) fn add_with_rustup(compiler: &Compiler, folder: &Path) -> Result<PathBuf, String> {
    if let Ok(library) = installed(&compiler.sysroot) {
        return Ok(library);
    }
    let toolchain = of_rustup(compiler)?;
    let mut command = Command::new("rustup");
    environment::clean(&mut command);
    command.args(["component", "add", "rust-src", "--toolchain", toolchain]).current_dir(folder);
    eprintln!(
        "cuda_builder: the source of `core` is missing; running `rustup component add rust-src --toolchain {toolchain}`"
    );
    let output = command.output().map_err(|error| format!("rustup could not be run: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.trim().lines().last().unwrap_or("it said nothing").to_owned();
        return Err(format!("`rustup component add rust-src` failed: {last}"));
    }
    installed(&compiler.sysroot)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_source_is_whole_or_missing() {
        let root = tempfile::tempdir().unwrap();
        let missing = installed(root.path()).unwrap_err();
        assert!(missing.starts_with("there is no ") && missing.ends_with("core/src/lib.rs"), "{missing}");
        testing::library_source(root.path());
        assert_eq!(installed(root.path()), Ok(root.path().join(IN_SYSROOT)));
        std::fs::remove_file(root.path().join(IN_SYSROOT).join("Cargo.lock")).unwrap();
        assert!(installed(root.path()).unwrap_err().ends_with("library/Cargo.lock"));
    }

    #[test]
    fn the_command_names_the_toolchain() {
        let root = Path::new("/home/me/.rustup/toolchains/1.95.0-x86_64-unknown-linux-gnu");
        assert_eq!(
            command(&testing::compiler(root)),
            "rustup component add rust-src --toolchain 1.95.0-x86_64-unknown-linux-gnu"
        );
        assert_eq!(command(&testing::compiler(Path::new("/usr"))), "rustup component add rust-src");
    }

    #[test]
    fn rustup_is_not_asked_about_toolchains_of_others() {
        let root = tempfile::tempdir().unwrap();
        let compiler = testing::compiler(root.path());
        let refused = add_with_rustup(&compiler, root.path()).unwrap_err();
        assert!(refused.ends_with("is no toolchain of rustup's"), "{refused}");
    }
}
