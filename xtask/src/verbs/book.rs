//! `book`: builds the book from `docs/` with mdBook.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::layout::Layout;
use crate::{cargo, links};
use tools::{Program, process};

/// The table of contents, in `docs/`.
const SUMMARY: &str = "SUMMARY.md";

/// Checks and builds the book, and prints the path of its first page.
pub(crate) fn main() -> Result<u8> {
    let layout = Layout::find()?;
    let root = layout.root("book")?;
    let _ = check(root)?;
    crate::print(&format!("{}\n", folder(root)?.join("index.html").display()))?;
    Ok(0)
}

/// Checks that every page of `docs/` is a chapter, that all links hold, and that the book builds.
pub(crate) fn check(root: &Path) -> Result<String> {
    every_page_is_a_chapter(&root.join("docs"))?;
    let links = links::check(root)?;
    build(root)?;
    Ok(links)
}

/// The folder that the book is built into.
fn folder(root: &Path) -> Result<PathBuf> {
    Ok(cargo::target(root)?.join("book"))
}

/// Builds the book with mdBook. Warnings of mdBook are errors.
fn build(root: &Path) -> Result<()> {
    let mdbook = tools::find_or_fetch(Program::Mdbook, &cargo::target(root)?, suits)?;
    let book = folder(root)?;
    let mut command = Command::new(&mdbook.path);
    let _ = command.arg("build").arg(root).arg("--dest-dir").arg(&book);
    let text = process::succeed(&mut command)?;
    if let Some(line) = text.lines().find(|line| line.trim_start().starts_with("WARN")) {
        bail!("mdBook built {} with a warning: {}", book.display(), line.trim());
    }
    Ok(())
}

/// `book.toml` has the keys of mdBook 0.5.
fn suits(mdbook: &Path) -> Result<()> {
    let version = process::succeed(Command::new(mdbook).arg("--version"))?;
    if version.trim().starts_with("mdbook v0.5.") {
        return Ok(());
    }
    bail!("it is {}; book.toml is written for 0.5", version.trim())
}

/// Fails if a page of `docs/` is missing from the table of contents and so from the book.
fn every_page_is_a_chapter(docs: &Path) -> Result<()> {
    let path = docs.join(SUMMARY);
    let summary =
        std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let chapters: BTreeSet<String> = links::of(&summary).into_iter().map(|link| link.target).collect();
    for entry in std::fs::read_dir(docs).with_context(|| format!("cannot list {}", docs.display()))? {
        let name = entry.with_context(|| format!("cannot list {}", docs.display()))?.file_name();
        let name = name.to_string_lossy();
        if name.ends_with(".md") && name != SUMMARY && !chapters.contains(&*name) {
            bail!(
                "docs/{name} is not a chapter of the book; add a line `- [title]({name})` to docs/{SUMMARY}"
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_the_contents_do_not_name_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write(SUMMARY, "# Summary\n\n- [One](one.md)\n");
        write("one.md", "# One\n");
        write("records.jsonl", "");
        assert!(every_page_is_a_chapter(folder.path()).is_ok());
        write("two.md", "# Two\n");
        assert_eq!(
            every_page_is_a_chapter(folder.path()).unwrap_err().to_string(),
            "docs/two.md is not a chapter of the book; add a line `- [title](two.md)` to docs/SUMMARY.md"
        );
    }
}
