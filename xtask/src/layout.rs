//! The layout of files: a checkout, or the folder that `cargo xtask dist` made.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::misuse::Misuse;

/// The two places that this program runs from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// A checkout of the repository; everything is built from source.
    Checkout {
        /// The workspace's root.
        root: PathBuf,
    },
    /// A folder made by `dist`; everything is built already, and there may be no Rust here.
    Folder {
        /// The folder that holds `coalesce`, `kernels/` and `reference/`.
        folder: PathBuf,
    },
}

impl Layout {
    /// Finds the layout: beside this program first, and then in a checkout. Checkouts are tried in this order: the one
    /// that cargo started this program for, around the current folder, around the program, and the one that it was
    /// built from.
    ///
    /// # Errors
    /// There is none at any of these places.
    pub fn find() -> Result<Self> {
        let program = std::env::current_exe().context("cannot tell where this program is")?;
        if let Some(folder) = program.parent().filter(|folder| is_dist_folder(folder)) {
            return Ok(Layout::Folder { folder: folder.to_owned() });
        }
        // `cargo run` names the folder of this package, also where several checkouts share one target folder.
        let of_cargo = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let places = [of_cargo, std::env::current_dir().ok(), Some(program.clone())];
        let compiled_in = Path::new(env!("CARGO_MANIFEST_DIR"));
        let around =
            places.iter().flatten().map(PathBuf::as_path).chain([compiled_in]).find_map(checkout_around);
        match around {
            Some(root) => Ok(Layout::Checkout { root: root.to_owned() }),
            None => bail!(
                "{} is in neither a checkout nor a folder made by `cargo xtask dist`, and the checkout that it was built from \
                 ({}) no longer exists. Run it as `cargo xtask` inside a checkout.",
                program.display(),
                compiled_in.display()
            ),
        }
    }

    /// The checkout's root, for verbs that need sources.
    ///
    /// # Errors
    /// This is a folder made by `dist`, which has none.
    pub fn root(&self, verb: &str) -> Result<&Path> {
        match self {
            Layout::Checkout { root } => Ok(root),
            Layout::Folder { folder } => Err(Misuse::error(format!(
                "`{verb}` needs the sources and a Rust toolchain, and {} holds only programs. These verbs work here: run, \
                 list, devices, compare, check, doctor, and `test --gpu`.",
                folder.display()
            ))),
        }
    }

    /// The folder with the CUDA C++ twins of the kernels.
    pub fn reference(&self) -> PathBuf {
        match self {
            Layout::Checkout { root } => root.join("reference"),
            Layout::Folder { folder } => folder.join("reference"),
        }
    }
}

/// The checkout that a path is in: the nearest folder upwards that holds the kernels and this program's sources.
fn checkout_around(path: &Path) -> Option<&Path> {
    let is_checkout = |folder: &&Path| {
        folder.join("gpu-kernels/Cargo.toml").is_file() && folder.join("xtask/Cargo.toml").is_file()
    };
    path.ancestors().find(is_checkout)
}

/// True if a folder looks like one that `dist` made.
pub fn is_dist_folder(folder: &Path) -> bool {
    folder.join("coalesce").is_file()
        && folder.join("kernels").is_dir()
        && folder.join("README.txt").is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkout_is_found_from_anywhere_below_it() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        for place in [root.to_owned(), root.join("xtask/src"), root.join("target/debug/xtask")] {
            assert_eq!(checkout_around(&place), Some(root), "{}", place.display());
        }
        assert_eq!(checkout_around(root.parent().unwrap()), None);
    }
}
