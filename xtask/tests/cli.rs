//! Tests of real command lines that need no build: refusals, and commands in a folder made by `dist`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;

/// Held while a program is written and while one is started. A child that another test starts in that moment would hold
/// the file open for writing, and a file open for writing cannot be run.
static WRITING_OR_STARTING: Mutex<()> = Mutex::new(());

fn run(program: &Path, words: &[&str]) -> Output {
    let guard = WRITING_OR_STARTING.lock().unwrap();
    let mut command = Command::new(program);
    let command = command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the program starts");
    drop(guard);
    child.wait_with_output().expect("the program ends")
}

fn xtask(words: &[&str]) -> (Option<i32>, String) {
    let output = run(Path::new(env!("CARGO_BIN_EXE_xtask")), words);
    (output.status.code(), text(&output))
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn help_lists_every_verb() {
    let (code, text) = xtask(&["--help"]);
    assert_eq!(code, Some(0), "{text}");
    for verb in [
        "run",
        "list",
        "devices",
        "compare",
        "check",
        "diff",
        "explain",
        "report",
        "pages",
        "test",
        "ptx",
        "new-kernel",
        "sass",
        "doctor",
        "dist",
        "book",
    ] {
        let found = text.lines().any(|line| line.trim_start().split(' ').next() == Some(verb));
        assert!(found, "no {verb} in:\n{text}");
    }
}

#[test]
fn an_unknown_verb_names_the_nearest() {
    let (code, text) = xtask(&["docter"]);
    assert_eq!(code, Some(2), "{text}");
    assert_eq!(
        text,
        "error: there is no command `docter`; did you mean doctor? `cargo xtask --help` lists them all\n"
    );
    let (code, text) = xtask(&["rnu", "offset"]);
    assert_eq!(
        (code, text.as_str()),
        (
            Some(2),
            "error: there is no command `rnu`; did you mean run? `cargo xtask --help` lists them all\n"
        )
    );
    let (code, text) = xtask(&["potato"]);
    assert_eq!(
        (code, text.as_str()),
        (Some(2), "error: there is no command `potato`; `cargo xtask --help` lists them all\n")
    );
}

#[test]
fn wrong_command_lines_have_exit_status_2() {
    for (words, sentence) in [
        (
            &["new-kernel", "Scale-Rows"][..],
            "error: `Scale-Rows` cannot be a kernel's name: a name is snake case, a lower-case letter and then lower-case letters, digits \
             and single underscores, as in `scale_rows`\n",
        ),
        (
            &["new-kernel", "copy"],
            "error: `copy` is taken: gpu-kernels/src/copy.rs exists. Choose another name; no file was changed\n",
        ),
        (
            &["new-project", env!("CARGO_MANIFEST_DIR"), "--path"],
            concat!(
                "error: ",
                env!("CARGO_MANIFEST_DIR"),
                " exists and is not an empty folder; name a new one\n"
            ),
        ),
        (
            &["dist", "--out", env!("CARGO_MANIFEST_DIR")],
            concat!(
                "error: --out ",
                env!("CARGO_MANIFEST_DIR"),
                " holds files that `dist` did not make and would delete. Name a new folder, or one that `dist` made.\n"
            ),
        ),
    ] {
        let (code, text) = xtask(words);
        assert_eq!((code, text.as_str()), (Some(2), sentence), "{words:?}");
    }
}

#[test]
fn a_folder_that_cannot_be_written_to_is_told_before_anything_is_built() {
    let (code, text) = xtask(&["dist", "--out", "/proc/coalesce"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.starts_with("error: cannot make /proc/coalesce.making/kernels"), "{text}");
    assert!(!text.contains("Building"), "{text}");
}

#[test]
fn options_of_the_gpu_tests_need_them() {
    let (code, text) = xtask(&["test", "--no-sanitizer"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("--gpu"), "{text}");
}

/// A folder as `dist` makes it, with a script in the place of `coalesce`.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, script: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        let _guard = WRITING_OR_STARTING.lock().unwrap();
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("kernels")).unwrap();
        fs::create_dir_all(folder.join("tests")).unwrap();
        fs::write(folder.join("README.txt"), "").unwrap();
        fs::write(folder.join("coalesce"), format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(folder.join("coalesce"), fs::Permissions::from_mode(0o755)).unwrap();
        let _ = fs::copy(env!("CARGO_BIN_EXE_xtask"), folder.join("xtask")).unwrap();
        Folder(folder)
    }

    fn xtask(&self, words: &[&str]) -> (Option<i32>, String) {
        let output = run(&self.0.join("xtask"), words);
        (output.status.code(), text(&output))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn arguments_and_exit_status_pass_through() {
    let folder = Folder::new("pass", "echo \"[$*]\"; exit 7");
    assert_eq!(
        folder.xtask(&["run", "offset", "--range", "0..=4"]),
        (Some(7), "[run offset --range 0..=4]\n".into())
    );
    assert_eq!(folder.xtask(&["run", "--help"]), (Some(7), "[run --help]\n".into()));
    assert_eq!(folder.xtask(&["list", "-x"]), (Some(7), "[list -x]\n".into()));
    assert_eq!(folder.xtask(&["devices"]), (Some(7), "[devices]\n".into()));
    assert_eq!(
        folder.xtask(&["check", "offset", "--tool", "memcheck"]),
        (Some(7), "[check offset --tool memcheck]\n".into())
    );
    for verb in ["diff", "explain", "report", "pages"] {
        assert_eq!(folder.xtask(&[verb, "x", "--y"]), (Some(7), format!("[{verb} x --y]\n")));
    }
    let reference = folder.0.join("reference");
    assert_eq!(
        folder.xtask(&["compare", "offset"]),
        (Some(7), format!("[compare --reference {} offset]\n", reference.display()))
    );
    assert_eq!(folder.xtask(&["compare", "--reference=x"]), (Some(7), "[compare --reference=x]\n".into()));
}

#[test]
fn verbs_that_need_sources_say_so() {
    let folder = Folder::new("sources", "exit 0");
    for words in
        [&["ptx", "offset_f32"][..], &["sass", "offset_f32"], &["new-kernel", "x"], &["dist"], &["test"]]
    {
        let (code, text) = folder.xtask(words);
        assert_eq!(code, Some(2), "{words:?}: {text}");
        assert!(text.contains("needs the sources") && text.contains("test --gpu"), "{words:?}: {text}");
        assert_eq!(text.trim().lines().count(), 1, "{words:?}: {text}");
    }
}

#[test]
fn gpu_tests_stop_at_the_first_failure_and_say_what_failed() {
    let folder = Folder::new("gpu", "echo 'error: no NVIDIA driver was found' >&2; exit 1");
    let (code, text) = folder.xtask(&["test", "--gpu", "--no-sanitizer"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("FAILED  driver and device (coalesce devices)"), "{text}");
    assert!(text.contains("error: no NVIDIA driver was found"), "{text}");
    assert!(text.contains("not run  offset, stride, copy, 256MiB, both, blocks of 256"), "{text}");
    assert!(text.contains("--keep-going"), "{text}");
}

#[test]
fn a_run_that_does_not_verify_fails_the_gpu_tests() {
    let script = r#"case "$1" in
        devices) echo "cuda:0  a GPU" ;;
        list) echo offset; echo '    kernels: offset_f32' ;;
        run) echo '{"experiment":"offset","kernel":"offset_f32","backend":"measured","verified":false,"gb_per_s":9.0}' ;;
    esac"#;
    let folder = Folder::new("unverified", script);
    let (code, text) = folder.xtask(&["test", "--gpu", "--no-sanitizer"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("FAILED  offset, stride, copy, 1KiB, f32, blocks of 256"), "{text}");
    assert!(text.contains("not verified: {"), "{text}");
}
