//! The tables of README.md and of pages under docs/, made from records alone, so that anyone can see what a figure comes from.
//!
//! A page holds blocks of the form
//!
//! ```text
//! <!-- results of `COMMAND`, kept in RECORDS -->
//! generated text
//! <!-- end of results -->
//! ```
//!
//! where RECORDS is the file of rows that COMMAND wrote, from the repository's root. [`Page::rewritten`] replaces the text
//! between the marks. The tables of docs/fidelity.md need a simulation besides, and are made by [`fidelity`]; those of
//! docs/h200-atlas.md compare with publications, and are made by [`atlas`].

pub mod atlas;
pub mod errors;
pub mod fidelity;
mod kernels;
mod readme;
mod tax;

use record::ReadError;
use std::{fmt::Write, io};

/// A page with blocks of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// Its path from the repository's root.
    pub path: &'static str,
    /// The name of its blocks.
    name: &'static str,
    /// Makes the text of a block from the text of its file of rows and the command that made them.
    tables: fn(&str, &str) -> Result<String, RowsError>,
}

/// The pages.
pub const PAGES: [Page; 3] = [
    Page { path: "README.md", name: "results", tables: readme::tables },
    Page { path: "docs/rust-tax.md", name: "Rust tax", tables: tax::tables },
    Page { path: "docs/kernels.md", name: "kernels", tables: kernels::tables },
];

/// Why the tables of a page cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PageError {
    /// A block's first line is malformed.
    #[error(
        "a block of {name} must begin with <!-- {name} of `COMMAND`, kept in RECORDS -->, not with {found}"
    )]
    Head {
        /// The name of the block.
        name: &'static str,
        /// How it begins.
        found: String,
    },
    /// A block's last line is missing.
    #[error("the block of {name} that begins with {head} does not end; close it with <!-- end of {name} -->")]
    Unclosed {
        /// The name of the block.
        name: &'static str,
        /// How it begins.
        head: String,
    },
    /// A file of rows cannot be read.
    #[error("cannot read {file}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// The rows of a file make no table.
    #[error("{file} cannot be shown")]
    Rows {
        /// The file.
        file: String,
        /// Why.
        #[source]
        cause: RowsError,
    },
}

/// Why rows make no table.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RowsError {
    /// A line is no row.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// There is no row that the table is about.
    #[error("it has no rows of {0}")]
    None(&'static str),
    /// A row is wrong.
    #[error("{0} did not verify: a table shows verified rows only")]
    Unverified(String),
    /// A row lacks a figure.
    #[error("{kernel} has no {what}")]
    Lacks {
        /// The row's kernel.
        kernel: String,
        /// The missing field.
        what: &'static str,
    },
}

impl Page {
    /// The page's text with every block made again. `read` gives the text of a file by its path from the root.
    ///
    /// # Errors
    /// A block does not end or its first line is malformed, or its rows cannot be read or make no table.
    pub fn rewritten(
        &self,
        text: &str,
        read: &dyn Fn(&str) -> io::Result<String>,
    ) -> Result<String, PageError> {
        const CLOSE: &str = " -->";
        let Page { name, .. } = *self;
        let (opening, ending) = (format!("<!-- {name} of `"), format!("<!-- end of {name} -->"));
        let mut out = String::new();
        let mut rest = text;
        while let Some(start) = rest.find(&opening) {
            let (before, block) = rest.split_at(start);
            let head = block.split_once(CLOSE).map_or(block, |(head, _)| head);
            let Some((command, file)) = head[opening.len()..].split_once("`, kept in ") else {
                return Err(PageError::Head { name, found: head.to_string() });
            };
            let Some((_, after)) = block.split_once(&ending) else {
                return Err(PageError::Unclosed { name, head: format!("{head}{CLOSE}") });
            };
            let named = |file: &str| file.to_string();
            let rows = read(file).map_err(|cause| PageError::Unreadable { file: named(file), cause })?;
            let tables = (self.tables)(&rows, command)
                .map_err(|cause| PageError::Rows { file: named(file), cause })?;
            let _ = write!(out, "{before}{head}{CLOSE}\n\n{tables}\n{ending}");
            rest = after;
        }
        Ok(out + rest)
    }
}

/// A figure of a row that has to be there.
fn figure(kernel: &str, what: &'static str, value: Option<f64>) -> Result<f64, RowsError> {
    value.ok_or_else(|| RowsError::Lacks { kernel: kernel.to_string(), what })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, path::Path};

    fn page(name: &'static str) -> Page {
        Page { path: "page.md", name, tables: |rows, command| Ok(format!("{command}: {rows}")) }
    }

    #[test]
    fn a_block_is_made_from_its_rows() {
        let text =
            "before\n<!-- results of `run`, kept in r.jsonl -->\nold\n<!-- end of results -->\nafter\n";
        let read = |name: &str| {
            assert_eq!(name, "r.jsonl");
            Ok("rows".to_string())
        };
        let made = page("results").rewritten(text, &read).expect("it is well formed");
        assert_eq!(
            made,
            "before\n<!-- results of `run`, kept in r.jsonl -->\n\nrun: rows\n<!-- end of results -->\nafter\n"
        );
        assert_eq!(page("results").rewritten(&made, &read).expect("it still is"), made);
        assert_eq!(page("kernels").rewritten(&made, &read).expect("nothing to do"), made);
    }

    #[test]
    fn malformed_blocks_are_named() {
        let error = |text: &str| {
            let made = page("results").rewritten(text, &|_| Err(io::ErrorKind::NotFound.into()));
            made.expect_err("it is malformed").to_string()
        };
        assert_eq!(
            error("<!-- results of `x` -->"),
            "a block of results must begin with <!-- results of `COMMAND`, kept in RECORDS -->, not with <!-- results of `x`"
        );
        assert!(
            error("<!-- results of `x`, kept in y -->\n").ends_with("close it with <!-- end of results -->")
        );
        assert_eq!(error("<!-- results of `x`, kept in y -->\n<!-- end of results -->"), "cannot read y");
    }

    #[test]
    fn the_pages_of_this_repository_are_up_to_date() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let read = |name: &str| fs::read_to_string(root.join(name));
        for page in PAGES {
            let text = read(page.path).expect("the page is there");
            let made = page.rewritten(&text, &read).expect("its rows make tables");
            assert!(text == made, "{} differs from its records: `coalesce pages` writes it again", page.path);
        }
    }
}
