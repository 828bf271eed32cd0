//! `new-kernel`: writes the files of a new kernel, which build and pass unchanged. They are the kernel, the experiment
//! that launches it and checks every element, its twin in CUDA C++, and a test.
//!
//! Everything is worked out before anything is written, so that whatever is wrong leaves the sources as they were.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::Args;
use xtask::misuse::Misuse;

use crate::layout::Layout;

/// Arguments of `new-kernel`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Name of the files and the experiment, in snake case; the kernel is NAME_f32
    #[arg(value_name = "NAME")]
    name: String,
}

/// Stands in the templates where the name goes.
const PLACEHOLDER: &str = "name_of_lesson";

/// The files to make: path, template and purpose.
const NEW: [(&str, &str, &str); 4] = [
    (
        "gpu-kernels/src/name_of_lesson.rs",
        include_str!("../../templates/kernel.rs"),
        "the kernel: begin here",
    ),
    (
        "host/src/experiments/name_of_lesson.rs",
        include_str!("../../templates/experiment.rs"),
        "the experiment: its bytes, its launch, the expected result",
    ),
    ("reference/name_of_lesson.cu", include_str!("../../templates/reference.cu"), "the twin in CUDA C++"),
    (
        "host/tests/commands/name_of_lesson.rs",
        include_str!("../../templates/test.rs"),
        "a test on the simulated H200",
    ),
];

/// The file that declares the kernels' modules.
const KERNELS: &str = "gpu-kernels/src/lib.rs";

/// The file that declares the experiments' modules and lists the experiments.
const EXPERIMENTS: &str = "host/src/experiments.rs";

/// The file that declares the modules of host's tests.
const TESTS: &str = "host/tests/commands/main.rs";

/// The packages that the new modules are part of.
const PACKAGES: [&str; 2] = ["gpu-kernels", "host"];

/// Makes the files.
pub(crate) fn main(arguments: &Arguments) -> Result<u8> {
    let layout = Layout::find()?;
    let root = layout.root("new-kernel")?;
    let name = &arguments.name;
    generate(root, name)?;
    let mut text = String::new();
    for (path, _, what) in NEW {
        text += &format!("{:<44} {what}\n", path.replace(PLACEHOLDER, name));
    }
    text += &format!("{KERNELS}, {TESTS}: one line added to each\n{EXPERIMENTS}: two lines added\n\n");
    for (command, what) in [
        (format!("cargo xtask run {name}"), "measures it; shows INVALID until every element is right"),
        (format!("cargo xtask check {name}"), "checks accesses, races, uninitialised reads and barriers"),
        (format!("cargo xtask ptx {name}_f32"), "prints its PTX"),
        (format!("cargo test -p host --test commands {name}::"), "runs its test"),
    ] {
        text += &format!("{command:<44} {what}\n");
    }
    crate::print(&text)?;
    Ok(0)
}

/// Writes the files of a kernel of this name.
pub(crate) fn generate(root: &Path, name: &str) -> Result<()> {
    write(root, &changes(root, name)?)
}

/// A file that is made or changed.
#[derive(Debug, PartialEq, Eq)]
struct Change {
    /// From the root.
    path: String,
    /// The present contents; `None` if the file does not exist.
    before: Option<String>,
    /// The new contents.
    after: String,
}

/// All that a new kernel of this name makes and changes.
fn changes(root: &Path, name: &str) -> Result<Vec<Change>> {
    if let Some(reason) = refusal(name) {
        return Err(Misuse::error(format!("`{name}` cannot be a kernel's name: {reason}")));
    }
    let read = |path: &str| {
        fs::read_to_string(root.join(path))
            .with_context(|| format!("cannot read {path} in {}", root.display()))
    };
    if let Some(reason) = taken(root, name, &read)? {
        let words = format!("`{name}` is taken: {reason}. Choose another name; no file was changed");
        return Err(Misuse::error(words));
    }
    let mut changes = Vec::new();
    for (path, template, _) in NEW {
        let text = template.replace(PLACEHOLDER, name);
        let after = if path.ends_with(".rs") { formatted(root, &text)? } else { text };
        changes.push(Change { path: path.replace(PLACEHOLDER, name), before: None, after });
    }
    for (path, keyword) in [(KERNELS, "pub mod "), (TESTS, "mod ")] {
        let before = read(path)?;
        let with_module = with_module(&before, keyword, name)
            .with_context(|| format!("{path} has no line `{keyword}..;` to put another beside"))?;
        let after = formatted(root, &with_module)?;
        changes.push(Change { path: path.to_owned(), after, before: Some(before) });
    }
    let experiments = read(EXPERIMENTS)?;
    let with_entry = with_module(&experiments, "mod ", name)
        .and_then(|text| with_experiment(&text, name))
        .with_context(|| format!("{EXPERIMENTS} has no line `mod ..;` or no list `static ALL: ..`"))?;
    changes.push(Change {
        path: EXPERIMENTS.to_owned(),
        after: formatted(root, &with_entry)?,
        before: Some(experiments),
    });
    Ok(changes)
}

