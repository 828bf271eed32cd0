//! Runs the Python of docs/records.md: each block of code, followed by a block of what it prints.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::{cargo, process, python};

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
    let Some(python) = python::with(&cargo::target(root)?, &LIBRARIES)? else {
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
