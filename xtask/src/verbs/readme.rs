//! `readme`: writes the tables in README.md and docs/ from the records that the repository keeps.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::layout::Layout;
use crate::results::{self, Block};
use crate::{measured, tax};

/// The pages with tables, and the kind of block that each has.
const PAGES: [(&str, &Block); 3] = [
    ("README.md", &results::BLOCK),
    ("docs/rust-tax.md", &tax::BLOCK),
    ("docs/kernels.md", &measured::BLOCK),
];

/// What `readme` takes.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Change nothing; fail if a table differs from its records
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
    for (page, block) in PAGES {
        let (old, new) = texts(root, page, block)?;
        if old != new {
            fs::write(root.join(page), new).with_context(|| format!("cannot write {page}"))?;
        }
    }
    Ok(0)
}

/// Fails if a page shows other tables than its records make.
pub(crate) fn check(root: &Path) -> Result<String> {
    for (page, block) in PAGES {
        let (old, new) = texts(root, page, block)?;
        if old != new {
            bail!("the tables in {page} differ from their records; `cargo xtask readme` writes them again");
        }
    }
    Ok(String::new())
}

/// A page as it is, and as its records make it.
fn texts(root: &Path, page: &str, block: &Block) -> Result<(String, String)> {
    let read =
        |name: &str| fs::read_to_string(root.join(name)).with_context(|| format!("cannot read {name}"));
    let old = read(page)?;
    let new = results::splice(block, &old, &read)?;
    Ok((old, new))
}