/// Words that cannot name a module: Rust's keywords, present and reserved, and crates that any path may begin with.
const WORDS: &str = "abstract alloc as async await become box break const continue core crate do dyn else enum extern \
                     false final fn for gen if impl in let loop macro match mod move mut override priv pub ref return \
                     self static std struct super test trait true try type typeof unsafe unsized use virtual where while \
                     yield";

/// The longest name: with what is put before and behind it still a reasonable file name and symbol.
const LONGEST: usize = 40;

/// The reason why this cannot be the name of a module, if it cannot.
fn refusal(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("it is empty; a name is in snake case, as in `scale_rows`".to_owned());
    }
    let snake = snake_case(name);
    if snake != name {
        let hint = if snake.is_empty() { String::new() } else { format!(", as in `{snake}`") };
        return Some(format!(
            "a name is snake case, a lower-case letter and then lower-case letters, digits and single underscores{hint}"
        ));
    }
    if name.len() > LONGEST {
        return Some(format!("it has {} characters; the limit is {LONGEST}", name.len()));
    }
    WORDS
        .split_whitespace()
        .any(|word| word == name)
        .then(|| format!("`{name}` is a word of Rust; `{name}_kernel` is possible"))
}

/// The nearest name in snake case: what it returns unchanged is one.
fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    let mut after_small = false;
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && after_small {
            snake.push('_');
        }
        after_small = letter.is_ascii_lowercase() || letter.is_ascii_digit();
        let letter = letter.to_ascii_lowercase();
        if letter.is_ascii_alphanumeric() {
            snake.push(letter);
        } else if !snake.is_empty() && !snake.ends_with('_') {
            snake.push('_');
        }
    }
    snake
        .trim_end_matches('_')
        .trim_start_matches(|first: char| first.is_ascii_digit() || first == '_')
        .to_owned()
}

/// The existing item of this name, if there is one.
fn taken(root: &Path, name: &str, read: &dyn Fn(&str) -> Result<String>) -> Result<Option<String>> {
    for (path, ..) in NEW {
        let path = path.replace(PLACEHOLDER, name);
        let folder = path.trim_end_matches(".rs").trim_end_matches(".cu").to_owned();
        for path in [path, folder] {
            if root.join(&path).symlink_metadata().is_ok() {
                return Ok(Some(format!("{path} exists")));
            }
        }
    }
    let quoted = format!("\"{name}\"");
    for file in sources(&root.join("host/src/experiments"))? {
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        if text.contains(&quoted) {
            return Ok(Some(format!("{} names something {quoted}", shown(root, &file))));
        }
    }
    let kernel = format!("fn {name}_f32(");
    for file in sources(&root.join("gpu-kernels/src"))? {
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        if text.contains(&kernel) {
            return Ok(Some(format!("{} has a kernel {name}_f32", shown(root, &file))));
        }
    }
    // A module hides a crate of the same name from its neighbours, and cannot share a name with what is imported.
    for package in PACKAGES {
        let manifest = format!("{package}/Cargo.toml");
        let text = read(&manifest)?;
        let (_, dependencies) = text.split_once("dependencies]").unwrap_or_default();
        let mut names = dependencies.lines().filter_map(|line| line.split(['.', ' ', '=']).next());
        if names.any(|dependency| dependency.replace('-', "_") == name) {
            return Ok(Some(format!("{package} has a dependency of that name")));
        }
    }
    for path in [KERNELS, EXPERIMENTS] {
        if imports(&read(path)?).any(|word| word == name) {
            return Ok(Some(format!("{path} imports something of that name")));
        }
    }
    Ok(None)
}

