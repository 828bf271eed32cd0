//! Runs the Python of docs/records.md: each block of code, followed by a block of what it prints.
//!
//! The libraries are in a virtual environment in the target folder, which is made once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::{cargo, process};

/// The page.
const PAGE: &str = "docs/records.md";

/// The libraries, pinned because what they print is compared.
const LIBRARIES: [&str; 3] = ["pandas==3.1.1", "polars==2.1.0", "duckdb==2.0.0"];

/// Runs every block and compares what it prints. Without Python the step says so.
///
/// # Errors
/// The libraries cannot be installed, or a block prints something else.
pub(crate) fn check(root: &Path) -> Result<String> {
    let text = fs::read_to_string(root.join(PAGE)).with_context(|| format!("cannot read {PAGE}"))?;
    let blocks = blocks(&text)?;
    let Some(python) = python(&cargo::target(root)?)? else {
        return Ok(format!(
            "NOT RUN: {} blocks of {PAGE} need python3 with the module venv (apt-get install python3-venv)",
            blocks.len()
        ));
    };
    for (code, expected) in &blocks {
        let printed = process::data(Command::new(&python).args(["-c", code]).current_dir(root))?;
        let (printed, expected) = (printed.trim_end(), expected.trim_end());
        ensure!(
            printed == expected,
            "this block of {PAGE}\n\n{code}\nprints\n\n{printed}\n\ninstead of\n\n{expected}"
        );
    }
    Ok(format!("{} blocks of {PAGE} print what it says", blocks.len()))
}

/// The interpreter of a virtual environment with the libraries; `None` where Python cannot make one.
fn python(target: &Path) -> Result<Option<PathBuf>> {
    // For these versions: others have an environment of their own.
    let folder = target.join("python").join(LIBRARIES.join("-").replace("==", ""));
    let (python, complete) = (folder.join("bin/python"), folder.join("complete"));
    if complete.is_file() {
        return Ok(Some(python));
    }
    let made = process::capture(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder));
    if !made.is_ok_and(|made| made.status.success()) {
        return Ok(None);
    }
    let mut install = Command::new(&python);
    let _ = install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(LIBRARIES);
    let _ = process::succeed(&mut install).context(
        "pip cannot install the libraries that docs/records.md shows; connect to the network once, they are kept",
    )?;
    fs::write(&complete, "").with_context(|| format!("cannot write {}", complete.display()))?;
    Ok(Some(python))
}

/// The blocks of Python in a page, each with what it prints.
fn blocks(text: &str) -> Result<Vec<(String, String)>> {
    let fenced = |text: &str| text.split_once("```").map(|(block, _)| block.to_owned());
    let mut blocks = Vec::new();
    for part in text.split("```python\n").skip(1) {
        let code = fenced(part).context("a block of Python does not end")?;
        let printed = part.split_once("```text\n").and_then(|(_, rest)| fenced(rest));
        let Some(printed) = printed else { bail!("no block of text says what this prints:\n{code}") };
        blocks.push((code, printed));
    }
    ensure!(!blocks.is_empty(), "{PAGE} has no block of Python");
    Ok(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_what_it_prints_behind_it() {
        let text =
            "a\n```python\nprint(1)\n```\n\n```text\n1\n```\nb\n```python\nprint(2)\n```\n```text\n2\n```\n";
        let expected = [("print(1)\n", "1\n"), ("print(2)\n", "2\n")];
        assert_eq!(
            blocks(text).unwrap(),
            expected.map(|(code, printed)| (code.to_owned(), printed.to_owned()))
        );
        let error = blocks("```python\nprint(1)\n```\n").unwrap_err().to_string();
        assert_eq!(error, "no block of text says what this prints:\nprint(1)\n");
        assert!(blocks("nothing").is_err());
    }

    #[test]
    fn the_page_has_three_blocks_of_four_lines() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let blocks = blocks(&fs::read_to_string(root.join(PAGE)).unwrap()).unwrap();
        let lines: Vec<usize> = blocks.iter().map(|(code, _)| code.lines().count()).collect();
        assert_eq!(lines, [4, 4, 4]);
    }
}
