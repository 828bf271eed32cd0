//! Command lines that compile edited kernels, as `cargo xtask run` has them do it.

use super::outcome::{Outcome, outcome};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Runs a command that compiles its kernels by the build script of this package. Returns what came of it, and for which
/// architectures and kernels it called the compiler, a line for each call.
pub(crate) fn compiling(command: &mut Command) -> (Outcome, String) {
    // In the target folder, where the compiler works.
    let folder = tempfile::tempdir_in(builder().parent().expect("a folder")).expect("a folder");
    let (script, asked) = (folder.path().join("script"), folder.path().join("asked"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/commands/support/builder.sh");
    // A link: a script that was just written may still be open in the child of another test, and then does not start.
    std::os::unix::fs::symlink(source, &script).expect("a link");
    command.env("COALESCE_KERNEL_BUILDER", &script).env("TEST_ASKED", &asked).env("TEST_BUILDER", builder());
    let outcome = outcome(command);
    (outcome, fs::read_to_string(asked).expect("what was asked for"))
}

/// The build script, which compiles edited kernels: the newest, as cargo keeps those of earlier builds.
fn builder() -> PathBuf {
    let folders = Path::new(env!("OUT_DIR")).ancestors().nth(2).expect("a folder of all build scripts");
    let entries = fs::read_dir(folders).expect("it can be listed").map(|entry| entry.expect("an entry"));
    let of_host = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("host-"));
    let scripts = of_host.map(|entry| entry.path().join("build-script-build"));
    let modified = |path: &PathBuf| fs::metadata(path).and_then(|data| data.modified()).ok();
    scripts.filter(|path| path.is_file()).max_by_key(modified).expect("cargo built one")
}
