//! Runs the program on the driver that the tests bring with them.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// The program's command line on the fake driver.
pub(crate) fn coalesce(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coalesce"));
    command.args(arguments).env("COALESCE_DRIVER", driver());
    for (name, _) in env::vars_os() {
        if name.to_string_lossy().starts_with("FAKE_") {
            command.env_remove(name);
        }
    }
    // What is printed has 80 columns of Unicode, whatever the environment of the tests.
    for name in ["COLUMNS", "LC_ALL", "LC_CTYPE", "LANG"] {
        command.env_remove(name);
    }
    command
}

/// The fake driver, compiled when first asked for.
fn driver() -> &'static Path {
    static DRIVER: OnceLock<PathBuf> = OnceLock::new();
    DRIVER.get_or_init(|| compiled("libcuda", Path::new(env!("CARGO_TARGET_TMPDIR")), "libcuda.so.1"))
}

/// Compiles a fake library into a folder.
pub(crate) fn compiled(source: &str, folder: &Path, file: &str) -> PathBuf {
    let library = folder.join(file);
    let status = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args([
            "--edition=2024",
            "--crate-type=cdylib",
            &format!("--crate-name={source}"),
            "-Copt-level=2",
            "-Cpanic=abort",
            "-o",
        ])
        .arg(&library)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fake_driver/{source}.rs")))
        .status()
        .expect("rustc starts");
    assert!(status.success(), "the fake {source} does not compile");
    library
}