/// The Rust files under a folder, sorted.
fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let path = entry.with_context(|| format!("cannot list {}", folder.display()))?.path();
        if path.is_dir() {
            files.extend(sources(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// A path from the root on.
fn shown(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

/// The words in the `use` declarations of a file.
fn imports(text: &str) -> impl Iterator<Item = &str> {
    let declarations =
        ["\nuse ", "\npub(crate) use "].into_iter().flat_map(|keyword| text.split(keyword).skip(1));
    declarations.filter_map(|rest| rest.split_once(';')).flat_map(|(declaration, _)| {
        declaration.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'))
    })
}

/// The text with a module more, in the order of their names. `None` if it has none.
fn with_module(text: &str, keyword: &str, name: &str) -> Option<String> {
    let module = |line: &str| line.strip_prefix(keyword)?.strip_suffix(';').map(str::to_owned);
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.iter().position(|line| module(line).is_some())?;
    let count = lines[first..].iter().take_while(|line| module(line).is_some()).count();
    let before =
        lines[first..first + count].iter().take_while(|line| module(line).as_deref() < Some(name)).count();
    let mut lines: Vec<String> = lines.into_iter().map(str::to_owned).collect();
    lines.insert(first + before, format!("{keyword}{name};"));
    Some(lines.join("\n") + "\n")
}

/// The text with an experiment more, as the last of the list. `None` if there is no such list.
fn with_experiment(text: &str, name: &str) -> Option<String> {
    let start = text.find("static ALL: ")?;
    let (before, rest) = text.split_at(start);
    let (declaration, rest) = rest.split_at(rest.find("];")?);
    // rustfmt may have broken the line between the two.
    let (kind, list) = declaration.split_once(" =")?;
    let kind = match kind.rsplit_once("; ") {
        Some((element, length)) => {
            let length: usize = length.trim_end_matches(']').parse().ok()?;
            format!("{element}; {}]", length + 1)
        }
        None => kind.to_owned(),
    };
    let list = list.trim().trim_end_matches(',');
    Some(format!("{before}{kind} = {list}, &{name}::Lesson{rest}"))
}

/// The text as rustfmt writes it, by the repository's rules: the length of a name moves line breaks.
fn formatted(root: &Path, text: &str) -> Result<String> {
    let advice = "rustfmt is needed to lay out the new files: `rustup component add rustfmt`";
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024", "--emit", "stdout", "--config-path"])
        .arg(root)
        .current_dir(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start rustfmt; {advice}"))?;
    let mut input = child.stdin.take().context("rustfmt takes no input")?;
    // rustfmt reads all of it before it writes.
    let written = input.write_all(text.as_bytes());
    drop(input);
    let output = child.wait_with_output().context("cannot wait for rustfmt")?;
    if !output.status.success() {
        bail!("rustfmt failed ({}); {advice}:\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    written.context("cannot hand a file to rustfmt")?;
    String::from_utf8(output.stdout).context("rustfmt wrote text that is not UTF-8")
}

/// Makes the changes, all of them or none.
fn write(root: &Path, changes: &[Change]) -> Result<()> {
    for (number, Change { path, before, after }) in changes.iter().enumerate() {
        let file = root.join(path);
        let result = match before {
            Some(_) => fs::write(&file, after),
            None => fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(&file)
                .and_then(|mut file| file.write_all(after.as_bytes())),
        };
        let Err(error) = result else { continue };
        // A file that is missing was not half written by us; one that appeared just now is another program's.
        let made = before.is_some() || error.kind() != std::io::ErrorKind::AlreadyExists;
        let undone = undo(root, &changes[..number + usize::from(made)]);
        let state = match undone.is_empty() {
            true => "no file was changed".to_owned(),
            false => format!("not put back as they were: {}", undone.join(", ")),
        };
        return Err(error).with_context(|| format!("cannot write {path}; {state}"));
    }
    Ok(())
}

/// Puts files back as they were; returns those that could not be.
fn undo(root: &Path, changes: &[Change]) -> Vec<String> {
    let mut left = Vec::new();
    for Change { path, before, .. } in changes {
        let file = root.join(path);
        let result = match before {
            Some(text) => fs::write(&file, text),
            None if file.symlink_metadata().is_err() => Ok(()),
            None => fs::remove_file(&file),
        };
        if result.is_err() {
            left.push(path.clone());
        }
    }
    left
}

#[cfg(test)]
mod tests;
