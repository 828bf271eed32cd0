//! Runs the program on the driver that the tests bring with them.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Output},
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
    command
}

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
    let Outcome { status, out, err } = outcome(command);
    assert_eq!(status, Some(1), "{err}");
    assert_eq!(out, "", "nothing but data goes to stdout");
    assert!(err.starts_with("error: "), "{err}");
    assert_eq!(err.trim_end().lines().count(), 1, "one paragraph: {err}");
    assert!(!err.contains("panicked"), "{err}");
    err
}

/// The fake driver, compiled when first asked for.
fn driver() -> &'static Path {
    static DRIVER: OnceLock<PathBuf> = OnceLock::new();
    DRIVER.get_or_init(|| {
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libcuda.so.1");
        let status = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
            .args([
                "--edition=2024",
                "--crate-type=cdylib",
                "--crate-name=cuda",
                "-Copt-level=2",
                "-Cpanic=abort",
                "-o",
            ])
            .arg(&library)
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_driver/libcuda.rs"))
            .status()
            .expect("rustc starts");
        assert!(status.success(), "the fake driver does not compile");
        library
    })
}
