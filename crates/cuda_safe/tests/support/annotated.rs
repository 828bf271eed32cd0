//! Programs that the compiler must refuse, and what it has to say about each.
//!
//! Each file of a folder is a program of its own. The expected message stands on the line that causes it, as in
//! the compiler's own UI tests: `//~ ERROR part of the message`, with `//~^ ERROR ..` for the line above, `//~^^ ERROR ..` for
//! the one above that, and `NOTE` or `HELP` for what comes with an error of the same line. Each annotation must have its
//! message, and each error its annotation. A file without any must compile. A message is what the compiler's short format
//! has: the message itself, then the label at the place.

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The programs to check, and their dependencies.
pub(crate) struct Programs<'a> {
    /// A name for the package that is made of them.
    pub(crate) name: &'a str,
    /// The folder with the programs, seen from the crate whose test this is.
    pub(crate) folder: &'a str,
    /// The crates of this workspace that they use, by their folders in `crates`.
    pub(crate) uses: &'a [&'a str],
    /// Other dependencies, as lines of a manifest.
    pub(crate) more: &'a str,
    /// True if they are device code.
    pub(crate) on_device: bool,
}

/// Something that the compiler says, or should say, of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Said {
    line: usize,
    kind: String,
    text: String,
}

impl Programs<'_> {
    /// Checks all programs by one cargo, and compares what it says with the annotations.
    ///
    /// # Panics
    /// The compiler says something else.
    pub(crate) fn check(&self) {
        let cases = self.cases();
        let said = self.said(&cases);
        let mut wrong = String::new();
        for (name, path) in &cases {
            let expected = annotations(&fs::read_to_string(path).unwrap());
            let said = said.get(name).cloned().unwrap_or_default();
            let heard = |wanted: &Said, said: &Said| {
                wanted.line == said.line && wanted.kind == said.kind && said.text.contains(&wanted.text)
            };
            for wanted in expected.iter().filter(|wanted| !said.iter().any(|said| heard(wanted, said))) {
                writeln!(wrong, "{name}.rs:{}: missing {}: {}", wanted.line, wanted.kind, wanted.text)
                    .unwrap();
            }
            let errors = said.iter().filter(|said| said.kind == "ERROR");
            for said in errors.filter(|said| !expected.iter().any(|wanted| heard(wanted, said))) {
                writeln!(wrong, "{name}.rs:{}: not expected: {}", said.line, said.text).unwrap();
            }
            if wrong.contains(&format!("{name}.rs:")) {
                for said in &said {
                    writeln!(wrong, "    {name}:{} {} {}", said.line, said.kind, said.text).unwrap();
                }
            }
        }
        assert!(wrong.is_empty(), "\n{wrong}");
    }

    fn cases(&self) -> BTreeMap<String, PathBuf> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(self.folder);
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let rust = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
        rust.map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), path)).collect()
    }

    /// Compiles each program and returns the compiler's messages.
    fn said(&self, cases: &BTreeMap<String, PathBuf>) -> BTreeMap<String, Vec<Said>> {
        let package = self.package(cases);
        let mut command = Command::new(env!("CARGO"));
        for (name, _) in env::vars_os() {
            // The settings of this test's own build are for the host. Settings of the user's cargo stay.
            let name = name.to_string_lossy();
            let is_setting =
                ["CARGO_HOME", "CARGO_NET_", "CARGO_REGISTR"].iter().any(|kept| name.starts_with(kept));
            if name == "RUSTFLAGS"
                || name == "RUSTC_WORKSPACE_WRAPPER"
                || name.starts_with("CARGO_") && !is_setting
            {
                command.env_remove(&*name);
            }
        }
        command.current_dir(&package).env("RUSTC_BOOTSTRAP", "1");
        // One for all of them, so that their dependencies are compiled once.
        command.env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("refused"));
        command.args(["check", "--offline", "--bins", "--keep-going", "--message-format=json"]);
        if self.on_device {
            command.args(["--target=nvptx64-nvidia-cuda", "-Zbuild-std=core,alloc"]);
        }
        let output = command.output().unwrap();
        let mut said: BTreeMap<String, Vec<Said>> = BTreeMap::new();
        let mut checked = 0;
        for line in String::from_utf8(output.stdout).unwrap().lines() {
            let message: Value = serde_json::from_str(line).unwrap();
            let target = message["target"]["name"].as_str().unwrap_or_default();
            if cases.contains_key(target) {
                match message["reason"].as_str() {
                    Some("compiler-artifact") => checked += 1,
                    Some("compiler-message") => {
                        said.entry(target.to_owned()).or_default().extend(read(&message["message"]));
                    }
                    _ => {}
                }
            }
        }
        let refused = said.values().filter(|said| said.iter().any(|said| said.kind == "ERROR")).count();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(checked + refused, cases.len(), "cargo did not get to all cases:\n{stderr}");
        said
    }

    /// A package that has them as programs, and the versions of this workspace's dependencies.
    fn package(&self, cases: &BTreeMap<String, PathBuf>) -> PathBuf {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(self.name);
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
        let name = self.name;
        let mut manifest = format!(
            "cargo-features = [\"profile-rustflags\"]\n\n[workspace]\n\n\
             [package]\nname = {name:?}\nversion = \"0.0.0\"\nedition = \"2024\"\nautobins = false\n\n[dependencies]\n{}",
            self.more,
        );
        for used in self.uses {
            writeln!(manifest, "{used} = {{ path = {:?} }}", root.join("crates").join(used)).unwrap();
        }
        if self.on_device {
            // The arguments that `cuda_builder` gives a kernel crate.
            let flags = "rustflags = [\"-Zcrate-attr=feature(abi_ptx)\"]";
            write!(manifest, "\n[profile.dev.package.{name}]\n{flags}\n").unwrap();
        }
        manifest.push_str("\n[patch.crates-io]\n");
        // As in this workspace: a machine may never have downloaded the published ones.
        for patched in ["find_cuda_helper", "cust_core"] {
            writeln!(manifest, "{patched} = {{ path = {:?} }}", root.join("crates").join(patched)).unwrap();
        }
        for (name, path) in cases {
            write!(manifest, "\n[[bin]]\nname = {name:?}\npath = {path:?}\n").unwrap();
        }
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("Cargo.toml"), manifest).unwrap();
        fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
        folder
    }
}

