//! `readme`: the tables of measured results in README.md, made anew from the records that the repository keeps.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::layout::Layout;
use crate::results;

/// What `readme` takes.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Change nothing; fail if the tables are not those of the records
    #[arg(long)]
    check: bool,
}

/// Writes the tables, or checks them.
pub(crate) fn main(arguments: &Arguments) -> Result<u8> {
    let layout = Layout::find()?;
    let root = layout.root("readme")?;
    if arguments.check {
        check(root)?;
        return Ok(0);
    }
    let (old, new) = texts(root)?;
    if old != new {
        fs::write(root.join("README.md"), new).context("cannot write README.md")?;
    }
    Ok(0)
}

/// Fails if README.md shows other tables than its records make.
pub(crate) fn check(root: &Path) -> Result<String> {
    let (old, new) = texts(root)?;
    if old != new {
        bail!("README.md's tables are not those of the records: `cargo xtask readme` writes them anew");
    }
    Ok(String::new())
}

/// README.md as it is, and as its records make it.
fn texts(root: &Path) -> Result<(String, String)> {
    let read =
        |name: &str| fs::read_to_string(root.join(name)).with_context(|| format!("cannot read {name}"));
    let old = read("README.md")?;
    let new = results::splice(&old, &read)?;
    Ok((old, new))
}
