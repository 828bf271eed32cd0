//! Where things are: in a checkout, or in the folder that `cargo xtask dist` made.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The two places that this program runs from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
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
    /// Looks beside this program first, then for the checkout that it was built from.
    pub(crate) fn find() -> Result<Self> {
        let program = std::env::current_exe().context("cannot tell where this program is")?;
        if let Some(folder) = program.parent().filter(|folder| is_dist_folder(folder)) {
            return Ok(Layout::Folder { folder: folder.to_owned() });
        }
        // `cargo run` sets the variable; without it, the path that was compiled in serves as long as nobody moved it.
        let compiled_in = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR").map_or(compiled_in, PathBuf::from);
        match manifest.parent() {
            Some(root) if root.join("gpu-kernels/Cargo.toml").is_file() => {
                Ok(Layout::Checkout { root: root.to_owned() })
            }
            _ => bail!(
                "{} is neither beside a `coalesce` and its `kernels/`, as in a folder made by `cargo xtask dist`, nor in the \
                 checkout that it was built from ({}). Run it as `cargo xtask` inside a checkout.",
                program.display(),
                manifest.display()
            ),
        }
    }

    /// The checkout's root, for verbs that need sources.
    pub(crate) fn root(&self, verb: &str) -> Result<&Path> {
        match self {
            Layout::Checkout { root } => Ok(root),
            Layout::Folder { folder } => bail!(
                "`{verb}` needs the sources and a Rust toolchain, and {} holds only built programs. Here work: run, list, \
                 devices, compare, doctor, and `test --gpu`.",
                folder.display()
            ),
        }
    }

    /// The folder with the CUDA C++ twins of the kernels.
    pub(crate) fn reference(&self) -> PathBuf {
        match self {
            Layout::Checkout { root } => root.join("reference"),
            Layout::Folder { folder } => folder.join("reference"),
        }
    }
}

/// Whether a folder looks like what `dist` makes.
pub(crate) fn is_dist_folder(folder: &Path) -> bool {
    folder.join("coalesce").is_file()
        && folder.join("kernels").is_dir()
        && folder.join("README.txt").is_file()
}