/// The annotations of a source.
fn annotations(source: &str) -> Vec<Said> {
    let mut found = Vec::new();
    for (index, line) in source.lines().enumerate() {
        let Some((_, annotation)) = line.split_once("//~") else { continue };
        let up = annotation.chars().take_while(|&letter| letter == '^').count();
        let annotation = annotation[up..].trim();
        let (kind, text) = annotation.split_once(char::is_whitespace).unwrap_or((annotation, ""));
        assert!(["ERROR", "NOTE", "HELP"].contains(&kind), "{line}");
        found.push(Said { line: index + 1 - up, kind: kind.to_owned(), text: text.to_owned() });
    }
    found
}

/// A message of the compiler: the error, then its notes.
fn read(message: &Value) -> Vec<Said> {
    if message["level"] != "error" {
        return Vec::new();
    }
    let text = |message: &Value| message["message"].as_str().unwrap_or_default().to_owned();
    let spans = || message["spans"].as_array().unwrap().iter();
    let Some(mut span) = spans().find(|span| span["is_primary"] == true) else {
        let is_summary = text(message).starts_with("aborting due to");
        return if is_summary {
            Vec::new()
        } else {
            vec![Said { line: 0, kind: "ERROR".into(), text: text(message) }]
        };
    };
    // Code from a macro is on the line of its call.
    while !span["file_name"].as_str().unwrap().contains("/tests/") && !span["expansion"].is_null() {
        span = &span["expansion"]["span"];
    }
    let line = span["line_start"].as_u64().unwrap() as usize;
    let of = |kind: &str, text: String| Said { line, kind: kind.to_owned(), text };
    let label = span["label"].as_str().map(|label| format!(": {label}")).unwrap_or_default();
    let mut said = vec![of("ERROR", text(message) + &label)];
    for child in message["children"].as_array().unwrap() {
        match child["level"].as_str() {
            Some("note") => said.push(of("NOTE", text(child))),
            Some("help") => said.push(of("HELP", text(child))),
            _ => {}
        }
    }
    said
}
